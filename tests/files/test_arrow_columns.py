"""Tests of columns between numpy and Arrow, without pandas: as Arrow itself makes them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assocpriv.files.arrow import array_to_numpy, to_arrow, to_arrow_table, to_numpy
from assocpriv.files.itemsets import as_column

COLUMNS: dict[str, list[Any]] = {
    "numbers": [1, -2, 1 << 62],
    "floats": [0.1, float("inf"), -3.0],
    "truths": [True, False, True] * 7,
    "texts": ["", "crème", "🍞"],
    "lists of texts": [["a"], [], ["", "é"]],
    "lists of numbers": [[1, 2], [], [3]],
    "nothing": [],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_of_arrow(name: str) -> None:
    """Types and values are what pa.array makes of the same list; an empty column of objects has no type of its own."""
    made = to_arrow(as_column(COLUMNS[name]))
    made.validate(full=True)
    assert made.to_pylist() == COLUMNS[name]
    if COLUMNS[name]:
        assert made.type == pa.array(COLUMNS[name]).type


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.float32, np.bool_])
def test_numbers_come_back(rng: np.random.Generator, dtype: Any) -> None:
    """Also of several chunks, of parts of them, and of none."""
    values = rng.integers(0, 2, size=100).astype(dtype)
    whole = to_arrow(values)
    for chunks in ([whole], [whole[3:50], whole[50:]], [whole[:0]], [whole[9:9], whole[1:2]]):
        wanted = np.concatenate([np.array(chunk.to_pylist(), dtype=dtype) for chunk in chunks])
        found = to_numpy(pa.chunked_array(chunks))
        assert (found.dtype, found.tolist()) == (np.dtype(dtype), wanted.tolist())


def test_what_is_missing() -> None:
    """Of floats it is NaN, of anything else an error; texts are no numbers."""
    found = to_numpy(pa.chunked_array([pa.array([0.5, None, 2.0])[1:]]))
    assert np.isnan(found[0])
    assert found[1] == 2
    places = pa.array([7, None, 1, None], pa.int32())[1:]
    assert array_to_numpy(places, missing=9).tolist() == [9, 1, 9]
    assert array_to_numpy(places, missing=9).dtype == np.int32
    for wrong in ([1, None], [True, None], ["1"]):
        with pytest.raises(TypeError):
            to_numpy(pa.chunked_array([pa.array(wrong)]))


def test_a_table_has_its_columns_in_order() -> None:
    """Names stay where they stand, and an empty table keeps them."""
    assert to_arrow_table({"b": np.zeros(2), "a": np.ones(2)}).column_names == ["b", "a"]
    assert to_arrow_table({"x": np.empty(0, dtype=object)}).num_rows == 0
