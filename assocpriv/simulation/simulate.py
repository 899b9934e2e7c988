"""The simulation of a plan on baskets at hand: both sides, beside the truth that only a simulation knows.

Baskets are randomized, their reports mined, and what was found is compared with the truth.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.transactions import BasketCounts, read_transactions
from assocpriv.files.reports import Reports
from assocpriv.kernels.parallel import add_up, default_memory
from assocpriv.planning.designs import MOST_REPORTS
from assocpriv.planning.sampling_loss import sampling_loss, warn_of_sampling
from assocpriv.plans.baskets import Plan
from assocpriv.plans.kind import shown_by
from assocpriv.promise.errors import options_of
from assocpriv.promise.numbers import check_range, check_whole
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.records.layout import ReadOptions
from assocpriv.records.sources import is_file
from assocpriv.server.bitmaps import SupersetCounter, items_of, places_in, transaction_rows
from assocpriv.server.counting import ItemsetCounter, LocalBackend, part_size
from assocpriv.server.itemsets import describe_limits, mining_facts
from assocpriv.server.mining import MiningRequest, mine
from assocpriv.server.search import join_candidates
from assocpriv.simulation.enumeration import source_of

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.catalogue import Catalogue


Progress = Callable[[str, int, int], None]


class PlainCounter(ItemsetCounter):
    """Counts itemsets over transactions that were not randomized (a counting backend for truths).

    Transaction t is items[offsets[t] : offsets[t+1]], ids below ``n_items``; both arrays int64.
    """

    def __init__(self, offsets: NDArray[np.int64], items: NDArray[np.int64], n_items: int) -> None:
        self._offsets, self._items, self._n_items = offsets, items, n_items

    @property
    def n_reports(self) -> int:
        """Number of transactions."""
        return len(self._offsets) - 1

    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of transactions holding all items of each itemset, int64 (candidates,)."""
        items = items_of(itemsets)
        supersets = SupersetCounter(places_in(items, itemsets), len(items))

        def count(offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[int]:
            return supersets.count_in_steps(transaction_rows(offsets, self._items, self._n_items, items), counts)

        size = part_size(self.n_reports, len(items), default_memory())
        parts = (self._offsets[start : start + size + 1] for start in range(0, self.n_reports, size))
        return add_up(count, parts, len(itemsets))


@dataclass(frozen=True)
class Truth:
    """Supports as they were before randomization, of whole baskets, or of what sampling left of them."""

    catalogue: "Catalogue"
    counter: PlainCounter

    def supports(self, itemsets: Iterable[frozenset[str]]) -> NDArray[np.float64]:
        """Return the true support of each itemset of names, float64 (itemsets,)."""
        listed = [sorted(self.catalogue.index_of[name] for name in itemset) for itemset in itemsets]
        supports = np.zeros(len(listed))
        for k in {len(row) for row in listed} - {0}:
            places = [place for place, row in enumerate(listed) if len(row) == k]
            rows = np.array([listed[place] for place in places], dtype=np.int64)
            order = np.lexsort(rows.T[::-1])
            supports[np.array(places)[order]] = self.counter.count(rows[order]) / self.counter.n_reports
        return supports

    def frequent(self, min_support: float, max_itemset: int) -> set[frozenset[str]]:
        """Return the itemsets of up to ``max_itemset`` items that are truly frequent."""
        found: set[frozenset[str]] = set()
        level = np.arange(len(self.catalogue), dtype=np.int64)[:, None]
        for k in range(1, max_itemset + 1):
            level = level[self.counter.count(level) >= min_support * self.counter.n_reports] if len(level) else level
            found |= {frozenset(self.catalogue[item] for item in row) for row in level.tolist()}
            if k < max_itemset:
                level = join_candidates(level)
        return found


@dataclass(frozen=True, repr=False)
class Simulation:
    """What a plan finds on given baskets, beside the truth.

    Attributes:
        itemsets: as :func:`assocpriv.mine` returns it, with ``true_support``, of whole baskets where these are told.
        missed: truly frequent itemsets that were not listed, with their true supports.
        sampled_baskets: baskets longer than M.
        seconds: time of each stage.
        found_count: truly frequent itemsets that were listed.
        false_count: listed itemsets whose true support is below the minimum.
        read: what was left out of the baskets, and how many hold how many items.
    """

    itemsets: "pd.DataFrame"
    missed: "pd.DataFrame"
    reports: Reports
    truth: Truth
    sampled_baskets: int
    seconds: dict[str, float]
    found_count: int
    false_count: int
    read: BasketCounts | None = None
    _repr_html_ = shown_by("assocpriv.show.audits:simulated")

    def __repr__(self) -> str:
        return f"Simulation({self.found_count} found, {self.missed_count} missed, {self.false_count} false)"

    @property
    def missed_count(self) -> int:
        """Truly frequent itemsets that were not listed."""
        return len(self.missed)


def simulate(
    baskets: Baskets,
    plan: Plan,
    min_support: "float | str | None" = None,
    *,
    max_itemset: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Randomize a plan's transactions, mine the reports and compare with the truth, as :func:`assocpriv.simulate`."""
    request = MiningRequest(min_support, max_itemset=max_itemset)
    largest = request.largest(plan)
    plan.check_batch(len(baskets), "simulated")
    clock, asked = [perf_counter()], plan.questions.index(plan.items)
    stage = partial(progress, "randomizing") if progress else None
    chunks = list(randomize_chunks(baskets, plan, entropy=source_of(seed), progress=stage))
    reports = Reports(plan, _stack([chunk.packed for chunk in chunks], plan.report_bytes))
    fitted = _stack([chunk.raw_fitted[asked] for chunk in chunks], plan.items.transaction_size)
    clock.append(perf_counter())
    mined = mine(LocalBackend.of(reports, progress=progress), request)
    facts = mining_facts(mined)
    clock.append(perf_counter())
    truth = Truth(plan.catalogue, _whole(baskets, plan) if facts.whole else _sampled(fitted, plan))
    itemsets = mined.assign(true_support=truth.supports(mined["itemsets"]))
    listed, truly = itemsets["listed"], itemsets["true_support"] >= facts.min_support
    missed = _missed(truth, set(itemsets["itemsets"][listed]), facts.min_support, largest)
    found, false = int((listed & truly).sum()), int((listed & ~truly).sum())
    clock.append(perf_counter())
    seconds = dict(zip(["randomize", "mine", "truth"], np.diff(clock).tolist(), strict=True))
    longer = sampling_loss(count_sizes(baskets), plan).sampled
    return Simulation(itemsets.to_pandas(), missed, reports, truth, longer, seconds, found, false)


def simulate_records(
    records: Any,
    plan: Plan,
    *,
    min_support: "float | str | None" = None,
    max_itemset: int | None = None,
    seed: int | None = None,
    people: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Simulation:
    """Try a plan on baskets in a file or in memory; :func:`assocpriv.simulate` says what comes back."""
    MiningRequest(min_support, max_itemset=max_itemset).largest(plan)  # what is refused is refused before reading
    in_file = is_file(records)
    told = {"progress": partial(progress, "reading")} if in_file and progress else {}
    options = options_of(ReadOptions, {**told, **reading}, ("min_support", "max_itemset", "seed", "people", "progress"))
    if people is not None:
        people = check_range("people", people, 1, MOST_REPORTS)
    transactions, read = read_transactions(records, plan, options)
    if not in_file:
        warn_of_sampling(read.sizes, plan, callers=3)
    if people is not None and len(transactions):
        transactions = _drawn(transactions, people, seed)
    done = simulate(transactions, plan, min_support, max_itemset=max_itemset, seed=seed, progress=progress)
    for line in describe_limits(mining_facts(done.itemsets)):
        warnings.warn(line, stacklevel=3)
    return replace(done, read=read)


def _drawn(baskets: Baskets, people: int, seed: int | None) -> Baskets:
    """Give so many people one of the baskets each, all being equally likely: supports are the same on average."""
    # a stream of its own: that of the seed alone decides what reports say
    rng = np.random.default_rng(None if seed is None else [check_whole("seed", seed), people])
    return baskets.take(rng.integers(len(baskets), size=people))


def _whole(baskets: Baskets, plan: Plan) -> PlainCounter:
    """Return who counts whole baskets."""
    return PlainCounter(baskets.offsets, baskets.items, plan.n_items)


def _sampled(fitted: NDArray[np.int64], plan: Plan) -> PlainCounter:
    """Return who counts what sampling left of baskets, int64 (answers about items, M)."""
    offsets = np.arange(len(fitted) + 1, dtype=np.int64) * plan.items.transaction_size
    return PlainCounter(offsets, fitted.ravel(), plan.items.padded_items)


def _stack(parts: list[NDArray[Any]], width: int) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty((0, width), dtype=np.uint8)


def _missed(truth: Truth, listed: set[frozenset[str]], min_support: float, largest: int) -> "pd.DataFrame":
    import pandas as pd

    lost = sorted(truth.frequent(min_support, largest) - listed, key=sorted)
    missed = pd.DataFrame({"itemsets": lost, "true_support": truth.supports(lost)})
    return missed.sort_values("true_support", ascending=False, ignore_index=True)
