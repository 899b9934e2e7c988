"""A client of a plan with blocks, looked at block by block.

Given its block a report must be one of the plan of a block, about the transaction's items in it. So a device is made to
draw a given block, asked about a transaction with given items in that block and others outside, and what it then draws
and reports goes through the checks of any plan. That the first draw is one below the number of blocks, and that its
answer is the block named, is checked in every run: the block is then drawn evenly, whatever is held.

Blocks are those of auditing/recompute/cuts.py. Whatever a client does wrong is raised as a Fault.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from assocpriv.auditing.enumerate.draws_by_form import Client, Device
from assocpriv.auditing.enumerate.words_and_bulk import Case, Noted, Replayed, words_of
from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute.cuts import NUMBER_BYTES, Cuts
from assocpriv.auditing.recompute.plan_text import read_numbers
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.entropy import Entropy

_FEW_PARTITIONS = 3  # that one device is asked about; tables of large catalogues take seconds
_MOST_ENTRIES = 1 << 19  # of partitions that are cut anew
_MOST_BLOCKS = 1024  # that are looked at
_MOST_OUTSIDE = 16  # items held beside those in the block


class FirstDraw:
    """Answers the first draw, which must be that of a block, and passes all others on."""

    def __init__(self, block: int, count: int, others: Entropy) -> None:
        self._block: int | None = block
        self._count, self._others = count, others

    def _is_first(self, n: int) -> bool:
        if self._block is not None and n != self._count:
            raise Fault("A client's first draw is not that of a block, below the number of blocks.")
        return self._block is not None

    def below(self, n: int) -> int:
        """Return the given block first."""
        if self._is_first(n):
            block, self._block = self._block or 0, None
            return block
        return self._others.below(n)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Pass the draw on; it must not be the first."""
        self._is_first(0)
        return self._others.pick(cumulative)

    def coins(self, count: int, num: int, bits: int) -> int:
        """Likewise."""
        self._is_first(0)
        return self._others.coins(count, num, bits)


class InBlock:
    """A device as one of the plan of a block: transactions are places in a block, reports have no block's number.

    Which block is drawn follows from the places alone, so that equal draws give equal reports.
    """

    def __init__(self, device: Device, cuts: Cuts) -> None:
        self._device, self._cuts = device, cuts
        last = cuts.partitions - 1
        self._partitions = sorted({0, last // 2, last})[:_FEW_PARTITIONS]

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of what a transaction holds of a block."""
        places = sorted(transaction)
        some = sum((place + 1) * 31**order for order, place in enumerate(places))
        partition = self._partitions[some % len(self._partitions)]
        pieces = self._cuts.pieces
        turns = ((some // 3 + turn) % pieces + partition * pieces for turn in range(pieces))
        block = next(each for each in turns if not places or places[-1] < len(self._cuts.members(each)))
        held = held_of(self._cuts, block, places, some % _MOST_OUTSIDE)
        return in_block(self._device, self._cuts, block, held, entropy)


def held_of(cuts: Cuts, block: int, places: Sequence[int], outside: int) -> list[int]:
    """Return a transaction with the items at some places of a block, and so many items of another block, if any."""
    members = cuts.members(block)
    partition, piece = divmod(block, cuts.pieces)
    others = cuts.members(partition * cuts.pieces + (piece + 1) % cuts.pieces)
    return sorted([members[place] for place in places] + others[:outside])


def in_block(device: Device, cuts: Cuts, block: int, transaction: Collection[int], entropy: Entropy) -> bytes:
    """Return what a device that draws a given block reports of it, without its number."""
    report = device.randomize(transaction, entropy=FirstDraw(block, cuts.count, entropy))
    if int.from_bytes(report[:NUMBER_BYTES], "little") != block:
        raise Fault("A report names another block than the one that was drawn.")
    return report[NUMBER_BYTES:]


def client_in_blocks(client: Client, plan: Plan) -> Client:
    """Return a client of a plan of blocks as one of the plan of a block, also of a small one of its kind."""

    def made(inside: Plan) -> InBlock:
        n = inside.n_items
        # two pieces of a small catalogue: where they hold more than one item, one of them is shorter
        small = replace(inside, catalogue=Catalogue.numbered(2 * n - (n > 1)), view=View(blocks=Blocks(2, 2, 1)))
        whole = plan if inside == plan.block_plan else small
        cuts = read_numbers(whole.canonical_json).cuts
        assert cuts is not None
        return InBlock(client(whole), cuts)

    return made


def check_blocks(device: Device, alone: Device, plan: Plan, cuts: Cuts, most: int) -> tuple[int, int]:
    """Let a device draw blocks, and compare its reports with those of a device of the plan of a block, for equal words.

    Also that clients and servers take the same items for the block's. Returned are how many blocks were looked at, no
    more than ``most``, and of how many partitions.
    """
    assert plan.view.blocks is not None
    chance = np.random.default_rng()
    at_once = max(1, min(cuts.partitions, _MOST_ENTRIES // cuts.entries))
    partitions = sorted(chance.choice(cuts.partitions, at_once, replace=False).tolist())
    each = max(1, min(cuts.pieces, min(most, _MOST_BLOCKS) // at_once))
    looked = 0
    for partition in partitions[: min(most, _MOST_BLOCKS)]:
        for piece in chance.choice(cuts.pieces, each, replace=False).tolist():
            block = partition * cuts.pieces + piece
            with client_at_work():
                theirs = plan.view.blocks.members(block, plan.n_items).tolist()
            if theirs != cuts.members(block):
                raise Fault("A block holds other items than docs/formats/plan.md says.")
            _compare(device, alone, cuts, block, 2 * plan.transaction_size, chance)
            looked += 1
    return looked, min(len(partitions), looked)


def _compare(device: Device, alone: Device, cuts: Cuts, block: int, longest: int, chance: np.random.Generator) -> None:
    n = len(cuts.members(block))
    places = sorted(chance.choice(n, min(n, int(chance.integers(longest + 1))), replace=False).tolist())
    held = held_of(cuts, block, places, int(chance.integers(_MOST_OUTSIDE)))
    words = Noted([], SeededEntropy(int(chance.integers(1 << 62))))
    wanted = alone.randomize(places, entropy=words)
    again = Replayed(words.given)
    if in_block(device, cuts, block, held, again) != wanted or again.left:
        raise Fault("A report is not that of what the transaction holds of its block.")


def drawn_cases(cases: list[Case], chance: np.random.Generator, cuts: Cuts) -> list[Case]:
    """Turn cases about places in a block into cases about items: a block is drawn first, each in turn."""
    at_once = max(1, min(cuts.partitions, _MOST_ENTRIES // cuts.entries))
    partitions = chance.choice(cuts.partitions, at_once, replace=False).tolist()
    made = []
    for number, (places, words, _) in enumerate(cases):
        partition = partitions[number * at_once // len(cases)]  # in order, as each is cut anew
        pieces = [(number + turn) % cuts.pieces for turn in range(cuts.pieces)]
        blocks = (partition * cuts.pieces + piece for piece in pieces)
        block = next(each for each in blocks if not places or places[-1] < len(cuts.members(each)))
        held = held_of(cuts, block, places, int(chance.integers(_MOST_OUTSIDE)))
        made.append(Case(held, words, words_of(block, cuts.count)))
    return made
