"""Properties of the whole: any valid plan and any baskets, from reports to the page, in one process.

Hypothesis draws plans and baskets; ``--slow`` draws for up to an hour. Coverage is summed over all possible reports.
"""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from naive import binomial_sum, fixed_plan, items_plan, planned, reports_of, small_plan
from shown import check

import assocpriv as ap
from assocpriv.files.report_files import Reports
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import Operator
from assocpriv.releasing.basket_release import ReleaseOptions, release_baskets
from assocpriv.show import itemset_views
from assocpriv.simulation.enumeration import SeededEntropy

SHARES = st.sampled_from(["0", "1/100", "7%", "1/3", "99.9%", "1"])
ONE_ITEM = fixed_plan(1, 3, 1, 3)
RANGES = {
    "support": (0, 1), "confidence": (0, 1), "lift": (0, np.inf), "leverage": (-0.25, 0.25), "conviction": (0, np.inf),
    "zhangs_metric": (-1, 1), "jaccard": (0, 1), "certainty": (-1, 1), "kulczynski": (0, 1),
    "representativity": (0, 1),
}  # fmt: skip


@cache
def guaranteed(n_items: int, m: int, guarantee: str, reports_per_person: int, sizes: str | None) -> Plan:
    """Return a plan with a guarantee, made once."""
    wanted = ap.Guarantee.from_epsilon(guarantee)
    return planned(n_items, m, wanted, reports_per_person=reports_per_person, sizes=sizes)


@st.composite
def plans(draw: Any) -> Plan:
    """Draw a plan: any operator and code, or one that the planner finds."""
    n_items, m = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    k = draw(st.integers(1, min(m, n_items)))
    kind = draw(st.sampled_from(["planned", "fixed", "none", "bch", "reed-solomon"]))
    if kind == "planned":
        wanted = draw(st.sampled_from(["1/2", "2", "ln19", "8"])), draw(st.integers(1, 2))
        return guaranteed(n_items, m, *wanted, draw(st.sampled_from([None, "auto"])))
    if kind == "fixed":
        return fixed_plan(n_items, m, k, draw(st.integers(m, n_items + m - 1)))
    return small_plan(kind, n_items, m, k, insert=draw(st.sampled_from([(1, 1), (1, 2), (3, 2)])))


@st.composite
def collections(draw: Any) -> tuple[Plan, Reports]:
    """Draw a plan and reports of 1 to 400 baskets, of which many are alike."""
    plan = draw(plans())
    basket = st.sets(st.integers(0, len(plan.catalogue) - 1), max_size=6)
    kinds = draw(st.lists(st.tuples(basket, st.integers(1, 100)), min_size=1, max_size=4))
    baskets = [[plan.catalogue[item] for item in held] for held, times in kinds for _ in range(times)]
    return plan, reports_of(
        ap.Baskets.from_sets(baskets, plan.catalogue, empty="keep", layout="list"), plan, draw(st.integers(1, 9))
    )


def check_tables(found: Any, plan: Plan | None, confidence: str) -> None:
    """Assert what holds for any mined table, and that text, JSON and page show the same figures."""
    assert ((found["ci_low"] <= found["support"]) & (found["support"] <= found["ci_high"])).all()
    assert ((found["ci_low"] >= 0) & (found["ci_high"] <= 1) & (found["std_error"] >= 0)).all()
    assert found["probability"].between(0, 1).all()
    supports = dict(zip(found["itemsets"], found["support"], strict=True))
    for itemset, support in supports.items():
        assert all(support <= supports[itemset - {item}] + 1e-9 for item in itemset if len(itemset) > 1)
    check(itemset_views.mined(found))
    rules = ap.association_rules(found, confidence)
    for name, (least, most) in RANGES.items():
        assert ((rules[name] >= least - 1e-12) & (rules[name] <= most + 1e-12)).all(), name
    assert (rules["confidence_ci_low"] <= rules["confidence"] + 1e-9).all()
    assert (rules["confidence"] <= rules["confidence_ci_high"] + 1e-9).all()
    check(itemset_views.rules(rules))
    assert "</html>" in ap.page(found, plan, min_confidence=confidence)


@pytest.mark.parametrize("examples", [25, pytest.param(25_000, marks=pytest.mark.slow)])  # which takes about an hour
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_reports_become_tables_and_a_page(examples: int) -> None:
    """Only a minimum support of 0 and operators without information are refused; nothing else is raised."""

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(collections(), st.none() | SHARES, SHARES)
    @example((ONE_ITEM, reports_of([["0"], [], ["0"]], ONE_ITEM)), None, "1/3")  # no two items can be outside a basket
    def run(collected: tuple[Plan, Reports], min_support: str | None, confidence: str) -> None:
        plan, reports = collected
        try:
            found = ap.mine(reports, min_support)
        except ap.AssocprivError as error:
            assert "no information" in str(error) or min_support == "0", error  # noqa: PT017 - not all are refused
        else:
            assert min_support != "0"
            check_tables(found, plan, confidence)

    run()


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(2, 9), st.sampled_from(["1/2", "4"]), st.sampled_from(["0", "1e-8"]), st.integers(1, 9), SHARES)
def test_any_release_becomes_tables_and_a_page(
    n_items: int, epsilon: str, delta: str, seed: int, confidence: str
) -> None:
    """So do releases of baskets of any density."""
    held = np.random.default_rng(seed).random((2_000, n_items)) < np.linspace(0, 1, n_items)
    catalogue = ap.Catalogue.numbered(n_items)
    baskets = ap.Baskets.from_sets([np.flatnonzero(row) for row in held], catalogue, empty="keep", layout="list")
    options = ReleaseOptions(Fraction(epsilon), Fraction(delta), max_itemset=min(3, n_items))
    try:
        made = release_baskets(baskets, options, entropy=SeededEntropy(seed))
    except ap.AssocprivError as error:
        assert "too few" in str(error)  # noqa: PT017 - only some noise is too large
    else:
        check_tables(ap.mine(made), None, confidence)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_coverage_over_all_reports() -> None:
    """Over all reports of 100 baskets with an item in a share of them, 95% intervals hold the share with 95%.

    The number of reports that show the item is all that an interval depends on. Intervals of half the length fail.
    """
    keep, insert, n = Fraction(3, 4), Fraction(1, 2), 100
    plan = items_plan(1, Operator(1, 1, 1, 2, (1, 3)))
    shown = np.tri(n + 1, n, -1, dtype=np.uint8)[:, :, None]
    ends = [ap.ask(Reports(plan, packed), [["0"]])[["ci_low", "ci_high"]].to_numpy()[0] for packed in shown]
    low, high = np.array(ends).T
    middle = (low + high) / 2

    def mean_coverage(part: float) -> float:
        found = []
        for held in range(n + 1):
            law = binomial_sum(held, float(keep), n - held, float(insert))
            inside = np.abs(held / n - middle) <= part * (high - low) / 2
            found.append(float(law @ inside))
        return float(np.mean(found))

    assert mean_coverage(1) > 0.94
    assert mean_coverage(0.5) < 0.9
