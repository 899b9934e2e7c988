"""Rounds of releases: noisy counts of baskets, in place of reports, with the same questions and answers as rounds.py.

A stage of a release (files/releases.py) is a round: it has its own M, basket-size distribution and items. Its estimates
are noisy counts over the noisy number of baskets, whose errors add up. Large baskets count with known weights, which
take the place of the probability that truncation keeps an itemset (estimation/truncation.py). Supports are those of the
baskets released, which are no sample of others.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.size_distribution import SizeDistribution, fit_size_distribution
from assocpriv.files.releases import SCALE, Release, ReleasedLevel, basket_weights
from assocpriv.kernels.itemset_counts import find_itemsets
from assocpriv.server.baskets.counting import MOST_CANDIDATES, Part, Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampledEstimate:
    """Estimates within truncated baskets, float64 (itemsets,); ``available``: where there are any, bool (itemsets,)."""

    support: Floats
    available: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ReleaseBackend:
    """A release that can be mined as a collection of reports."""

    plan: Release
    most_candidates: int = MOST_CANDIDATES

    def open(self, part: Part, report_type: object = None) -> Source:
        """Refuse to count reports, of which a release has none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ReleasedRound:
    """A stage of a release; ``entries`` are the release's ids by the items' ids, −1 where it lacks the item."""

    levels: dict[int, ReleasedLevel]
    transaction_size: int
    n_baskets: int
    relative_error: float
    squared: bool
    sizes: SizeDistribution
    entries: Ints
    itemset_size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "itemset_size", max(self.levels))

    def item_sums(self) -> Ints:
        """Return C_0 and C_1 of each item, int64 (items, 2)."""
        return self._sums(np.arange(len(self.entries), dtype=np.int64)[:, None])

    def count_subsets(self, itemsets: Ints, parents: Ints, smaller: Ints) -> Ints:  # noqa: ARG002 -- as rounds.py
        """Return sums of counts, of which only the last, that of the itemset, is used; int64 (itemsets, k + 1)."""
        return self._sums(itemsets)

    def _sums(self, itemsets: Ints) -> Ints:
        sums = np.zeros((len(itemsets), itemsets.shape[1] + 1), dtype=np.int64)
        sums[:, 0], places = self.n_baskets, self._places(self.entries[itemsets])
        if (known := places >= 0).any():
            sums[known, -1] = self.levels[itemsets.shape[1]].counts[places[known]]
        return sums

    def _places(self, entries: Ints) -> Ints:
        """Return the rows of itemsets in the release, −1 where it does not count them, int64 (itemsets,)."""
        level = self.levels.get(entries.shape[1])
        if level is None:
            return np.full(len(entries), -1, dtype=np.int64)
        rows = np.sort(entries, axis=1)
        return np.where(rows[:, 0] < 0, -1, find_itemsets(level.itemsets, np.maximum(rows, 0)))

    def estimate(self, itemsets: Ints, subset_sums: Ints) -> SampledEstimate:
        """Return unbiased estimates of supports within truncated baskets."""
        available = self.covers(self.entries[itemsets])
        return SampledEstimate(np.where(available, subset_sums[:, -1] / (SCALE * self.n_baskets), 0.0), available)

    def variances(self, within: Floats) -> Floats:
        """Return the variances of such estimates at supports S_0 … S_k, (itemsets, k + 1), of which S_k matters."""
        k, supports = within.shape[1] - 1, np.clip(within[:, -1], 0.0, 1.0)
        noise = self.levels[k].noise.variance / (SCALE * self.n_baskets) ** 2 if k in self.levels else 1.0
        return np.asarray(noise + (supports * self.relative_error) ** 2)

    def kept(self, k: int) -> Floats:
        """Return κ, the weight of k-itemsets by the sizes of :attr:`sizes`, float64 (sizes,)."""
        return basket_weights(self.sizes.sizes, self.transaction_size, k, squared=self.squared) / SCALE

    def estimate_small(self) -> None:
        """Return None: a release does not count items by basket sizes."""

    def covers(self, entries: Ints) -> NDArray[np.bool_]:
        """Return which itemsets the release counts."""
        return np.asarray(self._places(entries) >= 0)


def rounds_of_release(release: Release, entries: Ints) -> list[ReleasedRound]:
    """Return a round for each stage; ``entries`` as of :class:`ReleasedRound`."""
    error = np.sqrt(release.total_noise.variance) / release.n_baskets
    return [
        ReleasedRound(
            {level.itemsets.shape[1]: level for level in stage.levels}, stage.transaction_size, release.n_baskets,
            float(error), release.is_gaussian, _fit_sizes(release, number), entries,
        )
        for number, stage in enumerate(release.stages)
    ]  # fmt: skip


def _fit_sizes(release: Release, number: int) -> SizeDistribution:
    stage, largest = release.stages[number], release.largest_basket(number)
    m, bounds = stage.transaction_size, stage.size_bounds
    shares = stage.size_counts / release.n_baskets
    error = float(np.sqrt(stage.size_noise.variance)) / release.n_baskets
    if m >= largest:
        held = np.maximum(shares, 0.0)
        return SizeDistribution(bounds, held[None] / max(held.sum(), 1e-12))
    small = int(np.searchsorted(bounds, m))
    below = np.tri(small)
    return fit_size_distribution(
        below @ shares[:small], error**2 * below @ below.T, shares[small:], np.full(len(bounds) - small, error),
        bounds[small:], largest,
    )  # fmt: skip
