"""Baskets in memory: lists, sets or data frames -> transactions of item ids.

narwhals costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pc, to_arrow
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError, RecordError
from assocpriv.records.cells import (
    MISSING_WORDS,
    ROUNDED,
    STORE_AS_TEXT,
    Cells,
    LeftOut,
    Origin,
    cells_of_names,
    check_choices,
    is_word,
    kept_sizes,
    ordinal,
    resolve,
    several_in_one,
    without_till_lines,
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
from assocpriv.records.layout import (
    ANYWHERE,
    DATES,
    FALSE_WORDS,
    KEEP,
    NONE,
    STRICT,
    TOGETHER,
    TRUE_WORDS,
    Found,
    Layout,
    ReadOptions,
    no_flag,
    shown_column,
    understand_table,
)
from assocpriv.records.sources import SAMPLE_LINES, SEPARATORS, TOTALS, FirstRows

_LONGEST_WORD = max(map(len, MISSING_WORDS)) + 1
_SECONDS = 1e9  # numbers from here on are times, not days
_FEW = 50  # one id in so many may have several values in a column that first rows alone show to be a transaction's
_MOST_MILLIONTHS = 1 << 53
_LONG_ROW_BYTES, _LONG_NAME_BYTES = 48, 8  # memory of a row of the long layout, and of a byte of its distinct names
_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it
JOINT = "\x01"  # between the texts of several columns that are one id
EXHAUSTED = "the iterator gives no basket; one that was read before is empty: give a list of the baskets"
_NO_TEXT = "must be text in UTF-8, numbers or dates, not nested; choose another column"
_FRACTIONS = f"have fractions, which ids do not; name another column, or {STORE_AS_TEXT}"
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
        options = ReadOptions(unknown=unknown, repeats=repeats)
        return _baskets_of(_cells_of_sets(baskets, options.absent(catalogue)), catalogue, options)

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
        return _baskets_of(_cells_of_frame(frame, options, catalogue), catalogue, options)

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
    about_items = replace(Layout("list"), within=options.said.within, missing=options.said.missing)
    if options.said not in (Layout(), about_items) and not is_table:
        raise BasketError("a layout is said of files and tables; leave it out for baskets and lists of items")
    if isinstance(data, Baskets):
        return data, 0
    if is_table:
        cells = _cells_of_frame(data, options, catalogue)
    else:
        cells = _cells_of_sets(data, options.absent(catalogue))
        refuse_several(cells, Found(options.said))
    if cells.left_out.note:
        _LOG.info("baskets: %s", cells.left_out.note)
    if catalogue is None and not len(cells.codes):
        catalogue = Catalogue.numbered(1)  # no names to make one of; nothing looks at it
    found, ids = resolve(cells, catalogue)
    known = without_unknown(cells, ids, options.unknown, found)
    return assemble_in_order(known, found, options.repeats), len(ids) - len(known.codes)


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


def _baskets_of(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> Baskets:
    found, ids = resolve(cells, catalogue)
    return assemble_in_order(without_unknown(cells, ids, options.unknown, found), found, options.repeats)


def refuse_several(cells: Cells, found: Found) -> None:
    """Refuse cells most of which hold several items, unless the layout says what stands within them.

    Raises:
        BasketError: with the layouts that decide.
    """
    said = found.layout
    mark = several_in_one(cells) if said.within is None else None
    if mark is None:
        return
    apart = "write each item by itself"
    if found.kind in ("long", "lines") and not (found.kind == "lines" and found.places) and cells.sizes.max() < 2:
        layout = replace(
            said, kind="list", transaction=None, quantity=None, rows=None, item=said.item or "#1", within=mark
        )
        apart = f"say layout='{layout}' to take them apart"
    single = replace(said, kind=said.kind or "list", within=NONE)
    raise BasketError(
        f"at least half of the items have {SEPARATORS[mark]} in them, as cells with several items have; {apart}, or "
        f"say layout='{single}' if each is one item"
    )


# ---- sets and lists


def _cells_of_sets(baskets: Iterable[object], absent: Collection[str]) -> Cells:
    if isinstance(baskets, Sequence) and _are_pairs(baskets[:SAMPLE_LINES]):
        raise BasketError(
            "the baskets are pairs of an id and an item, as rows of a table; give a table with columns receipt and item"
        )
    cells = cells_of_names((_names_of(basket, row) for row, basket in enumerate(baskets)), absent)
    if not len(cells.sizes) and isinstance(baskets, Iterator):
        raise BasketError(EXHAUSTED)
    return cells


def _are_pairs(rows: Sequence[object]) -> bool:
    """Tell tuples of an integer and a text, of which the integers come again, from baskets."""
    pairs = [row for row in rows if isinstance(row, tuple) and [type(each) for each in row] == [int, str]]
    return len(pairs) == len(rows) > 1 and len({pair[0] for pair in pairs}) < len(pairs)


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
    columns = frame_columns(frame, BasketError)
    if not columns:
        raise BasketError("a table of baskets needs columns, got none")
    names = [str(column.name).strip() for column in columns]
    n_rows = min(sample_rows(len(columns)), len(columns[0]))
    kinds, cells = zip(*(_head(column, n_rows) for column in columns), strict=True)
    found = understand_table(FirstRows.of_table(names, cells), kinds, Layout.parse(layout))
    if persons is not None:
        found = found.with_persons(persons)
    return found, [columns[place] for place in found.taken]


def _head(column: Any, n_rows: int) -> tuple[Any, list[object]]:
    """Return a column's Arrow type, null where there are several, and what stands for its first cells."""
    import narwhals as nw

    if column.dtype == nw.Boolean:  # whichever they are: no cell of thousands of columns becomes Python's
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
        lists = _taken_apart(_texts(lists, "items"), within)
    if pa.types.is_null(lists.type):
        lists = lists.cast(pa.list_(pa.string()))
    if not is_list_type(lists.type):
        raise BasketError("the layout list needs a column of lists; name it with item=, or say another layout")
    sizes = array_to_numpy(pc.list_value_length(lists), 0)
    codes, names = _distinct([_coded_items(plain_ids(lists.flatten(), "items"), "item")])
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


