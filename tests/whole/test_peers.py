"""Where assocpriv meets other programs: readers of our files, frames as our input, miners beside ours.

Tests of programs that are not among the developer tools run nightly, with the versions in ``peers.txt``.
"""

import random
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from mlxtend.frequent_patterns import apriori
from openpyxl import Workbook
from prometheus_client import CollectorRegistry, generate_latest

import assocpriv as ap
from assocpriv.collect.metrics import LoadSnapshot, Metrics
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports

NAMES = ["#7 nut", 'a "quoted", name', "bread", "milk"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, Path, Path]:
    """Return mined itemsets with unusual names, and the CSV and Parquet files of them."""
    rng = random.Random(1)
    shares = 0.5, 0.4, 0.7, 0.6
    drawn = ([name for name, share in zip(NAMES, shares, strict=True) if rng.random() < share] for _ in range(20_000))
    plan = ap.plan(NAMES, transaction_size=3, guarantee=ap.Guarantee("5%", "50%"))
    mined = ap.mine(ap.randomize([basket or ["milk"] for basket in drawn], plan))
    folder = tmp_path_factory.mktemp("peers")
    for ending in (".csv", ".parquet"):
        ap.write_itemsets(mined, folder / f"itemsets{ending}")
    return mined, folder / "itemsets.csv", folder / "itemsets.parquet"


def test_readers_skip_the_line_of_facts(files: tuple[pd.DataFrame, Path, Path]) -> None:
    """The options in docs/formats.md read each row and column; a comment sign would change the names."""
    mined, table, _ = files
    for frame in (pd.read_csv(table, skiprows=1), pl.read_csv(table, skip_lines=1)):
        assert frame.shape == (len(mined), 26)
        assert frame.columns[0] == "support"
        assert list(frame["support"]) == mined["support"].tolist()
    assert "#7 nut" in pd.read_csv(table, skiprows=1)["itemsets"].tolist()
    assert pd.read_csv(table, comment="#")["itemsets"].isna().any()


def test_parquet_readers_get_lists_of_strings(files: tuple[pd.DataFrame, Path, Path]) -> None:
    """pandas, polars and pyarrow see the same itemsets as the frame, name by name."""
    mined, _, table = files
    columns: list[Any] = [pd.read_parquet(table)["itemsets"], pl.read_parquet(table)["itemsets"].to_list()]
    columns.append(pq.read_table(table)["itemsets"].to_pylist())
    assert all([frozenset(each) for each in column] == mined["itemsets"].tolist() for column in columns)


