/**
 * What pages of test/relay-chromium.js do, with the one file that pages have: imported there by the browser.
 * @module
 */

import { Collector, openLedger, sendAtMoments, sendRecord, sendWaiting } from "/assocpriv/pages/bundle/assocpriv.min.js";

let options;

/** Open the ledger, and name collector and relay. */
export async function open(url, settings) {
  options = { ledger: await openLedger({ persist: false }), collector: new Collector(url, { patienceSeconds: 60, ...settings }) };
}

export const send = (basket, occasion) => sendRecord(basket, { ...options, occasion }).catch(saidOf);

export const sendLater = () => sendWaiting(options).catch(saidOf);

export const stayOpen = () => sendAtMoments(options).catch(saidOf);

const saidOf = ({ name, code }) => `${name} ${code}`;
