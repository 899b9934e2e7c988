"""Detect the layout of baskets from the first rows, by rules that are tried in order; refuse ambiguous sources.

Errors give the layouts to request, each of them tested on the rows. No message quotes a cell.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assocpriv.guarantees.errors import BasketError
from assocpriv.records import layout_signs as signs
from assocpriv.records.basket_sources import TITLE_LINES, FirstRows, find_separator, is_total, read_sep_line
from assocpriv.records.cells import LISTS, MARKS, MISSING_WORDS, cells_of_names, find_item_separator, is_word
from assocpriv.records.columns import is_list, is_text
from assocpriv.records.layout import (
    ANYWHERE,
    COLUMN_NUMBERS,
    DAY,
    NONE,
    Ambiguity,
    DetectedLayout,
    Layout,
    column_numbers,
    is_known,
    known_places,
    layout_arg,
    long_columns,
    requested_places,
    resolve_layout,
    show_column,
)

_ITEM_NUMBERS = re.compile(r"\s*[0-9]+(\s+[0-9]+)*\s*")
_DIGIT = re.compile(r"[0-9]")
_SLOT = re.compile(r"([^0-9]*)([0-9]{1,3})")
_WITH_COLON = re.compile(r"[^\s:]{1,20}: ?\S.*")
_RULE = re.compile(r"[|+ ]*[-=_*#~]{3,}[-=_*#~|+: ]*")  # between blocks of a text
_MIN_COUNTS = 5  # columns of numbers from which they are not ids and items
_MIN_NUMBERED = 8  # lines from which first cells that are numbers, among names, are ids


# ---- rules


@dataclass(frozen=True, slots=True)
class DetectionRule:
    """A detection rule: a kind of layout, its sign in the first lines, and an example (lines separated by /)."""

    kind: str
    sign: str
    example: str
    holds: Callable[[FirstRows, Layout], bool] = field(repr=False)


def detect_kind(rows: FirstRows, wanted: Layout) -> str:
    """Return the kind of layout: the requested one, or that of the first rule that holds.

    Raises:
        Ambiguity: the rows may be baskets or a table.
        BasketError: the rows cannot be baskets.
    """
    return wanted.kind if wanted.kind is not None else next(rule.kind for rule in RULES if rule.holds(rows, wanted))


def _is_dat(rows: FirstRows, wanted: Layout) -> bool:
    if replace(wanted, sheet=None) != Layout() or not rows.lines:
        return False
    numbers = [line for line in rows.lines if _ITEM_NUMBERS.fullmatch(line)]
    if any(line.lower().startswith(("@relation", "@attribute")) for line in rows.lines):
        raise BasketError("the file is Weka's ARFF, which is not supported; save it as CSV")
    if any(line.upper().startswith(("INSERT INTO ", "CREATE TABLE ")) for line in rows.lines):
        raise BasketError("the file is an SQL dump, which is not supported; export the table as CSV")
    if rows.lines[0].startswith(signs.REMARKS) and any(each.startswith(signs.REMARKS) for each in rows.lines[1:]):
        raise BasketError(
            "lines that begin with @, # or % are comments and names in SPMF's format; remove them, the rest is items"
        )
    if rows.plain:
        holds = bool(numbers) and numbers[0] == rows.lines[0]
    else:
        holds = len(numbers) == len(rows.lines) and any(len(line.split()) > 1 for line in numbers)
    if holds:
        signs.refuse_table_of_numbers([line.split() for line in numbers])
        signs.refuse_extra_numbers([list(map(int, line.split())) for line in numbers if len(line) < 1 << 12])
    return holds


def _is_long(rows: FirstRows, wanted: Layout) -> bool:
    if wanted.item is not None or wanted.quantity is not None:
        return True
    if wanted.transaction is not None:
        return not signs.is_onehot(rows, wanted)
    if wanted.header is False or len(rows.first) < 2 or not names_columns(rows.first):
        return False
    numbered = zip(rows.numbers, rows.cells, strict=True)
    odd = next((row for row in numbered if len(row[1]) != len(rows.first) and not is_total(row[1])), None)
    if odd is not None:
        has_names = all(len(row) == len(rows.first) + 1 for row in rows.body)
        why = "; R writes row names like this: use write.table(…, row.names=FALSE)" if has_names else ""
        raise Ambiguity(
            f"line {rows.numbers[0]} is a header of the long layout, but line {odd[0]} has more or fewer cells{why}",
            ("lines", "if every line is a basket"),
            end="or correct the file",
        )
    return True


def names_columns(row: Sequence[str]) -> bool:
    """Return whether a line has common names of a column of transactions and of one of items."""
    return all(known_places(row, role) for role in ("transaction", "item"))


def _is_ambiguous(rows: FirstRows, wanted: Layout) -> bool:
    """Raise Ambiguity for a likely table, and for a possible header above lines of baskets; else return False."""
    mark = Layout("lines", separator=None if wanted.separator is None and rows.separator == "," else rows.separator)
    _refuse_list_lines(rows, wanted)
    _refuse_lists(rows, mark)
    if wanted.header is None:
        _refuse_framed(rows, wanted, mark)
        _refuse_title(rows, mark)
        _refuse_slots(rows, mark)
        _refuse_numbered(rows, mark)
    _refuse_first_words(rows, mark)
    _refuse_last_cells(rows, mark)
    _refuse_table(rows, mark)
    _refuse_first_cells(rows, mark)
    if wanted.header is None and rows.body and rows.first and all(map(is_known, rows.first)):
        ways = ((replace(mark, header=way), "") for way in (True, False))
        raise Ambiguity("line 1 may be a header or a basket", *ways)
    if rows.spaced and wanted.separator is None:
        parted, blank = FirstRows(rows.lines, " "), Layout("lines", separator=" ")
        _refuse_first_words(parted, blank)
        _refuse_first_cells(parted, blank)
        raise Ambiguity(
            "no line has a comma, semicolon, tab or bar",
            ("lines separator=blank", "if blanks separate the names, and no name contains one"),
            ("lines separator=,", "if each line is one name"),
        )
    return False


def _refuse_title(rows: FirstRows, mark: Layout) -> None:
    if above := count_title_lines(rows):
        line = rows.numbers[above]
        raise Ambiguity(f"line {line} seems to be a header", (f"long header={line}", ""), ("lines", ""))
    for line, row in zip(rows.numbers, rows.cells[:TITLE_LINES], strict=False):
        if row and all(cell.startswith('{"ImportId"') for cell in row):  # the last of Qualtrics' three
            survey = replace(mark, transaction="#1", header=line)
            raise Ambiguity(f"line {line} ends the header of a survey", (survey, "without the first column"))
    for above in range(1, TITLE_LINES) if len(rows.first) < 2 else ():
        below = rows.after(above)
        if below.is_table and len(below.body) >= signs.MIN_REPEATS and _sign_of_table(below):
            named = replace(signs.likely_long_layout(below), header=below.numbers[0], separator=mark.separator)
            raise Ambiguity(
                f"line {below.numbers[0]}, below a title, seems to be a header",
                (named, "with the correct column numbers"),
                ("lines", ""),
            )


def _refuse_framed(rows: FirstRows, wanted: Layout, mark: Layout) -> None:
    """Refuse a one-hot table with a title above it or totals below it."""
    for above in range(min(TITLE_LINES, len(rows.cells))):
        if any(len(cells) > 1 for cells in _filled(rows.cells[:above])):
            return
        below = rows.after(above)
        ends = is_total(below.cells[-1]) and len(below.cells[-1]) == len(below.first)
        below.cells = below.cells[: len(below.cells) - ends]
        if not (above or ends) or not signs.is_surely_onehot(below, wanted):
            continue
        if ends:
            raise BasketError(f"line {rows.numbers[-1]:,} holds totals below a one-hot table; remove it")
        line = below.numbers[0]
        named = replace(mark, kind="one-hot", header=line)
        raise Ambiguity(f"line {line}, below a title, is the header of a one-hot table", (named, ""))


def _refuse_slots(rows: FirstRows, mark: Layout) -> None:
    numbered = _slots(rows)
    if numbered is not None:
        raise Ambiguity(
            "line 1 seems to number the cells of a basket",
            (replace(mark, transaction="#1" if numbered else None, header=True), "if it is a header"),
            (replace(mark, header=False), "if it is a basket"),
        )


def _refuse_lists(rows: FirstRows, mark: Layout) -> None:
    for place in range(len(rows.first)) if rows.is_table and len(rows.first) > 1 else ():
        if rows.body and all(LISTS.fullmatch(row[place]) for row in rows.body):
            header = LISTS.fullmatch(rows.first[place]) is None
            lists = Layout("list", item=f"#{place + 1}", within=",", separator=mark.separator, header=header)
            raise Ambiguity(f"column {place + 1} holds printed lists", (lists, "to split them"))


def _refuse_list_lines(rows: FirstRows, wanted: Layout) -> None:
    lists = [LISTS.fullmatch(line.strip().strip('"')) is not None for line in rows.lines]
    if wanted.within is None and 2 * sum(lists) > len(lists):
        apart = Layout("list", item="#1", within=",", separator="\t", header=wanted.header or not lists[0])
        raise Ambiguity(
            "most lines are printed lists",
            (apart, "to split them"),
            (replace(wanted, kind="lines", within=NONE), "if these are names of items"),
        )


def _refuse_first_words(rows: FirstRows, mark: Layout) -> None:
    """Refuse lines that begin with an id and a colon, or with an item and the numbers of its transactions."""
    lines = [[cell for cell in row if cell] for row in rows.cells if any(row)]
    if len(lines) < 3:
        return
    behind, between = ([cell for row in lines for cell in row[1:]], " " if rows.spaced else mark.separator or ",")
    if all(_WITH_COLON.fullmatch(row[0]) for row in lines) and not any(map(_WITH_COLON.fullmatch, behind)):
        raise BasketError(
            "all lines begin with an id and a colon; replace the colon by a separator, as with sed "
            f"'s/: */{between}/', and pass layout='lines {'separator=blank ' * rows.spaced}transaction=#1' to "
            "leave out the ids"
        )
    if not all(map(str.isdecimal, behind)) or sum(_DIGIT.search(row[0]) is None for row in lines) < len(lines):
        return
    numbers = [[int(cell[:18]) for cell in row[1:]] for row in lines]
    rising = all(a < b for each in numbers for a, b in itertools.pairwise(each))
    if rising and sum(len(each) > 1 for each in numbers) > 2:
        raise Ambiguity(
            "all lines have a name and increasing numbers, as if each listed the transactions of an item",
            (mark, "if each line is a basket"),
            end="or write one line per transaction",
        )


def _refuse_last_cells(rows: FirstRows, mark: Layout) -> None:
    places = _last_cells(rows)
    if places is not None:
        raise Ambiguity(
            "the last cells of all lines are numbers, amounts, dates or ids that occur nowhere else, unlike items",
            *((replace(mark, transaction=f"#{place + 1}"), "to leave them out") for place in places),
            (mark, "if they are items"),
            end="" if places else "or remove them from the file",
        )


def _refuse_table(rows: FirstRows, mark: Layout) -> None:
    sign = _sign_of_table(rows) if rows.is_table and len(rows.body) > 1 else None
    if sign is None:
        return
    header, rest = shows_header(rows), [cell for row in rows.body for cell in row[1:]]
    if header and all(cell.isdecimal() for cell in rest if cell) and (len(rows.first) > 3 or "0" in rest):
        raise Ambiguity(
            "the columns after the first hold only whole numbers, such as quantities of items",
            *((replace(mark, kind="one-hot", transaction=ids), "") for ids in signs.non_flag_columns(rows)),
            (mark, "if each line is a basket"),
            end="or write a one-hot table without totals: 1 for a quantity above 0, else 0",
        )
    once = header is None and not {cell for row in rows.body for cell in row}.intersection(rows.first)
    counts = all(map(signs.is_number, rows.column(0))) and not any(map(signs.is_number, rest))
    raise Ambiguity(
        f"all lines have {len(rows.first)} cells and {sign}, as in a table, not in baskets",
        (
            replace(signs.likely_long_layout(rows), header=header, separator=mark.separator),
            "with the correct column numbers",
        ),
        *((replace(mark, kind="one-hot", transaction=ids), "") for ids in signs.non_flag_columns(rows)),
        *[(replace(mark, transaction="#1", header=header), "without the first column")] * counts,
        *[(replace(mark, header=True), "if line 1 is a header")] * once,
        (mark, "if each line is a basket"),
    )


def _refuse_first_cells(rows: FirstRows, mark: Layout) -> None:
    if apart := _first_cells(rows):
        columns, header = apart
        ids = column_numbers(range(columns))
        raise Ambiguity(
            "the first cells of all lines are ids, numbers or dates that occur nowhere else, unlike items",
            (replace(mark, transaction=ids, header=header), "to leave them out"),
            (mark, "if they are items"),
        )


def count_title_lines(rows: FirstRows) -> int:
    """Return the number of lines above a header of the long layout; 0 if there is none below line 1."""
    return next((place for place, row in enumerate(rows.cells[:TITLE_LINES]) if names_columns(row)), 0)


def _refuse_numbered(rows: FirstRows, mark: Layout) -> None:
    """Refuse numbered columns with others between, as item1,qty1,item2,qty2: those of items are a basket."""
    stems = dict[str, list[int]]()
    for place, name in enumerate(rows.first):
        if (found := _SLOT.fullmatch(name)) and (stem := found[1].strip(" _.-")):
            stems.setdefault(stem, []).append(place)
    items = [places for stem, places in stems.items() if len(places) > 1 and known_places([stem], "item")]
    if len(items) == 1 and len(rows.first) > len(items[0]) + 1:
        others = column_numbers(place for place in range(len(rows.first)) if place not in items[0])
        raise Ambiguity(
            "line 1 numbers the columns of items, and there are other columns",
            (replace(mark, transaction=others, header=True), "if each line is a basket"),
            end="or write only the columns of items",
        )


def _slots(rows: FirstRows) -> bool | None:
    """Return whether line 1 numbers the cells below (Item 1,Item 2 or 0,1,2) except the first; None if it does not."""
    for place in (0, 1) if len(rows.body) > 2 else ():
        found = [_SLOT.fullmatch(cell) for cell in rows.first[place:] if cell]
        names = {each[1].strip(" _.-").lower() for each in found if each}
        numbers = [int(each[2]) for each in found if each]
        others = {cell for row in rows.body for cell in row}
        alike = any(each and each[1].strip(" _.-").lower() in names for each in map(_SLOT.fullmatch, others))
        first = numbers[0] if len(numbers) > 1 else 2
        rising = not alike and first < 2 and numbers == list(range(first, first + len(numbers)))
        if rising and len(numbers) == len(found) and len(names) == 1 and not others & set(rows.first[place:]):
            return place == 1
    filled = [cell for cell in rows.first if cell]
    columns = [rows.column(place) for place in range(len(rows.first))] if rows.is_table else []
    repeat = all({*column} <= {"", name} for name, column in zip(rows.first, columns, strict=False))
    if len(rows.body) > 2 and columns and repeat and any("" in column for column in columns):
        return False  # each cell is empty or repeats its column's name
    if len(rows.first) > 1 and len(filled) == 1 and is_known(filled[0]):  # "Basket;;;"
        return False
    return None


def _filled(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the filled cells of the lines that have any."""
    return [cells for row in lines if (cells := [cell for cell in row if cell])]


