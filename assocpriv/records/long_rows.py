"""Group rows of the long layout (one row per item) into transactions.

The rows of a transaction may be in several parts of a source, and in several sources. Quantities are summed; ids that
may belong to several transactions are refused.
"""

import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pc, to_arrow
from assocpriv.guarantees.errors import BasketError
from assocpriv.records.basket_sources import TOTALS
from assocpriv.records.cells import Cells, LeftOut, Origin, drop_till_lines, kept_sizes
from assocpriv.records.columns import (
    Rows,
    cast_string_views,
    coded_items,
    coded_texts,
    distinct_texts,
    match_mask,
    normalize_ids,
    null_mask,
    refuse_rounded,
    texts_of,
    words_pattern,
)
from assocpriv.records.layout import ANYWHERE, DATES, DAY, KEEP, NONE, TOGETHER, DetectedLayout, layout_arg, show_column
from assocpriv.records.layout_signs import AMOUNT

_SECONDS = 1e9  # numbers from which on values are times, not days
_FEW = 50  # one id in this many may have several values in a column whose role was detected from first rows only
_MAX_MILLIONTHS = 1 << 53
_LONG_ROW_BYTES, _LONG_NAME_BYTES = 48, 8  # memory per row of the long layout, and per byte of its distinct names
_BELOW_ZERO = r"^\s*[-−]\s?[0-9]|[0-9]-\s*$"
JOINT = "\x01"  # between the texts of several columns that form one id


@dataclass(frozen=True, slots=True)
class IncompleteRows:
    """Rows that lack a cell: their number, a description of the first that is not a total, and how many lack an id."""

    rows: int = 0
    first: str = ""
    without_id: int = 0


@dataclass(frozen=True, slots=True)
class LongPart:
    """Complete rows of the long layout. A run is a sequence of consecutive rows with equal ids and context.

    Attributes:
        found: the layout.
        transactions: the id of each run, Arrow text; several columns are joined.
        lengths: number of rows of each run, int64.
        items: of each row, dictionary-encoded Arrow text.
        context: of each run, Arrow text by the column's role; for times the days.
        timed: roles of context columns that hold times.
        quantities: of each row in millionths, int64; None without such a column.
        persons: of each row, dictionary-encoded Arrow text; None if they are not requested.
        incomplete: rows that lack a cell.
    """

    found: DetectedLayout
    transactions: Any
    lengths: NDArray[np.int64]
    items: Any
    context: dict[str, Any]
    timed: frozenset[str]
    quantities: NDArray[np.int64] | None
    persons: Any
    incomplete: IncompleteRows = IncompleteRows()

    @property
    def memory_bytes(self) -> int:
        """The approximate memory needed to make baskets of these rows."""
        texts = [self.transactions, self.items.dictionary, *self.context.values()]
        row_bytes = _LONG_ROW_BYTES if self.quantities is None else 2 * _LONG_ROW_BYTES
        return row_bytes * len(self.items) + _LONG_NAME_BYTES * sum(int(each.nbytes) for each in texts)


def refuse_incomplete(parts: Sequence[LongPart], incomplete: str) -> None:
    """Refuse rows that lack a cell, unless all are totals or ``incomplete`` is "drop".

    Raises:
        BasketError: gives the position of the first such row, and their number.
    """
    if incomplete == "drop":
        return
    first = next((part.incomplete.first for part in parts if part.incomplete.first), "")
    if first:
        count = sum(part.incomplete.rows for part in parts)
        most = sum(part.incomplete.without_id for part in parts) > sum(len(part.items) for part in parts)
        remedy = "or leave out rows that lack a cell with incomplete='drop'"
        if most:
            remedy = "from the row above if only the first row of each transaction has it"
        raise BasketError(f"{first}; fill it in, {remedy} ({count:,} such rows in all)")


