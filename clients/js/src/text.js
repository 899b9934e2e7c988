/**
 * Text of plans, whose white space differs from JavaScript's (docs/formats/plan.md, "Catalogue").
 * @module
 */

const BLANK = "[\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const BLANKS_AROUND = new RegExp(`^${BLANK}+|${BLANK}+$`, "g");
const NOT_PRINTABLE = /(?! )[\p{C}\p{Z}]/u;
const MOST_LABEL = 200;

/** Return text stripped of white space. @param {string} text */
export function stripped(text) {
  return text.replace(BLANKS_AROUND, "");
}

/**
 * Return whether a value is 1..200 printable characters without white space around them: the name of a column or a value.
 * @param {any} value
 */
export function isLabel(value) {
  const isText = typeof value === "string" && value !== "" && stripped(value) === value;
  return isText && !NOT_PRINTABLE.test(value) && [...value].length <= MOST_LABEL;
}
