"""Baskets in memory: lists, sets or data frames -> transactions of item ids.

narwhals costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pc
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError, counted
from assocpriv.records.cells import Cells, Origin, cells_of_names, check_choices, ordinal, resolve, without_unknown
from assocpriv.records.layout import asked_place, long_columns, usual_places

_TOP_ITEMS, _TOP_ITEMSETS = 30, 20


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Baskets:
    """Transactions of item ids, one after the other in one array.

    Attributes:
        catalogue: the names of the items; an id is a position in it.
        offsets: int64, shape (n + 1,), not decreasing; basket i is ``items[offsets[i]:offsets[i + 1]]``.
            A slice shares ``items``, so its first offset need not be 0.
        items: int64, flat item ids, strictly increasing within each basket.

    Raises:
        BasketError: arrays of another type or shape, or offsets outside ``items``.

    >>> Baskets.from_sets([{"milk", "bread"}, {"milk"}])
    Baskets(2 baskets over 2 items)
    """

    catalogue: Catalogue
    offsets: NDArray[np.int64]
    items: NDArray[np.int64]

    def __post_init__(self) -> None:
        # constant time, because every slice comes through here; the constructors see to the ids' order
        for name, values in (("offsets", self.offsets), ("items", self.items)):
            if values.dtype != np.int64 or values.ndim != 1:
                raise BasketError(f"{name} must be an int64 array of one dimension, got {values.dtype}")
        if not len(self.offsets) or self.offsets[0] < 0 or self.offsets[-1] > len(self.items):
            raise BasketError("offsets must hold one number more than there are baskets, all within items")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: slice) -> "Baskets": ...

    @overload
    def __getitem__(self, index: int) -> frozenset[int]: ...

    def __getitem__(self, index: slice | int) -> "Baskets | frozenset[int]":
        if not isinstance(index, slice):
            row = range(len(self))[index]
            return frozenset(self.items[self.offsets[row] : self.offsets[row + 1]].tolist())
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise BasketError(f"a slice of baskets must have step 1, got {step}")
        return Baskets(self.catalogue, self.offsets[start : max(start, stop) + 1], self.items)

    def take(self, rows: NDArray[np.int64]) -> "Baskets":
        """Return some of the baskets, by their numbers, int64 (n,)."""
        sizes = self.sizes[rows]
        offsets = np.append(0, np.cumsum(sizes))
        places = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Baskets(self.catalogue, offsets, self.items[places])

    def __iter__(self) -> Iterator[frozenset[int]]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"Baskets({len(self):,} baskets over {len(self.catalogue):,} items)"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items of each basket, int64 of shape (n,)."""
        return np.diff(self.offsets)

    @classmethod
    def from_sets(
        cls,
        baskets: Iterable[Iterable[str | int]],
        catalogue: Catalogue | None = None,
        *,
        unknown: str = "error",
        repeats: str = "error",
    ) -> "Baskets":
        """Make baskets of sets or lists of item names.

        Args:
            baskets: the items of each basket; the integer 7 means the name "7".
            catalogue: the items there may be; by default 0 … the largest if all names are numbers that a
                catalogue has room for, otherwise the distinct names, sorted.
            unknown: "error", or "drop" to leave out items that are not in the catalogue.
            repeats: "error", or "merge" to count an item that a basket repeats once.

        Raises:
            TypeError: one basket instead of several, or items that are neither text nor integers.
            BasketError: unknown, repeated or unusable names.

        >>> Baskets.from_sets([[2, 0], []]).sizes
        array([2, 0])
        """
        check_choices(unknown=unknown, repeats=repeats)
        return _baskets_of(_cells_of_sets(baskets), catalogue, unknown, repeats)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        format: str = "auto",  # noqa: A002 -- as read_baskets
        *,
        transaction_column: str | int | None = None,
        item_column: str | int | None = None,
        catalogue: Catalogue | None = None,
        unknown: str = "error",
        repeats: str = "error",
    ) -> "Baskets":
        """Make baskets of a pandas, polars or pyarrow table.

        Args:
            frame: the table, in memory.
            format: "onehot" (a column an item, cells true/false or 0/1), "long" (a row for each item of each
                transaction; baskets by first appearance), "list" (a row a basket, one column of lists, a null being
                an empty basket), or "auto": onehot if all cells are true/false or 0/1, list if a column holds lists,
                long with two columns, columns with usual names, or ``transaction_column`` given.
            transaction_column: of the long layout, by name or number from 1; by default one with a usual name
                (transaction_id, InvoiceNo …), otherwise the first.
            item_column: of the long or list layout, by name or number from 1; by default one with a usual name (item,
                product_id, StockCode …), otherwise the next one.
            catalogue: as for :meth:`from_sets`, but by default the columns, in order, for onehot.
            unknown, repeats: as for :meth:`from_sets`.

        Raises:
            TypeError: not a table in memory.
            BasketError: columns or cells that do not fit the layout; unknown, repeated or unusable names.
        """
        check_choices(format=format, unknown=unknown, repeats=repeats)
        cells = table_cells(frame, format, transaction_column, item_column)
        return _baskets_of(cells, catalogue, unknown, repeats)

    def aligned(self, catalogue: Catalogue, *, unknown: str = "error") -> tuple["Baskets", int]:
        """Return the same baskets over another catalogue, and how many items were left out.

        Raises:
            BasketError: an item is not in the catalogue and ``unknown`` is "error", not "drop".

        >>> Baskets.from_sets([["a", "b"]]).aligned(Catalogue(["b"]), unknown="drop")
        (Baskets(1 baskets over 1 items), 1)
        """
        check_choices(unknown=unknown)
        if catalogue == self.catalogue:
            return Baskets(catalogue, self.offsets, self.items), 0
        items = self.items[self.offsets[0] : self.offsets[-1]]
        cells = Cells(self.sizes, items, None if self.catalogue.is_numbered else self.catalogue)
        known = without_unknown(cells, resolve(cells, catalogue)[1], unknown, catalogue)
        return assemble_in_order(known, catalogue, "error"), len(items) - len(known.codes)


