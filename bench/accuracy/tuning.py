"""Which settings suit each method at each ε, chosen on data that no result is reported on.

Every method is tuned alike: the settings of its grid that have the best mean NCR of the top 64 over the data sets for
tuning. What was chosen is kept in tuned.json, with the figures of the whole grid; :func:`tuned` makes methods of it.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.accuracy.bits import BitSettings, bit_flipping
from bench.accuracy.data import TUNING
from bench.accuracy.harness import Method, Row, Run, run_cells
from bench.accuracy.peers import OlhSettings, SvimSettings, SvsmSettings, olh_items, svim, svsm

KEPT = Path(__file__).parent / "tuned.json"
EPSILONS = (1.0, 2.0, math.log(19), 4.0)
TOP = 64
RUNS: dict[str, Run] = {"SVSM": svsm, "SVIM": svim, "OLH": olh_items, "bit flipping": bit_flipping}
GRIDS: dict[str, list[Any]] = {
    "SVSM": [
        SvsmSettings(item_share=share, candidates=itemsets)
        for share, itemsets in product((0.3, 0.4, 0.5, 0.6, 0.7), (1.0, 1.5, 2.0))
    ],
    "SVIM": [
        SvimSettings(candidates=candidates, find_share=share)
        for candidates, share in product((1.0, 1.5, 2.0), (0.2, 0.4))
    ],
    "OLH": [OlhSettings(size) for size in (1, 2, 3, 5, 8)],
    "bit flipping": [BitSettings(size, optimized) for size, optimized in product((1, 2, 3, 5), (False, True))],
}


def settings_from(name: str, values: Mapping[str, Any]) -> Any:
    """Make settings of a peer from what asdict made of them."""
    if name == "SVSM":
        return SvsmSettings(**{**values, "items": SvimSettings(**values["items"])})
    made: Mapping[str, Callable[..., Any]] = {"SVIM": SvimSettings, "OLH": OlhSettings, "bit flipping": BitSettings}
    return made[name](**values)


def tune(
    names: Sequence[str] = tuple(RUNS),
    epsilons: Sequence[float] = EPSILONS,
    seeds: Sequence[int] = (0, 1),
    *,
    store: Path,
    kept: Path | None = KEPT,
) -> dict[str, Any]:
    """Choose settings of peers for every ε.

    Args:
        names: of peers in RUNS.
        epsilons: to tune for.
        seeds: runs of each setting on each data set.
        store: file of the runs, as run_cells takes it.
        kept: file that the choices are written to, beside those of other peers; None to write nothing.

    Returns:
        {peer: [{epsilon, settings, ncr, grid: [{settings, ncr, ncr by data set}, the best first]}]}.
    """
    chosen = json.loads(kept.read_text(encoding="utf-8")) if kept and kept.exists() else {}
    for name in names:
        methods = [Method(f"{name} #{number}", RUNS[name], settings) for number, settings in enumerate(GRIDS[name])]
        rows = run_cells(methods, tuple(TUNING), epsilons, seeds, (TOP,), store=store)
        chosen[name] = [choose(methods, [row for row in rows if row["epsilon"] == each], each) for each in epsilons]
        if kept:
            kept.write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")
    return dict(chosen)


def choose(methods: Sequence[Method], rows: Sequence[Row], epsilon: float) -> dict[str, Any]:
    """Return the settings of the best mean NCR and the whole grid, of the runs with one ε."""
    grid: list[dict[str, Any]] = []
    for method in methods:
        mine = [row for row in rows if row["method"] == method.name]
        datasets = sorted({row["dataset"] for row in mine})
        by_data = {name: fmean(row[f"ncr@{TOP}"] for row in mine if row["dataset"] == name) for name in datasets}
        grid.append({"settings": asdict(method.settings), "ncr": fmean(by_data.values()), "by_data": by_data})
    grid.sort(key=lambda entry: -entry["ncr"])
    return {"epsilon": epsilon, "settings": grid[0]["settings"], "ncr": grid[0]["ncr"], "grid": grid}


def tuned(names: Sequence[str] = tuple(RUNS), kept: Path = KEPT) -> list[Method]:
    """Return peers with the settings kept for every ε; for another ε, and without the file, with the defaults."""
    chosen = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    defaults = {"SVSM": SvsmSettings(), "SVIM": SvimSettings(), "OLH": OlhSettings(), "bit flipping": BitSettings()}
    return [
        Method(
            name,
            RUNS[name],
            defaults[name],
            {entry["epsilon"]: settings_from(name, entry["settings"]) for entry in chosen.get(name, ())},
        )
        for name in names
    ]
