"""What first rows show of a layout: rules, one after the other; what may mean several things is refused.

An error names the layouts that decide, each of them tried on the rows. Nothing that is said holds a cell.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assocpriv.promise.errors import BasketError
from assocpriv.records.cells import LISTS, MARKS, MISSING_WORDS, cells_of_names, is_word, several_in_one
from assocpriv.records.columns import is_list_type, is_text
from assocpriv.records.item_lines import REMARKS, refuse_beside_items, refuse_spmf, refuse_table_of_numbers
from assocpriv.records.layout import (
    ANYWHERE,
    COLUMN_NUMBERS,
    DAY,
    NONE,
    Doubt,
    Found,
    Layout,
    asked_places,
    decided,
    is_usual,
    long_columns,
    say_layout,
    shown_column,
    usual_places,
)
from assocpriv.records.one_hot import (
    flags_beside,
    holds_flags,
    ids_of_onehot,
    is_index,
    is_onehot,
    is_surely_onehot,
    onehot_layout,
)
from assocpriv.records.sources import FirstRows, cut_said_separator, find_separator, is_total
from assocpriv.records.values import (
    AMOUNT,
    DATE,
    LEAST_LINES,
    LEAST_REPEATS,
    MONEY,
    cells_apart,
    context_of,
    is_figure,
    is_number,
    likely_columns,
    refuse_ids_of_rows,
    refuse_no_items,
    void_column,
)

_ITEM_NUMBERS = re.compile(r"\s*[0-9]+(\s+[0-9]+)*\s*")
_DIGIT = re.compile(r"[0-9]")
_SLOT = re.compile(r"([^0-9]*)([0-9]{1,3})")
_WITH_COLON = re.compile(r"[^\s:]{1,20}: ?\S.*")
_RULE = re.compile(r"[|+ ]*[-=_*#~]{3,}[-=_*#~|+: ]*")  # between blocks of a text
_LEAST_COUNTS = 5  # columns of numbers from which they are no ids and items
_TITLE_LINES = 10  # above a header, at most
_LEAST_NUMBERED = 8  # from which first cells that are numbers, above names alone, are ids


# ---- what rules find out


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of what first lines mean: a kind of layout, the sign of it, and lines, with / between, that show it."""

    kind: str
    sign: str
    example: str
    holds: Callable[[FirstRows, Layout], bool] = field(repr=False)


def guess(rows: FirstRows, said: Layout) -> str:
    """Return the kind of layout: what is said, or that of the first rule that holds.

    Raises:
        Doubt: the rule is that of tables which may mean several things.
        BasketError: what can be no baskets.
    """
    if said.kind is not None:
        return said.kind
    return next(rule.kind for rule in RULES if rule.holds(rows, said))


def _is_dat(rows: FirstRows, said: Layout) -> bool:
    if replace(said, sheet=None) != Layout() or not rows.lines:
        return False
    numbers = [line for line in rows.lines if _ITEM_NUMBERS.fullmatch(line)]
    if any(line.lower().startswith(("@relation", "@attribute")) for line in rows.lines):
        raise BasketError("the file is Weka's ARFF, which is not read; save it as CSV")
    if any(line.upper().startswith(("INSERT INTO ", "CREATE TABLE ")) for line in rows.lines):
        raise BasketError("the file is a dump of SQL, which is not read; export the table as CSV")
    if rows.lines[0].startswith(REMARKS) and any(each.startswith(REMARKS) for each in rows.lines[1:]):
        raise BasketError(
            "lines that begin with @, # or % are remarks and names, as SPMF has them: take them out, the rest is items"
        )
    if rows.plain:
        holds = bool(numbers) and numbers[0] == rows.lines[0]
    else:
        holds = len(numbers) == len(rows.lines) and any(len(line.split()) > 1 for line in numbers)
    if holds:
        refuse_table_of_numbers([line.split() for line in numbers])
        refuse_beside_items([list(map(int, line.split())) for line in numbers if len(line) < 1 << 12])
    return holds


def _is_long(rows: FirstRows, said: Layout) -> bool:
    if said.item is not None or said.quantity is not None:
        return True
    if said.transaction is not None:
        return not is_onehot(rows, said)
    if said.header is False or len(rows.first) < 2 or not names_columns(rows.first):
        return False
    numbered = zip(rows.numbers, rows.cells, strict=True)
    odd = next((row for row in numbered if len(row[1]) != len(rows.first) and not is_total(row[1])), None)
    if odd is not None:
        has_names = all(len(row) == len(rows.first) + 1 for row in rows.body)
        why = "; R writes names of rows so: write.table(…, row.names=FALSE)" if has_names else ""
        raise Doubt(
            f"line {rows.numbers[0]} names columns of the long layout, but line {odd[0]} has not as many cells{why}",
            ("lines", "if every line is a basket"),
            end="or correct the file",
        )
    return True


