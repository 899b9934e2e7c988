"""Generated families of baskets that are rare in public sets: dense, long-tailed, long pairs, flat supports.

Each takes a seed and parameters, so that one half of the sets serves for tuning and the other for evaluation (data.py
lists them).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.transactions import Transactions, offsets_of

_ROWS = 1 << 16
Ids = NDArray[np.int64]


def merged(parts: list[tuple[Ids, Ids]], n: int, n_items: int) -> Transactions:
    """Make n baskets of (basket, item) pairs, int64 arrays of equal length; duplicates count once."""
    keys = np.unique(np.concatenate([baskets * n_items + items for baskets, items in parts]))
    baskets, items = np.divmod(keys, n_items)
    return Transactions(offsets_of(np.bincount(baskets, minlength=n)), items, n_items)


def dense(n: int, *, items: int, density: float, seed: int, classes: int = 8) -> Transactions:
    """Generate records of several classes, as in Mushroom: item probabilities differ by class, mean ``density``."""
    rng = np.random.default_rng(seed)
    spread = rng.normal(scale=1.5, size=items) + rng.normal(scale=1.0, size=(classes, items))
    shift = _shift_to(density, spread)
    probabilities = (1 / (1 + np.exp(-(spread + shift)))).astype(np.float32)
    weights = rng.dirichlet(np.full(classes, 2.0))
    parts = []
    for start, rows in _chunks(n):
        kinds = rng.choice(classes, size=rows, p=weights)
        baskets, held = np.nonzero(rng.random((rows, items), dtype=np.float32) < probabilities[kinds])
        parts.append((baskets + start, held))
    return merged(parts, n, items)


def _shift_to(density: float, spread: NDArray[np.float64]) -> float:
    """Return the shift of logits at which their mean probability is ``density``, by bisection."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean(1 / (1 + np.exp(-(spread + middle)))) < density else (low, middle)
    return low


def long_pairs(n: int, *, items: int, long_share: float, mean_size: float, seed: int) -> Transactions:
    """Generate clicks whose pairs occur in long baskets; most baskets hold one to three Zipf-distributed items.

    A share ``long_share`` of baskets holds about ``mean_size`` items. Half of these come from patterns of two to four
    items that occur in no short basket, the others are uniform over the catalogue.
    """
    rng = np.random.default_rng(seed)
    is_long = rng.random(n) < long_share
    popular = _zipf(items, 1.0)
    short = np.repeat(np.arange(n), np.where(is_long, 0, rng.integers(1, 4, size=n)))
    drawn = _drawn(popular, len(short), rng)
    patterns = [rng.choice(items, size=size, replace=False) for size in rng.integers(2, 5, size=150)]
    instances = np.repeat(np.arange(n), np.where(is_long, rng.poisson(mean_size / 6, size=n), 0))
    chosen = _drawn(_zipf(len(patterns), 0.7), len(instances), rng)
    flat = np.repeat(np.arange(n), np.where(is_long, rng.poisson(mean_size / 2, size=n), 0))
    sizes = np.array([len(pattern) for pattern in patterns])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    places = np.repeat(starts[chosen], sizes[chosen]) + _within(sizes[chosen])
    bundled = np.repeat(instances, sizes[chosen]), np.concatenate(patterns)[places]
    return merged([(short, drawn), bundled, (flat, rng.integers(items, size=len(flat)))], n, items)


def long_tail(n: int, *, items: int, sigma: float, mean_log: float, seed: int, topics: int = 40) -> Transactions:
    """Generate visits to many pages: log-normal sizes, Zipf-distributed pages, half of a visit within a topic."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(mean_log, sigma, size=n), 1, 200).astype(np.int64)
    baskets = np.repeat(np.arange(n), sizes)
    common = _drawn(_zipf(items, 1.1), len(baskets), rng)
    orders = np.array([rng.permutation(items)[:100] for _ in range(topics)])
    topic = _drawn(_zipf(topics, 0.8), n, rng)[baskets]
    special = orders[topic, _drawn(_zipf(100, 0.9), len(baskets), rng)]
    return merged([(baskets, np.where(rng.random(len(baskets)) < 0.5, special, common))], n, items)


def flat(n: int, *, items: int, mean_size: float, pairs: int, seed: int) -> Transactions:
    """Generate baskets of about equally frequent items; half of the baskets hold one of a few pairs."""
    rng = np.random.default_rng(seed)
    baskets = np.repeat(np.arange(n), np.maximum(rng.poisson(mean_size, size=n), 1))
    together = np.array([rng.choice(items, size=2, replace=False) for _ in range(pairs)])
    holders = np.flatnonzero(rng.random(n) < 0.5)
    held = together[rng.integers(pairs, size=len(holders))]
    return merged(
        [(baskets, rng.integers(items, size=len(baskets))), (holders, held[:, 0]), (holders, held[:, 1])], n, items
    )


def _chunks(n: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of each chunk and its number of rows."""
    for start in range(0, n, _ROWS):
        yield start, min(_ROWS, n - start)


def _zipf(count: int, skew: float) -> NDArray[np.float64]:
    weights = np.arange(1, count + 1) ** -skew
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _drawn(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> Ids:
    """Draw numbers 0, 1, … with the given probabilities."""
    return np.minimum(np.searchsorted(np.cumsum(weights), rng.random(count), side="right"), len(weights) - 1)


def _within(sizes: Ids) -> Ids:
    """Return 0 … size − 1 for each size, one after the other."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
