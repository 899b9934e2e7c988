/**
 * Map a basket of names to a transaction of the catalogue's items (docs/formats/plan.md, "Names").
 * @module
 */

import { exactFields, isObject, oneOf } from "../checks.js";
import { PlanError, RecordError } from "../errors.js";
import { byCodePoint } from "../json.js";
import { isName, MOST_NAMES, nameOf } from "./catalogue.js";

const MOST_ANCESTORS = 64;
const UNKNOWN = -1;
const LEFT_OUT = -2;

/** The mapping of names to items, checked against a plan's catalogue. */
export class Names {
  /**
   * @param {any} content the plan's field
   * @param {import("./catalogue.js").Catalogue} catalogue
   */
  constructor(content, catalogue) {
    const fields = exactFields(content, "names", ["unlisted", "parents", "left_out"]);
    this.catalogue = catalogue;
    this.unlisted = oneOf(fields.unlisted, "unlisted", ["error", "drop"]);
    this.leftOut = readLeftOut(fields.left_out);
    this.parents = readParents(fields.parents);
    this.dropped = new Set(this.leftOut);
    const led = this.parents.size + this.leftOut.length;
    if (led && catalogue.count + led > MOST_NAMES) {
      throw new PlanError(`items, names with a parent and dropped names must be at most ${MOST_NAMES} in all`);
    }
    if (this.leftOut.some((name) => catalogue.idOf(name) !== undefined)) {
      throw new PlanError("a name that is left out must not be an item");
    }
  }

  /**
   * Return the items of a basket in the catalogue, by rising id.
   * @param {Iterable<string | number>} basket names; 7 is the name "7"
   * @param {{ unknown?: "error" | "drop", repeats?: "error" | "merge" }} [options] treatment of a name that the plan
   *   does not have, and of a repeated name
   * @returns {number[]}
   * @throws {RecordError}
   */
  transactionOf(basket, { unknown = "error", repeats = "error" } = {}) {
    const drops = this.unlisted === "drop" || unknown === "drop";
    const numbers = new Map(); // by name
    for (const item of basket) {
      const name = nameOf(item);
      const number = this.#rollUp(name);
      if (number === UNKNOWN && !drops) {
        throw new RecordError("an item of the basket is not in the plan's catalogue; remove it");
      }
      if (number === UNKNOWN) continue;
      if (numbers.has(name) && repeats !== "merge") {
        throw new RecordError("the basket repeats an item; a basket is a set: give each item once");
      }
      numbers.set(name, number);
    }
    const items = new Set([...numbers.values()].filter((number) => number !== LEFT_OUT));
    return [...items].sort((left, right) => left - right);
  }

  /** Return the item of a name or of its nearest ancestor with an item; otherwise LEFT_OUT or UNKNOWN. */
  #rollUp(name) {
    for (let above = name; above !== undefined; above = this.parents.get(above)) {
      const id = this.catalogue.idOf(above);
      if (id !== undefined) return id;
      if (this.dropped.has(above)) return LEFT_OUT;
    }
    return UNKNOWN;
  }

  toJSON() {
    const parents = Object.assign(Object.create(null), Object.fromEntries(this.parents));
    return { unlisted: this.unlisted, parents, left_out: this.leftOut };
  }
}

function readLeftOut(names) {
  if (!Array.isArray(names) || names.length > MOST_NAMES || !names.every(isName)) {
    throw new PlanError("plan field left_out must be a list of names");
  }
  if (names.some((name, place) => place > 0 && byCodePoint(names[place - 1], name) >= 0)) {
    throw new PlanError("the names in plan field left_out must be sorted by code point and distinct");
  }
  return names;
}

/** Return a taxonomy, child to parent, without cycles and with few levels. */
function readParents(content) {
  if (!isObject(content)) throw new PlanError("plan field parents must be an object, child to parent");
  const parents = new Map(Object.entries(content));
  const names = new Set([...parents].flat());
  if (names.size > MOST_NAMES || ![...names].every(isName)) throw new PlanError("a taxonomy must map names to names");
  const heights = new Map(); // number of ancestors, of names that were followed
  for (const start of parents.keys()) {
    const path = [];
    let name = start;
    while (parents.has(name) && !heights.has(name) && path.length <= MOST_ANCESTORS) {
      path.push(name);
      name = parents.get(name);
    }
    let height = heights.get(name) ?? 0;
    for (const each of path.reverse()) heights.set(each, (height += 1));
    if (height > MOST_ANCESTORS) {
      throw new PlanError(`the taxonomy has a cycle, or more than ${MOST_ANCESTORS} levels`);
    }
  }
  return parents;
}
