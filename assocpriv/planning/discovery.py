"""What a plan proves about privacy beside what its reports can show.

What γ proves errs against us. It is told of one report, of all of one person, of one person's answers to several plans,
also over weeks. Reports are drawn with draws of their own, so their γ multiply (promise/breaches.py), whatever the
baskets of different weeks have to do with each other, and also where a later plan was made from what earlier ones
showed.

A support is discoverable where no level's figure (server/intervals.py) of the itemset sizes that matter is above it:
there finds can be believed, all itemsets of a size together. Asked for are the reports that a promise needs for it, or
the promise that so many reports need. Plans are those that the planner makes at each number of reports or each promise,
so what is found here is what ``plan`` says too.

The planner's designs change with both, by which the figures may jump by the 2% that it gives away for short reports. So
an answer is an edge, and checked as one: it discovers the support; the plan made for one report fewer (one step of ε
less) does not. It need not be the least: figures fall with the root of the reports, so behind a jump of 2% there may
be another edge at 4% fewer. Plans made for 1% to 4% fewer reports are tried; what a shorter stretch of plans
discovers is missed.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import comb
from typing import TYPE_CHECKING, Any, overload

from assocpriv.planning.baskets import make_plan, part_of
from assocpriv.planning.designs import MOST_REPORTS, Progress
from assocpriv.planning.information import PlanInformation, mutual_limit, plan_information
from assocpriv.planning.request import DEFAULT_REPORTS, PlanWishes, catalogue_of
from assocpriv.planning.shuffling import Central, blanket_of, central_guarantee
from assocpriv.planning.sizes import Forged, forged_sizes
from assocpriv.plans.baskets import Plan
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON, PublishedPlan
from assocpriv.promise import breaches
from assocpriv.promise.errors import PlanError
from assocpriv.promise.information import information_limit
from assocpriv.promise.numbers import check_range, check_whole
from assocpriv.server.apriori import UNDECIDABLE_BELOW
from assocpriv.server.crafted import Liars, liars_among, most_targets
from assocpriv.server.intervals import DiscoverableSupports, discoverable_supports, level_discoverable_support
from assocpriv.server.supports import Respondents, foreseen_error

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper


DEFAULT_PRIORS = ("0.1%", "1%", "5%", "10%", "25%", "50%", "75%", "90%", "99%")
DEFAULT_DELTA = 1e-9
_LONGEST = 1 << 16  # bits of a composed γ that is kept exact
PlanUse = PublishedPlan | tuple[PublishedPlan, int]

REPORTS, PROMISE = "reports", "promise"
EPSILON_STEPS = 100  # of 1: promises are made to be read, so ε has two decimals
MOST_EPSILON = 20  # γ = 5·10^8 promises nobody anything
_USUAL_PLANS, _MOST_PLANS = 8, 64  # made anew for a better number of reports until one repeats
_NEAR = (99, 98, 97, 96)  # percent of a number of reports, at which other plans may do


# ---- one plan


@dataclass(frozen=True, slots=True)
class Together:
    """What so many reports of one person, each with its own draws, prove together."""

    reports: int
    amplification: Fraction
    beliefs: tuple[breaches.BeliefRange, ...]

    def __repr__(self) -> str:
        """Say what it is; γ of many reports has more digits than Python writes."""
        return f"Together(reports={self.reports}, epsilon<={self.epsilon:.6g})"

    @property
    def epsilon(self) -> float:
        """ln γ, rounded up."""
        return breaches.epsilon(self.amplification)

    @property
    def log_amplification_bits(self) -> float:
        """log2 γ, rounded up: what the worst report tells at most under any prior."""
        return self.epsilon / math.log(2) * (1 + 1e-15)

    @property
    def largest_rise(self) -> float:
        """The most that the probability of any property can move."""
        return breaches.largest_rise(self.amplification)

    @property
    def information_limit(self) -> float:
        """Worst-case information in bits, of a report or its inverse, under any prior."""
        return information_limit(self.amplification)


@dataclass(frozen=True, slots=True)
class Privacy:
    """What one report and several of one person prove under a plan.

    Attributes:
        information: of one report, all transactions of M items being equally likely.
        mutual_limit: what one report tells at most on average, in bits, under any prior.
        central: what holds for shuffled reports of so many ``people``, R of each; no part of the promise.
    """

    plan: "Plan"
    one: Together
    together: Together
    information: PlanInformation
    mutual_limit: float
    people: int | None
    central: "Central | None"


def describe_privacy(
    plan: "Plan",
    priors: Iterable["str | float | Fraction"] = (),
    *,
    reports_per_person: int | None = None,
    shuffled: int | None = None,
    delta: float | str = DEFAULT_DELTA,
) -> Privacy:
    """Return what a plan proves about privacy.

    Args:
        plan: the plan.
        priors: probabilities of a property before a report, for the table; by default usual ones and the promise's.
        reports_per_person: R, reports of one person to look at together; by default as many as the plan allows.
        shuffled: number of people whose reports pass a channel that hides who sent which.
        delta: δ of the guarantee for shuffled reports.

    Raises:
        PlanError: a number out of range.
        EstimateError: a number of people or δ that the guarantee is not made for.
    """
    asked, people = _table_priors(priors, [plan]), None if shuffled is None else check_whole("shuffled", shuffled)
    count = plan.reports_per_person if reports_per_person is None else reports_per_person
    count = check_range("reports per person", count, 1, MOST_REPORTS_PER_PERSON)
    one, several = (
        Together(number, gamma, breaches.breach_curve(gamma, asked))
        for number, gamma in ((1, plan.amplification), (count, _power_up(plan.amplification, count)))
    )
    return Privacy(
        plan=plan,
        one=one,
        together=several,
        information=plan_information(plan),
        mutual_limit=min(_mutual_limit(plan), one.information_limit),
        people=people,
        central=None if people is None else _shuffled(plan, count, people, float(breaches.parse_share(delta, "delta"))),
    )


def _mutual_limit(plan: "Plan") -> float:
    """Return a bound for what one report tells on average: the question is drawn whatever the basket."""
    return sum(float(plan.share(question)) * mutual_limit(question.operator) for question in plan.questions)


def _table_priors(priors: Iterable["str | float | Fraction"], plans: Iterable[PublishedPlan] = ()) -> list[Fraction]:
    """Return the priors to show, in order: those asked for, or the usual ones and those of the plans' promises."""
    asked = {breaches.parse_probability(prior, "prior") for prior in priors}
    if not asked:
        asked = {breaches.parse_probability(prior, "prior") for prior in DEFAULT_PRIORS}
        for plan in plans:
            if plan.promise is not None:
                asked |= {plan.promise.prior, plan.promise.posterior}
    return sorted(asked)


