"""Items as a source holds them, before a catalogue numbers them: steps shared by lists, tables and files.

Blanks around names are removed, because a catalogue has none.
"""

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import BasketError, pluralize
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # also halves of surrogate pairs, which no text has
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,6}")  # numbers below MAX_ITEMS have at most 7 digits
ROUNDED = re.compile(  # a long number as spreadsheets write it into CSV, or a float of 2^53 or more
    r"[-+]?(?:[0-9][.,][0-9]+[eE][-+][0-9]+|(?:9[0-9]{15}|[0-9]{17,})\.0)"
)
STORE_AS_TEXT = "store the column as text when the file or table is made"
_TOTAL_WORDS = frozenset({
    *("total", "totals", "subtotal", "sub total", "sub-total", "grand total", "total ttc", "amount due", "summe"),
    *("gesamt", "zwischensumme", "gesamtbetrag", "zu zahlen", "sous-total", "sous total", "totale", "totaal"),
})  # fmt: skip
_TILL_WORDS = _TOTAL_WORDS | {  # on receipts with totals
    *("tax", "sales tax", "vat", "gst", "hst", "mwst", "ust", "tva", "dont tva", "iva", "btw", "moms"),
    *("rounding", "balance", "discount", "rabatt"),
    *("cash", "card", "change", "tip", "bar", "rückgeld", "ec-karte", "ec karte", "cb", "especes", "espèces", "rendu"),
    *("debit card", "credit card", "visa", "mastercard"),
}  # fmt: skip
_RATE = re.compile(r"[ :]*\(?[0-9]+([.,][0-9]+)? ?%\)?|[ :]*(eur|usd|gbp|chf|[$€£])$")  # next to a tax or total
CHOICES = {
    "unknown": ("error", "drop"),
    "repeats": ("error", "merge"),
    "empty": ("error", "keep", "drop"),
    "incomplete": ("refuse", "drop", "keep"),
    "person_as": ("checked", "written"),
}
MISSING_WORDS = frozenset({  # that programs and people write for missing values
    *("nan", "none", "null", "na", "n/a", "#n/a", "<na>", "nat", "\\n", "(null)", "[null]", "<null>", "(blank)", "nil"),
    *("undefined", "#nv", "#ref!", "#value!", "#name?", "#div/0!", ".", "?", "missing", "unknown", "unbekannt", "k.a."),
    *("leer", "keine angabe", "not specified", "not available"),
})  # fmt: skip
LINE_BREAK = re.compile(r"\s*[\r\n]\s*")  # within a name, as CSV may have it
_RULE = re.compile(r"[-=_*~]+")
TAB = "\t"
MARKS = {  # separators of several items in one cell: character -> (plural name, text that separates)
    **{",": ("commas", ","), ";": ("semicolons", ";"), "|": ("bars", "|"), TAB: ("tabs", TAB)},
    **{"/": ("slashes", " / "), "+": ("plus signs", " + ")},
}
_PIECES = re.compile(
    r"^\d{1,3} ?[x×*] ?(?=\D)|(\s[x×*] ?\d{1,3}| ?\([x×]? ?\d{1,3}([.,]\d+)?\)| ?: ?\d{1,3})$", re.IGNORECASE
)
_FIRST = 100  # names that are searched for one quantity before all are
LISTS = re.compile(r"\[.*\]|\{.*\}|\(.*,.*\)")  # printed lists


class SheetRow(int):
    """A line number of text made from several sheets; formatted as the row number within its sheet, and the sheet's."""

    row: int
    sheet: int

    def __new__(cls, line: int, row: int, sheet: int) -> "SheetRow":
        """Return the number of a line."""
        made = super().__new__(cls, line)
        made.row, made.sheet = row, sheet
        return made

    def __format__(self, spec: str) -> str:
        return f"{self.row:{spec}} of sheet #{self.sheet}"


