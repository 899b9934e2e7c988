/**
 * The records of a ledger, evaluated: reports by reporting period, budget spent, queued reports.
 *
 * It holds randomized reports, and no data of a person's raw record.
 * @module
 */

import { gammaOf, multiply } from "./bounds.js";

const KEY_SECONDS = 14 * 86400; // for which a collector has a key

/** @typedef {import("../checks.js").Fraction} Fraction */

/**
 * A record of a ledger, by the kinds of docs/formats/client.md; ids and hashes are hexadecimal digits.
 *
 * 1 and 2: `plan`, `period`, `id`, `gamma` ("a/b", "a/b+" or "none"), `report`. 3 and 4: `of`. 5: `of`,
 * `time`. 6: `digest`, `time`.
 * @typedef {{ number: number, kind: number, plan?: string, period?: string, id?: string, gamma?: string,
 *   report?: Uint8Array<ArrayBuffer>, of?: number, time?: number, digest?: string }} LedgerRecord
 */

/**
 * A queued report, the same bytes at every attempt.
 * @typedef {object} Submission
 * @property {number} number of the report's record in the ledger
 * @property {string} planId
 * @property {Uint8Array<ArrayBuffer>} id 16 random bytes, by which a collector recognizes a repeat
 * @property {Uint8Array<ArrayBuffer>} report
 * @property {boolean} acknowledged whether a collector has it
 */

/** The records of one ledger, in their order. */
export class Book {
  count = 0;
  reports = 0;
  /** γ of all reports together, of plans that have one. @type {Fraction} */
  product = [1n, 1n];
  #entries = new Map();
  /** @type {Map<string, import("./budget-spent.js").PlanBudget>} */
  #plans = new Map();
  #forCollector = new Set(); // numbers of reports that are or were queued, in order
  #acknowledged = new Set();
  #times = new Map();
  #keys = new Map();
  #numbers = new Map();

  /**
   * Add the next record; return false, and add nothing, if it is invalid here.
   * @param {LedgerRecord} record
   */
  add(record) {
    if (record.number !== this.count + 1 || !this.#addKind(record)) return false;
    this.count += 1;
    return true;
  }

  #addKind(record) {
    if (record.kind === 1 || record.kind === 2) return this.#addReport(record);
    if (record.kind === 3) return this.#addQueued(record);
    if (record.kind === 4) return this.#addAcknowledged(record);
    if (record.kind === 6) return this.#addKey(record);
    return record.kind === 5 && this.#addTime(record);
  }

  #addReport(record) {
    const found = gammaOf(record.gamma);
    if (found === undefined || !(record.report?.length > 0)) return false;
    const { number, plan, period } = record;
    const name = `${plan} ${period}`;
    this.#entries.set(number, record);
    if (!this.#numbers.has(name)) this.#numbers.set(name, number);
    if (record.kind === 2) this.#forCollector.add(number);
    this.#addSpent(plan, found);
    return true;
  }

  #addSpent(planId, { gamma, uncovered }) {
    const known = this.#plans.get(planId) ?? { reports: 0, amplification: [1n, 1n], uncovered: false };
    const amplification = multiply(known.amplification, gamma);
    this.#plans.set(planId, { planId, reports: known.reports + 1, amplification, uncovered: known.uncovered || uncovered });
    this.reports += 1;
    this.product = multiply(this.product, gamma) ?? this.product;
  }

  #addQueued({ of }) {
    if (!this.#entries.has(of) || this.#forCollector.has(of)) return false;
    this.#forCollector.add(of);
    return true;
  }

  #addAcknowledged({ of }) {
    if (!this.#forCollector.has(of) || this.#acknowledged.has(of)) return false;
    this.#acknowledged.add(of);
    return true;
  }

  #addTime({ of, time }) {
    if (!this.#forCollector.has(of) || this.#acknowledged.has(of) || !Number.isSafeInteger(time) || time < 0) return false;
    this.#times.set(of, time);
    return true;
  }

  #addKey({ digest, time }) {
    if (!Number.isSafeInteger(time) || time < 0) return false;
    this.#keys.set(digest, time);
    return true;
  }

  /** Return the keys of a relay that the collector confirmed within two weeks. @param {number} now seconds since 1970 */
  knownKeys(now) {
    return [...this.#keys].flatMap(([digest, time]) => (Math.abs(now - time) <= KEY_SECONDS ? [digest] : []));
  }

  /** Return the reports under each plan, in the order of their first reports. */
  plans() {
    return [...this.#plans.values()];
  }

  /** γ of all reports together; null where a plan has none. @returns {Fraction | null} */
  get amplification() {
    return this.plans().some((plan) => plan.amplification === null) ? null : this.product;
  }

  /** Return the number of reports under a plan. @param {string} planId */
  spent(planId) {
    return this.#plans.get(planId)?.reports ?? 0;
  }

  /**
   * Return the record of the report of a reporting period.
   * @param {string} planId
   * @param {string} period its hash
   * @returns {any} undefined for none
   */
  find(planId, period) {
    return this.#entries.get(this.#numbers.get(`${planId} ${period}`));
  }

  /**
   * Return the id of the plan under which a reporting period was answered.
   * @param {string} period its hash
   * @returns {string | undefined}
   */
  planOf(period) {
    return [...this.#entries.values()].find((each) => each.period === period)?.plan;
  }

  /**
   * Return a report in the form sent to a collector; null if it was never queued.
   * @param {number} number of its record
   * @returns {Submission | null}
   */
  submission(number) {
    if (!this.#forCollector.has(number)) return null;
    const { plan, id, report } = this.#entries.get(number);
    const acknowledged = this.#acknowledged.has(number);
    return { number, planId: plan, id: bytesOf(id), report: report.slice(), acknowledged };
  }

  /** Return when a report is to be sent, in seconds since 1970; infinite if no time was drawn. @param {number} number */
  sendTime(number) {
    return this.#times.get(number) ?? Infinity;
  }

  /** Return the queued reports, the oldest first. @returns {Submission[]} */
  queued() {
    const queued = [...this.#forCollector].filter((number) => !this.#acknowledged.has(number));
    return queued.map((number) => /** @type {Submission} */ (this.submission(number)));
  }
}

/** Return the bytes that hexadecimal digits stand for. @param {string} digits */
export function bytesOf(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
