/**
 * How a basket of names becomes a transaction of the catalogue's items (docs/formats/plan.md, "The view").
 * @module
 */

import { exactFields, isObject, oneOf, wholeIn } from "../checks.js";
import { PlanError, RecordError } from "../errors.js";
import { byCodePoint } from "../json.js";
import { readBlocks } from "./blocks.js";
import { Catalogue, isName, MOST_NAMES, nameOf } from "./names.js";

/** The fields that views of a kind have beside those of all. */
const OWN_FIELDS = { items: [], itemsets: ["itemsets"], sizes: ["bounds", "counted"] };
const MOST_SIZE = 1 << 30;
const MOST_ANCESTORS = 64;
const UNKNOWN = -1;
const LEFT_OUT = -2;

/** A plan's view, checked against its catalogue. */
export class View {
  /**
   * @param {any} content the plan's field
   * @param {Catalogue} catalogue
   */
  constructor(content, catalogue) {
    const kind = isObject(content) && oneOf(content.kind, "view kind", Object.keys(OWN_FIELDS));
    const cut = isObject(content) && "blocks" in content ? ["blocks"] : [];
    const own = OWN_FIELDS[kind] ?? [];
    const fields = exactFields(content, "the view", ["kind", "others", "parents", "left_out", ...own, ...cut]);
    this.kind = kind;
    this.others = oneOf(fields.others, "others", ["error", "drop"]);
    this.leftOut = sortedNames(fields.left_out, "left_out");
    this.parents = readParents(fields.parents);
    this.itemsets = kind === "itemsets" ? readItemsets(fields.itemsets) : [];
    this.bounds = kind === "sizes" ? readBounds(fields.bounds) : [];
    this.counted = kind === "sizes" ? sortedNames(fields.counted, "counted") : [];
    if (cut.length && kind === "sizes") throw new PlanError("a view of sizes has nothing to cut into blocks");
    this.blocks = cut.length ? readBlocks(fields.blocks, catalogue.count) : null;
    /** The names that entries are made of; null where any name counts. */
    this.vocabulary = this.#readVocabulary(catalogue);
    this.dropped = new Set(this.leftOut);
    this.#check(catalogue);
  }

