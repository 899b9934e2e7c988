/**
 * What an observer of one report may believe of an item, by Bayes: for people who want to see it (docs/privacy.md).
 *
 * An observer who looks at one item alone sees whether the report shows it. An observer who knows whatever else there
 * is to know learns no more than γ allows. Both are exact fractions of the plan's own whole numbers.
 * @module
 */

import { isLess, reduced } from "../checks.js";
import { binomial } from "./binomials.js";
import { FixedSize } from "./operator.js";

/**
 * Return the chances that an answer shows an entry that its question asks about: an item, a class of sizes.
 * @param {any} operator a question's
 * @returns {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} if the transaction
 *   holds it, and if not
 */
export function chancesOf(operator) {
  const sizes = operator.weights.map((_, j) => j);
  const ways = sizes.map((j) => binomial(operator.size, j) * setsAdded(operator, j) * operator.weights[j]);
  const total = ways.reduce((sum, each) => sum + each, 0n);
  const kept = sizes.reduce((sum, j) => sum + BigInt(j) * ways[j], 0n);
  /** @type {import("../checks.js").Fraction} */
  const held = reduced(kept, BigInt(operator.size) * total);
  if (!(operator instanceof FixedSize)) {
    return { held, notHeld: [BigInt(operator.insertNum), BigInt(2 ** operator.insertBits)] };
  }
  // ℓ − j of the items outside are added, all equally likely
  const added = BigInt(operator.reportSize) * total - kept;
  return { held, notHeld: reduced(added, BigInt(operator.items - operator.size) * total) };
}

function setsAdded(operator, j) {
  return operator instanceof FixedSize ? binomial(operator.items - operator.size, operator.reportSize - j) : 1n;
}

/**
 * Return what somebody believes after a look at one item of a report.
 * @param {import("../checks.js").Fraction} prior chance that the basket holds the item, before
 * @param {{ held: import("../checks.js").Fraction, notHeld: import("../checks.js").Fraction }} chances
 * @param {boolean} isShown whether the report shows it
 * @returns {import("../checks.js").Fraction}
 */
export function posterior([a, b], { held, notHeld }, isShown) {
  const [yes, no] = [held, notHeld].map(([c, d]) => (isShown ? [c, d] : [d - c, d]));
  const ifHeld = a * yes[0] * no[1];
  return reduced(ifHeld, ifHeld + (b - a) * no[0] * yes[1]);
}

/**
 * Return what nobody's belief can exceed, whatever else he knows, after one report that is amplified by γ.
 * @param {import("../checks.js").Fraction} prior
 * @param {import("../checks.js").Fraction} amplification
 * @returns {import("../checks.js").Fraction}
 */
export function mostBelieved([a, b], [c, d]) {
  return reduced(a * c, a * c + (b - a) * d);
}

/**
 * Return a chance in percent with one digit, rounded away from a prior: what is learned is never understated.
 * @param {import("../checks.js").Fraction} chance
 * @param {import("../checks.js").Fraction} prior
 */
export function percentAwayFrom([a, b], prior) {
  const up = isLess(prior, [a, b]) ? b - 1n : 0n;
  const tenths = (1000n * a + up) / b;
  return `${tenths / 10n}.${tenths % 10n}%`;
}
