/**
 * Apply published rules to one basket, on the device: nothing is requested or sent.
 * @module
 */

import { PlanError, RecordError } from "./errors.js";

/** @typedef {{ antecedents: string[], consequents: string[], confidence: number }} Rule */

/**
 * Return the selected rules of a file (docs/formats.md#published-rules). Let `fetch` check its digest: `fetch(url, {
 * integrity })`.
 * @param {any} content the file, parsed as JSON
 * @returns {Rule[]} the best first
 * @throws {PlanError} it is none of these files
 */
export function readRules(content) {
  const rules = content?.format === "assocpriv-rules" && content.version === 1 ? content.rules : null;
  if (!Array.isArray(rules)) throw new PlanError("this is not a file of published rules");
  rules.forEach((rule, place) => {
    const { antecedents, consequents, confidence } = rule ?? {};
    const named = [antecedents, consequents].every(
      (side) => Array.isArray(side) && side.length > 0 && side.every((name) => typeof name === "string"),
    );
    if (!named || typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1)) {
      throw new PlanError(`rule ${place + 1}: a rule must have names on both sides, and a confidence of 0 to 1`);
    }
  });
  return rules.filter(({ selected }) => selected !== false);
}

/**
 * Return suggestions for a basket: for rules whose antecedents it holds, in their order, the consequents that it lacks.
 * An item is suggested once, by the first rule with it. Nothing leaves the device: all devices get the same rules.
 * @param {Iterable<string | number>} basket names; rules need not contain all of them
 * @param {Rule[]} rules as `readRules` returns them
 * @param {number} [top] largest number of suggestions
 * @returns {{ items: string[], because: string[], confidence: number }[]}
 * @throws {RecordError} a basket that is no collection of names
 */
export function recommend(basket, rules, top = 3) {
  if (typeof basket !== "object" || basket === null || basket instanceof Map || !(Symbol.iterator in basket)) {
    throw new RecordError("a basket must be a list or set of names");
  }
  const held = new Set(Array.from(basket, String));
  const [known, found] = [new Set(held), /** @type {any[]} */ ([])];
  for (const { antecedents, consequents, confidence } of rules) {
    if (found.length >= top) break;
    const items = consequents.filter((name) => !known.has(name));
    if (items.length > 0 && antecedents.every((name) => held.has(name))) {
      found.push({ items, because: antecedents, confidence });
      items.forEach((name) => known.add(name));
    }
  }
  return found;
}
