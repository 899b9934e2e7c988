"""Baskets of the same person: at most as many are reported as the plan promises for one.

A till's file holds many baskets of one customer, and reports of fifty baskets are fifty reports: their γ is a report's
to the power of 50. Which baskets are kept depends on the operating system's entropy and on whose they are alone, never
on what they hold.

This module sees raw baskets and whose they are. Nothing it raises contains either.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.entropy import SystemEntropy, WordEntropy
from assocpriv.promise.errors import BasketError, counted
from assocpriv.records.basket_files import ReadOptions, read_cells
from assocpriv.records.baskets import Baskets, is_table, table_cells
from assocpriv.records.cells import Cells
from assocpriv.records.sources import is_file

_LONG_ALONE = "whose a basket is can be said of a file or table with a line an item alone, and a column of persons"


@dataclass(frozen=True, slots=True)
class Kept:
    """Which baskets are reported: their ``rows``, int64 increasing, of ``baskets`` in all, of so many ``people``."""

    rows: NDArray[np.int64]
    baskets: int
    people: int

    def of(self, transactions: Baskets) -> Baskets:
        """Return the kept ones of all transactions.

        Raises:
            BasketError: there are more or less of them than were counted.
        """
        if len(transactions) != self.baskets:
            raise BasketError(_LONG_ALONE)
        return transactions.take(self.rows)


def keep_of_each(
    source: Any, column: str | int, most: int, options: ReadOptions, entropy: WordEntropy | None = None
) -> Kept:
    """Choose at most ``most`` baskets of each person, every choice equally likely.

    Args:
        source: a file or table with a line an item.
        column: of persons, by name or number from 1.
        most: reports of one person that the plan promises for.
        options: how the source is read.
        entropy: the operating system's by default.

    Raises:
        BasketError: no such column, a row without a person, a transaction of several persons, or another layout.
    """
    cells = _whose(source, replace(options, item_column=column))
    starts = np.cumsum(cells.sizes) - cells.sizes
    whose = cells.codes[starts]
    several = whose != np.maximum.reduceat(cells.codes, starts)
    several |= whose != np.minimum.reduceat(cells.codes, starts)
    if cells.codes.min() < 0:
        rows = counted(int((cells.codes < 0).sum()), "row")
        raise BasketError(f"{rows} without a person; fill in whose they are, or take such rows out")
    if several.any():
        raise BasketError(
            f"{counted(int(several.sum()), 'transaction')} of several persons; each must be one person's; check "
            "the transaction column (--transaction-column) and that of persons (--person)"
        )
    return Kept(chosen(whose, most, entropy or SystemEntropy()), len(whose), len(np.unique(whose)))


def chosen(whose: NDArray[Any], most: int, entropy: WordEntropy) -> NDArray[np.int64]:
    """Return increasing rows, int64, of at most ``most`` of each number in ``whose``, integers (n,), drawn uniformly.

    >>> chosen(np.array([7, 7, 3]), 2, SystemEntropy()).tolist()
    [0, 1, 2]
    """
    order = np.lexsort((entropy.words(len(whose)), whose))
    grouped = whose[order]
    first = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    rank = np.arange(len(whose)) - np.repeat(first, np.diff(np.append(first, len(whose))))
    return np.sort(order[rank < most])


def _whose(source: Any, options: ReadOptions) -> Cells:
    """Return the persons of each transaction's rows, in the order that transactions are read in."""
    if not (is_file(source) or is_table(source)):
        raise BasketError(_LONG_ALONE)
    try:
        if is_file(source):
            cells = read_cells(source, options, options.memory_bytes, quiet=True)
        else:
            cells = table_cells(source, "long", options.transaction_column, options.item_column)
    except BasketError as error:  # the column is read as if it were that of items
        raise BasketError(str(error).replace("item_column= (--item-column)", "person= (--person)")) from None
    if not (len(cells.sizes) and cells.sizes.min()):
        raise BasketError(_LONG_ALONE)
    return cells
