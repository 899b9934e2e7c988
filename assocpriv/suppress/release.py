"""The release of a table: what may be published of it, checked as written.

CSV is written cell by cell, Parquet batch by batch, frames are of the kind they came as. Cells that stay are as they
were: in CSV to the byte, elsewhere with their type. What differs are suppressed cells, columns that were binned, and
columns that wrote one value in several ways.

What was found in a table or in baskets, or done to them, is told as JSON content. It is for the owner and stays there,
because it names suppressed values.
"""

import contextlib
import gzip
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pq
from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.kernels.compiling import text_kernels
from assocpriv.kernels.parallel import default_memory, map_ahead
from assocpriv.promise.errors import FileError, RecordError, TemplateError, options_of
from assocpriv.records.basket_files import ReadOptions
from assocpriv.records.columns import ParquetTable, check_table_name, frame_columns
from assocpriv.records.sources import PARQUET, Budget, Source, line_chunks, named_after, open_source, open_text
from assocpriv.records.tables import TableOptions
from assocpriv.suppress.baskets import BasketCheck, BasketRelease, ItemInference, suppress_baskets
from assocpriv.suppress.checking import Checked, count_columns, count_file
from assocpriv.suppress.inferences import Inference, inferences, masking_columns
from assocpriv.suppress.progressive import MARK, SuppressedValue, Suppression, check_columns, disclose
from assocpriv.suppress.table import (
    Binning,
    CodedColumn,
    SourceTable,
    bin_columns,
    file_stamp,
    read_binning,
    read_source,
    released_frame,
    released_schema,
)
from assocpriv.suppress.templates import Bound, ItemBound, Template, bounds, irredundant, read_templates

Bins = int | str | Mapping[str, int | str] | Sequence[str] | None
_KEEP = -1  # a cell that stays as it is
_CHANGED = "the file was changed while it was read; nothing was written"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a table.

    Attributes:
        templates: of the inferences that shall not be drawn.
        class_column: whose classification shall remain possible; None if nothing is known of the use.
        binning: of columns of numbers.
        mark: stands for suppressed values.
        reading: how the table is read.
    """

    templates: tuple[Template, ...]
    class_column: str | None = None
    binning: Binning = field(default_factory=Binning)
    mark: str = MARK
    reading: TableOptions = field(default_factory=TableOptions)

    def __post_init__(self) -> None:
        for place, template in enumerate(self.templates, 1):
            for role, columns in (("in the channel", template.channel), ("sensitive", template.sensitive)):
                if self.class_column in columns:
                    raise TemplateError(
                        f"template {place}: the class {self.class_column} is {role}; the class is released as it is, "
                        "so take it out of the template or choose another class"
                    )

    @classmethod
    def made(
        cls, templates: Any, class_column: str | None, bins: Bins, category: str | Collection[str],
        reading: Mapping[str, Any], mark: str = MARK,
    ) -> "Request":  # fmt: skip
        """Return the request that somebody makes, with ``reading`` as :class:`TableOptions` by name."""
        missing, memory = reading.get("missing", ()), reading.get("memory_bytes") or default_memory()
        words = (missing,) if isinstance(missing, str) else tuple(missing)
        options = options_of(TableOptions, {**reading, "missing": words, "memory_bytes": memory})
        return cls(read_templates(templates), class_column, read_binning(bins, category), mark, options)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """All bounds, the redundant ones too."""
        return bounds(self.templates)

    @property
    def channels(self) -> tuple[str, ...]:
        """Columns that stand in a channel."""
        return tuple(dict.fromkeys(name for template in self.templates for name in template.channel))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        sensitive = [name for template in self.templates for name in template.sensitive]
        own = [] if self.class_column is None else [self.class_column]
        return tuple(dict.fromkeys([*self.channels, *sensitive, *own]))


@dataclass(frozen=True, slots=True)
class Check:
    """What a table tells as it is: of each bound the inferences above it, highest confidence first."""

    records: int
    bins: dict[str, tuple[str, ...]]
    bounds: tuple[Bound, ...]
    violations: tuple[Inference, ...]

    @property
    def passed(self) -> bool:
        """Whether no inference is above its bound."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Publication:
    """What was done to a table so that it may be published.

    Attributes:
        records: of the table.
        mark: that stands for suppressed values.
        class_column: that was looked at.
        bins: intervals by column of numbers.
        suppression: values suppressed and why, steps, and what is left of information.
        checked: every bound, redundant ones too, as counted in the table that was written.
        redundant: how many bounds others imply.
        respelled: columns that wrote a value in several ways, and now in one.
    """

    records: int
    mark: str
    class_column: str | None
    bins: dict[str, tuple[str, ...]]
    suppression: Suppression
    checked: tuple[Checked, ...]
    redundant: int
    respelled: tuple[str, ...]


