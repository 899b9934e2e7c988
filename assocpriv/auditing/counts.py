"""Counts of what reports of known transactions show, which an audit chooses to ask a client about.

The transactions are chosen from the plan alone: those that are hardest to hide. What a report tells of a transaction
depends on how many of its items it shows, so transactions without a common item are furthest apart; the others here are
those that a mistake would tell apart: an empty one, the first and the last item, one item changed, one longer than M.

What is looked at in their reports, items, bits and lengths, is added up batch by batch: memory does not grow with
trials.

Plans here have one question; several are looked at one by one (questions.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import repeat
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import BlackBox, BoxProgress, ClientReports, answered, batch_length, batch_of
from assocpriv.auditing.findings import BROKEN, CONSISTENT, Finding
from assocpriv.auditing.recompute_promise import read_numbers
from assocpriv.plans.generator import Field, item_columns
from assocpriv.plans.published import well_formed
from assocpriv.server.bitmaps import ItemTables, Rows, planes_of, report_planes

if TYPE_CHECKING:
    from assocpriv.auditing.recompute_reports import Form
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.baskets import Baskets

_LEAST_BATCHES, _SHORT_BATCH = 24, 2048
_RUN = 2  # equal transactions that stand together, so that a repeated report can be seen
_WATCHED_OTHERS = 32  # items beside those of the transactions
_MOST_BITS, _RANDOM_SUMS = 256, 32  # of a seed that are looked at, and sums of any of them
_LONGEST = 255  # bytes of a report that are told apart
_REPEATS_BYTES = 1 << 26  # of reports kept to find equal ones
_SERIAL = 1 << 17  # reports that are compared with the next one
_COIN_STREAMS = 16
COIN_LENGTH = 40_960  # more than twice the state of the Mersenne Twister, 19,937 bits
_MOST_STARTS, _START_SECONDS = 1024, 4.0  # short ones
SCORE_CELLS = 64

Bits = NDArray[np.uint8]  # 0 and 1
Lines = NDArray[np.uint64]  # (lines, words): bit t mod 64 of word t div 64 is report t's; bits after the last are 0
Counts = NDArray[np.int64]
# of two transactions: how many reports have each value of each feature, (features, values)
Table = tuple[Counts, Counts]


# ---- transactions to ask about


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction to ask about."""

    items: tuple[int, ...]  # increasing
    plan: "Plan"
    reference: tuple[int, ...]  # its items, and the dummies that pad it; as many as M unless it is longer

    @property
    def is_sampled(self) -> bool:
        """Whether it is longer than M, so that chance decides what is randomized."""
        return len(self.items) > self.plan.items.transaction_size

    @property
    def own_shown(self) -> Fraction:
        """The chance that a report shows one item of the reference; of L items only M are not cut off, by chance."""
        form = form_of(self.plan)
        share = Fraction(form.size, len(self.reference))
        return share * form.shown_probability(1, 0) + (1 - share) * form.shown_probability(0, 1)


def transaction_of(items: tuple[int, ...], plan: "Plan") -> Transaction:
    """Return what a plan makes of a transaction."""
    padding = range(plan.n_items, plan.n_items + max(0, plan.items.transaction_size - len(items)))
    return Transaction(items, plan, (*items, *padding))


def form_of(plan: "Plan") -> "Form":
    """Return what the audit itself reads of a plan: the form of its reports, and their law."""
    return _form_of(plan.canonical_json)


