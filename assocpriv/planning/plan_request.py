"""The checked request for a basket plan, with derived values for the search."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from assocpriv.guarantees.amplification import Guarantee, check_guarantee, root_of_limit
from assocpriv.guarantees.errors import PlanError, check_type
from assocpriv.guarantees.exact_numbers import as_whole, check_range
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.planning.expected_error import BasketSizes
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.item_names import Names
from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON

DEFAULT_REPORTS = 1_000_000
_ITEMSET_SIZE = 3  # default
_NEARLY_ALL, _MANY = 0.95, 0.1  # of a sample's baskets
_ROOT_BITS = 64  # binary places of the limit of γ for each of several reports


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A request for a plan; the checked fields are those of :func:`assocpriv.plan`."""

    catalogue: Catalogue
    guarantee: Any  # a Guarantee; with central the cap on the plan's local guarantee
    central: CentralGuarantee | None = None
    reports: int = DEFAULT_REPORTS
    reports_per_person: int = 1
    mean_size: float | None = None
    sample: BasketSizes | None = None
    itemset_size: int | None = None
    transaction_size: int | None = None
    names: Names = field(default_factory=Names)
    paper: bool = False
    sizes: BasketSizes = field(init=False)  # known or assumed
    limit: Fraction = field(init=False)  # strict upper bound of γ for each report of a person
    largest: int = field(init=False)  # K

    def __post_init__(self) -> None:
        check_guarantee(self.guarantee)
        check_type("names", self.names, Names).check_catalogue(self.catalogue)
        set_to = object.__setattr__
        for name, most in (("reports", MOST_REPORTS), ("reports_per_person", MOST_REPORTS_PER_PERSON)):
            set_to(self, name, check_range(name, getattr(self, name), 1, most))
        if self.transaction_size is not None:
            size = check_range("transaction_size (M)", self.transaction_size, 1, MAX_TRANSACTION_SIZE)
            set_to(self, "transaction_size", size)
        elif self.paper:
            raise PlanError("paper needs transaction_size")
        if self.paper and self.central is not None:
            raise PlanError("the paper has no anonymous channel; give paper or central, not both")
        mean: Any = self.mean_size
        if not isinstance(mean, Real | None):
            raise TypeError(f"mean_size must be a number, got a {type(mean).__name__}")
        if self.mean_size is not None and self.sample is not None:
            raise PlanError("a sample has its own mean size; give mean_size or sample, not both")
        most_items = min(len(self.catalogue), self.transaction_size or MAX_TRANSACTION_SIZE)
        largest = min(_ITEMSET_SIZE, most_items) if self.itemset_size is None else self.itemset_size
        set_to(self, "largest", check_range("itemset_size (K)", largest, 1, most_items))
        set_to(self, "sizes", self.sample or BasketSizes.from_mean(len(self.catalogue), self.mean_size))
        set_to(self, "limit", limit_per_report(self.guarantee, self.reports_per_person))

    @property
    def transaction_sizes(self) -> range:
        """The possible M: the given one, or all from K up to the number of items or the maximum."""
        if self.transaction_size is not None:
            return range(self.transaction_size, self.transaction_size + 1)
        return range(self.largest, min(len(self.catalogue), MAX_TRANSACTION_SIZE) + 1)

    @property
    def record_size(self) -> int | None:
        """The common size of all baskets, such as the number of columns of records; None if sizes differ.

        All baskets have one size if nearly all of a sample do, or if all items are named ``column=value``.
        """
        if self.sample is not None:
            size = int(self.sample.shares.argmax())
            return size if size > 1 and self.sample.shares[size] >= _NEARLY_ALL else None
        columns = Counter(name.partition("=")[0] for name in self.catalogue if "=" in name)
        is_table = columns.total() == len(self.catalogue) and min(columns.values(), default=0) > 1
        return len(columns) if is_table else None

    @property
    def common_sizes(self) -> list[int]:
        """The known sizes of many baskets."""
        if self.sample is not None:
            return np.flatnonzero(self.sample.shares >= _MANY).tolist()
        return [int(size) for size in (self.record_size, self.mean_size) if size is not None and size == int(size)]


def limit_per_report(guarantee: Guarantee, reports_per_person: int) -> Fraction:
    """Return the strict upper bound of γ for each of R reports that keep a guarantee together.

    It is the R-th root of the guarantee's limit, for R > 1 rounded down to a multiple of 2^-64, computed in integers.

    >>> limit_per_report(Guarantee("5%", "95%"), 2)
    Fraction(19, 1)
    """
    return root_of_limit(guarantee.amplification_limit, reports_per_person, _ROOT_BITS)


def as_catalogue(items: int | Iterable[str]) -> Catalogue:
    """Return the catalogue of a number of items or of their names."""
    if isinstance(items, Catalogue):
        return items
    if (count := as_whole(items)) is not None:
        return Catalogue.numbered(count)
    if isinstance(items, Mapping) and "columns" in items:
        raise TypeError("items must be a number or names; use assocpriv.numeric.plan_table for a table's columns")
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(f"items must be a number of items or a list of their names, got a {type(items).__name__}")
    # names from numpy or pandas are subclasses of str; numbers may be names, too
    names = [str(item) if isinstance(item, str | int | np.integer) else item for item in items]
    # a set of text has another order in each process, but equal requests must give equal plans
    return Catalogue(frozenset(names) if isinstance(items, Set) else names)
