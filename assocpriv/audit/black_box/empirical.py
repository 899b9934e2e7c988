"""Audit a client by its reports alone: lower bounds of its ε, and the plan's law.

The client is a black box (audit/black_box/clients.py). Of the reports asked for, one eighth teaches which sets of
reports to look at and one eighth scores them (audit/black_box/lower_bounds.py), one eighth is a stream of one
transaction's, one eighth is of baskets that all items are dealt into (audit/black_box/every_item.py), one sixteenth is
of baskets of all sizes (audit/black_box/other_sizes.py), a few, of a program, are of separate starts, and the rest is
tested. A client that follows the plan is called broken by any of the tests together with a chance of 1 − confidence at
most: half of it belongs to the bounds of ε, the other half is shared equally by the laws.

What it cannot see: a leak that shows in none of the features, or of transactions that it does not ask about (two items
together, say), or too rarely for so many trials; and randomness that is good but known to somebody else.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.audit.black_box.clients import BlackBox, BulkClient
from assocpriv.audit.black_box.every_item import ItemTallies, deals
from assocpriv.audit.black_box.laws import (
    Events,
    collision_moments,
    complexity_p_value,
    joint_p_value,
    linear_complexity,
    repeats_p_value,
    shown_probability,
)
from assocpriv.audit.black_box.lower_bounds import choose_events, learn_scorers, lower_bounds
from assocpriv.audit.black_box.neighbours import worst_neighbours
from assocpriv.audit.black_box.other_sizes import OtherTallies
from assocpriv.audit.black_box.tallies import (
    LawTallies,
    Starts,
    Stream,
    StreamTally,
    Tallies,
    compare_starts,
    pairs_of,
    split_trials,
)
from assocpriv.audit.findings import BROKEN, CONSISTENT, UNDECIDED, Finding, failure
from assocpriv.core.errors import FileError, PlanError
from assocpriv.core.privacy import epsilon, parse_probability
from assocpriv.plans.baskets.plan import Plan

DEPTH = "empirical"
LEAST_TRIALS = 1000
_SAME_BY_CHANCE = -60.0  # log2 of the chance that two short starts give the same
_LONGEST_SHORT_START = 256  # reports
_LEAST_SEED_BITS = 8  # a program that starts too slowly to show as many is not judged by its starts
_MOST_SUBSETS = 1 << 10  # of kept items that are counted each; beyond, by item and number kept

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Law:
    """A family of tests, with one p-value for all of them."""

    name: str
    what: str
    p_value: float
    tests: int
    figures: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """All that was asked: two samples to learn from, the one to test, and what only the laws need."""

    training: list[Tallies]
    tested: LawTallies
    stream: Stream
    scope: StreamTally
    items: list[ItemTallies]
    others: OtherTallies
    starts: Starts | None

    @property
    def malformed(self) -> int:
        """How many answers are no reports of the plan."""
        counted = sum(int(part.malformed.sum()) for part in (*self.training, self.tested))
        in_items = sum(part.malformed for part in self.items)
        in_starts = self.starts.malformed if self.starts else 0
        return counted + self.stream.malformed + self.others.malformed + in_items + in_starts


def audit_client(
    plan: Plan,
    box: BlackBox | None = None,
    *,
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    seed: int | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Audit a client as a black box.

    Args:
        plan: the plan that it says it follows.
        box: the client; our own for many transactions, with the operating system's entropy, by default.
        trials: reports to ask for, at least 1,000.
        confidence: chance, at least, that a client that follows the plan is not called broken.
        seed: of how items are dealt into baskets; another deal in every audit by default.
        progress: called with (stage, reports done, reports in all).

    Returns:
        Findings of the depth ``empirical``: the amplification first, then the laws.

    Raises:
        PlanError: trials or a confidence that cannot be used.
        FileError: a program that cannot be started.
    """
    level = check_request(trials, confidence)
    half = float((1 - level) / 2)
    try:
        asked = _ask(plan, box or BulkClient(plan), trials, np.random.default_rng(seed), progress)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return [failure(DEPTH, "answers", error)]
    laws = list(_laws(asked))
    return [
        _amplification(plan, asked.training, asked.tested, half),
        _format(asked.malformed),
        *(_law_finding(law, half / len(laws), asked.malformed) for law in laws),
    ]


