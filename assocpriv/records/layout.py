"""The layout of a file of text, with its header, from what was said of it or else from its first lines.

What may mean several things is refused. docs/cli.md, *Baskets*, has the rules in words. Of baskets, a line each, what
is no item is told from the first lines, and refused or doubted: a header, ids, words for nothing, another separator.

Columns are found by their usual names, or by the name or number asked for. Any other name of a column may be an item,
as in a file without a header: messages give its number only. Nothing that is said holds a cell.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from assocpriv.promise.errors import BasketError
from assocpriv.records.sources import SEPARATORS, TO_UTF8, UNREADABLE, FirstLines, find_separator, first_lines

_REMARKS = ("@", "#", "%")
FORMATS = ("dat", "basket", "long", "onehot", "parquet")
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "blank": " ", "space": " "}
TRUE_WORDS = frozenset({"1", "1.0", "true", "t", "yes", "y", "x"})
FALSE_WORDS = frozenset({"0", "0.0", "false", "f", "no", "n", "?", ""})
FLAGS = TRUE_WORDS | FALSE_WORDS
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:/ \-]*([eE][-+]?[0-9]+)?([ T][0-9:.]+Z?)?")  # dates and times, too
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[^0-9\s-]")  # what a file of numbers does not have
_SAYS_SEPARATOR = re.compile(r'"?sep=.?"?')
_INDEX_NAMES = {"", "id", "index", "row", "unnamed: 0"}
_LEAST_IDS = 10  # lines from which values that all differ show a column of ids
_LEAST_REPEATS = 4  # lines from which equal neighbours in a column show a transaction's lines
_REMEDY = (
    "say what it is: --format long{header} --transaction-column N --item-column N, --format onehot, or --format basket "
    "for a basket a line without other columns (in Python format= and so on)"
)
_NUMBERED = re.compile(r"(\D*?)[ _-]*([0-9]+)")
_NOTHING = frozenset({"nan", "none", "null", "<na>", "nat", "n/a", "#n/a"})  # what programs write for no value
_LEAST_LINES = 20  # from which first cells that all differ are ids: baskets begin with the same items
_KEYS = ("", "id", "ids", "no", "nr", "num", "number", "key", "code")
_TEXTS = ("name", "description", "desc", "title")
_ODD = re.compile(r"[^a-z0-9]")
_SALES = ("transaction", "trans", "tx", "invoice", "order", "receipt", "ticket", "bill", "basket", "cart", "purchase")
_PEOPLE = ("member", "customer", "client", "user", "household", "shopper", "person")
_GOODS = ("item", "product", "article", "sku", "stock")
_USUAL = {  # of each role, the likeliest first
    "transaction": [
        *(stem + key for stem in _SALES for key in _KEYS), "tid", "session", "sessionid", "visit", "visitid",
        *(stem + key for stem in _PEOPLE for key in _KEYS if key or stem != "person"),
    ],
    "item": [
        *(stem + key for key in ("", "s", *_KEYS[1:], *_TEXTS) for stem in _GOODS), "ean", "upc", "gtin", "barcode",
        "description",
    ],
}  # fmt: skip
_RANK = {role: {name: rank for rank, name in reversed(list(enumerate(names)))} for role, names in _USUAL.items()}
COLUMN_OPTIONS = "transaction_column= and item_column= (--transaction-column, --item-column)"


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """What somebody says of a file's layout, as the root's ``read_baskets`` explains it; None for what to find out."""

    format: str | None = None
    separator: str | None = field(default=None, kw_only=True)
    header: bool | None = field(default=None, kw_only=True)
    transaction_column: str | int | None = field(default=None, kw_only=True)
    item_column: str | int | None = field(default=None, kw_only=True)

    def check_layout(self) -> None:
        """Refuse words that mean nothing."""
        if self.format is not None and self.format not in FORMATS:
            raise BasketError(f"format must be one of {', '.join(FORMATS)}")
        if self.separator is not None and self.delimiter not in SEPARATORS:
            raise BasketError('separator must be one of "," ";" "|" tab and blank')
        if not (self.header is None or isinstance(self.header, bool)):
            raise BasketError("header must be true or false")
        for name in ("transaction_column", "item_column"):
            value = getattr(self, name)
            if isinstance(value, bool) or not (value is None or isinstance(value, str | int)):
                raise BasketError(f"{name} must be a column's name, or its number from 1")

    @property
    def speaks_of_cells(self) -> bool:
        """Whether anything is said that files of numbers do not have."""
        return (self.separator, self.header, self.transaction_column, self.item_column) != (None,) * 4

    @property
    def delimiter(self) -> str | None:
        """The character that the separator's word stands for."""
        return None if self.separator is None else _WORDS.get(self.separator, self.separator)


