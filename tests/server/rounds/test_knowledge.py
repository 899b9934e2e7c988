"""Tests of what several rounds know together: averages, what may be published after a choice, rankings."""

import math
from fractions import Fraction

import numpy as np
import pytest
from fit import FALSE_ALARM

from assocpriv.server.posterior import Average, Estimate, Evidence, after_choice, average, measured, ranked


def test_estimates_are_averaged_by_inverse_variance() -> None:
    """The average of estimates of one support has the least variance that weights allow, by fractions."""
    values = [(Fraction(1, 8), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 16)), (Fraction(1, 4), Fraction(1, 8))]
    weights = [1 / variance for _, variance in values]
    mean = sum(w * value for w, (value, _) in zip(weights, values, strict=True)) / sum(weights)
    found = average([Average(float(value), float(variance)) for value, variance in values])
    assert found.support == pytest.approx(float(mean), rel=1e-15)
    assert found.variance == pytest.approx(float(1 / sum(weights)), rel=1e-15)
    assert found.variance < min(float(variance) for _, variance in values)


def test_bias_does_not_average_out() -> None:
    """Of estimates that one model has corrected noise averages out and bias stays."""
    found = average([Average(0.2, 0.03, 0.1, 0.2), Average(0.3, 0.03, 0.1, 0.2)])
    assert found == pytest.approx((0.25, 0.015, 0.1, 0.2))
    assert found.error == pytest.approx(0.015 + 0.01)


def test_ranking_is_by_what_is_expected() -> None:
    """Expected supports rank, of equals smaller itemsets and first ones come first."""
    known = {
        (3,): Estimate(0.9, 1.0, 0.1, 1.0),
        (1, 2): measured(0.5, 1.0),
        (2,): measured(0.5, 1.0),
        (0, 1): measured(0.5, 1.0),
    }
    assert ranked(known, 3) == [(2,), (0, 1), (1, 2)]
    assert ranked(known, 9)[-1] == (3,)


def test_two_modes_reach_further_than_their_mean() -> None:
    """A pair that is probably rare and perhaps a pattern has that chance to be frequent, not a normal law's."""
    mean, spread = 0.1 * 0.2, 0.1 * 0.9 * 0.2**2
    pair = Estimate(mean, spread, mean, spread, ((0.9, 0.0, 1e-8), (0.1, 0.2, 1e-8)))
    assert pair.chance(0.15) == pytest.approx(0.1)
    assert Estimate(mean, spread, mean, spread).chance(0.15) < 0.02


@pytest.mark.parametrize("truth", [-0.5, 0.0, 0.7])
def test_estimate_after_choice_is_unbiased(truth: float, rng: np.random.Generator) -> None:
    """Given that the first of two estimates lay above 0, its mean is the truth; that of their average is not."""
    earlier, later, n = 0.36, 0.25, 20_000
    before = truth + 0.6 * rng.standard_normal(n)
    chosen = before[before > 0]
    now = truth + 0.5 * rng.standard_normal(len(chosen))
    pairs = [(Average(x, earlier), Average(y, later)) for x, y in zip(chosen.tolist(), now.tolist(), strict=True)]
    found = [after_choice(x, y, 0.0) for x, y in pairs]

    def off(values: list[float]) -> float:
        return float((np.mean(values) - truth) / np.std(values) * math.sqrt(len(values)))

    assert FALSE_ALARM == 1e-6
    assert abs(off([each.support for each in found])) < 4.9
    assert abs(off([average(pair).support for pair in pairs])) > 4.9
    assert np.var([each.support for each in found]) < later * 1.02
    far = after_choice(Average(9.0, earlier), Average(9.5, later), 0.0)
    assert far == pytest.approx(average([Average(9.0, earlier), Average(9.5, later)]))


def test_intervals_hold_for_the_maxima_of_noise(rng: np.random.Generator) -> None:
    """Of 4,000 items that few have the 80 largest estimates are noise: fresh intervals hold, of averages they do not.

    At least 90% do: below the bound fewer would with a probability of 10^-6.
    """
    from scipy.stats import binom

    truth = np.concatenate([np.linspace(0.0, 4.0, 60), np.zeros(3_940)])
    held, naive, asked = 0, 0, 0
    for _ in range(10):
        first = truth + rng.standard_normal(len(truth))
        places = np.argsort(-first)[:80]
        items = [(int(place),) for place in places]
        nothing = [-math.inf] * len(truth)
        singles = [Average(x, 1.0) for x in first.tolist()]
        evidence = Evidence({}, {}).joined([(i,) for i in range(len(truth))], singles, nothing)
        second = truth[places] + rng.standard_normal(80)
        cut = float(first[places].min())
        evidence = evidence.joined(items, [Average(x, 1.0) for x in second.tolist()], [cut] * 80)
        for item in items:
            fresh, every = evidence.fresh[item], evidence.all[item]
            held += abs(fresh.support - truth[item[0]]) <= 1.96 * math.sqrt(fresh.variance)
            naive += abs(every.support - truth[item[0]]) <= 1.96 * math.sqrt(every.variance)
            asked += 1
    assert held >= binom.ppf(FALSE_ALARM, asked, 0.9)
    assert naive < binom.ppf(FALSE_ALARM, asked, 0.9)
