"""One-hot tables (a row per basket, a column per item): detection, columns that are not items, and refused forms.

Cells are true or false: 1 and 0, or words for them. Errors give the layouts to request; none quotes a cell.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from assocpriv.guarantees.errors import BasketError
from assocpriv.records.basket_sources import FirstRows, is_total
from assocpriv.records.layout import (
    FLAGS,
    TRUE_WORDS,
    Ambiguity,
    Layout,
    known_places,
    layout_arg,
    requested_places,
    show_column,
)
from assocpriv.records.values import MIN_IDS

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
    apart = _id_columns(rows, wanted)
    items = [place for place in range(len(rows.first)) if place not in apart]
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
    apart = _id_columns(rows, wanted)
    items = [place for place in range(len(rows.first)) if place not in apart]
    return bool(items) and all(row[place].lower() in FLAGS for row in rows.body for place in items)


def non_flag_columns(rows: FirstRows) -> list[str | None]:
    """Return the few columns without true and false, as text ("#1+#3"); [None] if there are none, [] if too many."""
    odd = _without_flags(rows)
    if len(odd) > len(rows.first) - len(odd) or len(rows.first) - len(odd) < 2:
        return []
    odd = sorted({*odd, *_odd_words(rows, odd)})
    return ["+".join(f"#{place + 1}" for place in odd) or None]


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
        apart = "+".join(f"#{place + 1}" for place in sorted({*places, *odd}))
        raise Ambiguity(
            f"column {odd[0] + 1} has other words for true and false than most columns",
            (replace(wanted, kind="one-hot", transaction=apart), "to leave it out"),
            (onehot_layout(wanted, rows.first, places), "if it is an item"),
        )