def check_request(trials: int, confidence: str | float | Fraction) -> Fraction:
    """Return the confidence as a fraction; refuse, before any work is done, what an audit cannot use.

    Raises:
        PlanError: fewer than 1,000 trials, or a confidence outside [1/2, 1).
    """
    if trials < LEAST_TRIALS:
        raise PlanError(f"an audit needs at least {LEAST_TRIALS:,} trials, got {trials:,}")
    level = parse_probability(confidence, "confidence")
    if not Fraction(1, 2) <= level < 1:
        raise PlanError("the confidence of an audit must be at least 50% and below 100%, such as 99.9%")
    return level


def _ask(plan: Plan, box: BlackBox, trials: int, chance: np.random.Generator, progress: Progress | None) -> _Asked:
    chosen, split = worst_neighbours(plan), split_trials(trials)

    def told(stage: str) -> Callable[[int, int], None] | None:
        return (lambda done, total: progress(stage, done, total)) if progress else None

    first = Tallies(chosen, plan)
    first.collect(box, split.learn, told("learning"))
    scorers = learn_scorers(first)
    second = Tallies(chosen, plan, scorers)
    second.collect(box, split.score, told("scoring"))
    scope = StreamTally(chosen, plan)
    stream = scope.collect(box, split.follow, told("following"))
    items = [ItemTallies(plan, dealt, chance) for dealt in deals(plan, split.items, chance)]
    for each in items:
        each.collect(box, told("every item"))
    others = OtherTallies(plan, chance)
    others.collect(box, split.others, told("all sizes"))
    whole = chosen.transactions[0]
    starts = compare_starts(whole, plan, box, split.start, start_length(whole.group)) if box.starts_anew else None
    tested = LawTallies(chosen, plan, scorers)
    tested.collect(box, split.test, told("testing"))
    return _Asked([first, second], tested, stream, scope, items, others, starts)


def _amplification(plan: Plan, training: list[Tallies], tested: Tallies, false_alarm: float) -> Finding:
    events = choose_events(training)
    bounds = lower_bounds(events, tested, false_alarm)
    best = max(bounds, key=lambda bound: bound.epsilon)
    promised = epsilon(plan.amplification)
    broken = any(bound.exceeds(plan.amplification) for bound in bounds)
    said = (
        f"Some reports are more likely under one basket than under another by more than the plan's γ: ε is at least "
        f"{best.epsilon:.4f}, and the plan says {promised:.4f}."
        if broken
        else f"The client's ε is at least {best.epsilon:.4f}, which is within the plan's {promised:.4f}."
    )
    figures = {
        "epsilon_low": best.epsilon,
        "epsilon": promised,
        "feature": best.event.feature,
        "bounds": len(bounds),
        "reports": int(tested.totals.sum()),
        "false_alarm": false_alarm,
    }
    return Finding(DEPTH, "amplification", BROKEN if broken else CONSISTENT, said, figures)


def _format(malformed: int) -> Finding:
    """Judge the answers' form: a single one that is no report is a fault, and hides what the laws would find."""
    if malformed:
        said = (
            f"{malformed:,} answers are no reports of the plan: of another length, size or set, or with an unused bit."
        )
        return Finding(DEPTH, "format", BROKEN, said, {"malformed": malformed})
    return Finding(DEPTH, "format", CONSISTENT, "Every answer is a report of the plan.", {"malformed": 0})


