"""Text of baskets -> cells: lines of item numbers, lines of names, the long layout and one-hot tables.

pyarrow costs a tenth of a second to load, hence the imports inside.
"""

import codecs
import contextlib
import csv
import io
import itertools
import re
from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, to_arrow
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError
from assocpriv.records.basket_frames import onehot_cells
from assocpriv.records.basket_signs import no_flag
from assocpriv.records.cells import Cells, Origin, kept_sizes
from assocpriv.records.first_lines import TO_UTF8, cut_line
from assocpriv.records.text_layout import FALSE_WORDS, FLAGS, TRUE_WORDS, TextLayout

MAX_DIGITS = 9  # of an id in a .dat file: 32 bits hold it
_LARGEST_BLOCK = (1 << 31) - 1
_PIECE_BYTES = 1 << 20  # decoded at once, because the decoded form may be four times larger
_SOMETHING = re.compile(rb"\S")
_QUOTES = "quotes are not closed on the line"
_PROBLEMS = {  # by how the parser's own text begins
    "field larger": f"a cell has more than {csv.field_size_limit():,} characters; separators or line ends are missing",
    "new-line char": "a carriage return stands inside it; convert the line ends (tr '\\r' '\\n' < OLD > NEW)",
}


def _decoded(line: bytes, number: int) -> str:
    if b"\0" in line:
        raise BasketError(f"line {number} has a NUL byte; the file must be text; check its format")
    with contextlib.suppress(UnicodeDecodeError):  # it holds the line
        return line.decode("utf-8")
    raise BasketError(f"line {number} is not UTF-8 text; {TO_UTF8}")


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


def dat_parser(advice: str) -> Callable[[bytes, Origin], Cells]:
    """Return the reader of whole lines of item numbers, which refuses anything else with a BasketError and advice."""
    # compiled code loads in this thread, and not for other formats
    from assocpriv.kernels.text import parse_numbers

    def parse(data: bytes, origin: Origin) -> Cells:
        text = np.frombuffer(data, dtype=np.uint8)
        ids = np.empty((len(text) + 1) // 2, dtype=np.int32)  # room that is not written takes no memory
        sizes = np.empty(data.count(b"\n"), dtype=np.int32)
        count, wrong = parse_numbers(text, MAX_DIGITS, ids, sizes)
        if wrong >= 0:
            _refuse_byte(data[wrong : wrong + 1], origin.place(data.count(b"\n", 0, wrong)), advice)
        return Cells(sizes, ids[:count].copy(), None, origin)

    return parse


def _refuse_byte(byte: bytes, where: str, advice: str) -> None:
    if byte.isdigit():
        raise BasketError(f"{where} has an item number of more than {MAX_DIGITS} digits; number items from 0")
    if byte == b"-":
        raise BasketError(f"{where} has a minus sign; item numbers are 0 or more; renumber the items")
    raise BasketError(
        f"{where} has a character other than digits and blanks; a dat file holds only item numbers; {advice}"
    )


# ---- basket: a line of names a basket


def parse_names(data: bytes, origin: Origin, separator: str = ",", apart: int | None = None) -> Cells:
    """Read whole lines of names, each as Python's CSV reader reads it, but for the cells of a column apart, if any.

    BasketError where a line is no text or no CSV.
    """
    if separator == " ":
        data = data.replace(b"\t", b" ")
    dialect = _dialect(separator)
    if not _is_plain(data):
        _refuse_lines(enumerate(io.BytesIO(data), origin.before + 1), dialect)
    text = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(text == ord("\n"))
    odd = _odd_lines(data, text, newlines)
    if b'"' not in data:
        return _names_of(data, origin, odd, dialect, apart)
    starts = np.concatenate([[0], newlines[:-1] + 1])
    quotes = np.add.reduceat(text == ord('"'), starts, dtype=np.int64)
    with contextlib.suppress(csv.Error):  # quotes inside a cell
        return _names_of(data, origin, odd | (quotes % 2 == 1), dialect, apart)
    return _names_of(data, origin, odd | (quotes > 0), dialect, apart)


def _dialect(separator: str) -> dict[str, Any]:
    """Return how Python's CSV reader is to read."""
    return {"delimiter": separator, "strict": True, "skipinitialspace": separator != " "}


def _odd_lines(data: bytes, text: NDArray[np.uint8], newlines: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which lines may be more than cells and commas: lone carriage returns, what may be too long."""
    odd: NDArray[np.bool_] = np.diff(newlines, prepend=-1) > csv.field_size_limit()
    if b"\r" in data:
        returns = np.flatnonzero(text == ord("\r"))
        odd[np.searchsorted(newlines, returns[text[returns + 1] != ord("\n")])] = True
    return odd


def _names_of(data: bytes, origin: Origin, odd: NDArray[np.bool_], dialect: dict[str, Any], apart: int | None) -> Cells:
    """Cut lines at separators; the odd ones go through Python's CSV reader as they are."""
    if not odd.any():
        sizes, codes, index = _cut_cells(data, dialect, apart)
        return Cells(sizes, codes, list(index), origin)
    text = np.frombuffer(data, dtype=np.uint8)
    in_odd = np.repeat(odd, np.diff(np.flatnonzero(text == ord("\n")), prepend=-1))
    sizes = np.empty(len(odd), dtype=np.int64)
    sizes[~odd], even_codes, index = _cut_cells(text[~in_odd].tobytes(), dialect, apart)
    numbers = origin.before + 1 + np.flatnonzero(odd)
    sizes[odd], odd_codes = _csv_cells(text[in_odd].tobytes(), numbers, index, dialect, apart)
    of_odd = np.repeat(odd, sizes)
    codes = np.empty(len(of_odd), dtype=np.int32)
    codes[~of_odd], codes[of_odd] = even_codes, odd_codes
    return Cells(sizes, codes, list(index), origin)


def _cut_cells(
    data: bytes, dialect: dict[str, Any], apart: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int32], dict[str, int]]:
    """Return the sizes of lines cut at separators, the codes of their cells and the numbers of the names.

    Separators between a pair of quotes do not count; csv.Error where quotes are used in another way than in such pairs.
    """
    import pyarrow as pa

    text = np.frombuffer(data, dtype=np.uint8)
    marks = text == ord(dialect["delimiter"])
    if b'"' in data:
        marks &= np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 0  # that sum may overflow
    ends = np.flatnonzero(marks | (text == ord("\n"))) + 1
    offsets = pa.py_buffer(np.concatenate([[0], ends]))
    # every cell ends with its separator or newline, so that the text as it stands is an array of strings
    cells = pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(data))
    sizes = np.diff(np.flatnonzero(text[ends - 1] == ord("\n")) + 1, prepend=0)
    if apart is not None:
        kept = np.ones(len(ends), dtype=np.bool_)
        kept[(np.cumsum(sizes) - sizes + apart)[sizes > apart]] = False
        cells, sizes = cells.filter(to_arrow(kept)), kept_sizes(sizes, kept)
    cells = cells.dictionary_encode()
    names = [cell[:-1] for cell in cells.dictionary.to_pylist()]
    if b'"' in data:
        names = _unquoted(names, dialect)
    index: dict[str, int] = {}
    stripped = (name.strip() for name in names)
    renumbered = np.array([index.setdefault(name, len(index)) if name else -1 for name in stripped], dtype=np.int32)
    codes = renumbered[array_to_numpy(cells.indices)]
    if codes.min(initial=0) < 0:
        kept = codes >= 0
        sizes, codes = kept_sizes(sizes, kept), codes[kept]
    return sizes, codes, index


