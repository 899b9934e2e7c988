"""Columns of tables of baskets: by their usual names, by the name or number asked for, and how errors speak of them.

Any other name of a column may be an item, as in a file without a header: messages give its number only.
"""

import re
from collections.abc import Sequence

from assocpriv.promise.errors import BasketError

_KEYS = ("", "id", "ids", "no", "nr", "num", "number", "key", "code")
_TEXTS = ("name", "description", "desc", "title")
_ODD = re.compile(r"[^a-z0-9]")
_SALES = ("transaction", "trans", "tx", "invoice", "order", "receipt", "ticket", "bill", "basket", "cart", "purchase")
_PEOPLE = ("member", "customer", "client", "user", "household", "shopper", "person")
_GOODS = ("item", "product", "article", "sku", "stock")
_USUAL = {  # of each role, the likeliest first
    "transaction": [
        *(stem + key for stem in _SALES for key in _KEYS), "tid", "session", "sessionid", "visit", "visitid",
        *(stem + key for stem in _PEOPLE for key in _KEYS if key or stem != "person"),
    ],
    "item": [
        *(stem + key for key in ("", "s", *_KEYS[1:], *_TEXTS) for stem in _GOODS), "ean", "upc", "gtin", "barcode",
        "description",
    ],
}  # fmt: skip
_RANK = {role: {name: rank for rank, name in reversed(list(enumerate(names)))} for role, names in _USUAL.items()}
COLUMN_OPTIONS = "transaction_column= and item_column= (--transaction-column, --item-column)"


def usual_places(columns: Sequence[object], role: str) -> list[int]:
    """Return the places of columns with a usual name of a role, "transaction" or "item", the likeliest first.

    >>> usual_places(["InvoiceNo", "StockCode", "Description"], "item")
    [1, 2]
    """
    ranks = [_RANK[role].get(_ODD.sub("", str(name).lower())) for name in columns]
    found = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
    return [place for _, place in sorted(found)]


def is_usual(name: object) -> bool:
    """Return whether a column's name is a usual one, so that it may be shown.

    >>> is_usual("Order ID"), is_usual("whole milk")
    (True, False)
    """
    return any(usual_places([name], role) for role in _USUAL)


def asked_place(columns: Sequence[object], role: str, asked: str | int) -> int:
    """Return the place of the column that somebody asked for, by its name or else by its number, from 1.

    >>> asked_place(["day", "Item"], "item", "2")
    1
    """
    names = [str(name).strip() for name in columns]
    text = str(asked).strip()
    if text in names:
        return names.index(text)
    lowered = [name.lower() for name in names]
    if lowered.count(text.lower()) == 1:
        return lowered.index(text.lower())
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(names):
        return int(text) - 1
    raise BasketError(
        f"the column that {role}_column= (--{role}-column) names is not among the {len(names)} columns; check its name "
        "and the separator"
    )


def long_columns(
    columns: Sequence[object], transaction: str | int | None = None, item: str | int | None = None
) -> tuple[int, int]:
    """Return the places of the transaction and of the item column of the long layout.

    Without a name or number they are those with a usual name, else the first and the next.

    >>> long_columns(["day", "Item", "Transaction"])
    (2, 1)
    """
    if len(columns) < 2:
        raise BasketError(f"the long layout needs a transaction and an item column, got {len(columns)} columns")
    first = None if transaction is None else asked_place(columns, "transaction", transaction)
    second = None if item is None else asked_place(columns, "item", item)
    if first is None:
        first = next((place for place in usual_places(columns, "transaction") if place != second), None)
    if second is None:
        second = next((place for place in usual_places(columns, "item") if place != first), None)
    first = int(second == 0) if first is None else first
    second = int(first == 0) if second is None else second
    if first == second:
        raise BasketError("transaction and item must be two different columns")
    return first, second


def describe_columns(columns: Sequence[object], chosen: tuple[int, int], *, names: bool = False) -> str:
    """Say which columns are taken; names are shown only where they are usual ones, or where none can be an item's.

    >>> describe_columns(["day", "Item", "Transaction"], (2, 1))
    'transactions in column "Transaction", items in column "Item"'
    """
    shown = [f'"{columns[place]}"' if names else shown_column(columns, place) for place in chosen]
    others = [place for place in usual_places(columns, "item") if place not in chosen]
    other = f" (not {shown_column(columns, others[0])}: --item-column)" if others else ""
    return f"transactions in column {shown[0]}, items in column {shown[1]}{other}"


def shown_column(columns: Sequence[object], place: int) -> str:
    """Return a column's name in quotes if it is a usual one, otherwise its number from 1."""
    name = str(columns[place]).strip()
    return f'"{name}"' if is_usual(name) else str(place + 1)
