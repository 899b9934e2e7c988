"""The layout of baskets in a file or a table: in words, or found out from the first rows.

The words are those of ``--layout`` and ``layout=``, and of what is said to have been understood: what kind it is, then
``key=value``. What is not said, rules find out, one after the other; what may mean several things is refused, with
the words that decide.

Columns are found by their usual names, or by the name or number asked for. Any other name of a column may be an item,
as in a file without a header: messages give its number only. Nothing that is said holds a cell.
"""

import itertools
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assocpriv.promise.errors import BasketError
from assocpriv.records.columns import is_list_type, is_text, separator_of
from assocpriv.records.sources import FirstRows, cut_said_separator, find_separator

KINDS = {  # of each the keys that say more of it
    "lines": ("transaction", "separator", "header", "encoding", "sheet"),
    "dat": ("sheet",),
    "long": ("transaction", "item", "quantity", "separator", "header", "encoding", "sheet"),
    "one-hot": ("transaction", "separator", "encoding", "sheet"),
    "list": ("item",),
}
_ENCODINGS = ("utf-8", "utf-16", "windows-1252")
_POSSIBLE = (
    f"first one of {', '.join(KINDS)}, then of transaction=COLUMN item=COLUMN quantity=COLUMN "
    f"separator=, (or ; | tab blank) header=yes (no, or its line's number) encoding={'|'.join(_ENCODINGS)} "
    "sheet=NAME (or its number, as #1; of a workbook), as in "
    "'long transaction=1 item=2 separator=; header=no'"
)
TRUE_WORDS = frozenset({"1", "1.0", "true", "t", "yes", "y", "x"})
FALSE_WORDS = frozenset({"0", "0.0", "false", "f", "no", "n", "?", ""})
FLAGS = TRUE_WORDS | FALSE_WORDS
_NUMBERED = re.compile(r"#[0-9#+]+")
_HEADER = re.compile(r"yes|no|[1-9][0-9]{0,2}")
_BACK = re.compile(r"[-−][0-9][0-9.,]*")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:/ \-]*([eE][-+]?[0-9]+)?([ T][0-9:.]+Z?)?")  # dates and times, too
_ITEM_NUMBERS = re.compile(r"\s*[0-9]+(\s+[0-9]+)*\s*")
_DIGIT = re.compile(r"[0-9]")
LONG_ALONE = "whose a basket is can be said of a file or table with a line an item alone, and a column of persons"
_REMARKS = ("@", "#", "%")
_INDEX_NAMES = {"", "id", "index", "row", "unnamed: 0"}
_NOTHING = frozenset({"nan", "none", "null", "<na>", "nat", "n/a", "#n/a"})  # what programs write for no value
_TITLE_LINES = 10  # above a header, at most
_LEAST_IDS = 10  # lines from which values that all differ show a column of ids
_LEAST_REPEATS = 4  # lines from which equal neighbours in a column show a transaction's lines
_LEAST_LINES = 20  # from which first cells that all differ are ids: baskets begin with the same items
_ODD = re.compile(r"[^a-z0-9]")
_KEYS = ("", "id", "ids", "no", "nr", "num", "number", "key", "code")
_TEXTS = ("name", "description", "desc", "title")
_SALES = ("transaction", "trans", "tx", "invoice", "order", "receipt", "ticket", "bill", "basket", "cart", "purchase")
_PEOPLE = ("member", "customer", "client", "user", "household", "shopper", "person")
_ABROAD = ("bon", "beleg", "rechnung", "rechnungs", "facture", "commande", "factura", "pedido")
_GOODS_ABROAD = ("artikel", "produkt", "ware", "produit", "libell", "producto", "articulo")  # without accents
_GOODS = ("item", "product", "article", "sku", "stock")
_USUAL = {  # of each role, the likeliest first
    "transaction": [
        *(stem + key for stem in _SALES for key in _KEYS), "tid", "session", "sessionid", "visit", "visitid",
        *(stem + key for stem in _ABROAD for key in _KEYS),
        *(stem + key for stem in _PEOPLE for key in _KEYS if key or stem != "person"),
    ],
    "item": [
        *(stem + key for key in ("", "s", *_KEYS[1:], *_TEXTS) for stem in _GOODS), "ean", "upc", "gtin", "barcode",
        "description", "lineitemname", *(stem + key for stem in _GOODS_ABROAD for key in (*_KEYS, "name")),
    ],
    "quantity": [
        "quantity", "qty", "units", "pieces", "quantitysold", "itemquantity", "orderquantity", "lineitemquantity",
        "menge", "anzahl", "stck", "stueck", "qt", "qte", "quantit", "quantite", "cantidad",
    ],
}  # fmt: skip
NONE = "none"  # in place of a column of quantities
_RANK = {role: {name: rank for rank, name in reversed(list(enumerate(names)))} for role, names in _USUAL.items()}


