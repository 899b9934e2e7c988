"""The release of a table or of baskets: what may be published of them, checked as written.

What was found in them, or done to them, is told as JSON content. It is for the owner and stays there.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.kernels.parallel import default_memory
from assocpriv.promise.errors import FileError, TemplateError, options_of
from assocpriv.records.columns import check_table_name, frame_columns
from assocpriv.records.sources import PARQUET, named_after
from assocpriv.records.tables import TableOptions
from assocpriv.suppress import baskets
from assocpriv.suppress.checking import Checked, count_columns, count_file
from assocpriv.suppress.coins import Coins, Key, key_path, read_key, write_key
from assocpriv.suppress.decide import (
    MARKS,
    PAPER,
    Outcome,
    Wishes,
    check_columns,
    choose_mark,
    decide,
    facts,
    refuse_known,
)
from assocpriv.suppress.inferences import Inference, inferences, masking_columns
from assocpriv.suppress.table import CodedTable, Handling, SourceTable, bin_columns, hide, read_handling, read_source
from assocpriv.suppress.templates import Bound, are_of_items, bounds, item_bounds, read_item_templates, read_templates
from assocpriv.suppress.write import Release, released_table, rewrites, write_file

_WARNING = (
    "the paper's mode does not hold against a reader who knows the algorithm: of 2,209 small tables such a reader was "
    "above h in 31% and certain in 27%"
)
_NOT_COVERED = (
    "who knows columns that stand in no channel",
    "who knows sensitive values of others",
    "who has another release of the same records",
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a table or of baskets.

    Attributes:
        bounds: of the inferences that shall not be drawn.
        class_column: that the reader knows; the order of splits looks at it. None if there is none.
        handling: of columns.
        wishes: how cells are chosen.
        reading: how a table is read.
    """

    bounds: tuple[Bound, ...]
    class_column: str | None
    handling: Handling
    wishes: Wishes
    reading: TableOptions

    def __post_init__(self) -> None:
        for bound in self.bounds:
            for role, columns in (("in a channel", bound.channel), ("sensitive", (bound.column,))):
                if self.class_column in columns:
                    raise TemplateError(
                        f"the class {self.class_column} is {role}; the class is released as it is, so take it out "
                        "of the template or choose another class"
                    )
                if gone := sorted(self.handling.dropped.intersection(columns)):
                    raise TemplateError(f"column {gone[0]} is {role} and to be dropped; choose one")

    @classmethod
    def made(cls, templates: Any, class_column: str | None, columns: Any, options: Mapping[str, Any]) -> "Request":
        """Return the request that somebody makes, with ``options`` of :class:`Wishes` and :class:`TableOptions`."""
        wishes = {name: options[name] for name in ("mode", "least", "cap") if name in options}
        reading = {name: value for name, value in options.items() if name not in wishes}
        missing, memory = reading.get("missing", ()), reading.get("memory_bytes") or default_memory()
        words = (missing,) if isinstance(missing, str) else tuple(missing)
        taken = options_of(TableOptions, {**reading, "missing": words, "memory_bytes": memory})
        handling = read_handling(columns)
        return cls(bounds(read_templates(templates)), class_column, handling, Wishes(**wishes), taken)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        named = [name for bound in self.bounds for name in (*bound.channel, bound.column)]
        return tuple(dict.fromkeys([*named, *([] if self.class_column is None else [self.class_column])]))

    def about(self, coded: CodedTable) -> bytes:
        """Return a digest of the request and of what is coded of the table, which the coins depend on."""
        handling = sorted(self.handling.columns.items()), self.handling.everywhere
        values = [(column.name, column.values) for column in coded.columns]
        said = repr((self.bounds, self.class_column, handling, self.wishes, values))
        digest = blake2b(said.encode(), digest_size=32)
        for column in coded.columns:
            digest.update(np.ascontiguousarray(column.codes).data)
        return digest.digest()


