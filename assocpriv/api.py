"""The verbs of the public API: each looks up the plan type and calls what that type registers.

The registry is plans/registry.py. This module also holds what needs packages of both trust domains, or tables that may
be files. Each function imports what it needs when it is called.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from assocpriv.client.plan_parts import RANDOMIZE
from assocpriv.files.report_files import Reports, as_collections, as_reports, check_copies, files_by_day
from assocpriv.guarantees.amplification import Guarantee, compose, epsilon_from_amplification, read_guarantee
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import EstimateError, FileError, PlanError, check_type, pluralize
from assocpriv.guarantees.exact_numbers import MOST_MEMORY, check_range
from assocpriv.planning.plan_parts import FORECAST, WARN
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.registry import Entry, Part
from assocpriv.server.plan_parts import COLLECT, MINE, RECONSTRUCT

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.auditing.audit import Audit
    from assocpriv.client.baskets.transactions import BasketCounts
    from assocpriv.client.guided.guided_client import GuidedRecord
    from assocpriv.client.guided.report_queue import ResponseCounts
    from assocpriv.files.itemset_files import LightFrame
    from assocpriv.guarantees.shuffle_model import CentralGuarantee
    from assocpriv.planning.basket_planner import PlannedCollection
    from assocpriv.planning.detection_limits import Forecast, PlanForDetection
    from assocpriv.planning.table_planner import GuidedFacts, TableFacts
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.baskets.item_names import Names
    from assocpriv.plans.guided.guidance import Guidance
    from assocpriv.plans.guided.guided_plan import GuidedPlan
    from assocpriv.plans.numeric.table_plan import TablePlan
    from assocpriv.records.baskets import Baskets
    from assocpriv.records.table_files import TableCounts
    from assocpriv.server.baskets.comparison import Comparison
    from assocpriv.server.baskets.counting import CountingBackend
    from assocpriv.server.baskets.mining import MiningRequest
    from assocpriv.server.baskets.selection import ItemsetFilter
    from assocpriv.server.numeric.distributions import Distributions
    from assocpriv.server.spark_counting import SparkReports
    from assocpriv.simulation.basket_simulation import Simulation
    from assocpriv.simulation.guided_simulation import Trial
    from assocpriv.simulation.table_simulation import TableSimulation

    AnyReports = Reports | SparkReports | str | Path | Iterable[str | Path]


# ---- plans


Number: TypeAlias = float | str | Fraction
Shown: TypeAlias = "Callable[[int, int], None] | None"


@overload
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, detect: None = None, explain: Literal[False] = False, progress: Shown = None,
) -> Plan: ...  # fmt: skip
@overload
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, explain: Literal[True], detect: None = None, progress: Shown = None,
) -> "PlannedCollection": ...  # fmt: skip
@overload
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, detect: Number, explain: bool = False, progress: Shown = None,
) -> "PlanForDetection": ...  # fmt: skip
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, detect: Number | None = None, explain: bool = False, progress: Shown = None,
) -> "Plan | PlannedCollection | PlanForDetection":  # fmt: skip
    """Choose the plan of least expected error under a privacy guarantee.

    The planner chooses M (the number of items that a basket is cut or padded to), the randomization operator, the form
    of reports, and the share of people whose report gives their basket's size. It minimizes the expected error of
    supports in whole baskets.

    Args:
        items: number of items (then named 0 … n−1), or their names.
        guarantee: bound for all reports of one person together, as ``Guarantee("5%", "50%")``. Or give it by numbers:
        epsilon: privacy parameter ε of local differential privacy, in nats, as 2.0 or ``"ln 19"``.
        prior, posterior: no prior of at most ``prior`` becomes a posterior of ``posterior`` or more, as ``"5%"`` and
            ``"50%"``.
        central: instead of a guarantee, (ε, δ) as ``(1, 1e-8)``: central differential privacy of batches of ``reports``
            or more, for an anonymous channel that hides who sent which report. The plan's local guarantee follows from
            it. A ``CentralGuarantee`` has more options.
        local_cap: with ``central``, the maximum ε of the local guarantee, 8 by default.
        reports: expected number of reports N; 1,000,000 by default.
        reports_per_person: maximum number of reports per person R, 1..1000.
        mean_size: mean number of different items in a basket; 6 without this and without ``sample``.
        sample: a sample of baskets: a file, what :func:`assocpriv.to_baskets` takes, or a mapping from sizes to numbers
            of baskets.
        itemset_size: maximum itemset size K; 3 (or M if that is less) by default.
        transaction_size: M, 1..15, if the planner shall not choose it.
        names: how names become items (:class:`Names`); by default each name is an item.
        paper: choose as Evfimievski, Gehrke and Srikant 2003 (EGS03) do for this M, without reports of basket sizes.
        detect: a support in (0, 1], as 0.01 or ``"1%"``, of itemsets of ``itemset_size`` items (2 by default): find
            what detects it. With ``reports`` this is the smallest ε of two decimals, up to that of a given guarantee,
            stated for ``prior`` (5% by default). Without, it is the smallest number of reports (of two digits) under
            the guarantee. The next smaller value fails; still smaller ones may succeed, where the design changes.
        explain: return the plan with its expected errors and alternatives.
        progress: with ``detect``, called with (done, total) steps.

    Returns:
        The plan. With ``explain`` also ``expected`` errors by itemset size and ``other_means``, the M for half and for
        twice the mean basket size. With ``detect`` also ``reports`` and ``guarantee``.

    Raises:
        PlanError: arguments out of range, no randomization operator fits, or nothing detects the support; the message
            states how many reports would.
        TypeError: arguments of a wrong type, or no guarantee or several.

    Source: EGS03, sections 4 to 6; docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "bread", "tea"], epsilon="ln 19", mean_size=2)
    >>> made.n_items, made.report_bytes, made.amplification < 19, made.epsilon
    (3, 1, True, 2.944439)
    >>> choice = ap.plan(1000, prior="5%", posterior="50%", mean_size=6, explain=True)
    >>> choice.plan.items.transaction_size, choice.other_means
    (8, {3.0: 7, 12.0: 14})
    >>> found = ap.plan(100, detect="20%", itemset_size=1, reports=20_000, mean_size=4)
    >>> f"{float(found.guarantee.posterior):.1%}", found.plan.items.itemset_size
    ('12.1%', 1)
    """
    from assocpriv.planning import basket_planner, detection_limits
    from assocpriv.planning.plan_request import as_catalogue

    only_prior = (
        detect is not None and prior is not None and guarantee is None and epsilon is None and posterior is None
    )
    given = None if only_prior else read_guarantee(guarantee, epsilon, prior, posterior)
    catalogue = as_catalogue(items)
    wanted: dict[str, Any] = {
        "reports_per_person": reports_per_person, "mean_size": mean_size,
        "sample": _sizes_of(sample, catalogue, names), "transaction_size": transaction_size, "names": names,
        "paper": paper,
    }  # fmt: skip
    if detect is not None:
        if central is not None or local_cap is not None:
            raise TypeError(
                "detect goes with a local guarantee, or with reports alone; leave central and local_cap out"
            )
        size = 2 if itemset_size is None else itemset_size
        return detection_limits.solve_plan(
            detect, catalogue, size=size, reports=reports, guarantee=given, prior="5%" if prior is None else prior,
            progress=progress, itemset_size=size, **wanted,
        )  # fmt: skip
    if given is None and central is None:
        raise TypeError('plan() needs a guarantee: epsilon=2, or prior="5%" and posterior="50%"')
    choice = basket_planner.choose_plan(
        catalogue, given, central=central, local_cap=local_cap, reports=1_000_000 if reports is None else reports,
        itemset_size=itemset_size, **wanted,
    )  # fmt: skip
    return choice if explain else choice.plan


def _sizes_of(sample: Any, catalogue: "Catalogue", names: "Names | None") -> Any:
    """Return the sizes of a sample of baskets, or what is not baskets as it is."""
    if sample is None or isinstance(sample, Mapping):
        return sample
    if getattr(getattr(sample, "dtype", None), "kind", "O") in "iuf":
        raise TypeError(
            "sample takes baskets, or a mapping from sizes to numbers of baskets, as dict(sizes.value_counts()); got a "
            f"{type(sample).__name__} of numbers"
        )
    from assocpriv.simulation.basket_samples import sample_sizes

    return sample_sizes(sample, catalogue, names).sizes


@overload
def forecast(plan: Plan, reports: int) -> "Forecast": ...
@overload
def forecast(plan: "TablePlan", reports: int) -> "TableFacts": ...
@overload
def forecast(plan: "GuidedPlan", reports: int) -> "GuidedFacts": ...
def forecast(plan: PublishedPlan, reports: int) -> "Forecast | TableFacts | GuidedFacts":
    """Return what a number of reports of a plan, of any type, is expected to detect.

    Args:
        plan: a plan.
        reports: number of reports, at least 1.

    Returns:
        For baskets: detectable supports and detection thresholds by itemset size. For tables: the scale of noise and
        the guarantee by column. For guided plans: how often guidance is published. ``to_frame()`` gives a table.

    Raises:
        PlanError: plans of this type are not known here.

    >>> import assocpriv as ap
    >>> made = ap.plan(1000, ap.Guarantee("5%", "50%"))
    >>> ap.forecast(made, 1_000_000).reports
    1000000
    """
    plan = PublishedPlan.require(plan)
    found: Forecast | TableFacts | GuidedFacts = FORECAST.of(plan.kind)(plan, reports)
    return found


# ---- baskets


def read_baskets(
    path: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    *,
    layout: str | None = None,
    catalogue: "Catalogue | None" = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    incomplete: str = "refuse",
    progress: Callable[[int, int], None] | None = None,
) -> "Baskets":
    r"""Read baskets from a file, or from several together.

    Layout details that are not given are inferred from the first lines; an ambiguous file is refused. The logger
    ``assocpriv`` reports the inferred layout at level INFO, in the words that ``layout`` takes. docs/cli.md has the
    rules.

    Args:
        path: text, Parquet or a workbook, .xlsx (extra ``xlsx``); names that end in .gz are decompressed. Lines of one
            transaction id are one basket, also across files.
        layout: words, the kind first: "lines" (a line of names a basket), "dat" (a line of item numbers a basket,
            separated by blanks), "long" (a row an item), "one-hot" (a column an item, cells 1 and 0 or t and f),
            "list" (a column of lists, or of text with separators between items). Then ``transaction=``, ``item=``,
            ``quantity=`` (columns by name, or as #2 by number; several transaction columns as ``date+receipt``; of
            lines and one-hot, ``transaction`` is no item), ``rows=together`` or ``anywhere``, ``within=`` (separator
            between items in a cell, or none), ``missing=keep`` (NaN, None, NA are items), ``separator=`` (, ; | tab
            blank), ``header=yes`` or ``no``, ``encoding=``, ``sheet=`` (of a workbook: a name, or a number as ``#1``).
        catalogue: the items, looked up by name: the number 7 is the name "7". By default 0 … the largest number for dat
            (the distinct ones beyond 2^20), the columns for one-hot, otherwise the sorted names.
        unknown: "error", or "drop" to leave out items that are not in the catalogue.
        repeats: "error", or "merge" to count a repeated item once.
        empty: "error", "keep" to read a blank line, or a null or empty list, as an empty basket, or "drop".
        incomplete: "refuse", or "drop" to leave out rows of the long layout without an id, an item or a quantity. Such
            rows below all others, as totals, are always left out. Empty cells of a one-hot table mean "not bought" if
            no cell is false, as in a pivot. Otherwise they are refused, their rows left out with "drop", or read as not
            bought with "keep".
        progress: called with (bytes read, bytes of the file).

    Returns:
        The baskets in the order of the file; those of the long layout by first appearance.

    Raises:
        BasketError: the file cannot be read, does not have the layout, or is ambiguous; items are unknown, repeated,
            missing or unusable; baskets are empty.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> file = Path(mkdtemp(), "shop.csv")
    >>> _ = file.write_text("milk,tea\nmilk\n")
    >>> ap.read_baskets(file, layout="lines")
    Baskets(2 baskets over 2 items)
    """
    from assocpriv.records import basket_files
    from assocpriv.records.layout import ReadOptions

    options = ReadOptions(layout, unknown, repeats, empty, incomplete, progress=progress)
    return basket_files.read_baskets(path, catalogue, options)[0]


# ---- randomizing


OneRecord: TypeAlias = "AbstractSet[str | int] | Mapping[str, Any] | GuidedRecord"
ManyCounts: TypeAlias = "BasketCounts | TableCounts | ResponseCounts"


@overload
def randomize(records: OneRecord, plan: PublishedPlan) -> bytes: ...
@overload
def randomize(
    records: Any, plan: PublishedPlan, output: None = None, *, memory_bytes: int | None = None, force: bool = False,
    progress: Shown = None, layout: str | None = None, unknown: str | None = None, repeats: str | None = None,
    empty: str | None = None, incomplete: str | None = None, person: str | int | None = None,
    person_as: str | None = None, separator: str | None = None, sheet: str | None = None,
    missing: str | Sequence[str] | None = None, clip: bool = False, guidance: "Guidance | None" = None,
    max_level: int | None = None, announced_level: int | None = None,
) -> Reports: ...  # fmt: skip
@overload
def randomize(
    records: Any, plan: PublishedPlan, output: str | PathLike[str], *, memory_bytes: int | None = None,
    force: bool = False, progress: Shown = None, layout: str | None = None, unknown: str | None = None,
    repeats: str | None = None, empty: str | None = None, incomplete: str | None = None,
    person: str | int | None = None, person_as: str | None = None, separator: str | None = None,
    sheet: str | None = None, missing: str | Sequence[str] | None = None, clip: bool = False,
    guidance: "Guidance | None" = None, max_level: int | None = None, announced_level: int | None = None,
) -> ManyCounts: ...  # fmt: skip
def randomize(
    records: Any, plan: PublishedPlan, output: str | PathLike[str] | None = None, *, memory_bytes: int | None = None,
    force: bool = False, progress: Shown = None, layout: str | None = None, unknown: str | None = None,
    repeats: str | None = None, empty: str | None = None, incomplete: str | None = None,
    person: str | int | None = None, person_as: str | None = None, separator: str | None = None,
    sheet: str | None = None, missing: str | Sequence[str] | None = None, clip: bool = False,
    guidance: "Guidance | None" = None, max_level: int | None = None, announced_level: int | None = None,
    seed: None = None,
) -> "bytes | Reports | ManyCounts":  # fmt: skip
    """Randomize one record, or many, with the operating system's entropy.

    Args:
        records: **one record**: for a plan of baskets a set or list of item names (an int 7 is the name "7") without
            repeats, also an empty one (``set()``); for a plan of a table a dictionary, {"age": 34}; for a guided plan
            a :class:`assocpriv.guided.GuidedRecord`.
            **Many records**: :class:`Baskets`, a list of sets, a pandas, polars or pyarrow table, a file name (read in
            batches), or a list of ``Path`` (a transaction id is one basket across files); for a guided plan also a
            folder of queued records.
        plan: the published plan.
        output: for many records, the report file to write (.parquet or .pq; for a guided plan also .jsonl). It appears
            only when it is complete.
        memory_bytes: of many records, memory for reading; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with bytes read and bytes of the file, or with baskets done and all baskets.
        layout, unknown, repeats, empty, incomplete: of baskets, as for :func:`read_baskets`; a plan may drop further
            names.
        person: of baskets, the columns that identify a person (by name, by number as "#2", or several as
            "store+customer"): at most ``reports_per_person`` random baskets of each person are reported. Without it
            every basket counts as another person's.
        person_as: "checked" (the default: ids that differ only in case, blanks, Unicode form or number format, as 7,
            007, 7.0, are refused) or "written" (they are different persons).
        separator: of tables in CSV files, the character between cells.
        sheet: of tables in workbooks, by name or as ``"#1"``.
        missing: of tables, one or several markers of missing values, besides empty cells, NaN and null.
        clip: of tables, clip values to the column's range.
        guidance: of guided plans, the answered guidance.
        max_level, announced_level: of guided plans, the highest level to answer, and the level that was announced
            before the guidance came.
        seed: not accepted: an adversary who knows it could remove the noise.

    Returns:
        For one record its report, ``plan.report_bytes`` bytes: all that may leave the device. For many
        :class:`Reports`; with ``output`` the counts of what was read and left out: ``read`` and ``sizes`` of baskets;
        ``records``, ``clipped`` and ``missing`` of tables; also the ``level`` of guided plans.

    Raises:
        RecordError: records that do not fit the plan; the message shows no value.
        GuidanceError: guidance of another plan, or of a level that is not answered; nothing is sent.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.
        TypeError: no record, or options of another plan type.

    Warns:
        UserWarning: without ``output``, if truncation to M items loses more than 5% of support.

    Source: EGS03, sections 5 and 6; for tables AS00 and docs/formats/table-plan.md; for guided plans ZWZ05.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "bread", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> len(ap.randomize({"milk", "tea"}, made)), len(ap.randomize([{"milk"}, {"tea", "bread"}], made))
    (2, 2)
    """
    options = _given(locals())
    if "seed" in options:
        raise TypeError(
            "randomize() has no seed: an adversary who knows it could remove the noise, so the operating system's "
            "entropy decides what leaves a device; simulate() has one"
        )
    plan = PublishedPlan.require(plan)
    if _is_one(records):
        from assocpriv.client.ledger import make_report

        if output is not None or options:
            raise TypeError(f"{next(iter(options), 'output')} goes with many records, and this is one")
        return make_report(records, plan, entropy=SystemEntropy())
    reports, counts = RANDOMIZE.of(plan.kind)(records, plan, output, **options)
    if output is None and WARN.is_of(plan.kind):
        WARN.of(plan.kind)(counts.sizes, plan)
    made: Reports | ManyCounts = counts if reports is None else reports
    return made


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a caller gave; each plan type refuses those of others."""
    return {
        name: each
        for name, each in arguments.items()
        if name not in ("records", "plan", "output")
        and each is not None
        and each is not False
        and not (isinstance(each, tuple) and not each)
    }


def _is_one(records: Any) -> bool:
    """Return whether records are one person's: a mapping, names, or no collection of collections."""
    from assocpriv.records.basket_sources import is_file

    if is_file(records) or hasattr(type(records), "columns") or hasattr(type(records), "offsets"):
        return False
    if isinstance(records, Mapping | AbstractSet) or not isinstance(records, Iterable):
        return True
    first = next(iter(records), ()) if isinstance(records, Sequence) else ()  # an empty list is no record at all
    return isinstance(first, str) or not isinstance(first, Collection)


# ---- estimates from reports


def mine(
    reports: "AnyReports | Sequence[AnyReports]",
    min_support: float | str | None = None,
    *,
    top: int | None = None,
    among: "ItemsetFilter | None" = None,
    max_itemset: int | None = None,
    fdr: float | str | None = None,
    fdr_by: str = "split",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports, with credible intervals.

    Supports are shares of **whole baskets** if some reports of the plan give basket sizes, as by default; else of
    baskets cut to the plan's M items. They are posterior means under statistical priors fitted to the same reports
    (empirical Bayes), which are not the prior and posterior of the guarantee.

    Args:
        reports: reports, a report file, a folder of them, or a list of files; or reports for Spark
            (``assocpriv.spark.read_reports``). A list of collections, or of files of several plans, is combined: a
            first collection and a second with a shorter catalogue (:func:`refine`), of other people.
        min_support: S in (0, 1], as 0.02 or ``"2%"``; by default, or with ``"auto"``, the smallest distinguishable from
            noise.
        top: instead of a minimum support, the number of itemsets of largest support.
        among: with ``top``, count only these itemsets; others with a support at least as large stay in the table.
        max_itemset: maximum itemset size; the plan's ``itemset_size`` by default.
        fdr: also test which itemsets are frequent, without a prior, and mark significant ones: the expected share of
            false ones among them is at most this, as 0.05 or ``"5%"`` (Benjamini–Hochberg).
        fdr_by: ``split``: 3 in 10 reports choose the itemsets, the others alone measure and test them. ``all``: all
            reports do both, and every possible itemset up to the largest size counts as tested.
        confidence_level: of the credible intervals ``ci_low`` … ``ci_high``, as 0.95 or ``"95%"``.
        memory_bytes: memory for reports, bitmaps and candidates; a quarter of the free memory by default.
        progress: called with (stage, done, total).

    Returns:
        One row per itemset with a posterior mean of at least S: ``support``, ``itemsets`` (frozenset of names),
        ``std_error``, ``ci_low``, ``ci_high``, ``length``, ``probability`` (posterior probability of a support of at
        least S), ``selected`` (the expected share of selected rows below S is at most 5%). ``unbiased`` is the
        estimate without the fitted prior, for whole baskets, ``sampled`` the same for cut ones, with standard errors.
        With ``fdr`` also ``p_value`` and
        ``significant``. ``write_itemsets`` keeps the table.

    Raises:
        EstimateError: no reports, sizes that the plan cannot estimate, or a name ``among`` outside the catalogue.
        PlanError: reports of another plan type; :func:`reconstruct` takes those of tables.
        WireError: damaged files.

    Warns:
        UserWarning: too few reports to detect much, or itemsets that were not counted.

    Source: EGS03, section 5; Stephens, Biostatistics 18 (2017); docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> sorted(sorted(itemset) for itemset in found[found["selected"]]["itemsets"])
    [['milk'], ['milk', 'tea'], ['tea']]
    """
    from assocpriv.estimation.intervals import ErrorOptions
    from assocpriv.server.baskets.mining import MiningRequest
    from assocpriv.server.baskets.result_frames import to_result_frame
    from assocpriv.server.baskets.selection import NO_FILTER, ItemsetFilter

    chosen = check_type("among", among or NO_FILTER, ItemsetFilter)
    request = MiningRequest(min_support, top, max_itemset, fdr, fdr_by, ErrorOptions(confidence_level), chosen)
    return to_result_frame(mine_table(backends(reports, memory_bytes, progress), request))


def mine_table(opened: "list[CountingBackend]", request: "MiningRequest") -> "LightFrame":
    """Return the table of :func:`mine`, without pandas."""
    from assocpriv.files.mined_tables import describe_limits, mining_facts

    request.among.check([each.plan for each in opened])
    frame: LightFrame = MINE.of(opened[0].plan.kind)(opened, request)
    for line in describe_limits(mining_facts(frame)):
        warnings.warn(line, stacklevel=3)
    return frame


def _answering(plan: PublishedPlan, entry: "Entry[Part]") -> "Part":
    """Return the function that reads reports of a plan; the error names the verb for the plan type."""
    if not entry.is_of(plan.kind):
        others = [each.name for each in (MINE, RECONSTRUCT, COLLECT) if each.is_of(plan.kind)]
        verbs = " and ".join(others) or "none that is known here"
        raise PlanError(f"reports of a plan of the kind {plan.kind} are for {verbs}, not for {entry.name}")
    return entry.of(plan.kind)


def backends(
    reports: "AnyReports | Sequence[AnyReports]",
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "list[CountingBackend]":
    """Return a counter of reports for each collection."""
    if memory_bytes is not None:
        memory_bytes = check_range("memory_bytes", memory_bytes, 1, MOST_MEMORY)
    return [_backend(each, memory_bytes, progress) for each in as_collections(reports)]


def _backend(
    reports: "Reports | SparkReports", memory_bytes: int | None, progress: Callable[[str, int, int], None] | None
) -> "CountingBackend":
    _answering(reports.plan, MINE)

    if isinstance(reports, Reports):
        from assocpriv.server.baskets.counting import LocalBackend

        return LocalBackend.from_reports(reports, memory_bytes, progress)
    from assocpriv.server.spark_counting import SparkBackend

    return SparkBackend(reports, memory_bytes)


def association_rules(
    itemsets: "pd.DataFrame | str | Path",
    min_confidence: "float | str" = "50%",
    *,
    size: int | str | None = None,
    antecedent_size: int | str | None = None,
    contains: Collection[str] = (),
    antecedent: Collection[str] = (),
    consequent: Collection[str] = (),
    prune: bool = False,
    sort: str | None = None,
    prices: "Mapping[str, float] | str | Path | None" = None,
    metric: None = None,
    min_threshold: None = None,
) -> "pd.DataFrame":
    """Derive the rules A → C that have at least ``min_confidence`` with a probability above 50%.

    Args:
        itemsets: a table of :func:`mine`, or a file of it.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.
        size, antecedent_size: items in the rule and in its antecedent, as 2, ``"2..3"``, ``"2.."`` or ``"..3"``.
        contains, antecedent, consequent: names that the rule, or its side, must contain.
        prune: leave out redundant rules: those to which another rule with the same consequent and a smaller antecedent,
            or the consequent's own support, gives at least their confidence (Bayardo, Agrawal, Gunopulos 1999).
        sort: a metric, ``size`` or ``name``; None: selected rules first, by the lower end of the confidence's interval
            (with prices, of the value's).
        prices: price or margin of each item, or a CSV file of it (item, price), for the value of rules. Prices are
            public, so they cost no privacy budget.
        metric, min_threshold: not accepted: mlxtend's; filter measures in the table, as ``rules[rules["lift"] > 1.2]``.

    Returns:
        The columns of mlxtend: ``antecedents``, ``consequents``, the supports of both and of the rule, and the measures
        of these. Intervals ``confidence_ci_low`` … ``confidence_ci_high`` in [0, 1] and ``lift_ci_low`` …
        ``lift_ci_high``; the former ends at 1 where the reports allow that the consequent always follows. Supports are
        means of one joint posterior, so a side's may differ a little from that of :func:`mine`. ``probability``
        (posterior probability of the confidence), ``selected`` (at most 10% expected to be false) and
        ``selected_strict`` (at most 5%). A rule is neither if the interval of its antecedent's support reaches 0, or if
        that of its confidence is 95 points wide or more.
        With prices ``value``, ``value_ci_low`` and ``value_ci_high``: what the consequents earn per thousand baskets
        with both sides, above the expectation under independence. ``attrs`` hold the number of selected rules and the
        number expected to be false.

    Raises:
        EstimateError: the table lacks what is needed, or an argument is out of range.
        TypeError: not a table of itemsets.

    Warns:
        UserWarning: no rule, as no itemset has two items, or none has the given names.

    Source: EGS03; docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> sorted(sorted(side) for side in ap.association_rules(found, "60%")["antecedents"])
    [['milk'], ['tea']]
    """
    if metric is not None or min_threshold is not None:
        raise TypeError(
            'association_rules() takes min_confidence=0.6; other measures are columns, as rules[rules["lift"] > 1.2]'
        )
    from assocpriv.files.itemset_files import ATTRIBUTE
    from assocpriv.files.mined_tables import read_table
    from assocpriv.files.rule_files import read_prices
    from assocpriv.server.baskets.result_frames import RuleFrame, to_result_frame
    from assocpriv.server.baskets.rules import derive_rules
    from assocpriv.server.baskets.selection import RuleFilter

    wanted = RuleFilter(size, antecedent_size, contains, antecedent, consequent, prune, sort)
    known = read_prices(prices) if isinstance(prices, str | Path) else prices
    table = read_table(itemsets) if isinstance(itemsets, str | Path) else itemsets
    derived = derive_rules(table, min_confidence, wanted, known)
    if why := derived.attrs[ATTRIBUTE].get("why_none"):
        warnings.warn(f"there is no rule: {why}", stacklevel=2)
    return to_result_frame(derived, RuleFrame)


def substitutes(
    reports: "AnyReports | Sequence[AnyReports]",
    below: "float | str" = 0.8,
    *,
    categories: Mapping[str, str] | None = None,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find pairs that are bought together less than expected under independence: substitutes.

    The expectation is conditional on basket size: large baskets hold more of everything, so independent items have a
    lift above 1.

    Args:
        reports, confidence_level, memory_bytes, progress: as for :func:`mine`.
        below: upper bound on the lift, as 0.8 or ``"80%"`` of the expected support.
        categories: the category of each item; only pairs within a category are considered. By default the parents of
            the plan's taxonomy, or all pairs without one.

    Returns:
        One row a detectable pair, by probability: ``itemsets``, ``support``, ``expected_support`` (under independence
        given the basket size), ``lift``, ``lift_by_size`` (support over expected support) with ``lift_ci_low`` …
        ``lift_ci_high``, ``probability`` (posterior probability of a ``lift_by_size`` below the bound) and ``selected``
        (at most 5% expected to be false). ``attrs`` count the ``detectable`` and the ``undetectable`` pairs, whose
        expected support is too small to be distinguished from 0.

    Raises:
        EstimateError, PlanError, WireError: as :func:`mine`; or a bound out of range.

    Source: docs/decide-with-rules.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["bread", "butter", "margarine"], ap.Guarantee("5%", "50%"), mean_size=1)
    >>> baskets = [{"bread", "butter"}, {"bread", "margarine"}, {"bread"}, {"butter"}, {"margarine"}, set()]
    >>> reports = ap.randomize(baskets * 20_000, made, empty="keep")
    >>> found = ap.substitutes(reports)
    >>> [sorted(pair) for pair in found[found["selected"]]["itemsets"]]
    [['butter', 'margarine']]
    """
    from assocpriv.estimation.intervals import ErrorOptions
    from assocpriv.server.baskets.result_frames import SubstituteFrame, to_result_frame
    from assocpriv.server.baskets.substitutes import find_substitutes

    opened = backends(reports, memory_bytes, progress)
    found = find_substitutes(opened, below, categories, ErrorOptions(confidence_level))
    return to_result_frame(found, SubstituteFrame)


def draws(itemsets: "pd.DataFrame", count: int = 1000, *, seed: int) -> "pd.DataFrame":
    """Draw supports from the posterior of a mined table, for statistics of your own.

    Each draw is anti-monotone (no itemset is more frequent than its subsets). The uncertainty of the basket-size
    distribution moves all supports of a draw together.

    Args:
        itemsets: a table of :func:`mine`.
        count: number of draws.
        seed: random seed.

    Returns:
        One row a draw, one column an itemset in the table's order.

    Raises:
        EstimateError: the table lacks its facts, or ``count`` is below 1.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> ap.draws(found, 100, seed=1).shape
    (100, 3)
    """
    import pandas as pd

    from assocpriv.files.mined_tables import light_table
    from assocpriv.server.baskets.posterior_samples import draw_supports

    table = light_table(itemsets)
    return pd.DataFrame(draw_supports(table, count, seed), columns=table["itemsets"].tolist())


def reconstruct(
    reports: "AnyReports",
    by: str | None = None,
    joint: tuple[str, str] | None = None,
    method: str = "auto",
    *,
    confidence_level: float | str = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> "Distributions":
    """Estimate the distribution of each column of a table from reports.

    Args:
        reports: reports of a table, a file of them, a folder, or a list of files; or reports for Spark
            (``assocpriv.spark.read_reports``).
        by: a label or category: also estimate the distributions within each of its classes.
        joint: two columns: estimate their joint distribution instead.
        method: ``auto`` (``smooth`` for additive noise, else ``em``), ``smooth`` (penalized likelihood, smoothness
            chosen by the data), ``em`` (maximum likelihood), ``ems`` (EM with smoothing: Li et al. 2020), ``bayes``
            (iterated Bayes with the χ² stopping rule of AS00) or ``least-squares`` (unbiased, shares may be negative).
            Where a method does not apply to a column another is used; ``Distribution.method`` names it.
        confidence_level: of intervals and bands, as 0.95 or ``"95%"``.
        progress: called with (reports done, all) while they are counted.

    Returns:
        ``columns`` by name, and with ``by`` ``classes`` by value; ``to_frame()`` gives all of them as a table.

    Raises:
        EstimateError: no reports, too few of a class or a column, or arguments that do not fit together.
        PlanError: reports of another plan type, or a column that the plan does not have.
        WireError: files that are damaged or of different plans.

    Source: AS00, section 3; for ``ems`` Li and others 2020; for the rest docs/why-it-works.md.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ill = {"kind": "category", "release": "response", "values": ["no", "yes"]}
    >>> made = ap.numeric.plan_table({"columns": {"ill": ill}}, ap.Guarantee.from_epsilon(2))
    >>> reports = ap.randomize(pd.DataFrame({"ill": ["no"] * 3000 + ["yes"] * 1000}), made)
    >>> abs(float(ap.reconstruct(reports)["ill"].share[1]) - 0.25) < 0.1
    True
    """
    from assocpriv.server.numeric.distributions import ReconstructionRequest

    opened = as_reports(reports)
    run = _answering(opened.plan, RECONSTRUCT)
    found: Distributions = run(opened, ReconstructionRequest(by, joint, method, confidence_level), progress)
    return found


def ask(
    reports: "AnyReports",
    itemsets: "Iterable[Collection[str | int]] | pd.DataFrame",
    *,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the supports of chosen itemsets, also of rare ones.

    Args:
        reports: as for :func:`mine`.
        itemsets: sets or lists of names of the plan's catalogue (an int 7 is the name "7"), or a table with the column
            ``itemsets``.
        confidence_level, memory_bytes, progress: as for :func:`mine`.

    Returns:
        One row an itemset, in the given order: the columns of :func:`mine` except those about a minimum support. The
        intervals are those of itemsets chosen beforehand, which are wider for best sellers.

    Raises:
        EstimateError, WireError: as :func:`mine`; an unknown or repeated name, or an itemset larger than the plan's.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.ask(ap.randomize([{"milk", "tea"}] * 20_000, made), [["milk", "tea"], ["tea"]])
    >>> (found["support"] > 0.9).tolist()
    [True, True]
    """
    from assocpriv.estimation.intervals import ErrorOptions
    from assocpriv.server.baskets.ask import ask as run
    from assocpriv.server.baskets.result_frames import AskedItemsets, to_result_frame

    table: Any = itemsets
    chosen = table["itemsets"] if hasattr(table, "columns") else table
    found = run(backends(reports, memory_bytes, progress), chosen, (), ErrorOptions(confidence_level))
    return to_result_frame(found.itemsets, AskedItemsets)


def ask_rules(
    reports: "AnyReports",
    rules: "Iterable[tuple[Collection[str | int], Collection[str | int]]] | pd.DataFrame",
    *,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the confidences of chosen rules, also of rare ones.

    Args:
        reports, confidence_level, memory_bytes, progress: as for :func:`ask`.
        rules: pairs (antecedent, consequent) of sets or lists of names, or a table of rules.

    Returns:
        One row a rule, in the given order: the columns of :func:`association_rules` except those about a minimum.

    Raises:
        EstimateError, WireError: as :func:`ask`; or both sides name the same item.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.ask_rules(ap.randomize([{"milk", "tea"}] * 20_000, made), [(["milk"], ["tea"])])
    >>> float(found["confidence"][0]) > 0.9
    True
    """
    from assocpriv.estimation.intervals import ErrorOptions
    from assocpriv.server.baskets.ask import ask as run
    from assocpriv.server.baskets.result_frames import AskedRules, to_result_frame

    table: Any = rules
    chosen = zip(table["antecedents"], table["consequents"], strict=True) if hasattr(table, "columns") else table
    found = run(backends(reports, memory_bytes, progress), (), chosen, ErrorOptions(confidence_level))
    return to_result_frame(found.rules, AskedRules)


# ---- several collections


def compare(
    *sides: Any,
    names: Sequence[str] | None = None,
    at_least: float | str = 0.0,
    fdr: float | str | None = None,
    min_confidence: float | str = "50%",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Comparison":
    """Estimate what differs between stores, regions or seasons; of three or more, their trend.

    The sides must be disjoint samples of people. A person in two of them makes the stated errors wrong, and spends the
    budget of both reports.

    Args:
        sides: two or more, in order: tables of :func:`mine`, or files of these; or reports, report files, folders or
            lists of files, which are read for the same itemsets. Plans may differ. One folder alone stands for the days
            on which its files were closed.
        names: of the sides; by default those of their files, else A, B, C …
        at_least: the smallest difference of interest, as 0.01 or ``"1%"`` of baskets; 0 tests the sign of a change.
        fdr: also test which differences are larger than ``at_least``, without a prior, and mark significant ones: the
            expected share of false ones among them is at most this, as 0.05 or ``"5%"``.
        min_confidence: of rules; a rule is compared if it has this confidence on some side.
        confidence_level, memory_bytes, progress: as for :func:`mine`.

    Returns:
        ``itemsets`` and ``rules``, light tables whose ``to_pandas()`` makes data frames. ``difference`` is the last
        side minus the first (for more than two, the change along a straight line), with ``ci_low`` … ``ci_high``,
        ``probability`` (posterior probability of a difference above ``at_least``) and ``selected``, by probability.

    Raises:
        EstimateError: fewer than two sides, tables that cannot be compared, or a number out of range.
        WireError: files that are damaged, or a copy of another side's.

    Source: docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["ice", "tea"], ap.Guarantee("5%", "50%"), mean_size=1)
    >>> summer, winter = (ap.randomize([{name}] * 20_000, made) for name in ("ice", "tea"))
    >>> found = ap.compare(summer, winter, names=["summer", "winter"])
    >>> sorted((*row["itemsets"], row["difference"] > 0) for row in found.itemsets.to_dict()[:2])
    [('ice', False), ('tea', True)]
    """
    from assocpriv.estimation.intervals import ErrorOptions
    from assocpriv.server.baskets.comparison import CompareRequest, read_sides
    from assocpriv.server.baskets.comparison import compare as run

    request = CompareRequest(at_least, fdr, min_confidence, ErrorOptions(confidence_level))
    if len(sides) == 1 and isinstance(sides[0], str | PathLike) and Path(sides[0]).is_dir():
        days = files_by_day(Path(sides[0]))
        if len(days) < 2:
            raise EstimateError(
                f"the reports in files of {sides[0]} are of {pluralize(len(days), 'day')}; a comparison is of two or "
                "more sides: name another, or close the reports of another day"
            )
        sides, names = tuple(days.values()), list(days) if names is None else names
    if len(sides) < 2:
        raise EstimateError(
            "a comparison is of two or more sides, each an argument of its own, as compare(first, second); got "
            f"{len(sides)}"
        )
    called = _names_of(sides) if names is None else [str(name) for name in names]
    if len(called) != len(sides) or len(set(called)) < len(sides):
        raise EstimateError(f"names must be {len(sides)} different ones, one a side, got {called}")
    given = {name: _opened(side) for name, side in zip(called, sides, strict=True)}
    sources = [_sources(side, given[name]) for name, side in zip(called, sides, strict=True)]
    if len(set().union(*sources)) < sum(map(len, sources)):
        raise EstimateError(f"some reports or tables are on two sides of {called}; a comparison is of different people")
    check_copies(reports for each in given.values() if isinstance(each, list) for reports in each)
    tables = {name: each for name, each in given.items() if not isinstance(each, list)}
    collections = {name: each for name, each in given.items() if isinstance(each, list)}
    counted = {
        name: [_backend(reports, memory_bytes, progress) for reports in each] for name, each in collections.items()
    }
    read = tables | read_sides(counted, tables, request.errors)
    found = run({name: read[name] for name in called}, request)
    plans = [reports.plan for each in collections.values() for reports in each]
    factors = [plan.amplification for plan in plans for _ in range(plan.reports_per_person)]
    known = not tables and all(factors)
    found.facts["epsilon_in_all"] = epsilon_from_amplification(compose(filter(None, factors))) if known else None
    return found


def _names_of(sides: Sequence[Any]) -> list[str]:
    """Return file names without endings where these are unique, else letters."""
    paths = [Path(side) if isinstance(side, str | PathLike) else None for side in sides]
    stems = [path.name.partition(".")[0] if path else "" for path in paths]
    if all(stems) and len(set(stems)) == len(stems):
        return stems
    whole = [str(path) for path in paths if path]
    return whole if len(set(whole)) == len(sides) else [chr(ord("A") + place) for place in range(len(sides))]


def _opened(side: Any) -> Any:
    """Return a mined table, or a list of collections."""
    from assocpriv.files.mined_tables import mining_facts, read_table
    from assocpriv.files.report_files import holds_reports

    if hasattr(side, "columns"):
        mining_facts(side)  # refuses what is no such table
        return side
    if isinstance(side, str | PathLike) and not Path(side).is_dir() and not holds_reports(Path(side)):
        return read_table(Path(side))
    return as_collections(side)


def _sources(side: Any, opened: Any) -> set[Any]:
    """Return what identifies reports and tables, to find those that are given twice."""
    if isinstance(opened, list):
        memory = {sha256(reports.in_memory.tobytes()).digest() for reports in opened if len(reports.in_memory)}
        return memory | {path.resolve() for reports in opened for path in reports.paths}
    return {sha256(Path(side).read_bytes()).digest() if isinstance(side, str | PathLike) else id(opened)}


# ---- both sides, and the guarantee

_SIMULATE: Entry[Callable[..., Any]] = Entry("simulate", "tried")

Stages: TypeAlias = "Callable[[str, int, int], None] | None"


@overload
def simulate(
    records: Any, plan: Plan, min_support: float | str | None = None, *, seed: int | None = None,
    progress: Stages = None, people: int | None = None, max_itemset: int | None = None, layout: str | None = None,
    unknown: str | None = None, repeats: str | None = None, empty: str | None = None, incomplete: str | None = None,
) -> "Simulation": ...  # fmt: skip
@overload
def simulate(
    records: Any, plan: "TablePlan", *, seed: int | None = None, progress: Stages = None,
    separator: str | None = None, sheet: str | None = None, missing: str | Sequence[str] | None = None,
    clip: bool = False,
) -> "TableSimulation": ...  # fmt: skip
@overload
def simulate(
    records: Any, plan: "GuidedPlan", *, seed: int | None = None, progress: Stages = None, people: int | None = None,
    separator: str | None = None, sheet: str | None = None, missing: str | Sequence[str] | None = None,
    classifier: str | None = None, unconcerned: int | None = None, rounds: int | None = None,
) -> "Trial": ...  # fmt: skip
def simulate(
    records: Any, plan: PublishedPlan, min_support: float | str | None = None, *, seed: int | None = None,
    progress: Stages = None, people: int | None = None, max_itemset: int | None = None, layout: str | None = None,
    unknown: str | None = None, repeats: str | None = None, empty: str | None = None, incomplete: str | None = None,
    separator: str | None = None, sheet: str | None = None, missing: str | Sequence[str] | None = None,
    clip: bool = False, classifier: str | None = None, unconcerned: int | None = None, rounds: int | None = None,
) -> "Simulation | TableSimulation | Trial":  # fmt: skip
    """Randomize records, estimate from the reports, and compare with the truth.

    Args:
        records: many records, as for :func:`randomize`: baskets, tables, or a file of such.
        plan: the plan to try, of any type.
        min_support: for baskets, as for :func:`mine`.
        seed: makes the run repeatable; the operating system's entropy by default.
        progress: called with stage, done and total.
        people: number of people, each with a random basket; by default one person a basket. For guided plans the number
            of random records, 5,000 by default.
        max_itemset: for baskets, the plan's ``itemset_size`` by default.
        layout, unknown, repeats, empty, incomplete: for baskets, as for :func:`read_baskets`.
        separator, sheet, missing, clip: for tables, as for :func:`randomize`; for guided plans the first three.
        classifier: for guided plans ``"naive-bayes"`` (the default), ``"tree"`` or ``"logistic"``.
        unconcerned: for guided plans, number of people whose raw tuples start the guidance; 0 (the default) for none.
        rounds: for guided plans, 5 by default, each with another third of the people held out for testing.

    Returns:
        For baskets ``itemsets`` with ``true_support`` (in whole baskets where these are estimated), ``missed`` ones,
        counts of found, missed and false ones, what was ``read``, and the seconds of each stage; the truth is that of
        the baskets as the plan reads them. For tables ``found``, as of :func:`reconstruct`, and ``columns`` with
        ``true_share``, ``true_mean`` and ``true_quantiles`` (exact to a cell of the plan's grid), the total variation
        ``distance`` of both, and the number of intervals ``tested`` and ``held`` (that contain the truth). For guided
        plans ``levels``: what each discloses and the accuracy of a classifier, with standard errors over the rounds,
        beside the published bound and the miner's own estimate.

    Raises:
        PlanError: plans of this type cannot be simulated.
        RecordError: records that the plan does not take, such as an item outside its catalogue; for guided plans too
            few people of a class.
        EstimateError: no baskets, sizes that the plan cannot estimate, or fewer records than intervals; for guided
            plans an unknown classifier, or scikit-learn is not installed.
        TypeError: an option of another plan type.

    Warns:
        UserWarning: as :func:`mine`, and for baskets in memory as :func:`randomize`.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> tried = ap.simulate([{"milk", "tea"}] * 20_000, made, 0.5, seed=1)
    >>> tried.found_count, tried.missed_count, tried.false_count
    (3, 0, 0)
    >>> import pandas as pd
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> schema = {"columns": {"ill": {"kind": "category", "values": ["no", "yes"], "release": "response"}}}
    >>> made = ap.numeric.plan_table(schema, ap.Guarantee.from_epsilon(3))
    >>> ap.simulate(table, made, seed=1).columns["ill"].true_share.tolist()
    [0.5, 0.5]
    >>> made = ap.guided.start(table, "ill").plan
    >>> tried = ap.simulate(table, made, rounds=2, seed=0)
    >>> [each.level for each in tried.levels], tried.original_accuracy.mean
    ([1, 2], 1.0)
    """
    options = _given(locals())
    plan = PublishedPlan.require(plan)
    tried: Simulation | TableSimulation | Trial
    tried = _SIMULATE.of(plan.kind)(records, plan, **options)
    return tried


def audit(
    plan: PublishedPlan | str | Path,
    *,
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    client: str = "both",
    program: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Audit":
    """Audit a plan and its clients: does the guarantee hold, and do the clients follow the plan?

    The clients run on generated records, never on real ones.

    Args:
        plan: a plan, or a plan file.
        trials: reports to request from each client, at least 1,000, as far as it makes them in some seconds.
        confidence: probability, at least, that correct clients pass; from 50% to below 100%.
        client: which of our clients: "bulk" (many baskets), "single" (one basket) or "both".
        program: a program in any language with its arguments, in place of our clients; it needs a plan file.
        progress: called with (stage, done, total).

    Returns:
        ``verdict`` ("consistent" or "broken"), ``is_broken``, and ``findings``, each with a ``verdict`` (also "not
        decided") and its explanation.

    Raises:
        PlanError: text that is no plan, or a number out of range.
        FileError: the file cannot be read, or a program cannot be started.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.audit(made, trials=1000, client="single").verdict
    'consistent'
    """
    from assocpriv.auditing.audit import audit as run
    from assocpriv.auditing.audit import audit_file
    from assocpriv.auditing.findings import AuditRequest

    words = None if program is None else tuple(program)
    request = AuditRequest(trials, confidence, client, words)
    if isinstance(plan, str | Path):
        return audit_file(Path(plan), request, progress)
    plan = PublishedPlan.require(plan)
    if words is not None:
        raise FileError("a program reads its plan from a file; write the plan with write_plan and name the file")
    return run(plan.canonical_json, request, progress)


# ---- other programs


def to_frame(table: "pd.DataFrame", backend: str) -> Any:
    """Convert a table of ours to a frame of another library.

    Args:
        table: of itemsets, rules or distributions.
        backend: ``polars``, ``pyarrow`` or ``pandas``, which must be installed.

    Returns:
        A frame with the same columns; sets of names become sorted lists.

    Raises:
        ValueError: another backend.
        TypeError: no table.

    >>> import pandas as pd
    >>> to_frame(pd.DataFrame({"itemsets": [frozenset({"tea", "milk"})], "support": [0.5]}), "pyarrow").to_pylist()
    [{'itemsets': ['milk', 'tea'], 'support': 0.5}]
    """
    import narwhals as nw

    from assocpriv.files.itemset_files import LightFrame

    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be pandas, polars or pyarrow, got {backend!r}")
    if not hasattr(table, "columns"):
        raise TypeError(f"table must be a table of itemsets, rules or distributions, got a {type(table).__name__}")
    columns = {
        name: each.tolist() for name, each in LightFrame.from_frame(table).columns.items() if name in table.columns
    }
    plain = {name: [sorted(each) if isinstance(each, frozenset) else each for each in values]
             for name, values in columns.items()}  # fmt: skip
    frame = nw.from_dict(plain, backend=backend)  # type: ignore[arg-type]  # one of three
    return frame.to_native()
