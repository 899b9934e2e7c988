/**
 * Functions for pages of test/ledger-chromium.js, imported there by the browser.
 * @module
 */

import { hexOf, LedgerError, loadPlan, openLedger, RecordError } from "/clients/js/src/index.js";
import { Ledger } from "/clients/js/src/device/ledger.js";

let ledger;
let plan;

/** Open a ledger. */
export async function open(text, name, options = {}) {
  plan = await loadPlan(text);
  ledger = await openLedger({ name, ...options });
}

/** Submit reports on reporting periods, all at once; return for each its id and bytes, or the error's name. */
export function submitAll(periods, record = []) {
  return Promise.all(periods.map((period) => ledger.submit(plan, period, record).then(asText, nameOf)));
}

const asText = ({ id, report }) => `${hexOf(id)} ${hexOf(report)}`;
const nameOf = (error) => error.name;

export async function queued() {
  return (await ledger.queued()).map(asText);
}

export async function acknowledgeAll() {
  for (const each of await ledger.queued()) await ledger.acknowledge(each);
}

export const spent = async () => (await ledger.status(plan)).spent;

/** Ask for reports in a worker of this page's origin. */
export async function submitInWorker(isService, text, name, periods) {
  const script = "/clients/js/test/ledger-worker.js";
  const worker = isService ? await serviceWorker(script) : new Worker(script, { type: "module" });
  const { port1, port2 } = new MessageChannel();
  worker.postMessage([text, name, periods], [port2]);
  return new Promise((resolve, reject) => {
    worker.onerror = () => reject(new Error("the worker did not start"));
    port1.onmessage = ({ data }) => resolve(data);
  });
}

async function serviceWorker(script) {
  const registration = await navigator.serviceWorker.register(script, { type: "module" });
  const worker = registration.active ?? registration.waiting ?? registration.installing;
  while (worker.state !== "activated") await new Promise((done) => worker.addEventListener("statechange", done, { once: true }));
  return worker;
}

/** All that a database holds, as text. */
export async function contentOf(name) {
  const database = await finished(indexedDB.open(name));
  const stores = [...database.objectStoreNames];
  const found = await Promise.all(stores.map((store) => finished(database.transaction(store).objectStore(store).getAll())));
  database.close();
  return JSON.stringify(found, (_, value) => (value instanceof Uint8Array ? new TextDecoder("latin1").decode(value) : value));
}

export function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Return a function that waits, the first three times, for the same call in the other page. */
function meeting(name) {
  const channel = new globalThis.BroadcastChannel(name);
  let times = 0;
  return async () => {
    const mine = (times += 1);
    if (mine > 3) return;
    await new Promise((resolve) => {
      let met = false;
      channel.onmessage = ({ data }) => {
        if (met || data < mine) return;
        met = true;
        channel.postMessage(mine);
        resolve();
      };
      channel.postMessage(mine);
    });
  };
}

/** A store that reads and writes in two steps, as a careless one would; both pages have read before either writes. */
export async function openCareless(text, name) {
  plan = await loadPlan(text);
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("records", { keyPath: "number" });
  const database = await finished(opening);
  const records = (mode) => database.transaction("records", mode).objectStore("records");
  const bothHaveRead = meeting(name);
  const change = async (last, decide) => {
    const added = decide(await finished(records("readonly").getAll(IDBKeyRange.lowerBound((last?.number ?? 0) + 1))));
    await bothHaveRead();
    if (added !== null) await finished(records("readwrite").put(added));
  };
  ledger = new Ledger({ name, change, close: () => database.close() }, null);
}

const QUOTA = () => new DOMException("CANARY is too long", "QuotaExceededError");

