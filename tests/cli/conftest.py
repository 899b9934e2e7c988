"""Fixtures of the command line's tests."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import N_ITEMS, TREE, make_baskets, run
from naive import planned

import assocpriv as ap


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with baskets in every format, a plan, reports, itemsets and rules."""
    folder = tmp_path_factory.mktemp("cli")
    baskets = make_baskets()
    lines = [" ".join(map(str, basket)) for basket in baskets]
    (folder / "b.dat").write_text("\n".join(lines) + "\n")
    (folder / "b.csv").write_text("\n".join(",".join(line.split()) for line in lines) + "\n")
    pq.write_table(pa.table({"items": baskets}), folder / "lists.parquet")
    (folder / "names.txt").write_text("\n".join(TREE) + "\n", encoding="utf-8")
    ap.write_plan(planned(N_ITEMS, 3, ap.Guarantee("5%", "50%")), folder / "plan.json")  # of one report type
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "-o", folder / "r.parquet")
    for ending in ("parquet", "csv", "json"):
        run("mine", folder / "r.parquet", "--min-support", "15%", "-o", folder / f"i.{ending}")
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "-o", folder / "others.pq.parquet")
    run("mine", folder / "others.pq.parquet", "--min-support", "15%", "-o", folder / "other.csv")
    return folder
