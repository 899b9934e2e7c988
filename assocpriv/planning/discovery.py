"""What it takes to discover a support: the reports that a promise needs, or the promise that so many reports need.

A support is discoverable where no level's figure (server/estimates/limits.py) of the itemset sizes that matter is above
it: there finds can be believed, all itemsets of a size together. Plans are those that the planner makes at each number
of reports or each promise, so what is found here is what ``plan`` says too.

Its designs change with both, by which the figures may jump by the 2% that the planner gives away for short reports. So
an answer is an edge, and checked as one: it discovers the support; the plan made for one report fewer (one step of ε
less) does not. It need not be the least: figures fall with the root of the reports, so behind a jump of 2% there may
be another edge at 4% fewer. Plans made for 1% to 4% fewer reports are tried; what a shorter stretch of plans
discovers is missed.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import comb
from typing import TYPE_CHECKING, Any

from assocpriv.planning.planner import make_plan, part_of
from assocpriv.planning.request import DEFAULT_REPORTS, PlanWishes, catalogue_of
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach, Epsilon, parse_probability
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_range
from assocpriv.server.estimates.limits import level_discoverable_support
from assocpriv.server.estimates.supports import Respondents

REPORTS, PROMISE = "reports", "promise"
MOST_REPORTS = 10**15
EPSILON_STEPS = 100  # of 1: promises are made to be read, so ε has two decimals
MOST_EPSILON = 20  # γ = 5·10^8 promises nobody anything
_USUAL_PLANS, _MOST_PLANS = 8, 64  # made anew for a better number of reports until one repeats
_NEAR = (99, 98, 97, 96)  # percent of a number of reports, at which other plans may do
if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Discovery:
    """A plan and a number of its reports that discover a support; ``solved`` is what was asked for of the two.

    ``targets`` are the itemset sizes that the support is discoverable at.
    """

    plan: Plan
    reports: int
    support: Fraction
    targets: tuple[int, ...]
    solved: str

    @property
    def promise(self) -> Breach:
        """What no report, nor all of one person, may do."""
        return self.plan.promise


def reports_needed(
    support: "float | str | Fraction",
    items: int | Iterable[str],
    transaction_size: int,
    promise: Breach,
    *,
    progress: Progress | None = None,
    **choices: Any,
) -> Discovery:
    """Return a number of reports at which a support is discoverable under a promise, and the plan made for it.

    By the plan made for one report fewer it is not. A few percent fewer may do where the planner's choice changes;
    plans made for 1% to 4% fewer are tried.

    Args:
        support: in (0, 1], as 0.01 or ``"1%"``, within at most M sampled items.
        items, transaction_size, promise: as for :func:`assocpriv.plan`.
        progress: called with (done, total) steps.
        choices: all else that :func:`assocpriv.plan` takes but ``reports``; sizes must be hidden.

    Raises:
        PlanError: arguments out of range, no operator fits, or more than 10^15 reports would be needed.
    """
    question = _Question(items, transaction_size, support, choices, progress, steps=_USUAL_PLANS)

    def discovers(reports: int) -> bool:
        return question.discovers(question.plan(promise, reports), reports)

    edge = _least(discovers, _guess_of_reports(question, promise), MOST_REPORTS)
    if edge is None:
        raise PlanError(
            f"a support of {float(question.support):.3g} needs more than 10^15 reports under this promise; ask for a "
            "larger support or weaken the promise"
        )
    reports = _least(discovers, _fewer_reports(question, promise, edge), edge)
    return question.answer(promise, reports or edge, REPORTS)


def reports_to_discover(plan: Plan, support: "float | str | Fraction") -> dict[int, int | None]:
    """Return at how many reports of this very plan a support is discoverable, by itemset size, all of a size together.

    At one report fewer it is not. None where 10^15 reports do not do.

    Raises:
        PlanError: a support outside (0, 1].
    """
    wanted = _support(support)
    reports = {}
    for k in range(1, (1 if plan.view.itemsets else plan.itemset_size) + 1):

        def discovers(count: int, k: int = k) -> bool:
            return _level(plan, count, k) <= wanted

        reports[k] = _least(discovers, DEFAULT_REPORTS, MOST_REPORTS)
    return reports


def promise_needed(
    support: "float | str | Fraction",
    items: int | Iterable[str],
    transaction_size: int,
    reports: int,
    *,
    prior: "str | float | Fraction" = "5%",
    progress: Progress | None = None,
    **choices: Any,
) -> Discovery:
    """Return a promise under which so many reports discover a support, and the plan made for it.

    By the plan for 0.01 less of ε they do not. An ε that is smaller by about 2% may do where the planner's choice
    changes. The promise is an ε of two decimals, shown as what ``prior`` may become; the other arguments are those of
    :func:`reports_needed`.

    Raises:
        PlanError: arguments out of range, or no promise up to ε = 20 does.
    """
    largest = MOST_EPSILON * EPSILON_STEPS
    question = _Question(items, transaction_size, support, choices, progress, steps=largest.bit_length() + 1)
    reports = check_range("reports", reports, 1, MOST_REPORTS)

    def promise_at(steps: int) -> Breach:
        return Epsilon(Fraction(steps, EPSILON_STEPS), prior)

    def discovers(steps: int) -> bool:
        try:
            plan = question.plan(promise_at(steps), reports)
        except PlanError:
            if steps == largest:  # the arguments are wrong, not the promise too strict
                raise
            return False
        return question.discovers(plan, reports)

    if not discovers(largest):
        raise PlanError(
            f"no promise up to epsilon {MOST_EPSILON} lets {reports:,} reports discover a support of "
            f"{float(question.support):.3g}; ask for a larger support, smaller itemsets or more reports"
        )
    return question.answer(promise_at(_bisect(discovers, 0, largest)), reports, PROMISE)


@dataclass(frozen=True)
class _Question:
    """A support, and the plans that may discover it."""

    items: int | Iterable[str]
    transaction_size: int
    asked: "float | str | Fraction"
    choices: dict[str, Any]
    progress: Progress | None
    steps: int
    support: Fraction = field(init=False)
    plan: "_lru_cache_wrapper[Plan]" = field(init=False)  # by promise and reports

    def __post_init__(self) -> None:
        if "reports" in self.choices:
            raise TypeError("reports_needed solves for the reports; promise_needed is the one that takes their number")
        support = _support(self.asked)
        object.__setattr__(self, "items", catalogue_of(self.items))  # names are read more than once
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "plan", lru_cache(maxsize=None)(self._plan))

    def _plan(self, promise: Breach, reports: int) -> Plan:
        step = min(self.plan.cache_info().misses, self.steps) - 1
        part = part_of(self.progress, step, self.steps)
        return make_plan(self.items, self.transaction_size, promise, reports=reports, progress=part, **self.choices)

    def targets(self, plan: Plan) -> tuple[int, ...]:
        wishes = PlanWishes(promise=plan.promise, target=self.choices.get("target"))
        return tuple(wishes.targets(1 if plan.view.itemsets else plan.itemset_size))

    def discovers(self, plan: Plan, reports: int) -> bool:
        """Tell whether all itemsets of each size that matters can be believed at the support."""
        return self.level(plan, reports) <= self.support

    def level(self, plan: Plan, reports: int) -> float:
        """Return the largest of the level's figures."""
        return max(_level(plan, reports, k) for k in self.targets(plan))

    def answer(self, promise: Breach, reports: int, solved: str) -> Discovery:
        plan = self.plan(promise, reports)
        return Discovery(plan, reports, self.support, self.targets(plan), solved)