@dataclass(frozen=True, slots=True)
class TextLayout:
    """How a file of text is to be read.

    Attributes:
        kind: "basket", "long" or "onehot".
        separator: one character.
        skip: lines before the first one of data.
        header: the names of the columns, empty where there are none; they may be items.
        columns: of the long layout the places of transactions and items, of the others those of no item.
        note: what was understood, for people; it shows no item.
        doubt: what speaks against what was said, for people.
    """

    kind: str
    separator: str
    skip: int = 0
    header: tuple[str, ...] = field(default=(), repr=False)
    columns: tuple[int, ...] = ()
    note: str = ""
    doubt: str = ""


def understand(sample: bytes, said: LayoutOptions) -> TextLayout:
    """Return the layout of a file of text from its first lines, at most SAMPLE_BYTES; ``said`` decides what it says.

    Raises:
        BasketError: the lines may mean several things, or do not fit what was said.
    """
    lines = first_lines(sample)
    if lines and _SAYS_SEPARATOR.fullmatch(lines[0].strip()):
        raise BasketError("line 1 says which separator follows, as spreadsheets write it, and is no data; remove it")
    separator = said.delimiter or find_separator(lines, said.format)
    rows = FirstLines(lines, separator)
    kind, has_header = _kind(rows, said)
    if kind == "basket":
        return _basket_layout(rows, said, has_header, _doubt_separator(lines, rows) if said.delimiter else "")
    if kind == "long":
        return _long_layout(rows, said, has_header)
    return _onehot_layout(rows, said)


def advise(sample: bytes) -> str:
    """Say how a file that was taken for item numbers may be read, if its first lines tell."""
    lines = [line for line in first_lines(sample) if _LETTER.search(line)]
    if lines and lines[0].startswith(_REMARKS):
        return (
            "lines that begin with @, # or % are remarks and names, as SPMF has them: take them out, the rest is items"
        )
    if not lines:
        return (
            "for names pass format='basket' (--format basket), with separator=' ' (--separator ' ') if blanks part them"
        )
    if 2 * sum(any(mark in line for mark in ",;\t|") for line in lines) <= len(lines):
        if any(len(line.split()) > 1 for line in lines):
            return (
                "if names have blanks in them write commas between and pass --format basket; if no name has one "
                "pass --format basket --separator ' '"
            )
        return "for names pass --format basket"
    try:
        layout = understand(sample, LayoutOptions())
    except BasketError:
        return _REMEDY.format(header="")
    separator = {",": "", "\t": " --separator tab"}.get(layout.separator, f" --separator '{layout.separator}'")
    return f"it looks like {layout.note}: pass --format {layout.kind}{separator}"


# ---- the layout


def _kind(rows: FirstLines, said: LayoutOptions) -> tuple[str, bool]:
    """Return the layout, and whether the first line is a header."""
    if said.format is not None:
        tells = {"long": _has_header, "basket": _heads_baskets}.get(said.format)
        return said.format, tells is None or tells(rows, said)
    if said.transaction_column is not None and said.item_column is None and _is_onehot(rows, said):
        return "onehot", True
    if said.transaction_column is not None or said.item_column is not None:
        return "long", _has_header(rows, said)
    if said.header is not False:
        if all(usual_places(rows.first, role) for role in ("transaction", "item")) and len(rows.first) > 1:
            return "long", _check_long(rows)
        if rows.is_table and _is_onehot(rows, said):
            return "onehot", True
    _refuse_tables(rows, said)
    return "basket", bool(said.header)


