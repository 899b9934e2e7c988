"""Reports at rest: Parquet files that carry their plan (docs/formats/reports.md), batch by batch.

Answers to guidance may be messages, too: one JSON object a line, with the released bits as a list of those that are
set.

    {"guidance": 3, "class": "democrat", "ones": [0, 17]}

The list is short, as few bits are set (ZWZ05, section 7.1); a Parquet file is shorter still where there are many.

How a device's ledger begins is told here, so that whoever meets one among other files can name it; client/ alone reads
it.
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import column_chunks, is_inflated, pa, parquet_errors, pq
from assocpriv.files.atomic import atomic_output
from assocpriv.files.unsealed import (
    OPEN_FOLDER,
    SEALED_NAME,
    read_mark,
    read_open_epochs,
    sealed_file,
    unsealed_reports,
)
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.published import PublishedPlan, pack_reports
from assocpriv.promise.errors import FileError, PlanError, WireError, counted

if TYPE_CHECKING:
    from assocpriv.plans.guided import GuidedPlan

PLAN_KEY = b"assocpriv.plan"
ITEMSETS_KEY = b"assocpriv-itemsets"
SEALED_KEY = b"assocpriv.sealed"  # the day on which a collector wrote the file
COLUMN = "report"
_ENDINGS = (".parquet", ".pq")
_BASKETS = (".csv", ".tsv", ".dat", ".txt", ".json", ".xlsx")
_LOG = logging.getLogger("assocpriv")  # told what of a folder is left out; the command line shows it
_ROW_GROUP = 1 << 20
_BUFFER = 1 << 20  # bytes
_BEGINNING = 1 << 12  # bytes by which copies are told
_LEAST_COPIED = 1000  # fewer reports may be the same by chance
_ALLOWED = 1 << 28  # bytes of memory that any file may claim; reports are random, so more takes bytes
_WRITER: dict[str, Any] = {  # reports are random bits: compression and a dictionary would gain nothing
    "compression": "none",
    "use_dictionary": False,
    "write_statistics": False,
    "write_page_checksum": True,  # a flipped bit would pass for another report
}
LEDGER_NAME = b"assocpriv-ledger"  # the first bytes (docs/formats/client.md#the-clients-ledger)
IS_LEDGER = "is a device's ledger, which is not to leave the device; assocpriv report alone reads it"
MESSAGE_ENDING = ".jsonl"
_MESSAGE_FIELDS = {"guidance", "class", "ones"}


# ---- collections


@dataclass(frozen=True, eq=False)
class Reports:
    """A collection of reports of one plan: in memory, in files, or some in each.

    Attributes:
        plan: the plan that all reports were made with.
        in_memory: those that are in no file, uint8 of shape (n, report_bytes); of a collector's folder the unsealed.
        paths: the files of the others, in their order.
        file_reports: how many reports the files hold.

    Raises:
        WireError: an array that cannot be reports of the plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
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
        """Collect single reports.

        Raises:
            WireError: a report that does not fit the plan; its position is named.
        """
        return cls(plan, pack_reports(reports, plan))

    def __len__(self) -> int:
        return len(self.in_memory) + self.file_reports

    def __repr__(self) -> str:
        return f"Reports({len(self):,} of {self.plan!r})"

    @property
    def packed(self) -> NDArray[np.uint8]:
        """All reports, uint8 of shape (n, report_bytes); files are read whole, where ``batches`` takes little memory.

        Raises:
            WireError: a file that is damaged or whose reports do not fit the plan.
        """
        return np.concatenate([self.in_memory[:0], *self.batches(_ROW_GROUP)]) if self.paths else self.in_memory

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports as uint8 arrays of shape (≤ size, report_bytes).

        Raises:
            WireError: a file that is damaged or whose reports do not fit the plan.
        """
        yield from filled(self._pieces(size), size)

    def check(self, size: int) -> None:
        """Read all reports with ``check_form``.

        Raises:
            WireError: naming the first report that no client of the plan can have sent, and the file.
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

        Raises:
            FileError: the file exists and ``force`` is not set, or cannot be written.
        """
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

    The file's metadata holds the plan, and what else is given.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
        WireError: rows of another length than the plan's reports.
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


def filled(pieces: Iterable[NDArray[np.uint8]], size: int) -> Iterator[NDArray[np.uint8]]:
    """Join small pieces, as many small files give, to batches of up to ``size``; no piece is larger than that."""
    waiting: list[NDArray[np.uint8]] = []
    n_waiting = 0
    for piece in pieces:
        if n_waiting + len(piece) > size:
            yield np.concatenate(waiting)
            waiting, n_waiting = [], 0
        if not waiting and 2 * len(piece) >= size:
            yield piece
        elif len(piece):
            waiting.append(piece)
            n_waiting += len(piece)
    if waiting:
        yield np.concatenate(waiting)


def read_reports(paths: str | Path | Iterable[str | Path]) -> Reports:
    """Open report files, or folders of them, as one collection; the reports stay on disk.

    Of a collector's folder what is not sealed yet is read into memory, as it is at this moment.

    Args:
        paths: a file or folder, or several; no file may be named twice.

    Raises:
        TypeError: what names no files: bytes, a table or baskets.
        WireError: no file, a damaged one, one that is named twice or has no plan, or files of different plans.
        PlanError: a plan that is itself invalid.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.randomize([{"milk"}, {"tea"}], made).write(file := f"{mkdtemp()}/reports.parquet")
    >>> len(ap.read_reports(file))
    2
    """
    listed = _listed(paths)
    open_epochs = [_OpenEpochs(path) for path in listed if (path / OPEN_FOLDER).is_dir()]
    files = [file for path in listed for file in _expand(path)]
    unsealed = [each.not_in(files) for each in open_epochs]
    if not files and not unsealed:
        inbox = next((path for path in listed if any(file.is_file() for file in path.glob("[!.]*"))), None)
        hint = "" if inbox is None else f"; {gather_hint(inbox)}"
        where = f"in {', '.join(map(str, listed))}" if listed else "to read"
        raise WireError(f"there are no report files (*.parquet) {where}{hint}")
    plan, total = _open(files[0]) if files else (open_epochs[0].plan, 0)
    counts = [total]
    for file in files[1:]:
        other, count = _open(file, plan)
        _check_same(other, file, plan, files[0])
        counts.append(count)
    _check_copies(files, [file for file, count in zip(files, counts, strict=False) if count >= _least_copied(plan)])
    sealed = [file for file in files if SEALED_NAME.fullmatch(file.name)]
    _check_folders([*sealed, *(file for each in open_epochs for file in each.to_be_sealed)])
    total = sum(counts)
    for each in open_epochs:
        _check_same(each.plan, each.folder, plan, files[0] if files else listed[0])
    packed = np.concatenate([np.empty((0, plan.report_bytes), np.uint8), *unsealed])
    return Reports(plan, packed, tuple(files), total)


def check_copies(collections: Iterable[Any]) -> None:
    """Refuse that collections hold the same file, or a copy of it: the people of each are others."""
    opened = [
        (file, _open(file, reports.plan)[1] >= _least_copied(reports.plan))
        for reports in collections
        if isinstance(reports, Reports)
        for file in reports.paths
    ]
    _check_copies([file for file, _ in opened], [file for file, is_large in opened if is_large])


def _least_copied(plan: PublishedPlan) -> int:
    """Return how many reports are not the same in two files by chance."""
    return 1 if plan.least_batch > 1 else _LEAST_COPIED


def _check_copies(files: list[Path], large: list[Path]) -> None:
    """Refuse a file that is named twice, and large ones of one size that begin alike: reports are random."""
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


def _check_folders(sealed: list[Path]) -> None:
    """Refuse epochs that are in two folders, as in a collection and its backup; their files' names are tokens."""
    seen = dict[str, Path]()
    for file in sealed:
        first = seen.setdefault(file.name, file).parent
        if os.path.realpath(first) != os.path.realpath(file.parent):
            raise WireError(f"{first} and {file.parent} hold the same reports, as a copy does; they would count twice")


