"""Read and write reports batch by batch: Parquet files that contain their plan (docs/formats/reports.md).

Reports of guided plans may also be messages: one JSON object per line, with the positions of the bits that are set.

    {"guidance": 3, "class": "democrat", "ones": [0, 17]}

The list is short because few bits are set (ZWZ05, section 7.1); for many messages a Parquet file is smaller.

The first bytes of a device's privacy budget ledger are defined here, so that error messages can identify one; only
client/ reads it.
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files import open_batches
from assocpriv.files.arrow import column_chunks, is_inflated, pa, parquet_errors, pq
from assocpriv.files.atomic import atomic_output, begins_with
from assocpriv.guarantees.errors import FileError, PlanError, WireError, pluralize
from assocpriv.plans.published_plan import PublishedPlan, pack_reports
from assocpriv.plans.registry import parse_plan

if TYPE_CHECKING:
    from assocpriv.plans.guided.guided_plan import GuidedPlan

PLAN_KEY = b"assocpriv.plan"
ITEMSETS_KEY = b"assocpriv-itemsets"
RELEASE_KEY = b"assocpriv-release"
CLOSED_KEY = b"assocpriv.closed"  # the day on which a collector wrote the file
COLUMN = "report"
_ENDINGS = (".parquet", ".pq")
_BASKETS = (".csv", ".tsv", ".dat", ".txt", ".json", ".xlsx")
_LOG = logging.getLogger("assocpriv")  # for files left out of a folder; the command line shows these messages
_ROW_GROUP = 1 << 20
_BUFFER = 1 << 20  # bytes
_BEGINNING = 1 << 12  # bytes that are compared to detect copies
_MIN_COPIED = 1000  # reports from which equal files are copies; fewer may be equal by chance
_ALLOWED = 1 << 28  # bytes of memory that any file may claim; reports are random, so more needs a larger file
_WRITER: dict[str, Any] = {  # reports are random bits: compression and a dictionary would gain nothing
    "compression": "none",
    "use_dictionary": False,
    "write_statistics": False,
    "write_page_checksum": True,  # a flipped bit would pass for another report
}
LEDGER_NAME = b"assocpriv-ledger"  # the first bytes (docs/formats/client.md#the-clients-ledger)
IS_LEDGER = "is a device's privacy budget ledger, which must not leave the device; only assocpriv report reads it"
MESSAGE_ENDING = ".jsonl"
_MESSAGE_FIELDS = {"guidance", "class", "ones"}


# ---- collections


@dataclass(frozen=True, eq=False)
class Reports:
    """A collection of reports of one plan: in memory, in files, or both.

    Attributes:
        plan: the plan of all reports.
        in_memory: reports that are in no file, uint8 of shape (n, report_bytes); those of a collector's open batches.
        paths: the files of the other reports, in order.
        file_reports: number of reports in the files.

    Raises:
        WireError: the array cannot hold reports of the plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> len(ap.randomize([{"milk"}, {"tea"}], made))
    2
    >>> ap.Reports.from_bytes([ap.randomize({"milk"}, made)], made).packed.shape
    (1, 1)
    """

    plan: PublishedPlan
    in_memory: NDArray[np.uint8]
    paths: tuple[Path, ...] = ()
    file_reports: int = 0

    def __post_init__(self) -> None:
        self.plan.check_shape(self.in_memory)
        self.plan.check_form(self.in_memory)

    @classmethod
    def from_bytes(cls, reports: Iterable[bytes], plan: PublishedPlan) -> "Reports":
        """Make a collection of single reports.

        Args:
            reports: the reports, ``plan.report_bytes`` bytes each.
            plan: their plan.

        Returns:
            The collection, in memory.

        Raises:
            WireError: a report does not fit the plan; the message gives its position.
        """
        return cls(plan, pack_reports(reports, plan))

    def __len__(self) -> int:
        return len(self.in_memory) + self.file_reports

    def __repr__(self) -> str:
        return f"Reports({len(self):,} of {self.plan!r})"

    @property
    def epsilon(self) -> float | None:
        """ε of all reports of a person under the plan, rounded up; None if there is no γ."""
        return self.plan.epsilon

    @property
    def packed(self) -> NDArray[np.uint8]:
        """All reports in memory, uint8 of shape (n, report_bytes); ``batches`` needs less memory.

        Raises:
            WireError: a file is damaged, or its reports do not fit the plan.
        """
        return np.concatenate([self.in_memory[:0], *self.batches(_ROW_GROUP)]) if self.paths else self.in_memory

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports as uint8 arrays of shape (≤ size, report_bytes).

        Args:
            size: the largest number of reports per batch.

        Returns:
            An iterator of these arrays; together they hold every report once.

        Raises:
            WireError: a file is damaged, or its reports do not fit the plan.
        """
        yield from rebatch(self._pieces(size), size)

    def check(self, size: int) -> None:
        """Verify that clients of the plan can have sent each report.

        Args:
            size: the largest number of reports that are read at once.

        Raises:
            WireError: names the file and the first report that no client of the plan can have sent.
        """
        for _ in self.batches(size):
            pass

    def _pieces(self, size: int) -> Iterator[NDArray[np.uint8]]:
        for start in range(0, len(self.in_memory), size):
            yield self.in_memory[start : start + size]
        for path in self.paths:
            yield from file_batches(path, self.plan, size)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write all reports to one Parquet file.

        Args:
            path: the file; it is written atomically.
            force: replace an existing file.

        Raises:
            FileError: the file exists and ``force`` is not set, does not end in .parquet or .pq, or cannot be written.
        """
        check_report_output(path)
        write_reports(self.batches(_ROW_GROUP), self.plan, path, force=force)


def write_reports(
    batches: Iterable[NDArray[np.uint8]],
    plan: PublishedPlan,
    path: str | PathLike[str],
    *,
    force: bool = False,
    metadata: Mapping[bytes, bytes] | None = None,
) -> int:
    """Write batches of packed reports, uint8 of shape (n, report_bytes), to a Parquet file and return their number.

    The file's metadata holds the plan and the ``metadata`` given.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
        WireError: the rows do not have the length of the plan's reports.
    """
    column = pa.field(COLUMN, pa.binary(plan.report_bytes), nullable=False)
    schema = pa.schema([column], metadata={PLAN_KEY: plan.canonical_json.encode("ascii"), **(metadata or {})})
    written = 0
    with atomic_output(path, force=force) as stream, pq.ParquetWriter(stream, schema, **_WRITER) as writer:
        for packed in batches:
            plan.check_shape(packed)
            data = pa.py_buffer(np.ascontiguousarray(packed))
            array = pa.FixedSizeBinaryArray.from_buffers(column.type, len(packed), [None, data])
            writer.write_batch(pa.record_batch([array], schema=schema), row_group_size=_ROW_GROUP)
            written += len(packed)
    return written


def hold_reports(reports: Reports, memory_bytes: int) -> Reports:
    """Return a collection in memory, if its reports take at most these bytes, else as it is."""
    fits = reports.paths and len(reports) * reports.plan.report_bytes <= memory_bytes
    return Reports(reports.plan, reports.packed) if fits else reports


def rebatch(pieces: Iterable[NDArray[np.uint8]], size: int) -> Iterator[NDArray[np.uint8]]:
    """Join small pieces, such as those of many small files, to batches of at most ``size``; no piece is larger."""
    held: list[NDArray[np.uint8]] = []
    n_held = 0
    for piece in pieces:
        if n_held + len(piece) > size:
            yield np.concatenate(held)
            held, n_held = [], 0
        if not held and 2 * len(piece) >= size:
            yield piece
        elif len(piece):
            held.append(piece)
            n_held += len(piece)
    if held:
        yield np.concatenate(held)


def read_reports(paths: str | Path | Iterable[str | Path]) -> Reports:
    """Open report files, or folders of them, as one collection; the reports stay on disk.

    The open batches of a collector's folder are read into memory, in their present state.

    Args:
        paths: a file or folder, or several; no file may be named twice.

    Returns:
        The collection.

    Raises:
        TypeError: bytes, a table or baskets instead of paths.
        WireError: there is no file; a file is damaged, named twice or without a plan; or files have different plans.
        PlanError: a plan is invalid.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.randomize([{"milk"}, {"tea"}], made).write(file := f"{mkdtemp()}/reports.parquet")
    >>> len(ap.read_reports(file))
    2
    """
    selected = _as_paths(paths)
    open_folders = [_OpenBatches(path) for path in selected if (path / open_batches.OPEN_FOLDER).is_dir()]
    files = [file for path in selected for file in _expand(path)]
    open_parts = [each.not_in(files) for each in open_folders]
    if not files and not open_parts:
        inbox = next((path for path in selected if any(file.is_file() for file in path.glob("[!.]*"))), None)
        hint = "" if inbox is None else f"; {gather_hint(inbox)}"
        where = f"in {', '.join(map(str, selected))}" if selected else "to read"
        raise WireError(f"there are no report files (*.parquet) {where}{hint}")
    plan, total = _open(files[0]) if files else (open_folders[0].plan, 0)
    counts = [total]
    for file in files[1:]:
        other, count = _open(file, plan)
        _check_same(other, file, plan, files[0])
        counts.append(count)
    _check_copies(files, [file for file, count in zip(files, counts, strict=False) if count >= _min_copied(plan)])
    closed = [file for file in files if open_batches.CLOSED_NAME.fullmatch(file.name)]
    _check_folders([*closed, *(file for each in open_folders for file in each.files_when_closed)])
    total = sum(counts)
    for each in open_folders:
        _check_same(each.plan, each.folder, plan, files[0] if files else selected[0])
    packed = np.concatenate([np.empty((0, plan.report_bytes), np.uint8), *open_parts])
    return Reports(plan, packed, tuple(files), total)


def check_copies(collections: Iterable[Any]) -> None:
    """Raise WireError if collections share a file or a copy of it, since they must be from disjoint sets of people."""
    opened = [
        (file, _open(file, reports.plan)[1] >= _min_copied(reports.plan))
        for reports in collections
        if isinstance(reports, Reports)
        for file in reports.paths
    ]
    _check_copies([file for file, _ in opened], [file for file, is_large in opened if is_large])


def _min_copied(plan: PublishedPlan) -> int:
    """Return the number of reports from which two equal files cannot be equal by chance."""
    return 1 if plan.minimum_batch_size > 1 else _MIN_COPIED


def _check_copies(files: list[Path], large: list[Path]) -> None:
    """Raise WireError for a file named twice, or two large files of equal size and beginning; reports are random."""
    sizes, seen = {file: file.stat().st_size for file in large}, dict[Any, Path]()
    often = Counter(sizes.values())
    marks: list[tuple[Any, Path]] = [(os.path.realpath(file), file) for file in files]
    marks += [((sizes[file], _beginning(file)), file) for file in large if often[sizes[file]] > 1]
    for mark, file in marks:
        if mark in seen:
            raise WireError(f"{file} is named twice, or is a copy of {seen[mark]}; its reports would count twice")
        seen[mark] = file


def _beginning(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_BEGINNING)


def _check_folders(closed: list[Path]) -> None:
    """Raise WireError for a batch in two folders, such as a collection and its backup; the file name identifies it."""
    seen = dict[str, Path]()
    for file in closed:
        first = seen.setdefault(file.name, file).parent
        if os.path.realpath(first) != os.path.realpath(file.parent):
            raise WireError(f"{first} and {file.parent} hold the same reports, which would count twice; name only one")


def _check_same(other: PublishedPlan, where: Path, plan: PublishedPlan, first: Path) -> None:
    if other.plan_id != plan.plan_id:
        raise WireError(
            f"{where} was made with plan {other.plan_id[:12]}, {first} with plan {plan.plan_id[:12]}; reports of "
            "different plans cannot be mixed here; name the files of one plan"
        )


class _OpenBatches:
    """The open batches of a collector's folder, read before the folder's report files are listed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan, self._batches = open_batches.read_open_batches(folder)
        mark = open_batches.read_mark(folder)
        if mark is not None and mark.open_reports != 0:
            which = "reports" if mark.open_reports is None else pluralize(mark.open_reports, "report")
            _LOG.info("%s: %s in PostgreSQL left out: assocpriv collector close %s", folder, which, quote(str(folder)))

    @property
    def files_when_closed(self) -> list[Path]:
        """The files that these reports will be in."""
        return [
            open_batches.closed_file(self.folder, batch.token, key) for batch in self._batches for key in batch.by_key
        ]

    def not_in(self, files: list[Path]) -> NDArray[np.uint8]:
        """Return the reports that are in none of the report files, uint8 (n, report_bytes).

        Under a central guarantee no report is read before its batch is closed: how many wait is logged.
        """
        found, least = (
            open_batches.open_reports(self.folder, self._batches, self.plan, files),
            self.plan.minimum_batch_size,
        )
        if least > 1 and len(found):
            waiting = pluralize(len(found), "report")
            _LOG.info(
                "%s: %s in the open batch wait for %s, the minimum to close and read it",
                self.folder,
                waiting,
                f"{least:,}",
            )
        return found[: 0 if least > 1 else None]


