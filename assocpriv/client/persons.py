"""Baskets of the same person: at most as many are reported as the plan promises for one.

A till's file holds many baskets of one customer, and reports of fifty baskets are fifty reports: their γ is a report's
to the power of 50. Which baskets are kept depends on the operating system's entropy and on whose they are alone, never
on what they hold.

This module sees raw baskets and whose they are. Nothing it raises contains either.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.plans import folded
from assocpriv.promise.entropy import SystemEntropy, WordEntropy
from assocpriv.promise.errors import BasketError, counted
from assocpriv.records.basket_files import read_persons
from assocpriv.records.baskets import Baskets, is_frame, persons_of_frame
from assocpriv.records.cells import MISSING_WORDS, check_choices
from assocpriv.records.layout import LONG_ALONE, ReadOptions
from assocpriv.records.long_rows import JOINT
from assocpriv.records.sources import is_file

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

_LOG = logging.getLogger("assocpriv")
_NUMBER = re.compile(r"(?:(-)|\+)?0*([0-9]+?)(?:\.([0-9]*?)0*)?")
_AS_WRITTEN = "or take all ids as they are written with person_as='written'"


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
    source: Any,
    column: str | int,
    plan: "Plan",
    options: ReadOptions,
    person_as: str = "checked",
    entropy: WordEntropy | None = None,
) -> Kept:
    """Choose at most as many baskets of each person as a plan lets report, every choice equally likely.

    Args:
        source: a file or table with a line an item.
        column: of persons, by name or as #1 by number; several joined by "+".
        plan: says how many reports of one person its guarantee covers.
        options: how the source is read.
        person_as: "checked" to refuse one person in several spellings, or "written" to take each spelling as a person.
        entropy: the operating system's by default.

    Raises:
        BasketError: no such column, a transaction without a person or of several, persons in several spellings, or
            another layout.
    """
    check_choices(person_as=person_as)
    if is_file(source):
        cells = read_persons(source, options, column, plan.catalogue)
    elif is_frame(source):
        cells = persons_of_frame(source, column, options, plan.catalogue)
    else:
        raise BasketError(LONG_ALONE)
    if person_as == "checked":
        check_spellings(cells.names or ())
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
    if nobody.any():
        _LOG.info("%s without a person left out", counted(int(nobody.sum()), "transaction"))
    named = np.flatnonzero(~nobody)
    rows = named[chosen(whose[named], plan.reports_per_person, entropy or SystemEntropy())]
    return Kept(rows, len(whose), len(np.unique(whose[named])))


def check_spellings(persons: Sequence[str]) -> None:
    """Refuse ids that may be one person's: equal but for case, Unicode form or blanks, or as numbers.

    Args:
        persons: the ids, distinct.

    Raises:
        BasketError: there are such ids; none is shown.

    >>> check_spellings(["7", "8", "70"])
    """
    if all(map(str.isdecimal, persons)) and "".join(persons).isascii() and not any(map(_has_zero_before, persons)):
        return  # most ids: distinct digits are distinct numbers
    keys = (JOINT.join(person_key(part) or part for part in person.split(JOINT)) for person in persons)
    refuse_spellings(0, sum(count > 1 for count in Counter(keys).values()))


def person_key(person: str) -> str | None:
    """Return what the ids of one person have in common, None for a word for a missing value.

    >>> person_key(" 007.0") == person_key("7"), person_key("N/A")
    (True, None)
    """
    key = folded(person)
    if number := _NUMBER.fullmatch(key):
        minus, whole, decimals = number.groups()
        return f"{minus or ''}{whole}{'.' if decimals else ''}{decimals or ''}"
    return None if key in MISSING_WORDS else key


def refuse_spellings(missing: int, several: int) -> None:
    """Refuse ids that are words for missing values, and persons with several ids, if there are any.

    Raises:
        BasketError: their numbers, and what to do.
    """
    if missing:
        words = "is a word" if missing == 1 else "are words"
        raise BasketError(
            f"{counted(missing, 'person id')} {words} for a missing value, as NaN or None; take such rows out, "
            f"{_AS_WRITTEN}"
        )
    if several:
        raise BasketError(
            f"{counted(several, 'person')} may stand under several ids, which differ in case, blanks, Unicode form, or "
            "leading zeros or decimals of a number (7, 007, 7.0) only: more would be disclosed about each than the "
            f"plan allows; write each person one way, {_AS_WRITTEN}"
        )


def _has_zero_before(digits: str) -> bool:
    return digits[0] == "0" != digits


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
