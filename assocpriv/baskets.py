"""The door of baskets: the steps from baskets to itemsets and rules; each loads what it needs when it is taken."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.basket_files import read_baskets
    from assocpriv.core.errors import AssocprivError
    from assocpriv.core.privacy import Breach, Epsilon
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.names import NameSource
    from assocpriv.files.plans import read_catalogue, write_plan
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.planning.discovery import Discovery, promise_needed, reports_needed
    from assocpriv.planning.plan_facts import foresee
    from assocpriv.planning.planner import make_plan as plan
    from assocpriv.planning.transaction_size import SamplingLoss
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.plans.baskets.view import View
    from assocpriv.records.basket_files import ReadCounts
    from assocpriv.records.baskets import Baskets, to_baskets
    from assocpriv.server.estimates.intervals import ErrorOptions
    from assocpriv.server.itemsets.ask import Answers
    from assocpriv.server.itemsets.frames import read_itemsets, write_itemsets
    from assocpriv.server.itemsets.requests import MiningRequest, check_aim
    from assocpriv.server.itemsets.rules import write_rules
    from assocpriv.server.itemsets.selection import ItemsetFilter

__all__ = [
    "AssocprivError", "Baskets", "Breach", "Catalogue", "Discovery", "Epsilon", "ErrorOptions", "ItemsetFilter",
    "MiningRequest", "NameSource", "Plan", "ReadOutcome", "Reports", "View", "answer", "ask", "ask_rules",
    "association_rules", "check_aim", "check_plan", "check_writable", "describe_undecided", "foresee", "mine",
    "mine_reports", "plan", "promise_needed", "randomize", "randomize_baskets", "randomize_file", "read_baskets",
    "read_catalogue", "read_itemsets", "read_plan", "read_reports", "report_items", "reports_needed", "to_baskets",
    "write_itemsets", "write_plan", "write_rules",
]  # fmt: skip
_HOMES = {
    "assocpriv.basket_files": ("read_baskets",),
    "assocpriv.core.errors": ("AssocprivError",), "assocpriv.records.baskets": ("Baskets", "to_baskets"),
    "assocpriv.core.privacy": ("Breach", "Epsilon"), "assocpriv.plans.baskets.catalogue": ("Catalogue",),
    "assocpriv.server.estimates.intervals": ("ErrorOptions",),
    "assocpriv.server.itemsets.requests": ("MiningRequest", "check_aim"), "assocpriv.files.names": ("NameSource",),
    "assocpriv.planning.discovery": ("Discovery", "promise_needed", "reports_needed"),
    "assocpriv.plans.baskets.plan": ("Plan",), "assocpriv.files.reports": ("Reports", "read_reports"),
    "assocpriv.plans.baskets.view": ("View",), "assocpriv.server.itemsets.rules": ("write_rules",),
    "assocpriv.server.itemsets.selection": ("ItemsetFilter",),
    "assocpriv.files.atomic": ("check_writable",), "assocpriv.planning.plan_facts": ("foresee",),
    "assocpriv.planning.planner": ("make_plan as plan",),
    "assocpriv.files.plans": ("read_catalogue", "write_plan"),
    "assocpriv.server.itemsets.frames": ("read_itemsets", "write_itemsets"),
}  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def read_plan(path: str | PathLike[str]) -> "Plan":
    """Read a plan file, of baskets.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its operator breaks; or the plan is of
            another kind of data.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.baskets.plan import Plan

    return read(Path(path), Plan)


def randomize(transaction: Collection[str | int], plan: "Plan") -> bytes:
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
    from assocpriv.client.kinds import make_report
    from assocpriv.core.entropy import SystemEntropy

    return make_report(transaction, plan, entropy=SystemEntropy())


def report_items(report: bytes, plan: "Plan") -> frozenset[str]:
    """Return the names that one report shows, of items its sender has and of others that chance added.

    Args:
        report: ``plan.report_bytes`` bytes.
        plan: the published plan.

    Returns:
        Names of the plan's catalogue; dummies, which fill short transactions, are left out.

    Raises:
        WireError: bytes that no client of the plan can have sent.
    """
    check_plan(plan)
    if not isinstance(report, bytes):
        raise TypeError(f"a report is bytes, got a {type(report).__name__}")
    return frozenset(plan.catalogue[item] for item in plan.form.items(report) if item < plan.n_items)