def long_part(rows: Rows, found: DetectedLayout, absent: Collection[str] = ()) -> LongPart:
    """Read the transaction, the item, the quantity … of each row; ``absent`` words are empty cells.

    Raises:
        BasketError: items are neither text nor integers, or a quantity is not a number.
    """
    column = dict(zip(found.taken, map(cast_string_views, rows.columns), strict=True))
    ids = [normalize_ids(column[place], "transaction ids") for place in found.places[: found.ids]]
    items = coded_items(normalize_ids(column[found.places[found.ids]], "items"), "item", absent)
    refuse_rounded(items, None, rows, "item")
    context = {role: column[place] for role, place in found.context}
    starts = _run_starts([*ids, *context.values()])
    lengths = np.diff(starts, append=len(items))
    texts = _id_texts(ids, starts, absent)
    for at in [at for at, place in enumerate(found.places[: found.ids]) if place in found.days]:
        texts[at] = _days(ids[at].take(to_arrow(starts)))[0]
    for each in texts:
        refuse_rounded(each, starts, rows, "transaction id")
    for place in found.watched:
        _refuse_returned(column[place], place, rows, found)
    transactions = _joined_texts(texts)
    missing = {}
    if transactions.null_count:
        missing["transaction id"] = np.repeat(null_mask(transactions), lengths)
    if items.null_count:
        missing["item"] = null_mask(items)
    heads = _repeat_header(rows, found, texts, items, lengths)
    if heads is not None:
        missing = {what: missing.get(what, heads) | heads for what in ("transaction id", "item")}
    quantities = persons = None
    if found.quantity is not None:
        name = {found.names[found.quantity].lower()} if heads is not None else set()
        quantities, missing["quantity"] = _quantities(rows, column[found.quantity], {*absent, *name})
    if found.persons:
        names = _id_texts([normalize_ids(column[place], "persons") for place in found.persons], None, absent)
        for each in names:
            refuse_rounded(each, None, rows, "person")
        persons = coded_texts(_joined_texts(names), "persons", absent)
    days = {role: _days(values.take(to_arrow(starts))) for role, values in context.items()}
    held, timed = {role: texts for role, (texts, _) in days.items()}, frozenset(role for role in days if days[role][1])
    part = LongPart(found, transactions, lengths, items, held, timed, quantities, persons)
    totals = _are_totals(transactions)  # below a table, possibly with text in the column of items
    lacks_cell = np.logical_or.reduce([np.repeat(totals, lengths), *missing.values()])
    return _without_rows(part, lacks_cell, rows, missing) if lacks_cell.any() else part


def _refuse_returned(values: Any, place: int, rows: Rows, found: DetectedLayout) -> None:
    """Refuse numbers below zero, such as returned goods, if no column of quantities is known."""
    plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)
    below = pc.less(values, 0) if plain else pa.array(match_mask(texts_of(values, "numbers"), _BELOW_ZERO))
    first = pc.index(below, True).as_py()
    if first >= 0:
        summed, unsummed = (replace(found.layout, quantity=each) for each in (f"#{place + 1}", NONE))
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(first):,} has a number below zero in column {place + 1}, as returned "
            f"goods have; pass {layout_arg(summed)} to leave out returned goods, or {layout_arg(unsummed)} to "
            "count all rows"
        )


def _repeat_header(
    rows: Rows, found: DetectedLayout, ids: Sequence[Any], items: Any, lengths: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Return which rows repeat the column names, as in joined files; None if there are none.

    ``ids`` are the texts of transaction columns, one per run of ``lengths`` rows.

    Raises:
        BasketError: a row has the names in another order.
    """

    def repeats(names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows match one regular expression per column, the last for the item."""
        runs = np.logical_and.reduce([match_mask(texts, name) for texts, name in zip(ids, names, strict=False)])
        held = np.append(match_mask(items.dictionary, names[-1]), False)
        return np.asarray(np.repeat(runs, lengths) & held[array_to_numpy(items.indices, -1)])

    if not any(found.names):
        return None
    any_name = f"^({'|'.join(re.escape(name) for name in found.names if name)})$"
    own = [f"^{re.escape(found.names[place])}$" for place in found.places[: found.ids + 1]]
    if not match_mask(items.dictionary, any_name).any():
        return None
    heads = repeats([any_name] * len(own))
    moved = np.flatnonzero(heads & ~repeats(own))
    if len(moved):
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(int(moved[0])):,} names the columns in another order than line 1, as "
            "in joined exports; split it into separate files"
        )
    return heads if heads.any() else None


