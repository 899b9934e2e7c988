"""Baskets in memory: lists, sets or data frames -> transactions of item ids.

narwhals costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pc, to_arrow
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError, RecordError
from assocpriv.records.cells import Cells, Origin, cells_of_names, check_choices, ordinal, resolve, without_unknown
from assocpriv.records.columns import (
    Rows,
    frame_columns,
    is_list_type,
    is_text,
    sample_rows,
    series_to_arrow,
    values_of,
)
from assocpriv.records.layout import FALSE_WORDS, TRUE_WORDS, Layout, no_flag, understand_table
from assocpriv.records.sources import FirstRows

_LONG_ROW_BYTES, _LONG_NAME_BYTES = 48, 8  # memory of a row of the long layout, and of a byte of its distinct names
EXHAUSTED = "the iterator gives no basket; one that was read before is empty: give a list of the baskets"
_NO_TEXT = "must be text in UTF-8, numbers or dates, not nested; choose another column"
_QUANTITY = re.compile(r"[-+−]?[0-9][0-9.,' \u00a0]*-?")  # with decimal commas; some write a minus after the number


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
        layout: str | Layout | None = None,
        *,
        catalogue: Catalogue | None = None,
        unknown: str = "error",
        repeats: str = "error",
    ) -> "Baskets":
        """Make baskets of a pandas, polars or pyarrow table.

        Args:
            frame: the table, in memory.
            layout: in words, as of ``read_baskets``: "one-hot" (a column an item, cells true/false or 0/1, or words for
                them as in files),
                "long transaction=COLUMN item=COLUMN" (a row for each item of each transaction; baskets by first
                appearance), "list item=COLUMN" (a row a basket, one column of lists, a null being an empty basket). By
                default it is found out; what may mean several things is refused.
            catalogue: as for :meth:`from_sets`, but by default the columns, in order, for one-hot.
            unknown, repeats: as for :meth:`from_sets`.

        Raises:
            TypeError: not a table in memory.
            BasketError: columns or cells that do not fit the layout; unknown, repeated or unusable names.
        """
        check_choices(unknown=unknown, repeats=repeats)
        return _baskets_of(_cells_of_frame(frame, layout), catalogue, unknown, repeats)

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
    return Baskets.from_frame(data, **options) if is_frame(data) else Baskets.from_sets(data, **options)


def named_baskets(
    data: Any, catalogue: Catalogue | None, *, unknown: str, repeats: str, layout: str | Layout | None = None
) -> tuple[Baskets, int]:
    """Make baskets as :func:`to_baskets` does, and count the items that are dropped as unknown.

    They are of a catalogue's names; None for any, also where no basket has an item.

    >>> named_baskets([[], []], None, unknown="error", repeats="error")
    (Baskets(2 baskets over 1 items), 0)
    """
    check_choices(unknown=unknown, repeats=repeats)
    if Layout.parse(layout) != Layout() and (isinstance(data, Baskets) or not is_frame(data)):
        raise BasketError("a layout is said of files and tables; leave it out for baskets and lists of items")
    if isinstance(data, Baskets):
        return data, 0
    cells = _cells_of_frame(data, layout) if is_frame(data) else _cells_of_sets(data)
    if catalogue is None and not len(cells.codes):
        catalogue = Catalogue.numbered(1)  # no names to make one of; nothing looks at it
    found, ids = resolve(cells, catalogue)
    known = without_unknown(cells, ids, unknown, found)
    return assemble_in_order(known, found, repeats), len(ids) - len(known.codes)


def is_frame(data: Any) -> bool:
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
                "once with repeats='merge'"
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
    cells = cells_of_names(_names_of(basket, row) for row, basket in enumerate(baskets))
    if not len(cells.sizes) and isinstance(baskets, Iterator):
        raise BasketError(EXHAUSTED)
    return cells


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


def frame_layout(frame: Any, layout: str | Layout | None, persons: str | int | None = None) -> tuple[str, list[Any]]:
    """Return a table's layout as it is read, and its columns: of all items, of transactions and items, or of lists.

    Columns are narwhals series; arguments and what is raised are those of ``Baskets.from_frame``. With a column of
    ``persons`` it stands in the place of items.
    """
    columns = frame_columns(frame, BasketError)
    if not columns:
        raise BasketError("a table of baskets needs columns, got none")
    names = [str(column.name).strip() for column in columns]
    n_rows = min(sample_rows(len(columns)), len(columns[0]))
    kinds, cells = zip(*(_head(column, n_rows) for column in columns), strict=True)
    found = understand_table(FirstRows.of_table(names, cells), kinds, Layout.parse(layout))
    if persons is not None:
        found = found.with_persons(persons)
    return found.kind, [columns[place] for place in found.taken]


def _head(column: Any, n_rows: int) -> tuple[Any, list[object]]:
    """Return a column's Arrow type, null where there are several, and what stands for its first cells."""
    import narwhals as nw

    if column.dtype == nw.Boolean:  # whichever they are: no cell of thousands of columns becomes Python's
        return pa.bool_(), [True] * n_rows
    with contextlib.suppress(RecordError):
        head = series_to_arrow(column.head(n_rows), "")
        return head.type, values_of(head)
    return pa.null(), ["…"] * n_rows


