"""Requests for a plan: what is wished, checked once, with what follows from it for the search."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from assocpriv.planning.designs import MOST_REPORTS
from assocpriv.planning.expected import Sizes
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.names import Names
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON
from assocpriv.promise.breaches import Breach, check_promise, share_limit
from assocpriv.promise.errors import PlanError, check_type
from assocpriv.promise.numbers import as_whole, check_range
from assocpriv.promise.shuffling import CentralPromise

DEFAULT_REPORTS = 1_000_000
_ITEMSET_SIZE = 3  # by default
_NEARLY_ALL, _MANY = 0.95, 0.1  # of a sample's baskets
_ROOT_BITS = 64  # after the point of the γ that each of several reports is designed for


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A plan that is wished for; the fields, checked, are those of :func:`assocpriv.plan`."""

    catalogue: Catalogue
    promise: Any  # a Breach; with central the most that the plan's own may allow
    central: CentralPromise | None = None
    reports: int = DEFAULT_REPORTS
    reports_per_person: int = 1
    mean_size: float | None = None
    like: Sizes | None = None
    itemset_size: int | None = None
    transaction_size: int | None = None
    names: Names = field(default_factory=Names)
    paper: bool = False
    sizes: Sizes = field(init=False)  # of baskets, as known or assumed
    limit: Fraction = field(init=False)  # the γ that each report of a person must stay strictly below
    largest: int = field(init=False)  # K

    def __post_init__(self) -> None:
        check_promise(self.promise)
        check_type("names", self.names, Names).check_catalogue(self.catalogue)
        set_to = object.__setattr__
        for name, most in (("reports", MOST_REPORTS), ("reports_per_person", MOST_REPORTS_PER_PERSON)):
            set_to(self, name, check_range(name, getattr(self, name), 1, most))
        if self.transaction_size is not None:
            size = check_range("transaction_size (M)", self.transaction_size, 1, MAX_TRANSACTION_SIZE)
            set_to(self, "transaction_size", size)
        elif self.paper:
            raise PlanError("the paper's choice needs a transaction size: give transaction_size")
        if self.paper and self.central is not None:
            raise PlanError("the paper's choice knows of no anonymous channel; leave paper or central out")
        if self.mean_size is not None and self.like is not None:
            raise PlanError("a sample has a mean size of its own; give mean_size or like, not both")
        most_items = min(len(self.catalogue), self.transaction_size or MAX_TRANSACTION_SIZE)
        asked = min(_ITEMSET_SIZE, most_items) if self.itemset_size is None else self.itemset_size
        set_to(self, "largest", check_range("itemset_size (K)", asked, 1, most_items))
        set_to(self, "sizes", self.like or Sizes.usual(len(self.catalogue), self.mean_size))
        set_to(self, "limit", limit_of_each(self.promise, self.reports_per_person))

    @property
    def transaction_sizes(self) -> range:
        """M to choose from: what is given, or K and more as far as baskets can hold as many."""
        if self.transaction_size is not None:
            return range(self.transaction_size, self.transaction_size + 1)
        return range(self.largest, min(len(self.catalogue), MAX_TRANSACTION_SIZE) + 1)

    @property
    def record_size(self) -> int | None:
        """How many items all baskets hold, as records of so many columns do; None where baskets differ.

        They do where nearly all of a sample have one size, and where all items are named ``column=value``.
        """
        if self.like is not None:
            size = int(self.like.shares.argmax())
            return size if size > 1 and self.like.shares[size] >= _NEARLY_ALL else None
        columns = Counter(name.partition("=")[0] for name in self.catalogue if "=" in name)
        is_table = columns.total() == len(self.catalogue) and min(columns.values(), default=0) > 1
        return len(columns) if is_table else None

    @property
    def common_sizes(self) -> list[int]:
        """Sizes that many baskets are known to have."""
        if self.like is not None:
            return np.flatnonzero(self.like.shares >= _MANY).tolist()
        known = [self.record_size, self.mean_size]
        return [int(size) for size in known if size is not None and size == int(size)]


def limit_of_each(promise: Breach, reports_per_person: int) -> Fraction:
    """Return the γ that each of R reports must stay strictly below for all of them to keep a promise together.

    It is the R-th root of the promise's limit, of R > 1 rounded down to a multiple of 2^-64 by integers alone.

    >>> limit_of_each(Breach("5%", "95%"), 2)
    Fraction(19, 1)
    """
    return share_limit(promise.amplification_limit, reports_per_person, _ROOT_BITS)


def catalogue_of(items: int | Iterable[str]) -> Catalogue:
    """Return the catalogue of a number of items or of their names."""
    if isinstance(items, Catalogue):
        return items
    if (count := as_whole(items)) is not None:
        return Catalogue.numbered(count)
    if isinstance(items, Mapping) and "columns" in items:
        raise TypeError("a table's columns are planned by assocpriv.numeric.plan_table; items are a number, or names")
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(f"items must be a number of items or a list of their names, got a {type(items).__name__}")
    # names from numpy or pandas are subclasses of str; numbers are names too
    names = [str(item) if isinstance(item, str | int | np.integer) else item for item in items]
    # a set of text comes in another order in each process, and equal questions give equal plans
    return Catalogue(frozenset(names) if isinstance(items, Set) else names)
