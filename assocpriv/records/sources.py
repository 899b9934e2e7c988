"""Files of people's records, as they lie on disk: opened within a budget of memory, cut into whole lines.

Each error becomes one that names the file, or a line of it, and quotes nothing of it.

Of text the first lines are cut into cells, by the separator that they show; whole lines of CSV become columns as Arrow
holds them, by pyarrow.
"""

import contextlib
import csv
import errno
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from assocpriv.files.arrow import arrow_csv, pa
from assocpriv.kernels.parallel import workers_within
from assocpriv.promise.errors import BasketError, RecordError, counted
from assocpriv.records.cells import Cells, Origin

Result = TypeVar("Result")
Work = Callable[[Cells], Result]
Opener = Callable[[], BinaryIO]
Progress = Callable[[int, int], None]
CHUNK_BYTES = 1 << 21  # text that a core parses at once, at most
LEAST_CHUNK_BYTES = 1 << 18
_WORKING_BYTES = 32  # memory that a byte of text takes while it becomes baskets, at worst
NO_BASKETS = "the file holds no baskets; check that it is the right one"
ENDINGS = (".dat", ".txt", ".csv", ".tsv", ".gz", ".parquet", ".pq")
_BOM = b"\xef\xbb\xbf"
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
SPREADSHEET = "a spreadsheet's own format is not read; save it there as “CSV UTF-8” and read that"
_STARTS = {  # of what is no text
    b"PAR1": "the file is Parquet; leave format= (--format) out, or pass format='parquet' (--format parquet)",
    b"PK\x03\x04": f"the file is packed, as spreadsheets are; {SPREADSHEET}",
}
_PROBLEMS = (
    (FileNotFoundError, "no such file; check the path"),
    (IsADirectoryError, "this is a folder; name a file in it"),
    (PermissionError, "the file may not be read; check its permissions"),
    (EOFError, "the compressed data breaks off; fetch the file again"),
    ((gzip.BadGzipFile, zlib.error), "the compressed data is damaged; fetch the file again"),
    (OSError, "the system cannot read the file; check the path and the disk"),
)
TO_UTF8 = "convert the file to UTF-8 (iconv -f LATIN1 -t UTF-8 OLD > NEW, or save it as “CSV UTF-8”)"
UNREADABLE = "\ufffd"  # stands for what is no UTF-8 in the first lines
SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 1000
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
EMPTY_NUMBERS = ("", "NaN", "nan", "NAN", "null", "NULL", "Null")  # cells of text that stand for no number


# ---- names of files


def is_file(records: Any) -> bool:
    """Tell the name of a file from records; text is one only if it ends as files of records do.

    Raises:
        TypeError: other text, as a single item's name would be; it is not shown.

    >>> is_file("baskets.csv"), is_file(Path("baskets")), is_file([["tea"]])
    (True, True, False)
    """
    if isinstance(records, str) and not records.lower().endswith(ENDINGS):
        raise TypeError(
            "text is no record: give a set or list of names, a table, or a file, by its pathlib.Path or by its name "
            f"with one of the endings {', '.join(ENDINGS)}"
        )
    return isinstance(records, str | PathLike)


# ---- memory


@dataclass(frozen=True, slots=True)
class Budget:
    """What reading may take: text parsed at once, memory in all and threads; None for as much as it needs."""

    chunk_bytes: int
    memory_bytes: int | None = None
    workers: int | None = None

    @classmethod
    def within(cls, memory_bytes: int | None) -> "Budget":
        """Share memory out: a chunk a worker, one that waits and one that is cut; None for as much as reading needs."""
        if memory_bytes is None:
            return cls(CHUNK_BYTES)
        workers = workers_within(memory_bytes)
        share = memory_bytes // (_WORKING_BYTES * (workers + 2))
        return cls(min(CHUNK_BYTES, max(LEAST_CHUNK_BYTES, share)), memory_bytes, workers)

    def units(self, unit_bytes: int) -> int:
        """Return how many units of some size fit, −1 if any number does."""
        return -1 if self.memory_bytes is None else self.memory_bytes // unit_bytes

    def refuse(self, what: str) -> None:
        """Refuse what does not fit."""
        remedy = "raise memory_bytes (--memory), or write the file as a basket a line"
        raise BasketError(f"{what}, more than the {(self.memory_bytes or 0) >> 20:,} MiB allowed; {remedy}")


# ---- files


def named_after(path: Path, step: Callable[[], Result], kind: type[RecordError] = BasketError) -> Result:
    """Take a step of reading; whatever fails becomes one error of a kind that names the file."""
    try:
        return step()
    except RecordError as error:
        problem = str(error)
    except (EOFError, OSError, zlib.error) as error:
        problem = next(text for kind, text in _PROBLEMS if isinstance(error, kind))
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            problem = "the path is a loop of links; name the file itself"
    # outside the handlers, so that no parser's exception is even the hidden context of this one
    raise kind(f"{path.name or path}: {problem}")


