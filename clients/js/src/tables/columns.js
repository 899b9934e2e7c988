/**
 * Columns of a table: the input of a value, and the mechanism that releases it (docs/formats/table-plan.md).
 *
 * This module sees raw values; its errors show none.
 * @module
 */

import { exactFields, isObject, oneOf, wholeIn } from "../checks.js";
import { PlanError, RecordError } from "../errors.js";
import { isLabel, stripped } from "../text.js";
import { MOST_OUTPUTS, readMechanism } from "./mechanisms.js";
import { nearestDouble, readBound } from "./numbers.js";

const OF_NUMBERS = ["low", "high", "cells", "intervals"];
const OWN_FIELDS = { number: OF_NUMBERS, "whole-number": OF_NUMBERS, category: ["values"], label: ["values"] };
const MOST_WHOLE = 1n << 53n; // above it not every whole number is a double

/**
 * Return the input of a raw value; that of a missing one is the number of inputs.
 * @param {any} value null, undefined and NaN are missing
 * @param {{ name: string, optional: boolean, inputs: number, placeOf: (value: any) => number }} column `placeOf` returns
 *   −1 for a value that the column does not have
 */
export function inputOf(value, column) {
  if (value === null || value === undefined || Number.isNaN(value)) {
    if (!column.optional) throw new RecordError(`column ${column.name} has no value`);
    return column.inputs;
  }
  const place = column.placeOf(value);
  if (place < 0) throw new RecordError(`column ${column.name} has a value outside its values`);
  return place;
}

/** Return a raw value as a double; NaN if it is no number. @param {any} value */
export function doubleOf(value) {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
}

/**
 * Return a category's index in a column's values, −1 if it is none; numbers and booleans are compared as text.
 * @param {any} value
 * @param {readonly string[]} values
 */
export function placeAmong(value, values) {
  if (typeof value === "string") return values.indexOf(stripped(value));
  if (typeof value === "boolean") {
    const place = values.indexOf(String(value));
    return place < 0 ? values.indexOf(value ? "True" : "False") : place;
  }
  if (typeof value === "bigint" || Number.isInteger(value)) return values.indexOf(String(BigInt(value)));
  return -1;
}

/** Return a list of texts that differ. @param {any} content @param {string} name @param {number} least @param {number} most */
export function readValues(content, name, least, most) {
  if (!Array.isArray(content) || content.length < least || content.length > most || !content.every(isLabel)) {
    throw new PlanError(`plan field ${name} must be a list of ${least} to ${most} printable texts`);
  }
  if (new Set(content).size !== content.length) throw new PlanError(`the texts in plan field ${name} must differ`);
  return content;
}

/** The common fields of all column types. */
class Column {
  constructor(fields, inputs) {
    if (!isLabel(fields.name)) throw new PlanError("a column's name must be 1 to 200 printable characters");
    if (typeof fields.optional !== "boolean") throw new PlanError("plan field optional must be true or false");
    this.name = fields.name;
    this.kind = fields.kind;
    this.optional = fields.optional;
    this.inputs = inputs;
    this.mechanism = readMechanism(fields.release, inputs, fields.optional);
  }

  /** Number of released codes, including that of a missing value. */
  get codes() {
    return this.mechanism.outputs + Number(this.optional);
  }

  toJSON() {
    return { name: this.name, kind: this.kind, optional: this.optional, release: this.mechanism.toJSON() };
  }
}

/** Numbers, released on a grid of cells. */
class GridColumn extends Column {
  constructor(fields) {
    super(fields, wholeIn(fields.cells, "cells", 1, MOST_OUTPUTS));
    this.intervals = wholeIn(fields.intervals, "intervals", 1, this.inputs);
    if (this.inputs % this.intervals) throw new PlanError("plan field cells must be a multiple of intervals");
    this.bounds = { low: fields.low, high: fields.high };
  }

  toJSON() {
    return { ...super.toJSON(), ...this.bounds, cells: this.inputs, intervals: this.intervals };
  }
}

