/**
 * The same as a page of test/ledger-page.js does, in a worker or a service worker.
 * @module
 */

import { open, submitAll } from "/clients/js/test/ledger-page.js";

async function answer({ data: [text, name, occasions], ports: [port] }) {
  await open(text, name, { persist: false });
  port.postMessage(await submitAll(occasions));
}

globalThis.onmessage = (event) => {
  const answered = answer(event);
  event.waitUntil?.(answered); // of a service worker, which may end when nothing waits
};
