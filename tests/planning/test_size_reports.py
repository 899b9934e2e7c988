"""The report type about sizes: its share of reports, classes and operator, and the effect of manipulated reports."""

import math
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from naive import planned
from scipy.stats import binom, nbinom

import assocpriv as ap
from assocpriv.estimation.manipulation_bounds import FALSE_ALARM, log_share_probability
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.basket_planner import add_sizes_report_type, sizes_share
from assocpriv.planning.detection_limits import manipulated_sizes
from assocpriv.plans.baskets.report_type import SizesView

DEFAULT = Guarantee("5%", "50%")


@pytest.mark.parametrize(
    ("reports", "share"),
    [(1, "1/20"), (40_001, "1/20"), (60_000, "17/500"), (10**5, "1/50"), (10**9, "1/100")],  # 17/500: a thirtieth
)
def test_the_share_of_reports_about_sizes(reports: int, share: str) -> None:
    """2,000 people, but at least 1% and at most 5%, in thousandths rounded up."""
    assert sizes_share(reports) == Fraction(share)


@pytest.mark.parametrize(
    ("n_items", "m", "bounds"),
    [
        (1000, 5, (5, 6, 7, 8, 9, 11, 13, 16, 19, 24, 31, 40, 54, 76, 110)),
        (110, 5, (5, 6, 7, 8, 9, 11, 13, 16, 19, 24, 31, 40, 54, 76, 110)),
        (109, 5, (5, 6, 7, 8, 9, 11, 13, 16, 19, 24, 31, 40, 54, 76)),
        (6, 5, (5, 6)),
        (2, 1, (1, 2)),
    ],
)
def test_classes_begin_at_the_largest_number_of_items(n_items: int, m: int, bounds: tuple[int, ...]) -> None:
    """They begin at M and end at the number of items; the report type about items keeps its other fields."""
    alone = planned(n_items, m, DEFAULT, itemset_size=1, reports=10**5).items
    items, sizes = add_sizes_report_type(alone, Fraction(17, 500), DEFAULT.amplification_limit, 10**5)
    assert sizes.view == SizesView(bounds)
    assert (sizes.n_items, sizes.transaction_size, sizes.itemset_size) == (len(bounds), 1, 1)
    assert (items.weight, sizes.weight) == (483, 17)
    assert replace(items, weight=alone.weight) == alone


def test_frequent_sizes_are_classes_of_their_own() -> None:
    """They follow from a whole mean, a sample's sizes, or items that are values of columns; nothing else gives any."""
    columns = [f"{column}={value}" for column in range(20) for value in "ab"]
    for items, known, own in (
        (100, {"mean_size": 20}, {20, 21}),
        (100, {"mean_size": 20.5}, set()),
        (100, {"sample": {2: 500, 20: 400, 30: 3}}, {20, 21}),
        (columns, {}, {20, 21}),
        ([*columns, "milk"], {}, set()),
    ):
        bounds = ap.plan(items, DEFAULT, transaction_size=5, **known).size_bounds
        assert {*bounds} & {20, 21} == own


@pytest.mark.parametrize(("n_items", "m"), [(5, 5), (3, 5), (1, 1)])
def test_small_catalogues_have_no_report_type_about_sizes(n_items: int, m: int) -> None:
    """If no basket can hold more than M items, there is no report type about sizes."""
    alone = naive.small_plan("none", n_items, m, 1).items
    assert add_sizes_report_type(alone, Fraction(1, 50), DEFAULT.amplification_limit, 10**5) == (alone,)
    plan = planned(n_items, m, DEFAULT, itemset_size=1, sizes="auto")
    assert (len(plan.report_types), plan.sizes, plan.size_bounds, manipulated_sizes(plan, 1000)) == (1, None, (), ())


@pytest.mark.parametrize("guarantee", [DEFAULT, Guarantee("1%", "99%"), Guarantee("0.1%", "0.2%")])
@pytest.mark.parametrize("reports_per_person", [1, 12])
def test_reports_about_sizes_keep_the_guarantee(guarantee: Guarantee, reports_per_person: int) -> None:
    """γ of responses about sizes is strictly below the limit for each report, and near it."""
    made = planned(60, 3, guarantee, itemset_size=1, reports=10**4, reports_per_person=reports_per_person, sizes="2.5%")
    assert (made.share(made.items), made.share(made.sizes)) == (Fraction(39, 40), Fraction(1, 40))
    gamma, limit = made.sizes.amplification, guarantee.amplification_limit
    assert gamma**reports_per_person < limit
    assert math.log(gamma) * reports_per_person > 0.99 * math.log(limit)
    assert made.amplification == max(gamma, made.items.amplification)


def test_without_manipulated_reports_the_factors_are_those_of_default_sizes() -> None:
    """With many honest reports, F is that of the negative binomial distribution within a hundredth."""
    plan = planned(200, 4, DEFAULT, itemset_size=2, reports=10**8, sizes="5%")
    honest = manipulated_sizes(plan, 10**8)[0]
    sizes = np.arange(2000)
    shares = nbinom.pmf(sizes, 1.5, 1.5 / 7.5)
    for k in (1, 2):
        ways = np.array([float(math.comb(c, k)) for c in sizes.tolist()])
        held = shares * ways ** (k**-0.6)
        kept = np.minimum(1.0, math.comb(4, k) / np.maximum(ways, 1.0))
        assert honest.factors[k] == pytest.approx(held.sum() / (held @ kept), rel=0.01)
    assert (honest.share, honest.detected) == (0, False)


@pytest.mark.parametrize("reports", [1, 2])
def test_few_reports_may_all_be_manipulated(reports: int) -> None:
    """At the start of a collection, the effects have only shares that leave honest reports."""
    effects = manipulated_sizes(planned(300, 4, DEFAULT, reports=10**4, sizes="auto"), reports)
    assert [each.share for each in effects] == [0, 0.001, 0.01]
    assert all(math.isfinite(factor) for each in effects for factor in each.factors.values())


@pytest.mark.parametrize("reports", [10**4, 10**5, 10**6])
def test_manipulated_reports_raise_supports_and_are_detected(reports: int) -> None:
    """More manipulated reports raise supports more, of larger itemsets most; detection succeeds 998 times in 1,000."""
    plan = planned(300, 4, DEFAULT, reports=reports, sizes="auto")
    effects = manipulated_sizes(plan, reports)
    [passing] = {each.share for each in effects} - {0, 0.001, 0.01}
    for k in (1, 2, 3):
        factors = [each.factors[k] for each in effects if each.share != passing]
        assert 1 < factors[0] < 1.01 * factors[1]  # scipy 1.17 and 1.18 end a fit .3% apart
        assert factors[1] < factors[2]
    assert all(each.factors[1] < each.factors[2] < each.factors[3] for each in effects)
    share = plan.share(plan.report_types[1])
    for each in effects:
        manipulated = round(each.share * reports)
        few = int(binom.ppf(0.002, reports - manipulated, float(share))) + manipulated
        assert each.detected <= (log_share_probability(few, reports, share) < math.log(FALSE_ALARM / 20))
    assert [each.detected for each in effects][-1] == (reports > 10**4)
    assert (passing < 0.001) == (reports == 10**6)
    assert passing < 0.01
