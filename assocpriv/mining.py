"""The door of mining: what reports of baskets say, and what tables mined from them say further. It sees no basket."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.files.itemsets import AnyFrame, LightFrame
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.server.ask import Answers
    from assocpriv.server.counting import CountingBackend
    from assocpriv.server.intervals import ErrorOptions
    from assocpriv.server.itemsets import read_itemsets, read_table, write_itemsets
    from assocpriv.server.mining import MiningRequest, check_aim
    from assocpriv.server.rules import write_rules
    from assocpriv.server.selection import ItemsetFilter, RuleFilter
    from assocpriv.server.spark import SparkReports

__all__ = [
    "ErrorOptions", "ItemsetFilter", "MiningRequest", "Reports", "RuleFilter", "answer", "ask", "ask_rules",
    "association_rules", "check_aim", "describe_undecided", "mine", "mine_reports", "read_itemsets", "read_reports",
    "read_table", "rules_of_table", "write_itemsets", "write_rules",
]  # fmt: skip
_HOMES = {
    "assocpriv.files.reports": ("Reports", "read_reports"),
    "assocpriv.server.intervals": ("ErrorOptions",),
    "assocpriv.server.itemsets": ("read_itemsets", "read_table", "write_itemsets"),
    "assocpriv.server.mining": ("MiningRequest", "check_aim"),
    "assocpriv.server.rules": ("write_rules",),
    "assocpriv.server.selection": ("ItemsetFilter", "RuleFilter"),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def mine(
    reports: "Reports | SparkReports | str | Path | Iterable[str | Path]",
    min_support: float | str | None = None,
    *,
    top: int | None = None,
    max_itemset: int | None = None,
    certain: float | str | None = None,
    certain_by: str = "split",
    histogram: "pd.DataFrame | str | Path | None" = None,
    confidence_level: float | str = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports alone.

    Supports are shares of transactions *within at most M sampled items* (the plan's transaction size): a longer
    basket reported only M of its items. Of a plan with blocks, of which each report is about one, they are those of
    whole baskets where hardly anybody holds more than M items of a block: ``attrs`` and ``sampling_loss`` say so.
    Estimates are unbiased and not clipped to [0, 1].

    Args:
        reports: reports, a report file, a folder of them, or a list of files; or reports that Spark's tasks read
            (``assocpriv.spark.read_reports``).
        min_support: in (0, 1], as 0.02 or ``"2%"``; or ``"auto"``, the lowest at which what is found can be believed,
            of each size that these reports can decide at all.
        top: instead of a minimum support, how many itemsets of the largest estimates are wanted; what ties with the
            last of them comes too. Each gets its rank among all that were counted, and the ranks that it may have.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default, which its generator supports.
        certain: also test which itemsets are frequent, such that among those called certain the expected share of
            false ones is at most 1 less this: ``"95%"`` allows 5%.
        certain_by: ``split``: 3 in 10 reports choose the itemsets, the others alone measure and test them. ``all``: all
            reports do both, and every possible itemset up to the largest size counts as tested.
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
        ``certain``, and with ``top`` ``rank``, ``rank_low`` and ``rank_high`` (all ranks
        lie between these with a probability of at least ``confidence_level``). With ``histogram`` also
        ``corrected_support``, ``corrected_std_error`` (for the population), ``model_error`` (half of the correction,
        which the standard error does not cover), ``corrected_low`` and ``corrected_high`` (the bounds, errors of
        both tables included). Of a plan with blocks also ``reports`` (that tell of the itemset), ``sampling_loss``
        (what its support in whole baskets may have more) and ``subset_counts``. ``write_itemsets`` keeps the table with
        what ``association_rules`` needs of it.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
        WireError: files that are damaged or of different plans.

    Warns:
        UserWarning: of itemset sizes that these reports cannot decide at this support.
    """
    import warnings

    from assocpriv.files.reports import as_reports
    from assocpriv.server.data_frames import shown
    from assocpriv.server.intervals import ErrorOptions
    from assocpriv.server.mining import MiningRequest

    errors = ErrorOptions(confidence_level, population)
    request = MiningRequest(min_support, top, max_itemset, certain, certain_by, errors)
    frame = mine_reports(as_reports(reports), request, memory_bytes, progress, histogram=histogram)
    for line in describe_undecided(frame):
        warnings.warn(line, stacklevel=2)
    return shown(frame)


