/** Suggestions for comparison with another client: a line of JSON in, {"basket", "text", "top"}, one out. */

import { createInterface } from "node:readline";

import { readRules, recommend } from "../src/index.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { basket, text, top } = JSON.parse(line);
  const found = recommend(basket, readRules(JSON.parse(text)), top);
  console.log(JSON.stringify(found.map(({ items, confidence }) => [items, confidence])));
}
