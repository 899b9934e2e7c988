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
from assocpriv.server.rounds.sampling_model import SizeShares, shares_from_dummies

Floats = NDArray[np.float64]
_BASKETS = 20_000
_LARGEST_SIZE = 15  # of items held; larger ones are weighted alike


@dataclass(frozen=True)
class SyntheticHoldings:
    """Which entries synthetic baskets hold; bool (baskets, entries)."""

    holds: NDArray[np.bool_]

    @classmethod
    def of(cls, entries: Sequence[Itemset], known: Knowledge, sizes: SizeShares) -> "SyntheticHoldings":
        """Draw baskets of the entries' items, and again so that their sizes are the estimated ones."""
        items = sorted({item for entry in entries for item in entry})
        rng = np.random.default_rng(0)  # nobody's baskets
        baskets = _tree_baskets(items, known, _BASKETS, rng)
        wanted = np.bincount(np.minimum(sizes.sizes, _LARGEST_SIZE), sizes.shares, minlength=_LARGEST_SIZE + 1)
        weights = _weights(np.minimum(baskets.sum(axis=1), _LARGEST_SIZE), wanted)
        baskets = baskets[rng.choice(_BASKETS, _BASKETS, p=weights / weights.sum())]
        place = {item: column for column, item in enumerate(items)}
        return cls(np.stack([baskets[:, [place[item] for item in entry]].all(axis=1) for entry in entries], axis=1))

    @property
    def sizes(self) -> SizeShares:
        """How many entries a basket holds."""
        counts = np.bincount(self.holds.sum(axis=1))
        return SizeShares(np.arange(len(counts)), counts / counts.sum())

    def surviving(self, m: int, cumulative: Floats) -> Floats:
        """Return the share of each entry's support that is left after sampling m of those held, float64 (entries,).

        ``cumulative`` are P(≤ 0 held), … P(≤ m − 1 held), which the synthetic baskets are weighted to meet.
        """
        counts = self.holds.sum(axis=1)
        wanted = shares_from_dummies(cumulative, SizeShares(np.array([m]), np.ones(1))).shares
        weights, by_entry = _weights(np.minimum(counts, m), wanted), self.holds.T.astype(np.float64)
        total = by_entry @ weights
        left = by_entry @ (weights * np.minimum(1.0, m / np.maximum(counts, 1)))
        shares: Floats = np.where(total > 0, left / np.maximum(total, 1e-12), 1.0)
        return np.clip(shares, 0.1, 1.0)


def _weights(values: NDArray[np.int64], wanted: NDArray[Any]) -> Floats:
    """Return weights under which small whole numbers have the shares wanted, float64 (values,)."""
    shares = np.bincount(values, minlength=len(wanted)) / len(values)
    weights: Floats = np.clip(wanted / np.maximum(shares, 1e-4), 0.1, 10.0)[values]
    return weights


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
    mean = float(np.clip([known[place,].support for place in number.values()], 0.0, 1.0).sum())
    entries = [tuple(sorted(number[name] for name in entry)) for entry in own]
    holdings = SyntheticHoldings.of(entries, known, sizes.thinned(mean))
    counts = np.bincount(np.minimum(holdings.holds.sum(axis=1), m), minlength=m + 1)
    return holdings.surviving(m, np.cumsum(counts)[:m] / len(holdings.holds))


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
