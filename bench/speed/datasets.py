"""Make the data to mine, as tasks: report files, and the raw baskets as a FIMI file."""

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.speed.measuring import ROOT

SHARED = ROOT.parent / "shared" / "data"
POOL = 10**7  # maximum number of distinct baskets; further reports repeat them with fresh entropy
_BASKETS, _REPORTS, _PLAN = "baskets.dat", "reports.parquet", "plan.json"


def shared_file(name: str) -> Path | None:
    """Return a public data set in the folder next to the clone, or None if it is missing."""
    path = SHARED / name
    return path if path.is_file() else None


def quest(folder: str, reports: int, items: int, *, plain: bool = True) -> dict[str, Any]:
    """Make reports of generated baskets; write the raw baskets on demand."""
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.records.baskets import Baskets
    from assocpriv.simulation.synthetic import QuestSettings, generate_quest, write_baskets

    named = generate_quest(QuestSettings(n_baskets=min(reports, POOL), n_items=items))
    pool = Baskets(Catalogue.numbered(items), named.offsets, named.items)
    if plain:
        with (Path(folder) / _BASKETS).open("wb") as stream:
            write_baskets(pool, stream, "dat")
    return _write_reports(folder, pool, reports, "50%")


def from_file(folder: str, source: str, *, posterior: str = "50%") -> dict[str, Any]:
    """Make reports of the baskets of a public file."""
    from assocpriv import read_baskets

    target = Path(folder) / _BASKETS
    with (gzip.open if source.endswith(".gz") else open)(source, "rb") as packed, target.open("wb") as stream:
        shutil.copyfileobj(packed, stream)
    baskets = read_baskets(target)
    return _write_reports(folder, baskets, len(baskets), posterior)


def _write_reports(folder: str, pool: Any, reports: int, posterior: str) -> dict[str, Any]:
    from assocpriv.files.plan_files import write_plan
    from assocpriv.files.report_files import write_reports
    from assocpriv.guarantees.amplification import Guarantee
    from assocpriv.planning.basket_planner import make_plan
    from bench.plans import about_items

    sizes = {"transaction_size": 5, "itemset_size": 3}
    made = make_plan(pool.catalogue, Guarantee("5%", posterior), reports=reports, **sizes)
    plan = about_items(made)  # other miners do not estimate sizes
    places = {name: str(Path(folder) / name) for name in (_BASKETS, _REPORTS, _PLAN)}
    write_plan(plan, places[_PLAN], force=True)
    start = perf_counter()
    write_reports(_packed(pool, plan, reports), plan, places[_REPORTS], force=True)
    return {
        "baskets_path": places[_BASKETS],
        "reports_path": places[_REPORTS],
        "plan_path": places[_PLAN],
        "reports": reports,
        "items": plan.n_items,
        **sizes,
        "code": plan.items.generator.kind,
        "insert_bits": getattr(plan.items.operator, "insert_bits", None),  # None for a fixed size
        "report_bits": plan.items.report_bits,
        "randomize_and_write_s": perf_counter() - start,
    }


def _packed(pool: Any, plan: Any, reports: int) -> Iterator[NDArray[np.uint8]]:
    """Yield ``reports`` reports, using the baskets repeatedly if needed."""
    from assocpriv.client.baskets.bulk_client import randomize_chunks
    from assocpriv.guarantees.entropy import SystemEntropy

    for done in range(0, reports, len(pool)):
        for chunk in randomize_chunks(pool[: reports - done], plan, entropy=SystemEntropy()):
            yield chunk.packed
