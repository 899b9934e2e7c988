"""Open files of people's records within a memory budget, as whole lines of UTF-8 text.

Text in UTF-16 or Windows-1252 and sheets of a workbook are converted to such lines. All errors name the file, or a line
of it, and quote nothing of it. The first lines of a text are split into cells by the separator that is detected.
"""

import codecs
import contextlib
import csv
import errno
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

import numpy as np

from assocpriv.guarantees.errors import BasketError, RecordError
from assocpriv.kernels.parallel import workers_within
from assocpriv.records.cells import Cells, Origin
from assocpriv.records.sheets import ByteStream, SheetChoice, SheetText

Result = TypeVar("Result")
Work = Callable[[Cells], Result]
Progress = Callable[[int, int], None]
CHUNK_BYTES = 1 << 21  # of text that one worker parses at a time, at most
MIN_CHUNK_BYTES = 1 << 18
_WORKING_BYTES = 32  # memory per byte of text while it is converted to baskets, at worst
NO_BASKETS = "the file holds no baskets; check that it is the right one"
ENDINGS = (".dat", ".txt", ".csv", ".tsv", ".gz", ".parquet", ".pq", ".xlsx")
PARQUET = (".parquet", ".pq")
_BOM = b"\xef\xbb\xbf"
_PARQUET_BEGINS, _PACKED_BEGINS, _ARROW_BEGINS = b"PAR1", b"PK\x03\x04", b"ARROW1"
_QUOTED = re.compile(r'\s*("[^"]*"|[^\s",;|]+)( +("[^"]*"|[^\s",;|]+))*\s*')  # words separated by blanks, as R writes
_OPENS = re.compile(rb'(?:^|[,;|\t])[ ]*"(?:[^"]|"")*$')  # a last cell whose quotes do not close on its line
_CLOSES = re.compile(rb'[^"]*(?:""[^"]*)*"[ ]*(?:[,;|\t]|\r?$)')  # the rest of such a cell
_MAX_BREAKS = 20  # within one cell
TITLE_LINES = 10  # above a header, at most
_SEP_LINE = re.compile(r' *"?sep=(.)"? *')  # as spreadsheets write it
_OTHER_PAGE = re.compile(  # signs of other code pages: ä, é, ö of DOS or Mac, Polish letters, Cyrillic and Greek words
    r"[A-Za-z][„‚”ŠŽŸ][a-z]|[a-z][¹³¿£¥¼¾][a-z]|[À-ÿ]{4}"
)
_ARROW = "Arrow's IPC format is not supported; write Parquet, or in Python pass pyarrow.feather.read_table(FILE)"
_JSON = "JSON is not supported; write CSV or Parquet, or in Python pass the table pandas.read_json(FILE{})"
_UNREAD = {  # endings of unsupported formats -> what to do
    ".json": _JSON.format(""),
    **dict.fromkeys((".jsonl", ".ndjson"), _JSON.format(", lines=True")),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _ARROW),
    **dict.fromkeys((".xls", ".ods"), "this spreadsheet format is not supported; save it as .xlsx or “CSV UTF-8”"),
}
WORKBOOKS = (".xlsx", ".xlsm")
_PROBLEMS = (
    (FileNotFoundError, "no such file; check the path"),
    (IsADirectoryError, "this is a folder; name a file in it"),
    (PermissionError, "the file may not be read; check its permissions"),
    (EOFError, "the compressed data is incomplete; fetch the file again"),
    ((gzip.BadGzipFile, zlib.error), "the compressed data is damaged; fetch the file again"),
    (OSError, "the system cannot read the file; check the path and the disk"),
)
TOTALS = ("total", "totals", "grand total", "sum", "summe", "gesamt", "gesamtsumme", "somme", "totale", "suma")
_SUM = re.compile(r" *: *[-+−]?[0-9][0-9., ]*$")
SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 1000
_OTHER_MARKS = ("::", "^", "~")  # separators that are not supported
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}


class Source(Protocol):
    """A readable stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return ``size`` bytes, fewer at the end; all the rest if negative."""


# ---- names of files


def is_file(records: Any) -> bool:
    """Return whether an argument names files, not records: a path, a list of paths, or text with a known file ending.

    Raises:
        TypeError: other text, which may be an item's name and is not shown.

    >>> is_file("baskets.csv"), is_file([Path("may"), Path("june")]), is_file([["tea"]])
    (True, True, False)
    """
    if isinstance(records, str) and not records.lower().endswith((*ENDINGS, *_UNREAD)):
        raise TypeError(
            "text is not a record; pass a set or list of names, a table, or a file: a pathlib.Path, or a name that "
            f"ends in {', '.join(ENDINGS)}"
        )
    if isinstance(records, list | tuple) and records:
        return all(isinstance(each, PathLike) for each in records)
    return isinstance(records, str | PathLike)


