"""What a plan proves about privacy beside what its reports can show.

What γ proves errs against us. It is told of one report, of all of one person, of one person's answers to several plans,
also over weeks. Reports are drawn with draws of their own, so their γ multiply (promise/breaches.py), whatever the
baskets of different weeks have to do with each other, and also where a later plan was made from what earlier ones
showed.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count as counting
from math import comb
from typing import Any, overload

from assocpriv.planning.baskets import Choice, choose_plan, whole_levels
from assocpriv.planning.designs import MOST_REPORTS
from assocpriv.planning.information import PlanInformation, mutual_limit, plan_information
from assocpriv.planning.request import catalogue_of
from assocpriv.planning.sizes import Forged, forged_sizes
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON, PublishedPlan
from assocpriv.promise import breaches
from assocpriv.promise.errors import PlanError
from assocpriv.promise.information import information_limit
from assocpriv.promise.numbers import check_range
from assocpriv.promise.shuffling import Central, central_guarantee
from assocpriv.server.crafted import Liars, liars_among, most_targets
from assocpriv.server.intervals import DiscoverableSupports, discoverable_supports, level_discoverable_support
from assocpriv.server.supports import Respondents

DEFAULT_PRIORS = ("0.1%", "1%", "5%", "10%", "25%", "50%", "75%", "90%", "99%")
_LONGEST = 1 << 16  # bits of a composed γ that is kept exact
PlanUse = PublishedPlan | tuple[PublishedPlan, int]

REPORTS, PROMISE = "reports", "promise"  # what is looked for
EPSILON_STEPS = 100  # of 1: promises are made to be read, so ε has two decimals
MOST_EPSILON = 20  # γ = 5·10^8 promises nobody anything
_MOST_PLACES = 90 * 14 + 10  # of 10^15 among numbers of two digits
_SEARCH_STEPS = 14  # about


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
        central: of a plan that has a central promise what is proved of it: the least ε for its δ, R reports a person.
        liars: of such a plan how far crafted reports among one batch move supports, by itemset size.
    """

    plan: "Plan"
    one: Together
    together: Together
    information: PlanInformation
    mutual_limit: float
    central: Central | None
    liars: dict[int, Liars | None]


def describe_privacy(
    plan: "Plan",
    priors: Iterable["str | float | Fraction"] = (),
    *,
    reports_per_person: int | None = None,
) -> Privacy:
    """Return what a plan proves about privacy.

    Args:
        plan: the plan.
        priors: probabilities of a property before a report, for the table; by default usual ones and the promise's.
        reports_per_person: R, reports of one person to look at together; by default as many as the plan allows.

    Raises:
        PlanError: a number out of range.
        PrivacyLimitError: a central promise that does not follow from the plan.
    """
    plan.check_central()
    asked = _table_priors(priors, [plan])
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
        central=_proved(plan),
        liars=liars_among(plan, plan.central.reports) if plan.central else {},
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