def as_reports(reports: Any) -> Any:
    """Return reports unchanged, Spark's too, or open the named files by :func:`read_reports`.

    Raises:
        TypeError: neither reports nor paths.
    """
    return reports if isinstance(reports, Reports) or hasattr(reports, "add_up") else read_reports(reports)


def group_by_plan(paths: str | Path | Iterable[str | Path]) -> list[list[Path]]:
    """Group report files, and folders of them, by their plan; raise as :func:`read_reports`.

    A folder of reports of several plans, such as both rounds of a collection, stands for its files.
    """
    selected = [file for path in _as_paths(paths) for file in _files_of_plans(path)]
    if len(selected) < 2:
        return [selected]
    groups: dict[str, list[Path]] = {}
    for path in selected:
        groups.setdefault(_plan_at(path).plan_id, []).append(path)
    return list(groups.values())


def _files_of_plans(path: Path) -> list[Path]:
    """Return the files of a folder if these have several plans, else the path alone."""
    if not path.is_dir() or (path / open_batches.OPEN_FOLDER).is_dir():
        return [path]
    known = {file: _metadata(file) for file in sorted(path.glob("[!.]*.parquet"))}
    plans = {file: each.get(PLAN_KEY) for file, each in known.items() if ITEMSETS_KEY not in each}
    return [*plans] if len({*plans.values()}) > 1 else [path]


