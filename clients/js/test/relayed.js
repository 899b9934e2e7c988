/**
 * A till behind a relay for tests: node test/relayed.js COLLECTOR RELAY LEDGER OCCASION ITEM sends one report at its moment
 * and prints what became of it.
 * @module
 */

import { sendAtMoments, sendRecord } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";

const [collector, relay, path, occasion, item] = process.argv.slice(2);
const options = { collector, relay, ledger: await openLedgerFile(path) };
const { state } = await sendRecord([item], { ...options, occasion });
const { sent } = await sendAtMoments(options);
console.log(`${state}, then ${sent} sent`);
options.ledger.close();
