"""Baskets in memory: lists, sets or data frames -> transactions of item ids.

narwhals costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pc
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError, RecordError
from assocpriv.records.cells import (
    MARKS,
    ROUNDED,
    STORE_AS_TEXT,
    TAB,
    Cells,
    LeftOut,
    Origin,
    cells_of_names,
    check_choices,
    have_quantities,
    is_word,
    kept_sizes,
    ordinal,
    resolve,
    several_in_one,
    without_unknown,
    without_words,
)
from assocpriv.records.columns import (
    Rows,
    frame_columns,
    is_list_type,
    is_text,
    sample_rows,
    series_to_arrow,
    values_of,
)
from assocpriv.records.detection import names_columns, understand_table
from assocpriv.records.layout import FALSE_WORDS, NONE, STRICT, TRUE_WORDS, Found, Layout, ReadOptions
from assocpriv.records.long_rows import long_cells, long_part, refuse_incomplete
from assocpriv.records.one_hot import is_margin, no_flag
from assocpriv.records.sources import SAMPLE_LINES, FirstRows
from assocpriv.records.texts import coded_items, distinct_texts, plain_ids, texts_of
from assocpriv.records.values import cells_apart

_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it
EXHAUSTED = "the iterator gives no basket; one that was read before is empty: give a list of the baskets"


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
        layout: str | Layout | None = None,
    ) -> "Baskets":
        """Make baskets of sets or lists of item names.

        Args:
            baskets: the items of each basket; the integer 7 means the name "7".
            catalogue: the items there may be; by default 0 … the largest if all names are numbers that a
                catalogue has room for, otherwise the distinct names, sorted.
            unknown: "error", or "drop" to leave out items that are not in the catalogue.
            repeats: "error", or "merge" to count an item that a basket repeats once.
            layout: "list within=none" where names hold commas, bars or quantities, "list missing=keep" where NaN or
                None is a name; both together, too.

        Raises:
            TypeError: one basket instead of several, or items that are neither text nor integers.
            BasketError: unknown, repeated or unusable names.

        >>> Baskets.from_sets([[2, 0], []]).sizes
        array([2, 0])
        """
        options = ReadOptions(layout, unknown, repeats)
        _refuse_layout_of_lists(options.said)
        return _baskets_of(_cells_of_sets(baskets, options, catalogue), catalogue, options)[0]

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        layout: str | Layout | None = None,
        *,
        catalogue: Catalogue | None = None,
        unknown: str = "error",
        repeats: str = "error",
        incomplete: str = "refuse",
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
            incomplete: "refuse", or "drop" to leave out rows of the long layout without an id, an item or a quantity.

        Raises:
            TypeError: not a table in memory.
            BasketError: columns or cells that do not fit the layout; unknown, repeated or unusable names.
        """
        options = ReadOptions(layout, unknown, repeats, incomplete=incomplete)
        return _baskets_of(_cells_of_frame(frame, options, catalogue), catalogue, options)[0]

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


def named_baskets(data: Any, catalogue: Catalogue | None, options: ReadOptions = STRICT) -> tuple[Baskets, int]:
    """Make baskets as :func:`to_baskets` does, and count the items that are dropped as unknown.

    They are of a catalogue's names; None for any, also where no basket has an item.

    >>> named_baskets([[], []], None)
    (Baskets(2 baskets over 1 items), 0)
    """
    is_table = not isinstance(data, Baskets) and is_frame(data)
    if not is_table:
        _refuse_layout_of_lists(options.said)
    if isinstance(data, Baskets):
        return data, 0
    cells = (_cells_of_frame if is_table else _cells_of_sets)(data, options, catalogue)
    if catalogue is None and not len(cells.codes):
        catalogue = Catalogue.numbered(1)  # no names to make one of; nothing looks at it
    return _baskets_of(cells, catalogue, options)


def _refuse_layout_of_lists(said: Layout) -> None:
    if said not in (Layout(), replace(Layout("list"), within=said.within, missing=said.missing)):
        raise BasketError("a layout is said of files and tables; leave it out for baskets and lists of items")