def to_baskets(data: Any, **options: Any) -> Baskets:
    """Make baskets of whatever holds them in memory: a table, or an iterable of iterables of item names.

    Options are those of :meth:`Baskets.from_frame` and :meth:`Baskets.from_sets`; Baskets are returned unchanged.

    Raises:
        TypeError: a path, one basket instead of several, or nothing that holds baskets.
        BasketError: as the two constructors.

    >>> to_baskets([["milk"], ["milk", "bread"]])
    Baskets(2 baskets over 2 items)
    """
    if isinstance(data, Baskets):
        return data
    return Baskets.from_frame(data, **options) if is_table(data) else Baskets.from_sets(data, **options)


def named_baskets(
    data: Any, catalogue: Catalogue | None, *, unknown: str, repeats: str, table: Mapping[str, Any] | None = None
) -> Baskets:
    """Make baskets as :func:`to_baskets` does, of a catalogue's names; None for any, also where no basket has an item.

    ``table`` is what is said of a table: ``format``, ``transaction_column`` and ``item_column``.

    >>> named_baskets([[], []], None, unknown="error", repeats="error")
    Baskets(2 baskets over 1 items)
    """
    said = {name: value for name, value in (table or {}).items() if value is not None}
    check_choices(format=said.get("format", "auto"), unknown=unknown, repeats=repeats)
    if said and (isinstance(data, Baskets) or not is_table(data)):
        raise BasketError(f"{' and '.join(said)} are said of tables; leave them out for baskets and lists of items")
    if isinstance(data, Baskets):
        return data
    if is_table(data):
        asked = (said.get(name) for name in ("transaction_column", "item_column"))
        cells = table_cells(data, said.get("format", "auto"), *asked)
    else:
        cells = _cells_of_sets(data)
    if catalogue is None and not len(cells.codes):
        catalogue = Catalogue.numbered(1)  # no names to make one of; nothing looks at it
    return _baskets_of(cells, catalogue, unknown, repeats)


def is_table(data: Any) -> bool:
    """Tell a table from lists; TypeError for what cannot be either."""
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError("baskets must be a table or lists of items, got text or a path; use read_baskets for files")
    if getattr(data, "ndim", 1) == 2 and not hasattr(data, "columns"):
        raise TypeError(
            "an array of two dimensions may mean several things; where columns are items, name them: "
            "pandas.DataFrame(array, columns=names); where rows list items, give array.tolist()"
        )
    return not isinstance(data, Iterable) or hasattr(data, "columns")


