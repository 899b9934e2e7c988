/**
 * The plan types of this client, and the function that loads a plan.
 * @module
 */

import { BasketPlan } from "./baskets/plan.js";
import { noOthers } from "./checks.js";
import { GuidedPlan } from "./guided/plan.js";
import { readPlan } from "./plan.js";
import { TablePlan } from "./tables/plan.js";

const KINDS = { baskets: BasketPlan, table: TablePlan, guided: GuidedPlan };

/**
 * Load a plan: read it, refuse one that breaks a rule, and compute its id.
 *
 * @param {string | Uint8Array} text the plan's JSON, in any layout
 * @param {{ id?: string }} [options] `id`: the required id of the plan, if known from elsewhere
 * @returns {Promise<import("./plan.js").Plan>}
 * @throws {import("./errors.js").PlanError} a plan that must not be answered
 */
export async function loadPlan(text, { id, ...others } = {}) {
  noOthers(others);
  return readPlan(text, KINDS, id);
}
