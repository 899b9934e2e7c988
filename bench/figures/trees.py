"""Accuracy of decision trees on perturbed records: figures 5 and 6 of AS00.

    python -m bench trees [--quick] [--seeds 2]

100,000 records of the 1992 generator are for training, 5,000 others, raw, for testing. Every attribute is released with
noise of the same privacy at 95% confidence; the class is not randomized. *original* trees grow on raw records in the
same intervals, *randomized* trees on released values without correction. Growth and pruning are the same for all.

Source: Agrawal, Srikant, Privacy-Preserving Data Mining, SIGMOD 2000, section 5.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assocpriv.client.numeric.table_client import randomize_inputs
from assocpriv.files.report_files import Reports
from assocpriv.numeric import predict
from assocpriv.planning.table_planner import design_gaussian, design_uniform
from assocpriv.plans.numeric.table_plan import Clear, LabelColumn, NumberColumn, TablePlan, default_intervals
from assocpriv.records.table_files import TableOptions, stream_table
from assocpriv.server.numeric.trees import grow_tree
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.synthetic import ATTRIBUTES, CLASSES, LABEL, AgrawalSettings, generate_agrawal
from bench.tables import Row, means

NOISES = {"gaussian": design_gaussian, "uniform": design_uniform}
METHODS = ("original", "local", "by-class", "joint", "global", "randomized")
CONFIDENCE = Fraction(95, 100)
CELLS = 10  # cells per interval of continuous values
FIGURE_5, FIGURE_6 = (25, 50, 100), (10, 25, 50, 100, 150, 200)
FUNCTIONS_6 = (1, 2, 3, 5)  # function 4 behaves as 5 (AS00, section 5.3)


def noisy_plan(records: int, noise: str | None, percent: int = 0) -> TablePlan:
    """Return a plan that adds noise, or none, to every column of the generator and releases the class unchanged."""
    made: list[Any] = []
    for name, known in ATTRIBUTES.items():
        intervals = known.values or default_intervals(records)
        cells = known.values or intervals * CELLS
        mechanism = Clear(cells) if noise is None else NOISES[noise](cells, Fraction(percent, 100), CONFIDENCE)
        made.append(NumberColumn(name, mechanism, False, Fraction(known.low), Fraction(known.high), intervals))
    made.append(LabelColumn(LABEL, Clear(len(CLASSES)), False, CLASSES))
    return TablePlan(tuple(made), 0)


def release(table: pd.DataFrame, plan: TablePlan, seed: int) -> Reports:
    """Return the reports of a table, made by the released client with seeded entropy."""
    inputs = stream_table(table, plan, TableOptions(clip=True))
    return Reports(plan, np.concatenate(list(randomize_inputs(inputs, plan, entropy=SeededEntropy(seed), workers=1))))


def accuracy(reports: Reports, method: str, test: pd.DataFrame) -> tuple[float, int]:
    """Return the accuracy in percent, on raw test records, of a tree grown on reports, and its number of leaves."""
    model = grow_tree(reports, LABEL, "by-class" if method == "original" else method)
    right: NDArray[np.bool_] = predict(test, model) == test[LABEL].to_numpy()
    return 100 * float(right.mean()), model.n_leaves


def generated_rows(seed: int, *, records: int = 100_000, quick: bool = False) -> Iterator[Row]:
    """Yield the accuracy of every function, noise, privacy and method for one seed."""
    for function in (1, 2) if quick else range(1, 6):
        train, test = (
            generate_agrawal(AgrawalSettings(function=function, n_records=n, seed=2 * seed + part))
            for part, n in enumerate((records, 5_000))
        )
        shared = {"function": function, "seed": seed}
        clear = release(train, noisy_plan(records, None), seed)
        found = accuracy(clear, "original", test)
        yield shared | {"noise": "none", "privacy": 0, "method": "original", "accuracy": found[0], "leaves": found[1]}
        for noise in NOISES:
            for privacy in (100,) if quick else FIGURE_6:
                if privacy not in FIGURE_5 and function not in FUNCTIONS_6:
                    continue
                reports = release(train, noisy_plan(records, noise, privacy), 1000 + seed)
                for method in METHODS[1:] if privacy in FIGURE_5 else ("by-class", "randomized"):
                    found = accuracy(reports, method, test)
                    key = {"noise": noise, "privacy": privacy, "method": method}
                    yield shared | key | {"accuracy": found[0], "leaves": found[1]}


def run(seeds: int, *, quick: bool) -> dict[str, Any]:
    """Return mean accuracies and leaves by function, noise, privacy and method."""
    records = 5_000 if quick else 100_000
    rows = [row for seed in range(seeds) for row in generated_rows(seed, records=records, quick=quick)]
    return {"tables": {"accuracy": means(rows, ("function", "noise", "privacy", "method"), ("accuracy", "leaves"))}}
