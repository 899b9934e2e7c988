/**
 * What pages of test/flow-chromium.js do: imported there by the browser.
 * @module
 */

import { Collector, hexOf, openLedger, openRecordQueue, sendRecord, sendQueued } from "/clients/js/src/index.js";
import { finished } from "/clients/js/test/ledger-page.js";

let options;

/** Open a ledger, and set the collector with its patience in seconds. */
export async function open(url, patienceSeconds = 60, name = "assocpriv") {
  const [ledger, queue] = [await openLedger({ name, persist: false }), await openRecordQueue()];
  options = { ledger, queue, collector: new Collector(url, { patienceSeconds }) };
}

/** Send records at once; return the state or the error of each. */
export function sendAll(records, period, more = {}) {
  return Promise.all(
    records.map((record) => sendRecord(record, { ...options, ...more, period }).then(({ state }) => state, nameOf)),
  );
}

const nameOf = (error) => error.name;

export const queued = async () => (await options.ledger.queued()).map(({ id, report }) => hexOf(id) + hexOf(report));

export const sendLater = () => sendQueued(options).catch(nameOf);

/** Return the queued records as text, and whether each key can be exported. */
export async function kept() {
  const database = await finished(indexedDB.open("assocpriv-queue"));
  const all = (store) => finished(database.transaction(store).objectStore(store).getAll());
  const [keys, records] = [await all("keys"), await all("records")];
  database.close();
  const readOut = await Promise.all(keys.map((key) => crypto.subtle.exportKey("raw", key).then(() => true, () => false)));
  const text = (value) => (value instanceof Uint8Array ? new TextDecoder("latin1").decode(value) : value);
  return { readOut, records: JSON.stringify(records, (_, value) => text(value)), count: records.length };
}
