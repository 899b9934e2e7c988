"""What a data scientist types first: the steps from baskets to itemsets, with their usual defaults."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.baskets.bulk import randomize_chunks
from assocpriv.client.baskets.transactions import stream_transactions, view_baskets
from assocpriv.client.kinds import make_report
from assocpriv.core.entropy import SystemEntropy
from assocpriv.core.machine import default_memory, workers_within
from assocpriv.files.reports import Reports, read_reports, write_reports
from assocpriv.planning.planner import make_plan as plan
from assocpriv.planning.sampling_loss import SamplingLoss, sampling_loss
from assocpriv.plans.baskets.plan import Plan
from assocpriv.records import basket_files
from assocpriv.records.basket_files import ReadCounts, ReadOptions
from assocpriv.records.basket_sizes import count_sizes
from assocpriv.records.baskets import Baskets, to_baskets
from assocpriv.server.counting.backend import LocalBackend
from assocpriv.server.estimates.intervals import ErrorOptions
from assocpriv.server.itemsets import ask as asking
from assocpriv.server.itemsets import mining
from assocpriv.server.itemsets.frames import mining_facts, read_itemsets
from assocpriv.server.itemsets.requests import MiningRequest
from assocpriv.server.itemsets.undecided import describe_undecided

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.core.privacy import Breach
    from assocpriv.lab.rounds_trial import RoundsTrial
    from assocpriv.lab.simulate import Simulation
    from assocpriv.planning.refine import Refinement
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.server.rounds.sampling_model import SizeShares

__all__ = [
    "ask",
    "ask_rules",
    "combine",
    "mine",
    "plan",
    "randomize",
    "randomize_baskets",
    "randomize_file",
    "read_baskets",
    "refine",
    "simulate",
    "simulate_rounds",
    "to_baskets",
]


def read_baskets(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 -- the command line's --format
    catalogue: "Catalogue | None" = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> Baskets:
    """Read a file of baskets.

    Args:
        path: the file; a name that ends in .gz is decompressed.
        format: "dat" (a line of item numbers a basket, blanks between), "basket" (CSV, a line of names a
            basket), "long" (CSV with a header, a line an item of a transaction, blank lines ignored),
            "parquet" (long, or a column of lists). By default .dat and .txt are dat, .csv is basket,
            .parquet and .pq are parquet.
        catalogue: the items there may be, looked up by name: the number 7 is the name "7". By default
            0 … the largest number for dat (the distinct ones beyond 2^20), otherwise the sorted names.
        unknown: "error", or "drop" to leave out items that are not in the catalogue.
        repeats: "error", or "merge" to count an item that a basket repeats once.
        empty: "error", or "keep" to take a blank line, or a null or empty list, as an empty basket.
        progress: called with (bytes read, bytes of the file).

    Returns:
        The baskets in the order of the file; those of the long layout by first appearance.

    Raises:
        BasketError: a file that cannot be read or is not of the format; unknown, repeated, missing or
            unusable items; empty baskets.
    """
    options = ReadOptions(format, unknown, repeats, empty, progress=progress)
    return basket_files.read_baskets(path, catalogue, options)[0]


def randomize(transaction: Collection[str | int], plan: Plan) -> bytes:
    """Randomize one transaction with the operating system's entropy.

    Args:
        transaction: names of items of the plan's catalogue, or that its view leads there (an int 7 is the name "7"),
            none repeated but those that the view drops as unknown; any number of them, also none.
        plan: the published plan.

    Returns:
        The report: ``plan.report_bytes`` bytes, all that may leave the device.

    Raises:
        BasketError: an item outside the catalogue that the view does not drop, or one repeated.
        TypeError: not a collection of names.

    Source: EGS03, sections 5 and 6.
    """
    return make_report(transaction, plan, entropy=SystemEntropy())


def _check_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a Plan (read_plan reads one from a file), got a {type(plan).__name__}")


def randomize_baskets(
    baskets: Any,
    plan: Plan,
    *,
    unknown: str = "error",
    repeats: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> Reports:
    """Randomize many baskets with the operating system's entropy.

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the published plan.
        unknown: ``error``, or ``drop`` to leave out items outside the plan's catalogue; a plan whose view says so drops
            them in any case.
        repeats: ``error``, or ``merge`` to count an item once that a basket repeats.
        progress: called with (baskets done, baskets).

    Raises:
        BasketError: baskets that do not fit the plan.
    """
    _check_plan(plan)
    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats)
    chunks = randomize_chunks(transactions, plan, entropy=SystemEntropy(), progress=progress)
    parts = [chunk.packed for chunk in chunks]
    packed = np.concatenate(parts) if parts else np.empty((0, plan.report_bytes), dtype=np.uint8)
    return Reports(plan, packed)


@dataclass(frozen=True, slots=True)
class RandomizedFile:
    """What randomizing a file met.

    Attributes:
        counts: baskets, and items dropped, merged and kept on the way.
        empty: baskets that came out empty.
        loss: what sampling long baskets loses, of what the plan's view makes of them.
    """

    counts: ReadCounts
    empty: int
    loss: SamplingLoss


def randomize_file(
    baskets: str | Path,
    plan: Plan,
    output: str | Path,
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> RandomizedFile:
    """Randomize a file of baskets of any size into a file of reports, with the operating system's entropy.

    Args:
        baskets: the file, read batch by batch.
        plan: the published plan.
        output: Parquet file to write; it appears whole or not at all.
        format: as for :func:`read_baskets`.
        unknown: as for :func:`randomize_baskets`.
        repeats: as for :func:`read_baskets`.
        empty: as for :func:`read_baskets`.
        memory_bytes: what reading may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        BasketError: as :func:`read_baskets`, or a line or a file of the long layout that does not fit the memory.
        FileError: the output exists and ``force`` is not set, or cannot be written.
    """
    _check_plan(plan)
    memory = default_memory() if memory_bytes is None else memory_bytes
    options = ReadOptions(format, unknown, repeats, empty, memory, progress)
    stream = stream_transactions(baskets, plan, options)
    sizes: Counter[int] = Counter()

    def counted() -> Iterator[Baskets]:
        for batch in stream:
            sizes.update(count_sizes(batch))
            yield batch

    chunks = randomize_chunks(counted(), plan, entropy=SystemEntropy(), workers=workers_within(memory))
    write_reports((chunk.packed for chunk in chunks), plan, output, force=force)
    return RandomizedFile(stream.counts, sizes[0], sampling_loss(sizes, plan))


def mine(
    reports: Reports | str | Path | Iterable[str | Path],
    min_support: float | str | None = None,
    *,
    top: int | None = None,
    max_itemset: int | None = None,
    certain: float | str | None = None,
    certain_by: str = "split",
    consistent: bool = False,
    confidence_level: float = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports alone.

    Supports are shares of transactions *within at most M sampled items* (the plan's transaction size): a longer
    basket reported only M of its items. Estimates are unbiased and not clipped to [0, 1].

    Args:
        reports: reports, a report file, a folder of them, or a list of files.
        min_support: in (0, 1], as 0.02 or ``"2%"``; or ``"auto"``, the lowest at which what is found can be believed,
            of each size that these reports can decide at all.
        top: instead of a minimum support, how many itemsets of the largest estimates are wanted; what ties with the
            last of them comes too. Each gets its rank among all that were counted, and the ranks that it may have.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default, which its generator supports.
        certain: also test which itemsets are frequent, such that among those called certain the expected share of
            false ones is at most 1 less this: ``"95%"`` allows 5%.
        certain_by: ``split``: 3 in 10 reports choose the itemsets, the others alone measure and test them. ``all``: all
            reports do both, and every possible itemset up to the largest size counts as tested.
        consistent: also give the nearest supports that some transactions have, or of large tables such that satisfy
            known bounds; ``attrs`` say which. The estimates stay.
        confidence_level: of the intervals ``ci_low`` … ``ci_high``: score intervals, which hold where few reports show
            an itemset, or normal ones where these are the same.
        population: standard errors, intervals and tests for the population that the transactions were drawn from,
            instead of for the transactions that were collected.
        memory_bytes: what of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row an itemset: ``support``, ``itemsets`` (frozenset of names), ``std_error``, ``ci_low``, ``ci_high``,
        ``length``, ``frequent``, ``count`` (reports showing the itemset). Subsets of frequent itemsets that noise
        pushes below ``min_support`` are there with ``frequent`` False. If asked for, also ``p_value`` and
        ``certain``, ``consistent_support``, and with ``top`` ``rank``, ``rank_low`` and ``rank_high`` (all ranks
        lie between these with a probability of at least ``confidence_level``). ``write_itemsets`` keeps the table with
        what ``association_rules`` needs of it.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
        WireError: files that are damaged or of different plans.

    Warns:
        UserWarning: of itemset sizes that these reports cannot decide at this support.
    """
    collection = _collection(reports)
    errors = ErrorOptions(confidence_level, population)
    request = MiningRequest(min_support, top, max_itemset, certain, certain_by, consistent, errors)
    frame = mining.mine(LocalBackend.of(collection, memory_bytes, progress), request)
    for line in describe_undecided(mining_facts(frame)):
        warnings.warn(line, stacklevel=2)
    return frame


