"""Supports of whole baskets from one collection: public random blocks beside sampling.

    python -m bench accuracy blocks [--people 1000000] [--seeds 3] [--save]

The true top 64 itemsets of up to three items are asked for, and nothing is mined. Four ways to their raw supports:

- *blocks*: the plan that the planner makes, which has blocks where they have the smaller expected error; a report is
  about a block's items;
- *blocks, exact loss*: the same reports, each itemset divided by the share of its own support that is left where more
  than M items are held, which nobody knows who has reports alone: what is wrong beyond that is not sampling's;
- *sampling, model*: no blocks, M as proposed for the same baskets, and what sampling to M items loses undone by the
  model of sizes that rounds have, told the true sizes;
- *sampling, exact loss*: the same reports, divided by the share left as above.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import KnownSizes, make_plan, plan_for_sizes
from assocpriv.planning.request import PlanWishes
from assocpriv.planning.transaction_size import propose_transaction_size
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets, count_sizes, top_holders
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.undo_sampling import LEFT_BIAS, Sampling, SizeShares, undo_sampling
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.rounds import true_surviving_shares
from bench.accuracy.data import MILLION, MissingDataError, load, sized
from bench.accuracy.harness import Row, grouped
from bench.accuracy.metrics import NORMAL_95
from bench.accuracy.oracles import Floats
from bench.accuracy.ours import baskets_of
from bench.accuracy.transactions import Itemset, Transactions
from bench.accuracy.truth import true_top
from bench.tables import table

SETS = ("mushroom", "online-retail", "BMS-WebView-2", "retail")
PROMISE = Breach("5%", "50%")
TOP, LARGEST = 64, 3


@dataclass(frozen=True, slots=True)
class Asked:
    """Estimates of some itemsets of k items, float64 (itemsets,), and their standard errors."""

    supports: Floats
    errors: Floats


def run(seeds: int = 3, people: int = MILLION, sets: Sequence[str] = SETS) -> dict[str, Any]:
    """Return a row for each data set, at its own size and resampled, way and size of itemsets (None for all sizes)."""
    rows: list[Row] = []
    for name in sets:
        for size in (name, sized(name, people)):
            try:
                rows += measure(load(size), range(seeds))
            except MissingDataError:
                continue
    return {"rows": rows}


def measure(transactions: Transactions, seeds: Sequence[int]) -> list[Row]:
    """Return the rows of one data set."""
    baskets = baskets_of(transactions)
    truth = true_top(transactions, TOP, LARGEST)
    plans = {"blocks": blocks_plan(baskets), "sampling": sampling_plan(baskets)}
    runs: list[Row] = []
    for seed in seeds:
        for way, plan in plans.items():
            collection = collected(baskets, plan, seed)
            for k, itemsets in _by_size(truth):
                asked = ask(collection, itemsets)
                for name, estimates in _readings(way, asked, transactions, plan, itemsets):
                    wrong = estimates.supports - np.array([truth[tuple(row)] for row in itemsets.tolist()])
                    runs.append({"way": name, "k": k, "seed": seed, "wrong": wrong, "errors": estimates.errors})
    about = {"dataset": transactions.name, "n": len(transactions)}
    every = grouped([*runs, *(run | {"k": "all"} for run in runs)], ("way", "k"))
    return [
        about | {"way": way, "plan": _described(plans[way.partition(",")[0]]), "k": k} | summed(every[way, k])
        for way, k in sorted(every, key=str)
    ]


def blocks_plan(baskets: Baskets) -> Plan:
    """Return the plan of ``plan --blocks auto`` for these baskets."""
    known = KnownSizes.of_sample(count_sizes(baskets), top_holders(baskets, LARGEST), len(baskets.catalogue))
    return plan_for_sizes(baskets.catalogue, PROMISE, known, itemset_size=LARGEST, reports=len(baskets))[0]


def sampling_plan(baskets: Baskets) -> Plan:
    """Return the plan without blocks, M as ``plan --sample`` proposes it for these baskets."""
    wishes = PlanWishes(promise=PROMISE, itemset_size=LARGEST, reports=len(baskets))
    rows = propose_transaction_size(count_sizes(baskets), wishes, holders=top_holders(baskets, LARGEST))
    size = next(row.transaction_size for row in rows if row.proposed)
    return make_plan(baskets.catalogue, size, PROMISE, itemset_size=LARGEST, reports=len(baskets))


def collected(baskets: Baskets, plan: Plan, seed: int) -> Reports:
    """Return everybody's report, by the shipping client."""
    entropy = SeededEntropy(seed)
    return Reports(plan, np.concatenate([chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)]))