def _power_up(amplification: Fraction, count: int) -> Fraction:
    """Return γ^R, or a number slightly above it where γ^R itself would have a hundred thousand bits."""
    if count > 1 and amplification.numerator.bit_length() * count > _LONGEST:
        amplification = breaches.round_up(amplification, breaches.LARGEST_DENOMINATOR)
    together = amplification**count
    return _shorter(together)


def _shorter(amplification: Fraction) -> Fraction:
    """Return γ, rounded up where it has more digits than are kept exact."""
    is_long = amplification.numerator.bit_length() > _LONGEST
    return breaches.round_up(amplification, breaches.LARGEST_DENOMINATOR) if is_long else amplification


def _shuffled(plan: "Plan", count: int, people: int, delta: float) -> Central:
    """Return what shuffled reports guarantee: R reports of each person are R shuffles, whose ε and δ add up."""
    share = delta if count == 1 else math.nextafter(delta / count, 0)
    each = central_guarantee(plan.amplification, people, share, blanket=blanket_of(plan))
    total = each.epsilon if count == 1 else math.nextafter(count * each.epsilon, math.inf)
    return replace(each, epsilon=total, delta=delta)


# ---- several plans


@dataclass(frozen=True, slots=True)
class PlanAnswers:
    """All that one person sends under one plan, and what that proves."""

    plan: PublishedPlan
    together: Together

    @property
    def covered(self) -> bool:
        """Whether the plan's own promise is for so many reports of a person."""
        return self.together.reports <= self.plan.reports_per_person


@dataclass(frozen=True, slots=True)
class Budget:
    """What one person's answers to several plans tell: under each plan, and all of them together."""

    answers: tuple[PlanAnswers, ...]
    together: Together


