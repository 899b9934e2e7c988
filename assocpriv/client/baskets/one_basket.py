"""Map the names of one basket to a plan's catalogue, on its device: the basket becomes a transaction.

This module sees raw items. Its errors contain none: they name a position in the basket.
"""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import UNKNOWN
from assocpriv.records.cells import ordinal

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # halves of pairs, which bytes other than UTF-8 become


def transaction_of(names: Collection[str | int], plan: "Plan") -> list[int]:
    """Return the items of one basket in a plan's catalogue, by rising id.

    Its names (an int 7 is the name "7") must be distinct; only a name that is unknown and dropped may be repeated.

    Raises:
        BasketError: a name that the plan neither has nor drops, a repeated or an invalid one.
        TypeError: an item that is no name.
    """
    selected, known = [_name_of(name, position) for position, name in enumerate(names, 1)], plan.catalogue.index_of
    numbers = [plan.names.roll_up(name, known) for name in selected]
    known_names = [name for name, number in zip(selected, numbers, strict=True) if number != UNKNOWN]
    if len(set(known_names)) != len(known_names):
        raise BasketError("the basket repeats an item; a basket is a set: give each item once")
    if UNKNOWN in numbers and plan.names.unlisted == "error":
        place = ordinal(numbers.index(UNKNOWN) + 1)
        raise BasketError(f"{place} item of the basket is not in the plan's catalogue; remove it")
    return sorted({number for number in numbers if number >= 0})


def _name_of(item: object, position: int) -> str:
    if isinstance(item, bool) or not isinstance(item, str | int | np.integer):
        raise TypeError(f"{ordinal(position)} item must be a name (text or int), got a {type(item).__name__}")
    name = str(item).strip()
    if not name or _CONTROL.search(name):
        where = f"{ordinal(position)} item of the basket"
        why = "is not UTF-8 text" if _SURROGATE.search(name) else "is empty or has control characters"
        raise BasketError(f"{where} {why}; names must be plain text")
    return name
