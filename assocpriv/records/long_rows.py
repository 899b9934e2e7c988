"""Rows of the long layout, a row an item -> transactions of items.

Rows of one transaction may stand in several parts of a source, and in several sources. Quantities are summed; ids that
may be of several transactions are refused.
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
from assocpriv.promise.errors import BasketError
from assocpriv.records.cells import Cells, LeftOut, Origin, kept_sizes, without_till_lines
from assocpriv.records.columns import Rows
from assocpriv.records.layout import ANYWHERE, DATES, DAY, KEEP, NONE, TOGETHER, Found, say_layout, shown_column
from assocpriv.records.sources import TOTALS
from assocpriv.records.texts import (
    any_of,
    coded_items,
    coded_texts,
    distinct_texts,
    plain_ids,
    plain_text,
    refuse_rounded,
    texts_of,
    which_fit,
    which_null,
)
from assocpriv.records.values import AMOUNT

_SECONDS = 1e9  # numbers from here on are times, not days
_FEW = 50  # one id in so many may have several values in a column that first rows alone show to be a transaction's
_MOST_MILLIONTHS = 1 << 53
_LONG_ROW_BYTES, _LONG_NAME_BYTES = 48, 8  # memory of a row of the long layout, and of a byte of its distinct names
_BELOW_ZERO = r"^\s*[-−]\s?[0-9]|[0-9]-\s*$"
JOINT = "\x01"  # between the texts of several columns that are one id


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
        context: of each run text of Arrow, by what the column is; of times the days.
        timed: columns of context that have times.
        quantities: of each row, int64 in millionths; None without such a column.
        persons: of each row, text in codes of Arrow; None where they are not asked for.
        lacking: rows that lack a cell.
    """

    found: Found
    transactions: Any
    lengths: NDArray[np.int64]
    items: Any
    context: dict[str, Any]
    timed: frozenset[str]
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
        remedy = "or leave rows that lack a cell out with incomplete='drop'"
        if most:
            remedy = "down from the row above if the first row of a transaction alone has it"
        raise BasketError(f"{first}; fill it in, {remedy} ({count:,} such in all)")


def long_part(rows: Rows, found: Found, absent: Collection[str] = ()) -> LongPart:
    """Read the transaction, the item, the quantity … of each row; words that are ``absent`` are empty cells.

    Raises:
        BasketError: items that are neither text nor integers; a quantity that is no number.
    """
    column = dict(zip(found.taken, map(plain_text, rows.columns), strict=True))
    ids = [plain_ids(column[place], "transaction ids") for place in found.places[: found.ids]]
    items = coded_items(plain_ids(column[found.places[found.ids]], "items"), "item", absent)
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
        missing["transaction id"] = np.repeat(which_null(transactions), lengths)
    if items.null_count:
        missing["item"] = which_null(items)
    heads = _repeat_header(rows, found, texts, items, lengths)
    if heads is not None:
        missing = {what: missing.get(what, heads) | heads for what in ("transaction id", "item")}
    quantities = persons = None
    if found.quantity is not None:
        name = {found.names[found.quantity].lower()} if heads is not None else set()
        quantities, missing["quantity"] = _quantities(rows, column[found.quantity], {*absent, *name})
    if found.persons:
        names = _id_texts([plain_ids(column[place], "persons") for place in found.persons], None, absent)
        for each in names:
            refuse_rounded(each, None, rows, "person")
        persons = coded_texts(_joined_texts(names), "persons", absent)
    days = {role: _days(values.take(to_arrow(starts))) for role, values in context.items()}
    held, timed = {role: texts for role, (texts, _) in days.items()}, frozenset(role for role in days if days[role][1])
    part = LongPart(found, transactions, lengths, items, held, timed, quantities, persons)
    totals = _are_totals(transactions)  # below a table, with something in the place of the item
    lack = np.logical_or.reduce([np.repeat(totals, lengths), *missing.values()])
    return _without_rows(part, lack, rows, missing) if lack.any() else part


def _refuse_returned(values: Any, place: int, rows: Rows, found: Found) -> None:
    """Refuse numbers below zero, as of returned goods, where nobody says which column has quantities."""
    plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)
    below = pc.less(values, 0) if plain else pa.array(which_fit(texts_of(values, "numbers"), _BELOW_ZERO))
    first = pc.index(below, True).as_py()
    if first >= 0:
        said, none = (replace(found.layout, quantity=each) for each in (f"#{place + 1}", NONE))
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(first):,} has a number below zero in column {place + 1}, as returned "
            f"goods have; say {say_layout(said)} to leave out what was returned, or {say_layout(none)} to count all"
        )


