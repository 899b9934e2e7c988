"""A promise given as ε, and what it takes to find a support: answers are edges, found and refused as stated."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import assocpriv as ap
from assocpriv.planning.discovery import MOST_REPORTS, _least, foresee, reports_to_discover
from assocpriv.promise.breaches import amplification_of, epsilon
from assocpriv.promise.errors import PlanError

USUAL = ap.Breach("5%", "50%")


@pytest.mark.parametrize("asked", ["0.01", 0.5, 1, "2.5", Fraction(5, 2), np.float64(4.5), "9.25", 20])
@pytest.mark.parametrize("prior", ["5%", "1%", "1/3", 0.5])
def test_epsilon_is_its_exponential_rounded_down(asked: Any, prior: Any) -> None:
    """The limit is e^ε rounded down to 12 decimals, the same at every prior, and never above e^ε."""
    promise = ap.Epsilon(asked, prior)
    limit = promise.amplification_limit
    assert isinstance(promise, ap.Breach)
    assert limit == Fraction(math.floor(amplification_of(asked) * 10**12), 10**12)
    assert promise.prior == Fraction(str(prior).rstrip("%")) / (100 if str(prior).endswith("%") else 1)
    assert max(promise.prior.denominator, promise.posterior.denominator) <= 10**24
    with localcontext(prec=60):
        power = Fraction(Decimal(str(float(Fraction(str(asked))))).exp())
    assert power - Fraction(2, 10**12) < limit <= power


@pytest.mark.parametrize(
    ("asked", "limit"), [("ln 19", 19), ("ln19", 19), ("ln(9)", 9), ("ln 2.5", Fraction(5, 2)), (" ln 99 ", 99)]
)
def test_a_logarithm_is_taken_as_written(asked: str, limit: Fraction) -> None:
    """``ln 19`` is the limit 19, and the same promise as 5% → 50%; plans of both are the same, byte for byte."""
    assert ap.Epsilon(asked).amplification_limit == limit
    if limit == 19:
        assert ap.Epsilon(asked) == USUAL
        assert ap.plan(12, ap.Epsilon(asked)).canonical_json == ap.plan(12, USUAL).canonical_json
        assert ap.Epsilon(asked, "1%") == ap.Breach("1%", "19/118")


def test_a_huge_epsilon_has_fewer_decimals() -> None:
    """Where a posterior has no room for 12 decimals, the limit is rounded down to fewer; never up."""
    promise = ap.Epsilon(40)
    assert 0 <= amplification_of(40) - promise.amplification_limit < 1
    assert promise.posterior.denominator <= 10**24


@pytest.mark.parametrize(
    "asked", [0, "0", -1, "nan", "inf", "1e-13", 60, 701, "ln 1", "ln 0", "ln 0.5", "ln -2", "ln", "٣", "", True, None]
)
def test_what_is_no_epsilon(asked: Any) -> None:
    """What is no number above 0, or cannot be written as two fractions, is refused and named."""
    with pytest.raises(PlanError, match="epsilon"):
        ap.Epsilon(asked)


@pytest.mark.parametrize("prior", ["0", "1", "0%", "100%"])
@pytest.mark.parametrize("asked", [1, "ln 0"])
def test_what_is_no_prior(prior: str, asked: Any) -> None:
    """A prior of 0 or 1 is moved by nothing, whatever the ε."""
    with pytest.raises(PlanError, match="prior must lie between 0 and 1"):
        ap.Epsilon(asked, prior)


def finds(choice: Any, reports: int, support: float, size: int) -> bool:
    """Tell whether all itemsets of a size can be believed at a support in whole baskets."""
    factor = choice.request.sizes.undoing(choice.plan.items.transaction_size, size)[0]
    return foresee(choice.plan, reports, forged=False).discoverable.level[size] * factor <= support


@pytest.mark.parametrize(
    ("support", "items", "promise", "size", "known"),
    [
        ("5%", 1000, USUAL, 2, {}),
        ("1%", 40, ap.Epsilon(1), 1, {"mean_size": 4}),
        (0.3, 12, USUAL, 3, {"like": {2: 5, 4: 1}}),
        ("50%", 50, ap.Breach("1%", "90%"), 2, {"itemset_size": 3}),
        ("0.5%", 300, USUAL, 1, {"reports_per_person": 2}),
    ],
)
def test_a_step_fewer_reports_do_not_find(
    support: Any, items: int, promise: ap.Breach, size: int, known: dict[str, Any]
) -> None:
    """The plan made for the number found, of two digits, finds the support with them; one step less does not."""
    found = ap.find_plan(support, items, size=size, promise=promise, **known)
    known = {"itemset_size": size} | known
    assert (found.promise, found.solved, found.size) == (promise, "reports", size)
    assert len(str(found.reports).rstrip("0")) <= 2
    assert finds(ap.choose_plan(items, promise, reports=found.reports, **known), found.reports, found.support, size)
    step = 10 ** max(0, len(str(found.reports - 1)) - 2)
    fewer = found.reports - step
    assert not finds(ap.choose_plan(items, promise, reports=fewer, **known), fewer, found.support, size)


@pytest.mark.parametrize(
    ("support", "items", "reports", "known"),
    [("5%", 1000, 1_000_000, {}), ("20%", 12, 5000, {"size": 1, "prior": "1%"})],
)
def test_a_stricter_promise_does_not_find(support: str, items: int, reports: int, known: dict[str, Any]) -> None:
    """The promise found, an ε of two decimals, lets so many reports find the support; 0.01 less does not."""
    found = ap.find_plan(support, items, reports=reports, **known)
    steps = round(100 * epsilon(found.promise.amplification_limit))
    assert found.solved == "promise"
    assert found.promise == ap.Epsilon(Fraction(steps, 100), known.get("prior", "5%"))
    stricter = ap.Epsilon(Fraction(steps - 1, 100))
    for promise, does in ((found.promise, True), (stricter, False)):
        choice = ap.choose_plan(items, promise, reports=reports, itemset_size=found.size)
        assert finds(choice, reports, found.support, found.size) == does


def test_a_promise_bounds_the_search() -> None:
    """With both, the least ε up to the promise's is found; where none does, it is said how many reports would."""
    known: Any = {"size": 1, "transaction_size": 3}
    free = ap.find_plan("20%", 12, **known, reports=5_000)
    bounded = ap.find_plan("20%", 12, **known, reports=5_000, promise=ap.Epsilon(4))
    assert free.plan.amplification == bounded.plan.amplification
    needed = ap.find_plan("20%", 12, **known, promise=ap.Epsilon("0.1")).reports
    with pytest.raises(PlanError, match=f"5,000 reports are too few .* with ε 0.10 about {needed:,} would do"):
        ap.find_plan("20%", 12, **known, reports=5_000, promise=ap.Epsilon("0.1"))
    assert ap.find_plan("20%", 12, **known, reports=needed, promise=ap.Epsilon("0.1")).reports == needed


