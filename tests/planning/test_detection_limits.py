"""Guarantees given as ε, and plans that detect a support: results are edges, and impossible requests are refused."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import assocpriv as ap
from assocpriv.guarantees.amplification import amplification_from_epsilon, epsilon_from_amplification
from assocpriv.guarantees.errors import PlanError
from assocpriv.planning.detection_limits import MOST_REPORTS, _least, forecast, reports_to_detect

DEFAULT = ap.Guarantee("5%", "50%")


@pytest.mark.parametrize("epsilon", ["0.01", 0.5, 1, "2.5", Fraction(5, 2), np.float64(4.5), "9.25", 20])
@pytest.mark.parametrize("prior", ["5%", "1%", "1/3", 0.5])
def test_the_limit_is_the_exponential_of_epsilon_rounded_down(epsilon: Any, prior: Any) -> None:
    """The limit is e^ε rounded down to 12 decimals, the same at every prior, and never above e^ε."""
    guarantee = ap.Guarantee.from_epsilon(epsilon, prior)
    limit = guarantee.amplification_limit
    assert isinstance(guarantee, ap.Guarantee)
    assert limit == Fraction(math.floor(amplification_from_epsilon(epsilon) * 10**12), 10**12)
    assert guarantee.prior == Fraction(str(prior).rstrip("%")) / (100 if str(prior).endswith("%") else 1)
    assert max(guarantee.prior.denominator, guarantee.posterior.denominator) <= 10**24
    with localcontext(prec=60):
        power = Fraction(Decimal(str(float(Fraction(str(epsilon))))).exp())
    assert power - Fraction(2, 10**12) < limit <= power


@pytest.mark.parametrize(
    ("epsilon", "limit"), [("ln 19", 19), ("ln19", 19), ("ln(9)", 9), ("ln 2.5", Fraction(5, 2)), (" ln 99 ", 99)]
)
def test_a_logarithm_is_exact(epsilon: str, limit: Fraction) -> None:
    """``ln 19`` gives the limit 19 and the guarantee 5% → 50%; plans of both have the same bytes."""
    assert ap.Guarantee.from_epsilon(epsilon).amplification_limit == limit
    if limit == 19:
        assert ap.Guarantee.from_epsilon(epsilon) == DEFAULT
        assert ap.plan(12, ap.Guarantee.from_epsilon(epsilon)).canonical_json == ap.plan(12, DEFAULT).canonical_json
        assert ap.Guarantee.from_epsilon(epsilon, "1%") == ap.Guarantee("1%", "19/118")


def test_a_huge_epsilon_has_fewer_decimals() -> None:
    """If a posterior has no room for 12 decimals, the limit is rounded down to fewer decimals, never up."""
    guarantee = ap.Guarantee.from_epsilon(40)
    assert 0 <= amplification_from_epsilon(40) - guarantee.amplification_limit < 1
    assert guarantee.posterior.denominator <= 10**24


@pytest.mark.parametrize("epsilon", [0, -1, "inf", "1e-13", 60, "ln 1", "ln 0.5", "ln -2", "ln", "٣", "", True, None])
def test_invalid_epsilons(epsilon: Any) -> None:
    """A value that is not above 0, or cannot be written as two fractions, is refused."""
    with pytest.raises(PlanError, match="epsilon"):
        ap.Guarantee.from_epsilon(epsilon)


@pytest.mark.parametrize(("prior", "epsilon"), [("0", 1), ("100%", "ln 0")])
def test_invalid_priors(prior: str, epsilon: Any) -> None:
    """A prior of 0 or 1 is refused, for any ε, because nothing changes it."""
    with pytest.raises(PlanError, match="prior must lie between 0 and 1"):
        ap.Guarantee.from_epsilon(epsilon, prior)


def detects(choice: Any, reports: int, support: float, size: int) -> bool:
    """Return whether a search over all itemsets of a size detects a support in whole baskets."""
    factor = choice.request.sizes.truncation(choice.plan.items.transaction_size, size)[0]
    return forecast(choice.plan, reports, manipulated=False).detectable.threshold[size] * factor <= support


@pytest.mark.parametrize(
    ("support", "items", "guarantee", "size", "known"),
    [
        ("5%", 1000, DEFAULT, 2, {}),
        (0.3, 12, ap.Guarantee.from_epsilon(1), 3, {"sample": {2: 5, 4: 1}}),
        ("0.5%", 100, DEFAULT, 1, {"reports_per_person": 2, "mean_size": 4}),
    ],
)
def test_one_step_fewer_reports_do_not_detect(
    support: Any, items: int, guarantee: ap.Guarantee, size: int, known: dict[str, Any]
) -> None:
    """The plan for the solved number of reports, of two digits, detects the support; one step less does not."""
    known = {"guarantee": guarantee, "itemset_size": size} | known
    found = ap.plan(items, detect=support, **known)
    assert (found.guarantee, found.solved, found.size) == (guarantee, "reports", size)
    assert len(str(found.reports).rstrip("0")) <= 2
    step = 10 ** max(0, len(str(found.reports - 1)) - 2)
    for reports in (found.reports, found.reports - step):
        choice = ap.plan(items, reports=reports, **known, explain=True)
        assert detects(choice, reports, found.support, size) == (reports == found.reports)


@pytest.mark.parametrize(
    ("support", "items", "reports", "known"),
    [("5%", 1000, 1_000_000, {}), ("20%", 12, 5000, {"itemset_size": 1, "prior": "1%"})],
)
def test_a_stricter_guarantee_does_not_detect(support: str, items: int, reports: int, known: dict[str, Any]) -> None:
    """With the solved ε, of two decimals, these reports detect the support; with an ε smaller by 0.01 they do not."""
    found = ap.plan(items, detect=support, reports=reports, **known)
    steps = round(100 * epsilon_from_amplification(found.guarantee.amplification_limit))
    assert found.solved == "guarantee"
    assert found.guarantee == ap.Guarantee.from_epsilon(Fraction(steps, 100), known.get("prior", "5%"))
    stricter = ap.Guarantee.from_epsilon(Fraction(steps - 1, 100))
    for guarantee, does in ((found.guarantee, True), (stricter, False)):
        choice = ap.plan(items, guarantee, reports=reports, itemset_size=found.size, explain=True)
        assert detects(choice, reports, found.support, found.size) == does


def test_a_guarantee_bounds_the_search() -> None:
    """With both given, the result is the smallest ε up to the guarantee's; the message names the reports needed."""
    known: Any = {"itemset_size": 1, "transaction_size": 3}
    free = ap.plan(12, detect="20%", reports=5_000, **known)
    bounded = ap.plan(12, detect="20%", reports=5_000, guarantee=ap.Guarantee.from_epsilon(4), **known)
    assert free.plan.amplification == bounded.plan.amplification
    strict = {"detect": "20%", "guarantee": ap.Guarantee.from_epsilon("0.1")} | known
    needed = ap.plan(12, **strict).reports
    with pytest.raises(PlanError, match=f"5,000 reports are too few .* with ε 0.10 about {needed:,} are needed"):
        ap.plan(12, reports=5_000, **strict)
    assert ap.plan(12, reports=needed, **strict).reports == needed


