"""Clients of plans with several questions as black boxes: how questions are drawn, and each question by itself.

The coin is an experiment of its own. Baskets of very different sizes are asked about, and how often each question is
answered is held against its share, for each basket; which question is answered may tell nothing of it, nor of the
report or the basket before. The numbers of all reports of an audit count, too, by the size of what was asked about: a
coin that is a little off, or looks at some sizes only, shows there.

:class:`OfQuestion` presents a client as one of the plan that asks a question alone. Asked about entries, it asks the
client about a transaction that has them, as often as it takes to have an answer to the question for each with a chance
of all but 10^-9; the first answers are taken, without number and padding, in the order of the entries. Questions are
drawn whatever is held, so these are independent answers about the entries, as everything that audits one question needs
them. Where they do not suffice all the same, which a coin that follows the plan does not do, nothing is concluded.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import (
    LARGEST_BATCH,
    BlackBox,
    BoxProgress,
    ClientReports,
    answered,
    batch_length,
    batch_of,
)
from assocpriv.auditing.counts import Counts, Table, is_whole
from assocpriv.auditing.exact_draws import some_items, told_sizes
from assocpriv.auditing.findings import Fault
from assocpriv.auditing.goodness_of_fit import Events, Law, law_of
from assocpriv.records.baskets import Baskets

if TYPE_CHECKING:
    from assocpriv.auditing.recompute_promise import Numbers
    from assocpriv.plans.baskets import Plan

_TOO_FEW = 1e-9  # the chance that the answers about one transaction do not suffice
_MOST_ITEMS = 1 << 22  # of the transactions asked about at a time
_LARGEST_COIN, _MOST_SIZES = 1024, 16  # items of baskets, and baskets, that the coin is asked about
_LONGEST = 64  # items of a transaction that are told apart in the numbers of all reports
_SPREAD = 16  # sizes of the last class that are asked about, at least


class TooFewAnswers(Fault):
    """A question was answered less often than its share says."""


# ---- the coin


class CoinTallies:
    """Which questions reports of K baskets answer, and which those of the basket after each answer.

    Attributes:
        asked, after: how many answer each question, int64 (K, questions).
    """

    def __init__(self, baskets: list[list[int]], plan: "Plan", seen: "Seen") -> None:
        self.baskets, self._plan, self._seen, k = baskets, plan, seen, len(plan.questions)
        self.pairs = tuple((0, other) for other in range(1, len(baskets)))  # the first holds nothing
        self.asked, self.after = (np.zeros((len(baskets), k), dtype=np.int64) for _ in range(2))
        self.total = self.malformed = 0

    @property
    def totals(self) -> Counts:
        """Reports of each basket."""
        counts: Counts = self.asked.sum(axis=1)
        return counts

    def collect(self, box: BlackBox, total: int, progress: BoxProgress | None = None) -> None:
        """Ask a client for at least ``total`` reports of all baskets in random order, and count them."""
        k, held = len(self.baskets), sum(map(len, self.baskets))
        turns = max(1, min(batch_length(self._plan) // k, _MOST_ITEMS // held, -(-total // k)))
        batches = -(-total // (turns * k))
        order = np.random.default_rng(total).permutation(np.repeat(np.arange(k), turns))
        batch = batch_of([self.baskets[place] for place in order.tolist()], self._plan)
        for answers in answered(box, iter([batch] * batches), progress, total):
            self._add(order, answers)

    def _add(self, order: Counts, answers: ClientReports) -> None:
        numbers = numbers_of(answers, self._plan)
        self._seen.add(np.array([len(basket) for basket in self.baskets])[order], numbers)
        self.total += len(numbers)
        self.malformed += int((numbers < 0).sum())
        whole = numbers >= 0
        np.add.at(self.asked, (order[whole], numbers[whole]), 1)
        np.add.at(self.after, (order[:-1][whole[1:]], numbers[1:][whole[1:]]), 1)

    def tables(self, pair: int) -> Iterator[tuple[str, Table]]:
        """Yield the table of which question is asked; see bounds.py."""
        one, other = self.pairs[pair]
        yield "question", (self.asked[one : one + 1], self.asked[other : other + 1])


def coin_baskets(numbers: "Numbers", chance: np.random.Generator) -> list[list[int]]:
    """Return baskets of very different sizes, the empty one first."""
    sizes = [size for size in told_sizes(numbers) if size <= _LARGEST_COIN]
    largest = min(numbers.n_items, _LARGEST_COIN)
    chosen = np.unique([*np.array(sizes)[np.linspace(0, len(sizes) - 1, _MOST_SIZES).astype(int)], largest])
    return [some_items(numbers, size, chance) for size in chosen.tolist()]


def numbers_of(answers: ClientReports, plan: "Plan") -> Counts:
    """Return which questions reports answer, int64 (n,); −1 for what is no report of the plan."""
    return np.where(is_whole(answers, plan), answers.octets[:, 0].astype(np.int64), -1)


@dataclass(frozen=True)
class Seen:
    """Which questions all reports of an audit answer.

    ``by_size`` counts them by the size of what they are about, int64 (sizes, questions); ``successive`` of disjoint
    pairs of successive reports how many answer each two, int64 (questions, questions).
    """

    by_size: Counts
    successive: Counts

    @classmethod
    def none(cls, plan: "Plan") -> "Seen":
        """Return the counts of no reports yet."""
        k = len(plan.questions)
        return cls(np.zeros((_LONGEST + 1, k), dtype=np.int64), np.zeros((k, k), dtype=np.int64))

    def add(self, sizes: Counts, numbers: Counts) -> None:
        """Count reports that follow each other."""
        whole = numbers >= 0
        np.add.at(self.by_size, (np.minimum(sizes[whole], _LONGEST), numbers[whole]), 1)
        pairs = numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
        np.add.at(self.successive, tuple(pairs[(pairs >= 0).all(axis=1)].T), 1)


def coin_laws(tested: CoinTallies, seen: Seen, numbers: "Numbers") -> Iterator[Law]:
    """Yield the laws of the coin."""
    shares = np.array([float(share) for share in numbers.shares])
    figures: dict[str, object] = {"shares": shares.tolist(), "asked": tested.asked.sum(axis=0).tolist()}
    figures |= {"asked_in_all": seen.by_size.sum(axis=0).tolist()}
    drawn = [_by_share(counts, shares) for counts in (tested.asked, tested.asked.sum(axis=0)[None])]
    drawn += [_by_share(counts, shares) for counts in (seen.by_size, seen.by_size.sum(axis=0)[None])]
    yield law_of("questions", "each question is asked with its share, whatever the basket", drawn, figures)
    after = _by_share(tested.after, shares)
    pairs = Events.of(seen.successive, int(seen.successive.sum()), np.outer(shares, shares))
    yield law_of("successive questions", "a question tells nothing of the report before", [pairs, after])


def _by_share(counts: Counts, shares: NDArray[np.float64]) -> Events:
    return Events.of(counts, counts.sum(axis=1).repeat(len(shares)), np.tile(shares, len(counts)))


# ---- one question


@dataclass
class _Round:
    """What is asked for one batch of entries: transactions of it, over and over."""

    of_row: Counts  # which of its distinct transactions each row of the batch is
    places: Counts  # the rows asked about, in order
    left: int = 0  # batches of them that are not answered yet
    found: list[tuple[Counts, NDArray[np.uint8]]] = field(default_factory=list)  # of answers the transaction, and bytes


class OfQuestion:
    """A client of a plan of several questions as one of the plan that asks one of them alone.

    Attributes:
        most_entries: how many entries a transaction can have; more cannot be asked about.
        total, malformed: how many reports there were, and how many of them are none of the plan.
    """

    def __init__(
        self, box: BlackBox, plan: "Plan", numbers: "Numbers", number: int, seen: Seen, chance: np.random.Generator
    ) -> None:
        self.starts_anew, self._box, self._plan, self._number, self._seen = box.starts_anew, box, plan, number, seen
        self._n_items, self._question = numbers.n_items, numbers.questions[number]
        self._share, self._chance = float(numbers.shares[number]), chance
        self.most_entries = self._question.most_entries
        self.total = self.malformed = 0

    def reports(self, batches: Iterable[Baskets]) -> Iterator[ClientReports]:
        """Yield an answer to the question for each row of each batch of entries.

        Raises:
            TooFewAnswers: there are not enough of them.
        """
        waiting: deque[tuple[_Round, Counts, Counts]] = deque()  # with each batch asked: its rows, and their sizes

        def asked() -> Iterator[Baskets]:
            for batch in batches:
                of_row = _distinct(batch)
                made = _Round(of_row, self._places(of_row))
                transactions = list(self._transactions(batch, made.places))
                made.left = len(transactions)
                start = 0
                for part in transactions:
                    waiting.append((made, made.places[start : start + len(part)], part.sizes))
                    start += len(part)
                    yield part

        for answers in answered(self._box, asked()):
            made, rows, sizes = waiting.popleft()
            self._add(answers, made, rows, sizes)
            made.left -= 1
            if not made.left:
                yield self._chosen(made)

    def _places(self, of_row: Counts) -> Counts:
        """Return the rows to ask about, in their order over and over, each transaction as often as it must be."""
        from scipy.stats import nbinom

        counts = np.bincount(of_row)
        needed, which = np.unique(counts, return_inverse=True)
        asks = (needed + nbinom.isf(_TOO_FEW, needed, self._share)).astype(np.int64)[which]
        by_transaction = np.argsort(of_row, kind="stable")
        rank = np.empty(len(of_row), dtype=np.int64)
        rank[by_transaction] = np.arange(len(of_row)) - np.repeat(np.cumsum(counts) - counts, counts)
        turns = range(int((-(-asks // counts)).max()))
        return np.concatenate([np.flatnonzero(rank + turn * counts[of_row] < asks[of_row]) for turn in turns])

    def _transactions(self, batch: Baskets, places: Counts) -> Iterator[Baskets]:
        """Yield transactions that have the entries of some rows of a batch, a batch of them after the other."""
        length = min(batch_length(self._plan), LARGEST_BATCH)
        for start in range(0, len(places), length):
            rows = places[start : start + length]
            starts, sizes = batch.offsets[rows], batch.sizes[rows]
            if self._question.bounds:
                starts, sizes = self._runs(batch, rows)
            step = max(1, _MOST_ITEMS // max(1, int(sizes.max())))
            for first in range(0, len(rows), step):
                some = sizes[first : first + step]
                offsets = np.append(0, np.cumsum(some)).astype(np.int64)
                items = np.repeat(starts[first : first + step] - offsets[:-1], some) + np.arange(offsets[-1])
                yield Baskets(self._plan.catalogue, offsets, items if self._question.bounds else batch.items[items])

    def _runs(self, batch: Baskets, rows: Counts) -> tuple[Counts, Counts]:
        """Return the first item and the number of items of runs whose size is in the class of each row, at random."""
        classes: list[list[int]] = [[], *([place] for place in range(self._question.n_items))]
        ranges = [self._question.sizes(entries, self._n_items) for entries in classes]
        low = np.array([sizes.start for sizes in ranges])
        width = np.array([min(len(sizes), max(sizes.start, _SPREAD)) for sizes in ranges])
        held = batch.sizes[rows] > 0
        which = np.zeros(len(rows), dtype=np.int64)
        which[held] = batch.items[batch.offsets[rows[held]]] + 1
        sizes = low[which] + self._chance.integers(width[which])
        return self._chance.integers(self._n_items - sizes + 1), sizes

    def _add(self, answers: ClientReports, made: _Round, rows: Counts, sizes: Counts) -> None:
        numbers, start = numbers_of(answers, self._plan), self._plan.number_bytes
        self.total += len(numbers)
        self.malformed += int((numbers < 0).sum())
        self._seen.add(sizes, numbers)
        mine = np.flatnonzero(numbers == self._number)
        made.found.append((made.of_row[rows[mine]], answers.octets[mine, start : start + self._question.report_bytes]))

    def _chosen(self, made: _Round) -> ClientReports:
        """Return the first answers about each transaction, in the order of the batch's rows."""
        whose, octets = (np.concatenate(parts) for parts in zip(*made.found, strict=True))
        wanted, there = np.bincount(made.of_row), np.bincount(whose, minlength=int(made.of_row.max()) + 1)
        if (there < wanted).any():
            raise TooFewAnswers("The question is answered too rarely.")
        order = np.argsort(whose, kind="stable")
        first = np.arange(len(order)) - np.repeat(np.cumsum(there) - there, there) < wanted[whose[order]]
        packed = np.empty((len(made.of_row), octets.shape[1]), dtype=np.uint8)
        packed[np.argsort(made.of_row, kind="stable")] = octets[order[first]]
        return ClientReports.of_packed(packed)


def _distinct(batch: Baskets) -> Counts:
    """Return a number for each row of a batch, the same for equal transactions."""
    known: dict[bytes, int] = {}
    rows = (batch.items[start:stop].tobytes() for start, stop in zip(batch.offsets, batch.offsets[1:], strict=False))
    return np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)
