/**
 * assocpriv on the device: one person's record becomes a few randomized bytes, and nothing else leaves.
 * @module
 */

export { chancesOf, mostBelieved, percentAwayFrom, posterior } from "./baskets/belief.js";
export { Transaction } from "./baskets/plan.js";
export { Campaign, loadCampaign } from "./device/campaign.js";
export { Ledger } from "./device/ledger.js";
export { openLedger } from "./device/open.js";
export {
  AssocprivError, BudgetError, CollectorError, LedgerError, LevelError, PlanError, RecordError, WireError,
} from "./errors.js";
export { readGuidance } from "./guided/guidance.js";
export { loadPlan } from "./kinds.js";
export { hexOf, Plan } from "./plan.js";
export { givenWords, systemWords, Words } from "./words.js";