def _proved(plan: "Plan") -> Central | None:
    """Return the least ε that is proved for a batch at the promise's δ, of all R reports of a person."""
    if plan.central is None:
        return None
    _, delta = plan.central.of_each(plan.reports_per_person)
    each = central_guarantee(plan.amplification, plan.central.people, delta, blanket=plan.blanket)
    # a larger ε than the proved one only by what floats were rounded, and the promised one is proved by itself
    total = min(each.epsilon * plan.reports_per_person * (1 + 1e-15), float(plan.central.epsilon))
    return replace(each, epsilon=total, delta=float(plan.central.delta))


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
        forged: what forged answers about sizes do, where the plan asks about these.
    """

    plan: "Plan"
    reports: int
    composed_amplification: Fraction
    discoverable: DiscoverableSupports
    liars: dict[int, Liars | None]
    most_targets: int
    forged: tuple[Forged, ...] = ()


def foresee(plan: "Plan", reports: int, *, forged: bool = True) -> Prospects:
    """Return what so many reports of a plan can show; ``forged`` answers about sizes take longest.

    Raises:
        PlanError: fewer reports than one.
    """
    plan.check_central()
    reports = check_range("reports", reports, 1, MOST_REPORTS)
    return Prospects(
        plan=plan,
        reports=reports,
        composed_amplification=_composed_up(plan),
        discoverable=discoverable_supports(plan, reports),
        liars=liars_among(plan, reports),
        most_targets=most_targets(plan),
        forged=forged_sizes(plan, reports) if forged else (),
    )


def _composed_up(plan: "Plan") -> Fraction:
    """Return γ^R of all that one person sends; of several reports rounded up to 24 decimals, for its digits grow."""
    if plan.reports_per_person == 1:
        return plan.amplification
    return breaches.round_up(plan.composed_amplification, breaches.LARGEST_DENOMINATOR)


# ---- a support to find


@dataclass(frozen=True, slots=True)
class Found:
    """A need that finds a support in whole baskets: reports for a promise, or a promise for so many reports.

    ``size`` is how many items the itemsets have; ``solved`` is what was asked for, ``reports`` or ``promise``.
    """

    choice: Choice
    support: Fraction
    size: int
    solved: str

    @property
    def plan(self) -> "Plan":
        """The plan that was chosen for them."""
        return self.choice.plan

    @property
    def reports(self) -> int:
        """Reports."""
        return self.choice.reports

    @property
    def promise(self) -> breaches.Breach:
        """What no report, nor all of one person, may do."""
        return self.plan.promise


def reports_to_discover(plan: "Plan", support: "float | str | Fraction") -> dict[int, int | None]:
    """Return at how many reports of this very plan a support is discoverable, by itemset size, all of a size together.

    At one report fewer it is not. None where 10^15 reports do not do.

    Args:
        plan: a plan.
        support: in (0, 1], as 0.01 or ``"1%"``, within at most M sampled items.

    Raises:
        PlanError: a support outside (0, 1].

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Breach("5%", "50%"), transaction_size=2, paper=True)
    >>> ap.reports_to_discover(made, "10%")
    {1: 1858, 2: 853}
    """
    plan, wanted, found = Plan.of(plan), _support(support), dict[int, int | None]()
    for k in range(1, plan.items.itemset_size + 1):

        def discovers(number: int, k: int = k) -> bool:
            candidates = comb(plan.n_items, k)
            return level_discoverable_support(Respondents.of(plan, number), k, candidates) <= wanted

        found[k] = _least(discovers, MOST_REPORTS)
    return found


def _support(asked: "float | str | Fraction") -> Fraction:
    support = breaches.parse_probability(asked, "the support to find")
    if not support:
        raise PlanError("the support to find must be above 0")
    return support


def find_plan(
    support: "float | str | Fraction",
    items: int | Iterable[str],
    *,
    size: int = 2,
    reports: int | None = None,
    promise: breaches.Breach | None = None,
    prior: "str | float | Fraction" = "5%",
    progress: Callable[[int, int], None] | None = None,
    **known: Any,
) -> Found:
    """Return the plan of :func:`assocpriv.find_plan`; ``known`` is all else that :func:`choose_plan` takes.

    All itemsets of a size are found where the level's figure (server/intervals.py), times what undoing the sampling
    multiplies it by, is no more than the support. The planner's designs change with what is looked for, so what holds
    at one step may fail at the next: the answer is an edge, and others may lie below.
    """
    wanted = _support(support)
    if reports is None and promise is None:
        raise PlanError("give the promise, or how many reports there will be: the other is what is looked for")
    size, catalogue = check_range("size", size, 1, MAX_TRANSACTION_SIZE), catalogue_of(items)
    known = {"itemset_size": size, **known}
    if (known["itemset_size"] or size) < size:
        raise PlanError("itemset_size (K) must be at least the size of the itemsets to find; leave it out")
    tried = counting(1)

    def choice_for(promise: breaches.Breach, number: int) -> Choice:
        if progress:
            progress(min(next(tried), _SEARCH_STEPS), _SEARCH_STEPS)
        return choose_plan(catalogue, promise, reports=number, **known)

    def finds(promise: breaches.Breach, number: int) -> bool:
        choice = choice_for(promise, number)
        return whole_levels(choice.plan, number, choice.request.sizes)[size] <= wanted

    def least_reports(promise: breaches.Breach) -> int:
        place = _least(lambda place: finds(promise, _two_digits(place)), _MOST_PLACES)
        if place is None:
            raise PlanError("not even 10^15 reports would do; ask for a larger support or smaller itemsets")
        return _two_digits(place)

    if reports is None:
        assert promise is not None
        return Found(choice_for(promise, least_reports(promise)), wanted, size, REPORTS)
    reports = check_range("reports", reports, 1, MOST_REPORTS)
    most = MOST_EPSILON * EPSILON_STEPS
    if promise is not None:
        most, prior = int(breaches.epsilon(promise.amplification_limit) * EPSILON_STEPS), promise.prior
    steps = _least(lambda step: finds(breaches.Epsilon(Fraction(step, EPSILON_STEPS), prior), reports), most)
    if steps is None and promise is not None and finds(promise, reports):
        return Found(choice_for(promise, reports), wanted, size, PROMISE)  # its ε has more than two decimals
    if steps is None:
        weakest = promise or breaches.Epsilon(MOST_EPSILON, prior)
        most_epsilon = breaches.epsilon(weakest.amplification_limit)
        raise PlanError(
            f"{reports:,} reports are too few to find all {itemsets_of(size)} in {float(wanted):.3%} of baskets; with "
            f"ε {most_epsilon:.2f} about {least_reports(weakest):,} would do; or look for a larger support"
        )
    promise = breaches.Epsilon(Fraction(steps, EPSILON_STEPS), prior)
    return Found(choice_for(promise, reports), wanted, size, PROMISE)


def _two_digits(place: int) -> int:
    """Return the numbers of at most two digits and zeros, in order: 1, 2 … 99, 100, 110 …

    >>> [_two_digits(place) for place in (1, 99, 100, 101, 189, 190)]
    [1, 99, 100, 110, 990, 1000]
    """
    if place < 100:
        return place
    power, digits = divmod(place - 10, 90)
    return int((digits + 10) * 10**power)


def _least(holds: Callable[[int], bool], most: int) -> int | None:
    """Return a number in 1..most that holds while the one below does not; None if not even the most."""
    low, high = 0, most
    if not holds(most):
        return None
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
        options: of one plan of baskets ``reports_per_person``, as :func:`describe_privacy` has it.

    Returns:
        Of one plan of baskets its ``one`` report, several ``together``, and information in bits; of others all
        ``answers`` and what they prove ``together``: ``amplification`` (the product of all γ, rounded up),
        ``epsilon``, ``beliefs``.

    Raises:
        PlanError: a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(1000, ap.Breach("5%", "50%"))
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
