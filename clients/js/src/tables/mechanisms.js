/**
 * The mechanisms that release a column of a table, with integer weights (docs/formats/table-plan.md, "Output distributions").
 *
 * Source: square wave: Li et al., SIGMOD 2020, section 5; randomized response: Warner 1965; noise: AS00, section 2.
 * @module
 */

import { exactFields, isObject, oneOf, wholeIn } from "../checks.js";
import { PlanError } from "../errors.js";

export const MOST_OUTPUTS = 65534;
const LARGEST_TOTAL = 2 ** 32;

/** A mechanism for `inputs` values. Derived classes define `outputs`, without that of a missing value, and the draw. */
class Mechanism {
  /** @param {number} inputs */
  constructor(inputs) {
    this.inputs = inputs;
    this.outputs = 0;
    /** γ as a fraction; null for none. @type {import("../checks.js").Fraction | null} */
    this.amplification = null;
  }

  checkOutputs() {
    if (this.outputs > MOST_OUTPUTS) throw new PlanError(`a column has more than ${MOST_OUTPUTS} released values`);
  }
}

/** The value itself, or its class of `width` neighbours. */
class Clear extends Mechanism {
  static fieldNames = ["width"];

  constructor(inputs, fields) {
    super(inputs);
    this.width = wholeIn(fields.width, "width", 1, inputs);
    if (inputs % this.width) throw new PlanError("plan field width must divide the column's cells");
    this.outputs = inputs / this.width;
    this.checkOutputs();
    this.isPlain = this.width === 1;
  }

  draw(input) {
    return input === this.inputs ? this.outputs : Math.floor(input / this.width);
  }

  toJSON() {
    return { mechanism: "clear", width: this.width };
  }
}

/** Additive noise, all of −reach … reach cells equally likely. */
class UniformNoise extends Mechanism {
  static fieldNames = ["reach"];
  isPlain = false;

  constructor(inputs, fields) {
    super(inputs);
    this.reach = wholeIn(fields.reach, "reach", 1, MOST_OUTPUTS);
    this.outputs = inputs + 2 * this.reach;
    this.checkOutputs();
  }

  draw(input, words) {
    const noise = words.below(2 * this.reach + 1);
    return input === this.inputs ? this.outputs : input + noise;
  }

  toJSON() {
    return { mechanism: "uniform-noise", reach: this.reach };
  }
}

/** Additive noise with weights that decrease from 0 to ±K cells. */
class GaussianNoise extends Mechanism {
  static fieldNames = ["half"];
  isPlain = false;

  constructor(inputs, fields) {
    super(inputs);
    if (!Array.isArray(fields.half) || fields.half.length < 2 || fields.half.length > MOST_OUTPUTS) {
      throw new PlanError("plan field half must be a list of two weights or more");
    }
    this.half = fields.half.map((weight) => wholeIn(weight, "half", 1, LARGEST_TOTAL));
    if (this.half.some((weight, place) => place > 0 && weight > this.half[place - 1])) {
      throw new PlanError("plan field half must not rise: larger noise must not be more probable");
    }
    const weights = [...this.half.slice(1).reverse(), ...this.half];
    wholeIn(weights.reduce((sum, weight) => sum + weight, 0), "the sum of half", 1, LARGEST_TOTAL);
    let sum = 0n;
    this.sums = weights.map((weight) => (sum += BigInt(weight)));
    this.outputs = inputs + weights.length - 1;
    this.checkOutputs();
  }

  draw(input, words) {
    const noise = words.pick(this.sums);
    return input === this.inputs ? this.outputs : input + noise;
  }

  toJSON() {
    return { mechanism: "gaussian-noise", half: this.half };
  }
}

/** Outputs near the input have weight `high` each, all others `low`: the square wave; for width 1 randomized response. */
class Window extends Mechanism {
  static fieldNames = ["near", "high", "low"];

  constructor(inputs, fields, optional) {
    super(wholeIn(inputs, "the number of cells or values under a window", 2, MOST_OUTPUTS));
    this.near = wholeIn(fields.near, "near", 1, MOST_OUTPUTS);
    this.low = wholeIn(fields.low, "low", 1, LARGEST_TOTAL);
    this.high = wholeIn(fields.high, "high", this.low + 1, LARGEST_TOTAL);
    if (this.near % 2 === 0) throw new PlanError("plan field near must be odd");
    const others = inputs - 1 + (optional ? this.near : 0);
    this.total = wholeIn(this.near * this.high + others * this.low, "the sum of a window's weights", 1, LARGEST_TOTAL);
    this.outputs = inputs + this.near - 1;
    this.checkOutputs();
    /** @type {import("../checks.js").Fraction} */
    this.amplification = [BigInt(this.high), BigInt(this.low)];
    this.isPlain = this.near === 1;
  }

  draw(input, words) {
    const drawn = words.below(this.total);
    const close = this.near * this.high;
    if (drawn < close) return input === this.inputs ? this.outputs : input + Math.floor(drawn / this.high);
    const far = Math.floor((drawn - close) / this.low); // among all other inputs, in order
    if (input === this.inputs || far < input) return far;
    return far < this.inputs - 1 ? far + this.near : this.outputs;
  }

  toJSON() {
    return { mechanism: "window", near: this.near, high: this.high, low: this.low };
  }
}

const MECHANISMS = { clear: Clear, "uniform-noise": UniformNoise, "gaussian-noise": GaussianNoise, window: Window };

/**
 * Read a column's release.
 * @param {any} content
 * @param {number} inputs
 * @param {boolean} optional whether a value may be missing
 */
export function readMechanism(content, inputs, optional) {
  const Kind = MECHANISMS[oneOf(isObject(content) && content.mechanism, "mechanism", Object.keys(MECHANISMS))];
  return new Kind(inputs, exactFields(content, "a column's release", ["mechanism", ...Kind.fieldNames]), optional);
}