def check_plan(plan: object) -> None:
    """Refuse what is no plan, as a file's name, before it is taken for one."""
    from assocpriv.plans.baskets.plan import Plan

    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a Plan (read_plan reads one from a file), got a {type(plan).__name__}")


def randomize_baskets(
    baskets: Any,
    plan: "Plan",
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    unknown: str = "error",
    repeats: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> "Reports":
    """Randomize many baskets with the operating system's entropy.

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the published plan.
        format, transaction_column, item_column: of a data frame, as for :meth:`Baskets.from_frame`.
        unknown: as for :func:`read_baskets`; a plan whose view says so drops other names in any case.
        repeats: as for :func:`read_baskets`.
        progress: called with (baskets done, baskets).

    Raises:
        BasketError: baskets that do not fit the plan.

    Warns:
        UserWarning: where sampling baskets to the plan's transaction size loses more than 5% of support.
    """
    import numpy as np

    from assocpriv.client.baskets.bulk import randomize_chunks
    from assocpriv.client.baskets.transactions import view_baskets
    from assocpriv.core.entropy import SystemEntropy
    from assocpriv.files.reports import Reports
    from assocpriv.planning.transaction_size import sampling_loss, warn_of_loss
    from assocpriv.records.baskets import count_sizes

    check_plan(plan)
    table = {"format": format, "transaction_column": transaction_column, "item_column": item_column}
    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats, table=table)
    warn_of_loss(sampling_loss(count_sizes(transactions), plan))
    chunks = randomize_chunks(transactions, plan, entropy=SystemEntropy(), progress=progress)
    parts = [chunk.packed for chunk in chunks]
    packed = np.concatenate(parts) if parts else np.empty((0, plan.report_bytes), dtype=np.uint8)
    return Reports(plan, packed)


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a file of baskets comes to as a plan's transactions.

    How many baskets there are and what was dropped, merged and kept on the way, how many came out empty, and what
    sampling long ones loses of what the plan's view makes of them.
    """

    counts: "ReadCounts"
    empty: int
    loss: "SamplingLoss"


def randomize_file(
    baskets: str | Path,
    plan: "Plan",
    output: str | Path,
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ReadOutcome:
    """Randomize a file of baskets of any size into a file of reports, with the operating system's entropy.

    Args:
        baskets: the file, read batch by batch.
        plan: the published plan.
        output: Parquet file to write, .parquet or .pq; it appears whole or not at all.
        format, separator, header, transaction_column, item_column, repeats, empty: as for :func:`read_baskets`.
        unknown: as for :func:`randomize_baskets`.
        memory_bytes: what reading may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        BasketError: as :func:`read_baskets`, or a line or a file of the long layout that does not fit the memory.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.
    """
    from assocpriv.client.baskets.bulk import randomize_chunks
    from assocpriv.client.baskets.transactions import stream_transactions
    from assocpriv.core.entropy import SystemEntropy
    from assocpriv.core.machine import default_memory, workers_within
    from assocpriv.files.reports import check_report_output, write_reports
    from assocpriv.planning.transaction_size import sampling_loss
    from assocpriv.records.basket_files import ReadOptions
    from assocpriv.records.baskets import count_sizes

    check_plan(plan)
    check_report_output(output)
    memory = default_memory() if memory_bytes is None else memory_bytes
    options = ReadOptions(
        format,
        unknown,
        repeats,
        empty,
        memory,
        progress,
        separator=separator,
        header=header,
        transaction_column=transaction_column,
        item_column=item_column,
    )
    stream = stream_transactions(baskets, plan, options)
    sizes: Counter[int] = Counter()

    def counted() -> Iterator["Baskets"]:
        for batch in stream:
            sizes.update(count_sizes(batch))
            yield batch

    chunks = randomize_chunks(counted(), plan, entropy=SystemEntropy(), workers=workers_within(memory))
    write_reports((chunk.packed for chunk in chunks), plan, output, force=force)
    return ReadOutcome(stream.counts, sizes[0], sampling_loss(sizes, plan))


def mine(
    reports: "Reports | str | Path | Iterable[str | Path]",
    min_support: float | str | None = None,
    *,
    top: int | None = None,
    max_itemset: int | None = None,
    certain: float | str | None = None,
    certain_by: str = "split",
    consistent: bool = False,
    histogram: "pd.DataFrame | str | Path | None" = None,
    confidence_level: float | str = 0.95,
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
        histogram: a mined table of a sizes plan, or a file of it: also give supports before sampling, by a model of how
            baskets of each size hold an itemset, and within which bounds they lie whatever baskets hold, at the
            confidence level.
        confidence_level: of the intervals ``ci_low`` … ``ci_high``, as 0.95 or ``"95%"``: score intervals, which hold
            where few reports show an itemset, or normal ones where these are the same.
        population: standard errors, intervals and tests for the population that the transactions were drawn from,
            instead of for the transactions that were collected.
        memory_bytes: what of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row an itemset: ``support``, ``itemsets`` (frozenset of names), ``std_error``, ``ci_low``, ``ci_high``,
        ``length``, ``frequent``, ``count`` (reports showing the itemset). Subsets of frequent itemsets that noise
        pushes below ``min_support`` are there with ``frequent`` False. If asked for, also ``p_value`` and
        ``certain``, ``consistent_support``, and with ``top`` ``rank``, ``rank_low`` and ``rank_high`` (all ranks
        lie between these with a probability of at least ``confidence_level``). With ``histogram`` also
        ``corrected_support``, ``corrected_std_error`` (for the population), ``model_error`` (half of the correction,
        which the standard error does not cover), ``corrected_low`` and ``corrected_high`` (the bounds, errors of
        both tables included). ``write_itemsets`` keeps the table with what ``association_rules`` needs of it.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
        WireError: files that are damaged or of different plans.

    Warns:
        UserWarning: of itemset sizes that these reports cannot decide at this support.
    """
    import warnings

    from assocpriv.server.estimates.intervals import ErrorOptions
    from assocpriv.server.itemsets.requests import MiningRequest

    errors = ErrorOptions(confidence_level, population)
    request = MiningRequest(min_support, top, max_itemset, certain, certain_by, consistent, errors)
    frame = mine_reports(_collection(reports), request, memory_bytes, progress, histogram=histogram)
    for line in describe_undecided(frame):
        warnings.warn(line, stacklevel=2)
    return frame


