"""One-hot tables, a row a basket and a column an item: their signs, their columns of ids, and what they may be instead.

Cells are true or false, as 1 and 0 or words for them. An error names the layouts that decide; none holds a cell.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from assocpriv.promise.errors import BasketError
from assocpriv.records.layout import (
    FLAGS,
    TRUE_WORDS,
    Doubt,
    Layout,
    asked_places,
    say_layout,
    shown_column,
    usual_places,
)
from assocpriv.records.sources import FirstRows, is_total
from assocpriv.records.values import LEAST_IDS

_NO_WORDS = {"", "-", "?"}  # of flags: nothing, whatever else the words are
_INDEX_NAMES = {"", "id", "index", "row", "unnamed: 0"}


def ids_of_onehot(rows: FirstRows, said: Layout) -> tuple[int, ...]:
    """Return the places of columns of a one-hot table that are no items.

    Raises:
        BasketError, Doubt: rows or columns that are no baskets and no items.
    """
    _refuse_margin(rows, said)
    places = tuple(_columns_apart(rows, said))
    _refuse_dummies(rows, places, said)
    _refuse_odd_words(rows, places, said)
    return places


def is_onehot(rows: FirstRows, said: Layout) -> bool:
    """Tell whether lines are a header and rows of true and false, but for a column of ids.

    Raises:
        Doubt: each line may be a basket as well.
    """
    if said.header is False or not rows.is_table or len(rows.body) < 2:
        return False
    apart = _columns_apart(rows, said)
    items = [place for place in range(len(rows.first)) if place not in apart]
    names = [rows.first[place] for place in items]
    flags = [[row[place].lower() for place in items] for row in rows.body]
    if len(items) < 2 or not all(FLAGS.issuperset(row) for row in flags):
        return False
    if not all(names) or len(set(names)) < len(names) or {name.lower() for name in names} <= FLAGS:
        return False
    if any(len(set(filled)) < len(filled) for row in flags if (filled := [flag for flag in row if flag])):
        return True  # a basket holds no item twice
    raise Doubt("the lines may be baskets or rows of a one-hot table", ("one-hot", ""), ("lines", ""))


def is_surely_onehot(rows: FirstRows, said: Layout) -> bool:
    """Tell whether lines are a one-hot table, and no baskets."""
    with contextlib.suppress(Doubt):
        return is_onehot(rows, said)
    return False


def holds_flags(rows: FirstRows, said: Layout) -> bool:
    """Tell whether all columns but the one apart hold true and false."""
    apart = _columns_apart(rows, said)
    items = [place for place in range(len(rows.first)) if place not in apart]
    return bool(items) and all(row[place].lower() in FLAGS for row in rows.body for place in items)


def flags_beside(rows: FirstRows) -> list[str | None]:
    """Return the few columns that hold no true and false beside many that do, in words; [None] if all do, [] if few."""
    odd = _without_flags(rows)
    if len(odd) > len(rows.first) - len(odd) or len(rows.first) - len(odd) < 2:
        return []
    odd = sorted({*odd, *_odd_words(rows, odd)})
    return ["+".join(f"#{place + 1}" for place in odd) or None]


def _odd_words(rows: FirstRows, apart: Collection[int]) -> list[int]:
    """Return the columns of flags with other words for true and false than most, as attributes beside items."""
    body = _full_rows(rows)
    words = {
        place: frozenset(row[place].lower() for row in body) - _NO_WORDS
        for place in range(len(rows.first))
        if place not in apart
    }
    if not words:
        return []
    usual = Counter(words.values()).most_common(1)[0][0]
    odd = [place for place, each in words.items() if each and not each & usual]
    return odd if usual and 3 * len(odd) <= len(words) else []


def onehot_layout(said: Layout, names: Sequence[str], places: Sequence[int]) -> Layout:
    """Return a one-hot layout with the columns that are no items."""
    ids = "+".join(shown_column(names, place) for place in places)
    return replace(said, kind="one-hot", transaction=ids or None)


def _columns_apart(rows: FirstRows, said: Layout) -> list[int]:
    """Return the places of columns that are no items: those asked for, or the one of ids."""
    if said.transaction is not None:
        return list(asked_places(rows.first, "transaction", said.transaction))
    body, odd = _full_rows(rows), _without_flags(rows)
    if not odd and rows.first and is_index(rows.first[0]) and len({row[0] for row in body}) == len(body) > 1:
        return [0]
    if len(odd) != 1:
        return []
    distinct = len({row[odd[0]] for row in body}) == len(body) >= LEAST_IDS
    return odd if distinct or is_index(rows.first[odd[0]]) else []


def _full_rows(rows: FirstRows) -> list[list[str]]:
    return [row for row in rows.body if len(row) == len(rows.first)]


def _without_flags(rows: FirstRows) -> list[int]:
    """Return the places of columns that hold something else than true and false."""
    body = _full_rows(rows)
    return [place for place in range(len(rows.first)) if not all(row[place].lower() in FLAGS for row in body)]


def is_index(name: str) -> bool:
    """Tell whether a column has a name of ids or of the numbers of rows."""
    return name.lower() in _INDEX_NAMES or bool(usual_places([name], "transaction"))


def no_flag(cell: str) -> str:
    """Say what is wrong with a cell of a one-hot table, and what to do."""
    is_quantity = cell.replace(".", "", 1).isdigit()
    remedy = "quantities are not read, so write 1 for any above 0 (frame > 0)" if is_quantity else "correct it"
    return (
        f"is neither true nor false, as 1 and 0 or t and f; {remedy}, or leave the column out with "
        f"{say_layout('one-hot transaction=#1')}, by its number"
    )


def _refuse_margin(rows: FirstRows, said: Layout) -> None:
    """Refuse a column of totals beside flags, whose rows have one below them, too."""
    body = _full_rows(rows)
    for place, name in enumerate(rows.first if said.kind is None else ()):
        if is_margin(name) and body and all(row[place].lower() in TRUE_WORDS for row in body):
            raise Doubt(
                f"column {place + 1} is named as a total and is true in all rows",
                (replace(said, kind="one-hot"), "if it is an item"),
                end="or take it out, and the row of totals if there is one",
            )


def is_margin(name: str) -> bool:
    """Tell whether a column is named as one of totals."""
    return name.lower() == "all" or is_total([name])


def _refuse_dummies(rows: FirstRows, places: Sequence[int], said: Layout) -> None:
    """Refuse a one-hot table whose ids come again: the rows of an id are one basket.

    Raises:
        BasketError: each row has one item, with what makes baskets of them.
        Doubt: where nobody says that each row is a basket.
    """
    body = _full_rows(rows)
    ids = [tuple(row[place] for place in places) for row in body]
    ones = [sum(cell.lower() in TRUE_WORDS for at, cell in enumerate(row) if at not in places) for row in body]
    if not places or len(set(ids)) == len(ids):
        return
    if set(ones) == {1}:
        raise BasketError(
            "each row of the one-hot table has one item, and ids come again: group its rows, as "
            "frame.groupby(id).max(), or give the rows themselves, a row an item"
        )
    if said.kind is None:
        raise Doubt(
            "ids of the one-hot table come again",
            (onehot_layout(said, rows.first, places), "if each row is a basket"),
            end="or group its rows, as frame.groupby(id).max()",
        )


def _refuse_odd_words(rows: FirstRows, places: Sequence[int], said: Layout) -> None:
    """Refuse flags in other words than most columns have, unless the layout is said."""
    odd = _odd_words(rows, places) if said.kind is None else []
    if odd:
        apart = "+".join(f"#{place + 1}" for place in sorted({*places, *odd}))
        raise Doubt(
            f"column {odd[0] + 1} has other words for true and false than most, as no item has",
            (replace(said, kind="one-hot", transaction=apart), "to leave it out"),
            (onehot_layout(said, rows.first, places), "if it is an item"),
        )