@dataclass(frozen=True, slots=True)
class Check:
    """What data tell as they are: of each bound the inferences above it, highest confidence first.

    ``is_release``: cells of channels hold a mark, so that bounds were counted over all columns of all channels.
    """

    things: str
    records: int
    bins: dict[str, tuple[str, ...]]
    bounds: tuple[Bound, ...]
    violations: tuple[Inference, ...]
    is_release: bool

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


# ---- from data to their release


def check(data: Any, templates: Any, class_column: str | None = None, *, columns: Any = None, **reading: Any) -> Check:
    """List the inferences that a table, or baskets, allow above their bounds; nothing is written.

    A release is checked over all columns of all channels together, which is what its reader knows. That verifies that
    no share is above its bound; not that chance decided, that rows were shuffled, or that there is no other release.

    Args:
        data: a pandas, polars or pyarrow table, or the name of a CSV or Parquet file; with templates over items
        baskets, as a file, a table, lists or ``Baskets``. templates: the name of a TOML or JSON file, or a list of
        mappings with ``channel`` (columns), ``sensitive`` (values by column) and ``confidence`` (the highest
        allowed), or of :class:`Template`; over items as of :class:`ItemTemplate`. class_column: whose entropy bins
        numbers, if ``columns`` says so. columns: what becomes of columns: a number of intervals with equally many
        records for all columns of numbers in a channel, ``"entropy"`` (Fayyad and Irani 1993); or by column either of
        them, ``"category"`` for numbers that are categories, or ``"drop"`` for what is not released. As texts:
        ``"age=5"``. reading: by name ``separator`` (of the cells of a CSV file; found out from its header by
        default), ``missing`` (a word, or several, for missing values, as "?"; a missing cell is a value of its own),
        ``memory_bytes`` (what reading a file may hold; a quarter of the free memory by default) and ``progress``
        (called with bytes read, bytes of the file); of baskets ``layout``, ``memory_bytes`` and ``progress``.

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
    if are_of_items(templates):
        bins: dict[str, tuple[str, ...]] = {}
        things, wanted = "baskets", item_bounds(read_item_templates(templates))
        coded = baskets.read(data, wanted, reading).coded
        check_columns(coded, wanted, None)
        is_release = False  # a one-hot table with marks is checked as a table
    else:
        request = Request.made(templates, class_column, columns, reading)
        things, wanted = "records", request.bounds
        source, bins = _read(data, request, whole=False)
        coded = source.coded
        is_release = any(set(MARKS) & set(coded.column(name).values) for name in masking_columns(wanted))
    channel = tuple(dict.fromkeys(name for bound in wanted for name in bound.channel))
    counted = tuple(replace(bound, channel=channel) for bound in wanted) if is_release else wanted
    found = [each for bound in counted for each in inferences(coded, bound, above=bound.confidence)]
    return Check(things, coded.n_records, bins, wanted, tuple(found), is_release)


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
        templates, class_column, columns: as of :func:`check`. The class is released as it is, and counted among what
        the reader knows: bounds hold in each class of a group, and so the order of splits may look at it. key: file
        of the key of the coins, made if it is not there; None: a key of its own, so that another call is another
        release. new_key: take another key; it is counted as a further release. options: as the reading of
        :func:`check`; ``mode``, ``local``, ``free`` (what needs no coin) or ``paper`` (Wang, Fung, Yu 2005, with
        which who knows the algorithm is above h); ``least``, records that cannot be told apart, at least (2);
        ``cap``, the ε that refusals may cost a group at most (3).

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
    keys = _Keys(None if key is None else Path(key), new_key)
    if are_of_items(templates):
        return _suppress_baskets(data, templates, None, keys, options, force=False)
    request = Request.made(templates, class_column, columns, options)
    decided = _decide(data, request, keys)
    released = released_table(data, decided.release)
    stored = {str(column.name).strip(): column for column in frame_columns(released)}
    checked = count_columns({name: stored[name].to_arrow() for name in request.columns}, decided.outcome.promised)
    keys.keep()
    return released, decided.publication(request, checked)


def suppress_file(
    data: str | PathLike[str], templates: Any, output: str | PathLike[str], class_column: str | None = None, *,
    columns: Any = None, new_key: bool = False, force: bool = False, **options: Any,
) -> Publication:  # fmt: skip
    """Write what :func:`suppress` returns, from a file of any size to another one of its kind, CSV or Parquet.

    Cells that are not hidden stay as they are written; rows come in a random order. The output is checked as it lies on
    disk before it takes its name, so that it appears whole and checked, or not at all. The key lies beside the table,
    as ``table.csv.key``; with it another run gives the same release.

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
    keys = _Keys(key_path(table), new_key)
    inputs = [table, key_path(table), *([Path(templates)] if isinstance(templates, str | PathLike) else [])]
    check_writable(output, force=force, inputs=inputs)
    if are_of_items(templates):
        return _suppress_baskets(table, templates, output, keys, options, force=force)[1]
    request = Request.made(templates, class_column, columns, options)
    _check_kinds(table, output)
    check_table_name(output)
    decided = _decide(table, request, keys)
    gzipped, memory = output.name.lower().endswith(".gz"), request.reading.memory_bytes or default_memory()
    with atomic_output(output, force=force) as stream:
        named_after(table, lambda: write_file(table, decided.release, stream, memory, gzipped=gzipped))
        stream.flush()
        checked = count_file(
            Path(stream.name), decided.outcome.promised, parquet=table.name.lower().endswith(PARQUET),
            separator=decided.release.source.layout.separator or ",", gzipped=gzipped,
        )  # fmt: skip
        keys.keep()  # where it cannot be written, nor is the table
    return decided.publication(request, checked)