# ---- memory


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Limits for reading: bytes of text per chunk, bytes of memory in all, and threads; None for no limit."""

    chunk_bytes: int
    memory_bytes: int | None = None
    workers: int | None = None

    @classmethod
    def within(cls, memory_bytes: int | None) -> "MemoryBudget":
        """Divide memory among one chunk per worker, one in the queue and one being cut; None for no limit."""
        if memory_bytes is None:
            return cls(CHUNK_BYTES)
        workers = workers_within(memory_bytes)
        share = memory_bytes // (_WORKING_BYTES * (workers + 2))
        return cls(min(CHUNK_BYTES, max(MIN_CHUNK_BYTES, share)), memory_bytes, workers)

    def units(self, unit_bytes: int) -> int:
        """Return how many units of a size fit, −1 if there is no limit."""
        return -1 if self.memory_bytes is None else self.memory_bytes // unit_bytes

    def refuse(self, what: str) -> None:
        """Raise BasketError for something that does not fit."""
        remedy = "raise memory_bytes, or write the file with one basket per line"
        raise BasketError(f"{what}, more than the {(self.memory_bytes or 0) >> 20:,} MiB allowed; {remedy}")


# ---- files


def prefix_errors(path: Path, step: Callable[[], Result], kind: type[RecordError] = BasketError) -> Result:
    """Run a step of reading; turn its errors into one of type ``kind`` whose message begins with the file's name."""
    try:
        return step()
    except RecordError as error:
        problem = str(error)
    except (EOFError, OSError, zlib.error) as error:
        problem = next(text for kind, text in _PROBLEMS if isinstance(error, kind))
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            problem = "the path is a loop of links; name the file itself"
    # raised outside the handlers, so that a parser's exception, which may quote data, is not its context
    raise kind(f"{path.name or path}: {problem}")


class _ProgressFile(io.FileIO):
    """A file that reports its reading progress."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._size, self._read = progress, path.stat().st_size, 0

    def readinto(self, buffer: Any) -> int | None:
        read = super().readinto(buffer)
        self._read += read or 0
        self._progress(self.tell() if self.seekable() else self._read, self._size)
        return read


class _PeekedFile:
    """A file whose first bytes were already read, read again from its beginning."""

    def __init__(self, first: bytes, file: Source) -> None:
        self._first, self._file = io.BytesIO(first), file

    def read(self, size: int = -1, /) -> bytes:
        """Return ``size`` bytes, fewer at the end; all the rest if negative."""
        taken = self._first.read(size)
        if len(taken) == size:
            return taken
        return taken + self._file.read(size if size < 0 else size - len(taken))


def open_source(path: Path, progress: Progress | None) -> BinaryIO:
    """Open a file, decompressed if its name ends in .gz; call ``progress`` with (bytes read, bytes of the file)."""
    if path.is_dir():
        raise IsADirectoryError
    raw = io.BufferedReader(_ProgressFile(path, progress), CHUNK_BYTES) if progress else path.open("rb")
    if not path.name.lower().endswith(".gz"):
        return raw
    unpacked = gzip.GzipFile(fileobj=raw)
    unpacked.myfileobj = cast(Any, raw)  # closed together
    return cast(BinaryIO, unpacked)


def is_parquet(path: Path, file: BinaryIO) -> bool:
    """Return whether a file is Parquet, by its name or, if it is seekable, by its first bytes."""
    if path.name.lower().endswith(PARQUET):
        return True
    if not file.seekable():
        return False
    begins = file.read(len(_PARQUET_BEGINS)) == _PARQUET_BEGINS
    file.seek(0)
    return begins


@dataclass(frozen=True, slots=True)
class Text:
    """A text file as UTF-8: its first bytes, a stream from its beginning, and its original encoding or sheets."""

    sample: bytes
    file: Source
    encoding: str = "utf-8"
    is_converted: bool = False
    sheets: SheetText | None = None

    @property
    def lines(self) -> list[str]:
        """The first whole lines, from which the layout is detected."""
        lines = self.sample.decode("utf-8", errors="replace").split("\n")
        if len(self.sample) >= SAMPLE_BYTES or not lines[-1]:
            lines.pop()  # may be incomplete
        return [line.rstrip("\r") for line in lines[:SAMPLE_LINES]]


def check_format(path: Path) -> None:
    """Raise RecordError, with advice, for the endings of unsupported formats."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if remedy := _UNREAD.get(ending):
        raise RecordError(remedy)


