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
 * @property {(last: LedgerRecord | null, decide: (further: LedgerRecord[]) => LedgerRecord | null) => Promise<void>} change
 *   pass the records after the known `last` one to `decide`, and write what it returns, without another write in between;
 *   done when it is on disk. What `decide` throws is thrown, and nothing is written.
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
    change: (last, decide) =>
      inOneStep(database, [RECORDS], (step) => changeIn(step, name, last, decide), waitSeconds),
    close: () => database.close(),
  };
}

function changeIn(step, name, last, decide) {
  const records = step.store(RECORDS);
  step.then(records.getAll(globalThis.IDBKeyRange.lowerBound(last?.number ?? 0)), (found) => {
    // another page may have started a new ledger, and have written the same number of records
    if (last !== null && !isSame(found.shift(), last)) {
      throw new LedgerError(
        `the ledger ${name} was emptied while it was open: the privacy budget spent by this device is no longer known; ` +
          "send nothing",
      );
    }
    const added = decide(found);
    if (added !== null) records.add(added);
  });
}

/** Return whether two records are equal. @param {any} one @param {any} other */
function isSame(one, other) {
  const names = Object.keys(other);
  return one !== undefined && names.every((name) => String(one[name]) === String(other[name]));
}
