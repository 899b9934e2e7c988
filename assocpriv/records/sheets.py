"""Convert workbooks (.xlsx) to CSV lines, one per row, of one sheet or of several with the same header row.

openpyxl reads the cells row by row. In this mode it does not show formulas without a value and merged cells, which are
therefore searched for in the sheet's XML. Errors give sheets by number and quote nothing.
"""

import contextlib
import csv
import io
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, BinaryIO

from assocpriv.guarantees.errors import BasketError
from assocpriv.records.cells import LINE_BREAK, SheetRow

_SHEET_ERRORS = frozenset(("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"))
_PLAIN_BYTES, _MAX_COMPRESSION = 64 << 20, 100  # above this size, bytes of XML per byte; sheets have 10 to 20
_MAX_DIGITS = 15  # of a number in a spreadsheet
_NUMBERS = re.compile(r"#[1-9][0-9]{0,5}(?:\+#[1-9][0-9]{0,5})*")
_BLOCK_BYTES, _LONGEST_CELL = 1 << 20, 1 << 16  # of XML; a formula has at most 8,192 characters
_FORMULA = re.compile(
    rb"<(?:x:)?c ([^>]*)>\s*<(?:x:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:x:)?f>)\s*"
    rb"(?:<(?:x:)?v\s*/>|<(?:x:)?v>([^<]*)</(?:x:)?v>)?\s*</(?:x:)?c>"
)
_REFERENCE = re.compile(rb'\br="([A-Z]{1,3})[0-9]+"')
_FORMULAS = (
    "holds formulas that were never computed; let a spreadsheet program compute them (LibreOffice: Ctrl+Shift+F9) and "
    "save the workbook, or replace them by values"
)
_MERGED = re.compile(rb'<(?:x:)?mergeCell ref="([A-Z]{1,3})([0-9]+):([A-Z]{1,3})([0-9]+)"')


@dataclass(frozen=True, slots=True)
class SheetChoice:
    """Which sheets of a workbook are read.

    Attributes:
        requested: a sheet's name, or its number as "#1", several as "#1+#2"; None for all visible filled ones.
        header: the number of the row that names the columns; None for the first filled one.
        advice: template of an error's advice on how to choose sheets.
        is_likely: whether a header belongs to the kind of table that is expected, so that an error names it first.
    """

    requested: str | None = None
    header: int | None = None
    advice: str = "layout='sheet={}'"
    is_likely: Callable[[Sequence[str]], bool] = bool


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet: its number from 1, counting hidden ones, openpyxl's object, and the width that the file states."""

    number: int
    source: Any
    width: int

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each row as text, padded to at least the width of the first filled row."""
        rows, width = _step(lambda: self.source.iter_rows(values_only=True)), self.width
        while (row := _step(lambda: next(rows, None))) is not None:
            cells = list(map(_cell_text, row))
            width = max(width, len(cells)) if width <= 1 else width
            yield cells + [""] * (width - len(cells))

    def head(self, header: int | None) -> tuple[int, tuple[str, ...]]:
        """Return the number and cells of the first filled row, from the header row on; (0, ()) if all are empty."""
        for number, cells in enumerate(self.rows(), 1):
            if number >= (header or 1) and any(cells):
                return number, tuple(cells[: max(place for place, cell in enumerate(cells, 1) if cell)])
        return 0, ()

    @property
    def path(self) -> str:
        """The path of its XML in the workbook."""
        return str(self.source._worksheet_path)  # openpyxl has no public attribute for it


class ByteStream:
    """Blocks of bytes, read in other sizes."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, b""

    def read(self, size: int = -1, /) -> bytes:
        """Return ``size`` bytes, fewer at the end; all the rest if negative."""
        parts, length = [self._rest], len(self._rest)
        while (size < 0 or length < size) and (block := next(self._blocks, None)) is not None:
            parts.append(block)
            length += len(block)
        text = b"".join(parts)
        stop = length if size < 0 else size
        self._rest = text[stop:]
        return text[:stop]


