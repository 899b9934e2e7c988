"""Reports that are about blocks: what a client of such a plan is asked, beside the laws of what they show.

Which block is drawn, what it holds of a basket, and what is shown of that is counted. Given its block a report is one
of the plan of a block, about the basket's items in it, padded with dummies or cut to M. So reports of one basket have
different transactions, and everything is counted by what a report's block holds: an item of the basket where it lies in
the block, a place of the block where the basket holds nothing there.

The block's number is a feature of a report like all others: it may tell nothing of the basket. Baskets are asked about
that hold M items of many blocks, of one partition, or none; every item, dealt into baskets; and baskets of many sizes.
What follows in one stream of reports, or from separate starts, is looked at where the basket is empty: the reports are
then all of one transaction, whatever block is drawn.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, comb, log2
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing import goodness_of_fit
from assocpriv.auditing.clients import (
    LARGEST_BATCH,
    BlackBox,
    BoxProgress,
    ClientReports,
    answered,
    batch_length,
    batch_of,
)
from assocpriv.auditing.counts import (
    COIN_LENGTH,
    Counts,
    Neighbours,
    RawTallies,
    Starts,
    Stream,
    Table,
    Tallies,
    Transaction,
    compare_starts,
    form_of,
    is_whole,
    lines_of,
    mixed_batches,
    sample_of,
    transaction_of,
)
from assocpriv.plans.view import NUMBER_BYTES
from assocpriv.server.bitmaps import ItemTables, planes_of

if TYPE_CHECKING:
    from assocpriv.auditing.findings import Progress
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.baskets import Baskets

_MOST_HELD = 192  # items of a basket
_EXPANDED_BITS = 1 << 27  # of bitmaps at a time
_CLASSES = 16  # of blocks, to compare successive ones
_SIZES = 48  # of baskets
_LONGEST_START = 1024  # reports of each long start
_SAME_BY_CHANCE = 60  # bits: how rarely two short starts give the same


# ---- counts


class Own(NamedTuple):
    """What n reports of one basket have of it: rows are reports."""

    inside: NDArray[np.bool_]  # which of the basket's items lie in the report's block, (n, items)
    held: Counts  # how many of them, (n,)
    places: Counts  # in the block, of the items and then of the M dummies, (n, items + M)
    counted: NDArray[np.bool_]  # which of those are the report's transaction, before it is cut, (n, items + M)


def _own_of(items: Counts, drawn: Counts, plan: "Plan") -> Own:
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


class BlockTallies(RawTallies):
    """What reports of each of K baskets were seen to be and to show.

    Attributes:
        blocks: how many name each block, int64 (K, blocks); None where there is no room for it.
        held: how many name a block that holds so many of the basket's items, int64 (K, most held + 1).
        inside, shown: for each basket, of each item how often it lay in the block where that held so many of them, and
            how often it was shown then, int64 (items, most held + 1).
        kept: how many show so many of their own items, where none is cut off, int64 (K, M + 1).
        kept_with: for each basket, of each item how often it was shown and so many in all, int64 (items, M + 1).
        others: of each place, how often it was shown where the basket holds nothing there, and out of how many reports,
            int64 (K, 2, places), or (1, 2, places) of all baskets together.
        overlaps: as of :class:`Tallies`; ``both_held`` for each pair how many name a block that
            holds so many items of the first and so many of the second, int64 (2, cells, cells).
    """

    def __init__(self, chosen: Neighbours, plan: "Plan", *, each_block: bool = True) -> None:
        blocks, n, m = plan.view.blocks, len(chosen.transactions), plan.transaction_size
        assert blocks is not None
        super().__init__(chosen, plan, each_byte=bool(chosen.pairs))
        self.form = form_of(plan.block_plan)
        self.items = [np.array(each.items, dtype=np.int64) for each in chosen.transactions]
        most = max(len(items) for items in self.items)
        self.blocks = np.zeros((n, blocks.count), dtype=np.int64) if each_block else None
        self.held = np.zeros((n, most + 1), dtype=np.int64)
        self.inside = [np.zeros((len(items), most + 1), dtype=np.int64) for items in self.items]
        self.shown = [np.zeros((len(items), most + 1), dtype=np.int64) for items in self.items]
        self.kept = np.zeros((n, m + 1), dtype=np.int64)
        self.kept_with = [np.zeros((len(items), m + 1), dtype=np.int64) for items in self.items]
        self.others = np.zeros((n if each_block else 1, 2, plan.block_plan.padded_items), dtype=np.int64)
        self._cells = 2 * m + 2
        self.overlaps = [np.zeros((2, self._cells, self._cells), dtype=np.int64) for _ in chosen.pairs]
        self.both_held = [np.zeros((2, self._cells, self._cells), dtype=np.int64) for _ in chosen.pairs]
        self._tables = ItemTables(plan.block_plan, np.arange(plan.block_plan.padded_items, dtype=np.int64))

    def collect(self, box: BlackBox, total: int, progress: BoxProgress | None = None) -> None:
        """Ask a client for at least ``total`` reports of all baskets in turn, and count them."""
        turns, batches = mixed_batches(self.chosen.transactions, self.plan, total)
        for answers in answered(box, batches, progress, total):
            for place in range(len(self.items)):
                self._add(place, answers, np.flatnonzero(turns == place))

    def collect_in_turn(self, box: BlackBox, each: int, progress: BoxProgress | None = None) -> None:
        """Ask a client for so many reports of each basket, all of one basket after each other."""
        asked, at_once = self.chosen.transactions, max(1, batch_length(self.plan) // each)
        parts = [range(start, min(start + at_once, len(asked))) for start in range(0, len(asked), at_once)]
        batches = (batch_of([asked[place].items for place in part for _ in range(each)], self.plan) for part in parts)
        for part, answers in zip(parts, answered(box, batches, progress, each * len(asked)), strict=True):
            for order, place in enumerate(part):
                self._add(place, answers, np.arange(order * each, (order + 1) * each))

    def _add(self, place: int, answers: ClientReports, rows: Counts) -> None:
        sample = sample_of(answers, rows, self.plan)
        self.add_raw(place, sample)
        good, step = sample.raw[sample.whole], max(64, _EXPANDED_BITS // self.plan.block_plan.padded_items)
        for start in range(0, len(good), step):
            self._count(place, np.ascontiguousarray(good[start : start + step]))

    def _count(self, place: int, packed: NDArray[np.uint8]) -> None:
        drawn = numbers_of(packed)
        inner = np.ascontiguousarray(packed[:, NUMBER_BYTES:])
        lines = lines_of(self._tables.rows(planes_of(inner, self.plan.block_plan), len(inner)))
        own = _own_of(self.items[place], drawn, self.plan)
        shown = _shown(lines, own)
        if self.blocks is not None:
            self.blocks[place] += np.bincount(drawn, minlength=self.blocks.shape[1])
        self.held[place] += np.bincount(own.held, minlength=self.held.shape[1])
        self._add_own(place, own, shown)
        self._add_others(place if self.blocks is not None else 0, lines, own, shown, len(packed))
        for number, pair in enumerate(self.chosen.pairs):
            if place in pair:
                both = [_own_of(self.items[each], drawn, self.plan) for each in pair]
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
        """Yield the tables of a pair's features, each with its name; see bounds.py."""
        assert self.blocks is not None
        one, other = self.chosen.pairs[pair]
        yield "block", (self.blocks[one : one + 1], self.blocks[other : other + 1])
        for name, cells in (("items in the block", self.both_held[pair]), ("overlaps", self.overlaps[pair])):
            yield name, (cells[0].reshape(1, -1), cells[1].reshape(1, -1))
        yield from self.raw_tables(pair)

    # ---- counts beside their laws

    def block_events(self) -> Iterator[goodness_of_fit.Events]:
        """Yield how often each block was drawn, by basket and of all, and blocks that hold so many of its items."""
        blocks = self.plan.view.blocks
        assert blocks is not None
        if self.blocks is not None:
            yield goodness_of_fit.Events.of(self.blocks, self.totals.repeat(blocks.count), 1 / blocks.count)
            yield goodness_of_fit.Events.of(self.blocks.sum(axis=0), int(self.totals.sum()), 1 / blocks.count)
        pieces = blocks.table(self.plan.n_items).pieces
        for place, items in enumerate(self.items):
            if not len(items):
                continue
            in_blocks = np.zeros((blocks.partitions, blocks.pieces), dtype=np.int64)
            np.add.at(in_blocks, (np.arange(blocks.partitions)[:, None], pieces[:, items]), 1)
            chances = np.bincount(in_blocks.ravel(), minlength=self.held.shape[1]) / blocks.count
            yield goodness_of_fit.Events.of(self.held[place], int(self.totals[place]), chances)
            yield goodness_of_fit.Events.of(self.inside[place].sum(axis=1), int(self.totals[place]), 1 / blocks.pieces)

    def number_kept(self) -> Iterator[goodness_of_fit.Events]:
        """Yield how many reports of each basket, and of all, keep so many items, of those of which none is cut off."""
        p = [float(chance) for chance in self.form.size_distribution]
        for kept in (*self.kept, self.kept.sum(axis=0)):
            yield goodness_of_fit.Events.of(kept, int(kept.sum()), p)

    def items_kept(self) -> Iterator[goodness_of_fit.Events]:
        """Yield how often each item of a basket was shown where it lay in the block, and so many with it."""
        m, form = self.plan.transaction_size, self.form
        own, other = (float(form.shown_probability(a, 1 - a)) for a in (1, 0))
        p = np.array([float(chance) for chance in form.size_distribution])
        for inside, shown, kept_with in zip(self.inside, self.shown, self.kept_with, strict=True):
            whole = inside[:, : m + 1].sum(axis=1)
            yield goodness_of_fit.Events.of(shown[:, : m + 1].sum(axis=1), whole, own)
            chances = np.tile(p * np.arange(m + 1) / m, len(inside))
            yield goodness_of_fit.Events.of(kept_with, whole.repeat(m + 1), chances)
            for held in range(m + 1, inside.shape[1]):
                if inside[:, held].any():  # of the items held M are not cut off, by chance
                    chance = m / held * own + (1 - m / held) * other
                    yield goodness_of_fit.Events.of(shown[:, held], inside[:, held], chance)

    def others_shown(self) -> Iterator[goodness_of_fit.Events]:
        """Yield how often each place was shown where the basket holds nothing there."""
        chance = float(self.form.shown_probability(0, 1))
        yield goodness_of_fit.Events.of(self.others[:, 0], self.others[:, 1].ravel(), chance)
        together = self.others.sum(axis=0)
        yield goodness_of_fit.Events.of(together[0], together[1], chance)


