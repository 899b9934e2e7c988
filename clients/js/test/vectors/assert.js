/**
 * What the checks need of node:assert/strict, for pages; a check that fails says what it is about.
 * @module
 */

/** Fail unless two values are the same. */
export function equal(found, wanted, said = "") {
  if (!Object.is(found, wanted)) throw new Error(`${said}: found ${String(found)}, wanted ${String(wanted)}`);
}

/** Fail unless two values are built alike of the same values. */
export function deepEqual(found, wanted, said = "") {
  equal(written(found), written(wanted), said);
}

/** Fail unless a function throws an error of a class. */
export function throws(run, Kind, said = "") {
  try {
    run();
  } catch (error) {
    return checkKind(error, Kind, said);
  }
  throw new Error(`${said}: nothing was thrown`);
}

/** Fail unless a guarantee is rejected with an error of a class. */
export async function rejects(guarantee, Kind, said = "") {
  try {
    await (typeof guarantee === "function" ? guarantee() : guarantee);
  } catch (error) {
    return checkKind(error, Kind, said);
  }
  throw new Error(`${said}: nothing was thrown`);
}

/** Fail unless a value is true, or counts as it. */
export function ok(value, said = "") {
  if (!value) throw new Error(`${said}: not so`);
}

function checkKind(error, Kind, said) {
  if (!(error instanceof Kind)) throw new Error(`${said}: ${error.name}: ${error.message}`);
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
