"""All functions for baskets, as ``assocpriv.mine``: from a plan to reports, itemsets, rules, trials, audits.

Each function loads what it needs when it is called, each name of another module when it is first used.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast, overload

from assocpriv.plans.kind import on_first_use
from assocpriv.promise.errors import FileError, counted

# isort: off
# fmt: off
if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.auditing.audit import Audit, audit_file
    from assocpriv.auditing.findings import AuditRequest
    from assocpriv.auditing.inspection import ITEMSETS, MODEL, PLAN, REPORTS, FileContent, inspect
    from assocpriv.client.ledger import parse_record, takes_names
    from assocpriv.client.ledger import DeviceReport, Ledger, report
    from assocpriv.collect.gather import Gathered, GatheredPlan, Refusal
    from assocpriv.files.atomic import check_page, check_writable
    from assocpriv.files.itemsets import AnyFrame, LightFrame
    from assocpriv.files.plans import NameSource, check_catalogue, write_catalogue
    from assocpriv.files.plans import read_catalogue, write_plan
    from assocpriv.files.plans import read_plan as read_any_plan
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.planning.baskets import explain_promises
    from assocpriv.planning.baskets import make_plan as plan
    from assocpriv.planning.discovery import (
        DEFAULT_DELTA, Budget, Discovery, PlanUse, Privacy, describe_budget, describe_privacy, foresee,
        promise_needed, reports_needed, reports_to_discover,
    )
    from assocpriv.planning.rounds import Refinement, plan_histogram
    from assocpriv.planning.transaction_size import SamplingLoss
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.catalogue import Catalogue
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.plans.view import View
    from assocpriv.promise.breaches import (
        BeliefRange, Breach, Channel, Epsilon, amplification_of, breach_curve, compose, epsilon,
        highest_posterior, largest_rise, lowest_posterior,
    )
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.promise.errors import AssocprivError
    from assocpriv.promise.information import (
        downward_threshold, excluded_fall, excluded_posterior, information_limit, inverse_worst_information,
        mutual_information, upward_threshold, worst_information,
    )
    from assocpriv.records.basket_files import ReadCounts
    from assocpriv.records.baskets import Baskets, to_baskets
    from assocpriv.server.ask import AskOutcome
    from assocpriv.server.counting import CountingBackend
    from assocpriv.server.intervals import ErrorOptions
    from assocpriv.server.itemsets import read_itemsets, read_table, write_itemsets
    from assocpriv.server.mining import MiningRequest, check_aim, check_max_itemset
    from assocpriv.server.undo_sampling import SizeShares
    from assocpriv.server.rounds import combined_records, write_combined
    from assocpriv.server.rules import rules_of_table, write_rules
    from assocpriv.server.selection import ItemsetFilter, RuleFilter
    from assocpriv.server.spark import SparkReports
    from assocpriv.show.pages import chart, page, write_page
    from assocpriv.show.terminal import progress_bar
    from assocpriv.simulation.demo import DemoSettings, start_demo
    from assocpriv.simulation.rounds import RoundsTrial
    from assocpriv.simulation.samples import draft_catalogue, plan_for_sample, try_catalogue
    from assocpriv.simulation.simulate import Simulation
    from assocpriv.simulation.simulate import simulate as simulate_transactions
    from assocpriv.simulation.synthetic import (
        FILE_FORMATS, AgrawalSettings, QuestSettings, agrawal_schema, check_record_output, generate_agrawal,
        generate_agrawal_file, generate_file,
    )

# fmt: on
# isort: on

__all__ = [
    "DEFAULT_DELTA", "FILE_FORMATS", "ITEMSETS", "MODEL", "PLAN", "REPORTS", "AgrawalSettings", "AssocprivError",
    "AuditRequest", "Baskets", "BeliefRange", "Breach", "Budget", "Catalogue", "Channel", "DemoSettings",
    "DeviceReport", "Discovery", "Epsilon", "ErrorOptions", "FileContent", "Gathered", "GatheredPlan",
    "ItemsetFilter", "Ledger", "MiningRequest", "NameSource", "Plan", "Privacy", "QuestSettings", "ReadOutcome",
    "Refusal", "Reports", "RuleFilter", "SystemEntropy", "View", "agrawal_schema", "amplification_of", "answer",
    "ask", "ask_rules", "association_rules", "audit", "audit_file", "breach_curve", "catalogue", "chart",
    "check_aim", "check_catalogue", "check_max_itemset", "check_page", "check_plan", "check_record_output",
    "check_writable", "combine", "combined_records", "compose", "describe_budget", "describe_privacy",
    "describe_undecided", "downward_threshold", "draft_catalogue", "epsilon", "excluded_fall", "excluded_posterior",
    "explain_promises", "foresee", "gather", "generate_agrawal", "generate_agrawal_file", "generate_file",
    "highest_posterior", "information_limit", "inspect", "inverse_worst_information", "largest_rise",
    "lowest_posterior", "mine", "mine_reports", "mutual_information", "page", "parse_record", "plan",
    "plan_for_sample", "plan_for_sizes", "plan_histogram", "privacy", "progress_bar", "promise_needed", "randomize",
    "randomize_baskets", "randomize_file", "read_any_plan", "read_baskets", "read_catalogue", "read_itemsets",
    "read_plan", "read_reports", "read_table", "read_transactions", "read_used_baskets", "refine", "report",
    "report_items", "reports_needed", "reports_to_discover", "rules_of_table", "simulate", "simulate_rounds",
    "simulate_transactions", "start_demo", "takes_names", "to_arules", "to_baskets", "to_efficient_apriori",
    "to_frame", "try_catalogue", "upward_threshold", "worst_information", "write_catalogue", "write_combined",
    "write_fimi", "write_itemsets", "write_page", "write_plan", "write_rules", "write_spmf",
]  # fmt: skip
_HOMES = {
    "assocpriv.auditing.audit": ("audit_file",),
    "assocpriv.auditing.findings": ("AuditRequest",),
    "assocpriv.auditing.inspection": ("ITEMSETS", "MODEL", "PLAN", "REPORTS", "FileContent", "inspect"),
    "assocpriv.client.ledger": ("parse_record", "takes_names", "DeviceReport", "Ledger", "report"),
    "assocpriv.collect.gather": ("Gathered", "GatheredPlan", "Refusal"),
    "assocpriv.files.atomic": ("check_page", "check_writable"),
    "assocpriv.files.plans": (
        "NameSource", "check_catalogue", "write_catalogue", "read_catalogue", "read_plan as read_any_plan",
        "write_plan",
    ),
    "assocpriv.files.reports": ("Reports", "read_reports"),
    "assocpriv.planning.baskets": ("explain_promises", "make_plan as plan"),
    "assocpriv.planning.discovery": (
        "DEFAULT_DELTA", "Budget", "Discovery", "Privacy", "describe_budget", "describe_privacy", "foresee",
        "promise_needed", "reports_needed", "reports_to_discover",
    ),
    "assocpriv.planning.rounds": ("plan_histogram",),
    "assocpriv.plans.baskets": ("Plan",),
    "assocpriv.plans.catalogue": ("Catalogue",),
    "assocpriv.plans.view": ("View",),
    "assocpriv.promise.breaches": (
        "BeliefRange", "Breach", "Channel", "Epsilon", "amplification_of", "breach_curve", "compose",
        "epsilon", "highest_posterior", "largest_rise", "lowest_posterior",
    ),
    "assocpriv.promise.entropy": ("SystemEntropy",),
    "assocpriv.promise.errors": ("AssocprivError",),
    "assocpriv.promise.information": (
        "downward_threshold", "excluded_fall", "excluded_posterior", "information_limit",
        "inverse_worst_information", "mutual_information", "upward_threshold", "worst_information",
    ),
    "assocpriv.records.baskets": ("Baskets", "to_baskets"),
    "assocpriv.server.intervals": ("ErrorOptions",),
    "assocpriv.server.itemsets": ("read_itemsets", "read_table", "write_itemsets"),
    "assocpriv.server.mining": ("MiningRequest", "check_aim", "check_max_itemset"),
    "assocpriv.server.rounds": ("combined_records", "write_combined"),
    "assocpriv.server.rules": ("rules_of_table", "write_rules"),
    "assocpriv.server.selection": ("ItemsetFilter", "RuleFilter"),
    "assocpriv.show.pages": ("chart", "page", "write_page"),
    "assocpriv.show.terminal": ("progress_bar",),
    "assocpriv.simulation.demo": ("DemoSettings", "start_demo"),
    "assocpriv.simulation.samples": ("draft_catalogue", "plan_for_sample", "try_catalogue"),
    "assocpriv.simulation.simulate": ("simulate as simulate_transactions",),
    "assocpriv.simulation.synthetic": (
        "FILE_FORMATS", "AgrawalSettings", "QuestSettings", "agrawal_schema", "check_record_output",
        "generate_agrawal", "generate_agrawal_file", "generate_file",
    ),
}  # fmt: skip
__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- plans


def read_plan(path: str | PathLike[str]) -> "Plan":
    """Read a plan file, of baskets.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its operator breaks; or the plan is of
            another kind of data.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.baskets import Plan

    return read(Path(path), Plan)


