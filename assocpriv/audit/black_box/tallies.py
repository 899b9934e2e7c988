"""Counts of what reports of known transactions show, added up batch by batch: memory does not grow with trials."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from assocpriv.audit.black_box.clients import Answers, BlackBox
from assocpriv.audit.black_box.neighbours import Neighbours, Transaction, equal_batches, mixed_batches
from assocpriv.audit.black_box.shown import (
    Bits,
    Sample,
    Viewer,
    bits_of,
    coin_bits,
    free_sums,
    joint_counts,
    lines_of,
    lines_where,
    raw_bits,
    sample_of,
    sum_lines,
)
from assocpriv.core.errors import WireError
from assocpriv.plans.baskets.plan import Plan
from assocpriv.records.baskets import Baskets
from assocpriv.server.counting.bitmaps import Rows, SupersetCounter

SCORE_CELLS = 64
_LONGEST = 255
_REPEATS_BYTES = 1 << 26  # of reports kept to find equal ones
_SERIAL = 1 << 17  # reports that are compared with the next one
_COIN_STREAMS = 16
_LONGEST_START = 1024  # reports of each long start
_MOST_STARTS, _START_SECONDS = 1024, 4.0  # short ones
COIN_LENGTH = 40_960  # more than twice the state of the Mersenne Twister, 19,937 bits

Counts = NDArray[np.int64]
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A score of a report, the sum of its bits' weights, cut into cells.

    Attributes:
        weights: of the bits, float32 (8 · report_bytes,).
        edges: between the cells, float32 (SCORE_CELLS − 1,), increasing.
    """

    weights: NDArray[np.float32]
    edges: NDArray[np.float32]

    def cells(self, bits: Bits) -> Counts:
        """Return the cells of reports given as bits, int64 (n,)."""
        return np.searchsorted(self.edges, bits.astype(np.float32) @ self.weights).astype(np.int64)


