"""Audit a client by its reports alone: lower bounds of its ε, and the plan's law.

The client is a black box; :class:`Trials` says what it is asked. One that follows the plan is called broken by any of
the tests together with a chance of 1 − confidence at most: half of it belongs to the bounds of ε, the other half is
shared equally by the laws. docs/privacy.md says what no such audit can see.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from assocpriv.auditing.black_box.block_audit import AskedOfBlocks, ask_of_blocks, laws_of_blocks
from assocpriv.auditing.black_box.block_tallies import BlockTallies
from assocpriv.auditing.black_box.clients import BlackBox, BulkClient
from assocpriv.auditing.black_box.dealt_baskets import ItemTallies, OtherTallies, deals
from assocpriv.auditing.black_box.families import Asked, Law, laws, start_length
from assocpriv.auditing.black_box.lower_bounds import Paired, choose_events, learn_scorers, lower_bounds
from assocpriv.auditing.black_box.neighbours import form_of, worst_neighbours
from assocpriv.auditing.black_box.shown import judge_format
from assocpriv.auditing.black_box.tallies import Stream, Tallies, compare_starts
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, Finding, failure
from assocpriv.auditing.request import Progress, check_request
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import FileError

DEPTH = "empirical"
_LONGEST_START = 1024  # reports of each long start


def audit_client(
    plan: Plan,
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
    level = check_request(trials, confidence)
    half = float((1 - level) / 2)
    try:
        chance = np.random.default_rng(seed)
        ask = _ask if plan.view.blocks is None else ask_of_blocks
        asked: Asked | AskedOfBlocks = ask(plan, box or BulkClient(plan), trials, chance, progress or (lambda *_: None))
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return [failure(DEPTH, "answers", error)]
    tested = list(laws(asked) if isinstance(asked, Asked) else laws_of_blocks(asked))
    malformed = sum(part.malformed for part in asked.parts)
    return [
        _amplification(plan, asked.training, asked.tested, half),
        judge_format(DEPTH, malformed, sum(part.total for part in asked.parts)),
        *(_law_finding(law, half / len(tested), malformed) for law in tested),
    ]


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


def _ask(plan: Plan, box: BlackBox, trials: int, chance: np.random.Generator, progress: Progress) -> Asked:
    chosen, split = worst_neighbours(plan), split_trials(trials)
    first = Tallies(chosen, plan)
    first.collect(box, split.learn, partial(progress, "learning"))
    scorers = learn_scorers(first)
    second = Tallies(chosen, plan, scorers)
    second.collect(box, split.score, partial(progress, "scoring"))
    stream = Stream(chosen, plan)
    stream.collect(box, split.follow, partial(progress, "following"))
    items = [ItemTallies(plan, dealt, chance) for dealt in deals(plan, split.items, chance)]
    for each in items:
        each.collect(box, partial(progress, "every item"))
    others = OtherTallies(plan, chance)
    others.collect(box, split.others, partial(progress, "all sizes"))
    whole, starts = chosen.transactions[0], None
    if box.starts_anew:
        starts = compare_starts(whole, plan, box, split.start, start_length(form_of(whole.plan)))
    tested = Tallies(chosen, plan, scorers, for_laws=True)
    tested.collect(box, split.test, partial(progress, "testing"))
    return Asked([first, second], tested, stream, items, others, starts)


def _amplification(
    plan: Plan, training: Sequence[Paired], tested: Tallies | BlockTallies, false_alarm: float
) -> Finding:
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


def _law_finding(law: Law, false_alarm: float, malformed: int) -> Finding:
    figures = {"p_value": law.p_value, "tests": law.tests, "false_alarm": false_alarm} | law.figures
    if malformed:
        said = f"{malformed:,} answers are no reports of this plan, so what they show has no law to be compared with."
        return Finding(DEPTH, law.name, UNDECIDED, said, figures)
    if not law.tests:
        return Finding(DEPTH, law.name, UNDECIDED, f"There is nothing to test here: {law.what}.", figures)
    if law.p_value <= false_alarm:
        chance = f"at most {law.p_value:.1e}" if law.p_value else "less than 1e-300"
        said = f"Not as the plan says: {law.what}. A client that follows it would look so with a chance of {chance}."
        return Finding(DEPTH, law.name, BROKEN, said, figures)
    return Finding(DEPTH, law.name, CONSISTENT, f"As the plan says: {law.what}.", figures)
