/**
 * Records of tables as text and as objects.
 * @module
 */

import { isObject } from "../checks.js";
import { PlanError, RecordError } from "../errors.js";
import { parseJson, Real } from "../json.js";

/**
 * Return the object in one line of JSON; an error shows nothing of the line.
 * @param {string} line
 * @returns {Record<string, any>}
 */
export function parseRecord(line) {
  let record;
  try {
    record = parseJson(line, "record");
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
  }
  if (!isObject(record)) throw new RecordError("a record must be one JSON object, each column once; null is missing");
  return record;
}

/**
 * Return the inputs of a record's values, in the order of columns.
 * @param {any} record values by the columns' names
 * @param {readonly any[]} columns
 * @param {(value: any, column: any) => number} inputOf
 */
export function inputsOf(record, columns, inputOf) {
  if (!isPlain(record)) throw new TypeError("a record must be a plain object, column names to values");
  const names = new Set(columns.map((column) => column.name));
  if (!Object.keys(record).every((name) => names.has(name))) {
    throw new RecordError("the record has columns that the plan does not have; remove them");
  }
  return columns.map((column) => {
    const value = Object.hasOwn(record, column.name) ? record[column.name] : null;
    return inputOf(value instanceof Real ? value.value : value, column);
  });
}

/** Return whether a value is a plain object, of this page or another: a Map, for example, has no such fields. */
function isPlain(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
