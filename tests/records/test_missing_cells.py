"""Missing cells and empty baskets: one rule for every source that can hold them.

Empty cells of a one-hot table are "not bought" in a pivot, whose other cells are all true. If a cell is false, an empty
one may be unknown. Baskets without items are refused, kept or left out by the option ``empty``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assocpriv as ap
from tests.records.conftest import named, refused

NAMES = ["milk", "bread", "tea"]
PIVOT = [[1, None, None], [None, 1, 1], [None, 1, None]]
PIVOT_SETS = [{"milk"}, {"bread", "tea"}, {"bread"}]
MIXED = [[1, 0, None], [0, 1, 1], [None, 1, 0], [1, 1, 0]]
KEPT, DROPPED = [{"milk"}, {"bread", "tea"}, {"bread"}, {"milk", "bread"}], [{"bread", "tea"}, {"milk", "bread"}]


def in_words(rows: list[list[Any]]) -> pa.Table:
    """Return a table of words, one of them for a missing value."""
    words = {1: "yes", 0: "no", None: "NA"}
    columns = zip(*[[words[cell] for cell in row] for row in rows], strict=True)
    return pa.table({name: pa.array(column).dictionary_encode() for name, column in zip(NAMES, columns, strict=True)})


def mapped(rows: list[list[Any]], kind: type, missing: Any = None) -> list[list[Any]]:
    """Return the cells as another type, and what stands for a missing one."""
    return [[missing if cell is None else kind(cell) for cell in row] for row in rows]


FORMS: dict[str, Callable[[list[list[Any]]], Any]] = {  # how a table may hold missing cells
    "floats of pandas": lambda rows: pd.DataFrame(rows, columns=NAMES, dtype=float),
    "integers of pandas": lambda rows: pd.DataFrame(rows, columns=NAMES).astype("Int8"),
    "flags of pandas": lambda rows: pd.DataFrame(rows, columns=NAMES).astype("boolean"),
    "objects of pandas": lambda rows: pd.DataFrame(mapped(rows, bool), columns=NAMES),
    "nulls of polars": lambda rows: pl.DataFrame(rows, schema=NAMES, orient="row"),
    "NaN of polars": lambda rows: pl.DataFrame(mapped(rows, float, float("nan")), schema=NAMES, orient="row"),
    "nulls of Arrow": lambda rows: pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))),
    "words": in_words,
}


@pytest.fixture(params=[*FORMS, "csv", "parquet"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[list[Any]]], Any]:
    """Return what makes a table, or the path of its file, of rows."""

    def write(rows: list[list[Any]]) -> Path:
        path, frame = tmp_path / f"table.{request.param}", FORMS["integers of pandas"](rows)
        getattr(frame, f"to_{request.param}")(path, index=False)
        return path

    return FORMS.get(request.param, write)


def read(data: Any, **options: Any) -> list[set[str]]:
    """Return baskets of any source as sets of names."""
    return named((ap.read_baskets if isinstance(data, Path) else ap.to_baskets)(data, layout="one-hot", **options))


def test_a_pivot_is_read_and_counted(source: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Its empty cells are "not bought"; a note has their number."""
    assert read(source(PIVOT)) == PIVOT_SETS
    assert "5 empty cells read as not bought" in caplog.text


def test_unknown_is_not_false(source: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The first of them is named, and each option that the error names does what it says."""
    data = source(MIXED)
    message = refused(r"(basket 1|line 2|row 2?1?) has an empty cell.* 2 empty cells", read, data)
    assert "incomplete='drop'" in message
    assert "incomplete='keep'" in message
    assert read(data, incomplete="keep") == KEPT
    assert read(data, incomplete="drop") == DROPPED
    assert "left out: 2 rows" in caplog.text


def test_empty_rows_follow_their_option(source: Any, caplog: pytest.LogCaptureFixture) -> None:
    """They are refused by number, kept, or left out and counted."""
    data = source([[1, 0, 0], [0, 0, 0], [0, 1, 1]])
    refused(r"(basket 2|line 3|row 2) is an empty basket", read, data)
    assert read(data, empty="keep") == [{"milk"}, set(), {"bread", "tea"}]
    assert read(data, empty="drop") == [{"milk"}, {"bread", "tea"}]
    assert isinstance(data, Path) or "left out: 1 basket without items" in caplog.text


def test_positions_count_rows_that_were_left_out(source: Any) -> None:
    """An error after rows were left out names the row of the source."""
    data = source([[None, 1, 0], [1, 0, 0], [0, 0, 0]])
    refused(r"(basket 3|line 4|row 3) is an empty basket", read, data, incomplete="drop")


def test_cells_that_decide_may_be_in_another_batch(tmp_path: Path) -> None:
    """A file is read in batches; the first has empty cells and no false one, the last has false ones."""
    path, n = tmp_path / "large.csv", 40_000
    path.write_text("milk,bread\n" + "1,\n" * n + "1,0\n" * n, encoding="utf-8")
    plan = ap.plan(["milk", "bread"], ap.Guarantee("5%", "50%"))
    out = tmp_path / "r.parquet"
    refused("40,000 empty cells", ap.randomize, path, plan, out, layout="one-hot", memory_bytes=4 << 20)
    assert not out.exists()
    done = ap.randomize(path, plan, out, layout="one-hot", memory_bytes=4 << 20, incomplete="keep")
    assert done.read.baskets == 2 * n


def test_half_of_the_rows_unknown_no_longer_halve_supports() -> None:
    """The case of a user: rows of NaN were read as empty baskets, so that 28% became 12%."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.random((20_000, 4)) < 0.3, columns=list("abcd")).astype(float)
    frame.loc[frame.index[::2], :] = np.nan
    plan = ap.plan(list("abcd"), ap.Guarantee("5%", "95%"))
    refused("40,000 empty cells", ap.randomize, frame, plan)
    reports = ap.randomize(frame, plan, incomplete="drop", empty="keep")
    assert len(reports) == 10_000
    found = ap.ask(reports, [["a"]])
    # a 95% interval at 5 standard errors: misses once in a million
    assert abs(found["unbiased"].iloc[0] - 0.3) < 5 * found["unbiased_error"].iloc[0] < 0.2


LISTS = [["milk", None], [float("nan")], ["tea", pd.NA, "bread"]]


@pytest.mark.parametrize("make", [list, pd.Series, lambda lists: pa.table({"items": [[None], ["milk", "nan"]]})])
def test_missing_items_of_lists_are_left_out(make: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the words for a missing value; counted."""
    data = make(LISTS)
    refused("is an empty basket", ap.to_baskets, data)
    assert {"milk"} in named(ap.to_baskets(data, empty="drop"))
    assert "with NaN, None or another word for a missing value; 1 basket without items" in caplog.text
    if not isinstance(data, pa.Table):
        with pytest.raises(TypeError, match="must be text or an integer"):
            ap.to_baskets(data, layout="list missing=keep")


def test_baskets_and_lists_without_items_follow_the_option() -> None:
    """Lists follow it, too; one empty record is a basket."""
    plan = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"))
    lists: list[set[str]] = [{"milk"}, set()]
    refused(r"basket 2 is an empty basket \(1 in all\)", ap.randomize, lists, plan)
    assert len(ap.randomize(lists, plan, empty="keep")) == 2
    assert len(ap.randomize(lists, plan, empty="drop")) == 1
    assert len(ap.randomize(set(), plan)) == plan.report_bytes  # one record, given as such
