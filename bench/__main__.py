"""Measure: ``python -m bench [core|kernels] [--reports N] [--json] [--save]``.

Machines are shared and noisy, so every figure is a ratio against a peer or a ceiling measured in the same run; medians
of several rounds, the two sides taken in turn.
"""

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from assocpriv.client.bulk import randomize_chunks
from assocpriv.core.bitmap import count_row_supersets, report_rows
from assocpriv.core.codes import item_columns
from assocpriv.core.entropy import SystemEntropy
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import Breach
from assocpriv.files.reports import Reports
from assocpriv.lab.planner import make_plan
from assocpriv.lab.synthetic import QuestSettings, generate_quest
from assocpriv.server.itemsets import mine
from bench import kernels
from bench.timing import ROUNDS, medians

RESULTS = Path(__file__).parent / "results"


def randomization(plan: Plan, n_reports: int) -> dict[str, float]:
    """Compare randomizing with drawing the random words it consumes."""
    from assocpriv.client.bulk import BulkRandomizer

    settings = QuestSettings(n_baskets=n_reports, n_items=plan.n_items, mean_size=float(plan.transaction_size))
    baskets, _ = generate_quest(settings).aligned(plan.catalogue, unknown="drop")
    n_words = BulkRandomizer(plan).words_needed(baskets)
    entropy = SystemEntropy()
    ours, ceiling = medians(
        lambda: sum(len(chunk.packed) for chunk in randomize_chunks(baskets, plan, entropy=entropy)),
        lambda: entropy.words(n_words),
    )
    return {"reports_per_s": n_reports / ours, "times_the_entropy": ours / ceiling}


def pairs(plan: Plan, packed: np.ndarray, n_rows: int) -> dict[str, float]:
    """Compare counting all pairs of items' bitmaps with numpy's population count, one core each."""
    items = np.arange(n_rows, dtype=np.int64)
    rows = report_rows(packed, plan, item_columns(plan.generator, plan.operator.insert_bits, items), items)
    couples = np.column_stack(np.triu_indices(n_rows, 1)).astype(np.int64)

    def with_numpy() -> None:
        for i in range(n_rows - 1):
            np.bitwise_count(rows[i + 1 :] & rows[i]).sum(axis=1)

    ours, theirs = medians(lambda: count_row_supersets(rows, couples), with_numpy)
    bits = len(couples) * len(packed)
    return {"tbit_per_s": bits / ours / 1e12, "faster_than_numpy": theirs / ours}


def mining(plan: Plan, packed: np.ndarray) -> dict[str, float]:
    """Compare the whole of mining with counting its pairs alone."""
    reports = Reports(plan, packed)
    (whole,) = medians(lambda: mine(reports, 0.02))
    return {"seconds": whole, "reports_per_s": len(packed) / whole}


def core(n_reports: int) -> dict[str, object]:
    """Return the figures of randomizing, counting and mining with the default plan."""
    catalogue = generate_quest(QuestSettings(n_baskets=1, n_items=1_000)).catalogue
    result: dict[str, object] = {}
    for code in ("bch", "reed-solomon"):
        plan = make_plan(catalogue, 5, Breach("5%", "50%"), code=code, reports=n_reports)
        result[f"randomize, {plan.report_bits}-bit {code} seeds"] = randomization(plan, n_reports)
    plan = make_plan(catalogue, 5, Breach("5%", "50%"), reports=n_reports)
    baskets = generate_quest(QuestSettings(n_baskets=n_reports, n_items=1_000))
    chunks = randomize_chunks(baskets, plan, entropy=SystemEntropy())
    packed = np.concatenate([chunk.packed for chunk in chunks])
    result["all pairs of 200 items, one core"] = pairs(plan, packed, 200)
    result["mine at 2%, 1,000 items, K = 3"] = mining(plan, packed)
    return result


def main() -> None:
    """Run one set of measurements and print or save it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("set", nargs="?", choices=["core", "kernels"], default="core", help="what to measure")
    parser.add_argument("--reports", type=int, default=1_000_000, help="number of reports (default 1,000,000)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on one line")
    parser.add_argument("--save", action="store_true", help="keep the result under bench/results/")
    options = parser.parse_args()
    result: dict[str, object] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in ("assocpriv", "numpy", "numba", "pyarrow")},
        "reports": options.reports,
        "rounds": ROUNDS,
    }
    result |= {"core": core, "kernels": kernels.run}[options.set](options.reports)
    print(json.dumps(result, indent=None if options.json else 1))
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        name = RESULTS / f"{options.set}-{options.reports}.json"
        name.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"kept as {name.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