# ---- in words


@dataclass(frozen=True, slots=True)
class Layout:
    """What is said of a layout; None for what to find out. ``str`` gives the words back.

    Attributes:
        kind: "lines" (a line of names a basket), "dat" (a line of item numbers a basket), "long" (a row an item),
            "one-hot" (a row a basket, a column an item) or "list" (a column of lists).
        transaction: the column of transactions, by name or number from 1; of lines and one-hot one that is no item.
        item, quantity: columns, too.
        separator: a character.
        header: whether line 1 names columns, or the number of the line that does; those above are passed over.
        encoding: of the text.
        sheet: of a workbook, by name, or by number from 1 as "#1"; several of one header as "#1+#2".
    """

    kind: str | None = None
    transaction: str | None = field(default=None, kw_only=True)
    item: str | None = field(default=None, kw_only=True)
    quantity: str | None = field(default=None, kw_only=True)
    separator: str | None = field(default=None, kw_only=True)
    header: bool | int | None = field(default=None, kw_only=True)
    encoding: str | None = field(default=None, kw_only=True)
    sheet: str | None = field(default=None, kw_only=True)

    @classmethod
    def parse(cls, text: "str | Layout | None") -> "Layout":
        """Read the words of a layout.

        Raises:
            BasketError: words that mean nothing, or do not go together; it says what is possible.

        >>> Layout.parse("long item=product header=no").item
        'product'
        """
        if text is None or isinstance(text, Layout):
            return text or cls()
        try:
            words = shlex.split(text)
        except (ValueError, AttributeError, TypeError):
            words = ["?"]
        kind = words.pop(0) if words and "=" not in words[0] else None
        said = dict(word.partition("=")[::2] for word in words)
        if not (kind is None or kind in KINDS) or len(said) < len(words) or not all(said.values()):
            raise BasketError(f"the layout is not to be understood; possible is {_POSSIBLE}")
        if odd := set(said) - set(KINDS[kind] if kind else [each.name for each in fields(cls)[1:]]):
            which = f"a layout {kind}" if kind else "a layout"
            shown = odd.pop() if odd <= set(KINDS["long"]) else "one of the keys"
            raise BasketError(f"{which} does not take {shown}; possible is {_POSSIBLE}")
        mark, header = said.pop("separator", None), said.pop("header", None)
        separator = None if mark is None else separator_of(mark)
        if (mark and separator is None) or (header is not None and not _HEADER.fullmatch(header)):
            raise BasketError(f"the layout's separator or header is not to be understood; possible is {_POSSIBLE}")
        has_header = {"yes": True, "no": False, None: None}[header] if header in ("yes", "no", None) else int(header)
        if said.get("encoding", "utf-8") not in _ENCODINGS:
            raise BasketError(f"the layout's encoding must be one of {', '.join(_ENCODINGS)}")
        return cls(kind, separator=separator, header=has_header, **said)

    def __str__(self) -> str:
        """Return the words."""
        words = [self.kind or ""]
        for key in KINDS["long"]:
            value = getattr(self, key)
            if value is not None:
                text = {"True": "yes", "False": "no", "\t": "tab", " ": "blank"}.get(str(value), str(value))
                words.append(f"{key}={text if key == 'separator' or _NUMBERED.fullmatch(text) else shlex.quote(text)}")
        return " ".join(words).strip()


