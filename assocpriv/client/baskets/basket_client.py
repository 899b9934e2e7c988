"""Randomize one transaction into one report, on the device, for all report types of a plan.

This module sees raw items. If the plan has several report types, one is drawn by their weights, independently of the
basket; its view turns the transaction into entries, the items of the following steps. The report begins with the number
of the report type. The steps of a response, each an exact draw (see guarantees/entropy.py):

1. the transaction becomes exactly M items: it is padded with padding items, or M items of a longer one are sampled
   uniformly;
2. one draw of ``weight_bits`` bits selects which of the M items are kept, every subset of j items with
   probability v_j / 2^weight_bits;
3. the report is drawn uniformly among those in which the kept items are present and the dropped ones absent: bit by bit
   without a generator (every other item present with probability ρ), by its seed with one.

A seed is uniform among those that agree with the kept and dropped items. The report's value for an item is u_i = Σ_j
⟨column(i,j), ξ⟩·2^(r−1−j) (plans/baskets/generator.py); the item is present iff u_i < a. So a kept item gets a uniform
u_i < a, a dropped one a uniform u_i ≥ a, which fixes m·r inner products of the seed ξ. Both are parts of one draw below
a·(2^r − a), so the number of random words does not depend on what is kept. To draw uniformly from the solutions: take a
uniform ξ0; bring the columns into reduced form, each with a pivot bit that no other has; flip the pivot bits of the
equations that ξ0 violates. ξ0 ↦ ξ is an affine projection onto the solutions, and the fibres of its linear part have
equal size, so ξ is exactly uniform.

An operator of the kind fixed-size has other steps 2 and 3: for a transaction of m of the n items, the report is a
random set of exactly ℓ items. The probability of a set that shares j items with the transaction is proportional to the
operator's weight of j. So draw j; then which j of the m places are kept; then which ℓ − j of the n − m other items are
added, all equally likely. Both are drawn as ranks (guarantees/exact_numbers.py), which needs the fewest random words.

Source: EGS03, definitions 5 (select-a-size) and 9 (pseudorandom select-a-size); the way to draw the seed is ours. Fixed
size: for m = 1 Ye and Barg 2018 (subset selection); the rest is ours.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import comb, lcm
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.guarantees.errors import BasketError
from assocpriv.guarantees.exact_numbers import rank_of_set, set_of_rank
from assocpriv.plans.baskets.generator import Field, item_columns, tables_pay

if TYPE_CHECKING:
    from assocpriv.guarantees.entropy import Entropy
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator
    from assocpriv.plans.baskets.report_type import ReportType

# ---- reports of a fixed size


@dataclass(frozen=True)
class SetDraws:
    """The draws of one operator, by the number j of kept items: ``fewest``, ``fewest`` + 1, ….

    ``cumulative`` are the cumulative weights of j, ``kept_choices`` C(m, j), ``added_choices`` C(n − m, ℓ − j).
    ``added_bound``, a common multiple of the latter, bounds the draws: the number of random words must not depend on j.
    """

    operator: "FixedSizeOperator"
    fewest: int
    cumulative: tuple[int, ...]
    kept_choices: tuple[int, ...]
    added_choices: tuple[int, ...]
    added_bound: int

    @classmethod
    def from_operator(cls, operator: "FixedSizeOperator") -> "SetDraws":
        """Tabulate an operator's draws."""
        m, outside, size = operator.size, operator.items - operator.size, operator.report_size
        possible = range(max(0, size - outside), min(m, size) + 1)
        kept, added = tuple(comb(m, j) for j in possible), tuple(comb(outside, size - j) for j in possible)
        cumulative = operator.cumulative[possible[0] : possible[-1] + 1]
        return cls(operator, possible[0], cumulative, kept, added, _common_multiple(added))

    def draw(self, items: Sequence[int], entropy: "Entropy") -> int:
        """Return the rank of a random set of ℓ items, for the m items of a transaction, padding items included."""
        operator, choice = self.operator, entropy.pick(self.cumulative)
        j = self.fewest + choice
        # times 2, so that no bound is 1
        x, y = entropy.below(2 * self.kept_choices[choice]), entropy.below(self.added_bound)
        kept = set_of_rank(x // 2, operator.size, j)
        outside, size = operator.items - operator.size, operator.report_size
        added = set_of_rank(y * self.added_choices[choice] // self.added_bound, outside, size - j)
        others = sorted({*range(operator.items)}.difference(items))
        return rank_of_set([items[place] for place in kept] + [others[place] for place in added])


def _common_multiple(numbers: Sequence[int]) -> int:
    """Return a common multiple that is no power of two except 1: the least one, or three times it.

    Draws below a power of two work differently from others, and the compiled client implements one of the two ways.

    >>> _common_multiple([4, 6, 4]), _common_multiple([1, 2, 1]), _common_multiple([1, 1])
    (12, 6, 1)
    """
    least = lcm(*numbers)
    return 3 * least if least > 1 and least & (least - 1) == 0 else least


# ---- kept subsets


@dataclass(frozen=True)
class KeptSubsets:
    """All subsets of m positions: ``masks`` with bit p for position p, and ``cumulative`` weights to 2^weight_bits."""

    masks: tuple[int, ...]
    cumulative: tuple[int, ...]


def kept_subsets(operator: "Operator") -> KeptSubsets:
    """Tabulate the subsets for step 2."""
    masks = subsets_by_size(operator.size)
    return KeptSubsets(masks, tuple(accumulate(operator.keep_weights[mask.bit_count()] for mask in masks)))


def subsets_by_size(m: int) -> tuple[int, ...]:
    """Return all subsets of m positions as integers, by size and then by value."""
    return tuple(sorted(range(1 << m), key=lambda mask: (mask.bit_count(), mask)))


# ---- reports


class Responder:
    """The client of one report type; reuse it for many transactions."""

    def __init__(self, report_type: "ReportType") -> None:
        self.report_type = report_type
        self._responses = 0

    @cached_property
    def subsets(self) -> KeptSubsets:
        """The possible subsets of kept items of a transaction."""
        return kept_subsets(self.report_type.independent)

    @cached_property
    def sets(self) -> SetDraws:
        """The draws of an operator of the kind fixed-size."""
        return SetDraws.from_operator(self.report_type.fixed)

    @cached_property
    def _tables(self) -> Field:
        return Field(self.report_type.generator)

    def _field(self) -> Field | None:
        """Return the generator's field once its tables save time; None before, and for a field that is too large."""
        self._responses += 1
        columns = self.report_type.transaction_size * self.report_type.independent.insert_bits
        return self._tables if tables_pay(self.report_type.generator, columns * self._responses) else None

    def respond(self, entries: Sequence[int], entropy: "Entropy") -> bytes:
        """Return the response for a transaction's distinct, rising entries, with the type's output distribution."""
        return self.report_type.form.encode(_FORMS[self.report_type.form.name](self, entries, entropy))

    def _rank(self, entries: Sequence[int], entropy: "Entropy") -> int:
        return self.sets.draw(fit_transaction(entries, self.report_type, entropy), entropy)

    def _bits(self, entries: Sequence[int], entropy: "Entropy") -> int:
        items, kept = self._kept(entries, entropy)
        return _draw_bits(items, kept, self.report_type, entropy)

    def _seed(self, entries: Sequence[int], entropy: "Entropy") -> int:
        items, kept = self._kept(entries, entropy)
        return draw_seed(items, kept, self.report_type, self._field(), entropy)

    def _kept(self, entries: Sequence[int], entropy: "Entropy") -> tuple[list[int], list[bool]]:
        """Return the M items of a transaction, and which of them the report keeps."""
        items = fit_transaction(entries, self.report_type, entropy)
        mask = self.subsets.masks[entropy.pick(self.subsets.cumulative)]
        kept = [bool(mask >> position & 1) for position in range(len(items))]
        return items, kept


_FORMS: "dict[str, Callable[[Responder, Sequence[int], Entropy], int]]" = {
    "bits": Responder._bits,
    "seed": Responder._seed,
    "rank": Responder._rank,
}


class Randomizer:
    """The client of one plan; reuse it for many transactions."""

    def __init__(self, plan: "Plan") -> None:
        self.plan = plan
        self._responders = [Responder(report_type) for report_type in plan.report_types]

    def randomize(self, transaction: Collection[int], *, entropy: "Entropy") -> bytes:
        """Return the report of distinct item ids in 0..n_items − 1, with the plan's output distribution.

        Raises:
            BasketError: an id outside the catalogue, or a repeated one.
            TypeError: an id that is no integer.
        """
        checked = _check_transaction(transaction, self.plan)
        number = entropy.pick(self.plan.cumulative_weights) if len(self._responders) > 1 else 0
        responder = self._responders[number]
        entries = responder.report_type.view.entries(checked)
        return self.plan.pack_report(number, responder.respond(entries, entropy))


def randomize_basket(basket: Collection[str | int], plan: "Plan", *, entropy: "Entropy") -> bytes:
    """Return the report of one basket of names, mapped to items as the plan's rules say.

    Raises:
        BasketError: a name that the plan neither has nor drops, or a repeated one.
        TypeError: not a collection of names.
    """
    if isinstance(basket, str | bytes | bytearray | memoryview | Mapping) or not isinstance(basket, Collection):
        raise TypeError("a basket must be a set or list of item names")  # in a mapping a zero would count as bought
    return Randomizer(plan).randomize(transaction_of(basket, plan), entropy=entropy)


# ---- steps


def _check_transaction(transaction: Collection[int], plan: "Plan") -> list[int]:
    """Return the item ids in rising order; errors show no items."""
    items = sorted(map(index, transaction))
    if items and not (items[0] >= 0 and items[-1] < plan.n_items):
        raise BasketError(f"the basket holds an item id outside the plan's catalogue, 0..{plan.n_items - 1}")
    if len(set(items)) != len(items):
        raise BasketError("the basket repeats an item; a basket is a set")
    return items


def fit_transaction(items: Sequence[int], report_type: "ReportType", entropy: "Entropy") -> list[int]:
    """Pad with padding items n_items, n_items + 1, … to exactly M items, or sample M of them uniformly.

    The sample is the first M places of a Fisher–Yates shuffle.
    """
    fitted, size = list(items), report_type.transaction_size
    if len(fitted) <= size:
        return fitted + list(range(report_type.n_items, report_type.n_items + size - len(fitted)))
    for place in range(size):
        other = place + entropy.below(len(fitted) - place)
        fitted[place], fitted[other] = fitted[other], fitted[place]
    return fitted[:size]


def _draw_bits(items: Sequence[int], kept: Sequence[bool], report_type: "ReportType", entropy: "Entropy") -> int:
    operator = report_type.independent
    bits = entropy.random_bits(report_type.padded_items, operator.insert_num, operator.insert_bits)
    held = shown = 0
    for item, keep in zip(items, kept, strict=True):  # the same steps for kept and dropped items
        held |= 1 << item
        shown |= keep << item
    return bits & ~held | shown


def draw_seed(
    items: Sequence[int], kept: Sequence[bool], report_type: "ReportType", field: Field | None, entropy: "Entropy"
) -> int:
    """Return the seed as an integer, bit b of the seed being its bit b; draws one value for each item, then the seed.

    The report shows those of the m ``items``, padding items included, that are ``kept``; ``field`` is None where it is
    too large for tables.
    """
    num, bits = report_type.independent.insert_num, report_type.independent.insert_bits
    rest = (1 << bits) - num
    drawn = [entropy.below(num * rest) for _ in kept]
    values = [(num + x % rest, x % num)[keep] for x, keep in zip(drawn, kept, strict=True)]  # both are computed
    seed = entropy.below(1 << report_type.generator.seed_bits)
    columns = item_columns(report_type.generator, bits, np.array(items, dtype=np.int64), field)
    reduced: list[tuple[int, int, int]] = []  # column, wanted product, pivot bit
    for item, value in zip(columns, values, strict=True):
        for j, words in enumerate(item):
            column = int.from_bytes(words.astype("<u8").tobytes(), "little")
            reduced = _add_equation(reduced, column, value >> (bits - 1 - j) & 1)
    for column, wanted, pivot in reduced:
        # a pivot is in no other column, so flipping it changes only its own product
        if (column & seed).bit_count() & 1 != wanted:
            seed ^= pivot
    return seed


def _add_equation(reduced: list[tuple[int, int, int]], column: int, wanted: int) -> list[tuple[int, int, int]]:
    """Add ⟨column, ξ⟩ = wanted to equations in reduced form."""
    for other, product, pivot in reduced:
        if column & pivot:
            column ^= other
            wanted ^= product
    assert column, "the plan's generator does not have the independence it was checked for"
    lowest = column & -column
    cleared = [
        (other ^ column, product ^ wanted, pivot) if other & lowest else (other, product, pivot)
        for other, product, pivot in reduced
    ]
    return [*cleared, (column, wanted, lowest)]