def _without_rows(
    part: LongPart, lacks_cell: NDArray[np.bool_], rows: Rows, missing: dict[str, NDArray[np.bool_]]
) -> LongPart:
    """Remove rows that lack a cell; those without any cell, as spreadsheets leave them, are not counted."""
    nothing = np.zeros(len(lacks_cell), dtype=np.bool_)
    bare = missing.get("transaction id", nothing) & missing.get("item", nothing)
    odd = np.flatnonzero(lacks_cell & ~(bare & missing.get("quantity", ~nothing)))
    totals = np.repeat(_are_totals(part.transactions), part.lengths) | _are_totals(part.items) | bare
    wrong, incomplete = odd[~totals[odd]], IncompleteRows(len(odd))
    if len(wrong):
        what = next(what for what, each in missing.items() if each[wrong[0]])
        place = f"{rows.origin.row_word} {rows.line(int(wrong[0])):,}"
        without_id = int(missing.get("transaction id", nothing)[odd].sum())
        incomplete = IncompleteRows(len(odd), f"{place} has no {what}", without_id)
    kept, lengths = to_arrow(~lacks_cell), kept_sizes(part.lengths, ~lacks_cell)
    runs = to_arrow(lengths > 0)
    return replace(
        part,
        transactions=part.transactions.filter(runs),
        lengths=lengths[lengths > 0],
        items=part.items.filter(kept),
        context={role: texts.filter(runs) for role, texts in part.context.items()},
        quantities=None if part.quantities is None else part.quantities[~lacks_cell],
        persons=None if part.persons is None else part.persons.filter(kept),
        incomplete=incomplete,
    )


def _are_totals(texts: Any) -> NDArray[np.bool_]:
    """Return which Arrow texts are words for a total."""
    words = pc.utf8_lower(pc.utf8_trim(texts.dictionary if pa.types.is_dictionary(texts.type) else texts, " :"))
    found = match_mask(words, words_pattern(TOTALS))
    if pa.types.is_dictionary(texts.type):
        found = np.append(found, False)[array_to_numpy(texts.indices, -1)]
    return np.asarray(found, dtype=np.bool_)


def _run_starts(columns: Sequence[Any]) -> NDArray[np.int64]:
    """Return the first row of each run of rows with equal values in all columns, Arrow arrays."""
    changed = np.ones(len(columns[0]), dtype=np.bool_)
    changed[1:] = False
    for values in columns:
        plain = values.indices if pa.types.is_dictionary(values.type) else values
        with contextlib.suppress(pa.ArrowException):  # nested values, which are refused later with a specific error
            differ = pc.not_equal(plain[1:], plain[:-1])
            changed[1:] |= array_to_numpy(differ, missing=0).astype(bool) | null_mask(differ)
    return np.flatnonzero(changed)


def _id_texts(columns: Sequence[Any], starts: NDArray[np.int64] | None, absent: Collection[str]) -> list[Any]:
    """Return columns as text, at the rows ``starts`` or at all."""
    places = None if starts is None else to_arrow(starts)
    taken = [values if places is None else values.take(places) for values in columns]
    return [texts_of(values, "transaction ids", absent) for values in taken]


def _joined_texts(texts: Sequence[Any]) -> Any:
    """Join columns of text to one; null where one of them is null."""
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, JOINT)


