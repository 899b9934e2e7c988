"""Baskets in memory: convert lists, sets or data frames to transactions of item ids.

narwhals needs a tenth of a second to load, so it is imported inside functions.
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
from assocpriv.guarantees.errors import BasketError, PlanError, RecordError, pluralize
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_sources import SAMPLE_LINES, FirstRows
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
    drop_missing_words,
    drop_unknown_items,
    find_item_separator,
    have_quantities,
    is_missing,
    is_word,
    kept_sizes,
    ordinal,
    resolve,
)
from assocpriv.records.columns import (
    Rows,
    coded_items,
    distinct_texts,
    frame_columns,
    is_list,
    is_text,
    normalize_ids,
    sample_rows,
    series_to_arrow,
    texts_of,
    values_of,
)
from assocpriv.records.layout import FALSE_WORDS, NONE, STRICT, TRUE_WORDS, DetectedLayout, Layout, ReadOptions
from assocpriv.records.layout_detection import detect_table_layout, names_columns
from assocpriv.records.layout_signs import count_id_cells, describe_non_flag, is_total_column
from assocpriv.records.long_rows import long_cells, long_part, refuse_incomplete

_LOG = logging.getLogger("assocpriv")  # for what is left out; the command line shows it
EXHAUSTED = "the iterator has no baskets; it can be read only once, so pass a list of baskets"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Baskets:
    """Transactions of item ids, concatenated in one array.

    Attributes:
        catalogue: the names of the items; an id is a position in it.
        offsets: int64, shape (n + 1,), non-decreasing; basket i is ``items[offsets[i]:offsets[i + 1]]``.
            A slice shares ``items``, so its first offset need not be 0.
        items: int64, flat item ids, strictly increasing within each basket.

    Raises:
        BasketError: arrays have another type or shape, or offsets are outside ``items``.

    >>> Baskets.from_sets([{"milk", "bread"}, {"milk"}])
    Baskets(2 baskets over 2 items)
    """

    catalogue: Catalogue
    offsets: NDArray[np.int64]
    items: NDArray[np.int64]

    def __post_init__(self) -> None:
        # constant time, because every slice is checked here; the constructors ensure the order of ids
        for name, values in (("offsets", self.offsets), ("items", self.items)):
            if values.dtype != np.int64 or values.ndim != 1:
                raise BasketError(f"{name} must be an int64 array of one dimension, got {values.dtype}")
            object.__setattr__(self, name, np.ascontiguousarray(values))  # as compiled loops need
        if not len(self.offsets) or self.offsets[0] < 0 or self.offsets[-1] > len(self.items):
            raise BasketError("offsets must hold one number more than there are baskets, from 0 to the number of items")

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
        """Return the baskets at chosen positions.

        Args:
            rows: positions of baskets from 0, int64 (n,), in any order and with repeats.

        Returns:
            The n baskets in the order of ``rows``, over the same catalogue.
        """
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
        empty: str = "error",
        layout: str | Layout | None = None,
    ) -> "Baskets":
        """Make baskets of sets or lists of item names.

        Args:
            baskets: the items of each basket; the integer 7 means the name "7".
            catalogue: the possible items; by default the numbers from 0 to the largest if all names are numbers within
                the size limit of a catalogue, otherwise the sorted distinct names.
            unknown: "error", or "drop" to leave out items that are not in the catalogue.
            repeats: "error", or "merge" to count a repeated item of a basket once.
            empty: "error", or for baskets without items "keep" or "drop". None and NaN are not items, and are left out.
            layout: "list within=none" if names contain commas, bars or quantities, "list missing=keep" if "NaN" or
                "None" is a name, or both together.

        Returns:
            The baskets, in order.

        Raises:
            TypeError: one basket instead of several, or items that are neither text nor integers.
            BasketError: names are unknown, repeated or unusable, or baskets are empty.

        >>> Baskets.from_sets([[2, 0], []], empty="keep").sizes
        array([2, 0])
        """
        options = ReadOptions(layout, unknown, repeats, empty)
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
        empty: str = "error",
        incomplete: str = "refuse",
    ) -> "Baskets":
        """Make baskets of a pandas, polars or pyarrow table.

        Args:
            frame: the table, in memory.
            layout: as for ``read_baskets``: "one-hot" (a column per item; cells true/false, 0/1 or words for them),
                "long transaction=COLUMN item=COLUMN" (a row per item of each transaction; baskets by first appearance),
                or "list item=COLUMN" (a row per basket, with one column of lists; null is an empty basket). By default
                it is detected, and an ambiguous table is refused.
            catalogue: as for :meth:`from_sets`, but by default the columns, in order, for one-hot.
            unknown, repeats, empty: as for :meth:`from_sets`.
            incomplete: for missing cells "refuse", or "drop" to leave out their rows. In the long layout these are rows
                without an id, an item or a quantity. An empty cell of a one-hot table means "not bought" if no cell of
                the table is false; otherwise it is missing, or with "keep" means "not bought".

        Returns:
            The baskets, in the order of rows or of first appearance.

        Raises:
            TypeError: the argument is not a table in memory.
            BasketError: columns or cells do not fit the layout, names are unknown, repeated or unusable, cells are
                missing, or baskets are empty.
        """
        options = ReadOptions(layout, unknown, repeats, empty, incomplete)
        return _baskets_of(_cells_of_frame(frame, options, catalogue), catalogue, options)[0]

    def aligned(self, catalogue: Catalogue, *, unknown: str = "error") -> tuple["Baskets", int]:
        """Convert the baskets to another catalogue.

        Args:
            catalogue: the new catalogue.
            unknown: "error", or "drop" to leave out items that are not in it.

        Returns:
            The baskets, and the number of items left out.

        Raises:
            BasketError: an item is not in the catalogue and ``unknown`` is "error".

        >>> Baskets.from_sets([["a", "b"]]).aligned(Catalogue(["b"]), unknown="drop")
        (Baskets(1 baskets over 1 items), 1)
        """
        check_choices(unknown=unknown)
        if catalogue == self.catalogue:
            return Baskets(catalogue, self.offsets, self.items), 0
        items = self.items[self.offsets[0] : self.offsets[-1]]
        cells = Cells(self.sizes, items, None if self.catalogue.is_numbered else self.catalogue)
        known = drop_unknown_items(cells, resolve(cells, catalogue)[1], unknown, catalogue)
        return assemble_in_order(known, catalogue, "error"), len(items) - len(known.codes)


def to_baskets(
    data: Any,
    layout: str | None = None,
    *,
    catalogue: Catalogue | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    incomplete: str = "refuse",
) -> Baskets:
    """Make baskets of a table, or of an iterable of iterables of item names.

    Args:
        data: the table or lists; Baskets are returned unchanged.
        layout, catalogue, unknown, repeats, empty, incomplete: as for :meth:`Baskets.from_frame`; ``incomplete`` is for
            tables only.

    Returns:
        The baskets.

    Raises:
        TypeError: a path, one basket instead of several, or another object that does not hold baskets.
        BasketError: as the two constructors.

    >>> to_baskets([["milk"], ["milk", "bread"]])
    Baskets(2 baskets over 2 items)
    """
    if isinstance(data, Baskets):
        return data
    options = ReadOptions(layout, unknown, repeats, empty, incomplete)
    return _baskets_of(_cells_of(data, options, catalogue), catalogue, options)[0]


def named_baskets(data: Any, catalogue: Catalogue | None, options: ReadOptions = STRICT) -> tuple[Baskets, int]:
    """Make baskets as :func:`to_baskets`, and return the number of unknown items that were dropped.

    Without a catalogue any names are allowed, and baskets may all be empty.

    >>> named_baskets([[], []], None, ReadOptions(empty="keep"))
    (Baskets(2 baskets over 1 items), 0)
    """
    if isinstance(data, Baskets):
        _refuse_layout_of_lists(options.requested_layout)
        return data, 0
    cells = _cells_of(data, options, catalogue)
    if catalogue is None and not len(cells.codes):
        catalogue = Catalogue.numbered(1)  # there are no names; this catalogue is not used
    return _baskets_of(cells, catalogue, options)


def _refuse_layout_of_lists(wanted: Layout) -> None:
    if wanted not in (Layout(), replace(Layout("list"), within=wanted.within, missing=wanted.missing)):
        raise BasketError("a layout applies only to files and tables; leave it out for baskets and lists of items")


def _cells_of(data: Any, options: ReadOptions, catalogue: Catalogue | None) -> Cells:
    return (_cells_of_frame if is_frame(data) else _cells_of_sets)(data, options, catalogue)


def is_frame(data: Any) -> bool:
    """Return whether data are a table, not lists; raise TypeError if they are neither."""
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError("baskets must be a table or lists of items, got text or a path; use read_baskets for files")
    if getattr(data, "ndim", 1) == 2 and not hasattr(data, "columns"):
        raise TypeError(
            "a two-dimensional array is ambiguous; if its columns are items, pass pandas.DataFrame(array, "
            "columns=names); if its rows list items, pass array.tolist()"
        )
    of_arrow = hasattr(data, "combine_chunks") or hasattr(data, "read_all") or hasattr(data, "buffers")
    return not isinstance(data, Iterable) or hasattr(data, "columns") or of_arrow


# ---- cells -> baskets


def assemble_in_order(cells: Cells, catalogue: Catalogue, repeats: str) -> Baskets:
    """Make baskets of cells whose codes are item ids, and refuse or merge repeated items."""
    ids = cells.codes
    offsets = np.zeros(len(cells.sizes) + 1, dtype=np.int64)
    np.cumsum(cells.sizes, out=offsets[1:])
    rising = np.ones(len(ids) + 1, dtype=np.bool_)  # before each cell: whether a new basket or a greater id begins
    np.greater(ids[1:], ids[:-1], out=rising[1:-1])
    rising[offsets] = True
    if rising.all():
        return Baskets(catalogue, offsets, ids.astype(np.int64, copy=False))
    # one integer per cell sorts several times faster than np.lexsort; with 2^20 items, 2^43 baskets fit
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
                f"{cells.origin.place(int(rows[0]))} repeats an item{tally}; count repeated items once with "
                "repeats='merge'"
            )
        keys = np.delete(keys, repeated)
        offsets[1:] -= np.cumsum(np.bincount(rows, minlength=len(cells.sizes)))
    firsts = keys // len(catalogue)
    firsts *= len(catalogue)
    keys -= firsts
    return Baskets(catalogue, offsets, keys)


def treat_empty(cells: Cells, options: ReadOptions) -> tuple[Cells, int]:
    """Refuse, keep or leave out baskets without items; return the others and the number of empty ones.

    Raises:
        BasketError: there are some, and ``empty`` is "error".
    """
    bare = np.flatnonzero(cells.sizes == 0)
    if len(bare) and options.empty == "error":
        raise BasketError(
            f"{cells.origin.place(int(bare[0]))} is an empty basket{cells.origin.tally(f'{len(bare):,} in all')}; "
            "keep empty baskets with empty='keep', or leave them out with empty='drop'"
        )
    if options.empty == "drop" and len(bare):
        kept = np.flatnonzero(cells.sizes)
        cells = replace(cells, sizes=cells.sizes[kept], origin=cells.origin.of_rows(kept))
    return cells, len(bare)


def _baskets_of(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, int]:
    """Return baskets and the number of unknown items dropped; log what was left out."""
    cells, n_empty = treat_empty(cells, options)
    left_out = cells.left_out + LeftOut(empty_baskets=n_empty * (options.empty == "drop"))
    if left_out.note:
        _LOG.info("baskets: %s", left_out.note)
    if n_empty and not len(cells.sizes):
        raise BasketError(f"none of {pluralize(n_empty, 'basket')} has an item, so none is left to read")
    found, ids = resolve(cells, catalogue)
    known = drop_unknown_items(cells, ids, options.unknown, found)
    return assemble_in_order(known, found, options.repeats), len(ids) - len(known.codes)


def refuse_multiple_items(cells: Cells, found: DetectedLayout) -> None:
    """Refuse cells most of which hold several items or a quantity, unless the layout has ``within=``.

    Raises:
        BasketError: gives the layouts to request.
    """
    layout, is_open = found.layout, found.layout.within is None
    whole = f", or pass layout='{replace(layout, kind=layout.kind or 'list', within=NONE)}' if" * is_open
    if layout.within != NONE and have_quantities(cells):
        raise BasketError(
            "nearly all items contain a quantity, such as 2x, (2) or :2; move it to its own column, or leave it out"
            + (whole and f"{whole} these are names")
        )
    mark = find_item_separator(cells) if is_open else None
    if mark is None:
        return
    advice = "write each item by itself"
    if found.kind in ("long", "lines") and not (found.kind == "lines" and found.places) and cells.sizes.max() < 2:
        item = layout.item or "#1"
        parts = replace(layout, kind="list", transaction=None, quantity=None, rows=None, item=item, within=mark)
        advice = f"pass layout='{parts}' to split them"
    raise BasketError(
        f"at least half of the items contain {MARKS[mark][0]}, as cells with several items do; {advice}"
        f"{'' if mark == TAB else whole + ' each is one item'}"
    )


# ---- sets and lists


def _cells_of_sets(baskets: Iterable[object], options: ReadOptions, catalogue: Catalogue | None) -> Cells:
    _refuse_layout_of_lists(options.requested_layout)
    if isinstance(baskets, Mapping):
        raise TypeError("baskets must be lists of items or a table, got a mapping; pass list(mapping.values())")
    if isinstance(baskets, Sequence) and _are_pairs(baskets[:SAMPLE_LINES]):
        raise BasketError(
            "the baskets are pairs of an id and an item, as in a table; pass a table with the columns receipt and item"
        )
    if isinstance(baskets, Sequence) and options.requested_layout.kind is None:
        _refuse_rows(baskets[:SAMPLE_LINES])
    absent = options.missing_words(catalogue)
    names = (_names_of(basket, row, has_missing=bool(absent)) for row, basket in enumerate(baskets))
    cells = cells_of_names(names, absent)
    if not len(cells.sizes) and isinstance(baskets, Iterator):
        raise BasketError(EXHAUSTED)
    refuse_multiple_items(cells, DetectedLayout(options.requested_layout))
    return cells


def _are_pairs(rows: Sequence[object]) -> bool:
    """Return whether rows are (integer, text) tuples with repeated integers, that is, not baskets."""
    pairs = [row for row in rows if isinstance(row, tuple) and [type(each) for each in row] == [int, str]]
    return len(pairs) == len(rows) > 1 and len({pair[0] for pair in pairs}) < len(pairs)


def _refuse_rows(baskets: Sequence[object]) -> None:
    """Refuse lists that are rows of a table: with column names first, or with an id first in each."""
    lists = [basket for basket in baskets if isinstance(basket, list | tuple)]
    if len(lists) < max(2, len(baskets)):
        return
    rows, kinds = [list(map(str, each)) for each in lists], [[type(item) for item in each] for each in lists]
    if names_columns(rows[0]):
        raise BasketError(
            "basket 1 has column names, as the header of a table; pass pandas.DataFrame(rows[1:], columns=rows[0])"
        )
    numbered = all(each[:1] == [int] and int not in each[1:] for each in kinds) and max(map(len, kinds)) > 1
    if numbered or (any(str in each for each in kinds) and count_id_cells(rows)[1]):
        raise BasketError(
            "the first items of all baskets are ids or numbers that occur nowhere else, unlike items; leave them out "
            "with [basket[1:] for basket in baskets], or pass layout='list' if they are items"
        )


def _names_of(basket: object, row: int, *, has_missing: bool) -> list[str]:
    if isinstance(basket, Mapping):  # whose zeros would count as bought
        raise TypeError(f"basket {row + 1} is a mapping; pass only the names, or a table with a column per item")
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        raise TypeError(
            f"basket {row + 1} must be a set or list of items, got a {type(basket).__name__}; put a single basket into "
            "a list: [basket]; split text with several items: text.split(',')"
        )
    return [
        name if type(name) is str else "-" if has_missing and is_missing(name) else _name_of(name, row, position)
        for position, name in enumerate(basket, 1)
    ]


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


def detect_frame_layout(
    frame: Any, layout: str | Layout | None, persons: str | int | None = None
) -> tuple[DetectedLayout, list[Any]]:
    """Return a table's detected layout, and the columns that it uses, as narwhals series.

    Arguments and errors are those of ``Baskets.from_frame``; ``persons`` is the column of persons.
    """
    columns = frame_columns(_with_index(frame), BasketError)
    if not columns:
        raise BasketError("a table of baskets needs columns, got none")
    names = [str(column.name).strip() for column in columns]
    n_rows = min(sample_rows(len(columns)), len(columns[0]))
    kinds, cells = zip(*(_head(column, n_rows) for column in columns), strict=True)
    found = detect_table_layout(FirstRows.from_table(names, cells), kinds, Layout.parse(layout))
    if persons is not None:
        found = found.with_persons(persons)
    return found, [columns[place] for place in found.taken]


def _with_index(frame: Any) -> Any:
    """Convert a named index of a pandas table to columns, as in its Parquet; return other tables unchanged."""
    names = list(getattr(getattr(frame, "index", None), "names", ()))
    has_names = names and None not in names and hasattr(frame, "columns") and not set(names) & set(frame.columns)
    return frame.reset_index() if has_names else frame


def _head(column: Any, n_rows: int) -> tuple[Any, list[object]]:
    """Return a column's Arrow type, null if there are several, and its first cells or placeholders."""
    import narwhals as nw

    # the values of flags do not matter, so the cells of thousands of columns are not converted
    if column.dtype == nw.Boolean and not is_total_column(str(column.name)):
        return pa.bool_(), [True] * n_rows
    with contextlib.suppress(RecordError):
        head = series_to_arrow(column.head(n_rows), "")
        return head.type, values_of(head)
    return pa.null(), ["…"] * n_rows


