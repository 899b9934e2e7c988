"""What the accuracy bench says of our own goals, of the sets of one half."""

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev
from typing import Any

from bench.accuracy.harness import Row, grouped, with_common
from bench.accuracy.methods import OURS
from bench.tables import table

_CELL = ("dataset", "epsilon", "top")
_WANTED = 64  # itemsets that RMSE is compared over, where they were asked for
_LEAST_COVERAGE = 0.9


def spread(values: Sequence[float | None]) -> tuple[float, float] | None:
    """Return mean and standard error of the values that are there; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    error = stdev(known) / math.sqrt(len(known)) if len(known) > 1 else 0.0
    return float(f"{fmean(known):.6g}"), float(f"{error:.3g}")


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """Say in which cells the goals are missed; ours and any peers must be among the rows.

    A cell is a data set, an ε and a number of itemsets wanted.

    Returns:
        cells: of precision and of NCR; behind: those in which a peer is better by more than one standard error of the
        difference, the farthest first; share: of the others; most_behind: the largest difference of any cell.
        rmse_ratios: RMSE over the true top of the best SVSM over ours, by cell, of the top 64; median_rmse_ratio.
        coverage: by cell, of 95% intervals of everything ours publishes; least_coverage; low_coverage: cells below 90%;
        worst_error: the largest |error| of everything published, in standard errors.
        supports_worse: cells in which a setting of SVSM has better supports on what both estimate, by more than one
        standard error, of supports_compared. overview: a row a data set of precision, ours / the best peer's, by ε.
    """
    cells = grouped(rows, _CELL)
    gaps = [gap for cell, group in cells.items() for gap in _gaps(cell, group)]
    behind = sorted((gap for gap in gaps if gap["by"] > gap["error"]), key=lambda gap: -gap["by"])
    tops = {row["top"] for row in rows}
    wanted = _WANTED if _WANTED in tops else min(tops)
    ratios = {_name(cell): _rmse_ratio(group) for cell, group in cells.items() if cell[-1] == wanted}
    mine = grouped((row for row in rows if row["method"] == OURS), _CELL)
    coverages = {_name(cell): fmean(row["coverage_all"] for row in group) for cell, group in mine.items()}
    rivals = sorted({row["method"] for row in rows if row["method"].startswith("SVSM")})
    compared = {name: with_common([row for row in rows if row["method"] in (OURS, name)]) for name in rivals}
    return {
        "cells": len(gaps),
        "share": 1 - len(behind) / len(gaps),
        "most_behind": max(gap["by"] for gap in gaps),
        "behind": [gap["line"] for gap in behind],
        "rmse_ratios": ratios,
        "median_rmse_ratio": median(ratios.values()),
        "coverage": coverages,
        "least_coverage": min(coverages.values()),
        "low_coverage": [f"{cell}: {share:.3f}" for cell, share in coverages.items() if share < _LEAST_COVERAGE],
        "worst_error": max(row["worst_error_all"] for group in mine.values() for row in group),
        "supports_compared": len(cells) * len(rivals),
        "supports_worse": [line for name, both in compared.items() for line in _worse_supports(name, both)],
        "overview": _overview([row for row in rows if row["top"] == wanted]),
    }


def _overview(rows: Sequence[Row]) -> list[Row]:
    lines = []
    for (dataset, n), of_set in grouped(rows, ("dataset", "n")).items():
        line: Row = {"data": dataset, "baskets": n}
        for (epsilon,), group in grouped(of_set, ("epsilon",)).items():
            scores = _scores(group, "precision")
            mine = scores.pop(OURS)[0]
            line[f"ε = {epsilon:.3g}"] = f"{mine:.2f} / {max(score[0] for score in scores.values()):.2f}"
        lines.append(line)
    return lines


def _name(cell: tuple[Any, ...]) -> str:
    return f"{cell[0]} ε={cell[1]:.3g} top {cell[2]}"


def _scores(rows: Sequence[Row], figure: str) -> dict[str, tuple[float, float]]:
    """Return mean and standard error of a figure for every method that has it."""
    found = {name: spread([row.get(figure) for row in group]) for (name,), group in grouped(rows, ("method",)).items()}
    return {name: score for name, score in found.items() if score is not None}


def _gaps(cell: tuple[Any, ...], rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return by how much ours is behind the best peer in precision and NCR; below 0 where it is ahead."""
    gaps = []
    for figure in ("precision", "ncr"):
        scores = _scores(rows, figure)
        mine = scores.pop(OURS)
        best = max(scores, key=lambda name: scores[name][0])
        other = scores[best]
        line = f"{figure} {_name(cell)}: {mine[0]:.3f} ± {mine[1]:.3f}, {best} {other[0]:.3f} ± {other[1]:.3f}"
        gaps.append({"by": other[0] - mine[0], "error": math.hypot(mine[1], other[1]), "line": line})
    return gaps


def _rmse_ratio(rows: Sequence[Row]) -> float:
    scores = _scores(rows, "rmse")
    return (
        min((score[0] for name, score in scores.items() if name.startswith("SVSM")), default=math.nan) / scores[OURS][0]
    )


def _worse_supports(rival: str, rows: Sequence[Row]) -> list[str]:
    """Say where a rival's supports are better on what both estimate by more than one standard error."""
    lines = []
    for cell, group in grouped(rows, _CELL).items():
        scores = _scores(group, "rmse_common")
        if OURS in scores and rival in scores:
            mine, other = scores[OURS], scores[rival]
            if mine[0] - other[0] > math.hypot(mine[1], other[1]):
                lines.append(f"{_name(cell)}: {mine[0]:.2g} ± {mine[1]:.1g}, {rival} {other[0]:.2g} ± {other[1]:.1g}")
    return lines


def markdown(found: dict[str, Any]) -> str:
    """Return a verdict as text."""
    ratios, tried, behind = found["rmse_ratios"].values(), found["cells"], found["behind"]
    low, worse = found["low_coverage"], found["supports_worse"]
    lines = [
        f"Best, or within one standard error of the best, in {tried - len(behind)} of {tried} cells (data, ε, number "
        f"wanted, precision or NCR), {found['share']:.1%}; most behind {found['most_behind']:.3f}.",
        *_listed(behind),
        f"RMSE over the true top, the best SVSM's over {OURS}: median {found['median_rmse_ratio']:.2f}, least "
        f"{min(ratios):.2f}, largest {max(ratios):.2f}.",
        "",
        f"Coverage of 95% intervals of everything that {OURS} publishes: at least {found['least_coverage']:.3f} in "
        f"every cell; the largest error {found['worst_error']:.1f} standard errors. Cells below {_LEAST_COVERAGE:.0%}: "
        f"{len(low)} of {len(found['coverage'])}.",
        *_listed(low),
        "Cells (data, ε, number wanted, setting of SVSM) in which SVSM has better supports on what both estimate, by "
        f"more than one standard error: {len(worse)} of {found['supports_compared']}.",
        *_listed(worse),
        "Precision, ours / the best peer's:",
        "",
        table({name: name for name in found["overview"][0]}, found["overview"]),
    ]
    return "\n".join(lines)


def _listed(lines: Sequence[str]) -> list[str]:
    return ["", *(f"- {line}" for line in lines), ""] if lines else [""]
