"""Counts of reports that are about blocks: which block is drawn, what it holds of a basket, and what is shown of that.

Given its block a report is one of the plan of a block, about the basket's items in it, padded with dummies or cut to M.
So reports of one basket have different transactions, and everything is counted by what a report's block holds: an item
of the basket where it lies in the block, a place of the block where the basket holds nothing there.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import Answers, BlackBox, Progress, answered, batch_length, batch_of
from assocpriv.auditing.black_box.laws import Events
from assocpriv.auditing.black_box.neighbours import Neighbours, Transaction, form_of, mixed_batches
from assocpriv.auditing.black_box.shown import is_whole, lines_of
from assocpriv.auditing.black_box.tallies import Table, bit_counts
from assocpriv.plans.baskets import Plan
from assocpriv.plans.view import NUMBER_BYTES
from assocpriv.server.bitmaps import ItemTables, planes_of

MOST_HELD = 192  # items of a basket
_EXPANDED_BITS = 1 << 27  # of bitmaps at a time
_LONGEST = 255

Counts = NDArray[np.int64]


class Own(NamedTuple):
    """What n reports of one basket have of it: rows are reports."""

    inside: NDArray[np.bool_]  # which of the basket's items lie in the report's block, (n, items)
    held: Counts  # how many of them, (n,)
    places: Counts  # in the block, of the items and then of the M dummies, (n, items + M)
    counted: NDArray[np.bool_]  # which of those are the report's transaction, before it is cut, (n, items + M)


def own_of(items: Counts, drawn: Counts, plan: Plan) -> Own:
    """Return what reports that are about drawn blocks have of a basket's items."""
    blocks, m = plan.view.blocks, plan.transaction_size
    assert blocks is not None
    table, dummies = blocks.table(plan.n_items), plan.asked_items + np.arange(m)
    partitions, pieces = np.divmod(drawn[:, None], blocks.pieces)
    inside = table.pieces[partitions, items[None]] == pieces
    held = inside.sum(axis=1, dtype=np.int64)
    padding = np.arange(m) < m - held[:, None]
    places = np.hstack([table.places[partitions, items[None]].astype(np.int64), np.tile(dummies, (len(drawn), 1))])
    return Own(inside, held, places, np.hstack([inside, padding]))


