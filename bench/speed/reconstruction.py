"""Distributions from a file of released records to a table, beside reading the same file with pyarrow.

Ten columns, by turns behind Gaussian noise and under a square wave; ours is numeric.reconstruct and writing the table.
What remains when the reading is done does not depend on the number of records: a tenth of them shows it.
"""

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from assocpriv.core.parallel import map_ahead
from assocpriv.files.reports import write_reports
from assocpriv.numeric import reconstruct
from assocpriv.plans.numeric.plan import TablePlan
from bench.speed.child import measure
from bench.speed.tables import COLUMNS, plan_of
from bench.speed.timing import medians

_BATCH = 1 << 18


def _released(plan: TablePlan, n_records: int) -> Any:
    """Yield packed reports of random codes of the plan: what is timed depends on no value."""

    def draw(part: tuple[int, int]) -> Any:
        rng, records = np.random.default_rng(part[0]), np.zeros(part[1], dtype=plan.record_type)
        for place, codes in enumerate(plan.code_counts):
            middle = codes // 2
            spread = rng.normal(middle, codes / 8, part[1])
            records[f"c{place}"] = np.clip(spread, 0, plan.columns[place].codes - 1)
        return records.view(np.uint8).reshape(part[1], plan.report_bytes)

    starts = range(0, n_records, _BATCH)
    return map_ahead(draw, ((start, min(_BATCH, n_records - start)) for start in starts))


def compare(n_records: int) -> dict[str, Any]:
    """Return seconds and ratios (a task)."""
    plan, found = plan_of(), {"records": n_records, "columns": COLUMNS}
    with tempfile.TemporaryDirectory() as folder:
        for name, n in (("tenth", n_records // 10), ("all", n_records)):
            source, output = Path(folder) / f"{name}.parquet", Path(folder) / "found.parquet"
            write_reports(_released(plan, n), plan, source)
            ours, reading = medians(
                lambda s=source, o=output: reconstruct(s).write(o, force=True), lambda s=source: pq.read_table(s)
            )
            found |= {
                f"{name}_ours_s": ours,
                f"{name}_pyarrow_read_s": reading,
                f"{name}_ours_over_read": ours / reading,
            }
        start = perf_counter()
        reconstruct(Path(folder) / "tenth.parquet")
        found["ten_times_the_records_cost"] = found["all_ours_s"] / max(found["tenth_ours_s"], perf_counter() - start)
    return found


def run(n_records: int) -> dict[str, Any]:
    """Run in a process of its own, whose peak memory is known."""
    return measure("bench.speed.reconstruction:compare", n_records=n_records)
