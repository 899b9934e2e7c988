"""What in a file of baskets, a line each, is no item: a header, ids, words for nothing, another separator.

Each is told from the first lines, and refused or doubted; nothing that is said holds a cell.
"""

import re
from collections.abc import Sequence

from assocpriv.promise.errors import BasketError
from assocpriv.records.columns import is_usual
from assocpriv.records.first_lines import SEPARATORS, FirstLines

_DIGIT = re.compile(r"[0-9]")
_NUMBERED = re.compile(r"(\D*?)[ _-]*([0-9]+)")
_NOTHING = frozenset({"nan", "none", "null", "<na>", "nat", "n/a", "#n/a"})  # what programs write for no value
_LEAST_LINES = 20  # from which first cells that all differ are ids: baskets begin with the same items


def names_columns(rows: FirstLines) -> bool:
    """Tell whether the first line is only usual names of columns, or these and item1, item2 … above other names."""
    if all(map(is_usual, rows.first)):
        return True
    parts = [_NUMBERED.fullmatch(cell) for cell in rows.first if cell and not is_usual(cell)]
    stems = {part[1].lower() for part in parts if part}
    if sum(map(bool, rows.first)) < 2 or not all(parts) or len(stems) != 1 or not is_usual(next(iter(stems))):
        return False
    return not any(part[1].lower() in stems for row in rows.body for cell in row if (part := _NUMBERED.fullmatch(cell)))


def is_above_ids(rows: FirstLines, place: int) -> bool:
    """Tell whether the first line is a header by the column of ids: these have digits, and their name has none."""
    column = [row[place] for row in rows.cells if len(row) > place]
    return names_columns(rows) or (
        len(column) > 1 and not _DIGIT.search(column[0]) and all(map(_DIGIT.search, column[1:]))
    )


def refuse_ids(rows: FirstLines, separator: str | None) -> None:
    """Refuse lines that begin with cells of which each occurs once: ids, which would be taken for items."""
    lines = [row for row in rows.body if row]
    others = {cell for row in lines for cell in row[1:] if cell}
    firsts = {row[0] for row in lines if row[0]}
    repeated = 0 < 2 * len(others) <= sum(map(len, lines)) - len(lines)  # else all cells may well differ
    if len(lines) >= _LEAST_LINES and len(firsts) == len(lines) and repeated and not firsts & others:
        header = " --header yes" if is_above_ids(rows, 0) else ""
        option = {None: "", "\t": " --separator tab"}.get(separator, f" --separator '{separator}'")
        raise BasketError(
            "the first cells of all lines differ and stand nowhere else, as ids do, not items; leave them out with "
            f"--format basket{option}{header} --transaction-column 1, or pass --format basket alone if they are items "
            "(in Python format= and so on)"
        )


def refuse_nothings(rows: FirstLines) -> None:
    """Refuse NaN and the like, which would be an item, where a line repeats it or a fifth of several lines hold it."""
    held = [sum(cell.lower() in _NOTHING for cell in row) for row in rows.cells]
    if max(held, default=0) > 1 or (sum(map(bool, held)) > 1 and 5 * sum(map(bool, held)) >= len(held)):
        first = next(number for number, count in zip(rows.numbers, held, strict=True) if count)
        raise BasketError(
            f"line {first} has NaN, None or the like as an item, and so have others; leave such cells empty "
            "(pandas: to_csv(…, na_rep='')), or rename the item if it is one"
        )


def doubt_separator(lines: Sequence[str], rows: FirstLines) -> str:
    """Say that another separator stands in all lines, and the one that was said in none."""
    filled = [line for line in lines if line.strip()]
    if len(filled) < 2 or any(len(row) > 1 for row in rows.cells):
        return ""
    other = next((mark for mark in ",;\t|" if mark != rows.separator and all(mark in line for line in filled)), None)
    if other is None:
        return ""
    return f"; warning: no line has {SEPARATORS[rows.separator]}, every line has {SEPARATORS[other]}: see --separator"


def no_flag(cell: str) -> str:
    """Say what is wrong with a cell of a one-hot table, and what to do."""
    remedy = "quantities are not read, so write 1 for any above 0" if cell.isdigit() else "correct it"
    return (
        f"is neither true nor false, as 1 and 0 or t and f; {remedy}, or leave the column out with transaction_column= "
        "(--transaction-column)"
    )
