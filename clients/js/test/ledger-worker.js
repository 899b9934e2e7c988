/**
 * The calls of test/ledger-page.js in a worker or a service worker.
 * @module
 */

import { open, submitAll } from "/clients/js/test/ledger-page.js";

async function answer({ data: [text, name, periods], ports: [port] }) {
  await open(text, name, { persist: false });
  port.postMessage(await submitAll(periods));
}

globalThis.onmessage = (event) => {
  const answered = answer(event);
  event.waitUntil?.(answered); // of a service worker, which may end when nothing waits
};