def persons_of_frame(frame: Any, layout: str | Layout | None, column: str | int) -> Cells:
    """Return the persons of each transaction's rows; arguments are those of ``Baskets.from_frame``.

    Raises:
        BasketError: as there, no such column, or no long layout.
    """
    return _cells_of_frame(frame, layout, column)


def _cells_of_frame(frame: Any, layout: str | Layout | None, persons: str | int | None = None) -> Cells:
    kind, columns = frame_layout(frame, layout, persons)
    arrays = [series_to_arrow(column, str(place), BasketError) for place, column in enumerate(columns, 1)]
    rows = Rows(arrays, lambda row: row + 1, Origin())
    if kind == "list":
        return list_cells(arrays[0])
    if kind == "long":
        return long_cells([long_part(rows, "item" if persons is None else "person")])
    return onehot_cells(flags_of(rows, range(len(columns))), catalogue_of_columns(str(each.name) for each in columns))


# ---- tables: a column of lists


def list_cells(lists: Any, origin: Origin | None = None) -> Cells:
    """Read an Arrow array of lists of text or integers (else BasketError), a basket each; a null is an empty basket."""
    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list_type(lists.type):
        raise BasketError("the layout list needs a column of lists; name it with item=, or say another layout")
    sizes = array_to_numpy(pc.list_value_length(lists), 0)
    codes, names = _distinct([_coded_items(lists.flatten())])
    return Cells(sizes, codes, names, origin or Origin())


# ---- tables: long, a row an item


@dataclass(frozen=True, slots=True)
class LongPart:
    """Rows of the long layout.

    Attributes:
        transactions: text of Arrow, of each run of rows that stand together.
        lengths: how many rows a run has, int64.
        items: of each row, text in codes of Arrow.
        returned: how many returned items are left out.
    """

    transactions: Any
    lengths: NDArray[np.int64]
    items: Any
    returned: int

    @property
    def memory_bytes(self) -> int:
        """About what it takes to make baskets of these rows."""
        names = self.transactions.nbytes + self.items.dictionary.nbytes
        return _LONG_ROW_BYTES * len(self.items) + _LONG_NAME_BYTES * int(names)


def long_part(rows: Rows, what: str = "item") -> LongPart:
    """Read the transaction, the item and, where there is one, the quantity of each row; returned items are left out.

    ``what`` says what stands in the second column.

    Raises:
        BasketError: a row without transaction or item; items that are neither text nor integers; a quantity that is no
            number.
    """
    transactions, items = rows.columns[:2]
    kept, returned = np.arange(len(items)), 0
    if len(rows.columns) > 2:
        kept = np.flatnonzero(~_are_returned(rows))
        returned = len(items) - len(kept)
        transactions, items = transactions.take(to_arrow(kept)), items.take(to_arrow(kept))
    items = _coded_items(items, what)
    if items.null_count:  # rows without anything are none, as spreadsheets leave them
        bare = np.flatnonzero(array_to_numpy(items.is_null()))
        bare = bare[array_to_numpy(_texts(transactions.take(to_arrow(bare)), "transaction ids").is_null())]
        filled = np.delete(np.arange(len(items)), bare)
        kept, transactions, items = kept[filled], transactions.take(to_arrow(filled)), items.take(to_arrow(filled))
    starts = _run_starts(transactions)
    transactions = _texts(transactions.take(to_arrow(starts)), "transaction ids")
    for values, places, each in ((transactions, kept[starts], "transaction id"), (items, kept, what)):
        if values.null_count:
            row = int(places[np.argmax(array_to_numpy(values.is_null()))])
            raise BasketError(
                f"{rows.origin.row_word} {rows.line(row)} has no {each}; fill it in, or take such rows, as totals, out"
            )
    return LongPart(transactions, np.diff(starts, append=len(items)), items, returned)


