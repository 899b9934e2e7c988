"""The audit's own proof of a central guarantee, compared with the shipped one and with exact sums."""

import json
import math
from fractions import Fraction

import pytest

import assocpriv as ap
from assocpriv.auditing.recompute_central import delta_of, mean_blanket
from assocpriv.auditing.recompute_guarantee import check_integers, read_numbers
from assocpriv.guarantees.shuffle_model import shuffled_delta

DELTA = 1e-8


@pytest.mark.parametrize(("people", "local", "mass"), [(90_000, 7.8, 0.36), (18_000, 6.2, 0.37), (5_000, 3.5, 0.2)])
@pytest.mark.parametrize("value", [0.05, 0.3, 1.0])
def test_two_proofs_agree(people: int, local: float, mass: float, value: float) -> None:
    """A sum over every number of clones gives the bound of sums over strata, or up to a quarter less."""
    gamma = Fraction(math.exp(local))
    ours, own = (
        delta_of(value, gamma, Fraction(mass), people, DELTA),
        shuffled_delta(value, gamma, people, Fraction(mass), DELTA / 1000),
    )
    assert 0.75 * own <= ours <= own * (1 + 1e-4) + DELTA / 500


def test_the_audit_proves_a_central_guarantee() -> None:
    """From the text alone: γ, the mean blanket, and whether the guarantee follows; for fewer people it does not."""
    plan = ap.plan(30, central=(1, DELTA), reports=20_000)
    numbers = read_numbers(plan.canonical_json)
    forms = zip(numbers.shares, (each.form for each in numbers.report_types), strict=True)
    assert mean_blanket(forms) == plan.blanket
    verdicts = {}
    for reports in (20_000, 12_000):
        content = json.loads(plan.canonical_json)
        content["central"]["reports"] = reports
        found = {each.name: each for each in check_integers(json.dumps(content))}
        verdicts[reports] = found["central guarantee"].verdict
    assert verdicts == {20_000: "consistent", 12_000: "broken"}


@pytest.mark.parametrize(
    "change", [{"reports": 0}, {"delta": "1/2"}, {"epsilon": "2/2"}, {"colluding": "1/1"}, {"delay": 0}], ids=str
)
def test_a_central_guarantee_of_another_form_is_broken(change: dict[str, object]) -> None:
    """The audit's reader refuses what clients refuse."""
    content = json.loads(ap.plan(5, ap.Guarantee.from_epsilon(1)).canonical_json)
    central = {"epsilon": "2/1", "delta": "1/10000", "colluding": "1/10", "reports": 500, "delay": 60}
    assert read_numbers(json.dumps(content | {"central": central})).central is not None
    assert check_integers(json.dumps(content | {"central": central | change}))[0].verdict == "broken"
