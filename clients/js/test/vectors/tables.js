/**
 * Checks of tables against tests/vectors/tables.json.
 * @module
 */

import { hexOf, givenWords, loadPlan, PlanError, RecordError, WireError } from "../../src/index.js";
import { parseJson } from "../../src/json.js";
import { bytesOf, textOf } from "./content.js";

/**
 * @param {string} text tables.json
 * @param {any} assert `equal`, `deepEqual`, `rejects` and `throws` as of node:assert/strict
 */
export async function checkTables(text, assert) {
  const vectors = parseJson(text, "list of vectors"); // JSON.parse makes 1 of 1.0
  const plans = Object.create(null);
  for (const { name, plan, id } of vectors.plans) plans[name] = await loadPlan(textOf(plan), { id });
  for (const { breaks, plan } of vectors.bad_plans) await assert.rejects(loadPlan(textOf(plan)), PlanError, breaks);
  for (const vector of vectors.reports) checkReport(vector, plans[vector.plan], assert);
  for (const { plan, breaks, report } of vectors.bad_reports) {
    assert.throws(() => plans[plan].decode(bytesOf(report)), WireError, `${plan}: ${breaks}`);
  }
  for (const { plan, breaks, record } of vectors.bad_records) {
    const answer = () => plans[plan].randomize(plans[plan].recordFromText(textOf(record)));
    assert.throws(answer, RecordError, `${plan}: ${breaks}`);
  }
}

function checkReport({ plan: name, record, words: given, codes, report }, plan, assert) {
  const words = givenWords(given.map((word) => BigInt(`0x${word}`)));
  const steps = plan.draw(plan.recordFromText(textOf(record)), words);
  assert.deepEqual(steps.codes, codes, name);
  assert.equal(hexOf(steps.report), report, name);
  assert.equal(words.used, given.length, name);
  assert.deepEqual(plan.decode(steps.report), { codes });
}
