"""Several reports of one person: what they tell together, exactly, and that every place keeps the promise for all."""

import time
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from command_line import mine
from hypothesis import given
from hypothesis import strategies as st
from naive import items_plan

import assocpriv as ap
from assocpriv.client.baskets import Randomizer
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.discovery import foresee
from assocpriv.planning.request import limit_of_each
from assocpriv.planning.shortlist import refine
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Generator
from assocpriv.plans.operator import FixedSizeOperator, Operator
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON
from assocpriv.plans.question import Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError, PrivacyLimitError
from assocpriv.show import plans as shown
from assocpriv.show.text import lines as lines_of
from assocpriv.simulation.enumeration import distribution

PROMISE = Breach("5%", "50%")
MOST_SECONDS = 30
M1, M2 = Operator(1, 1, 1, 3, (1, 7)), Operator(2, 1, 1, 4, (1, 2, 11))
ONE = items_plan(2, M1, Generator("bch", 2, 7, 1), promise=PROMISE)  # γ = 7, two bits
Law = dict[tuple[bytes, ...], Fraction]


def just_below(limit: Fraction) -> Breach:
    """Return a promise with a given limit."""
    return Breach(1 / (1 + limit), Fraction(1, 2))


def fixed(weights: tuple[int, ...], promise: Breach, reports: int) -> Plan:
    """Return a plan of two items whose γ is the ratio of two weights."""
    operator = FixedSizeOperator(1, 3, 1, weights)
    return items_plan(2, operator, promise=promise, reports_per_person=reports)


# ---- exactly, by enumeration

ABOVE = Fraction(1001, 1000)
PLANS = {
    "bch": replace(ONE, promise=just_below(Fraction(49) * ABOVE), reports_per_person=2),
    "bch, three reports": replace(ONE, promise=just_below(Fraction(343) * ABOVE), reports_per_person=3),
    "none": items_plan(2, M1, promise=just_below(Fraction(49) * ABOVE), reports_per_person=2),
    "fixed size": fixed((2, 5), just_below(Fraction(25, 4) * ABOVE), 2),
    # each report draws one of two questions
    "two questions": replace(
        items_plan(2, M1, promise=just_below(Fraction(49) * ABOVE), reports_per_person=2),
        questions=(Question(2, M1), Question(2, FixedSizeOperator(1, 3, 1, (1, 3)), view=SizesView((1, 2)), weight=2)),
    ),
}


def joint_law(plan: Plan, baskets: tuple[Collection[int], ...]) -> Law:
    """Return the exact distribution of all reports of one person, who reports on these baskets in turn."""
    client = Randomizer(plan)
    return distribution(lambda entropy: tuple(client.randomize(basket, entropy=entropy) for basket in baskets))


def largest_ratio(laws: list[Law]) -> Fraction:
    """Return the largest ratio of two laws over all outcomes, none of which may be impossible under one alone."""
    assert len({frozenset(law) for law in laws}) == 1
    return max(max(law[outcome] for law in laws) / min(law[outcome] for law in laws) for outcome in laws[0])


@pytest.mark.parametrize("name", PLANS)
def test_all_reports_together_reach_the_power_of_gamma(name: str) -> None:
    """Over all baskets of all occasions the joint ratio is γ^R exactly: below the limit, and above γ."""
    plan = PLANS[name]
    baskets = [(0,), (1,)] if plan.reports_per_person > 2 else [(), (0,), (1,), (0, 1)]
    laws = [joint_law(plan, chosen) for chosen in product(baskets, repeat=plan.reports_per_person)]
    worst = largest_ratio(laws)
    assert worst == plan.composed_amplification == plan.amplification**plan.reports_per_person
    assert plan.amplification < worst < plan.promise.amplification_limit


