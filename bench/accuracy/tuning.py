"""Choose settings of each peer at each ε, on sets that no result is reported on.

Every peer is tuned in the same way, by a coarse search for each ε separately: in stages, each with a small grid around
the best settings of the previous stage. A stage takes the settings with the best mean NCR of the top 64 over the sets
for tuning. The correction for long baskets, which changes only supports, is chosen by the mean logarithm of RMSE.
The chosen settings are stored in tuned.json with the scores of all that were tried; :func:`tuned` reads them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.accuracy.data import names
from bench.accuracy.harness import Method, Run, run_cells
from bench.accuracy.peers import OracleSettings, SvimSettings, SvsmSettings, one_round, svsm
from bench.tables import Row, grouped

KEPT = Path(__file__).parent / "tuned.json"
EPSILONS = (0.5, 1.0, 2.0, 2.9444389791664403, 4.0)  # ln 19 is the guarantee 5% → 50%
TOP = 64
PEOPLE = 200_000
# public files, and one generated set of each of three families
SETS = (
    "groceries", "kosarak_head36k", "T5N1D1800", "online-retail", "BMS-WebView-1", "mixed-3", "dense-10",
    "long-pairs-15",
)  # fmt: skip
Stage = Mapping[str, Sequence[Any]]  # field, or items.field: values to try, in all combinations

_SIZES: Stage = {"size": (1, 2, 3, 5, 8)}
_CORRECTION: Stage = {"items.correction": ("all sizes", "to the first empty size"), "items.most_size": (32, 128)}
_SVSM: tuple[Stage, ...] = (
    {"item_share": (0.4, 0.6), "candidates": (1.0, 1.5, 2.0)},
    {"items.find_share": (0.25, 0.4, 0.55)},
    {"items.percentile": (0.8, 0.9, 0.97)},
    _CORRECTION,
)
_WITH_WHEEL = SvimSettings(oracle="wheel", find_size=3)
RUNS: dict[str, tuple[Run, Any, tuple[Stage, ...]]] = {
    "OLH": (one_round, OracleSettings("sampling"), (_SIZES,)),
    "wheel": (one_round, OracleSettings("wheel"), (_SIZES,)),
    "SVSM": (svsm, SvsmSettings(), _SVSM),
    "SVSM, wheel": (svsm, SvsmSettings(items=_WITH_WHEEL), (_SVSM[0], {"items.find_size": (1, 3, 6)}, *_SVSM[1:])),
}


def changed(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings with some fields changed; dotted names are fields of ``items``."""
    inner = {name.partition(".")[2]: value for name, value in changes.items() if "." in name}
    outer = {name: value for name, value in changes.items() if "." not in name}
    return replace(settings, **outer, **({"items": replace(settings.items, **inner)} if inner else {}))


def settings_from(name: str, values: Mapping[str, Any]) -> Any:
    """Make settings of a peer from their asdict form."""
    made = type(RUNS[name][1])
    inner = {"items": SvimSettings(**values["items"])} if "items" in values else {}
    return made(**{**values, **inner})


def tune(peers: Sequence[str] = tuple(RUNS), *, store: Path, kept: Path = KEPT, workers: int = 2) -> dict[str, Any]:
    """Choose settings of peers for every ε; write them to ``kept`` with all scores, and return its content."""
    chosen = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    sets = [name for name in names("tuning", PEOPLE, own_sizes=False) if name.rpartition("-")[0] in SETS]
    for name in peers:
        run, start, stages = RUNS[name]
        best = dict.fromkeys(EPSILONS, start)
        tried: dict[float, list[Any]] = {epsilon: [] for epsilon in EPSILONS}
        for stage in stages:
            grid = combinations_of(stage)
            methods = [
                Method(name, run, start, {epsilon: changed(best[epsilon], change) for epsilon in EPSILONS})
                for change in grid
            ]
            rows = run_cells(methods, sets, EPSILONS, (0,), (TOP,), store=store, workers=workers)
            for epsilon in EPSILONS:
                settings = [method.settings_for(epsilon) for method in methods]
                here = [row for row in rows if row["epsilon"] == epsilon]
                scores = scores_of(settings, here, supports_only=stage is _CORRECTION)
                order = sorted(range(len(grid)), key=lambda place, scores=scores: -scores[place])
                tried[epsilon].extend({"changes": grid[place], "score": scores[place]} for place in order)
                best[epsilon] = settings[order[0]]
        chosen[name] = [
            {"epsilon": epsilon, "settings": asdict(best[epsilon]), "tried": tried[epsilon]} for epsilon in EPSILONS
        ]
        kept.write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")
    return dict(chosen)


def combinations_of(stage: Stage) -> list[dict[str, Any]]:
    """Return every combination of a stage's values.

    >>> combinations_of({"size": (1, 2), "oracle": ("wheel",)})
    [{'size': 1, 'oracle': 'wheel'}, {'size': 2, 'oracle': 'wheel'}]
    """
    return [dict(zip(stage, values, strict=True)) for values in product(*stage.values())]


def scores_of(settings: Sequence[Any], rows: Sequence[Row], *, supports_only: bool) -> list[float]:
    """Return the mean score over data sets of each settings: NCR, or −log RMSE where only supports change."""
    by_settings, scores = grouped(rows, ("settings",)), []
    for each in settings:
        sets = grouped(by_settings[repr(each),], ("dataset",)).values()
        means = [fmean(-math.log(row["rmse"]) if supports_only else row["ncr"] for row in runs) for runs in sets]
        scores.append(round(fmean(means), 5))
    return scores


def tuned(peers: Sequence[str] = tuple(RUNS), kept: Path = KEPT) -> list[Method]:
    """Return peers with the stored settings for every ε; without stored ones, with the initial settings."""
    chosen = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    found = []
    for name in peers:
        run, start, _ = RUNS[name]
        by_epsilon = {entry["epsilon"]: settings_from(name, entry["settings"]) for entry in chosen.get(name, ())}
        found.append(Method(name, run, start, by_epsilon))
    return found
