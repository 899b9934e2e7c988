/**
 * Checks of the words themselves: what is drawn of the system's generator, and that draws follow the page's table.
 * @module
 */

import { givenWords, systemWords } from "../../src/index.js";

const WORD = 1n << 64n;
const EDGES = [0n, 1n, 2n, WORD - 1n, WORD - 2n, 1n << 63n, (1n << 63n) + 1n, (1n << 32n) - 1n, 1n << 32n, 0x123456789abcdef0n];
const BOUNDS = [1, 2, 3, 5, 6, 7, 64, 255, 1000, 65535, 65537, 2 ** 31 + 11, 2 ** 32 - 5, 2 ** 32 - 1, 2 ** 32];
const LARGE_BOUNDS = [1n << 63n, 3n << 62n, WORD - 59n, WORD, WORD + 13n, 5n ** 60n, 1n << 130n];
const MOST_BYTES = 65536; // that getRandomValues gives at a time

/** @param {any} assert */
export function checkWords(assert) {
  checkSystem(assert);
  const words = EDGES.flatMap((first) => EDGES.map((second) => first ^ (second << 1n) % WORD)).map((word) => word % WORD);
  for (const bound of [...BOUNDS, ...LARGE_BOUNDS]) checkBelow(bound, words, assert);
}

/** Every byte of the system's generator comes in a word, once and in order, and none from elsewhere. */
function checkSystem(assert) {
  const crypto = globalThis.crypto;
  const own = Object.getOwnPropertyDescriptor(crypto, "getRandomValues");
  /** @type {bigint[]} */
  const given = [];
  let state = 1n;
  Object.defineProperty(crypto, "getRandomValues", {
    configurable: true,
    value(array) {
      assert.ok(array.byteLength <= MOST_BYTES && array.byteLength % 8 === 0, "no more bytes than allowed in one call");
      for (let place = 0; place < array.length; place += 2) {
        state = (state * 6364136223846793005n + 1442695040888963407n) % WORD;
        given.push(state);
        [array[place], array[place + 1]] = [Number(state & 0xffffffffn), Number(state >> 32n)];
      }
      return array;
    },
  });
  try {
    const words = systemWords();
    const found = Array.from({ length: 1000 }, () => words.bits(64));
    assert.deepEqual(found, given.slice(0, 1000), "the system's words");
    assert.equal(words.used, 1000, "the system's words, counted");
  } finally {
    if (own) Object.defineProperty(crypto, "getRandomValues", own);
    else delete crypto.getRandomValues;
  }
  const both = new Set([systemWords(), systemWords()].flatMap((words) => Array.from({ length: 300 }, () => words.bits(64))));
  assert.equal(both.size, 600, "two streams of the system's words");
}

/** `below`, written down as in the page's table. */
function checkBelow(bound, given, assert) {
  const n = BigInt(bound);
  const count = Math.ceil((n - 1n).toString(2).length / 64);
  const isPower = (n & (n - 1n)) === 0n;
  const all = 1n << BigInt(64 * count);
  let place = 0;
  const words = givenWords([...given, ...given]);
  while (place + 2 * count < given.length) {
    let wanted = 0n;
    for (let x = 0n; n > 1n; ) {
      x = given.slice(place, place + count).reduceRight((number, word) => (number << 64n) | word, 0n);
      place += count;
      wanted = isPower ? x % n : (x * n) / all;
      if (isPower || (x * n) % all >= all % n) break;
    }
    const found = words.below(bound);
    assert.equal(BigInt(found), wanted, `below ${n}`);
    assert.equal(typeof found, typeof bound, `below ${n}`);
    assert.equal(words.used, place, `below ${n}, words`);
    if (n === 1n) return;
  }
}
