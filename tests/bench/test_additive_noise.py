"""Noise without γ: attacks succeed on correlated columns and only there; under γ they learn nothing."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bench.accuracy import additive_noise

KEPT = Path(additive_noise.__file__).parents[1] / "results" / "noise.json"


@pytest.fixture(scope="module")
def rows():
    """Return one row per case, for few records."""
    return {(row["columns"], row["which"]): row for row in additive_noise.run(6_000)["rows"]}


def test_correlated_columns_are_filtered(rows):
    """With six copies less than half of the stated width remains, with sixty a fifth; under γ attacks gain nothing."""
    for d, most in ((6, 0.48), (60, 0.2)):
        row = rows[d, additive_noise.TOGETHER]
        assert row["stated"] == pytest.approx(1, abs=0.01)
        assert row["bayes"] < most < 0.65 < rows[1, additive_noise.TOGETHER]["bayes"]
        assert row["filtering"] < 0.48
        assert row["under_gamma"] > row["unseen"] - 0.03
        assert row["epsilon"] == pytest.approx(d * np.log(row["gamma"]))


def test_independent_columns_are_not(rows):
    """Attacks that use several columns gain nothing over one column's distribution."""
    row = rows[6, additive_noise.APART]
    assert row["filtering"] > 0.9
    assert 0.65 < row["bayes"] < row["unseen"] < 0.97


def test_gaussian_bayes_is_the_conditional_mean(rng):
    """On Gaussian values the error is the theoretical one: the root of the diagonal of (Σ⁻¹ + S⁻¹)⁻¹."""
    covariance = np.array([[4.0, 3.8, 0.0], [3.8, 4.0, 0.0], [0.0, 0.0, 1.0]])
    values = rng.multivariate_normal([5, -3, 0], covariance, 40_000)
    errors = additive_noise.gaussian_bayes(values + rng.normal(0, 2, values.shape), 2) - values
    theory = np.sqrt(np.diag(np.linalg.inv(np.linalg.inv(covariance) + np.eye(3) / 4)))
    assert errors.std(axis=0) == pytest.approx(theory, rel=0.02)
    assert np.abs(errors.mean(axis=0)).max() < 0.04
    assert errors.std(axis=0)[1] < 0.9 * np.sqrt(1 / (1 / 4 + 1 / 4))  # of a single column


def test_components_of_noise_are_removed(rng):
    """Pure noise has no eigenvalue beyond the bounds, so only its mean remains."""
    noise = rng.normal(size=(6_000, 8))
    kept = additive_noise.spectral_filtering(noise, 1) - noise.mean(axis=0)
    assert np.linalg.matrix_rank(kept) <= 1


def test_the_stored_figures_are_those_of_the_documents():
    """docs/privacy-claims.md quotes the stored table."""
    row = json.loads(KEPT.read_text(encoding="utf-8"))["rows"][1]
    stated, unseen, bayes = (f"{row[name]:.0%}" for name in ("stated", "unseen", "bayes"))
    gamma, epsilon = (math.ceil(10 * row[name]) / 10 for name in ("gamma", "epsilon"))  # privacy is rounded up
    text = " ".join((KEPT.parents[2] / "docs" / "privacy-claims.md").read_text(encoding="utf-8").split())
    assert f"leaves **{bayes}** of the range where {stated} is stated" in text
    assert f"Without a report {unseen} is left" in text
    assert f"has γ {gamma} for each column, which for six is ε = {epsilon}" in text
