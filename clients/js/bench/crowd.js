/**
 * Many devices behind a relay, each with a ledger file of its own: node bench/crowd.js, on standard input as JSON
 * { plan, collector, relay, folder, baskets, periods, address, headers }. All requests come from an address of this machine,
 * with headers that no other client sends. A line a report, once all were taken: submission id and report.
 * @module
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Collector, loadPlan, sendRecord, sendQueued } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";

const AT_A_TIME = 32;
const AGAIN_SECONDS = 0.2;
const PATIENCE_SECONDS = 5; // a party is away for less than the pauses that a patient device comes to
const task = JSON.parse(readFileSync(0, "utf8"));
const { collector: url, relay, folder, baskets, periods, address, headers } = task;
const plan = await loadPlan(readFileSync(task.plan, "utf8"));
const pause = (seconds) => new Promise((done) => { setTimeout(done, 1000 * seconds); });

await fetch(relay).catch(() => null); // node makes its dispatcher with the first request
const dispatcher = Symbol.for("undici.globalDispatcher.1");
globalThis[dispatcher] = new globalThis[dispatcher].constructor({ connect: { localAddress: address } });
const { fetch: bare } = globalThis;
globalThis.fetch = (to, options) => bare(to, { ...options, headers: { ...options?.headers, ...headers } });

/** Do something with a device's ledger, again where a collector or relay is away. */
async function persist(number, what) {
  for (;;) {
    const ledger = await openLedgerFile(join(folder, `${number}.bin`));
    try {
      return await what({ collector: new Collector(url, { relay, patienceSeconds: PATIENCE_SECONDS }), ledger });
    } catch (error) {
      if (error.isFinal !== false) throw error;
    } finally {
      ledger.close();
    }
    await pause(AGAIN_SECONDS);
  }
}

/** Make a device's reports, and return them with the earliest send time. */
async function make(number) {
  const times = [];
  for (const period of periods) {
    const { sendTime } = await persist(number, (options) => sendRecord(baskets[number], { ...options, period }));
    times.push(sendTime ?? 0); // it may come while the ledger is written
  }
  const made = await persist(number, ({ ledger }) => Promise.all(periods.map((each) => ledger.submit(plan, each, []))));
  return { made, first: Math.min(...times) };
}

/** Send a device's reports at their send times. */
async function send(number, first) {
  for (let next = first; next !== undefined; ) {
    await pause(Math.max(0, next - Date.now() / 1000));
    next = (await persist(number, sendQueued)).later[0];
  }
}

const [all, sending, left] = [[], [], baskets.keys()];
await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
  for (const number of left) {
    const { made, first } = await make(number);
    all.push(...made);
    sending.push(send(number, first));
  }
}));
await Promise.all(sending);
for (const { id, report } of all) console.log(Buffer.concat([id, report]).toString("hex"));
