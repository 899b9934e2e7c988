"""Columns of a table as items of baskets: names, cuts, baskets of the same people beside, and what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import refused_without_output, run_json

from assocpriv.baskets import Baskets, read_baskets
from assocpriv.core.errors import PlanError, RecordError
from assocpriv.numeric import items
from assocpriv.planning.numeric.item_columns import item_columns, item_names

AGE = {"kind": "number", "low": 20, "high": 80, "release": "gaussian", "privacy": "100%"}
REGION = {"kind": "category", "values": ["north", "south"], "release": "response"}
SCHEMA = {"columns": {"age": AGE, "region": REGION}}
TABLE = pd.DataFrame({"region": ["south", "north", None], "age": [29.5, 80, None]})


@pytest.mark.parametrize(
    ("low", "high", "bins", "names"),
    [
        (20, 80, 3, ["20–39", "40–59", "60–80"]),
        (0, 3, 3, ["0", "1", "2–3"]),
        (-10, 10, 2, ["-10–-1", "0–10"]),
        (0, 1, 4, ["0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1"]),
        (
            20_000,
            150_000,
            6,
            ["20000–41700", "41700–63300", "63300–85000", "85000–107000", "107000–128000", "128000–150000"],
        ),
        (0, 1, 3, ["0–0.333", "0.333–0.667", "0.667–1"]),
        (1000, 1001, 4, ["1000–1000.25", "1000.25–1000.5", "1000.5–1000.75", "1000.75–1001"]),
    ],
)
def test_intervals_read_well(low: float, high: float, bins: int, names: list[str]) -> None:
    """Whole numbers are named by the first and the last, others by their ends, with digits that tell them apart."""
    plan = item_columns({"columns": {"x": AGE | {"low": low, "high": high}}}, bins)
    assert item_names(plan) == (tuple(f"x={name}" for name in names),)


def test_a_record_is_a_basket() -> None:
    """Each column gives the item that its value lies in, a missing value none; the schema's intervals count."""
    made = items(TABLE, SCHEMA, bins=6)
    names = [sorted(made.catalogue[item] for item in basket) for basket in made]
    assert names == [["age=20–29", "region=south"], ["age=70–80", "region=north"], []]
    assert len(items(TABLE, {"columns": {"age": AGE | {"intervals": 7}, "region": REGION}}).catalogue) == 9
    assert len(items(TABLE, SCHEMA).catalogue) == 7


def test_baskets_come_beside() -> None:
    """Items of baskets of the same people follow those of the columns, in one catalogue."""
    beside = Baskets.from_sets([{"milk"}, set(), {"beer", "milk"}])
    made = items(TABLE, SCHEMA, bins=2, baskets=beside)
    assert list(made.catalogue) == ["age=20–49", "age=50–80", "region=north", "region=south", "beer", "milk"]
    assert [sorted(basket) for basket in made] == [[0, 3, 5], [1, 2], [4, 5]]
    assert [sorted(basket) for basket in items(TABLE[1:], SCHEMA, bins=2, baskets=beside[1:])] == [[1, 2], [4, 5]]


def test_what_does_not_go_together_is_refused() -> None:
    """Another number of baskets, an item with a column's name, columns whose items share names, and no bins."""
    with pytest.raises(RecordError, match="the table has 3 records, the baskets are 1"):
        items(TABLE, SCHEMA, baskets=Baskets.from_sets([{"milk"}]))
    with pytest.raises(RecordError, match="1 item of the baskets has the name"):
        items(TABLE, SCHEMA, baskets=Baskets.from_sets([{"region=north"}, {"a"}, {"b"}]))
    same = {"columns": {"x": REGION | {"values": ["y=a", "b"]}, "x=y": REGION | {"values": ["a", "b"]}}}
    with pytest.raises(PlanError, match="two items of the columns have the same name"):
        items(TABLE, same)
    with pytest.raises(PlanError, match=r"bins must be in 1\.\.1000"):
        items(TABLE, SCHEMA, bins=0)
    steps = {"kind": "number", "low": 0, "high": 5, "cells": 5, "release": "as-is"}
    with pytest.raises(PlanError, match="column steps: its 5 cells cannot be cut into 3 equal intervals"):
        items(TABLE, {"columns": {"age": AGE, "steps": steps}}, bins=3)
    with pytest.raises(PlanError, match=r"bins \(3\) are of columns of numbers, and the schema has none"):
        items(TABLE, {"columns": {"region": REGION}}, bins=3)
    with pytest.raises(RecordError, match="column age") as refused:
        items(pd.DataFrame({"age": [19.25], "region": ["north"]}), SCHEMA)
    assert "19" not in str(refused.value)


def schema_file(folder: Path) -> Path:
    """Write the schema."""
    lines = ["[columns.age]", 'kind = "number"', "low = 20", "high = 80", 'release = "as-is"', "[columns.region]"]
    lines += ['kind = "category"', 'values = ["north", "south"]', 'release = "response"']
    (folder / "s.toml").write_text("\n".join(lines))
    return folder / "s.toml"


def test_the_command_writes_baskets_and_names(tmp_path: Path) -> None:
    """Its files are read as any file of baskets, and as any catalogue; a raw value is never shown."""
    table, out, names = tmp_path / "t.csv", tmp_path / "b.parquet", tmp_path / "n.txt"
    table.write_text("age,region\n29.5,south\n99,north\n?,north\n")
    arguments: list[Any] = ["numeric", "items", table, "--schema", schema_file(tmp_path), "-o", out, "--names", names]
    message = refused_without_output(tmp_path, *arguments, "--missing", "?")
    assert "column age" in message
    assert "99" not in message
    record = run_json(*arguments, "--missing", "?", "--clip", "--bins", "2")
    assert record == {"baskets": 3, "items": 4, "clipped": {"age": 1}, "missing": {"age": 1}}
    made = read_baskets(out)
    assert [{made.catalogue[item] for item in basket} for basket in made] == [
        {"age=20–49", "region=south"}, {"age=50–80", "region=north"}, {"region=north"},
    ]  # fmt: skip
    assert names.read_text(encoding="utf-8").splitlines() == ["age=20–49", "age=50–80", "region=north", "region=south"]
    assert "exists already" in refused_without_output(tmp_path, *arguments, "--missing", "?", "--clip")
