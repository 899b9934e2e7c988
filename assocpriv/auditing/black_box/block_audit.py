"""What a client of a plan with blocks is asked, and the laws that its reports are tested by.

The block's number is a feature of a report like all others: it may tell nothing of the basket. Baskets are asked about
that hold M items of many blocks, of one partition, or none; every item, dealt into baskets; and baskets of many sizes.
What follows in one stream of reports, or from separate starts, is looked at where the basket is empty: the reports are
then all of one transaction, whatever block is drawn.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, comb, log2

import numpy as np

from assocpriv.auditing.black_box.block_tallies import MOST_HELD, BlockTallies, Counts, numbers_of, transactions_of
from assocpriv.auditing.black_box.clients import LARGEST_BATCH, Answers, BlackBox, batch_of
from assocpriv.auditing.black_box.dealt_baskets import reports_needed
from assocpriv.auditing.black_box.families import Law, law_of, laws_of_coins, laws_of_stream, start_length
from assocpriv.auditing.black_box.laws import Events, complexity_p_value, joint_p_value, linear_complexity
from assocpriv.auditing.black_box.neighbours import Neighbours, form_of, transaction_of
from assocpriv.auditing.black_box.shown import is_whole
from assocpriv.auditing.black_box.tallies import COIN_LENGTH, Starts, Stream, Tallies, compare_starts
from assocpriv.auditing.request import Progress
from assocpriv.plans.baskets import Plan
from assocpriv.plans.view import NUMBER_BYTES
from assocpriv.records.baskets import Baskets

_CLASSES = 16  # of blocks, to compare successive ones
_SIZES = 48  # of baskets
_LONGEST_START = 1024
_SAME_BY_CHANCE = 60  # bits


class OfEmpty:
    """A client as one of the plan of a block, asked about empty baskets alone, which hold nothing of any block.

    Attributes:
        calls: the blocks that the reports of each call named, in order.
        malformed, total: how many of them are no reports of the plan; no reports of their own.
    """

    def __init__(self, box: BlackBox, plan: Plan) -> None:
        self._box, self._plan, self.starts_anew = box, plan, box.starts_anew
        self.calls: list[list[Counts]] = []
        self.malformed = self.total = 0

    def reports(self, batches: Iterable[Baskets]) -> Iterator[Answers]:
        """Yield what each batch's reports say of their blocks."""
        self.calls.append([])
        drawn = self.calls[-1]
        for answers in self._box.reports(batch_of([()] * len(batch), self._plan) for batch in batches):
            whole = is_whole(answers, self._plan)
            self.malformed += int(len(whole) - whole.sum())
            drawn.append(numbers_of(answers.octets[whole]))
            yield Answers(answers.octets[:, NUMBER_BYTES:], np.maximum(answers.lengths - NUMBER_BYTES, 0))

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