def persons_of_frame(frame: Any, column: str | int, options: ReadOptions, catalogue: Catalogue | None) -> Cells:
    """Return the person of each row of each transaction, −1 if missing; arguments as of ``Baskets.from_frame``.

    Raises:
        BasketError: as there; there is no such column; or the layout is not long.
    """
    return _cells_of_frame(frame, options, catalogue, column)


def _cells_of_frame(
    frame: Any, options: ReadOptions, catalogue: Catalogue | None, persons: str | int | None = None
) -> Cells:
    found, columns = detect_frame_layout(frame, options.layout, persons)
    absent = options.missing_words(catalogue)
    if found.layout != options.requested_layout and persons is None:
        _LOG.info("table: read as: %s", found.layout)
    if found.note and persons is None:
        _LOG.warning("table: %s", found.note)
    arrays = [series_to_arrow(column, str(place), BasketError) for place, column in enumerate(columns, 1)]
    rows = Rows(arrays, lambda row: row + 1, Origin())
    if found.kind == "list":
        cells = list_cells(arrays[0], None, found.layout.within, absent)
    elif found.kind == "long":
        part = long_part(rows, found, absent)
        refuse_incomplete([part], options.incomplete)
        cells = long_cells([part], persons=persons is not None)
    else:
        items = catalogue_from_columns(str(each.name) for each in columns)
        cells = onehot_cells(
            flag_columns(rows, range(len(columns)), absent), items, rows.origin, absent, options.incomplete
        )
    if persons is None:
        refuse_multiple_items(cells, found)
    return cells


