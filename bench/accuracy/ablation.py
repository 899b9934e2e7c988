"""What each part of the schedule of rounds contributes: none of them, each alone, all, and all with shrunk estimates.

    python -m bench accuracy ablation [--half tuning] [--people 300000] [--seeds 1]

The parts: shortlists of what can still matter (in place of as many items as a shortlist may have), public random blocks
where they are expected to err less, a last round that explores (in place of the itemsets that are expected to be most
frequent), and estimates as measured (in place of shrunk ones, which also rank).
"""

from dataclasses import replace
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from assocpriv.planning.rounds import EntryRule, PeopleSplit
from assocpriv.simulation.rounds import run_rounds
from bench.accuracy.data import names
from bench.accuracy.harness import Method, Row, grouped, run_cells
from bench.accuracy.metrics import Estimates
from bench.accuracy.ours import baskets_of, promise_of, rounds
from bench.accuracy.run import Choice
from bench.accuracy.transactions import Transactions
from bench.accuracy.tuning import EPSILONS
from bench.tables import table

TOP = 64
NONE = PeopleSplit(rule=EntryRule(reach=6.0, explore=False), blocks=False)
ALL = PeopleSplit(rule=EntryRule(explore=True), blocks=True)


def shrunk(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PeopleSplit
) -> Estimates:
    """Run the schedule and publish what is expected, with the spread of what is expected as error."""
    seed = int(rng.integers(1 << 62))
    known = run_rounds(baskets_of(transactions), promise_of(epsilon), top, settings, seed=seed)[-1].knowledge
    return Estimates(
        {itemset: estimate.expected for itemset, estimate in known.items()},
        {itemset: sqrt(estimate.spread) for itemset, estimate in known.items()},
    )


def methods() -> list[Method]:
    """Return the schedules that are compared."""
    schedules = {
        "none": NONE,
        "shortlists alone": replace(NONE, rule=replace(NONE.rule, reach=ALL.rule.reach)),
        "blocks alone": replace(NONE, blocks=True),
        "exploring alone": replace(NONE, rule=replace(NONE.rule, explore=True)),
        "all": ALL,
    }
    # the same people are asked in the same order: runs differ by far more than schedules do
    compared = [Method(name, rounds, split, stream="rounds") for name, split in schedules.items()]
    return [*compared, Method("all, shrunk estimates", shrunk, ALL, stream="rounds")]


def run(store: Path, choice: Choice) -> dict[str, Any]:
    """Return the means of every schedule over the data sets of a half and all ε, and by data set."""
    halves = {}
    for half in choice.halves:
        sets = names(half, choice.people)[:2] if choice.quick else names(half, choice.people)
        epsilons = (2.0,) if choice.quick else EPSILONS
        rows = run_cells(methods(), sets, epsilons, range(choice.seeds), (TOP,), store=store, workers=choice.workers)
        halves[half] = {"overall": _means(rows), "by_data": _by_data(rows)}
    return {"halves": halves}


def _means(rows: list[Row]) -> list[Row]:
    lines = []
    for (method,), group in grouped(rows, ("method",)).items():
        coverages = [fmean(row["coverage_all"] for row in cell)
                     for cell in grouped(group, ("dataset", "epsilon")).values()]  # fmt: skip
        lines.append({
            "method": method, "precision": fmean(row["precision"] for row in group),
            "ncr": fmean(row["ncr"] for row in group), "rmse": exp(fmean(log(row["rmse"]) for row in group)),
            "coverage": fmean(coverages), "least": min(coverages),
            "worst": max(row["worst_error_all"] for row in group), "seconds": fmean(row["seconds"] for row in group),
        })  # fmt: skip
    return lines


def _by_data(rows: list[Row]) -> list[Row]:
    """Return the mean precision of every schedule by data set."""
    return [
        {"data": dataset}
        | {name: fmean(row["precision"] for row in group) for (name,), group in grouped(of_set, ("method",)).items()}
        for (dataset,), of_set in grouped(rows, ("dataset",)).items()
    ]


def markdown(result: dict[str, Any]) -> str:
    """Return the tables."""
    about = {
        "schedule": "method", "precision": "precision", "NCR": "ncr", "RMSE (geometric)": "rmse",
        "coverage": "coverage", "least coverage": "least", "worst error": "worst", "s": "seconds",
    }  # fmt: skip
    parts = []
    for half, found in result["halves"].items():
        columns = {name: name for name in found["by_data"][0]}
        parts.append(
            f"Means over the sets of the {half} half and all ε, top {TOP}:\n\n{table(about, found['overall'])}"
        )
        parts.append(f"Precision by data set:\n\n{table(columns, found['by_data'])}")
    return "\n".join(parts)
