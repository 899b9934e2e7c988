/**
 * A device's budget ledger: one report for each reporting period, and the privacy budget that all of them spend
 * (docs/formats/client.md#the-clients-ledger).
 *
 * It sees a raw record while it makes a report, and keeps none: for a report it keeps the bytes to send, the plan's id, the
 * plan's γ and a hash of the reporting period. A report is returned only after its record is on disk. After a crash, a
 * report in the ledger may have been sent, and a retry returns its bytes; any other report was never sent.
 *
 * Looking up a reporting period, drawing the report and writing it are one step, which no other page or process interrupts.
 * @module
 */

import { LedgerError } from "../errors.js";
import { hexOf, Plan } from "../plan.js";
import { systemWords } from "../words.js";
import { Book } from "./book.js";
import { gammaText } from "./bounds.js";
import { checkFurther, remainingReports } from "./budget.js";
import { hashPeriod } from "./period.js";
import { budgetSpent } from "./budget-spent.js";

/** @typedef {import("./book.js").Submission} Submission */
/** @typedef {import("./book.js").LedgerRecord} LedgerRecord */

/** Bytes of the id of a submission. */
export const ID_BYTES = 16;

/** An open budget ledger of a device. */
export class Ledger {
  #store;
  #limit;
  #book = new Book();
  /** @type {LedgerRecord | null} */
  #last = null;
  /** @type {Promise<any>} */
  #before = Promise.resolve();

  /**
   * @param {import("./store.js").Store} store
   * @param {import("../checks.js").Fraction | null} limit what γ of all reports stays below
   */
  constructor(store, limit) {
    this.#store = store;
    this.#limit = limit;
  }

  /** Close it, so that others can open it. */
  close() {
    this.#store.close();
  }

  /** Read the records; refuse a damaged ledger. */
  async check() {
    await this.#look(() => null);
  }

