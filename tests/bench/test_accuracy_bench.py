"""The accuracy bench: data and their halves, truths, figures, stored runs, tuning, verdict."""

import hashlib
import json
import math
from dataclasses import asdict
from itertools import chain, combinations

import numpy as np
import pytest
from naive import held_by, random_transactions

from bench.accuracy import data, harness, metrics, run, tuning
from bench.accuracy.harness import Method
from bench.accuracy.metrics import Estimates
from bench.accuracy.ours import PAPER, SIZES_KNOWN, PlanSettings, baskets_of
from bench.accuracy.run import KNOWN, OURS

# ---- data


def test_taking_and_restricting_keep_baskets(rng):
    """take returns the numbered baskets; restricted keeps the given items, renumbered."""
    source = random_transactions(rng, 40, 9)
    sets = held_by(source)
    chosen = rng.integers(40, size=60)
    assert held_by(source.take(chosen)) == [sets[at] for at in chosen]
    kept = np.array([1, 4, 5, 8])
    numbers = {int(item): number for number, item in enumerate(kept)}
    few = source.restricted(kept)
    assert held_by(few) == [{numbers[item] for item in basket if item in numbers} for basket in sets]
    assert [set(np.flatnonzero(column).tolist()) for column in few.matrix().T] == held_by(few)


def test_true_itemsets_are_the_most_frequent(rng):
    """The true top equals a count of every itemset, with ties broken by size, then lexicographically."""
    source = random_transactions(rng, 50, 6, share=0.5)
    sets = held_by(source)
    counted = {
        itemset: sum(basket.issuperset(itemset) for basket in sets) / 50
        for itemset in chain.from_iterable(combinations(range(6), k) for k in range(1, 5))
    }
    ranked = sorted(counted, key=lambda itemset: (-counted[itemset], len(itemset), itemset))
    for k in (1, 5, 20):  # 20 exceeds the number of items
        assert list(metrics.true_top(source, k).items()) == [(itemset, counted[itemset]) for itemset in ranked[:k]]
        least = counted[ranked[k - 1]]
        assert {each for each in ranked if counted[each] >= least} <= metrics.true_itemsets(source, k).keys()
    assert metrics.exact_supports(source, counted) == counted


# ---- figures


def test_figures_of_a_small_case():
    """Precision, ranks, errors, coverage and false discoveries equal a computation by hand."""
    known = {(0,): 0.5, (1,): 0.4, (0, 1): 0.3}
    estimates = Estimates({(0,): 0.6, (2,): 0.5, (0, 1): 0.25, (3,): 0.1}, {(0,): 0.04, (2,): 1, (0, 1): 0.03, (3,): 1})
    assert metrics.precision(estimates, known) == pytest.approx(2 / 3)
    assert metrics.ncr(estimates, known) == pytest.approx((3 + 1) / 6)
    assert metrics.rmse(estimates, known) == pytest.approx(math.sqrt((0.01 + 0.16 + 0.0025) / 3))
    assert metrics.coverage(estimates, known) == 0.5
    assert metrics.coverage(Estimates({}, None), known) is None
    assert metrics.worst_error(estimates, known) == pytest.approx(2.5)
    assert metrics.false_discovery(estimates, known, 0.3) == 0.5
    assert metrics.false_discovery(estimates, known, 0.7) is None


def by_truth(transactions, epsilon, top, rng, settings):
    """Return the true supports, except those of the items in the settings."""
    known = metrics.true_top(transactions, top)
    supports = {itemset: support + 0.1 for itemset, support in known.items() if itemset not in settings}
    return Estimates(supports, dict.fromkeys(supports, 0.04))


def test_stored_runs_are_not_repeated(rng, monkeypatch, tmp_path):
    """Runs in the file are reused, and an incomplete line is left out."""
    source = random_transactions(rng, 200, 6)
    monkeypatch.setattr(harness, "load", lambda name: source)
    best = next(iter(metrics.true_top(source, 1)))
    methods = [Method("all", by_truth, ()), Method("some", by_truth, (), {1.0: (best,)})]
    store = tmp_path / "rows.jsonl"
    tasks = [harness._Task("small", 1.0, method, seed, top) for top in (4, 8) for seed in (0, 1) for method in methods]
    lines = [json.dumps(harness.run_task(task)) for task in tasks]
    store.write_text("\n".join(lines) + '\n{"dataset": "sm', encoding="utf-8")
    rows = harness.run_cells(methods, ["small"], [1.0], [0, 1], (4, 8), store=store)
    assert [row["method"] for row in rows] == ["all", "some"] * 4
    assert [row["precision"] for row in rows if row["top"] == 4] == [1.0, 0.75] * 2
    assert {row["coverage_all"] for row in rows} == {0.0}
    assert all(row["worst_error_all"] == pytest.approx(2.5) for row in rows)
    assert {row["published"] for row in rows if row["top"] == 4} == {3, 4}
    half = {"sets": [], "cells": run.cells_of(rows), "means": [], "verdicts": {"all": None}}
    text = run.markdown({"halves": {"own": half}})
    assert "The 4 most frequent itemsets" in text
    assert "| small | 200 | 1 | some | 2 | 0.75 |" in text


def test_plans_do_not_depend_on_the_baskets(rng):
    """Plans do not depend on basket sizes, except in the column with known exact sizes."""
    few, many = (baskets_of(random_transactions(rng, 3_000, 30, share=share)) for share in (0.05, 0.5))
    for settings in (PlanSettings(), PAPER):
        assert settings.plan(few, 2.0) == settings.plan(many, 2.0)
    assert SIZES_KNOWN.plan(few, 2.0) != SIZES_KNOWN.plan(many, 2.0)
    assert PlanSettings().plan(few, 2.0).items.itemset_size == metrics.LARGEST