# ---- from a table to its release


def check(
    table: Any,
    templates: Any,
    class_column: str | None = None,
    *,
    bins: Bins = None,
    category: str | Collection[str] = (),
    **reading: Any,
) -> Check:
    """List the inferences that a table allows above their bounds; nothing is written.

    Args:
        table: a pandas, polars or pyarrow table, or the name of a CSV or Parquet file.
        templates: the name of a TOML or JSON file, or a list of mappings with ``channel`` (columns), ``sensitive``
            (values by column) and ``confidence`` (the highest allowed), or of :class:`Template`.
        class_column: whose entropy bins numbers, if ``bins`` says so.
        bins: of columns of numbers in a channel: a number of intervals with equally many records, ``"entropy"``
            (Fayyad and Irani 1993), or either by column.
        category: columns of numbers that are categories.
        reading: by name ``separator`` (of the cells of a CSV file; found out from its header by default), ``missing``
            (a word, or several, for missing values, as "?"; a missing cell is a value of its own), ``memory_bytes``
            (what reading a file may hold of its text at a time; a quarter of the free memory by default) and
            ``progress`` (called with bytes read, bytes of the file).

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
    request = Request.made(templates, class_column, bins, category, reading)
    source, found_bins = _read(table, request)
    wanted = request.bounds
    found = [each for bound in wanted for each in inferences(source.coded, bound, above=bound.confidence)]
    return Check(source.coded.n_records, found_bins, wanted, tuple(found))


def suppress(
    table: Any,
    templates: Any,
    class_column: str | None = None,
    *,
    bins: Bins = None,
    category: str | Collection[str] = (),
    mark: str = "*",
    missing: str | Sequence[str] = (),
) -> tuple[Any, Publication]:
    """Return a table of the same kind in which no inference is above its bound, and what was done to it.

    Values of the channels' columns are suppressed, each everywhere it occurs. Of what satisfies the templates as much
    is shown as helps to tell the class most (Wang, Fung, Yu, 2005, algorithm 1). Dtypes of other columns, the order of
    rows and an index stay. docs/privacy.md says what this does not promise.

    Args:
        table: a pandas, polars or pyarrow table.
        templates, class_column, bins, category, missing: as of :func:`check`.
        mark: stands for suppressed values.

    Raises:
        TemplateError: also where even the most suppressed table violates a bound.
        RecordError: as :func:`check`.
        FileError: the released table violates a bound.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> released, done = ap.suppress.suppress(table, templates)
    >>> released["job"].tolist()
    ['*', '*', '*']
    """
    if isinstance(table, str | PathLike):
        raise TypeError("a table must be in memory, a pandas, polars or pyarrow table; suppress_file takes files")
    request = Request.made(templates, class_column, bins, category, {"missing": missing}, mark)
    decided = _decide(table, request)
    changes = _rewrites(decided.source, decided.suppression.suppressed, request.mark)
    released = _release_frame(table, decided.source, changes)
    columns = {str(column.name).strip(): column for column in frame_columns(released)}
    checked = count_columns({name: columns[name].to_arrow() for name in request.columns}, request.bounds)
    return released, _publication(decided, request, checked)


def suppress_file(
    table: str | PathLike[str],
    templates: Any,
    output: str | PathLike[str],
    class_column: str | None = None,
    *,
    bins: Bins = None,
    category: str | Collection[str] = (),
    mark: str = "*",
    report: str | PathLike[str] | None = None,
    force: bool = False,
    **reading: Any,
) -> Publication:
    """Write what :func:`suppress` returns, from a file of any size to another one of its kind, CSV or Parquet.

    Cells that are not suppressed stay as they are written. The output is checked as it lies on disk before it takes its
    name, so that it appears whole and checked, or not at all.

    Args:
        table, templates, class_column, bins, category, reading: as of :func:`check`.
        output: file to write.
        mark: as of :func:`suppress`.
        report: file for :func:`publication_record` as JSON; it names suppressed values, and stays with the owner.
        force: replace existing files.

    Raises:
        TemplateError, RecordError: as :func:`suppress`.
        FileError: an output exists and ``force`` is not set, is of another kind, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> table, output = Path(mkdtemp(), "table.csv"), Path(mkdtemp(), "released.csv")
    >>> _ = table.write_text("job,ill\\ncook,no\\ncook,yes\\nclerk,yes\\n")
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> ap.suppress.suppress_file(table, templates, output).records, output.read_text().split()
    (3, ['job,ill', '*,no', '*,yes', '*,yes'])
    """
    request = Request.made(templates, class_column, bins, category, reading, mark)
    inputs = [Path(table), *([Path(templates)] if isinstance(templates, str | PathLike) else [])]
    table, output = Path(table), Path(output)
    check_writable(output, force=force, inputs=inputs)
    if report is not None:
        check_writable(Path(report), force=force, inputs=inputs)
        if Path(report).resolve() == output.resolve():
            raise FileError(f"{output} cannot be both the released table and the report; name two files")
    _check_kinds(table, output)
    check_table_name(output)
    decided = _decide(table, request)
    source, changes = decided.source, _rewrites(decided.source, decided.suppression.suppressed, request.mark)
    gzipped = output.name.lower().endswith(".gz")
    with atomic_output(output, force=force) as stream:
        named_after(table, lambda: _write_release(table, source, changes, stream, request.reading, gzipped=gzipped))
        stream.flush()
        checked = count_file(
            Path(stream.name), request.bounds, parquet=table.name.lower().endswith(PARQUET),
            separator=source.layout.separator or ",", gzipped=gzipped,
        )  # fmt: skip
        done = _publication(decided, request, checked)
        if report is not None:  # where it cannot be written, nor is the table
            _write_json(publication_record(done), Path(report), force)
    return done


@dataclass(frozen=True, slots=True)
class _Decision:
    """A table as it was read, and what is to become of it."""

    source: SourceTable
    bins: dict[str, tuple[str, ...]]
    suppression: Suppression

    @property
    def respelled(self) -> tuple[str, ...]:
        return tuple(name for name in self.source.coded.names if name in self.source.respelled - set(self.bins))


def _decide(source: Any, request: Request) -> _Decision:
    table, bins = _read(source, request)
    if request.mark in request.reading.cells.missing:
        raise TemplateError(f"the mark {request.mark} stands for missing values already; choose another one")
    _check_mark(table, masking_columns(request.bounds), request.mark)
    found = disclose(table.coded, request.bounds, request.class_column, mark=request.mark)
    return _Decision(table, bins, found)


def _read(source: Any, request: Request) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    table = read_source(source, request.columns, request.reading)
    masking = masking_columns(request.bounds)
    binned, labels = bin_columns(table, request.channels, masking, request.binning, request.class_column)
    check_columns(binned.coded, request.bounds, request.class_column)
    return binned, labels


def _publication(decided: _Decision, request: Request, checked: tuple[Checked, ...]) -> Publication:
    return Publication(
        decided.source.coded.n_records, request.mark, request.class_column, decided.bins, decided.suppression, checked,
        len(request.bounds) - len(irredundant(request.bounds)), decided.respelled,
    )  # fmt: skip


# ---- what changes


@dataclass(frozen=True, slots=True, eq=False)
class _Rewrite:
    """How one column is released: by value the new text, None for an empty cell, and whether it stays."""

    column: CodedColumn
    texts: tuple[str | None, ...]
    stays: tuple[bool, ...]


def _rewrites(source: SourceTable, suppressed: Mapping[str, Sequence[str | None]], mark: str) -> tuple[_Rewrite, ...]:
    """Return what changes, column by column, in the table's order; columns that stay as they are are left out."""
    found = []
    for column in source.coded.columns:
        hidden = set(suppressed.get(column.name, ()))
        anew = column.name in source.respelled
        if hidden or anew:
            texts = tuple(mark if value in hidden else value for value in column.values)
            found.append(_Rewrite(column, texts, tuple(value not in hidden and not anew for value in column.values)))
    return tuple(found)


