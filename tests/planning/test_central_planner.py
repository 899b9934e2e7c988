"""Plans for an anonymous channel: operators that keep a central guarantee, the chosen ones, and refused requests."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from shown import check

import assocpriv as ap
from assocpriv.estimation.manipulation_bounds import bound_manipulation
from assocpriv.guarantees.amplification import amplification_from_epsilon, epsilon_from_amplification
from assocpriv.guarantees.errors import PlanError, PrivacyLimitError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.planning.basket_planner import LOCAL_CAP, PlannedCollection, choose_plan, local_guarantee
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.show.plan_views import choice as shown_choice

CENTRAL = (1, "1e-8")
SUPPORT, ITEM = 0.02, 0.08  # supports of a pair and of each of its items
BEST = 0.0027  # standard error of a pair at ε₀ = 8 with the best two-level operator for pairs alone at M = 8


def pair_variance(operator) -> float:
    """Return N Var of the pair's support, with the sampling variance of people."""
    model, distribution = SupportModel(operator), (1 - 2 * ITEM + SUPPORT, 2 * (ITEM - SUPPORT), SUPPORT)
    return sum(p * float(model.second_moment(2, held)) for held, p in enumerate(distribution)) - SUPPORT**2


@pytest.fixture(scope="module")
def choice() -> PlannedCollection:
    """Return the planned collection of 100,000 reports about 1,000 items."""
    return choose_plan(1000, None, central=CENTRAL, reports=100_000)


@pytest.fixture
def chosen(choice: PlannedCollection) -> Plan:
    """Return its plan."""
    return choice.plan


def test_the_chosen_plan_keeps_both_guarantees(chosen: Plan) -> None:
    """The local guarantee is that of the plan's γ, below the cap; the central one does not follow for 60,000 people."""
    chosen.check_central()
    assert chosen.central == CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000)
    assert chosen.guarantee == local_guarantee(chosen.amplification)
    assert (chosen.guarantee.prior, chosen.guarantee.posterior) == (Fraction(1, 20), Fraction(9937, 10_000))
    assert amplification_from_epsilon(7) < chosen.amplification < chosen.guarantee.amplification_limit
    assert chosen.amplification < amplification_from_epsilon(LOCAL_CAP)
    assert chosen.blanket == sum(chosen.share(each) * each.operator.blanket for each in chosen.report_types)
    assert {each.view.kind for each in chosen.report_types} == {"items", "sizes"}
    fewer = replace(chosen, central=replace(chosen.central, reports=60_000))
    with pytest.raises(PrivacyLimitError, match="does not follow"):
        fewer.check_central()


def test_the_chosen_plan_is_far_more_accurate(chosen: Plan) -> None:
    """A pair's error is within a factor 2 of the best for pairs alone at M = 8, and below half of the local plan's."""
    error = math.sqrt(pair_variance(chosen.items.operator) / 100_000)
    local = ap.plan(1000, ap.Guarantee.from_epsilon("ln 19"), reports=100_000)
    assert BEST / 2 < error < 2 * BEST
    assert error < math.sqrt(pair_variance(local.items.operator) / 100_000) / 2


def test_accurate_reports_have_smaller_manipulation_limits(chosen: Plan) -> None:
    """One manipulated report in 100,000 changes a pair by at most .0072 percentage points; at 5% → 50% by .0078."""
    moved = []
    for plan in (chosen, ap.plan(1000, ap.Guarantee.from_epsilon("ln 19"), reports=100_000)):
        pairs = bound_manipulation(plan, 100_000)[2]
        moved.append(math.ceil(10**6 * pairs.one_report))
    assert moved == [72, 78]


def test_the_cap_bounds_the_local_guarantee() -> None:
    """A lower cap gives a plan with a smaller γ; a cap below the central ε gains nothing."""
    lower = ap.plan(50, central=CENTRAL, reports=100_000, local_cap="ln 300")
    assert lower.amplification < 300
    assert lower.guarantee.amplification_limit < 330
    with pytest.raises(PlanError, match="gains nothing over a central epsilon"):
        ap.plan(50, central=CENTRAL, reports=100_000, local_cap=1)


