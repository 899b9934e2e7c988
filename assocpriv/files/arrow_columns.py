"""Columns of a table in memory as Arrow's, made of their bytes: pa.array loads pandas wherever that is installed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_arrow(column: NDArray[Any]) -> Any:
    """Return a column of numbers, truths or texts, or of lists of numbers or of texts, as Arrow's array.

    >>> to_arrow(np.array([1, 2])).to_pylist(), to_arrow(np.array([True, False])).to_pylist()
    ([1, 2], [True, False])
    """
    import pyarrow as pa

    if column.dtype.kind == "b":
        bits = np.packbits(column, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(column), [None, pa.py_buffer(bits)])
    if column.dtype.kind in "iuf":
        kind, numbers = pa.from_numpy_dtype(column.dtype), np.ascontiguousarray(column)
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(numbers)])
    values = column.tolist()
    if values and all(isinstance(each, str) for each in values):
        return _texts(values)
    if not all(isinstance(each, list) for each in values):
        return pa.array(column)  # whatever else a data frame may hold
    flat = [part for each in values for part in each]
    of_numbers = flat and all(isinstance(part, int) for part in flat)
    return _lists(values, to_arrow(np.array(flat, dtype=np.int64)) if of_numbers else _texts(flat))


def to_arrow_table(columns: dict[str, NDArray[Any]]) -> Any:
    """Return columns as Arrow's table."""
    import pyarrow as pa

    return pa.Table.from_arrays([to_arrow(each) for each in columns.values()], names=list(columns))


def to_numpy(column: Any) -> NDArray[Any]:
    """Return Arrow's column of numbers or truths as numpy's, which may be read-only; a float that is null is NaN.

    Raises:
        TypeError: it holds anything else, or something is missing that is no float.
    """
    return np.concatenate([np.empty(0, dtype=_dtype_of(column)), *map(array_to_numpy, column.chunks)])


def _dtype_of(column: Any, may_miss: bool = False) -> Any:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise TypeError(f"a column holds {kind}, not numbers")
    if column.null_count and not (may_miss or pa.types.is_floating(kind)):
        raise TypeError("a number is missing")
    return kind.to_pandas_dtype()  # numpy's type, in spite of the name


def array_to_numpy(chunk: Any, missing: int | None = None) -> NDArray[Any]:
    """Return one of Arrow's arrays as :func:`to_numpy` does a column, without a copy where none is needed.

    Integers may be missing where ``missing`` stands for them.
    """
    dtype = np.dtype(_dtype_of(chunk, missing is not None))
    valid, data = chunk.buffers()
    rows = slice(chunk.offset, chunk.offset + len(chunk))
    if dtype == np.bool_:
        return _bits(data, rows)
    values = np.frombuffer(data, dtype=dtype)[rows] if len(chunk) else np.empty(0, dtype=dtype)
    if not chunk.null_count:
        return values
    return np.where(_bits(valid, rows), values, np.nan if missing is None else missing).astype(dtype)


def _bits(data: Any, rows: slice) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")[rows].astype(np.bool_)


def _texts(texts: Sequence[str]) -> Any:
    import pyarrow as pa

    encoded = [text.encode("utf-8") for text in texts]
    return pa.StringArray.from_buffers(len(texts), _ends(encoded), pa.py_buffer(b"".join(encoded)))


def _lists(lists: Sequence[list[Any]], values: Any) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.list_(values.type), len(lists), [None, _ends(lists)], children=[values])


def _ends(parts: Sequence[Any]) -> Any:
    """Return where each part begins among all, and where the last one ends, as a buffer of int32."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, parts)])
    if ends[-1] >= 1 << 31:
        raise ValueError("a column of Parquet holds less than 2 GiB")
    return pa.py_buffer(ends.astype(np.int32))
