/**
 * What pages of test/relay-chromium.js do, with the one file that pages have: imported there by the browser.
 * @module
 */

import { Collector, openLedger, sendScheduled, sendRecord, sendQueued } from "/assocpriv/pages/bundle/assocpriv.min.js";

let options;

/** Open the ledger, and set collector and relay. */
export async function open(url, settings) {
  options = { ledger: await openLedger({ persist: false }), collector: new Collector(url, { patienceSeconds: 60, ...settings }) };
}

export const send = (basket, period) => sendRecord(basket, { ...options, period }).catch(saidOf);

export const sendLater = () => sendQueued(options).catch(saidOf);

export const stayOpen = () => sendScheduled(options).catch(saidOf);

const saidOf = ({ name, code }) => `${name} ${code}`;
