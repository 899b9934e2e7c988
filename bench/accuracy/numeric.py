"""How near reconstructed distributions of numbers come to the truth at equal privacy, beside what others do.

    python -m bench accuracy numeric [--quick] [--seeds 3] [--save]

Truth is the distribution of the very values that were released, all in [0, 1]; errors are in shares of that range.
Wasserstein: the mean distance of the distribution functions; KS: the largest; quantiles: the mean absolute error of
those at 10, 20 … 90%; mean: the absolute error. A cell is one data set, ε, N and metric; ours is behind in it where
another errs less by more than one standard error of the difference, seed by seed. The best of several others is ahead
by that much often enough by chance alone: how often, if all methods were equally good, is computed beside it.
"""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from bench.accuracy.numeric_peers import GRID, METHODS, OURS, Floats, Found
from bench.tables import table

EPSILONS = (0.5, 1.0, 2.0, math.log(19), 4.0)
SIZES = (10_000, 1_000_000)
METRICS = ("wasserstein", "ks", "quantiles", "mean")
_LEVELS = np.arange(1, 10) / 10
ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.data"
_ADULT_COLUMNS = {"age": (0, 17, 90), "hours-per-week": (12, 1, 99)}  # position, least and largest value
MISSING = f"the Adult table {ADULT} is not there; its two columns are left out"


def datasets() -> dict[str, tuple[Any, int | None]]:
    """Return functions from (size, generator) to values in [0, 1], by name, and how many different values they have."""
    made: dict[str, Any] = {
        "beta(5,2)": (lambda n, rng: rng.beta(5, 2, n), None), "spiky": (_spiky, None), "bimodal": (_bimodal, None),
    }  # fmt: skip
    if ADULT.is_file():
        with ADULT.open(encoding="utf-8") as file:
            rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) > 12]
        for name, (place, low, high) in _ADULT_COLUMNS.items():
            values = (np.array([float(row[place]) for row in rows]) - low + 0.5) / (high - low + 1)
            made[f"Adult {name}"] = (lambda n, rng, values=values: rng.choice(values, n), high - low + 1)
    return made


def _spiky(n: int, rng: np.random.Generator) -> Floats:
    """Four narrow peaks on an even floor."""
    peaks = rng.choice([0.2, 0.45, 0.5, 0.8], n) + 0.01 * rng.standard_normal(n)
    return np.clip(np.where(rng.random(n) < 0.3, rng.random(n), peaks), 0, 1)


def _bimodal(n: int, rng: np.random.Generator) -> Floats:
    """Two normal peaks."""
    first = rng.random(n) < 0.6
    return np.clip(np.where(first, 0.3, 0.7) + np.where(first, 0.07, 0.1) * rng.standard_normal(n), 0, 1)


def errors(found: Found, values: Floats, different: int | None) -> dict[str, float]:
    """Return a method's errors by metric; a metric that it does not estimate is not there."""
    said = {"mean": abs(found.mean - float(values.mean()))}
    if found.cdf is None:
        return said
    places = GRID if different is None else np.linspace(0, 1, different + 1)  # between two whole numbers nothing lies
    true = np.searchsorted(np.sort(values), places, side="right") / len(values)
    apart = np.abs(np.interp(places, GRID, found.cdf) - true)
    rising = np.maximum.accumulate(found.cdf) + 1e-12 * np.arange(len(GRID))
    quantiles = np.interp(_LEVELS, rising, GRID) - np.quantile(values, _LEVELS)
    return said | {
        "wasserstein": float(apart.mean()),
        "ks": float(apart.max()),
        "quantiles": float(np.abs(quantiles).mean()),
    }


def run(seeds: int = 3, *, quick: bool = False) -> dict[str, Any]:
    """Run all cells and return a row for each cell, method and metric."""
    rows = []
    for name, (sample, different) in datasets().items():
        for epsilon in EPSILONS[1:4:2] if quick else EPSILONS:
            for size in SIZES[:1] if quick else SIZES:
                rows += list(_cell(name, (sample, different), epsilon, size, seeds))
    return {"rows": rows, "behind": behind(rows), "note": "" if ADULT.is_file() else MISSING}


