"""Several reports of one person: their exact joint amplification, and the guarantee for all of them."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import items_plan

import assocpriv as ap
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PrivacyLimitError
from assocpriv.planning.basket_planner import limit_per_report, make_plan
from assocpriv.planning.detection_limits import forecast
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON
from assocpriv.show import plan_views as shown
from assocpriv.show.text_renderer import lines as lines_of
from assocpriv.simulation.enumeration import distribution

GUARANTEE = Guarantee("5%", "50%")
MOST_SECONDS = 30
M1 = Operator(1, 1, 1, 3, (1, 7))
ONE = items_plan(2, M1, Generator("bch", 2, 7, 1), guarantee=GUARANTEE)  # γ = 7, two bits


def just_below(limit: Fraction) -> Guarantee:
    """Return a guarantee with a given limit of γ."""
    return Guarantee(1 / (1 + limit), Fraction(1, 2))


def fixed(weights: tuple[int, ...], guarantee: Guarantee, reports: int) -> Plan:
    """Return a plan of two items whose γ is the ratio of two weights."""
    operator = FixedSizeOperator(1, 3, 1, weights)
    return items_plan(2, operator, guarantee=guarantee, reports_per_person=reports)


# ---- exactly, by enumeration

ABOVE = Fraction(1001, 1000)
NONE = items_plan(2, M1, guarantee=just_below(49 * ABOVE), reports_per_person=2)
SIZES = ReportType(2, FixedSizeOperator(1, 3, 1, (1, 3)), view=SizesView((1, 2)), weight=2)
PLANS = {
    "bch": replace(ONE, guarantee=just_below(49 * ABOVE), reports_per_person=2),
    "bch, three reports": replace(ONE, guarantee=just_below(343 * ABOVE), reports_per_person=3),
    "none": NONE,
    "fixed size": fixed((2, 5), just_below(Fraction(25, 4) * ABOVE), 2),
    "two report types": replace(NONE, report_types=(NONE.items, SIZES)),  # each report draws one of them
}


@pytest.mark.parametrize("name", PLANS)
def test_all_reports_together_reach_the_power_of_gamma(name: str) -> None:
    """The largest joint ratio over all baskets of all reporting periods is exactly γ^R, below the limit."""
    plan, make = PLANS[name], Randomizer(PLANS[name]).randomize
    baskets = [(0,), (1,)] if plan.reports_per_person > 2 else [(), (0,), (1,), (0, 1)]
    rows = [
        distribution(lambda entropy, chosen=chosen: tuple(make(basket, entropy=entropy) for basket in chosen))
        for chosen in product(baskets, repeat=plan.reports_per_person)
    ]
    assert len({frozenset(row) for row in rows}) == 1  # all have the same outcomes
    worst = max(max(row[outcome] for row in rows) / min(row[outcome] for row in rows) for outcome in rows[0])
    assert worst == plan.composed_amplification == plan.amplification**plan.reports_per_person
    assert plan.amplification < worst < plan.guarantee.amplification_limit


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_one_unit_above_is_refused(reports: int) -> None:
    """With a limit of 50 the largest weight whose γ^R is below it is accepted, a larger one is refused."""
    guarantee = Guarantee("1/51", "1/2")
    assert guarantee.amplification_limit == 50
    largest = max(v for v in range(1000, 50_000) if Fraction(v, 1000) ** reports < 50)
    assert fixed((1000, largest), guarantee, reports).amplification == Fraction(largest, 1000)
    together = f" of {reports} reports together" if reports > 1 else ""
    with pytest.raises(PrivacyLimitError, match=f"amplification{together}, .*breaks its guarantee"):
        fixed((1000, largest + 1), guarantee, reports)


def test_a_hostile_plan_of_many_reports_is_refused_in_time() -> None:
    """The power of the longest γ in a plan is compared with the limit within seconds, not minutes."""
    operator = FixedSizeOperator(1, 3, 1, ((1 << 1023) + 1, 1 << 1024))
    start = time.process_time()
    with pytest.raises(PrivacyLimitError):
        items_plan(2, operator, guarantee=GUARANTEE, reports_per_person=1000)
    low = FixedSizeOperator(1, 3, 1, ((1 << 1024) - (1 << 1013) - 1, 1 << 1024))
    kept = items_plan(2, low, guarantee=GUARANTEE, reports_per_person=1000)
    assert shown.plan(forecast(kept, 1000)).to_json()["reports_per_person"] == 1000
    assert time.process_time() - start < MOST_SECONDS


# ---- the planner

LIMITS = st.fractions(min_value=Fraction(1001, 1000), max_value=10**12, max_denominator=10**9)


@given(LIMITS, st.integers(1, MOST_REPORTS_PER_PERSON))
def test_the_limit_of_each_is_the_root_rounded_down(limit: Fraction, reports: int) -> None:
    """Its R-th power is at most the limit, and that of the next multiple of 2^-64 above; R = 1 gives the limit."""
    guarantee = just_below(limit)
    each = limit_per_report(guarantee, reports)
    if reports == 1:
        assert each == limit
        return
    assert each**reports <= limit < (each + Fraction(1, 1 << 64)) ** reports
    assert (1 << 64) % each.denominator == 0


# ---- a second round


def test_refining_multiplies_powers() -> None:
    """The second plan has the same R, and γ1^R · γ2^R is below the limit for both plans."""
    first = make_plan(["milk", "oats", "rye", "tea"], GUARANTEE, itemset_size=2, reports_per_person=3)
    made = ap.refine(ap.randomize([{"milk", "tea"}] * 20_000, first), people=10_000)
    assert made.plan.reports_per_person == 3
    composed = first.composed_amplification * made.plan.composed_amplification
    assert Fraction(99, 100) * 361 < composed < made.amplification_limit == 361
    record = shown.next_round(made)
    both = record.content["both"]
    assert (both["amplification_limit"], both["highest_posterior"]) == ("361/1", "19/20")
    assert any("3 reports of each plan" in line for line in lines_of(record))
