/**
 * Exact bounds of numbers, and the doubles nearest to them (docs/formats/table-plan.md, "Inputs").
 * @module
 */

import { reduced } from "../checks.js";
import { PlanError } from "../errors.js";

const BOUND = /^(-?(?:0|[1-9][0-9]{0,29}))\/([1-9][0-9]{0,29})$/;
const KEPT_BITS = 64; // of a quotient; more than a double has, so that it is rounded once

/**
 * Parse a number of a plan, as "-5/2": a fraction in lowest terms of at most 30 digits.
 * @param {any} text
 * @param {string} name
 * @returns {import("../checks.js").Fraction}
 */
export function readBound(text, name) {
  const found = typeof text === "string" ? BOUND.exec(text) : null;
  const bound = found && reduced(BigInt(found[1]), BigInt(found[2]));
  if (bound === null || bound.join("/") !== text) {
    throw new PlanError(`plan field ${name} must be text such as "-5/2": a fraction in lowest terms of at most 30 digits`);
  }
  return bound;
}

/**
 * Return the double nearest to a / b; of two the even one. a and b have at most some thousand digits.
 * @param {bigint} a
 * @param {bigint} b above 0
 */
export function nearestDouble(a, b) {
  if (a < 0n) return -nearestDouble(-a, b);
  if (a === 0n) return 0;
  const shift = BigInt(KEPT_BITS + bitLength(b) - bitLength(a));
  const [above, below] = shift > 0n ? [a << shift, b] : [a, b << -shift];
  // a remainder makes the last bit odd, which is after the rounding position of a double
  const quotient = above / below | BigInt(above % below !== 0n);
  return Number(quotient) * 2 ** -Number(shift);
}

function bitLength(number) {
  return number.toString(2).length;
}
