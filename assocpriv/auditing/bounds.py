"""Lower bounds of a client's ε, from its reports alone: a black box, held to the plan's laws besides.

A client promises P[report ∈ S | t1] ≤ γ·P[report ∈ S | t2] for every set S of reports. So any S shows a lower bound,

    ε ≥ ln(P1 / P2),   P1 at least the lower and P2 at most the upper Clopper–Pearson bound.

S is chosen on reports of its own, so that each bound on the others is wrong with no more than its stated chance, for
any client whose reports are independent. S is a set of values of one feature: how many items of either transaction a
report shows, one item, bit or byte, the length, whether it repeats the one before, and a score learned from all bits.

:class:`Trials` says what the client is asked. One that follows the plan is called broken by any of the tests together
with a chance of 1 − confidence at most: half of it belongs to the bounds of ε, the other half is shared equally by the
laws. docs/privacy.md says what no such audit can see.

Of a plan of several questions each is audited so by itself, its client a box of its own (questions.py), and the coin
that draws them: these parts share the false alarms equally. The reports asked for are shared, too: one in eight is for
the coin, the others are as many for each question. One that is rarely asked gets few answers; with fewer than 256
nothing is decided about it.

The form of its reports is audited by itself: one for each basket, of one length, and such that every server takes them.
The length of a report must not depend on the basket: it would tell its size to everybody on the way.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import BlackBox, BulkClient, ClientReports, answered, batch_of
from assocpriv.auditing.counts import (
    SCORE_CELLS,
    Counts,
    Scorer,
    Stream,
    Table,
    Tallies,
    compare_starts,
    form_of,
    is_whole,
    judge_format,
    worst_neighbours,
)
from assocpriv.auditing.findings import (
    BROKEN,
    CONFORMANCE,
    CONSISTENT,
    EMPIRICAL,
    UNDECIDED,
    Finding,
    Progress,
    check_request,
    client_findings,
    failure,
)
from assocpriv.auditing.goodness_of_fit import Asked, ItemTallies, Law, OtherTallies, basket_laws, deals, start_length
from assocpriv.auditing.questions import CoinTallies, OfQuestion, Seen, TooFewAnswers, coin_baskets, coin_laws
from assocpriv.auditing.recompute_promise import named_by_question, read_numbers
from assocpriv.files.reports import Reports, read_reports
from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import FileError

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

_ERRORS = 4.0  # standard errors by which a promising set may still disappoint
_LEAST_Z = 3.0  # of a bit that has a say in the score
_ROUNDING = 1e-9  # far more than the error of an inverse beta function
_LONGEST_START = 1024  # reports of each long start
_ROUNDS = 16
_LONGEST_BASKET = 64
_LEAST_ANSWERS = 256  # to a question, about which something is to be decided
_MOST_HELD = 1 << 28  # items of all transactions that a question is asked about


# ---- lower bounds


class Paired(Protocol):
    """Counts of reports of pairs of transactions."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs, by the places of their transactions."""

    @property
    def totals(self) -> Counts:
        """Reports of each transaction."""

    def tables(self, pair: int) -> Iterator[tuple[str, Table]]:
        """Yield the tables of a pair's features, each with its name."""


@dataclass(frozen=True, slots=True)
class Event:
    """A set of reports, chosen to tell the first of a pair's transactions from the second."""

    pair: int  # of the neighbours
    is_reversed: bool  # whether it is the second that is likelier to show it
    feature: str  # the kind of feature
    number: int  # which of its features
    values: NDArray[np.bool_]  # which of its values are in the set, (values,)


@dataclass(frozen=True, slots=True)
class LowerBound:
    """What an event shows."""

    event: Event
    likelier: float  # lower confidence bound of its chance under the transaction that makes it likelier
    rarer: float  # upper confidence bound of its chance under the other

    @property
    def epsilon(self) -> float:
        """The lower bound of ε; no less than 0, which is always one."""
        return math.log(self.likelier / self.rarer) if self.likelier > self.rarer else 0.0

    def exceeds(self, amplification: Fraction) -> bool:
        """Tell whether the client amplifies by more than γ, compared as exact fractions."""
        return Fraction(self.likelier) > amplification * Fraction(self.rarer)


def learn_scorers(tallies: Tallies) -> list[Scorer]:
    """Learn a score for each pair: the log of the ratio of chances, if bits were independent of each other."""
    return [_scorer(dict(tallies.tables(pair))["bits"]) for pair in range(len(tallies.pairs))]


