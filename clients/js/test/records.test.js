import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { loadPlan } from "../src/index.js";

const { plans } = JSON.parse(readFileSync(new URL("../../../tests/vectors/tables.json", import.meta.url), "utf8"));
const plan = await loadPlan(JSON.stringify(plans.find(({ name }) => name === "sampled-one").plan));

test("a record in which no column could be found is refused, and none is made of missing values", () => {
  const given = { w: 1, p: "3", r: true };
  class Row {}
  Object.assign(Row.prototype, given);
  for (const record of [new Map(Object.entries(given)), new Row(), [1, "3", true], "w", null]) {
    assert.throws(() => plan.randomize(record), TypeError);
  }
});

test("a plain object of another page is a record", () => {
  const record = runInNewContext('({ w: 1, p: "3", r: true })');
  assert.equal(plan.randomize(record).length, plan.reportBytes);
});
