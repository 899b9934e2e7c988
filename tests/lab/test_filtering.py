"""Attacks on additive noise: they win where columns go together, and do not where these are independent."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.lab import filtering
from assocpriv.lab.filtering import (
    gaussian_bayes,
    interval_bayes,
    likeliest_runs,
    principal_components,
    spectral_filtering,
    widths_left,
)
from assocpriv.lab.privacy_left import PrivacyLeft, privacy_left
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.planning.numeric.planner import plan_table
from assocpriv.plans.numeric.channel import transition
from assocpriv.plans.numeric.columns import NumberColumn
from assocpriv.plans.numeric.plan import TablePlan

N, D = 6000, 6
AT = Fraction(95, 100)


def noisy(d: int = D, release: str = "gaussian", **further: Any) -> TablePlan:
    """Return a plan with columns of noise of 100% privacy."""
    column = {"kind": "number", "low": 0, "high": 1, "release": release, "privacy": "100%", "cells": 200}
    return plan_table({"columns": {f"x{place}": column for place in range(d)} | further}, reports=2000)


def cells_of(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the cells of values from 0 to 1."""
    return np.clip(np.floor(values * 200), 0, 199).astype(np.int32)


def correlated(rng: np.random.Generator, d: int = D) -> NDArray[np.float64]:
    """Return columns that are one number and a little of their own."""
    return np.clip(rng.uniform(0.05, 0.95, (N, 1)) + rng.normal(0, 0.02, (N, d)), 0, 1)


def left(plan: TablePlan, values: NDArray[np.float64]) -> PrivacyLeft:
    """Run all attacks, with clients of a fixed seed."""
    return privacy_left(plan, cells_of(values), entropy=SeededEntropy(3))


def test_columns_that_go_together_are_filtered(rng: np.random.Generator) -> None:
    """Of six copies of a number, less than half of the stated width is left, by each attack that looks at several."""
    found = left(noisy(), correlated(rng))
    for column in found.columns:
        assert column.levels[AT].stated == pytest.approx(1, abs=0.01)
        half, most = (column.levels[Fraction(level, 1000)] for level in (500, 999))
        assert half.stated == pytest.approx(0.344, abs=0.01)  # 0.6745 of 1.96, and 3.29 of it: AS00, table 1
        assert most.stated == pytest.approx(1.68, abs=0.02)
        for level in (half, most):  # beyond 99.9% there are six records
            assert level.left["released value"] == pytest.approx(level.stated, rel=0.15)
            assert level.left["Gaussian Bayes"] < 0.5 * level.stated
        assert column.levels[AT].left["released value"] == pytest.approx(column.levels[AT].stated, abs=0.06)
        for attack in ("Gaussian Bayes", "principal components", "spectral filtering"):
            assert column.levels[AT].left[attack] < 0.48
        assert column.levels[AT].left["pair Bayes"] < 0.65 < column.levels[AT].left["interval Bayes, mean"]


def test_independent_columns_are_not(rng: np.random.Generator) -> None:
    """Attacks that look at several columns gain nothing over one column's distribution."""
    for column in left(noisy(), rng.uniform(0, 1, (N, D))).columns:
        alone = min(column.levels[AT].left["interval Bayes, mean"], column.levels[AT].left["interval Bayes, likeliest"])
        for attack in ("Gaussian Bayes", "principal components", "spectral filtering", "pair Bayes"):
            assert column.levels[AT].left[attack] > alone - 0.03
        assert 0.65 < alone < column.levels[AT].unseen < 0.97


