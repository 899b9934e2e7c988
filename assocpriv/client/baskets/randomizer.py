"""One transaction → one report, on the device.

This module sees raw items. The steps, each an exact draw (see promise/entropy.py):

1. the transaction becomes exactly M items: padded with dummies, or M of a longer one sampled uniformly;
2. one draw of ``weight_bits`` bits picks which of the M items are kept, every subset of j items with
   probability v_j / 2^weight_bits;
3. the report is drawn uniformly among those in which the kept items are present and the dropped ones absent:
   bit by bit without a generator (every other item present with probability ρ), by its seed with one.

A plan of the kind fixed-size has other steps 2 and 3: client/baskets/fixed_size.py. With blocks a block is drawn
before all that, whatever the transaction holds; the report begins with its number and is about the transaction's items
in it.

Source: EGS03, definitions 5 (select-a-size) and 9 (pseudorandom select-a-size).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import index

from assocpriv.client.baskets.fixed_size import SetDraws
from assocpriv.client.baskets.seeds import draw_seed
from assocpriv.client.baskets.transactions import view_transaction
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Field, tables_pay
from assocpriv.plans.operator import Operator
from assocpriv.plans.view import NUMBER_BYTES
from assocpriv.promise.entropy import Entropy
from assocpriv.promise.errors import BasketError


@dataclass(frozen=True)
class KeptSubsets:
    """All subsets of m positions: ``masks`` with bit p for position p, and ``cumulative`` weights to 2^weight_bits."""

    masks: tuple[int, ...]
    cumulative: tuple[int, ...]


def kept_subsets(operator: Operator) -> KeptSubsets:
    """Tabulate the subsets that step 2 picks from."""
    masks = subsets_by_size(operator.size)
    weights = (operator.keep_weights[mask.bit_count()] for mask in masks)
    return KeptSubsets(masks, tuple(accumulate(weights)))


def subsets_by_size(m: int) -> tuple[int, ...]:
    """Return all subsets of m positions as integers, by size and then by value."""
    return tuple(sorted(range(1 << m), key=lambda mask: (mask.bit_count(), mask)))


class Randomizer:
    """A device's side of one plan; keep one for many transactions."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._reports = 0

    @cached_property
    def subsets(self) -> KeptSubsets:
        """The subsets that a transaction's kept items are picked from."""
        return kept_subsets(self.plan.independent)

    @cached_property
    def in_block(self) -> "Randomizer":
        """Of a plan with blocks, the randomizer of a transaction's items in one block."""
        return Randomizer(self.plan.block_plan)

    @cached_property
    def sets(self) -> SetDraws:
        """The draws of a plan of the kind fixed-size."""
        return SetDraws.of(self.plan.fixed)

    @cached_property
    def _tables(self) -> Field:
        return Field(self.plan.generator)

    def _field(self) -> Field | None:
        """Return the generator's field; None where it is too large for its tables to pay, for some reports yet."""
        self._reports += 1
        columns = self.plan.transaction_size * self.plan.independent.insert_bits
        return self._tables if tables_pay(self.plan.generator, columns * self._reports) else None

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of any number of distinct item ids in 0..n_items − 1, distributed as the plan says.

        Raises:
            BasketError: an id outside the catalogue, or a repeated one.
            TypeError: an id that is no integer.
        """
        checked = check_transaction(transaction, self.plan)
        return _REPORTS[self.plan.form.name](self, checked, entropy)

    def _block(self, checked: list[int], entropy: Entropy) -> bytes:
        blocks = self.plan.view.blocks
        assert blocks is not None
        block = entropy.below(blocks.count)
        places = blocks.places(block, checked, self.plan.n_items)
        return block.to_bytes(NUMBER_BYTES, "little") + self.in_block.randomize(places, entropy=entropy)

    def _rank(self, checked: list[int], entropy: Entropy) -> bytes:
        return self.plan.form.encode(self.sets.draw(fit_transaction(checked, self.plan, entropy), entropy))

    def _bits(self, checked: list[int], entropy: Entropy) -> bytes:
        items, kept = self._kept(checked, entropy)
        return self.plan.form.encode(_draw_bits(items, kept, self.plan, entropy))

    def _seed(self, checked: list[int], entropy: Entropy) -> bytes:
        items, kept = self._kept(checked, entropy)
        return self.plan.form.encode(draw_seed(items, kept, self.plan, self._field(), entropy))

    def _kept(self, checked: list[int], entropy: Entropy) -> tuple[list[int], list[bool]]:
        """Return the M items of a transaction, and which of them the report is to show."""
        items = fit_transaction(checked, self.plan, entropy)
        mask = self.subsets.masks[entropy.pick(self.subsets.cumulative)]
        kept = [bool(mask >> position & 1) for position in range(len(items))]
        return items, kept


_REPORTS: dict[str, Callable[[Randomizer, list[int], Entropy], bytes]] = {
    "bits": Randomizer._bits,
    "seed": Randomizer._seed,
    "rank": Randomizer._rank,
    "block": Randomizer._block,
}


def randomize_basket(basket: Collection[str | int], plan: Plan, *, entropy: Entropy) -> bytes:
    """Return the report of one basket of names: what the plan's view makes of it, randomized.

    Raises:
        BasketError: a name that the view neither knows nor drops, or one repeated.
        TypeError: not a collection of names.
    """
    if isinstance(basket, str | bytes | bytearray | memoryview) or not isinstance(basket, Collection):
        raise TypeError("a basket must be a set or list of item names; randomize_baskets takes many of them")
    return Randomizer(plan).randomize(view_transaction(basket, plan), entropy=entropy)


def check_transaction(transaction: Collection[int], plan: Plan) -> list[int]:
    """Return the item ids in increasing order; positions, never items, are named in errors."""
    items = sorted(map(index, transaction))
    if items and not (items[0] >= 0 and items[-1] < plan.n_items):
        raise BasketError(f"the basket holds an item id outside the plan's catalogue, 0..{plan.n_items - 1}")
    if len(set(items)) != len(items):
        raise BasketError("the basket repeats an item; a basket is a set")
    return items


def fit_transaction(items: Sequence[int], plan: Plan, entropy: Entropy) -> list[int]:
    """Pad with dummies n_items, n_items + 1, … to exactly M items, or sample M of them uniformly.

    The sample is the first M places of a Fisher–Yates shuffle.
    """
    fitted, size = list(items), plan.transaction_size
    if len(fitted) <= size:
        return fitted + list(range(plan.n_items, plan.n_items + size - len(fitted)))
    for place in range(size):
        other = place + entropy.below(len(fitted) - place)
        fitted[place], fitted[other] = fitted[other], fitted[place]
    return fitted[:size]


def _draw_bits(items: Sequence[int], kept: Sequence[bool], plan: Plan, entropy: Entropy) -> int:
    operator = plan.independent
    bits = entropy.coins(plan.padded_items, operator.insert_num, operator.insert_bits)
    held = shown = 0
    for item, keep in zip(items, kept, strict=True):  # the same steps for kept and dropped items
        held |= 1 << item
        shown |= keep << item
    return bits & ~held | shown