def _check_same(other: PublishedPlan, where: Path, plan: PublishedPlan, first: Path) -> None:
    if other.plan_id != plan.plan_id:
        raise WireError(
            f"{where} was made with plan {other.plan_id[:12]}, {first} with plan {plan.plan_id[:12]}; "
            "reports of different plans cannot be mixed; mine takes them side by side, each named by itself"
        )


class _OpenEpochs:
    """What a collector's folder held that was not sealed, when this was made: before its report files were listed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan, self._epochs = read_open_epochs(folder)
        mark = read_mark(folder)
        if mark is not None and mark.unsealed != 0:
            which = "reports" if mark.unsealed is None else counted(mark.unsealed, "report")
            _LOG.info("%s: %s in PostgreSQL left out: assocpriv collector seal %s", folder, which, quote(str(folder)))

    @property
    def to_be_sealed(self) -> list[Path]:
        """The files that these reports will be in."""
        return [sealed_file(self.folder, epoch.token, key) for epoch in self._epochs for key in epoch.by_key]

    def not_in(self, files: list[Path]) -> NDArray[np.uint8]:
        """Return the reports that are in none of the report files, uint8 (n, report_bytes)."""
        return unsealed_reports(self.folder, self._epochs, self.plan, files)


def as_reports(reports: Any) -> Any:
    """Return reports as they are, those that Spark reads too, or open the files that are named by :func:`read_reports`.

    Raises:
        TypeError: neither reports nor names of files.
    """
    if isinstance(reports, Reports) or hasattr(reports, "add_up"):
        return reports
    return read_reports(reports)


def as_collections(reports: Any) -> list[Any]:
    """Return collections of one plan each: those given, or those that named files hold, which may be of several plans.

    Raises:
        TypeError: neither reports nor names of files.
        WireError: two collections of one plan in memory, or as :func:`read_reports`.
    """
    if isinstance(reports, Sequence) and not isinstance(reports, str | bytes) and len(reports):
        if not any(isinstance(each, Path | Sequence) for each in reports):
            given = [as_reports(each) for each in reports]
            if len({each.plan.plan_id for each in given}) < len(given):
                raise WireError("two collections are of one plan; write them to files and name these together")
            return given
        if all(isinstance(each, str | Path) for each in reports):
            return [read_reports(paths) for paths in by_plan(reports)]
    return [as_reports(reports)]


def by_plan(paths: str | Path | Iterable[str | Path]) -> list[list[Path]]:
    """Group report files, and folders of them, by their plan; raises as :func:`read_reports`."""
    listed = _listed(paths)
    if len(listed) < 2:
        return [listed]
    groups: dict[str, list[Path]] = {}
    for path in listed:
        groups.setdefault(_plan_at(path).plan_id, []).append(path)
    return list(groups.values())


def days_of(folder: str | Path) -> dict[str, list[Path]]:
    """Return the days that report files in a folder are of, in UTC, from the first on, each with its files.

    A collector writes the day into the files that it seals; others are of the date they have.
    """
    days: dict[str, list[Path]] = {}
    for path in _expand(Path(folder)):
        try:
            day = date.fromisoformat(_metadata(path).get(SEALED_KEY, b"").decode("ascii"))
        except ValueError:
            day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
        days.setdefault(day.isoformat(), []).append(path)
    return dict(sorted(days.items()))


def _listed(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    listed = [paths] if isinstance(paths, str | Path | bytes) or not isinstance(paths, Iterable) else list(paths)
    if any(isinstance(path, bytes) for path in listed):
        raise TypeError(
            "bytes are single reports; make a collection of them with Reports.from_bytes([report, …], plan), and of "
            "files of them with gather"
        )
    is_data = hasattr(type(paths), "columns") or isinstance(paths, Mapping | AbstractSet)
    if is_data or not all(isinstance(path, str | Path) for path in listed):
        raise TypeError(
            f"reports must be Reports, a file or a list of files, got a {type(paths).__name__} of other things: of raw "
            "baskets randomize(baskets, plan) makes reports; collections go into files with Reports.write"
        )
    return [Path(path) for path in listed]


def _plan_at(path: Path) -> PublishedPlan:
    """Return the plan of a file, or of the first one in a folder."""
    files = _expand(path)
    return _open(files[0])[0] if files else read_reports(path).plan


def _expand(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.glob("[!.]*") if file.is_file() or file.suffix == ".parquet")
    others = [file for file in files if file.suffix != ".parquet" and not (path / OPEN_FOLDER).is_dir()]
    if others and len(others) < len(files):
        left = counted(len(others), "file")
        _LOG.info("%s: %s left out, not named *.parquet, as %s", path, left, others[0].name)
    # mined itemsets may lie beside the reports they came from
    return [file for file in files if file.suffix == ".parquet" and ITEMSETS_KEY not in _metadata(file)]


def check_report_output(path: str | PathLike[str]) -> None:
    """Refuse a name for a file of reports that says it is something else.

    Raises:
        FileError: the name does not end in .parquet or .pq.
    """
    if Path(path).suffix.lower() not in _ENDINGS:
        raise FileError(f"{path} must end in .parquet or .pq: a file of reports is Parquet")


def gather_hint(path: Path) -> str:
    """Say how single reports at a path, or baskets, become a collection."""
    if path.suffix.lower() == ".json":
        return "it looks like a plan or a model; name the file of reports"
    if _no_reports(path):
        return (
            "it looks like baskets or a table; randomize baskets first: assocpriv randomize "
            f"{quote(str(path))} --plan plan.json -o reports.parquet"
        )
    return f"single reports are gathered first: assocpriv gather {quote(str(path))} --plan plan.json -o collection"


def _no_reports(path: Path) -> bool:
    """Tell whether a file's ending is that of baskets or tables."""
    return path.name.lower().removesuffix(".gz").endswith(_BASKETS)