@lru_cache(maxsize=32)
def _form_of(text: str) -> "Form":
    return read_numbers(text).questions[0].form


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Transactions, and the pairs of them (places in the list) that no report may tell apart beyond the promise."""

    transactions: tuple[Transaction, ...]
    pairs: tuple[tuple[int, int], ...]


def worst_neighbours(plan: "Plan", most: int | None = None) -> Neighbours:
    """Choose transactions, of ``most`` items if there is a limit, and pairs; the first has M items, or all it can."""
    pairs = _pairs(plan, plan.n_items if most is None else most)
    chosen = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
    listed = list(dict.fromkeys(items for pair in chosen for items in pair))
    made = tuple(transaction_of(items, plan) for items in listed)
    return Neighbours(made, tuple((listed.index(one), listed.index(other)) for one, other in chosen))


def _pairs(plan: "Plan", most: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    n = plan.n_items
    m = min(plan.items.transaction_size, most)
    first, last = tuple(range(m)), tuple(range(n - m, n))
    spare = next((item for item in (n // 2, n - 1) if item not in first), None)
    changed = first if spare is None else (*first[:-1], spare)
    pairs = [(first, last), (first, changed)]
    if m == plan.items.transaction_size < most:
        long = tuple(range(min(most, 2 * m + 3)))
        pairs += [(long, first), (long, last)]
    return [*pairs, (first, ()), (last, ()), ((0,), (n - 1,))]


def mixed_batches(
    transactions: Sequence[Transaction], plan: "Plan", total: int
) -> "tuple[NDArray[np.int64], Iterator[Baskets]]":
    """Return which transaction each row of a batch is, int64 (batch,), and the batches: ``total`` rows or a few more.

    All transactions take turns, so that what a client remembers of the one before shows as well.
    """
    turn = np.repeat(np.arange(len(transactions)), _RUN)
    # enough of them that a slow client shows how far it is
    n_batches = max(-(-total // batch_length(plan)), min(_LEAST_BATCHES, total // _SHORT_BATCH))
    turns = np.tile(turn, -(-total // (n_batches * len(turn))))
    batch = batch_of([transactions[place].items for place in turns.tolist()], plan)
    return turns, repeat(batch, n_batches)


def equal_batches(transaction: Transaction, plan: "Plan", total: int) -> "Iterator[Baskets]":
    """Yield batches of one transaction, ``total`` of them in all."""
    length = min(batch_length(plan), total)
    batch = batch_of([transaction.items] * length, plan)
    for start in range(0, total, length):
        yield batch[: min(length, total - start)]


# ---- what reports show


def _chance_of_plan(plan: "Plan") -> np.random.Generator:
    """Return the numbers that choose what to look at: the same for every audit of a plan."""
    return np.random.default_rng(int(plan.plan_id[:16], 16))


def is_whole(answers: ClientReports, plan: "Plan") -> NDArray[np.bool_]:
    """Tell which answers are reports of the plan, bool (n,)."""
    whole: NDArray[np.bool_] = answers.lengths == plan.report_bytes
    packed = np.ascontiguousarray(answers.octets[:, : plan.report_bytes])
    whole[whole] = well_formed(packed[whole], plan)
    return whole


def judge_format(depth: str, malformed: int, reports: int) -> Finding:
    """Judge the answers' form: a single one that is no report is a fault, and hides what the laws would find."""
    figures = {"malformed": malformed, "reports": reports}
    if malformed:
        said = (
            f"{malformed:,} of {reports:,} are no reports of the plan: of another length, with an unused bit "
            "set, or of a set or size that the plan does not have."
        )
        return Finding(depth, "format", BROKEN, said, figures)
    return Finding(depth, "format", CONSISTENT, "All reports can be read by the plan.", figures)


@dataclass(frozen=True, slots=True)
class Sample:
    """Reports of one transaction, in the order in which they came."""

    raw: NDArray[np.uint8]  # as they came, (n, report_bytes), cut to that length or filled up with zeros
    lengths: NDArray[np.int64]  # in bytes, (n,)
    whole: NDArray[np.bool_]  # which are reports of the plan, (n,)
    packed: NDArray[np.uint8]  # the same; zeros where they are none

    @property
    def malformed(self) -> int:
        """How many are none."""
        return int(len(self.whole) - self.whole.sum())


def sample_of(answers: ClientReports, rows: NDArray[np.int64] | slice, plan: "Plan") -> Sample:
    """Take the reports of one transaction out of a batch."""
    raw, lengths = np.ascontiguousarray(answers.octets[rows, : plan.report_bytes]), answers.lengths[rows]
    whole = is_whole(ClientReports(raw, lengths), plan)
    return Sample(raw, lengths, whole, raw * whole[:, None].astype(np.uint8))