# ---- tables: long, a row an item


@dataclass(frozen=True, slots=True)
class Lacking:
    """Rows that lack a cell: how many, where the first is that is no total, in words, and how many have no id."""

    rows: int = 0
    first: str = ""
    without_id: int = 0


ALL_THERE = Lacking()


@dataclass(frozen=True, slots=True)
class LongPart:
    """Rows of the long layout that lack nothing.

    Attributes:
        found: the layout.
        transactions: text of Arrow, of each run of rows that stand together; several columns are joined.
        lengths: how many rows a run has, int64.
        items: of each row, text in codes of Arrow.
        context: of each run text of Arrow, by what the column is.
        quantities: of each row, int64 in millionths; None without such a column.
        persons: of each row, text in codes of Arrow; None where they are not asked for.
        lacking: rows that lack a cell.
    """

    found: Found
    transactions: Any
    lengths: NDArray[np.int64]
    items: Any
    context: dict[str, Any]
    quantities: NDArray[np.int64] | None
    persons: Any
    lacking: Lacking = ALL_THERE

    @property
    def memory_bytes(self) -> int:
        """About what it takes to make baskets of these rows."""
        texts = [self.transactions, self.items.dictionary, *self.context.values()]
        row_bytes = _LONG_ROW_BYTES if self.quantities is None else 2 * _LONG_ROW_BYTES
        return row_bytes * len(self.items) + _LONG_NAME_BYTES * sum(int(each.nbytes) for each in texts)


def refuse_incomplete(parts: Sequence[LongPart]) -> None:
    """Refuse rows that lack a cell, unless all are totals.

    Raises:
        BasketError: with the place of the first, and how many there are.
    """
    first = next((part.lacking.first for part in parts if part.lacking.first), "")
    if first:
        count = sum(part.lacking.rows for part in parts)
        most = sum(part.lacking.without_id for part in parts) > sum(len(part.items) for part in parts)
        down = ", down from the row above if the first row of a transaction alone has it" if most else ""
        raise BasketError(
            f"{first}; fill it in{down}, or leave rows that lack a cell out with incomplete='drop' "
            f"({count:,} such in all)"
        )


