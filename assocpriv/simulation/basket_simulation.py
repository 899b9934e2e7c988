"""The simulation of a plan on raw baskets, compared with the truth.

Baskets are randomized, the reports are mined, and the result is compared with the true supports.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.client.baskets.transactions import BasketCounts, read_transactions
from assocpriv.files.mined_tables import describe_limits, mining_facts
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import build_options, pluralize
from assocpriv.guarantees.exact_numbers import check_range, check_whole
from assocpriv.kernels.parallel import add_up, default_memory
from assocpriv.planning.expected_error import measure_truncation_loss, warn_of_truncation
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.result_display import figure, html_renderer, plan_bound, short_repr
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.records.layout import ReadOptions
from assocpriv.server.baskets.bitmaps import SupersetCounter, items_of, places_in, transaction_rows
from assocpriv.server.baskets.counting import ItemsetCounter, LocalBackend, part_size
from assocpriv.server.baskets.mining import MiningRequest, join_candidates, mine
from assocpriv.simulation.enumeration import entropy_source

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.baskets.catalogue import Catalogue


Progress = Callable[[str, int, int], None]


class RawCounter(ItemsetCounter):
    """A counting backend for raw transactions.

    Transaction t is items[offsets[t] : offsets[t+1]], ids below ``n_items``; both arrays int64.
    """

    def __init__(self, offsets: NDArray[np.int64], items: NDArray[np.int64], n_items: int) -> None:
        self._offsets, self._items, self._n_items = offsets, items, n_items

    @property
    def n_reports(self) -> int:
        """Number of transactions."""
        return len(self._offsets) - 1

    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of transactions with all items of each itemset, int64 (candidates,)."""
        items = items_of(itemsets)
        supersets = SupersetCounter(places_in(items, itemsets), len(items))

        def count(offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[int]:
            return supersets.count_in_steps(transaction_rows(offsets, self._items, self._n_items, items), counts)

        size = part_size(self.n_reports, len(items), default_memory())
        parts = (self._offsets[start : start + size + 1] for start in range(0, self.n_reports, size))
        return add_up(count, parts, len(itemsets))


@dataclass(frozen=True)
class TrueSupports:
    """True supports of raw baskets, whole or truncated."""

    catalogue: "Catalogue"
    counter: RawCounter

    def supports(self, itemsets: Iterable[frozenset[str]]) -> NDArray[np.float64]:
        """Return the true support of each itemset of names, float64 (itemsets,)."""
        selected = [sorted(self.catalogue.index_of[name] for name in itemset) for itemset in itemsets]
        supports = np.zeros(len(selected))
        for k in {len(row) for row in selected} - {0}:
            places = [place for place, row in enumerate(selected) if len(row) == k]
            rows = np.array([selected[place] for place in places], dtype=np.int64)
            order = np.lexsort(rows.T[::-1])
            supports[np.array(places)[order]] = self.counter.count(rows[order]) / self.counter.n_reports
        return supports

    def frequent(self, min_support: float, max_itemset: int) -> set[frozenset[str]]:
        """Return the itemsets of up to ``max_itemset`` items with a true support of at least ``min_support``."""
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
    """The result of a plan on given baskets, with the truth.

    Attributes:
        itemsets: as :func:`assocpriv.mine` returns them, with ``true_support``; of whole baskets where supports are
            corrected for truncation.
        missed: truly frequent itemsets that were not selected, with their true supports.
        truncated_baskets: baskets longer than M.
        seconds: time of each stage, in seconds.
        found_count: number of truly frequent itemsets that were selected.
        false_count: number of selected itemsets with a true support below the minimum.
        read: counts of skipped items, and of baskets by size.
    """

    itemsets: "pd.DataFrame"
    missed: "pd.DataFrame"
    reports: Reports
    truth: TrueSupports
    truncated_baskets: int
    seconds: dict[str, float]
    found_count: int
    false_count: int
    read: BasketCounts | None = None
    _repr_html_ = html_renderer("assocpriv.show.audit_views:simulated")

    def __repr__(self) -> str:
        counts = f"{self.found_count:,} selected, {self.missed_count:,} missed, {self.false_count:,} false"
        least = figure(mining_facts(self.itemsets).min_support, "support")
        return short_repr(self, f"{pluralize(self.found_count + self.missed_count, 'frequent itemset')}: {counts}", [
            f"{pluralize(len(self.reports), 'report')}, minimum support {least}, {plan_bound(self.reports.plan)}"
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return the mined itemsets with their true supports; ``missed`` has the others that are frequent."""
        import pandas as pd

        return pd.DataFrame(self.itemsets)

    @property
    def missed_count(self) -> int:
        """The number of truly frequent itemsets that were not selected."""
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
    """Randomize baskets, mine the reports and compare with the truth, as :func:`assocpriv.simulate`."""
    request = MiningRequest(min_support, max_itemset=max_itemset)
    largest = request.largest(plan)
    plan.check_batch(len(baskets), "simulated")
    clock, items_type = [perf_counter()], plan.report_types.index(plan.items)
    stage = partial(progress, "randomizing") if progress else None
    chunks = list(randomize_chunks(baskets, plan, entropy=entropy_source(seed), progress=stage))
    reports = Reports(plan, _stack([chunk.packed for chunk in chunks], plan.report_bytes))
    fitted = _stack([chunk.raw_fitted[items_type] for chunk in chunks], plan.items.transaction_size)
    clock.append(perf_counter())
    mined = mine(LocalBackend.from_reports(reports, progress=progress), request)
    facts = mining_facts(mined)
    clock.append(perf_counter())
    truth = TrueSupports(plan.catalogue, _count_whole(baskets, plan) if facts.whole else _count_truncated(fitted, plan))
    itemsets = mined.assign(true_support=truth.supports(mined["itemsets"]))
    selected, truly = itemsets["selected"], itemsets["true_support"] >= facts.min_support
    missed = _missed(truth, set(itemsets["itemsets"][selected]), facts.min_support, largest)
    found, false = int((selected & truly).sum()), int((selected & ~truly).sum())
    clock.append(perf_counter())
    seconds = dict(zip(["randomize", "mine", "truth"], np.diff(clock).tolist(), strict=True))
    longer = measure_truncation_loss(count_sizes(baskets), plan).truncated
    from assocpriv.server.baskets.result_frames import to_result_frame

    return Simulation(to_result_frame(itemsets, own_view=False), missed, reports, truth, longer, seconds, found, false)


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
    """Simulate a plan on baskets in a file or in memory, as :func:`assocpriv.simulate`."""
    MiningRequest(min_support, max_itemset=max_itemset).largest(plan)  # refuse invalid options before reading
    in_file = is_file(records)
    callback = {"progress": partial(progress, "reading")} if in_file and progress else {}
    own = "min_support", "max_itemset", "seed", "people", "progress"
    options = build_options(ReadOptions, {**callback, **reading}, own)
    if people is not None:
        people = check_range("people", people, 1, MOST_REPORTS)
    transactions, read = read_transactions(records, plan, options)
    if not in_file:
        warn_of_truncation(read.sizes, plan, callers=3)
    if people is not None and len(transactions):
        transactions = _drawn(transactions, people, seed)
    done = simulate(transactions, plan, min_support, max_itemset=max_itemset, seed=seed, progress=progress)
    for line in describe_limits(mining_facts(done.itemsets)):
        warnings.warn(line, stacklevel=3)
    return replace(done, read=read)


def _drawn(baskets: Baskets, people: int, seed: int | None) -> Baskets:
    """Return one uniformly drawn basket for each of ``people`` people; expected supports do not change."""
    # a separate random stream, so that the draw does not change the stream of the reports
    rng = np.random.default_rng(None if seed is None else [check_whole("seed", seed), people])
    return baskets.take(rng.integers(len(baskets), size=people))


def _count_whole(baskets: Baskets, plan: Plan) -> RawCounter:
    """Return a counter of whole baskets."""
    return RawCounter(baskets.offsets, baskets.items, plan.n_items)


def _count_truncated(fitted: NDArray[np.int64], plan: Plan) -> RawCounter:
    """Return a counter of truncated baskets, int64 (responses about items, M)."""
    offsets = np.arange(len(fitted) + 1, dtype=np.int64) * plan.items.transaction_size
    return RawCounter(offsets, fitted.ravel(), plan.items.padded_items)


def _stack(parts: list[NDArray[Any]], width: int) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty((0, width), dtype=np.uint8)


def _missed(truth: TrueSupports, selected: set[frozenset[str]], min_support: float, largest: int) -> "pd.DataFrame":
    import pandas as pd

    lost = sorted(truth.frequent(min_support, largest) - selected, key=sorted)
    missed = pd.DataFrame({"itemsets": lost, "true_support": truth.supports(lost)})
    return missed.sort_values("true_support", ascending=False, ignore_index=True)