class Viewer:
    """Which items the reports of a plan show; made once for any number of samples."""

    def __init__(self, plan: "Plan", chosen: Neighbours) -> None:
        references = {item for each in chosen.transactions for item in each.reference}
        others = np.setdiff1d(np.arange(plan.items.padded_items), list(references))
        picked = _chance_of_plan(plan).permutation(others)[:_WATCHED_OTHERS]
        self.plan = plan
        self.watched = np.array(sorted({*references, *picked.tolist()}), dtype=np.int64)
        self._tables = ItemTables(plan.items, self.watched)

    @cached_property
    def _all(self) -> ItemTables:
        return ItemTables(self.plan.items, np.arange(self.plan.items.padded_items, dtype=np.int64))

    def places(self, items: tuple[int, ...]) -> NDArray[np.int64]:
        """Return where items stand among the watched ones."""
        return np.searchsorted(self.watched, items)

    def look(self, packed: NDArray[np.uint8], item_counts: NDArray[np.int64] | None = None) -> Lines:
        """Return the watched items' lines, and add how many reports show each item to counts, int64 (padded_items,).

        ``packed`` are reports, uint8 (n, report_bytes).
        """
        planes = planes_of(packed, self.plan.items)
        if item_counts is not None:
            self._all.count(planes, len(packed), item_counts)
        return lines_of(self._tables.rows(planes, len(packed)))


def lines_of(rows: Rows) -> Lines:
    """Return bitmaps in blocks as one line each."""
    return np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)


def bits_of(lines: Lines, n: int) -> Bits:
    """Return lines over n reports as 0 and 1, (lines, n)."""
    octets = lines.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little")


def _joint_counts(left: Lines, right: Lines) -> NDArray[np.int64]:
    """Count the reports that are in each line of one and each of another list, int64 (left, right)."""
    counts = [np.bitwise_count(line & right).sum(axis=1, dtype=np.int64) for line in left]
    return np.array(counts, dtype=np.int64).reshape(len(left), len(right))


def raw_bits(packed: NDArray[np.uint8]) -> Bits:
    """Return the bits of reports as 0 and 1, (n, 8 · report_bytes)."""
    return np.unpackbits(packed, axis=1, bitorder="little")


def _sum_lines(packed: NDArray[np.uint8], sums: list[NDArray[np.int64]]) -> Lines:
    """Return in which reports, uint8 (n, report_bytes), each sum of bits, given by their places, is odd."""
    lines = lines_of(report_planes(packed))
    odd = [np.bitwise_xor.reduce(lines[places], axis=0) for places in sums]
    return np.array(odd, dtype=np.uint64).reshape(len(sums), lines.shape[1])


def free_sums(transaction: Transaction) -> list[NDArray[np.int64]]:
    """Choose sums of seed bits, each given by their places, that are fair coins whatever is kept; none without a seed.

    A seed is uniform among those that agree with the kept items, which fix its products with the transaction's
    columns. A sum outside the span of these columns is a fair coin on each such set. Single bits come first.
    """
    plan = transaction.plan
    n_bits, n_octets = form_of(plan).seed_bits, plan.report_bytes
    if transaction.is_sampled or not n_bits:
        return []
    span = span_of(transaction.reference, plan)
    singles = [1 << int(bit) for bit in np.unique(np.linspace(0, n_bits - 1, _MOST_BITS).astype(int))]
    chance = _chance_of_plan(plan)
    sums = [int.from_bytes(chance.bytes(n_octets), "little") & (1 << n_bits) - 1 for _ in range(_RANDOM_SUMS)]
    free = [each for each in singles + sums if not is_spanned(each, span)]
    octets = np.frombuffer(b"".join(each.to_bytes(n_octets, "little") for each in free), dtype=np.uint8)
    return [np.flatnonzero(bits) for bits in raw_bits(octets.reshape(len(free), n_octets))]


def coin_bits(transaction: Transaction) -> NDArray[np.int64]:
    """Return which report bits are fair coins by themselves, at most 256 of them: seed bits, or items at ρ = 1/2."""
    form = form_of(transaction.plan)
    if form.seed_bits:
        singles = [int(places[0]) for places in free_sums(transaction) if len(places) == 1]
        return np.array(singles, dtype=np.int64)
    others = np.setdiff1d(np.arange(form.items), transaction.reference)
    return others[: _MOST_BITS * (form.has_coins and form.others_shown(0, 1) == Fraction(1, 2))]


def span_of(items: tuple[int, ...], plan: "Plan", field: Field | None = None) -> list[int]:
    """Return a basis of the columns of some items: the sums of seed bits that a report's showing them fixes."""
    asked = plan.items
    columns = item_columns(asked.generator, asked.independent.insert_bits, np.array(items, dtype=np.int64), field)
    basis: list[int] = []
    for words in columns.reshape(-1, columns.shape[2]):
        rest = _reduced(int.from_bytes(words.astype("<u8").tobytes(), "little"), basis)
        if rest:
            basis.append(rest)
    return basis


