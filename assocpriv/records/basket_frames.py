"""Tables of baskets: data frames and Arrow arrays -> cells.

pyarrow and narwhals cost a tenth of a second to load, hence the imports inside.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError, counted
from assocpriv.records.cells import Cells, Origin
from assocpriv.records.columns import asked_place, long_columns, usual_places


def is_list_type(kind: Any) -> bool:
    """Return whether an Arrow type is one of its list types."""
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def list_cells(lists: Any, origin: Origin | None = None) -> Cells:
    """Read an Arrow array of lists of text or integers (else BasketError), a basket each; a null is an empty basket."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list_type(lists.type):
        raise BasketError("the list layout needs a column of lists; choose it with item_column=, or another format=")
    sizes = array_to_numpy(pc.list_value_length(lists), 0)
    return Cells(sizes, *_encoded(lists.flatten()), origin or Origin())


def _row(row: int) -> str:
    return f"row {row + 1}"


def long_cells(transactions: Any, items: Any, place: Callable[[int], str] = _row) -> Cells:
    """Read the transaction and the item of each cell, Arrow arrays, chunked or not; baskets by first appearance.

    ``place`` says where a cell stands.

    Raises:
        BasketError: there are null transactions, items that are neither text nor integers, or more of the one column.
    """
    import pyarrow as pa

    if len(transactions) != len(items):
        raise BasketError("the lengths of columns do not fit each other; the data are damaged, write them again")
    try:
        indices, distinct = _coded(transactions)
    except pa.ArrowNotImplementedError:
        raise BasketError("transaction ids must be text, numbers or dates, not nested; choose another column") from None
    if indices.null_count:
        where = place(int(np.argmax(np.asarray(indices.is_null()))))
        such = counted(indices.null_count, "such row")
        raise BasketError(f"{where} has no transaction id ({such} in all); fill it in, or take such rows out")
    rows = array_to_numpy(indices)
    codes, names = _encoded(items)
    if (rows[1:] < rows[:-1]).any():
        # integers of row and place sort several times faster than a stable np.argsort
        order = rows.astype(np.int64) << 32
        order |= np.arange(len(order), dtype=np.int64)
        order.sort()
        order &= (1 << 32) - 1
        codes = codes[order]
    return Cells(np.bincount(rows, minlength=len(distinct)), codes, names)


def _coded(values: Any) -> tuple[Any, Any]:
    """Return an Arrow array as int32 positions, null where it is, in the distinct values by first appearance."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(values, pa.ChunkedArray):
        values = pa.chunked_array([values])
    if not pa.types.is_dictionary(values.type):
        coded = values.dictionary_encode().combine_chunks()  # the chunks share one dictionary
        return coded.indices, coded.dictionary
    for chunk in values.chunks:  # of codes outside, as a damaged file has them, Arrow would read whatever lies there
        ends = pc.min_max(chunk.indices).as_py()
        if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(chunk.dictionary):
            raise BasketError("a column has codes outside its dictionary; the data are damaged, write them again")
    coded = values.unify_dictionaries().combine_chunks()
    distinct = coded.dictionary.dictionary_encode()  # a dictionary may repeat values, and hold some that never appear
    used = distinct.indices.take(coded.indices).dictionary_encode()
    return used.indices, distinct.dictionary.take(used.dictionary)


def _encoded(items: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Return the codes, −1 for nulls, and the distinct names of an Arrow array of items."""
    import pyarrow as pa

    kind = items.type.value_type if pa.types.is_dictionary(items.type) else items.type
    if pa.types.is_null(kind):
        return np.full(len(items), -1, dtype=np.int32), []
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        # the fields of a nested type may be named after items
        shown = "nested values" if pa.types.is_nested(kind) else str(kind)
        raise BasketError(f"items must be text or integers, got {shown}; convert them")
    indices, distinct = _coded(items)
    with contextlib.suppress(UnicodeDecodeError):  # it holds the name
        return array_to_numpy(indices, -1), [str(name) for name in distinct.to_pylist()]
    raise BasketError("the item column holds text that is not UTF-8; convert it")


def cells_of_frame(frame: Any, layout: str, transaction: str | int | None, item: str | int | None) -> Cells:
    """Read a pandas, polars or pyarrow table; arguments and what is raised are those of ``Baskets.from_frame``."""
    columns = _columns_of(frame)
    layout, places = _layout_and_places(columns, layout, transaction, item)
    if layout == "onehot":
        return _onehot_cells(columns)
    arrays = [_arrow(columns, place) for place in places]
    return list_cells(*arrays) if layout == "list" else long_cells(*arrays)