def _unquoted(cells: list[str], dialect: dict[str, Any]) -> list[str]:
    """Return what Python's CSV reader reads in each cell alone, which is what it reads there in a line."""
    rows = list(csv.reader(cells, **dialect))
    if len(rows) != len(cells) or max(map(len, rows)) > 1:
        raise csv.Error  # quotes that do not close join cells, separators that count after all part them
    return [row[0] if row else "" for row in rows]


def _csv_cells(
    data: bytes, numbers: NDArray[np.int64], index: dict[str, int], dialect: dict[str, Any], apart: int | None
) -> tuple["array[int]", "array[int]"]:
    """Return the sizes and codes of lines of plain text, given with their numbers; the index of names grows."""
    sizes, codes = array("q"), array("i")
    with contextlib.suppress(csv.Error):  # its text may quote the line
        for row in csv.reader(io.StringIO(data.decode()), **dialect):
            names = [name for place, cell in enumerate(row) if place != apart and (name := cell.strip())]
            sizes.append(len(names))
            codes.extend([index.setdefault(name, len(index)) for name in names])
    if len(sizes) != len(numbers):  # quotes that close on another line join lines
        _refuse_lines(zip(numbers.tolist(), io.BytesIO(data), strict=True), dialect)
    return sizes, codes


def _refuse_lines(lines: Iterable[tuple[int, bytes]], dialect: dict[str, Any]) -> None:
    """Refuse the first line, given with its number, that is no CSV on its own."""
    for number, line in lines:
        text = _decoded(line, number)
        problem = ""
        try:
            next(csv.reader([text], **dialect))
        except csv.Error as error:  # its text may quote the line
            problem = next((said for start, said in _PROBLEMS.items() if str(error).startswith(start)), _QUOTES)
        if problem:
            raise BasketError(f"line {number} is not CSV: {problem}; correct it")


# ---- long: a line of transaction and item for each item