# ---- tables: a column of lists


def list_cells(
    lists: Any, origin: Origin | None = None, within: str | None = None, absent: Collection[str] = ()
) -> Cells:
    """Read an Arrow array of lists of text or integers (else BasketError), a basket each; null is an empty basket.

    With the separator ``within``, each cell of text is a list.
    """
    if within not in (None, NONE) and not is_list(lists.type):
        lists = _split_texts(texts_of(lists, "items"), within)
    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list(lists.type):
        raise BasketError("the layout list needs a column of lists; name it with item=, or pass another layout")
    sizes = array_to_numpy(pc.list_value_length(lists), 0)
    codes, names = distinct_texts([coded_items(normalize_ids(lists.flatten(), "items"), "item")])
    cells = drop_missing_words(Cells(sizes, codes, names, origin or Origin()), absent)
    if within not in (None, NONE) and cells.codes.min(initial=0) < 0:  # "tea,,rye"
        kept = cells.codes >= 0
        cells = replace(cells, sizes=kept_sizes(cells.sizes, kept), codes=cells.codes[kept])
    return cells


def _split_texts(texts: Any, within: str) -> Any:
    """Split Arrow texts at a separator; remove the brackets and quotes of printed lists.

    Raises:
        BasketError: a quoted name contains the separator.
    """
    is_printed = pc.any(pc.match_substring_regex(texts, r"^[\[{(].*[\]})]$")).as_py()
    lists = pc.split_pattern(pc.utf8_trim(texts, "[]{}()") if is_printed else texts, within)
    if not is_printed:
        return lists
    items = pc.utf8_trim_whitespace(lists.flatten())
    opened, closed = (pc.match_substring_regex(items, sign) for sign in (r"^['\"]", r"['\"]$"))
    if pc.any(pc.xor(opened, closed)).as_py():
        raise BasketError(
            "a quoted name in a printed list contains the separator of items; write the lists with another separator"
        )
    return pa.ListArray.from_arrays(lists.offsets, pc.utf8_trim(items, "'\""), mask=lists.is_null())


