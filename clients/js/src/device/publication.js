/**
 * What a collector publishes: its plan.
 * @module
 */

import { CollectorError, PlanError } from "../errors.js";
import { loadPlan } from "../kinds.js";

const MOST_PLAN = 64 << 20;
const ID = /^[0-9a-f]{64}$/;

/**
 * Ask a collector for its plan, and check it.
 * @param {import("./connection.js").Collector} collector
 * @param {string} [pinnedId] the id that it must have, where that is known from elsewhere
 * @returns {Promise<import("../plan.js").Plan>}
 * @throws {CollectorError} no answer, or no plan
 * @throws {PlanError} the plan breaks a rule, or is not what was pinned
 */
export async function fetchPlan(collector, pinnedId) {
  if (pinnedId !== undefined && !ID.test(pinnedId)) {
    throw new PlanError("a plan's id has 64 lowercase hexadecimal digits; give it whole");
  }
  const plan = await saying("nothing was made or sent", async () => {
    const answer = good(await collector.ask("/plan", { mostBytes: MOST_PLAN }), "plan");
    const published = await loadPlan(answer.text("plan"));
    if (answer.headers.get("assocpriv-plan") !== published.id) {
      throw new CollectorError(
        `the collector answers with plan ${published.id.slice(0, 12)} where it says that it has another`,
      );
    }
    return published;
  });
  if (pinnedId !== undefined && pinnedId !== plan.id) {
    throw new PlanError(
      `the collector publishes ${plan.id.slice(0, 12)}…, not the plan ${pinnedId.slice(0, 12)}… that was asked for; ` +
        "nothing was made or sent",
      "other-plan",
    );
  }
  return plan;
}

/**
 * Return an answer that is there; refuse another.
 * @param {import("./connection.js").Answer} answer
 * @param {string} what what was asked for
 */
export function good(answer, what) {
  if (answer.status !== 200) {
    throw new CollectorError(`the collector gives no ${what} (status ${answer.status}): ${answer.said()}`, answer.code);
  }
  return answer;
}

/**
 * Say of a collector that fails what became of the report.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function saying(what, work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CollectorError) throw new CollectorError(`${error.message}; ${what}`, error.code);
    throw error;
  }
}
