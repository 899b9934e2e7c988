/**
 * γ of several reports together: their product, and the limit that it must stay below
 * (docs/formats/client.md#the-clients-ledger, "Using").
 * @module
 */

import { highestPosterior } from "../baskets/posterior.js";
import { isLess, reduced } from "../checks.js";
import { PlanError } from "../errors.js";

/** @typedef {import("../checks.js").Fraction} Fraction */

const WRITTEN = /^(?:(\d+)\/(\d+)|(\d+)(?:\.(\d+))?(%?))$/;
const LONGEST = 60; // characters of a probability
const EPSILON = /^(\d{1,3})(?:\.(\d{1,24}))?$/;
const BITS = 320n; // after the point of a power of e
const LARGEST_DENOMINATOR = 10n ** 24n;
const GAMMA = /^([1-9][0-9]{0,499})\/([1-9][0-9]{0,499})(\+?)$/;
const LARGEST_WRITTEN = 10n ** 500n;
const PRODUCT_STEPS = 1n << 192n; // a product whose denominator is larger is rounded up to a multiple of 2^-192

/** Above the limit of every guarantee; products are capped here. @type {Fraction} */
export const LARGEST_PRODUCT = [1n << 192n, 1n];

/** In place of γ, for a plan without γ. */
export const UNSTATED = "none";

/**
 * A guarantee for all reports of a device together: prior and posterior, each as "5%", "0.05" or "1/20"; or ε in nats, as 5.9.
 * @typedef {{ prior: string, posterior: string } | { epsilon: number | string }} Limit
 */

/**
 * Return the limit that γ of all reports of a device must stay below, so that together they keep a guarantee.
 * @param {Limit} guarantee
 * @returns {Fraction}
 */
export function limitOf(guarantee) {
  if (typeof guarantee !== "object" || guarantee === null) {
    throw new PlanError('a limit must be { epsilon: 5.9 } or { prior: "1%", posterior: "80%" }');
  }
  if ("epsilon" in guarantee) return limitOfEpsilon(String(guarantee.epsilon));
  const { prior, posterior } = guarantee;
  const [a, b] = probability(prior, "prior");
  const [c, d] = probability(posterior, "posterior");
  if (a === 0n || c >= d || !isLess([a, b], [c, d])) {
    throw new PlanError("a guarantee needs 0 < prior < posterior < 1");
  }
  return [c * (b - a), a * (d - c)];
}

/**
 * Return e^ε rounded down to 12 decimals; to fewer if the posterior of 1/20 had a denominator above 10^24.
 * @param {string} text
 * @returns {Fraction}
 */
function limitOfEpsilon(text) {
  const found = EPSILON.exec(text);
  const power = found === null ? 0n : scaledPower(BigInt(found[1] + (found[2] ?? "")), 10n ** BigInt(found[2]?.length ?? 0));
  for (let unit = 10n ** 12n; unit >= 1n; unit /= 10n) {
    const limit = reduced((power * unit) >> BITS, unit);
    if (isLess([1n, 1n], limit) && highestPosterior([1n, 20n], limit)[1] <= LARGEST_DENOMINATOR) return limit;
  }
  throw new PlanError("epsilon of a limit must be a number above 0 and at most 55, as 5.9");
}

/** Return e^(a/b) · 2^320, slightly too small: the square, ten times, of 1 + x + x²/2 + … at x = a/b · 2^-10. */
function scaledPower(a, b) {
  const x = (a << BITS) / b >> 10n;
  let sum = 0n;
  for (let term = 1n << BITS, k = 1n; term > 0n; term = ((term * x) >> BITS) / k, k += 1n) sum += term;
  for (let doubling = 0; doubling < 10; doubling += 1) sum = (sum * sum) >> BITS;
  return sum;
}

function probability(text, name) {
  const found = typeof text === "string" && text.length <= LONGEST ? WRITTEN.exec(text) : null;
  const value = found && fractionOf(found);
  if (value === null || value[1] > LARGEST_DENOMINATOR) {
    throw new PlanError(`${name} of a limit must be text such as "5%", "0.05" or "1/20"`);
  }
  return value;
}

/** @param {RegExpExecArray} found @returns {Fraction | null} */
function fractionOf([, above, below, whole, digits = "", percent]) {
  if (below !== undefined) return BigInt(below) === 0n ? null : reduced(BigInt(above), BigInt(below));
  const unit = 10n ** BigInt(digits.length);
  return reduced(BigInt(whole + digits), percent ? 100n * unit : unit);
}

/**
 * Return a product of γ, rounded up if its denominator is longer than 192 bits; at most 2^192. So its length does not grow
 * with the number of reports. null if a plan has no γ.
 * @param {Fraction | null} product
 * @param {Fraction | null} gamma
 * @returns {Fraction | null}
 */
export function multiply(product, gamma) {
  if (product === null || gamma === null) return null;
  let exact = reduced(product[0] * gamma[0], product[1] * gamma[1]);
  if (exact[1] >= PRODUCT_STEPS) exact = roundUp(exact, PRODUCT_STEPS);
  return isLess(exact, LARGEST_PRODUCT) ? exact : LARGEST_PRODUCT;
}

/** @param {Fraction} gamma @param {bigint} steps @returns {Fraction} */
function roundUp([above, below], steps) {
  return reduced((above * steps + below - 1n) / below, steps);
}

/**
 * Return the text of a γ in ledgers: one of more than 500 digits is rounded up to a multiple of 10^-24.
 * @param {Fraction | null} gamma
 * @param {boolean} uncovered whether the plan also sends data that γ does not cover
 */
export function gammaText(gamma, uncovered) {
  if (gamma === null) return UNSTATED;
  const isLong = gamma[0] >= LARGEST_WRITTEN || gamma[1] >= LARGEST_WRITTEN;
  const [above, below] = isLong ? roundUp(gamma, LARGEST_DENOMINATOR) : reduced(gamma[0], gamma[1]);
  return `${above}/${below}${uncovered ? "+" : ""}`;
}

/**
 * Parse a γ of a ledger.
 * @param {any} text
 * @returns {{ gamma: Fraction | null, uncovered: boolean } | undefined} null for a plan without γ, and whether the plan
 *   also sends data that γ does not cover; undefined for text that no ledger holds
 */
export function gammaOf(text) {
  if (text === UNSTATED) return { gamma: null, uncovered: false };
  const found = typeof text === "string" ? GAMMA.exec(text) : null;
  if (found === null) return undefined;
  const [above, below] = [BigInt(found[1]), BigInt(found[2])];
  return above < below ? undefined : { gamma: [above, below], uncovered: found[3] === "+" };
}