class SheetText(ByteStream):
    """Sheets of a workbook as lines of CSV; ``selection`` names them in the form of ``sheet=``."""

    def __init__(self, file: BinaryIO, choice: SheetChoice) -> None:
        try:
            import openpyxl
        except ImportError:
            raise BasketError(
                "reading a spreadsheet needs openpyxl: pip install 'assocpriv[xlsx]', or save it as “CSV UTF-8”"
            ) from None
        self._archive = _step(lambda: zipfile.ZipFile(file))
        large = [each for each in self._archive.infolist() if each.file_size > _PLAIN_BYTES]
        if any(each.file_size > _MAX_COMPRESSION * each.compress_size for each in large):
            raise BasketError("the spreadsheet unpacks to more than a hundred times its size; save it as “CSV UTF-8”")
        book = _step(lambda: openpyxl.load_workbook(file, read_only=True, data_only=True))
        self._sheets = _chosen(book, choice)
        self.selection = "+".join(f"#{each.number}" for each in self._sheets)
        self._starts: list[tuple[int, int, int]] = []  # lines before a sheet, its rows left out, its number
        super().__init__(self._csv_lines(choice.header))

    @property
    def are_several(self) -> bool:
        """Whether more than one sheet is read."""
        return len(self._sheets) > 1

    def row(self, line: int) -> int:
        """Return a line's number as errors show it: with several sheets, the row number within its sheet."""
        if not self.are_several:
            return line
        before, left_out, number = next(each for each in reversed(self._starts) if each[0] < line)
        return SheetRow(line, line - before + left_out, number)

    def _csv_lines(self, header: int | None) -> Iterator[bytes]:
        """Yield the rows of all sheets; of sheets after the first only those below the header."""
        before = 0
        for sheet in self._sheets:
            left_out = sheet.head(header)[0] if before else 0
            self._starts.append((before, left_out, sheet.number))
            for number, cells in enumerate(sheet.rows(), 1):
                if _SHEET_ERRORS.intersection(cells):
                    raise BasketError(
                        f"row {number:,}{self._of(sheet)} has a cell with an error, such as #REF!; correct it"
                    )
                if number > left_out:
                    before += 1
                    yield _csv_line(cells)

    def _of(self, sheet: _Sheet) -> str:
        return f" of sheet #{sheet.number}" if self.are_several else ""

    def check_cells(self, skip: int, places: Collection[int] | None = None) -> None:
        """Check that no cell below ``skip`` rows, in the columns at ``places`` or in all, would wrongly read as empty.

        Raises:
            BasketError: cells are merged over several rows, of which only the first has the value; or formulas have no
                value, or all have 0, as written by programs that do not compute them.
        """
        zeros, others = [], 0
        for sheet in self._sheets:
            self._refuse_merged(sheet, skip, places)
            for attributes, value in self._find(sheet, _FORMULA):
                found = _REFERENCE.search(attributes)
                place = _place(found[1]) if found else -1
                if places is not None and place not in places:
                    continue
                if not value and b't="str"' not in attributes:
                    self._refuse(sheet, place, _FORMULAS)
                if value == b"0":
                    zeros.append((sheet, place))
                else:
                    others += 1
        if len(zeros) > 1 and not others:
            self._refuse(*zeros[0], _FORMULAS)

    def _refuse_merged(self, sheet: _Sheet, skip: int, places: Collection[int] | None) -> None:
        for left, top, right, bottom in self._find(sheet, _MERGED):
            merged = range(_place(left), _place(right) + 1)
            held = merged if places is None else sorted(set(places).intersection(merged))
            if held and skip < int(top) < int(bottom):
                what = f"has cells merged over several rows, such as rows {int(top):,} to {int(bottom):,}"
                self._refuse(sheet, held[0], f"{what}; unmerge them and write the value into each row")

    def _refuse(self, sheet: _Sheet, place: int, problem: str) -> None:
        raise BasketError(f"column {place + 1}{self._of(sheet)} {problem}")

    def _find(self, sheet: _Sheet, pattern: re.Pattern[bytes]) -> Iterator[tuple[bytes, ...]]:
        """Yield the groups of a pattern's matches in a sheet's XML; matches at block boundaries may come twice."""
        xml, text = _step(lambda: self._archive.open(sheet.path)), b""
        while block := _step(lambda: xml.read(_BLOCK_BYTES)):
            text = text[-_LONGEST_CELL:] + block
            for found in pattern.finditer(text):
                yield found.groups(b"")