@dataclass(frozen=True, slots=True)
class Found:
    """A layout as it is read.

    Attributes:
        layout: in words, all that was understood; its columns are usual names or numbers, so that no item is shown.
        names: of the columns, empty where there are none; they may be items.
        places: of the long layout those of transactions, items and, if there is one, quantities; of a list its column;
            of the others those that are no items.
        skip: lines before the first one of data.
    """

    layout: Layout
    names: tuple[str, ...] = field(default=(), repr=False)
    places: tuple[int, ...] = ()
    skip: int = 0

    @property
    def kind(self) -> str:
        """The kind of layout."""
        return self.layout.kind or ""

    @property
    def separator(self) -> str:
        """Of the cells of text."""
        return self.layout.separator or ","

    @property
    def taken(self) -> list[int]:
        """The places of the columns to be read: ``places``, but of a one-hot table all others."""
        if self.kind != "one-hot":
            return list(self.places)
        return [place for place in range(len(self.names)) if place not in self.places]

    def with_persons(self, column: str | int) -> "Found":
        """Return a long layout with the persons of transactions in the place of items.

        Raises:
            BasketError: another layout, or no such column.
        """
        if self.kind != "long":
            raise BasketError(LONG_ALONE)
        place = asked_place(self.names, "person", str(column))
        return replace(self, places=(self.places[0], place, *self.places[2:]))


def _say(words: str) -> str:
    """Return how to say a layout."""
    return f"layout='{words}'"


