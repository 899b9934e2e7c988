/**
 * Guidance that a miner publishes, and the weights that follow from it (docs/formats/table-plan.md#guided-perturbation).
 *
 * Entries are whole numbers, and so are all results: below 2^53, also partial sums (the absolute value of a sum of products
 * of two vectors' entries is at most the product of their lengths).
 *
 * Source: Zhang, Wang, Zhao, KDD 2005 (ZWZ05), section 4.
 * @module
 */

import { isObject } from "../checks.js";
import { PlanError } from "../errors.js";
import { parseJson } from "../json.js";

const FIELDS = ["format", "version", "plan", "serial", "level", "vectors"];
const UNIT = 2 ** 20;
const WEIGHTS = 2 ** 32;
const MIXING_UNIT = 2 ** 16;
/** Total of the weights when they are mixed with a fair coin. */
export const MIXED = 1n << 49n;

/** Checked guidance of a plan. */
export class Guidance {
  #mixingWeight = -1;

  /**
   * @param {any} content
   * @param {import("./plan.js").GuidedPlan} plan
   * @throws {PlanError} guidance that must not be answered
   */
  constructor(content, plan) {
    const fields = isObject(content) && FIELDS.every((name) => name in content) ? content : {};
    const isOurs = fields.format === "assocpriv-guidance" && fields.version === 1;
    if (!isOurs || Object.keys(content).length !== FIELDS.length) {
      throw new PlanError("not guidance of a known version");
    }
    if (fields.plan !== plan.id) throw new PlanError("the guidance is of another plan; get this plan's guidance");
    if (!isWhole(fields.serial, 1, WEIGHTS - 1)) throw new PlanError("the guidance's serial number must be in 1..2^32 − 1");
    this.plan = plan;
    this.serial = fields.serial;
    this.vectors = readVectors(fields.vectors, plan.width);
    /** k*, the number of vectors. */
    this.level = this.vectors.length;
    if (fields.level !== this.level) throw new PlanError("the guidance has another level than its number of vectors");
    checkOrthonormal(this.vectors, plan.width);
  }

  /**
   * Return the weight of each bit of a tuple: out of 2^32, or out of 2^49 if the plan's guarantee is by bits.
   * @param {readonly number[]} ones positions of the tuple's set bits
   * @returns {bigint[]}
   */
  weights(ones) {
    const along = this.vectors.map((vector) => ones.reduce((sum, place) => sum + vector[place], 0));
    const weights = Array.from({ length: this.plan.width }, (_, bit) =>
      weightOf(this.vectors.reduce((sum, vector, v) => sum + vector[bit] * along[v], 0)),
    );
    return this.plan.safeguard?.kind === "bits" ? weights.map((weight) => mixed(weight, this.mixingWeight)) : weights.map(BigInt);
  }

  /** The smallest coin weight in 0..2^16 that keeps the plan's γ; 0 if the guarantee is not by bits. */
  get mixingWeight() {
    if (this.#mixingWeight < 0) this.#mixingWeight = this.plan.safeguard?.kind === "bits" ? this.#leastMixingWeight() : 0;
    return this.#mixingWeight;
  }

  #leastMixingWeight() {
    const bounds = this.#bounds();
    let [first, last] = [0, MIXING_UNIT];
    while (first < last) {
      const middle = (first + last) >> 1;
      if (keeps(bounds, middle, this.plan.safeguard.amplification)) last = middle;
      else first = middle + 1;
    }
    return first;
  }

  /** Return bounds of each bit's weight over all tuples. */
  #bounds() {
    const { width, places } = this.plan;
    return Array.from({ length: width }, (_, bit) => {
      // row `row`, column `bit` of P = V·Vᵀ
      const column = Array.from({ length: width }, (__, row) =>
        this.vectors.reduce((sum, vector) => sum + vector[row] * vector[bit], 0),
      );
      const ofAttributes = (choose) =>
        places.reduce((sum, { first, size }) => sum + choose(...column.slice(first, first + size)), 0);
      const [low, high] = [ofAttributes(Math.min), ofAttributes(Math.max)];
      const [a, b] = [weightOf(low), weightOf(high)];
      return [low <= 0 && high >= 0 ? 0 : Math.min(a, b), Math.max(a, b)];
    });
  }
}

/** Return the weight of a sum times 2^40: its square in units of 2^-16, at most 2^32. */
function weightOf(sum) {
  const rounded = Math.floor((Math.abs(sum) + 2 ** 23) / 2 ** 24);
  return rounded >= MIXING_UNIT ? WEIGHTS : rounded * rounded;
}

function mixed(weight, mixingWeight) {
  return BigInt(mixingWeight) * BigInt(WEIGHTS) + BigInt(MIXING_UNIT - mixingWeight) * 2n * BigInt(weight);
}

/** Return whether the product of all bits' largest ratios is at most γ when weights are mixed with a coin. */
function keeps(bounds, mixingWeight, [gammaAbove, gammaBelow]) {
  let [above, below] = [1n, 1n];
  for (const [low, high] of bounds.map((ends) => ends.map((weight) => mixed(weight, mixingWeight)))) {
    if (low === high) continue;
    if (low === 0n || high === MIXED) return false;
    const isUp = high * (MIXED - high) >= (MIXED - low) * low;
    above *= isUp ? high : MIXED - low;
    below *= isUp ? low : MIXED - high;
  }
  return above * gammaBelow <= gammaAbove * below;
}

function isWhole(value, low, high) {
  return typeof value === "number" && value >= low && value <= high;
}

function readVectors(content, width) {
  const isVector = (vector) =>
    Array.isArray(vector) && vector.length === width && vector.every((entry) => isWhole(entry, -UNIT, UNIT));
  if (!Array.isArray(content) || content.length < 1 || content.length > width || !content.every(isVector)) {
    throw new PlanError(`guidance must have 1 to ${width} vectors of ${width} whole numbers up to 2^20`);
  }
  return content.map((vector) => Float64Array.from(vector));
}

/** Refuse vectors that are no rounded orthonormal vectors. */
function checkOrthonormal(vectors, width) {
  const most = UNIT * (Math.floor(Math.sqrt(width)) + 1) + width;
  vectors.forEach((one, place) => {
    for (let other = 0; other <= place; other += 1) {
      let product = other === place ? -(UNIT ** 2) : 0;
      for (let entry = 0; entry < width; entry += 1) product += one[entry] * vectors[other][entry];
      if (Math.abs(product) > most) {
        throw new PlanError("the guidance's vectors are not orthonormal (VᵀV is not I); do not use it");
      }
    }
  });
}

/**
 * Read guidance and check it.
 * @param {any} guidance its JSON text, or the parsed content
 * @param {import("./plan.js").GuidedPlan} plan the required plan
 * @returns {Guidance}
 * @throws {PlanError} guidance that must not be answered
 */
export function readGuidance(guidance, plan) {
  if (guidance instanceof Guidance && guidance.plan === plan) return guidance;
  if (guidance instanceof Guidance) throw new PlanError("the guidance is of another plan; get this plan's guidance");
  if (isObject(guidance)) return new Guidance(guidance, plan);
  return new Guidance(parseJson(typeof guidance === "string" ? guidance : String(JSON.stringify(guidance)), "guidance"), plan);
}
