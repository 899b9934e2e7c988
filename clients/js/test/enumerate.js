/**
 * Exact output distributions: a randomizer is run for all outcomes of its draws, as assocpriv/simulation/enumeration.py does in Python.
 *
 * In place of Words a randomizer gets a script, which answers its draws and counts in how many ways each answer comes.
 * What is drawn of words is not seen here: that the vectors fix.
 * @module
 */

import { hexOf } from "../src/index.js";

const MOST_DRAWS = 1000;

/**
 * A script of the answers to draws, with the methods of Words; draws beyond its end are answered by 0.
 *
 * Of the equally likely ways in which all draws can fall, `total`, `ways` give these answers.
 */
class ScriptedWords {
  /** @param {readonly bigint[]} script */
  constructor(script) {
    this.script = script;
    /** @type {bigint[]} */
    this.answers = [];
    /** Of each draw how many answers it has. @type {bigint[]} */
    this.counts = [];
    this.ways = 1n;
    this.total = 1n;
  }

  #draw(count) {
    if (this.answers.length === MOST_DRAWS) throw new RangeError("a randomizer that draws without end has no distribution");
    const answer = this.script[this.answers.length] ?? 0n;
    this.answers.push(answer);
    this.counts.push(count);
    return answer;
  }

  below(n) {
    this.total *= BigInt(n);
    const answer = this.#draw(BigInt(n));
    return typeof n === "bigint" ? answer : Number(answer);
  }

  bits(k) {
    return this.below(1n << BigInt(k));
  }

  pick(sums) {
    const answer = Number(this.#draw(BigInt(sums.length)));
    this.ways *= sums[answer] - (answer ? sums[answer - 1] : 0n);
    this.total *= sums[sums.length - 1];
    return answer;
  }

  randomBits(count, num, digits) {
    const answer = this.#draw(1n << BigInt(count));
    const bytes = Uint8Array.from({ length: Math.ceil(count / 8) }, (_, place) => Number((answer >> BigInt(8 * place)) & 255n));
    const ones = answer.toString(2).replaceAll("0", "").length;
    this.ways *= BigInt(num) ** BigInt(ones) * BigInt(2 ** digits - num) ** BigInt(count - ones);
    this.total *= 1n << BigInt(digits * count);
    return bytes;
  }
}

/**
 * Return the probability of every outcome of a randomizer applied to a fixed input, as fractions that add up to 1.
 * @param {(words: any) => string} run is called once for every sequence of draws
 * @returns {Map<string, readonly [bigint, bigint]>} in lowest terms
 */
export function distributionOf(run) {
  /** @type {Map<string, Map<bigint, bigint>>} of each outcome the ways in which it comes about, by their total */
  const outcomes = new Map();
  for (let script = /** @type {bigint[] | null} */ ([]); script !== null;) {
    const words = new ScriptedWords(script);
    const outcome = run(words);
    const ways = outcomes.get(outcome) ?? new Map();
    outcomes.set(outcome, ways.set(words.total, (ways.get(words.total) ?? 0n) + words.ways));
    script = nextScript(words);
  }
  return new Map([...outcomes].map(([outcome, ways]) => [outcome, sumOf([...ways].map(([total, n]) => [n, total]))]));
}

/**
 * Return the output distributions of reports of some records, each report in hexadecimal with its probability as "a/b".
 * @param {import("../src/plan.js").Plan} plan
 * @param {string[]} records as on a pipe
 */
export async function distributionsOf(plan, records) {
  return records.map((record) => {
    const distribution = distributionOf((words) => hexOf(plan.randomize(plan.recordFromText(record), words)));
    return Object.fromEntries([...distribution].map(([report, fraction]) => [report, fraction.join("/")]));
  });
}

/** Advance the last draw that has another answer; null where none has, as all sequences have been walked. */
function nextScript({ answers, counts }) {
  const place = answers.findLastIndex((answer, at) => answer + 1n < counts[at]);
  return place < 0 ? null : [...answers.slice(0, place), answers[place] + 1n];
}

function sumOf(fractions) {
  const [a, b] = fractions.reduce(([a, b], [c, d]) => [a * d + c * b, b * d], [0n, 1n]);
  const divisor = greatestDivisor(a, b);
  return [a / divisor, b / divisor];
}

function greatestDivisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}
