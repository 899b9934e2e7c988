"""The release of a table or of baskets: what may be published of them, checked as written.

What was found in them, or done to them, is told as JSON content. It is for the owner and stays there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from assocpriv.files.arrow_rows import Order
from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.kernels.parallel import default_memory
from assocpriv.promise.errors import FileError, TemplateError, options_of
from assocpriv.records.columns import as_table, check_table_name, frame_columns
from assocpriv.records.layout import ReadOptions
from assocpriv.records.sources import PARQUET, WORKBOOKS, named_after
from assocpriv.records.tables import TableOptions
from assocpriv.suppress import baskets, decide
from assocpriv.suppress.baskets import BasketSource
from assocpriv.suppress.checking import Checked, count_columns, count_file
from assocpriv.suppress.coins import Keys, key_path
from assocpriv.suppress.inferences import inferences, masking_columns
from assocpriv.suppress.table import (
    DROP,
    MARKS,
    CodedTable,
    Handling,
    SourceTable,
    as_written,
    bin_columns,
    read_handling,
    read_source,
)
from assocpriv.suppress.templates import HELD, Bound, are_of_items, bounds, read_templates
from assocpriv.suppress.write import Release, released_table, write_file

_WARNING = (
    "the paper's mode does not hold against a reader who knows the algorithm: of 2,209 small tables such a reader was "
    "above h in 31% and certain in 27%"
)
_NOT_COVERED = (
    "who knows columns that stand in no channel",
    "who knows sensitive values of others",
    "who has another release of the same records",
)

_WISHES = ("mode", "least", "cap")
Reading = TableOptions | ReadOptions


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a table or of baskets.

    Attributes:
        bounds: of the inferences that shall not be drawn.
        class_column: that the reader knows; the order of splits looks at it. None if there is none.
        handling: of columns.
        wishes: how cells are chosen.
        reading: how a table is read, or baskets.
    """

    bounds: tuple[Bound, ...]
    class_column: str | None
    handling: Handling
    wishes: decide.Wishes
    reading: Reading

    def __post_init__(self) -> None:
        for bound in self.bounds:
            for role, columns in (("in a channel", bound.channel), ("sensitive", (bound.column,))):
                if self.class_column in columns:
                    raise TemplateError(
                        f"the class {self.class_column} is {role}; the class is released as it is, so take it out "
                        "of the template or choose another class"
                    )
                if gone := sorted(self.dropped.intersection(columns)):
                    raise TemplateError(f"column {gone[0]} is {role} and to be dropped; choose one")

    @classmethod
    def made(cls, templates: Any, class_column: str | None, columns: Any, options: Mapping[str, Any]) -> "Request":
        """Return the request that somebody makes, with ``options`` of :class:`Wishes`, and of reading."""
        asked, is_of_items = read_templates(templates), are_of_items(templates)
        wishes = {name: options[name] for name in _WISHES if name in options}
        reading = {name: value for name, value in options.items() if name not in _WISHES}
        reading["memory_bytes"] = reading.get("memory_bytes") or default_memory()
        if is_of_items:
            if class_column is not None or columns is not None or wishes.get("mode") == decide.PAPER:
                raise TemplateError("a class, columns and the paper's mode are of tables; leave them out for baskets")
        else:
            missing = reading.get("missing", ())
            reading["missing"] = (missing,) if isinstance(missing, str) else tuple(missing)
        taken = options_of(ReadOptions, reading) if is_of_items else options_of(TableOptions, reading)
        return cls(bounds(asked), class_column, read_handling(columns), decide.Wishes(**wishes), taken)

    @property
    def dropped(self) -> frozenset[str]:
        """Columns that are not released."""
        return frozenset(name for name, said in self.handling.items() if said == DROP)

    @property
    def things(self) -> str:
        """What a row of the data is."""
        return "baskets" if isinstance(self.reading, ReadOptions) else "records"

    def read(self, data: Any) -> "BasketSource | _Table":
        """Read and code the data."""
        if isinstance(self.reading, ReadOptions):
            return baskets.read(data, self.bounds, self.reading)
        return _Table.read(data, self, self.reading)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        named = [name for bound in self.bounds for name in (*bound.channel, bound.column)]
        return tuple(dict.fromkeys([*named, *([] if self.class_column is None else [self.class_column])]))

    def about(self, coded: CodedTable) -> bytes:
        """Return a digest of the request and of what is coded of the table, which the coins depend on."""
        handling = sorted(self.handling.items())
        values = [(column.name, column.values) for column in coded.columns]
        said = repr((self.bounds, self.class_column, handling, self.wishes, values))
        digest = blake2b(said.encode(), digest_size=32)
        for column in coded.columns:
            digest.update(np.ascontiguousarray(column.codes).data)
        return digest.digest()


