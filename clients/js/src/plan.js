/**
 * What every kind of plan has: an identity, a promise, a report of some bytes, and how a record becomes one.
 * @module
 */

import { exactFields, isLess, isObject, readFraction, wholeIn } from "./checks.js";
import { PlanError } from "./errors.js";
import { canonicalText, parseJson } from "./json.js";

const FORMAT = "assocpriv-plan";
const ENVELOPE = ["format", "version", "kind", "reports_per_person"];
const UNKNOWN = "this plan's version or kind is unknown here; a newer release may read it";
const MOST_REPORTS = 1000;
const MOST_EPSILON = 100n; // of a central promise
const MOST_BATCH = 10 ** 12;
const MOST_DELAY = 7 * 86400;
const MOST_TEXT = 64 << 20;
const MOST_MARKS = (1 << 22) + (1 << 10);

/**
 * A published plan, checked: it keeps its promise, or it would not be here.
 *
 * Derived classes are the kinds of plans; each has `fieldNames`, the fields of its text beside the envelope's, and
 * `optionalNames`, those that it may have as well.
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
    /** γ of a report as [numerator, denominator]; null where the plan states none. @type {import("./checks.js").Fraction | null} */
    this.amplification = null;
    /** What γ of all reports of a person stays below; null where none is stated. @type {import("./checks.js").Fraction | null} */
    this.limit = null;
    /** Length of a report, of all reports of the plan. */
    this.reportBytes = 0;
    /** What reports tell that lies outside γ, in words; with it no limit for a device can hold. */
    this.uncovered = "";
    /** What readers of whole batches may learn; reports of a plan that says it go through a relay only. @type {CentralPromise | null} */
    this.central = null;
  }

  /** The plan's JSON content, made anew from what was read. @returns {Record<string, any>} */
  toJSON() {
    throw new TypeError("a kind of plans says what its content is");
  }

  /** The text that the id is the hash of. */
  get canonical() {
    return canonicalText(this.toJSON());
  }

  /**
   * Turn a record into a report.
   * @param {any} record of a plan of baskets names or ids of items, see the kinds
   * @param {import("./words.js").Words} [words] by default the system's
   * @returns {Uint8Array} of `reportBytes`
   */
  randomize(record, words) { // eslint-disable-line no-unused-vars
    throw new TypeError("a kind of plans says how a record becomes a report");
  }

  /**
   * Read a record of a line of text, as a client on a pipe gets it (docs/write-and-audit-a-client.md#a-client-on-a-pipe).
   * @param {string} line
   * @returns {any} what `randomize` takes
   */
  recordFromText(line) { // eslint-disable-line no-unused-vars
    throw new TypeError("a kind of plans says how its records are written");
  }
}

/**
 * Return the content of the text of a plan: a plan of this format and version, of some kind.
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
 * Read a plan by the classes of kinds, and compute its id.
 *
 * @param {string | Uint8Array} text the plan's JSON, in any layout
 * @param {Record<string, any>} kinds class of each kind, with `fieldNames` and `optionalNames`
 * @param {string} [id] 64 hexadecimal digits: what the plan's id must be, where it is known from elsewhere
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
    throw new PlanError(`this is plan ${plan.id.slice(0, 12)}…, not the one that was asked for; nothing is answered`);
  }
  return plan;
}

/**
 * The promise to whoever is told of whole batches, of which none tells who sent what; a device does not prove it.
 *
 * `reports`: the least reports of a batch; `delay`: seconds within which a device draws the moment of sending.
 * @typedef {{ epsilon: string, delta: string, helping: string, reports: number, delay: number }} CentralPromise
 */

/**
 * Read a central promise.
 * @param {any} content
 * @returns {CentralPromise}
 */
export function readCentral(content) {
  const names = ["epsilon", "delta", "helping", "reports", "delay"];
  const fields = exactFields(content, "the central promise", names);
  const reports = wholeIn(fields.reports, "reports", 1, MOST_BATCH);
  const delay = wholeIn(fields.delay, "delay", 1, MOST_DELAY);
  const [epsilon, delta, helping] = names.slice(0, 3).map((name) => readFraction(fields[name], name));
  const people = (BigInt(reports) * (helping[1] - helping[0])) / helping[1];
  if (isLess([MOST_EPSILON, 1n], epsilon) || !isLess(delta, [1n, BigInt(reports)]) || people < 1n) {
    throw new PlanError("the plan's central promise has an epsilon, delta or helping share outside its range");
  }
  return { epsilon: fields.epsilon, delta: fields.delta, helping: fields.helping, reports, delay };
}

/** Return what a plan's envelope says. @param {Plan} plan */
export function envelopeOf(plan) {
  return { format: FORMAT, version: 1, kind: plan.kind, reports_per_person: plan.reportsPerPerson };
}

/**
 * Return SHA-256 as 64 hexadecimal digits.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function sha256Hex(bytes) {
  if (globalThis.crypto?.subtle === undefined) {
    throw new TypeError("hashing needs WebCrypto, which browsers offer to pages that came over https (or from localhost)");
  }
  return hexOf(new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes)));
}

/** Return bytes as hexadecimal digits, two a byte. @param {Uint8Array} bytes */
export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