def _check_mark(source: SourceTable, masking: Sequence[str], mark: str) -> None:
    """Refuse a mark that a column holds already, or that could not be read as a value.

    Raises:
        TemplateError: as said.
    """
    if not isinstance(mark, str) or not mark.strip() or mark != mark.strip() or not mark.isprintable():
        raise TemplateError("the mark must be text on one line, without blanks around it")
    for name in masking:
        if mark in source.coded.column(name).values:
            raise TemplateError(
                f"column {name} holds the mark {mark} as a value already; choose another one with mark="
            )


def _check_kinds(table: Path, output: Path) -> None:
    """Refuse an output of another kind than its table: no cell is converted."""
    kinds = [path.name.lower().endswith(PARQUET) for path in (table, output)]
    if kinds[0] != kinds[1]:
        wanted = ".parquet or .pq" if kinds[0] else ".csv, .tsv, .data or .txt, also with .gz,"
        raise FileError(f"{output} must end in {wanted} as the table does: its cells are released as they are written")


def _write_release(
    path: Path,
    source: SourceTable,
    changes: Sequence[_Rewrite],
    stream: BinaryIO,
    options: TableOptions,
    *,
    gzipped: bool,
) -> None:
    """Write the table of a file with its changes.

    Raises:
        RecordError: the file is not what was read before.
    """
    if file_stamp(path) != source.layout.stamp:
        raise RecordError(_CHANGED)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open_source(path, options.progress))
        if not source.layout.separator:
            _write_parquet(file, source, changes, stream)
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        stream.writelines(_header(path, source.layout.header_lines))
        for part in _csv_parts(
            open_text(path, file, "utf-8").file, source, changes, Budget.within(options.memory_bytes)
        ):
            stream.write(part)


