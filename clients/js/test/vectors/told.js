/**
 * Checks of what a ledger's reports can have told, against tests/vectors/devices.json.
 * @module
 */

import { Book } from "../../src/device/book.js";
import { limitOf } from "../../src/device/bounds.js";
import { toldBy } from "../../src/device/told.js";

/** @param {string} text the vectors @param {any} assert */
export function checkTold(text, assert) {
  for (const [name, { reports, limit, told, lines }] of Object.entries(JSON.parse(text).told)) {
    const book = new Book();
    for (const [plan, gamma] of reports.flatMap(([plan, gamma, times]) => Array(times).fill([plan, gamma]))) {
      const record = { number: book.count + 1, kind: 1, plan, occasion: `${book.count}`, id: "", gamma, report: new Uint8Array(1) };
      assert.ok(book.add(record), name);
    }
    const { lines: said, ...figures } = toldBy(book, limit && limitOf(limit));
    assert.deepEqual(said, lines, name);
    assert.deepEqual(contentOf(figures), told, name);
  }
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
