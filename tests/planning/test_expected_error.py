"""Expected errors in whole baskets: sizes, truncation correction and loss, reference supports."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from naive import planned
from scipy.stats import binom, nbinom

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PlanError
from assocpriv.planning.expected_error import (
    BasketSizes,
    expected_error,
    expected_errors,
    overall_error,
    reference_support,
    variance,
)
from assocpriv.planning.truncation_loss import describe_truncation_loss, measure_truncation_loss
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import transition_matrix
from assocpriv.records.baskets import Baskets, count_sizes

GUARANTEE = Guarantee("5%", "50%")


def test_default_sizes_are_negative_binomial() -> None:
    """Shape 1.5 and the given mean, by default 6; sizes above the number of items count as that number."""
    for mean in (None, 0.5, 6, 20):
        sizes = BasketSizes.from_mean(5000, mean)
        given = 6 if mean is None else mean
        expected = nbinom.pmf(np.arange(len(sizes.shares)), 1.5, 1.5 / (1.5 + given))
        assert sizes.shares == pytest.approx(expected, abs=1e-6)
        assert sizes.shares.sum() == pytest.approx(1)
        assert sizes.mean == pytest.approx(given, rel=1e-5)
        assert sizes.source == ("default" if mean is None else "mean")
    few = BasketSizes.from_mean(4)
    assert len(few.shares) == 5
    assert few.shares.sum() == pytest.approx(1)


def test_a_sample_gives_its_shares() -> None:
    """Shares are those of the sample; a sample without items is refused."""
    sizes = BasketSizes.from_sample({0: 1, 2: 2, 5: 1})
    assert sizes.shares.tolist() == [0.25, 0, 0.5, 0, 0, 0.25]
    assert (sizes.mean, sizes.source) == (2.25, "sample")
    for nothing in ({}, {0: 5}, {3: 0}):
        with pytest.raises(PlanError, match="must have at least one that is not empty"):
            BasketSizes.from_sample(nothing)


def test_thinning_is_binomial() -> None:
    """If each item stays with a probability, a binomial number of c items stays."""
    sizes = BasketSizes.from_sample({0: 1, 3: 2, 7: 1})
    expected = sum(share * binom.pmf(range(8), size, 0.3) for size, share in ((0, 0.25), (3, 0.5), (7, 0.25)))
    assert sizes.thinned(0.3).shares == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_truncation_factor(k: int) -> None:
    """F and its spread are computed over the distribution; F = 1 if no basket is longer than M."""
    counts = {1: 3, 4: 2, 6: 4, 11: 1}

    def factor(slope: float) -> float:
        ways = {c: n * math.comb(c, k) ** (k**-0.6 + slope) if c >= k else 0 for c, n in counts.items()}
        kept = {c: min(1, math.comb(4, k) / math.comb(c, k)) if c >= k else 0 for c in counts}
        return sum(ways.values()) / sum(way * kept[c] for c, way in ways.items())

    sizes = BasketSizes.from_sample(counts)
    assert sizes.truncation(4, k) == pytest.approx((factor(0), (factor(0.2) - factor(-0.2)) / factor(0) / 2))
    assert sizes.truncation(11, k) == pytest.approx((1, 0))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_variance_is_that_of_the_transition_matrix(k: int) -> None:
    """N Var ŝ = Σ_l' q² Σ_l P[l',l] P(l) − s², where the other baskets have each item independently."""
    report_type = planned(200, 4, GUARANTEE).items
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(report_type.operator, k)])
    q = np.linalg.inv(matrix)[-1]
    held = binom.pmf(range(k + 1), k, 0.05)
    held[k] = 0
    held = 0.9 * held / held.sum()
    held[k] = 0.1
    assert variance(report_type, k, 0.1) == pytest.approx(q**2 @ matrix @ held - 0.01)
    sizes = BasketSizes.from_mean(200, 5)
    each = expected_error(report_type, sizes, 10_000, k)
    assert each.support == reference_support(k)
    assert each.noise == pytest.approx(
        each.factor * math.sqrt(variance(report_type, k, each.support / each.factor) / 10_000)
    )
    assert each.total == pytest.approx(math.hypot(each.noise, each.truncation))


def test_reference_supports_grow_if_errors_are_too_large() -> None:
    """Reference supports are scaled by 1, 2, 4 or 8: the smallest factor with errors below the supports."""
    report_type, sizes = planned(200, 4, GUARANTEE).items, BasketSizes.from_mean(200, 5)
    scales = []
    for reports in (100, 3_000, 30_000, 10**6):
        found = expected_errors(report_type, sizes, reports, 3)
        scales.append(round(found[2].support / reference_support(2)))
        assert {k: each.support for k, each in found.items()} == {k: reference_support(k, scales[-1]) for k in found}
    assert scales == sorted(scales, reverse=True)
    assert scales[0] == 8
    assert scales[-1] == 1


def test_few_items_have_larger_reference_supports() -> None:
    """If the average item is in more than 5% of baskets, reference supports grow with it, at most ten times."""
    sizes = BasketSizes.from_mean(1000, 5)
    assert [sizes.frequency(n) for n in (1000, 100, 50, 20, 4)] == [1, 1, 2, 5, 10]
    report_type = planned(50, 4, GUARANTEE).items
    each = expected_error(report_type, sizes, 10_000, 2)
    assert each.support == 2 * reference_support(2)
    expected = variance(report_type, 2, each.support / each.factor, 0.1)
    assert each.noise == pytest.approx(each.factor * math.sqrt(expected / 10_000))
    scales = {expected_errors(report_type, sizes, n, 2)[2].support / each.support for n in (1, 10**7)}
    assert scales == {1, 4}  # a factor of 8 would exceed ten times


def test_one_infinite_error_keeps_the_order_of_the_others() -> None:
    """The overall r/(1+r) is the weighted mean of all r_k/(1+r_k), so an infinite r_k does not change the order."""
    assert overall_error([np.array([0.25])])[0] == pytest.approx(0.5)
    errors = [overall_error(np.array([[a], [b], [1e12]]))[0] for a, b in ((0.1, 0.1), (0.1, 0.2), (0.2, 0.2))]
    assert errors == sorted(errors)
    mean = (2 * 0.1 / 1.1 + 0.5) / 2.5
    assert errors[0] == pytest.approx(math.sqrt(mean / (1 - mean)), rel=1e-6)


# ---- the support lost by truncation


def test_the_loss_is_that_of_all_samples(rng: np.random.Generator) -> None:
    """The shares are those of k-itemsets that survive, averaged over all samples of M items of each basket."""
    chances = np.linspace(0.6, 0.05, 6)
    sets = [np.flatnonzero(rng.random(6) < chances).tolist() for _ in range(12)]
    sizes = count_sizes(Baskets.from_sets(sets, Catalogue.numbered(6), empty="keep"))
    for m in range(3, 7):
        loss = measure_truncation_loss(sizes, planned(6, m, GUARANTEE))
        assert (loss.baskets, loss.truncated) == (12, sum(len(items) > m for items in sets))
        for k in range(1, 4):
            whole, left = 0, Fraction(0)
            for items in sets:
                drawn = list(combinations(items, min(m, len(items))))
                whole += math.comb(len(items), k)
                left += Fraction(sum(math.comb(len(sample), k) for sample in drawn), len(drawn))
            assert loss.shares[k] == pytest.approx(1 - float(left / whole) if whole else 0.0, rel=1e-12)


@pytest.mark.parametrize(("sizes", "warnings"), [(None, 1), ("auto", 0)])
def test_a_warning_without_correction(sizes: str | None, warnings: int) -> None:
    """Reports about sizes allow a correction; without them there is a warning of a loss above 5%."""
    plan = planned(20, 3, GUARANTEE, sizes=sizes)
    baskets = Baskets.from_sets([range(9)], Catalogue.numbered(20))
    lines, warning = describe_truncation_loss(measure_truncation_loss(count_sizes(baskets), plan))
    assert "1 of 1 baskets have more than 3 items and are cut to 3" in lines[0]
    assert len(warning) == warnings
    assert ("corrects this" in lines[0]) == (not warnings)