def files_by_day(folder: str | Path) -> dict[str, list[Path]]:
    """Group the report files in a folder by day, in UTC and in order.

    A collector writes the day into the files of the batches that it closes; other files count by their modification
    time.
    """
    days: dict[str, list[Path]] = {}
    for path in _expand(Path(folder)):
        try:
            day = date.fromisoformat(_metadata(path).get(CLOSED_KEY, b"").decode("ascii"))
        except ValueError:
            day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
        days.setdefault(day.isoformat(), []).append(path)
    return dict(sorted(days.items()))


def _as_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    selected = [paths] if isinstance(paths, str | Path | bytes) or not isinstance(paths, Iterable) else list(paths)
    if any(isinstance(path, bytes) for path in selected):
        raise TypeError(
            "bytes are single reports; collect them with Reports.from_bytes([report, …], plan), and files of them with "
            "gather"
        )
    is_data = hasattr(type(paths), "columns") or isinstance(paths, Mapping | AbstractSet)
    if "support" in getattr(paths, "columns", ()):
        raise TypeError("these are itemsets or rules, mined already; give the reports that they were mined from")
    if is_data or not all(isinstance(path, str | Path) for path in selected):
        raise TypeError(
            f"reports must be Reports, a file or a list of files, got a {type(paths).__name__} of other objects; make "
            "reports of raw baskets with randomize(baskets, plan), and write collections to files with Reports.write"
        )
    return [Path(path) for path in selected]