def mine_reports(
    reports: "Reports | SparkReports",
    request: "MiningRequest",
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    histogram: "pd.DataFrame | str | Path | None" = None,
) -> "LightFrame":
    """Find what a request, which is checked already, asks for, as :func:`mine`, without warnings and without pandas."""
    from assocpriv.server.mining import mine as run

    backend = _backend(reports, memory_bytes, progress)
    if histogram is None:
        return run(backend, request)
    from assocpriv.files.itemsets import LightFrame
    from assocpriv.server.itemsets import read_itemsets
    from assocpriv.server.rounds import check_correctable, correct_table, histogram_of_table

    check_correctable(backend.plan.view.kind, blocks=backend.plan.view.blocks is not None)
    sizes = histogram_of_table(read_itemsets(histogram) if isinstance(histogram, str | Path) else histogram)
    return LightFrame.of(correct_table(run(backend, request).to_pandas(), sizes))


def _backend(
    reports: "Reports | SparkReports", memory_bytes: int | None, progress: Callable[[str, int, int], None] | None
) -> "CountingBackend":
    """Return who counts reports, where they are."""
    from assocpriv.files.reports import Reports

    if isinstance(reports, Reports):
        from assocpriv.server.counting import LocalBackend

        return LocalBackend.of(reports, memory_bytes, progress)
    from assocpriv.server.spark import SparkBackend

    return SparkBackend(reports, memory_bytes)


def describe_undecided(itemsets: "AnyFrame") -> list[str]:
    """Say of which itemset sizes the reports of a table that was mined cannot decide at its minimum support."""
    from assocpriv.server.itemsets import describe_undecided as describe
    from assocpriv.server.itemsets import mining_facts

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
    from assocpriv.server.data_frames import RuleFrame, shown
    from assocpriv.server.selection import RuleFilter

    wanted = RuleFilter(metric, min_threshold, size, antecedent_size, contains, antecedent, consequent, prune, sort)
    return shown(rules_of_table(itemsets, min_confidence, certain, wanted), RuleFrame)


def rules_of_table(
    itemsets: "AnyFrame", min_confidence: "float | str", certain: "float | str | None", wanted: "RuleFilter"
) -> "LightFrame":
    """Derive the rules that a filter wants, as :func:`association_rules`, without pandas."""
    from assocpriv.files.itemsets import LightFrame
    from assocpriv.server.itemsets import mining_facts
    from assocpriv.server.rules import derive_rules
    from assocpriv.server.selection import RuleFilter

    mining_facts(itemsets)  # refuses what is no such table
    given = None if wanted == RuleFilter() else wanted
    return derive_rules(LightFrame.of(itemsets), min_confidence, certain=certain, wanted=given)


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
        ``length`` and ``count``, as :func:`mine` gives them. Of a plan with blocks also ``reports`` and
        ``sampling_loss``; an itemset that no block holds whole was not asked, and its estimates are NaN.

    Raises:
        EstimateError, WireError: as :func:`mine`; an unknown or repeated name, or a larger itemset than the plan's.
    """
    from assocpriv.server.intervals import ErrorOptions

    errors = ErrorOptions(confidence_level, population)
    return answer(reports, itemsets, (), errors, memory_bytes, progress).itemsets.to_pandas()


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
    from assocpriv.server.intervals import ErrorOptions

    errors = ErrorOptions(confidence_level, population)
    return answer(reports, (), rules, errors, memory_bytes, progress).rules.to_pandas()


def answer(
    reports: Any,
    itemsets: Iterable[Collection[str | int]],
    rules: Iterable[tuple[Collection[str | int], Collection[str | int]]],
    errors: "ErrorOptions",
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Answers":
    """Estimate both supports of itemsets and confidences of rules, as :func:`ask` and :func:`ask_rules`."""
    from assocpriv.files.reports import as_reports
    from assocpriv.server.ask import ask as run

    return run(_backend(as_reports(reports), memory_bytes, progress), itemsets, rules, errors)
