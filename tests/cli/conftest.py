"""Fixtures of the command line's tests."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import N_ITEMS, TREE, make_baskets, run
from planned import planned

import assocpriv as ap


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with baskets in every format, a plan, reports, itemsets and rules."""
    folder = tmp_path_factory.mktemp("cli")
    baskets = make_baskets()
    lines = [" ".join(map(str, basket)) for basket in baskets]
    pairs = [(f"t{row:05}", item) for row, basket in enumerate(baskets) for item in basket]
    (folder / "b.dat").write_text("\n".join(lines) + "\n")
    (folder / "b.dat.gz").write_bytes(gzip.compress((folder / "b.dat").read_bytes()))
    (folder / "b.csv").write_text("\n".join(",".join(line.split()) for line in lines) + "\n")
    (folder / "long.csv").write_text("transaction,item\n" + "".join(f"{name},{item}\n" for name, item in pairs))
    names, items = zip(*pairs, strict=True)
    pq.write_table(pa.table({"transaction": names, "item": items}), folder / "long.parquet")
    pq.write_table(pa.table({"items": baskets}), folder / "lists.parquet")
    (folder / "names.txt").write_text("\n".join(TREE) + "\n", encoding="utf-8")
    ap.write_plan(planned(N_ITEMS, 3, ap.Breach("5%", "50%")), folder / "plan.json")  # of one question
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "-o", folder / "r.parquet")
    for ending in ("parquet", "csv", "json"):
        run("mine", folder / "r.parquet", "--min-support", "15%", "-o", folder / f"i.{ending}")
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "-o", folder / "others.pq.parquet")
    run("mine", folder / "others.pq.parquet", "--min-support", "15%", "-o", folder / "other.csv")
    return folder
