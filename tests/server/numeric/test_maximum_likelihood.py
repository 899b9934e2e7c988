"""Maximum likelihood: cases solved by hand, comparison with another solver, and invariances."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from assocpriv.plans.numeric.table_plan import NumberColumn, Window, transition
from assocpriv.server.numeric.maximum_likelihood import (
    average_neighbours,
    coarse_channel,
    ems_shares,
    maximize_likelihood,
)

ONE_OF_THREE = np.full((3, 3), 0.2) + 0.4 * np.eye(3)


def log_likelihood(counts, matrix, shares):
    """Return the log-likelihood up to a constant."""
    seen = counts > 0
    return counts[seen] @ np.log(matrix[seen] @ shares)


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ([400, 400, 200], [0.5, 0.5, 0.0]),  # the inverse: (r − 0.2) / 0.4
        ([300, 360, 340], [0.25, 0.4, 0.35]),
        # on the face f3 = 0 the rates of the first two, together 0.8, go as their counts: 0.2 + 0.4 f1 = 0.8 · 6/9
        ([600, 300, 100], [5 / 6, 1 / 6, 0.0]),
    ],
)
def test_solutions_by_hand(counts, wanted) -> None:
    """Inside the simplex the maximum is the inverse of the channel; outside it lies on a face."""
    found = maximize_likelihood(np.array(counts), ONE_OF_THREE)
    assert found == pytest.approx(wanted, abs=2e-3)
    assert found.sum() == pytest.approx(1)


def test_no_other_solver_finds_more(rng) -> None:
    """On random channels the log-likelihood is within 1/1000 of a general solver's."""
    for _ in range(5):
        matrix = rng.dirichlet(np.ones(8), size=4).T
        counts = rng.multinomial(2000, matrix @ rng.dirichlet(np.ones(4)))
        other = minimize(
            lambda logs, c=counts, m=matrix: -log_likelihood(c, m, np.exp(logs) / np.exp(logs).sum()), np.zeros(4),
            options={"gtol": 1e-8},
        ).x  # fmt: skip
        best = log_likelihood(counts, matrix, np.exp(other) / np.exp(other).sum())
        assert log_likelihood(counts, matrix, maximize_likelihood(counts, matrix)) > best - 2e-3


@pytest.mark.parametrize("smooth", [False, True])
def test_shares_are_shares(rng, smooth) -> None:
    """They add up to 1 and none is negative, also for extreme counts such as a single report."""
    for counts in ([1, 0, 0], [0, 0, 7], [5, 0, 10**9]):
        shares = maximize_likelihood(np.array(counts), ONE_OF_THREE, smooth=smooth)
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()


def test_smoothing_stays_within_the_intervals() -> None:
    """A missing value's share takes no part in the average, and a smoothed estimate is smoother."""
    row = average_neighbours(np.array([0.5, 0.0, 0.1, 0.4]), 3)
    assert row[3] == 0.4
    assert row.sum() == pytest.approx(1)
    rough, smooth = (
        maximize_likelihood(np.array([400, 100, 400]), ONE_OF_THREE, smooth=each) for each in (False, True)
    )
    assert np.ptp(smooth) < np.ptp(rough)


def test_ems_adapts_to_the_shape(rng) -> None:
    """EMS keeps a spike that smoothing on the plan's intervals spreads, and adds no noise to even shares.

    200,000 reports under a square wave of γ 3. The mean error of the spike's distribution function is .0221, with a
    standard deviation of .0007 (on the plan's intervals .070). Even shares range by .0015, on the finest grid by .0085.
    One collection in twelve ranges by more than .006, so 10 of 19 have a probability of 6e-7.
    """
    column = NumberColumn("x", Window(200, 101, 3, 1), False, Fraction(0), Fraction(1), 20)
    channel, fine = coarse_channel(column), transition(column)
    spike, even = 0.6 * (np.arange(20) == 4) + 0.4 / 20, np.full(20, 0.05)
    found = ems_shares(rng.multinomial(200_000, fine @ spike), channel)
    ranges = [np.ptp(ems_shares(rng.multinomial(200_000, fine @ even), channel)) for _ in range(19)]
    assert found.sum() == pytest.approx(1)
    assert abs(np.cumsum(found - spike)).mean() < 0.026
    assert np.median(ranges) < 0.006
