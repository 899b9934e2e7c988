"""Campaigns: the document, which round is drawn and with what law, which plans may join; vectors of both readers."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from naive import ReplayEntropy, fixed_plan

from assocpriv.core.errors import PlanError
from assocpriv.core.privacy import Breach
from assocpriv.lab.enumeration import distribution
from assocpriv.plans.campaign import Campaign
from assocpriv.plans.numeric.columns import NumberColumn
from assocpriv.plans.numeric.laws import UniformNoise
from assocpriv.plans.numeric.plan import TablePlan
from tests.vectors import device_decoder as decoder
from tests.vectors import make_devices

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))
PLAN = fixed_plan(2, 1, 1, 1, shares=[1, 3])  # γ = 3
CAMPAIGN = Campaign("soup", Breach("5%", "50%"), (3, 5, 2), PLAN.plan_id)


def test_vectors_are_what_the_script_makes() -> None:
    """The file holds what the script and the second reader make of it."""
    assert json.loads(json.dumps(make_devices.make_all(decoder))) == VECTORS


@pytest.mark.parametrize("name", VECTORS["campaigns"])
def test_both_read_campaigns_alike(name: str) -> None:
    """Ids stand whatever the layout; what one reader refuses the other refuses."""
    text, wanted = VECTORS["campaigns"][name]["text"], VECTORS["campaigns"][name]["id"]
    try:
        seen = decoder.campaign_id(text)
    except decoder.RefusedError:
        seen = "refuse"
    assert seen == wanted
    if wanted == "refuse":
        with pytest.raises(PlanError, match=r"campaign|rounds|first_plan|promise|prior"):
            Campaign.parse(text)
    else:
        read = Campaign.parse(text)
        assert read.campaign_id == wanted
        assert read.canonical_json == decoder.canonical(json.loads(text))
        assert Campaign.parse(read.canonical_json) == read


def test_both_draw_the_same_round() -> None:
    """One word draws the same round in both, or is rejected by both."""
    for case in VECTORS["rounds"]:
        campaign = Campaign("", CAMPAIGN.promise, tuple(case["weights"]), PLAN.plan_id)
        assert decoder.drawn_round(case["weights"], case["word"]) == case["round"]
        if case["round"] is None:
            with pytest.raises(IndexError):  # it reads a further word
                campaign.draw_round(ReplayEntropy([case["word"]]))
        else:
            assert campaign.draw_round(ReplayEntropy([case["word"]])) == case["round"]


@pytest.mark.parametrize("weights", [(3, 5, 2), (1,), (1, 1, 1, 1), (1, 6)], ids=str)
def test_the_law_of_rounds_is_the_weights(weights: tuple[int, ...]) -> None:
    """Walked through draw by draw: round i has the probability weight_i / sum, exactly."""
    campaign = replace(CAMPAIGN, rounds=weights)
    total = sum(weights)
    assert distribution(campaign.draw_round) == {i: Fraction(w, total) for i, w in enumerate(weights, 1)}


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (replace(PLAN, reports_per_person=2), "lets a person report 2 times"),
        (replace(fixed_plan(2, 1, 1, 1, shares=[1, 19]), reports_per_person=1), "has γ .*needs less than 19"),
        (TablePlan((NumberColumn("age", UniformNoise(8, 2), False, Fraction(0), Fraction(80), 8),), 0), "states no γ"),
    ],
    ids=["twice", "promise", "no gamma"],
)
def test_a_plan_that_breaks_the_promise_is_refused(plan: Any, why: str) -> None:
    """A campaign's plans let everybody answer once, and keep its promise strictly."""
    CAMPAIGN.check_plan(PLAN)
    with pytest.raises(PlanError, match=why):
        CAMPAIGN.check_plan(plan)
    at_limit = replace(CAMPAIGN, promise=Breach("1/4", "1/2"))  # γ below 3
    with pytest.raises(PlanError, match="has γ 3;"):
        at_limit.check_plan(PLAN)


def test_long_texts_are_not_read() -> None:
    """A text of more than 65,536 characters is refused before it is read."""
    with pytest.raises(PlanError, match="more than 65,536 characters"):
        Campaign.parse(CAMPAIGN.canonical_json + " " * (1 << 16))
