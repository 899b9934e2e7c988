import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { checkBaskets } from "./vectors/baskets.js";

const vectors = (name) => readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8");

test("baskets agree with the vectors", () => checkBaskets(vectors("plans"), vectors("reports"), assert));
