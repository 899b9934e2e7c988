"""Tests of synthetic baskets and records.

The basket generator: sizes, structure, determinism, and files that read back.

The generator of loan applicants: attributes, the five functions by a second reading, halves, files.
"""

import csv
import io
import re
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from naive import rejects
from scipy.stats import poisson

from assocpriv.guarantees.errors import BasketError, FileError, RecordError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets
from assocpriv.simulation import synthetic
from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports
from assocpriv.simulation.synthetic import (
    ATTRIBUTES,
    AgrawalSettings,
    QuestSettings,
    generate_agrawal,
    generate_agrawal_file,
    generate_quest,
    product_names,
    write_baskets,
)


def test_wanted_sizes_are_poisson_with_zero_raised_to_one():
    """Target sizes follow max(1, Poisson); plain Poisson and means 2% off are rejected."""
    sizes = synthetic._draw_sizes(QuestSettings(), np.random.default_rng(1), 200_000)
    cells = np.bincount(sizes.clip(0, 14), minlength=15)
    plain, *wrong = (np.append(poisson.pmf(np.arange(14), mean), poisson.sf(13, mean)) for mean in (5.0, 4.9, 5.1))
    raised, *off = (np.append([0, shares[0] + shares[1]], shares[2:]) for shares in (plain, *wrong))
    assert not rejects(cells, raised)
    assert all(rejects(cells, probabilities) for probabilities in (plain, *off))


@pytest.mark.parametrize(("mean", "n_items"), [(1, 1000), (2, 1000), (5, 1000), (10, 1000), (30, 1000), (19, 20)])
def test_baskets_have_the_mean_size_asked_for(mean: float, n_items: int):
    """Means lie within five standard errors of the trial and of the baskets, for any seed; target means do not."""
    settings = QuestSettings.with_mean(mean, n_baskets=20_000, n_items=n_items, seed=mean)
    sizes = generate_quest(settings).sizes
    assert sizes.mean() == pytest.approx(mean, abs=0.005 * mean + 5 * sizes.std() * sqrt(1 / 16_384 + 1 / 20_000))
    assert settings.mean_size != mean


@pytest.mark.parametrize(("mean", "words"), [(20, "at most about 19.1"), (0.5, "at least 1")])
def test_a_mean_size_that_baskets_cannot_have_is_refused(mean: float, words: str):
    """More than nearly all of 20 items, and less than one."""
    with pytest.raises(BasketError, match=f"over 20 items is {words}, not {mean}"):
        QuestSettings.with_mean(mean, n_items=20)


def test_unknown_published_settings_are_refused():
    """The error names the known ones."""
    with pytest.raises(BasketError, match="no settings 'T5'; known are T10I4D100K"):
        QuestSettings.like("T5")


def test_the_published_settings_give_baskets_like_the_published_ones():
    """T10I4D100K: mean 10.10, 870 items, the largest in 7.8%; itemsets of 1% 385, of .5% 1,073, of these 342 pairs."""
    made = generate_quest(QuestSettings.like("T10I4D100K", n_baskets=100_000))
    truth = TrueSupports(made.catalogue, RawCounter(made.offsets, made.items, len(made.catalogue)))
    items, found = np.bincount(made.items), truth.frequent(0.005, 6)
    shown = made.sizes.mean(), np.count_nonzero(items), items.max() / len(made.offsets)
    assert shown == pytest.approx((10.1, 870, 0.078), rel=0.15)
    assert made.sizes.mean() == pytest.approx(10.1, abs=0.15)
    assert (len(truth.frequent(0.01, 6)), len(found)) == pytest.approx((385, 1_073), rel=0.15)
    assert sum(len(each) == 2 for each in found) == pytest.approx(342, rel=0.35)


def test_instances_lose_items_by_the_corruption_level():
    """A level of 1/2 keeps 4, 3, 2, 1 of 4 items with probability 1/2, 1/4, 1/8, 1/8, all items alike."""
    pattern = synthetic._Patterns(np.array([[3, 5, 7, 9]]), np.array([4]), np.array([1.0]), np.array([0.5]))
    items, kept = synthetic._draw_instances(pattern, 40_000, np.random.default_rng(2))
    for level in (0.5, 0.47, 0.53):
        probabilities = [level**3, level**2 - level**3, level - level**2, 1 - level]
        assert rejects(np.bincount(kept, minlength=5)[1:], probabilities) == (level != 0.5)
    assert (np.sort(items, axis=1) == [3, 5, 7, 9]).all()
    assert not rejects(np.bincount(items[:, 0])[3::2], [0.25] * 4)


