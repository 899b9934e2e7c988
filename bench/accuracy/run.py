"""The accuracy bench: every method on every data set with every ε, and the verdict on our own goals.

    python -m bench accuracy [--half held-out] [--tops 32,64,128] [--people 1000000] [--methods SVSM,OLH] [--seeds 3]

Runs are appended to a file beside the results (not kept in the repository), so an interrupted bench goes on where it
was. With --save the tables go to bench/results/accuracy.md and the figures behind them to accuracy.json.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.accuracy import verdict as verdicts
from bench.accuracy.data import MILLION, UNSEEN, names, sized
from bench.accuracy.harness import Method, Row, grouped, run_cells, summary
from bench.accuracy.methods import OURS, ours, peers
from bench.accuracy.tuning import EPSILONS

TOPS = (32, 64, 128)
_FIGURES = (
    "precision", "ncr", "rmse", "rmse_common", "common", "coverage", "coverage_all", "worst_error_all", "published",
    "fdr",
)  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What is run: halves of the sets, numbers of itemsets wanted, people of resampled sets, methods (all if empty)."""

    halves: tuple[str, ...] = ("held-out",)
    tops: tuple[int, ...] = TOPS
    people: int = MILLION
    methods: tuple[str, ...] = ()
    seeds: int = 3
    quick: bool = False
    workers: int = 2

    def chosen(self, methods: Sequence[Method]) -> list[Method]:
        """Return the methods asked for, of some."""
        return [method for method in methods if not self.methods or method.name in self.methods]


def run(store: Path, choice: Choice) -> dict[str, Any]:
    """Run what is not in the store yet and return the figures of all cells, and a verdict, for each half."""
    return {"halves": {half: _run_half(half, store, choice) for half in choice.halves}}


def _run_half(half: str, store: Path, choice: Choice) -> dict[str, Any]:
    datasets, epsilons = names(half, choice.people), tuple(EPSILONS)
    if choice.quick:
        datasets, epsilons = names(half, 100_000, own_sizes=False)[-2:], epsilons[2:3]
    mine, paper, twice = ours()
    compared = choice.chosen([mine, twice, *peers()])
    cells = partial(run_cells, datasets=datasets, epsilons=epsilons, store=store, workers=choice.workers)
    seeds = range(1 if choice.quick else choice.seeds)
    rows = cells(compared, tops=choice.tops, seeds=seeds) if compared else []
    # the paper's design once: what it is there to show is far larger than a run's deviation
    once = choice.chosen([paper])
    every = [*rows, *(cells(once, tops=choice.tops[:1], seeds=range(1)) if once else [])]
    judged = OURS in {row["method"] for row in rows} and len({row["method"] for row in rows}) > 1
    generated = {sized(base, 100_000 if choice.quick else choice.people) for base in UNSEEN}
    unseen = [row for row in rows if row["dataset"] in generated]
    return {
        "sets": list(datasets),
        "cells": _cells(every),
        "verdict": verdicts.verdict(rows) if judged else None,
        "unseen": verdicts.verdict(unseen) if judged and unseen else None,
        "tables": summary(every),
    }


def _cells(rows: Sequence[Row]) -> list[Row]:
    """Return mean and standard error of every figure of every cell and method."""
    cells = []
    for (dataset, epsilon, top, method), group in grouped(rows, ("dataset", "epsilon", "top", "method")).items():
        cell: Row = {"dataset": dataset, "epsilon": epsilon, "top": top, "method": method, "n": group[0]["n"]}
        cell |= {"runs": len(group)} | {name: verdicts.spread([row.get(name) for row in group]) for name in _FIGURES}
        cells.append(cell)
    return cells


def markdown(result: dict[str, Any]) -> str:
    """Return verdicts and tables."""
    parts = []
    for half, found in result["halves"].items():
        seen = "constants may be chosen on it" if half == "tuning" else "settings of peers were not chosen on it"
        parts.append(f"## The {half} half; {seen}: {', '.join(found['sets'])}\n")
        if found["verdict"]:
            parts.append(verdicts.markdown(found["verdict"]))
        if found["unseen"]:
            parts.append(
                f"### Of these the generated ones, which nobody looked at\n\n{verdicts.markdown(found['unseen'])}"
            )
        parts.append(str(found["tables"]))
    return "\n".join(parts)


def method_names() -> list[str]:
    """Return the names of all methods."""
    return [method.name for method in [*ours(), *peers()]]


def halves_of(name: str) -> tuple[str, ...]:
    """Return the halves that a name on the command line means: one of them, or both."""
    return ("tuning", "held-out") if name == "both" else (name,)