class _ProgressFile(io.FileIO):
    """A file that tells how far it has been read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._size, self._read = progress, path.stat().st_size, 0

    def readinto(self, buffer: Any) -> int | None:
        read = super().readinto(buffer)
        self._read += read or 0
        self._progress(self.tell() if self.seekable() else self._read, self._size)
        return read


class Resumed:
    """A file whose first bytes were read already, to be read from its beginning."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._first, self._place, self._file = first, 0, file
        self._goes_back = isinstance(file, io.BufferedReader) and file.seekable()  # gzip would unpack it again

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end; all that are left if negative."""
        if self._place == len(self._first):
            return self._file.read(size)
        if not self._place and not 0 <= size < len(self._first) and self._goes_back:
            self._file.seek(-len(self._first), io.SEEK_CUR)  # no second copy of all that follows
            self._place = len(self._first)
            return self._file.read(size)
        stop = len(self._first) if size < 0 else min(self._place + size, len(self._first))
        taken, self._place = self._first[self._place : stop], stop
        return taken + self._file.read(size if size < 0 else size - len(taken))


def open_source(path: Path, progress: Progress | None) -> BinaryIO:
    """Open a file, unpacked if its name ends in .gz; ``progress`` is called with (bytes read, bytes of the file)."""
    if path.is_dir():
        raise IsADirectoryError
    raw = io.BufferedReader(_ProgressFile(path, progress), CHUNK_BYTES) if progress else path.open("rb")
    if not path.name.lower().endswith(".gz"):
        return raw
    unpacked = gzip.GzipFile(fileobj=raw)
    unpacked.myfileobj = cast(Any, raw)  # closed together
    return cast(BinaryIO, unpacked)


def read_sample(file: BinaryIO) -> bytes:
    """Return the first bytes of a file of text, without a mark before them; refuse what is no text of ours."""
    first = file.read(len(_BOM)).removeprefix(_BOM) + file.read(SAMPLE_BYTES)
    _refuse_utf16(first)
    for start, problem in _STARTS.items():
        if first.startswith(start):
            raise BasketError(problem)
    return first


def _refuse_utf16(first: bytes) -> None:
    start = first[:8]
    plain = [start[place::2].count(b"\0") for place in (0, 1)]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(start) == 8 and sorted(plain) == [0, 4]):
        raise BasketError(
            "the file is UTF-16 text; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW, or save it as "
            "“CSV UTF-8”)"
        )


def line_chunks(file: Resumed, budget: Budget, skip: int) -> Iterator[tuple[bytes, Origin]]:
    """Cut a file into pieces that all end with the end of a line, and say how errors name their lines.

    The first ``skip`` lines are left out.
    """
    rest = bytearray()
    before, longest = 0, budget.units(_WORKING_BYTES)
    while block := file.read(budget.chunk_bytes):
        if cut := block.rfind(b"\n") + 1:
            yield from _below_header(bytes(rest) + block[:cut], before, skip)
            before += block.count(b"\n")
            rest = bytearray()
        rest += block[cut:]
        if len(rest) > longest >= 0:
            budget.refuse(f"line {before + 1} takes at least {len(rest) * _WORKING_BYTES >> 20:,} MiB to read")
    if rest:
        yield from _below_header(bytes(rest).removesuffix(b"\n") + b"\n", before, skip)


def _below_header(lines: bytes, before: int, skip: int) -> Iterator[tuple[bytes, Origin]]:
    """Yield what is left of whole lines, of which ``before`` stand before these, without the first ``skip`` of all."""
    while before < skip and lines:
        before, lines = before + 1, lines[lines.find(b"\n") + 1 :]
    if lines:
        yield lines, Origin("line", before, whole=False)


# ---- first lines


class FirstLines:
    """The first lines cut into cells; blank lines, and lines that are no CSV, are left to the parser."""

    def __init__(self, lines: Sequence[str], separator: str) -> None:
        self.separator = separator
        self.cells: list[list[str]] = []
        self.numbers: list[int] = []
        for number, line in enumerate(lines, 1):
            row = cut_line(line, separator) if line.strip() else None
            if row is not None or (line.strip() and not self.cells):  # a first line that is no CSV is no header
                self.cells.append([cell.strip() for cell in row or []])
                self.numbers.append(number)

    @classmethod
    def of_table(cls, names: Sequence[str], columns: Sequence[Sequence[object]]) -> "FirstLines":
        """Return what the lines of a table are, from the values of its columns; None is an empty cell."""
        made = cls((), ",")
        made.cells = [
            list(names),
            *(["" if cell is None else str(cell) for cell in row] for row in zip(*columns, strict=True)),
        ]
        made.numbers = list(range(1, len(made.cells) + 1))
        return made

    @property
    def first(self) -> list[str]:
        """The cells of the first line, which may be a header."""
        return self.cells[0] if self.cells else []

    @property
    def first_line(self) -> int:
        """How many lines stand before the first one with anything in it."""
        return self.numbers[0] - 1 if self.numbers else 0

    @property
    def body(self) -> list[list[str]]:
        """The cells of the other lines."""
        return self.cells[1:]

    @property
    def is_table(self) -> bool:
        """Whether all lines have the same number of cells, at least two."""
        return len(self.first) > 1 and all(len(row) == len(self.first) for row in self.cells)

    def column(self, place: int) -> list[str]:
        """Return a column's cells below the first line."""
        return [row[place] for row in self.body]