def ask(
    reports: Reports | str | Path | Iterable[str | Path],
    itemsets: Iterable[Collection[str | int]],
    *,
    confidence_level: float = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the supports of chosen itemsets from reports alone, without mining.

    Args:
        reports: reports, a report file, a folder of them, or a list of files.
        itemsets: sets or lists of names of the plan's catalogue (an int 7 is the name "7"); where the plan asks for
            itemsets, all the names of one of them.
        confidence_level: of the intervals.
        population: errors for the population that the transactions were drawn from, instead of for those collected.
        memory_bytes: what of reports and bitmaps may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row an itemset, in the order asked: ``support``, ``itemsets``, ``std_error``, ``ci_low``, ``ci_high``,
        ``length`` and ``count``, as :func:`mine` gives them.

    Raises:
        EstimateError: no reports, an unknown or repeated name, or an itemset larger than the plan can answer for.
        WireError: files that are damaged or of different plans.
    """
    collection = _collection(reports)
    questions = asking.Questions(itemsets=itemsets, errors=ErrorOptions(confidence_level, population))
    return asking.ask(LocalBackend.of(collection, memory_bytes, progress), questions).itemsets


def ask_rules(
    reports: Reports | str | Path | Iterable[str | Path],
    rules: Iterable[tuple[Collection[str | int], Collection[str | int]]],
    *,
    confidence_level: float = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the confidences of chosen rules from reports alone, without mining.

    Args:
        reports: reports, a report file, a folder of them, or a list of files.
        rules: pairs (antecedent, consequent) of sets or lists of names.
        confidence_level: of the confidence's interval.
        population: errors for the population that the transactions were drawn from, instead of for those collected.
        memory_bytes: what of reports and bitmaps may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row a rule, in the order asked: the columns of :func:`association_rules`, and ``confidence_ci_low`` and
        ``confidence_ci_high`` (Fieller's interval: all of 0 … 1 where the antecedent is not told from nobody). What a
        share of nobody would be is NaN.

    Raises:
        EstimateError: as :func:`ask`, or both sides name the same item.
        WireError: files that are damaged or of different plans.
    """
    collection = _collection(reports)
    questions = asking.Questions(rules=rules, errors=ErrorOptions(confidence_level, population))
    return asking.ask(LocalBackend.of(collection, memory_bytes, progress), questions).rules


def _collection(reports: Any) -> Reports:
    if isinstance(reports, Reports):
        return reports
    paths = [reports] if isinstance(reports, str | Path) else reports
    if hasattr(paths, "columns") or not isinstance(paths, Iterable):
        raise TypeError(f"reports must be Reports, a file or a list of files, got a {type(reports).__name__}")
    listed = list(paths)
    if not all(isinstance(path, str | Path) for path in listed):
        raise TypeError("a list of reports must name files; write collections with Reports.write and list the files")
    return read_reports(listed)


def simulate(
    baskets: Any,
    plan: Plan,
    min_support: float | str,
    *,
    max_itemset: int | None = None,
    seed: int | None = None,
    unknown: str = "error",
    repeats: str = "error",
    progress: Callable[[str, int, int], None] | None = None,
) -> "Simulation":
    """Randomize baskets, mine the reports and compare with the truth: what would this plan find on data like mine?

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the plan to try.
        min_support: in (0, 1], as 0.02 or ``"2%"``; or ``"auto"``, as for :func:`mine`.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default.
        seed: makes the run repeatable; the operating system's entropy by default.
        unknown: as for :func:`randomize_baskets`.
        repeats: as for :func:`randomize_baskets`.
        progress: called with (stage, done, total).

    Returns:
        ``itemsets`` with their ``true_support`` (within at most M sampled items) and ``raw_support``, ``missed``
        ones, counts of found, missed and false ones, and the time of each stage. The truth is that of what the plan's
        view makes of the baskets.

    Raises:
        BasketError: an item outside the plan's catalogue that its view does not drop.
        EstimateError: no baskets, or sizes that the plan cannot answer.
    """
    from assocpriv.lab.simulate import simulate as run

    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats)
    return run(transactions, plan, min_support, max_itemset=max_itemset, seed=seed, progress=progress)


