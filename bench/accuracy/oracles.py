"""Frequency oracles: each person reports one randomized value, and shares are estimated from all reports.

Reports are not made one by one: only the number of reports that support each value matters, and its distribution given
the data is known. Of n people, n_v hold v; a report supports its own value with probability p, another with q:

    generalized randomized response (GRR): the value stays with p − q and is otherwise uniform over the domain;
    optimized local hashing (OLH): Binomial(n_v, p) + Binomial(n − n_v, 1/g), independent between values.

The latter holds for an ideal hash, which maps values to independent uniform cells for every person: another value hits
the reported cell with probability 1/g, independently of all other values.

Source: Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation, USENIX Security
2017; padding and sampling: Wang, Li & Jha, Locally Differentially Private Frequent Itemset Mining, S&P 2018 (WLJ18).

With the wheel mechanism a person reports all items of a padded set together, not one sampled item. It hashes each of a
set's m items onto a ring of circumference 1, with a seed for each person. An item covers the arc of length
p = 1/(2m − 1 + m·e^ε) that starts at its hash. The report is the seed and a point of the ring. Its density is e^ε/Ω
where an arc of the set covers it, Ω = 1 + m·p·(e^ε − 1), and constant elsewhere. An item's arc holds the point with
probability p·e^ε/Ω if the set has the item, and p otherwise.

Hits of a person's own items are drawn person by person. Other values are hit with probability q each, so only their
counts are drawn: independently between values, since their hashes are independent of the point.

Source: Wang, Yang, Wang, Hu, Nie & Xu, Set-valued Data Publication with Local Privacy, VLDB 2020.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.transactions import Transactions, offsets_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A randomizer of one value.

    Attributes:
        p: probability that a report supports the person's own value.
        q: probability that it supports another given value.
        domain: number of values if reports are values (GRR), 0 if they are hashed (OLH).
    """

    p: float
    q: float
    domain: int = 0

    @property
    def variance(self) -> float:
        """n times the variance of the estimated share of a value that does not occur."""
        return self.q * (1 - self.q) / (self.p - self.q) ** 2

    def support(self, held: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the number of n reports that support each value.

        Args:
            held: int64 (values,), numbers of people with each value; for GRR the whole domain, summing to n.
            n: number of people.
            rng: source of randomness.
        """
        if not self.domain:
            return rng.binomial(held, self.p) + rng.binomial(n - held, self.q)
        assert len(held) == self.domain
        kept = rng.binomial(held, self.p - self.q)
        uniform = np.full(self.domain, 1 / self.domain)
        return kept + rng.multinomial(n - int(kept.sum()), uniform)

    def estimate(self, support: NDArray[np.int64], n: int) -> tuple[Floats, Floats]:
        """Return the unbiased shares of people with the values, and standard errors, float64 (values,) both.

        People are a sample of a population, so that a count is binomial.
        """
        shown = support / n
        return (shown - self.q) / (self.p - self.q), np.sqrt(shown * (1 - shown) / n) / (self.p - self.q)


def grr(epsilon: float, domain: int) -> Oracle:
    """Return generalized randomized response over a domain of two values or more."""
    rest = math.exp(epsilon) + domain - 1
    return Oracle(math.exp(epsilon) / rest, 1 / rest, domain)


def olh(epsilon: float) -> Oracle:
    """Return optimized local hashing: into about e^ε + 1 cells, rounded to the smaller variance."""
    cells = math.floor(math.exp(epsilon)) + 1
    return min((hashing(epsilon, g) for g in (cells, cells + 1)), key=lambda oracle: oracle.variance)


def hashing(epsilon: float, cells: int) -> Oracle:
    """Return local hashing into a number of cells."""
    return Oracle(math.exp(epsilon) / (math.exp(epsilon) + cells - 1), 1 / cells)


def best_oracle(epsilon: float, values: int, length: int = 1, padding_items: int = 0) -> Oracle:
    """Return the oracle with the least variance for one value sampled from a set padded to ``length`` values.

    GRR of a sampled value may spend ln(length·(e^ε − 1) + 1), since each value is the sampled one with probability
    1/length (WLJ18, theorem 1). OLH may not, since many values of the set can hit a hash cell.

    Args:
        epsilon: ε of the whole report.
        values: number of values.
        length: number of values of a padded set.
        padding_items: number of values that sets are padded with.
    """
    # 1. WLJ18 compares d with length·(4·length − 1)·e^ε + 1, which approximates this comparison.
    amplified = math.log(length * (math.exp(epsilon) - 1) + 1)
    return min(grr(amplified, values + padding_items), olh(epsilon), key=lambda oracle: oracle.variance)


def sample_padded(transactions: Transactions, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one item of every basket padded to ``length`` items; of a longer basket, one of all its items.

    Returns:
        int64 (n,): an item, or n_items + j for the j-th padding item, j < length. The padding items of a basket are
        distinct: a single one would be shown by an empty basket with the whole amplified budget, which violates ε-LDP.
    """
    sizes = transactions.sizes
    slots = (rng.random(len(sizes)) * np.maximum(sizes, length)).astype(np.int64)
    values = transactions.n_items + slots - sizes
    real = slots < sizes
    values[real] = transactions.items[transactions.offsets[:-1][real] + slots[real]]
    return values


def padded_shares(
    transactions: Transactions, epsilon: float, length: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Estimate the supports of all items by padding, sampling and the better oracle.

    Supports of items in baskets longer than ``length`` are underestimated; otherwise there is no bias.

    Returns:
        Supports and standard errors, float64 (n_items,) both.
    """
    n, n_items = len(transactions), transactions.n_items
    oracle = best_oracle(epsilon, n_items, length, padding_items=length)
    held = np.bincount(sample_padded(transactions, length, rng), minlength=n_items + length).astype(np.int64)
    shares, errors = oracle.estimate(oracle.support(held, n, rng), n)
    return length * shares[:n_items], length * errors[:n_items]


def size_shares(
    transactions: Transactions, epsilon: float, rng: np.random.Generator, *, most: int, least_z: float
) -> Floats:
    """Estimate the shares of baskets of 0, 1, … items: no share is negative, their sum is 1.

    Noise on many rare sizes would add up to a false long tail, so estimates below a number of standard errors are
    dropped.

    Args:
        transactions: baskets, with one report each.
        epsilon: ε of a report.
        rng: source of randomness.
        most: largest size; larger baskets report this size.
        least_z: smallest estimate that counts, in standard errors of a size that does not occur.

    Returns:
        float64 (sizes,), sizes up to ``most`` or the number of items.
    """
    n, values = len(transactions), min(transactions.n_items, most) + 1
    oracle = best_oracle(epsilon, values)
    held = np.bincount(np.minimum(transactions.sizes, values - 1), minlength=values).astype(np.int64)
    shares = oracle.estimate(oracle.support(held, n, rng), n)[0]
    seen = shares >= min(least_z * math.sqrt(oracle.variance / n), shares.max())
    shares[seen], shares[~seen] = nearest_shares(shares[seen]), 0.0
    return shares


def nearest_shares(estimates: Floats) -> Floats:
    """Return the probabilities nearest to estimates (values,): subtract one number from all, then clip at 0.

    Source: Wang, Lopuhaä-Zwakenberg, Li, Skoric & Li, Locally Differentially Private Frequency Estimation with
    Consistency, NDSS 2020 (Norm-Sub).

    >>> nearest_shares(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    ordered = np.sort(estimates)[::-1]
    lowered = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    nearest: Floats = np.maximum(estimates - lowered[np.flatnonzero(ordered > lowered)[-1]], 0.0)
    return nearest


# ---- the wheel


_ROWS = 1 << 16  # people drawn at a time


@dataclass(frozen=True, slots=True)
class Wheel:
    """The wheel mechanism for sets of ``length`` values.

    >>> round(Wheel(1.0, 5).oracle.variance, 1), round(Wheel(math.log(19), 5).oracle.variance, 2)
    (23.0, 1.22)
    """

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

    @property
    def oracle(self) -> Oracle:
        """The same probabilities as an oracle of one value, for estimates and their errors."""
        return Oracle(self.p, self.q)

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


def wheel_shares(
    transactions: Transactions, epsilon: float, length: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Estimate the supports of all items by the wheel mechanism, baskets padded or sampled down to ``length``.

    Sampling the longer baskets is not corrected.

    Returns:
        Supports and standard errors (people sampled from a population), float64 (n_items,) both.
    """
    wheel = Wheel(epsilon, length)
    return wheel.oracle.estimate(set_support(wheel, sample_down(transactions, length, rng), rng), len(transactions))


Shares = Callable[[Transactions, float, int, np.random.Generator], tuple[Floats, Floats]]
ORACLES: dict[str, Shares] = {"sampling": padded_shares, "wheel": wheel_shares}
