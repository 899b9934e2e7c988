/**
 * Checks of guided perturbation against tests/vectors/guided.json.
 * @module
 */

import { hexOf, givenWords, loadPlan, PlanError, readGuidance, WireError } from "../../src/index.js";
import { canonicalText, parseJson } from "../../src/json.js";
import { sha256Hex } from "../../src/plan.js";
import { bytesOf, textOf } from "./content.js";

/**
 * @param {string} text guided.json
 * @param {any} assert `equal`, `deepEqual`, `rejects` and `throws` as of node:assert/strict
 */
export async function checkGuided(text, assert) {
  const vectors = parseJson(text, "list of vectors");
  const plans = Object.create(null);
  const found = new Map();
  for (const { name, plan, id } of vectors.plans) plans[name] = await loadPlan(textOf(plan), { id });
  for (const { breaks, plan } of vectors.bad_plans) await assert.rejects(loadPlan(textOf(plan)), PlanError, breaks);
  for (const { plan, guidance, id } of vectors.guidance) {
    found.set(`${plan} ${guidance.serial}`, readGuidance(textOf(guidance), plans[plan]));
    assert.equal(await sha256Hex(new TextEncoder().encode(canonicalText(guidance))), id);
  }
  for (const { plan, breaks, guidance } of vectors.bad_guidance) {
    assert.throws(() => readGuidance(textOf(guidance), plans[plan]), PlanError, `${plan}: ${breaks}`);
  }
  for (const { plan, guidance, mixing_weight: mixingWeight } of vectors.mixing_weights) assert.equal(found.get(`${plan} ${guidance}`).mixingWeight, mixingWeight, plan);
  for (const vector of vectors.reports) checkReport(vector, plans[vector.plan], found, assert);
  for (const { plan, breaks, report } of vectors.bad_reports) {
    assert.throws(() => plans[plan].decode(bytesOf(report)), WireError, `${plan}: ${breaks}`);
  }
}

function checkReport({ plan: name, guidance: serial, record, words: given, weights, bits, report }, plan, found, assert) {
  const words = givenWords(given.map((word) => BigInt(`0x${word}`)));
  const steps = plan.draw({ values: plan.valuesFromText(textOf(record)), guidance: found.get(`${name} ${serial}`) }, words);
  assert.deepEqual(steps.weights.map(String), weights.map(String), name);
  assert.deepEqual(steps.bits, bits, name);
  assert.equal(hexOf(steps.report), report, name);
  assert.equal(words.used, given.length, name);
  const ones = bits.flatMap((bit, place) => (bit ? [place] : []));
  assert.deepEqual(plan.decode(steps.report), { guidance: serial, class: record[plan.label.name], ones });
}
