"""Items as a source holds them, before a catalogue numbers them: the steps that lists, tables and files share.

This module sees raw items. Nothing it raises contains one: errors name a basket, a position in it and a count.
Names lose the blanks around them, because a catalogue has none.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.catalogue import MAX_ITEMS, Catalogue
from assocpriv.core.errors import BasketError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,6}")  # numbers below MAX_ITEMS have at most 7 digits
_CHOICES = {
    "layout": ("auto", "onehot", "long", "list"),
    "unknown": ("error", "drop"),
    "repeats": ("error", "merge"),
    "empty": ("error", "keep"),
}


def basket_place(row: int) -> str:
    """Return how an error names a basket that is not a line of a file."""
    return f"basket {row + 1}"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Cells:
    """Items as a source holds them, before a catalogue numbers them.

    Attributes:
        rows: int64, shape (n_cells,), the basket of each cell.
        codes: int64, shape (n_cells,), which of ``names`` each cell holds.
        names: item names, blanks around them allowed; None where the codes are themselves the names.
        n_rows: number of baskets.
        place: how an error names a basket.
    """

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: Sequence[str] | None
    n_rows: int
    place: Callable[[int], str] = basket_place


def cells_of(
    sizes: NDArray[Any],
    codes: NDArray[Any],
    names: Sequence[str] | None,
    place: Callable[[int], str] = basket_place,
) -> Cells:
    """Return the cells of baskets that follow each other; ``sizes`` says how many each has, integers (n,).

    >>> cells_of(np.array([2, 0, 1]), np.array([0, 1, 0]), ["milk", "bread"]).rows
    array([0, 0, 2])
    """
    rows = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return Cells(rows, codes.astype(np.int64, copy=False), names, len(sizes), place)


def cells_of_names(baskets: Iterable[Sequence[str]], place: Callable[[int], str] = basket_place) -> Cells:
    """Return the cells of baskets that are given as lists of names.

    >>> cells_of_names([["milk", "bread"], ["milk"]]).codes.tolist()
    [0, 1, 0]
    """
    sizes, codes = array("q"), array("q")
    index: dict[str, int] = {}
    for names in baskets:
        sizes.append(len(names))
        codes.extend([index.setdefault(name, len(index)) for name in names])
    return cells_of(np.array(sizes), np.array(codes), list(index), place)


def check_choices(**chosen: str) -> None:
    """Check arguments that take one of a few words.

    Raises:
        BasketError: another word.
    """
    for name, value in chosen.items():
        if value not in _CHOICES[name]:
            raise BasketError(f"{name} must be one of {', '.join(_CHOICES[name])}")


def item_place(rows: NDArray[np.int64], cell: int, place: Callable[[int], str]) -> str:
    """Return how an error names a cell: its basket and its position there; ``rows`` is the basket of each cell."""
    position = int((rows[: cell + 1] == rows[cell]).sum())
    return f"{place(int(rows[cell]))}, item {position}"


def resolve(cells: Cells, catalogue: Catalogue | None, *, numbered: bool = True) -> tuple[Catalogue, NDArray[np.int64]]:
    """Look every cell up in a catalogue, by name.

    Args:
        cells: the items.
        catalogue: where to look; None derives a catalogue from the cells.
        numbered: whether a derived catalogue is 0 … the largest where all names are numbers;
            it always is, if it has room, where the codes are the names.

    Returns:
        The catalogue and the item ids, int64 of shape (n_cells,), −1 for items it does not hold.

    Raises:
        BasketError: a name that no catalogue can hold, or no names to derive a catalogue from.
    """
    if cells.names is None:
        return _resolve_numbers(cells.codes, catalogue)
    names = cells.names
    if isinstance(names, Catalogue):
        if catalogue is None:
            return names, cells.codes
    else:
        names = [name.strip() for name in names]
        _check_names(names, cells)
    if catalogue is None:
        catalogue = _derived(names, numbered)
    return catalogue, _identify(names, catalogue)[cells.codes]


def without_unknown(cells: Cells, ids: NDArray[np.int64], unknown: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and ids of the cells that are known, and leave out those whose id is −1, or refuse them.

    Raises:
        BasketError: there are such cells and ``unknown`` is "error".
    """
    known = ids >= 0
    if known.all():
        return cells.rows, ids
    if unknown == "error":
        strangers = np.flatnonzero(~known)
        where = item_place(cells.rows, int(strangers[0]), cells.place)
        spread = len(np.unique(cells.rows[strangers]))
        raise BasketError(
            f"{where} is not in the catalogue ({len(strangers):,} such items in {spread:,} baskets); "
            "every item must be; check the format, separator and header, or leave such items out with "
            "unknown='drop' (--unknown drop)"
        )
    return cells.rows[known], ids[known]


def _check_names(names: Sequence[str], cells: Cells) -> None:
    bad = np.array([not name or bool(_CONTROL.search(name)) for name in names], dtype=bool)
    worst = np.flatnonzero(bad[cells.codes])
    if len(worst):
        raise BasketError(
            f"{item_place(cells.rows, int(worst[0]), cells.place)} is empty or has control characters "
            f"({len(worst):,} such items); names must be plain text; correct the data"
        )


def _decimal(name: str) -> int:
    """Return the number that a name is the usual decimal of, or −1; MAX_ITEMS and above may give −1."""
    return int(name) if _DECIMAL.fullmatch(name) else -1


def _derived(names: Sequence[str], numbered: bool) -> Catalogue:
    if not names:
        raise BasketError("there is no item to make a catalogue of; pass the catalogue")
    numbers = [_decimal(name) for name in names] if numbered else [-1]
    if min(numbers) >= 0 and max(numbers) < MAX_ITEMS:
        return Catalogue.numbered(max(numbers) + 1)
    distinct = sorted(set(names))
    if len(distinct) > MAX_ITEMS:
        raise BasketError(f"a catalogue holds at most {MAX_ITEMS:,} items, got {len(distinct):,}; merge rare ones")
    return Catalogue(distinct)


def _identify(names: Sequence[str], catalogue: Catalogue) -> NDArray[np.int64]:
    """Return each name's item id, −1 for names that the catalogue does not hold."""
    if catalogue.is_numbered:
        numbers = np.fromiter(map(_decimal, names), np.int64, len(names))
        return np.where(numbers < len(catalogue), numbers, -1)
    index = catalogue.index_of
    return np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))


def _resolve_numbers(values: NDArray[np.int64], catalogue: Catalogue | None) -> tuple[Catalogue, NDArray[np.int64]]:
    largest = int(values.max(initial=-1))
    if catalogue is None and 0 <= largest < MAX_ITEMS:
        return Catalogue.numbered(largest + 1), values
    if catalogue is not None and catalogue.is_numbered:
        return catalogue, np.where(values < len(catalogue), values, -1)
    distinct, codes = np.unique(values, return_inverse=True)
    names = [str(value) for value in distinct.tolist()]
    if catalogue is None:
        catalogue = _derived(names, numbered=True)
    return catalogue, _identify(names, catalogue)[codes]
