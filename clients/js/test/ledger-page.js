/**
 * What pages of test/ledger-chromium.js do: imported there by the browser.
 * @module
 */

import { hexOf, LedgerError, loadPlan, openLedger, RecordError } from "/clients/js/src/index.js";
import { Ledger } from "/clients/js/src/device/ledger.js";

let ledger;
let plan;

/** Open a ledger; what it says if that is refused. */
export async function open(text, name, options = {}) {
  plan = await loadPlan(text);
  ledger = await openLedger({ name, ...options });
}

/** Ask for reports of occasions, all at once; of each what it says: its bytes with the id, or the error's name. */
export function submitAll(occasions, record = []) {
  return Promise.all(occasions.map((occasion) => ledger.submit(plan, occasion, record).then(said, nameOf)));
}

const said = ({ id, report }) => `${hexOf(id)} ${hexOf(report)}`;
const nameOf = (error) => error.name;

export async function unsent() {
  return (await ledger.unsent()).map(said);
}

export async function acknowledgeAll() {
  for (const each of await ledger.unsent()) await ledger.acknowledge(each);
}

export const spent = async () => (await ledger.spent(plan)).spent;

/** Ask for reports in a worker of this page's origin. */
export async function submitInWorker(isService, text, name, occasions) {
  const script = "/clients/js/test/ledger-worker.js";
  const worker = isService ? await serviceWorker(script) : new Worker(script, { type: "module" });
  const { port1, port2 } = new MessageChannel();
  worker.postMessage([text, name, occasions], [port2]);
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

/** Return what waits, the first three times, until the other page has come as far, too. */
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
  "write is undone": [IDBObjectStore.prototype, "add", (add) => function undone(record) {
    const request = add.call(this, record);
    request.addEventListener("success", () => this.transaction.abort());
    return request;
  }],
  "never done": [IDBObjectStore.prototype, "add", (add) => function endless(record) {
    const again = () => { this.get(1).onsuccess = again; };
    again();
    return add.call(this, record);
  }],
  "written and not said": [IDBDatabase.prototype, "transaction", (transaction) => function silent(...given) {
    return Object.defineProperty(transaction.apply(this, given), "oncomplete", { set: () => {} });
  }],
};
export const faults = Object.keys(FAULTS);

/** Ask for a report while something is broken, then for what is in the ledger, and for the report again. */
export async function submitBroken(fault, occasion, record) {
  const [holder, method, broken] = FAULTS[fault];
  const whole = holder[method];
  holder[method] = broken(whole);
  const refused = await ledger.submit(plan, occasion, record).then(() => null, (error) => error);
  holder[method] = whole;
  const told = [refused?.message, refused?.stack, String(refused?.cause)].join();
  const before = await ledger.has(plan, occasion);
  const made = said(await ledger.submit(plan, occasion, record));
  return { isRefused: refused instanceof LedgerError, told, before, made, again: said(await ledger.submit(plan, occasion, null)) };
}

/** Ask for a report; return how durable the transactions were asked to be. */
export async function durabilities(occasion) {
  const whole = IDBDatabase.prototype.transaction;
  const asked = [];
  IDBDatabase.prototype.transaction = function noted(...given) {
    asked.push([given[1], whole.apply(this, given).durability]);
    return whole.apply(this, given);
  };
  await ledger.submit(plan, occasion, []);
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
  return { isRefused: error instanceof LedgerError, told: `${error?.message} ${error?.stack}` };
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

/** A record that does not fit is refused, shown nowhere and costs nothing. */
export async function submitUnknown(item) {
  const error = await ledger.submit(plan, "unknown", [item]).then(() => null, (found) => found);
  return { isRefused: error instanceof RecordError, told: `${error?.message} ${error?.stack}` };
}
