"""Signs of layouts in the first rows, from which layout_detection.py decides.

Cells and columns are classified by their values: numbers, amounts, dates, counts, names. Lines of numbers that may be
something other than items are refused: rows of a table, or other formats of SPMF. So are one-hot tables (a row per
basket, a column per item; cells are true or false, 1 and 0, or words for them) in forms that hold no baskets. Errors
give the layouts to request; none quotes a cell.
"""

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from assocpriv.guarantees.errors import BasketError
from assocpriv.records.basket_sources import FirstRows, is_total
from assocpriv.records.layout import (
    CONTEXT,
    DATES,
    FLAGS,
    TRUE_WORDS,
    Ambiguity,
    Layout,
    column_numbers,
    known_places,
    layout_arg,
    requested_places,
    show_column,
)

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


# ---- lines of item numbers


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
    _refuse_falling(lines)


def _refuse_falling(lines: Sequence[Sequence[int]]) -> None:
    """Refuse lines whose numbers increase except the first or the last."""
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


# ---- one-hot tables


_NO_WORDS = {"", "-", "?"}  # flags that mean false together with any other words
_INDEX_NAMES = {"", "id", "index", "row", "unnamed: 0"}


def find_id_columns(rows: FirstRows, wanted: Layout) -> tuple[int, ...]:
    """Return the columns of a one-hot table that are not items.

    Raises:
        BasketError, Ambiguity: some rows are not baskets, or other columns not items.
    """
    _refuse_margin(rows, wanted)
    places = tuple(_id_columns(rows, wanted))
    _refuse_repeated_ids(rows, places, wanted)
    _refuse_odd_words(rows, places, wanted)
    return places


def is_onehot(rows: FirstRows, wanted: Layout) -> bool:
    """Return whether lines are a header and rows of true and false, except a column of ids.

    Raises:
        Ambiguity: the lines may also be baskets.
    """
    if wanted.header is False or not rows.is_table or len(rows.body) < 2:
        return False
    items = _item_columns(rows, wanted)
    names = [rows.first[place] for place in items]
    flags = [[row[place].lower() for place in items] for row in rows.body]
    if len(items) < 2 or not all(FLAGS.issuperset(row) for row in flags):
        return False
    if not all(names) or len(set(names)) < len(names) or {name.lower() for name in names} <= FLAGS:
        return False
    if any(len(set(filled)) < len(filled) for row in flags if (filled := [flag for flag in row if flag])):
        return True  # a basket holds no item twice
    raise Ambiguity("the lines may be baskets or rows of a one-hot table", ("one-hot", ""), ("lines", ""))


def is_surely_onehot(rows: FirstRows, wanted: Layout) -> bool:
    """Return whether lines are a one-hot table and cannot be baskets."""
    with contextlib.suppress(Ambiguity):
        return is_onehot(rows, wanted)
    return False


def holds_flags(rows: FirstRows, wanted: Layout) -> bool:
    """Return whether all columns hold true and false, except those of ids."""
    items = _item_columns(rows, wanted)
    return bool(items) and all(row[place].lower() in FLAGS for row in rows.body for place in items)


def non_flag_columns(rows: FirstRows) -> list[str | None]:
    """Return the few columns without true and false, as text ("#1+#3"); [None] if there are none, [] if too many."""
    odd = _without_flags(rows)
    if len(odd) > len(rows.first) - len(odd) or len(rows.first) - len(odd) < 2:
        return []
    odd = sorted({*odd, *_odd_words(rows, odd)})
    return [column_numbers(odd) or None]


def _odd_words(rows: FirstRows, apart: Collection[int]) -> list[int]:
    """Return the columns of flags whose words for true and false differ from most, such as attributes."""
    body = _full_rows(rows)
    places = [place for place in range(len(rows.first)) if place not in apart]
    words = {place: frozenset(row[place].lower() for row in body) - _NO_WORDS for place in places}
    if not words:
        return []
    usual = Counter(words.values()).most_common(1)[0][0]
    odd = [place for place, each in words.items() if each and not each & usual]
    return odd if usual and 3 * len(odd) <= len(words) else []


def onehot_layout(wanted: Layout, names: Sequence[str], places: Sequence[int]) -> Layout:
    """Return a one-hot layout with the columns that are not items."""
    ids = "+".join(show_column(names, place) for place in places)
    return replace(wanted, kind="one-hot", transaction=ids or None)


