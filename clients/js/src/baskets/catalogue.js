/**
 * Names of items, and the catalogue of a plan's items (docs/formats/plan.md, "Catalogue").
 * @module
 */

import { isObject, wholeIn } from "../checks.js";
import { PlanError, RecordError } from "../errors.js";
import { stripped } from "../text.js";

export const MOST_NAMES = 1 << 20;
// eslint-disable-next-line no-control-regex -- these are what it looks for
const NO_TEXT = /[\u0000-\u001f\u007f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const DECIMAL = /^(?:0|[1-9][0-9]{0,6})$/;

/** Return whether a value is text that may be a name. @param {any} value */
export function isName(value) {
  return typeof value === "string" && value !== "" && !NO_TEXT.test(value) && stripped(value) === value;
}

/**
 * Return the name of an item of a basket: text stripped of white space; 7 is the name "7".
 * @param {any} item
 * @throws {RecordError} no name; the message does not show it
 */
export function nameOf(item) {
  if (typeof item !== "string" && !Number.isSafeInteger(item)) throw new RecordError("an item of the basket is not a name");
  const name = stripped(String(item));
  if (name === "" || NO_TEXT.test(name)) {
    throw new RecordError("an item of the basket is empty, has control characters or is not valid text");
  }
  return name;
}

/** The items that can be reported: distinct names; an item's id is its position. */
export class Catalogue {
  #index;

  /**
   * @param {number} count
   * @param {string[] | null} names null for "0" … "count − 1"
   */
  constructor(count, names) {
    this.count = count;
    this.names = names;
    this.#index = names && new Map(names.map((name, id) => [name, id]));
  }

  /** Read a plan's field. @param {any} content */
  static read(content) {
    const keys = isObject(content) ? Object.keys(content).join() : "";
    if (keys === "count") return new Catalogue(wholeIn(content.count, "count", 1, MOST_NAMES), null);
    if (keys !== "names" || !Array.isArray(content.names)) {
      throw new PlanError("plan field catalogue must hold either a count or a list of names");
    }
    return Catalogue.of(content.names);
  }

  /** Return the catalogue of a list of names, which are checked. @param {any[]} names */
  static of(names) {
    if (names.length < 1 || names.length > MOST_NAMES) throw new PlanError(`a catalogue must hold 1..${MOST_NAMES} items`);
    if (!names.every(isName)) {
      throw new PlanError("a catalogue's entries must be names without control characters, and without white space around them");
    }
    if (new Set(names).size !== names.length) throw new PlanError("a catalogue's names must be distinct");
    return new Catalogue(names.length, names.every((name, id) => name === String(id)) ? null : names);
  }

  /** Return an item's id; undefined if no item has the name. @param {string} name */
  idOf(name) {
    if (this.#index) return this.#index.get(name);
    return DECIMAL.test(name) && Number(name) < this.count ? Number(name) : undefined;
  }

  /** Return an item's name. @param {number} id */
  nameOf(id) {
    return this.names ? this.names[id] : String(id);
  }

  toJSON() {
    return this.names ? { names: this.names } : { count: this.count };
  }
}