def _note_of_lines(rows: FirstRows) -> str:
    """Return a note about first or last cells that occur nowhere else, such as customers or payments; else empty."""
    lines = _filled(rows.cells)
    fact = "cells of all lines occur nowhere else; if they are customers, stores, payments or the like, not items,"
    if count := signs.count_id_cells(lines)[0]:
        return f"the first {fact} pass {layout_arg(f'lines transaction={column_numbers(range(count))}')}"
    return f"the last {fact} remove them" if signs.count_id_cells([row[::-1] for row in lines])[0] else ""


def _last_cells(rows: FirstRows) -> list[int] | None:
    """Return the column of last cells that are not items, [] if it varies; None if they may be items."""
    lines = _filled(rows.cells)
    lasts, others = [row[-1] for row in lines], [cell for row in lines for cell in row[:-1]]
    if len(lines) < 3 or min(map(len, lines)) < 2 or any(map(signs.is_figure, others)):
        return None
    amounts = all(signs.MONEY.fullmatch(cell) or signs.DATE.fullmatch(cell) for cell in lasts)
    ids = len(lines) >= signs.MIN_LINES and len({*lasts}) == len(lasts) and 2 * len({*others}) <= len(others)
    numbers = len(lines) >= _MIN_NUMBERED and all(map(signs.is_number, lasts))
    if not (amounts or numbers or (ids and not {*lasts} & {*others})):
        return None
    places = {len(row) - 1 for row in rows.cells if row}
    return list(places) if len(places) == 1 and all(row[-1] for row in rows.cells if row) else []


