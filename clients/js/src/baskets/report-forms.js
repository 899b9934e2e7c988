/**
 * The forms of reports: drawing a report, and the items that it shows (docs/formats/client.md, "One report", and
 * reports.md).
 *
 * A transaction becomes exactly M of n items: it is padded with the ids n, n + 1, …, or sampled. This module sees raw items;
 * its only source of randomness is {@link import("../words.js").Words}.
 *
 * Source: EGS03, definitions 5 (select-a-size) and 9 (pseudorandom select-a-size).
 * @module
 */

import { WireError } from "../errors.js";
import { binomial, rankOfSet, setOfRank } from "./binomials.js";

/**
 * @typedef {object} Steps intermediate results of a report, for tests only
 * @property {number[]} fitted the M items, padding included
 * @property {number} keptMask bit p is 1 iff the item in place p is kept
 * @property {Uint8Array} report
 */

/** A form of reports, for an operator; `bits` is the length of a report. */
class ReportForm {
  /**
   * @param {number} items n
   * @param {any} operator
   */
  constructor(items, operator) {
    this.items = items;
    this.operator = operator;
    this.padded = items + operator.size;
    this.bits = 0;
  }

  /** Length of a report in bytes. */
  get length() {
    return Math.ceil(this.bits / 8);
  }

  /**
   * Pad a transaction, or sample M of its items: the first M places of a Fisher–Yates shuffle.
   * @param {number[]} transaction ids, rising
   * @param {import("../words.js").Words} words
   */
  fit(transaction, words) {
    const size = this.operator.size;
    const fitted = transaction.slice();
    for (let paddingItem = this.items; fitted.length < size; paddingItem += 1) fitted.push(paddingItem);
    if (fitted.length === size) return fitted;
    for (let place = 0; place < size; place += 1) {
      const other = place + words.below(fitted.length - place);
      [fitted[place], fitted[other]] = [fitted[other], fitted[place]];
    }
    return fitted.slice(0, size);
  }

  /** Refuse bytes that are not a report of this form. @param {Uint8Array} report */
  check(report) {
    if (report.length !== this.length) throw new WireError(`a report of this plan has ${this.length} bytes`);
    if (this.bits % 8 && report[report.length - 1] >>> (this.bits % 8)) {
      throw new WireError("a report has a 1 in an unused bit");
    }
  }
}

/** Reports of an operator that keeps subsets with weights v_j: without a generator, or by a seed. */
class SubsetForm extends ReportForm {
  #subsets;

  /**
   * Draw the kept places: one of the subsets of the M places, ordered by size and then as numbers, by its weight.
   * @param {import("../words.js").Words} words
   */
  drawKept(words) {
    this.#subsets ??= weighted(this.operator);
    return this.#subsets.masks[words.pick(this.#subsets.sums)];
  }
}

function weighted({ size, weights }) {
  const bySize = Array.from({ length: size + 1 }, () => /** @type {number[]} */ ([]));
  for (let mask = 0; mask < 1 << size; mask += 1) bySize[ones(mask)].push(mask);
  let sum = 0n;
  const sums = bySize.flatMap((masks, j) => masks.map(() => (sum += weights[j])));
  return { masks: bySize.flat(), sums };
}

/** A report has one bit for each item: generator `none`. */
export class BitForm extends SubsetForm {
  constructor(items, operator) {
    super(items, operator);
    this.bits = this.padded;
  }

  /** @param {number[]} transaction @param {import("../words.js").Words} words */
  draw(transaction, words) {
    const fitted = this.fit(transaction, words);
    const keptMask = this.drawKept(words);
    const randomBits = words.randomBits(this.padded, this.operator.insertNum, this.operator.insertBits);
    const report = randomBits.slice();
    fitted.forEach((item, place) => {
      const bit = 1 << (item % 8);
      report[item >>> 3] = (report[item >>> 3] & ~bit) | (((keptMask >>> place) & 1) * bit);
    });
    return { fitted, keptMask, randomBits, report };
  }

  /** Return the items that a report shows, padding included, rising. @param {Uint8Array} report */
  shown(report) {
    return upTo(this.padded).filter((item) => (report[item >>> 3] >>> (item % 8)) & 1);
  }
}

/** A report is a seed, and an item is shown iff its value under the generator is below a. */
export class SeedForm extends SubsetForm {
  /**
   * @param {number} items
   * @param {any} operator
   * @param {import("./generator.js").Generator} generator
   */
  constructor(items, operator, generator) {
    super(items, operator);
    this.generator = generator;
    this.bits = generator.seedBits;
  }

  /** @param {number[]} transaction @param {import("../words.js").Words} words */
  draw(transaction, words) {
    const { insertNum: a, insertBits } = this.operator;
    const rest = 2 ** insertBits - a;
    const fitted = this.fit(transaction, words);
    const keptMask = this.drawKept(words);
    // the number of random words does not depend on which items are kept, and both values are computed
    const itemValues = fitted.map((_, place) => {
      const drawn = words.below(a * rest);
      return [a + (drawn % rest), drawn % a][(keptMask >>> place) & 1];
    });
    const firstSeed = words.bits(this.bits);
    const equations = fitted.flatMap((item, place) =>
      this.#columnsOf(item).map((column, j) => ({ column, wanted: (itemValues[place] >>> (insertBits - 1 - j)) & 1 })),
    );
    const seed = solve(equations, seedWords(firstSeed, this.bits));
    return { fitted, keptMask, itemValues, firstSeed, report: new Uint8Array(seed.buffer, 0, this.length) };
  }

