/**
 * What a collector asks: a plan, or a campaign with the plans that its rounds have so far.
 * @module
 */

import { isObject } from "../checks.js";
import { CollectorError, PlanError } from "../errors.js";
import { loadPlan } from "../kinds.js";
import { campaignOf, isId, MOST_TEXT } from "./campaign.js";

const MOST_PLAN = 64 << 20;

/**
 * @typedef {{ plan: import("../plan.js").Plan | null, campaign: import("./campaign.js").Campaign | null,
 *   planIds: (string | null)[] }} Offer `planIds` of the plan, or of a campaign's rounds, null where one has none yet
 */

/**
 * Ask a collector for its campaign, or else for its plan.
 * @param {import("./connection.js").Collector} collector
 * @param {string} [pinnedId] the id that it must have, where that is known from elsewhere
 * @returns {Promise<Offer>}
 * @throws {CollectorError} no answer, or neither of both
 * @throws {PlanError} what it publishes breaks a rule, or is not what was pinned
 */
export async function fetchOffer(collector, pinnedId) {
  if (pinnedId !== undefined && !isId(pinnedId)) {
    throw new PlanError("a plan's or campaign's id has 64 lowercase hexadecimal digits; give it whole");
  }
  const offer = await saying("nothing was made or sent", async () => {
    const answer = await collector.ask("/campaign", { mostBytes: 2 * MOST_TEXT });
    return answer.status === 404 ? offerOf(await fetchPlan(collector, "/plan")) : campaignOffer(good(answer, "campaign"));
  });
  const found = (offer.plan ?? offer.campaign)?.id ?? "";
  if (pinnedId !== undefined && pinnedId !== found) {
    throw new PlanError(
      `the collector publishes ${found.slice(0, 12)}…, not the plan or campaign ${pinnedId.slice(0, 12)}… that was ` +
        "asked for; nothing was made or sent",
    );
  }
  return offer;
}

/** @returns {Offer} */
function offerOf(plan) {
  return { plan, campaign: null, planIds: [plan.id] };
}

/**
 * Fetch a plan, check it, and that it is what the collector says that it is.
 * @param {import("./connection.js").Collector} collector
 * @param {string} path
 * @param {string} [wanted] its id
 */
export async function fetchPlan(collector, path, wanted) {
  const answer = good(await collector.ask(path, { mostBytes: MOST_PLAN }), "plan");
  const plan = await loadPlan(answer.text("plan"));
  if (answer.headers.get("assocpriv-plan") !== plan.id || (wanted !== undefined && wanted !== plan.id)) {
    throw new CollectorError(
      `the collector answers with plan ${plan.id.slice(0, 12)} where it says that it has another`,
    );
  }
  return plan;
}

/** @returns {Promise<Offer>} */
async function campaignOffer(answer) {
  const content = answer.json("campaign");
  if (!isObject(content) || Object.keys(content).sort().join() !== "campaign,plans") {
    throw new CollectorError("the collector's answer is no campaign");
  }
  const campaign = await campaignOf(content.campaign);
  const ids = content.plans;
  const known = Array.isArray(ids) ? ids.filter((id) => id !== null) : [];
  const isOne =
    Array.isArray(ids) &&
    ids.length === campaign.rounds.length &&
    known.every(isId) &&
    new Set(known).size === known.length &&
    (ids[0] === null || ids[0] === campaign.firstPlan);
  if (!isOne) throw new CollectorError("the plans of the collector's campaign are not what its rounds can have");
  return { plan: null, campaign, planIds: ids };
}

/**
 * Return an answer that is there; refuse another.
 * @param {import("./connection.js").Answer} answer
 * @param {string} what what was asked for
 */
export function good(answer, what) {
  if (answer.status !== 200) {
    throw new CollectorError(`the collector gives no ${what} (status ${answer.status}): ${answer.said()}`);
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
    if (error instanceof CollectorError) throw new CollectorError(`${error.message}; ${what}`);
    throw error;
  }
}