def row(method, top, *, precision, rmse=0.1, coverage=0.95):
    """Return the row of a run."""
    figures = {"precision": precision, "ncr": 0.5, "rmse": rmse, "coverage_all": coverage}
    return {"dataset": "d", "n": 9, "epsilon": 1.0, "top": top, "seed": 0, "method": method} | figures


def test_the_verdict_counts_cells_by_hand():
    """Cells behind by more than a standard error, the largest gap, RMSE ratio and coverage equal values by hand."""
    rows = [
        row(OURS, 32, precision=0.8), row(OURS, 32, precision=0.6),  # 0.7 ± 0.1
        row("OLH", 32, precision=0.79), row("OLH", 32, precision=0.79),
        row(OURS, 64, precision=0.7, rmse=0.02, coverage=0.85),
        row(OURS, 64, precision=0.7, rmse=0.04, coverage=0.93),
        row("OLH", 64, precision=0.1, rmse=0.001), row("SVSM, wheel", 64, precision=0.75, rmse=0.06),
    ]  # fmt: skip
    cells = run.cells_of(rows)
    found = run.verdict(cells)
    assert (found["cells"], len(found["behind"])) == (4, 1)
    assert found["behind"][0].startswith("precision d ε=1 top 64: 0.700 ± 0.000, SVSM, wheel 0.750")
    assert found["most_behind"] == pytest.approx(0.09)
    assert found["rmse_ratio"] == pytest.approx(2.0)
    assert found["coverage"] == {"coverage_all": (pytest.approx(0.92), pytest.approx(0.89)), "coverage": None}
    assert run.verdict([cell for cell in cells if cell["method"] == OURS]) is None
    known = [row(KNOWN, top, precision=0.7) for top in (32, 64)]
    with_known = run.cells_of([*rows, *known])
    assert run.verdict(with_known) == found  # our other methods are not peers
    assert len(run.verdict(with_known, KNOWN)["behind"]) == 2
    means = run.means_of(with_known)
    assert [line[OURS] for line in means] == [0.7, 0.7]
    half = {"sets": ["d"], "cells": cells, "means": means, "verdicts": {f"{OURS}, all sets": found}}
    text = run.markdown({"halves": {"own": half}})
    assert "in 3 of 4 cells" in text
    assert "all published itemsets: mean 0.920, least 0.890.\n" in text
    assert "| 64 | 1 | 1 | 0.7 | 0.1 | 0.75 | 0.7 |" in text


# ---- tuning and sets


def test_settings_are_chosen_stage_by_stage():
    """The best mean over data sets wins, changes apply to inner settings, and stored settings are read unchanged."""
    start = tuning.RUNS["SVSM, wheel"][1]
    grid = [tuning.changed(start, {"items.find_share": share}) for share in (0.1, 0.3)]
    assert [settings.items.find_share for settings in grid] == [0.1, 0.3]
    scores = [(0, "a", 0.9), (0, "b", 0.1), (1, "a", 0.6), (1, "b", 0.6)]
    rows = [{"settings": repr(grid[place]), "dataset": name, "ncr": x, "rmse": x} for place, name, x in scores]
    assert tuning.scores_of(grid, rows, supports_only=False) == [pytest.approx(0.5), pytest.approx(0.6)]
    lower, higher = tuning.scores_of(grid, rows, supports_only=True)
    assert lower > higher  # 0.9 and 0.1 have the smaller mean logarithm
    again = tuning.settings_from("SVSM, wheel", json.loads(json.dumps(asdict(grid[0]))))
    assert again == grid[0]


def test_halves_follow_the_stated_rule():
    """Files alternate by the SHA-256 of their names, every set is in one half, and families are in both."""
    ordered = sorted(data.FILES, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    assert set(ordered[::2]) == data.FILES.keys() & set(data.TUNING)
    assert sorted((*data.TUNING, *data.HELD_OUT, *data.FRESH)) == sorted((*data.FILES, *data.GENERATED))
    tuning_families, held_out_families = (
        {name.rpartition("-")[0] for name in half if name in data.GENERATED} for half in (data.TUNING, data.HELD_OUT)
    )
    assert tuning_families == held_out_families
    assert not set(data.names("held-out")) & set(data.names("tuning"))


def test_families_have_their_properties():
    """Density is as given, pairs occur in long baskets, supports are flat; the same seed gives the same baskets."""
    dense = data.dense(20_000, items=80, density=0.2, seed=1)
    assert dense.sizes.mean() == pytest.approx(16, rel=0.15)
    again = data.dense(20_000, items=80, density=0.2, seed=1)
    assert (dense.items == again.items).all()
    even = data.flat(20_000, items=50, mean_size=6.0, pairs=5, seed=1).item_counts()
    assert even.min() > 0.8 * np.median(even)
    visits = data.long_pairs(20_000, items=500, long_share=0.2, mean_size=15.0, seed=1)
    pairs = [itemset for itemset in metrics.true_top(visits, 100) if len(itemset) > 1]
    short = visits.take(np.flatnonzero(visits.sizes <= 3))
    every, few = (np.array([*metrics.exact_supports(part, pairs).values()]) * len(part) for part in (visits, short))
    assert np.mean(few < 0.05 * every) > 0.75
    assert visits.sizes.max() <= 500
    assert all(len(set(basket)) == len(basket) for basket in held_by(visits.take(np.arange(50))))