# ---- what rules find out


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of what first lines mean: a kind of layout, the sign of it, and lines, with / between, that show it."""

    kind: str
    sign: str
    example: str
    holds: Callable[[FirstRows, Layout], bool] = field(repr=False)


def guess(rows: FirstRows, said: Layout) -> str:
    """Return the kind of layout: what is said, or that of the first rule that holds.

    Raises:
        BasketError: the rule is that of tables which may mean several things.
    """
    if said.kind is not None:
        return said.kind
    return next(rule.kind for rule in RULES if rule.holds(rows, said))


def _is_dat(rows: FirstRows, said: Layout) -> bool:
    if replace(said, sheet=None) != Layout() or not rows.lines:
        return False
    numbers = [line for line in rows.lines if _ITEM_NUMBERS.fullmatch(line)]
    if rows.lines[0].startswith(_REMARKS) and any(each.startswith(_REMARKS) for each in rows.lines[1:]):
        raise BasketError(
            "lines that begin with @, # or % are remarks and names, as SPMF has them: take them out, the rest is items"
        )
    if rows.plain:
        return bool(numbers) and numbers[0] == rows.lines[0]
    return len(numbers) == len(rows.lines) and any(len(line.split()) > 1 for line in numbers)


def _is_long(rows: FirstRows, said: Layout) -> bool:
    if said.item is not None or said.quantity is not None:
        return True
    if said.transaction is not None:
        return not _is_onehot(rows, said)
    if said.header is False or len(rows.first) < 2:
        return False
    if not all(usual_places(rows.first, role) for role in ("transaction", "item")):
        return False
    odd = next((n for n, row in zip(rows.numbers, rows.cells, strict=True) if len(row) != len(rows.first)), None)
    if odd is not None:
        raise BasketError(
            f"line {rows.numbers[0]} names columns of the long layout, but line {odd} has not as many cells; "
            f"correct the file, or say {_say('lines')} if every line is a basket"
        )
    transactions, items = (rows.column(place) for place in long_columns(rows.first)[:2])
    several = sum(any(mark in cell for mark in ",;|") for cell in items)
    if len(items) > 1 and len(set(transactions)) == len(items) < 2 * several:
        raise BasketError(
            "the column of items seems to hold whole baskets; write a line for each item, or a basket a line without "
            f"other columns; if it does hold items, say {_say('long')}"
        )
    return True


def _is_onehot(rows: FirstRows, said: Layout) -> bool:
    if said.header is False or not rows.is_table or len(rows.body) < 2:
        return False
    apart = columns_apart(rows, said)
    items = [place for place in range(len(rows.first)) if place not in apart]
    names = [rows.first[place] for place in items]
    flags = [[row[place].lower() for place in items] for row in rows.body]
    if len(items) < 2 or not all(FLAGS.issuperset(row) for row in flags):
        return False
    if not all(names) or len(set(names)) < len(names) or {name.lower() for name in names} <= FLAGS:
        return False
    if any(len(set(filled)) < len(filled) for row in flags if (filled := [flag for flag in row if flag])):
        return True  # a basket holds no item twice
    raise BasketError(f"the lines may be baskets or rows of a one-hot table; say {_say('one-hot')} or {_say('lines')}")


def _is_doubtful(rows: FirstRows, said: Layout) -> bool:
    """Refuse what is more likely a table than baskets, a line each, and what may be a header above baskets."""
    both = [all(usual_places(row, role) for role in ("transaction", "item")) for row in rows.cells[:_TITLE_LINES]]
    if said.header is None and True in both:
        line = rows.numbers[both.index(True)]
        raise BasketError(f"line {line} seems to name columns; say {_say(f'long header={line}')}, or {_say('lines')}")
    mark = "" if said.separator is None and rows.separator == "," else f" {Layout(separator=rows.separator)}"
    for above in range(1, _TITLE_LINES) if said.header is None and len(rows.first) < 2 else ():
        below = rows.after(above)
        if below.is_table and len(below.body) >= _LEAST_REPEATS and _sign_of_table(below):
            line = below.numbers[0]
            raise BasketError(
                f"below a title line {line} seems to name columns; say "
                f"{_say(f'long header={line} transaction=1 item=2')} with its columns' numbers, or {_say('lines')}"
            )
    if rows.is_table and len(rows.body) > 1 and (sign := _sign_of_table(rows)):
        header = {True: " header=yes", False: " header=no"}.get(shows_header(rows), "")  # type: ignore[arg-type]
        raise BasketError(
            f"all lines have {len(rows.first)} cells and {sign}, as in a table, not in baskets; say "
            f"{_say(f'long transaction=1 item=2{mark}{header}')} with its columns' numbers, "
            f"{_say(f'one-hot{mark}')} or {_say(f'lines{mark}')}"
        )
    lines = [row for row in rows.body if row]
    others = {cell for row in lines for cell in row[1:] if cell}
    firsts = {row[0] for row in lines if row[0]}
    repeated = 0 < 2 * len(others) <= sum(map(len, lines)) - len(lines)  # else all cells may well differ
    if len(lines) >= _LEAST_LINES and len(firsts) == len(lines) and repeated and not firsts & others:
        header = " header=yes" if _is_above_ids(rows, 0) else ""
        raise BasketError(
            "the first cells of all lines differ and stand nowhere else, as ids do, not items; leave them out with "
            f"{_say(f'lines transaction=1{mark}{header}')}, or say {_say(f'lines{mark}')} if they are items"
        )
    if said.header is None and rows.body and rows.first and all(map(is_usual, rows.first)):
        raise BasketError(
            f"line 1 may be a header or a basket; say {_say(f'lines{mark} header=yes')} or {_say('lines header=no')}"
        )
    if rows.unparted and said.separator is None:
        raise BasketError(
            "no line has a comma, semicolon, tab or bar; if blanks part the names, and no name has one in it, say "
            f"{_say('lines separator=blank')}, if each line is one name {_say('lines separator=,')}"
        )
    return False


def _sign_of_table(rows: FirstRows) -> str | None:
    """Say what speaks for a table."""
    if shows_header(rows):
        return "the first one looks like a header"
    columns = [rows.column(place) for place in range(len(rows.first))]
    numbers = [sum(_NUMBER.fullmatch(cell) is not None for cell in column) for column in columns]
    whole = [number for number, column in zip(numbers, columns, strict=True) if all(column)]
    if 0 in whole and len(rows.body) in whole:
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


RULES = (
    Rule(
        "dat", "lines of item numbers, with blanks between; of .dat and .txt line 1 decides", "17 4 256 / 9 4", _is_dat
    ),
    Rule(
        "long",
        "line 1 has a usual name of a transaction column and one of an item column, or columns are said",
        "receipt,item / 1,tea",
        _is_long,
    ),
    Rule(
        "one-hot",
        "below line 1 stand only 1 and 0, or words for them, but for a column of ids; some line repeats one",
        "tea,milk,rye / 1,0,1 / 0,1,0",
        _is_onehot,
    ),
    Rule(
        "refused",
        "a table: a header by its digits, columns of numbers beside names, values that recur in a line or column, ids",
        "kasse,sache / 1,tea / 2,rye",
        _is_doubtful,
    ),
    Rule("lines", "anything else: a basket a line, without a header", "tea,milk / rye", lambda _rows, _said: True),
)


# ---- text


def understand(lines: Sequence[str], said: Layout, *, plain: bool = False) -> Found:
    """Return how a text is read, from its first lines; what is said decides.

    ``plain`` says that the file's name is that of files of numbers.

    Raises:
        BasketError: the lines may mean several things, or do not fit what was said.
    """
    above, mark = cut_said_separator(lines)
    if mark is not None:
        said = replace(said, separator=said.separator or mark)
    if said.header not in (None, True, False):
        above = int(said.header) - 1
    if said.kind == "dat" or _is_dat(FirstRows(lines, " ", plain=plain), said):
        return Found(Layout("dat"), skip=above)
    mark, unparted = (said.separator, False) if said.separator else find_separator(lines[above:], said.kind)
    rows = FirstRows(lines, mark, above=above, unparted=unparted)
    kind = guess(rows, said)
    said = replace(said, separator=mark)
    made = {"lines": _lines_found, "long": _long_found, "one-hot": _onehot_found}.get(kind)
    if made is None:
        raise BasketError(f"a file of text has no layout {kind}, which is one of Parquet and of tables in memory")
    return made(rows, said)


def _skip(rows: FirstRows, has_header: bool) -> int:
    return rows.first_line + 1 if has_header else rows.above


def _lines_found(rows: FirstRows, said: Layout) -> Found:
    _refuse_nothings(rows)
    header, places = bool(said.header), []
    if said.transaction is not None:
        if said.header is None and rows.first:
            by_name = not said.transaction.strip().isdigit()
            header = by_name or _is_above_ids(rows, asked_place(rows.first, "transaction", said.transaction))
        places = [asked_place(rows.first if header else [""] * len(rows.first), "transaction", said.transaction)]
        said = replace(said, transaction=str(places[0] + 1))
    told = replace(said, kind="lines", header=header and (said.header or True))
    return Found(told, places=tuple(places), skip=_skip(rows, header))


def _long_found(rows: FirstRows, said: Layout) -> Found:
    if not rows.cells:
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    if not rows.first:
        raise BasketError(f"line {rows.numbers[0]} is not CSV: quotes are not closed on the line; correct the header")
    header = _has_header(rows, said)
    names = rows.first if header else [""] * len(rows.first)
    places = long_columns(names, said)
    if len(places) == 2 and said.quantity is None:
        _refuse_returned(rows, places)
    told = replace(said, header=header and (said.header or True))  # its line's number, if that was said
    return Found(_named(told, names, places), tuple(names), places, _skip(rows, header))


def _refuse_returned(rows: FirstRows, places: Sequence[int]) -> None:
    """Refuse lines of returned goods, as numbers below zero show, where nobody says which column tells them."""
    others = [place for place in range(len(rows.first)) if place not in places]
    columns = ((place, [row[place] for row in rows.body if len(row) == len(rows.first)]) for place in others)
    for place, cells in columns:
        if any(map(_BACK.fullmatch, cells)) and all(map(_NUMBER.fullmatch, filter(None, cells))):
            raise BasketError(
                f"column {place + 1} has numbers below zero, as returned goods have: say "
                f"{_say(f'quantity={place + 1}')} to leave these lines out, or {_say('quantity=none')} to count them"
            )


def _onehot_found(rows: FirstRows, said: Layout) -> Found:
    if len(rows.first) < 2:
        raise BasketError(f"a one-hot file needs a column for each item, got {len(rows.first)}; check the separator")
    places = tuple(columns_apart(rows, said))
    return Found(_without(said, rows.first, places), tuple(rows.first), places, _skip(rows, True))


def _named(said: Layout, names: Sequence[str], places: Sequence[int]) -> Layout:
    """Return a long layout with its columns, by their names only where they are usual ones."""
    shown = [*(shown_column(names, place) for place in places), None]
    quantity = shown[2] or (said.quantity if said.quantity == NONE else None)
    return replace(said, kind="long", transaction=shown[0], item=shown[1], quantity=quantity)


def _without(said: Layout, names: Sequence[str], places: Sequence[int]) -> Layout:
    return replace(said, kind="one-hot", transaction=shown_column(names, places[0]) if places else None)


def _has_header(rows: FirstRows, said: Layout) -> bool:
    """Tell whether a long file has a header."""
    if said.header is not None:
        return bool(said.header)
    asked = [each for each in (said.transaction, said.item, said.quantity) if each is not None]
    if any(not each.strip().isdigit() for each in asked) or any(map(is_usual, rows.first)):
        return True
    if len(rows.first) < 2 or not rows.body:
        return True  # to be refused as what it is
    recurs = any(
        head and head in [row[place] for row in rows.body if len(row) > place] for place, head in enumerate(rows.first)
    )  # as the name of no column does
    shown = False if recurs else shows_header(rows)
    if shown is None:
        ways = (_say(str(replace(said, kind="long", header=way))) for way in (True, False))
        raise BasketError(f"line 1 may be a header or data; say {' or '.join(ways)}")
    return shown


def shows_header(rows: FirstRows) -> bool | None:
    """Tell from digits whether the first line is a header: True, False, or None where they do not tell."""
    body = [row for row in rows.body if len(row) == len(rows.first)]
    votes = set()
    for place, head in enumerate(rows.first):
        cells = [row[place] for row in body]
        if cells and all(map(_DIGIT.search, cells)):
            votes.add(not _DIGIT.search(head))
    return votes.pop() if len(votes) == 1 else None


def _is_above_ids(rows: FirstRows, place: int) -> bool:
    """Tell whether the first line is a header by the column of ids: these have digits, and their name has none."""
    column = [row[place] for row in rows.cells if len(row) > place]
    return len(column) > 1 and not _DIGIT.search(column[0]) and all(map(_DIGIT.search, column[1:]))


def _refuse_nothings(rows: FirstRows) -> None:
    """Refuse NaN and the like, which would be an item, where a line repeats it or a fifth of several lines hold it."""
    held = [sum(cell.lower() in _NOTHING for cell in row) for row in rows.cells]
    if max(held, default=0) > 1 or (sum(map(bool, held)) > 1 and 5 * sum(map(bool, held)) >= len(held)):
        first = next(number for number, count in zip(rows.numbers, held, strict=True) if count)
        raise BasketError(
            f"line {first} has NaN, None or the like as an item, and so have others; leave such cells empty "
            "(pandas: to_csv(…, na_rep='')), or rename the item if it is one"
        )


def no_flag(cell: str) -> str:
    """Say what is wrong with a cell of a one-hot table, and what to do."""
    is_quantity = cell.replace(".", "", 1).isdigit()
    remedy = "quantities are not read, so write 1 for any above 0 (frame > 0)" if is_quantity else "correct it"
    return (
        f"is neither true nor false, as 1 and 0 or t and f; {remedy}, or leave the column out with "
        f"{_say('one-hot transaction=1')}, by its number"
    )


# ---- tables: Parquet and frames


def understand_table(rows: FirstRows, kinds: Sequence[Any], said: Layout) -> Found:
    """Return how a table is read, from its first rows and its columns' Arrow types.

    Raises:
        BasketError: the table may mean several things, or does not fit what was said.
    """
    names, held = rows.first, [place for place, kind in enumerate(kinds) if is_list_type(kind)]
    texts = [is_text(getattr(kind, "value_type", kind)) and place not in held for place, kind in enumerate(kinds)]
    if any(each is not None for each in (said.separator, said.header, said.encoding, said.sheet)):
        raise BasketError("Parquet and tables in memory have no separator, header, encoding or sheet; leave them out")
    kind = said.kind or _kind_of_table(rows, texts, held, said)
    if kind == "list":
        if said.item is not None:
            held = [place] if (place := asked_place(names, "item", said.item)) in held else []
        if len(held) != 1:
            raise BasketError(
                f"the layout list needs one column of lists, got {len(held)}; say {_say('list item=1')}, by its number"
            )
        return Found(Layout("list", item=shown_column(names, held[0])), tuple(names), (held[0],))
    if kind == "long":
        places = long_columns(names, said)
        if said == Layout() and len(names) == 2 and sum(texts) == 1 and not any(map(is_usual, names)):
            places = (texts.index(False), texts.index(True))
        return Found(_named(said, names, places), tuple(names), places)
    if kind != "one-hot":
        raise BasketError(f"tables have no layout {kind}, which is one of text; possible are long, one-hot and list")
    places = tuple(columns_apart(rows, said))
    return Found(_without(said, names, places), tuple(names), places)


def _kind_of_table(rows: FirstRows, texts: Sequence[bool], held: Sequence[int], said: Layout) -> str:
    names = rows.first
    if said.transaction is not None or said.item is not None:
        if said.item is None and not held and _holds_flags(rows, said):
            return "one-hot"
        return "list" if said.transaction is None and held else "long"
    usual = [bool(usual_places(names, role)) for role in ("transaction", "item")]
    if len(names) > 1 and all(usual) and not held:
        return "long"
    if len(held) == 1 or (rows.body and _holds_flags(rows, said)):
        return "list" if held else "one-hot"
    if len(names) == 2 and not held and (any(usual) or sum(texts) == 1):
        return "long"
    raise BasketError(
        f"the {len(names)} columns, {len(held)} of them lists, may mean several things; say "
        f"{_say('long transaction=1 item=2')} with its columns' numbers, {_say('list item=1')}, or {_say('one-hot')}, "
        "of true and false alone: of quantities give frame > 0"
    )


def _holds_flags(rows: FirstRows, said: Layout) -> bool:
    """Tell whether all columns but the one apart hold true and false."""
    apart = columns_apart(rows, said)
    items = [place for place in range(len(rows.first)) if place not in apart]
    return bool(items) and all(row[place].lower() in FLAGS for row in rows.body for place in items)


# ---- columns


def columns_apart(rows: FirstRows, said: Layout) -> list[int]:
    """Return the places of columns that are no items: the one asked for, or the one of ids."""
    if said.transaction is not None:
        return [asked_place(rows.first, "transaction", said.transaction)]
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


def usual_places(columns: Sequence[object], role: str) -> list[int]:
    """Return the places of columns with a usual name of a role, "transaction", "item" or "quantity", likeliest first.

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


