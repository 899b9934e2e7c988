/**
 * Exact laws of reports, for comparison with another client: a line of JSON in, one out.
 *
 * In: {"plan": text, "records": [a record as on a pipe, …]}.
 * Out: {"id": …, "amplification": "a/b" or null, "laws": [{report in hexadecimal: "a/b", …}, …]}, fractions in lowest terms.
 */

import { createInterface } from "node:readline";

import { loadPlan } from "../src/index.js";
import { lawsOf } from "./enumerate.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { plan: text, records } = JSON.parse(line);
  const plan = await loadPlan(text);
  const laws = await lawsOf(plan, records);
  console.log(JSON.stringify({ id: plan.id, amplification: plan.amplification?.join("/") ?? null, laws }));
}