def _law_finding(law: _Law, false_alarm: float, malformed: int) -> Finding:
    figures = {"p_value": law.p_value, "tests": law.tests, "false_alarm": false_alarm} | law.figures
    if malformed:
        told = f"{malformed:,} answers are no reports of this plan, so what they show has no law to be compared with."
        return Finding(DEPTH, law.name, UNDECIDED, told, figures)
    if not law.tests:
        return Finding(DEPTH, law.name, UNDECIDED, f"There is nothing to test here: {law.what}.", figures)
    if law.p_value <= false_alarm:
        chance = f"at most {law.p_value:.1e}" if law.p_value else "less than 1e-300"
        said = f"Not as the plan says: {law.what}. A client that follows it would look so with a chance of {chance}."
        return Finding(DEPTH, law.name, BROKEN, said, figures)
    return Finding(DEPTH, law.name, CONSISTENT, f"As the plan says: {law.what}.", figures)


def _laws(asked: _Asked) -> Iterator[_Law]:
    """Yield the laws' families of tests, of each transaction and of all together that share an operator."""
    tested, stream = asked.tested, asked.stream
    whole = [place for place, each in enumerate(tested.chosen.transactions) if not each.is_sampled]
    sampled = [place for place, each in enumerate(tested.chosen.transactions) if each.is_sampled]
    sizes = [tested.chosen.transactions[place].group.transaction_size for place in whole]
    alike = [[place for place, m in zip(whole, sizes, strict=True) if m == size] for size in sorted(set(sizes))]
    parts = [[place] for place in whole] + alike
    group = tested.chosen.transactions[0].group
    yield _law_of("number kept", "how many items are kept", [_number_kept(tested, part) for part in parts])
    yield _law_of("items kept", "which items are kept", [_items_kept(tested, part) for part in parts])
    shown = [_items_shown(tested, place) for place in whole + sampled] + [_others_shown(tested, part) for part in alike]
    yield _law_of("items shown", "how often each item is shown", shown)
    pairs = [_pairs_shown(tested, place) for place in whole]
    yield _law_of("pairs shown", "how often pairs of items are shown together", pairs)
    coins = "sums of seed bits that the kept items leave free are fair coins"
    yield _law_of("seed", coins, [_seed(tested, place) for place in whole])
    yield from _every_item(asked.items)
    sizes_kept = "what is kept and shown of baskets of all sizes up to 64 items"
    yield _law_of("all sizes", sizes_kept, list(asked.others.events()))
    successive = list(_successive(stream, asked.scope, group))
    yield _law_of(
        "successive reports", "a report tells nothing of the next one, as far as each follows the plan", successive
    )
    if asked.starts is not None:
        yield _starts(asked.starts, group)
        yield _short_starts(asked.starts, group)
    yield _repeats(stream, group)
    yield _coins(stream)


def _law_of(name: str, what: str, parts: list[Events], figures: dict[str, object] | None = None) -> _Law:
    p_values = Events.joined(parts).p_values()
    return _Law(name, what, joint_p_value(p_values), len(p_values), figures or {})


def _levels(tested: LawTallies, places: list[int]) -> tuple[NDArray[np.int64], tuple[Fraction, ...]]:
    """Return how many items each subset keeps, int64 (2^m,), and p[j]."""
    p = tested.chosen.transactions[places[0]].group.operator.size_distribution
    return np.bitwise_count(np.arange(1 << (len(p) - 1))).astype(np.int64), p


def _number_kept(tested: LawTallies, places: list[int]) -> Events:
    sizes, p = _levels(tested, places)
    counts = np.bincount(sizes, weights=sum(tested.kept[place] for place in places)).astype(np.int64)
    return Events.of(counts, int(tested.totals[places].sum()), [float(chance) for chance in p])