def _heads_baskets(rows: FirstLines, said: LayoutOptions) -> bool:
    """Tell whether lines that are baskets, as was said, stand below a header."""
    if said.header is not None or said.transaction_column is None or not rows.first:
        return bool(said.header)
    if not str(said.transaction_column).strip().isdigit():
        return True
    return _is_above_ids(rows, asked_place(rows.first, "transaction", said.transaction_column))


def _check_long(rows: FirstLines) -> bool:
    """Refuse a header of the long layout above lines that do not fit; returns that there is one."""
    odd = [number for number, row in zip(rows.numbers, rows.cells, strict=True) if len(row) != len(rows.first)]
    if odd:
        raise BasketError(
            f"line {rows.numbers[0]} names columns of the long layout, but line {odd[0]} has not as many cells; "
            "correct the file, or pass format='basket' (--format basket) if every line is a basket"
        )
    return True


def _has_header(rows: FirstLines, said: LayoutOptions) -> bool:
    """Tell whether a long file has a header."""
    asked = [each for each in (said.transaction_column, said.item_column) if each is not None]
    if said.header is not None:
        return said.header
    if any(not str(each).strip().isdigit() for each in asked) or any(map(is_usual, rows.first)):
        return True
    if len(rows.first) < 2 or not rows.body:
        return True  # to be refused as what it is
    shown = False if _recurs(rows) else _shows_header(rows)
    if shown is None:
        raise BasketError("line 1 may be a header or data; say which with header= (--header yes or no)")
    return shown


def _shows_header(rows: FirstLines) -> bool | None:
    """Tell from digits whether the first line is a header: True, False, or None where they do not tell."""
    body = [row for row in rows.body if len(row) == len(rows.first)]
    votes = set()
    for place, head in enumerate(rows.first):
        cells = [row[place] for row in body]
        if cells and all(map(_DIGIT.search, cells)):
            votes.add(not _DIGIT.search(head))
    return votes.pop() if len(votes) == 1 else None


def _recurs(rows: FirstLines) -> bool:
    """Tell whether a cell of the first line stands below itself again, as the name of no column does."""
    return any(
        head and head in [row[place] for row in rows.body if len(row) > place] for place, head in enumerate(rows.first)
    )


def _refuse_tables(rows: FirstLines, said: LayoutOptions) -> None:
    """Refuse what is more likely a table than baskets, a line each, and what may be a header above baskets."""
    if rows.is_table and len(rows.body) > 1 and (sign := _sign_of_table(rows)):
        width = len(rows.first)
        remedy = _REMEDY.format(header=" --header no" if _shows_header(rows) is False else "")
        raise BasketError(f"all lines have {width} cells and {sign}, as in a table, not in baskets; {remedy}")
    _refuse_ids(rows, None if said.delimiter is None and rows.separator == "," else rows.separator)
    if said.header is None and rows.body and rows.first and _names_columns(rows):
        raise BasketError("line 1 may be a header or a basket; say which with header= (--header yes or no)")


def _sign_of_table(rows: FirstLines) -> str | None:
    """Say what speaks for a table."""
    if _shows_header(rows):
        return "the first one looks like a header"
    kinds = {_kind_of_column(rows.column(place)) for place in range(len(rows.first))}
    if {"numbers", "names"} <= kinds:
        return "some columns hold only numbers, others none"
    filled = [[cell for cell in row if cell] for row in rows.body]
    if 2 * sum(len(set(row)) < len(row) for row in filled) > len(filled):
        return "most repeat a value"
    pairs = [(one, other) for one, other in itertools.pairwise(rows.cells) if one != other]
    for place in range(len(rows.first)):
        agree = sum(one[place] == other[place] != "" for one, other in pairs)
        if len(pairs) >= _LEAST_REPEATS - 1 and 2 * agree >= len(pairs):
            return "neighbours often agree in a column"
    return None


def _kind_of_column(cells: Sequence[str]) -> str:
    numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells)
    if not all(cells):
        return "gaps"
    return "numbers" if numbers == len(cells) else "mixed" if numbers else "names"


# ---- a basket a line


