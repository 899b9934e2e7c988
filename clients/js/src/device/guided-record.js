/**
 * Fetch guidance from a collector for a record of a guided plan: first the level k*, then, if the device takes part, V*.
 *
 * A miner that could choose V* after it has learned the device's maximum level could request as much as that allows (ZWZ05,
 * section 3). So the device gets the level, and decides on it, before the guidance.
 * @module
 */

import { CollectorError, LevelError, PlanError } from "../errors.js";
import { GuidedPlan } from "../guided/plan.js";
import { inputOf } from "../tables/columns.js";
import { inputsOf } from "../tables/records.js";
import { requireSuccess } from "./publication.js";

const MOST_GUIDANCE = 1 << 28;
const MOST_LEVEL = 1 << 12;

/** Return whether a plan's records need guidance. @param {import("../plan.js").Plan} plan */
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
 * Return a record with the collector's guidance, checked.
 * @param {Record<string, any>} values of the plan's columns, by name
 * @param {any} plan a guided one
 * @param {import("./connection.js").Collector} collector
 * @param {number} [maxLevel] the highest level that this device answers; any by default
 * @returns {Promise<any>} what `plan.randomize` takes; null if no guidance is published yet
 * @throws {LevelError} the level is higher; the guidance was not requested then
 * @throws {PlanError} guidance of another plan, or of another level than announced
 * @throws {CollectorError} no response
 */
export async function fetchGuidedRecord(values, plan, collector, maxLevel) {
  const asked = await collector.ask("/guidance/level", { mostBytes: MOST_LEVEL });
  if (asked.status === 404) return null;
  const announced = requireSuccess(asked, "guidance").json("level of guidance");
  const level = announced?.level;
  if (!Number.isInteger(level) || level < 1) throw new CollectorError("the collector announces no level of guidance");
  if (announced.plan !== plan.id) {
    throw new PlanError("the level that the collector announces is of another plan; nothing is sent");
  }
  if (maxLevel !== undefined && level > maxLevel) {
    throw new LevelError(
      `the collector asks for level ${level}, above the maximum of ${maxLevel}; nothing is sent. The record can be queued ` +
        "for a lower level",
    );
  }
  const content = requireSuccess(await collector.ask("/guidance", { mostBytes: MOST_GUIDANCE }), "guidance").json("guidance");
  const guidance = plan.checkGuidance(content, { maxLevel, announcedLevel: level });
  void guidance.mixingWeight; // computed here, so that the ledger is held for a short time
  return { values, guidance, maxLevel, announcedLevel: level };
}
