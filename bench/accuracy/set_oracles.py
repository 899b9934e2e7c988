"""Set-valued oracles: a person reports all items of a padded set together, not one sampled item.

The wheel mechanism hashes each of a set's m items onto a ring of circumference 1, with a seed for each person. An
item covers the arc of length p = 1/(2m − 1 + m·e^ε) that starts at its hash. The report is the seed and a point of the
ring. Its density is e^ε/Ω where an arc of the set covers it, Ω = 1 + m·p·(e^ε − 1), and constant elsewhere. An item's
arc holds the point with probability p·e^ε/Ω if the set has the item, and p otherwise.

Hits of a person's own items are drawn person by person. Other values are hit with probability q each, so only their
counts are drawn: independently between values, since their hashes are independent of the point.

Source: Wang, Yang, Wang, Hu, Nie & Xu, Set-valued Data Publication with Local Privacy, VLDB 2020.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.oracles import Floats, padded_shares
from bench.accuracy.transactions import Transactions, offsets_of

_ROWS = 1 << 16  # people drawn at a time


@dataclass(frozen=True, slots=True)
class Wheel:
    """The wheel mechanism for sets of ``length`` values."""

    epsilon: float
    length: int

    @property
    def q(self) -> float:
        """Length of an arc: the probability that it holds the point of another set's report."""
        return 1 / (2 * self.length - 1 + self.length * math.exp(self.epsilon))

    @property
    def p(self) -> float:
        """Probability that an own value's arc holds the point."""
        return self.q * self.density

    @property
    def density(self) -> float:
        """Density of the point on the set's own arcs, e^ε/Ω."""
        return math.exp(self.epsilon) / (1 + self.length * self.q * math.expm1(self.epsilon))

    def own_hits(self, people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw the hashes of own values and a point for each person; return which arcs hold the point."""
        hashes = rng.random((people, self.length))
        ordered = np.sort(hashes, axis=1)
        gaps = np.diff(ordered, axis=1, append=ordered[:, :1] + 1)
        covered = np.minimum(gaps, self.q)
        total = covered.sum(axis=1)
        on_arcs = np.flatnonzero(rng.random(people) < total * self.density)
        # a uniform point of the covered part, as its distance along the arcs
        along = rng.random(len(on_arcs)) * total[on_arcs]
        before = np.cumsum(covered[on_arcs], axis=1) - covered[on_arcs]
        arc = (before <= along[:, None]).sum(axis=1) - 1
        rows = np.arange(len(on_arcs))
        points = ordered[on_arcs, arc] + along - before[rows, arc]
        hits = np.zeros((people, self.length), dtype=np.bool_)
        hits[on_arcs] = (points[:, None] - hashes[on_arcs]) % 1 < self.q
        return hits


def variance(oracle: Wheel) -> float:
    """Return n times the variance of the estimated share of a value that does not occur.

    >>> round(variance(Wheel(1.0, 5)), 1), round(variance(Wheel(math.log(19), 5)), 2)
    (23.0, 1.22)
    """
    return oracle.q * (1 - oracle.q) / (oracle.p - oracle.q) ** 2


def sample_down(transactions: Transactions, size: int, rng: np.random.Generator) -> Transactions:
    """Return baskets of at most ``size`` items; longer baskets are sampled uniformly."""
    sizes = transactions.sizes
    kept = np.ones(len(transactions.items), dtype=np.bool_)
    places = np.flatnonzero(np.repeat(sizes > size, sizes))  # items of baskets that are too long
    basket = np.repeat(np.arange(len(sizes)), sizes)[places]
    # sorts by basket, then at random; below 1, so that rounding never reaches the next basket
    order = np.argsort(basket + 0.999 * rng.random(len(basket)))
    starts = np.concatenate(([0], np.cumsum(sizes[sizes > size])))[:-1]
    rank = np.arange(len(order)) - np.repeat(starts, sizes[sizes > size])
    kept[places[order]] = rank < size
    offsets = offsets_of(np.minimum(sizes, size))
    return Transactions(offsets, transactions.items[kept], transactions.n_items, transactions.name)


def set_support(oracle: Wheel, fitted: Transactions, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the number of reports that show each item, int64 (n_items,); no basket exceeds the oracle's length."""
    n = len(fitted)
    own = np.zeros(fitted.n_items, dtype=np.int64)
    for start in range(0, n, _ROWS):
        sizes = fitted.sizes[start : start + _ROWS]
        hits = oracle.own_hits(len(sizes), rng)[np.arange(oracle.length) < sizes[:, None]]
        items = fitted.items[fitted.offsets[start] : fitted.offsets[start + len(sizes)]]
        own += np.bincount(items[hits], minlength=fitted.n_items)
    return own + rng.binomial(n - fitted.item_counts(), oracle.q)


def set_shares(oracle: Wheel, transactions: Transactions, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Estimate the supports of all items, without correction for sampling the longer baskets.

    Returns:
        Supports and standard errors (people sampled from a population), float64 (n_items,) both.
    """
    n = len(transactions)
    shown = set_support(oracle, sample_down(transactions, oracle.length, rng), rng) / n
    scale = oracle.p - oracle.q
    return (shown - oracle.q) / scale, np.sqrt(shown * (1 - shown) / n) / scale


def wheel_shares(
    transactions: Transactions, epsilon: float, length: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Estimate the supports of all items by the wheel mechanism, baskets padded or sampled down to ``length``."""
    return set_shares(Wheel(epsilon, length), transactions, rng)


Shares = Callable[[Transactions, float, int, np.random.Generator], tuple[Floats, Floats]]
ORACLES: dict[str, Shares] = {"sampling": padded_shares, "wheel": wheel_shares}
