"""Pseudorandom select-a-size: a uniformly random seed among those that agree with the kept and dropped items.

The report's value for an item is u_i = Σ_j ⟨column(i,j), ξ⟩·2^(r−1−j) (plans/generator.py); it is present iff u_i <
a. So a kept item takes a uniform u_i < a, a dropped one a uniform u_i ≥ a, which fixes m·r inner products of the seed
ξ. Either is a part of one draw below a·(2^r − a): how much is drawn does not tell what is kept. To draw uniformly from
the solutions: take a uniform ξ0; bring the columns into reduced form, each with a pivot bit no other has; flip the
pivot bits of the equations that ξ0 breaks. ξ0 ↦ ξ is an affine projection onto the solutions whose linear part has all
its fibres of equal size, so ξ is exactly uniform.

Source: EGS03, definition 9; how the seed is drawn is ours.
"""

from collections.abc import Sequence

import numpy as np

from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Field, item_columns
from assocpriv.promise.entropy import Entropy


def draw_seed(items: Sequence[int], kept: Sequence[bool], plan: Plan, field: Field | None, entropy: Entropy) -> int:
    """Return the seed as an integer, bit b of the seed being its bit b; one value an item is drawn, then the seed.

    Of the m ``items``, dummies included, the report shows those ``kept``; ``field`` is None where too large for tables.
    """
    num, bits = plan.independent.insert_num, plan.independent.insert_bits
    rest = (1 << bits) - num
    drawn = [entropy.below(num * rest) for _ in kept]
    values = [(num + x % rest, x % num)[keep] for x, keep in zip(drawn, kept, strict=True)]  # both are computed
    seed = entropy.below(1 << plan.generator.seed_bits)
    columns = item_columns(plan.generator, bits, np.array(items, dtype=np.int64), field)
    reduced: list[tuple[int, int, int]] = []  # column, wanted product, pivot bit
    for item, value in zip(columns, values, strict=True):
        for j, words in enumerate(item):
            column = int.from_bytes(words.astype("<u8").tobytes(), "little")
            reduced = _add_equation(reduced, column, value >> (bits - 1 - j) & 1)
    for column, wanted, pivot in reduced:
        # the pivots stand in no other column, so flipping one changes its own product alone
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
