"""Guided perturbation file to file, and the miner's part of it beside ByClass on as many records.

The paper's claim is that the miner has less to do than reconstruction: it only adds up tuples and solves for as many
shares as there are bits once a batch. Both sides go from reports of the same records to a tree.
"""

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import assocpriv as ap
from assocpriv import guided
from assocpriv.files.reports import read_reports
from assocpriv.server.guided import publish, train
from assocpriv.server.trees import grow_tree
from assocpriv.simulation.synthetic import CLASSES, LABEL, AgrawalSettings, generate_agrawal
from bench.figures.trees import generated_columns, noisy_plan, release
from bench.speed.timing import medians

BATCH = 1_000


def run(records: int = 100_000, function: int = 2) -> dict[str, Any]:
    """Return seconds of each step, and of what the miner does, per tuple and beside a tree by class."""
    table = generate_agrawal(AgrawalSettings(function=function, n_records=records))
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        table.to_parquet(folder / "table.parquet")
        steps = _walk(folder)
        state = guided.read_state(folder / "state.json")
        answers = read_reports(folder / "released.parquet")
        one = medians(lambda: publish(state), lambda: guided.collect(_fresh(folder), answers))
        batches = -(-records // BATCH)
        noisy = release(table, noisy_plan(generated_columns(), CLASSES, records, "gaussian", 100), 1)
        by_class, fit = medians(lambda: grow_tree(noisy, LABEL), lambda: train(state, answers, "tree"), rounds=3)
    miner = one[1] + batches * one[0]
    return {
        "records": records,
        "bits": state.plan.width,
        "file_to_file": steps | {"all_s": sum(steps.values())},
        "collect_s": one[1],
        "publish_once_s": one[0],
        "miner_s": miner,
        "miner_us_a_tuple": 1e6 * miner / records,
        "tree_s": fit,
        "by_class_with_tree_s": by_class,
        "miner_with_tree_against_by_class_ratio": (miner + fit) / by_class,
    }


def _walk(folder: Path) -> dict[str, float]:
    """Go from a table to what is collected of it, with all files between, and return the seconds of each step."""
    seconds, last = {}, perf_counter()

    def done(name: str) -> None:
        nonlocal last
        seconds[f"{name}_s"] = perf_counter() - last
        last = perf_counter()

    began = guided.start(folder / "table.parquet", LABEL, batch=BATCH, seed=1)
    guided.write_state(began, folder / "state.json")
    guided.write_state(began, folder / "begun.json")
    done("start")
    guided.publish_file(folder / "state.json", folder / "guidance.json")
    done("publish")
    asked = guided.read_guidance(folder / "guidance.json")
    ap.randomize(folder / "table.parquet", began.plan, folder / "released.parquet", guidance=asked)
    done("answer")
    guided.collect_files(folder / "released.parquet", folder / "state.json")
    done("collect")
    return seconds


def _fresh(folder: Path) -> guided.MinerState:
    """Return the state before anything came in, with the guidance that was answered."""
    return publish(guided.read_state(folder / "begun.json"))