@dataclass(frozen=True, slots=True)
class Check:
    """What data tell as they are: of each bound the inferences above it, highest confidence first.

    ``is_release``: cells of channels hold a mark, or no basket has an item of a channel, so that bounds were counted
    over all columns of all channels; ``absent`` are these items. ``weights`` are columns that may say how many people a
    row stands for.
    """

    things: str
    records: int
    bins: dict[str, tuple[str, ...]]
    bounds: tuple[Bound, ...]
    violations: tuple[Checked, ...]
    is_release: bool
    absent: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no inference is above its bound."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Publication:
    """What was done so that data may be published; ``checked`` is counted in what was written."""

    things: str
    records: int
    class_column: str | None
    mark: str
    asked: tuple[Bound, ...]
    before: tuple[Fraction, ...]
    checked: tuple[Checked, ...]
    told: dict[str, Any]
    number: int
    bins: dict[str, tuple[str, ...]]
    respelled: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()


# ---- from data to their release


def check(data: Any, templates: Any, class_column: str | None = None, *, columns: Any = None, **reading: Any) -> Check:
    """List the inferences that a table, or baskets, allow above their bounds; nothing is written.

    A row is one person, as is a basket. In a column of numbers alone equal numbers are one value: 10, 10.0 and 1e1.
    A release is checked over all columns of all channels together, which is what its reader knows. That verifies that
    no share is above its bound; not that chance decided, that rows were shuffled, or that there is no other release.

    Args:
        data: a pandas, polars or pyarrow table, or the name of a CSV or Parquet file; with templates over items
            baskets, as a file, a table, lists or ``Baskets``.
        templates: the name of a TOML or JSON file, or a list of mappings with ``channel`` (columns), ``sensitive``
            (values by column) and ``confidence`` (the highest allowed), or of :class:`Template`; over items ``channel``
            and ``sensitive`` list items.
        class_column: that is released as it is.
        columns: what becomes of columns: a number of intervals of about equally many records for all columns of numbers
            in a channel; or by column such a number, ``"category"`` for what holds categories, each text one, or
            ``"drop"`` for what is not released. As texts: ``"age=5"``.
        reading: by name ``separator`` (of the cells of a CSV file; found out from its header by default), ``sheet`` (of
            a workbook, by name or as "#1"), ``missing`` (a word, or several, for missing values, as "?"; a missing
            cell is a value of its own), ``memory_bytes`` (what reading a file may hold; a quarter of the free memory
            by default) and ``progress`` (called with bytes read, bytes of the file); of baskets ``layout``,
            ``incomplete``, ``memory_bytes`` and ``progress``.

    Raises:
        TemplateError: templates that break a rule, or do not fit the table.
        RecordError: a table that cannot be read; no value of it is shown.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> found = ap.suppress.check(table, [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}])
    >>> [(each.values, each.support, float(each.confidence)) for each in found.violations]
    [(('clerk',), 1, 1.0)]
    """
    data, request = as_table(data), Request.made(templates, class_column, columns, reading)
    wanted, bins, dropped = request.bounds, dict[str, tuple[str, ...]](), list[str]()
    weights: tuple[str, ...] = ()
    channel = tuple(dict.fromkeys(name for bound in wanted for name in bound.channel))
    if isinstance(request.reading, ReadOptions):
        coded = baskets.shown(data, wanted, request.reading)
        dropped = [item for item in channel if not coded.column(item).has(HELD).any()]
    else:
        table = _Table.read(data, request, request.reading)
        coded, bins, wanted, weights = table.coded, table.bins, table.request.bounds, table.source.weights
    decide.check_columns(coded, wanted, class_column)
    marked = (set(MARKS) & set(coded.column(name).values) for name in masking_columns(wanted))
    is_release = any(marked) or bool(dropped)
    counted = tuple(replace(bound, channel=channel) for bound in wanted) if is_release else wanted
    found = [each for bound in counted for each in inferences(coded, bound, above=bound.confidence)]
    return Check(request.things, coded.n_records, bins, wanted, tuple(found), is_release, tuple(dropped), weights)


