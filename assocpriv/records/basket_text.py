"""Text of baskets -> cells: lines of item numbers, lines of names, and the long layout.

pyarrow costs a tenth of a second to load, hence the imports inside.
"""

import codecs
import contextlib
import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import BasketError
from assocpriv.records.basket_frames import long_columns
from assocpriv.records.cells import Cells, Origin, kept_sizes

MAX_DIGITS = 9  # of an id in a .dat file: 32 bits hold it
_PIECE_BYTES = 1 << 20  # decoded at once, because the decoded form may be four times larger
_SOMETHING = re.compile(rb"\S")


def _decoded(line: bytes, number: int) -> str:
    if b"\0" in line:
        raise BasketError(f"line {number} has a NUL byte; the file must be text; check its format")
    with contextlib.suppress(UnicodeDecodeError):  # it holds the line
        return line.decode("utf-8")
    raise BasketError(f"line {number} is not UTF-8 text; convert the file to UTF-8")


def _is_plain(text: bytes) -> bool:
    """Return whether text is UTF-8 without NUL."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with contextlib.suppress(UnicodeDecodeError):
        for start in range(0, len(text), _PIECE_BYTES):
            decoder.decode(memoryview(text)[start : start + _PIECE_BYTES])
        decoder.decode(b"", final=True)
        return b"\0" not in text
    return False


# ---- dat: a line of numbers a basket


def dat_parser() -> Callable[[bytes, Origin], Cells]:
    """Return the reader of whole lines of item numbers, which refuses anything else with a BasketError."""
    # compiled code loads in this thread, and not for other formats
    from assocpriv.records.text_kernel import parse_numbers

    def parse(data: bytes, origin: Origin) -> Cells:
        text = np.frombuffer(data, dtype=np.uint8)
        ids = np.empty((len(text) + 1) // 2, dtype=np.int32)  # room that is not written takes no memory
        sizes = np.empty(data.count(b"\n"), dtype=np.int32)
        count, wrong = parse_numbers(text, MAX_DIGITS, ids, sizes)
        if wrong >= 0:
            _refuse_byte(data[wrong : wrong + 1], origin.place(data.count(b"\n", 0, wrong)))
        return Cells(sizes, ids[:count].copy(), None, origin)

    return parse


def _refuse_byte(byte: bytes, where: str) -> None:
    if byte.isdigit():
        raise BasketError(f"{where} has an item number of more than {MAX_DIGITS} digits; number items from 0")
    if byte == b"-":
        raise BasketError(f"{where} has a minus sign; item numbers are 0 or more; renumber the items")
    raise BasketError(
        f"{where} has a character other than digits and blanks; a dat file holds only item numbers; "
        "for names pass format='basket' (--format basket)"
    )


# ---- basket: a line of names a basket


def parse_names(data: bytes, origin: Origin) -> Cells:
    """Read whole lines of names, each as Python's CSV reader reads it; BasketError where one is no text or no CSV."""
    if not _is_plain(data):
        _refuse_lines(enumerate(io.BytesIO(data), origin.before + 1))
    text = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(text == ord("\n"))
    odd = _odd_lines(data, text, newlines)
    if b'"' not in data:
        return _names_of(data, origin, newlines, odd)
    starts = np.concatenate([[0], newlines[:-1] + 1])
    quotes = np.add.reduceat(text == ord('"'), starts, dtype=np.int64)
    with contextlib.suppress(csv.Error):  # quotes inside a cell
        return _names_of(data, origin, newlines, odd | (quotes % 2 == 1))
    return _names_of(data, origin, newlines, odd | (quotes > 0))