def test_a_batch_that_no_collector_closes_is_refused(chosen: Plan) -> None:
    """The limit of a batch is 256 MiB of reports and their ids; the message names the number of reports."""
    most = (1 << 28) // (16 + chosen.report_bytes)
    replace(chosen, central=replace(chosen.central, reports=most)).check_central()
    with pytest.raises(PlanError, match=f"state the central guarantee for {most:,} or fewer"):
        ap.privacy(replace(chosen, central=replace(chosen.central, reports=most + 1)))
    with pytest.raises(PlanError, match="more than a collector closes together"):
        ap.plan(1000, central=CENTRAL, reports=20_000_000)


def test_the_plan_shows_what_few_reports_cannot_estimate(choice: PlannedCollection) -> None:
    """The plan lists the sizes whose expected error is as large as the reference support; none for more people."""
    few = shown_choice(choose_plan(20, None, central=CENTRAL, reports=1_000))
    assert few.content["undetectable"] == [3]
    assert "Triples: 1,000 reports are too few; the standard error reaches the support." in check(few)
    assert "are too few" not in check(shown_choice(choice))


def test_several_reports_of_a_person_share_the_cap_and_the_central_guarantee() -> None:
    """4 reports together stay below the cap and keep the central guarantee; for 8 reports it is not proved."""
    plan = ap.plan(20, central=CENTRAL, reports=2_000, reports_per_person=4)
    plan.check_central()
    assert plan.composed_amplification < amplification_from_epsilon(LOCAL_CAP)
    more = replace(plan, guarantee=local_guarantee(plan.amplification**8), reports_per_person=8)
    with pytest.raises(PrivacyLimitError, match="does not follow"):
        more.check_central()


@pytest.mark.parametrize(("central", "reports"), [(CENTRAL, 8), ((0.001, 1e-10), 100)])
def test_too_few_reports_for_a_central_guarantee(central: Any, reports: int) -> None:
    """The message names a sufficient number of reports, and a plan for that number exists."""
    with pytest.raises(PlanError, match=f"{reports:,} reports are too few for a central guarantee") as few:
        ap.plan(5, central=central, reports=reports)
    (enough,) = re.findall(r"reports=([0-9]+), the minimum size of a batch", str(few.value))
    assert ap.plan(5, central=central, reports=int(enough)).central


def test_one_report_has_no_central_guarantee() -> None:
    """Without the colluding share, a batch of one report has no other people; the message names a number of reports."""
    with pytest.raises(PlanError, match=r"1 report cannot have a central guarantee: .* as reports=100000"):
        ap.plan(5, central=CENTRAL, reports=1)


@pytest.mark.parametrize("reports", [90, 1000])
def test_small_batches_have_plans_that_are_proved(reports: int) -> None:
    """For few reports the bound is not smooth in γ and the blanket; the chosen plan is still proved."""
    plan = ap.plan(5, central=(2, 1e-6), reports=reports)
    plan.check_central()
    assert epsilon_from_amplification(plan.amplification) > 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guarantee": ap.Guarantee.from_epsilon(2), "central": CENTRAL}, "the local guarantee follows"),
        ({"guarantee": ap.Guarantee.from_epsilon(2), "local_cap": 5}, "local_cap needs central"),
        ({"guarantee": None, "central": (0, 1e-8)}, "epsilon above 0"),
        ({"guarantee": None, "central": (1, 1e-5)}, "1,000,000 reports needs a delta .* below 1/reports"),
        ({"guarantee": None, "central": CENTRAL, "transaction_size": 2, "paper": True}, "paper or central, not both"),
    ],
)
def test_impossible_options(options: dict, message: str) -> None:
    """The message names the option."""
    with pytest.raises(PlanError, match=message):
        choose_plan(20, reports=10**6, **options)
    with pytest.raises(TypeError, match="central must be a pair"):
        choose_plan(20, None, central="1,1e-8")


@pytest.mark.parametrize("value", [Fraction(3, 2), Fraction(2980), Fraction(10**7)])
def test_the_local_guarantee_is_tight(value: Fraction) -> None:
    """γ is strictly below the guarantee's limit, and 1 − posterior is rounded by less than a tenth."""
    guarantee = local_guarantee(value)
    assert value < guarantee.amplification_limit
    left = 1 - ap.guarantees.highest_posterior(Fraction(1, 20), value)
    assert 0 < left - (1 - guarantee.posterior) <= left / 10