def _scorer(table: Table) -> Scorer:
    first, second = ((counts[:, 1] + 0.5) / (counts.sum(axis=1) + 1) for counts in table)
    sizes = [counts.sum(axis=1) for counts in table]
    error = np.sqrt(first * (1 - first) / sizes[0] + second * (1 - second) / sizes[1])
    weights = np.log(first / (1 - first)) - np.log(second / (1 - second))
    weights[np.abs(first - second) < _LEAST_Z * error] = 0
    means = [weights @ first, weights @ second]
    spread = max(math.sqrt(weights**2 @ (chance * (1 - chance))) for chance in (first, second)) + 1e-3
    edges = np.linspace(min(means) - 4 * spread, max(means) + 4 * spread, SCORE_CELLS - 1)
    return Scorer(weights.astype(np.float32), edges.astype(np.float32))


def choose_events(training: Sequence[Paired]) -> list[Event]:
    """Choose for each pair, either way round, and each kind of feature the set that promises most."""
    events = []
    for pair in range(len(training[0].pairs)):
        summed: dict[str, Table] = {}
        for tallies in training:
            for feature, table in tallies.tables(pair):
                before = summed.get(feature)
                summed[feature] = (before[0] + table[0], before[1] + table[1]) if before else table
        for feature, (first, second) in summed.items():
            events.append(_best_event(pair, False, feature, first, second))
            events.append(_best_event(pair, True, feature, second, first))
    return events


def _best_event(pair: int, is_reversed: bool, feature: str, first: Counts, second: Counts) -> Event:
    """Take values in the order of their ratio of chances, and stop where the bound is likely to be best."""
    order = np.argsort(-(first + 0.5) / (second + 0.5), axis=1, kind="stable")
    likelier = np.take_along_axis(first, order, axis=1).cumsum(axis=1)
    rarer = np.take_along_axis(second, order, axis=1).cumsum(axis=1)
    low = np.maximum(likelier - _ERRORS * np.sqrt(likelier), 0.5) / first.sum(axis=1)[:, None]
    high = (rarer + _ERRORS * np.sqrt(rarer) + _ERRORS**2) / second.sum(axis=1)[:, None]
    number, last = np.unravel_index(np.argmax(low / high), low.shape)
    values = np.zeros(first.shape[1], dtype=np.bool_)
    values[order[number, : last + 1]] = True
    return Event(pair, is_reversed, feature, int(number), values)


def lower_bounds(events: list[Event], tested: Paired, false_alarm: float) -> list[LowerBound]:
    """Bound ε by each event, on reports that had no part in choosing it.

    All bounds hold together, with a chance of at least 1 − ``false_alarm``.
    """
    each, bounds = false_alarm / (2 * len(events)), []
    by_pair = [dict(tested.tables(pair)) for pair in range(len(tested.pairs))]
    for event in events:
        first, second = by_pair[event.pair][event.feature]
        if event.is_reversed:
            first, second = second, first
        hits = [int(counts[event.number, event.values].sum()) for counts in (first, second)]
        totals = [int(counts[event.number].sum()) for counts in (first, second)]
        likelier = smallest_chance(hits[0], totals[0], each) * (1 - _ROUNDING)
        bounds.append(LowerBound(event, likelier, min(1.0, largest_chance(hits[1], totals[1], each) * (1 + _ROUNDING))))
    return bounds


def smallest_chance(count: int, trials: int, alpha: float) -> float:
    """Return the lower Clopper–Pearson bound: no smaller chance makes at least ``count`` as likely as alpha."""
    from scipy.stats import beta

    return float(beta.ppf(alpha, count, trials - count + 1)) if count else 0.0


def largest_chance(count: int, trials: int, alpha: float) -> float:
    """Return the upper Clopper–Pearson bound.

    >>> round(largest_chance(0, 10, 0.05), 4), largest_chance(10, 10, 0.05)
    (0.2589, 1.0)
    """
    from scipy.stats import beta

    return float(beta.isf(alpha, count + 1, trials - count)) if count < trials else 1.0


# ---- the audit