class BlockTallies:
    """What reports of each of K baskets were seen to be.

    Attributes:
        totals, total, malformed: reports of each, int64 (K,), of all, and how many of them are none of the plan.
        blocks: how many name each block, int64 (K, blocks); None where there is no room for it.
        held: how many name a block that holds so many of the basket's items, int64 (K, most held + 1).
        inside, shown: for each basket, of each item how often it lay in the block where that held so many of them, and
            how often it was shown then, int64 (items, most held + 1).
        kept: how many show so many of their own items, where none is cut off, int64 (K, M + 1).
        kept_with: for each basket, of each item how often it was shown and so many in all, int64 (items, M + 1).
        others: of each place, how often it was shown where the basket holds nothing there, and out of how many reports,
            int64 (K, 2, places), or (1, 2, places) of all baskets together.
        octets, lengths, repeats, overlaps: as in tallies.py; ``both_held`` for each pair how many name a block that
            holds so many items of the first and so many of the second, int64 (2, cells, cells).
    """

    def __init__(self, chosen: Neighbours, plan: Plan, *, each_block: bool = True) -> None:
        blocks, n, m = plan.view.blocks, len(chosen.transactions), plan.transaction_size
        assert blocks is not None
        self.chosen, self.plan, self.form = chosen, plan, form_of(plan.block_plan)
        self.items = [np.array(each.items, dtype=np.int64) for each in chosen.transactions]
        most = max(len(items) for items in self.items)
        self.totals, self.total, self.malformed = np.zeros(n, dtype=np.int64), 0, 0
        self.blocks = np.zeros((n, blocks.count), dtype=np.int64) if each_block else None
        self.held = np.zeros((n, most + 1), dtype=np.int64)
        self.inside = [np.zeros((len(items), most + 1), dtype=np.int64) for items in self.items]
        self.shown = [np.zeros((len(items), most + 1), dtype=np.int64) for items in self.items]
        self.kept = np.zeros((n, m + 1), dtype=np.int64)
        self.kept_with = [np.zeros((len(items), m + 1), dtype=np.int64) for items in self.items]
        self.others = np.zeros((n if each_block else 1, 2, plan.block_plan.padded_items), dtype=np.int64)
        self.octets = np.zeros((n, plan.report_bytes, 256), dtype=np.int64) if chosen.pairs else None
        self.lengths = np.zeros((n, _LONGEST + 1), dtype=np.int64)
        self.repeats = np.zeros((n, 2), dtype=np.int64)
        self._cells = 2 * m + 2
        self.overlaps = [np.zeros((2, self._cells, self._cells), dtype=np.int64) for _ in chosen.pairs]
        self.both_held = [np.zeros((2, self._cells, self._cells), dtype=np.int64) for _ in chosen.pairs]
        self._tables = ItemTables(plan.block_plan, np.arange(plan.block_plan.padded_items, dtype=np.int64))

    def collect(self, box: BlackBox, total: int, progress: Progress | None = None) -> None:
        """Ask a client for at least ``total`` reports of all baskets in turn, and count them."""
        turns, batches = mixed_batches(self.chosen.transactions, self.plan, total)
        for answers in answered(box, batches, progress, total):
            for place in range(len(self.items)):
                self._add(place, answers, np.flatnonzero(turns == place))

    def collect_in_turn(self, box: BlackBox, each: int, progress: Progress | None = None) -> None:
        """Ask a client for so many reports of each basket, all of one basket after each other."""
        asked, at_once = self.chosen.transactions, max(1, batch_length(self.plan) // each)
        parts = [range(start, min(start + at_once, len(asked))) for start in range(0, len(asked), at_once)]
        batches = (batch_of([asked[place].items for place in part for _ in range(each)], self.plan) for part in parts)
        for part, answers in zip(parts, answered(box, batches, progress, each * len(asked)), strict=True):
            for order, place in enumerate(part):
                self._add(place, answers, np.arange(order * each, (order + 1) * each))

    def _add(self, place: int, answers: Answers, rows: Counts) -> None:
        raw, lengths = np.ascontiguousarray(answers.octets[rows, : self.plan.report_bytes]), answers.lengths[rows]
        whole = is_whole(Answers(raw, lengths), self.plan)
        self.totals[place] += len(rows)
        self.total += len(rows)
        self.malformed += int(len(whole) - whole.sum())
        self.lengths[place] += np.bincount(np.minimum(lengths, _LONGEST), minlength=_LONGEST + 1)
        pairs = raw[: len(raw) // 2 * 2].reshape(len(raw) // 2, 2, -1)
        self.repeats[place] += np.bincount((pairs[:, 0] == pairs[:, 1]).all(axis=1), minlength=2)
        if self.octets is not None:
            for byte in range(self.plan.report_bytes):
                self.octets[place, byte] += np.bincount(raw[:, byte], minlength=256)
        good, step = raw[whole], max(64, _EXPANDED_BITS // self.plan.block_plan.padded_items)
        for start in range(0, len(good), step):
            self._count(place, np.ascontiguousarray(good[start : start + step]))

    def _count(self, place: int, packed: NDArray[np.uint8]) -> None:
        drawn = numbers_of(packed)
        inner = np.ascontiguousarray(packed[:, NUMBER_BYTES:])
        lines = lines_of(self._tables.rows(planes_of(inner, self.plan.block_plan), len(inner)))
        own = own_of(self.items[place], drawn, self.plan)
        shown = _shown(lines, own)
        if self.blocks is not None:
            self.blocks[place] += np.bincount(drawn, minlength=self.blocks.shape[1])
        self.held[place] += np.bincount(own.held, minlength=self.held.shape[1])
        self._add_own(place, own, shown)
        self._add_others(place if self.blocks is not None else 0, lines, own, shown, len(packed))
        for number, pair in enumerate(self.chosen.pairs):
            if place in pair:
                both = [own_of(self.items[each], drawn, self.plan) for each in pair]
                side = pair.index(place)
                self.both_held[number][side] += self._cell_counts([each.held for each in both])
                overlaps = [_shown(lines, each).sum(axis=1, dtype=np.int64) for each in both]
                self.overlaps[number][side] += self._cell_counts(overlaps)

    def _cell_counts(self, counts: Sequence[Counts]) -> Counts:
        first, second = (np.minimum(each, self._cells - 1) for each in counts)
        cells = np.bincount(first * self._cells + second, minlength=self._cells**2)
        return cells.reshape(self._cells, self._cells)

    def _add_own(self, place: int, own: Own, shown: NDArray[np.bool_]) -> None:
        m, n_items, width = self.plan.transaction_size, len(self.items[place]), self.held.shape[1]
        kept = shown.sum(axis=1, dtype=np.int64)
        is_cut = own.held > m
        self.kept[place] += np.bincount(kept[~is_cut], minlength=m + 1)
        for item in range(n_items):
            inside, seen = own.inside[:, item], shown[:, item]
            self.inside[place][item] += np.bincount(own.held[inside], minlength=width)
            self.shown[place][item] += np.bincount(own.held[seen], minlength=width)
            self.kept_with[place][item] += np.bincount(kept[seen & ~is_cut], minlength=m + 1)

    def _add_others(
        self, place: int, lines: NDArray[np.uint64], own: Own, shown: NDArray[np.bool_], n_reports: int
    ) -> None:
        width = self.others.shape[2]
        ones = np.bitwise_count(lines).sum(axis=1, dtype=np.int64)
        self.others[place, 0] += ones - np.bincount(own.places[shown], minlength=width)
        self.others[place, 1] += n_reports - np.bincount(own.places[own.counted], minlength=width)

    # ---- what the bounds of ε are found by

    def tables(self, pair: int) -> Iterator[tuple[str, Table]]:
        """Yield the tables of a pair's features, each with its name; see lower_bounds.py."""
        assert self.blocks is not None
        assert self.octets is not None
        one, other = self.chosen.pairs[pair]
        yield "block", (self.blocks[one : one + 1], self.blocks[other : other + 1])
        for name, cells in (("items in the block", self.both_held[pair]), ("overlaps", self.overlaps[pair])):
            yield name, (cells[0].reshape(1, -1), cells[1].reshape(1, -1))
        yield "bits", (bit_counts(self.octets[one]), bit_counts(self.octets[other]))
        yield "bytes", (self.octets[one], self.octets[other])
        yield "length", (self.lengths[one : one + 1], self.lengths[other : other + 1])
        yield "repeats", (self.repeats[one : one + 1], self.repeats[other : other + 1])

    # ---- counts beside their laws

    def block_events(self) -> Iterator[Events]:
        """Yield how often each block was drawn, by basket and of all, and blocks that hold so many of its items."""
        blocks = self.plan.view.blocks
        assert blocks is not None
        if self.blocks is not None:
            yield Events.of(self.blocks, self.totals.repeat(blocks.count), 1 / blocks.count)
            yield Events.of(self.blocks.sum(axis=0), int(self.totals.sum()), 1 / blocks.count)
        pieces = blocks.table(self.plan.n_items).pieces
        for place, items in enumerate(self.items):
            if not len(items):
                continue
            in_blocks = np.zeros((blocks.partitions, blocks.pieces), dtype=np.int64)
            np.add.at(in_blocks, (np.arange(blocks.partitions)[:, None], pieces[:, items]), 1)
            chances = np.bincount(in_blocks.ravel(), minlength=self.held.shape[1]) / blocks.count
            yield Events.of(self.held[place], int(self.totals[place]), chances)
            yield Events.of(self.inside[place].sum(axis=1), int(self.totals[place]), 1 / blocks.pieces)

    def number_kept(self) -> Iterator[Events]:
        """Yield how many reports of each basket, and of all, keep so many items, of those of which none is cut off."""
        p = [float(chance) for chance in self.form.size_distribution]
        for kept in (*self.kept, self.kept.sum(axis=0)):
            yield Events.of(kept, int(kept.sum()), p)

    def items_kept(self) -> Iterator[Events]:
        """Yield how often each item of a basket was shown where it lay in the block, and so many with it."""
        m, form = self.plan.transaction_size, self.form
        own, other = (float(form.shown_probability(a, 1 - a)) for a in (1, 0))
        p = np.array([float(chance) for chance in form.size_distribution])
        for inside, shown, kept_with in zip(self.inside, self.shown, self.kept_with, strict=True):
            whole = inside[:, : m + 1].sum(axis=1)
            yield Events.of(shown[:, : m + 1].sum(axis=1), whole, own)
            chances = np.tile(p * np.arange(m + 1) / m, len(inside))
            yield Events.of(kept_with, whole.repeat(m + 1), chances)
            for held in range(m + 1, inside.shape[1]):
                if inside[:, held].any():  # of the items held M are not cut off, by chance
                    chance = m / held * own + (1 - m / held) * other
                    yield Events.of(shown[:, held], inside[:, held], chance)

    def others_shown(self) -> Iterator[Events]:
        """Yield how often each place was shown where the basket holds nothing there."""
        chance = float(self.form.shown_probability(0, 1))
        yield Events.of(self.others[:, 0], self.others[:, 1].ravel(), chance)
        together = self.others.sum(axis=0)
        yield Events.of(together[0], together[1], chance)


def numbers_of(packed: NDArray[np.uint8]) -> Counts:
    """Return the blocks that reports name, int64 (n,)."""
    return packed[:, 0].astype(np.int64) + 256 * packed[:, 1].astype(np.int64)


def _shown(lines: NDArray[np.uint64], own: Own) -> NDArray[np.bool_]:
    """Tell which of their own items and dummies reports show, bool (n, items + M); False where they have none."""
    row = np.arange(len(own.held))[:, None]
    bits = lines[own.places, row // 64] >> (row % 64).astype(np.uint64) & np.uint64(1)
    shown: NDArray[np.bool_] = (bits == 1) & own.counted
    return shown


def transactions_of(baskets: Sequence[Sequence[int]], plan: Plan) -> tuple[Transaction, ...]:
    """Return baskets to ask about; what a report has of one depends on its block."""
    return tuple(Transaction(tuple(sorted(items)), plan.block_plan, ()) for items in baskets)