@dataclass(frozen=True, slots=True)
class Origin:
    """How errors name baskets.

    Attributes:
        word: the source's word for a basket: basket, line or row.
        before: number of baskets before these.
        whole: whether these are all baskets of the source.
        number: returns a line's number as errors show it.
    """

    word: str = "basket"
    before: int = 0
    whole: bool = True
    number: Callable[[int], int] = int

    def place(self, row: int) -> str:
        """Return the name of a basket in errors."""
        return f"{self.word} {self.number(self.before + row + 1)}"

    def of_rows(self, kept: NDArray[np.int64]) -> "Origin":
        """Return the origin of some of the baskets, int64 indices, that errors number as before."""
        number, before, rows = self.number, self.before, kept.tolist()
        return replace(self, number=lambda place: number(before + rows[place - before - 1] + 1))

    @property
    def row_word(self) -> str:
        """Return the word in errors for a row that is not a whole basket."""
        return "row" if self.word == "basket" else self.word

    def tally(self, totals: str) -> str:
        """Return totals in parentheses if these are all baskets, else nothing."""
        return f" ({totals})" if self.whole else ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Numbers of cells and rows that reading left out, and of cells whose meaning depends on others.

    Attributes:
        missing_cells: cells with a word for a missing value.
        incomplete_rows: rows that lack a cell.
        not_bought: rows of items whose quantities in the transaction sum to 0 or less.
        till_lines: rows whose item is a word such as total, tax or cash, if half of the transactions have a total.
        empty_baskets: baskets without items.
        empty_flags: empty cells of a one-hot table, read as not bought.
        false_tables: one-hot tables, or batches of one, with a cell that is false.
    """

    missing_cells: int = 0
    incomplete_rows: int = 0
    not_bought: int = 0
    till_lines: int = 0
    empty_baskets: int = 0
    empty_flags: int = 0
    false_tables: int = 0

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def note(self) -> str:
        """A sentence about what was left out; empty if nothing was."""
        reasons = (
            (self.incomplete_rows, "row", "without an id, an item or a quantity, or with an empty cell"),
            (self.not_bought, "row", "returned, voided or of quantity 0"),
            (self.till_lines, "row", "of totals, taxes or payments"),
            (self.missing_cells, "cell", "with NaN, None or another word for a missing value"),
            (self.empty_baskets, "basket", "without items"),
        )
        what = "; ".join(f"{pluralize(count, word)} {why}" for count, word, why in reasons if count)
        kept = f"{pluralize(self.empty_flags, 'empty cell')} read as not bought" * (self.empty_flags > 0)
        return "; ".join(filter(None, [kept, what and f"left out: {what}"]))

    def check_flags(self, incomplete: str, first: str = "") -> None:
        """Refuse a one-hot table with empty cells where others are false, since unknown is not false.

        Raises:
            BasketError: ``incomplete`` is "refuse", and the table has both; ``first`` says where.
        """
        if incomplete == "refuse" and self.empty_flags and self.false_tables:
            raise BasketError(
                f"{first}the one-hot table has cells that are false and {pluralize(self.empty_flags, 'empty cell')}, "
                "which may be unknown; leave out their rows with incomplete='drop', or read them as not bought with "
                "incomplete='keep'"
            )


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Cells:
    """Items as a source holds them, before a catalogue numbers them, one basket after the other.

    Attributes:
        sizes: number of cells of each basket, integers of shape (n_baskets,).
        codes: index into ``names`` of each cell, integers of shape (n_cells,); −1 for an empty cell.
        names: item names, possibly with blanks around them; None if the codes are themselves the names.
        origin: how errors name a basket.
        left_out: what the source holds, but these cells do not.
        summed: whether quantities were summed, so that a repeated item of a basket counts once.
    """

    sizes: NDArray[Any]
    codes: NDArray[Any]
    names: Sequence[str] | None
    origin: Origin = Origin()
    left_out: LeftOut = LeftOut()
    summed: bool = False

    @property
    def rows(self) -> NDArray[np.int64]:
        """The basket index of each cell, int64 of shape (n_cells,)."""
        return np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes)


def cells_of_names(baskets: Iterable[Sequence[str]], absent: Collection[str] = ()) -> Cells:
    """Return the cells of baskets given as lists of names, without words for missing values (``absent``).

    >>> cells_of_names([["milk", "bread"], ["milk"]]).codes.tolist()
    [0, 1, 0]
    """
    sizes, codes = array("q"), array("q")
    index: dict[str, int] = {}
    for names in baskets:
        sizes.append(len(names))
        codes.extend([index.setdefault(name, len(index)) for name in names])
    return drop_missing_words(Cells(np.array(sizes), np.array(codes), list(index)), absent)


def is_word(name: str, words: Collection[str]) -> bool:
    """Return whether a name is one of the lower-case ``words`` or, if there are any, a dash or a rule (---).

    >>> is_word(" NaN", MISSING_WORDS)
    True
    """
    return name.strip().lower() in words or (bool(words) and _RULE.fullmatch(name.strip()) is not None)


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or NA or NaT of pandas."""
    if isinstance(value, Decimal):
        return value.is_nan()
    is_nan = isinstance(value, float | np.floating) and bool(np.isnan(value))
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def missing_words(keep: bool, catalogue: Catalogue | None = None) -> frozenset[str]:
    """Return the words that mean a missing value: all except items of the catalogue; none if ``keep``.

    >>> sorted(MISSING_WORDS - missing_words(False, Catalogue(["tea", "None"])))
    ['none']
    """
    if keep:
        return frozenset()
    return MISSING_WORDS if catalogue is None else MISSING_WORDS - {name.lower() for name in catalogue}