def holds_reports(path: Path) -> bool:
    """Tell whether a file carries a plan, as files of reports do; what cannot be read does not."""
    return PLAN_KEY in _metadata(path)


def _metadata(path: Path) -> dict[bytes, bytes]:
    """Return a file's metadata, none of what is damaged, which is told when it is opened."""
    try:
        return pq.read_schema(path).metadata or {}
    except parquet_errors():
        return {}


def _open(path: Path, known: PublishedPlan | None = None) -> tuple[PublishedPlan, int]:
    """Return a file's plan, which may be known, and number of reports, having checked its shape."""
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
        if _no_reports(path):
            raise WireError(f"{path} is no report file: {gather_hint(path)}") from None
        why = _first_line(error) if path.suffix.lower() in _ENDINGS else gather_hint(path)
        raise WireError(f"{path} is not a whole Parquet file (damaged or cut off?): {why}") from None
    if is_inflated(chunks, path.stat().st_size, _ALLOWED):
        raise WireError(
            f"{path} is damaged or made to harm: so few bytes cannot hold the {rows:,} reports it says it has"
        )
    text = (schema.metadata or {}).get(PLAN_KEY)
    if text is None:
        raise WireError(f"{path} carries no plan, so it is not a report file of assocpriv randomize")
    try:
        same = known is not None and text == known.canonical_json.encode("ascii")
        plan = known if known is not None and same else parse_plan(text.decode("utf-8"))
    except UnicodeDecodeError:
        raise PlanError(f"{path} is damaged: its plan is not UTF-8 text") from None
    expected = pa.binary(plan.report_bytes)
    if schema.names != [COLUMN] or schema.field(0).type != expected:
        raise WireError(f"{path} must have one column {COLUMN!r} of {expected}, as its plan says")
    return plan, rows


