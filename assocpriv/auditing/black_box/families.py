"""The laws of a plan that a client's reports are tested by, in families: each has one p-value for all of its tests."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.dealt_baskets import ItemTallies, OtherTallies
from assocpriv.auditing.black_box.laws import (
    Events,
    complexity_p_value,
    joint_p_value,
    linear_complexity,
    repeats_p_value,
)
from assocpriv.auditing.black_box.neighbours import form_of
from assocpriv.auditing.black_box.tallies import Starts, Stream, Tallies
from assocpriv.auditing.recompute.report_forms import Form

_SAME_BY_CHANCE = -60.0  # log2 of the chance that two short starts give the same
_LONGEST_SHORT_START = 256  # reports
_LEAST_SEED_BITS = 8  # a program that starts too slowly to show as many is not judged by its starts
_MOST_SUBSETS = 1 << 10  # of kept items that are counted each; beyond, by item and number kept


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


@dataclass(frozen=True, slots=True)
class Law:
    """A family of tests, with one p-value for all of them."""

    name: str
    what: str
    p_value: float
    tests: int
    figures: dict[str, object] = field(default_factory=dict)


def laws(asked: Asked) -> Iterator[Law]:
    """Yield the laws' families of tests, of each transaction and of all together."""
    yield from _laws_of_tallies(asked.tested)
    yield from every_item(asked.items)
    sizes_kept = "what is kept and shown of baskets of all sizes up to 64 items"
    yield law_of("all sizes", sizes_kept, list(asked.others.events()))
    yield from laws_of_stream(asked.stream, asked.starts, form_of(asked.tested.chosen.transactions[0].plan))


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
    yield from laws_of_coins(tested, whole)


def laws_of_coins(tested: Tallies, places: list[int]) -> Iterator[Law]:
    """Yield the laws of what reports show of some transactions, of which none is sampled, and of free sums."""
    pairs = [_pairs_shown(tested, place) for place in places]
    yield law_of("pairs shown", "how often pairs of items are shown together", pairs)
    coins = "sums of seed bits that the kept items leave free are fair coins"
    yield law_of("seed", coins, [_seed(tested, place) for place in places])


def laws_of_stream(stream: Stream, starts: Starts | None, form: Form) -> Iterator[Law]:
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
    form = form_of(tested.chosen.transactions[places[0]].plan)
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
    form = form_of(transaction.plan)
    chances = np.full(form.items, float(form.shown_probability(0, 1)))
    chances[list(transaction.reference)] = float(transaction.own_shown)
    return Events.of(tested.items[place, : form.items], int(tested.totals[place]), chances)


def _others_shown(tested: Tallies, places: list[int]) -> Events:
    """Count each item over all transactions that do not hold it; without a code all such items are independent."""
    form = form_of(tested.chosen.transactions[places[0]].plan)
    outside = np.ones((len(places), form.items), dtype=np.int64)
    for row, place in enumerate(places):
        outside[row, list(tested.chosen.transactions[place].reference)] = 0
    counts = (tested.items[places, : form.items] * outside).sum(axis=0)
    trials, chance = tested.totals[places] @ outside, float(form.shown_probability(0, 1))
    together = [Events.of(counts.sum(), int(trials.sum()), chance)] if form.has_coins else []
    return Events.joined([Events.of(counts, trials, chance), *together])


def _pairs_shown(tested: Tallies, place: int) -> Events:
    transaction, watched = tested.chosen.transactions[place], tested.viewer.watched
    form = form_of(transaction.plan)
    # of a code two items outside are independent only if it serves M + 2 items
    if form.seed_bits and transaction.plan.itemset_size < 2:
        return Events.of([], 0, [])
    pairs, is_inside = np.triu_indices(len(watched), 1), np.isin(watched, transaction.reference).astype(np.int64)
    inside = is_inside[pairs[0]] + is_inside[pairs[1]]
    chances = np.array([float(form.shown_probability(a, 2 - a)) for a in range(3) if a <= form.size])
    return Events.of(tested.watched_pairs[place][pairs], int(tested.totals[place]), chances[inside])


def _seed(tested: Tallies, place: int) -> Events:
    """A free sum is a fair coin, whatever number of items is kept."""
    sums, total = tested.sums[place], int(tested.totals[place])
    p = form_of(tested.chosen.transactions[place].plan).size_distribution
    chances = [[float(p[j] / 2)] * sums.shape[1] for j in range(len(p))]
    return Events.joined([Events.of(sums.sum(axis=0), total, 0.5), Events.of(sums, total, chances)])


def _successive(stream: Stream, form: Form) -> list[Events]:
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


def _starts(starts: Starts, form: Form) -> Law:
    """Compare reports place by place: of two starts they are independent, and equal with the chance Σ P²."""
    second = float(form.collision_moment(2))
    p_values = Events.of(starts.equal, starts.long, second).p_values()
    figures: dict[str, object] = {"reports": starts.long, "equal": starts.equal, "expected": starts.long * second}
    what = "two starts of the client draw other numbers"
    return Law("separate starts", what, joint_p_value(p_values), len(p_values), figures)


def start_length(form: Form) -> int:
    """Return how many reports a start must give so that two starts hardly ever give the same ones by chance."""
    chance = float(form.collision_moment(2))
    return min(_LONGEST_SHORT_START, math.ceil(_SAME_BY_CHANCE / math.log2(chance))) if chance < 1 else 1


def _short_starts(starts: Starts, form: Form) -> Law:
    """Bound the chance that any two of n starts give the same reports: C(n, 2)·(Σ P²)^length."""
    chance = float(math.comb(starts.short, 2) * form.collision_moment(2) ** starts.length)
    bits = max(0, math.floor(math.log2(starts.short**2 / 6)))  # e^-3 is then the chance that all seeds differ
    figures: dict[str, object] = {"starts": starts.short, "reports_each": starts.length}
    figures |= {"equal_pairs": starts.equal_pairs, "seed_bits": bits}
    if bits < _LEAST_SEED_BITS and not starts.equal_pairs:
        return Law("many starts", f"{starts.short:,} starts in some seconds tell too little of seeds", 1.0, 0, figures)
    what = f"no start repeats another ({starts.short:,} starts; seeds of at most {bits} bits would have)"
    return Law("many starts", what, min(1.0, chance) if starts.equal_pairs else 1.0, 1, figures)


def _repeats(stream: Stream, form: Form) -> Law:
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