# ---- CSV


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Texts as bytes of CSV, one after the other, and for each changed column which of them its values become."""

    content: NDArray[np.uint8]
    starts: NDArray[np.int64]
    chosen: list[NDArray[np.int32]]

    @classmethod
    def of(cls, changes: Sequence[_Rewrite], separator: str) -> "_Words":
        words: dict[bytes, int] = {}
        chosen = []
        for change in changes:
            places = [
                _KEEP if stays else words.setdefault(_cell(text, separator), len(words))
                for text, stays in zip(change.texts, change.stays, strict=True)
            ]
            chosen.append(np.array(places, dtype=np.int32))
        starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(words) or b" ", dtype=np.uint8), starts, chosen)

    def length(self, choices: NDArray[np.int32]) -> int:
        """Return how many bytes the words chosen have."""
        sizes = np.append(np.diff(self.starts), 0)  # the last of a cell that stays
        return int(sizes[choices].sum())


def _header(path: Path, lines: int) -> list[bytes]:
    """Return the lines up to the header, as they are."""
    with open_source(path, None) as file:
        found = [file.readline() for _ in range(lines)]
    return [*found[:-1], found[-1].removesuffix(b"\n") + b"\n"]


def _cell(text: str | None, separator: str) -> bytes:
    text = text or ""
    if separator in text or '"' in text:
        text = '"' + text.replace('"', '""') + '"'
    return text.encode("utf-8")


def _csv_parts(file: Source, source: SourceTable, changes: Sequence[_Rewrite], budget: Budget) -> Iterator[bytes]:
    """Yield the text below the header with the changed cells replaced, cut as it was when it was read first."""
    layout = source.layout
    words = _Words.of(changes, layout.separator)
    columns = np.array([layout.names.index(change.column.name) for change in changes], dtype=np.int64)

    def pieces() -> Iterator[tuple[bytes, NDArray[np.int32]]]:
        chunks = line_chunks(file, budget, layout.header_lines)
        starts = np.cumsum([0, *layout.chunk_rows]).tolist()
        for (text, _), (start, stop) in zip_longest(chunks, pairwise(starts), fillvalue=(b"", 0)):
            yield text, _choices(changes, words, int(start), int(stop))

    def replace(piece: tuple[bytes, NDArray[np.int32]]) -> bytes:
        text, choices = np.frombuffer(piece[0], dtype=np.uint8), piece[1]
        room = np.empty(len(text) + words.length(choices), dtype=np.uint8)
        marks = ord(layout.separator)
        written, rows = text_kernels.replace_cells(text, marks, columns, choices, words.content, words.starts, room)
        if rows != len(choices):
            raise RecordError(_CHANGED)
        return room[:written].tobytes()

    yield from map_ahead(replace, pieces(), budget.workers)


def _choices(changes: Sequence[_Rewrite], words: _Words, start: int, stop: int) -> NDArray[np.int32]:
    """Return the words that records become, int32 (n, changed columns)."""
    choices = np.empty((stop - start, len(changes)), dtype=np.int32)
    for place, (change, chosen) in enumerate(zip(changes, words.chosen, strict=True)):
        choices[:, place] = chosen[change.column.codes[start:stop]]
    return choices


# ---- Parquet


def _write_parquet(file: BinaryIO, source: SourceTable, changes: Sequence[_Rewrite], stream: BinaryIO) -> None:
    opened = ParquetTable(file)
    schema = opened.schema
    for change in changes:
        place = source.layout.names.index(change.column.name)
        schema = schema.set(place, schema.field(place).with_type(_released_type(schema.field(place).type)))
    schema = released_schema(schema, _stored_names(schema.names, source, changes))
    packing = opened.compression
    known = {"UNCOMPRESSED": "none"}.get(packing, packing)
    record = 0
    with pq.ParquetWriter(stream, schema, compression=known) as writer:
        for batch in opened.batches():
            arrays = list(batch.columns)
            for change in changes:
                place = source.layout.names.index(change.column.name)
                codes = change.column.codes[record : record + len(batch)]
                if len(codes) != len(batch):
                    raise RecordError(_CHANGED)
                arrays[place] = _released_array(source, change, codes, schema.field(place).type)
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            record += len(batch)
    if record != source.coded.n_records:
        raise RecordError(_CHANGED)


def _stored_names(names: Sequence[str], source: SourceTable, changes: Sequence[_Rewrite]) -> set[str]:
    return {names[source.layout.names.index(change.column.name)] for change in changes}


def _released_type(kind: Any) -> Any:
    """Return the type of a column that holds texts now: its own if that is text."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)
    return kind if is_text else pa.string()


