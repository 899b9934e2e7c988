/**
 * What all reports of a ledger can have told by now, under any plans: figures, and two lines for a person.
 *
 * Python says the same in the same words (assocpriv/show/collections.py). Figures are rounded against us: what was told up,
 * what is left down.
 * @module
 */

import { mostBelieved } from "../baskets/belief.js";
import { isLess, reduced } from "../checks.js";
import { LARGEST_PRODUCT } from "./bounds.js";

/** @typedef {import("../checks.js").Fraction} Fraction */

/**
 * The reports of one plan.
 * @typedef {object} ToldPlan
 * @property {string} planId
 * @property {number} reports how many
 * @property {Fraction | null} amplification γ of all of them; null where the plan states none
 * @property {boolean} outside whether they also told what lies outside γ, as a column in clear
 */

/**
 * What all reports can have told; those that wait to be sent count, too.
 * @typedef {object} Told
 * @property {number} reports how many were made
 * @property {ToldPlan[]} plans under which plans, in the order of their first reports
 * @property {number} stated how many are of plans that state a γ
 * @property {number} unstated how many are not: nothing bounds what these told
 * @property {number} outside how many also told what lies outside γ: nothing bounds what they told there
 * @property {Fraction | null} statedAmplification γ of those that state one, together; null from 2^192 on
 * @property {number | null} statedEpsilon its logarithm
 * @property {Fraction} prior a belief
 * @property {Fraction | null} statedPosterior what it may have become by these, at most
 * @property {Fraction | null} amplificationLimit the ledger's limit, which γ of all reports stays below
 * @property {Fraction | null} left what γ of all further reports must stay below for it, 1 where none may be made; null
 *   without a limit, and where none can hold
 * @property {number | null} leftEpsilon its logarithm
 * @property {string[]} lines what of this a person is told
 */

/** @type {Fraction} */
const PRIOR = [1n, 100n]; // a belief that everybody can picture
/** @type {Fraction} */
const ONE = [1n, 1n];
const PLANS_SHOWN = 3;
const BITS = 256n; // after the point of a logarithm
const DOUBT = 1n << 24n; // more than it can be too small by, in units of its last place

/**
 * Return what the reports of a book can have told.
 * @param {import("./book.js").Book} book
 * @param {Fraction | null} limit what γ of all reports stays below
 * @returns {Told}
 */
export function toldBy(book, limit) {
  const plans = book.plans();
  const count = (wanted) => plans.filter(wanted).reduce((sum, plan) => sum + plan.reports, 0);
  const unstated = count((plan) => plan.amplification === null);
  const outside = count((plan) => plan.outside);
  const gamma = isLess(book.product, LARGEST_PRODUCT) ? book.product : null;
  const left = limit === null || unstated || outside ? null : leftOf(limit, book.product);
  const figures = {
    reports: book.reports,
    plans,
    stated: book.reports - unstated,
    unstated,
    outside,
    statedAmplification: gamma,
    statedEpsilon: gamma && logarithm(gamma, true),
    prior: PRIOR,
    statedPosterior: gamma && mostBelieved(PRIOR, gamma),
    amplificationLimit: limit,
    left,
    leftEpsilon: left && logarithm(left, false),
  };
  const tells = [...bounds(figures), ...leaves(figures)].join(" ");
  return { ...figures, lines: [made(figures), tells].filter((line) => line !== "") };
}

/** @param {Fraction} limit @param {Fraction} product @returns {Fraction} */
function leftOf([a, b], [c, d]) {
  const left = reduced(a * d, b * c);
  return isLess(ONE, left) ? left : ONE;
}

// ---- lines

/** Say how many reports the ledger knows of, which one that was lost does not, and under which plans. */
function made({ reports, plans }) {
  if (!plans.length) return "The ledger of this device counts no report, so as far as it knows nothing was told.";
  const said = `The ledger of this device counts ${counted(reports, "report")}`;
  const named = ({ planId }) => `under plan ${planId.slice(0, 12)}`;
  if (plans.length === 1) return `${said}, ${named(plans[0])}.`;
  const parts = plans.slice(0, PLANS_SHOWN).map((plan) => `${shown(plan.reports)} ${named(plan)}`);
  const rest = plans.slice(PLANS_SHOWN);
  const more = rest.reduce((sum, plan) => sum + plan.reports, 0);
  if (more) parts.push(`${shown(more)} under ${counted(rest.length, "other plan")}`);
  return `${said}: ${parts.join(", ")}.`;
}

