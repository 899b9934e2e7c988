"""Frequency oracles: each person reports one randomized value, and shares are estimated from all reports.

Reports are not made one by one: only the number of reports that support each value matters, and its distribution given
the data is known. Of n people, n_v hold v; a report supports its own value with probability p, another with q:

    generalized randomized response (GRR): the value stays with p − q and is otherwise uniform over the domain;
    optimized local hashing (OLH): Binomial(n_v, p) + Binomial(n − n_v, 1/g), independent between values.

The latter holds for an ideal hash, which maps values to independent uniform cells for every person: another value hits
the reported cell with probability 1/g, independently of all other values.

Source: Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation, USENIX Security
2017; padding and sampling: Wang, Li & Jha, Locally Differentially Private Frequent Itemset Mining, S&P 2018 (WLJ18).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.transactions import Transactions

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