def test_patterns_are_distinct_items_of_the_right_mean_size_and_overlap():
    """Patterns have distinct items and the right mean size (|z| < 4.9); correlated neighbours share items."""
    shared = []
    for correlation in (0.0, 0.5):
        settings = QuestSettings(n_patterns=3_000, correlation=correlation, item_skew=0.0)
        patterns = synthetic._draw_patterns(settings, np.random.default_rng(3))
        rows = [set(row[:size].tolist()) for row, size in zip(patterns.items, patterns.sizes, strict=True)]
        assert [len(row) for row in rows] == patterns.sizes.tolist()
        assert abs(patterns.sizes.mean() - 3.5) < 4.9 * np.sqrt(2.5 / 3_000)
        assert ((patterns.corruption >= 0) & (patterns.corruption <= 1)).all()
        shared.append(sum(len(a & b) for a, b in zip(rows[1:], rows[:-1], strict=True)))
    assert shared[0] < 0.02 * 3_000  # at random 3.5² / 1000 per pair
    assert shared[1] > 0.8 * 3_000


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"n_items": 1}, {"n_items": 3, "mean_pattern_size": 20.0}, {"mean_size": 0.01},
        {"mean_size": 60.0, "n_patterns": 3}, {"n_patterns": 1, "correlation": 0.0},
        {"corruption_mean": 1.0, "corruption_sd": 0.0},
        {"corruption_mean": 0.0, "corruption_sd": 0.0, "correlation": 1.0},
        {"item_skew": 10.0, "mean_pattern_size": 30.0, "n_items": 100},
    ],
)  # fmt: skip
def test_baskets_are_strictly_increasing_and_in_range(changes, monkeypatch):
    """For all settings, every basket has at least one item, and its items are increasing and in the catalogue."""
    monkeypatch.setattr(synthetic, "CHUNK_BASKETS", 64)
    settings = QuestSettings(**{"n_baskets": 200, "n_patterns": 50} | changes)
    baskets = generate_quest(settings)
    assert baskets.offsets.dtype == baskets.items.dtype == np.int64
    assert (len(baskets), len(baskets.catalogue)) == (200, settings.n_items)
    assert (baskets.offsets[0], baskets.offsets[-1]) == (0, baskets.items.size)
    for basket in _selected(baskets):
        assert basket
        assert basket == sorted({*basket} & {*range(settings.n_items)})


def test_product_names_are_distinct_and_neighbours_differ():
    """A thousand names without digits or delimiters, in mixed order; further names are numbered."""
    names = product_names(2_500)
    assert len(set(names)) == 2_500
    assert names[:1_000] == product_names(1_000)
    assert all(re.fullmatch("[a-z ]+", name) for name in names[:1_000])
    assert all(re.fullmatch("[a-z ]+ [23]", name) for name in names[1_000:])
    assert names[2_400].endswith(" 3")
    for one, two in pairwise(names):
        assert one.split(" ", 1)[0] != two.split(" ", 1)[0]
        assert one.split(" ", 1)[1] != two.split(" ", 1)[1]


def _selected(baskets):
    return [baskets.items[a:b].tolist() for a, b in pairwise(baskets.offsets.tolist())]


def _written(baskets, form):
    stream = io.BytesIO()
    write_baskets(baskets, stream, form)
    return stream.getvalue().decode()


@pytest.mark.parametrize("chunk", [64, 1 << 17])
def test_written_baskets_read_back(chunk, monkeypatch):
    """Both formats are read back by a naive parser, for all chunk sizes, with progress for each chunk."""
    monkeypatch.setattr(synthetic, "CHUNK_BASKETS", chunk)
    calls = []
    baskets = generate_quest(QuestSettings(n_baskets=200), progress=lambda *call: calls.append(call))
    assert calls == [(min(at, 200), 200) for at in range(chunk, 200 + chunk, chunk)]
    rows = list(csv.reader(io.StringIO(_written(baskets, "basket"), newline="")))
    assert [[baskets.catalogue.index_of[name] for name in row] for row in rows] == _selected(baskets)
    for part in (baskets, baskets[70:75]):  # a slice's first offset is not 0
        lines = _written(part, "dat").splitlines()
        assert [[int(item) for item in line.split(" ")] for line in lines] == _selected(part)


def test_empty_baskets_and_names_that_need_quotes_read_back():
    """An empty basket is an empty line, and names with commas, quotes or other letters are preserved."""
    catalogue = Catalogue(["plain", "a, b", 'six " nails', "crème fraîche"])
    for lists in ([], [[]], [[], [0, 2], [], [], [1], [0, 1, 2, 3], []]):
        baskets = Baskets.from_sets([[catalogue[item] for item in row] for row in lists], catalogue, empty="keep")
        rows = list(csv.reader(io.StringIO(_written(baskets, "basket"), newline="")))
        assert [[catalogue.index_of[name] for name in row] for row in rows] == lists
        assert [[int(item) for item in line.split()] for line in _written(baskets, "dat").splitlines()] == lists
    with pytest.raises(BasketError, match="format must be"):
        _written(baskets, "csv")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_baskets": 10.0}, {"n_baskets": True}, {"n_items": (1 << 20) + 1}, {"seed": -1}, {"mean_size": 0},
        {"mean_size": float("nan")}, {"mean_size": "5"}, {"correlation": -0.1}, {"corruption_mean": 1.1},
        {"item_skew": 11}, {"pattern_skew": None},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(wrong):
    """A setting outside its range is a BasketError that names it."""
    with pytest.raises(BasketError, match=f"^{next(iter(wrong))} must be"):
        QuestSettings(**wrong)


