/**
 * Checks of baskets against tests/vectors/plans.json and reports.json.
 * @module
 */

import { parseJson } from "../../src/json.js";
import { givenWords, hexOf, loadPlan, PlanError, RecordError, Transaction, WireError } from "../../src/index.js";
import { bytesOf, textOf } from "./content.js";

/**
 * @param {string} plansText plans.json
 * @param {string} reportsText reports.json
 * @param {any} assert `equal`, `deepEqual` and `rejects`, `throws` as of node:assert/strict
 */
export async function checkBaskets(plansText, reportsText, assert) {
  const byName = await checkPlans(parseJson(plansText, "list of vectors"), assert); // JSON.parse makes 1 of 1.0
  const reports = JSON.parse(reportsText);
  for (const vector of reports.reports) checkReport(vector, byName[vector.plan], assert);
  for (const { plan, breaks, report } of reports.refused) {
    assert.throws(() => byName[plan].decode(bytesOf(report)), WireError, `${plan}: ${breaks}`);
  }
  for (const { plan, report, report_type: reportType, shows } of reports.decoded) {
    assert.deepEqual(byName[plan].decode(bytesOf(report)), { reportType, shown: shows }, `${plan}: ${report}`);
  }
  for (const { plan, case: name, names, unknown, transaction } of reports.baskets) {
    assert.deepEqual(byName[plan].names.transactionOf(names, { unknown }), transaction, `${plan}: ${name}`);
  }
  for (const { plan, breaks, names } of reports.refused_baskets) {
    assert.throws(() => byName[plan].randomize(names), RecordError, `${plan}: ${breaks}`);
  }
}

async function checkPlans({ plans, other_texts: texts, refused }, assert) {
  const byName = Object.create(null);
  for (const { name, plan: content, id, amplification, report_bytes: length } of plans) {
    const plan = await loadPlan(textOf(content), { id });
    await assert.rejects(loadPlan(textOf(content), { id: id.replace(/.$/, "x") }), PlanError, `${name} by another id`);
    assert.equal(plan.amplification.join("/"), amplification, name);
    assert.equal(plan.reportBytes, length, name);
    byName[name] = plan;
  }
  for (const { text, id } of texts) assert.equal((await loadPlan(text)).id, id);
  for (const { breaks, plan, text } of refused) {
    await assert.rejects(loadPlan(text ?? textOf(plan)), PlanError, breaks);
  }
  return byName;
}

function checkReport(vector, plan, assert) {
  const about = `${vector.plan}: ${vector.case}`;
  const words = givenWords(vector.words.map((word) => BigInt(`0x${word}`)));
  const steps = plan.draw(vector.names ?? new Transaction(vector.transaction), words);
  assert.equal(hexOf(steps.report), vector.report, about);
  assert.equal(words.used, vector.words_used, about);
  assert.deepEqual(plan.decode(steps.report), { reportType: vector.report_type, shown: vector.shows }, about);
  for (const [field, step] of [["report_type", steps.reportType], ["entries", steps.entries], ["fitted", steps.fitted],
    ["kept_mask", steps.keptMask], ["item_values", steps.itemValues], ["added", steps.added]]) {
    assert.deepEqual(step, vector[field], `${about}: ${field}`);
  }
  if ("kept_rank" in vector) assert.equal(Number(steps.keptRank), vector.kept_rank, about);
  if ("added_rank" in vector) assert.equal(steps.addedRank.toString(16), vector.added_rank, about);
  if ("first_seed" in vector) assert.equal(steps.firstSeed.toString(16), vector.first_seed, about);
  if ("random_bits" in vector) assert.equal(BigInt(`0x${hexOf(steps.randomBits.slice().reverse())}`).toString(16), vector.random_bits, about);
}
