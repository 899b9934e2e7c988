"""Transactions of all sizes and of any items, asked about for the plan's law alone.

A mistake need not be made with the neighbours that are hardest to hide. So a client is asked about baskets of every
size up to 64, with items from all over the catalogue. Each gets a few reports only, and there are many of them: the
laws tested are how many items are kept, how often a basket's own items are shown, and how often all others are.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assocpriv.audit.black_box.clients import BlackBox, Told
from assocpriv.audit.black_box.laws import Events
from assocpriv.audit.black_box.neighbours import Transaction, form_of, transaction_of
from assocpriv.audit.black_box.shown import Sample, bits_of, lines_of
from assocpriv.audit.black_box.tallies import samples_in_turn
from assocpriv.plans.baskets.plan import Plan
from assocpriv.server.counting.bitmaps import ItemTables, planes_of

_LONGEST = 64
_EACH_SHORT = 4  # baskets of each size up to M, where a plan promises most


def other_transactions(plan: Plan, chance: np.random.Generator) -> tuple[Transaction, ...]:
    """Choose transactions of all sizes up to 64; their items are dealt from the shuffled catalogue, over and over."""
    n = plan.n_items
    short, longest = min(n, plan.transaction_size), min(n, _LONGEST)
    sizes = [*range(short + 1)] * _EACH_SHORT + [*range(short + 1, longest + 1)]
    ends = np.cumsum(sizes)
    dealt = np.resize(chance.permutation(n), ends[-1]).tolist()
    baskets = (tuple(sorted(dealt[end - size : end])) for size, end in zip(sizes, ends.tolist(), strict=True))
    return tuple(transaction_of(items, plan) for items in dict.fromkeys(baskets))


class OtherTallies:
    """What the reports of K transactions show of them."""

    def __init__(self, plan: Plan, chance: np.random.Generator) -> None:
        self._plan, self.transactions = plan, other_transactions(plan, chance)
        self.groups = {each.group.transaction_size: each.group for each in self.transactions}
        self.totals = np.zeros(len(self.transactions), dtype=np.int64)
        self.total = self.malformed = 0  # of all
        # how many show so many of the reference; of a sampled transaction nothing
        self.kept = np.zeros((len(self.transactions), plan.transaction_size + 1), dtype=np.int64)
        # of each transaction how many show each item of its reference
        self.own = [np.zeros(len(each.reference), dtype=np.int64) for each in self.transactions]
        # for each group, by its M, how many show each item that they do not hold, and out of how many
        self.others = {m: np.zeros((2, group.padded_items), dtype=np.int64) for m, group in self.groups.items()}
        self._own = [ItemTables(each.group, np.array(each.reference, dtype=np.int64)) for each in self.transactions]
        self._all = {m: ItemTables(group, np.arange(group.padded_items)) for m, group in self.groups.items()}

    def collect(self, box: BlackBox, total: int, told: Told | None = None) -> None:
        """Ask a client for at least ``total`` reports of all transactions in turn, and count them."""
        for samples in samples_in_turn(box, self.transactions, self._plan, total, told):
            packed: dict[int, list[NDArray[np.uint8]]] = {m: [] for m in self.groups}
            for place, sample in enumerate(samples):
                self._add(place, sample)
                packed[self.transactions[place].group.transaction_size].append(sample.packed)
            for m, parts in packed.items():
                self._count_all(m, np.concatenate(parts))

    def _add(self, place: int, sample: Sample) -> None:
        transaction, n = self.transactions[place], len(sample.packed)
        planes = planes_of(sample.packed, transaction.group)
        shown = bits_of(lines_of(self._own[place].rows(planes, n)), n)
        own = shown.sum(axis=1, dtype=np.int64)
        self.totals[place] += n
        self.total += n
        self.malformed += sample.malformed
        self.own[place] += own
        if not transaction.is_sampled:
            self.kept[place] += np.bincount(shown.sum(axis=0, dtype=np.int64), minlength=self.kept.shape[1])
        others, reference = self.others[transaction.group.transaction_size], list(transaction.reference)
        others[0, reference] -= own
        others[1, reference] -= n

    def _count_all(self, m: int, packed: NDArray[np.uint8]) -> None:
        """Count all items, those of their transactions too, in a batch's reports of one group."""
        self._all[m].count(planes_of(packed, self.groups[m]), len(packed), self.others[m][0])
        self.others[m][1] += len(packed)

    def events(self) -> Iterator[Events]:
        """Yield what was counted beside its law, of each transaction and of all together that share an operator."""
        for place, transaction in enumerate(self.transactions):
            yield Events.of(self.own[place], int(self.totals[place]), float(transaction.own_shown))
            if not transaction.is_sampled:
                yield self._number_kept([place], transaction.group)
        for m, group in self.groups.items():
            whole = [p for p, each in enumerate(self.transactions) if each.group == group and not each.is_sampled]
            yield self._number_kept(whole, group)
            counts, trials = self.others[m]
            yield Events(counts, trials, np.full(len(counts), float(form_of(group).shown_probability(0, 1))))

    def _number_kept(self, places: list[int], group: Plan) -> Events:
        counts, p = self.kept[places].sum(axis=0), form_of(group).size_distribution
        return Events.of(counts[: len(p)], int(self.totals[places].sum()), [float(chance) for chance in p])
