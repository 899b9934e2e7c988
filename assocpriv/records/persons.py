"""Persons: choose as many baskets of each as a guarantee covers.

This module sees raw persons' ids. Its errors contain none.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.plan_files import fold_name
from assocpriv.guarantees.entropy import SystemEntropy, WordEntropy
from assocpriv.guarantees.errors import BasketError, pluralize
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_files import read_persons
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, is_frame, persons_of_frame
from assocpriv.records.cells import MISSING_WORDS, check_choices
from assocpriv.records.layout import PERSONS_NEED_LONG, ReadOptions
from assocpriv.records.long_rows import JOINT

_LOG = logging.getLogger("assocpriv")
_NUMBER = re.compile(r"(?:(-)|\+)?0*([0-9]+?)(?:\.([0-9]*?)0*)?")
_AS_WRITTEN = "or treat each spelling as a person with person_as='written'"


@dataclass(frozen=True, slots=True)
class PersonSelection:
    """The baskets to report: their ``rows``, int64, rising, of ``baskets`` in all, from ``people`` persons."""

    rows: NDArray[np.int64]
    baskets: int
    people: int

    def select(self, transactions: Baskets) -> Baskets:
        """Return the selected transactions.

        Raises:
            BasketError: their number differs from ``baskets``.
        """
        if len(transactions) != self.baskets:
            raise BasketError(PERSONS_NEED_LONG)
        return transactions.take(self.rows)


def limit_per_person(
    source: Any,
    column: str | int,
    most: int,
    catalogue: Catalogue | None,
    options: ReadOptions,
    person_as: str = "checked",
    entropy: WordEntropy | None = None,
) -> PersonSelection:
    """Choose at most a number of baskets of each person, every choice equally likely.

    Args:
        source: a file or table with one item on each line.
        column: the column of persons, by name or by number as #1; several joined by "+".
        most: number of baskets of a person that the guarantee covers.
        catalogue: the items, some of which may be spelled as missing values.
        options: how to read the source.
        person_as: "checked" to refuse several spellings of one person, or "written" to treat each as a person.
        entropy: the operating system's by default.

    Raises:
        BasketError: no such column, a transaction without a person or of several, several spellings of a person, or
            another layout.
    """
    check_choices(person_as=person_as)
    if is_file(source):
        cells = read_persons(source, options, column, catalogue)
    elif is_frame(source):
        cells = persons_of_frame(source, column, options, catalogue)
    else:
        raise BasketError(PERSONS_NEED_LONG)
    if person_as == "checked":
        check_spellings(cells.names or ())
    starts = np.cumsum(cells.sizes) - cells.sizes
    owners = np.maximum.reduceat(cells.codes, starts)
    several = np.minimum.reduceat(np.where(cells.codes < 0, len(cells.codes), cells.codes), starts) < owners
    unknown = owners < 0
    if unknown.any() and options.incomplete != "drop":
        raise BasketError(
            f"{pluralize(int(unknown.sum()), 'transaction')} without a person; fill in the column, or drop them with "
            "incomplete='drop'"
        )
    if several.any():
        raise BasketError(
            f"{pluralize(int(several.sum()), 'transaction')} of several persons; a transaction must have one person: "
            "check transaction= of the layout and the person column"
        )
    if unknown.any():
        _LOG.info("%s without a person left out", pluralize(int(unknown.sum()), "transaction"))
    named = np.flatnonzero(~unknown)
    rows = named[choose_rows(owners[named], most, entropy or SystemEntropy())]
    return PersonSelection(rows, len(owners), len(np.unique(owners[named])))


def check_spellings(persons: Sequence[str]) -> None:
    """Refuse ids that may belong to one person: equal except for case, Unicode form or white space, or as numbers.

    Args:
        persons: the ids, distinct.

    Raises:
        BasketError: there are such ids; none is shown.

    >>> check_spellings(["7", "8", "70"])
    """
    if all(map(str.isdecimal, persons)) and "".join(persons).isascii() and not any(map(_has_zero_before, persons)):
        return  # the usual ids: distinct digits without leading zeros
    keys = (JOINT.join(person_key(part) or part for part in person.split(JOINT)) for person in persons)
    refuse_spellings(0, sum(count > 1 for count in Counter(keys).values()))


def person_key(person: str) -> str | None:
    """Return a key that all spellings of one person's id share, None for a missing-value marker.

    >>> person_key(" 007.0") == person_key("7"), person_key("N/A")
    (True, None)
    """
    key = fold_name(person)
    if number := _NUMBER.fullmatch(key):
        minus, whole, decimals = number.groups()
        return f"{minus or ''}{whole}{'.' if decimals else ''}{decimals or ''}"
    return None if key in MISSING_WORDS else key


def refuse_spellings(missing: int, several: int) -> None:
    """Refuse ids that are missing-value markers, and persons with several ids, if there are any.

    Raises:
        BasketError: their numbers, and what to do.
    """
    if missing:
        words = "is a missing-value marker" if missing == 1 else "are missing-value markers"
        raise BasketError(f"{pluralize(missing, 'person id')} {words}, as NaN or None; remove such rows, {_AS_WRITTEN}")
    if several:
        raise BasketError(
            f"{pluralize(several, 'person')} may have several ids, which differ only in case, blanks, Unicode form, or "
            "leading zeros or decimals of a number (7, 007, 7.0): more would be disclosed about each than the plan "
            f"allows; write each person one way, {_AS_WRITTEN}"
        )


def _has_zero_before(digits: str) -> bool:
    return digits[0] == "0" != digits


def choose_rows(owners: NDArray[Any], most: int, entropy: WordEntropy) -> NDArray[np.int64]:
    """Return rising rows, int64: at most ``most`` for each number in ``owners``, integers (n,), drawn uniformly.

    >>> choose_rows(np.array([7, 7, 3]), 2, SystemEntropy()).tolist()
    [0, 1, 2]
    """
    order = np.lexsort((entropy.words(len(owners)), owners))
    grouped = owners[order]
    first = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    rank = np.arange(len(owners)) - np.repeat(first, np.diff(np.append(first, len(owners))))
    return np.sort(order[rank < most])
