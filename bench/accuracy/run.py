"""The accuracy bench: every method on every data set with every ε, and the verdict on our own goals.

    python -m bench accuracy [--quick] [--seeds 3] [--save]

Runs are appended to a file beside the results (not kept in the repository), so an interrupted bench goes on where it
was. With --save the tables go to bench/results/accuracy.md and the figures behind them to accuracy.json.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from bench.accuracy import consistency
from bench.accuracy.data import REPORTED
from bench.accuracy.harness import Method, Row, run_cells, summary
from bench.accuracy.methods import EPSILONS, ours, peers

OURS = "assocpriv, three rounds"
_SUPPORTS_OF = ("precision", "ncr", "rmse", "rmse_common", "common", "coverage", "fdr")


def run(store: Path, *, seeds: int = 3, quick: bool = False, workers: int = 2) -> dict[str, Any]:
    """Run what is not in the store yet and return the figures of all cells."""
    datasets = ("fixed-5", "mixed") if quick else tuple(REPORTED)
    epsilons = (2.0,) if quick else EPSILONS
    tops = (32,) if quick else (32, 64, 128)
    mine, *others = ours()
    chosen = range(1 if quick else seeds)
    rows = run_cells([mine, *peers()], datasets, epsilons, chosen, tops, store=store, workers=workers)
    pairs = _against_svsm([mine, *peers()], datasets, epsilons, chosen, tops, store, workers)
    # fewer rounds and the paper's design once: what they are there to show is far larger than a run's deviation
    once = run_cells(others, datasets, epsilons, range(1), (32,) if quick else (64,), store=store, workers=workers)
    every = [*rows, *once]
    projected = consistency.run(datasets if quick else consistency.DATASETS, (2.0,) if quick else EPSILONS[1:4])
    return {
        "cells": _cells(every),
        "verdict": verdict(rows, pairs),
        "consistency": projected,
        "tables": summary(every),
    }


def _against_svsm(
    methods: Sequence[Method],
    datasets: Sequence[str],
    epsilons: Sequence[float],
    seeds: range,
    tops: Sequence[int],
    store: Path,
    workers: int,
) -> dict[str, list[Row]]:
    """Return the rows of ours beside each setting of SVSM alone: supports on what just these two estimate."""
    mine = next(method for method in methods if method.name == OURS)
    rivals = [method for method in methods if method.name.startswith("SVSM")]
    return {
        rival.name: run_cells([mine, rival], datasets, epsilons, seeds, tops, store=store, workers=workers)
        for rival in rivals
    }


def _cells(rows: Sequence[Row]) -> list[Row]:
    """Return mean and standard error of every figure of every cell and method."""
    cells = []
    for (dataset, epsilon, method), group in _grouped(rows, ("dataset", "epsilon", "method")).items():
        cell: Row = {"dataset": dataset, "epsilon": epsilon, "method": method, "n": group[0]["n"], "runs": len(group)}
        for top in group[0]["tops"]:
            for name in _SUPPORTS_OF:
                cell[f"{name}@{top}"] = spread([row.get(f"{name}@{top}") for row in group])
        cells.append(cell)
    return cells


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def spread(values: Sequence[float | None]) -> tuple[float, float] | None:
    """Return mean and standard error of the values that are there; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    error = stdev(known) / math.sqrt(len(known)) if len(known) > 1 else 0.0
    return float(f"{fmean(known):.6g}"), float(f"{error:.3g}")


def verdict(rows: Sequence[Row], pairs: dict[str, list[Row]]) -> dict[str, Any]:
    """Say in which cells the goals are missed.

    Precision and NCR: the best or within one standard error (of the difference) of the best, in every cell. RMSE over
    the true top 64: how many times lower than the best setting of SVSM, by cell and in the median cell. Supports: the
    cells in which a setting of SVSM is better on what both estimate, by more than one standard error.
    """
    cells = _grouped(rows, ("dataset", "epsilon"))
    ratios = {_name(cell): _rmse_ratio(group) for cell, group in cells.items()}
    return {
        "cells": len(cells) * 2 * len(rows[0]["tops"]),
        "behind": [line for cell, group in cells.items() for line in _behind(_name(cell), group)],
        "rmse_ratios": ratios,
        "median_rmse_ratio": median(ratios.values()),
        "supports_compared": sum(len(_grouped(both, ("dataset", "epsilon"))) for both in pairs.values())
        * len(rows[0]["tops"]),
        "supports_worse": [line for name, both in pairs.items() for line in _worse_supports(name, both)],
    }


def _name(cell: tuple[Any, ...]) -> str:
    return f"{cell[0]} ε={cell[1]:.3g}"


def _scores(rows: Sequence[Row], figure: str) -> dict[str, tuple[float, float]]:
    """Return mean and standard error of a figure for every method that has it."""
    found = {name: spread([row.get(figure) for row in group]) for (name,), group in _grouped(rows, ("method",)).items()}
    return {name: score for name, score in found.items() if score is not None}


def _behind(cell: str, rows: Sequence[Row]) -> list[str]:
    """Say where a peer is better by more than one standard error of the difference."""
    lines = []
    for top in rows[0]["tops"]:
        for figure in (f"precision@{top}", f"ncr@{top}"):
            scores = _scores(rows, figure)
            best = max(scores, key=lambda name: scores[name][0])
            mine, other = scores[OURS], scores[best]
            if other[0] - mine[0] > math.hypot(mine[1], other[1]):
                lines.append(f"{figure} {cell}: {mine[0]:.3f} ± {mine[1]:.3f}, {best} {other[0]:.3f} ± {other[1]:.3f}")
    return lines


def _rmse_ratio(rows: Sequence[Row]) -> float:
    tops = rows[0]["tops"]
    scores = _scores(rows, f"rmse@{64 if 64 in tops else tops[0]}")
    return min(score[0] for name, score in scores.items() if name.startswith("SVSM")) / scores[OURS][0]


def _worse_supports(rival: str, rows: Sequence[Row]) -> list[str]:
    """Say where a rival's supports are better on what both estimate by more than one standard error."""
    lines = []
    for cell, group in _grouped(rows, ("dataset", "epsilon")).items():
        for top in group[0]["tops"]:
            scores = _scores(group, f"rmse_common@{top}")
            if OURS in scores and rival in scores:
                mine, other = scores[OURS], scores[rival]
                if mine[0] - other[0] > math.hypot(mine[1], other[1]):
                    lines.append(
                        f"@{top} {_name(cell)}: {mine[0]:.2g} ± {mine[1]:.1g}, {rival} {other[0]:.2g} ± {other[1]:.1g}"
                    )
    return lines


def markdown(result: dict[str, Any]) -> str:
    """Return the verdict and the tables."""
    found = result["verdict"]
    lines = [
        f"RMSE over the true top 64, best setting of SVSM over {OURS}: median {found['median_rmse_ratio']:.2f}, least "
        f"{min(found['rmse_ratios'].values()):.2f}, largest {max(found['rmse_ratios'].values()):.2f}.",
        "",
        "Cells (data, ε, number wanted, precision or NCR) in which a peer is better by more than one standard error: "
        f"{len(found['behind'])} of {found['cells']}",
        "",
        *(f"- {line}" for line in found["behind"]),
        "",
        "Cells (data, ε, number wanted, setting of SVSM) in which SVSM has better supports on what both estimate, by "
        f"more than one standard error: {len(found['supports_worse'])} of {found['supports_compared']}",
        "",
        *(f"- {line}" for line in found["supports_worse"]),
        "",
    ]
    return "\n".join([*lines, consistency.markdown(result["consistency"]), str(result["tables"])])