def _items_kept(tested: LawTallies, places: list[int]) -> Events:
    """Count each subset where there are few, and each item with each number kept in any case."""
    sizes, p = _levels(tested, places)
    m, total, kept = (
        len(p) - 1,
        int(tested.totals[places].sum()),
        np.sum([tested.kept[place] for place in places], axis=0),
    )
    member = np.arange(1 << m)[:, None] >> np.arange(m) & 1  # (subsets, items)
    level = sizes[:, None] == np.arange(m + 1)
    counts = (level * kept[:, None]).T @ member  # (numbers, items)
    chances = [[float(p[j] * j / m)] * m for j in range(m + 1)]
    parts = [Events.of(counts, total, chances)]
    if 1 << m <= _MOST_SUBSETS:
        parts.append(Events.of(kept, total, [float(p[j] / math.comb(m, j)) for j in sizes.tolist()]))
    return Events.joined(parts)


def _items_shown(tested: LawTallies, place: int) -> Events:
    """Of a transaction cut to M of its L items, each is among those kept with chance M/L."""
    transaction = tested.chosen.transactions[place]
    operator, n = transaction.group.operator, transaction.group.padded_items
    inside, outside = shown_probability(operator, 1, 0), shown_probability(operator, 0, 1)
    share = Fraction(operator.size, len(transaction.reference))
    chances = np.full(n, float(outside))
    chances[list(transaction.reference)] = float(share * inside + (1 - share) * outside)
    return Events.of(tested.items[place, :n], int(tested.totals[place]), chances)


def _others_shown(tested: LawTallies, places: list[int]) -> Events:
    """Count each item over all transactions that do not hold it; without a code all such items are independent."""
    group = tested.chosen.transactions[places[0]].group
    outside = np.ones((len(places), group.padded_items), dtype=np.int64)
    for row, place in enumerate(places):
        outside[row, list(tested.chosen.transactions[place].reference)] = 0
    counts = (tested.items[places, : group.padded_items] * outside).sum(axis=0)
    trials, chance = tested.totals[places] @ outside, float(shown_probability(group.operator, 0, 1))
    each = Events(counts, trials, np.full(len(counts), chance))
    if group.generator.kind != "none" or group.kind == "fixed-size":
        return each
    return Events.joined([each, Events.of(counts.sum(), int(trials.sum()), chance)])


def _pairs_shown(tested: LawTallies, place: int) -> Events:
    transaction, viewer = tested.chosen.transactions[place], tested.viewer(place)
    group = transaction.group
    # of a code two items outside are independent only if it serves M + 2 items
    if group.generator.kind != "none" and group.itemset_size < 2:
        return Events.of([], 0, [])
    pairs = pairs_of(len(viewer.watched))
    inside = np.isin(viewer.watched, transaction.reference)[pairs].sum(axis=1)
    chances = _pair_chances(group)
    return Events.of(tested.watched_pairs[place], int(tested.totals[place]), chances[inside])


def _pair_chances(group: Plan) -> NDArray[np.float64]:
    """Return the chance of showing both of two items, 0, 1 or 2 of which are the transaction's, float64 (3,)."""
    possible = [a for a in range(3) if a <= group.operator.size]
    return np.array([float(shown_probability(group.operator, a, 2 - a)) for a in possible])


def _seed(tested: LawTallies, place: int) -> Events:
    """A free sum is a fair coin, whatever number of items is kept."""
    sums = tested.sums[place]
    total, p = int(tested.totals[place]), tested.chosen.transactions[place].group.operator.size_distribution
    if not sums.size:
        return Events.of([], 0, [])
    chances = [[float(p[j] / 2)] * sums.shape[1] for j in range(len(p))]
    return Events.joined([Events.of(sums.sum(axis=0), total, 0.5), Events.of(sums, total, chances)])


def _successive(stream: Stream, scope: StreamTally, group: Plan) -> Iterator[Events]:
    """Reports know nothing of each other: bits of successive ones differ half the time, items are independent."""
    n, differ = stream.successive_sums
    yield Events.of(differ, n, 0.5)
    n, both = stream.successive_items
    inside, outside = (float(shown_probability(group.operator, a, 1 - a)) for a in (1, 0))
    chances = np.where(scope.is_inside, inside, outside)
    yield Events.of(both, n, np.outer(chances, chances))