def is_frame(data: Any) -> bool:
    """Tell a table from lists; TypeError for what cannot be either."""
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError("baskets must be a table or lists of items, got text or a path; use read_baskets for files")
    if getattr(data, "ndim", 1) == 2 and not hasattr(data, "columns"):
        raise TypeError(
            "an array of two dimensions may mean several things; where columns are items, name them: "
            "pandas.DataFrame(array, columns=names); where rows list items, give array.tolist()"
        )
    of_arrow = hasattr(data, "combine_chunks") or hasattr(data, "read_all") or hasattr(data, "buffers")
    return not isinstance(data, Iterable) or hasattr(data, "columns") or of_arrow


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
        if repeats == "error" and not cells.summed:
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


def _baskets_of(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, int]:
    """Return baskets, and how many items were dropped as unknown; say what the cells leave out."""
    if cells.left_out.note:
        _LOG.info("baskets: %s", cells.left_out.note)
    found, ids = resolve(cells, catalogue)
    known = without_unknown(cells, ids, options.unknown, found)
    return assemble_in_order(known, found, options.repeats), len(ids) - len(known.codes)


def refuse_several(cells: Cells, found: Found) -> None:
    """Refuse cells most of which hold several items or a quantity, unless the layout says what stands within them.

    Raises:
        BasketError: with the layouts that decide.
    """
    said = found.layout
    if said.within != NONE and have_quantities(cells):
        kept = f", or say layout='{replace(said, kind=said.kind or 'list', within=NONE)}' if these are names"
        raise BasketError(
            "nearly all items have a quantity in them, as 2x, (2) or :2; write it into a column of its own, or leave "
            f"it out{kept if said.within is None else ''}"
        )
    mark = several_in_one(cells) if said.within is None else None
    if mark is None:
        return
    apart = "write each item by itself"
    if found.kind in ("long", "lines") and not (found.kind == "lines" and found.places) and cells.sizes.max() < 2:
        layout = replace(
            said, kind="list", transaction=None, quantity=None, rows=None, item=said.item or "#1", within=mark
        )
        apart = f"say layout='{layout}' to take them apart"
    single = f", or say layout='{replace(said, kind=said.kind or 'list', within=NONE)}' if each is one item"
    raise BasketError(
        f"at least half of the items have {MARKS[mark][0]} in them, as cells with several items have; {apart}"
        f"{'' if mark == TAB else single}"
    )


# ---- sets and lists


def _cells_of_sets(baskets: Iterable[object], options: ReadOptions, catalogue: Catalogue | None) -> Cells:
    if isinstance(baskets, Mapping):
        raise TypeError("baskets must be lists of items or a table, got a mapping; give list(mapping.values())")
    if isinstance(baskets, Sequence) and _are_pairs(baskets[:SAMPLE_LINES]):
        raise BasketError(
            "the baskets are pairs of an id and an item, as rows of a table; give a table with columns receipt and item"
        )
    if isinstance(baskets, Sequence) and options.said.kind is None:
        _refuse_rows(baskets[:SAMPLE_LINES])
    names = (_names_of(basket, row) for row, basket in enumerate(baskets))
    cells = cells_of_names(names, options.absent(catalogue))
    if not len(cells.sizes) and isinstance(baskets, Iterator):
        raise BasketError(EXHAUSTED)
    refuse_several(cells, Found(options.said))
    return cells


def _are_pairs(rows: Sequence[object]) -> bool:
    """Tell tuples of an integer and a text, of which the integers come again, from baskets."""
    pairs = [row for row in rows if isinstance(row, tuple) and [type(each) for each in row] == [int, str]]
    return len(pairs) == len(rows) > 1 and len({pair[0] for pair in pairs}) < len(pairs)


def _refuse_rows(baskets: Sequence[object]) -> None:
    """Refuse lists that are rows of a table, with names of columns first, or each with an id first."""
    lists = [basket for basket in baskets if isinstance(basket, list | tuple)]
    if len(lists) < max(2, len(baskets)):
        return
    rows, kinds = [list(map(str, each)) for each in lists], [[type(item) for item in each] for each in lists]
    if names_columns(rows[0]):
        raise BasketError(
            "basket 1 has names of columns, as the first row of a table; give pandas.DataFrame(rows[1:], "
            "columns=rows[0])"
        )
    numbered = all(each[:1] == [int] and int not in each[1:] for each in kinds) and max(map(len, kinds)) > 1
    if numbered or (any(str in each for each in kinds) and cells_apart(rows)[1]):
        raise BasketError(
            "the first items of all baskets are ids or numbers and stand nowhere else, as no items do; leave them out, "
            "as [basket[1:] for basket in baskets], or say layout='list' if they are items"
        )


