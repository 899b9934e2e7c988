"""Baskets dealt from the shuffled catalogue, anew in every audit, and asked about for the plan's law alone.

Every item is dealt into baskets of at most M items: a client can leak one rare item and follow the plan with all
others. Each basket is asked about often enough that an item which is always shown when it is held, or never, is found.
Two laws are tested, of each basket by itself:

* how often each of its items is shown, and how many of them are kept;
* what else its reports show: each bit of a seed that its items leave free is a fair coin; without a seed, each item
  shows as often as the plan says.

Nor need a mistake be made with the neighbours that are hardest to hide. So many baskets of every size up to 64 get a
few reports each: how many items are kept, how often a basket's own items are shown, and how often all others are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import LARGEST_BATCH, BlackBox, Progress, answered, batch_length, batch_of
from assocpriv.auditing.black_box.laws import Events
from assocpriv.auditing.black_box.neighbours import Transaction, form_of, transaction_of
from assocpriv.auditing.black_box.shown import Sample, bits_of, is_spanned, lines_of, raw_bits, sample_of, span_of
from assocpriv.auditing.black_box.tallies import samples_in_turn
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Field
from assocpriv.server.bitmaps import ItemTables, planes_of

_ALARM = 1e-10  # of one item's test: about that of an audit at its default, shared by all laws and some thousand tests
_MOST_EVENTS = 1 << 19  # of what else is shown, in each deal
_LEAST_ELSE = 64  # bits or items looked at in each basket, all the same
_EXPANDED_BITS = 1 << 28  # of bitmaps at a time: 32 MiB
_LOOKED_INTO = 2.0  # standard errors from a fair coin, beyond which a bit may be one that is not free

_LONGEST = 64  # items of a basket, of those of all sizes
_EACH_SHORT = 4  # baskets of each size up to M, where a plan promises most


# ---- every item


@dataclass(frozen=True, slots=True)
class Deal:
    """Baskets of one size that the catalogue is dealt into."""

    transactions: tuple[Transaction, ...]
    basket_size: int  # how many items each of them holds
    items: int  # how many they hold together
    each: int  # reports of each basket, no more than a batch holds


def reports_needed(plan: Plan) -> int:
    """Return after how many reports an item that is always, or never, shown when it is held cannot be a chance."""
    inside = float(form_of(plan).shown_probability(1, 0))
    return max(8, ceil(log(_ALARM) / log(max(inside, 1 - inside))))


def deals(plan: Plan, total: int, chance: np.random.Generator) -> list[Deal]:
    """Deal items into baskets for about ``total`` reports.

    All items into baskets of M items, or as many as there are reports for. Where half of the reports suffice for that,
    the other half is for baskets of 1 item, of 2, … up to M − 1, as long as there are enough.
    """
    n, largest = plan.n_items, min(plan.transaction_size, plan.n_items)
    needed = reports_needed(transaction_of(tuple(range(largest)), plan).plan)
    whole = -(-n // largest)
    if 2 * whole * needed > total or largest == 1:
        baskets = max(1, min(whole, total // needed))
        return [_deal(plan, largest, baskets, total // baskets, chance)]
    numbers, left = {}, total // 2
    for m in range(1, largest):
        numbers[m] = min(-(-n // m), left // needed)
        left -= numbers[m] * needed
    each = total // 2 // sum(numbers.values())
    smaller = [_deal(plan, m, baskets, each, chance) for m, baskets in numbers.items() if baskets]
    return [_deal(plan, largest, whole, total // 2 // whole, chance), *smaller]


def _deal(plan: Plan, m: int, baskets: int, each: int, chance: np.random.Generator) -> Deal:
    """Deal so many baskets of m items; the last is filled up with items that are in others."""
    dealt = chance.permutation(plan.n_items)[: baskets * m]
    missing = -len(dealt) % m
    others = np.setdiff1d(np.arange(plan.n_items), dealt[len(dealt) - (m - missing) :])
    rows = np.concatenate([dealt, chance.choice(others, missing, replace=False)]).reshape(baskets, m)
    made = tuple(transaction_of(tuple(sorted(row)), plan) for row in rows.tolist())
    return Deal(made, m, len(dealt), max(1, min(each, LARGEST_BATCH)))


class ItemTallies:
    """What reports of the baskets of one deal show of them."""

    def __init__(self, plan: Plan, dealt: Deal, chance: np.random.Generator) -> None:
        self.deal, self.total, self.malformed = dealt, len(dealt.transactions) * dealt.each, 0
        self.own: list[Events] = []  # how often each item is shown by reports of its basket, and how many they keep
        self.elsewhere: list[Events] = []  # what else they show
        self.plan = plan
        self._references = np.array([each.reference for each in dealt.transactions], dtype=np.int64)
        self._items = np.unique(self._references)
        self._tables = ItemTables(plan, self._items)
        most = max(_LEAST_ELSE, _MOST_EVENTS // len(self._references))
        self._form = form_of(plan)
        seed_bits, code = self._form.seed_bits, plan.generator
        self._else = np.sort(chance.permutation(seed_bits or plan.padded_items)[:most])
        self._field = Field(code) if seed_bits else None
        self._else_tables = None if seed_bits else ItemTables(plan, self._else)

    def collect(self, box: BlackBox, progress: Progress | None = None) -> None:
        """Ask a client for the reports of all baskets, and count what they show."""
        dealt, at_once = self.deal.transactions, max(1, batch_length(self.plan) // self.deal.each)
        # all reports of a basket are in one batch, whose baskets take turns
        parts = [range(start, min(start + at_once, len(dealt))) for start in range(0, len(dealt), at_once)]
        batches = [batch_of([dealt[place].items for place in part] * self.deal.each, self.plan) for part in parts]
        for part, answers in zip(parts, answered(box, iter(batches), progress, self.total), strict=True):
            sample = sample_of(answers, slice(None), self.plan)
            self.malformed += sample.malformed
            self._add(np.array(part), sample)

    def _add(self, part: NDArray[np.int64], sample: Sample) -> None:
        each, references = self.deal.each, self._references[part]
        m, p = references.shape[1], self._form.size_distribution
        shown = self._shown(sample.packed, np.tile(np.searchsorted(self._items, references), (each, 1)))
        turns = shown.reshape(each, len(part), m)
        self.own.append(Events.of(turns.sum(axis=0), each, float(self._form.shown_probability(1, 0))))
        kept = turns.sum(axis=2)[:, :, None] == np.arange(m + 1)
        self.own.append(Events.of(kept.sum(axis=0), each, np.tile(np.array(p, dtype=np.float64), len(part))))
        seen = self._else_tables
        self.elsewhere.append(
            self._coins_elsewhere(part, sample) if seen is None else self._items_elsewhere(part, sample, seen)
        )

    def _shown(self, packed: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tell which of its own items each report shows, 0 or 1, of the shape of ``places`` among the dealt items."""
        length, parts = max(64, _EXPANDED_BITS // len(self._items)), []
        for start in range(0, len(packed), length):
            part = packed[start : start + length]
            lines = lines_of(self._tables.rows(planes_of(part, self.plan), len(part)))
            number = np.arange(len(part))[:, None]
            words = lines[places[start : start + length], number // 64]
            parts.append((words >> (number % 64).astype(np.uint64) & np.uint64(1)).astype(np.int64))
        return np.concatenate(parts)

    def _items_elsewhere(self, part: NDArray[np.int64], sample: Sample, seen: ItemTables) -> Events:
        """Count, without a seed, how often each basket's reports show each item that it does not hold."""
        n = len(sample.packed)
        lines = lines_of(seen.rows(planes_of(sample.packed, self.plan), n))
        shape = (self.deal.each, len(part))
        counts = np.stack([bits_of(line[None], n).reshape(shape).sum(axis=0, dtype=np.int64) for line in lines], axis=1)
        outside = ~np.stack([np.isin(self._else, reference) for reference in self._references[part]])
        return Events.of(counts[outside], self.deal.each, float(self._form.shown_probability(0, 1)))

    def _coins_elsewhere(self, part: NDArray[np.int64], sample: Sample) -> Events:
        """Count how often each basket's reports have each seed bit set that its items leave free.

        Which bits they fix is asked only where a count is far from a fair coin's. Those that look like coins are left
        in: they cannot fail, and make the test of the others a little less sharp.
        """
        each = self.deal.each
        bits = raw_bits(sample.packed)[:, self._else]
        counts = bits.reshape(each, len(part), -1).sum(axis=0, dtype=np.int64)
        free = np.ones(counts.shape, dtype=np.bool_)
        far = np.abs(2 * counts - each) > _LOOKED_INTO * each**0.5
        for row in np.flatnonzero(far.any(axis=1)).tolist():
            span = span_of(self.deal.transactions[part[row]].reference, self.plan, self._field)
            for place in np.flatnonzero(far[row]).tolist():
                free[row, place] = not is_spanned(1 << int(self._else[place]), span)
        return Events.of(counts[free], each, 0.5)


# ---- all sizes


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
        self.totals = np.zeros(len(self.transactions), dtype=np.int64)
        self.total = self.malformed = 0  # of all
        # how many show so many of the reference; of a sampled transaction nothing
        self.kept = np.zeros((len(self.transactions), plan.transaction_size + 1), dtype=np.int64)
        # of each transaction how many show each item of its reference
        self.own = [np.zeros(len(each.reference), dtype=np.int64) for each in self.transactions]
        # how many show each item that they do not hold, and out of how many
        self.others = np.zeros((2, plan.padded_items), dtype=np.int64)
        self._own = [ItemTables(plan, np.array(each.reference, dtype=np.int64)) for each in self.transactions]
        self._all = ItemTables(plan, np.arange(plan.padded_items))

    def collect(self, box: BlackBox, total: int, progress: Progress | None = None) -> None:
        """Ask a client for at least ``total`` reports of all transactions in turn, and count them."""
        for samples in samples_in_turn(box, self.transactions, self._plan, total, progress):
            for place, sample in enumerate(samples):
                self._add(place, sample)
            packed = np.concatenate([sample.packed for sample in samples])
            # all items, those of their transactions too
            self._all.count(planes_of(packed, self._plan), len(packed), self.others[0])
            self.others[1] += len(packed)

    def _add(self, place: int, sample: Sample) -> None:
        transaction, n = self.transactions[place], len(sample.packed)
        planes = planes_of(sample.packed, self._plan)
        shown = bits_of(lines_of(self._own[place].rows(planes, n)), n)
        own = shown.sum(axis=1, dtype=np.int64)
        self.totals[place] += n
        self.total += n
        self.malformed += sample.malformed
        self.own[place] += own
        if not transaction.is_sampled:
            self.kept[place] += np.bincount(shown.sum(axis=0, dtype=np.int64), minlength=self.kept.shape[1])
        self.others[0, list(transaction.reference)] -= own
        self.others[1, list(transaction.reference)] -= n

    def events(self) -> Iterator[Events]:
        """Yield what was counted beside its law, of each transaction and of all together."""
        for place, transaction in enumerate(self.transactions):
            yield Events.of(self.own[place], int(self.totals[place]), float(transaction.own_shown))
            if not transaction.is_sampled:
                yield self._number_kept([place])
        yield self._number_kept([place for place, each in enumerate(self.transactions) if not each.is_sampled])
        counts, trials = self.others
        yield Events.of(counts, trials, float(form_of(self._plan).shown_probability(0, 1)))

    def _number_kept(self, places: list[int]) -> Events:
        counts, p = self.kept[places].sum(axis=0), form_of(self._plan).size_distribution
        return Events.of(counts, int(self.totals[places].sum()), [float(chance) for chance in p])
