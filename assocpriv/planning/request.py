"""Requests for a plan: what is wished, checked once, with what follows from it for the search."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb

import numpy as np

from assocpriv.planning.designs import LARGEST_INSERT_BITS, MOST_REPORTS, WorstSupport
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.names import Names
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON
from assocpriv.promise.breaches import Breach, share_limit
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import as_whole, check_range
from assocpriv.server.counting import MOST_CANDIDATES

DEFAULT_REPORTS = 1_000_000
FIXED_SIZE, INDEPENDENT = "fixed-size", "independent"
_ROOT_BITS = 64  # after the point of the γ that each of several reports is designed for
_CODES = ("auto", "bch", "reed-solomon", "none")
_PATTERNS = {"any": False, "threshold": True}
# of each kind, what is searched; with auto only where fixed sizes are possible, short and likely to win
_SEARCHED = {"auto": (INDEPENDENT,), INDEPENDENT: (INDEPENDENT,), FIXED_SIZE: (FIXED_SIZE,)}
# with the dummies; for M=5, γ=19 the LDS of sizes 1..3 is lower than with independent insertion by 36% at 32 items, 22%
# at 64, 10% at 128, 3% at 256, 1% at 512, while the time that a report takes both sides grows with the items
_MOST_FIXED_ITEMS = 256
_NAMED_TARGETS = {"singles": 1, "pairs": 2, "triples": 3}
_DIGITS = re.compile(r"[0-9]{1,9}")
Target = Iterable[int | str] | int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWishes:
    """What is wished of a plan of any transaction size; the fields, checked, are those of :func:`assocpriv.plan`."""

    promise: Breach
    itemset_size: int | None = None
    reports: int = DEFAULT_REPORTS
    pattern: str = "any"
    target: Target = None
    reports_per_person: int = 1
    limit: Fraction = field(init=False)  # the γ that each report of a person must stay strictly below

    def __post_init__(self) -> None:
        if not isinstance(self.promise, Breach):
            raise TypeError(
                f"promise must be a Breach, as Breach('5%', '50%') or Epsilon(2.5), got a {type(self.promise).__name__}"
            )
        for name, most in (("reports", MOST_REPORTS), ("reports_per_person", MOST_REPORTS_PER_PERSON)):
            object.__setattr__(self, name, check_range(name, getattr(self, name), 1, most))
        if self.itemset_size is not None:
            size = check_range("itemset_size (K)", self.itemset_size, 1, MAX_TRANSACTION_SIZE)
            object.__setattr__(self, "itemset_size", size)
        if self.pattern not in _PATTERNS:
            raise PlanError(f"pattern must be 'any' or 'threshold', got {self.pattern!r}")
        if self.target is not None and not isinstance(self.target, str) and as_whole(self.target) is None:
            object.__setattr__(self, "target", tuple(self.target))  # type: ignore[arg-type]  # it is read more than once
        object.__setattr__(self, "limit", limit_of_each(self.promise, self.reports_per_person))

    @property
    def thresholds_only(self) -> bool:
        """Whether only patterns 0…01…1 are searched."""
        return _PATTERNS[self.pattern]

    def targets(self, largest: int) -> list[int]:
        """Return the itemset sizes that are planned for, as numbers; all of 1..largest by default."""
        if self.target is None:
            return list(range(1, largest + 1))
        sizes = []
        for entry in self.target if isinstance(self.target, tuple) else [self.target]:
            size = _NAMED_TARGETS.get(str(entry), as_whole(entry))
            if isinstance(entry, str) and _DIGITS.fullmatch(entry):
                size = int(entry)
            if size is None or not 1 <= size <= largest:
                raise PlanError(f"target must name itemset sizes in 1..{largest} (or singles, pairs, triples)")
            sizes.append(size)
        if not sizes:
            raise PlanError("target must name at least one itemset size")
        return sorted(set(sizes))


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A plan wished for some items and one M, checked; the other fields are those of :func:`assocpriv.plan`."""

    catalogue: Catalogue
    transaction_size: int
    wishes: PlanWishes
    code: str = "auto"
    kind: str = "auto"
    names: Names = field(default_factory=Names)
    largest_insert_bits: int = LARGEST_INSERT_BITS

    def __post_init__(self) -> None:
        self.names.check_catalogue(self.catalogue)
        for name, most in (("transaction_size", MAX_TRANSACTION_SIZE), ("largest_insert_bits", LARGEST_INSERT_BITS)):
            object.__setattr__(self, name, check_range(name, getattr(self, name), 1, most))
        check_range("itemset_size (K)", self.itemset_size, 1, self.transaction_size)
        if self.code not in _CODES:
            raise PlanError(f"code must be one of {', '.join(_CODES)}, got {self.code!r}")
        if self.kind not in _SEARCHED:
            raise PlanError(f"kind must be one of {', '.join(_SEARCHED)}, got {self.kind!r}")
        if self.kind == FIXED_SIZE and not self._fixed_size_possible:
            raise PlanError("reports of a fixed size take no code; leave code at auto")
        self.objective(self.transaction_size)  # checks the target

    @property
    def itemset_size(self) -> int:
        """K; 3 by default, or M if that is less."""
        asked = self.wishes.itemset_size
        return min(3, self.transaction_size) if asked is None else asked

    @property
    def padded_items(self) -> int:
        """Items that a report is made for, those of the catalogue and M dummies."""
        return len(self.catalogue) + self.transaction_size

    @property
    def independent_items(self) -> int:
        """M + K: items whose bits in a report must be independent."""
        return self.transaction_size + self.itemset_size

    @property
    def searches(self) -> tuple[str, ...]:
        """Names of the searches that its kind asks for, the longest last."""
        affordable = self.independent_items <= self.padded_items <= _MOST_FIXED_ITEMS  # itemsets exist without dummies
        likely = self.kind == "auto" and self._fixed_size_possible and affordable and not self.wishes.thresholds_only
        return (FIXED_SIZE, INDEPENDENT) if likely else _SEARCHED[self.kind]

    @property
    def _fixed_size_possible(self) -> bool:
        return self.code in ("auto", "none")

    def objective(self, m: int) -> WorstSupport:
        """Return what makes a design for transactions of m items good: the sizes that matter, as far as m holds them.

        With more items than can all be paired the smaller sizes matter too: mining must leave most items out.
        """
        targets = self.wishes.targets(self.itemset_size)
        if comb(len(self.catalogue), 2) > MOST_CANDIDATES:
            targets = list(range(1, max(targets) + 1))
        return worst_support(targets, m, self.wishes.reports)


def worst_support(targets: Iterable[int], m: int, reports: int) -> WorstSupport:
    """Return the objective for transactions of m items: the targets as far as m items hold them."""
    return WorstSupport([k for k in targets if k <= m] or [m], reports)


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
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise TypeError(f"items must be a number of items or a list of their names, got a {type(items).__name__}")
    # names from numpy or pandas are subclasses of str; numbers are names too
    names = [str(item) if isinstance(item, str | int | np.integer) else item for item in items]
    # a set of text comes in another order in each process, and equal questions give equal plans
    return Catalogue(frozenset(names) if isinstance(items, Set) else names)
