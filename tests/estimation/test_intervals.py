"""Tail probabilities of estimates against exact distributions by convolution, and where other shares are estimated.

Detection thresholds of an itemset size: exact tails, brute force and many empty collections. The normal distribution's
tails are scipy's, for few and for many values.
"""

from fractions import Fraction
from itertools import product
from math import comb, inf, prod, sqrt

import numpy as np
import pytest
from naive import observed_counts as observed
from naive import planned
from scipy.special import ndtr
from scipy.stats import binom, norm

from assocpriv.estimation.supports import (
    _MANY,
    FALSE_ITEMSETS,
    ObservedCounts,
    Respondents,
    _Fit,
    _TotalDistribution,
    detectable_support,
    detection_threshold,
    normal_cdf,
    threshold_errors,
    upper_tail,
)
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError
from assocpriv.planning.operator_designs import InsertionDesign
from assocpriv.plans.baskets.operator import Operator, SupportModel, estimator_row


def make_operator(insert_num: int, insert_bits: int, pattern: str, limit: int) -> Operator:
    """Return a two-level operator."""
    return InsertionDesign(pattern, insert_num=insert_num, insert_bits=insert_bits).operator(Fraction(limit))


SPARSE = make_operator(7, 8, "001000", 396)  # the plan for M = 5 and a 1% → 80% guarantee
QUARTER = make_operator(1, 2, "000111", 19)
COIN = make_operator(1, 1, "000001", 19)
NEAR_COIN = make_operator(31, 6, "100000", 19)


def groups_of(operator: Operator, n: int, shares: list[float]) -> list[int]:
    """Return how many of n transactions hold l of the items."""
    rest = [round(n * share) for share in shares[1:]]
    return [n - sum(rest), *rest]


