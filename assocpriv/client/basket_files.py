"""Basket files -> transactions of item ids.

This module sees raw items. Nothing it raises contains one: errors name the file, a line or basket, a position
and a count, and no parser's own message is passed on, because those quote the data.
"""

import csv
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.basket_frames import is_list_type, list_cells, long_cells, long_columns
from assocpriv.client.baskets import Baskets, assemble
from assocpriv.client.cells import Cells, cells_of, cells_of_names, check_choices, resolve, without_unknown
from assocpriv.core.catalogue import Catalogue
from assocpriv.core.errors import BasketError

Progress = Callable[[int, int], None]
_Opener = Callable[[], BinaryIO]
CHUNK_BYTES = 1 << 22  # text parsed at once; its arrays, a hundred MiB, are the parser's working memory
MAX_DIGITS = 9  # of an id in a .dat file: 32 bits hold it
_NO_BASKETS = "the file holds no baskets; check that it is the right one"
_BOM = b"\xef\xbb\xbf"
_ENDINGS = {
    "dat": (".dat", ".dat.gz", ".txt"),
    "basket": (".csv", ".csv.gz"),
    "parquet": (".parquet", ".pq"),
}
_PROBLEMS = (
    (FileNotFoundError, "no such file; check the path"),
    (IsADirectoryError, "this is a folder; name a file in it"),
    (PermissionError, "the file may not be read; check its permissions"),
    (EOFError, "the compressed data breaks off; fetch the file again"),
    (gzip.BadGzipFile, "the compressed data is damaged; fetch the file again"),
    (zlib.error, "the compressed data is damaged; fetch the file again"),
    (OSError, "the system cannot read the file; check the path and the disk"),
)


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """What reading a file of baskets met.

    Attributes:
        baskets: number of baskets, empty ones included.
        unknown_dropped: items left out because the catalogue does not hold them.
        repeats_merged: items left out because their basket held them already.
        empty_kept: baskets that the file itself leaves empty.
    """

    baskets: int
    unknown_dropped: int
    repeats_merged: int
    empty_kept: int


def read_baskets(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 -- the command line's --format
    catalogue: Catalogue | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    progress: Progress | None = None,
) -> Baskets:
    """Read a file of baskets.

    Args:
        path: the file; a name that ends in .gz is decompressed.
        format: "dat" (a line of item numbers a basket, blanks between), "basket" (CSV, a line of names a
            basket), "long" (CSV with a header, a line an item of a transaction, blank lines ignored),
            "parquet" (long, or a column of lists). By default .dat and .txt are dat, .csv is basket,
            .parquet and .pq are parquet.
        catalogue: the items there may be, looked up by name: the number 7 is the name "7". By default
            0 … the largest number for dat (the distinct ones beyond 2^20), otherwise the sorted names.
        unknown: "error", or "drop" to leave out items that are not in the catalogue.
        repeats: "error", or "merge" to count an item that a basket repeats once.
        empty: "error", or "keep" to take a blank line, or a null or empty list, as an empty basket.
        progress: called with (bytes read, bytes of the file).

    Returns:
        The baskets in the order of the file; those of the long layout by first appearance.

    Raises:
        BasketError: a file that cannot be read or is not of the format; unknown, repeated, missing or
            unusable items; empty baskets.
    """
    choices = {"unknown": unknown, "repeats": repeats, "empty": empty}
    return read_baskets_report(path, format=format, catalogue=catalogue, progress=progress, **choices)[0]


def read_baskets_report(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 -- the command line's --format
    catalogue: Catalogue | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    progress: Progress | None = None,
) -> tuple[Baskets, ReadCounts]:
    """Read a file as :func:`read_baskets` does, and count what was dropped, merged and kept.

    Raises:
        BasketError: as for :func:`read_baskets`.
    """
    check_choices(unknown=unknown, repeats=repeats, empty=empty)
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError
        cells = _read_cells(path, format, progress)
        empty_count = _check_empty(cells, empty)
        found, ids = resolve(cells, catalogue, numbered=False)
        rows, ids = without_unknown(cells, ids, unknown)
        baskets = assemble(rows, ids, cells.n_rows, found, repeats, cells.place)
    except BasketError as error:
        problem = str(error)
    except (EOFError, OSError, zlib.error) as error:
        problem = next(text for kind, text in _PROBLEMS if isinstance(error, kind))
    else:
        dropped, merged = len(cells.rows) - len(rows), len(rows) - len(baskets.items)
        return baskets, ReadCounts(len(baskets), dropped, merged, empty_count)
    # outside the handlers, so that no parser's exception is even the hidden context of this one
    raise BasketError(f"{path.name}: {problem}")


def _line_place(row: int) -> str:
    return f"line {row + 1}"