def describe_budget(answers: Iterable[PlanUse], priors: Iterable["str | float | Fraction"] = ()) -> Budget:
    """Return what one person's answers tell together.

    Args:
        answers: plans, each alone (then as many reports as it allows a person) or with a number of reports: a weekly
            collection over a year is ``(plan, 52)``. Reports of a plan that stands there twice are added up.
        priors: probabilities of a property before all of them; by default usual ones and the promises'.

    Raises:
        PlanError: no plan, a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.
    """
    plans, counts = dict[str, PublishedPlan](), Counter[str]()  # by id: a promise is for all reports of its plan
    for plan, count in map(_counted, answers):
        plans[plan.plan_id] = plan
        counts[plan.plan_id] += count
    if not plans:
        raise PlanError("a budget needs at least one plan")
    asked = _table_priors(priors, plans.values())
    parts = [(plan, counts[name], _power_up(_amplification(plan), counts[name])) for name, plan in plans.items()]
    total = _shorter(breaches.compose(gamma for _, _, gamma in parts))
    return Budget(
        tuple(
            PlanAnswers(plan, Together(count, gamma, breaches.breach_curve(gamma, asked)))
            for plan, count, gamma in parts
        ),
        Together(counts.total(), total, breaches.breach_curve(total, asked)),
    )


def _counted(answer: object) -> tuple[PublishedPlan, int]:
    plan, count = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    if not isinstance(plan, PublishedPlan):
        raise TypeError(
            "give plans (read_plan reads one from a file), or pairs of a plan and a number of reports, as "
            f"[weekly, (monthly, 12)]; got a {type(answer).__name__}"
        )
    count = plan.reports_per_person if count is None else count
    return plan, check_range("the number of reports", count, 1, MOST_REPORTS_PER_PERSON)


def _amplification(plan: PublishedPlan) -> Fraction:
    if plan.amplification is None:
        raise PlanError(
            f"plan {plan.plan_id[:12]} of the kind {plan.kind} states no γ, so nothing bounds what its reports tell"
        )
    return plan.amplification


# ---- what reports can show


@dataclass(frozen=True, slots=True)
class Prospects:
    """What N reports of a plan can show; γ composed is rounded up, ``liars`` as of :func:`liars_among`.

    Attributes:
        least_min_supports: by itemset size, the least minimum support that mining would not call undecidable.
        forged: what forged answers about sizes do, where the plan asks about these.
    """

    plan: "Plan"
    reports: int
    composed_amplification: Fraction
    discoverable: DiscoverableSupports
    liars: dict[int, Liars | None]
    most_targets: int
    least_min_supports: dict[int, float]
    forged: tuple[Forged, ...] = ()


def foresee(plan: "Plan", reports: int) -> Prospects:
    """Return what so many reports of a plan can show.

    Raises:
        PlanError: fewer reports than one.
    """
    reports = check_whole("reports", reports)
    if reports < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    respondents, mined = Respondents.of(plan, reports), plan.items.itemset_size
    return Prospects(
        plan=plan,
        reports=reports,
        composed_amplification=_composed_up(plan),
        discoverable=discoverable_supports(plan, reports),
        liars=liars_among(plan, reports),
        most_targets=most_targets(plan),
        least_min_supports={k: UNDECIDABLE_BELOW * foreseen_error(respondents, k, 0.0) for k in range(1, mined + 1)},
        forged=forged_sizes(plan, reports),
    )


def _composed_up(plan: "Plan") -> Fraction:
    """Return γ^R of all that one person sends; of several reports rounded up to 24 decimals, for its digits grow."""
    if plan.reports_per_person == 1:
        return plan.amplification
    return breaches.round_up(plan.composed_amplification, breaches.LARGEST_DENOMINATOR)


# ---- a support to discover


@dataclass(frozen=True, slots=True)
class Discovery:
    """A plan and a number of its reports that discover a support; ``solved`` is what was asked for of the two.

    ``targets`` are the itemset sizes that the support is discoverable at.
    """

    plan: "Plan"
    reports: int
    support: Fraction
    targets: tuple[int, ...]
    solved: str

    @property
    def promise(self) -> breaches.Breach:
        """What no report, nor all of one person, may do."""
        return self.plan.promise


