/**
 * Records queued on the device for guidance, encrypted: the client's cache of the paper (ZWZ05, section 7).
 *
 * Each has its own key, which WebCrypto stores and no script can export. Once the record is answered the key is deleted
 * first: after that no copy of the record can be read. Everyone with the browser's profile can use the key, and so can
 * every script of this origin.
 * @module
 */

import { LedgerError } from "../errors.js";
import { canonicalText, parseJson } from "../json.js";
import { inOneStep, openDatabase } from "./database.js";
import { hashPeriod } from "./period.js";

const ALGORITHM = "AES-GCM";
const NONCE_BYTES = 12;
const STORES = { keys: {}, records: {} };

/**
 * Open the queue of this browser.
 * @param {{ name?: string, waitSeconds?: number }} [options] `name` of the database, by default "assocpriv-queue"
 * @returns {Promise<RecordQueue>}
 * @throws {LedgerError} nothing can be stored here
 */
export async function openRecordQueue({ name = "assocpriv-queue", waitSeconds = 10 } = {}) {
  return new RecordQueue(await openDatabase(name, STORES, waitSeconds), waitSeconds);
}

/** An open queue of records for guidance. */
export class RecordQueue {
  #database;
  #seconds;

  /** @param {IDBDatabase} database @param {number} waitSeconds */
  constructor(database, waitSeconds) {
    this.#database = database;
    this.#seconds = waitSeconds;
  }

  /** Close it. */
  close() {
    this.#database.close();
  }

  /**
   * Queue a record; it replaces one of the same plan and reporting period.
   * @param {string} planId
   * @param {string} period
   * @param {Record<string, any>} values
   */
  async add(planId, period, values) {
    const { subtle } = globalThis.crypto;
    const key = await subtle.generateKey({ name: ALGORITHM, length: 256 }, false, ["encrypt", "decrypt"]);
    const nonce = globalThis.crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const plain = new TextEncoder().encode(textOf(period, values));
    const encrypted = new Uint8Array(await subtle.encrypt(algorithmOf(nonce, planId), key, plain));
    const name = `${planId} ${await hashPeriod(period)}`;
    await this.#step((step) => {
      step.store("keys").put(key, name);
      step.store("records").put({ planId, nonce, encrypted }, name);
    });
  }

  /**
   * Return the queued records of a plan; they stay queued.
   * @param {string} planId
   * @returns {Promise<{ name: string, period: string, values: any }[]>}
   * @throws {LedgerError} one was changed, or encrypted with another key
   */
  async recordsOf(planId) {
    const found = await this.#step((step) => {
      step.result = [];
      step.then(step.store("records").openCursor(), function next(cursor) {
        if (cursor === null) return;
        const { key: name, value } = cursor;
        step.then(step.store("keys").get(name), (key) => {
          if (key !== undefined && value.planId === planId) step.result.push({ name, key, ...value });
        });
        cursor.continue();
      });
    });
    return Promise.all(found.map(opened));
  }

  /** Delete a record, its key first. @param {string} name */
  async remove(name) {
    await this.#step((step) => step.store("keys").delete(name));
    await this.#step((step) => step.store("records").delete(name));
  }

  #step(work) {
    return inOneStep(this.#database, Object.keys(STORES), work, this.#seconds);
  }
}

/**
 * Return the text of a queued record. JSON.stringify does not accept BigInt, which columns may hold.
 * @param {string} period
 * @param {Record<string, any>} values null, undefined and NaN are missing values, and omitted
 */
export function textOf(period, values) {
  const present = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && !Number.isNaN(value));
  return canonicalText({ period, values: Object.fromEntries(present) });
}

function algorithmOf(nonce, planId) {
  return { name: ALGORITHM, iv: nonce, additionalData: new TextEncoder().encode(planId) };
}

async function opened({ name, key, planId, nonce, encrypted }) {
  try {
    const plain = await globalThis.crypto.subtle.decrypt(algorithmOf(nonce, planId), key, encrypted);
    return { name, ...parseJson(new TextDecoder().decode(plain), "record") };
  } catch {
    throw new LedgerError("a queued record was changed, or encrypted with another key; nothing is sent");
  }
}
