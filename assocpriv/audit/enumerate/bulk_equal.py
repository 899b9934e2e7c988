"""The bulk client beside the one that answers for a single transaction: equal reports for equal words.

Two kinds of transactions are compared. The shuffled catalogue is dealt into transactions of 0 to 2M items, over and
over, so that every item takes part several times; and full transactions get words that pick the first and the last
number of each kept subset, so that a bound that is off by one shows. The deal and all other words are others in every
audit.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np

from assocpriv.audit.enumerate.draws_by_form import Device
from assocpriv.audit.enumerate.steered import Recorded, Replayed
from assocpriv.audit.enumerate.words_and_columns import words_of
from assocpriv.audit.findings import Fault, client_at_work
from assocpriv.audit.recompute.plan_text import Numbers
from assocpriv.audit.recompute.report_forms import Group
from assocpriv.client.baskets.bulk import BulkRandomizer, GroupedRandomizer
from assocpriv.core.entropy import WordEntropy
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.baskets.plan import Plan
from assocpriv.records.baskets import Baskets

_LEAST_DEALT = 300  # transactions, from a small catalogue dealt over and over
_DEALS = 6  # of the catalogue: a fault with one item changes two reports in three, say, of those that it could change
_MOST_ENDS = 1024  # numbers picked, of each operator


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared: transactions, how many items they hold together, and numbers picked, of how many ends."""

    transactions: int
    items: int
    picks: int
    ends: int


@dataclass(frozen=True, slots=True)
class _Case:
    """A transaction and the words that it gets first."""

    items: list[int]
    first: list[int]


def check_bulk(device: Device, plan: Plan, numbers: Numbers, most: int, seed: int | None = None) -> Compared:
    """Compare the bulk client's reports with those of one transaction at a time, for equal words.

    The device answers for one transaction, and may run ``most`` times, at least; where the catalogue needs more, a part
    of it is dealt. The seed is of the deal and the words; fresh by default.

    Raises:
        Fault: a report differs, or the number of words used.
    """
    seed = secrets.randbits(64) if seed is None else seed
    chance = np.random.default_rng(seed)
    dealt = list(_dealt(numbers, max(most, _LEAST_DEALT), chance))
    groups = [group for group in numbers.groups if not numbers.in_clear or group.size <= numbers.n_items]
    ends = [_ends(group) for group in groups]
    picks = [case for group, own in zip(groups, ends, strict=True) for case in _picks(numbers, group, own, chance)]
    cases = [_Case(items, []) for items in dealt] + picks
    if numbers.in_clear:
        # the bulk client goes through the groups in their order, so the transactions come in this order
        cases.sort(key=lambda case: min(max(len(case.items), 1), numbers.transaction_size))
    _compare(device, plan, numbers, cases, SeededEntropy(seed))
    return Compared(len(dealt), len(set(chain.from_iterable(dealt))), len(picks), sum(map(len, ends)))


def _dealt(numbers: Numbers, most: int, chance: np.random.Generator) -> Iterator[list[int]]:
    """Deal transactions of 0 to 2M items until every item was in six, and there are some, or ``most`` of them."""
    longest, left, deals = 2 * numbers.transaction_size, np.empty(0, dtype=np.int64), 0
    for done in range(most):
        if not len(left):
            if deals >= _DEALS and done >= _LEAST_DEALT:
                return
            left, deals = chance.permutation(numbers.n_items), deals + 1
        size = int(chance.integers(0, longest + 1))
        yield sorted(left[:size].tolist())
        left = left[size:]


def _ends(group: Group) -> list[int]:
    """Return the numbers on both sides of every bound of a pick."""
    bounds = [0, *accumulate(group.picked_weights)]
    return sorted({number for bound in bounds for number in (bound - 1, bound) if 0 <= number < bounds[-1]})


def _picks(numbers: Numbers, group: Group, ends: list[int], chance: np.random.Generator) -> Iterator[_Case]:
    """Yield full transactions with the words of these numbers, or of some of them where they are many.

    A transaction that is not sampled draws its pick first.
    """
    total = sum(group.picked_weights)
    for place in chance.permutation(len(ends))[:_MOST_ENDS].tolist():
        items = chance.choice(numbers.n_items, min(group.size, numbers.n_items), replace=False)
        yield _Case(sorted(items.tolist()), words_of(ends[place], total))


def _compare(device: Device, plan: Plan, numbers: Numbers, cases: list[_Case], source: WordEntropy) -> None:
    entropy, wanted = Recorded(source), []
    for case in cases:
        entropy.lead(case.first)
        wanted.append(device.randomize(case.items, entropy=entropy))
    offsets = np.append(0, np.cumsum([len(case.items) for case in cases]))
    items = np.array(list(chain.from_iterable(case.items for case in cases)), dtype=np.int64)
    baskets, words = Baskets(plan.catalogue, offsets, items), np.concatenate(entropy.given)
    with client_at_work():
        bulk = GroupedRandomizer(plan) if numbers.in_clear else BulkRandomizer(plan)
        chunk = bulk.randomize(baskets, words, Replayed([]))
    if [row.tobytes() for row in chunk.packed] != wanted:
        raise Fault("The bulk client's reports differ from those of one transaction at a time.")
