"""What ``mine --consistent`` gains: the error of mined supports before and after they are made consistent."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from assocpriv.lab.simulate import simulate
from assocpriv.planning.planner import make_plan
from assocpriv.server.counting.backend import LocalBackend
from assocpriv.server.itemsets.frames import CONSISTENT
from assocpriv.server.itemsets.mining import mine
from assocpriv.server.itemsets.requests import MiningRequest
from bench.accuracy.data import MissingDataError, load
from bench.accuracy.ours import baskets_of, promise_of
from bench.tables import table

DATASETS = ("fixed-5", "mixed-3", "T5N1D1800", "retail-1e6", "msweb-1e6")
MIN_SUPPORT = "2%"


def run(datasets: Sequence[str], epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """Return, for each data set and ε, RMSE over all itemsets of one mined table, as estimated and made consistent.

    One collection, M = 5 and K = 3; the truth is that within the sampled items, which is what is estimated.
    """
    rows = []
    for name in datasets:
        try:
            baskets = baskets_of(load(name))
        except MissingDataError:
            continue
        for epsilon in epsilons:
            plan = make_plan(baskets.catalogue, 5, promise_of(epsilon), reports=len(baskets), kind="independent")
            done = simulate(baskets, plan, MIN_SUPPORT, seed=1)
            if not len(done.itemsets):
                continue
            frame = mine(LocalBackend.of(done.reports), MiningRequest(MIN_SUPPORT, consistent=True))
            truth = done.itemsets["true_support"].to_numpy()
            raw, consistent = (math.sqrt(np.mean((frame[column] - truth) ** 2)) for column in ("support", CONSISTENT))
            rows.append(
                {"dataset": name, "epsilon": round(epsilon, 3), "itemsets": len(frame), "raw": raw,
                 "consistent": consistent, "ratio": consistent / raw}
            )  # fmt: skip
    return rows


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table."""
    columns = {"data": "dataset", "ε": "epsilon", "itemsets": "itemsets", "RMSE": "raw", "consistent": "consistent",
               "ratio": "ratio"}  # fmt: skip
    return f"RMSE of supports mined at {MIN_SUPPORT}, as estimated and made consistent:\n\n{table(columns, rows)}\n"
