/**
 * What the records of a ledger say together: reports by occasion, what is spent, what waits for a collector.
 *
 * Of a person's record it holds what may be sent, and nothing of what it was made of.
 * @module
 */

import { gammaOf, multiply } from "./bounds.js";

/** @typedef {import("../checks.js").Fraction} Fraction */

/**
 * A record of a ledger, as docs/formats/client.md has it by kinds; ids and hashes are hexadecimal digits.
 *
 * 1 and 2: `plan`, `occasion`, `id`, `gamma` ("a/b", "a/b+" or "none"), `report`. 3 and 4: `of`. 5: `of`,
 * `moment`.
 * @typedef {{ number: number, kind: number, plan?: string, occasion?: string, id?: string, gamma?: string,
 *   report?: Uint8Array<ArrayBuffer>, of?: number, moment?: number }} LedgerRecord
 */

/**
 * A report on its way to a collector, the same bytes at every attempt.
 * @typedef {object} Submission
 * @property {number} number of the report's record in the ledger
 * @property {string} planId
 * @property {Uint8Array<ArrayBuffer>} id 16 random bytes, by which a collector tells a repeat
 * @property {Uint8Array<ArrayBuffer>} report
 * @property {boolean} acknowledged whether a collector has it
 */

/** The records of one ledger, in their order. */
export class Book {
  count = 0;
  reports = 0;
  /** γ of all reports together that state one. @type {Fraction} */
  product = [1n, 1n];
  #entries = new Map();
  /** @type {Map<string, import("./told.js").ToldPlan>} */
  #plans = new Map();
  #forCollector = new Set(); // numbers of those that wait or waited, in this order
  #acknowledged = new Set();
  #moments = new Map();
  #numbers = new Map();

  /**
   * Take in the next record; false, and nothing is taken in, for one that cannot stand here.
   * @param {LedgerRecord} record
   */
  add(record) {
    if (record.number !== this.count + 1 || !this.#addKind(record)) return false;
    this.count += 1;
    return true;
  }

  #addKind(record) {
    if (record.kind === 1 || record.kind === 2) return this.#addReport(record);
    if (record.kind === 3) return this.#addWaiting(record);
    if (record.kind === 4) return this.#addAcknowledged(record);
    return record.kind === 5 && this.#addMoment(record);
  }

  #addReport(record) {
    const found = gammaOf(record.gamma);
    if (found === undefined || !(record.report?.length > 0)) return false;
    const { number, plan, occasion } = record;
    const name = `${plan} ${occasion}`;
    this.#entries.set(number, record);
    if (!this.#numbers.has(name)) this.#numbers.set(name, number);
    if (record.kind === 2) this.#forCollector.add(number);
    this.#addTold(plan, found);
    return true;
  }

  #addTold(planId, { gamma, outside }) {
    const known = this.#plans.get(planId) ?? { reports: 0, amplification: [1n, 1n], outside: false };
    const amplification = multiply(known.amplification, gamma);
    this.#plans.set(planId, { planId, reports: known.reports + 1, amplification, outside: known.outside || outside });
    this.reports += 1;
    this.product = multiply(this.product, gamma) ?? this.product;
  }

  #addWaiting({ of }) {
    if (!this.#entries.has(of) || this.#forCollector.has(of)) return false;
    this.#forCollector.add(of);
    return true;
  }

  #addAcknowledged({ of }) {
    if (!this.#forCollector.has(of) || this.#acknowledged.has(of)) return false;
    this.#acknowledged.add(of);
    return true;
  }

  #addMoment({ of, moment }) {
    if (!this.#forCollector.has(of) || this.#acknowledged.has(of) || !Number.isSafeInteger(moment) || moment < 0) return false;
    this.#moments.set(of, moment);
    return true;
  }

  /** Return what was made under each plan, in the order of their first reports. */
  plans() {
    return [...this.#plans.values()];
  }

  /** γ of all reports together; null where a plan stated none. @returns {Fraction | null} */
  get amplification() {
    return this.plans().some((plan) => plan.amplification === null) ? null : this.product;
  }

  /** Return how many reports were made under a plan. @param {string} planId */
  spent(planId) {
    return this.#plans.get(planId)?.reports ?? 0;
  }

  /**
   * Return the record of the report of an occasion.
   * @param {string} planId
   * @param {string} occasion its hash
   * @returns {any} undefined for none
   */
  find(planId, occasion) {
    return this.#entries.get(this.#numbers.get(`${planId} ${occasion}`));
  }

  /**
   * Return the id of the plan under which an occasion was answered.
   * @param {string} occasion its hash
   * @returns {string | undefined}
   */
  planOf(occasion) {
    return [...this.#entries.values()].find((each) => each.occasion === occasion)?.plan;
  }

  /**
   * Return a report as it is sent to a collector; null if it was not made or named for one.
   * @param {number} number of its record
   * @returns {Submission | null}
   */
  submission(number) {
    if (!this.#forCollector.has(number)) return null;
    const { plan, id, report } = this.#entries.get(number);
    const acknowledged = this.#acknowledged.has(number);
    return { number, planId: plan, id: bytesOf(id), report: report.slice(), acknowledged };
  }

  /** Return when a report is to be sent, in seconds since 1970; infinite while no moment was drawn. @param {number} number */
  moment(number) {
    return this.#moments.get(number) ?? Infinity;
  }

  /** Return what waits for a collector, what waits longest first. @returns {Submission[]} */
  unsent() {
    const waiting = [...this.#forCollector].filter((number) => !this.#acknowledged.has(number));
    return waiting.map((number) => /** @type {Submission} */ (this.submission(number)));
  }
}

/** Return the bytes that hexadecimal digits stand for. @param {string} digits */
export function bytesOf(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
