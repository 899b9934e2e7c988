"""The release of a table or of baskets, checked as written.

The results, as JSON content, are for the owner only and must not be published.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.guarantees.errors import FileError, TemplateError, build_options, given_options, pluralize
from assocpriv.kernels.parallel import default_memory
from assocpriv.plans.result_display import html_renderer, rows_frame, short_repr
from assocpriv.records.basket_sources import PARQUET, WORKBOOKS, prefix_errors
from assocpriv.records.columns import as_table, check_table_name, frame_columns
from assocpriv.records.layout import ReadOptions
from assocpriv.records.table_files import TableOptions
from assocpriv.suppress import basket_suppression, suppression
from assocpriv.suppress.basket_suppression import BasketSource
from assocpriv.suppress.coded_table import (
    DROP,
    MARKS,
    CodedTable,
    ColumnHandling,
    SourceTable,
    bin_columns,
    match_spellings,
    read_handling,
    read_source,
)
from assocpriv.suppress.inference_templates import HELD, ConfidenceBound, are_over_items, bounds, read_templates
from assocpriv.suppress.randomization import ReleaseKey, key_path
from assocpriv.suppress.release_checks import Inference, count_columns, count_file
from assocpriv.suppress.release_files import Order, TableRelease, released_table, write_file

if TYPE_CHECKING:
    import pandas as pd

_NOT_COVERED = (
    "who knows columns that are in no channel",
    "who knows sensitive values of other records",
    "who has another release of the same records",
)

_OPTIONS = ("mode", "min_group_size", "max_epsilon")
ReadingOptions = TableOptions | ReadOptions


@dataclass(frozen=True, slots=True)
class SuppressionRequest:
    """A request for a release.

    Attributes:
        bounds: the bounds of inferences.
        class_column: a column that the adversary knows, and that the order of splits may depend on; or None.
        handling: the handling of columns.
        options: the options for the choice of cells.
        reading: the options for reading a table, or baskets.
    """

    bounds: tuple[ConfidenceBound, ...]
    class_column: str | None
    handling: ColumnHandling
    options: suppression.SuppressionOptions
    reading: ReadingOptions

    def __post_init__(self) -> None:
        for bound in self.bounds:
            for role, columns in (("in a channel", bound.channel), ("sensitive", (bound.column,))):
                if self.class_column in columns:
                    raise TemplateError(
                        f"the class {self.class_column} is {role}; the class is released unchanged, so remove it "
                        "from the template or choose another class"
                    )
                if gone := sorted(self.dropped.intersection(columns)):
                    raise TemplateError(f"column {gone[0]} is {role} and to be dropped; choose one")

    @classmethod
    def from_arguments(
        cls, templates: Any, class_column: str | None, columns: Any, options: Mapping[str, Any]
    ) -> "SuppressionRequest":
        """Return the request of a caller; ``options`` are those of :class:`SuppressionOptions` and of reading."""
        read, is_over_items = read_templates(templates), are_over_items(templates)
        choice = {name: options[name] for name in _OPTIONS if name in options}
        reading = {name: value for name, value in options.items() if name not in _OPTIONS}
        reading["memory_bytes"] = reading.get("memory_bytes") or default_memory()
        if is_over_items:
            if class_column is not None or columns is not None:
                raise TemplateError("a class and columns are for tables; leave them out for baskets")
        else:
            missing = reading.get("missing", ())
            reading["missing"] = (missing,) if isinstance(missing, str) else tuple(missing)
        taken = build_options(ReadOptions, reading) if is_over_items else build_options(TableOptions, reading)
        return cls(bounds(read), class_column, read_handling(columns), suppression.SuppressionOptions(**choice), taken)

    @property
    def dropped(self) -> frozenset[str]:
        """Columns that are not released."""
        return frozenset(name for name, how in self.handling.items() if how == DROP)

    @property
    def things(self) -> str:
        """The name of the rows: ``baskets`` or ``records``."""
        return "baskets" if isinstance(self.reading, ReadOptions) else "records"

    def read(self, data: Any) -> "BasketSource | _Table":
        """Read and code the data."""
        if isinstance(self.reading, ReadOptions):
            return basket_suppression.read(data, self.bounds, self.reading)
        return _Table.read(data, self, self.reading)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        named = [name for bound in self.bounds for name in (*bound.channel, bound.column)]
        return tuple(dict.fromkeys([*named, *([] if self.class_column is None else [self.class_column])]))

    def about(self, coded: CodedTable) -> bytes:
        """Return a digest of the request and of the coded table, the input of the random bits."""
        handling = sorted(self.handling.items())
        values = [(column.name, column.values) for column in coded.columns]
        text = repr((self.bounds, self.class_column, handling, self.options, values))
        digest = blake2b(text.encode(), digest_size=32)
        for column in coded.columns:
            digest.update(np.ascontiguousarray(column.codes).data)
        return digest.digest()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The inferences of data above their bounds, highest confidence first.

    Attributes:
        things: what is counted: ``"records"`` or ``"baskets"``.
        records: number of records or baskets.
        bins: labels of the intervals of each column that was cut into them.
        bounds: the bounds of all templates.
        violations: the inferences above their bounds.
        is_release: whether channel cells hold a mark, or no basket has some item of a channel; then bounds were counted
            over all columns of all channels.
        absent: items of channels that no basket has.
        weights: columns that may give the number of people of a row.
    """

    things: str
    records: int
    bins: dict[str, tuple[str, ...]]
    bounds: tuple[ConfidenceBound, ...]
    violations: tuple[Inference, ...]
    is_release: bool
    absent: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    _repr_html_ = html_renderer("assocpriv.show.suppression_views:check")

    def __repr__(self) -> str:
        above = f"{pluralize(len(self.violations), 'inference')} above the bound"
        count = pluralize(self.records, self.things.removesuffix("s"))
        rows = [f"{each.bound}: {float(each.confidence):.1%} of {each.support:,}" for each in self.violations]
        return short_repr(self, f"{count}, {above if rows else 'no inference above its bound'}", rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an inference above its bound.

        Returns:
            A pandas frame with the columns ``column``, ``value``, ``channel``, ``support`` (a count), ``confidence``
            and ``bound`` (shares).
        """
        return rows_frame("column value channel support confidence bound", map(_inference_row, self.violations))

    @property
    def passed(self) -> bool:
        """Whether no inference is above its bound."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """The figures of a release.

    Attributes:
        things: what is released: ``"records"`` or ``"baskets"``.
        records: number of records or baskets.
        class_column: the column of a classifier, if one was named.
        mark: the text in hidden cells.
        bounds: the bounds of all templates.
        before: the highest confidence in the data before the release, for each bound.
        checked: the inferences counted in the released data, one a bound.
        details: the choice of cells or items, and what it costs, as JSON content.
        number: number of the release under its key.
        bins: labels of the intervals of each column that was cut into them.
        respelled: columns rewritten because they write a value in several ways.
        dropped: columns left out of the release.
        weights: columns that may give the number of people of a row.
    """

    things: str
    records: int
    class_column: str | None
    mark: str
    bounds: tuple[ConfidenceBound, ...]
    before: tuple[Fraction, ...]
    checked: tuple[Inference, ...]
    details: dict[str, Any]
    number: int
    bins: dict[str, tuple[str, ...]]
    respelled: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    _repr_html_ = html_renderer("assocpriv.show.suppression_views:page")

    def __repr__(self) -> str:
        count = pluralize(self.records, self.things.removesuffix("s"))
        hidden = pluralize(sum(self.details["cells"].values()), "cell")
        return short_repr(self, f"{count}, {hidden} hidden, {self.details['shown']:.1%} shown", [
            f"{each.bound}: at most {float(each.confidence):.1%} in the release" for each in self.checked
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a bound: its inference of highest confidence in the released data.

        Returns:
            A pandas frame with the columns ``column``, ``value``, ``channel``, ``support`` (a count), ``confidence``
            and ``bound`` (shares).
        """
        return rows_frame("column value channel support confidence bound", map(_inference_row, self.checked))


def _inference_row(found: Inference) -> tuple[Any, ...]:
    bound = found.bound
    known = dict(zip(bound.channel, found.values, strict=True)) if found.values else list(bound.channel)
    return bound.column, bound.value, known, found.support, float(found.confidence), float(bound.confidence)


# ---- public functions


def check(
    data: Any, templates: Any, class_column: str | None = None, *, columns: Any = None,
    separator: str | None = None, sheet: str | None = None, missing: "str | Sequence[str] | None" = None,
    layout: str | None = None, repeats: str | None = None, incomplete: str | None = None,
    memory_bytes: int | None = None, progress: "Callable[[int, int], None] | None" = None,
) -> CheckResult:  # fmt: skip
    """List the inferences of a table, or of baskets, above their bounds; write nothing.

    Each row, or basket, counts as one person. In a column that holds only numbers, equal numbers are one value: 10,
    10.0 and 1e1. A release is checked over all columns of all channels together, the background knowledge of its
    adversary. The check verifies that no share exceeds its bound. It cannot verify that random bits chose the cells,
    that rows were shuffled, or that there is no other release.

    Args:
        data: A pandas, polars or pyarrow table, or the path of a CSV or Parquet file. With templates over items:
            baskets, as a file, a table, lists or ``Baskets``.
        templates: The path of a TOML or JSON file, or a list of :class:`Template` or of mappings with ``channel``
            (columns), ``sensitive`` (values by column) and ``confidence`` (the highest allowed). Over items ``channel``
            and ``sensitive`` list items.
        class_column: A column that is released unchanged.
        columns: The handling of columns. A number: intervals with about equal numbers of records, for all columns of
            numbers in a channel. By column: such a number, ``"category"`` (each text is one value) or ``"drop"`` (not
            released). Also as texts: ``"age=5"``.
        separator: Of tables, the character between cells; detected from the header by default.
        sheet: Of a workbook, by name or as "#1".
        missing: Of tables, one or more missing-value markers, as "?"; a missing cell is a separate value.
        layout, repeats, incomplete: Of baskets, as for :func:`assocpriv.read_baskets`.
        memory_bytes: Limit while reading; by default a quarter of the free memory.
        progress: Called with bytes read, bytes of the file.

    Returns:
        A :class:`CheckResult`: ``passed``, and ``violations`` with their patterns, supports and confidences.

    Raises:
        TemplateError: Templates that are invalid, or do not fit the data.
        RecordError: A table that cannot be read; the message shows no value.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> found = ap.suppress.check(table, [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}])
    >>> [(each.values, each.support, float(each.confidence)) for each in found.violations]
    [(('clerk',), 1, 1.0)]
    """
    reading = given_options(locals(), "data templates class_column columns")
    data, request = as_table(data), SuppressionRequest.from_arguments(templates, class_column, columns, reading)
    wanted, bins, dropped = request.bounds, dict[str, tuple[str, ...]](), list[str]()
    weights: tuple[str, ...] = ()
    channel = tuple(dict.fromkeys(name for bound in wanted for name in bound.channel))
    if isinstance(request.reading, ReadOptions):
        coded = basket_suppression.read_released(data, wanted, request.reading)
        dropped = [item for item in channel if not coded.column(item).has(HELD).any()]
    else:
        table = _Table.read(data, request, request.reading)
        coded, bins, wanted, weights = table.coded, table.bins, table.request.bounds, table.source.weights
    suppression.check_columns(coded, wanted, class_column)
    marked = (set(MARKS) & set(coded.column(name).values) for name in suppression.masking_columns(wanted))
    is_release = any(marked) or bool(dropped)
    counted = tuple(replace(bound, channel=channel) for bound in wanted) if is_release else wanted
    found = [each for bound in counted for each in suppression.inferences(coded, bound, above=bound.confidence)]
    return CheckResult(request.things, coded.n_records, bins, wanted, tuple(found), is_release, tuple(dropped), weights)


def suppress(
    data: Any, templates: Any, class_column: str | None = None, *, columns: Any = None,
    key: str | PathLike[str] | None = None, new_key: bool = False,
    mode: str | None = None, min_group_size: int | None = None, max_epsilon: float | None = None,
    separator: str | None = None, sheet: str | None = None, missing: "str | Sequence[str] | None" = None,
    layout: str | None = None, repeats: str | None = None, incomplete: str | None = None,
    memory_bytes: int | None = None, progress: "Callable[[int, int], None] | None" = None,
) -> tuple[Any, ReleaseReport]:  # fmt: skip
    """Return data of the same type that may be published, and a report of the release.

    Single cells of the channels' columns are hidden. An adversary who knows this program, the templates and the
    channels of all records then has a posterior of at most h for a sensitive value (docs/privacy-claims.md). Rows come
    in random order, without an index. With templates over items, the data are baskets, and items of the channels are
    hidden or dropped.

    Args:
        data: A pandas, polars or pyarrow table; for baskets also lists or sets of items, or ``Baskets``.
        templates, columns: As for :func:`check`.
        class_column: A column that is released unchanged and counts as known to the adversary: bounds hold in each
            class of a group, so that the order of splits may depend on the class.
        key: The file of the secret key, created if it is missing. None draws a new key, so that another call is another
            release.
        new_key: Draw another key; this counts as a further release.
        mode: ``local``, or ``deterministic`` (only cells that need no random test).
        min_group_size: Minimum number of records in a group, 2 by default.
        max_epsilon: Maximum ε that a group spends, 3 by default.
        separator, sheet, missing, layout, repeats, incomplete, memory_bytes, progress: As for :func:`check`.

    Returns:
        The released data, and a :class:`ReleaseReport` for the owner.

    Raises:
        TemplateError: As :func:`check`; also a table that violates a bound with all channels hidden, or a column that
            identifies the row.
        RecordError: As :func:`check`.
        FileError: The released table violates a bound, or the key cannot be read.
        TypeError: A path; :func:`suppress_file` takes files.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> released, done = ap.suppress.suppress(table, templates)
    >>> released["job"].tolist()
    ['*', '*', '*']
    """
    options = given_options(locals(), "data templates class_column columns key new_key")
    if isinstance(data, str | PathLike):
        raise TypeError("suppress() takes a pandas, polars or pyarrow table in memory; suppress_file() takes files")
    keys = ReleaseKey(None if key is None else Path(key), anew=new_key)
    return _release(as_table(data), SuppressionRequest.from_arguments(templates, class_column, columns, options), keys)


def suppress_file(
    data: str | PathLike[str], templates: Any, output: str | PathLike[str], class_column: str | None = None, *,
    columns: Any = None, new_key: bool = False, force: bool = False,
    mode: str | None = None, min_group_size: int | None = None, max_epsilon: float | None = None,
    separator: str | None = None, sheet: str | None = None, missing: "str | Sequence[str] | None" = None,
    layout: str | None = None, repeats: str | None = None, incomplete: str | None = None,
    memory_bytes: int | None = None, progress: "Callable[[int, int], None] | None" = None,
) -> ReleaseReport:  # fmt: skip
    """Write the result of :func:`suppress` for a file of any size to a file of the same type, CSV or Parquet.

    A workbook's sheet becomes CSV. Cells that are not hidden keep their text; rows come in random order. The output is
    read back and checked before it gets its name, so that it appears complete and checked, or not at all. The key is
    stored next to the table, as ``table.csv.key``; with it another run gives the same release.

    Args:
        data, templates, class_column, columns, new_key, mode, min_group_size, max_epsilon: As for :func:`suppress`.
        separator, sheet, missing, layout, repeats, incomplete, memory_bytes, progress: As for :func:`check`.
        output: The file to write.
        force: Replace an existing file.

    Returns:
        A :class:`ReleaseReport` for the owner.

    Raises:
        TemplateError, RecordError: As :func:`suppress`.
        FileError: The output exists and ``force`` is not set, has another type, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> table, output = Path(mkdtemp(), "table.csv"), Path(mkdtemp(), "released.csv")
    >>> _ = table.write_text("job,ill\\ncook,no\\ncook,yes\\nclerk,yes\\n")
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> ap.suppress.suppress_file(table, templates, output).records, sorted(output.read_text().split())
    (3, ['*,no', '*,yes', '*,yes', 'job,ill'])
    """
    options = given_options(locals(), "data templates output class_column columns new_key force")
    table, output = Path(data), Path(output)
    keys = ReleaseKey(key_path(table), anew=new_key)
    inputs = [table, key_path(table), *([Path(templates)] if isinstance(templates, str | PathLike) else [])]
    check_writable(output, force=force, inputs=inputs)
    request = SuppressionRequest.from_arguments(templates, class_column, columns, options)
    kinds = [path.name.lower().endswith(PARQUET) for path in (table, output)]
    if output.suffix.lower() in WORKBOOKS:
        raise FileError(f"{output}: a sheet of a workbook is released as text; use an output name that ends in .csv")
    if kinds[0] != kinds[1]:
        wanted = ".parquet or .pq" if kinds[0] else ".csv, .tsv, .data or .txt, also with .gz,"
        raise FileError(
            f"{output} must end in {wanted}: the release of this file is {'Parquet' if kinds[0] else 'text'}"
        )
    if request.things == "records":
        check_table_name(output)
    with atomic_output(output, force=force) as stream:
        return _release(table, request, keys, stream, gzipped=output.name.lower().endswith(".gz"))[1]


def _release(
    data: Any, request: SuppressionRequest, keys: ReleaseKey, stream: BinaryIO | None = None, *, gzipped: bool = False
) -> tuple[Any, ReleaseReport]:
    """Return, or write, the release; the key is written first, so that no release exists without it."""
    source = request.read(data)
    weights: tuple[str, ...] = ()
    if isinstance(source, _Table):
        request, weights = source.request, source.source.weights
        for name in source.source.identifying:
            raise TemplateError(
                f"column {name} has a different value in each row; drop it ({name}=drop), or put it in a channel"
            )
    else:
        channel = {item for bound in request.bounds for item in bound.channel}
        sensitive = (item for bound in request.bounds for item in bound.column.split(", "))
        suppression.refuse_known_values(channel, sensitive)
    if isinstance(source, BasketSource) and source.kind not in ("one-hot", "list"):  # cannot mark a hidden cell
        if request.options.mode != suppression.LOCAL:
            raise TemplateError(
                "only one-hot tables and lists in columns can mark a hidden cell; leave the mode deterministic out"
            )
        request = replace(request, options=replace(request.options, mode=suppression.GLOBAL))
    bits = keys.random_bits(request.about(source.coded))
    outcome = suppression.choose_hidden_cells(source.coded, request.bounds, request.class_column, request.options, bits)
    released, checked = source.write(outcome, bits.order(source.coded.n_records), stream, gzipped=gzipped)
    keys.write()
    details = suppression.describe_choice(outcome, source.coded, request.options)
    return released, ReleaseReport(
        request.things, source.coded.n_records, request.class_column, source.mark, request.bounds, outcome.before,
        checked, details, keys.number, source.bins, source.respelled, tuple(sorted(request.dropped)), weights,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A table as given and as read."""

    given: Any
    request: SuppressionRequest
    reading: TableOptions
    source: SourceTable
    bins: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, data: Any, request: SuppressionRequest, reading: TableOptions) -> "_Table":
        """Read a table, and bin its numbers."""
        table = read_source(data, request.columns, request.handling, reading)
        request = replace(request, bounds=match_spellings(request.bounds, table.coded))
        channels = {name for bound in request.bounds for name in bound.channel}
        binned = bin_columns(table, channels, suppression.masking_columns(request.bounds), request.handling)
        return cls(data, request, reading, *binned)

    @property
    def mark(self) -> str:
        """The text of a hidden cell: it occurs in no column of a channel and marks no missing value."""
        columns = map(self.coded.column, suppression.masking_columns(self.request.bounds))
        taken = self.reading.cells.missing.union(*(column.values for column in columns))
        for mark in MARKS:
            if mark not in taken:
                return mark
        raise TemplateError(f"the columns of channels hold all of {', '.join(MARKS)} as values; rename one of them")

    @property
    def coded(self) -> CodedTable:
        return self.source.coded

    @property
    def respelled(self) -> tuple[str, ...]:
        """Columns rewritten in one spelling, other than binned ones."""
        return tuple(name for name in self.coded.names if name in self.source.respelled - set(self.bins))

    def write(
        self, outcome: suppression.SuppressionOutcome, order: Order, stream: BinaryIO | None, *, gzipped: bool
    ) -> Any:
        """Write the table to a file, or return it, with the inferences counted in it."""
        release = TableRelease.from_source(self.source, outcome.hidden, self.mark, self.request.dropped, order)
        if stream is None:
            released = released_table(self.given, release)
            stored = {str(column.name).strip(): column for column in frame_columns(released)}
            names = {name for bound in outcome.guaranteed for name in (*bound.channel, bound.column)}
            return released, count_columns({name: stored[name].to_arrow() for name in names}, outcome.guaranteed)
        path, memory = Path(self.given), self.reading.memory_bytes or default_memory()
        prefix_errors(path, lambda: write_file(path, release, stream, memory, gzipped=gzipped))
        stream.flush()
        written, separator = Path(stream.name), self.source.separator or None
        return None, count_file(written, outcome.guaranteed, separator=separator, gzipped=gzipped)


# ---- the owner's report


def record(found: CheckResult | ReleaseReport) -> dict[str, Any]:
    """Return the result of :func:`check`, or a release report of :func:`suppress`, as JSON content for the owner only.

    Each row counts as one person; ``weights`` are columns that may give the number of people of a row.

    Args:
        found: The result of :func:`check`, or the report of :func:`suppress` or :func:`suppress_file`.

    Returns:
        The content that ``assocpriv suppress --json`` prints.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> found = ap.suppress.check(table, [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}])
    >>> content = ap.suppress.record(found)
    >>> content["passed"], content["violations"][0]["channel"]
    (False, {'job': 'clerk'})
    """
    shared = {found.things: found.records, "bins": {name: list(labels) for name, labels in found.bins.items()}}
    shared["weights"] = list(found.weights)
    if isinstance(found, CheckResult):
        return shared | {
            "passed": found.passed,
            "is_release": found.is_release,
            "absent": list(found.absent),
            "bounds": [_bound(bound) for bound in found.bounds],
            "violations": [_inference(each) for each in found.violations],
        }
    after = {(each.bound.column, each.bound.value): _counted(each) for each in found.checked}
    return shared | found.details | {
        "class": found.class_column,
        "mark": found.mark,
        "bounds": [
            _bound(bound) | {"before": float(before)} | after[bound.column, bound.value]
            for bound, before in zip(found.bounds, found.before, strict=True)
        ],
        "respelled": list(found.respelled),
        "dropped": list(found.dropped),
        "release": found.number,
        "not_covered": list(_NOT_COVERED),
    }  # fmt: skip


def _counted(each: Inference) -> dict[str, Any]:
    return {"after": float(each.confidence), "support": each.support, "hits": each.hits}


def _bound(bound: ConfidenceBound) -> dict[str, Any]:
    sensitive = {"column": bound.column, "value": bound.value, "confidence": float(bound.confidence)}
    return {"channel": list(bound.channel)} | sensitive


def _inference(found: Inference) -> dict[str, Any]:
    bound, channel = found.bound, dict(zip(found.bound.channel, found.values, strict=True))
    counts = {"support": found.support, "hits": found.hits, "bound": float(bound.confidence)}
    return _bound(bound) | counts | {"channel": channel, "confidence": float(found.confidence)}