def mine_reports(
    reports: "Reports",
    request: "MiningRequest",
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    histogram: "pd.DataFrame | str | Path | None" = None,
) -> "pd.DataFrame":
    """Find what a request, which is checked already, asks for; warns of nothing, and is else as :func:`mine`."""
    from assocpriv.server.counting.backend import LocalBackend
    from assocpriv.server.itemsets.frames import read_itemsets
    from assocpriv.server.itemsets.mining import mine as run
    from assocpriv.server.rounds.combine import check_correctable, correct_table, histogram_of_table

    backend = LocalBackend.of(reports, memory_bytes, progress)
    if histogram is None:
        return run(backend, request)
    check_correctable(backend.plan.view.kind)
    sizes = histogram_of_table(read_itemsets(histogram) if isinstance(histogram, str | Path) else histogram)
    return correct_table(run(backend, request), sizes)


def describe_undecided(itemsets: "pd.DataFrame") -> list[str]:
    """Say of which itemset sizes the reports of a table that was mined cannot decide at its minimum support."""
    from assocpriv.server.itemsets.facts import describe_undecided as describe
    from assocpriv.server.itemsets.frames import mining_facts

    return describe(mining_facts(itemsets))


def association_rules(
    itemsets: "pd.DataFrame",
    min_confidence: "float | str" = 0.0,
    *,
    metric: str | None = None,
    min_threshold: "float | str | None" = None,
    size: int | str | None = None,
    antecedent_size: int | str | None = None,
    contains: Collection[str] = (),
    antecedent: Collection[str] = (),
    consequent: Collection[str] = (),
    prune: bool = False,
    sort: str = "sure",
    certain: "float | str | None" = None,
) -> "pd.DataFrame":
    """Derive the rules A → C, A ∪ C frequent, whose estimated confidence is at least ``min_confidence``.

    Args:
        itemsets: a table as :func:`mine` returns it.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.
        metric, min_threshold: as for mlxtend: only rules of which this column, any of its metrics, is at least so much.
        size, antecedent_size: items of the rule and of its antecedent, as 2, ``"2..3"``, ``"2.."`` or ``"..3"``.
        contains, antecedent, consequent: names that the rule and its sides must hold, a list each.
        prune: leave out redundant rules: another of the same consequent and fewer items in the antecedent, or the
            consequent's own support, has at least their confidence, by estimate (Bayardo, Agrawal, Gunopulos 1999).
        sort: ``sure`` (confidence less two standard errors, the largest first), a metric, ``size`` or ``name``.
        certain: also test which rules have ``min_confidence``, such that among those called certain the expected share
            of false ones is at most 1 less this. Needs a table that was mined with ``certain``. That share is one of
            all rules called certain, before any other argument here leaves some out; ``attrs`` hold how many these are.

    A rule needs both its sides to be supported by at least two standard errors.

    Returns:
        mlxtend's columns ``antecedents``, ``consequents``, the supports and its metrics, computed from the
        estimates, and ``support_std_error``, ``confidence_std_error``, ``lift_std_error``. Estimates are not clipped:
        noise can make a confidence exceed 1. With ``certain`` also ``p_value`` and ``certain``.

    Raises:
        EstimateError: the table does not carry what standard errors or tests need, or an argument is out of range.
        TypeError: not a table of itemsets.
    """
    from assocpriv.server.itemsets.rules import derive_rules
    from assocpriv.server.itemsets.selection import RuleFilter

    wanted = RuleFilter(metric, min_threshold, size, antecedent_size, contains, antecedent, consequent, prune, sort)
    return derive_rules(itemsets, min_confidence, certain=certain, wanted=None if wanted == RuleFilter() else wanted)


