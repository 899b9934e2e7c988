"""What one person's answers to several plans, and over weeks, tell together: γ multiplies, rounded up where it is long.

Reports are drawn with draws of their own, so p[x → (y, y')] = p[x → y]·p'[x → y'] (core/privacy.py): whatever the
baskets of different weeks have to do with each other, and also where a later plan was made from what earlier ones
showed.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from assocpriv.core.errors import PlanError
from assocpriv.core.numbers import check_range
from assocpriv.core.privacy import breach_curve, compose
from assocpriv.planning.plan_facts import LONGEST, Together, power_up, table_priors
from assocpriv.plans.baskets.plan import MOST_REPORTS_PER_PERSON
from assocpriv.plans.published import PublishedPlan

Answers = PublishedPlan | tuple[PublishedPlan, int]


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
            collection over a year is ``(plan, 52)``.
        priors: probabilities of a property before all of them; by default usual ones and the promises'.

    Raises:
        PlanError: no plan, a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.
    """
    counted = [_counted(each) for each in answers]
    if not counted:
        raise PlanError("a budget needs at least one plan")
    asked = table_priors(priors, [plan for plan, _ in counted])
    parts = [(plan, count, power_up(_amplification(plan), count)) for plan, count in counted]
    total = compose(gamma for _, _, gamma in parts)
    if total.numerator.bit_length() > LONGEST:
        total = Fraction(math.ceil(total * (1 << 128)), 1 << 128)
    return Budget(
        tuple(PlanAnswers(plan, Together(count, gamma, breach_curve(gamma, asked))) for plan, count, gamma in parts),
        Together(sum(count for _, count in counted), total, breach_curve(total, asked)),
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
        raise PlanError(f"a plan of the kind {plan.kind} states no γ, so nothing bounds what is told together with it")
    return plan.amplification