def exact_distribution(operator: Operator, groups: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of T and their probabilities, by convolution on the lattice of T."""
    k, n = len(groups) - 1, sum(groups)
    rest = (1 << operator.insert_bits) - operator.insert_num
    units = np.array([rest**to * (-operator.insert_num) ** (k - to) for to in range(k + 1)], dtype=np.int64)
    step = int(np.gcd.reduce(units - units.min()))
    place = (units - units.min()) // step
    length = 1 << int(n * place.max()).bit_length()
    one = np.zeros(length)
    np.add.at(one, place, observed(operator, np.zeros((0, k + 1))).transition @ (np.array(groups) / n))
    probabilities = np.clip(np.fft.irfft(np.fft.rfft(one) ** n, length), 0, None)
    kept = np.flatnonzero(probabilities > 1e-11)
    scale = float(estimator_row(operator, k)[-1]) / float(units[-1])
    values, probabilities = (n * units.min() + step * kept) * scale, probabilities[kept]
    return (values, probabilities) if scale > 0 else (values[::-1], probabilities[::-1])


def compare(operator: Operator, groups: list[int], *, with_steps: bool = True) -> dict:
    """Return probabilities, and exact and computed P(T ≥ t) for every value, the shares known."""
    values, probabilities = exact_distribution(operator, groups)
    n, k = sum(groups), len(groups) - 1
    stratum = observed(operator, np.array([[n] + [0] * k]))
    known = _TotalDistribution(stratum, np.repeat((np.array(groups) / n)[:, None], len(values), axis=1))
    span = known.span() if with_steps else np.zeros(len(values))
    return {
        "probabilities": probabilities,
        "exact": np.cumsum(probabilities[::-1])[::-1],
        "tail": ndtr(-known.score(values - span / 2, span)),
        "span": span[0] / np.ptp(stratum.row),
    }


LATTICES = [
    (SPARSE, 50, [1, 0], 0.01), (SPARSE, 300, [0.95, 0.05], 4e-4), (COIN, 50, [1, 0], 5e-5),
    (COIN, 100, [0.9, 0.07, 0.03], 2e-5), (COIN, 300, [0.8, 0.1, 0.06, 0.04], 1e-5),
    (QUARTER, 100, [0.9, 0.07, 0.03], 2e-4), (QUARTER, 300, [1, 0, 0], 5e-5),
    (QUARTER, 100, [0.8, 0.1, 0.06, 0.04], 5e-4), (NEAR_COIN, 300, [0.95, 0.05], 1e-5),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "n", "shares", "within"), LATTICES)
def test_tails_are_exact_where_estimates_move_in_steps(operator, n, shares, within) -> None:
    """Tails agree with the exact ones to the stated error, and to 1% relative down to 1e-6."""
    result = compare(operator, groups_of(operator, n, shares))
    exact, tail = result["exact"], result["tail"]
    assert np.abs(tail - exact).max() < within
    far = (exact < 0.2) & (exact > 1e-6)
    assert far.sum() > 3
    assert np.abs(tail[far] / exact[far] - 1).max() < 0.01
    # leaving the steps out fails
    smooth = compare(operator, groups_of(operator, n, shares), with_steps=False)["tail"]
    assert np.abs(smooth - exact).max() > 2 * within


BLURRED = [
    (NEAR_COIN, 300, [1, 0, 0], 2e-3), (NEAR_COIN, 100, [0.9, 0.07, 0.03], 0.02),
    (SPARSE, 5000, [0.9, 0.08, 0.02], 0.01), (SPARSE, 300, [1, 0, 0], 1.0), (SPARSE, 300, [0.9, 0.07, 0.03], 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "n", "shares", "within"), BLURRED)
def test_tails_err_upwards_where_steps_are_blurred(operator, n, shares, within) -> None:
    """With known shares P(p ≤ α) is at most 1.02 α; steps fade out."""
    result = compare(operator, groups_of(operator, n, shares))
    assert np.abs(result["tail"] - result["exact"]).max() < within
    for alpha in (0.2, 0.05, 0.025, 0.01, 1e-3, 1e-4):
        assert result["probabilities"][result["tail"] <= alpha].sum() < 1.02 * alpha
    assert result["span"] < 0.95


def test_tails_of_single_items() -> None:
    """For one item no other share is estimated: the tail of every count is binomial, also at both ends."""
    shown = np.arange(61)
    _, probabilities = exact_distribution(SPARSE, [51, 9])
    upper = upper_tail(observed(SPARSE, np.stack([60 - shown, shown], axis=1)), 0.15)
    assert np.abs(upper[: len(probabilities)] - np.cumsum(probabilities[::-1])[::-1]).max() < 4e-3
    assert (np.diff(upper) < 0).all()
    assert 0 < upper[-1] < 1e-40 < upper[0] == 1.0


def test_shares_are_shares() -> None:
    """For any counts and any tested support, shares are ≥ 0, sum to 1, and give that support."""
    rng = np.random.default_rng(5)
    for operator, shown in ((SPARSE, [0.7, 0.2, 0.1]), (COIN, [0.1, 0.3, 0.6])):
        fit = _Fit.from_counts(observed(operator, rng.multinomial(400, shown, size=50)))
        for support in (0.0, 1e-6, 0.2, 0.5, 1.0):
            shares = fit.distribution(np.full(50, support)).shares
            assert (shares >= 0).all()
            assert np.allclose(shares.sum(axis=0), 1)
            assert np.allclose(shares[-1], support)


def test_no_itemsets_no_reports_and_mixed_sizes() -> None:
    """No itemsets give no tails; no reports and mixed sizes are refused."""
    stratum = observed(COIN, np.array([[40, 60]]))
    assert upper_tail(observed(COIN, np.zeros((0, 2))), 0.1).shape == (0,)
    with pytest.raises(EstimateError, match="no reports"):
        upper_tail(observed(QUARTER, np.array([[0, 0]])), 0.1)
    with pytest.raises(EstimateError, match="one itemset size"):
        ObservedCounts(np.array([[1, 2, 3]]), stratum.transition, stratum.row)


# items, M, guarantee, reports: ρ near 1/2 with σ_k(s) falling, ρ = .09, .02 (skewed estimates), and few candidates
PLANS = [
    (1_000, 5, ("5%", "50%"), 100_000), (330_000, 3, ("1%", "50%"), 77_512), (10_000, 2, ("1%", "99%"), 20_000),
    (100_000, 2, ("1%", "99%"), 3_000), (20, 3, ("1%", "99%"), 3_000),
]  # fmt: skip


def respondents_to(plan):
    """Return the respondents of a plan of PLANS."""
    items, m, guarantee, n_reports = plan
    made = planned(items, m, Guarantee(*guarantee), reports=n_reports, itemset_size=min(3, m), kind="independent")
    return Respondents(n_reports, SupportModel(made.items.operator))


def predicted_error(respondents, k, support):
    """Return σ_k(s) from the plan alone: transactions without all of the items hold none of them."""
    return sqrt(np.dot([1 - support, support], respondents.model.variances(k)) / respondents.n_reports)


def exact_tail(respondents, k, support):
    """Return P(ŝ ≥ support) of an itemset without any occurrence, k = 1 or 2, by sums of binomial distributions."""
    n, q = respondents.n_reports, [float(x) for x in respondents.model.row(k)]
    probabilities = [float(row[0]) for row in respondents.model.transition(k)]
    both = np.arange(n + 1) if k == 2 else np.zeros(1, dtype=np.int64)
    chance = binom.pmf(both, n, probabilities[2]) if k == 2 else np.ones(1)
    both, chance = both[chance > 1e-40], chance[chance > 1e-40]
    rest, step = n - both, q[1] - q[0]
    # of the others x show one item: ŝ ≥ support where x ≥ least (step > 0) or x ≤ least (step < 0)
    least = (support * n - (q[2] * both if k == 2 else 0.0) - q[0] * rest) / step
    one = probabilities[1] / (probabilities[0] + probabilities[1])
    tails = binom.sf(np.ceil(least - 1e-9) - 1, rest, one) if step > 0 else binom.cdf(np.floor(least + 1e-9), rest, one)
    return float(chance @ tails)


def test_standard_errors_for_many_candidates() -> None:
    """z is 4.3 at 1,000 candidates and 5.4 at 330,000, never below four, and c·Φ(−z) is 0.01 above that."""
    assert round(threshold_errors(1_000), 1) == 4.3
    assert round(threshold_errors(330_000), 1) == 5.4
    assert threshold_errors(0) == threshold_errors(1) == threshold_errors(300) == 4.0
    for candidates in (400, 10**6, comb(330_000, 3), comb(100_000, 15)):
        assert candidates * norm.sf(threshold_errors(candidates)) == pytest.approx(FALSE_ITEMSETS, rel=1e-6)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("k", [1, 2])
def test_detection_threshold_against_exact_tails(plan, k) -> None:
    """At the threshold fewer than 0.01 empty itemsets are expected exactly; z normal errors alone allow more.

    The threshold is the larger of s = zσ_k(s), found here by bisection, and the value from the tail, to 1% or one step.
    """
    respondents = respondents_to(plan)
    candidates = comb(plan[0], k)
    figure, z = detection_threshold(respondents, k, candidates), threshold_errors(candidates)
    assert candidates * exact_tail(respondents, k, figure) <= FALSE_ITEMSETS
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < z * predicted_error(respondents, k, middle) else (low, middle)
    assert detectable_support(respondents, k, z) == pytest.approx(high, rel=1e-9)
    assert figure >= high * (1 - 1e-12)
    if figure > high * (1 + 1e-9):
        values = sorted(abs(float(x)) for x in respondents.model.row(k))
        step = values[-1] + values[-2] if k == 1 else 0.0
        lower = figure * 0.99 - step / respondents.n_reports
        assert exact_tail(respondents, k, lower) > norm.sf(z)


def test_sizes_without_an_estimator() -> None:
    """A size without an estimator has no threshold; with few reports the threshold is at least one of them."""
    model = SupportModel(Operator(3, 1, 1, 6, (2, 4, 5, 35)))
    assert detection_threshold(Respondents(20_000, model), 4, 5_000) == inf
    assert detection_threshold(Respondents(500, SupportModel.unrandomized()), 2, 5_000) == 0.0
    assert detection_threshold(Respondents(30, model), 2, 10**9) >= 1 / 30


@pytest.mark.parametrize("operator", [SPARSE, QUARTER, NEAR_COIN])
def test_estimates_of_subsets_are_uncorrelated(operator) -> None:
    """In empty baskets a report's contributions to an itemset and to its subset are exactly uncorrelated."""
    model, chance = SupportModel(operator), operator.default_probability
    for k, j in ((2, 1), (3, 1), (3, 2)):
        together = sum(
            prod(chance if bit else 1 - chance for bit in bits) * model.row(k)[sum(bits)] * model.row(j)[sum(bits[:j])]
            for bits in product((0, 1), repeat=k)
        )
        assert together == 0 != model.row(k)[0] * model.row(j)[0]


@pytest.mark.parametrize("shape", [(3,), (7, 11), (_MANY + 1,)])
def test_tails_are_those_of_scipy(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """To some units in the last place of the smaller tail, as far out as numbers go."""
    scores = rng.uniform(-37, 37, size=shape)
    scores.ravel()[:3] = 0.0, np.inf, -np.inf
    assert normal_cdf(scores).shape == shape
    np.testing.assert_allclose(normal_cdf(scores), ndtr(scores), rtol=1e-13)
