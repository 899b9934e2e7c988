/**
 * The plan of a table, and the randomization of a record (docs/formats/table-plan.md).
 * @module
 */

import { checkGuarantee, isLess, readGuarantee, reduced, wholeIn } from "../checks.js";
import { PlanError, WireError } from "../errors.js";
import { envelopeOf, Plan } from "../plan.js";
import { systemWords } from "../words.js";
import { inputOf, readColumn } from "./columns.js";
import { inputsOf, parseRecord } from "./records.js";

const MOST_COLUMNS = 1000;
const MOST_ANSWERS = 10_000;

/** A plan of type `table`: a record has a value in each column, and a report a code for each. */
export class TablePlan extends Plan {
  static fieldNames = ["columns", "columns_per_report", "guarantee"];

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
    this.protectedPlaces = this.#placesOf((column) => column.mechanism.amplification && column.kind !== "label");
    const labels = this.#placesOf((column) => column.mechanism.amplification && column.kind === "label");
    this.columnsPerReport = wholeIn(fields.columns_per_report, "columns_per_report", Math.min(1, this.protectedPlaces.length), this.protectedPlaces.length);
    if ((this.columnsPerReport + labels.length) * this.reportsPerPerson > MOST_ANSWERS) {
      throw new PlanError(`a person gives more than ${MOST_ANSWERS} protected answers; answer fewer columns`);
    }
    this.#readGuarantee(fields.guarantee, labels);
    const clear = this.columns.filter((column) => !column.mechanism.amplification).map((column) => column.name);
    this.uncovered = this.amplification && clear.length ? `columns ${clear.join(", ")}` : "";
    /** Bytes of each column's code. */
    this.widths = this.columns.map((_, place) => (this.#codesOf(place) <= 256 ? 1 : 2));
    this.reportBytes = this.widths.reduce((sum, width) => sum + width, 0);
  }

  #placesOf(isOne) {
    return this.columns.flatMap((column, place) => (isOne(column) ? [place] : []));
  }

  #readGuarantee(content, labels) {
    if ((content === null) !== (this.protectedPlaces.length + labels.length === 0)) {
      throw new PlanError("a table plan must have a guarantee if and only if a column has a γ");
    }
    this.guarantee = content && readGuarantee(content);
    if (this.guarantee === null) return;
    /** @returns {import("../checks.js").Fraction} */
    const gamma = (place) => this.columns[place].mechanism.amplification;
    const largest = this.protectedPlaces.map(gamma).sort((left, right) => (isLess(left, right) ? 1 : -1)).slice(0, this.columnsPerReport);
    const factors = [...labels.map(gamma), ...largest];
    const [above, below] = factors.reduce(([a, b], [c, d]) => [a * c, b * d], [1n, 1n]);
    this.amplification = reduced(above, below);
    this.limit = this.guarantee.limit;
    checkGuarantee(this.amplification, this.reportsPerPerson, this.guarantee.limit);
  }

  /** Whether a column may be left out of a report. */
  #isSampled(place) {
    return this.columnsPerReport < this.protectedPlaces.length && this.protectedPlaces.includes(place);
  }

  #codesOf(place) {
    return this.columns[place].codes + Number(this.#isSampled(place));
  }

  toJSON() {
    return {
      ...envelopeOf(this),
      columns: this.columns.map((column) => column.toJSON()),
      columns_per_report: this.columnsPerReport,
      guarantee: this.guarantee && this.guarantee.fields,
    };
  }

  /**
   * Turn a record into a report.
   * @param {Record<string, any>} record values by column name: numbers; text, whole numbers or booleans for
   *   categories; null, NaN or no field for a missing value
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Uint8Array}
   * @throws {import("../errors.js").RecordError} a value that a column does not accept; the message does not show it
   */
  randomize(record, words = systemWords()) {
    return this.draw(record, words).report;
  }

  /**
   * Make a report, and return its codes.
   * @param {Record<string, any>} record
   * @param {import("../words.js").Words} words
   */
  draw(record, words) {
    const inputs = inputsOf(record, this.columns, inputOf);
    const omitted = this.#drawOmitted(words);
    const codes = this.columns.map((column, place) =>
      omitted.has(place) ? column.codes : column.mechanism.draw(inputs[place], words),
    );
    const bytes = codes.flatMap((code, place) => (this.widths[place] === 1 ? [code] : [code & 255, code >>> 8]));
    return { codes, report: Uint8Array.from(bytes) };
  }

  /** Draw the omitted columns, independently of the record: all but the first places of a Fisher–Yates shuffle. */
  #drawOmitted(words) {
    const order = this.protectedPlaces.slice();
    if (this.columnsPerReport === order.length) return new Set();
    for (let place = 0; place < this.columnsPerReport; place += 1) {
      const other = place + words.below(order.length - place);
      [order[place], order[other]] = [order[other], order[place]];
    }
    return new Set(order.slice(this.columnsPerReport));
  }

  /** @param {string} line */
  recordFromText(line) {
    return parseRecord(line);
  }

  /**
   * Return the code of every column in a report.
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