def open_text(path: Path, file: BinaryIO, encoding: str | None = None, sheets: SheetChoice | None = None) -> Text:
    """Read an open file as text; without ``encoding``, the encoding is detected from its first bytes.

    Raises:
        BasketError: the file is not text.
    """
    check_format(path)
    first = file.read(len(_BOM)).removeprefix(_BOM) + file.read(SAMPLE_BYTES)
    if first.startswith(_PACKED_BEGINS) or path.name.lower().endswith(WORKBOOKS):
        if not file.seekable():
            raise BasketError("a spreadsheet cannot be read from a pipe; name the file")
        file.seek(0)
        book = SheetText(file, sheets or SheetChoice())
        return Text(*_sampled(book), is_converted=True, sheets=book)
    if sheets is not None and sheets.requested is not None:
        raise BasketError("sheet= applies only to workbooks (.xlsx); leave it out")
    if first.startswith(_ARROW_BEGINS):
        raise BasketError(_ARROW)
    if first.startswith(_PARQUET_BEGINS):
        raise BasketError("the file is Parquet, which cannot be read from a pipe; name the file")
    wide = _wide_codec(first)
    encoding = encoding or ("utf-16" if wide else _encoding_of(first))
    whole = _PeekedFile(first, file)
    if encoding == "utf-8":
        text = Text(first, whole)
    else:
        codec = wide or "utf-16-le" if encoding == "utf-16" else encoding
        text = Text(*_sampled(ByteStream(_recoded(whole, encoding, codec))), encoding, is_converted=True)
    if not _has_broken_cells(text.sample):
        return text
    return Text(*_sampled(ByteStream(_whole_cells(text.file))), encoding, is_converted=True)


def _sampled(file: Source) -> tuple[bytes, _PeekedFile]:
    first = file.read(SAMPLE_BYTES)
    return first, _PeekedFile(first, file)


def _wide_codec(first: bytes) -> str | None:
    """Return the codec of UTF-16 text, detected by its byte order mark or its zeros; None for other text."""
    start = first[:8]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = [start[place::2].count(b"\0") for place in (0, 1)]
    return {(0, 4): "utf-16-le", (4, 0): "utf-16-be"}.get((zeros[0], zeros[1])) if len(start) == 8 else None


def _encoding_of(first: bytes) -> str:
    """Detect UTF-8, or Windows-1252 if no part is UTF-8.

    Raises:
        BasketError: the file is not text, only in part UTF-8, or in another code page.
    """
    if b"\0" in first:
        line = first.count(b"\n", 0, first.index(b"\0")) + 1
        raise BasketError(f"line {line:,} has a NUL byte; the file must be text; check that it is the right one")
    with contextlib.suppress(UnicodeDecodeError):  # which holds the text
        codecs.getincrementaldecoder("utf-8")().decode(first)
        return "utf-8"
    text = first.decode("utf-8", errors="replace")
    if any(char > "\x7f" and char != "\ufffd" for char in text):
        line = text.count("\n", 0, text.index("\ufffd")) + 1
        raise BasketError(
            f"line {line:,} is not UTF-8 text, but others are; correct it, or add encoding= to the layout"
        )
    text = first.decode("windows-1252", errors="replace")
    if _OTHER_PAGE.search(text):
        raise BasketError("the text is neither UTF-8 nor Windows-1252; save it as “CSV UTF-8”")
    if set(text) & set("ðýþÐÝÞ") and not set(text) & set("áéíóúæÁÉÍÓÚÆ"):  # ğ, ı and ş without Icelandic vowels
        raise BasketError(
            "the text seems to be Turkish in Windows-1254; save it as “CSV UTF-8”, or if it is not Turkish add "
            "encoding=windows-1252 to the layout"
        )
    return "windows-1252"


def read_sep_line(lines: Sequence[str]) -> tuple[int, str | None]:
    """Return (1, separator) if line 1 states it as spreadsheets do (sep=;), else (0, None).

    Raises:
        BasketError: the character is not a supported separator.
    """
    found = _SEP_LINE.fullmatch(lines[0]) if lines else None
    if found is None:
        return 0, None
    if found[1] not in SEPARATORS:
        raise BasketError("line 1 states a separator (sep=) other than , ; | tab or blank; correct it")
    return 1, found[1]


