/**
 * The privacy budget spent by all reports of a ledger, under any plans: figures, and two lines for a person.
 *
 * Python prints the same lines (assocpriv/show/collection_views.py). Figures are conservative: the spent budget is rounded
 * up, the remaining one down.
 * @module
 */

import { highestPosterior } from "../baskets/posterior.js";
import { isLess, reduced } from "../checks.js";
import { LARGEST_PRODUCT } from "./bounds.js";

/** @typedef {import("../checks.js").Fraction} Fraction */

/**
 * The reports of one plan.
 * @typedef {object} PlanBudget
 * @property {string} planId
 * @property {number} reports how many
 * @property {Fraction | null} amplification γ of all of them; null where the plan has none
 * @property {boolean} uncovered whether they also disclose data that γ does not cover, as a raw column
 */

/**
 * The budget spent by all reports; queued reports count, too.
 * @typedef {object} BudgetSpent
 * @property {number} reports number of reports
 * @property {PlanBudget[]} plans the reports under each plan, in the order of their first reports
 * @property {number} stated reports under plans with a γ
 * @property {number} unstated reports under plans without γ: nothing bounds their disclosure
 * @property {number} uncovered reports that also disclose data outside γ: nothing bounds that part
 * @property {Fraction | null} statedAmplification γ of the `stated` reports together; null from 2^192 on
 * @property {number | null} statedEpsilon its logarithm
 * @property {Fraction} prior an example of a prior probability
 * @property {Fraction | null} statedPosterior the largest posterior for it, after the `stated` reports
 * @property {Fraction | null} amplificationLimit the ledger's limit, which γ of all reports stays below
 * @property {Fraction | null} remaining what γ of all further reports must stay below to keep the limit, 1 if none may be
 *   made; null without a limit, and if no limit can hold
 * @property {number | null} remainingEpsilon its logarithm
 * @property {string[]} lines two sentences for a person
 */

/** @type {Fraction} */
const PRIOR = [1n, 100n]; // easy to imagine
/** @type {Fraction} */
const ONE = [1n, 1n];
const PLANS_SHOWN = 3;
const BITS = 256n; // after the point of a logarithm
const MAX_ERROR = 1n << 24n; // larger than the rounding error, in units of the last place

/**
 * Return the budget spent by the reports of a book.
 * @param {import("./book.js").Book} book
 * @param {Fraction | null} limit what γ of all reports stays below
 * @returns {BudgetSpent}
 */
export function budgetSpent(book, limit) {
  const plans = book.plans();
  const count = (wanted) => plans.filter(wanted).reduce((sum, plan) => sum + plan.reports, 0);
  const unstated = count((plan) => plan.amplification === null);
  const uncovered = count((plan) => plan.uncovered);
  const gamma = isLess(book.product, LARGEST_PRODUCT) ? book.product : null;
  const remaining = limit === null || unstated || uncovered ? null : remainingBelow(limit, book.product);
  const figures = {
    reports: book.reports,
    plans,
    stated: book.reports - unstated,
    unstated,
    uncovered,
    statedAmplification: gamma,
    statedEpsilon: gamma && logarithm(gamma, true),
    prior: PRIOR,
    statedPosterior: gamma && highestPosterior(PRIOR, gamma),
    amplificationLimit: limit,
    remaining,
    remainingEpsilon: remaining && logarithm(remaining, false),
  };
  const sentences = [...spentSentences(figures), ...remainingSentence(figures)].join(" ");
  return { ...figures, lines: [reportsSentence(figures), sentences].filter((line) => line !== "") };
}

/** @param {Fraction} limit @param {Fraction} product @returns {Fraction} */
function remainingBelow([a, b], [c, d]) {
  const remaining = reduced(a * d, b * c);
  return isLess(ONE, remaining) ? remaining : ONE;
}

// ---- lines

