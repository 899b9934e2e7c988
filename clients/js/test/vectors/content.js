/**
 * Vectors as the text that a client reads.
 * @module
 */

import { Real } from "../../src/json.js";

/** Return the JSON text of content that parseJson read: 1.0 stays 1.0. @param {any} content @returns {string} */
export function textOf(content) {
  if (content instanceof Real) return content.text;
  if (Array.isArray(content)) return `[${content.map(textOf).join()}]`;
  if (typeof content === "bigint") return String(content);
  if (typeof content !== "object" || content === null) return JSON.stringify(content);
  return `{${Object.keys(content).map((name) => `${JSON.stringify(name)}:${textOf(content[name])}`).join()}}`;
}

/** Return the bytes of hexadecimal digits. @param {string} hex */
export function bytesOf(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}