def audit_client(
    plan: "Plan",
    box: BlackBox | None = None,
    *,
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    seed: int | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Audit a client, our own for many transactions by default, as a black box: its amplification, then the laws.

    ``trials`` reports are asked for, at least 1,000; ``confidence`` is the chance, at least, that a client that follows
    the plan is not called broken. The seed is of how items are dealt into baskets; another deal in every audit by
    default. Progress is called with (stage, reports done, reports in all).

    Raises:
        PlanError: trials or a confidence that cannot be used.
        FileError: a program that cannot be started.
    """
    alarm, chance = float(1 - check_request(trials, confidence)), np.random.default_rng(seed)
    told, given = progress or (lambda *_: None), box or BulkClient(plan)
    try:
        if len(plan.questions) > 1:
            return _audit_questions(plan, given, trials, alarm, chance, told)
        asked = _ask(plan, given, plan.n_items, trials, chance, told)
        malformed = sum(part.malformed for part in asked.parts)
        form = judge_format(EMPIRICAL, malformed, sum(part.total for part in asked.parts))
        bound, *laws = _judged(plan, asked, alarm, malformed)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return [failure(EMPIRICAL, "answers", error)]
    return [bound, form, *laws]


def _judged(plan: "Plan", asked: Asked, alarm: float, malformed: int) -> list[Finding]:
    """Return what was found about a client of one question: the bound of ε, then the laws."""
    return _findings(plan, asked.training, asked.tested, list(basket_laws(asked)), alarm, malformed)


def _findings(
    plan: "Plan", training: Sequence[Paired], tested: Paired, laws: Sequence[Law], alarm: float, malformed: int
) -> list[Finding]:
    shared = alarm / 2 / len(laws)
    found = [_amplification(plan, training, tested, alarm / 2)]
    return found + [_law_finding(law, shared, malformed) for law in laws]


# ---- several questions


def _audit_questions(
    plan: "Plan", box: BlackBox, trials: int, alarm: float, chance: np.random.Generator, progress: Progress
) -> list[Finding]:
    """Audit the coin, and a client of each question alone."""
    numbers, seen, alarm = read_numbers(plan.canonical_json), Seen.none(plan), alarm / (len(plan.questions) + 1)
    baskets, part = coin_baskets(numbers, chance), trials // 8
    learned, coin = (CoinTallies(baskets, plan, seen) for _ in range(2))
    learned.collect(box, part // 4, partial(progress, "learning, questions"))
    coin.collect(box, part - part // 4, partial(progress, "testing, questions"))
    parts: list[CoinTallies | OfQuestion] = [learned, coin]
    found: list[Finding] = []
    for number, question in enumerate(plan.questions):
        inside = OfQuestion(box, plan, numbers, number, seen, np.random.default_rng(chance.integers(1 << 62)))
        parts.append(inside)
        asks = min((trials - part) // len(plan.questions), _MOST_HELD // max([1, *numbers.questions[number].bounds]))
        answers = int(asks * numbers.shares[number] * 3 // 4)  # a few are not taken
        alone, told = plan.alone(question), partial(_told, progress, number)
        judged = _audit_question(alone, inside, answers, alarm, chance, told)
        found += [replace(each, name=named_by_question(each.name, number, numbers)) for each in judged]
    malformed = sum(each.malformed for each in parts)
    form = judge_format(EMPIRICAL, malformed, sum(each.total for each in parts))
    bound, *laws = _findings(plan, [learned], coin, list(coin_laws(coin, seen, numbers)), alarm, malformed)
    return [form, replace(bound, name=f"{bound.name}, questions"), *laws, *found]


def _told(progress: Progress, number: int, stage: str, done: int, total: int) -> None:
    progress(f"{stage}, question {number}", done, total)


def _audit_question(
    plan: "Plan", box: OfQuestion, answers: int, alarm: float, chance: np.random.Generator, progress: Progress
) -> list[Finding]:
    if answers < _LEAST_ANSWERS:
        said = f"Of so many reports about {answers:,} would answer this question; it takes {_LEAST_ANSWERS}, so more."
        return [Finding(EMPIRICAL, "answers", UNDECIDED, said)]
    try:
        asked = _ask(plan, box, box.most_entries, answers, chance, progress)
    except TooFewAnswers:
        said = "This question was answered too rarely to decide anything about it: see how questions are drawn."
        return [Finding(EMPIRICAL, "answers", UNDECIDED, said)]
    return _judged(plan, asked, alarm, box.malformed)


# ---- one question


@dataclass(frozen=True, slots=True)
class Trials:
    """How many reports to ask for."""

    learn: int
    score: int
    follow: int  # as one stream
    items: int  # of every item
    others: int  # of baskets of all sizes
    start: int  # of each of two long starts; short ones, of a client that starts anew, come on top
    test: int


def split_trials(trials: int) -> Trials:
    """Share out the reports of an audit; the largest part of them is tested.

    >>> split_trials(800)
    Trials(learn=100, score=100, follow=100, items=100, others=50, start=12, test=326)
    """
    part = trials // 8
    others, start = part // 2, min(_LONGEST_START, part // 8)
    return Trials(part, part, part, part, others, start, trials - 4 * part - others - 2 * start)


def _ask(plan: "Plan", box: BlackBox, most: int, trials: int, chance: np.random.Generator, progress: Progress) -> Asked:
    """Ask a client of a plan of one question for so many reports, of transactions of ``most`` items at most."""
    chosen, split = worst_neighbours(plan, most), split_trials(trials)
    first = Tallies(chosen, plan)
    first.collect(box, split.learn, partial(progress, "learning"))
    scorers = learn_scorers(first)
    second = Tallies(chosen, plan, scorers)
    second.collect(box, split.score, partial(progress, "scoring"))
    stream = Stream(chosen, plan)
    stream.collect(box, split.follow, partial(progress, "following"))
    items = [ItemTallies(plan, dealt, chance) for dealt in deals(plan, split.items, chance, most)]
    for each in items:
        each.collect(box, partial(progress, "every item"))
    others = OtherTallies(plan, chance, most)
    others.collect(box, split.others, partial(progress, "all sizes"))
    whole, starts = chosen.transactions[0], None
    if box.starts_anew:
        starts = compare_starts(whole, plan, box, split.start, start_length(form_of(plan)))
    tested = Tallies(chosen, plan, scorers, for_laws=True)
    tested.collect(box, split.test, partial(progress, "testing"))
    return Asked([first, second], tested, stream, items, others, starts)


def _amplification(plan: "Plan", training: Sequence[Paired], tested: Paired, false_alarm: float) -> Finding:
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
    return Finding(EMPIRICAL, "amplification", BROKEN if broken else CONSISTENT, said, figures)


def _law_finding(law: Law, false_alarm: float, malformed: int) -> Finding:
    if malformed:
        said = f"{malformed:,} answers are no reports of this plan, so what they show has no law to be compared with."
    elif not law.tests:
        said = f"There is nothing to test here: {law.what}."
    else:
        return law.judged(false_alarm)
    return replace(law.judged(false_alarm), verdict=UNDECIDED, said=said)


# ---- the form of reports


def audit_conformance(plan: "Plan", box: BlackBox | None = None, *, progress: Progress | None = None) -> list[Finding]:
    """Check that a client's reports are reports of the plan, for baskets of every size from none to 64 items.

    The arguments are those of :func:`assocpriv.auditing.bounds.audit_client`.

    Raises:
        FileError: a program that cannot be started.
    """
    check = partial(_audit_form, plan, box or BulkClient(plan), progress)
    return client_findings([CONFORMANCE], {CONFORMANCE: check})


def _audit_form(plan: "Plan", box: BlackBox, progress: Progress | None) -> list[Finding]:
    baskets = _baskets(plan)
    sizes = np.array([len(items) for items in baskets], dtype=np.int64)
    batch = batch_of(baskets, plan)
    [answers] = answered(box, iter([batch]), partial(progress or (lambda *_: None), "form"), len(batch))
    said, malformed = "Every basket is answered with one report.", int((~is_whole(answers, plan)).sum())
    found = [Finding(CONFORMANCE, "answers", CONSISTENT, said, {"reports": len(batch)})]
    found += [_length(answers, sizes, plan), judge_format(CONFORMANCE, malformed, len(answers))]
    return [*found, _report_file(answers, plan, not malformed)]


def _baskets(plan: "Plan") -> list[range]:
    """Return baskets of all sizes, taking turns; of every size some from either end of the catalogue."""
    n, sizes = plan.n_items, range(min(plan.n_items, _LONGEST_BASKET) + 1)
    return [range(n - m, n) if number % 2 else range(m) for number in range(_ROUNDS) for m in sizes]


def _length(answers: ClientReports, sizes: NDArray[np.int64], plan: "Plan") -> Finding:
    seen, wanted = np.unique(answers.lengths), plan.report_bytes
    figures = {"report_bytes": wanted, "least": int(seen[0]), "most": int(seen[-1])}
    if len(seen) == 1 and seen[0] == wanted:
        return Finding(
            CONFORMANCE, "length", CONSISTENT, f"All reports are {_bytes(wanted)} long, as the plan says.", figures
        )
    by_size = [np.unique(answers.lengths[sizes == size]).tolist() for size in np.unique(sizes)]
    said = f"Reports are {seen[0]} to {_bytes(int(seen[-1]))} long; the plan says {wanted}."
    if any(each != by_size[0] for each in by_size):
        said += " The length depends on the basket's size, which everybody on the way can see."
    return Finding(CONFORMANCE, "length", BROKEN, said, figures)


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def _report_file(answers: ClientReports, plan: "Plan", are_reports: bool) -> Finding:
    """Write the reports to a file and read it as a server does."""
    if not are_reports:
        return Finding(
            CONFORMANCE, "report file", UNDECIDED, "What are no reports of the plan cannot be kept in a file."
        )
    packed = np.ascontiguousarray(answers.octets[:, : plan.report_bytes])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        Reports(plan, packed).write(path)
        read = read_reports(path)
        same = read.plan.plan_id == plan.plan_id and np.array_equal(np.concatenate(list(read.batches(1 << 16))), packed)
    if not same:
        return Finding(
            CONFORMANCE, "report file", BROKEN, "A file of these reports does not give them back with their plan."
        )
    return Finding(CONFORMANCE, "report file", CONSISTENT, "A file keeps these reports, and the id of their plan.")