def _first_cells(rows: FirstRows) -> tuple[int, bool | None] | None:
    """Return how many of the first cells are not items, and the ``header`` to request; None if all may be items."""
    lines = [row for row in rows.body if row]
    others = {cell for row in lines for cell in row[1:] if cell}
    if not others or not all(row[0] for row in lines):
        return None
    apart, are_ids = signs.count_id_cells(_filled(lines))
    header = True if _is_above_ids(rows, 0) and not signs.is_number(rows.first[0]) else None
    data = rows.cells if header is None else rows.body
    dates = 0
    while data and all(len(row) > dates + 1 and signs.DATE.fullmatch(row[dates]) for row in data):
        dates += 1
    if not dates and data and all(len(row) > 2 and signs.DATE.fullmatch(row[1]) for row in data):
        dates = 2  # with a store or the like before it
    left = [row[dates:] for row in data]
    numbers = all(signs.is_number(row[0]) for row in left if row) and not any(signs.is_number(each) for each in others)
    counts = [int(row[0]) for row in left if row and row[0].isdecimal() and len(row[0]) < 19]
    in_turn = len(counts) == len(left) > 2 and counts[0] < 2 and all(b == a + 1 for a, b in itertools.pairwise(counts))
    if are_ids or dates or in_turn or (numbers and len(left) >= _MIN_NUMBERED):
        counted = dates + (in_turn or not dates or (numbers and len(left) >= _MIN_NUMBERED))
        return max(counted, apart * are_ids), header
    return None


