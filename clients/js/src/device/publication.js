/**
 * The plan that a collector publishes.
 * @module
 */

import { CollectorError, PlanError } from "../errors.js";
import { loadPlan } from "../plan-types.js";

const MOST_PLAN = 64 << 20;
const ID = /^[0-9a-f]{64}$/;

/**
 * Fetch a collector's plan, and check it.
 * @param {import("./connection.js").Collector} collector
 * @param {string} [pinnedId] its required id, if known from elsewhere
 * @returns {Promise<import("../plan.js").Plan>}
 * @throws {CollectorError} no response, or no plan
 * @throws {PlanError} the plan breaks a rule, or has another id than the pinned one
 */
export async function fetchPlan(collector, pinnedId) {
  if (pinnedId !== undefined && !ID.test(pinnedId)) {
    throw new PlanError("pinnedId must have 64 lowercase hexadecimal digits");
  }
  const plan = await explainOutcome("nothing was made or sent", async () => {
    const answer = requireSuccess(await collector.ask("/plan", { mostBytes: MOST_PLAN }), "plan");
    const published = await loadPlan(answer.text("plan"));
    if (answer.headers.get("assocpriv-plan") !== published.id) {
      throw new CollectorError(
        `the collector sends plan ${published.id.slice(0, 12)}, but its header names another`,
      );
    }
    return published;
  });
  if (pinnedId !== undefined && pinnedId !== plan.id) {
    throw new PlanError(
      `the collector publishes plan ${plan.id.slice(0, 12)}…, not the required ${pinnedId.slice(0, 12)}…; nothing was ` +
        "made or sent",
      "other-plan",
    );
  }
  return plan;
}

/**
 * Return a response of status 200; refuse any other.
 * @param {import("./connection.js").HttpResponse} answer
 * @param {string} what the requested content, for messages
 */
export function requireSuccess(answer, what) {
  if (answer.status !== 200) {
    throw new CollectorError(`the collector sends no ${what} (status ${answer.status}): ${answer.message()}`, answer.code);
  }
  return answer;
}

/**
 * Add what became of the report to an error of the collector.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function explainOutcome(what, work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CollectorError) throw new CollectorError(`${error.message}; ${what}`, error.code);
    throw error;
  }
}
