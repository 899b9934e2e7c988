"""What the accuracy bench mines: public and generated baskets as plain arrays, and their exact top itemsets.

Public files are looked for in ../shared/data beside the clone. Small ones are resampled to a million baskets, the size
at which local privacy begins to tell something; their truth is that of the resampled baskets. Data that settings are
chosen on (:data:`TUNING`) are none of those that results are reported on (:data:`REPORTED`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from assocpriv.records.baskets import Baskets
from bench.speed.datasets import shared_file

MILLION = 10**6
LARGEST = 4  # items of an itemset that counts
Itemset = tuple[int, ...]


class MissingDataError(LookupError):
    """A public data set is not in the folder beside the clone."""


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """Baskets of item ids, one after the other.

    Attributes:
        offsets: int64 (n + 1,), from 0 on; basket t is items[offsets[t] : offsets[t + 1]].
        items: int64, ids 0 … n_items − 1, strictly increasing within each basket.
        n_items: number of ids there may be.
        name: of the data set.
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
        """Return some baskets, numbers int64 (taken,), in their order and as often as they are named."""
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
        """Return who holds what, bool (n_items, n)."""
        held = np.zeros((self.n_items, len(self)), dtype=np.bool_)
        held[self.items, np.repeat(np.arange(len(self)), self.sizes)] = True
        return held

    def item_counts(self) -> NDArray[np.int64]:
        """Return how many baskets hold each item, int64 (n_items,)."""
        return np.bincount(self.items, minlength=self.n_items).astype(np.int64)


def offsets_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where baskets of given sizes begin and end, int64 (n + 1,)."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def resampled(transactions: Transactions, n: int, seed: int) -> Transactions:
    """Draw n baskets with replacement."""
    return transactions.take(np.random.default_rng(seed).integers(len(transactions), size=n))


# ---- where data come from


def from_file(name: str) -> Transactions:
    """Read a public data set; ids are renumbered where some do not occur.

    Raises:
        MissingDataError: the file is not there.
    """
    from assocpriv.baskets import read_baskets

    path = shared_file(name)
    if path is None:
        raise MissingDataError(f"{name} is not in the folder shared/data beside the clone")
    return from_baskets(read_baskets(path, repeats="merge", empty="keep"), name.split(".", maxsplit=1)[0])


def from_baskets(baskets: Baskets, name: str) -> Transactions:
    """Take the package's baskets over; a file's numbers that no basket holds are no items of its catalogue."""
    used, items = np.unique(baskets.items, return_inverse=True)
    return Transactions(baskets.offsets, items.astype(np.int64), len(used), name)


def million_of(file: str) -> Transactions:
    """Return a public data set resampled to a million baskets."""
    return resampled(from_file(file), MILLION, seed=0)


def generated(n: int, mean_size: float, seed: int, name: str, items: int = 1_000) -> Transactions:
    """Generate retail-like baskets whose wanted sizes follow a Poisson law."""
    from assocpriv.lab.synthetic import QuestSettings, generate_quest

    baskets = generate_quest(QuestSettings(n_baskets=n, n_items=items, mean_size=mean_size, seed=seed))
    return Transactions(baskets.offsets, baskets.items, items, name)


def generated_fixed(n: int = MILLION, size: int = 5, seed: int = 1) -> Transactions:
    """Generate baskets of exactly ``size`` items: of the generator's baskets those that happen to have that size."""
    source = generated(2 * n, float(size), seed, f"fixed-{size}")
    exact = np.flatnonzero(source.sizes == size)
    return source.take(np.resize(exact, n))  # about one in six; they come again until there are enough


def generated_mixed(n: int = MILLION, seed: int = 11, name: str = "mixed") -> Transactions:
    """Generate small, middling and large baskets: three kinds of shoppers with habits of their own."""
    kinds = ((n // 2, 2.0), (n - n // 2 - n // 5, 5.0), (n // 5, 12.0))
    parts = [generated(count, mean, seed + kind, name) for kind, (count, mean) in enumerate(kinds)]
    sizes = np.concatenate([part.sizes for part in parts])
    return Transactions(offsets_of(sizes), np.concatenate([part.items for part in parts]), parts[0].n_items, name)


REPORTED: dict[str, Callable[[], Transactions]] = {
    "T5N1D1800": partial(from_file, "T5N1D1800.dat.gz"),
    "retail-1e6": partial(million_of, "retail.dat"),
    "BMS-WebView-1-1e6": partial(million_of, "BMS-WebView-1.dat"),
    "online-retail-1e6": partial(million_of, "online-retail.dat"),
    "msweb-1e6": partial(million_of, "msweb.dat"),
    "retail": partial(from_file, "retail.dat"),
    "BMS-WebView-1": partial(from_file, "BMS-WebView-1.dat"),
    "online-retail": partial(from_file, "online-retail.dat"),
    "msweb": partial(from_file, "msweb.dat"),
    "fixed-5": generated_fixed,
    "mixed": generated_mixed,
}
TUNING: dict[str, Callable[[], Transactions]] = {
    "groceries-1e6": partial(million_of, "groceries.csv"),
    "T10I4D100K-1e6": partial(million_of, "T10I4D100K.dat"),
    "quest-tuning": partial(generated, MILLION, 4.0, 101, "quest-tuning", items=2_000),
}


@lru_cache(maxsize=2)
def load(name: str) -> Transactions:
    """Return a data set by its name; the latest are kept.

    Raises:
        MissingDataError: its file is not there.
    """
    made = (REPORTED | TUNING)[name]()
    return Transactions(made.offsets, made.items, made.n_items, name)


# ---- the truth


@lru_cache(maxsize=4)
def true_itemsets(transactions: Transactions, k: int, largest: int = LARGEST) -> dict[Itemset, float]:
    """Return all itemsets of up to ``largest`` items that are at least as frequent as the k-th itemset is, or more.

    Returns:
        {itemset: support in whole baskets}, the most frequent first, of equals the smaller and then the
        lexicographically first. All itemsets above some support are there, at least k if there are that many.
    """
    counts = np.sort(transactions.item_counts())[::-1]
    least = max(int(counts[min(k, len(counts)) - 1]), 1)  # k items are k itemsets already
    found = _mined(transactions, least, largest)
    while len(found) < k and least > 1:
        least = max(1, least * 2 // 3)
        found = _mined(transactions, least, largest)
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0])))


def _mined(transactions: Transactions, least: int, largest: int) -> dict[Itemset, float]:
    """Return the itemsets held by ``least`` baskets or more, counted level by level."""
    from assocpriv.lab.simulate import PlainCounter
    from assocpriv.server.itemsets.apriori import join_candidates

    items = np.flatnonzero(transactions.item_counts() >= least)  # bitmaps of all items would take gigabytes
    few = transactions.restricted(items)
    counter = PlainCounter(few.offsets, few.items, few.n_items)
    found: dict[Itemset, float] = {}
    level = np.arange(len(items))[:, None]
    while len(level):
        counts = counter.count(level)
        level, counts = level[counts >= least], counts[counts >= least]
        shares = (counts / len(few)).tolist()
        found.update(zip(map(tuple, items[level].tolist()), shares, strict=True))
        level = join_candidates(level, len(items)) if level.shape[1] < largest else level[:0]
    return found


def true_top(transactions: Transactions, k: int, largest: int = LARGEST) -> dict[Itemset, float]:
    """Return the k most frequent itemsets with their supports in whole baskets, in the order of their ranks."""
    return dict(list(true_itemsets(transactions, k, largest).items())[:k])
