import assert from "node:assert/strict";
import { test } from "node:test";

import { PlanError, readRules, recommend, RecordError } from "../src/index.js";

const rule = { antecedents: ["tea"], consequents: ["milk"], confidence: 0.6 };
const published = (rules) => ({ format: "assocpriv-rules", version: 1, rules });

test("an invalid file of rules, or an invalid rule, is refused with its place", () => {
  for (const content of [null, [], {}, { ...published([]), version: 2 }, published(null)]) {
    assert.throws(() => readRules(content), PlanError);
  }
  for (const wrong of [null, { antecedents: [] }, { consequents: [7] }, { confidence: 2 }, { confidence: true }]) {
    const rules = [rule, wrong && { ...rule, ...wrong }];
    assert.throws(() => readRules(published(rules)), ({ message }) => /^rule 2: /.test(message));
  }
});

test("an invalid basket is refused, and not shown", () => {
  for (const basket of ["CANARY", 7, null, {}, new Map([["CANARY", 0]])]) {
    assert.throws(() => recommend(basket, []), (error) => error instanceof RecordError && !/CANARY/.test(error.message));
  }
});
