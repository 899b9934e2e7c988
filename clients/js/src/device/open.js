/**
 * Open a browser's ledger.
 * @module
 */

import { noOthers } from "../checks.js";
import { limitOf } from "./bounds.js";
import { Ledger } from "./ledger.js";
import { openStore } from "./store.js";

/**
 * Open the ledger of this browser, or begin one. Pages and workers of one origin share it.
 *
 * One person needs one ledger: two of them do not know of each other. What a browser forgets is said in
 * docs/formats/client.md.
 * @param {object} [options]
 * @param {string} [options.name] of the database, by default "assocpriv"
 * @param {import("./bounds.js").Limit} [options.limit] answer any plans, while all reports of this ledger together keep
 *   this promise, as { epsilon: 5.9 }: they may then tell up to that ε, whatever each plan promises. By default the
 *   first plan is answered, as often as it promises, and no other
 * @param {boolean} [options.persist] ask the browser to keep it when space gets short (true by default; Firefox asks
 *   the person)
 * @param {number} [options.waitSeconds] how long to wait for another page that has it (10)
 * @returns {Promise<Ledger>}
 * @throws {import("../errors.js").PlanError} a limit that is no promise
 * @throws {import("../errors.js").LedgerError} nothing can be kept here, or what was kept is damaged: send nothing
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
  if (persist) globalThis.navigator?.storage?.persist?.().catch(() => {}); // a wish: nothing waits for the answer
  return ledger;
}