def refine(
    itemsets: "pd.DataFrame | str | Path",
    plan: Plan,
    *,
    top: int = 64,
    candidates: bool = False,
    histogram: "pd.DataFrame | str | Path | None" = None,
    reports: int | None = None,
    items: int | Iterable[str] | None = None,
) -> "Refinement":
    """Plan the next round, for other people, from what one round's reports showed.

    After a round of sizes the next one asks about all items, and ``people`` says how to split those still to be asked.

    Args:
        itemsets: a table as :func:`mine` returned it, or a file of it.
        plan: the plan it was mined with.
        top: itemsets wanted. The shortlist has somewhat more items, those of the largest supports, and yet more as far
            as noise leaves it open whether they belong there (docs/cli.md has the rule).
        candidates: make the table's itemsets the entries, somewhat more than wanted, instead of its single items.
        histogram: a mined table of a sizes plan (``assocpriv plan --histogram``), or a file of it, from which M and
            what sampling loses are reckoned; without it the number of entries held is taken for Poisson around the sum
            of their supports.
        reports: how many people will answer; as many as in the table by default. After a round of sizes all that are
            still to be asked, 49 times as many as in the table by default.
        items: after a round of sizes that counted all names: number of items or their names.

    Returns:
        ``plan``, with the promise of the first one, and what holds for whoever answers both: ``amplification_limit``
        (the product of both), ``highest_posterior``, ``lowest_posterior``.

    Raises:
        EstimateError: a table of another plan, of entries that are no items, or of fewer than two.
        PlanError: numbers out of range, or no operator fits.
    """
    from assocpriv.planning.refine import RoundWishes
    from assocpriv.planning.refine import refine as run
    from assocpriv.planning.request import catalogue_of

    _check_plan(plan)
    catalogue = None if items is None else catalogue_of(items)
    sizes = _sizes(histogram)
    wishes = RoundWishes(top, candidates, sizes, reports, catalogue)
    return run(_table(itemsets), plan, wishes)


