/**
 * Checks of what a ledger's reports can have told, and may tell further, against tests/vectors/devices.json.
 * @module
 */

import { Book } from "../../src/device/book.js";
import { gammaOf, limitOf } from "../../src/device/bounds.js";
import { checkFurther, leftOf } from "../../src/device/budget.js";
import { toldBy } from "../../src/device/told.js";

/** @param {string} text the vectors @param {any} assert */
export function checkTold(text, assert) {
  for (const [name, { reports, limit, told, lines }] of Object.entries(JSON.parse(text).told)) {
    const book = bookOf(reports.flatMap(([plan, gamma, times]) => Array(times).fill([plan, "", gamma])));
    const { lines: said, ...figures } = toldBy(book, limit && limitOf(limit));
    assert.deepEqual(said, lines, name);
    assert.deepEqual(contentOf(figures), told, name);
  }
}

/** @param {string} text the vectors @param {any} assert */
export function checkAsked(text, assert) {
  for (const [name, { reports, asked, limit, found }] of Object.entries(JSON.parse(text).asked)) {
    const [book, most, occasion] = [bookOf(reports), limit && limitOf(limit), `${asked.occasion}`];
    const { gamma, outside } = /** @type {any} */ (gammaOf(asked.gamma));
    const plan = { id: asked.plan, amplification: gamma, uncovered: outside ? "column class, as it is" : "", reportsPerPerson: asked.reports_per_person };
    let [answer, said] = [book.find(plan.id, occasion) ? "again" : "new", null];
    try {
      if (answer === "new") checkFurther(book, plan, occasion, most);
    } catch (refusal) {
      [answer, said] = ["refuse", refusal.message];
    }
    assert.deepEqual({ answer, left: leftOf(book, plan, most), said }, found, name);
  }
}

/** Return the book of reports, each as plan, occasion and γ. */
function bookOf(reports) {
  const book = new Book();
  for (const [plan, occasion, gamma] of reports) {
    book.add({ number: book.count + 1, kind: 1, plan, occasion: `${occasion}`, id: "", gamma, report: new Uint8Array(1) });
  }
  return book;
}

/** Return figures as the vectors have them: fractions as text, names of lower case, in their order. */
function contentOf(figures) {
  const named = Object.entries(figures).map(([name, value]) => {
    return [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name === "plans" ? value.map(contentOf) : written(value)];
  });
  return Object.fromEntries(named.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function written(value) {
  return Array.isArray(value) ? value.join("/") : value;
}