@pytest.mark.parametrize(("reports", "most"), [(1, 49), (2, 6), (3, 3)])
def test_one_unit_above_is_refused(reports: int, most: int) -> None:
    """With a limit of 50 the largest weight that keeps R reports below it is accepted, and one more is refused."""
    promise = Breach("1/51", "1/2")
    assert promise.amplification_limit == 50
    kept = fixed((1000, 1000 * most), promise, reports)
    assert kept.composed_amplification < 50
    largest = max(v for v in range(1000, 50_000) if Fraction(v, 1000) ** reports < 50)
    assert fixed((1000, largest), promise, reports).amplification == Fraction(largest, 1000)
    with pytest.raises(PrivacyLimitError, match="breaks its promise"):
        fixed((1000, largest + 1), promise, reports)


def test_the_limit_itself_is_refused() -> None:
    """Two reports of γ = 7 need a limit above 49; each alone would keep 49."""
    assert replace(ONE, promise=Breach("1/51", "1/2"), reports_per_person=2).composed_amplification == 49
    with pytest.raises(PrivacyLimitError, match="of 2 reports together 49 breaks its promise"):
        replace(ONE, promise=Breach("1/50", "1/2"), reports_per_person=2)
    assert replace(ONE, promise=Breach("1/50", "1/2")).reports_per_person == 1


@pytest.mark.parametrize("reports", [0, -1, 1001, 2.0, True, "2", None])
def test_numbers_of_reports_out_of_range_are_refused(reports: Any) -> None:
    """R is a whole number in 1..1000, in a plan and for the planner."""
    with pytest.raises(PlanError, match="reports_per_person"):
        replace(ONE, reports_per_person=reports)
    with pytest.raises((PlanError, TypeError), match="reports_per_person"):
        make_plan(10, PROMISE, reports_per_person=reports)


def test_a_hostile_plan_of_many_reports_is_refused_in_time() -> None:
    """The power of the longest γ that a plan can state is compared with the limit at once, not in minutes."""
    operator = FixedSizeOperator(1, 3, 1, ((1 << 1023) + 1, 1 << 1024))
    start = time.process_time()
    with pytest.raises(PrivacyLimitError):
        items_plan(2, operator, promise=PROMISE, reports_per_person=1000)
    low = FixedSizeOperator(1, 3, 1, ((1 << 1024) - (1 << 1013) - 1, 1 << 1024))
    kept = items_plan(2, low, promise=PROMISE, reports_per_person=1000)
    assert shown.plan(foresee(kept, 1000)).to_json()["reports_per_person"] == 1000
    assert time.process_time() - start < MOST_SECONDS


# ---- the planner

LIMITS = st.fractions(min_value=Fraction(1001, 1000), max_value=10**12, max_denominator=10**9)


@given(LIMITS, st.integers(1, MOST_REPORTS_PER_PERSON))
def test_the_limit_of_each_is_the_root_rounded_down(limit: Fraction, reports: int) -> None:
    """Its power is at most the limit, that of the next multiple of 2^-64 is above; of one report it is the limit."""
    promise = just_below(limit)
    each = limit_of_each(promise, reports)
    if reports == 1:
        assert each == limit
        return
    assert each**reports <= limit < (each + Fraction(1, 1 << 64)) ** reports
    assert (1 << 64) % each.denominator == 0


# ---- a shortlist


def test_refining_multiplies_powers() -> None:
    """After a plan of R reports the next one asks for as many, and γ1^R · γ2^R stays below what is said of both."""
    first = make_plan(["milk", "oats", "rye", "tea"], PROMISE, itemset_size=2, reports_per_person=3)
    made = refine(mine(ap.randomize([{"milk", "tea"}] * 20_000, first), 0.5), first, reports=10_000)
    assert made.plan.reports_per_person == 3
    told = first.composed_amplification * made.plan.composed_amplification
    assert Fraction(99, 100) * 361 < told < made.amplification_limit == 361
    record = shown.refinement(made)
    both = record.content["both"]
    assert (both["amplification_limit"], both["highest_posterior"]) == ("361/1", "19/20")
    assert any("3 reports of each plan" in line for line in lines_of(record))


# ---- what is shown