def is_spanned(vector: int, basis: list[int]) -> bool:
    """Tell whether a sum of seed bits, given as an integer, is fixed."""
    return not _reduced(vector, basis)


def _reduced(vector: int, basis: list[int]) -> int:
    for other in basis:
        vector = min(vector, vector ^ other)
    return vector


# ---- counts, transactions taking turns


@dataclass(frozen=True, slots=True)
class Scorer:
    """A score of a report, the sum of its bits' weights, cut into cells."""

    weights: NDArray[np.float32]  # of the bits, (8 · report_bytes,)
    edges: NDArray[np.float32]  # between the cells, (SCORE_CELLS − 1,), increasing

    def cells(self, bits: Bits) -> Counts:
        """Return the cells of reports given as bits, int64 (n,)."""
        return np.searchsorted(self.edges, bits.astype(np.float32) @ self.weights).astype(np.int64)


def samples_in_turn(
    box: BlackBox, transactions: Sequence[Transaction], plan: "Plan", total: int, progress: BoxProgress | None
) -> Iterator[list[Sample]]:
    """Ask for at least ``total`` reports of all transactions in turn; yield each batch's samples, one a transaction."""
    turns, batches = mixed_batches(transactions, plan, total)
    rows = [np.flatnonzero(turns == place) for place in range(len(transactions))]
    for answers in answered(box, batches, progress, total):
        yield [sample_of(answers, own, plan) for own in rows]


