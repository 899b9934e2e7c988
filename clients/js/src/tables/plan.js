/**
 * The plan of a table, and how a record becomes a report (docs/formats/table-plan.md).
 * @module
 */

import { checkPromise, isLess, readPromise, reduced, wholeIn } from "../checks.js";
import { PlanError, WireError } from "../errors.js";
import { envelopeOf, Plan } from "../plan.js";
import { systemWords } from "../words.js";
import { inputOf, readColumn } from "./columns.js";
import { inputsOf, parseRecord } from "./records.js";

const MOST_COLUMNS = 1000;
const MOST_ANSWERS = 10_000;

/** A plan of the kind `table`: a record has a value in each column, and a report a code for each. */
export class TablePlan extends Plan {
  static fieldNames = ["columns", "answered", "promise"];

  /** @param {Record<string, any>} fields */
  constructor(fields) {
    super(fields);
    if (!Array.isArray(fields.columns) || fields.columns.length < 1 || fields.columns.length > MOST_COLUMNS) {
      throw new PlanError(`plan field columns must be a list of 1 to ${MOST_COLUMNS} columns`);
    }
    this.columns = fields.columns.map(readColumn);
    if (new Set(this.columns.map((column) => column.name)).size !== this.columns.length) {
      throw new PlanError("two columns have the same name; names must differ");
    }
    /** Places of the protected columns of which each report answers some: all but labels. */
    this.asked = this.#placesOf((column) => column.law.amplification && column.kind !== "label");
    const labels = this.#placesOf((column) => column.law.amplification && column.kind === "label");
    this.answered = wholeIn(fields.answered, "answered", Math.min(1, this.asked.length), this.asked.length);
    if ((this.answered + labels.length) * this.reportsPerPerson > MOST_ANSWERS) {
      throw new PlanError(`a person gives more than ${MOST_ANSWERS} protected answers; answer fewer columns`);
    }
    this.#readPromise(fields.promise, labels);
    const clear = this.columns.filter((column) => !column.law.amplification).map((column) => column.name);
    this.uncovered = this.amplification && clear.length ? `columns ${clear.join(", ")}` : "";
    /** Bytes of each column's code. */
    this.widths = this.columns.map((_, place) => (this.#codesOf(place) <= 256 ? 1 : 2));
    this.reportBytes = this.widths.reduce((sum, width) => sum + width, 0);
  }

  #placesOf(isOne) {
    return this.columns.flatMap((column, place) => (isOne(column) ? [place] : []));
  }

  #readPromise(content, labels) {
    if ((content === null) !== (this.asked.length + labels.length === 0)) {
      throw new PlanError("a table plan states a promise if and only if a column has a γ");
    }
    this.promise = content && readPromise(content);
    if (this.promise === null) return;
    /** @returns {import("../checks.js").Fraction} */
    const gamma = (place) => this.columns[place].law.amplification;
    const largest = this.asked.map(gamma).sort((left, right) => (isLess(left, right) ? 1 : -1)).slice(0, this.answered);
    const factors = [...labels.map(gamma), ...largest];
    const [above, below] = factors.reduce(([a, b], [c, d]) => [a * c, b * d], [1n, 1n]);
    this.amplification = reduced(above, below);
    this.limit = this.promise.limit;
    checkPromise(this.amplification, this.reportsPerPerson, this.promise.limit);
  }

  /** Whether a column may be left out of a report. */
  #isSampled(place) {
    return this.answered < this.asked.length && this.asked.includes(place);
  }

  #codesOf(place) {
    return this.columns[place].codes + Number(this.#isSampled(place));
  }

  toJSON() {
    return {
      ...envelopeOf(this),
      columns: this.columns.map((column) => column.toJSON()),
      answered: this.answered,
      promise: this.promise && this.promise.fields,
    };
  }

  /**
   * Turn a record into a report.
   * @param {Record<string, any>} record values by the columns' names: numbers; text, whole numbers or truths for
   *   categories; null, NaN or no field for a missing value
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Uint8Array}
   * @throws {import("../errors.js").RecordError} a value that a column does not take; it is not told
   */
  randomize(record, words = systemWords()) {
    return this.draw(record, words).report;
  }

  /**
   * Make a report, and return the codes that it is of.
   * @param {Record<string, any>} record
   * @param {import("../words.js").Words} words
   */
  draw(record, words) {
    const inputs = inputsOf(record, this.columns, inputOf);
    const unasked = this.#drawUnasked(words);
    const codes = this.columns.map((column, place) =>
      unasked.has(place) ? column.codes : column.law.draw(inputs[place], words),
    );
    const bytes = codes.flatMap((code, place) => (this.widths[place] === 1 ? [code] : [code & 255, code >>> 8]));
    return { codes, report: Uint8Array.from(bytes) };
  }

  /** Draw which columns are not answered, whatever the record holds: a Fisher–Yates shuffle's first places are. */
  #drawUnasked(words) {
    const order = this.asked.slice();
    if (this.answered === order.length) return new Set();
    for (let place = 0; place < this.answered; place += 1) {
      const other = place + words.below(order.length - place);
      [order[place], order[other]] = [order[other], order[place]];
    }
    return new Set(order.slice(this.answered));
  }

  /** @param {string} line */
  recordFromText(line) {
    return parseRecord(line);
  }

  /**
   * Return the code of every column that a report has.
   * @param {Uint8Array} report
   * @returns {{ codes: number[] }}
   * @throws {WireError} bytes that no client of this plan can have sent
   */
  decode(report) {
    if (report.length !== this.reportBytes) throw new WireError(`a report of this plan has ${this.reportBytes} bytes`);
    let at = 0;
    const codes = this.widths.map((width) => {
      at += width;
      return width === 1 ? report[at - 1] : report[at - 2] + 256 * report[at - 1];
    });
    if (codes.some((code, place) => code >= this.#codesOf(place))) {
      throw new WireError("a report has a code that its column does not have");
    }
    return { codes };
  }
}
