/**
 * The bits of a report from its seed: codes over GF(2^w) (docs/formats/plan.md, "Generator", and reports.md).
 *
 * Item i has r columns with the bits of a seed each; the parity of (column AND seed) is a bit of the item's value.
 * Source: EGS03, section 6; MacWilliams and Sloane, The Theory of Error-Correcting Codes, chapters 7 and 10.
 * @module
 */

import { exactFields, isObject, oneOf, wholeIn } from "../checks.js";
import { PlanError } from "../errors.js";

const FIELDS = {
  none: [],
  bch: ["field_bits", "field_polynomial", "blocks", "ones_row"],
  "reed-solomon": ["field_bits", "field_polynomial", "blocks"],
};
const MOST_FIELD_BITS = 24;
const MOST_SEED_BITS = 4096;

/** A field GF(2^w): elements are whole numbers below 2^w, bit i the coefficient of x^i. */
export class Field {
  /**
   * @param {number} bits w
   * @param {number} polynomial primitive, of degree w
   */
  constructor(bits, polynomial) {
    this.bits = bits;
    this.polynomial = polynomial;
    this.order = 2 ** bits - 1;
  }

  /** Return x · element. @param {number} element */
  timesX(element) {
    const shifted = element << 1;
    return shifted >>> this.bits ? shifted ^ this.polynomial : shifted;
  }

  /** @param {number} left @param {number} right */
  product(left, right) {
    let product = 0;
    for (let bit = this.bits - 1; bit >= 0; bit -= 1) {
      product = this.timesX(product);
      if ((right >>> bit) & 1) product ^= left;
    }
    return product;
  }

  /** Return x to a power. @param {number} exponent below 2^32 */
  powerOfX(exponent) {
    let power = 1;
    for (let bit = 31; bit >= 0; bit -= 1) {
      power = this.product(power, power);
      if ((exponent >>> bit) & 1) power = this.timesX(power);
    }
    return power;
  }

  /** Whether the powers of x are all elements except 0. */
  get isPrimitive() {
    const proper = primeFactors(this.order).map((prime) => this.powerOfX(this.order / prime));
    return this.powerOfX(this.order) === 1 && !proper.includes(1);
  }
}

function primeFactors(number) {
  const factors = [];
  for (let prime = 2; prime * prime <= number; prime += 1) {
    if (number % prime === 0) factors.push(prime);
    while (number % prime === 0) number /= prime;
  }
  return number > 1 ? [...factors, number] : factors;
}

/** A plan's generator. */
export class Generator {
  /** @param {any} content the plan's field */
  constructor(content) {
    this.kind = oneOf(isObject(content) && content.kind, "generator", Object.keys(FIELDS));
    const fields = exactFields(content, "generator", ["kind", ...FIELDS[this.kind]]);
    this.blocks = 0;
    this.onesRow = false;
    this.seedBits = 0;
    if (this.isSeedless) return;
    const bits = wholeIn(fields.field_bits, "field_bits", 2, MOST_FIELD_BITS);
    const polynomial = wholeIn(fields.field_polynomial, "field_polynomial", 2 ** bits, 2 ** (bits + 1) - 1);
    this.field = new Field(bits, polynomial);
    this.blocks = wholeIn(fields.blocks, "blocks", 1, MOST_SEED_BITS);
    if (this.kind === "bch" && typeof fields.ones_row !== "boolean") {
      throw new PlanError("plan field ones_row must be true or false");
    }
    this.onesRow = fields.ones_row === true;
    this.seedBits = wholeIn(bits * this.blocks + Number(this.onesRow), "seed_bits", 1, MOST_SEED_BITS);
    if (!this.field.isPrimitive) throw new PlanError("plan field field_polynomial is not primitive of degree field_bits");
  }

  /** Whether a report consists of the bits themselves. */
  get isSeedless() {
    return this.kind === "none";
  }

  /**
   * Refuse a generator that is too short for the items, or makes too few of them independent.
   * @param {number} items with padding
   * @param {number} bitsPerItem r
   * @param {number} independent number of items whose values must be independent
   */
  check(items, bitsPerItem, independent) {
    if (this.isSeedless) return;
    if (this.leastFieldBits(items, bitsPerItem) > this.#field.bits) {
      throw new PlanError("the generator is too short for the plan's items");
    }
    const columns = 2 * this.blocks + Number(this.onesRow);
    const found = this.kind === "bch" ? Math.floor(columns / bitsPerItem) : this.blocks;
    if (found < Math.min(independent, items)) throw new PlanError("the generator makes too few items independent");
  }

  /** Return the smallest number of field bits for the items; 0 without a field. */
  leastFieldBits(items, bitsPerItem) {
    if (this.isSeedless) return 0;
    if (this.kind === "bch") return Math.max(2, bitLength(items * bitsPerItem));
    return Math.max(2, bitsPerItem, bitLength(items - 1));
  }

  get #field() {
    return /** @type {Field} */ (this.field);
  }

  /**
   * Return an item's r columns, each with the bits of a seed, 32 in a word, the first lowest.
   * @param {number} item
   * @param {number} bitsPerItem r
   * @returns {Uint32Array[]}
   */
  columns(item, bitsPerItem) {
    const columns = Array.from({ length: bitsPerItem }, () => new Uint32Array(Math.ceil(this.seedBits / 32)));
    if (this.kind === "bch") columns.forEach((column, j) => this.#fillBch(column, item * bitsPerItem + j));
    else this.#fillReedSolomon(columns, item);
    return columns;
  }

  #fillBch(column, number) {
    const field = this.#field;
    let power = field.powerOfX(number);
    const square = field.product(power, power);
    for (let block = 0; block < this.blocks; block += 1) {
      put(column, block * field.bits, power);
      power = field.product(power, square);
    }
    if (this.onesRow) put(column, this.blocks * field.bits, 1);
  }

  #fillReedSolomon(columns, item) {
    const field = this.#field;
    let power = 1; // item^degree; 0^0 = 1
    for (let degree = 0; degree < this.blocks; degree += 1) {
      let term = power;
      for (let bit = 0; bit < field.bits; bit += 1) {
        columns.forEach((column, j) => put(column, degree * field.bits + bit, (term >>> (columns.length - 1 - j)) & 1));
        term = field.timesX(term);
      }
      power = field.product(power, item);
    }
  }

  toJSON() {
    if (this.isSeedless) return { kind: this.kind };
    const { bits, polynomial } = this.#field;
    const content = { kind: this.kind, field_bits: bits, field_polynomial: polynomial, blocks: this.blocks };
    return this.kind === "bch" ? { ...content, ones_row: this.onesRow } : content;
  }
}

function bitLength(number) {
  return number === 0 ? 0 : number.toString(2).length;
}

/** Write an element's bits at a place. */
function put(column, place, element) {
  const [word, shift] = [place >>> 5, place & 31];
  column[word] |= element << shift;
  // the part of an element of at most 24 bits that does not fit into the word
  if (shift > 8 && word + 1 < column.length) column[word + 1] |= element >>> (32 - shift);
}
