"""Baskets in memory: lists, sets and data frames -> transactions of item ids.

This module sees raw items. Nothing it raises or shows contains one: errors name a basket, a position in it
and a count. Names lose the blanks around them, because a catalogue has none.
"""

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import BasketError, PlanError
from assocpriv.core.plan import MAX_ITEMS, Catalogue

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,6}")  # numbers below MAX_ITEMS have at most 7 digits
_CHOICES = {
    "layout": ("auto", "onehot", "long", "list"),
    "unknown": ("error", "drop"),
    "repeats": ("error", "merge"),
    "empty": ("error", "keep"),
}


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
        layout: str = "auto",
        *,
        transaction: str | None = None,
        item: str | None = None,
        catalogue: Catalogue | None = None,
        unknown: str = "error",
        repeats: str = "error",
    ) -> "Baskets":
        """Make baskets of a pandas, polars or pyarrow table.

        Args:
            frame: the table, in memory.
            layout: "onehot" (a column an item, cells true/false or 0/1), "long" (a row for each item of each
                transaction; baskets in order of first appearance), "list" (a row a basket, one column of
                lists, a null being an empty basket), or "auto": onehot if all cells are true/false or 0/1,
                list if a column holds lists, otherwise long.
            transaction: column of the long layout; by default one of that name, otherwise the first.
            item: column of the long or list layout; by default one of that name, otherwise the next one.
            catalogue: as for :meth:`from_sets`, but by default the columns, in order, for onehot.
            unknown: "error" or "drop", as for :meth:`from_sets`.
            repeats: "error" or "merge", as for :meth:`from_sets`.

        Raises:
            TypeError: not a table in memory.
            BasketError: columns or cells that do not fit the layout; unknown, repeated or unusable names.
        """
        check_choices(layout=layout, unknown=unknown, repeats=repeats)
        cells = _cells_of_frame(frame, layout, transaction, item)
        return _baskets_of(cells, catalogue, unknown, repeats)

    def aligned(self, catalogue: Catalogue, *, unknown: str = "error") -> tuple["Baskets", int]:
        """Number the items as another catalogue does.

        Args:
            catalogue: the catalogue that the result uses.
            unknown: "error", or "drop" to leave out items that are not in the catalogue.

        Returns:
            The same baskets over ``catalogue``, and how many items were left out.

        Raises:
            BasketError: an item is not in the catalogue and ``unknown`` is "error".

        >>> Baskets.from_sets([["a", "b"]]).aligned(Catalogue(["b"]), unknown="drop")
        (Baskets(1 baskets over 1 items), 1)
        """
        check_choices(unknown=unknown)
        if catalogue == self.catalogue:
            return Baskets(catalogue, self.offsets, self.items), 0
        items = self.items[self.offsets[0] : self.offsets[-1]]
        cells = cells_of(self.sizes, items, None if self.catalogue.is_numbered else self.catalogue)
        rows, ids = without_unknown(cells.rows, resolve(cells, catalogue)[1], unknown)
        return assemble(rows, ids, len(self), catalogue, "error"), len(items) - len(rows)


def to_baskets(data: Any, **options: Any) -> Baskets:
    """Make baskets of whatever holds them in memory.

    Args:
        data: Baskets (returned unchanged, whatever the options), a pandas, polars or pyarrow table, or any
            iterable of iterables of item names.
        options: passed on to :meth:`Baskets.from_frame` or :meth:`Baskets.from_sets`.

    Raises:
        TypeError: a path, one basket instead of several, or nothing that holds baskets.
        BasketError: as the two constructors.

    >>> to_baskets([["milk"], ["milk", "bread"]])
    Baskets(2 baskets over 2 items)
    """
    if isinstance(data, Baskets):
        return data
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError("baskets must be a table or lists of items, got text or a path; use read_baskets for files")
    if not isinstance(data, Iterable) or hasattr(data, "columns"):
        return Baskets.from_frame(data, **options)
    return Baskets.from_sets(data, **options)


# ---- steps shared by every source: cells -> ids -> baskets


def basket_place(row: int) -> str:
    """Return how an error names a basket that is not a line of a file."""
    return f"basket {row + 1}"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Cells:
    """Items as a source holds them, before a catalogue numbers them.

    Attributes:
        rows: int64, shape (n_cells,), the basket of each cell.
        codes: int64, shape (n_cells,), which of ``names`` each cell holds.
        names: item names, blanks around them allowed; None where the codes are themselves the names.
        n_rows: number of baskets.
        place: how an error names a basket.
    """

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: Sequence[str] | None
    n_rows: int
    place: Callable[[int], str] = basket_place


