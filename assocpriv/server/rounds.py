"""Supports of whole baskets, of a mined table and of reports of sizes; synthetic holdings.

Sees mined tables only. A distribution of sizes (of a sizes plan's table) allows to correct a table's supports for what
sampling lost. The correction is a model. Up to about half of it may be wrong, in either direction: hence model_error.

**Synthetic holdings** say which entries of a later round's catalogue a basket holds, drawn from estimates alone. No
basket is seen: items are drawn along the tree of the strongest pairs that are known of (Chow and Liu 1968).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import EstimateError
from assocpriv.server import posterior
from assocpriv.server.itemsets import CORRECTED, MiningFacts, mining_facts, with_facts
from assocpriv.server.supports import sampling_variance
from assocpriv.server.undo_sampling import LEFT_BIAS, Histogram, Sampling, SizeShares, support_bounds, undo_sampling

if TYPE_CHECKING:
    import pandas as pd


Floats = NDArray[np.float64]
_LEAST_VARIANCE = 1e-18  # where reports are not noisy at all
# Of what undoing the sampling of entries changes, this much may be wrong, as a weight beside noise. On 15 generated
# sets of seven families (300,000 people, ln 19 and 1, one seed) the root mean square error of the true top 64 was .15
# to .7 of it where it was half a standard error or more, and .5 to 4.4 before reports weighed the baskets. With .5 a
# pattern's estimates counted for too little: on 11 sets precision .716 against .744.
_BASKETS = 20_000
_MOST_TILT = 3.0


# ---- sizes


def histogram_of_table(frame: "pd.DataFrame") -> Histogram:
    """Return the histogram of baskets' sizes that a mined table of a sizes plan shows, its errors for the population.

    Buckets that are not in the table were below its minimum support: they share what the others leave of 1, each with
    an error of half that minimum and the largest of the others' together.

    Raises:
        EstimateError: not the table of a sizes plan, or an empty one.
    """
    facts = mining_facts(frame)
    buckets, least = facts.buckets, facts.min_support
    if not isinstance(buckets, dict) or not _are_bounds(list(buckets.values())):
        raise EstimateError(
            "the histogram must be a mined table of a sizes plan (plan --histogram); this one is of another plan"
        )
    rows = zip(frame["support"].tolist(), np.sqrt(_population_variance(frame, facts)).tolist(), strict=True)
    support = {name: row for (name,), row in zip(frame["itemsets"], rows, strict=True)}
    if not support or not support.keys() <= buckets.keys():
        raise EstimateError(
            "the histogram shows none of its plan's buckets; mine its reports with a minimum support that they can "
            "decide (mine tells which), or ask more people"
        )
    missing = len(buckets) - len(support)
    rest = max(0.0, 1 - sum(share for share, _ in support.values()))
    unseen = (min(rest / missing, least) if missing else 0.0, least / 2 + max(error for _, error in support.values()))
    shares, errors = np.array([support.get(name, unseen) for name in buckets], dtype=np.float64).T
    return Histogram(np.array(list(buckets.values()), dtype=np.int64), shares, errors)


def sizes_of_table(frame: "pd.DataFrame") -> SizeShares:
    """Return the smooth distribution of sizes nearest to a mined histogram (:func:`histogram_of_table`)."""
    return histogram_of_table(frame).fitted()


def _are_bounds(bounds: list[Any]) -> bool:
    return all(type(bound) is int for bound in bounds) and bounds[:1] == [0] and bounds == sorted(set(bounds))


def check_correctable(view: str, *, blocks: bool = False) -> None:
    """Refuse a plan whose supports no histogram corrects, as EstimateError; ``view`` is what it asks for."""
    if view != "items":
        raise EstimateError("a histogram corrects supports of itemsets of items; this plan asks for something else")
    if blocks:
        raise EstimateError(
            "a histogram of baskets' sizes says nothing of what a block holds; these reports themselves tell what was "
            "lost (sampling_loss), so leave the histogram out"
        )


def sizes_held(frame: "pd.DataFrame", sizes: SizeShares) -> SizeShares:
    """Return the distribution of the sizes of a table's transactions, before they were sampled, from whole baskets'.

    Where the plan drops other names they are thinned until the mean of min(size, M) is the table's; with blocks its
    supports are of whole transactions, and their mean size that of the table.
    """
    facts = mining_facts(frame)
    entries = _entries(facts)
    if facts.others != "drop":
        return sizes.capped(entries)
    from scipy.optimize import brentq

    support = frame.loc[frame["length"] == 1, "support"].to_numpy(np.float64)
    sampled_mean = float(np.clip(support[np.isfinite(support)], 0.0, 1.0).sum())

    def excess(mean: float) -> float:
        left = sizes.thinned(mean).capped(entries)
        shown = left.sizes if facts.blocks is not None else np.minimum(left.sizes, facts.transaction_size)
        return float(shown @ left.shares) - sampled_mean

    if sizes.mean <= 0 or excess(sizes.mean) <= 0:
        return sizes.capped(entries)
    return sizes.thinned(float(brentq(excess, 0.0, sizes.mean, xtol=1e-6))).capped(entries)


def _entries(facts: MiningFacts) -> int:
    """Return how many entries the catalogue has, which no transaction exceeds; many where that is not said."""
    if facts.blocks is not None:
        return facts.blocks.asked.n_items
    return next((level.candidates for level in facts.levels if level.size == 1), 1 << 30)


# ---- correction


def undo_table(frame: "pd.DataFrame", sizes: SizeShares) -> tuple[Floats, Floats]:
    """Return a table's supports before transactions of these sizes were sampled, and the factors of their errors.

    Of a plan with blocks little was lost of what a block holds, and the table says itself how much: ``sampling_loss``.
    """
    if mining_facts(frame).blocks is not None:
        return (frame["support"] + frame["sampling_loss"]).to_numpy(np.float64), np.ones(len(frame))
    m, lengths = mining_facts(frame).transaction_size, frame["length"].to_numpy(np.int64)
    supports, factors = frame["support"].to_numpy(np.float64).copy(), np.ones(len(frame))
    for k in np.unique(lengths).tolist():
        rows = np.flatnonzero((lengths == k) & np.isfinite(supports))
        supports[rows], factors[rows] = undo_sampling(supports[rows], sizes, Sampling(m), k)
    return supports, factors


def correct_table(frame: "pd.DataFrame", histogram: Histogram) -> "pd.DataFrame":
    """Add to a mined table its supports before sampling, what is uncertain of them, and their bounds.

    Errors are for the population; ``model_error`` is half of the correction. Each itemset's
    bounds hold with the table's confidence level, whatever baskets hold: half of what may fail is the support's error,
    half the histogram's, of all sums of buckets together (Bonferroni). Where the plan drops other names, baskets may
    hold as few of its names as they like, so the low bound is the support as mined.
    """
    facts = mining_facts(frame)
    undone, factors = undo_table(frame, sizes_held(frame, histogram.fitted()))
    support, errors = frame["support"].to_numpy(np.float64), np.sqrt(_population_variance(frame, facts))
    miss = (1 - facts.errors.confidence_level) / 4  # of the bounds' two sides, by supports and by sizes
    reach, widened = (-NormalDist().inv_cdf(tail) for tail in (miss, miss / len(histogram.bounds)))
    between, lengths = (
        np.array([support - reach * errors, support + reach * errors]),
        frame["length"].to_numpy(np.int64),
    )
    ends = np.clip(between, 0.0, 1.0)
    for k in np.unique(lengths).tolist():
        rows = lengths == k
        low, high = between[:, rows]
        ends[:, rows] = support_bounds((low, high), histogram, facts.transaction_size, k, errors=widened)
    if facts.others == "drop":
        ends[0] = np.clip(between[0], 0.0, 1.0)
    columns = undone, errors * factors, LEFT_BIAS * np.abs(undone - support), *ends
    return with_facts(frame.assign(**dict(zip(CORRECTED, columns, strict=True))), replace(facts, corrected=True))


def _population_variance(frame: "pd.DataFrame", facts: MiningFacts) -> Floats:
    variance = frame["std_error"].to_numpy(np.float64) ** 2
    if not facts.errors.population:
        variance = variance + sampling_variance(frame["support"].to_numpy(np.float64), facts.reports)
    result: Floats = np.maximum(variance, _LEAST_VARIANCE)
    return result


# ---- synthetic holdings


@dataclass(frozen=True)
class SyntheticHoldings:
    """Which entries synthetic baskets hold, bool (baskets, entries), and what each counts for, float64 (baskets,)."""

    holds: NDArray[np.bool_]
    weights: Floats

    @classmethod
    def of(
        cls, entries: Sequence[posterior.Itemset], known: posterior.Knowledge, sizes: SizeShares
    ) -> "SyntheticHoldings":
        """Draw baskets of the entries' items that hold as many entries as expected on average.

        ``sizes`` are those of whole baskets: where they say that long ones differ more than pairs tell, baskets have
        the sizes that follow.
        The mean number of entries that a basket holds is the sum of their supports, whatever goes with what.
        """
        items = sorted({item for entry in entries for item in entry})
        rng = np.random.default_rng(0)  # nobody's baskets
        baskets = _tree_baskets(items, known, _BASKETS, rng)
        single = np.clip([known[item,].expected for item in items], 1e-5, 0.99)
        within = sizes.grouped().within(single)
        if within.variance > baskets.sum(axis=1).var():
            baskets = _of_sizes(baskets, single, within, rng)
        place = {item: column for column, item in enumerate(items)}
        holds = np.stack([baskets[:, [place[item] for item in entry]].all(axis=1) for entry in entries], axis=1)
        # shrunk supports of noisy items add up to too little
        supports = [known[entry].support if len(entry) == 1 else known[entry].expected for entry in entries]
        mean = float(np.clip(supports, 0.0, 1.0).sum())
        return cls(holds, _tilted(np.ones(_BASKETS), holds.sum(axis=1), mean))

    @property
    def sizes(self) -> SizeShares:
        """How many entries a basket holds."""
        shares = np.bincount(self.holds.sum(axis=1), self.weights)
        return SizeShares(np.arange(len(shares)), shares / shares.sum())


def _tree_baskets(
    items: list[int], known: posterior.Knowledge, count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
    from scipy.special import entr

    n = len(items)
    single = np.clip([known[item,].expected for item in items], 1e-5, 0.99)
    joint = np.outer(single, single)
    for (a, i), (b, j) in combinations(enumerate(items), 2):
        if (i, j) in known:
            joint[a, b] = joint[b, a] = known[i, j].expected
    lowest = np.maximum(single[:, None] + single[None, :] - 1, 0)
    joint = np.clip(joint, lowest, np.minimum(single[:, None], single[None, :]))
    left, right = single[:, None], single[None, :]
    cells, sides = (joint, left - joint, right - joint, 1 - left - right + joint), (left, 1 - left, right, 1 - right)
    uncertainty = sum(entr(cell.clip(1e-15)) for cell in cells)
    for side in sides:
        uncertainty = uncertainty - entr(side.clip(1e-15))
    distance = 1.0 - np.clip(-uncertainty, 0.0, 0.999)
    np.fill_diagonal(distance, 0.0)
    root = int(single.argmax())
    order, before = breadth_first_order(minimum_spanning_tree(csr_array(distance)), root, directed=False)
    baskets = np.zeros((count, n), dtype=np.bool_)
    for item in order:
        if item == root:
            baskets[:, item] = rng.random(count) < single[root]
            continue
        parent = before[item]
        with_it = joint[parent, item] / single[parent]
        without = np.clip((single[item] - joint[parent, item]) / (1 - single[parent]), 0.0, 1.0)
        baskets[:, item] = rng.random(count) < np.where(baskets[:, parent], with_it, without)
    return baskets


def _tilted(weights: Floats, values: NDArray[np.int64], mean: float) -> Floats:
    """Return weights times e^(θ·value), of the same sum, under which values have a mean if θ need not go far."""
    scale = max(float(values.std()), 1e-9)

    def tilted(theta: float) -> Floats:
        tilt: Floats = weights * np.exp(np.clip(theta * (values - values.mean()) / scale, -50.0, 50.0))
        tilt *= weights.sum() / tilt.sum()
        return tilt

    low, high = -_MOST_TILT, _MOST_TILT
    for _ in range(40):
        middle = (low + high) / 2
        if tilted(middle) @ values < mean * weights.sum():
            low = middle
        else:
            high = middle
    return tilted((low + high) / 2)


def _of_sizes(
    baskets: NDArray[np.bool_], single: Floats, sizes: SizeShares, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return baskets of these sizes, the longest as the longest: items are added, or left out, as they are popular."""
    quantiles = (np.arange(len(baskets)) + 0.5) / len(baskets)
    place = np.minimum(np.searchsorted(np.cumsum(sizes.shares), quantiles), len(sizes.sizes) - 1)
    wanted = np.empty(len(baskets), dtype=np.int64)
    wanted[np.argsort(baskets.sum(axis=1) + rng.random(len(baskets)))] = sizes.sizes[place]
    keys = np.log(single / (1 - single)) + rng.gumbel(size=baskets.shape) + 1e3 * baskets
    ranks = np.empty(baskets.shape, dtype=np.int64)
    np.put_along_axis(ranks, np.argsort(-keys, axis=1), np.arange(baskets.shape[1])[None, :], axis=1)
    held: NDArray[np.bool_] = ranks < wanted[:, None]
    return held
