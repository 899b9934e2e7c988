"""Suppressing Adult expanded as in section 5.3 of WFY05, file to file, against the number of records.

The channel is seven columns; the rarer half of the marital status is bounded by 90%. Ours is suppress_file in a process
of its own: imports, reading, tests of groups, writing and the check of what was written. Beside it what nobody can do
without: pyarrow reads the same file and writes it again, on all cores, likewise in a process of its own. The paper
took 192 s for 1,000,000 records (Pentium IV, 3 GHz, 2005), 150 of them for the suppression.
"""

import json
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from bench.accuracy.suppression_tables import load, templates
from bench.speed.child import measure
from bench.speed.datasets import SHARED
from bench.speed.expansion import SENSITIVE, write_expanded
from bench.speed.timing import take_turns
from bench.tables import table

SIZES = (200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000)
QUICK = (50_000, 100_000)
PERCENT = 90
_TABLE, _RELEASED, _TEMPLATES = "table", "released", "templates.json"


def release(folder: str, form: str) -> dict[str, Any]:
    """Suppress the table of a folder (a task)."""
    from assocpriv.suppress import suppress_file

    place = Path(folder)
    start, used = perf_counter(), process_time()
    done = suppress_file(place / f"{_TABLE}.{form}", place / _TEMPLATES, place / f"{_RELEASED}.{form}", force=True)
    return {
        "call_s": perf_counter() - start,
        "cpu_s": process_time() - used,
        "groups": done.told["groups"],
        "tests": done.told["tested"],
    }


def copy(folder: str, form: str) -> dict[str, Any]:
    """Read the table of a folder with pyarrow and write it (a task)."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    source, output = Path(folder) / f"{_TABLE}.{form}", Path(folder) / f"copy.{form}"
    start = perf_counter()
    if form == "csv":
        csv.write_csv(csv.read_csv(source), output)
    else:
        pq.write_table(pq.read_table(source), output)
    return {"call_s": perf_counter() - start}


def run(*, quick: bool = False) -> dict[str, Any]:
    """Return seconds, memory and microseconds a record by number of records; CSV, and Parquet at 1,000,000."""
    found = []
    for records in QUICK if quick else SIZES:
        for form in ("csv", "parquet") if records == 1_000_000 else ("csv",):
            with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
                found.append(_measure(Path(folder), records, form))
    return {"rows": found}


def _measure(folder: Path, records: int, form: str) -> dict[str, Any]:
    write_expanded(folder / f"{_TABLE}.{form}", records)
    adult = load("adult", SHARED).both
    (folder / _TEMPLATES).write_text(json.dumps(templates(adult, [SENSITIVE], PERCENT)), encoding="utf-8")
    ours, bare = take_turns(
        {
            task: lambda task=task: measure(f"bench.speed.suppression:{task}", folder=str(folder), form=form)
            for task in ("release", "copy")
        }
    ).values()
    for side in (ours, bare):
        if "failure" in side:
            raise RuntimeError(f"{records:,} records as {form}: {side['failure']}")
    return {
        "records": records,
        "form": form,
        "file_mb": (folder / f"{_TABLE}.{form}").stat().st_size / 1e6,
        "process_s": ours["process_s"],
        "call_s": ours["call_s"],
        "cpu_s": ours["cpu_s"],
        "us_a_record": 1e6 * ours["call_s"] / records,
        "peak_mb": ours["peak_mb"],
        "copy_s": bare["call_s"],
        "copy_peak_mb": bare["peak_mb"],
        "ours_over_copy": ours["call_s"] / bare["call_s"],
        "groups": ours["groups"],
        "tests": ours["tests"],
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    columns = {
        "records": "records", "form": "form", "file MB": "file_mb", "process s": "process_s", "call s": "call_s",
        "of all cores s": "cpu_s",
        "µs a record": "us_a_record", "peak MB": "peak_mb", "pyarrow copies s": "copy_s",
        "ours ÷ copy": "ours_over_copy", "groups": "groups", "tests": "tests",
    }  # fmt: skip
    return table(columns, result["rows"])