def cells_of(
    sizes: NDArray[Any],
    codes: NDArray[Any],
    names: Sequence[str] | None,
    place: Callable[[int], str] = basket_place,
) -> Cells:
    """Return the cells of baskets that follow each other; ``sizes`` says how many each has, integers (n,)."""
    rows = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return Cells(rows, codes.astype(np.int64, copy=False), names, len(sizes), place)


def check_choices(**chosen: str) -> None:
    """Check arguments that take one of a few words.

    Raises:
        BasketError: another word.
    """
    for name, value in chosen.items():
        if value not in _CHOICES[name]:
            raise BasketError(f"{name} must be one of {', '.join(_CHOICES[name])}")


def resolve(cells: Cells, catalogue: Catalogue | None, *, numbered: bool = True) -> tuple[Catalogue, NDArray[np.int64]]:
    """Look every cell up in a catalogue, by name.

    Args:
        cells: the items.
        catalogue: where to look; None derives a catalogue from the cells.
        numbered: whether a derived catalogue is 0 … the largest where all names are numbers.

    Returns:
        The catalogue and the item ids, int64 of shape (n_cells,), −1 for items it does not hold.

    Raises:
        BasketError: a name that no catalogue can hold, or no names to derive a catalogue from.
    """
    if cells.names is None:
        return _resolve_numbers(cells.codes, catalogue)
    if isinstance(cells.names, Catalogue):
        if catalogue is None:
            return cells.names, cells.codes
    else:
        _check_names(cells)
    names = [name.strip() for name in cells.names]
    if catalogue is None:
        catalogue = _derived(names, numbered)
    return catalogue, _identify(names, catalogue)[cells.codes]


def without_unknown(
    rows: NDArray[np.int64], ids: NDArray[np.int64], unknown: str, place: Callable[[int], str] = basket_place
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Leave out the cells whose id is −1, or refuse them.

    Raises:
        BasketError: there are such cells and ``unknown`` is "error".
    """
    known = ids >= 0
    if known.all():
        return rows, ids
    if unknown == "error":
        strangers = np.flatnonzero(~known)
        where, spread = _where(rows, int(strangers[0]), place), len(np.unique(rows[strangers]))
        raise BasketError(
            f"{where} is not in the catalogue ({len(strangers):,} such items in {spread:,} baskets); "
            "every item must be; leave them out with unknown='drop' (--unknown drop)"
        )
    return rows[known], ids[known]


def assemble(
    rows: NDArray[np.int64],
    ids: NDArray[np.int64],
    n_rows: int,
    catalogue: Catalogue,
    repeats: str,
    place: Callable[[int], str] = basket_place,
) -> Baskets:
    """Make baskets of cells in any order.

    Args:
        rows: int64, shape (n_cells,), the basket of each cell, 0 … n_rows − 1.
        ids: int64, shape (n_cells,), the item id of each cell.
        n_rows: number of baskets; those without a cell are empty.
        catalogue: what the ids are positions in.
        repeats: "error", or "merge" to count an item that a basket repeats once.
        place: how an error names a basket.

    Raises:
        BasketError: a basket repeats an item and ``repeats`` is "error".
    """
    # one integer a cell sorts several times faster than np.lexsort; 2^20 items leave room for 2^43 baskets
    keys = rows * np.int64(len(catalogue)) + ids
    if not (keys[1:] > keys[:-1]).all():
        keys.sort()
        repeated = np.flatnonzero(keys[1:] == keys[:-1])
        if len(repeated):
            if repeats == "error":
                _refuse_repeats(keys[repeated] // len(catalogue), place)
            keys = np.delete(keys, repeated)
        rows = keys // len(catalogue)
        ids = keys - rows * len(catalogue)
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
    return Baskets(catalogue, offsets, ids)


def _baskets_of(cells: Cells, catalogue: Catalogue | None, unknown: str, repeats: str) -> Baskets:
    found, ids = resolve(cells, catalogue)
    rows, ids = without_unknown(cells.rows, ids, unknown, cells.place)
    return assemble(rows, ids, cells.n_rows, found, repeats, cells.place)


def _refuse_repeats(rows: NDArray[np.int64], place: Callable[[int], str]) -> None:
    raise BasketError(
        f"{place(int(rows[0]))} repeats an item ({len(rows):,} repeats in {len(np.unique(rows)):,} baskets); "
        "a basket holds an item once; count them once with repeats='merge' (--repeats merge)"
    )


def _where(rows: NDArray[np.int64], cell: int, place: Callable[[int], str]) -> str:
    position = int((rows[: cell + 1] == rows[cell]).sum())
    return f"{place(int(rows[cell]))}, item {position}"


def _check_names(cells: Cells) -> None:
    assert cells.names is not None
    bad = np.array([not name.strip() or bool(_CONTROL.search(name.strip())) for name in cells.names], dtype=bool)
    if bad.any() and bad[cells.codes].any():
        worst = np.flatnonzero(bad[cells.codes])
        raise BasketError(
            f"{_where(cells.rows, int(worst[0]), cells.place)} is empty or has control characters "
            f"({len(worst):,} such items); names must be plain text; correct the data"
        )


def _decimal(name: str) -> int:
    """Return the number that a name is the usual decimal of, or −1; MAX_ITEMS and above may give −1."""
    return int(name) if _DECIMAL.fullmatch(name) else -1


def _derived(names: Sequence[str], numbered: bool) -> Catalogue:
    if not names:
        raise BasketError("there is no item to make a catalogue of; pass the catalogue")
    numbers = [_decimal(name) for name in names] if numbered else [-1]
    if min(numbers) >= 0 and max(numbers) < MAX_ITEMS:
        return Catalogue.numbered(max(numbers) + 1)
    distinct = sorted(set(names))
    if len(distinct) > MAX_ITEMS:
        raise BasketError(f"a catalogue holds at most {MAX_ITEMS:,} items, got {len(distinct):,}; merge rare ones")
    return Catalogue(distinct)


def _identify(names: Sequence[str], catalogue: Catalogue) -> NDArray[np.int64]:
    """Return each name's item id, −1 for names that the catalogue does not hold."""
    if catalogue.is_numbered:
        numbers = np.fromiter(map(_decimal, names), np.int64, len(names))
        return np.where(numbers < len(catalogue), numbers, -1)
    index = catalogue.index_of
    return np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))