def numbers_of(packed: NDArray[np.uint8]) -> Counts:
    """Return the blocks that reports name, int64 (n,)."""
    return packed[:, 0].astype(np.int64) + 256 * packed[:, 1].astype(np.int64)


def _shown(lines: NDArray[np.uint64], own: Own) -> NDArray[np.bool_]:
    """Tell which of their own items and dummies reports show, bool (n, items + M); False where they have none."""
    row = np.arange(len(own.held))[:, None]
    bits = lines[own.places, row // 64] >> (row % 64).astype(np.uint64) & np.uint64(1)
    shown: NDArray[np.bool_] = (bits == 1) & own.counted
    return shown


def transactions_of(baskets: Sequence[Sequence[int]], plan: "Plan") -> tuple[Transaction, ...]:
    """Return baskets to ask about; what a report has of one depends on its block."""
    return tuple(Transaction(tuple(sorted(items)), plan.block_plan, ()) for items in baskets)


# ---- what is asked


class OfEmpty:
    """A client as one of the plan of a block, asked about empty baskets alone, which hold nothing of any block.

    Attributes:
        calls: the blocks that the reports of each call named, in order.
        malformed, total: how many of them are no reports of the plan; no reports of their own.
    """

    def __init__(self, box: BlackBox, plan: "Plan") -> None:
        self._box, self._plan, self.starts_anew = box, plan, box.starts_anew
        self.calls: list[list[Counts]] = []
        self.malformed = self.total = 0

    def reports(self, batches: "Iterable[Baskets]") -> Iterator[ClientReports]:
        """Yield what each batch's reports say of their blocks."""
        self.calls.append([])
        drawn = self.calls[-1]
        for answers in self._box.reports(batch_of([()] * len(batch), self._plan) for batch in batches):
            whole = is_whole(answers, self._plan)
            self.malformed += int(len(whole) - whole.sum())
            drawn.append(numbers_of(answers.octets[whole]))
            yield ClientReports(answers.octets[:, NUMBER_BYTES:], np.maximum(answers.lengths - NUMBER_BYTES, 0))

    def blocks(self, call: int) -> Counts:
        """Return the blocks of a call's reports."""
        return np.concatenate(self.calls[call])


@dataclass(frozen=True, slots=True)
class AskedOfBlocks:
    """All that was asked."""

    training: list[BlockTallies]
    tested: BlockTallies
    items: BlockTallies  # of baskets that items were dealt into
    others: BlockTallies  # of baskets of many sizes
    empty: OfEmpty
    stream: Stream
    coins: Tallies
    starts: Starts | None

    @property
    def parts(self) -> "list[BlockTallies | OfEmpty | Stream | Tallies | Starts]":
        """All that was counted."""
        starts = [self.starts] if self.starts else []
        return [*self.training, self.tested, self.items, self.others, self.empty, self.stream, self.coins, *starts]


def neighbours_in_blocks(plan: "Plan") -> Neighbours:
    """Choose baskets, and pairs of them: M items of each of many blocks of one partition, others, one more, none."""
    blocks, m, n = plan.view.blocks, plan.transaction_size, plan.n_items
    assert blocks is not None
    pieces = range(min(blocks.pieces, max(1, _MOST_HELD // (2 * m + 3))))
    members = [blocks.members(piece, n).tolist() for piece in pieces]
    full, last, long = (
        [i for each in members for i in each[part]] for part in (slice(m), slice(-m, None), slice(2 * m + 3))
    )
    changed = [item for each in members for item in (*each[: m - 1], each[-1])]
    pairs = [(full, last), (full, changed), (long, full), (long, last), (full, []), (last, []), ([0], [n - 1])]
    chosen = [(sorted(set(one)), sorted(set(other))) for one, other in pairs]
    listed = list(dict.fromkeys(tuple(items) for pair in chosen for items in pair))
    places = [(listed.index(tuple(one)), listed.index(tuple(other))) for one, other in chosen if one != other]
    return Neighbours(transactions_of(listed, plan), tuple(dict.fromkeys(places)))


def _dealt(plan: "Plan", total: int, chance: np.random.Generator) -> tuple[Neighbours, int]:
    """Deal all items, or as many as there are reports for, into baskets of M / 2 items a block; and reports of each."""
    blocks, n = plan.view.blocks, plan.n_items
    assert blocks is not None
    size = min(n, _MOST_HELD, max(1, plan.transaction_size * blocks.pieces // 2))
    needed = blocks.pieces * goodness_of_fit.reports_needed(plan.block_plan)
    baskets = max(1, min(-(-n // size), total // needed))
    order = chance.permutation(n)
    rows = [np.resize(order[start : start + size], size).tolist() for start in range(0, baskets * size, size)]
    dealt = transactions_of([sorted(set(row)) for row in rows], plan)
    return Neighbours(dealt, ()), max(1, min(total // baskets, LARGEST_BATCH))


def _sizes(plan: "Plan", chance: np.random.Generator) -> Neighbours:
    """Choose baskets of many sizes, up to 2M items a block."""
    blocks = plan.view.blocks
    assert blocks is not None
    longest = min(plan.n_items, _MOST_HELD, 2 * plan.transaction_size * blocks.pieces)
    sizes = np.unique(np.linspace(0, longest, _SIZES).astype(int)).tolist()
    made = [chance.choice(plan.n_items, size, replace=False).tolist() for size in sizes]
    return Neighbours(transactions_of(made, plan), ())


def ask_of_blocks(
    plan: "Plan", box: BlackBox, trials: int, chance: np.random.Generator, progress: "Progress"
) -> AskedOfBlocks:
    """Ask a client for about so many reports."""
    part, chosen = trials // 8, neighbours_in_blocks(plan)
    training = BlockTallies(chosen, plan)
    training.collect(box, 2 * part, partial(progress, "learning"))
    empty, inside = OfEmpty(box, plan), plan.block_plan
    nothing = Neighbours((transaction_of((), inside),), ())
    stream = Stream(nothing, inside)
    stream.collect(empty, part, partial(progress, "following"))
    coins = Tallies(nothing, inside, for_laws=True)
    coins.collect(empty, part // 2, partial(progress, "empty baskets"))
    dealt, each = _dealt(plan, part, chance)
    items = BlockTallies(dealt, plan, each_block=False)
    items.collect_in_turn(box, each, partial(progress, "every item"))
    sizes = _sizes(plan, chance)
    others = BlockTallies(sizes, plan, each_block=False)
    others.collect_in_turn(box, max(2, part // 2 // len(sizes.transactions)), partial(progress, "all sizes"))
    starts = None
    if box.starts_anew:
        short = max(goodness_of_fit.start_length(form_of(inside)), ceil(_SAME_BY_CHANCE / log2(_count(plan))))
        starts = compare_starts(nothing.transactions[0], inside, empty, min(_LONGEST_START, part // 8), short)
    tested = BlockTallies(chosen, plan)
    tested.collect(box, trials - 4 * part - 2 * (part // 8) * bool(starts), partial(progress, "testing"))
    return AskedOfBlocks([training], tested, items, others, empty, stream, coins, starts)


def _count(plan: "Plan") -> int:
    assert plan.view.blocks is not None
    return plan.view.blocks.count


# ---- the laws


def laws_of_blocks(asked: AskedOfBlocks) -> Iterator[goodness_of_fit.Law]:
    """Yield the laws' families of tests."""
    tested, dealt = asked.tested, asked.items
    what = "each block is drawn alike, whatever the basket, and holds as many of its items as it should"
    yield goodness_of_fit.law_of("block drawn", what, [*_block_events([tested, dealt, asked.others])])
    yield goodness_of_fit.law_of("number kept", "how many items are kept", list(tested.number_kept()))
    yield goodness_of_fit.law_of("items kept", "which items are kept", list(tested.items_kept()))
    yield goodness_of_fit.law_of(
        "items shown", "how often items are shown that are not held", list(tested.others_shown())
    )
    count, each = sum(len(items) for items in dealt.items), int(dealt.totals[0])
    figures: dict[str, object] = {"of_items": tested.plan.n_items, "items": count, "reports_each": each}
    which = f"{count:,} of {tested.plan.n_items:,} items, {each:,} reports of each basket"
    own = [*dealt.number_kept(), *dealt.items_kept(), *dealt.others_shown()]
    yield goodness_of_fit.law_of(
        "every item", f"how often each item is shown when its block is drawn ({which})", own, figures
    )
    others = [*asked.others.number_kept(), *asked.others.items_kept(), *asked.others.others_shown()]
    yield goodness_of_fit.law_of("all sizes", "what is kept and shown of baskets of many sizes", others)
    yield from goodness_of_fit.laws_of_coins(asked.coins, [0])
    yield from goodness_of_fit.laws_of_stream(asked.stream, asked.starts, asked.tested.form)
    yield _successive_blocks(asked.empty.blocks(0), _count(tested.plan))
    yield _block_coins(asked.empty.blocks(0), _count(tested.plan))
    if asked.starts is not None:
        yield _block_starts(asked.empty, asked.starts, _count(tested.plan))


def _block_events(parts: Sequence[BlockTallies]) -> Iterator[goodness_of_fit.Events]:
    for each in parts:
        yield from each.block_events()


def _successive_blocks(drawn: Counts, count: int) -> goodness_of_fit.Law:
    """Blocks know nothing of each other: of disjoint pairs of successive ones, in classes, and how many are equal."""
    pairs, classes = drawn[: len(drawn) // 2 * 2].reshape(-1, 2), min(_CLASSES, count)
    shares = np.bincount(np.arange(count) * classes // count, minlength=classes) / count
    of_pairs = pairs * classes // count
    cells = np.bincount(of_pairs[:, 0] * classes + of_pairs[:, 1], minlength=classes**2)
    equal = int((pairs[:, 0] == pairs[:, 1]).sum())
    events = [
        goodness_of_fit.Events.of(cells, len(pairs), np.outer(shares, shares)),
        goodness_of_fit.Events.of(equal, len(pairs), 1 / count),
    ]
    return goodness_of_fit.law_of("successive blocks", "a block tells nothing of the next one", events)


def _block_coins(drawn: Counts, count: int) -> goodness_of_fit.Law:
    """The lowest bits of a number below a multiple of a power of two are fair coins."""
    n, fair = min(len(drawn), COIN_LENGTH), (count & -count).bit_length() - 1
    lengths = [goodness_of_fit.linear_complexity((drawn[:n] >> bit & 1).tolist()) for bit in range(fair)]
    p_values = np.array([goodness_of_fit.complexity_p_value(length, n) for length in lengths])
    figures: dict[str, object] = {"bits": n, "least_complexity": min(lengths, default=None)}
    what = "bits of blocks' numbers are not made by a shift register, nor with a short period"
    return goodness_of_fit.Law(
        "linear complexity, blocks", what, goodness_of_fit.joint_p_value(p_values), fair, figures
    )


def _block_starts(empty: OfEmpty, starts: Starts, count: int) -> goodness_of_fit.Law:
    """Separate starts draw other blocks: place by place of two long ones, and no short one repeats another."""
    calls = [empty.blocks(call) for call in range(2, len(empty.calls))]
    length = min(map(len, calls[:2]))
    equal = int((calls[0][:length] == calls[1][:length]).sum())
    short = [tuple(call.tolist()) for call in calls[2:]]
    repeated = len(short) - len(set(short))
    chance = comb(len(short), 2) / count ** min(map(len, short))
    p_values = goodness_of_fit.Events.of(equal, length, 1 / count).p_values()
    p_value = (
        min(1.0, chance, goodness_of_fit.joint_p_value(p_values))
        if repeated
        else goodness_of_fit.joint_p_value(p_values)
    )
    figures: dict[str, object] = {"reports": length, "equal": equal, "starts": starts.short, "repeated": repeated}
    return goodness_of_fit.Law(
        "separate starts, blocks", "two starts of the client draw other blocks", min(1.0, 2 * p_value), 2, figures
    )