def _recoded(file: Source, encoding: str, codec: str) -> Iterator[bytes]:
    """Yield text of another encoding as UTF-8."""
    decoder, lines = codecs.getincrementaldecoder(codec)(), 0
    while True:
        block, text = file.read(MIN_CHUNK_BYTES), None
        with contextlib.suppress(UnicodeError):  # which holds the text
            text = decoder.decode(block, final=not block)
        if text is None:
            raise BasketError(
                f"lines {lines + 1} and following are not {encoding} text; give another encoding= in the layout, or "
                "save the file as “CSV UTF-8”"
            )
        lines += text.count("\n")
        yield text.encode()
        if not block:
            return


def _is_open(line: bytes) -> bool:
    """Return whether a quoted cell begins on a line and does not end there."""
    return line.count(b'"') % 2 == 1 and _OPENS.search(line) is not None


def _has_broken_cells(sample: bytes) -> bool:
    """Return whether some quoted cell contains a line break."""
    lines = sample.split(b"\n")
    opened = [place for place, line in enumerate(lines) if _is_open(line)]
    return any(any(map(_CLOSES.match, lines[place + 1 : place + _MAX_BREAKS])) for place in opened)


def _whole_cells(file: Source) -> Iterator[bytes]:
    """Yield text with blanks instead of line breaks within quoted cells, so that each row is one line."""
    held, rest = list[bytes](), b""
    while block := file.read(CHUNK_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            held.append(line)
            joined = b" ".join(each.rstrip(b"\r") for each in held) if len(held) > 1 else line
            if not _is_open(joined) or len(held) > _MAX_BREAKS:
                yield (b"\n".join(held) if _is_open(joined) else joined) + b"\n"
                held = []
    yield b"\n".join([*held, rest])


def count_lines(text: bytes) -> int:
    """Return the number of newlines in a text, several times as fast as its ``count``.

    >>> count_lines(b"tea\\nrye\\n")
    2
    """
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")))


def line_chunks(text: Text, budget: MemoryBudget, skip: int) -> Iterator[tuple[bytes, Origin]]:
    """Yield a text, without its first ``skip`` lines, in chunks of whole lines with the origin that errors name."""
    rest = bytearray()
    before, longest = 0, budget.units(_WORKING_BYTES)
    number = text.sheets.row if text.sheets else int
    while block := text.file.read(budget.chunk_bytes):
        if cut := block.rfind(b"\n") + 1:
            yield from _below_header(bytes(rest) + block[:cut], before, skip, number)
            before += count_lines(block)
            rest = bytearray()
        rest += block[cut:]
        if len(rest) > longest >= 0:
            budget.refuse(f"line {before + 1} takes at least {len(rest) * _WORKING_BYTES >> 20:,} MiB to read")
    if rest:
        yield from _below_header(bytes(rest).removesuffix(b"\n") + b"\n", before, skip, number)


def _below_header(lines: bytes, before: int, skip: int, number: Callable[[int], int]) -> Iterator[tuple[bytes, Origin]]:
    """Yield whole lines that follow ``before`` others, without the first ``skip`` lines of the text."""
    while before < skip and lines:
        before, lines = before + 1, lines[lines.find(b"\n") + 1 :]
    if lines:
        yield lines, Origin("line", before, whole=False, number=number)


# ---- first rows


class FirstRows:
    """The first lines of a text, or rows of a table, split into cells.

    Blank lines, and lines that are not CSV, are left to the parser.

    Attributes:
        lines: the lines that are not blank.
        above: number of lines before the data.
        plain: whether the file's name is typical of files of item numbers.
        spaced: whether blanks may separate the names.
    """

    def __init__(
        self, lines: Sequence[str], separator: str, *, above: int = 0, plain: bool = False, spaced: bool = False
    ) -> None:
        self.separator, self.above, self.plain, self.spaced = separator, above, plain, spaced
        self.lines = [line for line in lines[above:] if line.strip()]
        self.blanks = len(" ".join(line.strip() and "x" for line in lines[above:]).strip().split(" ")) - len(self.lines)
        self.cells: list[list[str]] = []
        self.numbers: list[int] = []
        for number, line in enumerate(lines[above:], above + 1):
            row = cut_line(line, separator) if line.strip() else None
            if row is not None or (line.strip() and not self.cells):  # a first line that is not CSV is not a header
                self.cells.append([cell.strip() for cell in row or []])
                self.numbers.append(number)

    @classmethod
    def from_table(cls, names: Sequence[str], columns: Sequence[Sequence[object]]) -> "FirstRows":
        """Make the rows of a table from the values of its columns; None is an empty cell."""
        made, rows = cls((), ","), zip(*columns, strict=True)
        made.cells = [list(names), *(["" if cell is None else str(cell).strip() for cell in row] for row in rows)]
        made.numbers = list(range(1, len(made.cells) + 1))
        return made

    def after(self, count: int) -> "FirstRows":
        """Return the rows below the first ``count``, which may be a title."""
        below = FirstRows((), self.separator)
        below.cells, below.numbers = self.cells[count:], self.numbers[count:]
        return below

    @property
    def first(self) -> list[str]:
        """The cells of the first line, which may be a header."""
        return self.cells[0] if self.cells else []

    @property
    def first_line(self) -> int:
        """The number of lines before the first that is not blank."""
        return self.numbers[0] - 1 if self.numbers else self.above

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


def dialect(separator: str) -> dict[str, Any]:
    """Return the options of Python's CSV reader."""
    return {"delimiter": separator, "strict": True, "skipinitialspace": separator != " "}


def is_total(row: Sequence[str]) -> bool:
    """Return whether the first word of a line marks it as totals.

    >>> is_total(["", "Summe:", "9,19"])
    True
    """
    return next((_SUM.sub("", cell.strip(" :").lower()) for cell in row if cell.strip()), "") in TOTALS


def collapse_blanks(text: str) -> str:
    """Return lines with single blanks between words, in place of the padding of tables."""
    return re.sub(r"[ \t]+", " ", text).replace("\n ", "\n").replace(" \n", "\n").strip(" ")


def cut_line(line: str, separator: str) -> list[str] | None:
    """Return the cells of a line, None if it is not CSV.

    >>> cut_line('a;"b;c"', ";")
    ['a', 'b;c']
    """
    if separator == " ":
        line = collapse_blanks(line)
    try:
        return next(csv.reader([line], **dialect(separator)), [])
    except csv.Error:  # whose text may quote the line
        return None


def _table_start(rows: FirstRows) -> int:
    """Return the number of title lines above a table, which may end with totals; TITLE_LINES if there is no table."""
    cells = [row for row in rows.cells if not is_total(row)]
    widths = [len(row) for row in cells]
    start = next((place for place, width in enumerate(widths) if width == max(widths)), 0)
    is_table = len(widths) > start + 1 and len(set(widths[start:])) == 1 < max(widths)
    return start if is_table else TITLE_LINES


def find_separator(lines: Sequence[str], kind: str | None) -> tuple[str, bool]:
    """Return the separator that most lines have, by far, or that makes the only table; and whether blanks may be it."""
    filled = [line for line in lines if line.strip()]
    if any('" ' in line or ' "' in line for line in filled) and all(map(_QUOTED.fullmatch, filled)):
        return " ", False
    rows = {mark: FirstRows(lines, mark) for mark in SEPARATORS if mark != " "}
    found = {mark: sum(len(row) > 1 for row in each.cells) for mark, each in rows.items()}
    most = max(found.values())
    if not most:
        several = sum(len(line.split()) > 1 for line in filled)
        for mark in _OTHER_MARKS if kind is None and len(filled) > 2 else ():
            if len({line.count(mark) for line in filled} - {0}) == 1 and all(mark in line for line in filled):
                raise BasketError(
                    f"the cells seem to be separated by {mark}; write commas instead, as with sed 's/{mark}/,/g'"
                )
        return ",", not set("".join(lines)) & set('",;\t|') and 2 * several > len(filled)
    rivals = [mark for mark, count in found.items() if 4 * count > 3 * most]
    starts = {mark: _table_start(rows[mark]) for mark in rivals}
    tables = [mark for mark in rivals if starts[mark] == min(starts.values()) < TITLE_LINES]
    left = tables if len(tables) == 1 else rivals
    if len(left) == 1 or (kind == "lines" and "," in left):
        return left[0] if len(left) == 1 else ",", False
    shown = [f"layout='separator={mark}'".replace("\t", "tab") for mark in left]
    raise BasketError(
        f"cells may be separated by {' or by '.join(SEPARATORS[mark] for mark in left)}; pass {' or '.join(shown)}"
    )