def neighbours_in_blocks(plan: Plan) -> Neighbours:
    """Choose baskets, and pairs of them: M items of each of many blocks of one partition, others, one more, none."""
    blocks, m, n = plan.view.blocks, plan.transaction_size, plan.n_items
    assert blocks is not None
    pieces = range(min(blocks.pieces, max(1, MOST_HELD // (2 * m + 3))))
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


def _dealt(plan: Plan, total: int, chance: np.random.Generator) -> tuple[Neighbours, int]:
    """Deal all items, or as many as there are reports for, into baskets of M / 2 items a block; and reports of each."""
    blocks, n = plan.view.blocks, plan.n_items
    assert blocks is not None
    size = min(n, MOST_HELD, max(1, plan.transaction_size * blocks.pieces // 2))
    needed = blocks.pieces * reports_needed(plan.block_plan)
    baskets = max(1, min(-(-n // size), total // needed))
    order = chance.permutation(n)
    rows = [np.resize(order[start : start + size], size).tolist() for start in range(0, baskets * size, size)]
    dealt = transactions_of([sorted(set(row)) for row in rows], plan)
    return Neighbours(dealt, ()), max(1, min(total // baskets, LARGEST_BATCH))


def _sizes(plan: Plan, chance: np.random.Generator) -> Neighbours:
    """Choose baskets of many sizes, up to 2M items a block."""
    blocks = plan.view.blocks
    assert blocks is not None
    longest = min(plan.n_items, MOST_HELD, 2 * plan.transaction_size * blocks.pieces)
    sizes = np.unique(np.linspace(0, longest, _SIZES).astype(int)).tolist()
    made = [chance.choice(plan.n_items, size, replace=False).tolist() for size in sizes]
    return Neighbours(transactions_of(made, plan), ())


def ask_of_blocks(
    plan: Plan, box: BlackBox, trials: int, chance: np.random.Generator, progress: Progress
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
        short = max(start_length(form_of(inside)), ceil(_SAME_BY_CHANCE / log2(_count(plan))))
        starts = compare_starts(nothing.transactions[0], inside, empty, min(_LONGEST_START, part // 8), short)
    tested = BlockTallies(chosen, plan)
    tested.collect(box, trials - 4 * part - 2 * (part // 8) * bool(starts), partial(progress, "testing"))
    return AskedOfBlocks([training], tested, items, others, empty, stream, coins, starts)


def _count(plan: Plan) -> int:
    assert plan.view.blocks is not None
    return plan.view.blocks.count


# ---- the laws


def laws_of_blocks(asked: AskedOfBlocks) -> Iterator[Law]:
    """Yield the laws' families of tests."""
    tested, dealt = asked.tested, asked.items
    what = "each block is drawn alike, whatever the basket, and holds as many of its items as it should"
    yield law_of("block drawn", what, [*_block_events([tested, dealt, asked.others])])
    yield law_of("number kept", "how many items are kept", list(tested.number_kept()))
    yield law_of("items kept", "which items are kept", list(tested.items_kept()))
    yield law_of("items shown", "how often items are shown that are not held", list(tested.others_shown()))
    count, each = sum(len(items) for items in dealt.items), int(dealt.totals[0])
    figures: dict[str, object] = {"of_items": tested.plan.n_items, "items": count, "reports_each": each}
    which = f"{count:,} of {tested.plan.n_items:,} items, {each:,} reports of each basket"
    own = [*dealt.number_kept(), *dealt.items_kept(), *dealt.others_shown()]
    yield law_of("every item", f"how often each item is shown when its block is drawn ({which})", own, figures)
    others = [*asked.others.number_kept(), *asked.others.items_kept(), *asked.others.others_shown()]
    yield law_of("all sizes", "what is kept and shown of baskets of many sizes", others)
    yield from laws_of_coins(asked.coins, [0])
    yield from laws_of_stream(asked.stream, asked.starts, asked.tested.form)
    yield _successive_blocks(asked.empty.blocks(0), _count(tested.plan))
    yield _block_coins(asked.empty.blocks(0), _count(tested.plan))
    if asked.starts is not None:
        yield _block_starts(asked.empty, asked.starts, _count(tested.plan))


def _block_events(parts: Sequence[BlockTallies]) -> Iterator[Events]:
    for each in parts:
        yield from each.block_events()


def _successive_blocks(drawn: Counts, count: int) -> Law:
    """Blocks know nothing of each other: of disjoint pairs of successive ones, in classes, and how many are equal."""
    pairs, classes = drawn[: len(drawn) // 2 * 2].reshape(-1, 2), min(_CLASSES, count)
    shares = np.bincount(np.arange(count) * classes // count, minlength=classes) / count
    of_pairs = pairs * classes // count
    cells = np.bincount(of_pairs[:, 0] * classes + of_pairs[:, 1], minlength=classes**2)
    equal = int((pairs[:, 0] == pairs[:, 1]).sum())
    events = [Events.of(cells, len(pairs), np.outer(shares, shares)), Events.of(equal, len(pairs), 1 / count)]
    return law_of("successive blocks", "a block tells nothing of the next one", events)


def _block_coins(drawn: Counts, count: int) -> Law:
    """The lowest bits of a number below a multiple of a power of two are fair coins."""
    n, fair = min(len(drawn), COIN_LENGTH), (count & -count).bit_length() - 1
    lengths = [linear_complexity((drawn[:n] >> bit & 1).tolist()) for bit in range(fair)]
    p_values = np.array([complexity_p_value(length, n) for length in lengths])
    figures: dict[str, object] = {"bits": n, "least_complexity": min(lengths, default=None)}
    what = "bits of blocks' numbers are not made by a shift register, nor with a short period"
    return Law("linear complexity, blocks", what, joint_p_value(p_values), fair, figures)


def _block_starts(empty: OfEmpty, starts: Starts, count: int) -> Law:
    """Separate starts draw other blocks: place by place of two long ones, and no short one repeats another."""
    calls = [empty.blocks(call) for call in range(2, len(empty.calls))]
    length = min(map(len, calls[:2]))
    equal = int((calls[0][:length] == calls[1][:length]).sum())
    short = [tuple(call.tolist()) for call in calls[2:]]
    repeated = len(short) - len(set(short))
    chance = comb(len(short), 2) / count ** min(map(len, short))
    p_values = Events.of(equal, length, 1 / count).p_values()
    p_value = min(1.0, chance, joint_p_value(p_values)) if repeated else joint_p_value(p_values)
    figures: dict[str, object] = {"reports": length, "equal": equal, "starts": starts.short, "repeated": repeated}
    return Law(
        "separate starts, blocks", "two starts of the client draw other blocks", min(1.0, 2 * p_value), 2, figures
    )