def _plan_at(path: Path) -> PublishedPlan:
    """Return the plan of a file, or of the first one in a folder."""
    files = _expand(path)
    return _open(files[0])[0] if files else read_reports(path).plan


def _expand(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.glob("[!.]*") if file.is_file() or file.suffix == ".parquet")
    others = [file for file in files if file.suffix != ".parquet" and not (path / open_batches.OPEN_FOLDER).is_dir()]
    if others and len(others) < len(files):
        left = pluralize(len(others), "file")
        _LOG.info("%s: %s left out because not named *.parquet, such as %s", path, left, others[0].name)
    # mined itemsets may be in the same folder as their reports
    return [file for file in files if file.suffix == ".parquet" and ITEMSETS_KEY not in _metadata(file)]


def check_report_output(path: str | PathLike[str]) -> None:
    """Check the name of a report file that is to be written.

    Raises:
        FileError: the name does not end in .parquet or .pq.
    """
    if Path(path).suffix.lower() not in _ENDINGS:
        raise FileError(f"{path} must end in .parquet or .pq: report files are Parquet")


def gather_hint(path: Path) -> str:
    """Return advice on how to make a collection of the single reports, or baskets, at a path."""
    if path.suffix.lower() == ".json":
        return "it looks like a plan or a model; name the file of reports"
    if _looks_like_data(path):
        return (
            "it looks like baskets or a table; randomize baskets first: assocpriv randomize "
            f"{quote(str(path))} --plan plan.json -o reports.parquet"
        )
    return f"gather single reports first: assocpriv gather {quote(str(path))} --plan plan.json -o collection"


