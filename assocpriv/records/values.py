"""Classify cells and columns of the first rows by their values: numbers, amounts, dates, counts, names."""

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from assocpriv.records.basket_sources import FirstRows
from assocpriv.records.layout import CONTEXT, DATES, FLAGS, Ambiguity, Layout, known_places, show_column

_Rows = Sequence[Sequence[str]]
_Groups = Sequence[_Rows]
NUMBER = re.compile(r"[-+]?[0-9][0-9.,:/ \-]*([eE][-+]?[0-9]+)?([ T][0-9:.]+Z?)?")  # dates and times, too
DATE = re.compile(  # 2026-05-03, optionally with a time; 20260503; 3 May 2026, May 3, 2026
    r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}([ T].*)?|(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])"
    r"|[0-9]{1,2}[ .-]+[A-Za-z]{3,9}\.?[ -]+[0-9]{2,4}|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4}"
)
MONEY = re.compile(r"[-+]?[$€£¥] ?[0-9][0-9.,]*|[-+]?[0-9][0-9.,]* ?([$€£¥]|EUR|USD|GBP|CHF)|[-+]?[0-9]+[.,][0-9]{1,2}")
AMOUNT = re.compile(r"[-+−]?[0-9][0-9.,' \u00a0]*-?")  # also with decimal commas, or the minus after the number
TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?( ?[AaPp][Mm])?")
_NOTHING = FLAGS | {"0.00", "0,00"}  # of which a column that marks returned rows has one in some rows
_MAX_STATES = 12  # distinct words of a column of states
_VOID = frozenset({
    *("cancelled", "canceled", "refunded", "refund", "failed", "returned", "return", "voided", "void", "storno"),
    *("storniert", "annulé", "anulado", "view", "remove_from_cart", "addtocart"),
    *("shipping", "delivery", "discount", "coupon", "gift card", "gift_card", "giftcard", "tip", "payment", "versand"),
})  # fmt: skip
_VOID_NAMES = re.compile(
    r"(?<![a-z])(is|was)?(void|storn|cancel|refund|return(?!ing)|retour|deleted|annul|anul)", re.IGNORECASE
)
_CODE = re.compile(r"(?=\S*[0-9])[\w.-]{6,}")  # such as a UUID or a serial number
MIN_IDS = 10  # lines from which values that all differ are ids
MIN_REPEATS = 4  # lines from which equal neighbours in a column show the lines of one transaction
MIN_LINES = 20  # lines from which first cells that all differ are ids, since baskets share their first items


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, or a date or time written in digits."""
    return NUMBER.fullmatch(cell) is not None


def likely_long_layout(rows: FirstRows) -> Layout:
    """Return the long layout with the columns that most likely hold transactions and items."""
    columns = [rows.column(place) for place in range(len(rows.first))]
    agree = [sum(one == other for one, other in itertools.pairwise(column)) for column in columns]
    texts = [sum(not is_figure(cell) for cell in column) for column in columns]
    figures = [sum(any(sign.fullmatch(cell) for sign in (MONEY, DATE, TIME)) for cell in column) for column in columns]
    differ = [len(set(column)) for column in columns]

    def likely(place: int) -> tuple[bool, bool, bool, int, int]:
        recurs = 1 < differ[place] < len(rows.body)
        plain = 2 * figures[place] < len(rows.body)
        return plain, 2 * texts[place] > len(rows.body), recurs, -agree[place], place

    usual = known_places(rows.first, "item")
    item = usual[0] if usual else max(range(len(columns)), key=likely)
    runs = [len(column) - same == each > 1 for column, same, each in zip(columns, agree, differ, strict=True)]
    ids = [place for place in range(len(columns)) if place != item]

    def holds_ids(place: int) -> tuple[bool, bool, bool, bool, int]:
        is_known = place in known_places(rows.first, "transaction")
        many = 20 * differ[place] >= len(rows.body) and 2 * figures[place] < len(rows.body)
        return is_known, many, runs[place], differ[place] > 1 and agree[place] > 0, -place

    transaction = max(ids, key=holds_ids)
    pieces = [f"#{place + 1}" for place in known_places(rows.first, "quantity") if place not in (transaction, item)]
    return Layout("long", transaction=f"#{transaction + 1}", item=f"#{item + 1}", quantity=next(iter(pieces), None))


def refuse_ids_of_rows(names: Sequence[str], wanted: Layout, cells: _Rows, ids: tuple[int, ...]) -> None:
    """Refuse a column of transactions, found by its name, whose ids hardly repeat while those of another one do."""
    usual = [place for place in known_places(names, "transaction") if not known_places([names[place]], "customers")]
    recur = list[int]()
    for place in usual:
        both = [(row[ids[0]], row[place]) for row in cells if row[ids[0]] and row[place]]
        found, other = (len(set(column)) for column in zip(*both, strict=True)) if both else (0, 0)
        if len(both) >= MIN_REPEATS and 10 * found >= 9 * len(both) and 10 * other <= 9 * found:
            recur.append(place)
    if not recur:
        return
    ways = (replace(wanted, kind="long", transaction=show_column(names, place)) for place in (recur[0], ids[0]))
    when = ("if the rows of an id there are one basket", "if each row is a basket")
    raise Ambiguity(
        f"column {ids[0] + 1} has another id in each row, as line numbers do, while column {recur[0] + 1} has repeated "
        "ids",
        *zip(ways, when, strict=True),
    )


def refuse_no_items(names: Sequence[str], wanted: Layout, groups: _Groups, taken: tuple[tuple[int, ...], int]) -> None:
    """Refuse a column of items, found by its name, that counts lines or items, or has a different value in each row."""
    ids, item = taken
    values = [[row[item] for row in rows] for rows in groups]
    flat = [value for each in values for value in each]
    if not flat:
        return
    others = [place for place in known_places(names, "item") if place != item]
    likely = others or _texts_of(groups, {*ids, item})
    differ = len(flat) >= MIN_LINES and len(set(flat)) == len(flat) and len(values) < len(flat)
    is_numbered = all(value.isascii() and value.isdecimal() and len(value) < 10 for value in flat)
    what = _sign_of_counts([list(map(int, each)) for each in values], names[item]) if is_numbered else ""
    if differ and (is_numbered or (all(map(_CODE.fullmatch, flat)) and likely and _recurs(groups, likely[0]))):
        what = what or f"has another {'number' if is_numbered else 'id'} in each row"
    if not what:
        return
    base = replace(wanted, kind="long", transaction="+".join(show_column(names, place) for place in ids))
    raise Ambiguity(
        f"column {item + 1} is named like a column of items, but {what}",
        *((replace(base, item=show_column(names, place)), "if the items are in that column") for place in likely[:1]),
        (replace(base, item=show_column(names, item)), "if these are items"),
    )


def _sign_of_counts(numbers: Sequence[Sequence[int]], name: str) -> str:
    """Return how the numbers of each transaction count lines or items; empty if they do not."""
    counting = [sum(each == [step * (place + 1) for place in range(len(each))] for each in numbers) for step in (1, 10)]
    several = sum(len(each) > 1 for each in numbers)
    if several > 1 and len(numbers) > 2 and 10 * max(counting) >= 9 * len(numbers):
        return "counts the lines of each transaction"
    if not several and len(numbers) > 2 and max(map(max, numbers)) < 1000 and name.lower().endswith("s"):
        return "has one small number for each transaction, as a count of items does"
    return ""


def _recurs(groups: _Groups, place: int) -> bool:
    """Return whether a column of grouped rows repeats a value."""
    return len({row[place] for rows in groups for row in rows}) < sum(map(len, groups))


def _texts_of(groups: _Groups, taken: Collection[int]) -> list[int]:
    """Return the other columns of names, which may be items."""
    rows = [row for group in groups for row in group]
    columns = {place: [row[place] for row in rows] for place in range(len(rows[0])) if place not in taken}
    return [place for place, cells in columns.items() if all(cells) and not any(map(is_figure, cells))]


def count_id_cells(lines: _Rows) -> tuple[int, bool]:
    """Return how many first cells of all lines occur nowhere else, while others recur, and whether they are ids.

    Examples are customers, stores and weekdays. Ids have digits, or differ in all lines.

    >>> count_id_cells([["C1", "tea", "rye"], ["C2", "rye", "tea"]] * 10)
    (1, True)
    >>> count_id_cells([["tea", "rye"], ["rye"]] * 10)
    (0, False)
    """
    apart, are_ids, left = 0, False, list(lines)
    while len(left) >= MIN_LINES and min(map(len, left)) > 1:
        firsts, others = {line[0] for line in left}, {cell for line in left for cell in line[1:]}
        if firsts & others or 2 * len(others) > sum(map(len, left)) - len(left) or len(firsts) < 2:
            break
        are_ids |= len(firsts) == len(left) or all(any(map(str.isdecimal, name)) for name in firsts)
        apart, left = apart + 1, [line[1:] for line in left]
    is_record = apart > 2 and max(map(len, left)) == 1  # a value of each attribute, as A1=b,A2=c,A3=b
    return (0, False) if is_record else (apart, are_ids)


def is_figure(cell: str) -> bool:
    """Return whether a cell is a number, an amount of money, a date or a time."""
    return any(sign.fullmatch(cell) for sign in (NUMBER, MONEY, DATE, TIME))


def context_columns(
    names: Sequence[str], places: Sequence[int], groups: _Groups, item: int
) -> tuple[tuple[str, int], ...]:
    """Return the columns with one value in all rows of a transaction, by common names or the first rows' values."""
    named = dict[int, str]()
    for role in CONTEXT:
        named |= {place: role for place in known_places(names, role)[:1] if place not in places and place not in named}
    named = {place: role for place, role in named.items() if not _counts_lines(groups, place)}
    of_persons = bool(known_places([names[places[0]]], "customers"))
    for place in range(len(names)):
        if place in places or place in named:
            continue
        if role := _role_by_values(groups, item, place):
            named[place] = role
        elif of_persons and _splits(groups, place):
            named[place] = f"values in column {place + 1}"
    return tuple((role, place) for place, role in named.items())