def _basket_layout(rows: FirstLines, said: LayoutOptions, has_header: bool, doubt: str) -> TextLayout:
    if said.item_column is not None:
        raise BasketError("a file of a basket a line has no item column; leave item_column= (--item-column) out")
    _refuse_nothings(rows)
    columns, without = [], ""
    if said.transaction_column is not None:
        names = rows.first if has_header else [""] * len(rows.first)
        columns = [asked_place(names, "transaction", said.transaction_column)]
        without = f", column {columns[0] + 1} left out"
    note = f"CSV with {SEPARATORS[rows.separator]} and {'a' if has_header else 'no'} header; a basket a line{without}"
    if not rows.cells:
        note = "nothing but blank lines at the beginning"
    skip = rows.first_line + 1 if has_header else 0
    return TextLayout("basket", rows.separator, skip, columns=tuple(columns), note=note, doubt=doubt)


# ---- the long layout


def _long_layout(rows: FirstLines, said: LayoutOptions, has_header: bool) -> TextLayout:
    columns = rows.first if has_header else [""] * len(rows.first)
    if not rows.cells:
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    if not columns:
        raise BasketError(f"line {rows.numbers[0]} is not CSV: quotes are not closed on the line; correct the header")
    _check_inferred(columns, said)
    chosen = long_columns(columns, said.transaction_column, said.item_column)
    if said.format is None and _holds_lists(rows, chosen):
        raise BasketError(
            f"column {chosen[1] + 1} seems to hold whole baskets, not items; write a line for each item, or a basket a "
            "line without other columns; if it does hold items, pass format='long' (--format long)"
        )
    note = f"CSV with {SEPARATORS[rows.separator]} and {'a' if has_header else 'no'} header; "
    note += describe_columns(columns, chosen)
    skip = rows.first_line + 1 if has_header else 0
    return TextLayout("long", rows.separator, skip, tuple(columns), chosen, note)


def _check_inferred(columns: Sequence[str], said: LayoutOptions) -> None:
    """Refuse to guess by its place the one column that was not said, where there are others."""
    if said.format is not None or len(columns) <= 2:
        return
    for asked, missing in (("transaction", "item"), ("item", "transaction")):
        named = getattr(said, f"{asked}_column")
        if named is not None and getattr(said, f"{missing}_column") is None:
            place = asked_place(columns, asked, named)
            if not any(other != place for other in usual_places(columns, missing)):
                raise BasketError(
                    f"no column has a usual name for {missing}s; name it with {missing}_column= (--{missing}-column)"
                )


def _holds_lists(rows: FirstLines, chosen: tuple[int, int]) -> bool:
    """Tell whether each transaction stands in one line, and most of the items look like several."""
    if not rows.is_table or len(rows.body) < 2:
        return False
    transactions, items = (rows.column(place) for place in chosen)
    several = sum(any(mark in cell for mark in ",;|") for cell in items)
    return len(set(transactions)) == len(transactions) and 2 * several > len(items)


# ---- one-hot


def _onehot_layout(rows: FirstLines, said: LayoutOptions) -> TextLayout:
    if said.header is False:
        raise BasketError("a onehot file needs a header, the names of the items; write one, and leave header= out")
    if len(rows.first) < 2:
        raise BasketError(f"a onehot file needs a column for each item, got {len(rows.first)}; check the separator")
    if UNREADABLE in "".join(rows.first):
        raise BasketError(f"line {rows.numbers[0]} is not UTF-8 text; {TO_UTF8}")
    apart = columns_apart(rows, said)
    note = f"CSV with {SEPARATORS[rows.separator]} and a header; {describe_onehot(rows, apart)}"
    return TextLayout("onehot", rows.separator, rows.first_line + 1, tuple(rows.first), tuple(apart), note)


def describe_onehot(rows: FirstLines, apart: Sequence[int]) -> str:
    """Say how many columns are items, and which are none."""
    without = "".join(f", column {place + 1} left out" for place in apart)
    return f"one-hot, a column for each of {len(rows.first) - len(apart):,} items{without}"


def columns_apart(rows: FirstLines, said: LayoutOptions) -> list[int]:
    """Return the places of columns that are no items: the one asked for, or the one of ids."""
    if said.transaction_column is not None:
        return [asked_place(rows.first, "transaction", said.transaction_column)]
    body = [row for row in rows.body if len(row) == len(rows.first)]
    odd = [place for place in range(len(rows.first)) if not all(row[place].lower() in FLAGS for row in body)]
    if not odd and rows.first and _is_index(rows.first[0]) and len({row[0] for row in body}) == len(body) > 1:
        return [0]
    if len(odd) != 1:
        return []
    distinct = len({row[odd[0]] for row in body}) == len(body) >= _LEAST_IDS
    return odd if distinct or _is_index(rows.first[odd[0]]) else []