  /** Return the items that a report shows, padding included, rising. @param {Uint8Array} report */
  shown(report) {
    const seed = new Uint32Array(Math.ceil(this.bits / 32));
    report.forEach((byte, place) => (seed[place >>> 2] |= byte << (8 * (place & 3))));
    const valueOf = (item) => this.#columnsOf(item).reduce((value, column) => 2 * value + parity(column, seed), 0);
    return upTo(this.padded).filter((item) => valueOf(item) < this.operator.insertNum);
  }

  #columnsOf(item) {
    return this.generator.columns(item, this.operator.insertBits);
  }
}

/**
 * Change a uniform seed so that it solves each equation parity(column AND seed) = wanted; it is uniform among the solutions.
 *
 * Each equation gets a pivot bit that is in no other equation, so flipping that bit changes only this equation: an affine
 * projection onto the solutions, whose fibres have equal size.
 */
function solve(equations, seed) {
  const reduced = [];
  for (const { column, wanted } of equations) {
    const row = { bits: column.slice(), wanted, pivot: 0 };
    for (const other of reduced) if (hasBit(row.bits, other.pivot)) add(row, other);
    row.pivot = lowestBit(row.bits);
    for (const other of reduced) if (hasBit(other.bits, row.pivot)) add(other, row);
    reduced.push(row);
  }
  const flips = reduced.filter((row) => parity(row.bits, seed) !== row.wanted);
  for (const { pivot } of flips) seed[pivot >>> 5] ^= 1 << (pivot & 31);
  return seed;
}

function add(row, other) {
  other.bits.forEach((word, place) => (row.bits[place] ^= word));
  row.wanted ^= other.wanted;
}

function hasBit(bits, place) {
  return (bits[place >>> 5] >>> (place & 31)) & 1;
}

function lowestBit(bits) {
  const word = bits.findIndex((each) => each !== 0);
  if (word < 0) throw new Error("the plan's generator does not have the independence it was checked for");
  return 32 * word + 31 - Math.clz32(bits[word] & -bits[word]);
}

/** Return whether two vectors of bits share an odd number of ones. */
function parity(left, right) {
  let shared = 0;
  for (let place = 0; place < left.length; place += 1) shared ^= left[place] & right[place];
  return ones(shared) & 1;
}

function seedWords(seed, bits) {
  return Uint32Array.from({ length: Math.ceil(bits / 32) }, (_, place) => Number((seed >> BigInt(32 * place)) & 0xffffffffn));
}

/** A report is the rank of a set of exactly ℓ items: the kind fixed-size. */
export class RankForm extends ReportForm {
  /** @type {ReturnType<typeof setDraws> | undefined} */
  #draws;

  constructor(items, operator) {
    super(items, operator);
    this.bits = operator.reportBits;
  }

  /** @param {number[]} transaction @param {import("../words.js").Words} words */
  draw(transaction, words) {
    const { size, items, reportSize } = this.operator;
    this.#draws ??= setDraws(this.operator);
    const { possible, sums, keptChoices, addedChoices, addedBound } = this.#draws;
    const fitted = this.fit(transaction, words);
    const choice = words.pick(sums);
    const keptRank = words.below(2n * keptChoices[choice]) / 2n; // times 2, because a bound of 1 would use no word
    const addedRank = (words.below(addedBound) * addedChoices[choice]) / addedBound;
    const kept = setOfRank(keptRank, size, possible[choice]).map((place) => fitted[place]);
    const held = new Set(fitted);
    const others = upTo(items).filter((item) => !held.has(item));
    const added = setOfRank(addedRank, items - size, reportSize - possible[choice]).map((place) => others[place]);
    const rank = rankOfSet([...kept, ...added].sort((left, right) => left - right));
    const keptMask = kept.reduce((mask, item) => mask | (1 << fitted.indexOf(item)), 0);
    return { fitted, keptMask, keptRank, addedRank, added, report: bytesOf(rank, this.length) };
  }

  /** @param {Uint8Array} report */
  check(report) {
    super.check(report);
    if (numberOf(report) >= this.operator.sets) throw new WireError("a report's rank is larger than that of the plan's last set");
  }

  /** Return the items that a report shows, padding included, rising. @param {Uint8Array} report */
  shown(report) {
    return setOfRank(numberOf(report), this.operator.items, this.operator.reportSize);
  }
}

/** The draws of an operator, by the possible numbers j of kept items. */
function setDraws(operator) {
  const { size, items, reportSize, weights } = operator;
  const possible = upTo(size + 1).filter((j) => operator.canKeep(j));
  const keptChoices = possible.map((j) => binomial(size, j));
  const addedChoices = possible.map((j) => binomial(items - size, reportSize - j));
  let sum = 0n;
  const sums = possible.map((j, place) => (sum += keptChoices[place] * addedChoices[place] * weights[j]));
  return { possible, sums, keptChoices, addedChoices, addedBound: commonMultiple(addedChoices) };
}

/**
 * Return a common multiple that is no power of two except 1: the number of random words must not depend on the choice.
 * @param {bigint[]} numbers
 * @returns {bigint}
 */
function commonMultiple(numbers) {
  const least = numbers.reduce((multiple, number) => (multiple / divisor(multiple, number)) * number, 1n);
  return least > 1n && (least & (least - 1n)) === 0n ? 3n * least : least;
}

function divisor(left, right) {
  while (right) [left, right] = [right, left % right];
  return left;
}

function numberOf(bytes) {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

function bytesOf(number, length) {
  return Uint8Array.from({ length }, (_, place) => Number((number >> BigInt(8 * place)) & 255n));
}

function ones(word) {
  let count = 0;
  for (; word; word &= word - 1) count += 1;
  return count;
}

function upTo(end) {
  return Array.from({ length: end }, (_, number) => number);
}
