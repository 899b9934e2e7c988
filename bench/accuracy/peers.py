"""Alternative methods: SVIM for items and SVSM for itemsets, and oracles of single items.

SVIM and SVSM use padding and sampling, as published, or an oracle of the whole padded set. Every method has the
signature ``method(transactions, epsilon, top, rng, settings) -> Estimates``. Each person reports once, with ε-local
differential privacy. Methods use whole baskets only to draw the reports of their people.

Source: Wang, Li & Jha, Locally Differentially Private Frequent Itemset Mining, S&P 2018, sections V and VI (WLJ18),
with its erratum on equation (10); oracles.py for the others. Numbered comments say where we differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.metrics import LARGEST, Estimates
from bench.accuracy.oracles import ORACLES, Floats, size_shares
from bench.accuracy.transactions import Itemset, Transactions, offsets_of

Correction = Literal["all sizes", "to the first empty size", "none"]


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """``oracle``: a key of oracles.ORACLES. ``size``: number of items that a basket is padded to."""

    oracle: str = "sampling"
    size: int = 3


@dataclass(frozen=True, slots=True)
class SvimSettings:
    """Settings of SVIM.

    - ``find_share``, ``size_share``: shares of the people that find candidates and report sizes; the others report
      candidates.
    - ``candidates``: number of candidate items, as a multiple of the number wanted.
    - ``percentile``: percentile of sizes that baskets are padded to.
    - ``correction``: the sizes used to correct for items of longer baskets.
    - ``most_size``, ``least_size_z``: see oracles.size_shares; on the data for tuning, sizes without a limit cause
      errors of half the supports and more.
    - ``oracle``: a key of oracles.ORACLES; ``find_size``: number of items that a basket is padded to when finding
      candidates.
    """

    find_share: float = 0.4
    size_share: float = 0.1
    candidates: float = 2.0
    percentile: float = 0.9
    correction: Correction = "all sizes"
    most_size: int = 32
    least_size_z: float = 2.0
    oracle: str = "sampling"
    find_size: int = 1


@dataclass(frozen=True, slots=True)
class SvsmSettings:
    """Settings of SVSM.

    - ``item_share``: share of the people that run SVIM with the settings ``items``.
    - ``size_share``: share of the others that report how many candidates they hold.
    - ``candidates``: number of candidate itemsets, as a multiple of the number wanted; ``largest``: their maximum size.
    - ``shrink``: factor per item in the expected support of an itemset.
    """

    items: SvimSettings = SvimSettings()
    item_share: float = 0.5
    size_share: float = 0.2
    candidates: float = 2.0
    largest: int = LARGEST
    shrink: float = 0.9


class _Known(NamedTuple):
    """Items with estimated supports and standard errors, all (items,)."""

    items: NDArray[np.int64]
    supports: Floats
    errors: Floats


# ---- methods


def one_round(
    transactions: Transactions, epsilon: float, _top: int, rng: np.random.Generator, settings: OracleSettings
) -> Estimates:
    """Estimate all items in one round of padded baskets; sampling takes OLH, or GRR where its error is smaller."""
    supports, errors = ORACLES[settings.oracle](transactions, epsilon, settings.size, rng)
    return _items_as_estimates(_Known(np.arange(transactions.n_items), supports, errors))


def svsm(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: SvsmSettings
) -> Estimates:
    """Estimate the most frequent items and itemsets: SVIM, then itemsets proposed from its items.

    Standard errors cover randomization and the sampling of people, but not the error of the size correction nor the
    bias that it leaves.
    """
    shares = settings.item_share, settings.size_share * (1 - settings.item_share)
    for_items, for_sizes, for_itemsets = split(transactions, shares, rng)
    known = _find_items(for_items, epsilon, top, rng, settings.items)
    wanted = max(1, round(settings.candidates * top))
    candidates = guess_itemsets(known, top, wanted, settings)
    estimates = _items_as_estimates(known)
    if candidates:
        sets = [holding(group, candidates) for group in (for_sizes, for_itemsets)]
        supports, errors = _estimate_candidates(sets[0], sets[1], epsilon, rng, settings.items)
        estimates.supports.update(zip(candidates, supports.tolist(), strict=True))
        assert estimates.errors is not None
        estimates.errors.update(zip(candidates, errors.tolist(), strict=True))
    return estimates


def _items_as_estimates(known: _Known) -> Estimates:
    itemsets: list[Itemset] = [(item,) for item in known.items.tolist()]
    supports = dict(zip(itemsets, known.supports.tolist(), strict=True))
    return Estimates(supports, dict(zip(itemsets, known.errors.tolist(), strict=True)))


# ---- groups of people


def split(transactions: Transactions, shares: Sequence[float], rng: np.random.Generator) -> list[Transactions]:
    """Divide the people at random into groups of given shares, and a last group of all others."""
    order = rng.permutation(len(transactions))
    ends = np.rint(np.cumsum(shares) * len(order)).astype(np.int64)
    return [transactions.take(part) for part in np.split(order, ends)]


# ---- SVIM


def _find_items(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: SvimSettings
) -> _Known:
    """Find and estimate items in three groups (WLJ18, section V-C)."""
    for_finding, for_sizes, for_items = split(transactions, (settings.find_share, settings.size_share), rng)
    # a few items of each basket over the whole catalogue: supports are far too low, but their ranks are about right
    rough, _ = ORACLES[settings.oracle](for_finding, epsilon, settings.find_size, rng)
    wanted = max(1, round(settings.candidates * top))
    items = np.sort(np.argsort(-rough, kind="stable")[:wanted])
    groups = (for_sizes.restricted(items), for_items.restricted(items))
    return _Known(items, *_estimate_candidates(groups[0], groups[1], epsilon, rng, settings))


def _estimate_candidates(
    for_sizes: Transactions, for_items: Transactions, epsilon: float, rng: np.random.Generator, settings: SvimSettings
) -> tuple[Floats, Floats]:
    """Estimate the supports of candidates held by two groups of people, float64 (candidates,), with errors."""
    # 1. The source does not say how to treat the noise of rare sizes. Its authors' published code ignores sizes above
    #    30, and its correction ignores all sizes from the first empty one on.
    sizes = size_shares(for_sizes, epsilon, rng, most=settings.most_size, least_z=settings.least_size_z)
    length = padding_length(sizes, settings.percentile)
    supports, errors = ORACLES[settings.oracle](for_items, epsilon, length, rng)
    if settings.correction == "none":
        return supports, errors
    counted = sizes if settings.correction == "all sizes" else until_empty(sizes, length)
    factor = lost_by_sampling(counted, length)
    return factor * supports, factor * errors


def padding_length(sizes: Floats, percentile: float) -> int:
    """Return the size, at least 1, that a share of the non-empty baskets do not exceed.

    Args:
        sizes: shares of baskets of 0, 1, … items, (sizes,).
        percentile: the share.

    >>> padding_length(np.array([0.5, 0.25, 0.15, 0.1]), 0.8)
    2
    """
    some = np.cumsum(sizes[1:])
    return int(np.searchsorted(some, percentile * some[-1] * (1 - 1e-12))) + 1 if some[-1] > 0 else 1


def until_empty(sizes: Floats, length: int) -> Floats:
    """Return the shares of sizes below the first size above ``length`` with an estimate of 0.

    >>> until_empty(np.array([0.0, 0.0, 0.5, 0.25, 0.0, 0.25]), 2).tolist()
    [0.0, 0.0, 0.5, 0.25]
    """
    empty = np.flatnonzero(sizes[length + 1 :] <= 0)
    return sizes[: length + 1 + int(empty[0])] if len(empty) else sizes


def lost_by_sampling(sizes: Floats, length: int) -> float:
    """Return the correction factor for baskets longer than ``length`` (WLJ18, section V-C, step 4).

    Args:
        sizes: shares of baskets of 0, 1, … items, (sizes,).
        length: number of items that one report represents.

    >>> lost_by_sampling(np.array([0.0, 0.5, 0.0, 0.5]), 1)
    2.0
    """
    counts = np.arange(len(sizes))
    counted = float(sizes @ np.minimum(counts, length))
    return float(sizes @ counts) / counted if counted > 0 else 1.0


# ---- SVSM


def guess_itemsets(known: _Known, top: int, wanted: int, settings: SvsmSettings) -> list[Itemset]:
    """Return the itemsets of at least two items with the largest expected supports (WLJ18, section VI-A).

    The expected support is the product of shrink · support / largest support over the items of the set. Only the first
    ``top`` items are used.
    """
    order = np.argsort(-known.supports, kind="stable")[:top]
    order = order[known.supports[order] > 0]
    if len(order) < 2:
        return []
    weights = settings.shrink * known.supports[order] / known.supports[order[0]]
    sets, guesses = np.arange(len(order))[:, None], weights
    levels = []
    for _ in range(settings.largest - 1):
        sets, guesses = _extend(sets, guesses, weights, wanted)
        levels.append((sets, guesses))
    all_guesses = np.concatenate([guesses for _, guesses in levels])
    rows = [row for sets, _ in levels for row in known.items[order[sets]].tolist()]
    return sorted(tuple(sorted(rows[place])) for place in np.argsort(-all_guesses, kind="stable")[:wanted])


def _extend(sets: NDArray[np.int64], guesses: Floats, weights: Floats, wanted: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the best sets with one more item, as places in the decreasing ``weights``, int64 (at most wanted, k + 1).

    A set without its lightest item has a larger product. So a set can be among the best only if that subset is.
    """
    products = guesses[:, None] * weights
    products[np.arange(len(weights)) <= sets[:, -1:]] = -1.0
    best = np.argsort(-products, axis=None, kind="stable")[:wanted]
    best = best[products.ravel()[best] > 0]
    which, added = np.divmod(best, len(weights))
    return np.column_stack((sets[which], added)), products.ravel()[best]


def holding(transactions: Transactions, itemsets: Sequence[Itemset]) -> Transactions:
    """Return the numbers of the itemsets in every basket, as transactions over itemsets."""
    items = np.unique(np.concatenate([np.array(itemset, dtype=np.int64) for itemset in itemsets]))
    held = transactions.restricted(items).matrix()
    rows = [np.searchsorted(items, itemset) for itemset in itemsets]
    baskets = [np.flatnonzero(held[row].all(axis=0)) for row in rows]
    sizes = np.bincount(np.concatenate(baskets), minlength=len(transactions))
    offsets = offsets_of(sizes)
    flat = np.empty(offsets[-1], dtype=np.int64)
    free = offsets[:-1].copy()
    for number, members in enumerate(baskets):
        flat[free[members]] = number
        free[members] += 1
    return Transactions(offsets, flat, len(itemsets), transactions.name)