def _released_array(source: SourceTable, change: _Rewrite, codes: NDArray[Any], kind: Any) -> Any:
    """Return a changed column of the records with these codes as an Arrow array of some type of text."""
    array = pa.array(_released_texts(source, change), pa.string()).take(pa.array(codes.astype(np.int64)))
    return array.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else array.cast(kind)


def _released_texts(source: SourceTable, change: _Rewrite) -> list[str | None]:
    """Return the text that stands for each value, as it was written where it stays text."""
    spellings = source.spellings[change.column.name]
    stays = change.stays
    return [
        spellings[place] if stays[place] and isinstance(spellings[place], str) else text
        for place, text in enumerate(change.texts)
    ]


# ---- frames


def _release_frame(frame: Any, source: SourceTable, changes: Sequence[_Rewrite]) -> Any:
    """Return a table of the same kind with its changes; text and categories keep their types, numbers become text."""
    import narwhals as nw

    stored = frame_columns(frame)
    made = [_released(stored[source.layout.names.index(each.column.name)], source, each) for each in changes]
    released = nw.from_native(frame, eager_only=True).with_columns(*made).to_native() if made else frame
    return released_frame(released, {str(each.name) for each in made})


def _released(stored: Any, source: SourceTable, change: _Rewrite) -> Any:
    import narwhals as nw

    native = stored.to_native()
    if stored.implementation.is_pyarrow():
        made = _released_array(source, change, change.column.codes, _released_type(native.type))
        return nw.from_native(pa.chunked_array([made]), series_only=True).alias(stored.name)
    texts = np.array(_released_texts(source, change), dtype=object)[change.column.codes]
    if stored.implementation.is_pandas() and stored.dtype == nw.String:
        made = type(native)(texts, index=native.index, dtype=native.dtype, name=native.name)
        return nw.from_native(made, series_only=True)
    text = nw.new_series(stored.name, texts.tolist(), nw.String, backend=stored.implementation)
    return text.cast(nw.Categorical) if stored.dtype == nw.Categorical else text