def _resolve_numbers(values: NDArray[np.int64], catalogue: Catalogue | None) -> tuple[Catalogue, NDArray[np.int64]]:
    largest = int(values.max(initial=-1))
    if catalogue is None and 0 <= largest < MAX_ITEMS:
        return Catalogue.numbered(largest + 1), values
    if catalogue is not None and catalogue.is_numbered:
        return catalogue, np.where(values < len(catalogue), values, -1)
    distinct, codes = np.unique(values, return_inverse=True)
    names = [str(value) for value in distinct.tolist()]
    if catalogue is None:
        catalogue = _derived(names, numbered=True)
    return catalogue, _identify(names, catalogue)[codes]


# ---- sets and lists


def _cells_of_sets(baskets: Iterable[Iterable[str | int]]) -> Cells:
    sizes, codes = array("q"), array("q")
    index: dict[str, int] = {}
    for row, basket in enumerate(baskets):
        names = _names_of(basket, row)
        sizes.append(len(names))
        codes.extend([index.setdefault(name, len(index)) for name in names])
    return cells_of(np.array(sizes), np.array(codes), list(index))


def _names_of(basket: object, row: int) -> list[str]:
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        raise TypeError(
            f"{basket_place(row)} must be a set or list of items, got a {type(basket).__name__}; "
            "a single basket goes into a list: [basket]"
        )
    return [
        name if type(name) is str else _name_of(name, f"{basket_place(row)}, item {position}")
        for position, name in enumerate(basket, 1)
    ]


def _name_of(item: object, where: str) -> str:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return str(int(item))
    raise TypeError(f"{where} must be text or an integer, got a {type(item).__name__}")


# ---- tables; pyarrow and narwhals cost a tenth of a second to load, hence the imports inside


def is_list_type(kind: Any) -> bool:
    """Return whether an Arrow type is one of its list types."""
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def list_cells(lists: Any, place: Callable[[int], str] = basket_place) -> Cells:
    """Read an Arrow array of lists, a basket each; a null is an empty basket.

    Raises:
        BasketError: the lists hold nulls, or anything but text or integers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list_type(lists.type):
        raise BasketError("the list layout needs a column of lists; choose it with item=, or another layout")
    sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    codes, names = _encoded(lists.flatten(), np.repeat(np.arange(len(sizes)), sizes), place)
    return cells_of(sizes, codes, names, place)


def long_cells(transactions: Any, items: Any, place: Callable[[int], str] = basket_place) -> Cells:
    """Read two Arrow arrays, the transaction and the item of each cell; baskets in order of first appearance.

    Raises:
        BasketError: there are nulls, or items that are neither text nor integers.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(transactions.type):
        transactions = transactions.dictionary_decode()
    if transactions.null_count:
        missing = int(np.flatnonzero(np.asarray(transactions.is_null()))[0])
        raise BasketError(
            f"row {missing + 1} has no transaction id ({transactions.null_count:,} such rows); correct the data"
        )
    try:
        encoded = transactions.dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise BasketError("transaction ids must be text, numbers or dates, not nested; choose another column") from None
    rows = np.asarray(encoded.indices).astype(np.int64)
    codes, names = _encoded(items, rows, place)
    return Cells(rows, codes, names, len(encoded.dictionary), place)


