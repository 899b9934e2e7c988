"""Figures of trees as CSV and pictures: means over seeds, a panel for each noise and privacy, function or table."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bench.figures import run, svg
from bench.figures.public_trees import promise_rows
from bench.figures.reconstruction import NOISE_NAMES
from bench.figures.trees import FIGURE_5, FIGURE_6, FUNCTIONS_6, METHODS, NOISES, Row, generated_rows
from bench.tables import table

STYLES = {
    "original": svg.Style("#a3a3a3", 4.5, "circle"),
    "local": svg.Style("#007a5a", 1.8, "square"),
    "joint": svg.Style("#b8860b", 1.8, "square"),
    "by-class": svg.Style("#00558c", 1.8, "dot"),
    "global": svg.Style("#c24e00", 1.8, "triangle"),
    "randomized": svg.Style("#8a2be2", 1.2, "dot"),
}
BOTH = {
    "original": STYLES["original"],
    "by-class, Gaussian": svg.Style("#00558c", 1.8, "dot"),
    "by-class, uniform": svg.Style("#007a5a", 1.8, "square"),
    "randomized, Gaussian": svg.Style("#8a2be2", 1.2, "dot"),
    "randomized, uniform": svg.Style("#c24e00", 1.2, "triangle"),
}
PROTECTED = ("by-class", "by-class, class protected", "randomized")
AGAINST = {
    "scikit-learn, raw records": svg.Style("#a3a3a3", 4.5, "circle"),
    "always the commonest class": svg.Style("#444444", 1.2, "dot"),
}
Panels = dict[str, dict[str, list[tuple[float, float]]]]


def means(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """Return the mean accuracy, and leaves, of rows that agree in these keys, and of how many seeds."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return [
        dict(zip(keys, group, strict=True))
        | {name: fmean(row[name] for row in same) for name in ("accuracy", "leaves") if name in same[0]}
        | {"seeds": len(same), "std_error": _std_error([row["accuracy"] for row in same])}
        for group, same in groups.items()
    ]


def _std_error(each: Sequence[float]) -> float | None:
    return stdev(each) / math.sqrt(len(each)) if len(each) > 1 else None


def write_generated(rows: Sequence[Row], folder: Path) -> None:
    """Write figures 5 and 6 of AS00."""
    every = means(rows, ("function", "noise", "privacy", "method"))
    fifth = [row for row in every if row["privacy"] in (0, *FIGURE_5)]
    sixth = [row for row in every if row["method"] in ("original", "by-class", "randomized")]
    sixth = [row for row in sixth if row["function"] in FUNCTIONS_6]
    found = {(r["function"], r["noise"], r["privacy"], r["method"]): r["accuracy"] for r in every}

    def at(method: str, noise: str, privacy: int) -> tuple[str, int]:
        return ("none", 0) if method == "original" else (noise, privacy)

    functions = svg.Axis("function", 1, 5, {place: f"F{place}" for place in range(1, 6)}, False)
    panels: Panels = {
        f"{NOISE_NAMES[noise]} noise, privacy {privacy}%": {
            method: [(f, found[key]) for f in range(1, 6) if (key := (f, *at(method, noise, privacy), method)) in found]
            for method in METHODS
        }
        for noise in NOISES
        for privacy in FIGURE_5
    }
    title = "Accuracy of trees on perturbed records, 100,000 to learn from (AS00, figure 5)"
    _write(folder, "by-function", fifth, svg.plot(title, functions, _accuracy(30), panels, STYLES))
    levels = svg.Axis("privacy, % of the range", 10, 200, {p: str(p) for p in (10, 50, 100, 150, 200)}, False)
    curves: Panels = {
        f"function {f}": {
            name: [(p, found[(f, "none", 0, "original")] if noise is None else found[f, noise, p, m]) for p in FIGURE_6]
            for name, (m, noise) in {
                "original": ("original", None),
                "by-class, Gaussian": ("by-class", "gaussian"),
                "by-class, uniform": ("by-class", "uniform"),
                "randomized, Gaussian": ("randomized", "gaussian"),
                "randomized, uniform": ("randomized", "uniform"),
            }.items()
        }
        for f in FUNCTIONS_6
    }
    title = "Accuracy of trees against privacy (AS00, figure 6)"
    _write(folder, "by-privacy", sixth, svg.plot(title, levels, _accuracy(30), curves, BOTH))


def write_promise(promise: Sequence[Row], folder: Path) -> None:
    """Write the figure of a public table."""
    ticks = {1: "1", 2: "2", 4: "4", 6: "6", 8: "8"}
    promise = means(promise, ("epsilon", "answered", "method"))
    curves = {method: [(r["epsilon"], r["accuracy"]) for r in promise if r["method"] == method] for method in PROTECTED}
    beside = {name: [(r["epsilon"], r["accuracy"]) for r in promise if r["method"] == name] for name in AGAINST}
    lines: Panels = {
        method: {name: points for name, points in beside.items() if points} | {"tree on reports": curves[method]}
        for method in PROTECTED
    }
    styles = AGAINST | {"tree on reports": STYLES["by-class"]}
    title = "Accuracy on Adult against ε, 14 columns protected"
    picture = svg.plot(title, svg.Axis("ε", 1, 8, ticks, False), _accuracy(60), lines, styles)
    _write(folder, "by-epsilon", promise, picture)


def _accuracy(low: float) -> svg.Axis:
    return svg.Axis("accuracy, %", low, 100, {value: str(value) for value in range(int(low), 101, 10)}, False)


def _write(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], picture: str) -> None:
    (folder / f"{name}.csv").write_text(run.as_csv(rows), encoding="utf-8", newline="\n")
    (folder / f"{name}.svg").write_text(picture, encoding="utf-8", newline="\n")


def compute(folder: Path, data: Path, *, seeds: int, quick: bool) -> dict[str, Any]:
    """Compute all figures of trees, write them to a folder, that of a public table if it is there; return rows."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for seed in range(seeds) for row in generated_rows(seed, quick=quick)]
    found: dict[str, Any] = {"set": "trees", "generated": rows}
    if not quick:
        write_generated(rows, folder)
    if (data / "adult.data").is_file() and not quick:
        found["promise"] = list(promise_rows(data))
        write_promise(found["promise"], folder)
    return found


def markdown(found: Mapping[str, Any]) -> str:
    """Return mean accuracies by noise, privacy and method, a column a function."""
    rows = means(found["generated"], ("function", "noise", "privacy", "method"))
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = (row["noise"], row["privacy"], row["method"])
        line = lines.setdefault(key, {"noise": key[0], "privacy": key[1], "method": key[2]})
        line[f"F{row['function']}"] = row["accuracy"]
    columns = ("noise", "privacy", "method", "F1", "F2", "F3", "F4", "F5")
    return "# Accuracy of trees, %\n\n" + table(dict(zip(columns, columns, strict=True)), lines.values())
