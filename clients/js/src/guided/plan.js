/**
 * The plan of guided perturbation, and the randomization of a tuple under guidance
 * (docs/formats/table-plan.md#guided-perturbation).
 * @module
 */

import { checkGuarantee, exactFields, isObject, oneOf, readFraction, readGuarantee, reduced, wholeIn } from "../checks.js";
import { LevelError, PlanError, RecordError, WireError } from "../errors.js";
import { envelopeOf, Plan } from "../plan.js";
import { doubleOf, inputOf, placeAmong, readValues } from "../tables/columns.js";
import { nearestDouble, readBound } from "../tables/numbers.js";
import { inputsOf, parseRecord } from "../tables/records.js";
import { isLabel } from "../text.js";
import { systemWords } from "../words.js";
import { MIXED, readGuidance } from "./guidance.js";

const MOST_ATTRIBUTES = 1000;
const MOST_VALUES = 1000;
const MOST_LABELS = 65_536;
const MOST_WIDTH = 2048;
const MOST_BATCH = 2 ** 20;
const WORD = 2 ** 32;
const SERIAL_BYTES = 4;

/** A category, or the class: its position is its index in the values. */
class Category {
  constructor(name, values, optional) {
    this.name = name;
    this.values = values;
    this.optional = optional;
    this.inputs = values.length;
  }

  placeOf(value) {
    return placeAmong(value, this.values);
  }

  toJSON() {
    return { name: this.name, kind: "category", values: this.values };
  }
}

/** Numbers by their interval between cut points; a cut point belongs to the interval above it. */
class Cut {
  optional = true;

  constructor(name, cuts) {
    this.name = name;
    this.cuts = cuts;
    this.edges = cuts.map((cut) => nearestDouble(...readBound(cut, "cuts")));
    this.inputs = cuts.length + 1;
    if (this.edges.some((edge, place) => place > 0 && !(this.edges[place - 1] < edge))) {
      throw new PlanError(`attribute ${name} needs rising cut points that differ as doubles`);
    }
  }

  placeOf(value) {
    const number = doubleOf(value);
    return Number.isFinite(number) ? this.edges.filter((edge) => edge <= number).length : -1;
  }

  toJSON() {
    return { name: this.name, kind: "number", cuts: this.cuts };
  }
}

/** A plan of type `guided`. */
export class GuidedPlan extends Plan {
  static fieldNames = ["attributes", "label", "mu", "batch", "safeguard", "guarantee"];

  /** @param {Record<string, any>} fields */
  constructor(fields) {
    super(fields);
    if (!Array.isArray(fields.attributes) || fields.attributes.length < 1 || fields.attributes.length > MOST_ATTRIBUTES) {
      throw new PlanError(`plan field attributes must be a list of 1 to ${MOST_ATTRIBUTES}`);
    }
    this.attributes = fields.attributes.map(readAttribute);
    this.label = readLabel(fields.label);
    this.columns = [...this.attributes, this.label];
    if (new Set(this.columns.map((column) => column.name)).size !== this.columns.length) {
      throw new PlanError("two columns have the same name; names must differ");
    }
    /** For each attribute its first bit and its number of bits. */
    this.places = placesOf(this.attributes);
    /** w, the bits of a tuple. */
    this.width = this.places.reduce((sum, { size }) => sum + size, 0);
    if (this.width > MOST_WIDTH) throw new PlanError(`the attributes have more than ${MOST_WIDTH} values together`);
    readFraction(fields.mu, "mu");
    const [above, below] = fields.mu.split("/").map(BigInt);
    if (above >= below) throw new PlanError("plan field mu must lie between 0 and 1");
    this.mu = fields.mu;
    this.batch = wholeIn(fields.batch, "batch", 1, MOST_BATCH);
    this.#readGuarantee(fields);
    this.labelBytes = this.label.inputs <= 256 ? 1 : 2;
    this.reportBytes = SERIAL_BYTES + this.labelBytes + Math.ceil(this.width / 8);
  }

