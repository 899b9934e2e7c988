/**
 * The plan of baskets: read and checked, and how a basket becomes a report of it (docs/formats/plan.md and client.md).
 * @module
 */

import { checkPromise, oneOf, readPromise, wholeIn } from "../checks.js";
import { PlanError, RecordError, WireError } from "../errors.js";
import { envelopeOf, Plan } from "../plan.js";
import { systemWords } from "../words.js";
import { NUMBER_BYTES } from "./blocks.js";
import { Generator } from "./generator.js";
import { Catalogue } from "./names.js";
import { FixedSize, MOST_TRANSACTION_SIZE, SelectASize } from "./operator.js";
import { BitForm, RankForm, SeedForm } from "./report-forms.js";
import { View } from "./view.js";

const SIZES = "hidden"; // the one mode of the field
const IDS = /^(?:(?:0|[1-9][0-9]{0,6})(?: (?:0|[1-9][0-9]{0,6}))*)?$/;

/** Items of the catalogue by their ids, in place of a basket of names: what a plan's view makes of one. */
export class Transaction {
  /** @param {number[]} items distinct ids */
  constructor(items) {
    this.items = items;
  }
}

/** A plan of the kind `select-a-size` or `fixed-size`. */
export class BasketPlan extends Plan {
  static fieldNames = [
    "catalogue", "sizes", "transaction_size", "itemset_size", "operators", "generator", "promise", "view",
  ];

  #members = new Map();

  /** @param {Record<string, any>} fields */
  constructor(fields) {
    super(fields);
    this.catalogue = Catalogue.read(fields.catalogue);
    oneOf(fields.sizes, "sizes", [SIZES]);
    this.transactionSize = wholeIn(fields.transaction_size, "transaction_size", 1, MOST_TRANSACTION_SIZE);
    this.itemsetSize = wholeIn(fields.itemset_size, "itemset_size", 1, this.transactionSize);
    this.view = new View(fields.view, this.catalogue);
    this.generator = new Generator(fields.generator);
    this.operator = this.#readOperator(fields.operators);
    this.promise = readPromise(fields.promise);
    this.#checkBlocks();
    this.#checkGenerator();
    this.limit = this.promise.limit;
    this.amplification = this.operator.amplification;
    checkPromise(this.amplification, this.reportsPerPerson, this.limit);
    /** What is reported, with blocks of one block. */
    this.form = this.#formOf(this.operator);
    this.reportBytes = (this.view.blocks ? NUMBER_BYTES : 0) + this.form.length;
  }

  get #blocks() {
    return /** @type {import("./blocks.js").Blocks} */ (this.view.blocks);
  }

  /** Number of items that a report is made for: of the longest blocks, or all. */
  get askedItems() {
    return this.view.blocks ? this.view.blocks.longest : this.catalogue.count;
  }

  #readOperator(contents) {
    if (!Array.isArray(contents) || contents.length !== 1) {
      throw new PlanError("plan field operators must be a list of one operator");
    }
    const operator = new (this.kind === FixedSize.kind ? FixedSize : SelectASize)(contents[0]);
    if (operator.size !== this.transactionSize) throw new PlanError("the operator's size must be transaction_size");
    return operator;
  }

  #checkBlocks() {
    if (this.view.blocks === null) return;
    if (this.view.blocks.shortest < this.itemsetSize) {
      throw new PlanError("blocks hold fewer items than the largest itemsets; cut into fewer pieces");
    }
  }

  #checkGenerator() {
    const operator = this.operator;
    const padded = this.askedItems + operator.size;
    if (operator instanceof FixedSize) {
      this.#checkFixed(operator, padded);
      return;
    }
    this.generator.check(padded, operator.insertBits, operator.size + this.itemsetSize);
    const least = this.generator.leastFieldBits(padded, operator.insertBits);
    if (this.generator.field && this.generator.field.bits > least) {
      throw new PlanError(`plan field field_bits must be ${least} for these items, the least that suffices`);
    }
  }

  #checkFixed(operator, padded) {
    if (!this.generator.isSeedless) throw new PlanError("reports of a fixed size need the generator none");
    if (operator.items !== padded || this.askedItems < this.itemsetSize) {
      throw new PlanError("the operator is for another number of items than the plan has with padding");
    }
  }

  #formOf(operator) {
    if (operator instanceof FixedSize) return new RankForm(this.askedItems, operator);
    if (this.generator.isSeedless) return new BitForm(this.askedItems, operator);
    return new SeedForm(this.askedItems, operator, this.generator);
  }

  toJSON() {
    return {
      ...envelopeOf(this),
      catalogue: this.catalogue.toJSON(),
      sizes: SIZES,
      transaction_size: this.transactionSize,
      itemset_size: this.itemsetSize,
      operators: [this.operator.toJSON()],
      generator: this.generator.toJSON(),
      promise: this.promise.fields,
      view: this.view.toJSON(),
    };
  }

  /**
   * Turn a basket into a report.
   * @param {Iterable<string | number> | Transaction} basket names, in any order (7 is the name "7"), which the plan's
   *   view makes a transaction of; or a transaction
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
    if (this.view.blocks) return this.#drawBlock(transaction, words);
    return this.form.draw(transaction, words);
  }

  #drawBlock(transaction, words) {
    const block = words.below(this.#blocks.count); // before anything of the basket is looked at
    const members = this.#membersOf(block);
    const held = new Set(transaction);
    const places = members.flatMap((item, place) => (held.has(item) ? [place] : []));
    const steps = this.form.draw(places, words);
    const report = Uint8Array.from([block & 255, block >>> 8, ...steps.report]);
    return { ...steps, block, places, report };
  }

  /** Return the items of a block, of which the last asked for is kept. */
  #membersOf(block) {
    if (!this.#members.has(block)) this.#members = new Map([[block, this.#blocks.members(block)]]);
    return this.#members.get(block);
  }

  #transactionOf(basket) {
    if (!(basket instanceof Transaction)) {
      if (typeof basket === "string" || typeof basket?.[Symbol.iterator] !== "function") {
        throw new TypeError("a basket must be a list or set of item names");
      }
      return this.view.transactionOf(basket);
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
   * Return what a report shows: it stands for these items, and says nothing else.
   * @param {Uint8Array} report
   * @returns {{ shown: number[], block?: number }} `shown` ids, rising; those from the catalogue's length on are padding
   *   and stand for no item. `block` where the report is about one.
   * @throws {WireError} bytes that no client of this plan can have sent
   */
  decode(report) {
    if (report.length !== this.reportBytes) throw new WireError(`a report of this plan has ${this.reportBytes} bytes`);
    if (this.view.blocks) return this.#decodeBlock(report);
    return { shown: this.#shownBy(report) };
  }

  #decodeBlock(report) {
    const block = report[0] + 256 * report[1];
    if (block >= this.#blocks.count) throw new WireError("a report names a block that the plan does not have");
    const members = this.#membersOf(block);
    const idOf = (place) =>
      place < members.length ? [members[place]] : place < this.askedItems ? [] : [this.catalogue.count + place - this.askedItems];
    return { shown: this.#shownBy(report.subarray(NUMBER_BYTES)).flatMap(idOf), block };
  }

  #shownBy(report) {
    this.form.check(report);
    return this.form.shown(report);
  }
}
