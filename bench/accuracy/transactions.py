"""Baskets as plain arrays, the input of methods in the accuracy bench."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Itemset = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """Baskets of item ids, one after the other.

    Attributes:
        offsets: int64 (n + 1,), starting at 0; basket t is items[offsets[t] : offsets[t + 1]].
        items: int64, ids 0 … n_items − 1, strictly increasing within each basket.
        n_items: number of possible ids.
        name: name of the data set.
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.int64]
    n_items: int
    name: str = ""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items of each basket, int64 (n,)."""
        return np.diff(self.offsets)

    def take(self, baskets: NDArray[np.int64]) -> "Transactions":
        """Return the baskets with these numbers, int64 (taken,), in this order and with repetitions."""
        sizes = self.sizes[baskets]
        offsets = offsets_of(sizes)
        places = np.repeat(self.offsets[baskets] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Transactions(offsets, self.items[places], self.n_items, self.name)

    def restricted(self, items: NDArray[np.int64]) -> "Transactions":
        """Keep only some items, increasing int64 (kept,), and number them 0, 1, … in that order."""
        number = np.full(self.n_items, -1, dtype=np.int64)
        number[items] = np.arange(len(items))
        numbers = number[self.items]
        kept = numbers >= 0
        before = np.concatenate(([0], np.cumsum(kept)))
        return Transactions(before[self.offsets], numbers[kept], len(items), self.name)

    def matrix(self) -> NDArray[np.bool_]:
        """Return which baskets hold which items, bool (n_items, n)."""
        held = np.zeros((self.n_items, len(self)), dtype=np.bool_)
        held[self.items, np.repeat(np.arange(len(self)), self.sizes)] = True
        return held

    def item_counts(self) -> NDArray[np.int64]:
        """Return the number of baskets with each item, int64 (n_items,)."""
        return np.bincount(self.items, minlength=self.n_items).astype(np.int64)


def offsets_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of baskets of given sizes, int64 (n + 1,)."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def resampled(transactions: Transactions, n: int, seed: int) -> Transactions:
    """Draw n baskets with replacement."""
    return transactions.take(np.random.default_rng(seed).integers(len(transactions), size=n))
