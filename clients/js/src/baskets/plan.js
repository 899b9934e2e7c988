/**
 * The plan of baskets: read and checked, and how a basket becomes a report of it (docs/formats/plan.md and client.md).
 * @module
 */

import { checkPromise, isLess, readPromise, wholeIn } from "../checks.js";
import { PlanError, RecordError, WireError } from "../errors.js";
import { canonicalText } from "../json.js";
import { envelopeOf, Plan, readCentral } from "../plan.js";
import { systemWords } from "../words.js";
import { Catalogue } from "./catalogue.js";
import { Names } from "./names.js";
import { MOST_WEIGHT, Question } from "./question.js";
import { ItemsView } from "./views.js";

const MOST_QUESTIONS = 16;
const IDS = /^(?:(?:0|[1-9][0-9]{0,6})(?: (?:0|[1-9][0-9]{0,6}))*)?$/;

/** Items of the catalogue by their ids, in place of a basket of names: what a plan makes of one. */
export class Transaction {
  /** @param {number[]} items distinct ids */
  constructor(items) {
    this.items = items;
  }
}

/** A plan of the kind `baskets`. */
export class BasketPlan extends Plan {
  static fieldNames = ["catalogue", "names", "questions", "promise"];
  static optionalNames = ["central"];

  #sums;

  /** @param {Record<string, any>} fields */
  constructor(fields) {
    super(fields);
    this.catalogue = Catalogue.read(fields.catalogue);
    this.names = new Names(fields.names, this.catalogue);
    this.questions = readQuestions(fields.questions, this.catalogue);
    this.promise = readPromise(fields.promise);
    this.limit = this.promise.limit;
    if ("central" in fields) this.central = readCentral(fields.central);
    const all = this.questions.map((question) => question.amplification);
    this.amplification = all.reduce((most, each) => (isLess(most, each) ? each : most));
    checkPromise(this.amplification, this.reportsPerPerson, this.limit);
    let sum = 0n;
    this.#sums = this.questions.map(({ weight }) => (sum += BigInt(weight)));
    /** Bytes of a report that say its question, where there are several. */
    this.numberBytes = this.questions.length > 1 ? 1 : 0;
    this.reportBytes = this.numberBytes + Math.max(...this.questions.map(({ form }) => form.length));
  }

  toJSON() {
    return {
      ...envelopeOf(this),
      catalogue: this.catalogue.toJSON(),
      names: this.names.toJSON(),
      questions: this.questions.map((question) => question.toJSON()),
      promise: this.promise.fields,
      ...(this.central === null ? {} : { central: this.central }),
    };
  }

  /**
   * Turn a basket into a report.
   * @param {Iterable<string | number> | Transaction} basket names, in any order (7 is the name "7"), which the plan
   *   makes a transaction of; or a transaction
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Uint8Array}
   * @throws {RecordError} a name that the plan does not know, or one twice; its text is not told
   */
  randomize(basket, words = systemWords()) {
    return this.draw(basket, words).report;
  }

  /**
   * Make a report, and return every step on the way to it: they tell the basket, and are for tests alone.
   * @param {Iterable<string | number> | Transaction} basket
   * @param {import("../words.js").Words} words
   */
  draw(basket, words) {
    const transaction = this.#transactionOf(basket);
    const number = this.numberBytes ? words.pick(this.#sums) : 0; // whatever the transaction holds
    const { view, form } = this.questions[number];
    const entries = view.entriesOf(transaction);
    const steps = form.draw(entries, words);
    const report = new Uint8Array(this.reportBytes);
    if (this.numberBytes) report[0] = number;
    report.set(steps.report, this.numberBytes);
    return { ...steps, question: number, entries, report };
  }

  #transactionOf(basket) {
    if (!(basket instanceof Transaction)) {
      if (typeof basket === "string" || typeof basket?.[Symbol.iterator] !== "function") {
        throw new TypeError("a basket must be a list or set of item names");
      }
      return this.names.transactionOf(basket);
    }
    const items = [...basket.items].sort((left, right) => left - right);
    if (!items.every((item) => Number.isInteger(item) && item >= 0 && item < this.catalogue.count)) {
      throw new RecordError(`the basket holds an item id outside the plan's catalogue, 0..${this.catalogue.count - 1}`);
    }
    if (items.some((item, place) => item === items[place - 1])) {
      throw new RecordError("the basket repeats an item; a basket is a set");
    }
    return items;
  }

  /**
   * Read a transaction of a line, ids with a blank between.
   * @param {string} line
   */
  recordFromText(line) {
    if (!IDS.test(line)) throw new RecordError("a transaction is item ids in decimal with one blank between two");
    return new Transaction(line === "" ? [] : line.split(" ").map(Number));
  }

  /**
   * Return what a report shows: it stands for these entries of its question, and says nothing else.
   * @param {Uint8Array} report
   * @returns {{ question: number, shown: number[] }} `question` its number; `shown` entries, rising: those from the
   *   view's `count` on are padding and stand for none
   * @throws {WireError} bytes that no client of this plan can have sent
   */
  decode(report) {
    if (report.length !== this.reportBytes) throw new WireError(`a report of this plan has ${this.reportBytes} bytes`);
    const number = this.numberBytes ? report[0] : 0;
    if (number >= this.questions.length) throw new WireError("a report answers a question that the plan does not have");
    const { form } = this.questions[number];
    const end = this.numberBytes + form.length;
    if (report.subarray(end).some((byte) => byte !== 0)) throw new WireError("a report has bits set beyond its answer");
    const answer = report.subarray(this.numberBytes, end);
    form.check(answer);
    return { question: number, shown: form.shown(answer) };
  }
}

/**
 * @param {any} contents
 * @param {Catalogue} catalogue
 */
function readQuestions(contents, catalogue) {
  if (!Array.isArray(contents) || contents.length < 1 || contents.length > MOST_QUESTIONS) {
    throw new PlanError(`plan field questions must be a list of 1 to ${MOST_QUESTIONS}`);
  }
  const questions = contents.map((content) => new Question(content, catalogue));
  if (new Set(questions.map((question) => canonicalText(question.toJSON()))).size < questions.length) {
    throw new PlanError("no two questions of a plan may be equal");
  }
  const weight = wholeIn(questions.reduce((sum, each) => sum + each.weight, 0), "share", 1, MOST_WEIGHT);
  if (questions.some(({ total }) => total !== weight)) {
    throw new PlanError(`the shares of a plan's questions must add up to all: ${weight} of as many`);
  }
  if (!questions.some(({ view }) => view instanceof ItemsView)) throw new PlanError("a plan must ask about items");
  return questions;
}