@pytest.mark.slow
def test_workbooks_of_other_programs_hold_the_same_baskets(tmp_path: Path) -> None:
    """Names are equal in .xlsx of openpyxl, XlsxWriter and LibreOffice, and in CSV of LibreOffice."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    day = datetime(2026, 3, 1, 9, 30)
    cells: list[list[Any]] = [
        ["007", "#7 nut"],
        [NAMES[1], 4006381333931],
        ["rye  bread\nsliced", 7],
        ["=x", True, "1-2"],
    ]
    rows = [[number, day, item, 0.5] for number, basket in enumerate(cells) for item in basket]
    rows.insert(3, [])
    book, sheet = Workbook(), xlsxwriter.Workbook(tmp_path / "xlsxwriter.xlsx", {"default_date_format": "dd.mm.yy"})
    page = sheet.add_worksheet()
    for line, row in enumerate([["receipt", "when", "item", "quantity"], *rows]):
        for place, cell in enumerate(row):
            made = book.worksheets[0].cell(line + 1, place + 1, cell)
            (page.write_string if isinstance(cell, str) else page.write)(line, place, cell)
            made.data_type = "s" if isinstance(cell, str) else made.data_type
    sheet.close()
    book.save(tmp_path / "openpyxl.xlsx")
    paths = [tmp_path / "xlsxwriter.xlsx", tmp_path / "openpyxl.xlsx"]
    if shutil.which("soffice"):
        for kind in ("xlsx", "csv"):
            command = f"soffice -env:UserInstallation=file://{tmp_path}/profile --headless --convert-to {kind}".split()
            subprocess.run([*command, "--outdir", tmp_path / kind, *paths[:2]], check=True, capture_output=True)
            paths += [tmp_path / kind / f"{path.stem}.{kind}" for path in paths[:2]]
    for path in paths:
        read = ap.read_baskets(path, layout="long transaction=receipt+when item=item quantity=quantity")
        names = [{read.catalogue[item] for item in basket} for basket in read]
        assert names == [
            {"007", "#7 nut"}, {NAMES[1], "4006381333931"}, {"rye  bread sliced", "7"}, {"=x", "TRUE", "1-2"}
        ]  # fmt: skip


def counted(baskets: list[list[str]], least: int) -> dict[frozenset[str], int]:
    """Return our counts of all itemsets in at least ``least`` baskets."""
    read = Baskets.from_sets([set(basket) for basket in baskets])
    truth = TrueSupports(read.catalogue, RawCounter(read.offsets, read.items, len(read.catalogue)))
    found = sorted(truth.frequent(least / len(baskets), len(read.catalogue)), key=sorted)
    return dict(zip(found, np.rint(truth.supports(found) * len(baskets)).astype(int).tolist(), strict=True))


def indicators(baskets: list[list[str]]) -> pd.DataFrame:
    """Return a column of flags for each item."""
    names = sorted({item for basket in baskets for item in basket})
    return pd.DataFrame({name: [name in basket for basket in baskets] for name in names})


def random_baskets(seed: int) -> list[list[str]]:
    """Return up to 14 baskets of six items; with odd seeds one more item is in all of them."""
    rng = random.Random(seed)
    drawn = ([item for item in "abcdef" if rng.random() < 0.5] for _ in range(rng.randint(5, 14)))
    return [[*basket, "u"] if seed % 2 else basket or ["a"] for basket in drawn]


def tabled(frame: pd.DataFrame, n: int) -> dict[frozenset[str], int]:
    """Return the counts in a table of another miner."""
    return {
        frozenset(items): round(share * n) for share, items in zip(frame["support"], frame["itemsets"], strict=True)
    }


@pytest.mark.parametrize("seed", range(8))
def test_mlxtend_finds_the_itemsets_that_we_count(seed: int) -> None:
    """Itemsets and counts are equal, at a minimum support of exactly a whole count."""
    baskets = random_baskets(seed)
    n = len(baskets)
    assert tabled(apriori(indicators(baskets), min_support=3 / n, use_colnames=True), n) == counted(baskets, 3)


@pytest.mark.slow
def test_other_miners_find_the_itemsets_that_we_count() -> None:
    """pyfim (sam, relim), efficient-apriori, apyori and rusket, half a count below the threshold, find the same."""
    fim, efficient = pytest.importorskip("fim"), pytest.importorskip("efficient_apriori")
    rusket, apyori = pytest.importorskip("rusket"), pytest.importorskip("apyori")
    for seed in range(40):
        baskets = random_baskets(seed)
        n, ours = len(baskets), counted(baskets, 3)
        for miner in (fim.sam, fim.relim):
            assert {frozenset(items): count for items, count in miner(baskets, supp=-3, report="a")} == ours
        levels, _ = efficient.apriori(list(map(tuple, baskets)), min_support=3 / n, min_confidence=1)
        assert {frozenset(items): count for level in levels.values() for items, count in level.items()} == ours
        for mine in (rusket.fpgrowth, rusket.eclat):
            assert tabled(mine(indicators(baskets), min_support=2.5 / n, use_colnames=True), n) == ours
        found = apyori.apriori(baskets, min_support=3 / n)
        assert {each.items: round(each.support * n) for each in found} == ours


@pytest.mark.slow
def test_duckdb_reads_our_files(files: tuple[pd.DataFrame, Path, Path]) -> None:
    """Parquet has lists of strings; the CSV is read with the options in docs/formats.md, and with no others."""
    duckdb = pytest.importorskip("duckdb")
    mined, table, parquet = files
    rows = duckdb.sql(f"select itemsets, support from '{parquet}'").fetchall()
    assert [(frozenset(items), support) for items, support in rows] == list(
        zip(mined["itemsets"], mined["support"], strict=True)
    )
    read = duckdb.sql(f"select support, itemsets from read_csv('{table}', skip=1, strict_mode=false)").fetchall()
    assert [support for support, _ in read] == mined["support"].tolist()
    assert [names for _, names in read] == pd.read_csv(table, skiprows=1)["itemsets"].tolist()


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_has_no_complaint(tmp_path: Path) -> None:
    """Names, units, help texts and types of our metrics follow Prometheus' rules."""
    metrics, registry = Metrics(lambda: LoadSnapshot(1, 2, 3, 4, 5, 6, tmp_path)), CollectorRegistry()
    registry.register(metrics)
    metrics.record_upload(1, 0, 0.02)
    command = ["promtool", "check", "metrics"]
    checked = subprocess.run(command, input=generate_latest(registry), capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
