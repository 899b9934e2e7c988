"""How much of a stated interval width remains when columns are correlated: noise without γ against a plan with γ.

Released values are W = X + E. The noise E is independent between columns and its distribution is known; the data X is
correlated between columns:

    spectral filtering    eigenvalues of noise of variance 1 lie within (1 ± √(d/N))²; W is projected onto what lies
                          above. Kargupta, Datta, Wang, Sivakumar, ICDM 2003, section 4.
    Gaussian Bayes        E[X | W] for Gaussian X with cov(X) = cov(W) − cov(E). Huang, Du, Chen, Deriving Private
                          Information from Randomized Data, SIGMOD 2005, section 6.

The remaining width is that of the shortest interval around an estimate that holds 95% of the true values, as a share
of the range. Without a report the estimate is the mean, which is always open to an attacker. The plan with γ gives its
guarantee for the whole record.
"""

from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.numeric.table_client import randomize_inputs
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.table_planner import design_window, plan_table
from assocpriv.plans.numeric.table_plan import NumberColumn, TablePlan, transition
from assocpriv.simulation.enumeration import SeededEntropy
from bench.tables import table

Floats = NDArray[np.float64]
CELLS, CONFIDENCE = 200, 0.95
TOGETHER, APART = "one shared number, own deviation 2%", "independent, uniform"
CASES = ((1, TOGETHER), (6, TOGETHER), (60, TOGETHER), (6, APART))
COLUMNS = {"columns": "columns", "which are": "which", "stated": "stated", "without a report": "unseen",
           "spectral filtering": "filtering", "Gaussian Bayes": "bayes", "γ of equal accuracy": "gamma",
           "ε of it, record": "epsilon", "Gaussian Bayes, γ < 19": "under_gamma"}  # fmt: skip


def run(n_records: int) -> dict[str, Any]:
    """Return one row per case: remaining widths under Gaussian noise of 100% privacy, averaged over columns."""
    return {"records": n_records, "rows": [_row(n_records, d, which) for d, which in CASES]}


def _row(n_records: int, d: int, which: str) -> dict[str, Any]:
    rng = np.random.default_rng(d)
    near = rng.uniform(0.05, 0.95, (n_records, 1)) + rng.normal(0, 0.02, (n_records, d))
    values = np.clip(near, 0, 1) if which == TOGETHER else rng.uniform(0, 1, (n_records, d))
    cells = np.minimum(values * CELLS, CELLS - 1).astype(np.int32)
    wave = {"kind": "number", "low": 0, "high": 1, "release": "square-wave", "cells": CELLS}
    names, noise = [f"x{place}" for place in range(d)], wave | {"release": "gaussian", "privacy": "100%"}
    noisy = plan_table({"columns": dict.fromkeys(names, noise)}, reports=n_records)
    bound = plan_table(
        {"columns": dict.fromkeys(names, wave)}, Guarantee("5%", "50%"), reports=n_records, columns_per_report="all"
    )
    released, deviation = _released(noisy, cells)
    gamma, unseen = _equally_accurate(deviation), _left(cells.astype(np.float64))
    return {
        "columns": d, "which": which, "stated": float(noisy.columns[0].known_width(Fraction(95, 100))),
        "unseen": unseen, "filtering": _left(spectral_filtering(released, deviation) - cells),
        "bayes": _left(gaussian_bayes(released, deviation) - cells), "gamma": gamma, "epsilon": d * log(gamma),
        "under_gamma": min(unseen, _left(gaussian_bayes(*_released(bound, cells)) - cells)),
    }  # fmt: skip


def _released(plan: TablePlan, cells: NDArray[np.int32]) -> tuple[Floats, float]:
    """Randomize records; return unbiased values in cells and the standard deviation of noise, equal in all columns."""
    packed = np.concatenate(list(randomize_inputs([cells], plan, entropy=SeededEntropy(3))))
    codes = np.stack([plan.codes(packed, place) for place in range(len(plan.columns))], axis=1).astype(np.float64)
    means, slope, deviation = _seen(plan.columns[0])
    return (codes - means.mean()) / slope + (CELLS - 1) / 2, deviation


def _seen(column: NumberColumn) -> tuple[Floats, float, float]:
    """Return the mean code of each cell, the codes per cell (slope), and the mean standard deviation in cells."""
    channel = transition(NumberColumn(column.name, column.mechanism, False, column.low, column.high, CELLS))
    places = np.arange(column.mechanism.outputs)
    means = places @ channel[: len(places)]
    slope = float(means[-1] - means[0]) / (CELLS - 1)
    return means, slope, float(np.sqrt((places**2 @ channel[: len(places)] - means**2).mean()) / slope)


def _equally_accurate(deviation: float) -> float:
    """Return γ of the square wave with this standard deviation."""
    low, high = 0.1, 12.0
    for _ in range(30):
        window = design_window(CELLS, Fraction(exp((low + high) / 2)), optional=False)
        noisier = _seen(NumberColumn("x", window, False, Fraction(0), Fraction(1), CELLS))[2] > deviation
        low, high = ((low + high) / 2, high) if noisier else (low, (low + high) / 2)
    return exp(high)


def spectral_filtering(released: Floats, deviation: float) -> Floats:
    """Project released values, (records, columns), onto the eigenvectors whose eigenvalues exceed those of noise."""
    n, d = released.shape
    mean = released.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(released.T).reshape(d, d) / deviation**2)
    data = vectors[:, values > (1 + np.sqrt(d / n)) ** 2]
    return np.asarray((released - mean) @ data @ data.T + mean)


def gaussian_bayes(released: Floats, deviation: float) -> Floats:
    """Return the mean of the values given the released ones, for Gaussian values with the estimated covariance."""
    mean, d = released.mean(axis=0), released.shape[1]
    values, vectors = np.linalg.eigh(np.cov(released.T).reshape(d, d))
    gain = np.maximum(1 - deviation**2 / values, 0)  # cov(X) cov(W)⁻¹, along each eigenvector
    return np.asarray((released - mean) @ (vectors * gain) @ vectors.T + mean)


def _left(errors: Floats) -> float:
    ordered, most = np.sort(errors, axis=0), int(np.ceil(CONFIDENCE * len(errors)))
    return float((ordered[most - 1 :] - ordered[: len(errors) - most + 1]).min(axis=0).mean()) / CELLS


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    shares = ("stated", "unseen", "filtering", "bayes", "under_gamma")
    rows = [row | {name: f"{row[name]:.0%}" for name in shares} for row in result["rows"]]
    caption = (
        "Width that remains at 95%, as a share of the range. Gaussian noise of 100% privacy, "
        f"{result['records']:,} records."
    )
    return f"{caption}\n\n{table(COLUMNS, rows)}"