def _sign_of_table(rows: FirstRows) -> str | None:
    """Return the sign that lines are rows of a table, None if there is none."""
    if shows_header(rows):
        return "the first one looks like a header"
    columns = [rows.column(place) for place in range(len(rows.first))]
    numbers = [sum(map(signs.is_number, column)) for column in columns]
    whole = [number for number, column in zip(numbers, columns, strict=True) if all(column)]
    if len(rows.body) in numbers and any(2 * number <= len(rows.body) for number in whole):
        return "some columns hold only numbers and others few"
    filled = [[cell for cell in row if cell and not is_word(cell, MISSING_WORDS)] for row in rows.body]
    if 2 * sum(len(set(row)) < len(row) for row in filled) > len(filled):
        return "most lines repeat a value"
    pairs = [(one, other) for one, other in itertools.pairwise(rows.cells) if one != other]
    for place in range(len(rows.first)):
        agree = sum(one[place] == other[place] != "" for one, other in pairs)
        if len(pairs) >= signs.MIN_REPEATS - 1 and 2 * agree >= len(pairs):
            return "consecutive lines often have equal cells in a column"
    return None


RULES = (
    DetectionRule(
        "dat", "lines of item numbers separated by blanks; in .dat and .txt line 1 decides", "17 4 256 / 9 4", _is_dat
    ),
    DetectionRule(
        "long",
        "line 1 has a common name of a transaction column and one of an item column, or columns are requested",
        "receipt,item / 1,tea",
        _is_long,
    ),
    DetectionRule(
        "one-hot",
        "all cells below line 1 are 1 and 0, or words for them, except a column of ids; some line repeats one",
        "tea,milk,rye / 1,0,1 / 0,1,0",
        signs.is_onehot,
    ),
    DetectionRule(
        "refused",
        "a table: a header by its digits, columns of numbers and of names, values that recur in a line or column, ids",
        "kasse,sache / 1,tea / 2,rye",
        _is_ambiguous,
    ),
    DetectionRule("lines", "anything else: one basket per line, without a header", "tea,milk / rye", lambda *_: True),
)


