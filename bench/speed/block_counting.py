"""Counting in reports of blocks beside counting in reports of all items: as many reports, one catalogue, one run."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import NUMBER_BYTES, Blocks, View
from assocpriv.promise.breaches import Breach
from assocpriv.server.counting import Candidates, ItemsetCounter, counter_of
from bench.speed.timing import medians

N_ITEMS, PAIRED, IN_TRIPLES = 1_000, 600, 80
CUTS = (Blocks(16, 2), Blocks(128, 4), Blocks(400, 10))
MANY_ITEMS = 100_000


def plan_of(n_items: int, blocks: Blocks | None) -> Plan:
    """Return a plan for baskets of 5, or for 5 items of a block, with independent insertion."""
    asked = n_items if blocks is None else blocks.longest(n_items)
    plan = make_plan(asked, 5, Breach("5%", "50%"), itemset_size=3, kind="independent")
    return replace(plan, catalogue=Catalogue.numbered(n_items), view=View(blocks=blocks))


def random_reports(plan: Plan, count: int, rng: np.random.Generator) -> Reports:
    """Return seeds at random, each of a random block where the plan has some."""
    packed = rng.integers(0, 256, size=(count, plan.report_bytes), dtype=np.uint8)
    if plan.view.blocks is not None:
        numbers = rng.integers(0, plan.view.blocks.count, count).astype("<u2")
        packed[:, :NUMBER_BYTES] = numbers.view(np.uint8).reshape(-1, NUMBER_BYTES)
    if used := plan.report_bits % 8:
        packed[:, -1] &= (1 << used) - 1
    return Reports(plan, packed)


def levels_of(n_items: int) -> list[NDArray[np.int64]]:
    """Return what a level of each size may count: all items, all pairs of some, all triples of a few."""
    sets = [combinations(range(n), k) for k, n in ((1, n_items), (2, PAIRED), (3, IN_TRIPLES))]
    return [np.array(list(rows), dtype=np.int64) for rows in sets]


def counting(reports: Reports, levels: list[NDArray[np.int64]]) -> Callable[[], None]:
    """Return what counts each level, once the reports are read."""
    plan = reports.plan
    assert isinstance(plan, Plan)
    counter: ItemsetCounter = counter_of(reports)  # type: ignore[arg-type]
    known = Candidates(np.empty((1, 0), dtype=np.int64), np.array([[len(reports)]], dtype=np.int64))
    first = Candidates(levels[0], counter.sums(levels[0], known))

    def count() -> None:
        smaller = known
        for itemsets in levels:
            smaller = Candidates(itemsets, counter.sums(itemsets, smaller))

    assert first.sums[:, 1].all()
    return count


def block_rates(n_reports: int) -> dict[str, Any]:
    """Return how long counting takes in blocks, as a multiple of how long it takes without (a task)."""
    rng, times = np.random.default_rng(0), {}
    for blocks in CUTS:
        both = [
            counting(random_reports(plan_of(N_ITEMS, cut), n_reports, rng), levels_of(N_ITEMS))
            for cut in (None, blocks)
        ]
        plain, in_blocks = medians(*both, rounds=3)
        times[f"{blocks.partitions} x {blocks.pieces}"] = in_blocks / plain
    singles = [np.arange(MANY_ITEMS, dtype=np.int64)[:, None]]
    few = max(1, n_reports // 10)
    both = [counting(random_reports(plan_of(MANY_ITEMS, cut), few, rng), singles) for cut in (None, Blocks(100, 10))]
    plain, in_blocks = medians(*both, rounds=3)
    return {"blocks_times_plain_counting": times, "single_items_times_plain_counting": in_blocks / plain}