def drop_missing_words(cells: Cells, absent: Collection[str]) -> Cells:
    """Remove the cells that are null or hold a word for a missing value, and count them."""
    if cells.names is None or isinstance(cells.names, Catalogue) or not absent:
        return cells
    kept = ~np.array([*(is_word(name, absent) for name in cells.names), True], dtype=np.bool_)[cells.codes]  # −1: null
    return _select_cells(cells, kept, LeftOut(missing_cells=int((~kept).sum())))


def _select_cells(cells: Cells, kept: NDArray[np.bool_], left_out: LeftOut) -> Cells:
    """Keep some of the cells, and only the names that occur in them."""
    if kept.all():
        return cells
    codes = cells.codes[kept]
    used = np.zeros(len(cells.names or ()) + 1, dtype=np.bool_)
    used[codes] = True
    names = [name for name, each in zip(cells.names or (), used.tolist(), strict=False) if each]
    codes, sizes = np.append(np.cumsum(used[:-1]) - 1, -1)[codes], kept_sizes(cells.sizes, kept)
    return replace(cells, sizes=sizes, codes=codes, names=names, left_out=cells.left_out + left_out)


def drop_till_lines(cells: Cells) -> Cells:
    """Remove and count words for totals, taxes and payments, if at least half of the baskets have a total.

    >>> drop_till_lines(cells_of_names([["tea", "TOTAL"], ["rye", "TOTAL"]])).sizes.tolist()
    [1, 1]
    """
    names = cells.names or ()
    plain = [_RATE.sub("", name.strip(" :").lower()).strip() for name in names]
    totals = np.array([name in _TOTAL_WORDS for name in plain], dtype=np.bool_)
    if not totals.any() or isinstance(names, Catalogue) or len(cells.sizes) < 2:
        return cells
    counts = np.bincount(cells.codes, minlength=len(names))
    if not (totals & (2 * counts >= len(cells.sizes))).any():
        return cells
    kept = ~np.array([name in _TILL_WORDS for name in plain], dtype=np.bool_)[cells.codes]
    return _select_cells(cells, kept, LeftOut(till_lines=int((~kept).sum())))


def find_item_separator(cells: Cells) -> str | None:
    """Return the separator if most cells hold several items or are printed lists; else None.

    If each basket has one cell, it suffices that half of the cells hold the separator; otherwise the parts must recur.

    >>> find_item_separator(cells_of_names([["milk, tea"], ["tea, rye"]]))
    ','
    """
    if cells.names is None or isinstance(cells.names, Catalogue):
        return None
    marks = [between for _, between in MARKS.values()]
    if not any(LISTS.fullmatch(name.strip()) or any(mark in name for mark in marks) for name in cells.names):
        return None
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.names)).tolist()
    held = [(name.strip(), count) for name, count in zip(cells.names, counts, strict=True) if count]
    total = sum(counts)
    if total < 2:
        return None
    if 2 * sum(count for name, count in held if LISTS.fullmatch(name)) >= total:
        return ","
    alone = int(cells.sizes.max(initial=0)) < 2
    for mark, (_, between) in MARKS.items():
        cut = [[part.strip() for part in name.split(between)] for name, _ in held if between in name]
        parts = [part for each in cut for part in each]
        recur = 2 * len(set(parts)) <= len(parts)
        having = sum(count for name, count in held if between in name)
        moves = {each[0] for each in cut} & {part for each in cut for part in each[1:]}  # parts of one name never do
        if (2 * having >= total and (alone or recur)) or (10 * having >= 9 * total and moves):
            return mark
    return None


