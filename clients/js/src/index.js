/**
 * assocpriv on the device: one person's record becomes a few randomized bytes; nothing else leaves the device.
 * @module
 */

export { shownProbabilities, highestPosterior, percentFarFrom, posterior } from "./baskets/posterior.js";
export { Transaction } from "./baskets/plan.js";
export { Collector } from "./device/connection.js";
export { Ledger } from "./device/ledger.js";
export { openLedger } from "./device/open.js";
export { fetchPlan } from "./device/publication.js";
export { sendScheduled, sendRecord, sendQueued } from "./device/sending.js";
export { openRecordQueue, RecordQueue } from "./device/record-queue.js";
export {
  AssocprivError, BudgetError, CollectorError, LedgerError, LevelError, PlanError, RecordError, WireError,
} from "./errors.js";
export { readGuidance } from "./guided/guidance.js";
export { loadPlan } from "./plan-types.js";
export { hexOf, Plan } from "./plan.js";
export { readRules, recommend } from "./recommend.js";
export { givenWords, systemWords, Words } from "./words.js";

/** @typedef {import("./device/bounds.js").Limit} Limit */
/** @typedef {import("./device/sending.js").SendOptions} SendOptions */
/** @typedef {import("./device/sending.js").Sent} Sent */
/** @typedef {import("./device/sending.js").QueueResult} QueueResult */
/** @typedef {import("./device/budget-spent.js").BudgetSpent} BudgetSpent */
/** @typedef {import("./recommend.js").Rule} Rule */
