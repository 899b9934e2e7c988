/**
 * JSON for plans: no repeated field, whole numbers distinguished from others, and one canonical text.
 *
 * JSON.parse uses the last of two equal fields, where another reader may use the first, and does not distinguish 1.0 and 1.
 * @module
 */

import { PlanError } from "./errors.js";

const DEEPEST = 64;
const MOST_DIGITS = 4300; // of a whole number; reading one takes time that grows faster than its length
const BLANKS = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
/** @type {[string, boolean | null][]} */
const WORDS = [["true", true], ["false", false], ["null", null]];

/** A number that is not written as a whole number: 1.0, 1e3. */
export class Real {
  /** @param {string} text as written */
  constructor(text) {
    this.text = text;
    this.value = Number(text);
  }
}

/**
 * Read JSON text.
 *
 * @param {string} text
 * @param {string} what the expected content, for messages: "plan"
 * @returns {any} objects without a prototype, so that no name is special; whole numbers as numbers if a double holds them
 *   and otherwise as BigInt; other numbers as {@link Real}
 * @throws {PlanError} no JSON, or a repeated field
 */
export function parseJson(text, what) {
  const reader = new Reader(text, what);
  const value = reader.value(0);
  reader.blanks();
  if (reader.place !== text.length) reader.fail();
  return value;
}

class Reader {
  constructor(text, what) {
    this.text = text;
    this.what = what;
    this.place = 0;
  }

  fail() {
    throw new PlanError(`not a ${this.what}: the text is not valid JSON`);
  }

  match(pattern) {
    pattern.lastIndex = this.place;
    const found = pattern.exec(this.text);
    if (found === null) this.fail();
    this.place = pattern.lastIndex;
    return found;
  }

  blanks() {
    this.match(BLANKS);
  }

  /** Take a character if it is next, after blanks. */
  takes(character) {
    this.blanks();
    if (this.text[this.place] !== character) return false;
    this.place += 1;
    return true;
  }

  value(depth) {
    if (depth > DEEPEST) this.fail();
    if (this.takes("{")) return this.object(depth);
    if (this.takes("[")) return this.list(depth);
    if (this.text[this.place] === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.place)) {
        this.place += word.length;
        return value;
      }
    }
    return this.number();
  }

  object(depth) {
    const fields = Object.create(null);
    if (this.takes("}")) return fields;
    do {
      this.blanks();
      const name = this.string();
      if (name in fields) {
        throw new PlanError(`a field of the ${this.what} is given twice; readers could use different ones`);
      }
      if (!this.takes(":")) this.fail();
      fields[name] = this.value(depth + 1);
    } while (this.takes(","));
    if (!this.takes("}")) this.fail();
    return fields;
  }

  list(depth) {
    const values = [];
    if (this.takes("]")) return values;
    do values.push(this.value(depth + 1));
    while (this.takes(","));
    if (!this.takes("]")) this.fail();
    return values;
  }

  string() {
    const start = this.place;
    if (this.text[start] !== '"') this.fail();
    let end = start;
    do end = this.text.indexOf('"', end + 1);
    while (end !== -1 && this.isEscaped(end));
    if (end === -1) this.fail();
    this.place = end + 1;
    try {
      return JSON.parse(this.text.slice(start, end + 1));
    } catch {
      return this.fail();
    }
  }

  /** Return whether an odd number of backslashes precedes a place. */
  isEscaped(place) {
    let first = place;
    while (this.text[first - 1] === "\\") first -= 1;
    return (place - first) % 2 === 1;
  }

  number() {
    const [text, fraction, exponent] = this.match(NUMBER);
    if (fraction !== undefined || exponent !== undefined) return new Real(text);
    if (text.length > MOST_DIGITS + Number(text.startsWith("-"))) this.fail();
    const value = Number(text) + 0; // -0 is 0
    return Number.isSafeInteger(value) ? value : BigInt(text);
  }
}

/**
 * Return the canonical text of JSON content: keys sorted by code point, no blanks, ASCII only (docs/formats/plan.md).
 *
 * @param {any} content objects, lists, text, whole numbers, true, false and null
 */
export function canonicalText(content) {
  if (typeof content === "string") return quoted(content);
  if (Array.isArray(content)) return `[${content.map(canonicalText).join(",")}]`;
  if (typeof content === "object" && content !== null) {
    const fields = Object.keys(content).sort(byCodePoint);
    return `{${fields.map((name) => `${quoted(name)}:${canonicalText(content[name])}`).join(",")}}`;
  }
  return String(content);
}

/** As JSON.stringify, with other characters than ASCII as \u and four digits for each half. */
function quoted(text) {
  return JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Compare texts by code points; JavaScript compares halves of surrogate pairs, which stand before U+E000. */
export function byCodePoint(left, right) {
  const length = Math.min(left.length, right.length);
  for (let place = 0; place < length; place += 1) {
    const a = left.charCodeAt(place);
    const b = right.charCodeAt(place);
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

function rank(unit) {
  const isHalf = unit >= 0xd800 && unit < 0xe000;
  return isHalf ? unit + 0x10000 : unit;
}