def cut_line(line: str, separator: str) -> list[str] | None:
    """Return the cells of a line, None where it is no CSV.

    >>> cut_line('a;"b;c"', ";")
    ['a', 'b;c']
    """
    try:
        return next(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=separator != " "), [])
    except csv.Error:  # its text may quote the line
        return None


def first_lines(sample: bytes) -> list[str]:
    """Return the whole lines at the beginning of a text, as far as it is looked at."""
    lines = sample.decode("utf-8", errors="replace").split("\n")
    if len(sample) >= SAMPLE_BYTES or not lines[-1]:
        lines.pop()  # may be cut
    return [line.rstrip("\r") for line in lines[:SAMPLE_LINES]]


def find_separator(lines: Sequence[str], chosen: str | None) -> str:
    """Return the separator that stands in most lines, by far, or makes the only table."""
    rows = {mark: FirstLines(lines, mark) for mark in SEPARATORS if mark != " "}
    found = {mark: sum(len(row) > 1 for row in each.cells) for mark, each in rows.items()}
    most = max(found.values())
    if not most:
        _check_blanks(lines, chosen)
        return ","
    rivals = [mark for mark, count in found.items() if 4 * count > 3 * most]
    tables = [mark for mark in rivals if rows[mark].is_table and rows[mark].body]
    left = tables if len(tables) == 1 else rivals
    if len(left) == 1:
        return left[0]
    if chosen == "basket" and "," in left:
        return ","
    raise BasketError(
        f"cells may be parted by {' or by '.join(SEPARATORS[mark] for mark in left)}; say by which with separator= "
        f"(--separator '{left[0]}' or '{left[1]}')".replace("'\t'", "tab")
    )


def _check_blanks(lines: Sequence[str], chosen: str | None) -> None:
    filled = [line.split() for line in lines if line.strip()]
    if (
        chosen is None
        and not set("".join(lines)) & set('",;\t|')
        and 2 * sum(len(words) > 1 for words in filled) > len(filled)
    ):
        raise BasketError(
            "no line has a comma, semicolon, tab or bar; if blanks part the names, and no name has one in it, pass "
            "separator=' ' (--separator ' '), else write the names with commas between; if each line is one name pass "
            "format='basket' (--format basket)"
        )


# ---- columns of CSV


class LineNumbers:
    """Says in which line a row of some lines stands; blank lines are no rows."""

    def __init__(self, text: bytes, before: int) -> None:
        self._text, self._before = text, before

    def __call__(self, row: int) -> int:
        """Return the number of a row's line."""
        filled = [number for number, line in enumerate(self._text.split(b"\n")) if line.rstrip(b"\r")]
        return self._before + filled[row] + 1

    def rows(self) -> int:
        """Return how many lines are not blank."""
        if b"\n\n" not in self._text and b"\n\r\n" not in self._text and self._text[:1] not in b"\r\n":
            return self._text.count(b"\n")
        return sum(bool(line.rstrip(b"\r")) for line in self._text.split(b"\n"))


def read_lines(
    text: bytes, lines: LineNumbers, width: int, places: list[int], separator: str, missing: Collection[str],
    numbers: list[bool],
) -> list[Any] | None:  # fmt: skip
    """Return the columns at some places, numbers as such where asked for; None where Arrow cannot read them so.

    Raises:
        RecordError: a line has another number of cells than ``width``, or a cell holds a line break.
    """
    wrong: list[tuple[int, int]] = []  # line, cells

    def skip_row(row: Any) -> str:
        wrong.append((row.number or 0, row.actual_columns))
        return "skip"

    texts = pa.dictionary(pa.int32(), pa.string())
    names = [str(place) for place in range(width)]
    table = None
    with contextlib.suppress(pa.ArrowException, OSError, ValueError):  # their texts quote cells
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            arrow_csv.ParseOptions(delimiter=separator, invalid_row_handler=skip_row),
            arrow_csv.ConvertOptions(
                column_types={
                    names[place]: pa.float64() if number else texts
                    for place, number in zip(places, numbers, strict=True)
                },
                include_columns=[names[place] for place in places],
                null_values=[*EMPTY_NUMBERS, *missing],
                strings_can_be_null=False,
            ),
        )
    if wrong:
        row, cells = wrong[0]
        raise RecordError(
            f"line {lines(row - 1):,} has {counted(cells, 'cell')}, but line 1 names {counted(width, 'column')}; "
            "correct it, or put cells that hold the separator in quotes"
        )
    if table is None:
        return None
    if table.num_rows != lines.rows():
        raise RecordError("a cell holds a line break; every record must stand on one line: take it out")
    return [whole_array(column) for column in table.columns]


def whole_array(values: Any) -> Any:
    """Return a column as one Arrow array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.unify_dictionaries().combine_chunks()
