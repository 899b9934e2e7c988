"""Verbs of baskets and clients: read_baskets, randomize; of a device: send_report, send_queued, read_key."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from assocpriv.api.plans import Shown
from assocpriv.client.plan_parts import RANDOMIZE
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import FileError, given_options
from assocpriv.planning.plan_parts import WARN
from assocpriv.plans.published_plan import PublishedPlan

if TYPE_CHECKING:
    from assocpriv.client.baskets.transactions import BasketCounts
    from assocpriv.client.connection import Collector
    from assocpriv.client.guided.guided_client import GuidedRecord, ResponseCounts
    from assocpriv.client.upload import QueueResult, SentReport
    from assocpriv.guarantees.amplification import Guarantee
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.guided.guided_plan import Guidance
    from assocpriv.records.baskets import Baskets
    from assocpriv.records.table_files import TableCounts

_MOST_KEY_BYTES = 4096


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
    options = given_options(locals(), "records plan output")
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


def _is_one(records: Any) -> bool:
    """Return whether records are one person's: a mapping, names, or no collection of collections."""
    from assocpriv.records.basket_sources import is_file

    if is_file(records) or hasattr(type(records), "columns") or hasattr(type(records), "offsets"):
        return False
    if isinstance(records, Mapping | AbstractSet) or not isinstance(records, Iterable):
        return True
    first = next(iter(records), ()) if isinstance(records, Sequence) else ()  # an empty list is no record at all
    return isinstance(first, str) or not isinstance(first, Collection)


# ---- sending


def send_report(
    record: Any,
    collector: "str | Collector",
    *,
    ledger: str | PathLike[str],
    period: str,
    limit: "Guarantee | None" = None,
    plan_id: str | None = None,
    max_level: int | None = None,
    empty: str = "error",
) -> "SentReport":
    """Fetch a collector's plan, check it, make one report, write it to the ledger, and send it.

    A report that could not be sent stays queued in the ledger: the same call, or :func:`send_queued`, sends the same
    bytes again.

    Args:
        record: names of items; for another plan type its record, as {"age": 34}; or bytes, the text that ``assocpriv
            report`` reads. For a guided plan the values by column: the guidance is fetched.
        collector: its URL; or a :class:`assocpriv.device.Collector` with a key, another patience, or a relay, which a
            plan with a central guarantee needs.
        ledger: the device's ledger; made if missing, once a report is made.
        period: the reporting period of the record; the same period gets the same report again.
        limit: a guarantee for all reports of this device together, under any plans; without it only the first plan is
            answered.
        plan_id: required id of the collector's plan.
        max_level: highest level of guidance to answer, for a guided plan.
        empty: "error", or "keep" to report an empty basket.

    Returns:
        Whether the report was sent now or before or is scheduled, and the privacy budget spent and remaining.

    Raises:
        CollectorError: the collector cannot be reached, refuses, or is none; a report that was made stays queued.
        BudgetError: the privacy budget is spent, or this period or another plan was answered before.
        PlanError: a plan that breaks its rules, or another one than ``plan_id``.
        RecordError, GuidanceError: nothing is spent.
        FileError: a ledger that cannot be used.

    >>> import assocpriv as ap
    >>> collector = ap.device.Collector("https://shop.example", ap.collect.read_key("till-7.key"))  # doctest: +SKIP
    >>> basket = ["milk", "tea"]
    >>> ap.collect.send_report(basket, collector, ledger="ledger.db", period="2026-W48").state  # doctest: +SKIP
    'sent'
    """
    from assocpriv.client.upload import DeviceOptions, send_record
    from assocpriv.guarantees.errors import BasketError

    if empty not in ("error", "keep"):
        raise BasketError("empty must be 'error' or 'keep'")
    device = DeviceOptions(Path(ledger), limit, plan_id, max_level, empty)
    return send_record(record, _collector(collector), device, period)


def send_queued(
    collector: "str | Collector", *, ledger: str | PathLike[str], plan_id: str | None = None
) -> "QueueResult":
    """Send the queued reports of a ledger, those of the plan that the collector collects.

    Args:
        collector, ledger, plan_id: as in :func:`send_report`.

    Returns:
        How many reports were sent, how many stay queued for other collectors, and the send times of scheduled ones.

    Raises:
        CollectorError: it cannot be reached, refuses, or is none; unsent reports stay queued.
        FileError: there is no ledger, or it cannot be used.

    >>> import assocpriv as ap
    >>> ap.collect.send_queued("https://shop.example", ledger="ledger.db").sent  # doctest: +SKIP
    3
    """
    from assocpriv.client.upload import DeviceOptions, send_queue

    if not Path(ledger).exists():
        raise FileError(f"there is no ledger {ledger}, so no report is queued")
    return send_queue(_collector(collector), DeviceOptions(Path(ledger), pinned_id=plan_id))


def read_key(path: str | PathLike[str]) -> str:
    """Return the key in a file, stripped of white space; its content is never shown.

    Args:
        path: the file, one line of printable characters.

    Returns:
        The key.

    Raises:
        FileError: it cannot be read, or holds no key.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = Path(mkdtemp())
    >>> _, key = ap.collect.add_key(folder, "till 7")
    >>> _ = (folder / "key").write_text(key)
    >>> ap.collect.read_key(folder / "key") == key
    True
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise FileError(f"cannot read the key file {path}: {error.strerror or error}") from None
    text = content.decode("ascii", errors="surrogateescape").strip()
    if not text or len(content) > _MOST_KEY_BYTES or not text.isprintable():
        raise FileError(f"{path} holds no key: it must be one line of printable characters")
    return text


def _collector(given: "str | Collector") -> "Collector":
    from assocpriv.client.connection import Collector

    return Collector(given) if isinstance(given, str) else given