def have_quantities(cells: Cells) -> bool:
    """Return whether nearly all cells hold a quantity and a name, as in ``2x tea``, ``tea (2)`` or ``tea:2``.

    The quantity of a name must vary, and no name may be in nearly all baskets, as attributes with number values are.

    >>> have_quantities(cells_of_names([["2x tea"], ["1x tea", "1x rye"], ["2x oil"]]))
    True
    """
    names = cells.names
    if names is None or isinstance(names, Catalogue) or not any(map(_PIECES.search, names[:_FIRST])):
        return False
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(names)).tolist()
    of_name, ways = dict[str, int](), 0
    for name, count in zip(names, counts, strict=True):
        plain = _PIECES.sub("", name.strip())
        if plain != name.strip() and count:
            of_name[plain], ways = of_name.get(plain, 0) + count, ways + 1
    most = max(of_name.values(), default=0)
    return 10 * sum(of_name.values()) >= 9 * sum(counts) and ways > len(of_name) and 10 * most < 9 * len(cells.sizes)


def join_cells(parts: Iterable[Cells]) -> Cells:
    """Concatenate the cells of consecutive parts of one source.

    >>> join_cells([cells_of_names([["milk"]]), cells_of_names([["bread", "milk"]])]).codes.tolist()
    [0, 1, 0]
    """
    index: dict[str, int] | None = None  # of all names, once there are different ones
    sizes: list[NDArray[Any]] = []
    codes: list[NDArray[Any]] = []
    first, origin, left_out, summed = None, Origin(), LeftOut(), False
    for part in parts:
        left_out, summed = left_out + part.left_out, summed or part.summed
        if not sizes:
            first, origin = part.names, replace(part.origin, whole=True)
        if sizes and index is None and not (part.names is first and isinstance(first, Catalogue | None)):
            index = {}
            codes = [_named_codes(replace(part, codes=each, names=first), index) for each in codes]
        sizes.append(part.sizes)
        codes.append(part.codes if index is None else _named_codes(part, index))
    if not sizes:
        return Cells(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), [])
    names = first if index is None else list(index)
    return Cells(np.concatenate(sizes), np.concatenate(codes), names, origin, left_out, summed)


def _named_codes(part: Cells, index: dict[str, int]) -> NDArray[np.int32]:
    """Return the codes of a part's cells in an index of names, which is extended; −1 stays −1."""
    names, codes = part.names, part.codes
    if names is None:
        numbers, codes = np.unique(codes, return_inverse=True)
        names = list(map(str, numbers.tolist()))
    numbers = np.array([*(index.setdefault(name, len(index)) for name in names), -1], dtype=np.int32)
    return np.take(numbers, codes)