def _counts_lines(groups: _Groups, place: int) -> bool:
    """Return whether a column counts the rows of an id from 1 or 10 on, possibly several times, as positions do."""
    values = [[row[place] for row in rows] for rows in groups]
    if not all(each[0] in ("1", "10") and all(map(str.isdecimal, each)) for each in values):
        return False
    pairs = [(int(one), int(later)) for each in values for one, later in itertools.pairwise(each)]
    rising = sum(later - one in (1, 10) for one, later in pairs)
    return 2 * rising > len(pairs) and rising + sum(later in (1, 10) for _, later in pairs) >= len(pairs)


def _splits(groups: _Groups, place: int) -> bool:
    """Return whether a column has blocks of values within ids that no other id has, such as receipts of people."""
    owners, blocks = dict[str, set[int]](), 0
    for number, rows in enumerate(groups):
        values = [row[place] for row in rows]
        if len(set(values)) != 1 + sum(one != other for one, other in itertools.pairwise(values)):
            return False
        blocks += len(set(values))
        for value in values:
            owners.setdefault(value, set()).add(number)
    return blocks == len(owners) and len(groups) < len(owners) < sum(map(len, groups))


def void_column(names: Sequence[str], cells: _Rows, taken: Collection[int]) -> int | None:
    """Return a column, except those taken, that marks rows that are not sales, by words or as a flag."""
    for place in range(len(cells[0]) if cells else 0):
        words = {row[place].lower() for row in cells}
        is_flag = _VOID_NAMES.search(names[place].replace("_", " ")) is not None and bool(words & _NOTHING)
        if place not in taken and (is_flag or (len(words) <= _MAX_STATES and words & _VOID)):
            return place
    return None


