/**
 * The base of all plan types: an id, a guarantee, the length of a report, and the randomization of a record.
 * @module
 */

import { exactFields, isLess, isObject, readFraction, wholeIn } from "./checks.js";
import { PlanError } from "./errors.js";
import { canonicalText, parseJson } from "./json.js";

const FORMAT = "assocpriv-plan";
const ENVELOPE = ["format", "version", "kind", "reports_per_person"];
const UNKNOWN = "this plan's version or type is unknown here; a newer release may read it";
const MOST_REPORTS = 1000;
const MOST_EPSILON = 100n; // of a central guarantee
const MOST_BATCH = 10 ** 12;
const MOST_DELAY = 7 * 86400;
const MOST_TEXT = 64 << 20;
const MOST_MARKS = (1 << 22) + (1 << 10);

/**
 * A published plan that has been checked: it keeps its guarantee.
 *
 * Derived classes are the plan types; each has `fieldNames`, the fields of its text in addition to the envelope's, and
 * `optionalNames`, its optional fields.
 */
export class Plan {
  /** 64 hexadecimal digits: SHA-256 of the canonical text. */
  id = "";

  /**
   * @param {Record<string, any>} fields the plan's JSON content
   */
  constructor(fields) {
    this.kind = fields.kind;
    this.reportsPerPerson = wholeIn(fields.reports_per_person, "reports_per_person", 1, MOST_REPORTS);
    /** γ of a report as [numerator, denominator]; null where the plan has none. @type {import("./checks.js").Fraction | null} */
    this.amplification = null;
    /** The limit that γ of all reports of a person stays below; null without γ. @type {import("./checks.js").Fraction | null} */
    this.limit = null;
    /** Length of every report of the plan in bytes. */
    this.reportBytes = 0;
    /** The disclosed data that γ does not cover, in words; with it no limit for a device can hold. */
    this.uncovered = "";
    /** The guarantee against readers of batches; such reports go through a relay only. @type {CentralGuarantee | null} */
    this.central = null;
  }

  /** The plan's JSON content, rebuilt from the parsed fields. @returns {Record<string, any>} */
  toJSON() {
    throw new TypeError("a plan type must define its content");
  }

  /** The text whose hash is the id. */
  get canonical() {
    return canonicalText(this.toJSON());
  }

  /**
   * Turn a record into a report.
   * @param {any} record of the plan's type, see the derived classes
   * @param {import("./words.js").Words} [words] by default the system's
   * @returns {Uint8Array} of `reportBytes`
   */
  randomize(record, words) { // eslint-disable-line no-unused-vars
    throw new TypeError("a plan type must define how to randomize a record");
  }

  /**
   * Parse a record from a line of text, for a client on a pipe (docs/write-and-audit-a-client.md#a-client-on-a-pipe).
   * @param {string} line
   * @returns {any} what `randomize` takes
   */
  recordFromText(line) { // eslint-disable-line no-unused-vars
    throw new TypeError("a plan type must define the text of its records");
  }
}

/**
 * Return the content of the text of a plan of this format and version, of any type.
 * @param {string | Uint8Array} text
 * @returns {Record<string, any>}
 */
export function readEnvelope(text) {
  const content = parseJson(asText(text), "plan");
  if (!isObject(content) || content.format !== FORMAT) throw new PlanError(`not a plan: it does not say format ${FORMAT}`);
  if (content.version !== 1 || typeof content.kind !== "string") throw new PlanError(UNKNOWN);
  return content;
}

function asText(text) {
  const length = text.length;
  if (length > MOST_TEXT) throw new PlanError("not a plan: its text is longer than 64 MiB");
  if (typeof text !== "string") {
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text);
    } catch {
      throw new PlanError("not a plan: the text is not UTF-8");
    }
  }
  let marks = 0;
  for (let place = 0; place < text.length; place += 1) {
    const unit = text.charCodeAt(place);
    if (unit === 0x7b || unit === 0x5b || unit === 0x3a || unit === 0x2c) marks += 1; // { [ : ,
  }
  if (marks > MOST_MARKS) throw new PlanError("not a plan: it has more values than a million items need");
  return text;
}

/**
 * Read a plan with the class of its type, and compute its id.
 *
 * @param {string | Uint8Array} text the plan's JSON, in any layout
 * @param {Record<string, any>} kinds class of each plan type, with `fieldNames` and `optionalNames`
 * @param {string} [id] 64 hexadecimal digits: the required id of the plan, if known from elsewhere
 * @returns {Promise<Plan>}
 */
export async function readPlan(text, kinds, id) {
  const content = readEnvelope(text);
  const Kind = Object.hasOwn(kinds, content.kind) ? kinds[content.kind] : null;
  if (Kind === null) throw new PlanError(UNKNOWN);
  const more = (Kind.optionalNames ?? []).filter((name) => name in content);
  const plan = new Kind(exactFields(content, "the top level", [...ENVELOPE, ...Kind.fieldNames, ...more]));
  plan.id = await sha256Hex(new TextEncoder().encode(plan.canonical));
  if (id !== undefined && id !== plan.id) {
    throw new PlanError(`this is plan ${plan.id.slice(0, 12)}…, not the required one; nothing is answered`);
  }
  return plan;
}

/**
 * The guarantee against readers of whole batches without senders; a device does not prove it.
 *
 * `reports`: minimum batch size; `delay`: seconds within which a device draws the send time.
 * @typedef {{ epsilon: string, delta: string, colluding: string, reports: number, delay: number }} CentralGuarantee
 */

/**
 * Read a central guarantee.
 * @param {any} content
 * @returns {CentralGuarantee}
 */
export function readCentral(content) {
  const names = ["epsilon", "delta", "colluding", "reports", "delay"];
  const fields = exactFields(content, "the central guarantee", names);
  const reports = wholeIn(fields.reports, "reports", 1, MOST_BATCH);
  const delay = wholeIn(fields.delay, "delay", 1, MOST_DELAY);
  const [epsilon, delta, colluding] = names.slice(0, 3).map((name) => readFraction(fields[name], name));
  const people = (BigInt(reports) * (colluding[1] - colluding[0])) / colluding[1];
  if (isLess([MOST_EPSILON, 1n], epsilon) || !isLess(delta, [1n, BigInt(reports)]) || people < 1n) {
    throw new PlanError("the plan's central guarantee has an epsilon, delta or colluding share outside its range");
  }
  return { epsilon: fields.epsilon, delta: fields.delta, colluding: fields.colluding, reports, delay };
}

/** Return a plan's envelope. @param {Plan} plan */
export function envelopeOf(plan) {
  return { format: FORMAT, version: 1, kind: plan.kind, reports_per_person: plan.reportsPerPerson };
}

/**
 * Return SHA-256 as 64 hexadecimal digits.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function sha256Hex(bytes) {
  if (globalThis.crypto?.subtle === undefined) {
    throw new TypeError("hashing needs WebCrypto, which browsers provide to pages over https (or from localhost)");
  }
  return hexOf(new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes)));
}

/** Return bytes as hexadecimal digits, two for each byte. @param {Uint8Array} bytes */
export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
