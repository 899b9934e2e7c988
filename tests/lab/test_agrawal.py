"""The generator of loan applicants: attributes, the five functions by a second reading, halves, files."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from fit import rejects

from assocpriv.promise.errors import FileError, RecordError
from assocpriv.simulation.synthetic import (
    ATTRIBUTES,
    AgrawalSettings,
    agrawal_schema,
    generate_agrawal,
    generate_agrawal_file,
)


def _second_reading(function: int, r: dict[str, Any]) -> bool:
    """Say whether a function holds of one record, as the slides write it (F3 as the paper of 1992)."""
    age, pay, level = r["age"], r["salary"] / 1000, r["elevel"]
    money = 0.67 * (r["salary"] + r["commission"]) - 0.2 * r["loan"] - 10_000
    if function == 1:
        return age < 40 or age >= 60
    if function == 2:
        return (
            (age < 40 and 50 <= pay <= 100)
            or (40 <= age < 60 and 75 <= pay <= 125)
            or (age >= 60 and 25 <= pay <= 75)
        )  # fmt: skip
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
    """Every record's class is what a second reading of the functions says, and each class has half."""
    made = generate_agrawal(AgrawalSettings(function=function, n_records=4_000, seed=3))
    assert (made["class"] == "A").tolist() == [_second_reading(function, r) for r in made.to_dict("records")]
    assert made["class"].value_counts().to_dict() == {"A": 2_000, "B": 2_000}


def test_attributes_lie_in_their_ranges_and_fit() -> None:
    """Class B of function 1 is drawn as the attributes are but for the age: uniform ones fit, others are rejected."""
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


def test_files_hold_the_records(tmp_path: Path) -> None:
    """CSV and Parquet hold the frame's records, in parts too; the same seed gives the same bytes."""
    settings = AgrawalSettings(function=3, n_records=70_001, seed=9)
    frame = generate_agrawal(settings)
    for name in ("a.csv", "a.parquet", "b.csv"):
        assert generate_agrawal_file(settings, tmp_path / name) == 70_001
    assert pd.read_csv(tmp_path / "a.csv").to_dict("list") == frame.to_dict("list")
    assert pq.read_table(tmp_path / "a.parquet").to_pandas().to_dict("list") == frame.to_dict("list")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert not generate_agrawal(AgrawalSettings(function=3, n_records=70_001, seed=8)).equals(frame)


def test_wrong_settings_and_names(tmp_path: Path) -> None:
    """Numbers out of range and endings that say nothing are refused, and nothing is written."""
    for wrong in ({"function": 6}, {"function": 0}, {"n_records": 1}, {"seed": -1}, {"n_records": 2.5}):
        with pytest.raises(RecordError, match=next(iter(wrong))):
            AgrawalSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(FileError, match=r"\.csv or \.parquet"):
        generate_agrawal_file(AgrawalSettings(n_records=10), tmp_path / "a.txt")
    (tmp_path / "s.toml").touch()
    with pytest.raises(FileError, match="exists already"):
        generate_agrawal_file(AgrawalSettings(n_records=10), tmp_path / "a.csv", schema=tmp_path / "s.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def test_the_schema_is_toml() -> None:
    """The schema names every attribute, and the class as a label."""
    import tomllib

    read = tomllib.loads(agrawal_schema())["columns"]
    assert list(read) == [*ATTRIBUTES, "class"]
    assert read["elevel"]["intervals"] == 5
    assert read["class"]["values"] == ["A", "B"]
