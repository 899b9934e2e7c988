"""Plans for an anonymous channel: which operators keep a central promise, which are chosen, and what is refused."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from shown import check

import assocpriv as ap
from assocpriv.planning.baskets import Choice, choose_plan
from assocpriv.planning.central import LOCAL_CAP, kept_promise
from assocpriv.plans.baskets import Plan
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import amplification_of, epsilon
from assocpriv.promise.errors import PlanError, PrivacyLimitError
from assocpriv.promise.shuffling import CentralPromise
from assocpriv.server.crafted import liars_among
from assocpriv.show.plans import choice as shown_choice

CENTRAL = (1, "1e-8")
SUPPORT, OTHERS = 0.02, 0.08  # of a pair, and of its items
# people, ε₀ and the standard error of a pair by the best two-level operator for pairs alone at M = 8
WORTH = ((20_000, 7, 0.0085), (100_000, 8, 0.0027), (1_000_000, 10, 0.0006))


def pair_variance(operator) -> float:
    """Return N Var of the pair's support, people's own variance included."""
    model, law = SupportModel.of(operator), (1 - 2 * OTHERS + SUPPORT, 2 * (OTHERS - SUPPORT), SUPPORT)
    return sum(p * float(model.second_moment(2, held)) for held, p in enumerate(law)) - SUPPORT**2


@pytest.fixture(scope="module")
def choice() -> Choice:
    """Return the choice for 100,000 reports about 1,000 items."""
    return choose_plan(1000, None, central=CENTRAL, reports=100_000)


@pytest.fixture
def chosen(choice: Choice) -> Plan:
    """Return its plan."""
    return choice.plan


def test_the_chosen_plan_keeps_both_promises(chosen: Plan) -> None:
    """Both are in it; the local one is what its γ keeps, below the cap; by 60,000 people the central one is refuted."""
    chosen.check_central()
    assert chosen.central == CentralPromise(Fraction(1), Fraction(1, 10**8), 100_000)
    assert chosen.promise == kept_promise(chosen.amplification)
    assert (chosen.promise.prior, chosen.promise.posterior) == (Fraction(1, 20), Fraction(9921, 10_000))
    assert amplification_of(7) < chosen.amplification < chosen.promise.amplification_limit
    assert chosen.amplification < amplification_of(LOCAL_CAP)
    assert chosen.blanket == sum(chosen.share(each) * each.operator.blanket for each in chosen.questions)
    assert {each.view.kind for each in chosen.questions} == {"items", "sizes"}
    fewer = replace(chosen, central=replace(chosen.central, reports=60_000))
    with pytest.raises(PrivacyLimitError, match="does not follow"):
        fewer.check_central()


def test_the_chosen_plan_is_far_more_accurate(chosen: Plan) -> None:
    """A pair's error is that of the best for pairs alone at M = 8 to a factor 2, and below half of the local plan's."""
    error = math.sqrt(pair_variance(chosen.items.operator) / 100_000)
    local = ap.plan(1000, ap.Epsilon("ln 19"), reports=100_000)
    assert WORTH[1][2] / 2 < error < 2 * WORTH[1][2]
    assert error < math.sqrt(pair_variance(local.items.operator) / 100_000) / 2


def test_accurate_reports_weigh_less(chosen: Plan) -> None:
    """One crafted report among 100,000 moves a pair by .0053 points at most, at 5% → 50% by .0078."""
    moved = []
    for plan in (chosen, ap.plan(1000, ap.Epsilon("ln 19"), reports=100_000)):
        pairs = liars_among(plan, 100_000)[2]
        assert pairs is not None
        moved.append(math.ceil(10**6 * pairs.one_report))
    assert moved == [53, 78]


def test_the_cap_bounds_the_local_promise() -> None:
    """A lower cap makes a plan of less γ; one below the central ε leaves nothing to gain."""
    lower = ap.plan(50, central=CENTRAL, reports=100_000, local_cap="ln 300")
    assert lower.amplification < 300
    assert lower.promise.amplification_limit < 330
    with pytest.raises(PlanError, match="leaves nothing to gain"):
        ap.plan(50, central=CENTRAL, reports=100_000, local_cap=1)


def test_a_batch_that_no_collector_seals_is_refused(chosen: Plan) -> None:
    """With how many are: 256 MiB of reports and their ids; more reports are several batches."""
    most = (1 << 28) // (16 + chosen.report_bytes)
    replace(chosen, central=replace(chosen.central, reports=most)).check_central()
    with pytest.raises(PlanError, match=f"promise it for {most:,} or fewer"):
        ap.privacy(replace(chosen, central=replace(chosen.central, reports=most + 1)))
    with pytest.raises(PlanError, match="more than a collector seals together"):
        ap.plan(1000, central=CENTRAL, reports=20_000_000)


def test_it_is_said_what_so_few_cannot_tell(choice: Choice) -> None:
    """Where the expected error of usual itemsets is as large as their support; of more people nothing is said."""
    few = shown_choice(choose_plan(20, None, central=CENTRAL, reports=1_000))
    assert few.content["untold"] == [3]
    assert "1,000 reports cannot tell usual triples: the error is as large as the support" in check(few)
    assert "cannot tell" not in check(shown_choice(choice))


def test_several_reports_of_a_person_share_the_cap_and_the_central_promise() -> None:
    """Of 4 reports all together stay below the cap, and the promise holds for all; for 8 it is not proved."""
    plan = ap.plan(20, central=CENTRAL, reports=2_000, reports_per_person=4)
    plan.check_central()
    assert plan.composed_amplification < amplification_of(LOCAL_CAP)
    more = replace(plan, promise=kept_promise(plan.amplification**8), reports_per_person=8)
    with pytest.raises(PrivacyLimitError, match="does not follow"):
        more.check_central()


@pytest.mark.parametrize(
    ("central", "reports"), [(CENTRAL, 30), ((1, 1e-8), 20), ((0.001, 1e-10), 100), ((0.0001, 1e-8), 1000)]
)
def test_few_reports_hide_nobody(central: Any, reports: int) -> None:
    """It is said how many would do, and so many do."""
    with pytest.raises(PlanError, match=f"{reports:,} reports are too few for a central promise") as few:
        ap.plan(5, central=central, reports=reports)
    (enough,) = re.findall(r"reports=([0-9]+) \(fewer are never read\)", str(few.value))
    assert ap.plan(5, central=central, reports=int(enough)).central


def test_no_person_left_is_said_to_be_too_few() -> None:
    """One report, without the share that may help the reader, is nobody's; the error names reports."""
    with pytest.raises(PlanError, match=r"1 report cannot keep a central promise: .* as reports=100000"):
        ap.plan(5, central=CENTRAL, reports=1)