def _step(step: Callable[[], Any]) -> Any:
    with contextlib.suppress(Exception):  # of openpyxl, zipfile and XML, whose texts may quote cells
        return step()
    raise BasketError("the file is not a spreadsheet or is damaged; save it again as .xlsx or “CSV UTF-8”")


def _chosen(book: Any, choice: SheetChoice) -> list[_Sheet]:
    """Return the sheets to read: those requested, or the visible filled ones; charts are not sheets.

    Raises:
        BasketError: there is no such sheet, or several have different header rows.
    """
    sheets: dict[int, _Sheet] = {}
    for number, source in enumerate(_step(lambda: [book[name] for name in book.sheetnames]), 1):
        if hasattr(source, "reset_dimensions"):
            sheets[number] = _Sheet(number, source, source.max_column or 0)
            source.reset_dimensions()  # some programs state wrong dimensions, at which openpyxl would stop
    taken = [each for each in sheets.values() if each.source.sheet_state == "visible"]
    if choice.requested is not None:
        taken = _requested_sheets(sheets, choice)
    if len(taken) > 1:
        heads = {each.number: each.head(choice.header)[1] for each in taken}
        taken = [each for each in taken if heads[each.number]]
        if len({heads[each.number] for each in taken}) > 1:
            alike = [[each for each in taken if heads[each.number] == head] for head in dict.fromkeys(heads.values())]
            alike.sort(key=lambda each: (choice.is_likely(heads[each[0].number]), len(each)), reverse=True)
            groups = ["+".join(f"#{sheet.number}" for sheet in each) for each in alike]
            raise BasketError(
                f"the workbook has sheets with {len(groups)} different header rows, {', '.join(groups)}; choose some "
                f"with {choice.advice.format(groups[0])}"
            )
    return taken


def _requested_sheets(sheets: Mapping[int, _Sheet], choice: SheetChoice) -> list[_Sheet]:
    requested = (choice.requested or "").strip()
    if _NUMBERS.fullmatch(requested):
        numbers = dict.fromkeys(int(each[1:]) for each in requested.split("+"))
    else:
        named = [each.number for each in sheets.values() if each.source.title.strip().lower() == requested.lower()]
        numbers = dict.fromkeys(named or [0])
    if not set(numbers) <= set(sheets):
        raise BasketError(
            f"sheet= does not match any of the workbook's {len(sheets)} sheets; give a number with #, as in "
            f"{choice.advice.format(f'#{min(sheets, default=1)}')}"
        )
    return [sheets[number] for number in numbers]


def _place(letters: bytes) -> int:
    """Return the index, from 0, of a column that a sheet names by letters."""
    from openpyxl.utils import column_index_from_string

    return int(column_index_from_string(letters.decode())) - 1


def _cell_text(cell: object) -> str:
    """Return a cell as one line of text, as a spreadsheet writes it into CSV.

    Whole numbers have no decimal point; those with more digits than a spreadsheet keeps get an exponent, by which they
    are recognized as rounded.

    >>> _cell_text(7.0), _cell_text(True), _cell_text(20260101000123456)
    ('7', 'TRUE', '2.0260101000123456E+16')
    """
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int) or (isinstance(cell, float) and cell.is_integer()):
        return str(int(cell)) if abs(cell) < 10**_MAX_DIGITS else f"{Decimal(cell):.16E}"
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    return "" if cell is None else LINE_BREAK.sub(" ", str(cell).strip())


def _csv_line(cells: list[str]) -> bytes:
    """Return a row as a CSV line, blank if all its cells are empty."""
    line = io.StringIO()
    if any(cells):
        csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue().encode() + b"\n"