def ask(
    reports: "Reports | str | Path | Iterable[str | Path]",
    itemsets: Iterable[Collection[str | int]],
    *,
    confidence_level: float | str = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the supports of chosen itemsets from reports alone, without mining.

    Args:
        reports: as for :func:`mine`, as are all other arguments.
        itemsets: sets or lists of names of the plan's catalogue (an int 7 is the name "7"); where the plan asks for
            itemsets, all the names of one of them.

    Returns:
        One row an itemset, in the order asked: ``support``, ``itemsets``, ``std_error``, ``ci_low``, ``ci_high``,
        ``length`` and ``count``, as :func:`mine` gives them.

    Raises:
        EstimateError, WireError: as :func:`mine`; an unknown or repeated name, or a larger itemset than the plan's.
    """
    from assocpriv.server.estimates.intervals import ErrorOptions

    errors = ErrorOptions(confidence_level, population)
    return answer(reports, itemsets, (), errors, memory_bytes, progress).itemsets


def ask_rules(
    reports: "Reports | str | Path | Iterable[str | Path]",
    rules: Iterable[tuple[Collection[str | int], Collection[str | int]]],
    *,
    confidence_level: float | str = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the confidences of chosen rules from reports alone, without mining.

    Args:
        rules: pairs (antecedent, consequent) of sets or lists of names; all other arguments are as for :func:`mine`.

    Returns:
        One row a rule, in the order asked: the columns of :func:`association_rules`, and ``confidence_ci_low`` and
        ``confidence_ci_high`` (Fieller's interval: all of 0 … 1 where the antecedent is not told from nobody). What a
        share of nobody would be is NaN.

    Raises:
        EstimateError, WireError: as :func:`ask`, or both sides name the same item.
    """
    from assocpriv.server.estimates.intervals import ErrorOptions

    errors = ErrorOptions(confidence_level, population)
    return answer(reports, (), rules, errors, memory_bytes, progress).rules


def answer(
    reports: Any,
    itemsets: Iterable[Collection[str | int]],
    rules: Iterable[tuple[Collection[str | int], Collection[str | int]]],
    errors: "ErrorOptions",
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Answers":
    """Estimate both supports of itemsets and confidences of rules, as :func:`ask` and :func:`ask_rules`."""
    from assocpriv.server.counting.backend import LocalBackend
    from assocpriv.server.itemsets.ask import ask as run

    return run(LocalBackend.of(_collection(reports), memory_bytes, progress), itemsets, rules, errors)


def _collection(reports: Any) -> "Reports":
    from assocpriv.files.reports import Reports, read_reports

    if isinstance(reports, Reports):
        return reports
    paths = [reports] if isinstance(reports, str | Path) else reports
    if hasattr(paths, "columns") or not isinstance(paths, Iterable):
        raise TypeError(f"reports must be Reports, a file or a list of files, got a {type(reports).__name__}")
    listed = list(paths)
    if isinstance(reports, bytes) or any(isinstance(path, bytes) for path in listed):
        raise TypeError(
            "bytes are single reports; make a collection of them with Reports.from_bytes([report, …], plan), and of "
            "files of them with gather"
        )
    if not all(isinstance(path, str | Path) for path in listed):
        raise TypeError("a list of reports must name files; write collections with Reports.write and list the files")
    return read_reports(listed)