def _role_by_values(groups: _Groups, item: int, place: int) -> str:
    """Return the role of a column whose values form blocks within transactions and do not depend on the item.

    Any number of rows suffices for dates. Other values need ten transactions of three rows, in which most rows agree.
    """
    values = [[row[place].partition("T")[0].partition(" ")[0] for row in rows] for rows in groups]
    filled = [row[place] for rows in groups for row in rows if row[place]]
    if not filled or any(map(TIME.fullmatch, filled)):
        return ""
    is_date = all(map(DATE.fullmatch, filled))
    large = [each for each in values if len(each) > 2]
    pairs = [one == other for each in values for one, other in itertools.pairwise(each)]
    in_blocks = [len(set(each)) == 1 + sum(a != b for a, b in itertools.pairwise(each)) for each in large]
    of_items = dict[str, list[str]]()
    for rows, each in zip(groups, values, strict=True):
        for row, value in zip(rows, each, strict=True):
            of_items.setdefault(row[item], []).append(value)
    varies = [len(set(each)) > 1 for each in of_items.values() if len(each) > 1]
    follows = len(varies) >= MIN_REPEATS and 10 * sum(varies) < len(varies) and not all(pairs)
    if 20 * sum(in_blocks) < 19 * len(in_blocks) or follows:
        return ""
    if is_date:
        return f"{DATES} in column {place + 1}"
    enough = len(large) >= MIN_IDS and len(varies) >= MIN_REPEATS and 10 * sum(varies) >= len(varies)
    plain = not any(map(MONEY.fullmatch, filled)) and len(set(filled)) > 1
    return f"values in column {place + 1}" if enough and plain and 5 * sum(pairs) >= 3 * len(pairs) else ""
