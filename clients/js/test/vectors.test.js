import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { checkBaskets } from "./vectors/baskets.js";
import { checkGuided } from "./vectors/guided.js";
import { checkTables } from "./vectors/tables.js";

const vectors = (name) => readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8");

test("baskets agree with the vectors", () => checkBaskets(vectors("plans"), vectors("reports"), assert));
test("tables agree with the vectors", () => checkTables(vectors("tables"), assert));
test("guided tuples agree with the vectors", () => checkGuided(vectors("guided"), assert));