def test_forgetting_the_noise_is_noticed(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fault planted, the noise not taken out of the covariance, the attack does not win as it must."""
    monkeypatch.setattr(filtering, "_covariance", lambda centred, _deviations: centred.T @ centred / len(centred))
    faulty = left(noisy(), correlated(rng)).columns[0]
    assert faulty.levels[AT].left["Gaussian Bayes"] > 0.48


def test_gaussian_bayes_is_the_conditional_mean(rng: np.random.Generator) -> None:
    """On Gaussian values the error is that of theory: the root of the diagonal of (Σ⁻¹ + S⁻¹)⁻¹."""
    covariance = np.array([[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    deviations = np.array([1.0, 2.0, 1.0])
    values = rng.multivariate_normal([5, -3, 0], covariance, 40_000)
    errors = gaussian_bayes(values + rng.normal(size=values.shape) * deviations, deviations) - values
    theory = np.sqrt(np.diag(np.linalg.inv(np.linalg.inv(covariance) + np.diag(deviations**-2))))
    assert errors.std(axis=0) == pytest.approx(theory, rel=0.02)
    assert np.abs(errors.mean(axis=0)).max() < 0.04
    wrong = np.sqrt(1 / (1 / np.diag(covariance) + deviations**-2))  # of a column alone
    assert errors.std(axis=0)[1] < 0.9 * wrong[1]


def test_a_column_in_clear_helps(rng: np.random.Generator) -> None:
    """A column that is released as it is tells of one with noise that goes with it."""
    clear = {"y": {"kind": "number", "low": 0, "high": 1, "release": "as-is", "cells": 200}}
    values = correlated(rng, 2)
    beside = left(noisy(1, **clear), values).columns[0]
    alone = left(noisy(1), values[:, :1]).columns[0]
    assert beside.levels[AT].left["Gaussian Bayes"] < 0.2 < 0.6 < alone.levels[AT].left["Gaussian Bayes"]
    assert "pair Bayes" not in alone.levels[AT].left


def test_components_of_noise_are_left_out(rng: np.random.Generator) -> None:
    """Pure noise has no eigenvalue beyond the bounds, so nothing but the mean is left of it; all components are all."""
    noise = rng.normal(size=(N, 8))
    kept = spectral_filtering(noise, np.ones(8)) - noise.mean(axis=0)
    assert np.linalg.matrix_rank(kept) <= 1
    assert principal_components(noise + 5, np.ones(8) / 2, 8) == pytest.approx(noise + 5)


def test_one_column_is_bayes() -> None:
    """Of one column the estimate is the posterior's mean, by hand."""
    matrix = np.array([[0.8, 0.2, 0.1], [0.1, 0.6, 0.1], [0.1, 0.2, 0.8]])
    codes = np.repeat([0, 1, 2], [500, 300, 200])
    middles = np.array([0.0, 1.0, 2.0])
    mean, [best] = interval_bayes(codes, matrix, middles, [0.5])
    prior = filtering.maximize(np.array([500, 300, 200]), matrix, smooth=True)
    posterior = matrix[0] * prior / (matrix[0] @ prior)
    assert mean[0] == pytest.approx(posterior @ middles)
    assert list(best[[0, 500, 999]]) == [0, 1, 2]


def test_likeliest_runs() -> None:
    """No runs of a smaller width hold so much, and none of this width hold more, found here by trying each."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        rows, weights = rng.dirichlet(np.ones(7) / 2, 5), rng.dirichlet(np.ones(5))
        first, width = likeliest_runs(rows, weights, 0.8)
        most = [sum(w * max(row[a : a + n].sum() for a in range(8 - n)) for w, row in zip(weights, rows, strict=True))
                for n in range(1, 8)]  # fmt: skip
        assert width == next(n for n in range(1, 8) if most[n - 1] >= 0.8 - 1e-9)
        held = sum(w * row[a : a + width].sum() for w, row, a in zip(weights, rows, first, strict=True))
        assert held == pytest.approx(most[width - 1])


def test_an_attacker_does_no_worse_than_without_a_report(rng: np.random.Generator) -> None:
    """Of a column that is nearly always 0, and rarely anything, no more is left than without its report."""
    values = np.where(rng.random(N) < 0.03, rng.uniform(0.1, 1, N), 0)[:, None]
    for release in ("gaussian", "uniform"):
        [column] = left(noisy(1, release), values).columns
        level = column.levels[AT]
        assert level.left["interval Bayes, likeliest"] <= level.unseen + 0.06 < level.left["interval Bayes, mean"]


def test_pairs_see_what_lines_do_not(rng: np.random.Generator) -> None:
    """Of a column that is told by another one without any correlation, only the joint distribution tells."""
    x = rng.uniform(0, 1, N)
    values = np.stack([np.abs(x - 0.5) * 2, x], axis=1)
    plan = noisy(2, "uniform")
    plan = TablePlan((plan.columns[0], noisy(1, "uniform").columns[0].__class__(
        "y", plan_table({"columns": {"y": {"kind": "number", "low": 0, "high": 1, "release": "uniform",
        "privacy": "5%", "cells": 200}}}).columns[0].law, False, Fraction(0), Fraction(1), 20)), 0)  # fmt: skip
    column = left(plan, values).columns[0]
    assert column.levels[AT].left["pair Bayes"] < 0.35 < 0.7 < column.levels[AT].left["Gaussian Bayes"]


def test_the_wave_is_as_accurate(rng: np.random.Generator) -> None:
    """The mean under the square wave of equal accuracy has the variance that it has under the noise."""
    for release in ("gaussian", "uniform"):
        plan = noisy(1, release)
        found = left(plan, rng.uniform(0, 1, (N, 1))).columns[0]
        assert found.amplification is not None
        column = plan.columns[0]
        assert isinstance(column, NumberColumn)
        from assocpriv.planning.numeric.designs import design_window

        wave = NumberColumn(
            "x", design_window(200, Fraction(found.amplification * 1.000001), optional=False), False,
            column.low, column.high, column.intervals,
        )  # fmt: skip
        variances = []
        for each in (column, wave):
            channel = transition(NumberColumn("x", each.law, False, each.low, each.high, 200))
            places = np.arange(len(channel), dtype=float)
            means = places @ channel
            slope = (means[-1] - means[0]) / 199
            variances.append(((places**2 @ channel) - means**2).mean() / slope**2)
        assert variances[1] == pytest.approx(variances[0], rel=0.02)


def test_widths() -> None:
    """The shortest interval that holds enough errors, wherever it lies."""
    assert widths_left(np.array([3.0, 1.0, 2.0, 9.0]), [0.75, 0.5]) == [2.0, 1.0]
    assert widths_left(np.arange(100.0), [0.95]) == [94.0]
    assert widths_left(np.array([4.0]), [0.5]) == [0.0]


def test_too_little_to_attack() -> None:
    """Without noise, or with few records, nothing is said."""
    clear = plan_table({"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "as-is"}}})
    with pytest.raises(EstimateError, match="no column of the plan has noise"):
        privacy_left(clear, np.zeros((200, 1), dtype=np.int32))
    with pytest.raises(EstimateError, match="needs 100 records without a missing number, got 99"):
        privacy_left(noisy(1), np.zeros((99, 1), dtype=np.int32))