def names_columns(row: Sequence[str]) -> bool:
    """Tell whether a line has usual names of a column of transactions and of one of items."""
    return all(usual_places(row, role) for role in ("transaction", "item"))


def _is_doubtful(rows: FirstRows, said: Layout) -> bool:
    """Refuse what is more likely a table than baskets, a line each, and what may be a header above baskets."""
    mark = Layout("lines", separator=None if said.separator is None and rows.separator == "," else rows.separator)
    _refuse_list_lines(rows, said)
    _refuse_lists(rows, mark)
    if said.header is None:
        _refuse_framed(rows, said, mark)
        _refuse_title(rows, mark)
        _refuse_slots(rows, mark)
        _refuse_numbered(rows, mark)
    _refuse_first_words(rows, mark)
    _refuse_last_cells(rows, mark)
    _refuse_table(rows, mark)
    _refuse_first_cells(rows, mark)
    if said.header is None and rows.body and rows.first and all(map(is_usual, rows.first)):
        ways = ((replace(mark, header=way), "") for way in (True, False))
        raise Doubt("line 1 may be a header or a basket", *ways)
    if rows.unparted and said.separator is None:
        parted, blank = FirstRows(rows.lines, " "), Layout("lines", separator=" ")
        _refuse_first_words(parted, blank)
        _refuse_first_cells(parted, blank)
        raise Doubt(
            "no line has a comma, semicolon, tab or bar",
            ("lines separator=blank", "if blanks part the names, and no name has one in it"),
            ("lines separator=,", "if each line is one name"),
        )
    return False


def _refuse_title(rows: FirstRows, mark: Layout) -> None:
    if above := title_lines(rows):
        line = rows.numbers[above]
        raise Doubt(f"line {line} seems to name columns", (f"long header={line}", ""), ("lines", ""))
    for line, row in zip(rows.numbers, rows.cells[:_TITLE_LINES], strict=False):
        if row and all(cell.startswith('{"ImportId"') for cell in row):  # the last of Qualtrics' three
            survey = replace(mark, transaction="#1", header=line)
            raise Doubt(f"line {line} ends the header of a survey", (survey, "without the first column"))
    for above in range(1, _TITLE_LINES) if len(rows.first) < 2 else ():
        below = rows.after(above)
        if below.is_table and len(below.body) >= LEAST_REPEATS and _sign_of_table(below):
            named = replace(likely_columns(below), header=below.numbers[0], separator=mark.separator)
            raise Doubt(
                f"below a title line {below.numbers[0]} seems to name columns",
                (named, "with the numbers of its columns"),
                ("lines", ""),
            )


def _refuse_framed(rows: FirstRows, said: Layout, mark: Layout) -> None:
    """Refuse a one-hot table with a title above it or totals below it, with what to do."""
    for above in range(min(_TITLE_LINES, len(rows.cells))):
        if any(len(cells) > 1 for cells in _filled(rows.cells[:above])):
            return
        below = rows.after(above)
        ends = is_total(below.cells[-1]) and len(below.cells[-1]) == len(below.first)
        below.cells = below.cells[: len(below.cells) - ends]
        if not (above or ends) or not is_surely_onehot(below, said):
            continue
        if ends:
            raise BasketError(f"line {rows.numbers[-1]:,} holds totals below a one-hot table; take it out")
        line = below.numbers[0]
        named = replace(mark, kind="one-hot", header=line)
        raise Doubt(f"below a title line {line} names the columns of a one-hot table", (named, ""))


def _refuse_slots(rows: FirstRows, mark: Layout) -> None:
    numbered = _slots(rows)
    if numbered is not None:
        raise Doubt(
            "line 1 seems to number the cells of a basket",
            (replace(mark, transaction="#1" if numbered else None, header=True), "if it is a header"),
            (replace(mark, header=False), "if it is a basket"),
        )


def _refuse_lists(rows: FirstRows, mark: Layout) -> None:
    for place in range(len(rows.first)) if rows.is_table and len(rows.first) > 1 else ():
        if rows.body and all(LISTS.fullmatch(row[place]) for row in rows.body):
            header = LISTS.fullmatch(rows.first[place]) is None
            lists = Layout("list", item=f"#{place + 1}", within=",", separator=mark.separator, header=header)
            raise Doubt(f"column {place + 1} holds lists as a program prints them", (lists, "to take them apart"))