def long_part(rows: Rows, found: Found, absent: Collection[str] = ()) -> LongPart:
    """Read the transaction, the item, the quantity … of each row; words that are ``absent`` are empty cells.

    Raises:
        BasketError: items that are neither text nor integers; a quantity that is no number.
    """
    column = dict(zip(found.taken, map(_plain_text, rows.columns), strict=True))
    ids = [plain_ids(column[place], "transaction ids") for place in found.places[: found.ids]]
    items = _coded_items(plain_ids(column[found.places[found.ids]], "items"), "item", absent)
    _refuse_rounded(items, None, rows, "item")
    context = {role: column[place] for role, place in found.context}
    starts = _run_starts([*ids, *context.values()])
    lengths = np.diff(starts, append=len(items))
    texts = _id_texts(ids, starts, absent)
    for each in texts:
        _refuse_rounded(each, starts, rows, "transaction id")
    transactions = _joined_texts(texts)
    missing = {}
    if transactions.null_count:
        missing["transaction id"] = np.repeat(_is_null(transactions), lengths)
    if items.null_count:
        missing["item"] = _is_null(items)
    quantities = persons = None
    if found.quantity is not None:
        quantities, missing["quantity"] = _quantities(rows, column[found.quantity], absent)
    if found.persons:
        names = _id_texts([plain_ids(column[place], "persons") for place in found.persons], None, absent)
        for each in names:
            _refuse_rounded(each, None, rows, "person")
        persons = _coded(_joined_texts(names), "persons", absent)
    held = {role: _context_texts(values.take(to_arrow(starts))) for role, values in context.items()}
    part = LongPart(found, transactions, lengths, items, held, quantities, persons)
    lack = np.logical_or.reduce([np.zeros(len(items), dtype=np.bool_), *missing.values()])
    return _without_rows(part, lack, rows, missing) if lack.any() else part


def _is_null(values: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = array_to_numpy(values.is_null())
    return found


def _without_rows(
    part: LongPart, lack: NDArray[np.bool_], rows: Rows, missing: dict[str, NDArray[np.bool_]]
) -> LongPart:
    """Return the rows that lack nothing; those without id and item are none, as spreadsheets leave them."""
    nothing = np.zeros(len(lack), dtype=np.bool_)
    odd = np.flatnonzero(lack & ~(missing.get("transaction id", nothing) & missing.get("item", nothing)))
    totals = np.repeat(_are_totals(part.transactions), part.lengths) | _are_totals(part.items)
    wrong, lacking = odd[~totals[odd]], Lacking(len(odd))
    if len(wrong):
        what = next(what for what, each in missing.items() if each[wrong[0]])
        place = f"{rows.origin.row_word} {rows.line(int(wrong[0])):,}"
        lacking = Lacking(len(odd), f"{place} has no {what}", int(missing.get("transaction id", nothing)[odd].sum()))
    kept, lengths = to_arrow(~lack), kept_sizes(part.lengths, ~lack)
    runs = to_arrow(lengths > 0)
    return LongPart(
        part.found,
        part.transactions.filter(runs),
        lengths[lengths > 0],
        part.items.filter(kept),
        {role: texts.filter(runs) for role, texts in part.context.items()},
        None if part.quantities is None else part.quantities[~lack],
        None if part.persons is None else part.persons.filter(kept),
        lacking,
    )


def _are_totals(texts: Any) -> NDArray[np.bool_]:
    """Tell which texts of Arrow are words for a total."""
    words = pc.utf8_lower(pc.utf8_trim(texts.dictionary if pa.types.is_dictionary(texts.type) else texts, " :"))
    found = _fits(words, _any_of(TOTALS))
    if pa.types.is_dictionary(texts.type):
        found = np.append(found, False)[array_to_numpy(texts.indices, -1)]
    return np.asarray(found, dtype=np.bool_)


def _run_starts(columns: Sequence[Any]) -> NDArray[np.int64]:
    """Return where runs of rows begin whose values are equal in all columns, Arrow arrays."""
    changed = np.ones(len(columns[0]), dtype=np.bool_)
    changed[1:] = False
    for values in columns:
        plain = values.indices if pa.types.is_dictionary(values.type) else values
        with contextlib.suppress(pa.ArrowException):  # nested, which is refused as what it is
            differ = pc.not_equal(plain[1:], plain[:-1])
            changed[1:] |= array_to_numpy(differ, missing=0).astype(bool) | _is_null(differ)
    return np.flatnonzero(changed)


def _id_texts(columns: Sequence[Any], starts: NDArray[np.int64] | None, absent: Collection[str]) -> list[Any]:
    """Return columns as text, at some rows or all."""
    places = None if starts is None else to_arrow(starts)
    taken = [values if places is None else values.take(places) for values in columns]
    return [_texts(values, "transaction ids", absent) for values in taken]


def _joined_texts(texts: Sequence[Any]) -> Any:
    """Return columns of text as one; null where one of them has nothing."""
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, JOINT)


