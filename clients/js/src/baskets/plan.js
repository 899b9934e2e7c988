/**
 * The plan of baskets: its checks, and the randomization of a basket (docs/formats/plan.md and client.md).
 * @module
 */

import { checkGuarantee, isLess, readGuarantee, wholeIn } from "../checks.js";
import { PlanError, RecordError, WireError } from "../errors.js";
import { canonicalText } from "../json.js";
import { envelopeOf, Plan, readCentral } from "../plan.js";
import { systemWords } from "../words.js";
import { Catalogue } from "./catalogue.js";
import { Names } from "./names.js";
import { MOST_WEIGHT, ReportType } from "./report-type.js";
import { ItemsView } from "./views.js";

const MOST_REPORT_TYPES = 16;
const IDS = /^(?:(?:0|[1-9][0-9]{0,6})(?: (?:0|[1-9][0-9]{0,6}))*)?$/;

/** Items of the catalogue by their ids, in place of a basket of names. */
export class Transaction {
  /** @param {number[]} items distinct ids */
  constructor(items) {
    this.items = items;
  }
}

/** A plan of type `baskets`. */
export class BasketPlan extends Plan {
  static fieldNames = ["catalogue", "names", "report_types", "guarantee"];
  static optionalNames = ["central"];

  #sums;

  /** @param {Record<string, any>} fields */
  constructor(fields) {
    super(fields);
    this.catalogue = Catalogue.read(fields.catalogue);
    this.names = new Names(fields.names, this.catalogue);
    this.reportTypes = readReportTypes(fields.report_types, this.catalogue);
    this.guarantee = readGuarantee(fields.guarantee);
    this.limit = this.guarantee.limit;
    if ("central" in fields) this.central = readCentral(fields.central);
    const all = this.reportTypes.map((reportType) => reportType.amplification);
    this.amplification = all.reduce((most, each) => (isLess(most, each) ? each : most));
    checkGuarantee(this.amplification, this.reportsPerPerson, this.limit);
    let sum = 0n;
    this.#sums = this.reportTypes.map(({ weight }) => (sum += BigInt(weight)));
    /** Bytes of a report for the number of its report type, if there are several. */
    this.numberBytes = this.reportTypes.length > 1 ? 1 : 0;
    this.reportBytes = this.numberBytes + Math.max(...this.reportTypes.map(({ form }) => form.length));
  }

  toJSON() {
    return {
      ...envelopeOf(this),
      catalogue: this.catalogue.toJSON(),
      names: this.names.toJSON(),
      report_types: this.reportTypes.map((reportType) => reportType.toJSON()),
      guarantee: this.guarantee.fields,
      ...(this.central === null ? {} : { central: this.central }),
    };
  }

  /**
   * Turn a basket into a report.
   * @param {Iterable<string | number> | Transaction} basket names, in any order (7 is the name "7"), which the plan
   *   maps to a transaction; or a transaction
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Uint8Array}
   * @throws {RecordError} a name that the plan does not have, or a repeated one; the message does not show it
   */
  randomize(basket, words = systemWords()) {
    return this.draw(basket, words).report;
  }

  /**
   * Make a report, and return every intermediate step: they disclose the basket, and are for tests only.
   * @param {Iterable<string | number> | Transaction} basket
   * @param {import("../words.js").Words} words
   */
  draw(basket, words) {
    const transaction = this.#transactionOf(basket);
    const number = this.numberBytes ? words.pick(this.#sums) : 0; // independent of the transaction
    const { view, form } = this.reportTypes[number];
    const entries = view.entriesOf(transaction);
    const steps = form.draw(entries, words);
    const report = new Uint8Array(this.reportBytes);
    if (this.numberBytes) report[0] = number;
    report.set(steps.report, this.numberBytes);
    return { ...steps, reportType: number, entries, report };
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
   * Parse a transaction from a line, ids separated by one blank.
   * @param {string} line
   */
  recordFromText(line) {
    if (!IDS.test(line)) throw new RecordError("a transaction must be item ids in decimal, separated by one blank");
    return new Transaction(line === "" ? [] : line.split(" ").map(Number));
  }

  /**
   * Return the entries of its report type that a report shows.
   * @param {Uint8Array} report
   * @returns {{ reportType: number, shown: number[] }} `reportType` its number; `shown` entries, rising: those from the
   *   view's `count` on are padding items
   * @throws {WireError} bytes that no client of this plan can have sent
   */
  decode(report) {
    if (report.length !== this.reportBytes) throw new WireError(`a report of this plan has ${this.reportBytes} bytes`);
    const number = this.numberBytes ? report[0] : 0;
    if (number >= this.reportTypes.length) throw new WireError("a report has the number of a report type that the plan does not have");
    const { form } = this.reportTypes[number];
    const end = this.numberBytes + form.length;
    if (report.subarray(end).some((byte) => byte !== 0)) throw new WireError("a report has bits set after its response");
    const answer = report.subarray(this.numberBytes, end);
    form.check(answer);
    return { reportType: number, shown: form.shown(answer) };
  }
}

/**
 * @param {any} contents
 * @param {Catalogue} catalogue
 */
function readReportTypes(contents, catalogue) {
  if (!Array.isArray(contents) || contents.length < 1 || contents.length > MOST_REPORT_TYPES) {
    throw new PlanError(`plan field report_types must be a list of 1 to ${MOST_REPORT_TYPES}`);
  }
  const reportTypes = contents.map((content) => new ReportType(content, catalogue));
  if (new Set(reportTypes.map((reportType) => canonicalText(reportType.toJSON()))).size < reportTypes.length) {
    throw new PlanError("the report types of a plan must differ");
  }
  const weight = wholeIn(reportTypes.reduce((sum, each) => sum + each.weight, 0), "share", 1, MOST_WEIGHT);
  if (reportTypes.some(({ total }) => total !== weight)) {
    throw new PlanError(`the shares of a plan's report types must add up to the whole: ${weight} of ${weight}`);
  }
  if (!reportTypes.some(({ view }) => view instanceof ItemsView)) throw new PlanError("a plan must have a report type of items");
  return reportTypes;
}