class _Keys:
    """The key of a release, kept in a file once the release is made; without a file one of its own."""

    def __init__(self, path: Path | None, anew: bool) -> None:
        self._path = path
        self.key = Key.fresh() if path is None else read_key(path, anew=anew)
        self.number = 1

    def coins(self, about: bytes) -> Coins:
        """Return the coins of a table and request, and count its release."""
        self.key, self.number = self.key.counting(about)
        return Coins(self.key.secret, about)

    def keep(self) -> None:
        """Write the file."""
        if self._path is not None:
            write_key(self.key, self._path)


@dataclass(frozen=True, slots=True)
class _Decision:
    """A table as it was read, and what is to become of it."""

    release: Release
    outcome: Outcome
    bins: dict[str, tuple[str, ...]]
    mark: str
    number: int

    def publication(self, request: Request, checked: tuple[Checked, ...]) -> Publication:
        source = self.release.source
        return Publication(
            "records", source.coded.n_records, request.class_column, self.mark, request.bounds, self.outcome.before,
            checked, facts(self.outcome, source.coded, request.wishes), self.number, self.bins,
            tuple(name for name in source.coded.names if name in source.respelled - set(self.bins)),
            tuple(sorted(self.release.dropped)),
        )  # fmt: skip


def _decide(data: Any, request: Request, keys: _Keys) -> _Decision:
    source, bins = _read(data, request, whole=True)
    mark = choose_mark(source.coded, request.bounds, request.reading.cells.missing)
    coins = keys.coins(request.about(source.coded))
    outcome = decide(source.coded, request.bounds, request.class_column, request.wishes, coins)
    marked = {name for name, hidden in outcome.hidden.items() if hidden.any()}
    changes = rewrites(source, lambda column: hide(column, outcome.hidden[column.name], mark), marked)
    release = Release(source, changes, request.handling.dropped, coins.order(source.coded.n_records))
    return _Decision(release, outcome, bins, mark, keys.number)


def _read(data: Any, request: Request, *, whole: bool) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    table = read_source(data, request.columns, request.handling.dropped, request.reading)
    if whole and table.naming:
        raise TemplateError(
            f"column {table.naming[0]} has another value in each row, and so names it; leave it out with "
            f"{table.naming[0]}=drop, or put it in a channel"
        )
    channels = {name for bound in request.bounds for name in bound.channel}
    masking = masking_columns(request.bounds)
    binned, labels = bin_columns(table, channels, masking, request.handling, request.class_column)
    check_columns(binned.coded, request.bounds, request.class_column)
    return binned, labels