def _every_item(tallies: Sequence[ItemTallies]) -> Iterator[_Law]:
    """Test each basket that items were dealt into by itself, and say how many items that were."""
    n, dealt = tallies[0].plan.n_items, {len(each.deal.transactions[0].items): each.deal.items for each in tallies}
    figures: dict[str, object] = {"of_items": n, "items": {str(m): count for m, count in dealt.items()}}
    figures["reports_each"] = {str(len(each.deal.transactions[0].items)): each.deal.each for each in tallies}
    whole = ", ".join(str(m) for m, count in dealt.items() if count == n)
    parts = [f"all {n:,} items, in baskets of {whole}"] if whole else []
    parts += [f"{count:,} of {n:,} items, in baskets of {m}" for m, count in dealt.items() if count < n]
    which, own, elsewhere = "; ".join(parts), [], []
    for each in tallies:
        own += each.own
        elsewhere += each.elsewhere
    told = "how often each item is shown when it is held, and how many are kept"
    yield _law_of("every item", f"{told} ({which})", own, figures)
    yield _law_of("every item, elsewhere", f"what else is shown then ({which})", elsewhere, figures)


def _starts(starts: Starts, group: Plan) -> _Law:
    """Compare reports place by place: of two starts they are independent, and equal with the chance Σ P²."""
    second = float(collision_moments(group)[0])
    p_values = Events.of(starts.equal, starts.total, second).p_values()
    figures: dict[str, object] = {"reports": starts.total, "equal": starts.equal, "expected": starts.total * second}
    what = "two starts of the client draw other numbers"
    return _Law("separate starts", what, joint_p_value(p_values), len(p_values), figures)


def start_length(group: Plan) -> int:
    """Return how many reports a start must give so that two starts hardly ever give the same ones by chance."""
    chance = float(collision_moments(group)[0])
    return min(_LONGEST_SHORT_START, math.ceil(_SAME_BY_CHANCE / math.log2(chance))) if chance < 1 else 1


def _short_starts(starts: Starts, group: Plan) -> _Law:
    """Bound the chance that any two of n starts give the same reports: C(n, 2)·(Σ P²)^length."""
    chance = float(math.comb(starts.short, 2) * collision_moments(group)[0] ** starts.length)
    bits = max(0, math.floor(math.log2(starts.short**2 / 6)))  # e^-3 is then the chance that all seeds differ
    figures: dict[str, object] = {"starts": starts.short, "reports_each": starts.length}
    figures |= {"equal_pairs": starts.equal_pairs, "seed_bits": bits}
    if bits < _LEAST_SEED_BITS and not starts.equal_pairs:
        return _Law("many starts", f"{starts.short:,} starts in some seconds tell too little of seeds", 1.0, 0, figures)
    what = f"no start repeats another ({starts.short:,} starts; seeds of at most {bits} bits would have)"
    return _Law("many starts", what, min(1.0, chance) if starts.equal_pairs else 1.0, 1, figures)


def _repeats(stream: Stream, group: Plan) -> _Law:
    n, equal = stream.kept_for_repeats, stream.equal_pairs
    second, third = collision_moments(group)
    figures: dict[str, object] = {
        "reports": n,
        "equal_pairs": equal,
        "expected": float(math.comb(n, 2) * second),
    }
    p_value = repeats_p_value(equal, n, second, third)
    return _Law("repeats", "how many reports are equal", p_value, 1, figures)


def _coins(stream: Stream) -> _Law:
    """Bits of a shift register, of the Mersenne Twister or of a short period have a low linear complexity."""
    n, streams = stream.coins.shape
    lengths = [linear_complexity(bits) for bits in stream.coins.T.tolist()]
    p_values = np.array([complexity_p_value(length, n) for length in lengths])
    figures: dict[str, object] = {"bits": n, "least_complexity": min(lengths, default=None)}
    what = "bits that should be fair coins are not made by a shift register, nor with a short period"
    return _Law("linear complexity", what, joint_p_value(p_values), streams, figures)