  /** @param {Record<string, any>} fields */
  #readGuarantee({ safeguard, guarantee }) {
    if ((safeguard === null) !== (guarantee === null)) {
      throw new PlanError("a guided plan must have both a guarantee and a safeguard, or neither");
    }
    this.safeguard = safeguard && readSafeguard(safeguard, this.places);
    this.guarantee = guarantee && readGuarantee(guarantee);
    if (this.safeguard === null || this.guarantee === null) return;
    // γ does not cover the class, which is public: a device's limit holds without it
    this.amplification = this.safeguard.amplification;
    this.limit = this.guarantee.limit;
    checkGuarantee(this.safeguard.amplification, this.reportsPerPerson, this.guarantee.limit);
  }

  toJSON() {
    return {
      ...envelopeOf(this),
      attributes: this.attributes.map((attribute) => attribute.toJSON()),
      label: { name: this.label.name, values: this.label.values },
      mu: this.mu,
      batch: this.batch,
      safeguard: this.safeguard && this.safeguard.fields,
      guarantee: this.guarantee && this.guarantee.fields,
    };
  }

  /**
   * Turn a record into a report.
   * @param {{ values: Record<string, any>, guidance: any, maxLevel?: number | null, announcedLevel?: number | null }} record
   *   `values` by column name, including the class; `guidance` as {@link readGuidance} accepts or returns it;
   *   `maxLevel` the highest level that this device answers; `announcedLevel` the level announced before
   * @param {import("../words.js").Words} [words] by default the system's
   * @returns {Uint8Array}
   * @throws {RecordError} a value that a column does not accept; the message does not show it
   * @throws {PlanError} guidance that must not be answered; {@link LevelError} for too high a level
   */
  randomize(record, words = systemWords()) {
    return this.draw(record, words).report;
  }

  /**
   * Make a report, and return its bits and their weights: these disclose the tuple, and are for tests only.
   * @param {any} record as `randomize` takes it
   * @param {import("../words.js").Words} words
   */
  draw(record, words) {
    const guidance = this.checkGuidance(record.guidance, record);
    const inputs = inputsOf(record.values, this.columns, inputOf);
    const label = inputs[this.attributes.length];
    const weights = guidance.weights(this.#drawTuple(inputs, words));
    const total = this.safeguard?.kind === "bits" ? MIXED : BigInt(WORD);
    const bits = weights.map((weight) => 1 - words.pick([weight, total]));
    return { weights, bits, report: this.#pack(guidance.serial, label, bits) };
  }

  /**
   * Check guidance, its announced level, and the highest level of this device.
   * @param {any} guidance
   * @param {{ maxLevel?: number | null, announcedLevel?: number | null }} [limits]
   * @returns {import("./guidance.js").Guidance}
   */
  checkGuidance(guidance, { maxLevel = null, announcedLevel = null } = {}) {
    const found = readGuidance(guidance, this);
    if (announcedLevel !== null && found.level !== announcedLevel) {
      throw new PlanError("the guidance has another level than announced; nothing is sent");
    }
    if (maxLevel !== null && maxLevel < 1) throw new PlanError("the highest level must be at least 1");
    if (maxLevel !== null && found.level > maxLevel) {
      throw new LevelError(`the guidance has level ${found.level}, above the maximum of ${maxLevel}; nothing is sent`);
    }
    return found;
  }

  /** Return the positions of set bits of the randomized tuple. */
  #drawTuple(inputs, words) {
    const fills = this.places.map(({ size }) => words.below(size));
    const own = this.places.map(({ size }, j) => (inputs[j] === size ? fills[j] : inputs[j]));
    let answered = own;
    if (this.safeguard?.kind === "tuple") {
      const other = this.places.map(({ size }) => words.below(size));
      answered = words.pick([BigInt(this.safeguard.honest), BigInt(WORD)]) ? other : own;
    }
    return this.places.map(({ first }, j) => first + answered[j]);
  }

  #pack(serial, label, bits) {
    const report = new Uint8Array(this.reportBytes);
    for (let byte = 0; byte < SERIAL_BYTES; byte += 1) report[byte] = serial >>> (8 * byte);
    for (let byte = 0; byte < this.labelBytes; byte += 1) report[SERIAL_BYTES + byte] = label >>> (8 * byte);
    bits.forEach((bit, place) => (report[SERIAL_BYTES + this.labelBytes + (place >>> 3)] |= bit << (place & 7)));
    return report;
  }

  /**
   * Parse a record from a line of JSON.
   * @param {string} line
   */
  recordFromText(line) {
    const content = parseRecord(line);
    const allowed = ["values", "guidance", "max_level", "announced_level"];
    const levels = [content.max_level, content.announced_level].map((level) => level ?? null);
    const isOne = isObject(content.values) && "guidance" in content && Object.keys(content).every((name) => allowed.includes(name));
    if (!isOne || !levels.every((level) => level === null || typeof level === "number" || typeof level === "bigint")) {
      throw new RecordError(
        "a record of a guided plan must be one JSON object with values, guidance, and optionally max_level and announced_level",
      );
    }
    return { values: content.values, guidance: content.guidance, maxLevel: levels[0], announcedLevel: levels[1] };
  }

  /**
   * Parse the values of a record from a line of JSON; the guidance is added later.
   * @param {string} line
   */
  valuesFromText(line) {
    return parseRecord(line);
  }

  /**
   * Return a report's content, as in a message.
   * @param {Uint8Array} report
   * @returns {{ guidance: number, class: string, ones: number[] }} serial number of its guidance, and the set bits
   * @throws {WireError} bytes that no client of this plan can have sent
   */
  decode(report) {
    if (report.length !== this.reportBytes) throw new WireError(`a report of this plan has ${this.reportBytes} bytes`);
    const numberAt = (first, length) =>
      report.subarray(first, first + length).reduceRight((number, byte) => 256 * number + byte, 0);
    const guidance = numberAt(0, SERIAL_BYTES);
    const label = numberAt(SERIAL_BYTES, this.labelBytes);
    const bits = report.subarray(SERIAL_BYTES + this.labelBytes);
    const ones = Array.from({ length: 8 * bits.length }, (_, place) => place).filter(
      (place) => (bits[place >>> 3] >>> (place & 7)) & 1,
    );
    if (guidance === 0 || label >= this.label.inputs || ones.some((place) => place >= this.width)) {
      throw new WireError("a report has no guidance number, or a class or bits that no client sends");
    }
    return { guidance, class: this.label.values[label], ones };
  }
}