def long_columns(columns: Sequence[object], transaction: str | None = None, item: str | None = None) -> tuple[int, int]:
    """Choose the columns of the long layout.

    Args:
        columns: the names of all columns.
        transaction: name of the transaction column; by default "transaction" in any case, else the first.
        item: name of the item column; by default "item" in any case, else the first of the others.

    Returns:
        The positions of the transaction and of the item column.

    Raises:
        BasketError: fewer than two columns, or a named one is missing or used twice.
    """
    if len(columns) < 2:
        raise BasketError(f"the long layout needs a transaction and an item column, got {len(columns)} columns")
    first, second = _column(columns, "transaction", transaction), _column(columns, "item", item)
    if first is None:
        first = next(i for i in range(len(columns)) if i != second)
    if second is None:
        second = next(i for i in range(len(columns)) if i != first)
    if first == second:
        raise BasketError("transaction and item must be two different columns")
    return first, second


def _column(columns: Sequence[object], role: str, asked: str | None) -> int | None:
    if asked is not None:
        if asked not in columns:
            raise BasketError(f"the column that argument {role} names is not among the {len(columns)} columns")
        return columns.index(asked)
    lowered = [str(name).strip().lower() for name in columns]
    return lowered.index(role) if role in lowered else None


def _encoded(items: Any, rows: NDArray[np.int64], place: Callable[[int], str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the codes and the distinct names of an Arrow array of items."""
    import pyarrow as pa

    if pa.types.is_dictionary(items.type):
        items = items.dictionary_decode()
    if items.null_count:
        missing = int(np.flatnonzero(np.asarray(items.is_null()))[0])
        raise BasketError(
            f"{_where(rows, missing, place)} is missing ({items.null_count:,} such items); correct the data"
        )
    if not len(items):
        return np.empty(0, dtype=np.int64), []
    kind = items.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        # the fields of a nested type may be named after items
        shown = "nested values" if pa.types.is_nested(kind) else str(kind)
        raise BasketError(f"items must be text or integers, got {shown}; convert them")
    encoded = items.dictionary_encode()
    try:
        names = [str(name) for name in encoded.dictionary.to_pylist()]
    except UnicodeDecodeError:
        raise BasketError("the item column holds text that is not UTF-8; convert it") from None
    return np.asarray(encoded.indices).astype(np.int64), names


def _cells_of_frame(frame: Any, layout: str, transaction: str | None, item: str | None) -> Cells:
    columns = _columns_of(frame)
    if not columns:
        raise BasketError("a table of baskets needs columns, got none")
    if layout == "auto":
        layout = _layout_of(columns)
    names = [column.name for column in columns]
    if layout == "onehot":
        return _onehot_cells(columns)
    if layout == "list":
        lists = [i for i, column in enumerate(columns) if _holds_lists(column)]
        if item is None and len(lists) != 1:
            raise BasketError(f"the list layout needs one column of lists, got {len(lists)}; name it with item=")
        return list_cells(_arrow(columns, lists[0] if item is None else _column(names, "item", item) or 0))
    first, second = long_columns(names, transaction, item)
    return long_cells(_arrow(columns, first), _arrow(columns, second))


def _columns_of(frame: Any) -> list[Any]:
    import narwhals as nw

    try:
        return list(nw.from_native(frame, eager_only=True).iter_columns())
    except TypeError:
        kind = type(frame).__name__
    except nw.exceptions.NarwhalsError:
        raise BasketError("the columns of a table of baskets must have different names") from None
    raise TypeError(f"a table must be a pandas, polars or pyarrow table in memory, got a {kind}")


def _layout_of(columns: list[Any]) -> str:
    if all(_is_zero_one(column) for column in columns):
        return "onehot"
    return "list" if any(_holds_lists(column) for column in columns) else "long"


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
    present: list[NDArray[np.int64]] = []
    for position, column in enumerate(columns):
        if column.null_count() or not _is_zero_one(column):
            raise BasketError(f"column {position + 1} of a onehot table must hold only true and false, or 0 and 1")
        present.append(np.flatnonzero(column.to_numpy()).astype(np.int64))
    rows = np.concatenate(present)
    order = np.argsort(rows, kind="stable")
    codes = np.repeat(np.arange(len(columns), dtype=np.int64), [len(part) for part in present])
    return Cells(rows[order], codes[order], catalogue, len(columns[0]))


def _arrow(columns: list[Any], position: int) -> Any:
    import pyarrow as pa

    try:
        values = columns[position].to_arrow()
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # their texts quote cells
    raise BasketError(
        f"column {position + 1} mixes types; it must hold only text, only integers, or lists of them; convert it"
    )
