"""Figures of guided perturbation as CSV and pictures, means over seeds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bench.figures import guided, run, svg
from bench.tables import table

Row = dict[str, Any]
BLUE, GREEN, RED, GREY = "#00558c", "#007a5a", "#c24e00", "#a3a3a3"
BATCHES = {
    "10": svg.Style(BLUE, 1.8, "dot"),
    "20": svg.Style(GREEN, 1.8, "square"),
    "100": svg.Style(RED, 1.8, "triangle"),
}
ORIGINAL = {"original": svg.Style(GREY, 4.5, "circle")}
METHODS = ORIGINAL | {"guided": svg.Style(BLUE, 1.8, "dot"), "by-class": svg.Style(GREEN, 1.8, "square")}
EQUAL = {
    "raw": svg.Style(GREY, 4.5, "circle"),
    "select-a-size": svg.Style(GREEN, 1.8, "square"),
    "guided, bits": svg.Style(BLUE, 1.8, "dot"),
    "guided, tuple": svg.Style(RED, 1.8, "triangle"),
}
FUNCTIONS = (1, 2, 3, 4, 5)
COMPARED = (1, 2, 3)
LEVELS = (2, 8, 32, 41)
GUIDED = ("accuracy_mean", "estimate_mean", "disclosure_mean")


def means(rows: Iterable[Row], keys: Sequence[str], values: Sequence[str]) -> list[Row]:
    """Return means of values over rows that agree in these keys, with their standard errors and how many there are."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    found = []
    for group, same in groups.items():
        made: Row = dict(zip(keys, group, strict=True))
        for name in values:
            each = [row[name] for row in same]
            made[name] = fmean(each)
            made[f"{name}_std_error"] = stdev(each) / len(each) ** 0.5 if len(each) > 1 else None
        found.append(made | {"seeds": len(same)})
    return found


def compute(folder: Path, data: Path, *, seeds: int, quick: bool) -> dict[str, Any]:
    """Compute the figures, write them to a folder unless quick; those of votes if their file is there."""
    folder.mkdir(parents=True, exist_ok=True)
    records, fewer = (5_000, 5_000) if quick else (100_000, 20_000)
    functions, compared = (FUNCTIONS[:1], COMPARED[:1]) if quick else (FUNCTIONS, COMPARED)
    third = [row for seed in range(seeds) for row in guided.figure_3(seed, records, functions)]
    equal = [row for seed in range(seeds) for row in guided.equal_promise(seed, fewer, compared, LEVELS)]
    found: dict[str, Any] = {"set": "guided", "functions": summed_3(third), "promise": summed_equal(equal)}
    hidden = list(guided.hidden(2 if quick else 10))
    found["hidden"] = means(hidden, ("classes", "telling", "level"), ("original", *GUIDED))
    if (data / guided.VOTES_FILE).is_file():
        repeats = 2 if quick else 20
        found["levels"] = list(guided.figure_4(data, repeats))
        found["caution"] = means(guided.caution(data, repeats), ("level",), ("answer", "accuracy"))
    if not quick:
        write(found, folder)
    return found


def summed_3(rows: Iterable[Row]) -> list[Row]:
    """Return figure 3's means."""
    return means(rows, ("function", "method", "records"), ("accuracy", "disclosure"))


def summed_equal(rows: Iterable[Row]) -> list[Row]:
    """Return means at equal γ, of guidance at each level."""
    return means(rows, ("function", "gamma", "method", "level", "records"), ("accuracy",))


def write(found: Mapping[str, Any], folder: Path) -> None:
    """Write CSV files and pictures."""
    pictures = {"functions": picture_3, "promise": picture_equal, "levels": picture_4}
    for name in found.keys() - {"set"}:
        (folder / f"{name}.csv").write_text(run.as_csv(found[name]), encoding="utf-8", newline="\n")
        if name in pictures:
            picture = pictures[name](found[name])
            (folder / f"{name}.svg").write_text(picture, encoding="utf-8", newline="\n")


def picture_3(rows: Sequence[Row]) -> str:
    """Return figure 3."""
    functions = svg.Axis("function", 1, 5, {place: f"F{place}" for place in FUNCTIONS}, False)
    lines = {
        name: [(row["function"], 100 * row["accuracy"]) for row in rows if row["method"] == name] for name in METHODS
    }
    title = "Accuracy of trees at an expected disclosure of 25%, 100,000 to learn from"
    return svg.plot(title, functions, _percent(50), {"25% disclosed": lines}, METHODS)


def picture_4(rows: Sequence[Row]) -> str:
    """Return figure 4: accuracy against disclosure, a line a batch."""
    across = svg.Axis("disclosure, %", 0, 100, {value: str(value) for value in range(0, 101, 20)}, False)
    original = 100 * fmean(row["original"] for row in rows)
    lines = {"original": [(0.0, original), (100.0, original)]} | {
        batch: sorted(
            (100 * row["disclosure_mean"], 100 * row["accuracy_mean"]) for row in rows if str(row["batch"]) == batch
        )
        for batch in BATCHES
    }
    title = "Naive Bayes on released votes, nine levels, from nobody"
    return svg.plot(title, across, _percent(50), {"guidance after so many people": lines}, ORIGINAL | BATCHES)


def picture_equal(rows: Sequence[Row]) -> str:
    """Return accuracy at equal γ, of guidance at its best level."""
    gammas = sorted({row["gamma"] for row in rows} - {0})
    across = svg.Axis("γ", gammas[0], gammas[-1], {gamma: f"{gamma:,}" for gamma in gammas})
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for function in sorted({row["function"] for row in rows}):
        mine = [row for row in rows if row["function"] == function]
        raw = next(100 * row["accuracy"] for row in mine if row["method"] == "raw")
        panels[f"function {function}"] = {"raw": [(gamma, raw) for gamma in gammas]} | {
            method: [(gamma, 100 * best(mine, gamma, method)) for gamma in gammas] for method in list(EQUAL)[1:]
        }
    return svg.plot("Naive Bayes under an equal promise", across, _percent(40), panels, EQUAL)


def best(rows: Iterable[Row], gamma: int, method: str) -> float:
    """Return the best accuracy of a method over its levels, which favours guidance."""
    return max(row["accuracy"] for row in rows if (row["gamma"], row["method"]) == (gamma, method))


def _percent(low: int) -> svg.Axis:
    return svg.Axis("accuracy, %", low, 100, {value: str(value) for value in range(low, 101, 10)}, False)


def markdown(found: Mapping[str, Any]) -> str:
    """Return the figures as tables."""
    parts = ["# Guided perturbation\n"]
    for name in ("functions", "promise", "hidden", "levels", "caution"):
        if name in found:
            columns = list(found[name][0])
            parts += [f"## {name}\n", table(dict(zip(columns, columns, strict=True)), found[name])]
    return "\n".join(parts)
