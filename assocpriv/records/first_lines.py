"""The first lines of a file of text, cut into cells, and the separator that cuts them."""

import csv
from collections.abc import Sequence

from assocpriv.promise.errors import BasketError

TO_UTF8 = "convert the file to UTF-8 (iconv -f LATIN1 -t UTF-8 OLD > NEW, or save it as “CSV UTF-8”)"
UNREADABLE = "\ufffd"  # stands for what is no UTF-8 in the first lines
SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 1000
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}


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
