"""The check of a list of supports before it goes out: exact, and of what was written.

A witness is possible baskets, counted in whole numbers. If they agree with every fact of the list, up to a stated
tolerance, and keep the bound, nobody can conclude from the list that it is broken. Whoever finds a witness need not
be trusted: it is checked here in fractions, against the list as it was written and read again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Protocol

from assocpriv.owner.suppression.items_templates import ItemBound

TOLERANCE = Fraction(1, 10**10)  # of a support: less than one basket in any file, more than rounding


class Stated(Protocol):
    """What a line says: the sum of coefficient times support over ``terms`` is ``value``."""

    @property
    def terms(self) -> tuple[tuple[frozenset[str], Fraction], ...]:
        """Itemsets with coefficients."""

    @property
    def value(self) -> Fraction:
        """What they add up to."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Possible baskets over some items: how many hold exactly which, and how far supports may be off the list."""

    items: frozenset[str]
    baskets: tuple[tuple[frozenset[str], int], ...]
    tolerance: Fraction

    def agrees(self, facts: Iterable[Stated]) -> bool:
        """Say whether the baskets are as the facts that speak only of these items, up to the tolerance."""
        total = sum(count for _, count in self.baskets)
        if total <= 0 or any(count < 0 for _, count in self.baskets):
            return False
        for fact in facts:
            if all(itemset <= self.items for itemset, _ in fact.terms):
                found = sum((factor * self._count(itemset) for itemset, factor in fact.terms), Fraction(0)) / total
                if abs(found - fact.value) > self.tolerance:
                    return False
        return True

    def _count(self, itemset: frozenset[str]) -> int:
        return sum(count for basket, count in self.baskets if itemset <= basket)

    def keeps(self, bound: ItemBound) -> bool:
        """Say whether no pattern of the bound's channel holds the sensitive itemset more often than it may."""
        return all(self._allows(bound, flags) for flags in product((False, True), repeat=len(bound.channel)))

    def _allows(self, bound: ItemBound, flags: Sequence[bool]) -> bool:
        pattern = list(zip(bound.channel, flags, strict=True))
        alike = [(basket, n) for basket, n in self.baskets if all((item in basket) == flag for item, flag in pattern)]
        hits = sum(count for basket, count in alike if basket.issuperset(bound.sensitive))
        return bound.allows(hits, sum(count for _, count in alike))