class Tallies:
    """What reports of each of K transactions were seen to be.

    Attributes:
        totals: reports, int64 (K,).
        malformed: of them, not reports of the plan, int64 (K,).
        items: how many show each item, int64 (K, padded items).
        octets: how many have each value of each byte, int64 (K, report_bytes, 256).
        lengths: how many have each length in bytes, from 255 on together, int64 (K, 256).
        repeats: how many differ from the one before of the same run, and how many equal it, int64 (K, 2).
        overlaps: for each pair, of the reports of its first and of its second transaction, how many show so many items
            of the first and so many of the second, int64 (2, cells, cells).
        scores: for each pair likewise how many have a score in each cell, int64 (2, SCORE_CELLS).
    """

    def __init__(self, chosen: Neighbours, plan: Plan, scorers: list[Scorer] | None = None) -> None:
        n = len(chosen.transactions)
        self.chosen, self.plan, self._scorers = chosen, plan, scorers or []
        self.totals, self.malformed = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.items = np.zeros((n, plan.padded_items), dtype=np.int64)
        self.octets = np.zeros((n, plan.report_bytes, 256), dtype=np.int64)
        self.lengths = np.zeros((n, _LONGEST + 1), dtype=np.int64)
        self.repeats = np.zeros((n, 2), dtype=np.int64)
        cells = 1 + max(len(each.reference) for each in chosen.transactions)
        self.overlaps = [np.zeros((2, cells, cells), dtype=np.int64) for _ in chosen.pairs]
        self.scores = [np.zeros((2, SCORE_CELLS), dtype=np.int64) for _ in self._scorers]
        groups = {each.group.transaction_size: each.group for each in chosen.transactions}
        self._viewers = {size: Viewer(group, chosen) for size, group in groups.items()}

    def viewer(self, place: int) -> Viewer:
        """Return how the reports of a transaction are looked at."""
        return self._viewers[self.chosen.transactions[place].group.transaction_size]

    def collect(self, box: BlackBox, total: int, told: Told | None = None) -> None:
        """Ask a client for at least ``total`` reports of all transactions in turn, and count them."""
        turns, batches = mixed_batches(self.chosen, self.plan, total)
        rows = [np.flatnonzero(turns == place) for place in range(len(self.chosen.transactions))]
        done = 0
        for answers in answered(box, batches):
            for place, own in enumerate(rows):
                self._add(place, sample_of(answers, own, self.chosen.transactions[place], self.plan))
            done += len(answers)
            if told:
                told(min(done, total), total)

    def _add(self, place: int, sample: Sample) -> None:
        self.totals[place] += len(sample.raw)
        self.malformed[place] += sample.malformed
        for byte in range(self.plan.report_bytes):
            self.octets[place, byte] += np.bincount(sample.raw[:, byte], minlength=256)
        self.lengths[place] += np.bincount(np.minimum(sample.lengths, _LONGEST), minlength=_LONGEST + 1)
        pairs = sample.raw.reshape(len(sample.raw) // 2, 2, -1)
        self.repeats[place] += np.bincount((pairs[:, 0] == pairs[:, 1]).all(axis=1), minlength=2)
        viewer = self.viewer(place)
        counts = self.items[place, : viewer.group.padded_items]
        rows = viewer.look(sample.packed, counts)
        shown = bits_of(lines_of(rows), len(sample.packed))
        self._add_pairs(place, sample, shown)
        self.add_laws(place, sample, rows, shown)

    def _add_pairs(self, place: int, sample: Sample, shown: Bits) -> None:
        bits = raw_bits(sample.raw) if self._scorers else None
        for number, pair in enumerate(self.chosen.pairs):
            if place not in pair:
                continue
            side = pair.index(place)
            overlaps = [shown[self.viewer(place).places(self._reference(each))].sum(axis=0) for each in pair]
            cells = self.overlaps[number].shape[1]
            joint = overlaps[0].astype(np.int64) * cells + overlaps[1].astype(np.int64)
            self.overlaps[number][side] += np.bincount(joint, minlength=cells * cells).reshape(cells, cells)
            if bits is not None:
                found = self._scorers[number].cells(bits)
                self.scores[number][side] += np.bincount(found, minlength=SCORE_CELLS)

    def _reference(self, place: int) -> tuple[int, ...]:
        return self.chosen.transactions[place].reference

    def add_laws(self, place: int, sample: Sample, rows: Rows, shown: Bits) -> None:
        """Count what only the laws need; nothing here."""


class LawTallies(Tallies):
    """Counts for the laws as well.

    Attributes:
        kept: of each transaction that is not sampled, how many reports keep each subset of its items, int64 (2^m,);
            bit i of a subset is the i-th of its reference.
        watched_pairs: how many show both of each two watched items, int64 (pairs,), for each transaction.
        sums: how many keep j items and have each free sum 1, int64 (m + 1, sums), for each transaction.
    """

    def __init__(self, chosen: Neighbours, plan: Plan, scorers: list[Scorer] | None = None) -> None:
        super().__init__(chosen, plan, scorers)
        self._free = [free_sums(each, plan) for each in chosen.transactions]
        sizes = [0 if each.is_sampled else each.group.transaction_size for each in chosen.transactions]
        self.kept = [np.zeros(1 << m, dtype=np.int64) for m in sizes]
        self.sums = [np.zeros((m + 1, len(free)), dtype=np.int64) for m, free in zip(sizes, self._free, strict=True)]
        pairs = [pairs_of(len(self.viewer(place).watched)) for place in range(len(sizes))]
        self.watched_pairs = [np.zeros(len(each), dtype=np.int64) for each in pairs]
        self._counters = [SupersetCounter(each, len(self.viewer(place).watched)) for place, each in enumerate(pairs)]

    def add_laws(self, place: int, sample: Sample, rows: Rows, shown: Bits) -> None:
        """Count kept subsets, pairs and free sums."""
        transaction = self.chosen.transactions[place]
        if transaction.is_sampled:
            return
        inside = shown[self.viewer(place).places(transaction.reference)]
        m = len(inside)
        self.kept[place] += np.bincount((1 << np.arange(m)) @ inside, minlength=1 << m)
        self._counters[place].count(rows, self.watched_pairs[place])
        if self._free[place]:
            odd = sum_lines(sample.packed, self._free[place])
            levels = lines_where(inside.sum(axis=0) == np.arange(m + 1)[:, None], odd.shape[1])
            self.sums[place] += joint_counts(levels, odd)


def pairs_of(n: int) -> Counts:
    """Return the pairs 01, 02, … of n places, int64 (n(n − 1)/2, 2)."""
    return np.stack(np.triu_indices(n, 1), axis=1).astype(np.int64)


def answered(box: BlackBox, batches: Iterator[Baskets]) -> Iterator[Answers]:
    """Yield a client's answers, and check that there is one for each transaction."""
    asked: list[int] = []

    def noted() -> Iterator[Baskets]:
        for batch in batches:
            asked.append(len(batch))
            yield batch

    given = 0
    for answers in box.reports(noted()):
        if given >= len(asked) or len(answers) != asked[given]:
            raise WireError("the client did not answer with one report for each transaction")
        given += 1
        yield answers
    if given != len(asked) or next(batches, None) is not None:
        raise WireError("the client stopped before it had answered for all transactions")


@dataclass(frozen=True, slots=True)
class Stream:
    """What reports of one transaction, one after the other, were seen to be.

    Attributes:
        total: number of reports.
        malformed: of them, not reports of the plan.
        kept_for_repeats: how many were compared with each other, the first ones.
        equal_pairs: pairs of equal reports among those.
        coins: bits of consecutive reports that are fair coins, uint8 (≤ COIN_LENGTH, streams).
        successive_sums: n, and for each two free sums how many of n successive reports differ in them, (sums, sums).
        successive_items: n, and how many of n disjoint pairs of successive reports show one watched item in the
            first and one in the second, int64 (watched, watched).
    """

    total: int
    malformed: int
    kept_for_repeats: int
    equal_pairs: int
    coins: NDArray[np.uint8]
    successive_sums: tuple[int, Counts]
    successive_items: tuple[int, Counts]


class StreamTally:
    """Adds up a :class:`Stream` of the first transaction of the neighbours."""

    def __init__(self, chosen: Neighbours, plan: Plan) -> None:
        self._plan, self._transaction = plan, chosen.transactions[0]
        self._viewer = Viewer(self._transaction.group, chosen)
        self._free = free_sums(self._transaction, plan)
        free = coin_bits(self._transaction)
        self._coin_places = (
            free[np.unique(np.linspace(0, len(free) - 1, _COIN_STREAMS).astype(int))] if len(free) else free
        )
        n_sums, n_items = len(self._free), len(self._viewer.watched)
        self._sums, self._items = np.zeros((n_sums, n_sums), np.int64), np.zeros((n_items, n_items), np.int64)
        self._n_sums = self._n_items = self._total = self._malformed = self._held = 0
        self._reports: list[NDArray[np.uint8]] = []
        self._coins: list[NDArray[np.uint8]] = []

    def collect(self, box: BlackBox, total: int, told: Told | None = None) -> Stream:
        """Ask a client for reports and return what they were seen to be."""
        for answers in answered(box, equal_batches(self._transaction, self._plan, total)):
            self._add(sample_of(answers, slice(None), self._transaction, self._plan))
            if told:
                told(self._total, total)
        kept = np.concatenate(self._reports)
        _, counts = np.unique(kept.view(f"V{kept.shape[1]}"), return_counts=True)
        equal = int((counts * (counts - 1) // 2).sum())
        coins = np.concatenate(self._coins)[:COIN_LENGTH]
        return Stream(
            self._total,
            self._malformed,
            len(kept),
            equal,
            coins,
            (self._n_sums, self._sums),
            (self._n_items, self._items),
        )

    def _add(self, sample: Sample) -> None:
        room = max(1, _REPEATS_BYTES // sample.packed.shape[1])
        self._reports.append(sample.packed[: room - min(room, self._held)])
        self._held += len(self._reports[-1])
        if self._total < COIN_LENGTH:
            self._coins.append(raw_bits(sample.packed)[:, self._coin_places])
        if self._total < _SERIAL and len(sample.packed) > 1:
            self._add_successive(sample.packed)
        self._total += len(sample.packed)
        self._malformed += sample.malformed

    def _add_successive(self, packed: NDArray[np.uint8]) -> None:
        before, after = sum_lines(packed[:-1], self._free), sum_lines(packed[1:], self._free)
        ones = [np.bitwise_count(lines).sum(axis=1, dtype=np.int64) for lines in (before, after)]
        # they differ where one of them is odd but not both
        self._sums += ones[0][:, None] + ones[1] - 2 * joint_counts(before, after)
        self._n_sums += len(packed) - 1
        pairs = packed[: len(packed) // 2 * 2]
        first, second = (lines_of(self._viewer.look(part)) for part in (pairs[::2], pairs[1::2]))
        self._items += joint_counts(first, second)
        self._n_items += len(pairs) // 2

    @property
    def is_inside(self) -> NDArray[np.bool_]:
        """Which of the watched items are the transaction's, bool (watched,)."""
        return np.isin(self._viewer.watched, self._transaction.reference)


@dataclass(frozen=True, slots=True)
class Starts:
    """What reports of a client that is started anew were seen to be, asked for the same each time.

    Attributes:
        total: reports of each of two long starts, which find what repeats rarely.
        equal: of them, equal to the other start's at the same place.
        short: how many short starts there were, which find a seed that somebody could guess.
        length: reports of each of these.
        equal_pairs: pairs of short starts with the same reports.
        malformed: of all of them, not reports of the plan.
    """

    total: int
    equal: int
    short: int
    length: int
    equal_pairs: int
    malformed: int


def compare_starts(transaction: Transaction, plan: Plan, box: BlackBox, long_length: int, short_length: int) -> Starts:
    """Start a client over and over and compare what it reports of one transaction each time.

    Args:
        transaction: what it is asked about.
        plan: its plan.
        box: a client that starts anew.
        long_length: reports of each of two long starts.
        short_length: reports of each of up to 1,024 short starts, for some seconds, at least two.
    """
    one, other = (_start(transaction, plan, box, long_length) for _ in range(2))
    equal = int(((one.raw == other.raw).all(axis=1) & (one.lengths == other.lengths)).sum())
    malformed, seen, last = one.malformed + other.malformed, Counter[bytes](), monotonic() + _START_SECONDS
    while seen.total() < 2 or (seen.total() < _MOST_STARTS and monotonic() < last):
        short = _start(transaction, plan, box, short_length)
        seen[short.raw.tobytes() + short.lengths.tobytes()] += 1
        malformed += short.malformed
    equal_pairs = sum(count * (count - 1) // 2 for count in seen.values())
    return Starts(long_length, equal, seen.total(), short_length, equal_pairs, malformed)


def _start(transaction: Transaction, plan: Plan, box: BlackBox, total: int) -> Sample:
    """Start a client and ask it about one transaction so often."""
    answers = list(answered(box, equal_batches(transaction, plan, total)))
    samples = [sample_of(each, slice(None), transaction, plan) for each in answers]
    raw, packed = (np.concatenate(parts) for parts in zip(*((each.raw, each.packed) for each in samples), strict=True))
    lengths = np.concatenate([each.lengths for each in samples])
    return Sample(raw, lengths, packed, sum(each.malformed for each in samples))


@dataclass(frozen=True, slots=True)
class Trials:
    """How many reports to ask for: to learn from, to score, as one stream, of every item, of other baskets, to test.

    ``start`` is how many each of two long starts gives. Short ones, of a client that starts anew, come on top.
    """

    learn: int
    score: int
    follow: int
    items: int
    others: int
    start: int
    test: int


def split_trials(trials: int) -> Trials:
    """Share out the reports of an audit; the largest part of them is tested.

    >>> split_trials(800)
    Trials(learn=100, score=100, follow=100, items=100, others=50, start=12, test=326)
    """
    part = trials // 8
    others, start = part // 2, min(_LONGEST_START, part // 8)
    return Trials(part, part, part, part, others, start, trials - 4 * part - others - 2 * start)
