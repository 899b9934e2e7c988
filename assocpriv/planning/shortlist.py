"""The entries of a later round: what may belong to the wanted itemsets, and how many entries a basket holds.

No basket is seen: which entries baskets hold is drawn from a tree of the strongest pairs that is known of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.rounds import Schedule
from assocpriv.server.rounds.knowledge import Itemset, Knowledge, ranked
from assocpriv.server.rounds.sampling_model import SizeShares, shares_from_dummies

Floats = NDArray[np.float64]


def shortlist(known: Knowledge, wanted: int, schedule: Schedule) -> list[int]:
    """Return the items that may belong to the wanted itemsets, increasing."""
    singles: Knowledge = {itemset: value for itemset, value in known.items() if len(itemset) == 1}
    order = ranked(singles, len(singles))
    last = singles[order[min(wanted, len(order)) - 1]]
    least = last.support - schedule.within * last.variance**0.5
    near = sum(singles[itemset].support >= least for itemset in order)
    count = min(max(near, round(schedule.shortlist * wanted)), round(schedule.most * wanted))
    return sorted(item for (item,) in order[:count])


@dataclass(frozen=True)
class Held:
    """Which entries synthetic baskets hold, made of what is known; bool (baskets, entries)."""

    holds: NDArray[np.bool_]

    @property
    def sizes(self) -> SizeShares:
        """How many entries a basket holds."""
        counts = np.bincount(self.holds.sum(axis=1))
        return SizeShares(np.arange(len(counts)), counts / counts.sum())

    def kept(self, m: int, cumulative: Floats) -> Floats:
        """Return the share of each entry's support that sampling m of the entries held leaves, float64 (entries,).

        Args:
            m: entries that are sampled.
            cumulative: estimates of P(≤ 0 held), … P(≤ m − 1 held), which the synthetic baskets are weighted to meet.
        """
        held = self.holds.sum(axis=1)
        wanted = shares_from_dummies(cumulative, SizeShares(np.array([m]), np.ones(1))).shares
        have = np.bincount(np.minimum(held, m), minlength=m + 1) / len(held)
        weights = np.clip(wanted / np.maximum(have, 1e-4), 0.1, 10.0)[np.minimum(held, m)]
        kept = np.minimum(1.0, m / np.maximum(held, 1))
        total = self.holds.T.astype(np.float64) @ weights
        left = self.holds.T.astype(np.float64) @ (weights * kept)
        shares: Floats = np.where(total > 0, left / np.maximum(total, 1e-12), 1.0)
        return np.clip(shares, 0.1, 1.0)


def held_entries(entries: Sequence[Itemset], known: Knowledge, sizes: SizeShares, count: int = 20_000) -> Held:
    """Return which entries synthetic baskets hold: items drawn along the tree of the strongest pairs (Chow and Liu).

    The baskets are then drawn again so that their sizes are the estimated ones.
    """
    items = sorted({item for entry in entries for item in entry})
    rng = np.random.default_rng(0)  # nobody's baskets
    baskets = _tree_baskets(items, known, count, rng)
    have = np.bincount(np.minimum(baskets.sum(axis=1), 15), minlength=16) / count
    wanted = np.bincount(np.minimum(sizes.sizes, 15), sizes.shares, minlength=16)
    weights = np.clip(wanted / np.maximum(have, 1e-4), 0.1, 10.0)[np.minimum(baskets.sum(axis=1), 15)]
    baskets = baskets[rng.choice(count, count, p=weights / weights.sum())]
    place = {item: column for column, item in enumerate(items)}
    return Held(np.stack([baskets[:, [place[item] for item in entry]].all(axis=1) for entry in entries], axis=1))


def _tree_baskets(items: list[int], known: Knowledge, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    n = len(items)
    single = np.clip([known[item,].expected for item in items], 1e-5, 0.99)
    joint = np.outer(single, single)
    for (a, i), (b, j) in combinations(enumerate(items), 2):
        if (i, j) in known:
            joint[a, b] = joint[b, a] = known[i, j].expected
    lowest = np.maximum(single[:, None] + single[None, :] - 1, 0)
    joint = np.clip(joint, lowest, np.minimum(single[:, None], single[None, :]))
    left, right = single[:, None], single[None, :]
    information = (
        _xlogx(joint) + _xlogx(left - joint) + _xlogx(right - joint) + _xlogx(1 - left - right + joint)
        - _xlogx(left) - _xlogx(1 - left) - _xlogx(right) - _xlogx(1 - right)
    )  # fmt: skip
    distance = 1.0 - np.clip(information, 0.0, 0.999)
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


def _xlogx(values: Floats) -> Floats:
    from scipy.special import xlogy

    clipped = values.clip(1e-15)
    result: Floats = xlogy(clipped, clipped)
    return result