/** Say what nothing bounds, then what γ bounds: as ε, and as what becomes of a belief. */
function* bounds({ stated, unstated, outside, statedEpsilon, statedPosterior }) {
  if (unstated) yield `Nothing bounds what ${counted(unstated, "report")} can have told, for no γ is stated.`;
  if (outside) {
    yield `Nothing bounds what ${counted(outside, "report")} can have told outside γ, as in a column in clear.`;
  }
  if (!stated) return;
  let who = stated === 1 ? "It" : "Together they";
  if (unstated) who = stated === 1 ? "The other report" : `The other ${counted(stated, "report")}`;
  const most = statedEpsilon === null ? "nearly everything" : `at most ε = ${sixDigits(statedEpsilon, true)}`;
  const after = statedPosterior && chanceUp(statedPosterior);
  const then = after ? `thinks it at most ${after} likely` : "may be certain of it";
  const within = outside ? " within γ" : "";
  yield `${who} can have told ${most}${within}: whoever thought something about you ${chanceUp(PRIOR)} likely ${then} now.`;
}

/** Say what the limit of the device leaves, if it has one. */
function* leaves({ reports, amplificationLimit, left, leftEpsilon }) {
  if (amplificationLimit === null) return;
  if (left === null) yield "No limit can hold for this device any more.";
  else if (leftEpsilon === 0) yield "Under the limit of this device nothing is left to tell.";
  else {
    const further = reports ? "further reports" : "reports";
    const most = sixDigits(leftEpsilon, false);
    yield `Under the limit of this device ${further} may tell less than ε = ${most} in all.`;
  }
}

// ---- figures

/** @param {number | bigint} value */
function shown(value) {
  return value.toLocaleString("en-US");
}

function counted(count, thing) {
  return `${shown(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/**
 * Write a chance as people say it, 1 in 6 or 68 in 100, rounded up; null for what is as good as certain.
 * @param {Fraction} chance
 */
function chanceUp([a, b]) {
  if (2n * a <= b) return `1 in ${shown(b / a)}`;
  for (let whole = 100n; whole <= 1000000n; whole *= 10n) {
    const part = (a * whole + b - 1n) / b;
    if (part < whole) return `${shown(part)} in ${shown(whole)}`;
  }
  return null;
}

/**
 * Return the logarithm of a γ: the least number that is not below it, or the largest that is not above it.
 * @param {Fraction} gamma
 * @param {boolean} up
 * @returns {number}
 */
export function logarithm([a, b], up) {
  if (a === b) return 0;
  let doublings = BigInt(a.toString(2).length - b.toString(2).length);
  if (a < b << doublings) doublings -= 1n;
  const low = doublings * scaledLogarithm(2n, 1n) + scaledLogarithm(a, b << doublings);
  const exact = up ? low + DOUBT : low;
  const near = Number(exact);
  const wrong = up ? BigInt(near) < exact : BigInt(near) > exact;
  return (wrong ? beside(near, up ? 1n : -1n) : near) / 2 ** Number(BITS);
}

/**
 * Return ln(a/b) · 2^256, b ≤ a ≤ 2b, too small by a little: 2 (z + z³/3 + z⁵/5 + …) with z = (a − b)/(a + b).
 * @param {bigint} a
 * @param {bigint} b
 */
function scaledLogarithm(a, b) {
  const z = ((a - b) << BITS) / (a + b);
  const square = (z * z) >> BITS;
  let sum = 0n;
  for (let power = z, k = 1n; power > 0n; power = (power * square) >> BITS, k += 2n) sum += power / k;
  return 2n * sum;
}

/** Return the next number above 0 of a computer's, or the one before. */
function beside(value, step) {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0] += step;
  return new Float64Array(bits.buffer)[0];
}

/** Write a number of 0 or more with six digits, rounded up or down. */
function sixDigits(value, up) {
  if (value === 0) return "0";
  const unit = 1n << 600n;
  const exact = BigInt(value * 2 ** 600);
  for (let decimals = 6 - Math.floor(Math.log10(value)); ; decimals -= 1) {
    const [above, below] = decimals < 0 ? [exact, unit * 10n ** BigInt(-decimals)] : [exact * 10n ** BigInt(decimals), unit];
    if (above < 1000000n * below) return String(Number(`${(above + (up ? below - 1n : 0n)) / below}e${-decimals}`));
  }
}
