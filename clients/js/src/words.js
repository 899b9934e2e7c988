/**
 * Random words, and the draws from them (docs/formats/client.md, "Random words").
 *
 * All randomness is a stream of independent uniform 64-bit words, and the number of words of a draw is part of its
 * definition: equal words give equal reports in every client. A word is two numbers below 2^32, so that all computations
 * use whole numbers below 2^53, which a double holds exactly, or BigInt.
 * @module
 */

import { AssocprivError } from "./errors.js";

const TWO_16 = 0x10000;
const TWO_32 = 0x100000000;
const WORD = 64n;
const PROBE = 6; // halves of words

/** A stream of words, and draws from it. */
export class Words {
  #fill;
  #halves;
  #place;
  /** The lower half of the last word. */
  low = 0;
  /** Its upper half. */
  high = 0;

  /**
   * @param {(halves: Uint32Array) => void} fill fills an array with words, the low half of each first
   * @param {number} ahead number of words in one request
   */
  constructor(fill, ahead = 1) {
    this.#fill = fill;
    this.#halves = new Uint32Array(2 * ahead);
    this.#place = this.#halves.length;
    /** Number of words drawn. */
    this.used = 0;
  }

  /** Draw a word into {@link low} and {@link high}. */
  next() {
    if (this.#place === this.#halves.length) {
      this.#fill(this.#halves);
      this.#place = 0;
    }
    this.low = this.#halves[this.#place];
    this.high = this.#halves[this.#place + 1];
    this.#place += 2;
    this.used += 1;
  }

  /**
   * Draw the words that k bits need, the first word lowest; return the low k bits.
   * @param {number} k
   * @returns {bigint}
   */
  bits(k) {
    const words = Math.ceil(k / 64);
    return this.#number(words) & ((1n << BigInt(k)) - 1n);
  }

  /**
   * Draw a whole number below n, uniformly. n = 1 uses no word.
   *
   * Lemire 2019, "Fast random integer generation in an interval": the high half of word·n; drawn again if the
   * low half is in the range that would be too frequent.
   * @overload
   * @param {number} n at least 1, at most 2^32
   * @returns {number}
   *
   * @overload
   * @param {bigint} n at least 1
   * @returns {bigint}
   *
   * @param {number | bigint} n
   */
  below(n) {
    return typeof n === "bigint" ? this.#belowLarge(n) : this.#belowSmall(n);
  }

  /**
   * Draw a place by weights: the first i with x < sums[i], x below the last of the sums.
   * @param {readonly bigint[]} sums cumulative weights: v_0, v_0 + v_1, …
   */
  pick(sums) {
    const drawn = this.below(sums[sums.length - 1]);
    let [first, end] = [0, sums.length - 1];
    while (first < end) {
      const middle = (first + end) >> 1;
      if (drawn < sums[middle]) end = middle;
      else first = middle + 1;
    }
    return first;
  }

  /**
   * Draw independent bits, each 1 with probability num / 2^digits.
   *
   * 64 numbers are compared with num at once: bit q of `digits` words gives the digits of number q, the highest first.
   * @param {number} count
   * @param {number} num
   * @param {number} digits
   * @returns {Uint8Array} eight bits in a byte, the first lowest; the last byte's spare bits are 0
   */
  randomBits(count, num, digits) {
    const groups = Math.ceil(count / 64);
    const halves = new Uint32Array(2 * groups);
    for (let group = 0; group < groups; group += 1) {
      let [lowLess, highLess, lowEqual, highEqual] = [0, 0, -1, -1];
      for (let digit = digits - 1; digit >= 0; digit -= 1) {
        this.next();
        if ((num >>> digit) & 1) {
          lowLess |= lowEqual & ~this.low;
          highLess |= highEqual & ~this.high;
          lowEqual &= this.low;
          highEqual &= this.high;
        } else {
          lowEqual &= ~this.low;
          highEqual &= ~this.high;
        }
      }
      halves[2 * group] = lowLess;
      halves[2 * group + 1] = highLess;
    }
    return bytesOf(halves, count);
  }

  #number(words) {
    let number = 0n;
    for (let place = 0; place < words; place += 1) {
      this.next();
      number |= ((BigInt(this.high) << 32n) | BigInt(this.low)) << (WORD * BigInt(place));
    }
    return number;
  }

  #belowLarge(n) {
    if (n === 1n) return 0n;
    const bits = (n - 1n).toString(2).length;
    if (n === 1n << BigInt(bits)) return this.bits(bits);
    const words = Math.ceil(bits / 64);
    const all = 1n << (WORD * BigInt(words));
    for (;;) {
      const product = this.#number(words) * n;
      const rest = product % all;
      if (rest >= n || rest >= all % n) return product / all;
    }
  }

  #belowSmall(n) {
    if (n === 1) return 0;
    if (n === TWO_32 || (n & (n - 1)) === 0) {
      this.next();
      return n === TWO_32 ? this.low : (this.low & (n - 1)) >>> 0;
    }
    for (;;) {
      this.next();
      // word·n in digits of 16 bits times n, lowest first: every sum is below 2^49
      const first = (this.low % TWO_16) * n;
      const second = Math.floor(this.low / TWO_16) * n + Math.floor(first / TWO_16);
      const third = (this.high % TWO_16) * n + Math.floor(second / TWO_16);
      const fourth = Math.floor(this.high / TWO_16) * n + Math.floor(third / TWO_16);
      const restLow = (second % TWO_16) * TWO_16 + (first % TWO_16);
      const restHigh = (fourth % TWO_16) * TWO_16 + (third % TWO_16);
      if (restHigh > 0 || restLow >= n || restLow >= Number((1n << WORD) % BigInt(n))) {
        return Math.floor(fourth / TWO_16);
      }
    }
  }
}

function bytesOf(halves, count) {
  const bytes = new Uint8Array(Math.ceil(count / 8));
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = halves[place >> 2] >>> (8 * (place & 3));
  if (count % 8) bytes[bytes.length - 1] &= (1 << (count % 8)) - 1;
  return bytes;
}

/**
 * Return words of the system's generator, the only source of real clients. After 256 equal words further bytes are read,
 * which no draw uses: so no outcome becomes impossible.
 */
export function systemWords() {
  if (globalThis.crypto?.getRandomValues === undefined) {
    throw new TypeError("this JavaScript engine has no crypto.getRandomValues, so no report can be made here");
  }
  return new Words((halves) => {
    globalThis.crypto.getRandomValues(halves);
    if (areEqual(halves) && areEqual(globalThis.crypto.getRandomValues(new Uint32Array(PROBE)))) {
      throw new AssocprivError("the source of random numbers repeats itself, so it is broken; make no report on this device");
    }
  }, 256);
}

/** @param {Uint32Array} halves */
function areEqual(halves) {
  return halves.every((half) => half === halves[0]);
}

/**
 * Return given words, for tests; after the last one a draw fails.
 * @param {bigint[]} given each below 2^64
 */
export function givenWords(given) {
  let place = 0;
  return new Words((halves) => {
    if (place === given.length) throw new RangeError("all given words are used");
    halves[0] = Number(given[place] & 0xffffffffn);
    halves[1] = Number(given[place] >> 32n);
    place += 1;
  });
}
