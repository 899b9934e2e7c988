"""Synthetic holdings: which entries of a later round's catalogue a basket holds, drawn from estimates alone.

No basket is seen: items are drawn along the tree of the strongest pairs that are known of (Chow and Liu 1968).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.rounds.knowledge import Itemset, Knowledge, measured
from assocpriv.server.rounds.sampling_model import Sampling, SizeShares, shares_from_dummies

Floats = NDArray[np.float64]
_BASKETS = 20_000
_MOST_TILT = 3.0


@dataclass(frozen=True)
class SyntheticHoldings:
    """Which entries synthetic baskets hold, bool (baskets, entries), and what each counts for, float64 (baskets,)."""

    holds: NDArray[np.bool_]
    weights: Floats

    @classmethod
    def of(cls, entries: Sequence[Itemset], known: Knowledge, sizes: SizeShares) -> "SyntheticHoldings":
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

    def surviving(self, sampling: Sampling, cumulative: Floats) -> Floats:
        """Return the share of each entry's support that is left after sampling those held, float64 (entries,).

        ``cumulative`` are P(≤ 0 held), … P(≤ m − 1 held), which the synthetic baskets are weighted to meet, the mean
        staying as it is; with blocks these are numbers within a block, and not looked at.
        """
        m, counts = sampling.m, self.holds.sum(axis=1)
        weights, by_entry = self.weights, self.holds.T.astype(np.float64)
        if sampling.pieces == 1:
            wanted = shares_from_dummies(cumulative, SizeShares(np.array([m]), np.ones(1))).shares
            weights = _weights(np.minimum(counts, m), self.weights, wanted)
            long, mean = counts >= m, self.weights @ counts / self.weights.sum()
            rest = mean * weights.sum() - weights[~long] @ counts[~long]
            if weights[long].sum() > 0:
                weights[long] = _tilted(weights[long], counts[long], rest / weights[long].sum())
        total = by_entry @ weights
        sizes, place = np.unique(counts, return_inverse=True)
        left = by_entry @ (weights * sampling.kept(np.maximum(sizes, 1), 1)[place])
        shares: Floats = np.where(total > 0, left / np.maximum(total, 1e-12), 1.0)
        return np.clip(shares, 0.1, 1.0)


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


def _weights(values: NDArray[np.int64], weights: Floats, wanted: NDArray[Any]) -> Floats:
    """Return weights, of the same sum, under which small whole numbers have about the shares wanted."""
    shares = np.bincount(values, weights, minlength=len(wanted)) / weights.sum()
    factors = np.clip(wanted / np.maximum(shares, 1e-4), 0.1, 10.0)
    result: Floats = weights * factors[values]
    result *= weights.sum() / result.sum()
    return result


def surviving_entries(
    own: Mapping[frozenset[str], float], others: Mapping[frozenset[str], float], sizes: SizeShares, m: int
) -> Floats:
    """Return the share of each entry's support that sampling to m entries left, where entries are itemsets.

    ``own`` are estimates of the entries themselves, ``others`` what other tables say; sizes are those of whole baskets.
    """
    if not own:
        return np.ones(0)
    names = sorted({name for entry in own for name in entry})
    number = {name: place for place, name in enumerate(names)}
    known: Knowledge = {
        tuple(sorted(number[name] for name in itemset)): measured(support, 0.0)
        for itemset, support in {**own, **others}.items()
        if itemset <= number.keys()
    }
    for name, place in number.items():
        if (place,) not in known:  # at least as frequent as what it is part of
            known[place,] = measured(max(support for itemset, support in own.items() if name in itemset), 0.0)
    entries = [tuple(sorted(number[name] for name in entry)) for entry in own]
    holdings = SyntheticHoldings.of(entries, known, sizes)
    counts = np.bincount(np.minimum(holdings.holds.sum(axis=1), m), holdings.weights, minlength=m + 1)
    return holdings.surviving(Sampling(m), np.cumsum(counts)[:m] / counts.sum())


def _tree_baskets(items: list[int], known: Knowledge, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
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