# ---- the owner's report of a table


def check_record(found: Check) -> dict[str, Any]:
    """Return what :func:`check` found in a table, as JSON content; it names sensitive values, for the owner alone.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> found = ap.suppress.check(table, [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}])
    >>> record = ap.suppress.check_record(found)
    >>> record["passed"], record["violations"][0]["channel"]
    (False, {'job': 'clerk'})
    """
    return {
        "records": found.records,
        "passed": found.passed,
        "bounds": [_bound(bound) for bound in found.bounds],
        "bins": {column: list(labels) for column, labels in found.bins.items()},
        "violations": [_inference(each) for each in found.violations],
    }


def publication_record(done: Publication) -> dict[str, Any]:
    """Return what :func:`suppress` did to a table, as JSON content; it names suppressed values, for the owner alone.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> released, done = ap.suppress.suppress(table, templates)
    >>> sorted(each["value"] for each in ap.suppress.publication_record(done)["suppressed"])
    ['clerk', 'cook']
    """
    result = done.suppression
    bounds = zip(done.checked, result.confidences, strict=True)
    return {
        "records": done.records,
        "class": done.class_column,
        "mark": done.mark,
        "bounds": [
            _bound(each.bound)
            | {
                "before": float(before.before),
                "after": float(each.confidence),
                "support": each.support,
                "hits": each.hits,
            }
            for each, before in bounds
        ],
        "redundant": done.redundant,
        "bins": {column: list(labels) for column, labels in done.bins.items()},
        "respelled": list(done.respelled),
        "suppressed": [_suppressed(each) for each in result.reasons],
        "cells": result.cells,
        "information": {
            column: {"before": before, "after": after} for column, (before, after) in result.information.items()
        },
        "steps": [
            {"column": step.column, "value": step.value, "gain": step.gain, "loss": step.loss, "score": step.score}
            for step in result.steps
        ],
    }


def _bound(bound: Bound) -> dict[str, Any]:
    """Return a bound as JSON content."""
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


def _suppressed(found: SuppressedValue) -> dict[str, Any]:
    return {
        "column": found.column,
        "value": found.value,
        "cells": found.cells,
        "inference": None if found.reason is None else _inference(found.reason),
    }


def _write_json(record: dict[str, Any], path: Path, force: bool) -> None:
    with atomic_output(path, force=force) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n")


# ---- the owner's report of baskets