def _looks_like_data(path: Path) -> bool:
    """Return whether a file's ending is that of baskets or tables."""
    return path.name.lower().removesuffix(".gz").endswith(_BASKETS)


def holds_reports(path: Path) -> bool:
    """Return whether a file contains a plan, as report files do; False if it cannot be read."""
    return PLAN_KEY in _metadata(path)


def _metadata(path: Path) -> dict[bytes, bytes]:
    """Return a file's metadata, empty if it is damaged; opening it then raises the error."""
    try:
        return pq.read_schema(path).metadata or {}
    except parquet_errors():
        return {}


def _open(path: Path, known: PublishedPlan | None = None) -> tuple[PublishedPlan, int]:
    """Check a file's shape; return its plan, which may be ``known``, and its number of reports."""
    if not path.is_file():
        hint = "" if path.suffix or path.parent != Path() else "; if it is part of a name, put the name in quotes"
        raise WireError(f"there is no report file {path}{hint}")
    try:
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        with path.open("rb") as footer:
            chunks = column_chunks(footer)
    except parquet_errors() as error:
        if is_ledger(path):
            raise WireError(f"{path} {IS_LEDGER}") from None
        if _looks_like_data(path):
            raise WireError(f"{path} is not a report file: {gather_hint(path)}") from None
        why = _first_line(error) if path.suffix.lower() in _ENDINGS else gather_hint(path)
        raise WireError(f"{path} is not a whole Parquet file (damaged or cut off?): {why}") from None
    if is_inflated(chunks, path.stat().st_size, _ALLOWED):
        raise WireError(
            f"{path} is damaged or malicious: its {path.stat().st_size:,} bytes cannot hold the {rows:,} reports that "
            "it claims"
        )
    text = (schema.metadata or {}).get(PLAN_KEY)
    if text is None:
        if RELEASE_KEY in (schema.metadata or {}):
            raise WireError(f"{path} is a release; name the file itself, without its folder and without Spark")
        raise WireError(f"{path} contains no plan, so it is not a report file of assocpriv randomize")
    try:
        same = known is not None and text == known.canonical_json.encode("ascii")
        plan = known if known is not None and same else parse_plan(text.decode("utf-8"))
    except UnicodeDecodeError:
        raise PlanError(f"{path} is damaged: its plan is not UTF-8 text") from None
    expected = pa.binary(plan.report_bytes)
    if schema.names != [COLUMN] or schema.field(0).type != expected:
        raise WireError(f"{path} must have one column {COLUMN!r} of {expected}, as its plan states")
    return plan, rows


def row_groups(path: Path) -> list[int]:
    """Return the number of reports in each row group of a file.

    Raises:
        WireError: the file is damaged.
    """
    try:
        found = pq.read_metadata(path)
        return [int(found.row_group(group).num_rows) for group in range(found.num_row_groups)]
    except parquet_errors() as error:
        raise WireError(f"{path} is damaged: {_first_line(error)}") from None