def parse_long(text: bytes, layout: TextLayout) -> list[Any]:
    """Return the transactions and the items of a table of text, as chunked Arrow arrays.

    Names lose the blanks around them; nothing but blanks is null. BasketError for anything but such a table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_plain(text):
        for number, line in enumerate(text.split(b"\n"), 1):
            _decoded(line, number)
    start = 0
    for _ in range(layout.skip):
        start = text.find(b"\n", start) + 1 or len(text)
    if not _SOMETHING.search(text, start):
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    columns = []
    for column in _table(text, layout).itercolumns():
        names = pc.utf8_trim_whitespace(column)
        columns.append(pc.if_else(pc.match_substring_regex(names, "(?s)."), names, pa.nulls(len(names), names.type)))
    return columns


def line_of_row(text: bytes, skip: int, row: int) -> int:
    """Return the line, from 1, in which a row of a long file stands, from 0; blank lines are no rows.

    >>> line_of_row(b"order,item\\n\\n1,tea\\n", 1, 0)
    3
    """
    lines = enumerate(io.BytesIO(text), 1)
    rows = (number for number, line in lines if number > skip and line.strip(b"\r\n"))
    return next(itertools.islice(rows, row, None))


def _table(text: bytes, layout: TextLayout) -> Any:
    """Return the two chosen columns as a table of text."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    names = [f"column{position}" for position in range(len(layout.header))]
    ragged: list[int] = []

    def note(row: Any) -> str:
        ragged.append(row.number)
        return "error"

    for fast in (True, False):  # only one thread numbers rows
        with contextlib.suppress(pa.ArrowException):  # its text quotes the row
            return arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(
                    column_names=names,
                    skip_rows=layout.skip,
                    use_threads=fast,
                    block_size=None if fast else min(len(text) + 1, _LARGEST_BLOCK),  # a line must lie in one
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=layout.separator, invalid_row_handler=None if fast else note
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=[names[position] for position in layout.columns],
                    strings_can_be_null=False,
                ),
            )
    counted = "the header is row 1, blank lines" if layout.skip else "blank lines"
    where = f"row {ragged[0]} ({counted} do not count)" if ragged else "a row"
    raise BasketError(f"{where} does not have the {len(names)} cells of the first line; correct the file")


# ---- onehot: a column of true and false for each item


def onehot_parser(layout: TextLayout) -> Callable[[bytes, Origin], Cells]:
    """Return the reader of whole lines of a one-hot table, which refuses anything else with a BasketError."""
    import pyarrow  # noqa: F401 -- loads in this thread

    items = [place for place in range(len(layout.header)) if place not in layout.columns]
    problem = ""
    try:
        catalogue = Catalogue(layout.header[place] for place in items)
    except PlanError as error:
        problem = str(error)
    if problem:
        raise BasketError(f"the columns cannot be items: {problem}")

    def parse(data: bytes, origin: Origin) -> Cells:
        if not _is_plain(data):
            _refuse_lines(enumerate(io.BytesIO(data), origin.before + 1), _dialect(layout.separator))
        # Arrow ends lines at lone carriage returns
        table = _flags(data, layout, items) if data.count(b"\r") == data.count(b"\r\n") else None
        columns = _flags_by_line(data, origin, layout, items) if table is None else table
        return onehot_cells(columns, catalogue, origin)

    return parse


def _flags(data: bytes, layout: TextLayout, items: list[int]) -> list[NDArray[np.bool_]] | None:
    """Return the columns of items; None where Arrow cannot tell: it ignores blank lines, and not blanks."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    names = [f"column{position}" for position in range(len(layout.header))]
    wanted = [names[position] for position in items]
    with contextlib.suppress(pa.ArrowException):  # its text quotes cells
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=layout.separator),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()) | dict.fromkeys(wanted, pa.bool_()),
                include_columns=wanted,
                null_values=[],
                true_values=_cases(TRUE_WORDS),
                false_values=_cases(FALSE_WORDS),
            ),
        )
        if table.num_rows == data.count(b"\n"):
            return [column.to_numpy() for column in table.itercolumns()]
    return None


def _cases(words: Iterable[str]) -> list[str]:
    return sorted({form for word in words for form in (word, word.upper(), word.capitalize())})


def _flags_by_line(data: bytes, origin: Origin, layout: TextLayout, items: list[int]) -> list[NDArray[np.bool_]]:
    """Return what :func:`_flags` returns, of plain text; blank lines are empty baskets, odd ones are refused."""
    rows = []
    for number, line in enumerate(data[:-1].split(b"\n"), origin.before + 1):
        if not line.strip():
            rows.append([False] * len(items))
            continue
        cells = cut_line(line.decode().rstrip("\r"), layout.separator)
        if cells is None or len(cells) != len(layout.header):
            raise BasketError(f"line {number} does not have the {len(layout.header)} cells of the header; correct it")
        flags = [cells[place].strip().lower() for place in items]
        odd = next((place for place, flag in zip(items, flags, strict=True) if flag not in FLAGS), None)
        if odd is not None:
            raise BasketError(f"line {number}, column {odd + 1} {no_flag(cells[odd])}")
        rows.append([flag in TRUE_WORDS for flag in flags])
    return list(np.array(rows, dtype=np.bool_).T)
