"""Laws of a plan beside counts of a client's reports: how far these are from exact chances of events.

Every test here is of one shape: among independent reports an event with a known probability happened so many times. The
p-value is that of the binomial law, twice its smaller tail, so no test relies on large numbers. Tests come in families,
the laws; each has one p-value for all of its tests, the least of theirs times their number (Bonferroni): they share
their false alarms, and a client that follows the plan is not called broken with more than the chance stated.

Of records of tables the laws are of each column's codes, pairs, who is asked, and repeats.

Of baskets the plan's law alone is tested, too, on baskets dealt from the shuffled catalogue, anew in every audit. Every
item is dealt into baskets of at most M items: a client can leak one rare item and follow the plan with all others. Each
basket is asked about often enough that an item which is always shown when it is held, or never, is found. Two laws are
tested, of each basket by itself:

* how often each of its items is shown, and how many of them are kept;
* what else its reports show: each bit of a seed that its items leave free is a fair coin; without a seed, each item
  shows as often as the plan says.

Nor need a mistake be made with the neighbours that are hardest to hide. So many baskets of every size up to 64 get a
few reports each: how many items are kept, how often a basket's own items are shown, and how often all others are.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import LARGEST_BATCH, BlackBox, BoxProgress, answered, batch_length, batch_of
from assocpriv.auditing.counts import (
    Sample,
    Starts,
    Stream,
    Tallies,
    Transaction,
    bits_of,
    form_of,
    is_spanned,
    lines_of,
    raw_bits,
    sample_of,
    samples_in_turn,
    span_of,
    transaction_of,
)
from assocpriv.auditing.findings import BROKEN, CONSISTENT, EMPIRICAL, Finding
from assocpriv.plans.generator import Field
from assocpriv.server.bitmaps import ItemTables, planes_of

if TYPE_CHECKING:
    from assocpriv.auditing.recompute_reports import Form
    from assocpriv.auditing.recompute_tables import ColumnNumbers, TableNumbers
    from assocpriv.plans.baskets import Plan

_LARGEST_LOG = 1000.0
_TAILS = (1e-4, 1e-3, 1e-2)  # clipped noise shows there
_CELLS = np.array([*_TAILS, *(np.arange(1, 32) / 32), *(1 - tail for tail in reversed(_TAILS))])  # ends, of chances
_COARSE = np.array([1 / 3, 2 / 3])  # the same, of a column beside another
_MOST_PAIRS = 300
Codes = NDArray[np.int64]  # (reports, columns)
_ALARM = 1e-10  # of one item's test: about that of an audit at its default, shared by all laws and some thousand tests
_MOST_EVENTS = 1 << 19  # of what else is shown, in each deal
_LEAST_ELSE = 64  # bits or items looked at in each basket, all the same
_EXPANDED_BITS = 1 << 28  # of bitmaps at a time: 32 MiB
_LOOKED_INTO = 2.0  # standard errors from a fair coin, beyond which a bit may be one that is not free
_LONGEST = 64  # items of a basket, of those of all sizes
_EACH_SHORT = 4  # baskets of each size up to M, where a plan promises most
_SAME_BY_CHANCE = -60.0  # log2 of the chance that two short starts give the same
_LONGEST_SHORT_START = 256  # reports
_LEAST_SEED_BITS = 8  # a program that starts too slowly to show as many is not judged by its starts
_MOST_SUBSETS = 1 << 10  # of kept items that are counted each; beyond, by item and number kept


# ---- tests


@dataclass(frozen=True, slots=True)
class Events:
    """Counts beside their laws: ``count`` of ``trials`` reports, each with ``probability``; arrays of shape (n,)."""

    count: NDArray[np.int64]
    trials: NDArray[np.int64]
    probability: NDArray[np.float64]

    @classmethod
    def of(cls, count: Any, trials: Any, probability: Any) -> "Events":
        """Take counts of events; the number of reports, and the probability, may be one for all."""
        counts = np.asarray(count, dtype=np.int64).ravel()
        of_each = np.broadcast_to(np.asarray(trials, dtype=np.int64).ravel(), counts.shape)
        return cls(counts, of_each, np.broadcast_to(np.asarray(probability, dtype=np.float64).ravel(), counts.shape))

    @classmethod
    def joined(cls, parts: Iterable["Events"]) -> "Events":
        """Put the events of several samples together."""
        columns = zip(
            *((part.count, part.trials, part.probability) for part in [cls.of([], 0, []), *parts]), strict=True
        )
        return cls(*map(np.concatenate, columns))

    def p_values(self) -> NDArray[np.float64]:
        """Return each event's two-sided p-value, float64 (n,): twice the smaller tail of the binomial law."""
        from scipy.stats import binom

        law = (self.trials, self.probability)
        tails = np.minimum(binom.cdf(self.count, *law), binom.sf(self.count - 1, *law))
        return np.asarray(np.minimum(1.0, 2 * tails), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Law:
    """A family of tests, with one p-value for all of them."""

    name: str
    what: str
    p_value: float
    tests: int
    figures: dict[str, object] = field(default_factory=dict)

    def judged(self, false_alarm: float) -> Finding:
        """Return the finding: broken where a client that follows the plan would look so no more often than stated."""
        figures = {"p_value": self.p_value, "tests": self.tests, "false_alarm": false_alarm} | self.figures
        if self.p_value > false_alarm:
            return Finding(EMPIRICAL, self.name, CONSISTENT, f"As the plan says: {self.what}.", figures)
        chance = f"at most {self.p_value:.1e}" if self.p_value else "less than 1e-300"
        said = f"Not as the plan says: {self.what}. A client that follows it would look so with a chance of {chance}."
        return Finding(EMPIRICAL, self.name, BROKEN, said, figures)


def joint_p_value(p_values: NDArray[np.float64]) -> float:
    """Return a bound of the chance that any of n tests is as far off as the farthest: n times the least, at most 1.

    >>> joint_p_value(np.array([0.5, 0.01])), joint_p_value(np.array([]))
    (0.02, 1.0)
    """
    return float(min(1.0, len(p_values) * p_values.min())) if len(p_values) else 1.0


def repeats_p_value(equal_pairs: int, n_reports: int, second: Fraction, third: Fraction) -> float:
    """Bound the chance of so many equal pairs among n independent reports, of which two, or three, are equal by chance.

    Two bounds, the smaller counts: the Poisson law with its largest error (Arratia, Goldstein, Gordon 1989, by
    Chen and Stein), sharp where few pairs are expected; and Cantelli's inequality, where many are.
    """
    from scipy.stats import poisson

    n, pairs = n_reports, comb(n_reports, 2)
    mean = pairs * second
    if equal_pairs <= mean:
        return 1.0
    error = pairs * ((2 * n - 3) * second**2 + 2 * max(0, n - 2) * third) / max(Fraction(1), mean)
    # 2n − 3 pairs meet a given one, itself included
    variance = pairs * (second - second**2) + n * (n - 1) * (n - 2) * (third - second**2)
    cantelli = float(variance / (variance + (equal_pairs - mean) ** 2))
    return min(1.0, cantelli, float(poisson.sf(equal_pairs - 1, float(mean))) + float(error))


def linear_complexity(bits: Sequence[int]) -> int:
    """Return the length of the shortest linear feedback shift register that makes a sequence of bits.

    Source: Massey, Shift-register synthesis and BCH decoding, 1969.

    >>> linear_complexity([1, 0, 1, 1, 1, 0, 0, 1, 0, 1]), linear_complexity([0, 0, 0, 1])
    (3, 4)
    """
    register, before, length, since, window = 1, 1, 0, 1, 0
    for place, bit in enumerate(bits):
        window = window << 1 | bit  # bit i is the one i places ago
        if (register & window).bit_count() & 1:
            changed = register ^ before << since
            if 2 * length <= place:
                length, before, since = place + 1 - length, register, 0
            register = changed
        since += 1
    return length


def complexity_p_value(length: int, n_bits: int) -> float:
    """Return the chance that n fair coins have a linear complexity of at most ``length``: (2·4^L + 1) / (3·2^n).

    From n/2 on, which half of all sequences exceed, it is given as 1.

    Source: Rueppel, Analysis and Design of Stream Ciphers, 1986, chapter 4.

    >>> complexity_p_value(0, 3), complexity_p_value(1, 4), complexity_p_value(20, 40)
    (0.125, 0.1875, 1.0)
    """
    if 2 * length >= n_bits:
        return 1.0
    return float(Fraction(2 * 4**length + 1, 3 << n_bits)) if n_bits - 2 * length < _LARGEST_LOG else 0.0


def cells_of(column: "ColumnNumbers", value: int, ends: NDArray[np.float64]) -> tuple[Codes, NDArray[np.float64]]:
    """Cut a column's codes into cells, by the chance of all codes before: each code's cell, and the cells' chances.

    Codes that the input cannot have are in the last cell, of chance 0.
    """
    chances = np.zeros(column.codes)
    for code, weight in column.runs(value):
        chances[code] = weight / column.total
    cells = np.searchsorted(ends, np.cumsum(chances) - chances / 2)
    cells = np.unique(cells, return_inverse=True)[1]
    cells[chances == 0] = cells.max() + 1
    added = np.zeros(int(cells.max()) + 1)
    np.add.at(added, cells, chances)
    return cells, added


def column_events(codes: Codes, row: NDArray[np.int32], table: "TableNumbers") -> Events:
    """Return how often each column of a record that was asked shows codes of each cell."""
    parts = []
    for place, column in enumerate(table.columns):
        mine = codes[codes[:, place] < column.codes, place]
        cells, chances = cells_of(column, int(row[place]), _CELLS)
        counts = np.bincount(cells[mine], minlength=len(chances))
        parts.append(Events.of(counts, len(mine), np.minimum(chances, 1.0)))
    return Events.joined(parts)


def pair_events(codes: Codes, row: NDArray[np.int32], table: "TableNumbers") -> Events:
    """Return how often two columns that were both asked show codes of each two cells: they are independent."""
    drawing = [place for place, column in enumerate(table.columns) if column.draws]
    parts = []
    for one, other in list(combinations(drawing, 2))[:_MOST_PAIRS]:
        first, second = table.columns[one], table.columns[other]
        both = codes[(codes[:, one] < first.codes) & (codes[:, other] < second.codes)]
        cells, chances = cells_of(first, int(row[one]), _COARSE)
        further, theirs = cells_of(second, int(row[other]), _COARSE)
        wanted = np.outer(chances, theirs)
        seen = np.bincount(cells[both[:, one]] * len(theirs) + further[both[:, other]], minlength=wanted.size)
        parts.append(Events.of(seen, len(both), np.minimum(wanted, 1.0)))
    return Events.joined(parts)


def asked_events(codes: Codes, table: "TableNumbers") -> Events:
    """Return how often each protected column, and each two, were asked: as a uniform choice says, for every record."""
    if not table.is_sampled:
        return Events.joined([])
    m, k, n = len(table.asked), table.answered, len(codes)
    shown = {place: codes[:, place] < table.columns[place].codes for place in table.asked}
    parts = [Events.of([int((np.sum(list(shown.values()), axis=0) == k).sum())], n, 1.0)]
    parts += [Events.of([int(each.sum())], n, k / m) for each in shown.values()]
    together = k * (k - 1) / (m * (m - 1))
    for one, other in list(combinations(table.asked, 2))[:_MOST_PAIRS]:
        parts.append(Events.of([int((shown[one] & shown[other]).sum())], n, together))
    return Events.joined(parts)


def equal_chance(row: NDArray[np.int32], table: "TableNumbers") -> float:
    """Return the chance that two reports of a record are equal, at most: of those columns that every report answers."""
    chance = 1.0
    for place, column in enumerate(table.columns):
        if not (table.is_sampled and place in table.asked):
            chance *= sum((weight / column.total) ** 2 for _, weight in column.runs(int(row[place])))
    if table.is_sampled:
        chance *= max(_asked_squares(row, table), 0.0)
    return min(1.0, chance)


def _asked_squares(row: NDArray[np.int32], table: "TableNumbers") -> float:
    """Return the chance that two reports are equal in all columns of which each answers k, exactly.

    Both must have answered the same k: the sum over these of the products of the columns' chances, over the square of
    how many there are; the sum is an elementary symmetric polynomial.
    """
    polynomial = np.zeros(table.answered + 1)
    polynomial[0] = 1.0
    ways = np.zeros(table.answered + 1)
    ways[0] = 1.0
    for place in table.asked:
        column = table.columns[place]
        square = sum((weight / column.total) ** 2 for _, weight in column.runs(int(row[place])))
        polynomial[1:] += square * polynomial[:-1]
        ways[1:] += ways[:-1]
    return float(polynomial[-1] / ways[-1] ** 2)


def repeat_events(first: NDArray[np.uint8], second: NDArray[np.uint8], chance: float) -> Events:
    """Return how often reports of one record, uint8 (n, bytes), equal those at the same place of another run."""
    n = min(len(first), len(second))
    return Events.of([int((first[:n] == second[:n]).all(axis=1).sum())], n, chance)


def record_laws(seen: Mapping[str, list[Events]], what: Mapping[str, str], reports: int) -> Iterator[Law]:
    """Yield the laws of so many reports, by name: of the events that belong to each, and what they say."""
    for name, parts in seen.items():
        p_values = _two_sided(Events.joined(parts))
        yield Law(name, what[name], joint_p_value(p_values), len(p_values), {"reports": reports})


def _two_sided(events: Events) -> NDArray[np.float64]:
    """Return two-sided p-values; what must never, or always, happen is judged by that alone."""
    values: NDArray[Any] = events.p_values()
    sure = (events.probability <= 0) | (events.probability >= 1)
    right = events.count == np.where(events.probability >= 1, events.trials, 0)
    return np.asarray(np.where(sure, right.astype(np.float64), values)[events.trials > 0])


# ---- baskets, every item


@dataclass(frozen=True, slots=True)
class Deal:
    """Baskets of one size that the catalogue is dealt into."""

    transactions: tuple[Transaction, ...]
    basket_size: int  # how many items each of them holds
    items: int  # how many they hold together
    each: int  # reports of each basket, no more than a batch holds


def reports_needed(plan: "Plan") -> int:
    """Return after how many reports an item that is always, or never, shown when it is held cannot be a chance."""
    inside = float(form_of(plan).shown_probability(1, 0))
    return max(8, ceil(log(_ALARM) / log(max(inside, 1 - inside))))


def deals(plan: "Plan", total: int, chance: np.random.Generator, most: int | None = None) -> list[Deal]:
    """Deal items into baskets, of ``most`` items if there is a limit, for about ``total`` reports.

    All items into baskets of M items, or as many as there are reports for. Where half of the reports suffice for that,
    the other half is for baskets of 1 item, of 2, … up to M − 1, as long as there are enough.
    """
    n, needed = plan.n_items, reports_needed(plan)
    largest = min(plan.items.transaction_size, n if most is None else most)
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


def _deal(plan: "Plan", m: int, baskets: int, each: int, chance: np.random.Generator) -> Deal:
    """Deal so many baskets of m items; the last is filled up with items that are in others."""
    dealt = chance.permutation(plan.n_items)[: baskets * m]
    missing = -len(dealt) % m
    others = np.setdiff1d(np.arange(plan.n_items), dealt[len(dealt) - (m - missing) :])
    rows = np.concatenate([dealt, chance.choice(others, missing, replace=False)]).reshape(baskets, m)
    made = tuple(transaction_of(tuple(sorted(row)), plan) for row in rows.tolist())
    return Deal(made, m, len(dealt), max(1, min(each, LARGEST_BATCH)))


class ItemTallies:
    """What reports of the baskets of one deal show of them."""

    def __init__(self, plan: "Plan", dealt: Deal, chance: np.random.Generator) -> None:
        self.deal, self.total, self.malformed = dealt, len(dealt.transactions) * dealt.each, 0
        self.own: list[Events] = []  # how often each item is shown by reports of its basket, and how many they keep
        self.elsewhere: list[Events] = []  # what else they show
        self.plan = plan
        self._references = np.array([each.reference for each in dealt.transactions], dtype=np.int64)
        self._items = np.unique(self._references)
        self._tables = ItemTables(plan.items, self._items)
        most = max(_LEAST_ELSE, _MOST_EVENTS // len(self._references))
        self._form = form_of(plan)
        seed_bits, code = self._form.seed_bits, plan.items.generator
        self._else = np.sort(chance.permutation(seed_bits or plan.items.padded_items)[:most])
        self._field = Field(code) if seed_bits else None
        self._else_tables = None if seed_bits else ItemTables(plan.items, self._else)

    def collect(self, box: BlackBox, progress: BoxProgress | None = None) -> None:
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
            lines = lines_of(self._tables.rows(planes_of(part, self.plan.items), len(part)))
            number = np.arange(len(part))[:, None]
            words = lines[places[start : start + length], number // 64]
            parts.append((words >> (number % 64).astype(np.uint64) & np.uint64(1)).astype(np.int64))
        return np.concatenate(parts)

    def _items_elsewhere(self, part: NDArray[np.int64], sample: Sample, seen: ItemTables) -> Events:
        """Count, without a seed, how often each basket's reports show each item that it does not hold."""
        n = len(sample.packed)
        lines = lines_of(seen.rows(planes_of(sample.packed, self.plan.items), n))
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


# ---- baskets of all sizes


def other_transactions(plan: "Plan", chance: np.random.Generator, most: int | None = None) -> tuple[Transaction, ...]:
    """Choose transactions of all sizes up to 64, or ``most``; their items are dealt from the shuffled catalogue."""
    n = plan.n_items
    longest = min(n if most is None else most, _LONGEST)
    short = min(longest, plan.items.transaction_size)
    sizes = [*range(short + 1)] * _EACH_SHORT + [*range(short + 1, longest + 1)]
    ends = np.cumsum(sizes)
    dealt = np.resize(chance.permutation(n), ends[-1]).tolist()
    baskets = (tuple(sorted(dealt[end - size : end])) for size, end in zip(sizes, ends.tolist(), strict=True))
    return tuple(transaction_of(items, plan) for items in dict.fromkeys(baskets))


class OtherTallies:
    """What the reports of K transactions show of them."""

    def __init__(self, plan: "Plan", chance: np.random.Generator, most: int | None = None) -> None:
        self._plan, self._asked, self.transactions = plan, plan.items, other_transactions(plan, chance, most)
        self.totals = np.zeros(len(self.transactions), dtype=np.int64)
        self.total = self.malformed = 0  # of all
        # how many show so many of the reference; of a sampled transaction nothing
        self.kept = np.zeros((len(self.transactions), self._asked.transaction_size + 1), dtype=np.int64)
        # of each transaction how many show each item of its reference
        self.own = [np.zeros(len(each.reference), dtype=np.int64) for each in self.transactions]
        # how many show each item that they do not hold, and out of how many
        self.others = np.zeros((2, self._asked.padded_items), dtype=np.int64)
        self._own = [ItemTables(self._asked, np.array(each.reference, dtype=np.int64)) for each in self.transactions]
        self._all = ItemTables(self._asked, np.arange(self._asked.padded_items))

    def collect(self, box: BlackBox, total: int, progress: BoxProgress | None = None) -> None:
        """Ask a client for at least ``total`` reports of all transactions in turn, and count them."""
        for samples in samples_in_turn(box, self.transactions, self._plan, total, progress):
            for place, sample in enumerate(samples):
                self._add(place, sample)
            packed = np.concatenate([sample.packed for sample in samples])
            # all items, those of their transactions too
            self._all.count(planes_of(packed, self._asked), len(packed), self.others[0])
            self.others[1] += len(packed)

    def _add(self, place: int, sample: Sample) -> None:
        transaction, n = self.transactions[place], len(sample.packed)
        planes = planes_of(sample.packed, self._asked)
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


# ---- laws of baskets


@dataclass(frozen=True, slots=True)
class Asked:
    """All that was asked: two samples to learn from, the one to test, and what only the laws need."""

    training: list[Tallies]
    tested: Tallies
    stream: Stream
    items: list[ItemTallies]
    others: OtherTallies
    starts: Starts | None

    @property
    def parts(self) -> "list[Tallies | Stream | ItemTallies | OtherTallies | Starts]":
        """All that was counted."""
        starts = [self.starts] if self.starts else []
        return [*self.training, self.tested, self.stream, *self.items, self.others, *starts]


def basket_laws(asked: Asked) -> Iterator[Law]:
    """Yield the laws' families of tests, of each transaction and of all together."""
    yield from _laws_of_tallies(asked.tested)
    yield from every_item(asked.items)
    sizes_kept = "what is kept and shown of baskets of all sizes up to 64 items"
    yield law_of("all sizes", sizes_kept, list(asked.others.events()))
    yield from _laws_of_stream(asked.stream, asked.starts, form_of(asked.tested.plan))


def _laws_of_tallies(tested: Tallies) -> Iterator[Law]:
    transactions = tested.chosen.transactions
    places = range(len(transactions))
    whole = [place for place in places if not transactions[place].is_sampled]
    sampled = [place for place in places if transactions[place].is_sampled]
    parts = [*([place] for place in whole), whole]
    yield law_of("number kept", "how many items are kept", [_number_kept(tested, part) for part in parts])
    yield law_of("items kept", "which items are kept", [_items_kept(tested, part) for part in parts])
    shown = [*(_items_shown(tested, place) for place in whole + sampled), _others_shown(tested, whole)]
    yield law_of("items shown", "how often each item is shown", shown)
    pairs = [_pairs_shown(tested, place) for place in whole]
    yield law_of("pairs shown", "how often pairs of items are shown together", pairs)
    coins = "sums of seed bits that the kept items leave free are fair coins"
    yield law_of("seed", coins, [_seed(tested, place) for place in whole])


def _laws_of_stream(stream: Stream, starts: Starts | None, form: "Form") -> Iterator[Law]:
    """Yield the laws of reports of one transaction that follow each other, or that separate starts give."""
    unknowing = "a report tells nothing of the next one, as far as each follows the plan"
    yield law_of("successive reports", unknowing, _successive(stream, form))
    if starts is not None:
        yield _starts(starts, form)
        yield _short_starts(starts, form)
    yield _repeats(stream, form)
    yield _coins(stream)


def law_of(name: str, what: str, parts: list[Events], figures: dict[str, object] | None = None) -> Law:
    """Put tests together; one family's share their false alarms."""
    p_values = Events.joined(parts).p_values()
    return Law(name, what, joint_p_value(p_values), len(p_values), figures or {})


def _kept(tested: Tallies, places: list[int]) -> tuple[NDArray[np.int64], int, list[float]]:
    """Return how many reports of transactions keep each subset, int64 (2^m,), of how many, and p[j]."""
    form = form_of(tested.plan)
    counts = np.sum([tested.kept[place] for place in places], axis=0)
    return counts, int(tested.totals[places].sum()), [float(chance) for chance in form.size_distribution]


def _number_kept(tested: Tallies, places: list[int]) -> Events:
    kept, total, p = _kept(tested, places)
    return Events.of(np.bincount(np.bitwise_count(np.arange(len(kept))), weights=kept), total, p)


def _items_kept(tested: Tallies, places: list[int]) -> Events:
    """Count each subset where there are few, and each item with each number kept in any case."""
    kept, total, p = _kept(tested, places)
    m = len(p) - 1
    sizes = np.bitwise_count(np.arange(1 << m))
    member = np.arange(1 << m)[:, None] >> np.arange(m) & 1  # (subsets, items)
    level = sizes[:, None] == np.arange(m + 1)
    counts = (level * kept[:, None]).T @ member  # (numbers, items)
    parts = [Events.of(counts, total, [[p[j] * j / m] * m for j in range(m + 1)])]
    if 1 << m <= _MOST_SUBSETS:
        parts.append(Events.of(kept, total, [p[j] / math.comb(m, j) for j in sizes.tolist()]))
    return Events.joined(parts)


def _items_shown(tested: Tallies, place: int) -> Events:
    transaction = tested.chosen.transactions[place]
    form = form_of(tested.plan)
    chances = np.full(form.items, float(form.shown_probability(0, 1)))
    chances[list(transaction.reference)] = float(transaction.own_shown)
    return Events.of(tested.items[place, : form.items], int(tested.totals[place]), chances)


def _others_shown(tested: Tallies, places: list[int]) -> Events:
    """Count each item over all transactions that do not hold it; without a code all such items are independent."""
    form = form_of(tested.plan)
    outside = np.ones((len(places), form.items), dtype=np.int64)
    for row, place in enumerate(places):
        outside[row, list(tested.chosen.transactions[place].reference)] = 0
    counts = (tested.items[places, : form.items] * outside).sum(axis=0)
    trials, chance = tested.totals[places] @ outside, float(form.shown_probability(0, 1))
    together = [Events.of(counts.sum(), int(trials.sum()), chance)] if form.has_coins else []
    return Events.joined([Events.of(counts, trials, chance), *together])


def _pairs_shown(tested: Tallies, place: int) -> Events:
    transaction, watched = tested.chosen.transactions[place], tested.viewer.watched
    form = form_of(tested.plan)
    # of a code two items outside are independent only if it serves M + 2 items
    if form.seed_bits and transaction.plan.items.itemset_size < 2:
        return Events.of([], 0, [])
    pairs, is_inside = np.triu_indices(len(watched), 1), np.isin(watched, transaction.reference).astype(np.int64)
    inside = is_inside[pairs[0]] + is_inside[pairs[1]]
    chances = np.array([float(form.shown_probability(a, 2 - a)) for a in range(3) if a <= form.size])
    return Events.of(tested.watched_pairs[place][pairs], int(tested.totals[place]), chances[inside])


def _seed(tested: Tallies, place: int) -> Events:
    """A free sum is a fair coin, whatever number of items is kept."""
    sums, total = tested.sums[place], int(tested.totals[place])
    p = form_of(tested.plan).size_distribution
    chances = [[float(p[j] / 2)] * sums.shape[1] for j in range(len(p))]
    return Events.joined([Events.of(sums.sum(axis=0), total, 0.5), Events.of(sums, total, chances)])


def _successive(stream: Stream, form: "Form") -> list[Events]:
    """Reports know nothing of each other: bits of successive ones differ half the time, items are independent."""
    inside, outside = (float(form.shown_probability(a, 1 - a)) for a in (1, 0))
    chances = np.where(stream.is_inside, inside, outside)
    differ = Events.of(stream.sums, stream.n_sums, 0.5)
    return [differ, Events.of(stream.items, stream.n_items, np.outer(chances, chances))]


def every_item(tallies: Sequence[ItemTallies]) -> Iterator[Law]:
    """Test each basket that items were dealt into by itself, and say how many items that were."""
    n, dealt = tallies[0].plan.n_items, {each.deal.basket_size: each.deal.items for each in tallies}
    figures: dict[str, object] = {"of_items": n, "items": {str(m): count for m, count in dealt.items()}}
    figures["reports_each"] = {str(each.deal.basket_size): each.deal.each for each in tallies}
    whole = ", ".join(str(m) for m, count in dealt.items() if count == n)
    parts = [f"all {n:,} items, in baskets of {whole}"] if whole else []
    parts += [f"{count:,} of {n:,} items, in baskets of {m}" for m, count in dealt.items() if count < n]
    which = "; ".join(parts)
    own = [events for each in tallies for events in each.own]
    elsewhere = [events for each in tallies for events in each.elsewhere]
    what = "how often each item is shown when it is held, and how many are kept"
    yield law_of("every item", f"{what} ({which})", own, figures)
    yield law_of("every item, elsewhere", f"what else is shown then ({which})", elsewhere, figures)


def _starts(starts: Starts, form: "Form") -> Law:
    """Compare reports place by place: of two starts they are independent, and equal with the chance Σ P²."""
    second = float(form.collision_moment(2))
    p_values = Events.of(starts.equal, starts.long, second).p_values()
    figures: dict[str, object] = {"reports": starts.long, "equal": starts.equal, "expected": starts.long * second}
    what = "two starts of the client draw other numbers"
    return Law("separate starts", what, joint_p_value(p_values), len(p_values), figures)


def start_length(form: "Form") -> int:
    """Return how many reports a start must give so that two starts hardly ever give the same ones by chance."""
    chance = float(form.collision_moment(2))
    return min(_LONGEST_SHORT_START, math.ceil(_SAME_BY_CHANCE / math.log2(chance))) if chance < 1 else 1


def _short_starts(starts: Starts, form: "Form") -> Law:
    """Bound the chance that any two of n starts give the same reports: C(n, 2)·(Σ P²)^length."""
    chance = float(math.comb(starts.short, 2) * form.collision_moment(2) ** starts.length)
    bits = max(0, math.floor(math.log2(starts.short**2 / 6)))  # e^-3 is then the chance that all seeds differ
    figures: dict[str, object] = {"starts": starts.short, "reports_each": starts.length}
    figures |= {"equal_pairs": starts.equal_pairs, "seed_bits": bits}
    if bits < _LEAST_SEED_BITS and not starts.equal_pairs:
        return Law("many starts", f"{starts.short:,} starts in some seconds tell too little of seeds", 1.0, 0, figures)
    what = f"no start repeats another ({starts.short:,} starts; seeds of at most {bits} bits would have)"
    return Law("many starts", what, min(1.0, chance) if starts.equal_pairs else 1.0, 1, figures)


def _repeats(stream: Stream, form: "Form") -> Law:
    n, equal = stream.compared, stream.equal_pairs
    second, third = form.collision_moment(2), form.collision_moment(3)
    expected = float(math.comb(n, 2) * second)
    figures: dict[str, object] = {"reports": n, "equal_pairs": equal, "expected": expected}
    return Law("repeats", "how many reports are equal", repeats_p_value(equal, n, second, third), 1, figures)


def _coins(stream: Stream) -> Law:
    """Bits of a shift register, of the Mersenne Twister or of a short period have a low linear complexity."""
    n, streams = stream.coins.shape
    lengths = [linear_complexity(bits) for bits in stream.coins.T.tolist()]
    p_values = np.array([complexity_p_value(length, n) for length in lengths])
    figures: dict[str, object] = {"bits": n, "least_complexity": min(lengths, default=None)}
    what = "bits that should be fair coins are not made by a shift register, nor with a short period"
    return Law("linear complexity", what, joint_p_value(p_values), streams, figures)
