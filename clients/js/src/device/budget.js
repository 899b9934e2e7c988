/**
 * What a device may tell further (docs/formats/client.md#the-clients-ledger, "Using"): an occasion is answered once; without a limit a
 * device answers one plan for life, the first that it answered, as often as that promises; with a limit any plans,
 * while γ of all reports stays below it. Python decides the same in the same words (assocpriv/client/ledger_book.py).
 * @module
 */

import { isLess } from "../checks.js";
import { BudgetError, PlanError } from "../errors.js";
import { limitOf, multiply } from "./bounds.js";
import { logarithm } from "./told.js";

/** @typedef {import("../checks.js").Fraction} Fraction */
/** @typedef {import("./book.js").Book} Book */
/** @typedef {Pick<import("../plan.js").Plan, "id" | "amplification" | "uncovered" | "reportsPerPerson">} Asked */

/**
 * Return how many further occasions a device can report on under a plan.
 * @param {Book} book
 * @param {Asked} plan
 * @param {Fraction | null} limit
 */
export function leftOf(book, plan, limit) {
  if (limit === null ? !isAlone(book, plan) : uncoveredBy(book, plan)) return 0;
  const allowed = plan.reportsPerPerson - book.spent(plan.id);
  let left = 0;
  for (let product = book.amplification; left < allowed; left += 1) {
    product = multiply(product, plan.amplification);
    if (limit !== null && !isBelow(product, limit)) break;
  }
  return left;
}

/**
 * Refuse a new report on an occasion where none may be made.
 * @param {Book} book
 * @param {Asked} plan
 * @param {string} occasion its hash
 * @param {Fraction | null} limit
 * @throws {BudgetError} the occasion is answered, or no further report may be made under this plan
 * @throws {PlanError} there is a limit, and no γ covers all that was told or is asked
 */
export function checkFurther(book, plan, occasion, limit) {
  const name = nameOf(plan.id);
  const answered = book.planOf(occasion);
  if (answered !== undefined) {
    throw new BudgetError(
      `this device has answered this occasion under ${nameOf(answered)}, and an occasion is answered once, whatever ` +
        "the plan; make no further report of it",
    );
  }
  const uncovered = uncoveredBy(book, plan);
  if (limit !== null && uncovered) {
    throw new PlanError(
      `${name} ${uncovered}, so no limit for this device holds with its reports; answer plans whose γ covers all that ` +
        "they send, or set no limit",
    );
  }
  const spent = book.spent(plan.id);
  if (spent >= plan.reportsPerPerson) {
    throw new BudgetError(
      `the ledger of this device counts ${spent} of the ${plan.reportsPerPerson} reports that ${name} allows a person; ` +
        "make no further one. Sending one of them again is free: name its occasion",
    );
  }
  const product = multiply(book.amplification, plan.amplification);
  if (limit === null && !isAlone(book, plan)) {
    const first = book.plans()[0].planId;
    const rule = first === plan.id
      ? `has answered other plans beside ${name}, its first, so it answers none`
      : `answers ${nameOf(first)}, the first that it answered, and no other`;
    const cost = uncovered ? `no limit can allow this report, for ${name} ${uncovered}` : costOf(book, product);
    throw new BudgetError(`this device ${rule} without a limit; ${cost}`);
  }
  if (limit !== null && !isBelow(product, limit)) {
    throw new BudgetError(
      book.reports === 0
        ? `one report of ${name} alone would reach the limit that is set for this device; it can answer plans of a ` +
          "smaller γ only"
        : `with a further report of ${name} all ${book.reports + 1} of this device would reach the limit that is set for ` +
          "it; only a plan of a smaller γ may be answered, if any",
    );
  }
}

/** @param {string} planId */
const nameOf = (planId) => `plan ${planId.slice(0, 12)}`;

/** Tell whether a device has answered no other plan. @param {Book} book @param {Asked} plan */
const isAlone = (book, plan) => book.plans().every(({ planId }) => planId === plan.id);

/** @param {Fraction | null} product @param {Fraction} limit */
const isBelow = (product, limit) => product !== null && isLess(product, limit);

/** Return why no limit could hold with a plan's reports; empty where one can. @param {Book} book @param {Asked} plan */
function uncoveredBy(book, plan) {
  if (plan.amplification === null) return "states no γ";
  if (plan.uncovered) return `sends ${plan.uncovered}, which lie outside γ`;
  if (book.amplification === null) return "comes after a report whose plan states no γ";
  return book.plans().some((each) => each.outside) ? "comes after a report that told what lies outside γ" : "";
}

/** Say which limit would allow a report with which γ of all is `product`, and what it costs in ε. */
function costOf(book, product) {
  const hundredths = (gamma) => Math.ceil(100 * logarithm(gamma, true));
  let most = Math.max(1, hundredths(product));
  try {
    while (!isBelow(product, limitOf({ epsilon: most / 100 }))) most += 1;
  } catch (error) {
    if (error instanceof PlanError) return "no limit is wide enough for this report";
    throw error;
  }
  return (
    `a limit of epsilon ${most / 100} would allow this report: all of them together could then tell up to ε = ` +
    `${most / 100}, where by now they can have told ε = ${hundredths(book.amplification) / 100} at most`
  );
}
