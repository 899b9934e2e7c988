/**
 * What a report is of, as the ledger knows it: the hash of a name.
 * @module
 */

import { PlanError } from "../errors.js";
import { sha256Hex } from "../plan.js";
import { stripped } from "../text.js";

const LONGEST = 1000; // characters

/**
 * Return the SHA-256 of an occasion's name in UTF-8, without blanks around it and in Unicode's form NFC.
 * @param {string} occasion as "2026-W47"
 * @returns {Promise<string>} 64 hexadecimal digits
 * @throws {PlanError} empty, blank or longer than 1000 characters
 */
export async function hashOccasion(occasion) {
  if (typeof occasion !== "string") throw new TypeError('an occasion must be text, as "2026-W47"');
  if ([...occasion].length > LONGEST) throw new PlanError(`an occasion must have at most ${LONGEST} characters`);
  const name = stripped(occasion);
  if (name === "") throw new PlanError('the occasion is blank; name what the record is of, as "2026-W47"');
  if (/\p{Cs}/u.test(name)) throw new PlanError("the occasion holds half of a surrogate pair, which is no character");
  return sha256Hex(new TextEncoder().encode(name.normalize("NFC")));
}