def _refuse_list_lines(rows: FirstRows, said: Layout) -> None:
    lists = [LISTS.fullmatch(line.strip().strip('"')) is not None for line in rows.lines]
    if said.within is None and 2 * sum(lists) > len(lists):
        apart = Layout("list", item="#1", within=",", separator="\t", header=said.header or not lists[0])
        raise Doubt(
            "most lines are lists as a program prints them",
            (apart, "to take them apart"),
            (replace(said, kind="lines", within=NONE), "if these are names of items"),
        )


def _refuse_first_words(rows: FirstRows, mark: Layout) -> None:
    """Refuse ids with a colon, and names of items, in front of what stands in a line."""
    lines = [[cell for cell in row if cell] for row in rows.cells if any(row)]
    if len(lines) < 3:
        return
    behind, between = [cell for row in lines for cell in row[1:]], " " if rows.unparted else mark.separator or ","
    if all(_WITH_COLON.fullmatch(row[0]) for row in lines) and not any(map(_WITH_COLON.fullmatch, behind)):
        raise BasketError(
            f"all lines begin with an id and a colon; write a separator in its place, as sed 's/: */{between}/' does; "
            f"lines {'separator=blank ' * rows.unparted}transaction=#1 as the layout then leaves the ids out"
        )
    if not all(map(str.isdecimal, behind)) or sum(_DIGIT.search(row[0]) is None for row in lines) < len(lines):
        return
    numbers = [[int(cell[:18]) for cell in row[1:]] for row in lines]
    if sum(len(each) > 1 for each in numbers) > 2 and all(
        a < b for each in numbers for a, b in itertools.pairwise(each)
    ):
        raise Doubt(
            "all lines have a name and numbers that rise, as where an item's line lists its transactions",
            (mark, "if each line is a basket"),
            end="or write a line for each transaction",
        )


def _refuse_last_cells(rows: FirstRows, mark: Layout) -> None:
    places = _last_cells(rows)
    if places is not None:
        raise Doubt(
            "the last cells of all lines are numbers, amounts, dates or ids, and stand nowhere else, as no items do",
            *((replace(mark, transaction=f"#{place + 1}"), "to leave them out") for place in places),
            (mark, "if they are items"),
            end="" if places else "or leave them out of the file",
        )


def _refuse_table(rows: FirstRows, mark: Layout) -> None:
    sign = _sign_of_table(rows) if rows.is_table and len(rows.body) > 1 else None
    if sign is None:
        return
    header, rest = shows_header(rows), [cell for row in rows.body for cell in row[1:]]
    if header and all(cell.isdecimal() for cell in rest if cell) and (len(rows.first) > 3 or "0" in rest):
        raise Doubt(
            "the columns behind the first hold whole numbers alone, as quantities of items do",
            *((replace(mark, kind="one-hot", transaction=ids), "") for ids in flags_beside(rows)),
            (mark, "if each line is a basket"),
            end="or write 1 for any quantity above 0, and 0 else, without totals, in a one-hot table",
        )
    once = header is None and not {cell for row in rows.body for cell in row}.intersection(rows.first)
    counts = all(map(is_number, rows.column(0))) and not any(map(is_number, rest))
    raise Doubt(
        f"all lines have {len(rows.first)} cells and {sign}, as in a table, not in baskets",
        (replace(likely_columns(rows), header=header, separator=mark.separator), "with the numbers of its columns"),
        *((replace(mark, kind="one-hot", transaction=ids), "") for ids in flags_beside(rows)),
        *[(replace(mark, transaction="#1", header=header), "without the first column")] * counts,
        *[(replace(mark, header=True), "if line 1 is a header")] * once,
        (mark, "if each line is a basket"),
    )


def _refuse_first_cells(rows: FirstRows, mark: Layout) -> None:
    if apart := _first_cells(rows):
        columns, header = apart
        ids = "+".join(f"#{place + 1}" for place in range(columns))
        raise Doubt(
            "the first cells of all lines are ids, numbers or dates, and stand nowhere else, as no items do",
            (replace(mark, transaction=ids, header=header), "to leave them out"),
            (mark, "if they are items"),
        )


def title_lines(rows: FirstRows) -> int:
    """Return how many lines stand above one that names columns of the long layout; 0 if none does below line 1."""
    return next((place for place, row in enumerate(rows.cells[:_TITLE_LINES]) if names_columns(row)), 0)


