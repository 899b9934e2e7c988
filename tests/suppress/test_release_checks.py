"""Tests of the last check before a release, which shares no code with the release, and of counts by pycanon."""

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from assocpriv.guarantees.errors import FileError
from assocpriv.suppress import check, release_checks, suppress
from assocpriv.suppress.inference_templates import ConfidenceBound
from assocpriv.suppress.release_checks import count_columns, count_file


def bounded(numerator: int, denominator: int, column: str = "s", value: str = "ill") -> ConfidenceBound:
    """Return the bound of a value among records that agree on column a."""
    return ConfidenceBound(("a",), column, value, Fraction(numerator, denominator))


def test_bounds_are_exact():
    """A share equal to its bound passes and a higher one does not, for bounds with many digits."""
    columns = {"a": pa.chunked_array([["x"] * 3]), "s": pa.chunked_array([["ill", "ill", "ok"]])}
    for bound in (bounded(2, 3), bounded(2 * 10**30 + 1, 3 * 10**30)):
        assert count_columns(columns, [bound])[0].hits == 2
    for bound in (bounded(2 * 10**30 - 1, 3 * 10**30), bounded(666, 1000)):
        with pytest.raises(FileError, match="violates"):
            count_columns(columns, [bound])


def test_distinguishable_cells_count(tmp_path):
    """Cells of a channel count as written, sensitive values without blanks, empty cells as a value."""
    (tmp_path / "t.csv").write_text('a,s\nx, ill\n x,ok\n"x",ok\n,ill\n,ok\n')
    assert count_file(tmp_path / "t.csv", [bounded(1, 2)], separator=",")[0].confidence == Fraction(1, 2)
    (tmp_path / "t.csv").write_text("a,s\nx,ill\n x,ok\nx,ill\n")
    with pytest.raises(FileError, match="violates"):
        count_file(tmp_path / "t.csv", [bounded(9, 10)], separator=",")


def test_values_of_types_count_as_their_texts(tmp_path):
    """Numbers and booleans of Parquet are the values that templates write."""
    frame = pd.DataFrame({"a": ["x"] * 4, "n": [1, 2, 2, 2], "f": [1, None, 0.5, 0.5], "t": [True, True, True, False]})
    frame.to_parquet(tmp_path / "t.parquet")
    bounds = [bounded(99, 100, *each) for each in (("n", "2"), ("f", "1"), ("t", "True"))]
    assert [each.hits for each in count_file(tmp_path / "t.parquet", bounds, separator=None)] == [3, 1, 3]


def test_a_file_that_cannot_be_read_back(tmp_path):
    """A written file that cannot be read is not released, and no cell of it is shown."""
    (tmp_path / "t.csv").write_text("a,s\nsecret,ill,more\n")
    with pytest.raises(FileError, match="cannot be read back") as caught:
        count_file(tmp_path / "t.csv", [bounded(1, 2)], separator=",")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_check_shares_no_code_with_the_release():
    """The check imports errors, templates and Arrow of this package: no codes, kernels, readers or disclosure."""
    tree = ast.parse(Path(release_checks.__file__).read_text(encoding="utf-8"))
    imported = {node.module: node.names for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    arrow = "assocpriv.files.arrow"
    assert {alias.name for alias in imported[arrow]} == {"arrow_csv", "pa", "pq"}
    ours = {name for name in imported if name and name.startswith("assocpriv")}
    assert ours == {arrow, "assocpriv.guarantees.errors", "assocpriv.suppress.inference_templates"}


def test_missing_cells_are_a_pattern():
    """Missing cells of a frame are one separate value."""
    columns = {"a": pa.chunked_array([[None, None, "x"]]), "s": pa.chunked_array([["ill", "ok", "ok"]])}
    [found] = count_columns(columns, [bounded(1, 2)])
    assert (found.support, found.hits) == (2, 1)


pycanon = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed: pip install .[dev]")


def some_table(rng):
    """Return a table of 40 records: three channel columns, and a sensitive column correlated with the first."""
    n = 40
    first = rng.integers(3, size=n)
    state = np.where(rng.random(n) < 0.7, first, rng.integers(3, size=n))
    columns = {"a": first, "b": rng.integers(2, size=n), "c": rng.integers(2, size=n), "state": state}
    return pd.DataFrame(columns).replace({0: "x", 1: "y", 2: "z"})


@pytest.mark.parametrize("mode", ["local", "deterministic"])
def test_alpha_of_pycanon_is_the_highest_confidence(rng, mode):
    """With all values of a column bounded, alpha is the highest confidence before and after, and at most h."""
    channel, lowered = ["a", "b", "c"], 0
    for percent in (60, 70, 80, 90):
        table = some_table(rng)
        template = [{"channel": channel, "sensitive": {"state": ["x", "y", "z"]}, "confidence": f"{percent}%"}]
        released, done = suppress(table, template, mode=mode)
        before, after = (pycanon.alpha_k_anonymity(each, channel, ["state"])[0] for each in (table, released))
        assert Fraction(after).limit_denominator(40) == max(each.confidence for each in done.checked)
        assert after <= percent / 100
        found = check(table, template).violations
        assert (before > percent / 100) == bool(found)
        if found:
            assert Fraction(before).limit_denominator(40) == max(each.confidence for each in found)
            lowered += 1
    assert lowered >= 2
