/**
 * A reporting period in the ledger: the hash of its name.
 * @module
 */

import { PlanError } from "../errors.js";
import { sha256Hex } from "../plan.js";
import { stripped } from "../text.js";

const LONGEST = 1000; // characters

/**
 * Return the SHA-256 of a reporting period's name in UTF-8, stripped of white space and in Unicode's form NFC.
 * @param {string} period as "2026-W47"
 * @returns {Promise<string>} 64 hexadecimal digits
 * @throws {PlanError} empty, blank or longer than 1000 characters
 */
export async function hashPeriod(period) {
  if (typeof period !== "string") throw new TypeError('a reporting period must be text, as "2026-W47"');
  if ([...period].length > LONGEST) throw new PlanError(`a reporting period must have at most ${LONGEST} characters`);
  const name = stripped(period);
  if (name === "") throw new PlanError('the reporting period is blank; give a name, as "2026-W47"');
  if (/\p{Cs}/u.test(name)) throw new PlanError("the reporting period holds half of a surrogate pair, which is no character");
  return sha256Hex(new TextEncoder().encode(name.normalize("NFC")));
}