# ---- text


def detect_layout(lines: Sequence[str], wanted: Layout, *, plain: bool = False) -> DetectedLayout:
    """Detect the layout of a text from its first lines, in agreement with what is requested.

    ``plain`` states that the file's name is typical of files of item numbers.

    Raises:
        BasketError: the layout is ambiguous, or the lines do not fit the requested one.
    """

    def fits(found: DetectedLayout) -> bool:
        if found.kind in ("lines", "dat"):
            return True
        rows = FirstRows(lines[found.skip :], found.separator).cells
        return all(len(row) == (len(found.names) or len(rows[0])) for row in rows if not is_total(row))

    return resolve_layout(lambda layout: _detect_layout(lines, layout, plain), wanted, fits)


def _detect_layout(lines: Sequence[str], wanted: Layout, plain: bool) -> DetectedLayout:
    signs.refuse_spmf(lines)
    above, mark = read_sep_line(lines)
    if mark is not None:
        wanted = replace(wanted, separator=wanted.separator or mark)
    if wanted.header not in (None, True, False):
        above = int(wanted.header) - 1
    if wanted.kind == "dat" or _is_dat(FirstRows(lines, " ", plain=plain), wanted):
        return DetectedLayout(Layout("dat"), skip=above)
    mark, spaced = (wanted.separator, False) if wanted.separator else find_separator(lines[above:], wanted.kind)
    rows = FirstRows(lines, mark, above=above, spaced=spaced)
    title = count_title_lines(rows) if wanted.header is None and wanted.kind in (None, "long") else 0
    width = len(rows.cells[title]) if rows.cells else 0
    below = [row for row in rows.cells[title:] if not is_total(row)]
    if title and {*map(len, below)} == {width} and all(sum(map(bool, row)) < width for row in rows.cells[:title]):
        wanted = replace(wanted, header=rows.numbers[title])
        rows = FirstRows(lines, mark, above=rows.numbers[title] - 1, spaced=spaced)
    kind = detect_kind(rows, wanted)
    made = {"lines": _lines_found, "long": _long_found, "one-hot": _onehot_found, "list": _list_found}[kind]
    return made(rows, replace(wanted, separator=mark))


def _skip(rows: FirstRows, has_header: bool) -> int:
    return rows.first_line + 1 if has_header else rows.above