def _run_starts(values: Any) -> NDArray[np.int64]:
    """Return where runs of equal values of an Arrow array begin."""
    changed = np.ones(len(values), dtype=np.bool_)
    plain = values.indices if pa.types.is_dictionary(values.type) else values
    with contextlib.suppress(pa.ArrowException):  # nested, which is refused as what it is
        differ = pc.not_equal(plain[1:], plain[:-1])
        changed[1:] = array_to_numpy(differ, missing=0) | array_to_numpy(differ.is_null())
    return np.flatnonzero(changed)


def _are_returned(rows: Rows) -> NDArray[np.bool_]:
    """Tell which rows have a quantity below zero, as returned goods have."""
    quantities = _coded(rows.columns[2], "quantities")
    texts = quantities.dictionary.to_pylist()
    odd = [_QUANTITY.fullmatch(text) is None for text in texts]
    codes = array_to_numpy(quantities.indices, len(texts))
    wrong = np.flatnonzero(np.array([*odd, False])[codes])
    if len(wrong):
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(int(wrong[0]))} has no number as its quantity; correct it, or name "
            "another column with quantity= in the layout"
        )
    back: NDArray[np.bool_] = np.array([*("-" in text or "−" in text for text in texts), False])[codes]
    return back


def long_cells(parts: Sequence[LongPart]) -> Cells:
    """Return the cells of parts of one source, or of several that share transactions; baskets by first appearance."""
    if not parts:
        return Cells(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])
    lengths = np.concatenate([part.lengths for part in parts])
    ids = pa.chunked_array([part.transactions for part in parts])
    runs = _rising_codes(ids)
    if runs is None:
        chunks = [array_to_numpy(each.indices) for each in ids.dictionary_encode().chunks]
        runs = np.concatenate([np.empty(0, dtype=np.int32), *chunks])
    codes, names = _distinct([part.items for part in parts])
    if (runs[1:] < runs[:-1]).any():
        rows = np.repeat(runs, lengths)
        # integers of row and place sort several times faster than a stable np.argsort
        order = rows.astype(np.int64) << 32
        order |= np.arange(len(order), dtype=np.int64)
        order.sort()
        order &= (1 << 32) - 1
        codes = codes[order]
    return Cells(np.bincount(runs, lengths).astype(np.int64), codes, names)  # exact below 2^53


def _rising_codes(ids: Any) -> NDArray[np.int64] | None:
    """Return the codes of Arrow's texts where each is longer than the last one, or as long and greater, as numbers are.

    Between chunks one may stand twice. None where they do not rise: one may then come again.
    """
    codes, last, number = [np.empty(0, dtype=np.int64)], b"", 0
    for chunk in filter(len, ids.chunks):
        lengths, first = array_to_numpy(pc.binary_length(chunk)), chunk[0].as_py().encode()
        longer, greater = lengths[1:] > lengths[:-1], array_to_numpy(pc.greater(chunk[1:], chunk[:-1]))
        again = int(first == last)
        if not (longer | (greater & (lengths[1:] == lengths[:-1]))).all() or (len(first), first) < (len(last), last):
            return None
        codes.append(np.arange(number - again, number - again + len(chunk)))
        number, last = number - again + len(chunk), chunk[-1].as_py().encode()
    return np.concatenate(codes)


def _coded_items(items: Any, what: str = "item") -> Any:
    kind = items.type.value_type if pa.types.is_dictionary(items.type) else items.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        # the fields of a nested type may be named after items
        shown = "nested values" if pa.types.is_nested(kind) else str(kind)
        raise BasketError(f"{what}s must be text or integers, got {shown}; convert them")
    return _coded(items, f"{what}s")


def _coded(values: Any, what: str) -> Any:
    """Return an Arrow array as text in codes of int32, null where it is, or where nothing but blanks stands."""
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):  # its text may quote cells
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        codes = array_to_numpy(values.indices.cast(pa.int32()), -1)
        # of codes outside, as a damaged file has them, Arrow would read whatever lies there
        if len(codes) and not -1 <= codes.min() <= codes.max() < len(values.dictionary):
            raise BasketError("a column has codes outside its dictionary; the data are damaged, write them again")
        names = pc.utf8_trim_whitespace(values.dictionary.cast(pa.string()))
        if names.null_count:
            names = pc.fill_null(names, "")
        names.validate(full=True)
        blank = np.append(array_to_numpy(pc.binary_length(names)) == 0, False)
        if blank.any():
            codes = np.where(blank[codes], -1, codes)
        return pa.DictionaryArray.from_arrays(_whole_numbers(codes), names, safe=False)
    raise BasketError(f"{what} {_NO_TEXT}")


