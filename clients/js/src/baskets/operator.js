/**
 * The two kinds of operators, in integers (docs/formats/plan.md, "Operator", and "Operators of the kind fixed-size").
 *
 * Both keep j of the M items of a transaction and add other items; a report's likelihood depends only on j.
 * @module
 */

import { exactFields, isLess, isObject, oneOf, reduced, wholeIn } from "../checks.js";
import { PlanError } from "../errors.js";
import { binomial } from "./binomials.js";

const MOST_TRANSACTION_SIZE = 15;
const MOST_INSERT_BITS = 16;
const MOST_WEIGHT_BITS = 1024;
const MOST_FIXED_ITEMS = 4096;
const MOST_FIXED_BITS = 512;
const MOST_RANKING_BITS = 2 ** 28;
const WEIGHT = /^(?:0|[1-9][0-9]{0,399})$/;

/** Select-a-size for transactions of one size (EGS03, definition 5). */
export class SelectASize {
  static kind = "select-a-size";

  /** @param {any} content a report type's operator */
  constructor(content) {
    const names = ["kind", "size", "insert_bits", "insert_num", "weight_bits", "keep_weights"];
    const fields = exactFields(content, "operator", names);
    this.size = wholeIn(fields.size, "size", 1, MOST_TRANSACTION_SIZE);
    this.insertBits = wholeIn(fields.insert_bits, "insert_bits", 1, MOST_INSERT_BITS);
    this.insertNum = wholeIn(fields.insert_num, "insert_num", 1, 2 ** this.insertBits - 1);
    if (this.insertNum % 2 === 0) throw new PlanError("plan field insert_num must be odd; lower insert_bits");
    this.weightBits = wholeIn(fields.weight_bits, "weight_bits", 1, MOST_WEIGHT_BITS);
    this.weights = readWeights(fields.keep_weights, this.size);
    const total = this.weights.reduce((sum, weight, j) => sum + binomial(this.size, j) * weight, 0n);
    if (this.weights.includes(0n) || total !== 1n << BigInt(this.weightBits)) {
      throw new PlanError("plan field keep_weights must satisfy sum of C(size, j) * weight = 2^weight_bits");
    }
  }

  /** γ = max w_j / min w_j, w_j = v_j / (a^j · (2^r − a)^(M − j)) (EGS03, section 5). */
  get amplification() {
    const [a, rest] = [BigInt(this.insertNum), BigInt(2 ** this.insertBits - this.insertNum)];
    return spread(this.weights.map((weight, j) => [weight, a ** BigInt(j) * rest ** BigInt(this.size - j)]));
  }

  toJSON() {
    return {
      kind: SelectASize.kind,
      size: this.size,
      insert_bits: this.insertBits,
      insert_num: this.insertNum,
      weight_bits: this.weightBits,
      keep_weights: this.weights.map(String),
    };
  }
}

/** Reports of exactly ℓ of the N padded items. */
export class FixedSize {
  static kind = "fixed-size";

  /** @param {any} content a report type's operator */
  constructor(content) {
    const fields = exactFields(content, "operator", ["kind", "size", "items", "report_size", "keep_weights"]);
    this.size = wholeIn(fields.size, "size", 1, MOST_TRANSACTION_SIZE);
    this.items = wholeIn(fields.items, "items", this.size + 1, MOST_FIXED_ITEMS);
    this.reportSize = wholeIn(fields.report_size, "report_size", 1, this.items - 1);
    this.sets = binomial(this.items, this.reportSize);
    this.reportBits = Math.max(1, this.sets === 1n ? 0 : (this.sets - 1n).toString(2).length);
    if (this.reportBits > MOST_FIXED_BITS || this.items * this.reportSize * this.reportBits > MOST_RANKING_BITS) {
      throw new PlanError("reports of a fixed size may have at most 512 bits; use fewer items");
    }
    this.weights = readWeights(fields.keep_weights, this.size);
    if (this.weights.some((weight, j) => (weight > 0n) !== this.canKeep(j) || weight > 1n << 1024n)) {
      throw new PlanError("plan field keep_weights must be 1..2^1024 for possible numbers of kept items, and 0 for others");
    }
  }

  /** Return whether a report can hold j of a transaction's items. @param {number} j */
  canKeep(j) {
    return j <= this.reportSize && this.reportSize - j <= this.items - this.size;
  }

  /** γ, the largest possible weight divided by the smallest. */
  get amplification() {
    return spread(this.weights.filter((weight) => weight > 0n).map((weight) => [weight, 1n]));
  }

  toJSON() {
    return {
      kind: FixedSize.kind,
      size: this.size,
      items: this.items,
      report_size: this.reportSize,
      keep_weights: this.weights.map(String),
    };
  }
}

const OPERATORS = { [SelectASize.kind]: SelectASize, [FixedSize.kind]: FixedSize };

/** Read an operator of either kind. @param {any} content @returns {SelectASize | FixedSize} */
export function readOperator(content) {
  return new OPERATORS[oneOf(isObject(content) && content.kind, "kind of an operator", Object.keys(OPERATORS))](content);
}

/** @returns {bigint[]} */
function readWeights(texts, size) {
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string" && WEIGHT.test(text))) {
    throw new PlanError("plan field keep_weights must be a list of whole numbers as text");
  }
  if (texts.length !== size + 1) throw new PlanError(`plan needs ${size + 1} keep_weights`);
  return texts.map(BigInt);
}

/**
 * Return the largest fraction divided by the smallest.
 * @param {import("../checks.js").Fraction[]} fractions
 * @returns {import("../checks.js").Fraction}
 */
function spread(fractions) {
  const most = fractions.reduce((found, each) => (isLess(found, each) ? each : found));
  const least = fractions.reduce((found, each) => (isLess(each, found) ? each : found));
  return reduced(most[0] * least[1], most[1] * least[0]);
}
