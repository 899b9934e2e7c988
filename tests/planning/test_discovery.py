"""A promise given as ε, and what it takes to discover a support: answers are edges, found and refused as stated."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import assocpriv as ap
from assocpriv.planning.discovery import MOST_EPSILON, MOST_REPORTS, _least, foresee, reports_to_discover
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
        assert ap.plan(12, 3, ap.Epsilon(asked)).canonical_json == ap.plan(12, 3, USUAL).canonical_json
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
    with pytest.raises(PlanError, match="prior between 0 and 1"):
        ap.Epsilon(asked, prior)


def discovers(plan: ap.Plan, reports: int, support: float, sizes: tuple[int, ...]) -> bool:
    """Tell from what ``plan`` prints whether a support can be believed."""
    level = foresee(plan, reports).discoverable.level
    return max(level[k] for k in sizes) <= support


@pytest.mark.parametrize(
    ("support", "items", "m", "promise", "choices"),
    [
        ("5%", 1000, 3, USUAL, {}),
        ("1%", 40, 4, ap.Epsilon(1), {}),
        (0.3, 12, 3, USUAL, {"target": "singles"}),
        ("100%", 50, 3, ap.Breach("1%", "90%"), {"itemset_size": 2}),
        ("0.2%", 300, 3, USUAL, {"reports_per_person": 2, "target": ["pairs"]}),
    ],
)
def test_one_report_fewer_does_not_discover(
    support: Any, items: int, m: int, promise: ap.Breach, choices: dict[str, Any]
) -> None:
    """The plan made for the number of reports found discovers the support with them; for one fewer it does not."""
    found = ap.reports_needed(support, items, m, promise, **choices)
    share, sizes = float(found.support), found.targets
    assert found.promise == promise
    assert found.plan == ap.plan(items, m, promise, reports=found.reports, **choices)
    assert discovers(found.plan, found.reports, share, sizes)
    fewer = ap.plan(items, m, promise, reports=found.reports - 1, **choices)
    assert not discovers(fewer, found.reports - 1, share, sizes)
    assert not discovers(found.plan, found.reports * 9 // 10, share, sizes)


@pytest.mark.parametrize(
    ("support", "items", "m", "enough"),
    [("6.864822793%", 100, 3, 12_720), ("11.546486122%", 40, 2, 1_290), ("1.317258845%", 100, 3, 257_269)],
)
def test_an_edge_behind_a_change_of_designs_is_found(support: str, items: int, m: int, enough: int) -> None:
    """Just above ``enough`` the planner takes shorter reports that do not discover the support before 2% more."""
    found = ap.reports_needed(support, items, m, USUAL)
    share, sizes = float(found.support), found.targets
    assert discovers(ap.plan(items, m, USUAL, reports=enough), enough, share, sizes)
    assert not discovers(ap.plan(items, m, USUAL, reports=enough + 1), enough + 1, share, sizes)
    assert found.reports <= enough
    assert discovers(ap.plan(items, m, USUAL, reports=found.reports), found.reports, share, sizes)
    fewer = found.reports - 1
    assert not discovers(ap.plan(items, m, USUAL, reports=fewer), fewer, share, sizes)


@pytest.mark.parametrize(
    ("support", "items", "m", "reports", "choices"),
    [("5%", 1000, 3, 100_000, {}), ("1%", 40, 3, 3_000_000, {"prior": "1%"}), ("20%", 12, 2, 5000, {"target": 1})],
)
def test_a_stricter_promise_does_not_discover(
    support: str, items: int, m: int, reports: int, choices: dict[str, Any]
) -> None:
    """The promise found, an ε of two decimals, lets so many reports discover the support; 0.01 less does not."""
    found = ap.promise_needed(support, items, m, reports, **choices)
    prior = choices.pop("prior", "5%")
    share, sizes = float(found.support), found.targets
    steps = round(100 * epsilon(found.promise.amplification_limit))
    assert found.promise == ap.Epsilon(Fraction(steps, 100), prior)
    assert discovers(found.plan, reports, share, sizes)
    stricter = ap.plan(items, m, ap.Epsilon(Fraction(steps - 1, 100), prior), reports=reports, **choices)
    assert not discovers(stricter, reports, share, sizes)


def test_names_may_come_from_an_iterator() -> None:
    """Names that can be read once give the answer of a list of them."""
    names = [f"item {number}" for number in range(20)]
    assert ap.reports_needed("5%", iter(names), 2, USUAL) == ap.reports_needed("5%", names, 2, USUAL)


def test_both_questions_agree() -> None:
    """So many reports as a promise needs need no weaker promise, to 0.01 of ε."""
    promise = ap.Epsilon(2)
    needed = ap.reports_needed("5%", 100, 3, promise).reports
    back = ap.promise_needed("5%", 100, 3, needed).promise
    assert epsilon(back.amplification_limit) == pytest.approx(2, abs=0.011)


def test_the_search_finds_every_edge() -> None:
    """Wherever the edge and the guess lie, the number found is the first that holds."""
    for most in (1, 2, 7, 40):
        for edge in range(1, most + 2):
            for guess in range(1, most + 1):
                assert _least(lambda n, edge=edge: n >= edge, guess, most) == (edge if edge <= most else None)


def test_what_nothing_discovers_is_said() -> None:
    """A support beyond 10^15 reports, or beyond every promise, and questions that make no sense are refused."""
    with pytest.raises(PlanError, match="needs more than 10\\^15 reports"):
        ap.reports_needed("1e-9", 12, 3, USUAL)
    with pytest.raises(PlanError, match=f"no promise up to epsilon {MOST_EPSILON} lets 100 reports"):
        ap.promise_needed("1%", 100, 3, 100)
    for support in (0, "0%", 1.5, "-1%", "x"):
        with pytest.raises(PlanError, match="the support to discover"):
            ap.reports_needed(support, 12, 3, USUAL)
    with pytest.raises(PlanError, match=r"transaction_size must be in 1\.\.15"):
        ap.promise_needed("1%", 12, 16, 1000)
    with pytest.raises(PlanError, match=f"reports must be in 1..{MOST_REPORTS}"):
        ap.promise_needed("1%", 12, 3, 0)
    with pytest.raises(TypeError, match="reports_needed solves for the reports"):
        ap.reports_needed("1%", 12, 3, USUAL, reports=100)
    with pytest.raises(TypeError, match="promise must be a Breach"):
        ap.reports_needed("1%", 12, 3, 2.5)  # type: ignore[arg-type]


def test_reports_of_a_plan_that_discover_a_support_are_edges() -> None:
    """At so many reports every size's own figure is at most the support, at one fewer it is above."""
    plan = ap.plan(30, 4, USUAL)
    needed = reports_to_discover(plan, "2%")
    assert sorted(needed) == [1, 2, 3]
    for k, count in needed.items():
        assert count is not None
        assert foresee(plan, count).discoverable.level[k] <= 0.02 < foresee(plan, count - 1).discoverable.level[k]
    assert set(reports_to_discover(plan, "0.0000001%").values()) == {None}
    with pytest.raises(PlanError, match="above 0"):
        reports_to_discover(plan, 0)