def asked_place(columns: Sequence[object], role: str, asked: str) -> int:
    """Return the place of the column that somebody asked for, by its name or else by its number, from 1.

    >>> asked_place(["day", "Item"], "item", "2")
    1
    """
    names, text = [str(name).strip() for name in columns], asked.strip()
    if names.count(text) > 1:
        raise BasketError(f"{names.count(text)} columns have the name that {role}= gives; give the column's number")
    if text in names:
        return names.index(text)
    lowered = [name.lower() for name in names]
    if lowered.count(text.lower()) == 1:
        return lowered.index(text.lower())
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(names):
        return int(text) - 1
    raise BasketError(
        f"the column that {role}= names is not among the {len(names)} columns; check its name and the separator"
    )


def long_columns(columns: Sequence[object], said: Layout | None = None) -> tuple[int, ...]:
    """Return the places of the transaction, the item and, if there is one, the quantity column of the long layout.

    Without a name or number they are those with a usual name; else the first and the next, where that is no guess: if
    there are no others, or the layout is said to be long.

    >>> long_columns(["day", "Item", "Transaction", "Qty"])
    (2, 1, 3)
    """
    said = said or Layout()
    if len(columns) < 2:
        raise BasketError(f"the long layout needs a transaction and an item column, got {len(columns)} columns")
    places: dict[str, int] = {}
    for role in _USUAL:
        if (asked := getattr(said, role)) not in (None, NONE):
            places[role] = asked_place(columns, role, asked)
    for role in _USUAL:
        usual = [place for place in usual_places(columns, role) if place not in places.values()]
        if role not in places and usual and getattr(said, role) != NONE:
            places[role] = usual[0]
            if list(columns).count(columns[usual[0]]) > 1:
                raise BasketError(f"two columns have the name of the {role} column; give its number with {role}=")
    for role, other in (("transaction", "item"), ("item", "transaction")):
        if role not in places:
            if said.kind is None and len(columns) > 2:
                raise BasketError(f"no column has a usual name for {role}s; name it with {role}= in the layout")
            places[role] = int(places.get(other) == 0)
    if len(set(places.values())) < len(places):
        raise BasketError("transaction, item and quantity must be different columns")
    return tuple(places[role] for role in ("transaction", "item", "quantity") if role in places)


def shown_column(columns: Sequence[object], place: int) -> str:
    """Return a column's name if it is a usual one, otherwise its number from 1."""
    name = str(columns[place]).strip()
    return name if is_usual(name) else str(place + 1)
