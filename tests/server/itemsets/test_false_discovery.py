"""Tests of p-values and of the control of false discoveries."""

from fractions import Fraction

import numpy as np
import pytest
from fit import Z_LIMIT
from scipy.special import ndtr

from assocpriv.planning.designs import InsertionDesign
from assocpriv.plans.operator import Operator
from assocpriv.plans.transition import estimator_row, transition_matrix
from assocpriv.promise.errors import EstimateError
from assocpriv.server.false_discovery import coherent, false_discoveries_controlled, p_values
from assocpriv.server.intervals import Observed

SPARSE = InsertionDesign(7, 8, "001000").operator(Fraction(396))
NEAR_COIN = InsertionDesign(31, 6, "100000").operator(Fraction(19))


def observe(rng, operator: Operator, n: int, shares: list[float], itemsets: int) -> Observed:
    """Draw the counts of independent itemsets, for the transactions at hand."""
    k = len(shares) - 1
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(operator, k)])
    groups = np.round(n * np.array(shares)).astype(int)
    counts = np.sum([rng.multinomial(g, matrix[:, held], size=itemsets) for held, g in enumerate(groups)], axis=0)
    return Observed(counts, matrix, np.array([float(x) for x in estimator_row(operator, k)]))


def normal_p_values(stratum: Observed, support: float) -> np.ndarray:
    """Return p-values by the normal approximation, with the standard errors of server/supports.py."""
    n, q = stratum.n_reports, stratum.row
    estimate = stratum.counts @ q / n
    moments = (q * q) @ stratum.transition
    least = (1 - support) * moments[:-1].min() + support * (moments[-1] - 1)
    variance = np.maximum(stratum.counts @ (q * q) / n - estimate, least) / n
    return ndtr((support - estimate) / np.sqrt(variance))


@pytest.mark.parametrize(
    ("operator", "n", "shares", "slack", "normal_fails"),
    [
        # known shares would err by 2% at most; their estimates add to the first, where 4 reports show the triple
        (SPARSE, 20_000, [0.7, 0.2, 0.07, 0.03], 2.0, True),
        (SPARSE, 20_000, [0.95, 0.0, 0.03, 0.02], 1.0, True),
        (SPARSE, 20_000, [0.9, 0.08, 0.015, 0.005], 1.0, True),
        (SPARSE, 2000, [0.9, 0.08, 0.02], 1.4, False),
        (NEAR_COIN, 20_000, [0.7, 0.15, 0.1, 0.05], 1.15, False),
        (NEAR_COIN, 2000, [0.9, 0.1], 1.0, False),
    ],
)
def test_p_values_are_small_rarely(operator, n, shares, slack, normal_fails) -> None:
    """At support S, P(p ≤ α) is at most α, times the stated slack, for α = 1% and 0.1%."""
    rng = np.random.default_rng(2)
    runs, alphas = 40_000, np.array([0.01, 0.001])
    stratum = observe(rng, operator, n, shares, runs)

    def off(p: np.ndarray) -> np.ndarray:
        expected = runs * alphas * slack
        return ((p[:, None] <= alphas).sum(axis=0) - expected) / np.sqrt(expected)

    assert (off(p_values(stratum, shares[-1], population=False)) < Z_LIMIT).all()
    # a minimum support above the truth is the easier case, one below it is no false discovery at all
    assert (off(p_values(stratum, shares[-1] * 1.2, population=False)) < Z_LIMIT).all()
    if normal_fails:
        assert (off(normal_p_values(stratum, shares[-1])) > 2 * Z_LIMIT).any()


def test_false_discoveries_stay_below_the_level() -> None:
    """With all supports exactly S every discovery is false: one happens in at most 10% of runs at level 10%.

    Counting only the itemsets whose estimates reach S as hypotheses is found out, although the same are tested.
    """
    rng = np.random.default_rng(3)
    runs, itemsets, n, level = 2500, 100, 5000, 0.1
    stratum = observe(rng, NEAR_COIN, n, [0.8, 0.15, 0.05], runs * itemsets)
    p = p_values(stratum, 0.05, population=False).reshape(runs, itemsets)
    looks_good = (stratum.counts @ stratum.row / n >= 0.05).reshape(runs, itemsets)

    def off(found: list[bool]) -> float:
        return float((np.mean(found) - level) / np.sqrt(level * (1 - level) / runs))

    right = [
        false_discoveries_controlled(row[good], level, itemsets).any() for row, good in zip(p, looks_good, strict=True)
    ]
    wrong = [
        false_discoveries_controlled(row[good], level, good.sum()).any()
        for row, good in zip(p, looks_good, strict=True)
    ]
    assert abs(off(right)) < Z_LIMIT
    assert off(wrong) > Z_LIMIT