def kept_sizes(sizes: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the new sizes of baskets, integers of shape (n,), of whose cells only those ``kept`` remain.

    >>> kept_sizes(np.array([2, 0, 1]), np.array([True, False, True]))
    array([1, 0, 1])
    """
    counted = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(kept, out=counted[1:])
    left: NDArray[np.int64] = np.diff(counted[np.cumsum(sizes)], prepend=0)
    return left


def check_choices(**chosen: str) -> None:
    """Raise BasketError if an argument is not one of its allowed words."""
    for name, value in chosen.items():
        if value not in CHOICES[name]:
            raise BasketError(f"{name} must be one of {', '.join(CHOICES[name])}")


def resolve(cells: Cells, catalogue: Catalogue | None, *, numbered: bool = True) -> tuple[Catalogue, NDArray[Any]]:
    """Look up the name of every cell in a catalogue; None derives one from the cells.

    A derived catalogue is 0 … the largest number, within its size limit, if the codes are the names; and, if
    ``numbered``, also if all names are numbers.

    Returns:
        The catalogue and the item ids, integers of shape (n_cells,), −1 for items that are not in it.

    Raises:
        BasketError: a cell without a name, a name that no catalogue can hold, or no names to derive a catalogue from.
    """
    if cells.codes.min(initial=0) < 0:
        _refuse(cells, np.flatnonzero(cells.codes < 0), "is missing", "correct the data")
    names = cells.names
    if names is None:
        return _resolve_numbers(cells.codes, catalogue)
    if not isinstance(names, Catalogue):
        names = [LINE_BREAK.sub(" ", name.strip()) for name in names]
        bad = np.array([not name or bool(_CONTROL.search(name)) for name in names], dtype=bool)
        if bad.any() and len(worst := np.flatnonzero(bad[cells.codes])):
            _refuse(cells, worst, "is empty or has control characters", "names must be plain text; correct the data")
        strange = [bool(ROUNDED.fullmatch(name)) and (catalogue is None or name not in catalogue) for name in names]
        if any(strange) and len(worst := np.flatnonzero(np.array(strange)[cells.codes])):
            _refuse(cells, worst, "is a number that has lost digits", STORE_AS_TEXT)
    elif catalogue is None:
        return names, cells.codes
    catalogue = _derived(names, numbered) if catalogue is None else catalogue
    return catalogue, _identify(names, catalogue)[cells.codes]


def drop_unknown_items(cells: Cells, ids: NDArray[Any], unknown: str, catalogue: Catalogue | None = None) -> Cells:
    """Return item ids as cells without unknown ones (−1); raise BasketError for these if ``unknown`` is "error"."""
    if ids.min(initial=0) >= 0:
        return replace(cells, codes=ids, names=None)
    known = ids >= 0
    if unknown == "error":
        places = np.flatnonzero(~known)
        remedy = (
            "check the spelling of names (of a file also its separator and header), or leave out such items with "
            "unknown='drop'"
        )
        if catalogue is not None and catalogue.is_numbered and not _has_number(cells, places):
            remedy = (
                f"its items are the numbers 0 … {len(catalogue) - 1:,}; for names make a plan from a catalogue of "
                "names (assocpriv catalogue writes one)"
            )
        _refuse(cells, places, "is not in the catalogue", remedy, len(np.unique(cells.rows[places])))
    return replace(cells, sizes=kept_sizes(cells.sizes, known), codes=ids[known], names=None)


def _has_number(cells: Cells, places: NDArray[np.intp]) -> bool:
    """Return whether some of the cells hold a number."""
    names = cells.names
    return names is None or any(names[code].strip().isdecimal() for code in np.unique(cells.codes[places]).tolist())


def _refuse(cells: Cells, places: NDArray[np.intp], problem: str, remedy: str, n_baskets: int = 0) -> None:
    """Raise BasketError for the first of some cells, with their number, and that of their baskets if it is given."""
    ends, first = np.cumsum(cells.sizes), int(places[0])
    row = int(np.searchsorted(ends, first, side="right"))
    position = first + 1 - int(ends[row] - cells.sizes[row])
    tally = cells.origin.tally(f"{len(places):,} such items" + (f" in {n_baskets:,} baskets" if n_baskets else ""))
    raise BasketError(f"{ordinal(position)} item of {cells.origin.place(row)} {problem}{tally}; {remedy}")


def ordinal(position: int) -> str:
    """Return a position as an ordinal for errors; a bare number could be mistaken for an item.

    >>> [ordinal(position) for position in (1, 2, 12, 23)]
    ['the 1st', 'the 2nd', 'the 12th', 'the 23rd']
    """
    ending = "th" if position // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(position % 10, "th")
    return f"the {position:,}{ending}"


def _decimal(name: str) -> int:
    """Return the number that a name is the canonical decimal of, or −1; also −1 for some from MAX_ITEMS on."""
    return int(name) if _DECIMAL.fullmatch(name) else -1


def _derived(names: Sequence[str], numbered: bool) -> Catalogue:
    if not names:
        raise BasketError(
            "there is no item to make a catalogue from; at least one basket must have one, unless catalogue= gives the "
            "items"
        )
    numbers = [_decimal(name) for name in names] if numbered else [-1]
    if min(numbers) >= 0 and max(numbers) < MAX_ITEMS:
        return Catalogue.numbered(max(numbers) + 1)
    distinct = sorted(set(names))
    if len(distinct) > MAX_ITEMS:
        raise BasketError(f"a catalogue holds at most {MAX_ITEMS:,} items, got {len(distinct):,}; merge rare ones")
    return Catalogue(distinct)


def _identify(names: Sequence[str], catalogue: Catalogue) -> NDArray[np.int32]:
    """Return each name's item id, −1 for names that are not in the catalogue."""
    if catalogue.is_numbered:
        numbers = np.fromiter(map(_decimal, names), np.int32, len(names))
        return np.where(numbers < len(catalogue), numbers, -1)
    index = catalogue.index_of
    return np.fromiter((index.get(name, -1) for name in names), np.int32, len(names))


def _resolve_numbers(values: NDArray[Any], catalogue: Catalogue | None) -> tuple[Catalogue, NDArray[Any]]:
    largest = int(values.max(initial=-1))
    if catalogue is None and 0 <= largest < MAX_ITEMS:
        return Catalogue.numbered(largest + 1), values
    if catalogue is not None and catalogue.is_numbered:
        return catalogue, values if largest < len(catalogue) else np.where(values < len(catalogue), values, -1)
    distinct, codes = np.unique(values, return_inverse=True)
    names = [str(value) for value in distinct.tolist()]
    catalogue = _derived(names, numbered=True) if catalogue is None else catalogue
    return catalogue, _identify(names, catalogue)[codes]