/** Numbers in a range of equal cells. */
class NumberColumn extends GridColumn {
  #low;
  #step;
  #unit;

  constructor(fields) {
    super(fields);
    const [a, b] = readBound(fields.low, "low");
    const [c, d] = readBound(fields.high, "high");
    const cells = BigInt(this.inputs);
    // edge i is (low + i·step) / unit
    [this.#low, this.#step, this.#unit] = [a * d * cells, c * b - a * d, b * d * cells];
    if (this.#step <= 0n) throw new PlanError(`column ${this.name} needs low < high`);
    this.#checkEdges();
  }

  #checkEdges() {
    const [first, last] = [this.#low, this.#low + BigInt(this.inputs) * this.#step];
    const farthest = -first > last ? -first : last > 0n ? last : -last;
    // neighbouring doubles of this size differ by at most 2^-52 of it, so larger steps round to different doubles
    if (this.#step << 52n > farthest) return;
    for (let place = 0; place < this.inputs; place += 1) {
      if (!(this.edge(place) < this.edge(place + 1))) {
        throw new PlanError(`column ${this.name} has a range too narrow for its cells; use fewer cells`);
      }
    }
  }

  /** Return the double nearest to an edge. @param {number} place */
  edge(place) {
    return nearestDouble(this.#low + BigInt(place) * this.#step, this.#unit);
  }

  placeOf(value) {
    const number = doubleOf(value);
    if (!(this.edge(0) <= number && number <= this.edge(this.inputs))) return -1;
    let [first, last] = [0, this.inputs - 1];
    while (first < last) {
      const middle = (first + last + 1) >> 1;
      if (this.edge(middle) <= number) first = middle;
      else last = middle - 1;
    }
    return first;
  }
}

/** Whole numbers in a range; a cell has one number or several neighbours. */
class WholeColumn extends GridColumn {
  #low;
  #high;
  #step;

  constructor(fields) {
    super(fields);
    const [[low, one], [high, other]] = [readBound(fields.low, "low"), readBound(fields.high, "high")];
    if (one !== 1n || other !== 1n || low < -MOST_WHOLE || high > MOST_WHOLE || low >= high) {
      throw new PlanError(`column ${this.name} needs whole numbers low < high from -2^53 to 2^53`);
    }
    [this.#low, this.#high] = [low, high];
    const [values, cells] = [high - low + 1n, BigInt(this.inputs)];
    this.#step = (values + cells - 1n) / cells;
    const used = (values + this.#step - 1n) / this.#step;
    if (cells >= 2n * used) throw new PlanError(`column ${this.name} has too many cells for its values`);
  }

  placeOf(value) {
    const number = doubleOf(value);
    if (!Number.isInteger(number) || number < this.#low || number > this.#high) return -1;
    return Number((BigInt(number) - this.#low) / this.#step);
  }
}

/** One of several named values; a label is the class of a record, which every report covers. */
class CategoryColumn extends Column {
  constructor(fields) {
    const values = readValues(fields.values, "values", 1, MOST_OUTPUTS);
    super(fields, values.length);
    this.values = values;
    if (!this.mechanism.isPlain) {
      throw new PlanError(`column ${this.name} has named values: its mechanism must be clear or a window of width 1`);
    }
  }

  placeOf(value) {
    return placeAmong(value, this.values);
  }

  toJSON() {
    return { ...super.toJSON(), values: this.values };
  }
}

const COLUMNS = { number: NumberColumn, "whole-number": WholeColumn, category: CategoryColumn, label: CategoryColumn };

/** Read a column of a plan. @param {any} content */
export function readColumn(content) {
  const kind = oneOf(isObject(content) && content.kind, "column kind", Object.keys(OWN_FIELDS));
  const fields = exactFields(content, "a column", ["name", "kind", "optional", "release", ...OWN_FIELDS[kind]]);
  return new COLUMNS[kind](fields);
}