function placesOf(attributes) {
  let first = 0;
  return attributes.map(({ inputs: size }) => {
    first += size;
    return { first: first - size, size };
  });
}

function readAttribute(content) {
  const kind = oneOf(isObject(content) && content.kind, "attribute kind", ["category", "number"]);
  const fields = exactFields(content, "an attribute", ["name", "kind", kind === "number" ? "cuts" : "values"]);
  if (!isLabel(fields.name)) throw new PlanError("an attribute's name must be 1 to 200 printable characters");
  if (kind === "category") return new Category(fields.name, readValues(fields.values, "values", 2, MOST_VALUES), true);
  if (!Array.isArray(fields.cuts) || fields.cuts.length < 1 || fields.cuts.length >= MOST_VALUES) {
    throw new PlanError(`plan field cuts must be a list of 1 to ${MOST_VALUES - 1}`);
  }
  return new Cut(fields.name, fields.cuts);
}

function readLabel(content) {
  const fields = exactFields(content, "the label", ["name", "values"]);
  if (!isLabel(fields.name)) throw new PlanError("the label's name must be 1 to 200 printable characters");
  return new Category(fields.name, readValues(fields.values, "values", 2, MOST_LABELS), false);
}

/** Read the safeguard of a guarantee, with its γ. */
function readSafeguard(content, places) {
  const kind = oneOf(isObject(content) && content.kind, "safeguard", ["tuple", "bits"]);
  if (kind === "bits") {
    const fields = exactFields(content, "safeguard", ["kind", "amplification"]);
    const amplification = readFraction(fields.amplification, "amplification");
    if (amplification[0] <= amplification[1]) throw new PlanError("the amplification of the safeguard must be above 1");
    return { kind, fields: { ...fields }, amplification, honest: 0 };
  }
  const fields = exactFields(content, "safeguard", ["kind", "honest"]);
  const honest = wholeIn(fields.honest, "honest", 1, WORD - 1);
  const tuples = places.reduce((product, { size }) => product * BigInt(size), 1n);
  const rest = BigInt(WORD - honest);
  return { kind, fields: { ...fields }, amplification: reduced(rest + BigInt(honest) * tuples, rest), honest };
}
