"""Where assocpriv meets other programs: readers of our files, frames as our input, miners beside ours.

Tests of programs that are not among the developer tools run nightly, with the versions in ``peers.txt``.
"""

import random
import shutil
import subprocess
from datetime import datetime
from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from mlxtend.frequent_patterns import apriori, association_rules
from openpyxl import Workbook
from prometheus_client import CollectorRegistry, generate_latest
from scipy.stats import binom, chi2_contingency

import assocpriv as ap
from assocpriv.collect.metrics import LoadSnapshot, Metrics
from assocpriv.files.oblivious_http import GatewayKey, open_request, seal_request
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import BasketError
from assocpriv.guarantees.integer_noise import IntegerNoise, epsilon_from_rho
from assocpriv.guarantees.shuffle_model import shuffled_delta
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports
from assocpriv.spark import connect

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


def test_exploded_lists_lose_empty_baskets() -> None:
    """polars drops empty lists and pandas makes a row without an item, which is refused; lists keep all baskets."""
    lists = pl.DataFrame({"receipt": [1, 2, 3], "item": [["tea"], [], ["milk", "tea"]]})
    layout = "long transaction=receipt item=item"
    assert len(ap.to_baskets(lists.explode("item"), layout=layout)) == 2
    with pytest.raises(BasketError, match="no item"):
        ap.to_baskets(lists.to_pandas().explode("item"), layout=layout)
    assert len(ap.to_baskets(lists["item"].to_list(), empty="keep")) == 3


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
            command = [
                "soffice",
                f"-env:UserInstallation=file://{tmp_path}/profile",
                "--headless",
                "--convert-to",
                kind,
            ]
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
@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs Java")
def test_spark_finds_the_itemsets_that_we_count() -> None:
    """FPGrowth of Spark MLlib, half a count below the threshold, counts the same; an empty basket is one."""
    fpm = pytest.importorskip("pyspark.ml.fpm")
    spark = connect("local[2,2]")
    for seed in range(4):
        baskets = random_baskets(seed)
        frame = spark.createDataFrame([(basket,) for basket in [*baskets, []]], "items array<string>")
        found = fpm.FPGrowth(minSupport=2.5 / (len(baskets) + 1), minConfidence=1.0).fit(frame).freqItemsets.collect()
        assert {frozenset(row["items"]): row["freq"] for row in found} == counted(baskets, 3)


@pytest.mark.slow
def test_rules_of_rusket_and_mlxtend_on_our_itemsets(files: tuple[pd.DataFrame, Path, Path]) -> None:
    """From one table both make the same rules, with twelve equal measures."""
    rusket, (mined, _, _) = pytest.importorskip("rusket"), files
    plain = pd.DataFrame(mined[["support", "itemsets"]])
    tables = (
        association_rules(plain, min_threshold=0.1),
        rusket.association_rules(plain, num_itemsets=20_000, min_threshold=0.1),
    )
    sides = ["antecedents", "consequents"]
    named = [table.assign(**{side: table[side].map(sorted).map("|".join) for side in sides}) for table in tables]
    indexed = [table.set_index(sides).astype(float).sort_index() for table in named]
    pd.testing.assert_frame_equal(*indexed, rtol=1e-9, check_like=True)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "squared"), [(Fraction(2, 49), True), (Fraction(1, 3000), True), (Fraction(1, 4), False)]
)
def test_opendp_draws_the_noise_that_we_draw(rate: Fraction, squared: bool) -> None:
    """Draws of both have one law: by chi-square over some 20 classes, with a false alarm in 10^9 runs."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), (dp.l2_distance(T="f64") if squared else dp.l1_distance(T="i64"))
    scale = sqrt(1 / (2 * rate)) if squared else float(1 / rate)
    make = dp.m.make_gaussian if squared else dp.m.make_laplace
    theirs = np.array(make(*space, scale=scale)([0] * 200_000))
    ours = IntegerNoise(rate, squared).draw(200_000, SystemEntropy())
    ends = np.unique(np.quantile(ours, np.linspace(0, 1, 21)[1:-1]))
    counts = np.array([np.bincount(np.searchsorted(ends, each), minlength=len(ends) + 1) for each in (ours, theirs)])
    assert chi2_contingency(counts).pvalue > 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("variance", [1, 9, 100])
@pytest.mark.parametrize("places", [6, 9])
def test_epsilon_is_that_of_opendp(variance: int, places: int) -> None:
    """ε of ρ and δ is OpenDP's up to 10⁻⁸; the exact ε of the Gaussian, from dp_accounting, is lower."""
    dp, accounting = pytest.importorskip("opendp.prelude"), pytest.importorskip("dp_accounting")
    dp.enable_features("contrib")
    ours = float(epsilon_from_rho(Fraction(1, 2 * variance), Fraction(1, 10**places)))
    noise = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=sqrt(variance))
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1).epsilon(10.0**-places)
    assert ours == pytest.approx(theirs, rel=1e-8)
    accountant = accounting.pld.PLDAccountant().compose(accounting.GaussianDpEvent(sqrt(variance)))
    assert 0.9 * ours < accountant.get_epsilon(10.0**-places) < ours


@pytest.mark.slow
def test_delta_of_shuffled_reports_is_that_of_dp_accounting() -> None:
    """Of the clones' pair (A + Δ, C − A + 1 − Δ), δ from its two tables of probabilities is ours within 0.1%."""
    losses = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    gamma, people = 3, 100
    tables: tuple[dict[tuple[int, int], float], ...] = ({}, {})
    for clones in range(people):
        for first in range(clones + 1):
            chance = binom.pmf(clones, people - 1, 2 / (gamma + 1)) * binom.pmf(first, clones, 0.5)
            for own in (0, 1):
                for table, agrees in zip(tables, (own, 1 - own), strict=True):
                    seen = (first + own, clones - first + 1 - own)
                    table[seen] = table.get(seen, 0.0) + chance * (gamma if agrees else 1) / (gamma + 1)
    upper, lower = ({seen: log(chance) for seen, chance in table.items() if chance} for table in tables)
    pair = losses.from_two_probability_mass_functions(lower, upper, value_discretization_interval=1e-5)
    for epsilon in (0.1, 0.3, 0.6):
        ours = shuffled_delta(epsilon, Fraction(gamma), people, Fraction(2, gamma + 1))
        assert ours == pytest.approx(pair.get_delta_for_epsilon(epsilon), rel=1e-3)


# ---- the channel and the collector


def test_cryptography_opens_what_we_seal() -> None:
    """The request of a device, by pyhpke, is opened by HPKE of cryptography, and the other way round."""
    from cryptography.hazmat.primitives import hpke
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    key = GatewayKey(1, bytes(range(32)))
    private = X25519PrivateKey.from_private_bytes(key.private)
    suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
    content, _ = seal_request(b"message", key.config)
    info = b"message/bhttp request\0" + content[:7]
    assert suite.decrypt(content[7:], private, info) == b"message"
    assert open_request(content[:7] + suite.encrypt(b"other", private.public_key(), info), {1: key})[0] == b"other"


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_has_no_complaint(tmp_path: Path) -> None:
    """Names, units, help texts and types of our metrics follow Prometheus' rules."""
    metrics, registry = Metrics(lambda: LoadSnapshot(1, 2, 3, 4, 5, 6, tmp_path)), CollectorRegistry()
    registry.register(metrics)
    metrics.record_upload(1, 0, 0.02)
    command = ["promtool", "check", "metrics"]
    checked = subprocess.run(command, input=generate_latest(registry), capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
