/**
 * The part of node:assert/strict that the checks use, for pages; a failed check names its subject.
 * @module
 */

/** Fail unless two values are the same. */
export function equal(found, wanted, about = "") {
  if (!Object.is(found, wanted)) throw new Error(`${about}: found ${String(found)}, wanted ${String(wanted)}`);
}

/** Fail unless two values have equal structure and contents. */
export function deepEqual(found, wanted, about = "") {
  equal(written(found), written(wanted), about);
}

/** Fail unless a function throws an error of a class. */
export function throws(run, Kind, about = "") {
  try {
    run();
  } catch (error) {
    return checkKind(error, Kind, about);
  }
  throw new Error(`${about}: nothing was thrown`);
}

/** Fail unless a Promise is rejected with an error of a class. */
export async function rejects(pending, Kind, about = "") {
  try {
    await (typeof pending === "function" ? pending() : pending);
  } catch (error) {
    return checkKind(error, Kind, about);
  }
  throw new Error(`${about}: nothing was thrown`);
}

/** Fail unless a value is truthy. */
export function ok(value, about = "") {
  if (!value) throw new Error(`${about}: not so`);
}

function checkKind(error, Kind, about) {
  if (!(error instanceof Kind)) throw new Error(`${about}: ${error.name}: ${error.message}`);
}

function written(value) {
  return JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return `${part}n`;
    if (part === undefined) return "undefined";
    if (part instanceof Map) return ["map", ...part];
    if (part instanceof Set) return ["set", ...part];
    if (ArrayBuffer.isView(part)) return [part.constructor.name, ...part];
    return part;
  });
}
