/**
 * assocpriv on the device: one person's record becomes a few randomized bytes, and nothing else leaves.
 * @module
 */

export { chancesOf, mostBelieved, percentAwayFrom, posterior } from "./baskets/belief.js";
export { Transaction } from "./baskets/plan.js";
export { Collector } from "./device/connection.js";
export { Ledger } from "./device/ledger.js";
export { openLedger } from "./device/open.js";
export { fetchPlan } from "./device/publication.js";
export { sendAtMoments, sendRecord, sendWaiting } from "./device/sending.js";
export { openWaiting, Waiting } from "./device/waiting.js";
export {
  AssocprivError, BudgetError, CollectorError, LedgerError, LevelError, PlanError, RecordError, WireError,
} from "./errors.js";
export { readGuidance } from "./guided/guidance.js";
export { loadPlan } from "./kinds.js";
export { hexOf, Plan } from "./plan.js";
export { readRules, recommend } from "./recommend.js";
export { givenWords, systemWords, Words } from "./words.js";

/** @typedef {import("./device/bounds.js").Limit} Limit */
/** @typedef {import("./device/sending.js").SendOptions} SendOptions */
/** @typedef {import("./device/sending.js").Sent} Sent */
/** @typedef {import("./device/sending.js").SentWaiting} SentWaiting */
/** @typedef {import("./device/told.js").Told} Told */
/** @typedef {import("./recommend.js").Rule} Rule */
