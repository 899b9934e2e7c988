"""Refuse lines of numbers that may be something other than items: rows of a table, or other formats of SPMF."""

import itertools
import re
from collections.abc import Sequence

from assocpriv.guarantees.errors import BasketError
from assocpriv.records.layout import Ambiguity
from assocpriv.records.values import DATE, MIN_IDS, MIN_LINES

_SPMF = (  # signs of its other formats, and their content
    (re.compile(r".* -1 +-2( +SUtility:.*)?"), "sequences, with -1 and -2 after itemsets: write one itemset per line"),
    (re.compile(r"[0-9 ]+\|[0-9]+"), "item numbers with times after bars: keep only the item numbers"),
    (
        re.compile(r"[0-9 ]+:[0-9.]+:[0-9. ]+|[0-9]+:[0-9.]+( +[0-9]+:[0-9.]+)* *"),
        "item numbers with utilities or weights after colons: keep only the item numbers",
    ),
)
REMARKS = ("@", "#", "%")
_MAX_COLUMNS = 4  # of a table of numbers separated by blanks; more are items, such as coded records


def refuse_spmf(lines: Sequence[str]) -> None:
    """Refuse SPMF's formats that hold no baskets, by the form of most lines."""
    filled = [line.strip() for line in lines if line.strip() and not line.startswith(REMARKS)]
    for sign, what in _SPMF:
        if 2 * sum(sign.fullmatch(line) is not None for line in filled) > len(filled):
            raise BasketError(f"the lines are not baskets, but SPMF's {what}")
    if 2 * sum(map(_has_utilities, filled)) > len(filled):
        raise BasketError("the lines hold items, then a total and utilities after colons: keep only the items")


def _has_utilities(line: str) -> bool:
    """Return whether items are followed by two colons, and the last one by a number for each item."""
    mark, parts = "\t" if "\t" in line else " ", line.split(":")
    items, numbers = parts[0].split(mark), parts[-1].split(mark)
    return len(parts) == 3 and len(items) == len(numbers) and all(n.replace(".", "", 1).isdecimal() for n in numbers)


def refuse_table_of_numbers(lines: Sequence[Sequence[str]]) -> None:
    """Refuse lines of equal length whose first numbers hardly ever decrease: rows of transactions and items."""
    widths, cells = set(map(len, lines)), [list(map(int, line)) for line in lines if max(map(len, line)) < 19]
    if len(widths) > 1 or not 1 < max(widths) <= _MAX_COLUMNS or len(cells) < 3 or len(cells) < len(lines):
        return
    steps = [(later[0] > one[0]) - (later[0] < one[0]) for one, later in itertools.pairwise(cells)]
    firsts, others = {line[0] for line in cells}, {cell for line in cells for cell in line[1:]}
    repeat = all(line[0] == line[1] for line in cells)  # baskets never do
    shows = repeat or (len(firsts) > 2 and len(cells) >= MIN_IDS) or not firsts & others
    if shows and 0 in steps and 1 in steps and 20 * steps.count(-1) <= len(steps):
        pairs = [line[:2] for line in cells]
        several = len(cells[0]) > 2 and any(one == other for one, other in itertools.pairwise(pairs))
        columns = "transaction=#1+#2 item=#3" if several else "transaction=#1 item=#2"
        raise Ambiguity(
            f"all lines have {len(cells[0])} numbers and the first increase, as in a table of transactions and items",
            (f"long {columns} separator=blank header=no", "if it is such a table"),
            ("dat", "if each line is a basket"),
        )


def refuse_extra_numbers(lines: Sequence[Sequence[int]]) -> None:
    """Refuse lines of item numbers with other numbers: line numbers, dates, counts, totals or an end mark."""
    firsts, others = [line[0] for line in lines], {number for line in lines for number in line[1:]}
    if len(lines) < 3:
        return
    if len(lines[0]) < 3 and lines[0][0] == len(lines) - 1:
        raise Ambiguity(
            "line 1 gives the number of lines below", ("dat header=2", "to skip it"), ("dat", "if it is a basket")
        )
    if min(map(len, lines)) < 2:
        return
    for at in range(min(3, *map(len, lines))):
        if len({line[at] for line in lines}) > 1 and all(len(line) == line[at] + at + 1 for line in lines):
            raise Ambiguity(
                f"the {('first', 'second', 'third')[at]} numbers of all lines count the numbers after them",
                ("dat", "if they are items"),
                end=f"or remove them with sed -E 's/^ *([0-9]+ +){{{at + 1}}}//'",
            )
    counted = all(b == a + 1 for a, b in itertools.pairwise(firsts)) and not others & set(firsts)
    lasts, rest = [line[-1] for line in lines], [number for line in lines for number in line[:-1]]
    differ = len(lines) >= MIN_LINES and len({*lasts}) == len(lasts) and not {*lasts} & {*rest}
    if differ and 2 * len({*rest}) <= len(rest):
        raise Ambiguity(
            "the last numbers of all lines differ and occur nowhere else, as totals or ids do, not items",
            ("dat", "if they are items"),
            end="or remove them with sed 's/ *[0-9]* *$//'",
        )
    if counted or all(DATE.fullmatch(str(number)) for number in firsts):
        raise Ambiguity(
            "the first numbers of all lines are line numbers or dates that occur nowhere else, unlike items",
            ("lines separator=blank transaction=#1 header=no", "to leave them out"),
            ("dat", "if they are items"),
        )
    if len({line[-1] for line in lines}) == 1 and all(line[-1] < line[-2] for line in lines):
        raise Ambiguity(
            "all lines end with the same number, below the one before it, as an end mark does",
            ("dat", "if it is an item"),
            end="or remove it with sed 's/ *[0-9]* *$//'",
        )
    falls = len(lines) - sum(map(_rises, lines))
    if sum(len(line) > 3 for line in lines) < MIN_LINES or 10 * falls <= len(lines):
        return
    for place, kept in (("first", slice(1, None)), ("last", slice(-1))):
        if all(_rises(line[kept]) for line in lines):
            raise Ambiguity(
                f"only the {place} numbers of lines break the increasing order, as stores or totals do, not items",
                ("dat", "if they are items"),
                end=f"or remove them with sed 's/{'^ *[0-9]* *' if place == 'first' else ' *[0-9]* *$'}//'",
            )


def _rises(numbers: Sequence[int]) -> bool:
    return all(later > one for one, later in itertools.pairwise(numbers))