def _named(rows: FirstRows, wanted: Layout, header: bool) -> tuple[list[str], Layout]:
    """Return the names of the columns, empty ones without a header, and the layout with the header's line, if any."""
    names = rows.first if header else [""] * len(rows.first)
    return names, replace(wanted, header=header and (wanted.header or True))


def _lines_found(rows: FirstRows, wanted: Layout) -> DetectedLayout:
    lines = zip(rows.numbers, rows.cells, strict=True)
    rule = next((number for number, row in lines if any(map(_RULE.fullmatch, row))), 0)
    if rule and wanted.kind is None:
        raise BasketError(
            f"line {rule} is a rule between blocks (---), not a basket; write one basket per line, or one row per item"
        )
    if wanted.kind is None and rows.lines[:1] and rows.lines[0].startswith(signs.REMARKS):
        raise BasketError("line 1 begins with @, # or %, as a comment does; remove it")
    single = max(map(len, rows.cells), default=0) == 1
    if wanted.kind is None and single and rows.blanks and 2 * rows.blanks < len(rows.cells):
        raise Ambiguity(
            "single names form blocks separated by blank lines, as if each block were a basket",
            ("lines separator=,", "if each line is a basket"),
            end='or join the lines of a block: awk \'BEGIN{RS="";FS="\\n";OFS=","}{$1=$1}1\'',
        )
    _refuse_list_lines(rows, wanted)
    header, places = bool(wanted.header), tuple[int, ...]()
    if wanted.transaction is not None:
        if wanted.header is None and rows.first:
            by_name = not COLUMN_NUMBERS.fullmatch(wanted.transaction)
            header = by_name or _is_above_ids(rows, requested_places(rows.first, "transaction", wanted.transaction)[0])
        places = requested_places(_named(rows, wanted, header)[0], "transaction", wanted.transaction)
        wanted = replace(wanted, transaction=column_numbers(places))
    layout = replace(_named(rows, wanted, header)[1], kind="lines")
    note = "" if wanted.kind is not None else _note_of_lines(rows)
    return DetectedLayout(layout, places=places, skip=_skip(rows, header), note=note)


def _long_found(rows: FirstRows, wanted: Layout) -> DetectedLayout:
    if not rows.cells:
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    if not rows.first:
        raise BasketError(f"line {rows.numbers[0]} is not CSV: quotes are not closed on the line; correct the header")
    header = _has_header(rows, wanted)
    names, layout = _named(rows, wanted, header)
    cells = [row for row in (rows.body if header else rows.cells) if len(row) == len(names) and row != list(names)]
    return long_found(names, layout, cells, _skip(rows, header))


def _list_found(rows: FirstRows, wanted: Layout) -> DetectedLayout:
    if wanted.within in (None, NONE):
        raise BasketError("the layout list of a text needs the separator of the items in a cell, as within=,")
    if not rows.first:
        raise BasketError("the file holds no baskets; check that it is the right one")
    shown = any(map(is_known, rows.first)) or shows_header(rows) if wanted.header is None else wanted.header
    header = bool(shown)
    names, layout = _named(rows, wanted, header)
    found = list_found(names, range(len(names)), layout)
    return replace(found, skip=_skip(rows, header))


def _onehot_found(rows: FirstRows, wanted: Layout) -> DetectedLayout:
    if len(rows.first) < 2:
        raise BasketError(f"a one-hot file needs a column for each item, got {len(rows.first)}; check the separator")
    if wanted.header is False:
        raise BasketError("a one-hot file needs a header; header=no is not possible, only the header's line number")
    places = signs.find_id_columns(rows, wanted)
    header = wanted.header if type(wanted.header) is int else None
    found = signs.onehot_layout(replace(wanted, header=header), rows.first, places)
    return DetectedLayout(found, tuple(rows.first), places, _skip(rows, True))


