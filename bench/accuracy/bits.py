"""Independent bit flipping: every item of the catalogue is one bit of a report, randomized by itself.

A basket is sampled down, or padded with dummy items, to exactly M items; its bits, and those of the M dummies, are
sent, a 1 as 1 with probability p and a 0 as 1 with q. Two baskets differ in at most M bits each way, so the report is
ε-private with ε = M·ln(p(1−q)/((1−p)q)):

    symmetric (MASK): q = 1 − p, p/(1−p) = e^{ε/(2M)};
    optimized (unary encoding): p = 1/2, q = 1/(e^{ε/M} + 1), the least variance of rare items.

With y_i the bit of item i, Π (y_i − q)/(p − q) over the items of a set is an unbiased estimate of whether the
(sampled) basket holds it: the inverse of the 2 × 2 matrix, in every item.

Source: Rizvi & Haritsa, Maintaining Data Privacy in Association Rule Mining, VLDB 2002 (MASK), with the privacy of
whole baskets in place of that of a bit; Wang, Blocki, Li & Jha, USENIX Security 2017 (optimized unary encoding).
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.metrics import Estimates
from bench.accuracy.oracles import Floats
from bench.accuracy.set_oracles import sample_down
from bench.accuracy.transactions import Itemset, Transactions


@dataclass(frozen=True, slots=True)
class BitSettings:
    """How baskets are sent and mined.

    ``size``: M. ``optimized``: the unary encoding in place of the symmetric one. ``pair_items``: items that larger
    itemsets are made of, the most frequent ones. ``least_z``: pairs and triples are said to be there only if their
    estimate is that many standard errors; triples are made of such pairs.
    """

    size: int = 3
    optimized: bool = False
    pair_items: int = 64
    least_z: float = 3.0


@dataclass(frozen=True, slots=True)
class Flip:
    """``p`` and ``q``: the chance that a 1, and that a 0, is sent as 1."""

    p: float
    q: float


def flip_for(epsilon: float, size: int, *, optimized: bool = False) -> Flip:
    """Return the chances that make a report of a basket of ``size`` items ε-private.

    >>> flip = flip_for(math.log(19), 6)
    >>> round(flip.p, 4), round((flip.p / flip.q) ** 12)
    (0.561, 19)
    """
    if optimized:
        return Flip(0.5, 1 / (math.exp(epsilon / size) + 1))
    p = 1 / (1 + math.exp(-epsilon / (2 * size)))
    return Flip(p, 1 - p)


def bit_flipping(
    transactions: Transactions, epsilon: float, _top: int, rng: np.random.Generator, settings: BitSettings
) -> Estimates:
    """Estimate items, and pairs and triples of the most frequent ones, from independently flipped bits.

    Supports are those within at most M sampled items of a basket, and so are the standard errors.
    """
    fitted = sample_down(transactions, settings.size, rng)
    flip, n = flip_for(epsilon, settings.size, optimized=settings.optimized), len(fitted)
    held = fitted.item_counts()
    # Given the baskets all bits are independent. So the items' counts are drawn first, and then, of the few items that
    # pairs are made of, the bits given their counts: the law is that of drawing every bit.
    kept, flipped = rng.binomial(held, flip.p), rng.binomial(n - held, flip.q)
    singles = _estimated(np.column_stack((np.full(len(held), n), kept + flipped)), n, flip)
    itemsets: list[Itemset] = [(item,) for item in range(len(held))]
    supports, errors = (dict(zip(itemsets, part.tolist(), strict=True)) for part in singles)
    chosen = np.sort(np.argsort(-singles[0], kind="stable")[: settings.pair_items])
    bits = shown_bits(fitted.restricted(chosen).matrix(), kept[chosen], flipped[chosen], flip, rng)
    for found, support, error in _mine(bits, n, flip, settings):
        itemset = tuple(chosen[list(found)].tolist())
        supports[itemset], errors[itemset] = support, error
    return Estimates(supports, errors)


def shown_bits(
    held: NDArray[np.bool_],
    kept: NDArray[np.int64],
    flipped: NDArray[np.int64],
    flip: Flip,
    rng: np.random.Generator,
) -> NDArray[np.uint64]:
    """Draw flipped bits of some items given how many of each are kept and flipped.

    Args:
        held: who holds what, bool (items, n).
        kept: of those who hold an item, how many show it, int64 (items,).
        flipped: of the others, how many show it, int64 (items,).
        flip: chances of a 1.
        rng: source of randomness.

    Returns:
        uint64 (items, words): bit t of a row is what basket t shows; the last word is filled with 0.
    """
    n = held.shape[1]
    rows = np.zeros((len(held), -(-n // 64) * 8), dtype=np.uint8)
    for row, holders, ones, zeros in zip(rows, held, kept.tolist(), flipped.tolist(), strict=True):
        shown = rng.random(n, dtype=np.float32) < np.where(holders, np.float32(flip.p), np.float32(flip.q))
        _adjust(shown, holders, ones, rng)
        _adjust(shown, ~holders, zeros, rng)
        row[: -(-n // 8)] = np.packbits(shown, bitorder="little")
    return rows.view(np.uint64)


def _adjust(shown: NDArray[np.bool_], among: NDArray[np.bool_], wanted: int, rng: np.random.Generator) -> None:
    """Set or clear bits drawn at random until so many of ``among`` are set: all such subsets stay equally likely."""
    excess = int((shown & among).sum()) - wanted
    places = np.flatnonzero(among & (shown if excess > 0 else ~shown))
    shown[rng.choice(places, abs(excess), replace=False)] = excess < 0


def _estimated(sums: NDArray[np.int64], n: int, flip: Flip) -> tuple[Floats, Floats]:
    """Return supports and standard errors of sets of k items from S_j, int64 (sets, k + 1).

    S_j sums, over the subsets of j items, the reports showing all of them. Both the estimate of one report and its
    square are products over the items of a + b·y.
    """
    mean = _products(sums, -flip.q / (flip.p - flip.q), 1 / (flip.p - flip.q)) / n
    scale = (flip.p - flip.q) ** 2
    square = _products(sums, flip.q**2 / scale, (1 - 2 * flip.q) / scale) / n
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / n)


def _products(sums: NDArray[np.int64], a: float, b: float) -> Floats:
    k = sums.shape[1] - 1
    products: Floats = sums @ np.array([a ** (k - j) * b**j for j in range(k + 1)])
    return products


def _mine(
    bits: NDArray[np.uint64], n: int, flip: Flip, settings: BitSettings
) -> list[tuple[tuple[int, ...], float, float]]:
    """Return rows, support and standard error of pairs that are there, and of triples made of such pairs."""
    together = np.array([np.bitwise_count(row & bits).sum(axis=1, dtype=np.int64) for row in bits])
    pairs = np.array(list(combinations(range(len(bits)), 2)), dtype=np.int64).reshape(-1, 2)
    found = _significant(pairs, _pair_sums(pairs, together, n), n, flip, settings.least_z)
    linked = np.zeros((len(bits), len(bits)), dtype=np.bool_)
    for (i, j), *_ in found:
        linked[i, j] = True
    triples = [(i, j, k) for (i, j), *_ in found for k in np.flatnonzero(linked[i] & linked[j]).tolist()]
    if not triples:
        return found
    rows = np.array(triples, dtype=np.int64)
    i, j, k = rows.T
    items = together[i, i] + together[j, j] + together[k, k]
    twos = together[i, j] + together[i, k] + together[j, k]
    shown = np.array([np.bitwise_count(np.bitwise_and.reduce(bits[row])).sum() for row in rows], dtype=np.int64)
    sums = np.column_stack((np.full(len(rows), n), items, twos, shown))
    return found + _significant(rows, sums, n, flip, settings.least_z)


def _pair_sums(pairs: NDArray[np.int64], together: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return S_0, S_1, S_2 of pairs, int64 (pairs, 3), from the counts of all pairs, with items in the diagonal."""
    i, j = pairs.T
    return np.column_stack((np.full(len(pairs), n), together[i, i] + together[j, j], together[i, j]))


def _significant(
    rows: NDArray[np.int64], sums: NDArray[np.int64], n: int, flip: Flip, least_z: float
) -> list[tuple[tuple[int, ...], float, float]]:
    supports, errors = _estimated(sums, n, flip)
    there = np.flatnonzero(supports >= least_z * errors)
    return [(tuple(rows[at].tolist()), float(supports[at]), float(errors[at])) for at in there]
