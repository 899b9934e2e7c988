"""The accuracy bench: every method on every data set with every ε, and how often ours is the best.

Our plan uses no knowledge of the baskets. A second column, *sizes known*, uses the exact sizes of the baskets that
report. Peers spend people on sizes, so this column shows the cost of not knowing them; it has its own verdict.

    python -m bench accuracy [--half held-out] [--tops 32,64,128] [--people 1000000] [--methods "SVSM;OLH"] [--seeds 3]

Runs are appended to a file that is not in the repository, so an interrupted bench resumes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.accuracy.data import GENERATED, MILLION, names
from bench.accuracy.harness import Method, run_cells
from bench.accuracy.ours import PAPER, SIZES_KNOWN, PlanSettings, collect, collect_twice
from bench.accuracy.peers import SvimSettings, SvsmSettings, svsm
from bench.accuracy.tuning import EPSILONS, tuned
from bench.tables import Row, grouped, plain, spread, table

OURS, KNOWN = "assocpriv", "assocpriv, sizes known"
TOPS, WANTED = (32, 64, 128), 64  # WANTED: number of itemsets that RMSE is compared over, if it is among the tops
PUBLISHED = SvsmSettings(items=SvimSettings(correction="to the first empty size", least_size_z=0.0))
_FIGURES = ("precision", "ncr", "rmse", "coverage", "coverage_all", "worst_error_all", "published", "fdr")
_CELL = ("dataset", "epsilon", "top")


@dataclass(frozen=True)
class Choice:
    """Which runs: halves of the sets, numbers of wanted itemsets, people of resampled sets, methods (empty for all)."""

    halves: tuple[str, ...] = ("held-out",)
    tops: tuple[int, ...] = TOPS
    people: int = MILLION
    methods: tuple[str, ...] = ()
    seeds: int = 3
    quick: bool = False
    workers: int = 2


def methods() -> list[Method]:
    """Return assocpriv in two rounds and in one, peers as tuned and as published, and the design of 2003."""
    return [
        Method(OURS, collect_twice, PlanSettings()),
        Method(KNOWN, collect, SIZES_KNOWN),
        Method(f"{OURS}, one round", collect, PlanSettings()),
        *tuned(),
        Method("SVSM as published", svsm, PUBLISHED),
        Method("threshold design of 2003", collect, PAPER),
    ]


def run(store: Path, choice: Choice) -> dict[str, Any]:
    """Run whatever the store lacks; return the figures of all cells and the verdicts for each half."""
    return {"halves": {half: _run_half(half, store, choice) for half in choice.halves}}


def _run_half(half: str, store: Path, choice: Choice) -> dict[str, Any]:
    datasets, epsilons, seeds = names(half, choice.people), tuple(EPSILONS), choice.seeds
    if choice.quick:
        datasets, epsilons, seeds = names(half, 20_000, own_sizes=False)[-1:], epsilons[2:3], 1
    chosen = [method for method in methods() if not choice.methods or method.name in choice.methods]
    cells = partial(run_cells, datasets=datasets, epsilons=epsilons, store=store, workers=choice.workers)
    # one run of the paper's design: its difference is far larger than the deviation between runs
    once = [method for method in chosen if method.settings == PAPER]
    rows = cells([each for each in chosen if each not in once], tops=choice.tops, seeds=range(seeds))
    found = cells_of([*rows, *cells(once, tops=choice.tops[:1], seeds=range(1))])
    drawn = [cell for cell in found if cell["dataset"].rpartition("-")[0] in GENERATED]
    verdicts = {
        f"{ours}, {which}": verdict(part, ours)
        for ours in (OURS, KNOWN)
        for which, part in (("all sets", found), ("generated sets", drawn))
    }
    alike = {*names(half, choice.people, own_sizes=False)}
    means = means_of([cell for cell in found if cell["dataset"] in alike])
    return {"sets": list(datasets), "cells": found, "means": means, "verdicts": verdicts}


def cells_of(rows: Sequence[Row]) -> list[Row]:
    """Return mean and standard error of every figure per cell and method."""
    cells = []
    for key, group in grouped(rows, (*_CELL, "method")).items():
        cell: Row = dict(zip((*_CELL, "method"), key, strict=True)) | {"n": group[0]["n"], "runs": len(group)}
        cells.append(cell | {name: spread(row.get(name) for row in group) for name in _FIGURES})
    return cells


def means_of(cells: Sequence[Row]) -> list[Row]:
    """Return the mean precision over sets per number wanted and ε, one column per method."""
    found = []
    for (top, epsilon), same in sorted(grouped(cells, ("top", "epsilon")).items()):
        line: Row = {"top": top, "epsilon": epsilon, "sets": len({cell["dataset"] for cell in same})}
        for method in dict.fromkeys(cell["method"] for cell in cells):
            mean = spread(cell["precision"][0] for cell in same if cell["method"] == method)
            line[method] = mean and mean[0]
        found.append(line)
    return found


def verdict(cells: Sequence[Row], ours: str = OURS) -> dict[str, Any] | None:
    """Return the cells (data, ε, number wanted) in which a peer is better; None without ours or without peers.

    Args:
        cells: the result of :func:`cells_of`.
        ours: the method that peers are compared with.

    Returns:
        - cells: number of cells of precision and NCR.
        - behind: cells in which a peer is better by more than one standard error of the difference, largest first.
        - most_behind: the largest difference.
        - rmse_ratio: RMSE over the true top of the best SVSM divided by ours, median over cells of the top 64.
        - coverage: mean and least of 95% intervals, of all published itemsets and of the true top.
    """
    gaps, ratios, own_cells = list[Row](), list[float](), list[Row]()
    tops = {cell["top"] for cell in cells}
    for key, group in grouped(cells, _CELL).items():
        mine = next((cell for cell in group if cell["method"] == ours), None)
        peers = [cell for cell in group if OURS not in cell["method"]]
        if mine is None or not peers:
            continue
        own_cells.append(mine)
        for figure in ("precision", "ncr"):
            (own, error), best = mine[figure], max(peers, key=lambda peer, name=figure: peer[name][0])
            other, its = best[figure]
            name = f"{figure} {key[0]} ε={key[1]:.3g} top {key[2]}"
            line = f"{name}: {own:.3f} ± {error:.3f}, {best['method']} {other:.3f} ± {its:.3f}"
            gaps.append({"by": other - own, "error": math.hypot(error, its), "line": line})
        rivals = [cell["rmse"][0] for cell in peers if cell["method"].startswith("SVSM")]
        if rivals and key[2] == (WANTED if WANTED in tops else min(tops)):
            ratios.append(min(rivals) / mine["rmse"][0])
    behind = sorted((gap for gap in gaps if gap["by"] > gap["error"]), key=lambda gap: -gap["by"])
    return {
        "cells": len(gaps), "behind": [gap["line"] for gap in behind], "most_behind": max(gap["by"] for gap in gaps),
        "rmse_ratio": median(ratios) if ratios else None,
        "coverage": {name: _mean_and_least(own_cells, name) for name in ("coverage_all", "coverage")},
    } if gaps else None  # fmt: skip


def _mean_and_least(cells: Sequence[Row], figure: str) -> tuple[float, float] | None:
    known = [cell[figure][0] for cell in cells if cell[figure]]
    return (fmean(known), min(known)) if known else None


def markdown(result: dict[str, Any]) -> str:
    """Return verdicts and tables."""
    parts = []
    for half, found in result["halves"].items():
        parts.append(f"## The {half} half: {', '.join(found['sets'])}\n")
        parts += [f"**{name}**: {_summary(each)}\n" for name, each in found["verdicts"].items() if each]
        if found["means"]:
            parts.append(f"Mean precision over the sets with the same number of people:\n\n{plain(found['means'])}")
        for (top,), cells in sorted(grouped(found["cells"], ("top",)).items()):
            columns = {name: name for name in ("dataset", "n", "epsilon", "method", "runs", *_FIGURES)}
            lines = [cell | {name: _shown(cell[name]) for name in _FIGURES} for cell in cells]
            parts.append(f"The {top} most frequent itemsets:\n\n{table(columns, lines)}")
    return "\n".join(parts)


def _summary(found: dict[str, Any]) -> str:
    tried, behind = found["cells"], found["behind"]
    ratio = (
        ""
        if found["rmse_ratio"] is None
        else f" RMSE of the best SVSM divided by ours: median {found['rmse_ratio']:.2f}."
    )
    coverages = [
        f" Coverage of 95% intervals of {what}: mean {each[0]:.3f}, least {each[1]:.3f}."
        for name, what in (("coverage_all", "all published itemsets"), ("coverage", "the true top"))
        if (each := found["coverage"][name])
    ]
    return (
        f"best, or within one standard error of the best, in {tried - len(behind)} of {tried} cells of precision and "
        f"NCR; largest deficit {found['most_behind']:.3f}.{ratio}{''.join(coverages)}\n"
        + "".join(f"\n- {line}" for line in behind)
    )


def _shown(figure: Sequence[float] | None) -> str:
    if figure is None:
        return ""
    return f"{figure[0]:.3g}" + (f" ± {figure[1]:.1g}" if figure[1] else "")