def _odd_lines(data: bytes, text: NDArray[np.uint8], newlines: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which lines may be more than cells and commas: lone carriage returns, what may be too long."""
    odd: NDArray[np.bool_] = np.diff(newlines, prepend=-1) > csv.field_size_limit()
    if b"\r" in data:
        returns = np.flatnonzero(text == ord("\r"))
        odd[np.searchsorted(newlines, returns[text[returns + 1] != ord("\n")])] = True
    return odd


def _names_of(data: bytes, origin: Origin, newlines: NDArray[np.int64], odd: NDArray[np.bool_]) -> Cells:
    """Cut lines at commas; the odd ones go through Python's CSV reader as they are."""
    if not odd.any():
        sizes, codes, index = _cut_cells(data)
        return Cells(sizes, codes, list(index), origin)
    text = np.frombuffer(data, dtype=np.uint8)
    in_odd = np.repeat(odd, np.diff(newlines, prepend=-1))
    sizes = np.empty(len(odd), dtype=np.int64)
    sizes[~odd], even_codes, index = _cut_cells(text[~in_odd].tobytes())
    numbers = origin.before + 1 + np.flatnonzero(odd)
    sizes[odd], odd_codes = _csv_cells(text[in_odd].tobytes(), numbers, index)
    of_odd = np.repeat(odd, sizes)
    codes = np.empty(len(of_odd), dtype=np.int32)
    codes[~of_odd], codes[of_odd] = even_codes, odd_codes
    return Cells(sizes, codes, list(index), origin)


def _cut_cells(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int32], dict[str, int]]:
    """Return the sizes of lines cut at commas, the codes of their cells and the numbers of the names.

    Commas between a pair of quotes do not count; csv.Error where quotes are used in another way than in such pairs.
    """
    import pyarrow as pa

    text = np.frombuffer(data, dtype=np.uint8)
    commas = text == ord(",")
    if b'"' in data:
        commas &= np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 0  # that sum may overflow
    ends = np.flatnonzero(commas | (text == ord("\n"))) + 1
    offsets = pa.py_buffer(np.concatenate([[0], ends]))
    # every cell ends with its comma or newline, so that the text as it stands is an array of strings
    cells = pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(data)).dictionary_encode()
    names = [cell[:-1] for cell in cells.dictionary.to_pylist()]
    if b'"' in data:
        names = _unquoted(names)
    index: dict[str, int] = {}
    stripped = (name.strip() for name in names)
    renumbered = np.array([index.setdefault(name, len(index)) if name else -1 for name in stripped], dtype=np.int32)
    codes = renumbered[np.asarray(cells.indices)]
    sizes = np.diff(np.flatnonzero(text[ends - 1] == ord("\n")) + 1, prepend=0)
    if codes.min(initial=0) < 0:
        kept = codes >= 0
        sizes, codes = kept_sizes(sizes, kept), codes[kept]
    return sizes, codes, index


def _unquoted(cells: list[str]) -> list[str]:
    """Return what Python's CSV reader reads in each cell alone, which is what it reads there in a line."""
    rows = list(csv.reader(cells, strict=True, skipinitialspace=True))
    if len(rows) != len(cells) or max(map(len, rows)) > 1:
        raise csv.Error  # quotes that do not close join cells, commas that count after all part them
    return [row[0] if row else "" for row in rows]


def _csv_cells(data: bytes, numbers: NDArray[np.int64], index: dict[str, int]) -> tuple["array[int]", "array[int]"]:
    """Return the sizes and codes of lines of plain text, given with their numbers; the index of names grows."""
    sizes, codes = array("q"), array("i")
    with contextlib.suppress(csv.Error):  # its text may quote the line
        for row in csv.reader(io.StringIO(data.decode()), strict=True, skipinitialspace=True):
            names = [name for cell in row if (name := cell.strip())]
            sizes.append(len(names))
            codes.extend([index.setdefault(name, len(index)) for name in names])
    if len(sizes) != len(numbers):  # quotes that close on another line join lines
        _refuse_lines(zip(numbers.tolist(), io.BytesIO(data), strict=True))
    return sizes, codes


def _refuse_lines(lines: Iterable[tuple[int, bytes]]) -> None:
    """Refuse the first line, given with its number, that is no CSV on its own."""
    for number, line in lines:
        text = _decoded(line, number)
        with contextlib.suppress(csv.Error):  # its text may quote the line
            next(csv.reader([text], strict=True, skipinitialspace=True))
            continue
        raise BasketError(f"line {number} is not CSV: quotes are not closed on the line; correct it")


# ---- long: a line of transaction and item for each item


def parse_long(text: bytes) -> list[Any]:
    """Return the transactions and the items of a table of text with a header, as chunked Arrow arrays.

    Names lose the blanks around them; nothing but blanks is null. BasketError for anything but such a table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_plain(text):
        for number, line in enumerate(text.split(b"\n"), 1):
            _decoded(line, number)
    head = text[: text.find(b"\n") + 1]
    if not head or not _SOMETHING.search(text, len(head)):
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    header = _header(head.decode("utf-8"))
    columns = []
    for column in _table(text, len(header), long_columns(header)).itercolumns():
        names = pc.utf8_trim_whitespace(column)
        columns.append(pc.if_else(pc.equal(names, pa.scalar("")), None, names))
    return columns


def _header(line: str) -> list[str]:
    with contextlib.suppress(csv.Error):  # its text may quote the line
        return next(csv.reader([line], strict=True), [])
    raise BasketError("line 1 is not CSV: quotes are not closed on the line; correct the header")


def _table(text: bytes, n_columns: int, chosen: tuple[int, int]) -> Any:
    """Return the two chosen columns as a table of text."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    names = [f"column{position}" for position in range(n_columns)]
    ragged: list[int] = []

    def note(row: Any) -> str:
        ragged.append(row.number)
        return "error"

    for fast in (True, False):  # only one thread numbers rows
        with contextlib.suppress(pa.ArrowException):  # its text quotes the row
            return arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1, use_threads=fast),
                parse_options=arrow_csv.ParseOptions(invalid_row_handler=None if fast else note),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=[names[position] for position in chosen],
                    strings_can_be_null=False,
                ),
            )
    where = f"row {ragged[0]} (the header is row 1, blank lines do not count)" if ragged else "a row"
    raise BasketError(f"{where} does not have the header's {n_columns} cells; correct the file")
