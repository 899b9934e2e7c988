/**
 * All checks against tests/vectors, for node and Chromium.
 * @module
 */

import { checkBaskets } from "./baskets.js";
import { checkGuided } from "./guided.js";
import { checkTables } from "./tables.js";
import { checkAllowed, checkSpent } from "./budget-spent.js";
import { checkWords } from "./words.js";

/** For each check its title, its vector files in order, and its function. */
export const CHECKS = [
  { title: "words and draws agree with the format page", files: [], check: checkWords },
  { title: "baskets agree with the vectors", files: ["plans", "reports"], check: checkBaskets },
  { title: "tables agree with the vectors", files: ["tables"], check: checkTables },
  { title: "guided tuples agree with the vectors", files: ["guided"], check: checkGuided },
  { title: "budget spent agrees with the vectors", files: ["devices"], check: checkSpent },
  { title: "decisions on further reports agree with the vectors", files: ["devices"], check: checkAllowed },
];
