/**
 * What pages of test/flow-chromium.js do: imported there by the browser.
 * @module
 */

import { Collector, hexOf, openLedger, openWaiting, sendRecord, sendWaiting } from "/clients/js/src/index.js";
import { finished } from "/clients/js/test/ledger-page.js";

let options;

/** Open a ledger and name the collector; no attempt is made after some seconds. */
export async function open(url, patienceSeconds = 60, name = "assocpriv") {
  const [ledger, waiting] = [await openLedger({ name, persist: false }), await openWaiting()];
  options = { ledger, waiting, collector: new Collector(url, { patienceSeconds }) };
}

/** Send some records at once, as an impatient person does; what each says. */
export function sendAll(records, occasion, more = {}) {
  return Promise.all(
    records.map((record) => sendRecord(record, { ...options, ...more, occasion }).then(({ state }) => state, nameOf)),
  );
}

const nameOf = (error) => error.name;

export const unsent = async () => (await options.ledger.unsent()).map(({ id, report }) => hexOf(id) + hexOf(report));

export const sendLater = () => sendWaiting(options).then((told) => told, nameOf);

/** What is kept of records that wait: the texts of all bytes, and whether a key can be read out. */
export async function kept() {
  const database = await finished(indexedDB.open("assocpriv-waiting"));
  const all = (store) => finished(database.transaction(store).objectStore(store).getAll());
  const [keys, records] = [await all("keys"), await all("records")];
  database.close();
  const readOut = await Promise.all(keys.map((key) => crypto.subtle.exportKey("raw", key).then(() => true, () => false)));
  const text = (value) => (value instanceof Uint8Array ? new TextDecoder("latin1").decode(value) : value);
  return { readOut, records: JSON.stringify(records, (_, value) => text(value)), count: records.length };
}
