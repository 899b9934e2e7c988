"""Tests of what is expected of supports in whole baskets: laws of sizes, undoing the sampling, usual errors."""

import math

import numpy as np
import pytest
from naive import planned
from scipy.stats import binom, nbinom

from assocpriv.planning.expected import Sizes, expected_error, expected_errors, overall, variance, wanted_support
from assocpriv.plans.transition import transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError


def test_usual_sizes_are_negative_binomial() -> None:
    """Shape 1.5 and the mean that is told, 6 if none is; what no catalogue can hold is at its number of items."""
    for mean in (None, 0.5, 6, 20):
        law = Sizes.usual(5000, mean)
        told = 6 if mean is None else mean
        assert law.shares == pytest.approx(nbinom.pmf(np.arange(len(law.shares)), 1.5, 1.5 / (1.5 + told)), abs=1e-6)
        assert law.shares.sum() == pytest.approx(1)
        assert law.mean == pytest.approx(told, rel=1e-5)
        assert law.source == ("usual" if mean is None else "mean")
    few = Sizes.usual(4)
    assert len(few.shares) == 5
    assert few.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("mean", [0, -1, 9.5, math.nan, math.inf])
def test_means_that_no_baskets_have(mean: float) -> None:
    """A mean must lie above 0 and be at most the number of items."""
    with pytest.raises(PlanError, match="mean size of baskets must lie above 0 and be at most 9 items"):
        Sizes.usual(9, mean)


def test_a_sample_is_taken_as_it_is() -> None:
    """Shares are those of the sample; a sample without items says nothing."""
    law = Sizes.of_sample({0: 1, 2: 2, 5: 1})
    assert law.shares.tolist() == [0.25, 0, 0.5, 0, 0, 0.25]
    assert (law.mean, law.source) == (2.25, "sample")
    for nothing in ({}, {0: 5}, {3: 0}):
        with pytest.raises(PlanError, match="must hold some that are not empty"):
            Sizes.of_sample(nothing)


def test_thinning_is_binomial() -> None:
    """Where each item stays with a chance, of c items a binomial number stays."""
    law = Sizes.of_sample({0: 1, 3: 2, 7: 1})
    expected = (
        0.25 * binom.pmf(range(8), 0, 0.3) + 0.5 * binom.pmf(range(8), 3, 0.3) + 0.25 * binom.pmf(range(8), 7, 0.3)
    )
    assert law.thinned(0.3).shares == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_undoing_is_what_sampling_keeps(k: int) -> None:
    """F and its spread by fractions over the law, and 1 where no basket is longer than M."""
    counts = {1: 3, 4: 2, 6: 4, 11: 1}

    def factor(slope: float) -> float:
        ways = {c: n * math.comb(c, k) ** (k**-0.6 + slope) if c >= k else 0 for c, n in counts.items()}
        kept = {c: min(1, math.comb(4, k) / math.comb(c, k)) if c >= k else 0 for c in counts}
        return sum(ways.values()) / sum(way * kept[c] for c, way in ways.items())

    law = Sizes.of_sample(counts)
    assert law.undoing(4, k) == pytest.approx((factor(0), (factor(0.2) - factor(-0.2)) / factor(0) / 2))
    assert law.undoing(11, k) == pytest.approx((1, 0))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_variance_is_that_of_the_transition_matrix(k: int) -> None:
    """N Var ŝ = Σ_l' q² Σ_l P[l',l] P(l) − s², others holding each item independently of each other."""
    question = planned(200, 4, Breach("5%", "50%")).items
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(question.operator, k)])
    q = np.linalg.inv(matrix)[-1]
    law = binom.pmf(range(k + 1), k, 0.05)
    law[k] = 0
    law = 0.9 * law / law.sum()
    law[k] = 0.1
    assert variance(question, k, 0.1) == pytest.approx(q**2 @ matrix @ law - 0.01)
    sizes = Sizes.usual(200, 5)
    each = expected_error(question, sizes, 10_000, k)
    assert each.support == wanted_support(k)
    assert each.noise == pytest.approx(
        each.factor * math.sqrt(variance(question, k, each.support / each.factor) / 10_000)
    )
    assert each.total == pytest.approx(math.hypot(each.noise, each.undoing))


def test_larger_itemsets_are_looked_at_where_usual_ones_are_beyond_hope() -> None:
    """Those of several items are usual ones times 1, 2, 4 or 8: the least for which errors are below the supports."""
    question, sizes = planned(200, 4, Breach("5%", "50%")).items, Sizes.usual(200, 5)
    scales = []
    for reports in (100, 3_000, 30_000, 10**6):
        found = expected_errors(question, sizes, reports, 3)
        scales.append(round(found[2].support / wanted_support(2)))
        assert {k: each.support for k, each in found.items()} == {k: wanted_support(k, scales[-1]) for k in found}
    assert scales == sorted(scales, reverse=True)
    assert scales[0] == 8
    assert scales[-1] == 1


def test_usual_itemsets_of_few_items_are_more_frequent() -> None:
    """Where the average item is in more than 5% of baskets all is as many times as frequent, ten times at most."""
    law = Sizes.usual(1000, 5)
    assert [law.frequency(n) for n in (1000, 100, 50, 20, 4)] == [1, 1, 2, 5, 10]
    question = planned(50, 4, Breach("5%", "50%")).items
    each = expected_error(question, law, 10_000, 2)
    assert each.support == 2 * wanted_support(2)
    told = variance(question, 2, each.support / each.factor, 0.1)
    assert each.noise == pytest.approx(each.factor * math.sqrt(told / 10_000))
    scales = {expected_errors(question, law, n, 2)[2].support / each.support for n in (1, 10**7)}
    assert scales == {1, 4}  # eight times as frequent would be beyond ten times


def test_hopeless_sizes_decide_nothing() -> None:
    """r/(1+r) of all is the weighted mean of the r_k/(1+r_k): one infinite r_k leaves the others' order."""
    assert overall([np.array([0.25])])[0] == pytest.approx(0.5)
    few = [
        overall([np.array([a]), np.array([b]), np.array([1e12])])[0] for a, b in ((0.1, 0.1), (0.1, 0.2), (0.2, 0.2))
    ]
    assert few == sorted(few)
    mean = (2 * 0.1 / 1.1 + 0.5) / 2.5
    assert few[0] == pytest.approx(math.sqrt(mean / (1 - mean)), rel=1e-6)