def check_plan(plan: object) -> None:
    """Refuse what is no plan, as a file's name, before it is taken for one."""
    from assocpriv.plans.baskets import Plan

    Plan.of(plan)


def plan_for_sizes(
    items: int | Iterable[str],
    promise: "Breach",
    histogram: "pd.DataFrame | str | Path",
    *,
    transaction_size: int | None = None,
    blocks: str | int | None = "auto",
    progress: Callable[[int, int], None] | None = None,
    **choices: Any,
) -> "Plan":
    """Plan one collection by a mined histogram of sizes, so that supports come near to those of whole baskets.

    Args:
        items: number of items or their names, those whose sizes the histogram tells.
        promise: the breach that no report may cause.
        histogram: mined table of a sizes plan, or its file.
        transaction_size: M; by default chosen by the histogram.
        blocks: ``auto`` chooses whether to cut the catalogue and into how many pieces; their number; or None.
        progress: called with (done, total) steps.
        choices: all else that :func:`assocpriv.plan` takes.

    Raises:
        EstimateError: not the table of a sizes plan.
        PlanError: arguments out of range, or no operator fits.
    """
    from assocpriv.planning.baskets import plan_for_sizes
    from assocpriv.planning.request import catalogue_of
    from assocpriv.server.rounds import sizes_of_table

    sizes, catalogue = sizes_of_table(_table(histogram)), catalogue_of(items)
    wishes = {"transaction_size": transaction_size, "blocks": blocks, "progress": progress}
    made, _ = plan_for_sizes(catalogue, promise, sizes, **wishes, **choices)  # type: ignore[arg-type]
    return made


