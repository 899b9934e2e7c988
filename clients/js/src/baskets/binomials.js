/**
 * Binomial coefficients, and ranks of sets: the combinatorial number system (docs/formats/reports.md).
 * @module
 */

/** Return C(n, k), 0 where k is not in 0..n. @param {number} n @param {number} k @returns {bigint} */
export function binomial(n, k) {
  if (k < 0 || k > n) return 0n;
  let value = 1n;
  const steps = Math.min(k, n - k);
  for (let i = 1; i <= steps; i += 1) value = (value * BigInt(n - steps + i)) / BigInt(i);
  return value;
}

/** Return the rank of a set of numbers: C(c_0, 1) + C(c_1, 2) + …, the least first. @param {number[]} numbers rising */
export function rankOfSet(numbers) {
  let rank = 0n;
  let at = 0;
  let below = 1n; // C(at, place) throughout
  numbers.forEach((number, place) => {
    for (; at < number; at += 1) below = (below * BigInt(at + 1)) / BigInt(at + 1 - place);
    rank += (below * BigInt(number - place)) / BigInt(place + 1);
    below = (below * BigInt(number + 1)) / BigInt(place + 1);
    at = number + 1;
  });
  return rank;
}

/**
 * Return the set of `size` numbers below n with a rank, rising.
 * @param {bigint} rank below C(n, size)
 * @param {number} n
 * @param {number} size
 */
export function setOfRank(rank, n, size) {
  const numbers = new Array(size);
  let number = n;
  let below = binomial(n, size); // C(number, left) throughout
  for (let left = size; left > 0; left -= 1) {
    while (below > rank) {
      below = (below * BigInt(number - left)) / BigInt(number);
      number -= 1;
    }
    numbers[left - 1] = number;
    rank -= below;
    below = number < left ? binomial(number, left - 1) : (below * BigInt(left)) / BigInt(number - left + 1);
  }
  return numbers;
}