def test_names_may_come_from_an_iterator() -> None:
    """Names from an iterator or a set give the same plan as a list of them."""
    names = [f"item {number}" for number in range(8)]
    plan = ap.plan(names, detect="5%", guarantee=DEFAULT).plan
    assert ap.plan(iter(names), detect="5%", guarantee=DEFAULT).plan == plan
    by_name = replace(plan, catalogue=ap.Catalogue(sorted(names)))
    assert ap.plan(set(names), detect="5%", guarantee=DEFAULT).plan == by_name
    baskets = [names[:2], names[:1]]
    assert ap.plan(iter(names), DEFAULT, sample=baskets) == ap.plan(names, DEFAULT, sample=baskets)


def test_the_search_finds_every_edge() -> None:
    """The search returns the first number that holds, for every edge."""
    for most in (1, 2, 7, 40):
        for edge in range(1, most + 2):
            assert _least(lambda n, edge=edge: n >= edge, most) == (edge if edge <= most else None)


def test_impossible_requests_are_refused() -> None:
    """Supports that need more than 10^15 reports, or that no guarantee detects, and invalid arguments are refused."""
    for options, message in (
        ({"detect": "1e-9", "guarantee": DEFAULT}, r"10\^15 reports are too few"),
        ({"detect": "1%", "reports": 100}, "100 reports are too few .* about [1-9]"),
        *(({"detect": support, "guarantee": DEFAULT}, "the support to detect") for support in (0, 1.5, "-1%", "x")),
        ({"detect": "1%"}, "give guarantee or reports"),
        ({"detect": "1%", "itemset_size": 0, "guarantee": DEFAULT}, "size must be in 1..15"),
        ({"detect": "1%", "reports": 0}, f"reports must be in 1..{MOST_REPORTS}"),
    ):
        with pytest.raises(PlanError, match=message):
            ap.plan(100, **options)
    with pytest.raises(TypeError, match="guarantee must be a Guarantee"):
        ap.plan(12, detect="1%", guarantee=2.5)


def test_reports_of_a_plan_that_detect_a_support_are_edges() -> None:
    """With the returned reports the detection threshold is at most the support; with one report fewer it is above."""
    plan = ap.plan(12, DEFAULT, transaction_size=3)
    needed = reports_to_detect(plan, "2%")
    assert sorted(needed) == [1, 2, 3]
    for k, count in needed.items():
        assert forecast(plan, count).detectable.threshold[k] <= 0.02 < forecast(plan, count - 1).detectable.threshold[k]
    assert set(reports_to_detect(plan, "0.0000001%").values()) == {None}
    with pytest.raises(PlanError, match="above 0"):
        reports_to_detect(plan, 0)