def _refuse_numbered(rows: FirstRows, mark: Layout) -> None:
    """Refuse columns of which several are numbered, as item1,qty1,item2,qty2: those of items are a basket."""
    stems = dict[str, list[int]]()
    for place, name in enumerate(rows.first):
        if (found := _SLOT.fullmatch(name)) and (stem := found[1].strip(" _.-")):
            stems.setdefault(stem, []).append(place)
    items = [places for stem, places in stems.items() if len(places) > 1 and usual_places([stem], "item")]
    if len(items) == 1 and len(rows.first) > len(items[0]) + 1:
        others = "+".join(f"#{place + 1}" for place in range(len(rows.first)) if place not in items[0])
        raise Doubt(
            "line 1 numbers the columns of items, with others beside them",
            (replace(mark, transaction=others, header=True), "if each line is a basket"),
            end="or give the columns of items alone",
        )


def _slots(rows: FirstRows) -> bool | None:
    """Tell whether line 1 numbers the cells below, as Item 1,Item 2 or 0,1,2, all but its first one; else None."""
    for place in (0, 1) if len(rows.body) > 2 else ():
        found = [_SLOT.fullmatch(cell) for cell in rows.first[place:] if cell]
        names = {each[1].strip(" _.-").lower() for each in found if each}
        numbers = [int(each[2]) for each in found if each]
        others = {cell for row in rows.body for cell in row}
        alike = any(each and each[1].strip(" _.-").lower() in names for each in map(_SLOT.fullmatch, others))
        rising = (
            not alike
            and len(numbers) > 1
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            and numbers[0] < 2
        )
        if rising and len(numbers) == len(found) and len(names) == 1 and not others & set(rows.first[place:]):
            return place == 1
    filled = [cell for cell in rows.first if cell]
    columns = [rows.column(place) for place in range(len(rows.first))] if rows.is_table else []
    repeat = all({*column} <= {"", name} for name, column in zip(rows.first, columns, strict=False))
    if len(rows.body) > 2 and columns and repeat and any("" in column for column in columns):
        return False  # cells repeat the name of their column
    if len(rows.first) > 1 and len(filled) == 1 and is_usual(filled[0]):  # "Basket;;;"
        return False
    return None


