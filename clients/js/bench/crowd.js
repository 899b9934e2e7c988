/**
 * Many devices behind a relay, each with a ledger file of its own: node bench/crowd.js, on standard input as JSON
 * { plan, collector, relay, folder, baskets, occasions, address, headers }. All requests come from an address of this machine,
 * with headers that nobody else sends. A line a report, once all were taken: submission id and report.
 * @module
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Collector, loadPlan, sendRecord, sendWaiting } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";

const AT_A_TIME = 32;
const AGAIN_SECONDS = 0.2;
const PATIENCE_SECONDS = 5; // a party is away for less than the pauses that a patient device comes to
const asked = JSON.parse(readFileSync(0, "utf8"));
const { collector: url, relay, folder, baskets, occasions, address, headers } = asked;
const plan = await loadPlan(readFileSync(asked.plan, "utf8"));
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

/** Make a device's reports, and return them with the moment of the first. */
async function make(number) {
  const moments = [];
  for (const occasion of occasions) {
    const { moment } = await persist(number, (options) => sendRecord(baskets[number], { ...options, occasion }));
    moments.push(moment ?? 0); // it may come while the ledger is written
  }
  const made = await persist(number, ({ ledger }) => Promise.all(occasions.map((each) => ledger.submit(plan, each, []))));
  return { made, first: Math.min(...moments) };
}

/** Send a device's reports at their moments. */
async function send(number, first) {
  for (let next = first; next !== undefined; ) {
    await pause(Math.max(0, next - Date.now() / 1000));
    next = (await persist(number, sendWaiting)).later[0];
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