@pytest.mark.parametrize("reports", [90, 333, 1000, 4567])
def test_small_batches_have_plans_that_are_proved(reports: int) -> None:
    """The bound is not smooth in γ and the blanket where few reports are counted; what is chosen is proved."""
    plan = ap.plan(5, central=(2, 1e-6), reports=reports)
    plan.check_central()
    assert epsilon(plan.amplification) > 2


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"promise": ap.Epsilon(2), "central": CENTRAL}, "the local promise follows"),
        ({"promise": ap.Epsilon(2), "local_cap": 5}, "local_cap goes with central"),
        ({"promise": None, "central": (0, 1e-8)}, "epsilon above 0"),
        ({"promise": None, "central": (1, 1e-5)}, "1,000,000 reports needs a delta .* below 1/reports"),
        ({"promise": None, "central": CENTRAL, "transaction_size": 2, "paper": True}, "leave paper or central out"),
    ],
)
def test_wishes_that_cannot_be(wishes: dict, words: str) -> None:
    """Each is named."""
    with pytest.raises(PlanError, match=words):
        choose_plan(20, reports=10**6, **wishes)
    with pytest.raises(TypeError, match="pair of ε and δ"):
        choose_plan(20, None, central="1,1e-8")


@pytest.mark.parametrize("value", [Fraction(19), Fraction(2980), Fraction(3, 2), Fraction(10**7)])
def test_the_promise_kept_is_near(value: Fraction) -> None:
    """γ stays strictly below its limit, and what is left to certainty is rounded by less than a tenth."""
    promise = kept_promise(value)
    assert value < promise.amplification_limit
    left = 1 - ap.highest_posterior(Fraction(1, 20), value)
    assert 0 < left - (1 - promise.posterior) <= left / 10
