import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { limitOf } from "../src/device/bounds.js";
import { textOf } from "../src/device/record-queue.js";
import { loadPlan, PlanError } from "../src/index.js";
import { parseJson } from "../src/json.js";
import { givenWords, systemWords } from "../src/words.js";

const { plans } = JSON.parse(readFileSync(new URL("../../../tests/vectors/tables.json", import.meta.url), "utf8"));
const plan = await loadPlan(JSON.stringify(plans.find(({ name }) => name === "sampled-one").plan));

test("a record without any column is refused, not read as missing values", () => {
  const given = { w: 1, p: "3", r: true };
  class Row {}
  Object.assign(Row.prototype, given);
  for (const record of [new Map(Object.entries(given)), new Row(), [1, "3", true], "w", null]) {
    assert.throws(() => plan.randomize(record), TypeError);
  }
});

test("a limit is written as fractions, decimals or percentages", () => {
  for (const [prior, posterior] of [["5%", "50%"], ["0.05", "0.5"], ["1/20", "1/2"], ["5.0%", "50.00%"]]) {
    const [above, below] = limitOf({ prior, posterior });
    assert.equal(above, 19n * below, prior);
  }
  for (const prior of ["0.05.1", "5 %", ".05", "1/0", "", 0.05]) {
    assert.throws(() => limitOf({ prior, posterior: "50%" }), PlanError, String(prior));
  }
});

test("a plain object of another page is a record", () => {
  const record = runInNewContext('({ w: 1, p: "3", r: true })');
  assert.equal(plan.randomize(record).length, plan.reportBytes);
});

test("a queued record is read back unchanged, also its numbers", () => {
  const words = () => givenWords(Array.from({ length: 50 }, (_, place) => BigInt(place) << 58n));
  for (const record of [{ w: 1n, p: 3n, r: true }, { w: 0.1 + 0.2, p: "3", r: "x" }, { w: -0, p: 3, r: true }]) {
    const later = parseJson(textOf("é", record), "record");
    assert.equal(later.period, "é");
    assert.deepEqual(plan.randomize(later.values, words()), plan.randomize(record, words()));
  }
  const left = parseJson(textOf(null, { a: null, b: undefined, c: NaN, ["__proto__"]: 2n ** 64n }), "record");
  assert.deepEqual([left.period, Object.entries(left.values)], [null, [["__proto__", 2n ** 64n]]]);
});

test("a source of zeros ends with an error, not a loop", (t) => {
  t.mock.method(globalThis.crypto, "getRandomValues", (values) => values.fill(0));
  assert.throws(() => plan.randomize({ w: 1, p: "3", r: true }), /repeats itself/);
  const given = [0, 1, 2]; // 256 words, further bytes, the next words
  t.mock.method(globalThis.crypto, "getRandomValues", (values) => values.fill(0).fill(given.shift(), 1));
  const words = systemWords();
  assert.equal(words.bits(64), 0n);
  assert.deepEqual([given, words.used], [[2], 1]);
});

test("a whole number with more digits than any plan has is refused", () => {
  assert.equal(parseJson(`-${"7".repeat(4300)}`, "plan"), -BigInt("7".repeat(4300)));
  for (const sign of ["", "-"]) assert.throws(() => parseJson(sign + "7".repeat(4301), "plan"), PlanError);
});
