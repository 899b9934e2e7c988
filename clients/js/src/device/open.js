/**
 * Open a browser's ledger.
 * @module
 */

import { noOthers } from "../checks.js";
import { limitOf } from "./bounds.js";
import { Ledger } from "./ledger.js";
import { openStore } from "./store.js";

/**
 * Open the ledger of this browser, or make one. Pages and workers of one origin share it.
 *
 * Use one ledger for each person: two of them do not share their budget. docs/formats/client.md describes what a browser
 * may delete.
 * @param {object} [options]
 * @param {string} [options.name] of the database, by default "assocpriv"
 * @param {import("./bounds.js").Limit} [options.limit] a guarantee for all reports of this ledger together, under any
 *   plans, as { epsilon: 5.9 }. By default only the first plan is answered, for its number of reports
 * @param {boolean} [options.persist] ask the browser to keep it when storage is short (true by default; Firefox asks the
 *   person)
 * @param {number} [options.waitSeconds] how long to wait for another page that has it (10)
 * @returns {Promise<Ledger>}
 * @throws {import("../errors.js").PlanError} an invalid limit
 * @throws {import("../errors.js").LedgerError} nothing can be stored here, or the ledger is damaged: send nothing
 */
export async function openLedger({ name = "assocpriv", limit, persist = true, waitSeconds = 10, ...others } = {}) {
  noOthers(others);
  const most = limit === undefined ? null : limitOf(limit);
  const store = await openStore(name, waitSeconds);
  const ledger = new Ledger(store, most);
  try {
    await ledger.check();
  } catch (error) {
    store.close();
    throw error;
  }
  if (persist) globalThis.navigator?.storage?.persist?.().catch(() => {}); // optional: the answer is not awaited
  return ledger;
}
