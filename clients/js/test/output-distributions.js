/**
 * Exact output distributions of reports, for comparison with another client: a line of JSON in, one out.
 *
 * In: {"plan": text, "records": [a record as on a pipe, …]}.
 * Out: {"id": …, "amplification": "a/b" or null, "distributions": [{report in hexadecimal: "a/b", …}, …]}, fractions in lowest terms.
 */

import { createInterface } from "node:readline";

import { loadPlan } from "../src/index.js";
import { distributionsOf } from "./enumerate.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { plan: text, records } = JSON.parse(line);
  const plan = await loadPlan(text);
  const distributions = await distributionsOf(plan, records);
  console.log(JSON.stringify({ id: plan.id, amplification: plan.amplification?.join("/") ?? null, distributions }));
}
