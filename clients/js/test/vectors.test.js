import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { CHECKS } from "./vectors/all.js";

const vectors = (name) => readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8");

for (const { says, files, check } of CHECKS) test(says, () => check(...files.map(vectors), assert));