  /**
   * Return the report on a reporting period: a new one, after it is on disk, or the earlier one, whatever the record is now:
   * sending its bytes again spends no budget.
   *
   * It is queued for a collector, and among `queued()` until `acknowledge()`.
   * @param {Plan} plan as `loadPlan` loads it
   * @param {string} period the reporting period, as "2026-W47": not secret, 1 to 1000 characters. White space around it and
   *   the Unicode composition of its letters are ignored
   * @param {any} record what `plan.randomize` takes; it is read while the Promise is pending, so do not change it
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Promise<Submission>}
   * @throws {import("../errors.js").BudgetError} no further report may be made: on this period, under this plan, or at all
   * @throws {import("../errors.js").RecordError} the record does not fit the plan; nothing is spent
   * @throws {LedgerError} the ledger cannot be read or written: send nothing
   * @throws {import("../errors.js").PlanError} an invalid period, or the device has a limit and no γ covers everything that
   *   the plan sends
   */
  async submit(plan, period, record, words) {
    checkLoaded(plan);
    const hash = await hashPeriod(period);
    await this.#change((book) => {
      const found = this.#found(book, plan, hash);
      if (found === undefined) return this.#made(plan, hash, record, words, 2);
      // an id made of the report's bytes would be equal for two people with equal reports
      return book.submission(found.number) ? null : { kind: 3, of: found.number };
    });
    const { number } = this.#book.find(plan.id, hash);
    return /** @type {Submission} */ (this.#book.submission(number));
  }

  /**
   * Return the report on a reporting period as `submit` does, without queueing it for a collector.
   * @param {Plan} plan
   * @param {string} period
   * @param {any} record
   * @param {import("../words.js").Words} [words]
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async report(plan, period, record, words) {
    checkLoaded(plan);
    const hash = await hashPeriod(period);
    await this.#change((book) => {
      return this.#found(book, plan, hash) === undefined ? this.#made(plan, hash, record, words, 1) : null;
    });
    return this.#book.find(plan.id, hash).report.slice();
  }

  /**
   * Return the reports that no collector has acknowledged yet, the oldest first.
   * @returns {Promise<Submission[]>}
   */
  queued() {
    return this.#look((book) => book.queued());
  }

  /**
   * Record that a collector has a report; it is not sent again.
   * @param {Submission} submission
   */
  async acknowledge({ number, id }) {
    await this.#change((book) => {
      const known = book.submission(number);
      if (known === null || known.acknowledged || hexOf(known.id) !== hexOf(id)) return null;
      return { kind: 4, of: number };
    });
  }

  /**
   * Return the time at which to send a report, in seconds since 1970. It is drawn uniformly from the `delay` seconds after
   * now and recorded, so later calls return the same time. It is drawn again if it is too early, or later than any new one,
   * as after a wrong clock.
   * @param {Submission} submission
   * @param {number} delay
   * @param {number} now seconds since 1970
   * @param {number} [earliest] earliest possible time
   * @returns {Promise<number>}
   */
  async sendTime({ number }, delay, now, earliest = 0) {
    await this.#change((book) => {
      const known = book.sendTime(number);
      const isKept = (earliest <= known && known <= now + delay) || book.submission(number)?.acknowledged !== false;
      return isKept ? null : { kind: 5, of: number, time: now + 1 + systemWords().below(delay) };
    });
    return this.#book.sendTime(number);
  }

  /**
   * Return the keys of a relay that the collector confirmed within the last two weeks, after which it has others.
   * @param {number} now seconds since 1970
   * @returns {Promise<string[]>} the SHA-256 of each, in hexadecimal digits
   */
  knownKeys(now) {
    return this.#look((book) => book.knownKeys(now));
  }

  /**
   * Record that the collector confirmed a key of a relay.
   * @param {string} digest its SHA-256, in hexadecimal digits
   * @param {number} now seconds since 1970
   */
  async keepKey(digest, now) {
    await this.#change(() => ({ kind: 6, digest, time: now }));
  }

  /**
   * Return whether the report of a reporting period exists; refuse as `submit` where none may be made.
   * @param {Plan} plan
   * @param {string} period
   * @returns {Promise<boolean>}
   */
  async has(plan, period) {
    const hash = await hashPeriod(period);
    return this.#look((book) => this.#found(book, plan, hash) !== undefined);
  }

  /**
   * Return the reports made and remaining under a plan, and γ of all reports under any plans, null where one has none.
   * @param {Plan} plan
   * @returns {Promise<{ spent: number, remaining: number, amplification: import("../checks.js").Fraction | null }>}
   */
  status(plan) {
    return this.#look((book) => {
      const remaining = remainingReports(book, plan, this.#limit);
      return { spent: book.spent(plan.id), remaining, amplification: book.amplification };
    });
  }

  /**
   * Return the privacy budget spent by all reports of this device, under any plans, and the budget remaining below its
   * limit: figures, and `lines`, two sentences for a person. It contains no data of a record or a reporting period.
   * @returns {Promise<import("./budget-spent.js").BudgetSpent>}
   */
  spent() {
    return this.#look((book) => budgetSpent(book, this.#limit));
  }

  #made(plan, period, record, words = systemWords(), kind) {
    const report = plan.randomize(record, words);
    // the id is drawn separately: the random words of a report determine its content
    const gamma = gammaText(plan.amplification, plan.uncovered !== "");
    return { kind, plan: plan.id, period, id: randomId(), gamma, report };
  }

  /** Return the record of the report of a reporting period; undefined if a new one may be made, which is checked. */
  #found(book, plan, hash) {
    const found = book.find(plan.id, hash);
    if (found === undefined) checkFurther(book, plan, hash, this.#limit);
    return found;
  }

  /**
   * Return what a function reads from the present book.
   * @param {(book: Book) => any} read
   * @returns {Promise<any>}
   */
  async #look(read) {
    /** @type {any} */
    let seen;
    await this.#change((book) => {
      seen = read(book);
      return null;
    });
    return seen;
  }

  /** Write the record that a function returns, or none; no other write comes between. */
  #change(decide) {
    const done = this.#before.then(async () => {
      let added = null;
      await this.#store.change(this.#last, (further) => {
        this.#takeIn(further);
        const decided = decide(this.#book);
        added = decided && { number: this.#book.count + 1, ...decided };
        return added;
      });
      if (added !== null) this.#takeIn([added]);
    });
    this.#before = done.catch(() => {}); // a failure does not block the next call
    return done;
  }

  #takeIn(records) {
    for (const record of records) {
      if (!this.#book.add(record)) throw new LedgerError(damagedRecord(this.#store.name, this.#book.count + 1));
      this.#last = record;
    }
  }
}

/**
 * Return the message for a ledger that does not hold all its records, or holds others.
 * @param {string} name
 * @param {string} what
 */
export function damaged(name, what) {
  return (
    `the ledger ${name} ${what}: the privacy budget spent by this device is no longer known, so it must not report; ` +
    "restore the ledger from a copy that is not older, or stop reporting"
  );
}

/**
 * Return the message for a ledger with a record that no device writes.
 * @param {string} name
 * @param {number} number of the record
 */
export function damagedRecord(name, number) {
  return damaged(name, `is damaged at record ${number}`);
}

function randomId() {
  return hexOf(globalThis.crypto.getRandomValues(new Uint8Array(ID_BYTES)));
}

function checkLoaded(plan) {
  if (!(plan instanceof Plan) || plan.id === "") throw new TypeError("a plan is loaded by loadPlan, which checks it");
}