def long_found(names: Sequence[str], wanted: Layout, cells: Sequence[Sequence[str]], skip: int = 0) -> DetectedLayout:
    """Complete a long layout by its columns, shown by name only if the name is a common one.

    Raises:
        Ambiguity: the first rows' ``cells`` show that the column of items does not hold items.
    """
    usual = [] if wanted.item is not None else known_places(names, "item")
    full = [place for place in usual if all(row[place] for row in cells if not is_total(row))]
    if full and full[0] != usual[0]:  # a column of names, if that of codes has gaps
        wanted = replace(wanted, item=f"#{full[0] + 1}")
    ids, item, quantity = long_columns(names, wanted)
    if wanted.transaction is None:
        signs.refuse_ids_of_rows(names, wanted, cells, ids)
    groups = dict[tuple[str, ...], list[Sequence[str]]]()
    for row in cells:
        groups.setdefault(tuple(row[place] for place in ids), []).append(row)
    if wanted.item is None:
        signs.refuse_no_items(names, wanted, list(groups.values()), (ids, item))
    places = (*ids, item, *([] if quantity is None else [quantity]))
    parts = [part.strip() for part in (wanted.transaction or "").split("+")]
    days = frozenset(place for place, part in zip(ids, parts, strict=False) if part.endswith(DAY) and part not in names)
    void = signs.void_column(names, cells, places)
    apart = places if void is None else (*places, void)
    context = () if wanted.rows == ANYWHERE else signs.context_columns(names, apart, list(groups.values()), item)
    shown = replace(
        wanted,
        kind="long",
        transaction="+".join(show_column(names, place) + DAY * (place in days) for place in ids),
        item=show_column(names, item),
        quantity=show_column(names, quantity) if quantity is not None else wanted.quantity,
    )
    fact = f"column {(void or 0) + 1} marks rows as cancelled, refunded, shipping, views or the like"
    note = "" if void is None else f"{fact}; if such rows are not sales, remove them first"
    others = set(range(len(names))) - {*places, *(place for _, place in context)}
    counts = (
        place for place in sorted(others) if all(signs.AMOUNT.fullmatch(row[place]) for row in cells if row[place])
    )
    watched = tuple(counts) if cells and quantity is None and wanted.quantity is None else ()
    return DetectedLayout(shown, tuple(names), places, skip, len(ids), context, days=days, note=note, watched=watched)


def _has_header(rows: FirstRows, wanted: Layout) -> bool:
    """Return whether a long file has a header."""
    if wanted.header is not None:
        return bool(wanted.header)
    texts = [each for each in (wanted.transaction, wanted.item, wanted.quantity) if each not in (None, NONE)]
    bare = [part.strip() for each in texts for part in each.split("+")]
    if any(part.isdecimal() and part in rows.first and rows.first.index(part) + 1 != int(part) for part in bare):
        raise Ambiguity("line 1 may be a header or data", *_ways_of_header(wanted))
    if any(not COLUMN_NUMBERS.fullmatch(each) for each in texts) or any(map(is_known, rows.first)):
        return True
    if len(rows.first) < 2 or not rows.body:
        return True  # it is refused later, with a more specific error
    cells = ([row[place] for row in rows.body if len(row) > place] for place in range(len(rows.first)))
    recurs = any(head and head in column for head, column in zip(rows.first, cells, strict=True))
    shown = False if recurs else shows_header(rows)  # column names never recur
    if shown is None:
        raise Ambiguity("line 1 may be a header or data", *_ways_of_header(wanted))
    return shown


def _ways_of_header(wanted: Layout) -> list[tuple[Layout, str]]:
    return [(replace(wanted, kind="long", header=way), "") for way in (True, False)]


def shows_header(rows: FirstRows) -> bool | None:
    """Return whether digits show the first line to be a header (True) or data (False); None if they show neither."""
    body = [row for row in rows.body if len(row) == len(rows.first)]
    numbers = list(map(str, range(len(rows.first))))  # as pandas names columns, with "" for its index
    names = (column for column in zip(*body, strict=True) if not any(map(signs.is_number, column)))
    if rows.first in (numbers, ["", *numbers[:-1]]) and any(map(all, names)):
        return True
    votes = set()
    for place, head in enumerate(rows.first):
        cells = [row[place] for row in body]
        if cells and all(map(_DIGIT.search, cells)):
            votes.add(not _DIGIT.search(head))
    return votes.pop() if len(votes) == 1 else None


def _is_above_ids(rows: FirstRows, place: int) -> bool:
    """Return whether the first line is a header above a column of ids, which have digits while the name has none."""
    column = [row[place] for row in rows.cells if len(row) > place]
    return len(column) > 1 and not _DIGIT.search(column[0]) and all(map(_DIGIT.search, column[1:]))


# ---- tables: Parquet and frames


def detect_table_layout(rows: FirstRows, kinds: Sequence[Any], wanted: Layout) -> DetectedLayout:
    """Detect the layout of a table from its first rows and its columns' Arrow types.

    Raises:
        BasketError: the layout is ambiguous, or the table does not fit the requested one.
    """
    return resolve_layout(lambda layout: _detect_table_layout(rows, kinds, layout), wanted)