# ---- tables: one-hot, a column per item


EMPTY, BLANK, _ODD = 2, 3, 4  # flags of a one-hot table besides 0 and 1: no value, a blank line, neither true nor false
_MEANING = dict.fromkeys(FALSE_WORDS, 0) | dict.fromkeys(TRUE_WORDS, 1)


def catalogue_from_columns(names: Iterable[str]) -> Catalogue:
    """Return the catalogue of column names.

    Raises:
        BasketError: the names cannot be items.
    """
    stripped = [name.strip() for name in names]
    if any(map(ROUNDED.fullmatch, stripped)):
        raise BasketError(f"column names are numbers that have lost digits; {STORE_AS_TEXT}")
    try:
        return Catalogue(stripped)
    except PlanError as error:
        problem = str(error)
    raise BasketError(f"the columns cannot be items: {problem}")


def flag_columns(rows: Rows, places: Sequence[int], absent: Collection[str] = ()) -> list[Any]:
    """Return columns as flags, shape (n_rows,) each: 0, 1, or :data:`EMPTY`, also for one of the ``absent`` words.

    ``places`` are their indices in the table.

    Raises:
        BasketError: a cell is neither true nor false.
    """
    return [_flags(values, place, rows, absent) for values, place in zip(rows.columns, places, strict=True)]


