/**
 * A ledger's records in a browser: IndexedDB, which all pages and workers of an origin share.
 * @module
 */

import { LedgerError } from "../errors.js";
import { inOneStep, openDatabase } from "./database.js";

/** @typedef {import("./book.js").LedgerRecord} LedgerRecord */

const RECORDS = "records";

/**
 * Where a ledger's records are.
 * @typedef {object} Store
 * @property {string} name for messages
 * @property {(known: number, decide: (further: LedgerRecord[]) => LedgerRecord | null) => Promise<void>} change
 *   hand over the records behind the `known` first ones and write what `decide` returns, with nobody's write between
 *   the two; done when it is on disk. What `decide` throws is thrown, and nothing is written.
 * @property {() => void} close
 */

/**
 * Open the records of a ledger.
 * @param {string} name of the database
 * @param {number} waitSeconds
 * @returns {Promise<Store>}
 */
export async function openStore(name, waitSeconds) {
  const database = await openDatabase(name, { [RECORDS]: { keyPath: "number" } }, waitSeconds);
  return {
    name,
    change: (known, decide) =>
      inOneStep(database, [RECORDS], (step) => changeIn(step, name, known, decide), waitSeconds),
    close: () => database.close(),
  };
}

function changeIn(step, name, known, decide) {
  const records = step.store(RECORDS);
  step.then(records.getAll(globalThis.IDBKeyRange.lowerBound(known)), (found) => {
    if (known > 0 && found.shift()?.number !== known) {
      throw new LedgerError(
        `the ledger ${name} was emptied while it was open: what this device has told is no longer known here; ` +
          "nothing may be sent",
      );
    }
    const added = decide(found);
    if (added !== null) records.add(added);
  });
}