def _read_cells(path: Path, chosen: str | None, progress: Progress | None) -> Cells:
    if chosen is None:
        named = (name for name, endings in _ENDINGS.items() if path.name.lower().endswith(endings))
        chosen = next(named, None)
    if chosen is None:
        known = ", ".join(_READERS)
        raise BasketError(f"the file's ending names no format; pass format= (--format), one of {known}")
    if chosen not in _READERS:
        raise BasketError(f"format must be one of {', '.join(_READERS)}")
    return _READERS[chosen](partial(_opened, path, progress))


def _check_empty(cells: Cells, empty: str) -> int:
    """Return the number of empty baskets, or refuse them."""
    if not cells.n_rows:
        raise BasketError(_NO_BASKETS)
    bare = np.flatnonzero(np.bincount(cells.rows, minlength=cells.n_rows) == 0)
    if len(bare) and empty == "error":
        raise BasketError(
            f"{cells.place(int(bare[0]))} is an empty basket ({len(bare):,} in all); a basket needs items; "
            "keep them with empty='keep' (--empty keep)"
        )
    return len(bare)


# ---- opening


class _ToldFile(io.FileIO):
    """A file that tells how far it has been read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._size = progress, path.stat().st_size

    def readinto(self, buffer: Any) -> int | None:
        read = super().readinto(buffer)
        self._progress(self.tell(), self._size)
        return read


def _opened(path: Path, progress: Progress | None) -> BinaryIO:
    raw = io.BufferedReader(_ToldFile(path, progress), CHUNK_BYTES) if progress else path.open("rb")
    if not path.name.lower().endswith(".gz"):
        return raw
    unpacked = gzip.GzipFile(fileobj=raw)
    unpacked.myfileobj = cast(Any, raw)  # closed together
    return cast(BinaryIO, unpacked)


def _decoded(line: bytes, number: int) -> str:
    if b"\0" in line:
        raise BasketError(f"line {number} has a NUL byte; the file must be text; check its format")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass  # it holds the line
    raise BasketError(f"line {number} is not UTF-8 text; convert the file to UTF-8")


def _text_lines(opened: _Opener) -> Iterator[str]:
    with opened() as file:
        for number, line in enumerate(file, 1):
            yield _decoded(line.removeprefix(_BOM) if number == 1 else line, number)


# ---- dat: a line of numbers a basket


def _read_dat(opened: _Opener) -> Cells:
    ids: list[NDArray[np.int32]] = []
    sizes: list[NDArray[np.int64]] = []
    lines = 0
    with opened() as file:
        for chunk in _line_chunks(file):
            chunk_ids, chunk_sizes = _parse_dat(np.frombuffer(chunk, dtype=np.uint8), lines)
            ids.append(chunk_ids)
            sizes.append(chunk_sizes)
            lines += len(chunk_sizes)
    if not lines:
        raise BasketError(_NO_BASKETS)
    return cells_of(np.concatenate(sizes), np.concatenate(ids), None, _line_place)


def _line_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Cut a file into pieces of about CHUNK_BYTES that all end with the end of a line."""
    rest = bytearray(file.read(len(_BOM)).removeprefix(_BOM))
    while block := file.read(CHUNK_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield bytes(rest) + block[:cut]
            rest = bytearray()
        rest += block[cut:]
    if rest:
        last = bytes(rest)
        yield last if last.endswith(b"\n") else last + b"\n"


def _parse_dat(text: NDArray[np.uint8], lines: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the numbers of whole lines of text, after ``lines`` others, and how many each line holds."""
    digit = (text - np.uint8(ord("0"))) < 10
    newline = text == ord("\n")
    _check_dat_bytes(text, digit, newline, lines)
    edges = np.flatnonzero(np.diff(digit, prepend=False))
    starts, ends = edges[::2], edges[1::2]
    newlines = np.flatnonzero(newline)
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    if longest > MAX_DIGITS:
        line = lines + int(np.searchsorted(newlines, starts[np.argmax(lengths > MAX_DIGITS)])) + 1
        raise BasketError(f"line {line} has an item number of more than {MAX_DIGITS} digits; number items from 0")
    values = np.zeros(len(starts), dtype=np.int32)
    for power in range(longest):  # the digit of 10^power of all numbers at once
        longer = np.flatnonzero(lengths > power)
        digits = text[ends[longer] - (power + 1)] - np.uint8(ord("0"))
        values[longer] += digits.astype(np.int32) * np.int32(10**power)
    return values, np.diff(np.searchsorted(starts, newlines), prepend=0)


def _check_dat_bytes(text: NDArray[np.uint8], digit: NDArray[np.bool_], newline: NDArray[np.bool_], lines: int) -> None:
    allowed = digit | newline | (text == ord(" ")) | (text == ord("\t"))
    # a carriage return only where it ends a line: alone it is a line end of old that would join all baskets
    allowed[:-1] |= (text[:-1] == ord("\r")) & newline[1:]
    if allowed.all():
        return
    wrong = int(np.argmin(allowed))
    line = lines + int(newline[:wrong].sum()) + 1
    if text[wrong] == ord("-"):
        raise BasketError(f"line {line} has a minus sign; item numbers are 0 or more; renumber the items")
    raise BasketError(
        f"line {line} has a character other than digits and blanks; a dat file holds only item numbers; "
        "for names pass format='basket' (--format basket)"
    )


# ---- basket: a line of names a basket


def _read_names(opened: _Opener) -> Cells:
    return cells_of_names(_names_by_line(opened), _line_place)


def _names_by_line(opened: _Opener) -> Iterator[list[str]]:
    reader = csv.reader(_text_lines(opened), strict=True, skipinitialspace=True)
    for number in itertools.count(1):
        try:
            cells = next(reader, None)
        except csv.Error:
            cells, broken = [], True  # its text may quote the line
        else:
            broken = cells is not None and reader.line_num != number
        if broken:
            raise BasketError(f"line {number} is not CSV: quotes are not closed on the line; correct it")
        if cells is None:
            return
        yield [name for cell in cells if (name := cell.strip())]


# ---- long: a line of transaction and item for each item


def _read_long(opened: _Opener) -> Cells:
    import pyarrow as pa
    import pyarrow.compute as pc

    with opened() as file:
        data = file.read().removeprefix(_BOM)
    _check_text(data)
    head, _, body = data.partition(b"\n")
    if not body.strip():
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    header = _header(head.decode("utf-8"))
    chosen = long_columns(header)
    table = _parse_long(data, len(header), chosen)
    blank = pa.scalar("", pa.large_string())
    columns = [pc.utf8_trim_whitespace(table.column(position).combine_chunks()) for position in (0, 1)]
    return long_cells(*(pc.if_else(pc.equal(column, blank), None, column) for column in columns))


def _check_text(data: bytes) -> None:
    try:
        data.decode("utf-8")
        plain = b"\0" not in data
    except UnicodeDecodeError:
        plain = False
    if not plain:  # only now line by line, to name the line
        for number, line in enumerate(data.split(b"\n"), 1):
            _decoded(line, number)


def _header(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        pass  # its text may quote the line
    raise BasketError("line 1 is not CSV: quotes are not closed on the line; correct the header")


def _parse_long(data: bytes, n_columns: int, chosen: tuple[int, int]) -> Any:
    """Return the two chosen columns as a table of text."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    names = [f"column{position}" for position in range(n_columns)]
    ragged: list[int] = []

    def note(row: Any) -> str:
        ragged.append(row.number)
        return "error"

    try:
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            # one thread, because only then are rows numbered
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(invalid_row_handler=note),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                include_columns=[names[position] for position in chosen],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        pass  # its text quotes the row
    where = f"row {ragged[0]} (the header is row 1, blank lines do not count)" if ragged else "a row"
    raise BasketError(f"{where} does not have the header's {n_columns} cells; correct the file")


# ---- parquet: long, or a column of lists


def _read_parquet(opened: _Opener) -> Cells:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened() as file:
        if not file.read(1):
            raise BasketError(_NO_BASKETS)
        file.seek(0)
        try:
            source = pq.ParquetFile(file)
            columns = _parquet_columns(source.schema_arrow)
            table = source.read(columns=columns)
            arrays = [table.column(name).combine_chunks() for name in columns]
        except (pa.ArrowException, OSError, KeyError):
            arrays = []  # the texts of Arrow's errors are not passed on
    if not arrays:
        raise BasketError("the file is not Parquet, or is damaged; write it again or pass format= (--format)")
    return list_cells(arrays[0]) if len(arrays) == 1 else long_cells(*arrays)


def _parquet_columns(schema: Any) -> list[str]:
    """Choose the column of lists, or the transaction and the item column."""
    if len(set(schema.names)) != len(schema.names):
        raise BasketError("the file's columns must have different names")
    lists = [field.name for field in schema if is_list_type(field.type)]
    named = {"transaction", "item"} <= {name.strip().lower() for name in schema.names}
    if len(lists) > 1 or (not lists and len(schema) != 2 and not named):
        raise BasketError(
            f"the file needs one column of lists, or columns named transaction and item; it has {len(schema)} "
            f"columns, {len(lists)} of them lists"
        )
    return lists or [schema.names[position] for position in long_columns(schema.names)]


_READERS: dict[str, Callable[[_Opener], Cells]] = {
    "dat": _read_dat,
    "basket": _read_names,
    "long": _read_long,
    "parquet": _read_parquet,
}