def _cell(name: str, data: tuple[Any, int | None], epsilon: float, size: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one cell; every method sees the same values."""
    found: dict[tuple[str, str], list[float]] = {}
    sample, different = data
    for seed in range(seeds):
        rng = np.random.default_rng([seed, size, round(1000 * epsilon)])
        values = sample(size, rng)
        for method, estimate in METHODS.items():
            for metric, error in errors(estimate(values, epsilon, rng, different), values, different).items():
                found.setdefault((method, metric), []).append(error)
    for (method, metric), each in found.items():
        yield {
            "data": name, "epsilon": round(epsilon, 4), "reports": size, "method": method, "metric": metric,
            "error": fmean(each), "std_error": _std_error(each), "each": each,
        }  # fmt: skip


def _std_error(each: list[float]) -> float:
    return stdev(each) / math.sqrt(len(each)) if len(each) > 1 else math.nan


def behind(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells in which ours errs more than the best other by more than one standard error."""
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["data"], row["epsilon"], row["reports"], row["metric"]), {})[row["method"]] = row
    lost = []
    for (data, epsilon, reports, metric), methods in cells.items():
        mine = methods[OURS]
        best = min((row for name, row in methods.items() if name != OURS), key=lambda row: row["error"])
        apart = [one - other for one, other in zip(mine["each"], best["each"], strict=True)]
        if fmean(apart) > _std_error(apart):
            lost.append(
                {"data": data, "epsilon": epsilon, "reports": reports, "metric": metric, "error": mine["error"]}
                | {"best": best["method"], "best_error": best["error"], "cells": len(cells)}
            )
    return lost


def lost_to_chance(seeds: int, others: int, draws: int = 20_000) -> float:
    """Return the chance that ours is behind in a cell where all methods' errors have one law, that of |z|, z normal."""
    errors = np.abs(np.random.default_rng(0).standard_normal((draws, others + 1, seeds)))
    best = 1 + errors[:, 1:].mean(axis=2).argmin(axis=1)
    apart = errors[:, 0] - errors[np.arange(draws), best]
    return float(np.mean(apart.mean(axis=1) > apart.std(axis=1, ddof=1) / math.sqrt(seeds)))


def by_chance(rows: list[dict[str, Any]]) -> float:
    """Return how many cells would be lost on average if all methods were equally good."""
    others: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = (row["data"], row["epsilon"], row["reports"], row["metric"])
        others[key] = others.get(key, 0) + (row["method"] != OURS)
    seeds = len(rows[0]["each"])
    chances = {n: lost_to_chance(seeds, n) for n in set(others.values())}
    return sum(chances[n] for n in others.values())


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Return the rows as CSV, errors with four digits."""
    text = io.StringIO()
    names = [name for name in rows[0] if name != "each"]
    writer = csv.DictWriter(text, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in row.items()} for row in rows)
    return text.getvalue()


def markdown(found: dict[str, Any]) -> str:
    """Return the geometric mean of every method's error over ours by ε and size, and the cells where ours is behind."""
    by_cell = {(r["data"], r["epsilon"], r["reports"], r["metric"], r["method"]): r["error"] for r in found["rows"]}
    lines = []
    for epsilon, size in sorted({(r["epsilon"], r["reports"]) for r in found["rows"]}):
        for metric in METRICS:
            line: dict[str, Any] = {"ε": epsilon, "reports": size, "metric": metric}
            for method in METHODS:
                ratios = [
                    math.log(error / by_cell[data, e, n, m, OURS])
                    for (data, e, n, m, name), error in by_cell.items()
                    if (e, n, m, name) == (epsilon, size, metric, method)
                ]
                line[method] = math.exp(fmean(ratios)) if ratios else None
            lines.append(line)
    cells = len({key[:4] for key in by_cell})
    columns = {"data": "data", "ε": "epsilon", "N": "reports", "metric": "metric", "ours": "error"}
    return "\n".join(
        [
            "Errors over ours, geometric means over the data sets; above 1, ours errs less.\n",
            table({name: name for name in lines[0]}, lines),
            f"Cells in which another errs less by more than one standard error: {len(found['behind'])} of {cells}; "
            f"if all methods were equally good, it would be {by_chance(found['rows']):.0f} by chance.\n",
            table(columns | {"best": "best", "its error": "best_error"}, found["behind"]),
            found["note"],
        ]
    )
