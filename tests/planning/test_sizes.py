"""The question about sizes beside one about items: who is asked, its classes and operator, what forged answers do."""

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from naive import planned
from scipy.stats import binom, nbinom

import assocpriv as ap
from assocpriv.planning.sizes import forged_sizes, share_asked, with_sizes
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.breaches import Breach
from assocpriv.server.crafted import FALSE_ALARM, log_share_chance

USUAL = Breach("5%", "50%")


@pytest.mark.parametrize(
    ("reports", "share"),
    [
        (1, "1/20"),
        (40_000, "1/20"),
        (40_001, "1/20"),
        (60_000, "17/500"),  # a thirtieth, rounded up
        (10**5, "1/50"),
        (10**6, "1/100"),
        (10**9, "1/100"),
    ],
)
def test_the_share_asked(reports: int, share: str) -> None:
    """2,000 people within 1% and 5%, in thousandths rounded up."""
    assert share_asked(reports) == Fraction(share)


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
    """They begin at M and end at the number of items, and all else of the question about items stays what it is."""
    alone = planned(n_items, m, USUAL, itemset_size=1, reports=10**5).items
    items, sizes = with_sizes(alone, Fraction(17, 500), USUAL.amplification_limit, 10**5)
    assert sizes.view == SizesView(bounds)
    assert (sizes.n_items, sizes.transaction_size, sizes.itemset_size) == (len(bounds), 1, 1)
    assert (items.weight, sizes.weight) == (483, 17)
    unasked = [(each.operator, each.generator, each.itemset_size, each.view) for each in (alone, items)]
    assert unasked[0] == unasked[1]


def test_sizes_that_many_baskets_have_are_classes_of_their_own() -> None:
    """They come of a whole mean, of a sample's sizes, and of items that are values of columns; others do not."""
    columns = [f"{column}={value}" for column in range(20) for value in "ab"]
    for items, known, own in (
        (100, {"mean_size": 20}, {20, 21}),
        (100, {"mean_size": 20.5}, set()),
        (100, {"like": {2: 500, 20: 400, 30: 3}}, {20, 21}),
        (columns, {}, {20, 21}),
        ([*columns, "milk"], {}, set()),
    ):
        bounds = ap.plan(items, USUAL, transaction_size=5, **known).size_bounds
        assert {*bounds} & {20, 21} == own


@pytest.mark.parametrize(("n_items", "m"), [(5, 5), (3, 5), (1, 1)])
def test_nobody_is_asked_what_everybody_knows(n_items: int, m: int) -> None:
    """Where no basket can hold more than M items there is no question about sizes."""
    asked = naive.small_plan("none", n_items, m, 1).items
    assert with_sizes(asked, Fraction(1, 50), USUAL.amplification_limit, 10**5) == (asked,)
    plan = planned(n_items, m, USUAL, itemset_size=1, sizes="auto")
    assert (len(plan.questions), plan.sizes, plan.size_bounds, forged_sizes(plan, 1000)) == (1, None, (), ())


@pytest.mark.parametrize("promise", [Breach("5%", "10%"), USUAL, Breach("1%", "99%"), Breach("0.1%", "0.2%")])
@pytest.mark.parametrize("reports_per_person", [1, 12])
def test_sizes_are_told_within_the_promise(promise: Breach, reports_per_person: int) -> None:
    """γ of the answers about sizes is strictly below what each report may have, and uses what there is of it."""
    made = planned(60, 3, promise, itemset_size=1, reports=10**4, reports_per_person=reports_per_person, sizes="2.5%")
    assert made.sizes is not None
    assert (made.share(made.items), made.share(made.sizes)) == (Fraction(39, 40), Fraction(1, 40))
    gamma, limit = made.sizes.amplification, promise.amplification_limit
    assert gamma**reports_per_person < limit
    assert math.log(gamma) * reports_per_person > 0.99 * math.log(limit)
    assert made.amplification == max(gamma, made.items.amplification)


def test_without_forged_answers_the_factors_are_those_of_usual_sizes() -> None:
    """Nothing forged, many reports: F is that of the negative binomial law itself, within a hundredth."""
    plan = planned(200, 4, USUAL, itemset_size=2, reports=10**8, sizes="5%")
    honest = forged_sizes(plan, 10**8)[0]
    sizes = np.arange(2000)
    law = nbinom.pmf(sizes, 1.5, 1.5 / 7.5)
    for k in (1, 2):
        ways = np.array([float(math.comb(c, k)) for c in sizes.tolist()])
        held = law * ways ** (k**-0.6)
        kept = np.minimum(1.0, math.comb(4, k) / np.maximum(ways, 1.0))
        assert honest.factors[k] == pytest.approx(held.sum() / (held @ kept), rel=0.01)
    assert (honest.share, honest.noticed) == (0, False)


@pytest.mark.parametrize("reports", [1, 2])
def test_of_so_few_reports_all_may_be_forged(reports: int) -> None:
    """As in a collection that has just begun: shares are told of which honest reports are left."""
    told = forged_sizes(planned(300, 4, USUAL, reports=10**4, sizes="auto"), reports)
    assert [each.share for each in told] == [0, 0.001, 0.01]
    assert all(math.isfinite(factor) for each in told for factor in each.factors.values())


@pytest.mark.parametrize("reports", [10**4, 10**5, 10**6])
def test_forged_answers_raise_supports_and_are_noticed(reports: int) -> None:
    """More forged answers raise supports more, of larger itemsets most; what is noticed is so 998 times in 1,000."""
    plan = planned(300, 4, USUAL, reports=reports, sizes="auto")
    told = forged_sizes(plan, reports)
    [passing] = {each.share for each in told} - {0, 0.001, 0.01}
    for k in (1, 2, 3):
        factors = [each.factors[k] for each in told if each.share != passing]
        assert 1 < factors[0] < factors[1] < factors[2]
    assert all(each.factors[1] < each.factors[2] < each.factors[3] for each in told)
    share = plan.share(plan.questions[1])
    for each in told:
        forged = round(each.share * reports)
        few = int(binom.ppf(0.002, reports - forged, float(share))) + forged
        assert each.noticed <= (log_share_chance(few, reports, share) < math.log(FALSE_ALARM / 20))
    assert [each.noticed for each in told][-1] == (reports > 10**4)
    assert (passing < 0.001) == (reports == 10**6)
    assert passing < 0.01