def _context_texts(values: Any) -> Any:
    """Return dates, stores … as text, of times the days alone; null where there is nothing, or nothing to compare."""
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        values = values.cast(pa.date32(), safe=False)
    elif pa.types.is_floating(values.type):  # days of a spreadsheet, with the time behind the point
        values = pc.floor(values)
    elif pa.types.is_integer(values.type):
        values = values.cast(pa.float64(), safe=False)
        values = pc.if_else(pc.less(values, _SECONDS), values, None)
    with contextlib.suppress(BasketError):
        texts = _texts(values, "")
        days = pc.extract_regex(texts, r"^(?P<day>[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4})[ T,].*$")
        return pc.coalesce(pc.struct_field(days, "day"), texts)
    return pa.nulls(len(values), pa.string())  # nested


def _quantities(rows: Rows, column: Any, absent: Collection[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return quantities in millionths, int64 (n,), and which are missing."""
    coded = _coded(column, "quantities", absent)
    millionths = [_millionths(text) for text in coded.dictionary.to_pylist()]
    codes = array_to_numpy(coded.indices, len(millionths))
    wrong = np.flatnonzero(np.array([*(each is None for each in millionths), False])[codes])
    if len(wrong):
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(int(wrong[0]))} has no number as its quantity; correct it, or name "
            "another column with quantity= in the layout"
        )
    return np.array([*(each or 0 for each in millionths), 0], dtype=np.int64)[codes], codes == len(millionths)


def _millionths(text: str) -> int | None:
    """Return a quantity as tills write it, in millionths, None for what is none.

    >>> _millionths("1.250,5"), _millionths("2-"), _millionths("tea")
    (1250500000, -2000000, None)
    """
    if not text or not _QUANTITY.fullmatch(text):
        return 0 if text in ("inf", "") else None
    digits = re.sub(r"[-+−' \u00a0]", "", text)
    point = max(digits.rfind("."), digits.rfind(","))
    if point >= 0 and digits.count(digits[point]) > 1:  # thousands, more than one
        point = -1
    whole, part = (digits[:point], digits[point + 1 :]) if point >= 0 else (digits, "")
    number = int(re.sub(r"[.,]", "", whole) + f"{part:0<6}"[:6])
    if number >= _MOST_MILLIONTHS:
        return None
    return -number if "-" in text or "−" in text else number


def long_cells(parts: Sequence[LongPart], *, persons: bool = False) -> Cells:
    """Return the cells of parts of one source, or of several that share transactions; baskets by first appearance.

    Quantities are summed by transaction and item: above 0 an item is in the basket, and a transaction with none is no
    basket. With ``persons`` the cells are whose each row of a basket is, in place of its items.

    Raises:
        BasketError: transactions whose rows stand apart, or have several dates, stores, tills or customers.
    """
    if not parts:
        return Cells(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])
    lengths = np.concatenate([part.lengths for part in parts])
    runs = _transactions_of_runs(parts)
    codes, names = _distinct([part.items for part in parts])
    rows, order = np.repeat(runs, lengths), None
    if (runs[1:] < runs[:-1]).any():
        # integers of row and place sort several times faster than a stable np.argsort
        order = rows.astype(np.int64) << 32
        order |= np.arange(len(order), dtype=np.int64)
        order.sort()
        order &= (1 << 32) - 1
        rows, codes = rows[order], codes[order]
    sizes = np.bincount(runs, lengths).astype(np.int64)  # exact below 2^53
    summed = any(part.quantities is not None for part in parts)
    bought = np.ones(len(rows), dtype=np.bool_)
    if summed:
        quantities = np.concatenate(
            [np.full(len(part.items), 1) if part.quantities is None else part.quantities for part in parts]
        )
        bought = _are_bought(rows, codes, quantities if order is None else quantities[order])
    returned = int((~bought).sum())
    if persons:
        codes, names = _distinct([part.persons for part in parts])
        codes = codes if order is None else codes[order]
        bought = (np.bincount(rows, bought) > 0)[rows]
    if not bought.all():
        sizes, codes = kept_sizes(sizes, bought), codes[bought]
        sizes = sizes[sizes > 0]
    lacking = sum(part.lacking.rows for part in parts)
    cells = Cells(sizes, codes, names, Origin(), LeftOut(0, lacking, returned), summed)
    return cells if persons or parts[0].found.layout.missing == KEEP else without_till_lines(cells)


def _are_bought(rows: NDArray[Any], codes: NDArray[Any], quantities: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are of an item that its transaction holds: all its rows' quantities come to more than 0."""
    bought: NDArray[np.bool_] = quantities > 0
    if bought.all():
        return bought
    keys = rows.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
    held = np.unique(keys[~bought])
    place = np.minimum(np.searchsorted(held, keys), len(held) - 1)
    doubtful = held[place] == keys
    sums = np.zeros(len(held), dtype=np.int64)
    np.add.at(sums, place[doubtful], quantities[doubtful])
    bought[doubtful] = (sums > 0)[place[doubtful]]
    return bought


# ---- which rows are of one transaction


def _transactions_of_runs(parts: Sequence[LongPart]) -> NDArray[Any]:
    """Return the number of each run's transaction, by first appearance.

    Raises:
        BasketError: as of :func:`long_cells`.
    """
    ids = pa.chunked_array([part.transactions for part in parts])
    order = {part.found.layout.rows for part in parts}
    founds = [part.found for part in parts]
    files = np.cumsum(
        [0, *(one is not other for one, other in pairwise(founds))]
    )  # an id may end one and begin the next
    runs = _rising_codes(ids) if not files[-1] and not any(part.context for part in parts) else None
    if runs is not None:
        return runs
    runs, files = _codes_of(ids), np.repeat(files, [len(part.lengths) for part in parts])
    if order == {TOGETHER}:
        runs = np.cumsum(np.append(False, (runs[1:] != runs[:-1]) | (files[1:] != files[:-1])))
    if ANYWHERE not in order:
        _refuse_mixed(parts, runs, files)
    return runs


def _codes_of(texts: Any) -> NDArray[np.int64]:
    """Return the codes of the distinct values of a chunked array, by first appearance; of a null −1."""
    chunks = [array_to_numpy(each.indices, -1) for each in texts.dictionary_encode().chunks]
    codes: NDArray[np.int64] = np.concatenate([np.empty(0, dtype=np.int64), *chunks])
    return codes


def _refuse_mixed(parts: Sequence[LongPart], runs: NDArray[np.int64], files: NDArray[np.int64]) -> None:
    """Refuse transaction ids with several dates, stores, tills or customers, or with rows that stand apart."""
    found, n_ids = parts[0].found, int(runs.max(initial=-1)) + 1
    mixed, key = dict[int, str](), runs
    for role, place in found.context:
        texts = [part.context.get(role, pa.nulls(len(part.lengths), pa.string())) for part in parts]
        codes = _codes_of(pa.chunked_array(texts))
        many = _have_several(runs, codes, n_ids)
        if many and (many * _FEW > n_ids or " " not in role or role.startswith(DATES)):
            mixed[place] = f"{many:,} of {n_ids:,} transaction ids have rows of several {role}"
            key = key * (int(codes.max(initial=0)) + 2) + codes + 1
    said = replace(found.layout, rows=TOGETHER)
    if mixed:
        key = np.unique(key, return_inverse=True)[1]
        columns = "+".join([*(shown_column(found.names, place) for place in mixed), str(said.transaction)])
        said = replace(said, transaction=columns, rows=ANYWHERE if _apart(key, files) else None)
    elif again := _apart(runs, files):
        mixed[-1] = f"{again:,} of {n_ids:,} transaction ids stand again below others"
    if mixed:
        raise BasketError(
            f"{', '.join(mixed.values())}, as where numbers start again each day, in each "
            f"store or at each till; say layout='{said}' if so, or "
            f"layout='{replace(found.layout, rows=ANYWHERE)}' if all rows of an id are one basket"
        )


def _apart(runs: NDArray[np.int64], files: NDArray[np.int64]) -> int:
    """Return how many numbers come again below others, or in another file.

    >>> _apart(np.array([0, 0, 1, 0, 1, 2]), np.zeros(6))
    2
    """
    starts = np.append(True, (runs[1:] != runs[:-1]) | (files[1:] != files[:-1]))[: len(runs)]
    return int((np.bincount(runs[starts]) > 1).sum())


def _have_several(runs: NDArray[np.int64], codes: NDArray[np.int64], n_ids: int) -> int:
    """Return how many ids, by number of each run, have several codes; −1 is none."""
    held = codes >= 0
    least, most = np.full(n_ids, np.iinfo(np.int64).max), np.full(n_ids, -1, dtype=np.int64)
    np.minimum.at(least, runs[held], codes[held])
    np.maximum.at(most, runs[held], codes[held])
    return int((most > least).sum())


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


def _refuse_rounded(ids: Any, places: NDArray[np.int64] | None, rows: Rows, what: str) -> None:
    """Refuse ids, text or text in codes, that are numbers as a spreadsheet rounds them.

    ``places`` are their rows, None for all.
    """
    names = ids.dictionary if pa.types.is_dictionary(ids.type) else ids
    letters = np.frombuffer(names.buffers()[2] or b"", dtype=np.uint8)
    if not (((letters | 32) == ord("e")) | (letters == ord("."))).any():  # as of integers, of which there may be many
        return
    rounded = _fits(names, f"^{ROUNDED.pattern}$")
    if names is not ids and rounded.any():
        rounded = np.append(rounded, False)[array_to_numpy(ids.indices, -1)]
    if rounded.any():
        row = int(np.argmax(rounded))
        where = f"{rows.origin.row_word} {rows.line(row if places is None else int(places[row])):,}"
        raise BasketError(f"{where} has as its {what} a number that has lost digits; {STORE_AS_TEXT}")


def _plain_text(values: Any) -> Any:
    """Return views of texts, of which Arrow cannot take rows, as texts."""
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def plain_ids(values: Any, what: str) -> Any:
    """Return an Arrow array of ids: UUIDs as text, whole floats and decimals as integers, times in seconds.

    Raises:
        BasketError: a float or decimal with a fraction, or a float that is too large to be exact.
    """
    values = _plain_text(values)
    kind, casts = values.type, []
    if pa.types.is_dictionary(kind):
        stored = values.dictionary
        names = plain_ids(stored, what)
        return values if names is stored else pa.DictionaryArray.from_arrays(values.indices, names, safe=False)
    if pa.types.is_floating(kind):
        return _whole_floats(values, what)
    if isinstance(kind, pa.UuidType):
        coded = values.storage.dictionary_encode()
        texts = np.array([str(UUID(bytes=each)) for each in coded.dictionary.to_pylist()], dtype=object)
        return pa.DictionaryArray.from_arrays(coded.indices, to_arrow(texts))
    if pa.types.is_timestamp(kind):
        casts = [pa.timestamp("s", kind.tz)]
    elif pa.types.is_decimal(kind):
        casts = [pa.decimal256(76, 0), pa.string()]
    with contextlib.suppress(pa.ArrowException):  # what has fractions; its text quotes a value
        for each in casts:
            values = values.cast(each)
    if pa.types.is_decimal(values.type):
        raise BasketError(f"{what} {_FRACTIONS}")
    return values


def _whole_floats(values: Any, what: str) -> Any:
    """Return floats as integers, NaN as a null."""
    exact = 1 << {16: 11, 32: 24, 64: 53}[values.type.bit_width]  # from here on a float may stand for several numbers
    numbers = array_to_numpy(values.cast(pa.float64()))
    missing = np.isnan(numbers)
    whole = np.where(missing, 0, numbers)
    if (np.abs(whole) >= exact).any():
        raise BasketError(f"{what} are floats that have lost digits ({exact:,} or more); {STORE_AS_TEXT}")
    if (whole != np.floor(whole)).any():
        raise BasketError(f"{what} {_FRACTIONS}")
    return pc.if_else(to_arrow(missing), pa.scalar(None, pa.int64()), to_arrow(whole.astype(np.int64)))


def _coded_items(items: Any, what: str, absent: Collection[str] = ()) -> Any:
    kind = items.type.value_type if pa.types.is_dictionary(items.type) else items.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        # the fields of a nested type may be named after items
        shown = "nested values" if pa.types.is_nested(kind) else str(kind)
        raise BasketError(f"{what}s must be text or integers, got {shown}; convert them")
    return _coded(items, f"{what}s", absent)


def _coded(values: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return an Arrow array as text in codes of int32, null where it is, or blanks or an ``absent`` word stands."""
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):  # its text may quote cells
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        codes = array_to_numpy(values.indices.cast(pa.int32()), -1)
        # of codes outside, as a damaged file has them, Arrow would read whatever lies there
        outside = codes.max(initial=-1) >= len(values.dictionary) or codes.min(initial=0) < -1
        if outside or int((codes < 0).sum()) != values.indices.null_count:
            raise BasketError("a column has codes outside its dictionary; the data are damaged, write them again")
        names = pc.utf8_trim_whitespace(values.dictionary.cast(pa.string()))
        if names.null_count:
            names = pc.fill_null(names, "")
        names.validate(full=True)
        blank = np.append(_is_nothing(names, absent), False)
        if blank.any():
            codes = np.where(blank[codes], -1, codes)
        return pa.DictionaryArray.from_arrays(_whole_numbers(codes), names, safe=False)
    raise BasketError(f"{what} {_NO_TEXT}")


def _is_nothing(texts: Any, absent: Collection[str]) -> NDArray[np.bool_]:
    """Tell which texts of Arrow are empty, or a word of some in lower case."""
    nothing: NDArray[np.bool_] = array_to_numpy(pc.binary_length(texts), 1) == 0
    if absent:
        short = np.flatnonzero(array_to_numpy(pc.binary_length(texts), 9) < _LONGEST_WORD)
        if len(short):
            lowered = pc.utf8_lower(texts.take(to_arrow(short)))
            nothing[short] |= _fits(lowered, _any_of(absent))
    return nothing


def _fits(texts: Any, expression: str) -> NDArray[np.bool_]:
    """Tell which texts of Arrow an expression fits; null is none."""
    fits = pc.match_substring_regex(texts, expression)
    return np.asarray(array_to_numpy(fits, 0) & ~_is_null(fits))


def _any_of(words: Collection[str]) -> str:
    """Return an expression for whole texts; an array of the words would load pandas."""
    return f"^({'|'.join(map(re.escape, sorted(words)))}|[-=_*~]+)$"


def _texts(values: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return an Arrow array as text, null where it is, or where blanks or an ``absent`` word stands."""
    if pa.types.is_dictionary(values.type) or pa.types.is_null(values.type):
        return _coded(values, what, absent).dictionary_decode()
    with contextlib.suppress(pa.ArrowException):  # its text may quote cells
        texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
        texts.validate(full=True)
        blank = _is_nothing(texts, absent)
        return pc.if_else(to_arrow(blank), pa.nulls(len(texts), pa.string()), texts) if blank.any() else texts
    raise BasketError(f"{what} {_NO_TEXT}")


def _distinct(parts: Sequence[Any]) -> tuple[NDArray[np.int32], list[str]]:
    """Return the codes of parts of one column, −1 for nulls, and its distinct values."""
    if len(parts) > 1:  # one dictionary for all
        parts = pa.chunked_array(parts).unify_dictionaries().chunks
    names = parts[0].dictionary.dictionary_encode()  # a dictionary may repeat values, and hold some that never appear
    numbers = np.append(array_to_numpy(names.indices), np.int32(-1))
    codes = numbers[np.concatenate([array_to_numpy(part.indices, -1) for part in parts])]
    used = np.zeros(len(names.dictionary) + 1, dtype=np.bool_)
    used[codes] = True
    used = used[:-1]
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