def file_batches(
    path: Path, plan: PublishedPlan, size: int, *, checked: bool = True, group: int | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports of a file, or of one of its row groups, as uint8 arrays of shape (≤ size, report_bytes).

    The file's checksums are always verified; if ``checked``, also that clients of the plan can have sent the reports.
    """
    done = 0
    try:
        # a buffer of Arrow's own instead of one of the whole file
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER) as file:
            groups = None if group is None else [group]
            stated = file.metadata.num_rows if group is None else file.metadata.row_group(group).num_rows
            for batch in file.iter_batches(batch_size=size, row_groups=groups):
                packed = _as_packed(batch.column(0), plan, path)
                if checked:
                    plan.check_form(packed, f"{path}: ", done)
                yield packed
                done += len(packed)
    except WireError:
        raise
    except parquet_errors() as error:
        raise WireError(f"{path} is damaged: {_first_line(error)}") from None
    if done != stated:
        raise WireError(f"{path} is damaged: it claims {stated:,} reports, but {done:,} can be read")


def _as_packed(column: Any, plan: PublishedPlan, path: Path) -> NDArray[np.uint8]:
    if column.null_count:
        raise WireError(f"{path} holds {column.null_count} missing reports; every row must be a report")
    data = np.frombuffer(column.buffers()[1], dtype=np.uint8)
    start = column.offset * plan.report_bytes
    return data[start : start + len(column) * plan.report_bytes].reshape(len(column), plan.report_bytes)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


# ---- ledgers


def is_ledger(path: Path) -> bool:
    """Return whether a file begins as privacy budget ledgers do; False if it cannot be read."""
    return begins_with(path, LEDGER_NAME)


# ---- messages


def message_lines(packed: NDArray[np.uint8], plan: "GuidedPlan") -> Iterator[str]:
    """Yield packed reports, uint8 (n, report_bytes), as messages."""
    serials, classes, bits = plan.unpack(packed)
    for serial, place, row in zip(serials.tolist(), classes.tolist(), bits, strict=True):
        message = {"guidance": serial, "class": plan.labels[place], "ones": np.flatnonzero(row).tolist()}
        yield json.dumps(message) + "\n"


def write_messages(
    batches: Iterable[NDArray[np.uint8]], plan: "GuidedPlan", path: str | Path, *, force: bool = False
) -> int:
    """Write batches of packed reports as messages, atomically, and return their number.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    written = 0
    with atomic_output(path, force=force) as stream:
        for packed in batches:
            stream.writelines(line.encode("ascii") for line in message_lines(packed, plan))
            written += len(packed)
    return written


def read_messages(path: str | Path, plan: "GuidedPlan") -> Reports:
    """Read a file of messages as reports of a guided plan.

    Args:
        path: the file, one JSON object per line.
        plan: the plan of the messages.

    Returns:
        The reports.

    Raises:
        FileError: the file cannot be read.
        WireError: there is no message, or a line, which is named, is not a message of the plan.
        PlanError: the plan is not a guided plan.
        TypeError: no plan.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> path = f"{mkdtemp()}/answers.jsonl"
    >>> _ = ap.randomize(table, state.plan, path, guidance=state.guidance)
    >>> len(ap.guided.read_messages(path, state.plan))
    20
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    if "guided" not in PublishedPlan.require(plan).kinds:
        raise PlanError(f"messages need a guided plan, not a plan of type {plan.kind}")
    labels = {label: place for place, label in enumerate(plan.labels)}
    rows = [_row(line, plan, labels, f"{path}: line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise WireError(f"{path} holds no message; check that it is the right file")
    return Reports(plan, np.concatenate(rows))


def _row(line: bytes, plan: "GuidedPlan", labels: dict[str, int], where: str) -> NDArray[np.uint8]:
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or set(message) != _MESSAGE_FIELDS:
        raise WireError(
            f"{where} is not a message: it must be one JSON object with the fields {', '.join(sorted(_MESSAGE_FIELDS))}"
        )
    serial, label, ones = message["guidance"], message["class"], message["ones"]
    if type(serial) is not int or not 1 <= serial < 1 << 32 or not isinstance(label, str) or label not in labels:
        raise WireError(f"{where} has no guidance number, or a class that is not in the plan")
    if not isinstance(ones, list) or not all(type(one) is int and 0 <= one < plan.width for one in ones):
        raise WireError(f"{where} must list the positions of the set bits, from 0 to {plan.width - 1}")
    if ones != sorted(set(ones)):
        raise WireError(f"{where} must list the positions of the set bits once, in increasing order")
    bits = np.zeros((1, plan.width), dtype=np.uint8)
    bits[0, ones] = 1
    return plan.pack(serial, np.array([labels[label]]), bits)
