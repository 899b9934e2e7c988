"""What a plan's γ proves about privacy, erring against us, and what a number of its reports can show.

Also of one person's answers to several plans, and over weeks. Reports are drawn with draws of their own, so their γ
multiply (promise/breaches.py), whatever the baskets of different weeks have to do with each other, and also where a
later plan was made from what earlier ones showed.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from assocpriv.planning.information import PlanInformation, mutual_limit, plan_information
from assocpriv.plans.baskets import MOST_REPORTS_PER_PERSON, Plan
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import (
    LARGEST_DENOMINATOR,
    BeliefRange,
    breach_curve,
    compose,
    epsilon,
    largest_rise,
    parse_probability,
    parse_share,
    round_up,
)
from assocpriv.promise.errors import PlanError
from assocpriv.promise.information import information_limit
from assocpriv.promise.numbers import check_range, check_whole
from assocpriv.server.crafted.influence import Liars, liars_among, most_targets
from assocpriv.server.estimates.limits import DiscoverableSupports, discoverable_supports
from assocpriv.server.estimates.supports import Respondents, foreseen_error
from assocpriv.server.itemsets.apriori import UNDECIDABLE_BELOW
from assocpriv.server.rounds.sampling_model import Sampling

if TYPE_CHECKING:
    from assocpriv.planning.shuffling import Central

DEFAULT_PRIORS = ("0.1%", "1%", "5%", "10%", "25%", "50%", "75%", "90%", "99%")
DEFAULT_DELTA = 1e-9
_LONGEST = 1 << 16  # bits of a composed γ that is kept exact
Answers = PublishedPlan | tuple[PublishedPlan, int]


@dataclass(frozen=True, slots=True)
class Together:
    """What so many reports of one person, each with its own draws, prove together."""

    reports: int
    amplification: Fraction
    beliefs: tuple[BeliefRange, ...]

    def __repr__(self) -> str:
        """Say what it is; γ of many reports has more digits than Python writes."""
        return f"Together(reports={self.reports}, epsilon<={self.epsilon:.6g})"

    @property
    def epsilon(self) -> float:
        """ln γ, rounded up."""
        return epsilon(self.amplification)

    @property
    def log_amplification_bits(self) -> float:
        """log2 γ, rounded up: what the worst report tells at most under any prior."""
        return self.epsilon / math.log(2) * (1 + 1e-15)

    @property
    def largest_rise(self) -> float:
        """The most that the probability of any property can move."""
        return largest_rise(self.amplification)

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

    plan: Plan
    one: Together
    together: Together
    information: PlanInformation
    mutual_limit: float
    people: int | None
    central: "Central | None"


def _table_priors(priors: Iterable["str | float | Fraction"], plans: Iterable[PublishedPlan] = ()) -> list[Fraction]:
    """Return the priors to show, in order: those asked for, or the usual ones and those of the plans' promises."""
    asked = {parse_probability(prior, "prior") for prior in priors}
    if not asked:
        asked = {parse_probability(prior, "prior") for prior in DEFAULT_PRIORS}
        for plan in plans:
            if plan.promise is not None:
                asked |= {plan.promise.prior, plan.promise.posterior}
    return sorted(asked)


def describe_privacy(
    plan: Plan,
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
        Together(number, gamma, breach_curve(gamma, asked))
        for number, gamma in ((1, plan.amplification), (count, _power_up(plan.amplification, count)))
    )
    return Privacy(
        plan=plan,
        one=one,
        together=several,
        information=plan_information(plan),
        mutual_limit=min(mutual_limit(plan.operator), one.information_limit),
        people=people,
        central=None if people is None else _shuffled(plan, count, people, float(parse_share(delta, "delta"))),
    )


def _power_up(amplification: Fraction, count: int) -> Fraction:
    """Return γ^R, or a number slightly above it where γ^R itself would have a hundred thousand bits."""
    if count > 1 and amplification.numerator.bit_length() * count > _LONGEST:
        amplification = round_up(amplification, LARGEST_DENOMINATOR)
    together = amplification**count
    return round_up(together, LARGEST_DENOMINATOR) if together.numerator.bit_length() > _LONGEST else together


def _shuffled(plan: Plan, count: int, people: int, delta: float) -> "Central":
    """Return what shuffled reports guarantee: R reports of each person are R shuffles, whose ε and δ add up."""
    from assocpriv.planning.shuffling import blanket_mass, central_guarantee

    share = delta if count == 1 else math.nextafter(delta / count, 0)
    each = central_guarantee(plan.amplification, people, share, blanket=blanket_mass(plan.operator))
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


def describe_budget(answers: Iterable[Answers], priors: Iterable["str | float | Fraction"] = ()) -> Budget:
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
    total = compose(gamma for _, _, gamma in parts)
    if total.numerator.bit_length() > _LONGEST:
        total = round_up(total, LARGEST_DENOMINATOR)
    return Budget(
        tuple(PlanAnswers(plan, Together(count, gamma, breach_curve(gamma, asked))) for plan, count, gamma in parts),
        Together(counts.total(), total, breach_curve(total, asked)),
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


def composed_amplification_up(plan: Plan) -> Fraction:
    """Return γ^R of all that one person sends; of several reports rounded up to 24 decimals, for its digits grow."""
    if plan.reports_per_person == 1:
        return plan.amplification
    return round_up(plan.composed_amplification, LARGEST_DENOMINATOR)


@dataclass(frozen=True, slots=True)
class Prospects:
    """What N reports of a plan can show; γ composed is rounded up, ``liars`` as of :func:`liars_among`.

    Attributes:
        least_min_supports: by itemset size, the least minimum support that mining would not call undecidable.
        asked: with blocks, which share of the people are asked about an itemset, by its size.
    """

    plan: Plan
    reports: int
    composed_amplification: Fraction
    discoverable: DiscoverableSupports
    liars: dict[int, Liars | None]
    most_targets: int
    least_min_supports: dict[int, float]
    asked: dict[int, Fraction]


def foresee(plan: Plan, reports: int) -> Prospects:
    """Return what so many reports of a plan can show.

    Raises:
        PlanError: fewer reports than one.
    """
    reports = check_whole("reports", reports)
    if reports < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    respondents, mined = Respondents.of(plan, reports), 1 if plan.view.itemsets else plan.itemset_size
    return Prospects(
        plan=plan,
        reports=reports,
        composed_amplification=composed_amplification_up(plan),
        discoverable=discoverable_supports(plan, reports),
        liars=liars_among(plan, reports),
        most_targets=most_targets(plan),
        least_min_supports={k: UNDECIDABLE_BELOW * foreseen_error(respondents, k, 0.0) for k in range(1, mined + 1)},
        asked=_asked(plan),
    )


def _asked(plan: Plan) -> dict[int, Fraction]:
    """Return the shares of the people who are asked about itemsets of each size, where there are blocks."""
    blocks = plan.view.blocks
    if blocks is None:
        return {}
    sampling = Sampling(plan.transaction_size, plan.n_items, blocks.pieces)
    return {k: sampling.asked(k) for k in range(1, plan.itemset_size + 1)}