/** Return a sentence on the ledger's reports and their plans; a lost ledger would not count. */
function reportsSentence({ reports, plans }) {
  if (!plans.length) return "This device's ledger holds no report: it has spent no privacy budget.";
  const start = `This device's ledger holds ${counted(reports, "report")}`;
  const named = ({ planId }) => `under plan ${planId.slice(0, 12)}`;
  if (plans.length === 1) return `${start}, ${named(plans[0])}.`;
  const parts = plans.slice(0, PLANS_SHOWN).map((plan) => `${shown(plan.reports)} ${named(plan)}`);
  const rest = plans.slice(PLANS_SHOWN);
  const more = rest.reduce((sum, plan) => sum + plan.reports, 0);
  if (more) parts.push(`${shown(more)} under ${counted(rest.length, "other plan")}`);
  return `${start}: ${parts.join(", ")}.`;
}

/** Return sentences on unbounded disclosure, then on the disclosure that γ bounds, as ε and as a posterior. */
function* spentSentences({ stated, unstated, uncovered, statedEpsilon, statedPosterior }) {
  if (unstated) yield `The disclosure by ${counted(unstated, "report")} without γ is not bounded.`;
  if (uncovered) {
    yield `The disclosure by ${counted(uncovered, "report")} outside γ, as in a raw column, is not bounded.`;
  }
  if (!stated) return;
  let who = stated === 1 ? "It" : "Together they";
  if (unstated) who = stated === 1 ? "The other report" : `The other ${counted(stated, "report")}`;
  const most = statedEpsilon === null ? "more than any guarantee allows" : `at most ε = ${sixDigits(statedEpsilon, true)}`;
  const after = statedPosterior && chanceUp(statedPosterior);
  const then = after ? `can be at most ${after} likely` : "can be certain";
  const within = uncovered ? " within γ" : "";
  yield `${who} spent ${most}${within}: a statement about you that was ${chanceUp(PRIOR)} likely before ${then} now.`;
}

/** Return a sentence on the remaining budget, if the device has a limit. */
function* remainingSentence({ reports, amplificationLimit, remaining, remainingEpsilon }) {
  if (amplificationLimit === null) return;
  if (remaining === null) yield "No limit can hold for this device any more.";
  else if (remainingEpsilon === 0) yield "Under this device's limit no privacy budget remains.";
  else {
    const further = reports ? "further reports" : "reports";
    yield `Under this device's limit ${further} may spend less than ε = ${sixDigits(remainingEpsilon, false)} in all.`;
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
 * Return a probability in words, 1 in 6 or 68 in 100, rounded up; null if it is practically 1.
 * @param {Fraction} probability
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
 * Return the logarithm of a γ: the least double that is not below it, or the largest that is not above it.
 * @param {Fraction} gamma
 * @param {boolean} up
 * @returns {number}
 */
export function logarithm([a, b], up) {
  if (a === b) return 0;
  let doublings = BigInt(a.toString(2).length - b.toString(2).length);
  if (a < b << doublings) doublings -= 1n;
  const low = doublings * scaledLogarithm(2n, 1n) + scaledLogarithm(a, b << doublings);
  const exact = up ? low + MAX_ERROR : low;
  const near = Number(exact);
  const wrong = up ? BigInt(near) < exact : BigInt(near) > exact;
  return (wrong ? nextDouble(near, up ? 1n : -1n) : near) / 2 ** Number(BITS);
}

/**
 * Return ln(a/b) · 2^256, b ≤ a ≤ 2b, slightly too small: 2 (z + z³/3 + z⁵/5 + …) with z = (a − b)/(a + b).
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

/** Return the next larger double, or with a negative step the next smaller one; `value` is above 0. */
function nextDouble(value, step) {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0] += step;
  return new Float64Array(bits.buffer)[0];
}

/** Return a number of 0 or more with six digits, rounded up or down. */
function sixDigits(value, up) {
  if (value === 0) return "0";
  const unit = 1n << 600n;
  const exact = BigInt(value * 2 ** 600);
  for (let decimals = 6 - Math.floor(Math.log10(value)); ; decimals -= 1) {
    const [above, below] = decimals < 0 ? [exact, unit * 10n ** BigInt(-decimals)] : [exact * 10n ** BigInt(decimals), unit];
    if (above < 1000000n * below) return String(Number(`${(above + (up ? below - 1n : 0n)) / below}e${-decimals}`));
  }
}