# ---- cells -> baskets


def assemble_in_order(cells: Cells, catalogue: Catalogue, repeats: str) -> Baskets:
    """Make baskets of cells whose codes are item ids, and refuse or merge what a basket repeats."""
    ids = cells.codes
    offsets = np.zeros(len(cells.sizes) + 1, dtype=np.int64)
    np.cumsum(cells.sizes, out=offsets[1:])
    rising = np.ones(len(ids) + 1, dtype=np.bool_)  # before each cell: whether another basket or a greater id follows
    np.greater(ids[1:], ids[:-1], out=rising[1:-1])
    rising[offsets] = True
    if rising.all():
        return Baskets(catalogue, offsets, ids.astype(np.int64, copy=False))
    # one integer a cell sorts several times faster than np.lexsort; 2^20 items leave room for 2^43 baskets
    keys = cells.rows
    keys *= len(catalogue)
    keys += ids
    keys.sort()
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    if len(repeated):
        rows = keys[repeated] // len(catalogue)
        if repeats == "error":
            tally = cells.origin.tally(f"{len(rows):,} repeats in {len(np.unique(rows)):,} baskets")
            raise BasketError(
                f"{cells.origin.place(int(rows[0]))} repeats an item{tally}; a basket holds an item once; count them "
                "once with repeats='merge' (--repeats merge)"
            )
        keys = np.delete(keys, repeated)
        offsets[1:] -= np.cumsum(np.bincount(rows, minlength=len(cells.sizes)))
    firsts = keys // len(catalogue)
    firsts *= len(catalogue)
    keys -= firsts
    return Baskets(catalogue, offsets, keys)


def _baskets_of(cells: Cells, catalogue: Catalogue | None, unknown: str, repeats: str) -> Baskets:
    found, ids = resolve(cells, catalogue)
    return assemble_in_order(without_unknown(cells, ids, unknown, found), found, repeats)


# ---- sets and lists


def _cells_of_sets(baskets: Iterable[object]) -> Cells:
    return cells_of_names(_names_of(basket, row) for row, basket in enumerate(baskets))


def _names_of(basket: object, row: int) -> list[str]:
    if isinstance(basket, Mapping):  # whose zeros would count as bought
        raise TypeError(f"basket {row + 1} is a mapping; give the names alone, or a table with a column an item")
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        raise TypeError(
            f"basket {row + 1} must be a set or list of items, got a {type(basket).__name__}; "
            "a single basket goes into a list: [basket]"
        )
    return [name if type(name) is str else _name_of(name, row, position) for position, name in enumerate(basket, 1)]


def _name_of(item: object, row: int, position: int) -> str:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return str(int(item))
    where = f"{ordinal(position)} item of basket {row + 1}"
    raise TypeError(f"{where} must be text or an integer, got a {type(item).__name__}")


# ---- tables


def table_cells(frame: Any, layout: str, transaction: str | int | None, item: str | int | None) -> Cells:
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


def _arrow(columns: list[Any], position: int) -> Any:
    import narwhals as nw

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


def list_cells(lists: Any, origin: Origin | None = None) -> Cells:
    """Read an Arrow array of lists of text or integers (else BasketError), a basket each; a null is an empty basket."""
    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list_type(lists.type):
        raise BasketError("the list layout needs a column of lists; choose it with item_column=, or another format=")
    sizes = array_to_numpy(pc.list_value_length(lists), 0)
    return Cells(sizes, *_encoded(lists.flatten()), origin or Origin())


def is_list_type(kind: Any) -> bool:
    """Return whether an Arrow type is one of its list types."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _row(row: int) -> str:
    return f"row {row + 1}"


def long_cells(transactions: Any, items: Any, place: Callable[[int], str] = _row) -> Cells:
    """Read the transaction and the item of each cell, Arrow arrays, chunked or not; baskets by first appearance.

    ``place`` says where a cell stands.

    Raises:
        BasketError: there are null transactions, items that are neither text nor integers, or more of the one column.
    """
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


# ---- numbers of baskets by size


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    values, counts = np.unique(baskets.sizes, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