/** What can go wrong, and where: each breaks a method until `restore` is called. */
const FAULTS = {
  "transaction refused": [IDBDatabase.prototype, "transaction", () => () => { throw QUOTA(); }],
  "read refused": [IDBObjectStore.prototype, "getAll", () => () => { throw QUOTA(); }],
  "write refused": [IDBObjectStore.prototype, "add", () => () => { throw QUOTA(); }],
  "write fails": [IDBObjectStore.prototype, "add", (add) => function twice(record) {
    add.call(this, record);
    return add.call(this, record); // the same key again: a request that fails, and ends the transaction
  }],
  "write is reverted": [IDBObjectStore.prototype, "add", (add) => function reverted(record) {
    const request = add.call(this, record);
    request.addEventListener("success", () => this.transaction.abort());
    return request;
  }],
  "never done": [IDBObjectStore.prototype, "add", (add) => function endless(record) {
    const again = () => { this.get(1).onsuccess = again; };
    again();
    return add.call(this, record);
  }],
  "written, without a signal": [IDBDatabase.prototype, "transaction", (transaction) => function silent(...given) {
    return Object.defineProperty(transaction.apply(this, given), "oncomplete", { set: () => {} });
  }],
};
export const faults = Object.keys(FAULTS);

/** Ask for a report while something is broken, then for what is in the ledger, and for the report again. */
export async function submitBroken(fault, period, record) {
  const [holder, method, broken] = FAULTS[fault];
  const whole = holder[method];
  holder[method] = broken(whole);
  const refused = await ledger.submit(plan, period, record).then(() => null, (error) => error);
  holder[method] = whole;
  const text = [refused?.message, refused?.stack, String(refused?.cause)].join();
  const before = await ledger.has(plan, period);
  const made = asText(await ledger.submit(plan, period, record));
  return { isRefused: refused instanceof LedgerError, text, before, made, again: asText(await ledger.submit(plan, period, null)) };
}

/** Ask for a report; return how durable the transactions were asked to be. */
export async function durabilities(period) {
  const whole = IDBDatabase.prototype.transaction;
  const asked = [];
  IDBDatabase.prototype.transaction = function noted(...given) {
    asked.push([given[1], whole.apply(this, given).durability]);
    return whole.apply(this, given);
  };
  await ledger.submit(plan, period, []);
  IDBDatabase.prototype.transaction = whole;
  return asked;
}

/** Open a ledger where IndexedDB is broken in some way; return the error. */
export async function openBroken(text, name, fault) {
  const faults = {
    missing: () => undefined,
    forbidden: () => { throw new DOMException("CANARY", "SecurityError"); },
    private: () => ({ open: () => { throw new DOMException("CANARY", "InvalidStateError"); } }),
    failing: () => ({ open: () => {
      const request = { error: new DOMException("CANARY", "UnknownError") };
      setTimeout(() => request.onerror());
      return request;
    } }),
    blocked: () => ({ open: () => {
      const request = {};
      setTimeout(() => request.onblocked());
      return request;
    } }),
    silent: () => ({ open: () => ({}) }),
  };
  const whole = Object.getOwnPropertyDescriptor(globalThis, "indexedDB");
  Object.defineProperty(globalThis, "indexedDB", { get: faults[fault], configurable: true });
  const error = await open(text, name, { waitSeconds: 0.2 }).then(() => null, (found) => found);
  Object.defineProperty(globalThis, "indexedDB", whole);
  return { isRefused: error instanceof LedgerError, text: `${error?.message} ${error?.stack}` };
}

/** Write into a ledger's database, of some version, what no device writes. */
export async function spoil(name, version, record) {
  const opening = indexedDB.open(name, version);
  opening.onupgradeneeded = () => opening.result.createObjectStore("records", { keyPath: "number" });
  const database = await finished(opening);
  if (record?.report) record.report = Uint8Array.from(record.report);
  if (record) await finished(database.transaction("records", "readwrite").objectStore("records").put(record));
  database.close();
}

/** Submit an invalid record: it must be refused, not shown, and spend nothing. */
export async function submitUnknown(item) {
  const error = await ledger.submit(plan, "unknown", [item]).then(() => null, (found) => found);
  return { isRefused: error instanceof RecordError, text: `${error?.message} ${error?.stack}` };
}
