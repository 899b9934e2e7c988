"""Collected reports stay readable: every command reads reports of random plans, and every renderer shows the results.

Plans and collections are drawn at the extremes: weak and strong guarantees, few and many items, no reports, people who
are all equal, all empty or all full, and one report repeated. A function may refuse with an error of this package. An
exception of another type fails, and so does a warning of numpy, since pytest turns warnings into errors.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assocpriv as ap
from assocpriv import numeric
from assocpriv.api.mining import backends
from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.client.numeric.table_client import randomize_inputs
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.ask import ask
from assocpriv.show import itemset_views as shown
from assocpriv.show import result_pages, text_renderer
from assocpriv.show import table_views as shown_tables
from assocpriv.show.audit_views import inspected
from assocpriv.show.result_pages import fragment
from assocpriv.show.result_record import Record
from assocpriv.simulation.enumeration import SeededEntropy

PLANS, AT_ONCE = 500, 50  # seeds of plans, all tried with --slow; seeds per test
# seeds in each run, among them some that failed once
BASKETS = (8, 45, 94, 172, 238)
TABLES = (3, 101, 169, 230)
MEMORY = 1 << 22  # allows few candidates, so that no plan takes long
Rng = np.random.Generator


def groups(quick: Sequence[int]) -> list[Any]:
    """Return the seeds of each test: single ones in each run, and all with --slow."""
    slow = [range(start, start + AT_ONCE) for start in range(0, PLANS, AT_ONCE)]
    return [*([seed] for seed in quick), *(pytest.param(seeds, marks=pytest.mark.slow) for seeds in slow)]


def tried(run: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return a function's result, None if it refuses with an error of this package."""
    with suppress(ap.AssocprivError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return run(*arguments, **options)
    return None


def rendered(record: Record) -> None:
    """Render a record as text, JSON and HTML."""
    text_renderer.lines(record)
    json.dumps(record.to_json(), allow_nan=False)
    fragment(record)


def below(rng: Rng, most: float) -> int:
    """Draw a whole number from 0 to ``most``, log-uniformly."""
    return int(np.floor(np.exp(rng.uniform(0, np.log(most + 1)))))


# ---- baskets


def random_plan(rng: Rng, n_items: int, reports: int) -> ap.Plan:
    """Draw a plan; the planner may refuse it."""
    options: dict[str, Any] = {"reports": max(1, reports if rng.random() < 0.7 else below(rng, 1e6))}
    guarantee: ap.Guarantee | None = ap.Guarantee.from_epsilon(float(np.exp(rng.uniform(np.log(0.02), np.log(14)))))
    if rng.random() < 0.3:
        guarantee = ap.Guarantee(*np.sort(rng.uniform(0.001, 0.999, 2)).round(4).tolist())
    if rng.random() < 0.3:
        guarantee, options["central"] = None, (float(rng.uniform(0.1, 4)), 1e-8)
    if rng.random() < 0.5:
        options["transaction_size"] = int(rng.integers(1, min(15, n_items) + 1))
    if rng.random() < 0.7:
        options["itemset_size"] = int(rng.integers(1, min(options.get("transaction_size", n_items), 4) + 1))
    if rng.random() < 0.7:
        options["mean_size"] = float(rng.uniform(0.2, min(n_items, 40)))
    if "transaction_size" in options and guarantee is not None and rng.random() < 0.2:
        options["paper"] = True
    return ap.plan(n_items, guarantee, **options)


def random_baskets(rng: Rng, n_items: int, count: int) -> Baskets:
    """Draw baskets: all empty, all equal, all full, with one common item, or realistic."""
    kind = rng.integers(7)
    sizes = np.minimum(rng.geometric(1 / rng.uniform(1.01, 12), count) - (rng.random() < 0.5), n_items)
    if kind == 0:
        sizes[:] = 0
    elif kind in (1, 2):
        sizes[:] = min(n_items, 30) if kind == 2 else int(rng.integers(1, min(n_items, 30) + 1))
    starts = rng.integers(0, n_items, count) if kind > 2 else np.zeros(count, dtype=np.int64)
    if kind == 3:
        starts = rng.geometric(0.9, count) - 1
    starts = np.minimum(starts, n_items - sizes)
    ends = np.cumsum(sizes)
    items = np.repeat(starts, sizes) + np.arange(ends[-1] if count else 0) - np.repeat(ends - sizes, sizes)
    return Baskets(Catalogue.numbered(n_items), np.append(0, ends).astype(np.int64), items.astype(np.int64))


def random_reports(rng: Rng) -> ap.Reports:
    """Draw a plan and its reports, from honest people or one report repeated."""
    plan = None
    while plan is None:
        n_items, count = below(rng, 5000), 0 if rng.random() < 0.03 else below(rng, 1e5)
        plan = tried(random_plan, rng, n_items, count)
    baskets = random_baskets(rng, n_items, count)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(int(rng.integers(1 << 30))))
    return collected(rng, plan, (chunk.packed for chunk in chunks))


def collected(rng: Rng, plan: Any, chunks: Iterable[np.ndarray]) -> ap.Reports:
    """Return all reports, at times the first one as often as there are reports."""
    packed = np.concatenate([np.empty((0, plan.report_bytes), dtype=np.uint8), *chunks])
    return ap.Reports(plan, np.repeat(packed[:1], len(packed), axis=0) if rng.random() < 0.15 else packed)


def read_itemsets(reports: ap.Reports, rng: Rng) -> None:
    """Mine, derive rules, and show both."""
    options = [{}, {"min_support": float(rng.uniform(0.001, 1))}, {"top": below(rng, 100)}, {"fdr": "5%"}]
    table = tried(ap.mine, reports, **options[rng.integers(4)], memory_bytes=MEMORY)
    if table is None:
        return
    rendered(shown.mined(table))
    rules = tried(ap.association_rules, table, float(rng.uniform(0, 1)))
    if rules is not None:
        rendered(shown.rules(rules, table))
    tried(result_pages.page, table, reports.plan)
    for kind in ("intervals", "sizes"):
        tried(result_pages.chart, table, kind)


