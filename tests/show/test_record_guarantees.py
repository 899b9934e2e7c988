"""Plans and guarantees have the same figures in text, JSON content and HTML."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from naive import planned, small_plan
from shown import check

import assocpriv as ap
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.planning.basket_planner import explain_guarantees
from assocpriv.planning.detection_limits import describe_privacy, forecast
from assocpriv.show import guarantee_views, plan_views, privacy_views
from assocpriv.show.result_pages import fragment
from assocpriv.show.result_record import Record

GUARANTEE = ap.Guarantee("5%", "50%")
PLAN = planned(27, 3, GUARANTEE)
SEVERAL = planned(50, 2, GUARANTEE, reports_per_person=3)
CHOICE = ap.plan(300, GUARANTEE, reports=50_000, explain=True)
CENTRAL = replace(SEVERAL, central=CentralGuarantee(Fraction(3), Fraction(1, 10**6), 5000))
SMOKES = {"kind": "category", "values": ["no", "yes"], "release": "response"}
AGE = {"kind": "number", "low": 20, "high": 80, "release": "gaussian", "privacy": "50%"}
TABLE = ap.numeric.plan_table({"columns": {"smokes": SMOKES, "age": AGE}}, GUARANTEE)
AVERAGE = ap.numeric.plan_table({"columns": {"age": AGE}})
MADE = ap.randomize([{"1", "2"}] * 20_000, PLAN)

RECORDS: dict[str, Callable[[], Record]] = {
    "plan": lambda: plan_views.plan(forecast(CHOICE.plan, 50_000)),
    "plan of several reports": lambda: plan_views.described(SEVERAL, 1000),
    "hopeless plan": lambda: plan_views.plan(forecast(small_plan("none", 3, 2, 2, shares=(1, 1, 1)), 10)),
    "choice": lambda: plan_views.choice(CHOICE),
    "choice, verbose": lambda: plan_views.choice(CHOICE, verbose=True),
    "paper's choice": lambda: plan_views.choice(ap.plan(20, GUARANTEE, transaction_size=2, paper=True, explain=True)),
    "found reports": lambda: plan_views.choice((found := ap.plan(20, detect="9%", guarantee=GUARANTEE)).choice, found),
    "found guarantee": lambda: plan_views.choice((found := ap.plan(9, detect="30%", reports=10**4)).choice, found),
    "next round": lambda: plan_views.next_round(ap.refine(MADE)),
    "two rounds": lambda: plan_views.choice(ap.plan(50, GUARANTEE, rounds=2, explain=True)),
    "needed": lambda: plan_views.needed(plan_views.described(PLAN, 1000), {1: 12_345, 2: None}, "1%"),
    "nothing found": lambda: plan_views.nothing_found(CHOICE.plan, 1000),
    "guaranteed": lambda: guarantee_views.guaranteed(SEVERAL),
    "explained": lambda: privacy_views.explained(explain_guarantees()),
    "explained, a plan": lambda: privacy_views.explained(explain_guarantees(SEVERAL)),
    "explained, central": lambda: privacy_views.explained(explain_guarantees(CENTRAL)),
    "privacy": lambda: privacy_views.privacy(describe_privacy(PLAN)),
    "privacy of many": lambda: privacy_views.privacy(describe_privacy(SEVERAL, reports_per_person=52)),
    "privacy, central": lambda: privacy_views.privacy(describe_privacy(CENTRAL)),
    "to sign, central": lambda: guarantee_views.to_sign(CENTRAL),
    "budget": lambda: privacy_views.budget(
        ap.privacy([PLAN, (SEVERAL, 5), TABLE]), {each.plan_id: f"<{each.kind}>" for each in (PLAN, SEVERAL, TABLE)}
    ),
    "to sign": lambda: guarantee_views.to_sign(SEVERAL),
    "to sign, a table": lambda: guarantee_views.to_sign(TABLE),
    "to sign, no γ": lambda: guarantee_views.to_sign(AVERAGE),
}


@pytest.mark.parametrize("name", RECORDS)
def test_three_renderers_agree(name: str) -> None:
    """Every figure of the text is in the JSON content and in the HTML, with the same value."""
    check(RECORDS[name]())


def test_both_guarantees_are_explained() -> None:
    """Only for plans with a central guarantee; the local guarantee holds if relay and collector collude."""
    output = check(privacy_views.explained(explain_guarantees(CENTRAL)))
    assert "(ε, δ)-DP with ε = 3 and δ = 0.000001 against all who read closed batches, as long as relay and" in output
    assert "Largest posterior, by prior, if relay and collector collude:" in output
    assert "relay" not in check(privacy_views.explained(explain_guarantees(SEVERAL)))


def test_manipulated_reports_move_100_points_at_most() -> None:
    """The effect of manipulated reports is the largest over all sizes, and at most all baskets."""
    output = check(plan_views.plan(forecast(SEVERAL, 10)))
    assert "by at most 100 points (all reports of one person: 100 points); 1% of all reports" in output


def test_a_page_to_sign_states_what_is_not_covered() -> None:
    """An uncovered column is named without a guarantee; without γ there is no guarantee."""
    page = str(fragment(guarantee_views.to_sign(TABLE)))
    assert "what the guarantee does not cover, gives any other statement about your data a probability of 5%" in page
    assert "The guarantee does not bound what a report discloses of column age." in page
    assert TABLE.plan_id in page
    assert "a second device start at zero" in page
    without = str(fragment(guarantee_views.to_sign(AVERAGE)))
    assert "There is no guarantee: " in without
    assert "a probability of" not in without
    assert "The guarantee needs none" not in without
    many = str(fragment(guarantee_views.to_sign(SEVERAL)))
    assert "Under this plan a person sends at most 3 reports, ever; the guarantee is for all of them together." in many


def test_a_page_to_sign_states_a_fact_once() -> None:
    """A central guarantee is explained in words, δ as a probability; other priors are in percent."""
    page = str(fragment(guarantee_views.to_sign(CENTRAL)))
    assert "ε = 3 and δ = 0.000001" in page
    assert "at most e^ε = 20.09 times the probability" in page
    assert "plus δ (1 in 1,000,000)" in page
    assert "gives it a probability of less than 50%, whatever the statement and whatever else" in page
    assert "after all 3 reports, a prior of 1% becomes less than 16.11% and one of 50% becomes less than" in page
    assert page.count(" in 1") == 1  # δ alone


def test_one_guarantee_has_one_spelling() -> None:
    """Every record writes it in percent with the same digits; a default prior of several plans names its plan."""
    epsilon = planned(20, 2, ap.Guarantee.from_epsilon(2))
    assert "a prior of 5% to less than 28.01%, whatever the data" in check(plan_views.described(epsilon, 1000))
    assert "a prior of 5% to less than 28.01%" in check(privacy_views.privacy(describe_privacy(epsilon)))
    assert "5% → 28.01%" in check(privacy_views.explained(explain_guarantees(epsilon)))
    names = {epsilon.plan_id: "epsilon.json", PLAN.plan_id: "usual.json"}
    lines = check(privacy_views.budget(ap.privacy([epsilon, PLAN]), names)).splitlines()
    assert [line.split("  ")[-1] for line in lines if "posterior of" in line] == ["posterior of epsilon.json"]
