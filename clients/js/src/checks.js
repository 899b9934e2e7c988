/**
 * Checks of fields for the readers of all plan types.
 * @module
 */

import { PlanError } from "./errors.js";

const FRACTION = /^[1-9][0-9]{0,24}\/[1-9][0-9]{0,24}$/;
const LARGEST = 10n ** 24n; // denominator of a fraction

/**
 * @typedef {readonly [bigint, bigint]} Fraction numerator and denominator, in lowest terms
 */

/**
 * Return JSON content that holds exactly the named fields.
 * @param {any} content
 * @param {string} where for messages: "generator"
 * @param {readonly string[]} names
 */
export function exactFields(content, where, names) {
  const found = isObject(content) ? Object.keys(content) : null;
  if (found === null || found.length !== names.length || !names.every((name) => name in content)) {
    throw new PlanError(`${where} of a plan must hold exactly the fields ${[...names].sort().join(", ")}`);
  }
  return content;
}

/**
 * Refuse unknown options: otherwise a misspelt pin, relay or limit would be ignored.
 * @param {object} others the remaining options
 */
export function noOthers(others) {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new TypeError(`there is no option ${name} here`);
}

/** Return whether JSON content is an object, not a list. */
export function isObject(content) {
  return typeof content === "object" && content !== null && Object.getPrototypeOf(content) === null;
}

/**
 * Return a field that must be a whole number in low..high.
 * @param {any} value
 * @param {string} name
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
export function wholeIn(value, name, low, high) {
  if (typeof value !== "number" && typeof value !== "bigint") {
    throw new PlanError(`plan field ${name} must be a whole number`);
  }
  if (value < low || value > high) throw new PlanError(`plan field ${name} must be in ${low}..${high}`);
  return Number(value);
}

/**
 * Return a field that must be one of the allowed texts.
 * @param {any} value
 * @param {string} name
 * @param {readonly string[]} allowed
 */
export function oneOf(value, name, allowed) {
  if (!allowed.includes(value)) {
    throw new PlanError(`plan field ${name} must be one of ${allowed.join(", ")}; a newer release may accept others`);
  }
  return value;
}

/**
 * Return a guarantee, {"prior": "a/b", "posterior": "a/b"}, with the limit that γ of all reports must stay below.
 * @param {any} content
 */
export function readGuarantee(content) {
  const fields = exactFields(content, "guarantee", ["prior", "posterior"]);
  const [a, b] = readProbability(fields.prior, "prior");
  const [c, d] = readProbability(fields.posterior, "posterior");
  if (a * d >= c * b) throw new PlanError("a guarantee's prior must be below its posterior");
  /** @type {Fraction} */
  const limit = [c * (b - a), a * (d - c)];
  return { fields: { prior: fields.prior, posterior: fields.posterior }, limit };
}

function readProbability(text, name) {
  const [a, b] = readFraction(text, name);
  if (a >= b) throw new PlanError(`a guarantee's ${name} must lie between 0 and 1`);
  return [a, b];
}

/**
 * Read "a/b" in lowest terms, above 0, b at most 10^24.
 * @param {any} text
 * @param {string} name
 * @returns {Fraction}
 */
export function readFraction(text, name) {
  const [a, b] = typeof text === "string" && FRACTION.test(text) ? text.split("/").map(BigInt) : [0n, 0n];
  if (b === 0n || b > LARGEST || greatestDivisor(a, b) !== 1n) {
    throw new PlanError(
      `plan field ${name} must be text such as "1/20": a fraction in lowest terms with a denominator of at most 10^24`,
    );
  }
  return [a, b];
}

/**
 * Return a fraction in lowest terms.
 * @param {bigint} a
 * @param {bigint} b above 0
 * @returns {Fraction}
 */
export function reduced(a, b) {
  const divisor = greatestDivisor(a < 0n ? -a : a, b);
  return [a / divisor, b / divisor];
}

function greatestDivisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/**
 * Return whether a/b < c/d, denominators above 0.
 * @param {Fraction} left
 * @param {Fraction} right
 */
export function isLess([a, b], [c, d]) {
  return a * d < c * b;
}

/**
 * Refuse a plan if γ of all reports of a person together is not below the limit of its guarantee.
 * @param {Fraction} amplification
 * @param {number} reportsPerPerson
 * @param {Fraction} limit
 */
export function checkGuarantee([a, b], reportsPerPerson, limit) {
  const power = BigInt(reportsPerPerson);
  if (!isLess([a ** power, b ** power], limit)) {
    throw new PlanError("the plan's amplification breaks its guarantee; do not use this plan");
  }
}