def _flags(values: Any, place: int, rows: Rows, absent: Collection[str]) -> Any:
    if is_text(values.type):
        values = values.dictionary_encode()
    elif pa.types.is_dictionary(values.type) and not is_text(values.type.value_type):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type) or pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    if pa.types.is_boolean(values.type) and not values.null_count:
        return array_to_numpy(values)
    if pa.types.is_floating(values.type):  # polars has NaN and null
        values = pc.if_else(pc.is_nan(values), None, values)
    if pa.types.is_dictionary(values.type):
        words = [str(word).strip().lower() for word in values.dictionary.to_pylist()]
        meant = [EMPTY if not word or word in absent else _MEANING.get(word, _ODD) for word in words]
        flags = np.array([*meant, EMPTY])[array_to_numpy(values.indices.cast(pa.int32()), len(words))]
    elif pa.types.is_boolean(values.type):
        flags = array_to_numpy(values.cast(pa.int8()), EMPTY)
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = array_to_numpy(values, 0)
        is_one, is_zero = numbers == 1, numbers == 0
        if not values.null_count and (is_one | is_zero).all():
            return is_one
        flags = np.where(is_one | is_zero, is_one, _ODD)
        if values.null_count:
            flags[array_to_numpy(values.is_null())] = EMPTY
    else:
        raise BasketError(f"column {place + 1} of items must hold true and false, or 1 and 0; convert it")
    odd = np.flatnonzero(flags == _ODD)
    if len(odd):
        row = int(odd[0])
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(row)}, column {place + 1} {describe_non_flag(str(values[row].as_py()))}"
        )
    return flags


