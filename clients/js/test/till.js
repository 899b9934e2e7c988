/**
 * A till for tests: node test/till.js LEDGER PLAN, a line of JSON in, one out. {"period": …, "record": …} is answered
 * with the submission's id and its report in hexadecimal digits; the last line closes the ledger.
 * @module
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { hexOf, loadPlan } from "../src/index.js";
import { openLedgerFile } from "../src/node/index.js";

const [path, planPath] = process.argv.slice(2);
const plan = await loadPlan(readFileSync(planPath, "utf8"));
const ledger = await openLedgerFile(path, { waitSeconds: 0.2 }).catch((error) => console.log(error.name));

for await (const line of createInterface({ input: process.stdin })) {
  if (ledger === undefined) break;
  const { period, record } = JSON.parse(line);
  const { id, report } = await ledger.submit(plan, period, record);
  console.log(`${hexOf(id)} ${hexOf(report)}`);
}
ledger?.close();
