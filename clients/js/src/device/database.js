/**
 * IndexedDB as a ledger needs it: a step that is done whole and on disk, or not at all.
 *
 * Whatever goes wrong ends in a LedgerError, after which nothing may be sent. A message names the kind of a failure
 * alone, for a browser's own words could show what was to be written.
 * @module
 */

import { LedgerError } from "../errors.js";

/**
 * Open a database, or begin one.
 * @param {string} name
 * @param {Record<string, IDBObjectStoreParameters>} stores what it has
 * @param {number} waitSeconds
 * @returns {Promise<IDBDatabase>}
 * @throws {LedgerError} this browser keeps nothing here, or not now
 */
export async function openDatabase(name, stores, waitSeconds) {
  if (typeof name !== "string" || name === "") throw new TypeError('the name of a ledger must be text, as "assocpriv"');
  const database = await opened(name, stores, waitSeconds);
  if (Object.keys(stores).some((store) => !database.objectStoreNames.contains(store))) {
    database.close();
    throw new LedgerError(`the database ${name} is no ledger of this client; give the ledger another name`);
  }
  // whoever deletes the database is not kept waiting: this ledger is closed then, and says so
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
  } catch (error) { // none, as in some private windows; or forbidden, as where a browser keeps nothing for the page
    throw cannotOpen(name, `this browser keeps no database here (${kindOf(error)})`);
  }
}

function cannotOpen(name, why) {
  return new LedgerError(`cannot open the ledger ${name}: ${why}; do not send anything`);
}

function kindOf(error) {
  return error?.name ?? "it was broken off";
}

/**
 * Do one step: reads and writes that no other page comes between, all on disk when the promise is kept, or none.
 *
 * @param {IDBDatabase} database
 * @param {string[]} stores
 * @param {(step: Step) => void} work asks, and goes on with the answers by `step.then`; what it throws undoes the step
 * @param {number} waitSeconds
 * @returns {Promise<any>} `step.result`
 * @throws {LedgerError} it could not be done
 */
export function inOneStep(database, stores, work, waitSeconds) {
  return new Promise((resolve, reject) => {
    const step = new Step(database, stores, reject);
    const timer = setTimeout(() => step.undo(step.failed(`not done in ${waitSeconds} seconds`)), 1000 * waitSeconds);
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

/** What the work of a step has. */
class Step {
  /** What the step's promise is kept with. @type {any} */
  result;
  /** Why it was undone. @type {any} */
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
      throw this.failed("it is closed, or was deleted meanwhile; open it");
    }
  }

  /** @param {string} name */
  store(name) {
    return this.transaction.objectStore(name);
  }

  /** Go on with the answer to a request. @param {IDBRequest} request @param {(found: any) => void} next */
  then(request, next) {
    request.onsuccess = () => this.guarded(() => next(request.result));
  }

  /** Undo the step where its work throws. @param {() => void} work */
  guarded(work) {
    try {
      work();
    } catch (error) {
      this.undo(error instanceof globalThis.DOMException ? this.failed(kindOf(error)) : error);
    }
  }

  /** @param {any} error */
  undo(error) {
    this.refusal ??= error;
    try {
      this.transaction.abort();
    } catch { // it is being written: nothing is handed out, and if it was, a retry finds it
      this.#reject(error);
    }
  }

  /** @param {string} why */
  failed(why) {
    return new LedgerError(`cannot write the ledger ${this.#name}: ${why}; nothing was sent, nothing may be`);
  }
}
