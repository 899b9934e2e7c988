"""Tables randomized, file to file, beside what nobody can do without: reading the file, and drawing the words.

The ceiling reads the same file with pyarrow, on all cores, and takes as many words from the operating system as
randomizing does; it makes nothing of either.
"""

import secrets
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from assocpriv import randomize
from assocpriv.numeric import NumberColumn, TablePlan
from assocpriv.planning.tables import design_gaussian, design_window
from assocpriv.promise.breaches import Breach
from bench.speed.child import measure
from bench.speed.timing import medians

COLUMNS = 10
WORD_BYTES = 1 << 21  # taken from the operating system at once


def plan_of(columns: int = COLUMNS) -> TablePlan:
    """Return a plan of numbers from 0 to 100, by turns with Gaussian noise and by a square wave."""
    noise = design_gaussian(200, Fraction(1), Fraction(19, 20))
    wave = design_window(200, Fraction(19, 10), optional=False)
    made = tuple(
        NumberColumn(f"x{place}", noise if place % 2 else wave, False, Fraction(0), Fraction(100), 100)
        for place in range(columns)
    )
    return TablePlan(made, (columns + 1) // 2, Breach("1%", "90%"))


def _words(n_bytes: int) -> None:
    for _ in range(0, n_bytes, WORD_BYTES):
        secrets.token_bytes(WORD_BYTES)


def compare(n_records: int) -> dict[str, Any]:
    """Return rates and ratios for CSV and Parquet (a task)."""
    plan, found = plan_of(), {}
    values = np.round(np.random.default_rng(0).random((COLUMNS, n_records)) * 100, 3)
    table = pa.table(dict(zip(plan.names, values, strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        csv.write_csv(table, Path(folder) / "table.csv")
        pq.write_table(table, Path(folder) / "table.parquet")
        for name, read in (("csv", csv.read_csv), ("parquet", pq.read_table)):
            source, output = Path(folder) / f"table.{name}", Path(folder) / "released.parquet"
            ours, bare, drawing = medians(
                lambda s=source, o=output: randomize(s, plan, o, force=True),
                lambda s=source, r=read: r(s),
                lambda: _words(8 * COLUMNS * n_records),
            )
            found[f"{name}_million_values_per_s"] = COLUMNS * n_records / ours / 1e6
            found[f"{name}_ceiling_million_values_per_s"] = COLUMNS * n_records / (bare + drawing) / 1e6
            found[f"{name}_time_over_ceiling"] = ours / (bare + drawing)
    return found


def run(n_records: int) -> dict[str, Any]:
    """Run in a process of its own."""
    return measure("bench.speed.tables:compare", n_records=n_records)
