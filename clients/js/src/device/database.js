/**
 * IndexedDB for a ledger: a step is complete and on disk, or has no effect.
 *
 * Every failure is a LedgerError, after which nothing may be sent. A message contains only the type of a failure: a
 * browser's own text could show the data to be written.
 * @module
 */

import { LedgerError } from "../errors.js";

/**
 * Open a database, or make one.
 * @param {string} name
 * @param {Record<string, IDBObjectStoreParameters>} stores what it has
 * @param {number} waitSeconds
 * @returns {Promise<IDBDatabase>}
 * @throws {LedgerError} this browser cannot store data here, or not now
 */
export async function openDatabase(name, stores, waitSeconds) {
  if (typeof name !== "string" || name === "") throw new TypeError('the name of a ledger must be text, as "assocpriv"');
  const database = await opened(name, stores, waitSeconds);
  if (Object.keys(stores).some((store) => !database.objectStoreNames.contains(store))) {
    database.close();
    throw new LedgerError(`the database ${name} is no ledger of this client; give the ledger another name`);
  }
  // do not block another page that deletes the database: close this ledger, which then refuses
  database.onversionchange = () => database.close();
  return database;
}

/** @returns {Promise<IDBDatabase>} */
function opened(name, stores, waitSeconds) {
  return new Promise((resolve, reject) => {
    const request = requestOf(name);
    let isLate = false;
    const fail = (why) => {
      clearTimeout(timer);
      reject(cannotOpen(name, why));
    };
    const late = () => {
      isLate = true;
      fail("another page holds it; close that page and try again");
    };
    const timer = setTimeout(late, 1000 * waitSeconds);
    request.onblocked = late;
    request.onupgradeneeded = () => {
      for (const [store, options] of Object.entries(stores)) request.result.createObjectStore(store, options);
    };
    request.onerror = () => fail(kindOf(request.error));
    request.onsuccess = () => {
      clearTimeout(timer);
      if (isLate) request.result.close();
      else resolve(request.result);
    };
  });
}

function requestOf(name) {
  try {
    return globalThis.indexedDB.open(name, 1);
  } catch (error) { // missing, as in some private windows, or forbidden
    throw cannotOpen(name, `this browser stores no database here (${kindOf(error)})`);
  }
}

function cannotOpen(name, why) {
  return new LedgerError(`cannot open the ledger ${name}: ${why}; do not send anything`);
}

function kindOf(error) {
  return error?.name ?? "it was aborted";
}

/**
 * Do one step: reads and writes without those of another page in between, all on disk when the Promise resolves, or none.
 *
 * @param {IDBDatabase} database
 * @param {string[]} stores
 * @param {(step: Step) => void} work makes requests, and continues with `step.then`; an exception reverts the step
 * @param {number} waitSeconds
 * @returns {Promise<any>} `step.result`
 * @throws {LedgerError} it could not be done
 */
export function inOneStep(database, stores, work, waitSeconds) {
  return new Promise((resolve, reject) => {
    const step = new Step(database, stores, reject);
    const timer = setTimeout(() => step.revert(step.failed(`not done in ${waitSeconds} seconds`)), 1000 * waitSeconds);
    step.transaction.oncomplete = () => {
      clearTimeout(timer);
      resolve(step.result);
    };
    step.transaction.onabort = () => {
      clearTimeout(timer);
      reject(step.refusal ?? step.failed(kindOf(step.transaction.error)));
    };
    step.guarded(() => work(step));
  });
}

/** A step, for its work. */
class Step {
  /** The step's result. @type {any} */
  result;
  /** Why it was reverted. @type {any} */
  refusal = null;
  #name;
  #reject;

  /** @param {IDBDatabase} database @param {string[]} stores @param {(error: any) => void} reject */
  constructor(database, stores, reject) {
    this.#name = database.name;
    this.#reject = reject;
    try {
      this.transaction = database.transaction(stores, "readwrite", { durability: "strict" });
    } catch {
      throw this.failed("it is closed, or was deleted meanwhile; open it again");
    }
  }

  /** @param {string} name */
  store(name) {
    return this.transaction.objectStore(name);
  }

  /** Continue with the result of a request. @param {IDBRequest} request @param {(found: any) => void} next */
  then(request, next) {
    request.onsuccess = () => this.guarded(() => next(request.result));
  }

  /** Revert the step if its work throws. @param {() => void} work */
  guarded(work) {
    try {
      work();
    } catch (error) {
      this.revert(error instanceof globalThis.DOMException ? this.failed(kindOf(error)) : error);
    }
  }

  /** @param {any} error */
  revert(error) {
    this.refusal ??= error;
    try {
      this.transaction.abort();
    } catch { // it is being written: nothing is returned, and a retry finds the record
      this.#reject(error);
    }
  }

  /** @param {string} why */
  failed(why) {
    return new LedgerError(`cannot write the ledger ${this.#name}: ${why}; nothing was sent, and send nothing`);
  }
}