def _id_columns(rows: FirstRows, wanted: Layout) -> list[int]:
    """Return the columns that are not items: those requested, or one of ids."""
    if wanted.transaction is not None:
        return list(requested_places(rows.first, "transaction", wanted.transaction))
    body, odd = _full_rows(rows), _without_flags(rows)
    if not odd and rows.first and is_index(rows.first[0]) and len({row[0] for row in body}) == len(body) > 1:
        return [0]
    if len(odd) != 1:
        return []
    distinct = len({row[odd[0]] for row in body}) == len(body) >= MIN_IDS
    return odd if distinct or is_index(rows.first[odd[0]]) else []


def _item_columns(rows: FirstRows, wanted: Layout) -> list[int]:
    apart = _id_columns(rows, wanted)
    return [place for place in range(len(rows.first)) if place not in apart]


def _full_rows(rows: FirstRows) -> list[list[str]]:
    return [row for row in rows.body if len(row) == len(rows.first)]


def _without_flags(rows: FirstRows) -> list[int]:
    """Return the columns that hold something other than true and false."""
    body = _full_rows(rows)
    return [place for place in range(len(rows.first)) if not all(row[place].lower() in FLAGS for row in body)]


def is_index(name: str) -> bool:
    """Return whether a column has a name of ids or row numbers."""
    return name.lower() in _INDEX_NAMES or bool(known_places([name], "transaction"))


def describe_non_flag(cell: str) -> str:
    """Return what is wrong with a cell of a one-hot table, and advice."""
    remedy = "write 1 for any quantity above 0 (frame > 0)" if cell.replace(".", "", 1).isdigit() else "correct it"
    return (
        f"is neither true nor false, such as 1 and 0 or t and f; {remedy}, or leave out the column by its number, as "
        f"in {layout_arg('one-hot transaction=#1')}"
    )


def _refuse_margin(rows: FirstRows, wanted: Layout) -> None:
    """Refuse a column of totals, which may come with a row of totals."""
    body = _full_rows(rows)
    for place, name in enumerate(rows.first if wanted.kind is None else ()):
        if is_total_column(name) and body and all(row[place].lower() in TRUE_WORDS for row in body):
            raise Ambiguity(
                f"column {place + 1} is named as a total and is true in all rows",
                (replace(wanted, kind="one-hot"), "if it is an item"),
                end="or remove it, and the row of totals if there is one",
            )


def is_total_column(name: str) -> bool:
    """Return whether a column has a name of totals."""
    return name.lower() == "all" or is_total([name])


def _refuse_repeated_ids(rows: FirstRows, places: Sequence[int], wanted: Layout) -> None:
    """Refuse a one-hot table with repeated ids, since the rows of an id are one basket.

    Raises:
        BasketError: each row has one item; the message says how to group them.
        Ambiguity: it is not requested that each row is a basket.
    """
    body = _full_rows(rows)
    ids = [tuple(row[place] for place in places) for row in body]
    ones = [sum(cell.lower() in TRUE_WORDS for at, cell in enumerate(row) if at not in places) for row in body]
    if not places or len(set(ids)) == len(ids):
        return
    if set(ones) == {1}:
        raise BasketError(
            "each row of the one-hot table has one item, and ids are repeated; group its rows with "
            "frame.groupby(id).max(), or pass the long table with one row per item"
        )
    if wanted.kind is None:
        raise Ambiguity(
            "the one-hot table has repeated ids",
            (onehot_layout(wanted, rows.first, places), "if each row is a basket"),
            end="or group its rows with frame.groupby(id).max()",
        )


def _refuse_odd_words(rows: FirstRows, places: Sequence[int], wanted: Layout) -> None:
    """Refuse columns whose words for true and false differ from most, unless the layout is requested."""
    odd = _odd_words(rows, places) if wanted.kind is None else []
    if odd:
        apart = column_numbers(sorted({*places, *odd}))
        raise Ambiguity(
            f"column {odd[0] + 1} has other words for true and false than most columns",
            (replace(wanted, kind="one-hot", transaction=apart), "to leave it out"),
            (onehot_layout(wanted, rows.first, places), "if it is an item"),
        )
