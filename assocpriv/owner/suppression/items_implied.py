"""What a published list of supports implies: whether some baskets that agree with all of it also satisfy a bound.

Of k items a basket holds one of 2^k combinations, its cell. The shares x of the cells are not negative and add up to
1, and every fact of a list is linear in them: the support of I is the sum of the cells that contain I. So whoever
reads the list knows that x lies in a polytope, the exact inclusion–exclusion bounds of Calders and Goethals
(Non-derivable itemset mining, 2007) for all itemsets at once. A list violates a bound ⟨IC → S, h⟩ if no such x
satisfies it:

    minimize t  over x ≥ 0, Σx = 1, facts,  with  supp(p, S) − h·supp(p) ≤ t  for every pattern p of IC.

Otherwise there is a *witness*, an x with t ≤ 0: possible baskets, about which nothing of the list is wrong, and which
keep the bound. A linear program only finds it. It becomes whole numbers, and ``items_witness`` decides about these
exactly.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import TemplateError
from assocpriv.owner.suppression.items_lists import Fact, Itemset
from assocpriv.owner.suppression.items_templates import ItemBound
from assocpriv.owner.suppression.items_witness import TOLERANCE, Witness
from assocpriv.plans.baskets.catalogue import sort_key

MOST_ITEMS = 12  # considered together: 4,096 cells
_MOST_COEFFICIENTS = 1 << 17  # of a linear program, which then takes a quarter of a second; four times as many take two
_SCALE = float(1 << 20)  # sum of the cells in programs: HiGHS allows errors of 1e-7, which makes them 1e-13 of a share
_GRAIN = 1 << 30  # whole numbers that a unit of a program becomes
_PATTERNS = 243  # of a channel, parts included, that a report goes through


@dataclass(frozen=True, slots=True)
class Universe:
    """The items considered together for a bound, its own first, and whether no other could add to what is known."""

    items: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Implied:
    """An inference that every database agreeing with a list has: at least this confidence, at least this support.

    ``pattern`` says of each item of the bound's channel whether it is there, None for either.
    """

    bound: ItemBound
    pattern: tuple[bool | None, ...]
    support: float
    confidence: float


# ---- which items


def universe_of(bound: ItemBound, facts: Sequence[Fact]) -> Universe:
    """Choose the items that a bound is checked with: all that facts connect with its own, or the nearest of them.

    They are at most MOST_ITEMS, fewer where the list says very much of them.

    An item whose neighbours' supports are all stated, single and together, tells nothing about the others and is
    left out: whatever they are, it can be added to them.

    Raises:
        TemplateError: the bound alone names more items than can be considered together.
    """
    core = frozenset((*bound.channel, *bound.sensitive))
    if len(core) > MOST_ITEMS:
        raise TemplateError(
            f"{bound}: at most {MOST_ITEMS} items can be considered together, got {len(core)}; shorten the channel"
        )
    groups = {fact.items for fact in facts}
    stated = {fact.terms[0][0] for fact in facts if len(fact.terms) == 1}
    chosen = sorted(core, key=sort_key)
    reached = _component(core, groups)
    groups = {group for group in groups if len(group) > 1 and group & reached}
    _leave_out_idle(groups, stated, core)
    wanted = frozenset[str]().union(*groups) - core
    while wanted and len(chosen) < MOST_ITEMS:
        nearest = min(wanted, key=lambda item: (*_distance(item, frozenset(chosen), groups), sort_key(item)))
        inside = sum(fact.items <= {*chosen, nearest} for fact in facts)
        if inside << len(chosen) + 1 > _MOST_COEFFICIENTS:
            break
        chosen.append(nearest)
        wanted -= {nearest}
    return Universe(tuple(chosen), not wanted)


def _component(core: Itemset, groups: Iterable[Itemset]) -> Itemset:
    reached, left = set(core), set(groups)
    while touching := {group for group in left if group & reached}:
        reached |= frozenset[str]().union(*touching)
        left -= touching
    return frozenset(reached)


def _leave_out_idle(groups: set[Itemset], stated: set[Itemset], core: Itemset) -> None:
    """Take items out of groups whose neighbours' joint distribution is stated, one after the other."""
    found = True
    while found:
        found = False
        for item in sorted(frozenset[str]().union(*groups) - core):
            own = {group for group in groups if item in group}
            beside = frozenset[str]().union(*own) - {item}
            if len(beside) < MOST_ITEMS and all(part in stated for part in _parts(beside)):
                groups -= own
                groups |= {group - {item} for group in own if len(group) > 2}
                found = True