def test_names_may_come_from_an_iterator() -> None:
    """Names that can be read once, or have no order, give the answer of a list of them."""
    names = [f"item {number}" for number in range(8)]
    listed = ap.find_plan("5%", names, promise=USUAL).plan
    assert ap.find_plan("5%", iter(names), promise=USUAL).plan == listed
    assert ap.find_plan("5%", set(names), promise=USUAL).plan == replace(listed, catalogue=ap.Catalogue(sorted(names)))
    baskets = [names[:2], names[:1]]
    assert ap.plan(iter(names), USUAL, like=baskets) == ap.plan(names, USUAL, like=baskets)


def test_the_search_finds_every_edge() -> None:
    """Wherever the edge lies, the number found is the first that holds."""
    for most in (1, 2, 7, 40):
        for edge in range(1, most + 2):
            assert _least(lambda n, edge=edge: n >= edge, most) == (edge if edge <= most else None)


def test_what_nothing_finds_is_said() -> None:
    """A support beyond 10^15 reports, or beyond every promise, and questions that make no sense are refused."""
    with pytest.raises(PlanError, match="not even 10\\^15 reports would do"):
        ap.find_plan("1e-9", 12, promise=USUAL)
    with pytest.raises(PlanError, match=r"100 reports are too few .* about [1-9]"):
        ap.find_plan("1%", 100, reports=100)
    for support in (0, "0%", 1.5, "-1%", "x"):
        with pytest.raises(PlanError, match="the support to find"):
            ap.find_plan(support, 12, promise=USUAL)
    with pytest.raises(PlanError, match="give the promise, or how many reports"):
        ap.find_plan("1%", 12)
    with pytest.raises(PlanError, match=r"itemset_size \(K\) must be at least the size"):
        ap.find_plan("20%", 50, size=3, itemset_size=2, promise=USUAL)
    with pytest.raises(PlanError, match=r"size must be in 1..15"):
        ap.find_plan("1%", 12, size=0, promise=USUAL)
    with pytest.raises(PlanError, match=f"reports must be in 1..{MOST_REPORTS}"):
        ap.find_plan("1%", 12, reports=0)
    with pytest.raises(TypeError, match="promise must be a Breach"):
        ap.find_plan("1%", 12, promise=2.5)


def test_reports_of_a_plan_that_discover_a_support_are_edges() -> None:
    """At so many reports every size's own figure is at most the support, at one fewer it is above."""
    plan = ap.plan(12, USUAL, transaction_size=3)
    needed = reports_to_discover(plan, "2%")
    assert sorted(needed) == [1, 2, 3]
    for k, count in needed.items():
        assert count is not None
        assert foresee(plan, count).discoverable.level[k] <= 0.02 < foresee(plan, count - 1).discoverable.level[k]
    assert set(reports_to_discover(plan, "0.0000001%").values()) == {None}
    with pytest.raises(PlanError, match="above 0"):
        reports_to_discover(plan, 0)
