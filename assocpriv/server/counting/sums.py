"""What counters of itemsets give to estimation: sums over subsets, and counts of every subset.

Where each report tells of every itemset, all that is needed follows from one count of each itemset, once it is known of
its subsets (:class:`CountsOfAll`). Where a report tells of a block alone it does not: a subset lies in more blocks, and
what is needed of it is counted in those blocks that hold the whole itemset (block_counter.py).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import AskedReports
from assocpriv.plans.transition import SupportModel


@dataclass(frozen=True, slots=True)
class Candidates:
    """Itemsets of one size in lexicographic order, int64 (itemsets, k), and what reports show of them.

    ``sums`` are C_0 … C_k, int64 (itemsets, k + 1): C_j sums, over an itemset's subsets of j items, how many reports
    show all of them; C_0 is how many tell of the itemset.
    """

    itemsets: NDArray[np.int64]
    sums: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.itemsets)

    def among(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> "Candidates":
        """Return some of them."""
        return Candidates(self.itemsets[chosen], self.sums[chosen])


class ItemsetCounter(Protocol):
    """Counts itemsets in reports.

    Itemsets are item ids, dummies included, int64 (itemsets, k), k ≥ 1, each row increasing, rows in lexicographic
    order.
    """

    @property
    def n_reports(self) -> int:
        """Number of reports N."""

    @property
    def blocks(self) -> AskedReports | None:
        """Of which itemsets the reports tell; None where each tells of all."""

    def sums(self, itemsets: NDArray[np.int64], smaller: Candidates, /) -> NDArray[np.int64]:
        """Return C_0 … C_k, int64 (itemsets, k + 1), given those of all subsets one smaller."""

    def subsets(self, itemsets: NDArray[np.int64], /) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Return c_D and N_D of all subsets D by mask, bit i being item i, int64 (itemsets, 2^k) each.

        c_D are reports that tell of the whole itemset and show all of D, N_D all reports that tell of D. Items here are
        in any order, and rows too.
        """


Source = tuple[ItemsetCounter, SupportModel]  # a counter of reports, and the model of their operator


class CountsOfAll(ABC):
    """A counter of reports that tell of every itemset; who derives from it counts."""

    blocks: ClassVar[None] = None

    @property
    @abstractmethod
    def n_reports(self) -> int:
        """Number of reports N."""

    @abstractmethod
    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of reports showing all items of each itemset, int64 (candidates,)."""

    def sums(self, itemsets: NDArray[np.int64], smaller: Candidates, /) -> NDArray[np.int64]:
        """Return C_0 … C_k from the sums of the (k−1)-subsets and one count of each itemset."""
        k = itemsets.shape[1]
        sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        for dropped in range(k):
            sums[:, :k] += smaller.sums[find_itemsets(smaller.itemsets, np.delete(itemsets, dropped, axis=1))]
        sums[:, :k] //= k - np.arange(k)  # exact: every subset of j items was met k − j times
        if len(itemsets) and self.n_reports:
            sums[:, k] = self.count(itemsets)
        return sums

    def subsets(self, itemsets: NDArray[np.int64], /) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return c_D of all subsets, each counted once however often it occurs; N_D is N."""
        k = itemsets.shape[1]
        counts = np.zeros((len(itemsets), 1 << k), dtype=np.int64)
        counts[:, 0] = self.n_reports
        for size in range(1, k + 1) if len(itemsets) else ():
            members = list(combinations(range(k), size))
            wanted = [np.sort(itemsets[:, chosen], axis=1) for chosen in members]
            distinct = np.unique(np.concatenate(wanted), axis=0)
            found = self.count(distinct)
            for chosen, rows in zip(members, wanted, strict=True):
                counts[:, sum(1 << i for i in chosen)] = found[find_itemsets(distinct, rows)]
        return counts, np.full_like(counts, self.n_reports)


def find_itemsets(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each wanted itemset, int64 (wanted, k), among those known, which are in order, else −1."""
    if not len(known) or not len(wanted):
        return np.full(len(wanted), -1, dtype=np.int64)
    base = int(max(known.max(initial=0), wanted.max(initial=0))) + 1
    wide = base ** known.shape[1] >= 2**63
    keys, sought = (_number(sets.astype(object) if wide else sets, base) for sets in (known, wanted))
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1).astype(np.int64)
    return np.where(keys[places] == sought, places, -1)


def _number(itemsets: NDArray[Any], base: int) -> NDArray[Any]:
    """Read each row as the digits of a number; the order is the lexicographic one."""
    numbers = np.zeros(len(itemsets), dtype=itemsets.dtype)
    for column in itemsets.T:
        numbers = numbers * base + column
    return numbers