def _names_of(basket: object, row: int) -> list[str]:
    if isinstance(basket, Mapping):  # whose zeros would count as bought
        raise TypeError(f"basket {row + 1} is a mapping; give the names alone, or a table with a column an item")
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        raise TypeError(
            f"basket {row + 1} must be a set or list of items, got a {type(basket).__name__}; "
            "a single basket goes into a list: [basket], and text with several items is split, as text.split(',')"
        )
    return [name if type(name) is str else _name_of(name, row, position) for position, name in enumerate(basket, 1)]


def _name_of(item: object, row: int, position: int) -> str:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return str(int(item))
    if isinstance(item, UUID):
        return str(item)
    where = f"{ordinal(position)} item of basket {row + 1}"
    raise TypeError(f"{where} must be text or an integer, got a {type(item).__name__}")


# ---- tables


def frame_layout(frame: Any, layout: str | Layout | None, persons: str | int | None = None) -> tuple[Found, list[Any]]:
    """Return a table's layout as it is read, and the columns that it takes.

    Columns are narwhals series; arguments and what is raised are those of ``Baskets.from_frame``, and
    ``persons`` says whose a transaction is.
    """
    columns = frame_columns(_with_index(frame), BasketError)
    if not columns:
        raise BasketError("a table of baskets needs columns, got none")
    names = [str(column.name).strip() for column in columns]
    n_rows = min(sample_rows(len(columns)), len(columns[0]))
    kinds, cells = zip(*(_head(column, n_rows) for column in columns), strict=True)
    found = understand_table(FirstRows.of_table(names, cells), kinds, Layout.parse(layout))
    if persons is not None:
        found = found.with_persons(persons)
    return found, [columns[place] for place in found.taken]


def _with_index(frame: Any) -> Any:
    """Return a table of pandas with an index that has names as columns, as its Parquet has it; others as they are."""
    names = list(getattr(getattr(frame, "index", None), "names", ()))
    has_names = names and None not in names and hasattr(frame, "columns") and not set(names) & set(frame.columns)
    return frame.reset_index() if has_names else frame


def _head(column: Any, n_rows: int) -> tuple[Any, list[object]]:
    """Return a column's Arrow type, null where there are several, and what stands for its first cells."""
    import narwhals as nw

    # flags whichever they are: no cell of thousands of columns becomes Python's
    if column.dtype == nw.Boolean and not is_margin(str(column.name)):
        return pa.bool_(), [True] * n_rows
    with contextlib.suppress(RecordError):
        head = series_to_arrow(column.head(n_rows), "")
        return head.type, values_of(head)
    return pa.null(), ["…"] * n_rows


def persons_of_frame(frame: Any, column: str | int, options: ReadOptions, catalogue: Catalogue | None) -> Cells:
    """Return whose each row of each transaction is, −1 if nobody is named; arguments as of ``Baskets.from_frame``.

    Raises:
        BasketError: as there, no such column, or no long layout.
    """
    return _cells_of_frame(frame, options, catalogue, column)


def _cells_of_frame(
    frame: Any, options: ReadOptions, catalogue: Catalogue | None, persons: str | int | None = None
) -> Cells:
    found, columns = frame_layout(frame, options.layout, persons)
    absent = options.absent(catalogue)
    if found.layout != options.said and persons is None:
        _LOG.info("table: read as: %s", found.layout)
    if found.note and persons is None:
        _LOG.warning("table: %s", found.note)
    arrays = [series_to_arrow(column, str(place), BasketError) for place, column in enumerate(columns, 1)]
    rows = Rows(arrays, lambda row: row + 1, Origin())
    if found.kind == "list":
        cells = list_cells(arrays[0], None, found.layout.within, absent)
    elif found.kind == "long":
        part = long_part(rows, found, absent)
        if options.incomplete == "refuse":
            refuse_incomplete([part])
        cells = long_cells([part], persons=persons is not None)
    else:
        items = catalogue_of_columns(str(each.name) for each in columns)
        cells = onehot_cells(flags_of(rows, range(len(columns))), items, None, absent)
    if persons is None:
        refuse_several(cells, found)
    return cells


