"""The simulation of a plan on raw baskets, compared with the truth, and the demonstration.

Baskets are randomized, the reports are mined, and the result is compared with the true supports. The demonstration
also generates or reads the baskets, makes a plan for them, and derives rules.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.client.baskets.transactions import BasketCounts, read_transactions
from assocpriv.files.mined_tables import describe_limits, mining_facts, write_itemsets
from assocpriv.files.plan_files import write_plan
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.entropy import WordEntropy
from assocpriv.guarantees.errors import build_options, pluralize
from assocpriv.guarantees.exact_numbers import check_range, check_whole
from assocpriv.kernels.itemset_counts import SupersetCounter, items_of, join_candidates, places_in, transaction_rows
from assocpriv.kernels.parallel import add_up, default_memory
from assocpriv.planning.collection_rounds import choose_rounds
from assocpriv.planning.detection_limits import Forecast, forecast
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.planning.truncation_loss import measure_truncation_loss, warn_of_truncation
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.result_display import figure, html_renderer, plan_bound, short_repr
from assocpriv.records.basket_files import read_baskets
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.records.layout import ReadOptions
from assocpriv.server.baskets.counting import ItemsetCounter, LocalBackend, part_size
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.rules import derive_rules, write_rules
from assocpriv.simulation.basket_rounds import FILES, BothRounds, check_folder, make_folder, randomize_rounds
from assocpriv.simulation.enumeration import entropy_source
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

if TYPE_CHECKING:
    import pandas as pd


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

    catalogue: Catalogue
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
            level = level[self.counter.count(level) / self.counter.n_reports >= min_support] if len(level) else level
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
        truncated_baskets: baskets longer than the M of their round.
        seconds: time of each stage, in seconds.
        found_count: number of truly frequent itemsets that were selected.
        false_count: number of selected itemsets with a true support below the minimum.
        read: counts of skipped items, and of baskets by size.
        rounds: the reports of both rounds, and the second plan; None for a collection in one round.
        reports: the reports; of the first round, if there are two.
        truth: the true supports.
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
    rounds: BothRounds | None = None
    _repr_html_ = html_renderer("assocpriv.show.audit_views:simulated")

    def __repr__(self) -> str:
        counts = f"{self.found_count:,} selected, {self.missed_count:,} missed, {self.false_count:,} false"
        least = figure(mining_facts(self.itemsets).min_support, "support")
        return short_repr(self, f"{pluralize(self.found_count + self.missed_count, 'frequent itemset')}: {counts}", [
            f"{pluralize(self.people, 'report')}, minimum support {least}, {plan_bound(self.reports.plan)}"
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return the mined itemsets with their true supports; ``missed`` has the others that are frequent.

        Returns:
            The pandas frame ``itemsets``.
        """
        import pandas as pd

        return pd.DataFrame(self.itemsets)

    @property
    def people(self) -> int:
        """The number of reports in all rounds."""
        return len(self.reports) + (len(self.rounds.second) if self.rounds else 0)

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
    rounds: int | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Randomize baskets, mine the reports and compare with the truth, as :func:`assocpriv.simulate`."""
    request = MiningRequest(min_support, max_itemset=max_itemset)
    plan.check_batch(len(baskets), "simulated")
    clock, both, entropy = [perf_counter()], None, entropy_source(seed)
    if check_range("rounds", rounds or 1, 1, 2) == 2:
        both = randomize_rounds(baskets, plan, entropy=entropy, progress=progress)
        collections, fitted = [both.first, both.second], None
    else:
        reports, fitted = _randomized(baskets, plan, entropy, progress)
        collections = [reports]
    largest = request.largest([plan] if both is None else [both.next_round.plan])
    clock.append(perf_counter())
    mined = mine([LocalBackend.from_reports(each, progress=progress) for each in collections], request)
    facts = mining_facts(mined)
    clock.append(perf_counter())
    if facts.whole or fitted is None:
        counter = RawCounter(baskets.offsets, baskets.items, plan.n_items)
    else:  # of truncated baskets, int64 (responses about items, M)
        offsets = np.arange(len(fitted) + 1, dtype=np.int64) * plan.items.transaction_size
        counter = RawCounter(offsets, fitted.ravel(), plan.items.padded_items)
    truth = TrueSupports(plan.catalogue, counter)
    itemsets = mined.assign(true_support=truth.supports(mined["itemsets"]))
    selected, truly = itemsets["selected"], itemsets["true_support"] >= facts.min_support
    missed = _missed(truth, set(itemsets["itemsets"][selected]), facts.min_support, largest)
    found, false = int((selected & truly).sum()), int((selected & ~truly).sum())
    clock.append(perf_counter())
    seconds = dict(zip(["randomize", "mine", "truth"], np.diff(clock).tolist(), strict=True))
    losses = (measure_truncation_loss(count_sizes(baskets), plan),) if both is None else both.losses
    longer = sum(loss.truncated for loss in losses)
    from assocpriv.server.baskets.result_frames import to_result_frame

    frame = to_result_frame(itemsets, own_view=False)
    return Simulation(frame, missed, collections[0], truth, longer, seconds, found, false, rounds=both)


def _randomized(
    baskets: Baskets, plan: Plan, entropy: WordEntropy, progress: Progress | None
) -> tuple[Reports, NDArray[np.int64]]:
    """Return the reports of baskets, and the transactions that they were made of, int64 (reports, M)."""
    stage = partial(progress, "randomizing") if progress else None
    chunks, items_type = list(randomize_chunks(baskets, plan, entropy=entropy, progress=stage)), plan.items
    number = plan.report_types.index(items_type)
    reports = Reports(plan, _stack([chunk.packed for chunk in chunks], plan.report_bytes))
    return reports, _stack([chunk.raw_fitted[number] for chunk in chunks], items_type.transaction_size)


def simulate_records(
    records: Any,
    plan: Plan,
    *,
    min_support: "float | str | None" = None,
    max_itemset: int | None = None,
    seed: int | None = None,
    people: int | None = None,
    rounds: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Simulation:
    """Simulate a plan on baskets in a file or in memory, as :func:`assocpriv.simulate`."""
    request = MiningRequest(min_support, max_itemset=max_itemset)  # refuse invalid options before reading
    if rounds != 2:
        request.largest([plan])
    in_file = is_file(records)
    callback = {"progress": partial(progress, "reading")} if in_file and progress else {}
    own = "min_support", "max_itemset", "seed", "people", "rounds", "progress"
    options = build_options(ReadOptions, {**callback, **reading}, own)
    if people is not None:
        people = check_range("people", people, 1, MOST_REPORTS)
    transactions, read = read_transactions(records, plan, options)
    if not in_file:
        warn_of_truncation(read.sizes, plan, callers=3)
    if people is not None and len(transactions):
        transactions = _drawn(transactions, people, seed)
    own_options: Any = {"max_itemset": max_itemset, "seed": seed, "rounds": rounds, "progress": progress}
    done = simulate(transactions, plan, min_support, **own_options)
    for line in describe_limits(mining_facts(done.itemsets)):
        warnings.warn(line, stacklevel=3)
    return replace(done, read=read)


def _drawn(baskets: Baskets, people: int, seed: int | None) -> Baskets:
    """Return one uniformly drawn basket for each of ``people`` people; expected supports do not change."""
    # a separate random stream, so that the draw does not change the stream of the reports
    rng = np.random.default_rng(None if seed is None else [check_whole("seed", seed), people])
    return baskets.take(rng.integers(len(baskets), size=people))


def _stack(parts: list[NDArray[Any]], width: int) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty((0, width), dtype=np.uint8)


def _missed(truth: TrueSupports, selected: set[frozenset[str]], min_support: float, largest: int) -> "pd.DataFrame":
    import pandas as pd

    lost = sorted(truth.frequent(min_support, largest) - selected, key=sorted)
    missed = pd.DataFrame({"itemsets": lost, "true_support": truth.supports(lost)})
    return missed.sort_values("true_support", ascending=False, ignore_index=True)


# ---- the demonstration


# the command writes the last one
_FILES = ("plan.json", *FILES, "itemsets.parquet", "rules.csv", "itemsets.html")


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """The settings of a demonstration.

    Attributes:
        baskets: a file, and its reading options as for ``read_baskets``; None to generate baskets.
        size: number of baskets to generate.
        items: number of items to generate.
        guarantee: the privacy guarantee of each report.
        min_support: minimum support, as ``"2%"``; None for the smallest distinguishable from noise.
        seed: random seed; None draws reports from the operating system's entropy, and generates the baskets of seed 0.

    Raises:
        AssocprivError: an invalid minimum support or confidence.

    >>> import assocpriv as ap
    >>> settings = ap.simulation.DemoSettings(None, 100, 50, ap.Guarantee("5%", "50%"), None, seed=1)
    >>> settings.size, settings.items
    (100, 50)
    """

    baskets: tuple[Path, Mapping[str, Any]] | None
    size: int
    items: int
    guarantee: Guarantee
    min_support: str | None
    seed: int | None

    def __post_init__(self) -> None:
        MiningRequest(self.min_support)


@dataclass(frozen=True, slots=True)
class DemoStart:
    """A demo before the collection.

    Attributes:
        settings: the settings.
        paths: the files to write.
        baskets: the raw baskets.
        prospects: the plan with its detection limits.
        seconds: time of each stage so far, in seconds.
    """

    settings: DemoSettings
    paths: tuple[Path, ...]
    baskets: Baskets
    prospects: Forecast
    seconds: dict[str, float]

    def finish(self, progress: Progress) -> "Demo":
        """Randomize, mine, compare with the truth and write the files.

        Args:
            progress: called with (stage, done, total).

        Returns:
            The results, with the truth.
        """
        plan, settings = self.prospects.plan, self.settings
        simulation = simulate(self.baskets, plan, settings.min_support, seed=settings.seed, rounds=2, progress=progress)
        assert simulation.rounds is not None
        clock = [perf_counter()]
        rules = derive_rules(simulation.itemsets).to_pandas()
        clock.append(perf_counter())
        # as a server would have it, without the true supports
        mined = simulation.itemsets.drop(columns=["true_support"])
        make_folder(self.paths[0].parent)
        write_plan(plan, self.paths[0], force=True)
        simulation.rounds.write(self.paths[1:4], force=True)
        write_itemsets(mined, self.paths[4], force=True)
        write_rules(rules, self.paths[5], force=True)
        clock.append(perf_counter())
        seconds = self.seconds | simulation.seconds | {"rules": clock[1] - clock[0], "write": clock[2] - clock[1]}
        return Demo(self, simulation, _with_truth(rules, simulation), seconds)


@dataclass(frozen=True, slots=True)
class Demo:
    """The result of a demo with the truth.

    Attributes:
        start: the demo before the collection.
        simulation: reports and mined itemsets, with the truth.
        rules: rules of the itemsets, with their ``true_confidence``.
        seconds: time of each stage, in seconds.
    """

    start: DemoStart
    simulation: Simulation
    rules: "pd.DataFrame"
    seconds: dict[str, float]


def start_demo(settings: DemoSettings, folder: Path, *, force: bool, progress: Progress) -> DemoStart:
    """Read or generate baskets, and make a plan for them.

    Args:
        settings: The settings of the demonstration.
        folder: The folder for the plan, reports, itemsets and rules that ``finish`` writes; created if it is missing.
        force: Replace existing files.
        progress: Called with (stage, done, total).

    Returns:
        The ``baskets``, and the plan with its detection limits (``prospects``); its ``finish(progress)`` makes the
        reports and mines them.

    Raises:
        FileError: Files that exist without ``force``, or a folder that cannot be created.
        AssocprivError: Baskets that cannot be read or generated, or that no operator fits.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> settings = ap.simulation.DemoSettings(None, 100, 50, ap.Guarantee("5%", "50%"), None, seed=1)
    >>> ap.simulation.start_demo(settings, Path(mkdtemp()), force=False, progress=lambda *_: None).baskets
    Baskets(100 baskets over 50 items)
    """
    paths = tuple(check_folder(folder, _FILES, force=force))
    clock = [perf_counter()]
    baskets = _baskets(settings, progress)
    clock.append(perf_counter())
    # no collector knows its baskets' sizes
    choice = choose_rounds(baskets.catalogue, settings.guarantee, rounds=2, reports=len(baskets))
    plan = choice.plan
    clock.append(perf_counter())
    prospects = forecast(plan, choice.reports, manipulated=False)
    seconds = {"read" if settings.baskets else "generate": clock[1] - clock[0], "plan": clock[2] - clock[1]}
    return DemoStart(settings, paths, baskets, prospects, seconds)


def _baskets(settings: DemoSettings, progress: Progress) -> Baskets:
    if settings.baskets is not None:
        path, layout = settings.baskets
        own = {"repeats": "merge", "empty": "keep", "progress": partial(progress, "reading")}
        return _of_used_items(read_baskets(path, None, build_options(ReadOptions, own | dict(layout)))[0])
    quest = QuestSettings(n_baskets=settings.size, n_items=settings.items, seed=settings.seed or 0)
    return generate_quest(quest, progress=partial(progress, "generating"))


def _of_used_items(baskets: Baskets) -> Baskets:
    """Return baskets over a catalogue of the items that occur; item numbers of a file may have gaps."""
    used, numbers = np.unique(baskets.items[baskets.offsets[0] : baskets.offsets[-1]], return_inverse=True)
    if len(used) in (0, len(baskets.catalogue)):
        return baskets
    catalogue = Catalogue([baskets.catalogue[item] for item in used.tolist()])
    return Baskets(catalogue, baskets.offsets - baskets.offsets[0], numbers.astype(np.int64))


def _with_truth(rules: "pd.DataFrame", simulation: Simulation) -> "pd.DataFrame":
    unions = [a | c for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    whole, sides = simulation.truth.supports(unions), simulation.truth.supports(rules["antecedents"])
    with_truth = rules.assign(true_confidence=np.divide(whole, sides, out=np.zeros_like(whole), where=sides > 0))
    with_truth.attrs = rules.attrs
    return with_truth