def _support(asked: "float | str | Fraction") -> Fraction:
    support = parse_probability(asked, "the support to discover")
    if not support:
        raise PlanError("the support to discover must be above 0")
    return support


def _level(plan: Plan, reports: int, k: int) -> float:
    """Return the level's figure of all itemsets of k items."""
    return level_discoverable_support(Respondents.of(plan, reports), k, comb(plan.n_items, k))


def _guess_of_reports(question: _Question, promise: Breach) -> int:
    """Return the number of reports that the plan made for as many needs, by making plans until one repeats."""
    reports, seen = DEFAULT_REPORTS, set[str]()
    while len(seen) < _MOST_PLANS:
        plan = question.plan(promise, reports)
        if plan.plan_id in seen:
            break
        seen.add(plan.plan_id)
        # errors fall with the root of the number of reports, or nearly so
        level = min(question.level(plan, reports), 1e3)
        guess = math.ceil(min(reports * (level / question.support) ** 2, MOST_REPORTS))
        reports = _least(partial(question.discovers, plan), max(guess, 1), MOST_REPORTS) or MOST_REPORTS
    return reports


def _fewer_reports(question: _Question, promise: Breach, edge: int) -> int:
    """Return fewer reports than an edge, if a plan made for 1% to 4% fewer needs no more and is the plan for these."""
    reports = edge
    for percent in _NEAR:
        plan = question.plan(promise, max(edge * percent // 100, 1))
        fewer = _least(partial(question.discovers, plan), reports, MOST_REPORTS) or reports
        if fewer < reports and question.discovers(question.plan(promise, fewer), fewer):
            reports = fewer
    return reports


def _least(holds: Callable[[int], bool], guess: int, most: int) -> int | None:
    """Return a number in 1..most, near a guess, that holds while the one below does not; None if not even the most."""
    low, high, step = 0, guess, 1
    if holds(guess):
        while (low := max(high - step, 0)) and holds(low):
            high, step = low, 2 * step
    else:
        low = guess
        while low < most and not holds(high := min(low + step, most)):
            low, step = high, 2 * step
        if low == most:
            return None
    return _bisect(holds, low, high)


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return a number in low + 1..high that holds while the one below does not; ``low`` does not and ``high`` does."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