def _texts(values: Any, what: str) -> Any:
    """Return an Arrow array as text, null where it is, or where nothing but blanks stands."""
    if pa.types.is_dictionary(values.type) or pa.types.is_null(values.type):
        return _coded(values, what).dictionary_decode()
    with contextlib.suppress(pa.ArrowException):  # its text may quote cells
        texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
        texts.validate(full=True)
        blank = array_to_numpy(pc.binary_length(texts), 1) == 0
        return pc.if_else(to_arrow(blank), pa.nulls(len(texts), pa.string()), texts) if blank.any() else texts
    raise BasketError(f"{what} {_NO_TEXT}")


def _distinct(parts: Sequence[Any]) -> tuple[NDArray[np.int32], list[str]]:
    """Return the codes of parts of one column, −1 for nulls, and its distinct values."""
    if len(parts) > 1:  # one dictionary for all
        parts = pa.chunked_array(parts).unify_dictionaries().chunks
    names = parts[0].dictionary.dictionary_encode()  # a dictionary may repeat values, and hold some that never appear
    numbers = np.append(array_to_numpy(names.indices), np.int32(-1))
    codes = numbers[np.concatenate([array_to_numpy(part.indices, -1) for part in parts])]
    used = np.bincount(codes + 1, minlength=len(names.dictionary) + 1)[1:] > 0
    if not used.all():
        codes = np.append(np.cumsum(used) - 1, -1).astype(np.int32)[codes]
    return codes, names.dictionary.filter(to_arrow(used)).to_pylist()


def _whole_numbers(codes: NDArray[Any]) -> Any:
    """Return codes as Arrow's, −1 as null; pa.array would load pandas."""
    valid = pa.py_buffer(np.packbits(codes >= 0, bitorder="little")) if codes.min(initial=0) < 0 else None
    return pa.Array.from_buffers(pa.int32(), len(codes), [valid, pa.py_buffer(codes.astype(np.int32, copy=False))])


# ---- tables: one-hot, a column an item


def catalogue_of_columns(names: Iterable[str]) -> Catalogue:
    """Return the items that columns are.

    Raises:
        BasketError: they cannot be items.
    """
    try:
        return Catalogue(name.strip() for name in names)
    except PlanError as error:
        problem = str(error)
    raise BasketError(f"the columns cannot be items: {problem}")


def flags_of(rows: Rows, places: Sequence[int]) -> list[Any]:
    """Return columns as zeros and ones, shape (n_rows,) each; nulls are zeros. ``places`` are theirs in the table.

    Raises:
        BasketError: a cell is neither true nor false.
    """
    return [_flags(values, place, rows) for values, place in zip(rows.columns, places, strict=True)]


def _flags(values: Any, place: int, rows: Rows) -> Any:
    if is_text(values.type):
        values = values.dictionary_encode()
    elif pa.types.is_dictionary(values.type) and not is_text(values.type.value_type):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type) or pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    if pa.types.is_boolean(values.type):
        return array_to_numpy(pc.fill_null(values, False))
    if pa.types.is_dictionary(values.type):
        words = [str(word).strip().lower() for word in values.dictionary.to_pylist()]
        meant = np.array([1 if word in TRUE_WORDS else 0 if word in FALSE_WORDS else 2 for word in words] + [0])
        flags = meant[array_to_numpy(values.indices.cast(pa.int32()), len(words))]
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        flags = array_to_numpy(pc.fill_null(values, 0))
    else:
        raise BasketError(f"column {place + 1} of items holds no numbers, nor true and false; make it true or false")
    odd = np.flatnonzero((flags != 0) & (flags != 1))
    if len(odd):
        row = int(odd[0])
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(row)}, column {place + 1} {no_flag(str(values[row].as_py()))}"
        )
    return flags


def onehot_cells(columns: Sequence[Any], catalogue: Catalogue, origin: Origin | None = None) -> Cells:
    """Return the cells of a one-hot table: a column an item of the catalogue, arrays (n_baskets,), zero or not.

    >>> onehot_cells([[1, 0], [1, 1]], Catalogue(["milk", "bread"])).codes.tolist()
    [0, 1, 1]
    """
    flags = np.empty((len(columns[0]), len(columns)), dtype=np.bool_)
    for place, column in enumerate(columns):
        flags[:, place] = column
    return Cells(flags.sum(axis=1), np.nonzero(flags)[1], catalogue, origin or Origin())


# ---- numbers of baskets by size


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    values, counts = np.unique(baskets.sizes, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