def _parts(itemset: Itemset) -> Iterator[Itemset]:
    for size in range(1, len(itemset) + 1):
        yield from map(frozenset, combinations(sorted(itemset), size))


def _distance(item: str, chosen: Itemset, groups: Iterable[Itemset]) -> tuple[int, int]:
    own = [group for group in groups if item in group]
    return -sum(group - {item} <= chosen for group in own), -sum(not group.isdisjoint(chosen) for group in own)


# ---- linear programs


class Program:
    """The linear programs of one universe and the facts within it."""

    def __init__(self, items: Sequence[str], facts: Iterable[Fact]) -> None:
        self.items = tuple(items)
        self._bit = {item: 1 << at for at, item in enumerate(self.items)}
        self._cells = np.arange(1 << len(self.items))
        inside = frozenset(self.items)
        self.facts = tuple(dict.fromkeys(fact for fact in facts if fact.items <= inside))
        self._rows = np.array([self._row(fact) for fact in self.facts]).reshape(len(self.facts), len(self._cells))
        self._values = np.array([float(fact.value) for fact in self.facts]) * _SCALE

    def _row(self, fact: Fact) -> NDArray[np.float64]:
        row = np.zeros(len(self._cells))
        for itemset, coefficient in fact.terms:
            row += float(coefficient) * self._holds(itemset)
        return row

    def _holds(self, items: Iterable[str]) -> NDArray[np.bool_]:
        mask = sum(self._bit[item] for item in items)
        held: NDArray[np.bool_] = (self._cells & mask) == mask
        return held

    def _matches(self, channel: Sequence[str], pattern: Sequence[bool | None]) -> NDArray[np.bool_]:
        there = self._holds(item for item, flag in zip(channel, pattern, strict=True) if flag)
        for item, flag in zip(channel, pattern, strict=True):
            if flag is False:
                there &= (self._cells & self._bit[item]) == 0
        return there

    def _solve(self, cost: Any, rows: Any, low: Any, high: Any, least: Any) -> NDArray[np.float64] | None:
        """Minimize cost·z, low ≤ rows z ≤ high, z ≥ least; None if nothing does."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        constraint = LinearConstraint(csr_array(np.vstack(rows)), np.concatenate(low), np.concatenate(high))
        solved = milp(cost, constraints=constraint, bounds=Bounds(least, np.inf))
        return None if solved.x is None else np.asarray(solved.x, dtype=np.float64)

    def tolerance(self) -> Fraction:
        """Return the smallest deviation from all values of the list that some shares of the cells have."""
        n = len(self._cells)
        more = np.ones((len(self.facts), 1))
        total = np.append(np.ones(n), 0.0)
        found = self._solve(
            np.append(np.zeros(n), 1.0),
            [np.hstack([self._rows, -more]), np.hstack([self._rows, more]), total[None]],
            [np.full(len(self.facts), -np.inf), self._values, [_SCALE]],
            [self._values, np.full(len(self.facts), np.inf), [_SCALE]],
            np.zeros(n + 1),
        )
        assert found is not None  # a deviation large enough always does
        return Fraction(float(found[-1])) / Fraction(_SCALE)

    def witness(self, bound: ItemBound, tolerance: Fraction) -> Witness | None:
        """Look for shares that agree with all facts up to a tolerance and keep a bound; None if none was found.

        What is found has still to be verified.
        """
        n, channel = len(self._cells), bound.channel
        hit, limit = self._holds(bound.sensitive), float(bound.confidence)
        patterns = [self._matches(channel, flags) for flags in product((False, True), repeat=len(channel))]
        kept = np.array([(hit & there) - limit * there for there in patterns])
        slack = float(tolerance + TOLERANCE / 2) * _SCALE
        found = self._solve(
            np.append(np.zeros(n), 1.0),
            [
                np.hstack([self._rows, np.zeros((len(self.facts), 1))]),
                np.hstack([kept, -np.ones((len(kept), 1))]),
                np.append(np.ones(n), 0.0)[None],
            ],
            [self._values - slack, np.full(len(kept), -np.inf), [_SCALE]],
            [self._values + slack, np.zeros(len(kept)), [_SCALE]],
            np.append(np.zeros(n), -_SCALE),
        )
        if found is None or found[-1] > slack:
            return None
        weights = np.rint(np.clip(found[:-1], 0, None) * _GRAIN).astype(object)
        weights = np.array([int(weight) for weight in weights], dtype=object)
        self._repair(weights, bound, patterns, hit)
        return Witness(
            frozenset(self.items),
            tuple((self._itemset(cell), int(weights[cell])) for cell in np.flatnonzero(weights).tolist()),
            tolerance + TOLERANCE,
        )

    def _repair(self, weights: Any, bound: ItemBound, patterns: Sequence[Any], hit: NDArray[np.bool_]) -> None:
        """Make up for rounding: where too many have the itemset, move what is above to cells without an item of it."""
        drop = self._bit[bound.sensitive[0]]
        for there in patterns:
            total, inside = sum(weights[there]), np.flatnonzero(there & hit)
            excess = sum(weights[inside]) - total * bound.confidence.numerator // bound.confidence.denominator
            for cell in inside:
                if excess <= 0:
                    break
                moved = min(excess, weights[cell])
                weights[cell] -= moved
                weights[cell ^ drop] += moved
                excess -= moved

    def _itemset(self, cell: int) -> Itemset:
        return frozenset(item for item, bit in self._bit.items() if cell & bit)

    def implied(self, bound: ItemBound, tolerance: Fraction) -> list[Implied]:
        """Return the patterns of a channel and its parts that surely exceed a bound, highest confidence first."""
        flags: Iterable[tuple[bool | None, ...]] = product((True, None, False), repeat=len(bound.channel))
        if 3 ** len(bound.channel) > _PATTERNS:
            flags = [(True,) * len(bound.channel)]
        found = [self._least(bound, pattern, tolerance) for pattern in flags]
        return sorted((one for one in found if one is not None), key=lambda one: (-one.confidence, -one.support))

    def _least(self, bound: ItemBound, pattern: tuple[bool | None, ...], tolerance: Fraction) -> Implied | None:
        n, there = len(self._cells), self._matches(bound.channel, pattern)
        hit = there & self._holds(bound.sensitive)
        slack = float(tolerance + TOLERANCE / 2) * _SCALE
        ones = np.ones((1, n))
        fewest = self._solve(
            there.astype(float), [self._rows, ones], [self._values - slack, [_SCALE]], [self._values + slack, [_SCALE]],
            np.zeros(n),
        )  # fmt: skip
        least = 0.0 if fewest is None else float(fewest[there].sum() / _SCALE)
        if least <= float(TOLERANCE):
            return None
        # shares divided by that of the pattern, and one over it as a further unknown (Charnes and Cooper 1962)
        low, high = (((self._values + sign * slack) / _SCALE)[:, None] for sign in (-1, 1))
        found = self._solve(
            np.append(hit.astype(float), 0.0),
            [np.hstack([self._rows, -low]), np.hstack([self._rows, -high]), np.append(ones[0], -1.0)[None],
             np.append(there.astype(float), 0.0)[None]],
            [np.zeros(len(low)), np.full(len(low), -np.inf), [0.0], [1.0]],
            [np.full(len(low), np.inf), np.zeros(len(low)), [0.0], [1.0]],
            np.zeros(n + 1),
        )  # fmt: skip
        confidence = 0.0 if found is None else float(found[:-1][hit].sum())
        return Implied(bound, pattern, least, confidence) if confidence > float(bound.confidence) + 1e-9 else None
