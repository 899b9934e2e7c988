/**
 * What a device asks a collector before it answers a guided plan: first the level k*, then, if it takes part, V*.
 *
 * A miner that may choose V* after it has learned what a device lets go could ask for as much as that allows (ZWZ05,
 * section 3): so the level is asked for, and decided on, before the guidance is.
 * @module
 */

import { CollectorError, LevelError, PlanError } from "../errors.js";
import { GuidedPlan } from "../guided/plan.js";
import { inputOf } from "../tables/columns.js";
import { inputsOf } from "../tables/records.js";
import { good } from "./publication.js";

const MOST_GUIDANCE = 1 << 28;
const MOST_LEVEL = 1 << 12;

/** Tell whether a plan's records need guidance. @param {import("../plan.js").Plan} plan */
export function isGuided(plan) {
  return plan instanceof GuidedPlan;
}

/**
 * Refuse values that do not fit the columns of a guided plan.
 * @param {any} values
 * @param {any} plan
 * @throws {import("../errors.js").RecordError}
 */
export function checkValues(values, plan) {
  inputsOf(values, plan.columns, inputOf);
}

/**
 * Return a record with the guidance that it answers, checked.
 * @param {Record<string, any>} values of the plan's columns, by name
 * @param {any} plan a guided one
 * @param {import("./connection.js").Collector} collector
 * @param {number} [maxLevel] the highest level that this device answers; any by default
 * @returns {Promise<any>} what `plan.randomize` takes; null where none is published so far
 * @throws {LevelError} a higher level is asked for; the guidance was not asked for then
 * @throws {PlanError} guidance that is none of the plan's, or of another level than was announced
 * @throws {CollectorError} no answer
 */
export async function withGuidance(values, plan, collector, maxLevel) {
  const asked = await collector.ask("/guidance/level", { mostBytes: MOST_LEVEL });
  if (asked.status === 404) return null;
  const announced = good(asked, "guidance").json("level of guidance");
  const level = announced?.level;
  if (!Number.isInteger(level) || level < 1) throw new CollectorError("the collector announces no level of guidance");
  if (announced.plan !== plan.id) {
    throw new PlanError("the level that the collector announces is of another plan; nothing is sent");
  }
  if (maxLevel !== undefined && level > maxLevel) {
    throw new LevelError(
      `the collector asks for level ${level}, above the highest of ${maxLevel}; nothing is sent, and the record can ` +
        "wait for a lower one",
    );
  }
  const content = good(await collector.ask("/guidance", { mostBytes: MOST_GUIDANCE }), "guidance").json("guidance");
  const guidance = plan.accept(content, { maxLevel, announced: level });
  void guidance.coin; // computed here: nothing else may take long while the ledger is held
  return { values, guidance, maxLevel, announced: level };
}