def reports_needed(
    support: "float | str | Fraction",
    items: int | Iterable[str],
    transaction_size: int,
    promise: breaches.Breach,
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

    Returns:
        ``reports``, the ``plan``, and the ``targets``, itemset sizes at which the support is discoverable.

    Raises:
        PlanError: arguments out of range, no operator fits, or more than 10^15 reports would be needed.

    >>> import assocpriv as ap
    >>> ap.reports_needed("10%", ["milk", "tea"], 2, ap.Breach("5%", "50%"), kind="fixed-size").reports
    369
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


def reports_to_discover(plan: "Plan", support: "float | str | Fraction") -> dict[int, int | None]:
    """Return at how many reports of this very plan a support is discoverable, by itemset size, all of a size together.

    At one report fewer it is not. None where 10^15 reports do not do.

    Raises:
        PlanError: a support outside (0, 1].

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.reports_to_discover(made, "10%")
    {1: 369, 2: 175}
    """
    wanted = _support(support)
    reports = {}
    for k in range(1, plan.items.itemset_size + 1):

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

    Returns:
        ``promise``, the ``plan``, and the ``targets``, itemset sizes at which the support is discoverable.

    Raises:
        PlanError: arguments out of range, or no promise up to ε = 20 does.

    >>> import assocpriv as ap
    >>> found = ap.promise_needed("10%", ["milk", "tea"], 1, 10_000, kind="fixed-size")
    >>> f"{float(found.promise.prior):.1%} -> {float(found.promise.posterior):.1%}"
    '5.0% -> 8.1%'
    """
    largest = MOST_EPSILON * EPSILON_STEPS
    question = _Question(items, transaction_size, support, choices, progress, steps=largest.bit_length() + 1)
    reports = check_range("reports", reports, 1, MOST_REPORTS)

    def promise_at(steps: int) -> breaches.Breach:
        return breaches.Epsilon(Fraction(steps, EPSILON_STEPS), prior)

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

    def _plan(self, promise: breaches.Breach, reports: int) -> "Plan":
        step = min(self.plan.cache_info().misses, self.steps) - 1
        part = part_of(self.progress, step, self.steps)
        return make_plan(self.items, self.transaction_size, promise, reports=reports, progress=part, **self.choices)

    def targets(self, plan: "Plan") -> tuple[int, ...]:
        wishes = PlanWishes(promise=plan.promise, target=self.choices.get("target"))
        return tuple(wishes.targets(plan.items.itemset_size))

    def discovers(self, plan: "Plan", reports: int) -> bool:
        """Tell whether all itemsets of each size that matters can be believed at the support."""
        return self.level(plan, reports) <= self.support

    def level(self, plan: "Plan", reports: int) -> float:
        """Return the largest of the level's figures."""
        return max(_level(plan, reports, k) for k in self.targets(plan))

    def answer(self, promise: breaches.Breach, reports: int, solved: str) -> Discovery:
        plan = self.plan(promise, reports)
        return Discovery(plan, reports, self.support, self.targets(plan), solved)


def _support(asked: "float | str | Fraction") -> Fraction:
    support = breaches.parse_probability(asked, "the support to discover")
    if not support:
        raise PlanError("the support to discover must be above 0")
    return support


def _level(plan: "Plan", reports: int, k: int) -> float:
    """Return the level's figure of all itemsets of k items."""
    return level_discoverable_support(Respondents.of(plan, reports), k, comb(plan.n_items, k))


def _guess_of_reports(question: _Question, promise: breaches.Breach) -> int:
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


def _fewer_reports(question: _Question, promise: breaches.Breach, edge: int) -> int:
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


@overload
def privacy(  # type: ignore[overload-overlap]  # of a plan of baskets more is known than of any plan
    plans: "Plan", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy": ...


@overload
def privacy(
    plans: "PublishedPlan | Iterable[PlanUse]", priors: Iterable["str | float | Fraction"] = ()
) -> "Budget": ...


def privacy(
    plans: "PublishedPlan | Iterable[PlanUse]", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy | Budget":
    """Return what a plan proves about privacy, or what all answers of one person to several plans tell together.

    Args:
        plans: a plan; or a list of plans, each alone (as many reports as it allows a person) or with a number of
            reports: ``[survey, (weekly, 52)]`` is one survey and a year of weekly reports.
        priors: probabilities of a property beforehand, for the table; by default usual ones and the promises'.
        options: of one plan of baskets ``reports_per_person``, ``shuffled`` and ``delta``, as :func:`describe_privacy`
            has them.

    Returns:
        Of one plan of baskets its ``one`` report, several ``together``, and information in bits; of others all
        ``answers`` and what they prove ``together``: ``amplification`` (the product of all γ, rounded up),
        ``epsilon``, ``beliefs``.

    Raises:
        PlanError: a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(1000, 3, ap.Breach("5%", "50%"))
    >>> ap.privacy([made, (made, 2)]).together.amplification == made.amplification**3
    True
    """

    if isinstance(plans, PublishedPlan):
        if isinstance(plans, Plan):
            return describe_privacy(plans, priors, **options)
        plans = [plans]
    if options:
        raise TypeError(
            f"{next(iter(options))} goes with one plan of baskets; of others give pairs of a plan and its reports"
        )
    if not isinstance(plans, Iterable):
        raise TypeError(f"give a plan (read_plan reads one from a file) or a list, got a {type(plans).__name__}")
    return describe_budget(plans, priors)