def _filled(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the cells of lines that hold something, of lines that do."""
    return [cells for row in lines if (cells := [cell for cell in row if cell])]


def _note_of_lines(rows: FirstRows) -> str:
    """Say which cells at an end of lines stand nowhere else, as of customers or payments; empty if none do."""
    lines = _filled(rows.cells)
    states = "cells of lines stand nowhere else, as customers, stores or payments do; if so,"
    if count := cells_apart(lines)[0]:
        numbers = "+".join(f"#{place + 1}" for place in range(count))
        return f"the first {states} say {say_layout(f'lines transaction={numbers}')}"
    return f"the last {states} take them out" if cells_apart([row[::-1] for row in lines])[0] else ""


def _last_cells(rows: FirstRows) -> list[int] | None:
    """Return the place of last cells that are no items, [] where it differs; None if they may be items."""
    lines = _filled(rows.cells)
    lasts, others = [row[-1] for row in lines], [cell for row in lines for cell in row[:-1]]
    if len(lines) < 3 or min(map(len, lines)) < 2 or any(map(is_figure, others)):
        return None
    amounts = all(MONEY.fullmatch(cell) or DATE.fullmatch(cell) for cell in lasts)
    ids = len(lines) >= LEAST_LINES and len({*lasts}) == len(lasts) and 2 * len({*others}) <= len(others)
    numbers = len(lines) >= _LEAST_NUMBERED and all(map(is_number, lasts))
    if not (amounts or numbers or (ids and not {*lasts} & {*others})):
        return None
    places = {len(row) - 1 for row in rows.cells if row}
    return list(places) if len(places) == 1 and all(row[-1] for row in rows.cells if row) else []


def _first_cells(rows: FirstRows) -> tuple[int, bool | None] | None:
    """Return how many of the first cells are no items, and what ``header`` to say; None if all may be items."""
    lines = [row for row in rows.body if row]
    others = {cell for row in lines for cell in row[1:] if cell}
    if not others or not all(row[0] for row in lines):
        return None
    apart, are_ids = cells_apart(_filled(lines))
    header = True if _is_above_ids(rows, 0) and not is_number(rows.first[0]) else None
    data = rows.cells if header is None else rows.body
    dates = 0
    while data and all(len(row) > dates + 1 and DATE.fullmatch(row[dates]) for row in data):
        dates += 1
    if not dates and data and all(len(row) > 2 and DATE.fullmatch(row[1]) for row in data):
        dates = 2  # as a store before it
    left = [row[dates:] for row in data]
    numbers = all(is_number(row[0]) for row in left if row) and not any(is_number(each) for each in others)
    counts = [int(row[0]) for row in left if row and row[0].isdecimal() and len(row[0]) < 19]
    in_turn = len(counts) == len(left) > 2 and counts[0] < 2 and all(b == a + 1 for a, b in itertools.pairwise(counts))
    if are_ids or dates or in_turn or (numbers and len(left) >= _LEAST_NUMBERED):
        counted = dates + (in_turn or not dates or (numbers and len(left) >= _LEAST_NUMBERED))
        return max(counted, apart * are_ids), header
    return None


def _sign_of_table(rows: FirstRows) -> str | None:
    """Say what speaks for a table."""
    if shows_header(rows):
        return "the first one looks like a header"
    columns = [rows.column(place) for place in range(len(rows.first))]
    numbers = [sum(map(is_number, column)) for column in columns]
    whole = [number for number, column in zip(numbers, columns, strict=True) if all(column)]
    if len(rows.body) in numbers and any(2 * number <= len(rows.body) for number in whole):
        return "some columns hold only numbers, others hardly any"
    filled = [[cell for cell in row if cell and not is_word(cell, MISSING_WORDS)] for row in rows.body]
    if 2 * sum(len(set(row)) < len(row) for row in filled) > len(filled):
        return "most repeat a value"
    pairs = [(one, other) for one, other in itertools.pairwise(rows.cells) if one != other]
    for place in range(len(rows.first)):
        agree = sum(one[place] == other[place] != "" for one, other in pairs)
        if len(pairs) >= LEAST_REPEATS - 1 and 2 * agree >= len(pairs):
            return "neighbours often agree in a column"
    return None


RULES = (
    Rule(
        "dat", "lines of item numbers, with blanks between; of .dat and .txt line 1 decides", "17 4 256 / 9 4", _is_dat
    ),
    Rule(
        "long",
        "line 1 has a usual name of a transaction column and one of an item column, or columns are said",
        "receipt,item / 1,tea",
        _is_long,
    ),
    Rule(
        "one-hot",
        "below line 1 stand only 1 and 0, or words for them, but for a column of ids; some line repeats one",
        "tea,milk,rye / 1,0,1 / 0,1,0",
        is_onehot,
    ),
    Rule(
        "refused",
        "a table: a header by its digits, columns of numbers beside names, values that recur in a line or column, ids",
        "kasse,sache / 1,tea / 2,rye",
        _is_doubtful,
    ),
    Rule("lines", "anything else: a basket a line, without a header", "tea,milk / rye", lambda _rows, _said: True),
)


# ---- text


def understand(lines: Sequence[str], said: Layout, *, plain: bool = False) -> Found:
    """Return how a text is read, from its first lines; what is said decides.

    ``plain`` says that the file's name is that of files of numbers.

    Raises:
        BasketError: the lines may mean several things, or do not fit what was said.
    """

    def fits(found: Found) -> bool:
        if found.kind in ("lines", "dat"):
            return True
        rows = FirstRows(lines[found.skip :], found.separator).cells
        return all(len(row) == (len(found.names) or len(rows[0])) for row in rows if not is_total(row))

    return decided(lambda layout: _understood(lines, layout, plain), said, fits)


def _understood(lines: Sequence[str], said: Layout, plain: bool) -> Found:
    refuse_spmf(lines)
    above, mark = cut_said_separator(lines)
    if mark is not None:
        said = replace(said, separator=said.separator or mark)
    if said.header not in (None, True, False):
        above = int(said.header) - 1
    if said.kind == "dat" or _is_dat(FirstRows(lines, " ", plain=plain), said):
        return Found(Layout("dat"), skip=above)
    mark, unparted = (said.separator, False) if said.separator else find_separator(lines[above:], said.kind)
    rows = FirstRows(lines, mark, above=above, unparted=unparted)
    title = title_lines(rows) if said.header is None and said.kind in (None, "long") else 0
    width = len(rows.cells[title]) if rows.cells else 0
    below = [row for row in rows.cells[title:] if not is_total(row)]
    if (
        title
        and {len(row) for row in below} == {width}
        and all(sum(map(bool, row)) < width for row in rows.cells[:title])
    ):
        said = replace(said, header=rows.numbers[title])
        rows = FirstRows(lines, mark, above=rows.numbers[title] - 1, unparted=unparted)
    kind = guess(rows, said)
    made = {"lines": _lines_found, "long": _long_found, "one-hot": _onehot_found, "list": _list_found}[kind]
    return made(rows, replace(said, separator=mark))


def _skip(rows: FirstRows, has_header: bool) -> int:
    return rows.first_line + 1 if has_header else rows.above


def _lines_found(rows: FirstRows, said: Layout) -> Found:
    rule = next(
        (number for number, row in zip(rows.numbers, rows.cells, strict=True) if any(map(_RULE.fullmatch, row))), 0
    )
    if rule and said.kind is None:
        raise BasketError(
            f"line {rule} is a rule between blocks (---), no basket; write a basket a line, or a row an item"
        )
    if said.kind is None and rows.lines[:1] and rows.lines[0].startswith(REMARKS):
        raise BasketError("line 1 begins with @, # or %, as a remark does, no basket; take it out")
    single = max(map(len, rows.cells), default=0) == 1
    if said.kind is None and single and rows.blanks and 2 * rows.blanks < len(rows.cells):
        raise Doubt(
            "single names stand in blocks with blank lines between, as where each block is a basket",
            ("lines separator=,", "if each line is a basket"),
            end='or join the lines of a block: awk \'BEGIN{RS="";FS="\\n";OFS=","}{$1=$1}1\'',
        )
    _refuse_list_lines(rows, said)
    header, places = bool(said.header), tuple[int, ...]()
    if said.transaction is not None:
        if said.header is None and rows.first:
            by_name = not COLUMN_NUMBERS.fullmatch(said.transaction)
            header = by_name or _is_above_ids(rows, asked_places(rows.first, "transaction", said.transaction)[0])
        names = rows.first if header else [""] * len(rows.first)
        places = asked_places(names, "transaction", said.transaction)
        said = replace(said, transaction="+".join(f"#{place + 1}" for place in places))
    told = replace(said, kind="lines", header=header and (said.header or True))
    note = "" if said.kind is not None else _note_of_lines(rows)
    return Found(told, places=places, skip=_skip(rows, header), note=note)


def _long_found(rows: FirstRows, said: Layout) -> Found:
    if not rows.cells:
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    if not rows.first:
        raise BasketError(f"line {rows.numbers[0]} is not CSV: quotes are not closed on the line; correct the header")
    header = _has_header(rows, said)
    names = rows.first if header else [""] * len(rows.first)
    told = replace(said, header=header and (said.header or True))  # its line's number, if that was said
    cells = [row for row in (rows.body if header else rows.cells) if len(row) == len(names) and row != list(names)]
    return long_found(names, told, cells, _skip(rows, header))


def _list_found(rows: FirstRows, said: Layout) -> Found:
    if said.within in (None, NONE):
        raise BasketError("the layout list of a text needs what separates the items of a cell, as within=,")
    if not rows.first:
        raise BasketError("the file holds no baskets; check that it is the right one")
    header = bool(any(map(is_usual, rows.first)) or shows_header(rows)) if said.header is None else bool(said.header)
    names = rows.first if header else [""] * len(rows.first)
    found = list_found(names, range(len(names)), replace(said, header=header and (said.header or True)))
    return replace(found, skip=_skip(rows, header))


def _onehot_found(rows: FirstRows, said: Layout) -> Found:
    if len(rows.first) < 2:
        raise BasketError(f"a one-hot file needs a column for each item, got {len(rows.first)}; check the separator")
    if said.header is False:
        raise BasketError("a one-hot file needs a line that names its columns; header= can only say which line does")
    places = ids_of_onehot(rows, said)
    header = said.header if type(said.header) is int else None
    found = onehot_layout(replace(said, header=header), rows.first, places)
    return Found(found, tuple(rows.first), places, _skip(rows, True))


def long_found(names: Sequence[str], said: Layout, cells: Sequence[Sequence[str]], skip: int = 0) -> Found:
    """Return a long layout with its columns, shown by their names only where they are usual ones.

    Raises:
        Doubt: the first rows' ``cells`` show that the column of items holds none.
    """
    usual = [] if said.item is not None else usual_places(names, "item")
    full = [place for place in usual if all(row[place] for row in cells if not is_total(row))]
    if full and full[0] != usual[0]:  # names of goods, where their codes have gaps
        said = replace(said, item=f"#{full[0] + 1}")
    ids, item, quantity = long_columns(names, said)
    if said.transaction is None:
        refuse_ids_of_rows(names, said, cells, ids)
    groups = dict[tuple[str, ...], list[Sequence[str]]]()
    for row in cells:
        groups.setdefault(tuple(row[place] for place in ids), []).append(row)
    if said.item is None:
        refuse_no_items(names, said, list(groups.values()), (ids, item))
    places = (*ids, item, *([] if quantity is None else [quantity]))
    asked = [part.strip() for part in (said.transaction or "").split("+")]
    days = frozenset(place for place, part in zip(ids, asked, strict=False) if part.endswith(DAY) and part not in names)
    void = void_column(names, cells, places)
    apart = places if void is None else (*places, void)
    context = () if said.rows == ANYWHERE else context_of(names, apart, list(groups.values()), item)
    shown = replace(
        said,
        kind="long",
        transaction="+".join(shown_column(names, place) + DAY * (place in days) for place in ids),
        item=shown_column(names, item),
        quantity=shown_column(names, quantity) if quantity is not None else said.quantity,
    )
    states = f"column {(void or 0) + 1} says which rows are cancelled, refunded, shipping, views or the like"
    note = "" if void is None else f"{states}; if such rows are no sales, take them out before"
    others = set(range(len(names))) - {*places, *(place for _, place in context)}
    counts = (place for place in sorted(others) if all(AMOUNT.fullmatch(row[place]) for row in cells if row[place]))
    watched = tuple(counts) if cells and quantity is None and said.quantity is None else ()
    return Found(shown, tuple(names), places, skip, len(ids), context, days=days, note=note, watched=watched)


def _has_header(rows: FirstRows, said: Layout) -> bool:
    """Tell whether a long file has a header."""
    if said.header is not None:
        return bool(said.header)
    asked = [each for each in (said.transaction, said.item, said.quantity) if each not in (None, NONE)]
    bare = [part.strip() for each in asked for part in each.split("+")]
    if any(part.isdecimal() and part in rows.first and rows.first.index(part) + 1 != int(part) for part in bare):
        raise Doubt("line 1 may be a header or data", *_ways_of_header(said))
    if any(not COLUMN_NUMBERS.fullmatch(each) for each in asked) or any(map(is_usual, rows.first)):
        return True
    if len(rows.first) < 2 or not rows.body:
        return True  # to be refused as what it is
    recurs = any(
        head and head in [row[place] for row in rows.body if len(row) > place] for place, head in enumerate(rows.first)
    )  # as the name of no column does
    shown = False if recurs else shows_header(rows)
    if shown is None:
        raise Doubt("line 1 may be a header or data", *_ways_of_header(said))
    return shown


def _ways_of_header(said: Layout) -> list[tuple[Layout, str]]:
    return [(replace(said, kind="long", header=way), "") for way in (True, False)]


def shows_header(rows: FirstRows) -> bool | None:
    """Tell from digits whether the first line is a header: True, False, or None where they do not tell."""
    body = [row for row in rows.body if len(row) == len(rows.first)]
    numbers = list(map(str, range(len(rows.first))))  # as pandas calls columns, and the one of its index
    names = (column for column in zip(*body, strict=True) if not any(map(is_number, column)))
    if rows.first in (numbers, ["", *numbers[:-1]]) and any(map(all, names)):
        return True
    votes = set()
    for place, head in enumerate(rows.first):
        cells = [row[place] for row in body]
        if cells and all(map(_DIGIT.search, cells)):
            votes.add(not _DIGIT.search(head))
    return votes.pop() if len(votes) == 1 else None


def _is_above_ids(rows: FirstRows, place: int) -> bool:
    """Tell whether the first line is a header by the column of ids: these have digits, and their name has none."""
    column = [row[place] for row in rows.cells if len(row) > place]
    return len(column) > 1 and not _DIGIT.search(column[0]) and all(map(_DIGIT.search, column[1:]))


# ---- tables: Parquet and frames


def understand_table(rows: FirstRows, kinds: Sequence[Any], said: Layout) -> Found:
    """Return how a table is read, from its first rows and its columns' Arrow types.

    Raises:
        BasketError: the table may mean several things, or does not fit what was said.
    """
    return decided(lambda layout: _understood_table(rows, kinds, layout), said)


def _understood_table(rows: FirstRows, kinds: Sequence[Any], said: Layout) -> Found:
    names, held = rows.first, [place for place, kind in enumerate(kinds) if is_list_type(kind)]
    texts = [is_text(getattr(kind, "value_type", kind)) and place not in held for place, kind in enumerate(kinds)]
    if any(each is not None for each in (said.separator, said.header, said.encoding, said.sheet)):
        raise BasketError("Parquet and tables in memory have no separator, header, encoding or sheet; leave them out")
    kind = said.kind or _kind_of_table(rows, texts, held, said)
    if kind == "list":
        found = list_found(names, held if said.within in (None, NONE) else range(len(names)), said)
        ids = [rows.column(place) for place, name in enumerate(names) if place not in found.places and is_index(name)]
        if said.kind is None and ids and len(set(ids[0])) < len(ids[0]):
            raise Doubt(
                "ids beside the lists come again",
                (found.layout, "if each row is a basket"),
                end="or give rows of items, as frame.explode(column)",
            )
        return found
    if kind == "long":
        if said == Layout() and len(names) == 2 and sum(texts) == 1 and not any(map(is_usual, names)):
            said = Layout(transaction=f"#{texts.index(False) + 1}", item=f"#{texts.index(True) + 1}")
        return long_found(names, said, [row for row in rows.body if len(row) == len(names)])
    if kind != "one-hot":
        raise BasketError(f"tables have no layout {kind}, which is one of text; possible are long, one-hot and list")
    places = ids_of_onehot(rows, said)
    return Found(onehot_layout(said, names, places), tuple(names), places)


def list_found(names: Sequence[str], held: Sequence[int], said: Layout) -> Found:
    """Return the layout of a column of lists, of those that are held."""
    if said.item is not None:
        [place] = asked_places(names, "item", said.item, several=False)
        held = [place] if place in held else []
    if len(held) != 1:
        raise BasketError(
            f"the layout list needs one column of lists, got {len(held)}; say {say_layout('list item=#1')}, by number"
        )
    return Found(replace(said, kind="list", item=shown_column(names, held[0])), tuple(names), (held[0],))


def _kind_of_table(rows: FirstRows, texts: Sequence[bool], held: Sequence[int], said: Layout) -> str:
    names = rows.first
    if said.transaction is not None or said.item is not None:
        if said.item is None and not held and holds_flags(rows, said):
            return "one-hot"
        return "list" if said.transaction is None and held else "long"
    usual = [bool(usual_places(names, role)) for role in ("transaction", "item")]
    if len(names) > 1 and all(usual) and not held:
        return "long"
    if len(held) == 1 or (rows.body and holds_flags(rows, said)):
        return "list" if held else "one-hot"
    if len(names) == 2 and not held and (any(usual) or sum(texts) == 1):
        return "long"
    _refuse_wide(rows, [place for place, each in enumerate(texts) if each])
    long = likely_columns(rows) if len(names) > 1 and rows.body else "long transaction=#1 item=#2"
    if len(names) == 1 and any(texts) and (mark := several_in_one(cells_of_names(rows.body))):
        raise Doubt(f"the cells have {MARKS[mark][0]} in them", (Layout("list", item="#1", within=mark), ""))
    counts, has_zeros = not any(texts) and not held and len(names) > 1, any("0" in row for row in rows.body)
    index = ".set_index(…), with the columns of ids," * (usual[0] or any(flags_beside(rows)))
    raise Doubt(
        f"the {len(names)} columns, {len(held)} of them lists, may mean several things",
        *[(long, "with the numbers of its columns")] * (not counts or len(names) < _LEAST_COUNTS - 2 * has_zeros),
        *((f"list item=#{place + 1}", "") for place in held[:1]),
        *((Layout("one-hot", transaction=ids), "") for ids in flags_beside(rows)),
        end="or, if ids are in its index, give frame.reset_index()"
        if len(names) < 2
        else f"or of quantities, a column an item, give frame{index} > 0, without rows and columns of totals" * counts,
    )


def _refuse_wide(rows: FirstRows, texts: Sequence[int]) -> None:
    """Refuse columns of names that come again in the next column, as the first, second … item of rows."""
    held = [{row[place] for row in rows.body if row[place]} for place in texts]
    shared = sum(bool(one & other) for one, other in itertools.pairwise(held))
    if shared and 2 * shared >= len(held) - 1:
        raise BasketError(
            f"{len(held)} columns of text, from #{texts[0] + 1} on, have values in common, as where each row is a "
            "basket; give a list of each row's items, as frame[columns].apply(lambda row: row.dropna().tolist(), "
            "axis=1), or of attributes pandas.get_dummies(frame); if the names of the columns are items, too, read the "
            "file with header=None before"
        )
