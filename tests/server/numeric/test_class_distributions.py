"""Differences between classes: noise makes none, clear ones are found, and errors are as large as stated."""

import numpy as np
import pytest

from assocpriv.plans.numeric.table_plan import CategoryColumn, NumberColumn, Window, transition
from assocpriv.server.numeric.tree_positions import class_distributions

RESPONSE = np.array([[0.7, 0.3], [0.3, 0.7]])  # of the class
TWENTY = transition(CategoryColumn("c", Window(20, 1, 4, 1), False, tuple("abcdefghijklmnopqrst")))
NUMBER = transition(NumberColumn("x", Window(50, 25, 3, 1), False, 0, 1, 50))  # type: ignore[arg-type]


def released(rng, matrix, by_class, n):
    """Return counts of codes and released classes of n people, a third of them in the first class."""
    counts = np.zeros((len(matrix), 2), dtype=np.int64)
    for k, shares in enumerate(by_class):
        for r in (0, 1):
            counts[:, r] += rng.multinomial(round(n * (1, 2)[k] / 3 * RESPONSE[r, k]), matrix @ shares)
    return counts


def by_class(counts, matrix, ordered):
    """Return the distributions by class from such counts."""
    return class_distributions(counts, matrix, ordered, np.linalg.inv(RESPONSE), np.array([1 / 3, 2 / 3]))


@pytest.mark.parametrize(("matrix", "ordered"), [(TWENTY, 0), (NUMBER, 50)])
def test_noise_is_no_difference(rng, matrix, ordered) -> None:
    """If classes do not differ, the median distance of their distributions is a tenth of that of inverted counts.

    Over 20 collections the ratio is .02 to .08 in 19 of 20, so ten ratios above a tenth have a probability of 1e-8.
    """
    even, ratios = np.full(matrix.shape[1], 1 / matrix.shape[1]), []
    for _ in range(20):
        counts = released(rng, matrix, (even, even), 5_000)
        first, second = by_class(counts, matrix, ordered).shares
        alone = (np.linalg.pinv(matrix) @ counts @ np.linalg.inv(RESPONSE).T) / [5_000 / 3, 10_000 / 3]
        ratios.append(abs(first - second).sum() / abs(alone[:, 0] - alone[:, 1]).sum())
    assert np.median(ratios) < 0.1


@pytest.mark.parametrize(("matrix", "ordered"), [(TWENTY, 0), (NUMBER, 50)])
def test_clear_differences_are_estimated(rng, matrix, ordered) -> None:
    """With a million people, a class in the lower half and one in the upper half are estimated almost exactly."""
    n = matrix.shape[1]
    lower = np.where(np.arange(n) < n // 2, 1.5, 0.5) / n
    found = by_class(released(rng, matrix, (lower, lower[::-1]), 1_000_000), matrix, ordered).shares
    halves = found[:, : n // 2].sum(axis=1)
    assert halves == pytest.approx([0.75, 0.25], abs=0.05)  # five standard errors


def test_errors_are_as_large_as_stated() -> None:
    """The share of the lower half lies within two posterior deviations in 32 of 40 collections or more, not within one.

    Of 320 with other seeds 88% lie within two, as deviations have no part for bias, and 53% within one.
    """
    rng = np.random.default_rng(0)
    lower = np.where(np.arange(50) < 25, 1.2, 0.8) / 50
    half, held = (np.arange(50) < 25).astype(float), np.zeros(2, dtype=int)
    for _ in range(40):
        found = by_class(released(rng, NUMBER, (lower, lower[::-1]), 20_000), NUMBER, 50)
        apart = abs(half @ found.shares[0] - 0.6) / np.sqrt(half @ found.covariances[0] @ half)
        held += apart < np.array([2, 1])
    assert held[0] >= 32 > held[1]


def test_a_column_without_responses_has_even_shares() -> None:
    """Without responses the values of every class are equally frequent, with the variances of one drawn value."""
    found = by_class(np.zeros((len(TWENTY), 2), dtype=np.int64), TWENTY, 0)
    assert found.shares == pytest.approx(np.full((2, 20), 0.05))
    for each in found.covariances:
        np.testing.assert_allclose(each, np.diag([0.05] * 20) - 0.0025)