def _check_kinds(table: Path, output: Path) -> None:
    """Refuse an output of another kind than its table: no cell is converted."""
    kinds = [path.name.lower().endswith(PARQUET) for path in (table, output)]
    if kinds[0] != kinds[1]:
        wanted = ".parquet or .pq" if kinds[0] else ".csv, .tsv, .data or .txt, also with .gz,"
        raise FileError(f"{output} must end in {wanted} as the table does: its cells are released as they are written")


def _suppress_baskets(
    data: Any, templates: Any, output: Path | None, keys: _Keys, options: Mapping[str, Any], *, force: bool
) -> tuple[Any, Publication]:
    asked = item_bounds(read_item_templates(templates))
    wishes = Wishes(**{name: options[name] for name in ("mode", "least", "cap") if name in options})
    reading = {name: value for name, value in options.items() if name not in ("mode", "least", "cap")}
    channel = {item for bound in asked for item in bound.channel}
    refuse_known(channel, (item for bound in asked for item in bound.column.split(", ")))
    source = baskets.read(data, asked, reading)
    wishes = source.wishes(wishes)
    request = Request(asked, None, Handling(), wishes, TableOptions())
    coins = keys.coins(request.about(source.coded))
    outcome = decide(source.coded, asked, None, wishes, coins)
    places = coins.order(len(source.baskets))
    with contextlib.ExitStack() as stack:
        stream = None if output is None else stack.enter_context(atomic_output(output, force=force))
        released, checked = source.write(outcome, places, output, stream)
        keys.keep()
    return released, Publication(
        "baskets", len(source.baskets), None, baskets.HIDDEN, asked, outcome.before, checked,
        facts(outcome, source.coded, wishes), keys.number, {},
    )  # fmt: skip


# ---- the owner's report


def record(found: Check | Publication) -> dict[str, Any]:
    """Return what :func:`check` found, or :func:`suppress` did, as JSON content, for the owner alone.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> found = ap.suppress.check(table, [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}])
    >>> content = ap.suppress.record(found)
    >>> content["passed"], content["violations"][0]["channel"]
    (False, {'job': 'clerk'})
    """
    shared = {found.things: found.records, "bins": {name: list(labels) for name, labels in found.bins.items()}}
    if isinstance(found, Check):
        return shared | {
            "passed": found.passed,
            "is_release": found.is_release,
            "bounds": [_bound(bound) for bound in found.bounds],
            "violations": [_inference(each) for each in found.violations],
        }
    after = {(each.bound.column, each.bound.value): each for each in found.checked}
    return shared | found.told | {
        "class": found.class_column,
        "mark": found.mark,
        "bounds": [
            _bound(bound) | {"before": float(before)} | _after(after[bound.column, bound.value])
            for bound, before in zip(found.asked, found.before, strict=True)
        ],
        "respelled": list(found.respelled),
        "dropped": list(found.dropped),
        "release": found.number,
        "warning": _WARNING if found.told["mode"] == PAPER else None,
        "not_covered": list(_NOT_COVERED),
    }  # fmt: skip


def _after(checked: Checked) -> dict[str, Any]:
    return {"after": float(checked.confidence), "support": checked.support, "hits": checked.hits}


def _bound(bound: Bound) -> dict[str, Any]:
    return {
        "channel": list(bound.channel),
        "column": bound.column,
        "value": bound.value,
        "confidence": float(bound.confidence),
    }


def _inference(found: Inference) -> dict[str, Any]:
    return {
        "channel": dict(zip(found.bound.channel, found.values, strict=True)),
        "column": found.bound.column,
        "value": found.bound.value,
        "support": found.support,
        "hits": found.hits,
        "confidence": float(found.confidence),
        "bound": float(found.bound.confidence),
    }