def test_the_share_of_false_discoveries_stays_below_the_level() -> None:
    """With 20 itemsets of support 2S among 80 of support S, 20% · 80% of discoveries are false, on average."""
    rng = np.random.default_rng(4)
    runs, n, level = 1000, 5000, 0.2
    nulls = observe(rng, NEAR_COIN, n, [0.8, 0.15, 0.05], runs * 80)
    others = observe(rng, NEAR_COIN, n, [0.7, 0.1, 0.2], runs * 20)
    p = np.hstack([p_values(o, 0.05, population=False).reshape(runs, -1) for o in (nulls, others)])
    found = np.array([false_discoveries_controlled(row, level, 100) for row in p])
    share = found[:, :80].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    error = share.std() / np.sqrt(runs)
    assert found[:, 80:].mean() > 0.3
    assert share.mean() < level + Z_LIMIT * error
    assert abs(share.mean() - 0.8 * level) < Z_LIMIT * error
    uncorrected = (p[:, :80] <= level).sum(axis=1) / np.maximum((p <= level).sum(axis=1), 1)
    assert uncorrected.mean() > level + Z_LIMIT * uncorrected.std() / np.sqrt(runs)


def naive_rejections(p: list[float], level: float, n: int) -> list[bool]:
    """Benjamini–Hochberg by its definition, missing hypotheses filled in as 1."""
    filled = sorted(p + [1.0] * (n - len(p)))
    most = max((i for i in range(1, n + 1) if filled[i - 1] <= i * level / n), default=0)
    return [most > 0 and x <= filled[most - 1] for x in p]


def test_rejections_follow_the_definition() -> None:
    """The rule equals its definition on random p-values with ties, for any number of hypotheses."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        p = rng.integers(0, 12, size=rng.integers(0, 9)) / rng.choice([12, 60])
        n = len(p) + int(rng.integers(0, 9))
        level = float(rng.choice([0.07, 0.3, 0.61]))
        found = false_discoveries_controlled(p, level, n)
        assert found.tolist() == naive_rejections(p.tolist(), level, n)


def test_coherent_p_values() -> None:
    """A p-value becomes the largest among those of all subsets at hand, and no more."""
    rng = np.random.default_rng(6)
    sizes = [np.array([[0], [2], [5], [7]]), np.array([[0, 2], [2, 5], [5, 7]]), np.array([[0, 2, 5], [2, 5, 7]])]
    for _ in range(20):
        p = [rng.random(len(rows)) for rows in sizes]
        known = {
            tuple(row): x
            for rows, values in zip(sizes, p, strict=True)
            for row, x in zip(rows.tolist(), values, strict=True)
        }
        raised = coherent(p, sizes)
        for rows, values in zip(sizes, raised, strict=True):
            for row, value in zip(rows.tolist(), values, strict=True):
                assert value == max(x for subset, x in known.items() if set(subset) <= set(row))
    assert [len(x) for x in coherent([np.zeros(0), np.ones(1)], [np.zeros((0, 1), int), np.array([[1, 2]])])] == [0, 1]


def test_bad_requests_are_refused() -> None:
    """A minimum support or a level out of range and too few hypotheses are refused."""
    stratum = observe(np.random.default_rng(9), NEAR_COIN, 100, [0.5, 0.5], 2)
    for support in (0.0, 1.5, float("nan")):
        with pytest.raises(EstimateError, match="minimum support"):
            p_values(stratum, support, population=True)
    with pytest.raises(EstimateError, match="level"):
        false_discoveries_controlled(np.ones(2), 1.0, 2)
    with pytest.raises(EstimateError, match="hypotheses"):
        false_discoveries_controlled(np.ones(2), 0.1, 1)