def suppress(
    data: Any, templates: Any, class_column: str | None = None, *, columns: Any = None,
    key: str | PathLike[str] | None = None, new_key: bool = False, **options: Any,
) -> tuple[Any, Publication]:  # fmt: skip
    """Return a table of the same kind that may be published, and what was done to it.

    Single cells of the channels' columns are hidden, such that a reader who knows this program, the templates and the
    channels of all is at most h sure of a sensitive value (docs/privacy.md). Rows come in a random order, without an
    index. With templates over items data are baskets, of which items of the channels are hidden or dropped.

    Args:
        data: a pandas, polars or pyarrow table; of baskets also lists or sets of items, or ``Baskets``.
        templates, columns: as of :func:`check`.
        class_column: is released as it is, and counted among what the reader knows: bounds hold in each class of a
            group, and so the order of splits may look at it.
        key: file of the key of the coins, made if it is not there; None: a key of its own, so that another call is
            another release.
        new_key: take another key; it is counted as a further release.
        options: as the reading of :func:`check`; ``mode``, ``local``, ``free`` (what needs no coin) or ``paper`` (Wang,
            Fung, Yu 2005, with which who knows the algorithm is above h); ``least``, records that cannot be told
            apart, at least (2); ``cap``, the ε that refusals may cost a group at most (3).

    Raises:
        TemplateError: also where even the most suppressed table violates a bound, or a column names the row.
        RecordError: as :func:`check`.
        FileError: the released table violates a bound, or the key cannot be read.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> released, done = ap.suppress.suppress(table, templates)
    >>> released["job"].tolist()
    ['*', '*', '*']
    """
    if isinstance(data, str | PathLike):
        raise TypeError("a table must be in memory, a pandas, polars or pyarrow table; suppress_file takes files")
    keys = Keys(None if key is None else Path(key), anew=new_key)
    return _release(as_table(data), Request.made(templates, class_column, columns, options), keys)


def suppress_file(
    data: str | PathLike[str], templates: Any, output: str | PathLike[str], class_column: str | None = None, *,
    columns: Any = None, new_key: bool = False, force: bool = False, **options: Any,
) -> Publication:  # fmt: skip
    """Write what :func:`suppress` returns, from a file of any size to another one of its kind, CSV or Parquet.

    A workbook's sheet becomes CSV. Cells that are not hidden stay as they are written; rows come in a random order. The
    output is checked as it lies on disk before it takes its name, so that it appears whole and checked, or not at all.
    The key lies beside the table, as ``table.csv.key``; with it another run gives the same release.

    Args:
        data, templates, class_column, columns, new_key, options: as of :func:`suppress`.
        output: file to write.
        force: replace an existing file.

    Raises:
        TemplateError, RecordError: as :func:`suppress`.
        FileError: an output exists and ``force`` is not set, is of another kind, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> table, output = Path(mkdtemp(), "table.csv"), Path(mkdtemp(), "released.csv")
    >>> _ = table.write_text("job,ill\\ncook,no\\ncook,yes\\nclerk,yes\\n")
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> ap.suppress.suppress_file(table, templates, output).records, sorted(output.read_text().split())
    (3, ['*,no', '*,yes', '*,yes', 'job,ill'])
    """
    table, output = Path(data), Path(output)
    keys = Keys(key_path(table), anew=new_key)
    inputs = [table, key_path(table), *([Path(templates)] if isinstance(templates, str | PathLike) else [])]
    check_writable(output, force=force, inputs=inputs)
    request = Request.made(templates, class_column, columns, options)
    kinds = [path.name.lower().endswith(PARQUET) for path in (table, output)]
    if output.suffix.lower() in WORKBOOKS:
        raise FileError(f"{output}: a sheet of a workbook is released as text; let the output's name end in .csv")
    if kinds[0] != kinds[1]:
        wanted = ".parquet or .pq" if kinds[0] else ".csv, .tsv, .data or .txt, also with .gz,"
        raise FileError(
            f"{output} must end in {wanted}: of such a file {'Parquet' if kinds[0] else 'text'} is released"
        )
    if request.things == "records":
        check_table_name(output)
    with atomic_output(output, force=force) as stream:
        return _release(table, request, keys, stream, gzipped=output.name.lower().endswith(".gz"))[1]