def row_groups(path: Path) -> list[int]:
    """Return how many reports each row group of a file has.

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

    Bytes are compared with the file's checksums always; ``checked`` asks the plan, too, whether clients send them.
    """
    done = 0
    try:
        # a buffer of Arrow's own instead of one of the whole file
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER) as file:
            groups = None if group is None else [group]
            promised = file.metadata.num_rows if group is None else file.metadata.row_group(group).num_rows
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
    if done != promised:
        raise WireError(f"{path} is damaged: it says it holds {promised:,} reports, but {done:,} can be read")


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
    """Tell whether a file begins as ledgers do; what cannot be read does not."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(LEDGER_NAME)) == LEDGER_NAME
    except OSError:
        return False


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
    """Write batches of packed reports as messages and return their number; the file appears whole or not at all.

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
    """Read a file of messages as reports of a plan.

    Raises:
        FileError: it cannot be read.
        WireError: no message, or a line that is none of the plan; its number is named.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> path = f"{mkdtemp()}/answers.jsonl"
    >>> _ = ap.randomize(table, state.plan, path, guidance=state.guidance)
    >>> len(ap.guided.read_messages(path, state.plan))
    20
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    if "guided" not in PublishedPlan.of(plan).kinds:
        raise PlanError(f"messages are of a guided plan, not of one of the kind {plan.kind}")
    labels = {label: place for place, label in enumerate(plan.labels)}
    rows = [_row(line, plan, labels, f"{path}: line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise WireError(f"{path} holds no message; is it the right file?")
    return Reports(plan, np.concatenate(rows))


def _row(line: bytes, plan: "GuidedPlan", labels: dict[str, int], where: str) -> NDArray[np.uint8]:
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or set(message) != _MESSAGE_FIELDS:
        raise WireError(f"{where} is no message: it must be one JSON object of {', '.join(sorted(_MESSAGE_FIELDS))}")
    serial, label, ones = message["guidance"], message["class"], message["ones"]
    if type(serial) is not int or not 1 <= serial < 1 << 32 or not isinstance(label, str) or label not in labels:
        raise WireError(f"{where} names no guidance, or a class that the plan does not have")
    if not isinstance(ones, list) or not all(type(one) is int and 0 <= one < plan.width for one in ones):
        raise WireError(f"{where} must list places of bits, 0 to {plan.width - 1}, that are set")
    if ones != sorted(set(ones)):
        raise WireError(f"{where} must list places of bits once, in rising order")
    bits = np.zeros((1, plan.width), dtype=np.uint8)
    bits[0, ones] = 1
    return plan.pack(serial, np.array([labels[label]]), bits)
