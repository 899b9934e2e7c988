/**
 * The further reports that a device may make (docs/formats/client.md#the-clients-ledger, "Using").
 *
 * A reporting period is answered once. Without a limit a device answers only its first plan, for the number of reports that
 * this plan allows; with a limit any plans, while γ of all reports stays below it. Python has the same rules and messages
 * (assocpriv/client/ledger.py).
 * @module
 */

import { isLess } from "../checks.js";
import { BudgetError, PlanError } from "../errors.js";
import { limitOf, multiply } from "./bounds.js";
import { logarithm } from "./budget-spent.js";

/** @typedef {import("../checks.js").Fraction} Fraction */
/** @typedef {import("./book.js").Book} Book */
/** @typedef {Pick<import("../plan.js").Plan, "id" | "amplification" | "uncovered" | "reportsPerPerson">} PlanLimits */

/**
 * Return the number of further reports that a device can make under a plan.
 * @param {Book} book
 * @param {PlanLimits} plan
 * @param {Fraction | null} limit
 */
export function remainingReports(book, plan, limit) {
  if (limit === null ? !isAlone(book, plan) : uncoveredReason(book, plan)) return 0;
  const allowed = plan.reportsPerPerson - book.spent(plan.id);
  let further = 0;
  for (let product = book.amplification; further < allowed; further += 1) {
    product = multiply(product, plan.amplification);
    if (limit !== null && !isBelow(product, limit)) break;
  }
  return further;
}

/**
 * Refuse a new report on a reporting period where none may be made.
 * @param {Book} book
 * @param {PlanLimits} plan
 * @param {string} period its hash
 * @param {Fraction | null} limit
 * @throws {BudgetError} the period is answered, or no further report may be made under this plan
 * @throws {PlanError} there is a limit, and no γ covers all reports with this one
 */
export function checkFurther(book, plan, period, limit) {
  const name = nameOf(plan.id);
  const answered = book.planOf(period);
  if (answered !== undefined) {
    throw new BudgetError(
      `this device answered this reporting period under ${nameOf(answered)}, and a period is answered once, whatever the plan; ` +
        "make no further report on it",
    );
  }
  const uncovered = uncoveredReason(book, plan);
  if (limit !== null && uncovered) {
    throw new PlanError(
      `${name} ${uncovered}, so no limit for this device can hold; answer plans whose γ covers everything that they send, or ` +
        "set no limit",
    );
  }
  const spent = book.spent(plan.id);
  if (spent >= plan.reportsPerPerson) {
    throw new BudgetError(
      `this device has made ${spent} of the ${plan.reportsPerPerson} reports that ${name} allows a person; make no further ` +
        "one. To send one of them again, which spends nothing, name its reporting period",
    );
  }
  const product = multiply(book.amplification, plan.amplification);
  if (limit === null && !isAlone(book, plan)) {
    const first = book.plans()[0].planId;
    const rule = first === plan.id
      ? `no further plan, because it has answered others than ${name}, its first`
      : `only ${nameOf(first)}, its first one`;
    const cost = uncovered ? `no limit can allow this report: ${name} ${uncovered}` : neededLimit(book, product);
    throw new BudgetError(`without a limit this device answers ${rule}; ${cost}`);
  }
  if (limit !== null && !isBelow(product, limit)) {
    throw new BudgetError(
      book.reports === 0
        ? `one report of ${name} would reach the limit of this device; answer plans of a smaller γ only`
        : `with this report of ${name} the ${book.reports + 1} reports of this device would reach its limit; only a plan ` +
          "of a smaller γ may be answered, if any",
    );
  }
}

/** @param {string} planId */
const nameOf = (planId) => `plan ${planId.slice(0, 12)}`;

/** Return whether a device has answered no other plan. @param {Book} book @param {PlanLimits} plan */
const isAlone = (book, plan) => book.plans().every(({ planId }) => planId === plan.id);

/** @param {Fraction | null} product @param {Fraction} limit */
const isBelow = (product, limit) => product !== null && isLess(product, limit);

/** Return why no limit could hold with a plan's reports; empty where one can. @param {Book} book @param {PlanLimits} plan */
function uncoveredReason(book, plan) {
  if (plan.amplification === null) return "has no γ";
  if (plan.uncovered) return `sends ${plan.uncovered}, which γ does not cover`;
  if (book.amplification === null) return "follows a report of a plan without γ";
  return book.plans().some((each) => each.uncovered) ? "follows a report of data that γ does not cover" : "";
}

/** Return in words the limit for a report after which γ of all reports is `product`, and the ε that it spends. */
function neededLimit(book, product) {
  const hundredths = (gamma) => Math.ceil(100 * logarithm(gamma, true));
  let most = Math.max(1, hundredths(product));
  try {
    while (!isBelow(product, limitOf({ epsilon: most / 100 }))) most += 1;
  } catch (error) {
    if (error instanceof PlanError) return "no limit is wide enough for this report";
    throw error;
  }
  return (
    `a limit of epsilon ${most / 100} would allow this report, and all reports together could then spend up to ε = ` +
    `${most / 100}; at most ε = ${hundredths(book.amplification) / 100} is spent now`
  );
}
