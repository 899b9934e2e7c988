import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { CHECKS } from "./vectors/all.js";

const vectors = (name) => readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8");

for (const { title, files, check } of CHECKS) test(title, () => check(...files.map(vectors), assert));
