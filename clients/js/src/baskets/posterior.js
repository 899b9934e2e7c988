/**
 * The posterior probability of an item for an observer of one report, by Bayes (docs/privacy.md).
 *
 * An observer of one item sees whether the report shows it. An observer with any background knowledge learns no more than γ
 * allows. Both posteriors are exact fractions of the plan's integers.
 * @module
 */

import { isLess, reduced } from "../checks.js";
import { binomial } from "./binomials.js";
import { FixedSize } from "./operator.js";

/**
 * Return the probabilities that a response shows an entry of its report type: an item, or a class of sizes.
 * @param {any} operator a report type's
 * @returns {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} if the transaction
 *   holds it, and if not
 */
export function shownProbabilities(operator) {
  const sizes = operator.weights.map((_, j) => j);
  const ways = sizes.map((j) => binomial(operator.size, j) * setsAdded(operator, j) * operator.weights[j]);
  const total = ways.reduce((sum, each) => sum + each, 0n);
  const kept = sizes.reduce((sum, j) => sum + BigInt(j) * ways[j], 0n);
  /** @type {import("../checks.js").Fraction} */
  const held = reduced(kept, BigInt(operator.size) * total);
  if (!(operator instanceof FixedSize)) {
    return { held, notHeld: [BigInt(operator.insertNum), BigInt(2 ** operator.insertBits)] };
  }
  // ℓ − j of the other items are added, all equally likely
  const added = BigInt(operator.reportSize) * total - kept;
  return { held, notHeld: reduced(added, BigInt(operator.items - operator.size) * total) };
}

function setsAdded(operator, j) {
  return operator instanceof FixedSize ? binomial(operator.items - operator.size, operator.reportSize - j) : 1n;
}

/**
 * Return the posterior of an observer of one item of a report.
 * @param {import("../checks.js").Fraction} prior probability that the basket holds the item
 * @param {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} probabilities as of `shownProbabilities`
 * @param {boolean} isShown whether the report shows it
 * @returns {import("../checks.js").Fraction}
 */
export function posterior([a, b], { held, notHeld }, isShown) {
  const [yes, no] = [held, notHeld].map(([c, d]) => (isShown ? [c, d] : [d - c, d]));
  const ifHeld = a * yes[0] * no[1];
  return reduced(ifHeld, ifHeld + (b - a) * no[0] * yes[1]);
}

/**
 * Return the largest posterior of any observer after one report, for a prior and γ.
 * @param {import("../checks.js").Fraction} prior
 * @param {import("../checks.js").Fraction} amplification
 * @returns {import("../checks.js").Fraction}
 */
export function highestPosterior([a, b], [c, d]) {
  return reduced(a * c, a * c + (b - a) * d);
}

/**
 * Return a probability in percent with one decimal, rounded away from a prior, so that the change is never understated.
 * @param {import("../checks.js").Fraction} probability
 * @param {import("../checks.js").Fraction} prior
 */
export function percentFarFrom([a, b], prior) {
  const up = isLess(prior, [a, b]) ? b - 1n : 0n;
  const tenths = (1000n * a + up) / b;
  return `${tenths / 10n}.${tenths % 10n}%`;
}