def frame_layout(
    frame: Any, layout: str, transaction: str | int | None, item: str | int | None
) -> tuple[str, list[Any]]:
    """Return a table's layout as it is read, and its columns: of all items, of transactions and items, or of lists.

    Columns are narwhals series; arguments and what is raised are those of ``Baskets.from_frame``.
    """
    columns = _columns_of(frame)
    layout, places = _layout_and_places(columns, layout, transaction, item)
    return layout, [columns[place] for place in places]


def _layout_and_places(
    columns: list[Any], layout: str, transaction: str | int | None, item: str | int | None
) -> tuple[str, Sequence[int]]:
    if not columns:
        raise BasketError("a table of baskets needs columns, got none")
    if layout == "auto":
        layout = "long" if transaction is not None else _layout_of(columns)
    if layout == "onehot":
        return layout, range(len(columns))
    if layout == "list":
        return layout, [_list_column(columns, item)]
    return layout, long_columns([column.name for column in columns], transaction, item)


def _columns_of(frame: Any) -> list[Any]:
    import narwhals as nw

    try:
        return list(nw.from_native(frame, eager_only=True).iter_columns())
    except TypeError:
        kind = type(frame).__name__
        problem: Exception = TypeError(f"a table must be a pandas, polars or pyarrow table in memory, got a {kind}")
    except nw.exceptions.NarwhalsError:  # its text names columns, which may be items
        problem = BasketError("the columns of a table of baskets must have different names")
    raise problem


def _layout_of(columns: list[Any]) -> str:
    if all(_is_zero_one(column) for column in columns):
        return "onehot"
    if any(_holds_lists(column) for column in columns):
        return "list"
    names = [column.name for column in columns]
    if len(columns) == 2 or all(usual_places(names, role) for role in ("transaction", "item")):
        return "long"
    raise BasketError(
        f"the table's {len(columns)} columns may mean several things; say format='onehot' (leave out columns that are "
        "no items, make cells true or false), or name the columns with transaction_column= and item_column="
    )


def _list_column(columns: list[Any], asked: str | int | None) -> int:
    if asked is not None:
        return asked_place([column.name for column in columns], "item", asked)
    lists = [position for position, column in enumerate(columns) if _holds_lists(column)]
    if len(lists) != 1:
        raise BasketError(f"the list layout needs one column of lists, got {len(lists)}; name it with item_column=")
    return lists[0]


def _holds_lists(column: Any) -> bool:
    import narwhals as nw

    if column.dtype in (nw.List, nw.Array):
        return True
    # pandas keeps lists as plain objects, so the first cell that is there decides
    return column.dtype == nw.Object and isinstance(
        next(iter(column.drop_nulls().head(1)), None), (list, tuple, set, frozenset, np.ndarray)
    )


def _is_zero_one(column: Any) -> bool:
    import narwhals as nw

    # sparse pandas columns have a type that narwhals does not know
    if not (column.dtype in (nw.Boolean, nw.Unknown) or column.dtype.is_numeric()):
        return False
    values = np.asarray(column.drop_nulls().to_numpy())
    return values.dtype.kind in "biuf" and bool(((values == 0) | (values == 1)).all())


def _onehot_cells(columns: list[Any]) -> Cells:
    try:
        catalogue = Catalogue(str(column.name).strip() for column in columns)
    except PlanError as error:
        raise BasketError(f"the columns cannot be items: {error}") from None
    flags = []
    for position, column in enumerate(columns):
        if column.null_count() or not _is_zero_one(column):
            raise BasketError(f"column {position + 1} of a onehot table must hold only true and false, or 0 and 1")
        flags.append(column.to_numpy())
    return onehot_cells(flags, catalogue)


def onehot_cells(columns: Sequence[Any], catalogue: Catalogue, origin: Origin | None = None) -> Cells:
    """Return the cells of a one-hot table: a column an item of the catalogue, arrays (n_baskets,), zero or not.

    >>> onehot_cells([[1, 0], [1, 1]], Catalogue(["milk", "bread"])).codes.tolist()
    [0, 1, 1]
    """
    present = [np.flatnonzero(column) for column in columns]
    rows = np.concatenate(present)
    codes = np.repeat(np.arange(len(columns), dtype=np.int64), [len(part) for part in present])
    sizes = np.bincount(rows, minlength=len(columns[0]))
    return Cells(sizes, codes[np.argsort(rows, kind="stable")], catalogue, origin or Origin())


def _arrow(columns: list[Any], position: int) -> Any:
    import narwhals as nw
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # their texts quote cells
        column = columns[position]
        if column.dtype == nw.Object:  # of pandas; Arrow takes sets, but no frozen ones
            cells = [list(each) if isinstance(each, frozenset) else each for each in column.to_native()]
            return pa.array(cells, from_pandas=True)
        values = column.to_arrow()
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    raise BasketError(
        f"column {position + 1} mixes types; it must hold only text, only integers, or lists of them; convert it"
    )