def _second_reading(function: int, r: dict[str, Any]) -> bool:
    """Return whether a function holds for one record, as in the slides (F3 as in the paper of 1992)."""
    age, pay, level = r["age"], r["salary"] / 1000, r["elevel"]
    money = 0.67 * (r["salary"] + r["commission"]) - 0.2 * r["loan"] - 10_000
    if function == 1:
        return age < 40 or age >= 60
    if function == 2:
        if age < 40:
            return 50 <= pay <= 100
        return 75 <= pay <= 125 if age < 60 else 25 <= pay <= 75
    if function == 3:
        if age < 40:
            return (level in (0, 1) and 25 <= pay <= 75) or (level in (2, 3) and 50 <= pay <= 100)
        if age < 60:
            return (level in (1, 2, 3) and 50 <= pay <= 100) or (level == 4 and 75 <= pay <= 125)
        return (level in (2, 3, 4) and 50 <= pay <= 100) or (level == 1 and 25 <= pay <= 75)
    if function == 4:
        return money > 0
    return money + 0.2 * 0.1 * r["hvalue"] * max(r["hyears"] - 20, 0) > 0


@pytest.mark.parametrize("function", range(1, 6))
def test_classes_are_those_of_the_functions(function: int) -> None:
    """Every record's class agrees with a second implementation of the functions; each class has half of the records."""
    made = generate_agrawal(AgrawalSettings(function=function, n_records=4_000, seed=3))
    assert (made["class"] == "A").tolist() == [_second_reading(function, r) for r in made.to_dict("records")]
    assert made["class"].value_counts().to_dict() == {"A": 2_000, "B": 2_000}


def test_attributes_lie_in_their_ranges_and_fit() -> None:
    """Class B of function 1 has the attributes' distributions except for age: uniform ones fit, others are rejected."""
    made = generate_agrawal(AgrawalSettings(function=1, n_records=100_000))
    for name, known in ATTRIBUTES.items():
        assert made[name].between(known.low, known.high).all()
        if known.values:
            assert sorted(made[name].unique()) == list(range(known.low, known.high))
    for name in ("salary", "loan", "hyears"):
        known = ATTRIBUTES[name]
        tenths = ((made[name] - known.low) * 10 // (known.high - known.low)).clip(0, 9).astype(int)
        observed = tenths.value_counts().sort_index()
        assert not rejects(observed, [0.1] * 10)
        assert rejects(observed, [0.11] * 5 + [0.09] * 5)
    assert ((made["commission"] == 0) == (made["salary"] >= 75_000)).all()
    per_zip = made["hvalue"] / made["zipcode"]
    assert per_zip.between(49_999, 150_001).all()


def test_files_hold_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CSV and Parquet have the frame's records, also in parts; the same seed gives the same bytes."""
    monkeypatch.setattr(synthetic, "_CHUNK_RECORDS", 1000)
    settings = AgrawalSettings(function=3, n_records=7_001, seed=9)
    frame = generate_agrawal(settings)
    for name in ("a.csv", "a.parquet", "b.csv"):
        assert generate_agrawal_file(settings, tmp_path / name) == 7_001
    assert pd.read_csv(tmp_path / "a.csv").to_dict("list") == frame.to_dict("list")
    assert pq.read_table(tmp_path / "a.parquet").to_pandas().to_dict("list") == frame.to_dict("list")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert not generate_agrawal(AgrawalSettings(function=3, n_records=7_001, seed=8)).equals(frame)


def test_wrong_settings_and_names(tmp_path: Path) -> None:
    """Numbers out of range and unknown file endings are refused, and nothing is written."""
    for wrong in ({"function": 6}, {"function": 0}, {"n_records": 1}, {"seed": -1}, {"n_records": 2.5}):
        with pytest.raises(RecordError, match=next(iter(wrong))):
            AgrawalSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(FileError, match=r"\.csv or \.parquet"):
        generate_agrawal_file(AgrawalSettings(n_records=10), tmp_path / "a.txt")
    (tmp_path / "s.toml").touch()
    with pytest.raises(FileError, match="exists already"):
        generate_agrawal_file(AgrawalSettings(n_records=10), tmp_path / "a.csv", schema=tmp_path / "s.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]
