/**
 * All checks against tests/vectors, which node and Chromium run alike.
 * @module
 */

import { checkBaskets } from "./baskets.js";
import { checkGuided } from "./guided.js";
import { checkTables } from "./tables.js";
import { checkAsked, checkTold } from "./told.js";
import { checkWords } from "./words.js";

/** Of each check what it says, the vectors it reads, in order, and the function. */
export const CHECKS = [
  { says: "words and draws are those of the page", files: [], check: checkWords },
  { says: "baskets agree with the vectors", files: ["plans", "reports"], check: checkBaskets },
  { says: "tables agree with the vectors", files: ["tables"], check: checkTables },
  { says: "guided tuples agree with the vectors", files: ["guided"], check: checkGuided },
  { says: "what was told agrees with the vectors", files: ["devices"], check: checkTold },
  { says: "what may be told further agrees with the vectors", files: ["devices"], check: checkAsked },
];
