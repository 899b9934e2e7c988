"""AS00, figure 2: plateau and triangles, 100,000 values of each: original, randomized and reconstructed.

Noise is uniform on ±0.5 and Gaussian with standard deviation 0.25, over values from 0 to 1 (as in the paper); intervals
have a width of 0.05, as there. Beside the paper's iterated Bayes stands what reconstruct gives by default.

Source: Agrawal and Srikant, Privacy-Preserving Data Mining, SIGMOD 2000, section 3.3.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv import reconstruct
from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.planning.tables import design_gaussian, design_uniform
from assocpriv.plans.columns import Noise, NumberColumn
from assocpriv.plans.tables import TablePlan
from assocpriv.simulation.enumeration import SeededEntropy
from bench.figures import svg

VALUES, CELLS, INTERVALS = 100_000, 1000, 20
_NOISE_SEED = 1_000_003  # another stream of the same generator than the values come from
_CONFIDENCE = Fraction(19, 20)
NOISES = {
    "uniform": design_uniform(CELLS, 2 * Fraction(1, 2) * _CONFIDENCE, _CONFIDENCE),  # ±0.5: 95% of its width
    "gaussian": design_gaussian(CELLS, Fraction("0.98"), _CONFIDENCE),  # σ = 0.25: 3.92 σ
}
NOISE_NAMES = {"uniform": "uniform", "gaussian": "Gaussian"}
LINES = {
    "original": ("original", svg.Style("#222222", 3.6, "")),
    "randomized": ("randomized", svg.Style("#a3a3a3", 1.8, "")),
    "bayes": ("iterated Bayes (AS00)", svg.Style("#c24e00", 1.8, "")),
    "smooth": ("reconstruct", svg.Style("#00558c", 1.8, "")),
}  # columns of rows, and how they are drawn


def _plateau(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where((x >= 0.25) & (x < 0.75), 1.0, 0.0)


def _triangles(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(0, 1 - np.abs(x - 0.25) / 0.25) + np.maximum(0, 1 - np.abs(x - 0.75) / 0.25)


SHAPES = {"plateau": _plateau, "triangles": _triangles}


def rows() -> list[dict[str, Any]]:
    """Return a row for each shape, noise and interval: how many records lie in it."""
    found = []
    middles = (np.arange(CELLS) + 0.5) / CELLS
    for shape, density in SHAPES.items():
        chances = density(middles) / density(middles).sum()
        raw = np.random.default_rng(2).choice(CELLS, VALUES, p=chances).astype(np.int32)
        for noise, law in NOISES.items():
            found += _panel(shape, noise, law, raw)
    return found


def _panel(shape: str, noise: str, law: Noise, raw: NDArray[np.int32]) -> list[dict[str, Any]]:
    plan = TablePlan((NumberColumn("x", law, False, Fraction(0), Fraction(1), INTERVALS),), 0)
    packed = np.concatenate(list(randomize_inputs([raw[:, None]], plan, entropy=SeededEntropy(_NOISE_SEED))))
    reports, width = Reports(plan, packed), CELLS // INTERVALS
    released = plan.codes(packed, 0).astype(np.int64) - law.largest
    inside = released[(released >= 0) & (released < CELLS)]
    columns = {
        "original": np.bincount(raw // width, minlength=INTERVALS),
        "randomized": np.bincount(inside // width, minlength=INTERVALS),
        "bayes": VALUES * reconstruct(reports, method="bayes")["x"].share,
        "smooth": VALUES * reconstruct(reports)["x"].share,
    }
    return [
        {"shape": shape, "noise": noise, "from": place / INTERVALS}
        | {name: round(float(each[place])) for name, each in columns.items()}
        for place in range(INTERVALS)
    ]


def as_svg(found: list[dict[str, Any]]) -> str:
    """Plot the rows, a panel for every shape and noise."""
    across = svg.Axis("value", 0, 1, {0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1: "1"}, log=False)
    upward = svg.count_axis("records of an interval", max(row[name] for row in found for name in LINES))
    panels = {
        f"{shape}, {NOISE_NAMES[noise]} noise": {
            said: [(row["from"] + 0.5 / INTERVALS, row[name]) for row in found if (row["shape"], row["noise"]) == key]
            for name, (said, _) in LINES.items()
        }
        for shape in SHAPES
        for noise in NOISES
        if (key := (shape, noise))
    }
    return svg.plot("AS00, figure 2: distributions behind noise", across, upward, panels, dict(LINES.values()))
