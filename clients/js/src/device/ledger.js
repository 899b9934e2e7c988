/**
 * A device's own book of its reports: one an occasion, and what all of them together spend (docs/formats/client.md#the-clients-ledger).
 *
 * It sees a record while a report is made of it, and keeps none: of a report it keeps the bytes that may be sent, the
 * plan's id, the plan's γ and a hash of the occasion. A report is handed out only after its record is on disk. So after
 * a crash what is in the ledger may have been sent, and a retry returns its bytes; what is not was never sent.
 *
 * Looking up an occasion, drawing the report and writing it are one step that no other page or process comes between.
 * @module
 */

import { LedgerError } from "../errors.js";
import { hexOf, Plan } from "../plan.js";
import { systemWords } from "../words.js";
import { Book } from "./book.js";
import { gammaText } from "./bounds.js";
import { checkFurther, leftOf } from "./budget.js";
import { hashOccasion } from "./occasion.js";
import { toldBy } from "./told.js";

/** @typedef {import("./book.js").Submission} Submission */
/** @typedef {import("./book.js").LedgerRecord} LedgerRecord */

/** Bytes of the id of a submission. */
export const ID_BYTES = 16;

/** A device's ledger, open. */
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

  /** Let others have it. */
  close() {
    this.#store.close();
  }

  /** Read what is there; refuse a ledger that is damaged. */
  async check() {
    await this.#look(() => null);
  }

  /**
   * Return the report on an occasion: a new one, on disk before it is returned, or the one made before, whatever the
   * record is by now: its bytes tell nothing more however often they are sent.
   *
   * It is to be sent to a collector, and among `unsent()` until `acknowledge()`.
   * @param {Plan} plan as `loadPlan` loads it
   * @param {string} occasion what the record is of, as "2026-W47": not secret, 1 to 1000 characters. Blanks around it,
   *   and how Unicode composes its letters, make no other occasion
   * @param {any} record what `plan.randomize` takes; it is read while the promise is awaited, so leave it as it is
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Promise<Submission>}
   * @throws {import("../errors.js").BudgetError} no further report may be made: of this occasion or plan, or at all
   * @throws {import("../errors.js").RecordError} the record does not fit the plan; nothing is spent
   * @throws {LedgerError} the ledger cannot be read or written: nothing may be sent
   * @throws {import("../errors.js").PlanError} the occasion is no name, or the device has a limit and no γ covers all that the plan sends
   */
  async submit(plan, occasion, record, words) {
    checkLoaded(plan);
    const hash = await hashOccasion(occasion);
    await this.#change((book) => {
      const found = this.#found(book, plan, hash);
      if (found === undefined) return this.#made(plan, hash, record, words, 2);
      // an id made of the report alone would be another person's too, whose report holds the same
      return book.submission(found.number) ? null : { kind: 3, of: found.number };
    });
    const { number } = this.#book.find(plan.id, hash);
    return /** @type {Submission} */ (this.#book.submission(number));
  }

  /**
   * Return the report on an occasion as `submit` does, to be handed out otherwise than to a collector.
   * @param {Plan} plan
   * @param {string} occasion
   * @param {any} record
   * @param {import("../words.js").Words} [words]
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async report(plan, occasion, record, words) {
    checkLoaded(plan);
    const hash = await hashOccasion(occasion);
    await this.#change((book) => {
      return this.#found(book, plan, hash) === undefined ? this.#made(plan, hash, record, words, 1) : null;
    });
    return this.#book.find(plan.id, hash).report.slice();
  }

  /**
   * Return the reports that no collector has acknowledged yet, what waits longest first.
   * @returns {Promise<Submission[]>}
   */
  unsent() {
    return this.#look((book) => book.unsent());
  }

  /**
   * Note that a collector has a report; it is sent no more.
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
   * Return the moment at which a report is to be sent, in seconds since 1970. It is drawn uniformly from the `delay`
   * seconds behind now and written down, so that whoever asks again gets the same, unless that is too early, or further
   * ahead than any that is drawn now, as after a clock that was wrong.
   * @param {Submission} submission
   * @param {number} delay
   * @param {number} now seconds since 1970
   * @param {number} [earliest] moment that it may have
   * @returns {Promise<number>}
   */
  async moment({ number }, delay, now, earliest = 0) {
    await this.#change((book) => {
      const known = book.moment(number);
      const isKept = (earliest <= known && known <= now + delay) || book.submission(number)?.acknowledged !== false;
      return isKept ? null : { kind: 5, of: number, moment: now + 1 + systemWords().below(delay) };
    });
    return this.#book.moment(number);
  }

  /**
   * Tell whether the report of an occasion is made already; where none may be made, refuse as `submit` does.
   * @param {Plan} plan
   * @param {string} occasion
   * @returns {Promise<boolean>}
   */
  async has(plan, occasion) {
    const hash = await hashOccasion(occasion);
    return this.#look((book) => this.#found(book, plan, hash) !== undefined);
  }

  /**
   * Return what this device has told: reports of a plan, how many more it may make, and γ of all that it told under any
   * plans, null where one of these states none.
   * @param {Plan} plan
   * @returns {Promise<{ spent: number, left: number, amplification: import("../checks.js").Fraction | null }>}
   */
  spent(plan) {
    return this.#look((book) => {
      const [spent, left] = [book.spent(plan.id), leftOf(book, plan, this.#limit)];
      return { spent, left, amplification: book.amplification };
    });
  }

  /**
   * Return what all reports that this device has made can have told by now, under any plans, and what is left of its
   * limit: figures, and as `lines` two sentences for a person. Nothing of a record or an occasion is in it.
   * @returns {Promise<import("./told.js").Told>}
   */
  told() {
    return this.#look((book) => toldBy(book, this.#limit));
  }

  #made(plan, occasion, record, words = systemWords(), kind) {
    const report = plan.randomize(record, words);
    // the id is of its own: the words of a report's draw say all that is in it
    const gamma = gammaText(plan.amplification, plan.uncovered !== "");
    return { kind, plan: plan.id, occasion, id: randomId(), gamma, report };
  }

  /** Return the record of the report of an occasion; undefined where a new one may be made, which is checked. */
  #found(book, plan, hash) {
    const found = book.find(plan.id, hash);
    if (found === undefined) checkFurther(book, plan, hash, this.#limit);
    return found;
  }

  /**
   * Return what a function reads of the book as it is now.
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

  /** Write the record that a function decides on, or none, by a book that nobody adds to meanwhile. */
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
    this.#before = done.catch(() => {}); // one that fails does not keep the next from trying
    return done;
  }

  #takeIn(records) {
    for (const record of records) {
      if (!this.#book.add(record)) throw new LedgerError(damaged(this.#store.name, this.#book.count + 1));
      this.#last = record;
    }
  }
}

/**
 * Return what is said of a ledger with a record that no device writes.
 * @param {string} name
 * @param {number} number of the record
 */
export function damaged(name, number) {
  return (
    `the ledger ${name} is damaged at record ${number}: what this device has told is no longer known, so it must not ` +
    "tell more; restore the ledger from a copy that is not older, or stop reporting"
  );
}

function randomId() {
  return hexOf(globalThis.crypto.getRandomValues(new Uint8Array(ID_BYTES)));
}

function checkLoaded(plan) {
  if (!(plan instanceof Plan) || plan.id === "") throw new TypeError("a plan is loaded by loadPlan, which checks it");
}