def onehot_cells(
    columns: Sequence[NDArray[Any]],
    catalogue: Catalogue,
    origin: Origin,
    absent: Collection[str] = (),
    incomplete: str = "refuse",
) -> Cells:
    """Return the cells of a one-hot table: a column of flags per item of the catalogue, arrays (n_baskets,).

    A column named by one of the ``absent`` words, as pandas.get_dummies(dummy_na=True) adds, is not an item. Rows with
    an :data:`EMPTY` flag are left out if ``incomplete`` is "drop".

    >>> onehot_cells([np.array([1, 0]), np.array([1, 1])], Catalogue(["milk", "bread"]), Origin()).codes.tolist()
    [0, 1, 1]
    """
    flags, has_false = np.empty((len(columns[0]), len(columns)), dtype=np.bool_), False
    n_empty = np.zeros(len(columns[0]), dtype=np.int64)
    for place, column in enumerate(columns):
        np.equal(column, 1, out=flags[:, place])
        has_false = has_false or bool((column == 0).any())
        if column.dtype != np.bool_:
            n_empty += column == EMPTY
    names: Sequence[str] = catalogue
    left_out = LeftOut(empty_flags=int(n_empty.sum()), false_tables=int(has_false))
    if n_empty.any():
        left_out.check_flags(incomplete, f"{origin.place(int(np.flatnonzero(n_empty)[0]))} has an empty cell; ")
    if incomplete == "drop" and n_empty.any():
        kept = np.flatnonzero(n_empty == 0)
        origin, flags, left_out = origin.of_rows(kept), flags[kept], LeftOut(incomplete_rows=len(n_empty) - len(kept))
    if nothing := [place for place, name in enumerate(catalogue) if is_word(name, absent)]:
        names = list(catalogue)
        left_out += LeftOut(missing_cells=int(flags[:, nothing].sum()))
        flags[:, nothing] = False
    return Cells(flags.sum(axis=1), np.nonzero(flags)[1], names, origin, left_out)


# ---- numbers of baskets by size


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return the number of baskets of each size; counts of several files or batches may be added."""
    values, counts = np.unique(baskets.sizes, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