class Tallies:
    """What reports of each of K transactions were seen to be, as they came, and to show.

    Attributes:
        totals, total: reports of each, int64 (K,), and of all; ``malformed`` of them are none of the plan.
        octets: how many have each value of each byte, int64 (K, report_bytes, 256).
        lengths: how many have each length in bytes, from 255 on together, int64 (K, 256).
        repeats: how many differ from the one before of the same run, and how many equal it, int64 (K, 2).
        items: how many show each item, int64 (K, padded items).
        overlaps: for each pair, of the reports of its first and of its second transaction, how many show so many items
            of the first and so many of the second, int64 (2, cells, cells).
        scores: for each pair likewise how many have a score in each cell, int64 (2, SCORE_CELLS).

    What only the laws need is counted where it is asked for:

        kept: of each transaction that is not sampled, how many reports keep each subset of its items, int64 (2^m,);
            bit i of a subset is the i-th of its reference.
        watched_pairs: how many show both of each two watched items, int64 (watched, watched), for each transaction.
        sums: how many keep j items and have each free sum 1, int64 (m + 1, sums), for each transaction.
    """

    def __init__(
        self, chosen: Neighbours, plan: "Plan", scorers: list[Scorer] | None = None, *, for_laws: bool = False
    ) -> None:
        self.chosen, self.plan, n, self._scorers = chosen, plan, len(chosen.transactions), scorers or []
        self.totals, self.total, self.malformed = np.zeros(n, dtype=np.int64), 0, 0
        self.octets = np.zeros((n, plan.report_bytes, 256), dtype=np.int64)
        self.lengths = np.zeros((n, _LONGEST + 1), dtype=np.int64)
        self.repeats = np.zeros((n, 2), dtype=np.int64)
        self.items = np.zeros((n, plan.items.padded_items), dtype=np.int64)
        cells = 1 + max(len(each.reference) for each in chosen.transactions)
        self.overlaps = [np.zeros((2, cells, cells), dtype=np.int64) for _ in chosen.pairs]
        self.scores = [np.zeros((2, SCORE_CELLS), dtype=np.int64) for _ in self._scorers]
        self.viewer = Viewer(plan, chosen)
        self._for_laws = for_laws
        if for_laws:
            self._free = [free_sums(each) for each in chosen.transactions]
            sizes = [0 if each.is_sampled else plan.items.transaction_size for each in chosen.transactions]
            self.kept = [np.zeros(1 << m, np.int64) for m in sizes]
            self.sums = [np.zeros((m + 1, len(free)), np.int64) for m, free in zip(sizes, self._free, strict=True)]
            watched = len(self.viewer.watched)
            self.watched_pairs = np.zeros((n, watched, watched), np.int64)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of transactions, by their places."""
        return self.chosen.pairs

    def collect(self, box: BlackBox, total: int, progress: BoxProgress | None = None) -> None:
        """Ask a client for at least ``total`` reports of all transactions in turn, and count them."""
        for samples in samples_in_turn(box, self.chosen.transactions, self.plan, total, progress):
            for place, sample in enumerate(samples):
                self._add(place, sample)

    def _add(self, place: int, sample: Sample) -> None:
        self._add_raw(place, sample)
        lines = self.viewer.look(sample.packed, self.items[place])
        shown = bits_of(lines, len(sample.packed))
        self._add_pairs(place, sample, shown)
        if self._for_laws and not self.chosen.transactions[place].is_sampled:
            self._add_kept(place, sample, shown)

    def _add_raw(self, place: int, sample: Sample) -> None:
        n, raw = len(sample.raw), sample.raw
        self.totals[place] += n
        self.total += n
        self.malformed += sample.malformed
        for byte in range(self.plan.report_bytes):
            self.octets[place, byte] += np.bincount(raw[:, byte], minlength=256)
        self.lengths[place] += np.bincount(np.minimum(sample.lengths, _LONGEST), minlength=_LONGEST + 1)
        pairs = raw[: n // 2 * 2].reshape(n // 2, 2, -1)
        self.repeats[place] += np.bincount((pairs[:, 0] == pairs[:, 1]).all(axis=1), minlength=2)

    def _add_pairs(self, place: int, sample: Sample, shown: Bits) -> None:
        bits = raw_bits(sample.raw) if self._scorers else None
        for number, pair in enumerate(self.chosen.pairs):
            if place not in pair:
                continue
            side = pair.index(place)
            references = (self.chosen.transactions[each].reference for each in pair)
            overlaps = [shown[self.viewer.places(each)].sum(axis=0) for each in references]
            cells = self.overlaps[number].shape[1]
            joint = overlaps[0].astype(np.int64) * cells + overlaps[1].astype(np.int64)
            self.overlaps[number][side] += np.bincount(joint, minlength=cells * cells).reshape(cells, cells)
            if bits is not None:
                scores = self._scorers[number].cells(bits)
                self.scores[number][side] += np.bincount(scores, minlength=SCORE_CELLS)

    def _add_kept(self, place: int, sample: Sample, shown: Bits) -> None:
        """Count kept subsets, pairs, and free sums by how many items are kept."""
        together = shown.astype(np.float32)
        self.watched_pairs[place] += (together @ together.T).astype(np.int64)  # exact below 2^24 reports
        inside = shown[self.viewer.places(self.chosen.transactions[place].reference)]
        m = len(inside)
        self.kept[place] += np.bincount((1 << np.arange(m)) @ inside, minlength=1 << m)
        if self._free[place]:
            odd = bits_of(_sum_lines(sample.packed, self._free[place]), len(sample.packed)).astype(np.float32)
            levels = inside.sum(axis=0) == np.arange(m + 1)[:, None]
            self.sums[place] += (levels.astype(np.float32) @ odd.T).astype(np.int64)

    def tables(self, pair: int) -> Iterator[tuple[str, Table]]:
        """Yield the tables of a pair's features, each with its name."""
        one, other = self.chosen.pairs[pair]
        first, second = self.overlaps[pair]
        yield "overlaps", (first.reshape(1, -1), second.reshape(1, -1))
        yield "items", (self._shown_or_not(one), self._shown_or_not(other))
        yield "bits", (_bit_counts(self.octets[one]), _bit_counts(self.octets[other]))
        yield "bytes", (self.octets[one], self.octets[other])
        yield "length", (self.lengths[one : one + 1], self.lengths[other : other + 1])
        yield "repeats", (self.repeats[one : one + 1], self.repeats[other : other + 1])
        if self.scores:
            yield "score", (self.scores[pair][:1], self.scores[pair][1:])

    def _shown_or_not(self, place: int) -> Counts:
        return np.stack([self.totals[place] - self.items[place], self.items[place]], axis=1)


def _bit_counts(octets: Counts) -> Counts:
    """Return how many reports have each bit clear, and set, int64 (bits, 2), given the counts of its bytes' values."""
    ones = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)
    set_ = (octets @ ones).ravel()
    return np.stack([octets.sum(axis=1).repeat(8) - set_, set_], axis=1)


# ---- one transaction, report after report


