"""A table and its templates -> the table that may be published, checked as written, and what was done to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.owner.suppression.binning import Binning, bin_columns
from assocpriv.owner.suppression.candidates import masking_columns
from assocpriv.owner.suppression.checking import Checked, count_columns, count_file
from assocpriv.owner.suppression.disclosure import (
    MARK,
    Suppression,
    check_columns,
    disclose,
)
from assocpriv.owner.suppression.inferences import Inference, inferences
from assocpriv.owner.suppression.release import check_kinds, check_mark, release_frame, rewrites, write_release
from assocpriv.owner.suppression.tables import (
    PARQUET,
    SourceTable,
    check_table_name,
    frame_columns,
    read_source,
)
from assocpriv.owner.suppression.templates import Bound, Template, bounds, irredundant
from assocpriv.promise.errors import TemplateError
from assocpriv.records.sources import named_after
from assocpriv.records.tables import TableOptions


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


def _read(source: Any, request: Request) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    table = read_source(source, request.columns, request.reading)
    masking = masking_columns(request.bounds)
    binned, labels = bin_columns(table, request.channels, masking, request.binning, request.class_column)
    check_columns(binned.coded, request.bounds, request.class_column)
    return binned, labels


def check_table(source: Any, request: Request) -> Check:
    """List the inferences of a table above their bounds."""
    table, bins = _read(source, request)
    wanted = request.bounds
    found = [each for bound in wanted for each in inferences(table.coded, bound, above=bound.confidence)]
    return Check(table.coded.n_records, bins, wanted, tuple(found))


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
    check_mark(table, masking_columns(request.bounds), request.mark)
    found = disclose(table.coded, request.bounds, request.class_column, mark=request.mark)
    return _Decision(table, bins, found)


def publish_file(
    table: Path, output: Path, request: Request, *, force: bool, report: Callable[[Publication], None] | None = None
) -> Publication:
    """Write a table with suppressed values, checked as it lies on disk before it takes its name.

    ``report`` is told what was done before that: where the report cannot be written, nor is the table.
    """
    check_kinds(table, output)
    check_table_name(output)
    check_writable(output, force=force, inputs=[table])
    decided = _decide(table, request)
    source, changes = decided.source, rewrites(decided.source, decided.suppression.suppressed, request.mark)
    gzipped = output.name.lower().endswith(".gz")
    with atomic_output(output, force=force) as stream:
        named_after(table, lambda: write_release(table, source, changes, stream, request.reading, gzipped=gzipped))
        stream.flush()
        checked = count_file(
            Path(stream.name), request.bounds, parquet=table.name.lower().endswith(PARQUET),
            separator=source.layout.separator or ",", gzipped=gzipped,
        )  # fmt: skip
        done = _publication(decided, request, checked)
        if report is not None:
            report(done)
    return done


def publish_frame(frame: Any, request: Request) -> tuple[Any, Publication]:
    """Return a table in memory with suppressed values, checked as it is, of the kind that it came as."""
    if isinstance(frame, str | PathLike):
        raise TypeError("a table must be in memory, a pandas, polars or pyarrow table; suppress_file takes files")
    decided = _decide(frame, request)
    changes = rewrites(decided.source, decided.suppression.suppressed, request.mark)
    released = release_frame(frame, decided.source, changes)
    columns = {str(column.name).strip(): column for column in frame_columns(released)}
    checked = count_columns({name: columns[name].to_arrow() for name in request.columns}, request.bounds)
    return released, _publication(decided, request, checked)


def _publication(decided: _Decision, request: Request, checked: tuple[Checked, ...]) -> Publication:
    return Publication(
        decided.source.coded.n_records, request.mark, request.class_column, decided.bins, decided.suppression, checked,
        len(request.bounds) - len(irredundant(request.bounds)), decided.respelled,
    )  # fmt: skip