def _is_index(name: str) -> bool:
    return name.lower() in _INDEX_NAMES or bool(usual_places([name], "transaction"))


def holds_flags(rows: FirstLines, apart: Sequence[int]) -> bool:
    """Tell whether all columns but those apart, two or more, hold true and false."""
    items = [place for place in range(len(rows.first)) if place not in apart]
    return len(items) > 1 and all(row[place].lower() in FLAGS for row in rows.body for place in items)


def _is_onehot(rows: FirstLines, said: LayoutOptions) -> bool:
    """Tell whether the file is a one-hot table; refuses what only looks like one."""
    if not rows.is_table or len(rows.body) < 2:
        return False
    apart = columns_apart(rows, said)
    items = [place for place in range(len(rows.first)) if place not in apart]
    names = [rows.first[place] for place in items]
    flags = [[row[place].lower() for place in items] for row in rows.body]
    if not holds_flags(rows, apart):
        return False
    if not all(names) or len(set(names)) < len(names) or {name.lower() for name in names} <= FLAGS:
        return False
    if any(len(set(filled)) < len(filled) for row in flags if (filled := [flag for flag in row if flag])):
        return True  # a basket holds no item twice
    raise BasketError(
        "the lines may be baskets or rows of a one-hot table; say which with format='onehot' or 'basket' (--format)"
    )


# ---- what is no item


def _names_columns(rows: FirstLines) -> bool:
    """Tell whether the first line is only usual names of columns, or these and item1, item2 … above other names."""
    if all(map(is_usual, rows.first)):
        return True
    parts = [_NUMBERED.fullmatch(cell) for cell in rows.first if cell and not is_usual(cell)]
    stems = {part[1].lower() for part in parts if part}
    if sum(map(bool, rows.first)) < 2 or not all(parts) or len(stems) != 1 or not is_usual(next(iter(stems))):
        return False
    return not any(part[1].lower() in stems for row in rows.body for cell in row if (part := _NUMBERED.fullmatch(cell)))


def _is_above_ids(rows: FirstLines, place: int) -> bool:
    """Tell whether the first line is a header by the column of ids: these have digits, and their name has none."""
    column = [row[place] for row in rows.cells if len(row) > place]
    return _names_columns(rows) or (
        len(column) > 1 and not _DIGIT.search(column[0]) and all(map(_DIGIT.search, column[1:]))
    )


def _refuse_ids(rows: FirstLines, separator: str | None) -> None:
    """Refuse lines that begin with cells of which each occurs once: ids, which would be taken for items."""
    lines = [row for row in rows.body if row]
    others = {cell for row in lines for cell in row[1:] if cell}
    firsts = {row[0] for row in lines if row[0]}
    repeated = 0 < 2 * len(others) <= sum(map(len, lines)) - len(lines)  # else all cells may well differ
    if len(lines) >= _LEAST_LINES and len(firsts) == len(lines) and repeated and not firsts & others:
        header = " --header yes" if _is_above_ids(rows, 0) else ""
        option = {None: "", "\t": " --separator tab"}.get(separator, f" --separator '{separator}'")
        raise BasketError(
            "the first cells of all lines differ and stand nowhere else, as ids do, not items; leave them out with "
            f"--format basket{option}{header} --transaction-column 1, or pass --format basket alone if they are items "
            "(in Python format= and so on)"
        )


def _refuse_nothings(rows: FirstLines) -> None:
    """Refuse NaN and the like, which would be an item, where a line repeats it or a fifth of several lines hold it."""
    held = [sum(cell.lower() in _NOTHING for cell in row) for row in rows.cells]
    if max(held, default=0) > 1 or (sum(map(bool, held)) > 1 and 5 * sum(map(bool, held)) >= len(held)):
        first = next(number for number, count in zip(rows.numbers, held, strict=True) if count)
        raise BasketError(
            f"line {first} has NaN, None or the like as an item, and so have others; leave such cells empty "
            "(pandas: to_csv(…, na_rep='')), or rename the item if it is one"
        )