def ask(reports: Reports, itemsets: NDArray[np.int64]) -> Asked:
    """Return what reports say of some itemsets, int64 (itemsets, k), with errors for the people at hand."""
    estimates = count_subsets(LocalBackend.of(reports).open(), itemsets).estimates()
    return Asked(estimates.support.astype(np.float64), estimates.std_error(population=False))


def _readings(
    way: str, asked: Asked, transactions: Transactions, plan: Plan, itemsets: NDArray[np.int64]
) -> Iterator[tuple[str, Asked]]:
    """Yield what is made of reports: with blocks themselves, without by the model of sizes, and by the exact loss."""
    left = true_surviving_shares(baskets_of(transactions), plan, [tuple(row) for row in itemsets.tolist()])
    exact = Asked(asked.supports / left, asked.errors / left)
    if way == "blocks":
        yield way, asked
    else:
        m, k = plan.transaction_size, itemsets.shape[1]
        counts = np.bincount(transactions.sizes)
        sizes = np.flatnonzero(counts)
        raw, factors = undo_sampling(asked.supports, SizeShares(sizes, counts[sizes] / counts.sum()), Sampling(m), k)
        yield f"{way}, model", Asked(raw, np.hypot(asked.errors * factors, LEFT_BIAS * (raw - asked.supports)))
    yield f"{way}, exact loss", exact


def _by_size(truth: dict[Itemset, float]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the itemsets of each size that occurs, int64 (itemsets, k)."""
    for k in sorted({len(itemset) for itemset in truth}):
        yield k, np.array([itemset for itemset in truth if len(itemset) == k], dtype=np.int64)


def summed(runs: Sequence[Row]) -> Row:
    """Return RMSE, the mean error in standard errors with its own error over seeds, coverage and the largest error."""
    ratios = {seed: np.concatenate([run["wrong"] / run["errors"] for run in of_seed])
              for (seed,), of_seed in grouped(runs, ("seed",)).items()}  # fmt: skip
    wrong, every = np.concatenate([run["wrong"] for run in runs]), np.concatenate(list(ratios.values()))
    means = [float(each.mean()) for each in ratios.values()]
    return {
        "itemsets": len(wrong) // len(ratios),
        "rmse": float(np.sqrt(np.mean(wrong**2))),
        "mean_error": fmean(means),
        "mean_error_error": stdev(means) / math.sqrt(len(means)) if len(means) > 1 else None,
        "coverage": float(np.mean(np.abs(every) <= NORMAL_95)),
        "worst_error": float(np.abs(every).max()),
    }


def _described(plan: Plan) -> str:
    blocks = plan.view.blocks
    cut = "no blocks" if blocks is None else f"{blocks.pieces} pieces, {blocks.partitions} partitions"
    return f"M = {plan.transaction_size}, {cut}"


def markdown(result: dict[str, Any]) -> str:
    """Return the table."""
    columns = {
        "data": "dataset", "baskets": "n", "way": "way", "plan": "plan", "items": "k", "itemsets": "itemsets",
        "RMSE": "rmse", "mean error": "mean", "coverage": "coverage", "worst": "worst_error",
    }  # fmt: skip
    rows = [row | {"mean": _mean(row)} for row in result["rows"]]
    said = (
        f"Raw supports of the true top {TOP} itemsets of up to {LARGEST} items from one collection, promise 5% → 50%; "
        "mean and worst errors in standard errors:"
    )
    return f"{said}\n\n{table(columns, rows)}\n"


def _mean(row: Row) -> str:
    error = row["mean_error_error"]
    return f"{row['mean_error']:.2f}" + ("" if error is None else f" ± {error:.2f}")