def item_record(result: BasketCheck | BasketRelease) -> dict[str, Any]:
    """Return what :func:`check_items` or :func:`suppress_items` found, as JSON content, for the owner alone.

    >>> import assocpriv as ap
    >>> baskets = [["beer", "test"], ["beer", "test"], ["beer"], ["milk"]]
    >>> found = ap.suppress.check_items(baskets, [{"channel": ["beer"], "sensitive": ["test"], "confidence": "50%"}])
    >>> record = ap.suppress.item_record(found)
    >>> record["passed"], record["violations"][0]["with"]
    (False, ['beer'])
    """
    return _item_check(result) if isinstance(result, BasketCheck) else _item_release(result)


def _item_check(found: BasketCheck) -> dict[str, Any]:
    return {
        "baskets": found.n_baskets,
        "passed": found.passed,
        "bounds": [_item_bound(bound) for bound in found.bounds],
        "violations": [_item_inference(each) for each in found.inferences],
    }


def _item_release(released: BasketRelease) -> dict[str, Any]:
    done = released.suppression
    return {
        "baskets": done.n_baskets,
        "bounds": [
            _item_bound(one.bound)
            | {"before": float(one.before), "after": None if one.after is None else float(one.after)}
            for one in done.bounds
        ],
        "dropped": [
            {"item": item, "cells": done.held[item], "inference": _item_inference(reason)}
            for item, reason in zip(done.dropped, done.reasons, strict=True)
        ],
        "cells": done.cells,
        "entropy_bits": done.entropy_bits,
        "kept_bits": done.kept_bits,
        "steps": [{"item": s.item, "gain": s.gain, "loss": s.loss, "score": s.score} for s in done.steps],
    }


def _item_bound(bound: ItemBound) -> dict[str, Any]:
    return {
        "channel": list(bound.channel),
        "sensitive": list(bound.sensitive),
        "confidence": float(bound.confidence),
    }


def _item_inference(found: ItemInference) -> dict[str, Any]:
    return {
        "with": _picked(found, there=True),
        "without": _picked(found, there=False),
        "sensitive": list(found.bound.sensitive),
        "support": found.support,
        "hits": found.hits,
        "confidence": float(found.confidence),
        "bound": float(found.bound.confidence),
    }


def _picked(found: ItemInference, *, there: bool) -> Sequence[str]:
    return [item for item, flag in zip(found.bound.channel, found.pattern, strict=True) if flag is there]


def suppress_items(
    data: Any,
    templates: Any,
    output: str | PathLike[str] | None = None,
    *,
    report: str | PathLike[str] | None = None,
    force: bool = False,
    **reading: Any,
) -> BasketRelease:
    """Release baskets that tell nothing above templates over items.

    Whole items of the channels are dropped, everywhere. What goes out is checked as it lies on disk, by other code,
    before it takes its name.

    Args:
        data, templates, reading: as of :func:`check_items`.
        output: file to write, in the format that came in; without it a table or lists are returned as they came, a file
            of baskets as ``Baskets``.
        report: file for :func:`item_record` as JSON; it stays with the owner.
        force: replace existing files.

    Returns:
        What was done, with what is released as ``released`` unless it was written.

    Raises:
        TemplateError: as :func:`check_items`; also where the baskets violate a bound whatever is dropped.
        BasketError: baskets that cannot be read.
        FileError: a file exists and ``force`` is not set, is of another format, or cannot be written.

    >>> import assocpriv as ap
    >>> baskets = [["beer", "test"], ["beer", "test"], ["beer"], ["milk"]]
    >>> done = ap.suppress.suppress_items(baskets, [{"channel": ["beer"], "sensitive": ["test"], "confidence": "50%"}])
    >>> done.released, done.suppression.dropped
    ([['test'], ['test'], [], ['milk']], ('beer',))
    """
    if report is not None:
        inputs = [Path(each) for each in (data, templates, output) if isinstance(each, str | PathLike)]
        check_writable(Path(report), force=force, inputs=inputs)
    done = suppress_baskets(data, templates, output, options_of(ReadOptions, reading), force=force)
    if report is not None:
        _write_json(item_record(done), Path(report), force)
    return done