# ---- tables: a column of lists


def list_cells(
    lists: Any, origin: Origin | None = None, within: str | None = None, absent: Collection[str] = ()
) -> Cells:
    """Read an Arrow array of lists of text or integers (else BasketError), a basket each; a null is an empty basket.

    Of text with a mark between items, which ``within`` gives, each cell is a list.
    """
    if within not in (None, NONE) and not is_list_type(lists.type):
        lists = _taken_apart(texts_of(lists, "items"), within)
    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list_type(lists.type):
        raise BasketError("the layout list needs a column of lists; name it with item=, or say another layout")
    sizes = array_to_numpy(pc.list_value_length(lists), 0)
    codes, names = distinct_texts([coded_items(plain_ids(lists.flatten(), "items"), "item")])
    cells = without_words(Cells(sizes, codes, names, origin or Origin()), absent)
    if within not in (None, NONE) and cells.codes.min(initial=0) < 0:  # "tea,,rye"
        kept = cells.codes >= 0
        cells = replace(cells, sizes=kept_sizes(cells.sizes, kept), codes=cells.codes[kept])
    return cells


def _taken_apart(texts: Any, within: str) -> Any:
    """Return texts of Arrow as lists of what a mark separates in each; brackets and quotes of a printed list go.

    Raises:
        BasketError: quotes around a name that holds the mark.
    """
    is_printed = pc.any(pc.match_substring_regex(texts, r"^[\[{(].*[\]})]$")).as_py()
    lists = pc.split_pattern(pc.utf8_trim(texts, "[]{}()") if is_printed else texts, within)
    if not is_printed:
        return lists
    items = pc.utf8_trim_whitespace(lists.flatten())
    opened, closed = (pc.match_substring_regex(items, sign) for sign in (r"^['\"]", r"['\"]$"))
    if pc.any(pc.xor(opened, closed)).as_py():
        raise BasketError(
            "a name in quotes, within a list as a program prints it, holds what separates the items; write the list "
            "with another separator"
        )
    return pa.ListArray.from_arrays(lists.offsets, pc.utf8_trim(items, "'\""), mask=lists.is_null())


# ---- tables: one-hot, a column an item


def catalogue_of_columns(names: Iterable[str]) -> Catalogue:
    """Return the items that columns are.

    Raises:
        BasketError: they cannot be items.
    """
    stripped = [name.strip() for name in names]
    if any(map(ROUNDED.fullmatch, stripped)):
        raise BasketError(f"names of columns are numbers that have lost digits; {STORE_AS_TEXT}")
    try:
        return Catalogue(stripped)
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


def onehot_cells(
    columns: Sequence[Any], catalogue: Catalogue, origin: Origin | None = None, absent: Collection[str] = ()
) -> Cells:
    """Return the cells of a one-hot table: a column an item of the catalogue, arrays (n_baskets,), zero or not.

    A column that has one of the ``absent`` words as its name, as of pandas.get_dummies(dummy_na=True), is no item.

    >>> onehot_cells([[1, 0], [1, 1]], Catalogue(["milk", "bread"])).codes.tolist()
    [0, 1, 1]
    """
    flags = np.empty((len(columns[0]), len(columns)), dtype=np.bool_)
    for place, column in enumerate(columns):
        flags[:, place] = column
    if nothing := [place for place, name in enumerate(catalogue) if is_word(name, absent)]:
        left_out = int(flags[:, nothing].sum())
        flags[:, nothing] = False
        return Cells(
            flags.sum(axis=1),
            np.nonzero(flags)[1],
            list(catalogue),
            origin or Origin(),
            LeftOut(missing_cells=left_out),
        )
    return Cells(flags.sum(axis=1), np.nonzero(flags)[1], catalogue, origin or Origin())


# ---- numbers of baskets by size


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    values, counts = np.unique(baskets.sizes, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