def _release(
    data: Any, request: Request, keys: Keys, stream: BinaryIO | None = None, *, gzipped: bool = False
) -> tuple[Any, Publication]:
    """Return, or write, what is released; the key is kept first, so that without it nothing is."""
    source = request.read(data)
    weights: tuple[str, ...] = ()
    if isinstance(source, _Table):
        request, weights = source.request, source.source.weights
        for name in source.source.naming:
            raise TemplateError(
                f"column {name} has another value in each row; drop it ({name}=drop), or put it in a channel"
            )
    else:
        channel = {item for bound in request.bounds for item in bound.channel}
        decide.refuse_known(channel, (item for bound in request.bounds for item in bound.column.split(", ")))
    if isinstance(source, BasketSource) and source.kind not in ("one-hot", "list"):  # which cannot say "hidden"
        if request.wishes.mode != decide.LOCAL:
            raise TemplateError(
                "only one-hot tables and lists in columns can say that a cell is hidden; leave free out"
            )
        request = replace(request, wishes=replace(request.wishes, mode=decide.GLOBAL))
    coins = keys.coins(request.about(source.coded))
    outcome = decide.decide(source.coded, request.bounds, request.class_column, request.wishes, coins)
    released, checked = source.write(outcome, coins.order(source.coded.n_records), stream, gzipped=gzipped)
    keys.keep()
    return released, Publication(
        request.things, source.coded.n_records, request.class_column, source.mark, request.bounds, outcome.before,
        checked, decide.facts(outcome, source.coded, request.wishes), keys.number, source.bins, source.respelled,
        tuple(sorted(request.dropped)), weights,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A table as it was given and as it was read."""

    given: Any
    request: Request
    reading: TableOptions
    source: SourceTable
    bins: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, data: Any, request: Request, reading: TableOptions) -> "_Table":
        """Read a table, and bin its numbers."""
        table = read_source(data, request.columns, request.handling, reading)
        request = replace(request, bounds=as_written(request.bounds, table.coded))
        channels = {name for bound in request.bounds for name in bound.channel}
        return cls(
            data, request, reading, *bin_columns(table, channels, masking_columns(request.bounds), request.handling)
        )

    @property
    def mark(self) -> str:
        """What stands for a hidden cell."""
        return decide.choose_mark(self.coded, self.request.bounds, self.reading.cells.missing)

    @property
    def coded(self) -> CodedTable:
        return self.source.coded

    @property
    def respelled(self) -> tuple[str, ...]:
        """Columns that are written anew, and not for their intervals."""
        return tuple(name for name in self.coded.names if name in self.source.respelled - set(self.bins))

    def write(self, outcome: decide.Outcome, order: Order, stream: BinaryIO | None, *, gzipped: bool) -> Any:
        """Write the table to a file, or return it; and what was counted in it."""
        release = Release.of(self.source, outcome.hidden, self.mark, self.request.dropped, order)
        if stream is None:
            released = released_table(self.given, release)
            stored = {str(column.name).strip(): column for column in frame_columns(released)}
            names = {name for bound in outcome.promised for name in (*bound.channel, bound.column)}
            return released, count_columns({name: stored[name].to_arrow() for name in names}, outcome.promised)
        path, memory = Path(self.given), self.reading.memory_bytes or default_memory()
        named_after(path, lambda: write_file(path, release, stream, memory, gzipped=gzipped))
        stream.flush()
        return None, count_file(
            Path(stream.name), outcome.promised, separator=self.source.separator or None, gzipped=gzipped
        )


# ---- the owner's report


def record(found: Check | Publication) -> dict[str, Any]:
    """Return what :func:`check` found, or :func:`suppress` did, as JSON content, for the owner alone.

    A row counts as one person; ``weights`` are columns that may say that it stands for several.

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
    if isinstance(found, Check):
        return shared | {
            "passed": found.passed,
            "is_release": found.is_release,
            "absent": list(found.absent),
            "bounds": [_bound(bound) for bound in found.bounds],
            "violations": [_inference(each) for each in found.violations],
        }
    after = {(each.bound.column, each.bound.value): _counted(each) for each in found.checked}
    return shared | found.told | {
        "class": found.class_column,
        "mark": found.mark,
        "bounds": [
            _bound(bound) | {"before": float(before)} | after[bound.column, bound.value]
            for bound, before in zip(found.asked, found.before, strict=True)
        ],
        "respelled": list(found.respelled),
        "dropped": list(found.dropped),
        "release": found.number,
        "warning": _WARNING if found.told["mode"] == decide.PAPER else None,
        "not_covered": list(_NOT_COVERED),
    }  # fmt: skip


def _counted(each: Checked) -> dict[str, Any]:
    return {"after": float(each.confidence), "support": each.support, "hits": each.hits}


def _bound(bound: Bound) -> dict[str, Any]:
    told = {"column": bound.column, "value": bound.value, "confidence": float(bound.confidence)}
    return {"channel": list(bound.channel)} | told


def _inference(found: Checked) -> dict[str, Any]:
    bound, channel = found.bound, dict(zip(found.bound.channel, found.values, strict=True))
    counts = {"support": found.support, "hits": found.hits, "bound": float(bound.confidence)}
    return _bound(bound) | counts | {"channel": channel, "confidence": float(found.confidence)}
