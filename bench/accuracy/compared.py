"""How well a comparison of two collections finds inserted changes, against the naive difference of two tables.

    python -m bench compared [--half fresh] [--seeds 3] [--save]

A population is a data set. The change adds five of its frequent items to 1, 2, 3, 5 and 10% of the baskets, and removes
five others from the same shares, in baskets chosen at random. Each side draws baskets from its population; both have
one plan. True differences are those of the populations, so itemsets without a changed item have none. The naive
difference is that of two mined tables, called a change beyond 1.96 standard errors.

- False: claims with the wrong direction, or where nothing changed.
- Found: changed items claimed with the right direction.
- Coverage: of the 95% intervals of the first 50 differences, by posterior probability (naive: by standard errors). If
  little is found, most of the 50 did not change and their intervals nearly always hold 0. So the coverage of those
  that changed is given separately.
- Reliability: differences larger than 0, or than 1%, that are true, against their number expected from the posterior
  probability, in bins of this probability.
- Unchanged runs: runs without a change, with the fewest people and the two larger ε in turn. They count how often any
  difference is significant.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np

from assocpriv import plan
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.server.baskets.comparison import CompareRequest, Comparison, compare, read_sides
from assocpriv.server.baskets.counting import LocalBackend
from bench.accuracy.data import load, sized
from bench.accuracy.metrics import Itemset, exact_supports
from bench.accuracy.ours import baskets_of, guarantee_of, reports_of
from bench.accuracy.transactions import Transactions, offsets_of
from bench.speed.measuring import log_progress
from bench.tables import Row, grouped, table

SETS = {"tuning": ("quest-4", "dense-10"), "fresh": ("fresh-quest", "fresh-flat")}
PEOPLE, EPSILONS = (20_000, 100_000, 1_000_000), (1.0, 2.944, 4.0)
POPULATION, OWN, FDR, UNCHANGED = 200_000, 50, "5%", 42  # runs per set
POINTS = (0.10, 0.05, 0.03, 0.02, 0.01)
LEAST, BINS = (0.0, 0.01), (0.5, 0.7, 0.9, 0.99, 1.01)  # smallest differences that matter; bins of probabilities
_COLUMNS = ("coverage", "naive_coverage", "inserted")
_COUNTS = ("moved", "moved_held", "selected", "false", "found", "certain", "certain_false", "certain_found",
           "naive", "naive_false", "naive_found")  # fmt: skip


def run(
    half: str = "fresh", seeds: int = 3, people: Sequence[int] = PEOPLE, unchanged: int = UNCHANGED
) -> dict[str, Any]:
    """Return a row per set, number of people and ε, the reliability of probabilities, and the unchanged runs."""
    runs: list[Row] = []
    for seed, name, count, epsilon in product(range(seeds), SETS[half], people, EPSILONS):
        row = judged(name, count, epsilon, seed, changed=True)
        runs.append({"set": name, "people": count, "epsilon": epsilon} | row)
        log_progress(f"{name}, {count:,} people, ε = {epsilon}, seed {seed}: coverage {row['coverage']:.2f}")
    nothing = [
        judged(name, people[0], EPSILONS[1 + seed % 2], 1000 + seed, changed=False)["certain"] > 0
        for seed, name in product(range(unchanged), SETS[half])
    ]
    rows = [_mean(key, each) for key, each in grouped(runs, ("set", "people", "epsilon")).items()]
    reliability = np.sum([row["reliability"] for row in runs], axis=0).tolist()
    return {
        "half": half, "rows": rows, "reliability": reliability, "unchanged": len(nothing),
        "claimed": int(sum(nothing)),
    }  # fmt: skip


def judged(name: str, people: int, epsilon: float, seed: int, *, changed: bool) -> Row:
    """Return the figures of one comparison."""
    before = load(sized(name, POPULATION))
    after, items = inserted(name, seed) if changed else (before, {})
    rng = np.random.default_rng((seed, people))
    made = _plan(before.n_items, epsilon, people)
    sides = {}
    for place, population in enumerate((before, after)):
        drawn = population.take(rng.integers(len(population), size=people))
        sides["ab"[place]] = [LocalBackend.from_reports(reports_of(baskets_of(drawn), made, 2 * seed + place))]
    tables = read_sides(sides, {}, ErrorOptions())
    comparisons = [compare(tables, CompareRequest(least, FDR)) for least in LEAST]
    if not changed:
        return {
            "certain": int(comparisons[0].itemsets["significant"].sum() + comparisons[0].rules["significant"].sum())
        }
    named = _named(comparisons[0])
    first, second = (exact_supports(each, named) for each in (before, after))
    moved = {each: second[each] - first[each] for each in named}
    return _figures(comparisons[0], moved, items) | {"reliability": [_reliability(each, moved) for each in comparisons]}


@lru_cache(maxsize=8)
def _plan(n_items: int, epsilon: float, people: int) -> Plan:
    made: Plan = plan(n_items, guarantee_of(epsilon), reports=people, itemset_size=min(3, n_items))
    return made


@lru_cache(maxsize=3)
def inserted(name: str, seed: int) -> tuple[Transactions, dict[int, float]]:
    """Return a population with inserted changes, and the change of support of each changed item."""
    before, rng = load(sized(name, POPULATION)), np.random.default_rng(seed)
    counts = before.item_counts()
    baskets, items = np.repeat(np.arange(len(before)), before.sizes), before.items
    frequent = rng.permutation(np.argsort(-counts)[:50])
    changes: dict[int, float] = {}
    for sign in (-1, 1):
        for points in POINTS:  # the largest decreases come first: they need the most frequent items
            free = [item for item in frequent.tolist() if item not in changes]
            fit = [i for i in free if (counts[i] > 1.2 * points * len(before)) or sign > 0]
            if fit:
                changes[fit[0]] = sign * points
    for item, change in changes.items():
        holders = np.flatnonzero(items == item)
        number = round(abs(change) * len(before))
        if change < 0:
            gone = rng.permutation(holders)[:number]
            baskets, items = np.delete(baskets, gone), np.delete(items, gone)
        else:
            others = np.setdiff1d(np.arange(len(before)), baskets[holders])
            more = rng.permutation(others)[:number]
            baskets, items = np.append(baskets, more), np.append(items, np.full(len(more), item))
    order = np.lexsort((items, baskets))
    sizes = np.bincount(baskets, minlength=len(before))
    return Transactions(offsets_of(sizes), items[order], before.n_items, f"{name} changed"), changes


def _figures(comparison: Comparison, moved_by: dict[Itemset, float], changes: dict[int, float]) -> Row:
    frame, named = comparison.itemsets, _named(comparison)
    truth = np.array([moved_by[each] for each in named])
    is_inserted = np.array([len(each) == 1 and each[0] in changes for each in named], dtype=np.bool_)
    low, high = (np.array(frame[name]) for name in ("ci_low", "ci_high"))
    supports = np.array(frame["supports"].tolist())
    spans = np.array(frame["highs"].tolist()) - np.array(frame["lows"].tolist())
    naive, error = supports[:, 1] - supports[:, 0], np.hypot(*spans.T) / 3.92
    largest = np.argsort(-np.abs(naive / error))[:OWN]
    right = frame["difference"] * truth > 0
    held, moved = ((low <= truth) & (truth <= high))[:OWN], truth[:OWN] != 0
    figures: Row = {
        "inserted": len(changes),
        "coverage": float(held.mean()),
        "moved": int(moved.sum()),
        "moved_held": int((held & moved).sum()),
        "naive_coverage": float((np.abs(naive - truth) <= 1.96 * error)[largest].mean()),
    }
    claims = {"": frame["selected"], "certain_": frame["significant"], "naive_": np.abs(naive) > 1.96 * error}
    for prefix, claimed in claims.items():
        is_right = right if prefix != "naive_" else naive * truth > 0
        figures[prefix.rstrip("_") or "selected"] = int(claimed.sum())
        figures[f"{prefix}false"] = int((claimed & ~is_right).sum())
        figures[f"{prefix}found"] = int((claimed & is_right & is_inserted).sum())
    return figures


def _named(comparison: Comparison) -> list[Itemset]:
    return [tuple(sorted(map(int, names))) for names in comparison.itemsets["itemsets"]]


def _reliability(comparison: Comparison, moved: dict[Itemset, float]) -> list[list[float]]:
    """Return per bin of probability the numbers of differences, of expected true ones, and of true ones."""
    probability, truth = comparison.itemsets["probability"], np.array([moved[each] for each in _named(comparison)])
    true = np.sign(comparison.itemsets["difference"]) * truth > comparison.facts["at_least"]
    bins = [(low <= probability) & (probability < high) for low, high in pairwise(BINS)]
    return [[int(rows.sum()), float(probability[rows].sum()), int(true[rows].sum())] for rows in bins]


def _mean(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    line: Row = dict(zip(("set", "people", "epsilon"), key, strict=True))
    line |= {name: float(np.mean([row[name] for row in rows])) for name in _COLUMNS}
    return line | {name: sum(row[name] for row in rows) for name in _COUNTS}


def markdown(result: dict[str, Any]) -> str:
    """Return the tables, with a summary above them."""
    rows = result["rows"]
    sums = {name: sum(row[name] for row in rows) for name in _COUNTS}
    caption = (
        f"The {result['half']} half. Mean coverage {np.mean([row['coverage'] for row in rows]):.3f}, least "
        f"{min(row['coverage'] for row in rows):.3f} (naive {np.mean([row['naive_coverage'] for row in rows]):.3f}); "
        f"of the {sums['moved']:,} changed ones {sums['moved_held'] / max(sums['moved'], 1):.3f}. "
        f"False: {sums['false']:,} of {sums['selected']:,} selected, {sums['certain_false']:,} of {sums['certain']:,} "
        f"significant, {sums['naive_false']:,} of {sums['naive']:,} naive differences. Without a change, "
        f"{result['claimed']} of {result['unchanged']} runs had a significant difference."
    )
    columns = {name: name for name in ("set", "people", "epsilon", *_COLUMNS, *_COUNTS)}
    lines = [
        {"larger than": f"{least:.0%}", "differences": int(count), "expected": expected / count, "true": true / count}
        for least, bins in zip(LEAST, result["reliability"], strict=True)
        for count, expected, true in bins
        if count
    ]
    reliable = table({name: name for name in ("larger than", "differences", "expected", "true")}, lines)
    return f"{caption}\n\n{table(columns, rows)}\n\n## Reliability of the probabilities\n\n{reliable}\n"