def read_chosen_itemsets(reports: ap.Reports, rng: Rng) -> None:
    """Estimate chosen itemsets and rules, find substitutes, and show them."""
    plan = reports.plan.require_type(ap.Plan)
    names = [str(name) for name in rng.permutation(list(plan.catalogue))[: plan.items.itemset_size]]
    rules = [(names[:1], names[1:])] if len(names) > 1 else []
    counted = tried(backends, reports, MEMORY)
    answers = counted and tried(ask, counted, [names, names[:1]], rules, ErrorOptions())
    if answers is not None:
        rendered(shown.answers(answers))
    table = tried(ap.substitutes, reports, memory_bytes=MEMORY)
    if table is not None:
        rendered(shown.substitutes(table))


@pytest.mark.parametrize("seeds", groups(BASKETS), ids=str)
def test_reports_of_random_plans_are_read(seeds: Sequence[int], tmp_path: Path) -> None:
    """For any plan and baskets, each function returns a result or refuses with an error of this package."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        reports = random_reports(rng)
        read_itemsets(reports, rng)
        read_chosen_itemsets(reports, rng)
        reports.write(tmp_path / f"{seed}.parquet")
        content = tried(ap.inspect, tmp_path / f"{seed}.parquet", check_manipulation=True)
        if content is not None:
            rendered(inspected(content, max(1, len(reports))))


# ---- tables


def random_column(rng: Rng, label: bool) -> dict[str, Any]:
    """Draw a column of a schema."""
    optional = {"optional": bool(rng.random() < 0.4)}
    if label or rng.random() < 0.3:
        values = [f"v{each}" for each in range(int(rng.integers(2, 12)))]
        release = str(rng.choice(["response", "as-is"]))
        return {"kind": "label" if label else "category", "release": release, "values": values} | optional
    release = str(rng.choice(["square-wave", "square-wave", "as-is", "membership", "uniform", "gaussian"]))
    made = {"kind": "number", "release": release, "low": 0, "high": int(rng.integers(1, 1000))} | optional
    if release == "membership":
        return made | {"privacy": f"{100 / int(rng.integers(1, 30)):.4f}%"}
    if release in ("uniform", "gaussian"):
        made["privacy"] = round(rng.uniform(0.05, 3), 3)
    if rng.random() < 0.4:
        made["intervals"] = int(rng.integers(2, 60))
    return made


def random_table_plan(rng: Rng, reports: int) -> numeric.TablePlan:
    """Draw a plan of some columns, at times with a label; the planner may refuse it."""
    columns = {f"c{each}": random_column(rng, label=False) for each in range(int(rng.integers(1, 4)))}
    if rng.random() < 0.6:
        columns["class"] = random_column(rng, label=True)
    is_protected = any(each["release"] in ("square-wave", "response") for each in columns.values())
    guarantee, answer = None, None
    if is_protected:
        guarantee = ap.Guarantee.from_epsilon(float(np.exp(rng.uniform(np.log(0.05), np.log(12)))))
        answer = "all" if rng.random() < 0.5 else None
    return numeric.plan_table({"columns": columns}, guarantee, reports=max(1, reports), columns_per_report=answer)


def random_records(rng: Rng, plan: numeric.TablePlan, count: int) -> np.ndarray:
    """Draw records: all equal, all missing, at the ends of ranges, or random; int32 (count, columns)."""
    drawn = []
    for column in plan.columns:
        kind, any_value = rng.integers(5), rng.integers(0, column.inputs + column.optional, count)
        alike = np.full(count, [column.inputs - 1 + column.optional, rng.integers(column.inputs)][int(kind == 1)])
        ends = (column.inputs - 1) * rng.integers(0, 2, count)
        drawn.append([alike, alike, ends, any_value, any_value][kind])
    return np.stack(drawn, axis=1).astype(np.int32)


def random_released(rng: Rng) -> ap.Reports:
    """Draw a plan of a table and its released records, at times one record repeated."""
    plan = None
    while plan is None:
        count = 0 if rng.random() < 0.03 else below(rng, 1e4)
        plan = tried(random_table_plan, rng, count)
    inputs = random_records(rng, plan, count)
    return collected(rng, plan, randomize_inputs([inputs], plan, entropy=SeededEntropy(int(rng.integers(1 << 30)))))


@pytest.mark.parametrize("seeds", groups(TABLES), ids=str)
def test_released_records_of_random_plans_are_read(seeds: Sequence[int]) -> None:
    """Columns are reconstructed alone, by class and together, and trees are grown, or refused with an error of ours."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        reports = random_released(rng)
        names = [column.name for column in reports.plan.columns]
        methods = ["auto", str(rng.choice(["smooth", "em", "ems", "bayes", "least-squares"]))]
        asked: list[dict[str, Any]] = [{"method": method} for method in methods]
        asked += [{"by": name, "method": methods[int(rng.integers(2))]} for name in names if rng.random() < 0.5]
        asked += [{"joint": (names[0], names[-1])}] * (len(names) > 1)
        for found in (tried(ap.reconstruct, reports, **options) for options in asked):
            if found is not None:
                rendered(shown_tables.overview(found))
                rendered(shown_tables.distributions(found))
                found.to_frame()
                tried(result_pages.page, found, reports.plan)
        for method in ("by-class", "global", "local", "joint"):
            model = tried(numeric.grow_tree, reports, method=method)
            if model is not None:
                rendered(shown_tables.tree(model))
