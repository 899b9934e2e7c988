"""Run methods on data sets repeatedly and store the figures, one line of JSON per run.

A run is one method with one setting, data set, ε, number of wanted itemsets and seed; the number is part of a run since
it can change what a method collects. Runs found in the file are not repeated, so an interrupted bench resumes.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np

from bench.accuracy.data import MissingDataError, load
from bench.accuracy.metrics import (
    Estimates,
    coverage,
    exact_supports,
    false_discovery,
    ncr,
    precision,
    rmse,
    true_itemsets,
    worst_error,
)
from bench.accuracy.transactions import Transactions
from bench.speed.measuring import log_progress
from bench.tables import Row

Run = Callable[[Transactions, float, int, np.random.Generator, Any], Estimates]
TOPS = (32, 64, 128)
_KEY = ("dataset", "epsilon", "method", "seed", "settings", "top")


@dataclass(frozen=True)
class Method:
    """A method that finds itemsets, with its settings.

    Attributes:
        name: name in tables.
        run: ``run(transactions, epsilon, top, rng, settings)``, a function at the top level of its module.
        settings: for every ε not in ``by_epsilon``; their ``repr`` identifies them.
        by_epsilon: settings tuned for one ε each.
    """

    name: str
    run: Run
    settings: Any = None
    by_epsilon: Mapping[float, Any] = field(default_factory=dict)

    def settings_for(self, epsilon: float) -> Any:
        """Return the settings tuned for the nearest ε within 5%, otherwise the general ones."""
        nearest = min(self.by_epsilon, key=lambda known: abs(math.log(known / epsilon)), default=None)
        close = nearest is not None and abs(math.log(nearest / epsilon)) < 0.05
        return self.by_epsilon[nearest] if nearest is not None and close else self.settings


@dataclass(frozen=True)
class _Task:
    dataset: str
    epsilon: float
    method: Method
    seed: int
    top: int

    @property
    def about(self) -> Row:
        """Key of the task in the file of results."""
        settings = repr(self.method.settings_for(self.epsilon))
        names = (self.dataset, self.epsilon, self.method.name, self.seed, settings, self.top)
        return dict(zip(_KEY, names, strict=True))


def run_cells(
    methods: Sequence[Method],
    datasets: Sequence[str],
    epsilons: Sequence[float],
    seeds: Iterable[int],
    tops: Sequence[int] = TOPS,
    *,
    store: Path,
    workers: int = 2,
) -> list[Row]:
    """Run every method on every data set with every ε and seed.

    Runs in the file ``store`` are not repeated. Data are the same for all seeds; a set without its file is reported and
    skipped. Rows are ordered by data set, ε, number wanted, seed and method.
    """
    chosen = sorted(set(seeds))
    tasks = [
        _Task(dataset, epsilon, method, seed, top)
        for dataset in datasets
        for epsilon in epsilons
        for top in tops
        for seed in chosen
        for method in methods
    ]
    done = {_key(row): row for row in _kept(store)}
    _run_all([task for task in tasks if _key(task.about) not in done], done, store, workers)
    return [done[_key(task.about)] for task in tasks if _key(task.about) in done]


def _run_all(tasks: Sequence[_Task], done: dict[str, Row], store: Path, workers: int) -> None:
    if not tasks:
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    skipped = set()
    # spawned, since forking a process with threads is unsafe
    with (
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
        store.open("a", encoding="utf-8") as out,
    ):
        futures = {pool.submit(run_task, task): task for task in tasks}
        for number, future in enumerate(as_completed(futures), start=1):
            task = futures[future]
            row = future.result()
            if "missing" in row:
                if task.dataset not in skipped:
                    log_progress(f"{task.dataset}: skipped, {row['missing']}")
                skipped.add(task.dataset)
                continue
            done[_key(row)] = row
            out.write(json.dumps(row) + "\n")
            out.flush()
            log_progress(f"{number}/{len(tasks)} {task.dataset} ε={task.epsilon:.3g} top {task.top} {task.method.name}")


def _kept(store: Path) -> list[Row]:
    """Return the rows of the file, without lines that an interruption cut short."""
    rows = []
    for line in store.read_text(encoding="utf-8").splitlines() if store.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            log_progress(f"{store.name}: an incomplete line is left out")
    return rows


def _key(row: Row) -> str:
    return json.dumps([row[name] for name in _KEY])


def run_task(task: _Task) -> Row:
    """Do one run, in a process of the pool."""
    try:
        transactions = load(task.dataset)
    except MissingDataError as missing:
        return {"missing": str(missing)}
    settings = task.method.settings_for(task.epsilon)
    name = crc32(f"{task.dataset} {task.epsilon:.6g} {task.method.name}".encode())
    rng = np.random.default_rng((task.seed, task.top, name))
    start = perf_counter()
    estimates = task.method.run(transactions, task.epsilon, task.top, rng, settings)
    row = task.about | {"n": len(transactions), "seconds": perf_counter() - start}
    return row | figures(estimates, transactions, task.top)


def figures(estimates: Estimates, transactions: Transactions, top: int) -> Row:
    """Return the figures of estimates.

    Returns:
        precision, ncr, rmse (see metrics), coverage and worst_error over the true top; coverage_all and
        worst_error_all over all published (estimated) itemsets, against their exact supports, with the number
        published; fdr of the itemsets claimed at the last true support.
    """
    known = true_itemsets(transactions, top)
    truth = dict(list(known.items())[:top])
    every = exact_supports(transactions, estimates.supports)
    return {
        "precision": precision(estimates, truth),
        "ncr": ncr(estimates, truth),
        "rmse": rmse(estimates, truth),
        "coverage": coverage(estimates, truth),
        "worst_error": worst_error(estimates, truth),
        "published": len(every),
        "coverage_all": coverage(estimates, every),
        "worst_error_all": worst_error(estimates, every),
        "fdr": false_discovery(estimates, known, min(truth.values())),
    }