class Stream:
    """What reports of the first of the neighbours, one after the other, were seen to be.

    Attributes:
        total, malformed: how many there are, and how many of them are no reports of the plan.
        compared: how many were compared with each other, the first ones.
        equal_pairs: pairs of equal reports among those.
        coins: bits of consecutive reports that are fair coins, uint8 (≤ COIN_LENGTH, streams).
        n_sums, sums: n, and for each two free sums how many of n successive reports differ in them, (sums, sums).
        n_items, items: n, and how many of n disjoint pairs of successive reports show one watched item in the
            first and one in the second, int64 (watched, watched).
        is_inside: which of the watched items are the transaction's, bool (watched,).
    """

    def __init__(self, chosen: Neighbours, plan: "Plan") -> None:
        self._plan, self._transaction = plan, chosen.transactions[0]
        self._viewer = Viewer(plan, chosen)
        self._free = free_sums(self._transaction)
        free = coin_bits(self._transaction)
        last = len(free) - 1
        self._coin_places = free[np.unique(np.linspace(0, last, _COIN_STREAMS).astype(int))] if len(free) else free
        self.is_inside = np.isin(self._viewer.watched, self._transaction.reference)
        n_sums, n_items = len(self._free), len(self._viewer.watched)
        self.sums, self.items = np.zeros((n_sums, n_sums), np.int64), np.zeros((n_items, n_items), np.int64)
        self.n_sums = self.n_items = self.total = self.malformed = self.compared = self.equal_pairs = 0
        self.coins = np.zeros((0, len(self._coin_places)), dtype=np.uint8)
        self._reports: list[NDArray[np.uint8]] = []

    def collect(self, box: BlackBox, total: int, progress: BoxProgress | None = None) -> None:
        """Ask a client for reports, and count them."""
        for answers in answered(box, equal_batches(self._transaction, self._plan, total), progress, total):
            self._add(sample_of(answers, slice(None), self._plan))
        compared = np.concatenate(self._reports)
        _, counts = np.unique(compared.view(f"V{compared.shape[1]}"), return_counts=True)
        self.equal_pairs = int((counts * (counts - 1) // 2).sum())

    def _add(self, sample: Sample) -> None:
        packed = sample.packed
        room = max(1, _REPEATS_BYTES // packed.shape[1])
        self._reports.append(packed[: room - min(room, self.compared)])
        self.compared += len(self._reports[-1])
        if self.total < COIN_LENGTH:
            coins = raw_bits(packed)[:, self._coin_places]
            self.coins = np.concatenate([self.coins, coins])[:COIN_LENGTH]
        if self.total < _SERIAL and len(packed) > 1:
            self._add_successive(packed)
        self.total += len(packed)
        self.malformed += sample.malformed

    def _add_successive(self, packed: NDArray[np.uint8]) -> None:
        before, after = _sum_lines(packed[:-1], self._free), _sum_lines(packed[1:], self._free)
        ones = [np.bitwise_count(lines).sum(axis=1, dtype=np.int64) for lines in (before, after)]
        # they differ where one of them is odd but not both
        self.sums += ones[0][:, None] + ones[1] - 2 * _joint_counts(before, after)
        self.n_sums += len(packed) - 1
        pairs = packed[: len(packed) // 2 * 2]
        first, second = (self._viewer.look(part) for part in (pairs[::2], pairs[1::2]))
        self.items += _joint_counts(first, second)
        self.n_items += len(pairs) // 2


# ---- separate starts


@dataclass(frozen=True, slots=True)
class Starts:
    """What reports of a client that is started anew were seen to be, asked for the same each time."""

    long: int  # reports of each of two long starts, which find what repeats rarely
    equal: int  # of them, equal to the other start's at the same place
    short: int  # short starts, which find a seed that somebody could guess
    length: int  # reports of each of these
    equal_pairs: int  # pairs of short starts with the same reports
    malformed: int  # of all of them, not reports of the plan

    @property
    def total(self) -> int:
        """How many reports there were."""
        return 2 * self.long + self.short * self.length


def compare_starts(
    transaction: Transaction, plan: "Plan", box: BlackBox, long_length: int, short_length: int
) -> Starts:
    """Start a client over and over and compare what it reports of one transaction each time.

    Two starts give ``long_length`` reports; up to 1,024 short ones, for some seconds but at least two, fewer.
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


def _start(transaction: Transaction, plan: "Plan", box: BlackBox, total: int) -> Sample:
    [answers] = answered(box, iter([batch_of([transaction.items] * total, plan)]))
    return sample_of(answers, slice(None), plan)