def _detect_table_layout(rows: FirstRows, kinds: Sequence[Any], wanted: Layout) -> DetectedLayout:
    names, held = rows.first, [place for place, kind in enumerate(kinds) if is_list(kind)]
    texts = [is_text(getattr(kind, "value_type", kind)) and place not in held for place, kind in enumerate(kinds)]
    if any(each is not None for each in (wanted.separator, wanted.header, wanted.encoding, wanted.sheet)):
        raise BasketError("Parquet and tables in memory have no separator, header, encoding or sheet; leave them out")
    kind = wanted.kind or _kind_of_table(rows, texts, held, wanted)
    if kind == "list":
        found = list_found(names, held if wanted.within in (None, NONE) else range(len(names)), wanted)
        ids = [
            rows.column(place) for place, name in enumerate(names) if place not in found.places and signs.is_index(name)
        ]
        if wanted.kind is None and ids and len(set(ids[0])) < len(ids[0]):
            raise Ambiguity(
                "the table has lists and repeated ids",
                (found.layout, "if each row is a basket"),
                end="or pass one row per item, with frame.explode(column)",
            )
        return found
    if kind == "long":
        if wanted == Layout() and len(names) == 2 and sum(texts) == 1 and not any(map(is_known, names)):
            wanted = Layout(transaction=f"#{texts.index(False) + 1}", item=f"#{texts.index(True) + 1}")
        return long_found(names, wanted, [row for row in rows.body if len(row) == len(names)])
    if kind != "one-hot":
        raise BasketError(f"the layout {kind} is only for text; tables can have long, one-hot or list")
    places = signs.find_id_columns(rows, wanted)
    return DetectedLayout(signs.onehot_layout(wanted, names, places), tuple(names), places)


def list_found(names: Sequence[str], held: Sequence[int], wanted: Layout) -> DetectedLayout:
    """Complete the layout of a column of lists, one of the columns ``held``."""
    if wanted.item is not None:
        [place] = requested_places(names, "item", wanted.item, several=False)
        held = [place] if place in held else []
    if len(held) != 1:
        raise BasketError(
            f"the layout list needs one column of lists, got {len(held)}; pass {layout_arg('list item=#1')}, by number"
        )
    return DetectedLayout(replace(wanted, kind="list", item=show_column(names, held[0])), tuple(names), (held[0],))


def _kind_of_table(rows: FirstRows, texts: Sequence[bool], held: Sequence[int], wanted: Layout) -> str:
    names = rows.first
    if wanted.transaction is not None or wanted.item is not None:
        if wanted.item is None and not held and signs.holds_flags(rows, wanted):
            return "one-hot"
        return "list" if wanted.transaction is None and held else "long"
    usual = [bool(known_places(names, role)) for role in ("transaction", "item")]
    if len(names) > 1 and all(usual) and not held:
        return "long"
    if len(held) == 1 or (rows.body and signs.holds_flags(rows, wanted)):
        return "list" if held else "one-hot"
    if len(names) == 2 and not held and (any(usual) or sum(texts) == 1):
        return "long"
    if not rows.body:
        raise BasketError("the table has no rows that show its layout; pass layout='one-hot' or another")
    _refuse_wide(rows, [place for place, each in enumerate(texts) if each])
    long = signs.likely_long_layout(rows) if len(names) > 1 and rows.body else "long transaction=#1 item=#2"
    if len(names) == 1 and any(texts) and (mark := find_item_separator(cells_of_names(rows.body))):
        raise Ambiguity(f"the cells contain {MARKS[mark][0]}", (Layout("list", item="#1", within=mark), ""))
    counts, has_zeros = not any(texts) and not held and len(names) > 1, any("0" in row for row in rows.body)
    index = ".set_index(ID_COLUMNS)" * (usual[0] or any(signs.non_flag_columns(rows)))
    raise Ambiguity(
        f"the layout of the {len(names)} columns, {len(held)} of them lists, is ambiguous",
        *[(long, "with the correct column numbers")] * (not counts or len(names) < _MIN_COUNTS - 2 * has_zeros),
        *((f"list item=#{place + 1}", "") for place in held[:1]),
        *((Layout("one-hot", transaction=ids), "") for ids in signs.non_flag_columns(rows)),
        end="or pass frame.reset_index() if the index holds ids"
        if len(names) < 2
        else f"or for quantities, a column per item, pass frame{index} > 0 without totals" * counts,
    )


def _refuse_wide(rows: FirstRows, texts: Sequence[int]) -> None:
    """Refuse columns of names that recur in the next column, such as the first, second … item of each row."""
    held = [{row[place] for row in rows.body if row[place]} for place in texts]
    shared = sum(bool(one & other) for one, other in itertools.pairwise(held))
    if shared and 2 * shared >= len(held) - 1:
        raise BasketError(
            f"{len(held)} columns of text, from #{texts[0] + 1} on, share values, as if each row were a basket; pass "
            "lists of each row's items, frame[columns].apply(lambda row: row.dropna().tolist(), axis=1), or for "
            "attributes pandas.get_dummies(frame); if the column names are items, too, read the file with header=None"
        )
