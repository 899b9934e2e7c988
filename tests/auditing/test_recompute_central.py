"""The audit's own proof of a central promise, beside the shipping one and beside exact sums."""

import json
import math
from fractions import Fraction

import pytest

import assocpriv as ap
from assocpriv.auditing.recompute_central import delta_of, mean_blanket
from assocpriv.auditing.recompute_promise import check_integers, read_numbers
from assocpriv.promise.shuffling import shuffled_delta

DELTA = 1e-8


@pytest.mark.parametrize(("people", "local", "mass"), [(90_000, 7.8, 0.36), (18_000, 6.2, 0.37), (5_000, 3.5, 0.2)])
@pytest.mark.parametrize("value", [0.05, 0.3, 1.0])
def test_two_proofs_agree(people: int, local: float, mass: float, value: float) -> None:
    """Every number of clones by itself gives what strata of them give, or less, down to a fifth below."""
    gamma = Fraction(math.exp(local))
    ours, own = (
        delta_of(value, gamma, Fraction(mass), people, DELTA),
        shuffled_delta(value, gamma, people, Fraction(mass), DELTA / 1000),
    )
    assert 0.75 * own <= ours <= own * (1 + 1e-4) + DELTA / 500


def test_the_audit_proves_a_central_promise_anew() -> None:
    """From the text alone: γ, the mean blanket, and whether it follows; of fewer people it does not."""
    plan = ap.plan(30, central=(1, DELTA), reports=20_000)
    numbers = read_numbers(plan.canonical_json)
    forms = zip(numbers.shares, (each.form for each in numbers.questions), strict=True)
    assert mean_blanket(forms) == plan.blanket
    verdicts = {}
    for reports in (20_000, 12_000):
        content = json.loads(plan.canonical_json)
        content["central"]["reports"] = reports
        found = {each.name: each for each in check_integers(json.dumps(content))}
        verdicts[reports] = found["central promise"].verdict
    assert verdicts == {20_000: "consistent", 12_000: "broken"}


@pytest.mark.parametrize(
    "change", [{"reports": 0}, {"delta": "1/2"}, {"epsilon": "2/2"}, {"helping": "1/1"}, {"delay": 0}], ids=str
)
def test_a_central_promise_of_another_form_is_broken(change: dict[str, object]) -> None:
    """The audit's reader refuses what clients refuse."""
    content = json.loads(ap.plan(5, ap.Epsilon(1)).canonical_json)
    central = {"epsilon": "2/1", "delta": "1/10000", "helping": "1/10", "reports": 500, "delay": 60}
    assert read_numbers(json.dumps(content | {"central": central})).central is not None
    assert check_integers(json.dumps(content | {"central": central | change}))[0].verdict == "broken"
