"""Distributions from a file of released records to a table, beside reading the same file with pyarrow.

pyarrow reads twice: the bytes alone, and comparing each page with its checksum, as our reader always does.

Ten columns, by turns behind Gaussian noise and under a square wave; ours is ap.reconstruct and writing the table.
What remains when the reading is done does not depend on the number of records: a tenth of them shows it.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.stats import beta

from assocpriv import reconstruct
from assocpriv.files.reports import write_reports
from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.columns import transition
from assocpriv.plans.tables import TablePlan
from bench.speed.child import measure
from bench.speed.tables import COLUMNS, plan_of
from bench.speed.timing import medians

_BATCH = 1 << 18


def _released(plan: TablePlan, n_records: int) -> Any:
    """Yield packed reports of Beta(5, 2), drawn from the law of the codes."""
    true = np.diff(beta(5, 2).cdf(np.linspace(0, 1, 101)))
    laws = [np.cumsum(transition(column) @ true) for column in plan.columns]

    def draw(part: tuple[int, int]) -> Any:
        rng, records = np.random.default_rng(part[0]), np.zeros(part[1], dtype=plan.record_type)
        for place, law in enumerate(laws):
            records[f"c{place}"] = np.searchsorted(law, law[-1] * rng.random(part[1]), side="right")
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
            ours, reading, checked = medians(
                lambda s=source, o=output: reconstruct(s).write(o, force=True),
                lambda s=source: pq.read_table(s),
                lambda s=source: pq.read_table(s, page_checksum_verification=True),
            )
            found |= {
                f"{name}_ours_s": ours,
                f"{name}_pyarrow_read_s": reading,
                f"{name}_pyarrow_checked_read_s": checked,
                f"{name}_ours_over_read": ours / reading,
                f"{name}_ours_over_checked_read": ours / checked,
            }
    return found


def run(n_records: int) -> dict[str, Any]:
    """Run in a process of its own, whose peak memory is known."""
    return measure("bench.speed.reconstruction:compare", n_records=n_records)