def _doubt_separator(lines: Sequence[str], rows: FirstLines) -> str:
    """Say that another separator stands in all lines, and the one that was said in none."""
    filled = [line for line in lines if line.strip()]
    if len(filled) < 2 or any(len(row) > 1 for row in rows.cells):
        return ""
    other = next((mark for mark in ",;\t|" if mark != rows.separator and all(mark in line for line in filled)), None)
    if other is None:
        return ""
    return f"; warning: no line has {SEPARATORS[rows.separator]}, every line has {SEPARATORS[other]}: see --separator"


def no_flag(cell: str) -> str:
    """Say what is wrong with a cell of a one-hot table, and what to do."""
    remedy = "quantities are not read, so write 1 for any above 0" if cell.isdigit() else "correct it"
    return (
        f"is neither true nor false, as 1 and 0 or t and f; {remedy}, or leave the column out with transaction_column= "
        "(--transaction-column)"
    )


# ---- columns


def usual_places(columns: Sequence[object], role: str) -> list[int]:
    """Return the places of columns with a usual name of a role, "transaction" or "item", the likeliest first.

    >>> usual_places(["InvoiceNo", "StockCode", "Description"], "item")
    [1, 2]
    """
    ranks = [_RANK[role].get(_ODD.sub("", str(name).lower())) for name in columns]
    found = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
    return [place for _, place in sorted(found)]


def is_usual(name: object) -> bool:
    """Return whether a column's name is a usual one, so that it may be shown.

    >>> is_usual("Order ID"), is_usual("whole milk")
    (True, False)
    """
    return any(usual_places([name], role) for role in _USUAL)


def asked_place(columns: Sequence[object], role: str, asked: str | int) -> int:
    """Return the place of the column that somebody asked for, by its name or else by its number, from 1.

    >>> asked_place(["day", "Item"], "item", "2")
    1
    """
    names = [str(name).strip() for name in columns]
    text = str(asked).strip()
    if text in names:
        return names.index(text)
    lowered = [name.lower() for name in names]
    if lowered.count(text.lower()) == 1:
        return lowered.index(text.lower())
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(names):
        return int(text) - 1
    raise BasketError(
        f"the column that {role}_column= (--{role}-column) names is not among the {len(names)} columns; check its name "
        "and the separator"
    )


def long_columns(
    columns: Sequence[object], transaction: str | int | None = None, item: str | int | None = None
) -> tuple[int, int]:
    """Return the places of the transaction and of the item column of the long layout.

    Without a name or number they are those with a usual name, else the first and the next.

    >>> long_columns(["day", "Item", "Transaction"])
    (2, 1)
    """
    if len(columns) < 2:
        raise BasketError(f"the long layout needs a transaction and an item column, got {len(columns)} columns")
    first = None if transaction is None else asked_place(columns, "transaction", transaction)
    second = None if item is None else asked_place(columns, "item", item)
    if first is None:
        first = next((place for place in usual_places(columns, "transaction") if place != second), None)
    if second is None:
        second = next((place for place in usual_places(columns, "item") if place != first), None)
    first = int(second == 0) if first is None else first
    second = int(first == 0) if second is None else second
    if first == second:
        raise BasketError("transaction and item must be two different columns")
    return first, second


def describe_columns(columns: Sequence[object], chosen: tuple[int, int], *, names: bool = False) -> str:
    """Say which columns are taken; names are shown only where they are usual ones, or where none can be an item's.

    >>> describe_columns(["day", "Item", "Transaction"], (2, 1))
    'transactions in column "Transaction", items in column "Item"'
    """
    shown = [f'"{columns[place]}"' if names else shown_column(columns, place) for place in chosen]
    others = [place for place in usual_places(columns, "item") if place not in chosen]
    other = f" (not {shown_column(columns, others[0])}: --item-column)" if others else ""
    return f"transactions in column {shown[0]}, items in column {shown[1]}{other}"


def shown_column(columns: Sequence[object], place: int) -> str:
    """Return a column's name in quotes if it is a usual one, otherwise its number from 1."""
    name = str(columns[place]).strip()
    return f'"{name}"' if is_usual(name) else str(place + 1)