def combine(
    tables: "Iterable[pd.DataFrame | str | Path]", *, histogram: "pd.DataFrame | str | Path | None" = None
) -> "pd.DataFrame":
    """Put mined tables of several rounds side by side, and average what estimates the same.

    Args:
        tables: as :func:`mine` returned them, or files of them, of other people each.
        histogram: a mined table of a sizes plan, or a file of it: every table is corrected for what sampling to M lost,
            by a model, and all are averaged. Without it only tables of one plan are.

    Returns:
        One row an itemset, larger supports first: ``itemsets``, ``length``, ``support`` and ``std_error`` (for the
        population; NaN where nothing may be averaged), with a histogram ``model_error`` (what the correction may have
        left, which the standard error does not cover), and of table i ``support_i``, ``std_error_i`` and
        ``corrected_i``. ``attrs["assocpriv"]["notes"]`` say what was averaged and why not more. Rules cannot be derived
        from it.

    Raises:
        EstimateError: fewer than two tables, one of a sizes plan, or two of the same reports.
    """
    from assocpriv.server.rounds.combine import combine_tables

    if isinstance(tables, str | Path) or hasattr(tables, "columns"):
        raise TypeError("tables must be a list of tables or files; combining takes two or more")
    sizes = _sizes(histogram)
    frames = [_table(table) for table in tables]
    return combine_tables(frames, sizes)


def _table(table: "pd.DataFrame | str | Path") -> "pd.DataFrame":
    return read_itemsets(table) if isinstance(table, str | Path) else table


def _sizes(histogram: "pd.DataFrame | str | Path | None") -> "SizeShares | None":
    from assocpriv.server.rounds.combine import sizes_of_table

    return None if histogram is None else sizes_of_table(_table(histogram))


def simulate_rounds(
    baskets: Any,
    promise: "Breach",
    *,
    rounds: int | str = "auto",
    top: int = 64,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "RoundsTrial":
    """Run whole schedules of rounds on baskets: how many rounds find most, and what does each buy?

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        promise: the breach that no report may cause; each person answers once.
        rounds: 1, 2, 3, or ``auto`` to try all.
        top: how many itemsets are wanted.
        seed: makes the run repeatable; the operating system's entropy by default.
        progress: called with (stage, done, total).

    Returns:
        ``schedules``, each with its rounds and what was found after them beside the truth, and ``proposed``, the one
        that found the most of the truly most frequent itemsets (of up to four items, in whole baskets).

    Raises:
        EstimateError: too few baskets, or none that holds anything.
        PlanError: numbers out of range, or no operator fits.
    """
    from assocpriv.lab.rounds_trial import try_rounds

    return try_rounds(to_baskets(baskets), promise, rounds=rounds, top=top, seed=seed, progress=progress)
