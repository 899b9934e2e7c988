/**
 * Records that wait on the device for guidance, encrypted: the paper's cache of a client (ZWZ05, section 7).
 *
 * Each has a key of its own, made for it alone, which WebCrypto keeps and no script can read out. The key is deleted
 * first, once the record is answered: after that no copy of the record can be read. Who can use the browser's profile
 * can use the key, and so can every script of this origin.
 * @module
 */

import { LedgerError } from "../errors.js";
import { canonicalText, parseJson } from "../json.js";
import { inOneStep, openDatabase } from "./database.js";
import { hashOccasion } from "./occasion.js";

const ALGORITHM = "AES-GCM";
const NONCE_BYTES = 12;
const STORES = { keys: {}, records: {} };

/**
 * Open what waits in this browser.
 * @param {{ name?: string, waitSeconds?: number }} [options] `name` of the database, by default "assocpriv-waiting"
 * @returns {Promise<Waiting>}
 * @throws {LedgerError} nothing can be kept here
 */
export async function openWaiting({ name = "assocpriv-waiting", waitSeconds = 10 } = {}) {
  return new Waiting(await openDatabase(name, STORES, waitSeconds), waitSeconds);
}

/** What waits for guidance, open. */
export class Waiting {
  #database;
  #seconds;

  /** @param {IDBDatabase} database @param {number} waitSeconds */
  constructor(database, waitSeconds) {
    this.#database = database;
    this.#seconds = waitSeconds;
  }

  /** Let others have it. */
  close() {
    this.#database.close();
  }

  /**
   * Keep a record, in place of one that waits for the same plan and occasion.
   * @param {string} planId
   * @param {string} occasion
   * @param {Record<string, any>} values
   */
  async keep(planId, occasion, values) {
    const { subtle } = globalThis.crypto;
    const key = await subtle.generateKey({ name: ALGORITHM, length: 256 }, false, ["encrypt", "decrypt"]);
    const nonce = globalThis.crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const plain = new TextEncoder().encode(textOf(occasion, values));
    const sealed = new Uint8Array(await subtle.encrypt(sealing(nonce, planId), key, plain));
    const name = `${planId} ${await hashOccasion(occasion)}`;
    await this.#step((step) => {
      step.store("keys").put(key, name);
      step.store("records").put({ planId, nonce, sealed }, name);
    });
  }

  /**
   * Return the records that wait for a plan; they go on waiting.
   * @param {string} planId
   * @returns {Promise<{ name: string, occasion: string, values: any }[]>}
   * @throws {LedgerError} one was changed, or encrypted with another key
   */
  async of(planId) {
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

  /** Forget a record, its key first. @param {string} name */
  async forget(name) {
    await this.#step((step) => step.store("keys").delete(name));
    await this.#step((step) => step.store("records").delete(name));
  }

  #step(work) {
    return inOneStep(this.#database, Object.keys(STORES), work, this.#seconds);
  }
}

/**
 * Write a record that waits. JSON.stringify takes no BigInt, which a plan's columns do take.
 * @param {string} occasion
 * @param {Record<string, any>} values of which null, undefined and NaN are missing, and left out
 */
export function textOf(occasion, values) {
  const present = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && !Number.isNaN(value));
  return canonicalText({ occasion, values: Object.fromEntries(present) });
}

function sealing(nonce, planId) {
  return { name: ALGORITHM, iv: nonce, additionalData: new TextEncoder().encode(planId) };
}

async function opened({ name, key, planId, nonce, sealed }) {
  try {
    const plain = await globalThis.crypto.subtle.decrypt(sealing(nonce, planId), key, sealed);
    return { name, ...parseJson(new TextDecoder().decode(plain), "record") };
  } catch {
    throw new LedgerError("a record that waits was changed, or encrypted with another key; nothing is sent");
  }
}
