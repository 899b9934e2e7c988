"""Baskets of the same person: at most as many are reported as the plan promises for one.

A till's file holds many baskets of one customer, and reports of fifty baskets are fifty reports: their γ is a report's
to the power of 50. Which baskets are kept depends on the operating system's entropy and on whose they are alone, never
on what they hold.

This module sees raw baskets and whose they are. Nothing it raises contains either.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.entropy import SystemEntropy, WordEntropy
from assocpriv.promise.errors import BasketError, counted
from assocpriv.records.basket_files import read_persons
from assocpriv.records.baskets import Baskets, is_frame, persons_of_frame
from assocpriv.records.layout import LONG_ALONE, ReadOptions
from assocpriv.records.sources import is_file


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
            raise BasketError(LONG_ALONE)
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
        BasketError: no such column, a transaction without a person or of several, or another layout.
    """
    if is_file(source):
        cells = read_persons(source, options, column)
    elif is_frame(source):
        cells = persons_of_frame(source, column, options)
    else:
        raise BasketError(LONG_ALONE)
    starts = np.cumsum(cells.sizes) - cells.sizes
    whose = np.maximum.reduceat(cells.codes, starts)
    several = np.minimum.reduceat(np.where(cells.codes < 0, len(cells.codes), cells.codes), starts) < whose
    nobody = whose < 0
    if nobody.any() and options.incomplete == "refuse":
        raise BasketError(
            f"{counted(int(nobody.sum()), 'transaction')} without a person; fill the column in, or leave them out with "
            "incomplete='drop'"
        )
    if several.any():
        raise BasketError(
            f"{counted(int(several.sum()), 'transaction')} of several persons; each must be one person's; check "
            "transaction= of the layout and the column that person names"
        )
    named = np.flatnonzero(~nobody)
    rows = named[chosen(whose[named], most, entropy or SystemEntropy())]
    return Kept(rows, len(whose), len(np.unique(whose[named])))


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
