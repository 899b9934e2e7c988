"""Transactions that an audit asks a client about, chosen from the plan alone: those that are hardest to hide.

What a report tells of a transaction depends on how many of its items it shows, so transactions without a common item
are furthest apart; the others here are those that a mistake would tell apart: an empty one, the first and the last
item, one item changed, one longer than M.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import batch_length, batch_of
from assocpriv.auditing.recompute.plan_text import read_numbers
from assocpriv.auditing.recompute.report_forms import Group
from assocpriv.plans.baskets.plan import IN_CLEAR, Plan
from assocpriv.records.baskets import Baskets

_LEAST_BATCHES, _SHORT_BATCH = 24, 2048
RUN = 2  # equal transactions that stand together, so that a repeated report can be seen


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction to ask about."""

    items: tuple[int, ...]  # increasing
    group: Plan  # of hidden size, that its reports follow without the byte of a size in clear
    reference: tuple[int, ...]  # its items, and the dummies that pad it; as many as M unless it is longer

    @property
    def is_sampled(self) -> bool:
        """Whether it is longer than M, so that chance decides what is randomized."""
        return len(self.items) > self.group.transaction_size

    @property
    def own_shown(self) -> Fraction:
        """The chance that a report shows one item of the reference; of L items only M are not cut off, by chance."""
        form = form_of(self.group)
        share = Fraction(form.size, len(self.reference))
        return share * form.shown_probability(1, 0) + (1 - share) * form.shown_probability(0, 1)


def transaction_of(items: tuple[int, ...], plan: Plan) -> Transaction:
    """Return what a plan makes of a transaction."""
    group = plan.groups[min(stated_size(len(items), plan), len(plan.groups)) - 1]
    padding = range(plan.n_items, plan.n_items + max(0, group.transaction_size - len(items)))
    return Transaction(items, group, (*items, *padding))


def size_bytes(plan: Plan) -> int:
    """Return how many bytes of a report state its transaction's size, before the group's own."""
    return int(plan.sizes == IN_CLEAR)


def stated_size(size: int, plan: Plan) -> int:
    """Return what a report of a plan with sizes in clear says of a transaction of so many items."""
    return min(max(size, 1), plan.transaction_size)


def form_of(group: Plan) -> Group:
    """Return what the audit itself reads of a plan of hidden size: the form of its reports, and their law."""
    return _form_of(group.canonical_json)


@lru_cache(maxsize=32)
def _form_of(text: str) -> Group:
    return read_numbers(text).groups[-1]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Transactions, and the pairs of them (places in the list) that no report may tell apart beyond the promise."""

    transactions: tuple[Transaction, ...]
    pairs: tuple[tuple[int, int], ...]


def worst_neighbours(plan: Plan) -> Neighbours:
    """Choose transactions and pairs; with sizes in clear only pairs of one stated size, which the promise covers.

    The first transaction has M items, or all there are.
    """
    in_clear = bool(size_bytes(plan))
    pairs = _pairs_of_size(plan, plan.transaction_size, not in_clear)
    if in_clear:
        for m in sorted({1, (plan.transaction_size + 1) // 2}):
            pairs += _pairs_of_size(plan, m, False)
        pairs.append(((), (0,)))
    chosen = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
    listed = list(dict.fromkeys(items for pair in chosen for items in pair))
    made = tuple(transaction_of(items, plan) for items in listed)
    return Neighbours(made, tuple((listed.index(one), listed.index(other)) for one, other in chosen))


def _pairs_of_size(plan: Plan, m: int, is_hidden: bool) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    n = plan.n_items
    m = min(m, n)
    first, last = tuple(range(m)), tuple(range(n - m, n))
    spare = next((item for item in (n // 2, n - 1) if item not in first), None)
    changed = first if spare is None else (*first[:-1], spare)
    pairs = [(first, last), (first, changed)]
    if m == plan.transaction_size:
        long = tuple(range(min(n, 2 * m + 3)))
        pairs += [(long, first), (long, last)]
    if is_hidden:
        pairs += [(first, ()), (last, ()), ((0,), (n - 1,))]
    return pairs


def mixed_batches(
    transactions: Sequence[Transaction], plan: Plan, total: int
) -> tuple[NDArray[np.int64], Iterator[Baskets]]:
    """Return which transaction each row of a batch is, int64 (batch,), and the batches: ``total`` rows or a few more.

    All transactions take turns, so that what a client remembers of the one before shows as well.
    """
    turn = np.repeat(np.arange(len(transactions)), RUN)
    # enough of them that a slow client shows how far it is
    n_batches = max(-(-total // batch_length(plan)), min(_LEAST_BATCHES, total // _SHORT_BATCH))
    turns = np.tile(turn, -(-total // (n_batches * len(turn))))
    batch = batch_of([transactions[place].items for place in turns.tolist()], plan)
    return turns, repeat(batch, n_batches)


def equal_batches(transaction: Transaction, plan: Plan, total: int) -> Iterator[Baskets]:
    """Yield batches of one transaction, ``total`` of them in all."""
    length = min(batch_length(plan), total)
    batch = batch_of([transaction.items] * length, plan)
    for start in range(0, total, length):
        yield batch[: min(length, total - start)]
