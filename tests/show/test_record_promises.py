"""Plans and promises are said in text, JSON content and HTML with the same figures."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from naive import planned, small_plan
from shown import check

import assocpriv as ap
from assocpriv.planning.baskets import explain_promises
from assocpriv.planning.discovery import describe_privacy, foresee
from assocpriv.promise.shuffling import CentralPromise
from assocpriv.show import plans, promises
from assocpriv.show.html import fragment
from assocpriv.show.record import Record

PROMISE = ap.Breach("5%", "50%")
PLAN = planned(27, 3, PROMISE)
SEVERAL = planned(50, 2, PROMISE, reports_per_person=3)
CHOICE = ap.choose_plan(300, PROMISE, reports=50_000)
CENTRAL = replace(SEVERAL, central=CentralPromise(Fraction(3), Fraction(1, 10**6), 5000))
SMOKES = {"kind": "category", "values": ["no", "yes"], "release": "response"}
AGE = {"kind": "number", "low": 20, "high": 80, "release": "gaussian", "privacy": "50%"}
TABLE = ap.numeric.plan_table({"columns": {"smokes": SMOKES, "age": AGE}}, PROMISE)
AVERAGE = ap.numeric.plan_table({"columns": {"age": AGE}})
MADE = ap.randomize([{"1", "2"}] * 20_000, PLAN)

RECORDS: dict[str, Callable[[], Record]] = {
    "plan": lambda: plans.plan(foresee(CHOICE.plan, 50_000)),
    "plan of several reports": lambda: plans.described(SEVERAL, 1000),
    "plan of which nothing can be told": lambda: plans.plan(foresee(small_plan("none", 3, 2, 2, shares=(1, 1, 1)), 10)),
    "choice": lambda: plans.choice(CHOICE),
    "choice, verbose": lambda: plans.choice(CHOICE, verbose=True),
    "the paper's choice": lambda: plans.choice(ap.choose_plan(20, PROMISE, transaction_size=2, paper=True)),
    "found reports": lambda: plans.choice((found := ap.find_plan("9%", 20, promise=PROMISE)).choice, found),
    "found promise": lambda: plans.choice((found := ap.find_plan("9%", 20, reports=10**5)).choice, found),
    "refinement": lambda: plans.refinement(ap.refine(ap.mine(MADE, "50%"), PLAN)),
    "needed": lambda: plans.needed(plans.described(PLAN, 1000), {1: 12_345, 2: None}, "1%"),
    "nothing found": lambda: plans.nothing_found(CHOICE.plan, 1000),
    "promised": lambda: promises.promised(SEVERAL),
    "explained": lambda: promises.explained(explain_promises()),
    "explained, a plan": lambda: promises.explained(explain_promises(SEVERAL)),
    "explained, central": lambda: promises.explained(explain_promises(CENTRAL)),
    "privacy": lambda: promises.privacy(describe_privacy(PLAN)),
    "privacy of many": lambda: promises.privacy(describe_privacy(SEVERAL, reports_per_person=52)),
    "privacy, central": lambda: promises.privacy(describe_privacy(CENTRAL)),
    "to sign, central": lambda: promises.to_sign(CENTRAL),
    "budget": lambda: promises.budget(
        ap.privacy([PLAN, (SEVERAL, 5), TABLE]),
        {each.plan_id: f"<{each.kind}>.json" for each in (PLAN, SEVERAL, TABLE)},
    ),
    "to sign": lambda: promises.to_sign(SEVERAL),
    "to sign, a table": lambda: promises.to_sign(TABLE),
    "to sign, no γ": lambda: promises.to_sign(AVERAGE),
}


@pytest.mark.parametrize("name", RECORDS)
def test_three_walks_agree(name: str) -> None:
    """Every figure of the text is in the JSON content and in the HTML, with the same value."""
    check(RECORDS[name]())


def test_both_promises_are_explained() -> None:
    """Of a plan with a central promise, and of no other; what beliefs become is if relay and collector collude."""
    said = check(promises.explained(explain_promises(CENTRAL)))
    assert (
        "Whoever reads the sealed reports: ε = 3 and δ = 0.000001, whatever else is known, as long as relay and" in said
    )
    assert "What a belief becomes at most, if they do:" in said
    assert "relay" not in check(promises.explained(explain_promises(SEVERAL)))


def test_fake_reports_move_100_points_at_most() -> None:
    """What crafted reports move is the largest of all sizes, and never more than all baskets."""
    said = check(plans.plan(foresee(SEVERAL, 10)))
    assert "one shifts a support by at most 100 points (all of one person by 100 points); 1% of them by" in said


def test_a_page_to_sign_says_what_lies_outside() -> None:
    """A column that is not covered is named and no promise is made of it; without γ there is no promise at all."""
    page = str(fragment(promises.to_sign(TABLE)))
    assert "knows what the promise does not cover, is 5% sure of something else about you" in page
    assert "Nothing bounds what a report tells of this, nor what this tells of the rest: column age." in page
    assert TABLE.plan_id in page
    assert "a second device begin anew" in page
    without = str(fragment(promises.to_sign(AVERAGE)))
    assert "No γ is stated" in without
    assert "sure of something" not in without
    assert "The promise holds" not in without
    many = replace(SEVERAL, reports_per_person=2)
    assert "A person sends 2 reports at most, for life; the promise is for all of them together." in str(
        fragment(promises.to_sign(many))
    )


def test_a_page_to_sign_says_a_fact_once() -> None:
    """A central promise stands there in words, δ as a chance; other beliefs in percent as the promise's own."""
    page = str(fragment(promises.to_sign(CENTRAL)))
    assert "ε = 3 and δ = 0.000001" in page
    assert "at most e^ε times, 20.09 times, as likely" in page
    assert "in a case whose chance is δ, 1 in 1,000,000, and which nothing bounds" in page
    assert "stays less than 50% sure, whatever it is and whatever else is known." in page
    assert "after all 3 reports, whoever was 1% sure is less than 16.11% sure and whoever was 50% sure is less" in page
    assert " in 100" not in page


def test_one_promise_has_one_spelling() -> None:
    """Every record writes it in percent, with as many digits; of several plans a belief nobody asked for names its."""
    epsilon = planned(20, 2, ap.Epsilon(2))
    assert "from 5% to 28.01%, whatever the data: 5% stays below 28.01%" in check(plans.described(epsilon, 1000))
    assert "from 5% to 28.01%" in check(promises.privacy(describe_privacy(epsilon)))
    assert "5% → 28.01%" in check(promises.explained(explain_promises(epsilon)))
    names = {epsilon.plan_id: "epsilon.json", PLAN.plan_id: "usual.json"}
    lines = check(promises.budget(ap.privacy([epsilon, PLAN]), names)).splitlines()
    assert [line.split("  ")[-1] for line in lines if "posterior of" in line] == ["posterior of epsilon.json"]