def _repeat_header(
    rows: Rows, found: Found, ids: Sequence[Any], items: Any, lengths: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Tell which rows repeat the names of the columns, as where files were joined; None if none does.

    ``ids`` are the texts of transaction columns, of each run of ``lengths`` rows.

    Raises:
        BasketError: a row has the names in another order.
    """

    def repeats(names: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which rows have texts that fit an expression for each column, of the item last."""
        runs = np.logical_and.reduce([which_fit(texts, name) for texts, name in zip(ids, names, strict=False)])
        held = np.append(which_fit(items.dictionary, names[-1]), False)
        return np.asarray(np.repeat(runs, lengths) & held[array_to_numpy(items.indices, -1)])

    if not any(found.names):
        return None
    any_name = f"^({'|'.join(re.escape(name) for name in found.names if name)})$"
    own = [f"^{re.escape(found.names[place])}$" for place in found.places[: found.ids + 1]]
    if not which_fit(items.dictionary, any_name).any():
        return None
    heads = repeats([any_name] * len(own))
    moved = np.flatnonzero(heads & ~repeats(own))
    if len(moved):
        raise BasketError(
            f"{rows.origin.row_word} {rows.line(int(moved[0])):,} names the columns in another order than line 1, as "
            "where two exports were joined; give each as a file of its own"
        )
    return heads if heads.any() else None


def _without_rows(
    part: LongPart, lack: NDArray[np.bool_], rows: Rows, missing: dict[str, NDArray[np.bool_]]
) -> LongPart:
    """Return the rows that lack nothing; those without any cell are none, as spreadsheets leave them."""
    nothing = np.zeros(len(lack), dtype=np.bool_)
    bare = missing.get("transaction id", nothing) & missing.get("item", nothing)
    odd = np.flatnonzero(lack & ~(bare & missing.get("quantity", ~nothing)))
    totals = np.repeat(_are_totals(part.transactions), part.lengths) | _are_totals(part.items) | bare
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
        part.timed,
        None if part.quantities is None else part.quantities[~lack],
        None if part.persons is None else part.persons.filter(kept),
        lacking,
    )


def _are_totals(texts: Any) -> NDArray[np.bool_]:
    """Tell which texts of Arrow are words for a total."""
    words = pc.utf8_lower(pc.utf8_trim(texts.dictionary if pa.types.is_dictionary(texts.type) else texts, " :"))
    found = which_fit(words, any_of(TOTALS))
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
            changed[1:] |= array_to_numpy(differ, missing=0).astype(bool) | which_null(differ)
    return np.flatnonzero(changed)


def _id_texts(columns: Sequence[Any], starts: NDArray[np.int64] | None, absent: Collection[str]) -> list[Any]:
    """Return columns as text, at some rows or all."""
    places = None if starts is None else to_arrow(starts)
    taken = [values if places is None else values.take(places) for values in columns]
    return [texts_of(values, "transaction ids", absent) for values in taken]


def _joined_texts(texts: Sequence[Any]) -> Any:
    """Return columns of text as one; null where one of them has nothing."""
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, JOINT)


def _days(values: Any) -> tuple[Any, bool]:
    """Return dates, stores … as text, of times the days alone, and whether there are times.

    Null is where there is nothing, or nothing to compare.
    """
    is_timed = bool(pa.types.is_timestamp(values.type))
    if is_timed or pa.types.is_date(values.type):
        values = values.cast(pa.date32(), safe=False)
    elif pa.types.is_floating(values.type):  # days of a spreadsheet, with the time behind the point
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
            f"{rows.origin.row_word} {rows.line(int(wrong[0]))} has no number as its quantity; correct it, or name "
            "another column with quantity= in the layout, or quantity=none to count every row"
        )
    return np.array([*(each or 0 for each in millionths), 0], dtype=np.int64)[codes], codes == len(millionths)


def _millionths(text: str) -> int | None:
    """Return a quantity as tills write it, in millionths, None for what is none.

    >>> _millionths("1.250,5"), _millionths("2-"), _millionths("tea")
    (1250500000, -2000000, None)
    """
    if not text or not AMOUNT.fullmatch(text):
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
    said = replace(found.layout, rows=TOGETHER)
    if mixed:
        key = np.unique(np.stack([*keys.values()]), axis=1, return_inverse=True)[1].ravel()
        timed = frozenset[str]().union(*(part.timed for part in parts))
        each_row = 2 * sum(len(part.items) for part in parts) < 3 * len(runs)  # its own time, not its transaction's
        days = {place for role, place in found.context if role in timed and each_row}
        columns = [shown_column(found.names, place) + DAY * (place in days) for place in mixed]
        said = replace(
            said, transaction="+".join([*columns, str(said.transaction)]), rows=ANYWHERE if _apart(key, files) else None
        )
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
