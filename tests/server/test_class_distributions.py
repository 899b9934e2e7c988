"""What classes differ by: nothing is made of noise, what is clear is believed, and errors are as large as they say."""

import numpy as np
import pytest

from assocpriv.plans.columns import CategoryColumn, NumberColumn, Window, transition
from assocpriv.server.class_distributions import class_distributions

RESPONSE = np.array([[0.7, 0.3], [0.3, 0.7]])  # of the class
TWENTY = transition(CategoryColumn("c", Window(20, 1, 4, 1), False, tuple("abcdefghijklmnopqrst")))
NUMBER = transition(NumberColumn("x", Window(50, 25, 3, 1), False, 0, 1, 50))  # type: ignore[arg-type]


def released(rng, matrix, by_class, n):
    """Return counts of codes and released classes of n people, the first class a third of them."""
    counts = np.zeros((len(matrix), 2), dtype=np.int64)
    for k, shares in enumerate(by_class):
        for r in (0, 1):
            counts[:, r] += rng.multinomial(round(n * (1, 2)[k] / 3 * RESPONSE[r, k]), matrix @ shares)
    return counts


def told(counts, matrix, ordered):
    """Return the distributions by class of such counts."""
    return class_distributions(counts, matrix, ordered, np.linalg.inv(RESPONSE), np.array([1 / 3, 2 / 3]))


@pytest.mark.parametrize(("matrix", "ordered"), [(TWENTY, 0), (NUMBER, 50)])
def test_noise_is_no_difference(rng, matrix, ordered) -> None:
    """Where classes do not differ their distributions are a tenth as far apart as inverted counts are, in median.

    Over 20 collections the ratio is .02 to .08 in 19 of 20, so that ten above a tenth happen with a chance of 1e-8.
    """
    even, ratios = np.full(matrix.shape[1], 1 / matrix.shape[1]), []
    for _ in range(20):
        counts = released(rng, matrix, (even, even), 5_000)
        first, second = told(counts, matrix, ordered).shares
        alone = (np.linalg.pinv(matrix) @ counts @ np.linalg.inv(RESPONSE).T) / [5_000 / 3, 10_000 / 3]
        ratios.append(abs(first - second).sum() / abs(alone[:, 0] - alone[:, 1]).sum())
    assert np.median(ratios) < 0.1


@pytest.mark.parametrize(("matrix", "ordered"), [(TWENTY, 0), (NUMBER, 50)])
def test_clear_differences_are_believed(rng, matrix, ordered) -> None:
    """Of a million people, a class in the lower half and one in the upper are told apart nearly as they are."""
    n = matrix.shape[1]
    lower = np.where(np.arange(n) < n // 2, 1.5, 0.5) / n
    found = told(released(rng, matrix, (lower, lower[::-1]), 1_000_000), matrix, ordered).shares
    halves = found[:, : n // 2].sum(axis=1)
    assert halves == pytest.approx([0.75, 0.25], abs=0.05)  # five standard errors


def test_errors_are_as_large_as_they_say(rng) -> None:
    """The share of the lower half lies within two posterior deviations in at least 32 of 40 collections.

    If it does so with 95%, fewer happen with a chance of 2e-4; with deviations of half the size it does with 68%, and
    32 or more happen with 5%.
    """
    lower = np.where(np.arange(50) < 25, 1.2, 0.8) / 50
    half, held = (np.arange(50) < 25).astype(float), 0
    for _ in range(40):
        found = told(released(rng, NUMBER, (lower, lower[::-1]), 20_000), NUMBER, 50)
        held += abs(half @ found.shares[0] - 0.6) < 2 * np.sqrt(half @ found.spread[0] @ half)
    assert held >= 32


def test_nobody_answered() -> None:
    """Of a column that nobody answered nothing is known: even shares in every class."""
    found = told(np.zeros((len(TWENTY), 2), dtype=np.int64), TWENTY, 0)
    assert found.shares == pytest.approx(np.full((2, 20), 0.05))
