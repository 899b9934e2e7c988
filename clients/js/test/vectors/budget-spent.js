/**
 * Checks of the privacy budget spent by a ledger's reports, and of further reports, against tests/vectors/devices.json.
 * @module
 */

import { Book } from "../../src/device/book.js";
import { gammaOf, limitOf } from "../../src/device/bounds.js";
import { checkFurther, remainingReports } from "../../src/device/budget.js";
import { budgetSpent } from "../../src/device/budget-spent.js";

/** @param {string} text the vectors @param {any} assert */
export function checkSpent(text, assert) {
  for (const [name, { reports, limit, spent, lines }] of Object.entries(JSON.parse(text).spent)) {
    const book = bookOf(reports.flatMap(([plan, gamma, times]) => Array(times).fill([plan, "", gamma])));
    const { lines: sentences, ...figures } = budgetSpent(book, limit && limitOf(limit));
    assert.deepEqual(sentences, lines, name);
    assert.deepEqual(contentOf(figures), spent, name);
  }
}

/** @param {string} text the vectors @param {any} assert */
export function checkAllowed(text, assert) {
  for (const [name, { reports, request, limit, found }] of Object.entries(JSON.parse(text).requests)) {
    const [book, most, period] = [bookOf(reports), limit && limitOf(limit), `${request.period}`];
    const { gamma, uncovered } = /** @type {any} */ (gammaOf(request.gamma));
    const plan = { id: request.plan, amplification: gamma, uncovered: uncovered ? "column class, as it is" : "", reportsPerPerson: request.reports_per_person };
    let [decision, message] = [book.find(plan.id, period) ? "again" : "new", null];
    try {
      if (decision === "new") checkFurther(book, plan, period, most);
    } catch (refusal) {
      [decision, message] = ["refuse", refusal.message];
    }
    assert.deepEqual({ decision, message, remaining: remainingReports(book, plan, most) }, found, name);
  }
}

/** Return the book of reports, each as plan, reporting period and γ. */
function bookOf(reports) {
  const book = new Book();
  for (const [plan, period, gamma] of reports) {
    book.add({ number: book.count + 1, kind: 1, plan, period: `${period}`, id: "", gamma, report: new Uint8Array(1) });
  }
  return book;
}

/** Return figures in the form of the vectors: fractions as text, lower-case names, sorted. */
function contentOf(figures) {
  const named = Object.entries(figures).map(([name, value]) => {
    return [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name === "plans" ? value.map(contentOf) : written(value)];
  });
  return Object.fromEntries(named.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function written(value) {
  return Array.isArray(value) ? value.join("/") : value;
}