  #readVocabulary(catalogue) {
    if (this.kind === "items") return catalogue;
    const names = this.kind === "sizes" ? this.counted : [...new Set(this.itemsets.flat())].sort(byCodePoint);
    return names.length ? Catalogue.of(names) : null;
  }

  #check(catalogue) {
    const entries = this.kind === "itemsets" ? this.itemsets : this.bounds;
    if (this.kind !== "items" && entries.length !== catalogue.count) {
      throw new PlanError("the view makes another number of entries than the catalogue names");
    }
    if (this.vocabulary === null && this.parents.size) {
      throw new PlanError("where any name counts as it stands there is nothing for a taxonomy to do");
    }
    const led = this.parents.size + this.leftOut.length;
    if (led && (this.vocabulary?.count ?? 0) + led > MOST_NAMES) {
      throw new PlanError(`names of entries, with a parent and left out must be at most ${MOST_NAMES} in all`);
    }
    if (this.leftOut.some((name) => this.vocabulary?.idOf(name) !== undefined)) {
      throw new PlanError("a name that is left out must not be one that entries are made of");
    }
  }

  /**
   * Return the items of the catalogue that a basket comes to, by increasing id.
   * @param {Iterable<string | number>} basket names; 7 is the name "7"
   * @param {{ unknown?: "error" | "drop", repeats?: "error" | "merge" }} [options] what becomes of a name that the plan
   *   does not know, and of one that stands twice
   * @returns {number[]}
   * @throws {RecordError}
   */
  transactionOf(basket, { unknown = "error", repeats = "error" } = {}) {
    const drops = this.others === "drop" || unknown === "drop";
    const numbers = new Map(); // by name
    for (const item of basket) {
      const name = nameOf(item);
      const number = this.#rollUp(name, numbers.size);
      if (number === UNKNOWN && !drops) {
        throw new RecordError("an item of the basket is not in the plan's catalogue; leave it out");
      }
      if (number === UNKNOWN) continue;
      if (numbers.has(name) && repeats !== "merge") {
        throw new RecordError("the basket repeats an item; a basket is a set; name it once");
      }
      if (!numbers.has(name)) numbers.set(name, number);
    }
    return this.#entriesOf(new Set([...numbers.values()].filter((number) => number !== LEFT_OUT)));
  }

  /** Return the number of the nearest name above, itself first, that entries are made of; where any counts, its own. */
  #rollUp(name, itsOwn) {
    for (;;) {
      const number = this.vocabulary?.idOf(name);
      if (number !== undefined) return number;
      if (this.dropped.has(name)) return LEFT_OUT;
      if (this.vocabulary === null) return itsOwn;
      const parent = this.parents.get(name);
      if (parent === undefined) return UNKNOWN;
      name = parent;
    }
  }

  #entriesOf(numbers) {
    if (this.kind === "items") return [...numbers].sort((left, right) => left - right);
    if (this.kind === "sizes") return [this.bounds.findLastIndex((bound) => bound <= numbers.size)];
    const isHeld = (name) => numbers.has(/** @type {Catalogue} */ (this.vocabulary).idOf(name));
    return this.itemsets.flatMap((names, entry) => (names.every(isHeld) ? [entry] : []));
  }

  toJSON() {
    const own = Object.fromEntries(OWN_FIELDS[this.kind].map((name) => [name, this[name]]));
    const parents = Object.assign(Object.create(null), Object.fromEntries(this.parents));
    const content = { kind: this.kind, others: this.others, left_out: this.leftOut, parents, ...own };
    return this.blocks === null ? content : { ...content, blocks: this.blocks.toJSON() };
  }
}

function readItemsets(content) {
  if (!Array.isArray(content)) throw new PlanError("plan field itemsets must be a list of lists of names");
  const itemsets = content.map((names) => sortedNames(names, "itemsets"));
  if (itemsets.some((names) => names.length === 0)) throw new PlanError("each itemset of a view must have a name");
  if (new Set(itemsets.map((names) => names.join("\n"))).size !== itemsets.length) {
    throw new PlanError("the itemsets of a view must be distinct");
  }
  return itemsets;
}

function readBounds(content) {
  if (!Array.isArray(content)) throw new PlanError("plan field bounds must be a list of whole numbers");
  const bounds = content.map((bound) => wholeIn(bound, "bounds", 0, MOST_SIZE));
  if (bounds[0] !== 0 || bounds.some((bound, place) => place > 0 && bound <= bounds[place - 1])) {
    throw new PlanError("the bounds of a view of sizes must rise from 0");
  }
  return bounds;
}

function sortedNames(names, field) {
  if (!Array.isArray(names) || names.length > MOST_NAMES || !names.every(isName)) {
    throw new PlanError(`plan field ${field} must hold lists of names`);
  }
  if (names.some((name, place) => place > 0 && byCodePoint(names[place - 1], name) >= 0)) {
    throw new PlanError(`the names in plan field ${field} must be sorted by code point and distinct`);
  }
  return names;
}

/** Return a taxonomy, child to parent, in which every name leads to a top in a few steps. */
function readParents(content) {
  if (!isObject(content)) throw new PlanError("plan field parents must be an object, child to parent");
  const parents = new Map(Object.entries(content));
  const names = new Set([...parents].flat());
  if (names.size > MOST_NAMES || ![...names].every(isName)) throw new PlanError("a taxonomy must lead from names to names");
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
      throw new PlanError(`the taxonomy goes in circles, or above more than ${MOST_ANCESTORS} ancestors`);
    }
  }
  return parents;
}