def _days(values: Any) -> tuple[Any, bool]:
    """Return dates, stores … as text, times as days, and whether there are times.

    Missing and incomparable values are null.
    """
    is_timed = bool(pa.types.is_timestamp(values.type))
    if is_timed or pa.types.is_date(values.type):
        values = values.cast(pa.date32(), safe=False)
    elif pa.types.is_floating(values.type):  # days of a spreadsheet, with the time as the fraction
        values = pc.floor(values)
    elif pa.types.is_integer(values.type):
        values = values.cast(pa.float64(), safe=False)
        values = pc.if_else(pc.less(values, _SECONDS), values, None)
    with contextlib.suppress(BasketError):
        texts = texts_of(values, "")
        days = pc.extract_regex(texts, r"^(?P<day>[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4})[ T,].*$")
        return pc.coalesce(pc.struct_field(days, "day"), texts), is_timed or days.null_count < len(days)
    return pa.nulls(len(values), pa.string()), False  # nested


def _quantities(rows: Rows, column: Any, absent: Collection[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return quantities in millionths, int64 (n,), and which are missing."""
    coded = coded_texts(column, "quantities", absent)
    millionths = [_millionths(text) for text in coded.dictionary.to_pylist()]
    codes = array_to_numpy(coded.indices, len(millionths))
    wrong = np.flatnonzero(np.array([*(each is None for each in millionths), False])[codes])
    if len(wrong):
        raise BasketError(
            f"the quantity in {rows.origin.row_word} {rows.line(int(wrong[0])):,} is not a number; correct it, or name "
            "another column with quantity= in the layout, or quantity=none to count every row"
        )
    return np.array([*(each or 0 for each in millionths), 0], dtype=np.int64)[codes], codes == len(millionths)


def _millionths(text: str) -> int | None:
    """Return a quantity, as tills write it, in millionths; None if it is not a number.

    >>> _millionths("1.250,5"), _millionths("2-"), _millionths("tea")
    (1250500000, -2000000, None)
    """
    if not text or not AMOUNT.fullmatch(text):
        return 0 if text in ("inf", "") else None
    digits = re.sub(r"[-+−' \u00a0]", "", text)
    point = max(digits.rfind("."), digits.rfind(","))
    if point >= 0 and digits.count(digits[point]) > 1:  # several separators of thousands
        point = -1
    whole, part = (digits[:point], digits[point + 1 :]) if point >= 0 else (digits, "")
    number = int(re.sub(r"[.,]", "", whole) + f"{part:0<6}"[:6])
    if number >= _MAX_MILLIONTHS:
        return None
    return -number if "-" in text or "−" in text else number


def long_cells(parts: Sequence[LongPart], *, persons: bool = False) -> Cells:
    """Return the cells of parts of one source, or of several that share transactions; baskets by first appearance.

    Quantities are summed by transaction and item. An item with a sum above 0 is in the basket; a transaction without
    such items is not a basket. With ``persons`` the cells hold the person of each row instead of the item.

    Raises:
        BasketError: the rows of a transaction id are not consecutive, or have several dates, stores, tills or
            customers.
    """
    if not parts:
        return Cells(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])
    lengths = np.concatenate([part.lengths for part in parts])
    runs = _transactions_of_runs(parts)
    codes, names = distinct_texts([part.items for part in parts])
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
        codes, names = distinct_texts([part.persons for part in parts])
        codes = codes if order is None else codes[order]
        bought = (np.bincount(rows, bought) > 0)[rows]
    if not bought.all():
        sizes, codes = kept_sizes(sizes, bought), codes[bought]
        sizes = sizes[sizes > 0]
    incomplete = sum(part.incomplete.rows for part in parts)
    cells = Cells(sizes, codes, names, Origin(), LeftOut(0, incomplete, returned), summed)
    return cells if persons or parts[0].found.layout.missing == KEEP else drop_till_lines(cells)


def _are_bought(rows: NDArray[Any], codes: NDArray[Any], quantities: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows belong to an item that its transaction holds: the sum of its quantities is above 0."""
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


# ---- transactions of runs


def _transactions_of_runs(parts: Sequence[LongPart]) -> NDArray[Any]:
    """Return the transaction number of each run, by first appearance.

    Raises:
        BasketError: as :func:`long_cells`.
    """
    ids = pa.chunked_array([part.transactions for part in parts])
    order = {part.found.layout.rows for part in parts}
    # an id may end one file and begin the next
    files = np.cumsum([0, *(one.found is not other.found for one, other in pairwise(parts))])
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
    """Return the codes of the distinct values of a chunked array, by first appearance; −1 for null."""
    chunks = [array_to_numpy(each.indices, -1) for each in texts.dictionary_encode().chunks]
    return np.concatenate([np.empty(0, dtype=np.int64), *chunks])


def _refuse_mixed(parts: Sequence[LongPart], runs: NDArray[np.int64], files: NDArray[np.int64]) -> None:
    """Refuse transaction ids with several dates, stores, tills or customers, or with rows that are not consecutive."""
    found, n_ids = parts[0].found, int(runs.max(initial=-1)) + 1
    mixed, keys = dict[int, str](), dict[int, NDArray[np.int64]]()
    for role, place in found.context:
        texts = [part.context.get(role, pa.nulls(len(part.lengths), pa.string())) for part in parts]
        codes = _codes_of(pa.chunked_array(texts))
        many = _have_several(runs, codes, n_ids)
        if many and (many * _FEW > n_ids or " " not in role or role.startswith(DATES)):
            mixed[place] = f"{many:,} of {n_ids:,} transaction ids have rows of several {role}"
            keys[place] = runs * (int(codes.max(initial=0)) + 2) + codes + 1
    dated = [(role != DATES, place) for role, place in found.context if place in mixed and role.startswith(DATES)]
    for _, place in sorted(dated, key=lambda each: (len(np.unique(keys[each[1]])), *each))[1:]:  # finer, of rows
        del mixed[place], keys[place]
    advice = replace(found.layout, rows=TOGETHER)
    if mixed:
        key = np.unique(np.stack([*keys.values()]), axis=1, return_inverse=True)[1].ravel()
        timed = frozenset[str]().union(*(part.timed for part in parts))
        each_row = 2 * sum(len(part.items) for part in parts) < 3 * len(runs)  # times of rows, not of transactions
        days = {place for role, place in found.context if role in timed and each_row}
        columns = [show_column(found.names, place) + DAY * (place in days) for place in mixed]
        advice = replace(
            advice,
            transaction="+".join([*columns, str(advice.transaction)]),
            rows=ANYWHERE if _count_repeated(key, files) else None,
        )
    elif again := _count_repeated(runs, files):
        mixed[-1] = f"{again:,} of {n_ids:,} transaction ids recur after other ids"
    if mixed:
        raise BasketError(
            f"{', '.join(mixed.values())}, as if numbers restart each day, in each store or at each till; pass "
            f"{layout_arg(advice)} if they do, or {layout_arg(replace(found.layout, rows=ANYWHERE))} if all "
            "rows of an id are one basket"
        )


def _count_repeated(runs: NDArray[np.int64], files: NDArray[np.int64]) -> int:
    """Return how many numbers recur after other numbers, or in another file.

    >>> _count_repeated(np.array([0, 0, 1, 0, 1, 2]), np.zeros(6))
    2
    """
    starts = np.append(True, (runs[1:] != runs[:-1]) | (files[1:] != files[:-1]))[: len(runs)]
    return int((np.bincount(runs[starts]) > 1).sum())


def _have_several(runs: NDArray[np.int64], codes: NDArray[np.int64], n_ids: int) -> int:
    """Return how many ids, given the id number of each run, have several codes; −1 is not a code."""
    held = codes >= 0
    least, most = np.full(n_ids, np.iinfo(np.int64).max), np.full(n_ids, -1, dtype=np.int64)
    np.minimum.at(least, runs[held], codes[held])
    np.maximum.at(most, runs[held], codes[held])
    return int((most > least).sum())


def _rising_codes(ids: Any) -> NDArray[np.int64] | None:
    """Return the codes of Arrow texts if each is longer than the one before, or as long and greater, as numbers are.

    A text may repeat across a chunk boundary. None if they do not increase, so that one may recur later.
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