# ---- baskets and files


def read_baskets(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 -- the command line's --format
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    catalogue: "Catalogue | None" = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> "Baskets":
    """Read a file of baskets.

    What is not said of a CSV file's layout is found out from its first lines, or refused where these may mean several
    things; the logger ``assocpriv`` is told what was understood, at the level INFO. docs/cli.md has the rules.

    Args:
        path: the file; a name that ends in .gz is decompressed.
        format: "dat" (a line of item numbers a basket, blanks between), "basket" (CSV, a line of names a
            basket), "long" (CSV, a line an item of a transaction, blank lines ignored), "onehot" (CSV with a header,
            a column an item, cells 1 and 0 or t and f), "parquet" (long, or a column of lists). By default .dat and
            .txt are dat, .parquet and .pq are parquet, and .csv and .tsv show it themselves.
        separator: of the cells: "," ";" "|" "tab" or "blank".
        header: whether line 1 names columns.
        transaction_column: of the long layout, by name or number from 1; of onehot, the column that is no item.
        item_column: of the long layout, or the column of lists, by name or number from 1.
        catalogue: the items there may be, looked up by name: the number 7 is the name "7". By default
            0 … the largest number for dat (the distinct ones beyond 2^20), the columns for onehot, otherwise the
            sorted names.
        unknown: "error", or "drop" to leave out items that are not in the catalogue.
        repeats: "error", or "merge" to count an item that a basket repeats once.
        empty: "error", or "keep" to take a blank line, or a null or empty list, as an empty basket.
        progress: called with (bytes read, bytes of the file).

    Returns:
        The baskets in the order of the file; those of the long layout by first appearance.

    Raises:
        BasketError: a file that cannot be read, is not of the format or may be of several; unknown, repeated, missing
            or unusable items; empty baskets.
    """
    from assocpriv.records import basket_files

    options = basket_files.ReadOptions(
        format,
        unknown,
        repeats,
        empty,
        progress=progress,
        separator=separator,
        header=header,
        transaction_column=transaction_column,
        item_column=item_column,
    )
    return basket_files.read_baskets(path, catalogue, options)[0]


def catalogue(
    *sources: Any,
    min_count: int = 1,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "Catalogue":
    """Make a catalogue of the names of items in baskets that may be looked at: it gets published with the plan.

    Names are put into Unicode form NFC with single blanks, so baskets that write them otherwise do not match it.

    Args:
        sources: files of baskets, or baskets in memory (see ``to_baskets``).
        min_count: baskets that a name must be in.
        format, separator, header, transaction_column, item_column: of the files, as for :func:`read_baskets`.
        progress: called with (bytes read, bytes of the file), file by file.

    Returns:
        The names, sorted; ``write_catalogue`` writes them, a line each.

    Raises:
        BasketError: as :func:`read_baskets`; no item is in so many baskets.

    Warns:
        UserWarning: names that are equal but for case, Unicode form or blanks: how many groups, ``check_catalogue`` has
            the names.
    """
    from assocpriv.simulation.samples import draft_catalogue as draft

    columns = {"transaction_column": transaction_column, "item_column": item_column}
    draft_made = draft(
        sources, min_count, {"format": format, "separator": separator, "header": header, **columns}, progress
    )
    if draft_made.twins:
        groups = counted(len(draft_made.twins), "group")
        warnings.warn(
            f"{groups} of names differ in case, Unicode form or blanks only; "
            "assocpriv.api.check_catalogue(…).twins has them",
            stacklevel=2,
        )
    return draft_made.catalogue


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a file of baskets comes to as a plan's transactions.

    How many baskets there are and what was dropped, merged and kept on the way, how many came out empty, and what
    sampling long ones loses of what the plan's view makes of them.
    """

    counts: "ReadCounts"
    empty: int
    loss: "SamplingLoss"


def read_transactions(baskets: str | Path, plan: "Plan", **reading: Any) -> tuple["Baskets", ReadOutcome]:
    """Read a file of baskets whole as a plan's transactions, and what is lost of them; as :func:`randomize_file`."""
    from assocpriv.client.transactions import read_transactions as read
    from assocpriv.planning.transaction_size import sampling_loss
    from assocpriv.records.basket_files import ReadOptions
    from assocpriv.records.baskets import count_sizes

    transactions, counts = read(baskets, plan, ReadOptions(**reading))
    sizes = count_sizes(transactions)
    return transactions, ReadOutcome(counts, sizes[0], sampling_loss(sizes, plan))


def read_used_baskets(baskets: str | Path, **reading: Any) -> "Baskets":
    """Read a file of baskets as :func:`read_baskets`, over a catalogue of the items that occur in it."""
    from assocpriv.simulation.rounds import of_used_items

    return of_used_items(read_baskets(baskets, **reading))


# ---- randomizing


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
    from assocpriv.client.ledger import make_report
    from assocpriv.promise.entropy import SystemEntropy

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

    from assocpriv.client.bulk import randomize_chunks
    from assocpriv.client.transactions import view_baskets
    from assocpriv.files.reports import Reports
    from assocpriv.planning.transaction_size import sampling_loss, warn_of_loss
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.records.baskets import count_sizes

    check_plan(plan)
    table = {"format": format, "transaction_column": transaction_column, "item_column": item_column}
    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats, table=table)
    warn_of_loss(sampling_loss(count_sizes(transactions), plan))
    chunks = randomize_chunks(transactions, plan, entropy=SystemEntropy(), progress=progress)
    parts = [chunk.packed for chunk in chunks]
    packed = np.concatenate(parts) if parts else np.empty((0, plan.report_bytes), dtype=np.uint8)
    return Reports(plan, packed)


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
    from assocpriv.client.bulk import randomize_chunks
    from assocpriv.client.transactions import stream_transactions
    from assocpriv.files.reports import check_report_output, write_reports
    from assocpriv.kernels.parallel import default_memory, workers_within
    from assocpriv.planning.transaction_size import sampling_loss
    from assocpriv.promise.entropy import SystemEntropy
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


def gather(
    sources: "str | PathLike[str] | BinaryIO | Iterable[str | PathLike[str]]",
    plan: "PublishedPlan | Iterable[PublishedPlan]",
    output: str | PathLike[str],
    *,
    keep: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Gathered":
    """Gather single reports, as ``assocpriv report`` writes and devices send them, into a collection.

    A file is one report, and is **removed** when the collection has it on disk. Whenever a gatherer is killed, and
    however many work on a folder at a time, the collection gets each report once: the next run finishes what one left.
    What is no report stays where it is.

    Args:
        sources: a folder, whose files are reports but for those that are hidden or in folders below; a file; a list
            of these; or a stream that is open for bytes, of reports one after another.
        plan: the plan of the reports, or several plans whose reports differ in length. A stream takes one.
        output: a folder, made if it is missing, which gets one report file more; or a new file that ends in .parquet.
            For several plans a folder with one for each, named by the first 12 digits of the plan's id.
        keep: leave the files where they are; the output must hold no reports yet, or it would have them twice (of two
            such runs at once, one is refused).
        progress: called with (what is done, done, total).

    Returns:
        What was gathered of each plan, and what was refused. Reports are written in random order, up to four million
        or 64 MiB at a time, without names and times.

    Raises:
        FileError: an output that cannot be written or is the inbox, files that cannot be taken, or files that a
            gatherer has taken for another collection and left.
        WireError: an output that holds reports of another plan.
        PlanError: plans whose reports have the same length, or several for a stream.
    """
    from assocpriv.collect.gather import gather_files, gather_stream
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.promise.errors import PlanError

    plans = [plan] if isinstance(plan, PublishedPlan) else list(plan or ())
    if not plans or not all(isinstance(each, PublishedPlan) for each in plans):
        raise TypeError("plan must be a Plan, or a list of plans (read_plan reads one from a file)")
    if not hasattr(sources, "read"):
        listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
        if not listed or not all(isinstance(source, str | PathLike) and str(source) for source in [*listed, output]):
            raise TypeError("sources and output must be names of files and folders, none of them empty")
        return gather_files(map(Path, listed), plans, Path(output), keep=keep, progress=progress)
    if keep:
        raise FileError("keep leaves files where they are, and a stream has none")
    if len(plans) > 1:
        raise PlanError("reports of several plans cannot be told apart in a stream; gather it with one plan")
    return gather_stream(cast("BinaryIO", sources), plans[0], Path(output))


# ---- mining


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


# ---- rules and questions


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
    from assocpriv.server.rules import rules_of_table
    from assocpriv.server.selection import RuleFilter

    wanted = RuleFilter(metric, min_threshold, size, antecedent_size, contains, antecedent, consequent, prune, sort)
    return shown(rules_of_table(itemsets, min_confidence, certain, wanted), RuleFrame)


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
) -> "AskOutcome":
    """Estimate both supports of itemsets and confidences of rules, as :func:`ask` and :func:`ask_rules`."""
    from assocpriv.files.reports import as_reports
    from assocpriv.server.ask import ask as run

    return run(_backend(as_reports(reports), memory_bytes, progress), itemsets, rules, errors)


# ---- rounds


def refine(
    itemsets: "pd.DataFrame | str | Path",
    plan: "Plan",
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
            as noise leaves it open whether they belong there (docs/cli/server.md has the rule).
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
    from assocpriv.planning.request import catalogue_of
    from assocpriv.planning.rounds import RoundWishes
    from assocpriv.planning.rounds import refine as run

    check_plan(plan)
    catalogue = None if items is None else catalogue_of(items)
    sizes = _sizes(histogram)
    return run(_table(itemsets), plan, RoundWishes(top, candidates, sizes, reports, catalogue))


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
    from assocpriv.server.rounds import combine_tables

    if isinstance(tables, str | Path) or hasattr(tables, "columns"):
        raise TypeError("tables must be a list of tables or files; combining takes two or more")
    sizes = _sizes(histogram)
    frames = [_table(table) for table in tables]
    return combine_tables(frames, sizes)


def _table(table: "pd.DataFrame | str | Path") -> "pd.DataFrame":
    from assocpriv.server.itemsets import read_itemsets

    return read_itemsets(table) if isinstance(table, str | Path) else table


def _sizes(histogram: "pd.DataFrame | str | Path | None") -> "SizeShares | None":
    from assocpriv.server.rounds import sizes_of_table

    return None if histogram is None else sizes_of_table(_table(histogram))


# ---- trials


def simulate(
    baskets: Any,
    plan: "Plan",
    min_support: float | str,
    *,
    max_itemset: int | None = None,
    seed: int | None = None,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
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
        format, transaction_column, item_column, unknown, repeats: as for :func:`randomize_baskets`.
        progress: called with (stage, done, total).

    Returns:
        ``itemsets`` with their ``true_support`` (within at most M sampled items) and ``raw_support``, ``missed``
        ones, counts of found, missed and false ones, and the time of each stage. The truth is that of what the plan's
        view makes of the baskets.

    Raises:
        BasketError: an item outside the plan's catalogue that its view does not drop.
        EstimateError: no baskets, or sizes that the plan cannot answer.

    Warns:
        UserWarning: as :func:`randomize_baskets`.
    """
    from assocpriv.client.transactions import view_baskets
    from assocpriv.planning.transaction_size import sampling_loss, warn_of_loss
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.baskets import count_sizes
    from assocpriv.simulation.simulate import simulate as run

    plan = Plan.of(plan)
    table = {"format": format, "transaction_column": transaction_column, "item_column": item_column}
    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats, table=table)
    warn_of_loss(sampling_loss(count_sizes(transactions), plan))
    return run(transactions, plan, min_support, max_itemset=max_itemset, seed=seed, progress=progress)


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
    from assocpriv.records.baskets import to_baskets
    from assocpriv.simulation.rounds import try_rounds

    return try_rounds(to_baskets(baskets), promise, rounds=rounds, top=top, seed=seed, progress=progress)


# ---- audit and privacy


def audit(
    plan: "PublishedPlan | str | Path",
    *,
    depth: str = "all",
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    client: str = "both",
    program: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Audit":
    """Audit a plan and clients of it: is the promise kept, and do the clients follow the plan?

    The clients run on records made here, never on anybody's.

    Args:
        plan: a plan, or a plan file.
        depth: "exact" (the promise recomputed, our clients walked through draw by draw), "conformance" or "empirical"
            (clients as black boxes), or "all".
        trials: reports to ask each client for, 1,000 at least.
        confidence: chance, at least, that clients that follow the plan are not called broken; from 50% to below 100%.
        client: of ours, "bulk" (for many baskets), "single" (for one) or "both".
        program: a program of any language and its arguments, in place of our clients; it needs a plan file.
        progress: called with (stage, done, total).

    Returns:
        ``verdict`` ("consistent" or "broken"), ``is_broken``, and ``findings``, each with a ``verdict`` of its own,
        which can also be "not decided", and what was ``said``.

    Raises:
        PlanError: no plan, where the exact depth is not asked for, or a number out of range.
        FileError: the file cannot be read, or a program cannot be started.
    """
    from assocpriv.auditing.audit import Audit, audit_file
    from assocpriv.auditing.audit import audit as run
    from assocpriv.auditing.findings import AuditRequest
    from assocpriv.plans.published import PublishedPlan

    words = None if program is None else tuple(program)
    request = AuditRequest(depth, trials, confidence, client, words)
    if isinstance(plan, str | Path):
        return audit_file(Path(plan), request, progress)
    plan = PublishedPlan.of(plan)
    if words is not None:
        raise FileError("a program reads its plan from a file; write the plan with write_plan and name the file")
    return Audit(request, plan, tuple(run(plan, plan.canonical_json, request, progress)))


@overload
def privacy(  # type: ignore[overload-overlap]  # of a plan of baskets more is known than of any plan
    plans: "Plan", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy": ...


@overload
def privacy(
    plans: "PublishedPlan | Iterable[PlanUse]", priors: Iterable["str | float | Fraction"] = ()
) -> "Budget": ...


def privacy(
    plans: "PublishedPlan | Iterable[PlanUse]", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy | Budget":
    """Return what a plan proves about privacy, or what all answers of one person to several plans tell together.

    Args:
        plans: a plan; or a list of plans, each alone (as many reports as it allows a person) or with a number of
            reports: ``[survey, (weekly, 52)]`` is one survey and a year of weekly reports.
        priors: probabilities of a property beforehand, for the table; by default usual ones and the promises'.
        options: of one plan of baskets ``reports_per_person``, ``shuffled`` and ``delta``, as :func:`describe_privacy`
            has them.

    Returns:
        Of one plan of baskets its ``one`` report, several ``together``, and information in bits; of others all
        ``answers`` and what they prove ``together``: ``amplification`` (the product of all γ, rounded up),
        ``epsilon``, ``beliefs``.

    Raises:
        PlanError: a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.
    """
    from assocpriv.planning.discovery import describe_budget, describe_privacy
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan

    if isinstance(plans, PublishedPlan):
        if isinstance(plans, Plan):
            return describe_privacy(plans, priors, **options)
        plans = [plans]
    if options:
        raise TypeError(
            f"{next(iter(options))} goes with one plan of baskets; of others give pairs of a plan and its reports"
        )
    if not isinstance(plans, Iterable):
        raise TypeError(f"give a plan (read_plan reads one from a file) or a list, got a {type(plans).__name__}")
    return describe_budget(plans, priors)


# ---- other programs


def to_frame(table: "pd.DataFrame", backend: str) -> Any:
    """Return a table of ours as a frame of another library.

    Args:
        table: of itemsets, rules or distributions.
        backend: ``polars``, ``pyarrow`` or ``pandas``, which must be installed.

    Returns:
        A frame with the same columns; sets of names become sorted lists, which every library has.

    Raises:
        ValueError: another backend.

    >>> import pandas as pd
    >>> to_frame(pd.DataFrame({"itemsets": [frozenset({"tea", "milk"})], "support": [0.5]}), "pyarrow").to_pylist()
    [{'itemsets': ['milk', 'tea'], 'support': 0.5}]
    """
    import narwhals as nw

    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be pandas, polars or pyarrow, got {backend!r}")
    columns = {str(name): table[name].tolist() for name in table.columns}
    plain = {name: [sorted(each) if isinstance(each, frozenset) else each for each in values]
             for name, values in columns.items()}  # fmt: skip
    frame = nw.from_dict(plain, backend=backend)  # type: ignore[arg-type]  # one of three
    return frame.to_native()


def to_efficient_apriori(itemsets: "pd.DataFrame") -> dict[int, dict[tuple[str, ...], int]]:
    """Return frequent itemsets as efficient-apriori's ``itemsets_from_transactions`` does: counts by itemset, by size.

    Counts are estimates of how many baskets hold the itemset: supports times reports, rounded.

    Raises:
        EstimateError: not a table that mine returned.
    """
    from assocpriv.server.itemsets import frequent_counts

    found: dict[int, dict[tuple[str, ...], int]] = {}
    for items, count in frequent_counts(itemsets):
        found.setdefault(len(items), {})[items] = count
    return found


def to_arules(rules: "pd.DataFrame") -> "pd.DataFrame":
    """Return rules as the R package arules writes them: ``rules`` as ``{a,b} => {c}``, then its measures.

    Standard errors come after them, under their own names.

    Raises:
        EstimateError: no table of rules.
    """
    import pandas as pd

    from assocpriv.server.rules import check_rules

    check_rules(rules)
    sides = [[f"{{{','.join(sorted(side))}}}" for side in rules[name]] for name in ("antecedents", "consequents")]
    texts = [f"{left} => {right}" for left, right in zip(*sides, strict=True)]
    measures = {"support": "support", "confidence": "confidence", "coverage": "antecedent support", "lift": "lift"}
    errors = [name for name in rules.columns if str(name).endswith("_std_error")]
    columns = {name: rules[ours].to_numpy() for name, ours in measures.items()}
    return pd.DataFrame({"rules": texts} | columns | {name: rules[name].to_numpy() for name in errors})


def write_spmf(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write frequent itemsets as SPMF's miners do: ``1 2 3 #SUP: 120``, a line each.

    Raises:
        EstimateError: not a table that mine returned, or a name with a blank, which such a file cannot tell from two.
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    from assocpriv.server.itemsets import write_counts

    write_counts(itemsets, path, "{items} #SUP: {count}", force=force)


def write_fimi(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write frequent itemsets as FIMI's miners do: ``1 2 3 (120)``, a line each; raises as :func:`write_spmf`."""
    from assocpriv.server.itemsets import write_counts

    write_counts(itemsets, path, "{items} ({count})", force=force)
