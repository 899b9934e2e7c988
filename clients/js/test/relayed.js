/**
 * A till behind a relay for tests: node test/relayed.js COLLECTOR RELAY LEDGER PERIOD ITEM sends one report at its send
 * time, and prints the result.
 * @module
 */

import { sendScheduled, sendRecord } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";

const [collector, relay, path, period, item] = process.argv.slice(2);
const options = { collector, relay, ledger: await openLedgerFile(path) };
const { state } = await sendRecord([item], { ...options, period });
const { sent } = await sendScheduled(options);
console.log(`${state}, then ${sent} sent`);
options.ledger.close();
