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

from assocpriv.auditing.clients import batch_length, batch_of
from assocpriv.auditing.recompute_promise import read_numbers
from assocpriv.auditing.recompute_reports import Form
from assocpriv.plans.baskets import Plan
from assocpriv.records.baskets import Baskets

_LEAST_BATCHES, _SHORT_BATCH = 24, 2048
RUN = 2  # equal transactions that stand together, so that a repeated report can be seen


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction to ask about."""

    items: tuple[int, ...]  # increasing
    plan: Plan  # of its reports, where these are about blocks of one block
    reference: tuple[int, ...]  # its items, and the dummies that pad it; as many as M unless it is longer

    @property
    def is_sampled(self) -> bool:
        """Whether it is longer than M, so that chance decides what is randomized."""
        return len(self.items) > self.plan.transaction_size

    @property
    def own_shown(self) -> Fraction:
        """The chance that a report shows one item of the reference; of L items only M are not cut off, by chance."""
        form = form_of(self.plan)
        share = Fraction(form.size, len(self.reference))
        return share * form.shown_probability(1, 0) + (1 - share) * form.shown_probability(0, 1)


def transaction_of(items: tuple[int, ...], plan: Plan) -> Transaction:
    """Return what a plan makes of a transaction."""
    padding = range(plan.n_items, plan.n_items + max(0, plan.transaction_size - len(items)))
    return Transaction(items, plan.block_plan, (*items, *padding))


def form_of(plan: Plan) -> Form:
    """Return what the audit itself reads of a plan: the form of its reports, and their law."""
    return _form_of(plan.canonical_json)


@lru_cache(maxsize=32)
def _form_of(text: str) -> Form:
    return read_numbers(text).form


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Transactions, and the pairs of them (places in the list) that no report may tell apart beyond the promise."""

    transactions: tuple[Transaction, ...]
    pairs: tuple[tuple[int, int], ...]


def worst_neighbours(plan: Plan) -> Neighbours:
    """Choose transactions and pairs; the first transaction has M items, or all there are."""
    chosen = list(dict.fromkeys(pair for pair in _pairs(plan) if pair[0] != pair[1]))
    listed = list(dict.fromkeys(items for pair in chosen for items in pair))
    made = tuple(transaction_of(items, plan) for items in listed)
    return Neighbours(made, tuple((listed.index(one), listed.index(other)) for one, other in chosen))


def _pairs(plan: Plan) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    n = plan.n_items
    m = min(plan.transaction_size, n)
    first, last = tuple(range(m)), tuple(range(n - m, n))
    spare = next((item for item in (n // 2, n - 1) if item not in first), None)
    changed = first if spare is None else (*first[:-1], spare)
    pairs = [(first, last), (first, changed)]
    if m == plan.transaction_size:
        long = tuple(range(min(n, 2 * m + 3)))
        pairs += [(long, first), (long, last)]
    return [*pairs, (first, ()), (last, ()), ((0,), (n - 1,))]


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
