/**
 * Run some checks on copies of this client, in which faults are planted: a line of JSON in, one out.
 *
 * In: {"folder": of the copy, "checks": [what they say, …], "laws": [{"plan": text, "records": [line, …]}, …]}.
 * Out: {"caught": [the checks that failed], "laws": [of each plan the laws, or why there are none, …]}.
 * @module
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { lawsOf } from "./enumerate.js";

const vectors = (name) => readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8");

for await (const line of createInterface({ input: process.stdin })) {
  const { folder, checks, laws } = JSON.parse(line);
  const home = pathToFileURL(`${folder}/`);
  const { CHECKS } = await import(new URL("test/vectors/all.js", home).href);
  const { loadPlan } = await import(new URL("src/index.js", home).href);
  const caught = [];
  for (const says of checks) {
    const { files, check } = CHECKS.find((each) => each.says === says);
    if (await isFailing(() => check(...files.map(vectors), assert))) caught.push(says);
  }
  const found = [];
  for (const { plan, records } of laws) {
    found.push(await lawsOf(await loadPlan(plan), records).catch((error) => String(error)));
  }
  console.log(JSON.stringify({ caught, laws: found }));
}

async function isFailing(run) {
  try {
    await run();
    return false;
  } catch {
    return true;
  }
}
