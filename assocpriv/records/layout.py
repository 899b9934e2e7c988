"""The layout of baskets in a file or a table: in words, or found out from the first rows.

The words are those of ``--layout`` and ``layout=``, and of what is said to have been understood: what kind it is, then
``key=value``. What is not said, rules find out, one after the other; what may mean several things is refused, with
the words that decide.

Columns are found by their usual names, or by the name or number asked for. Any other name of a column may be an item,
as in a file without a header: messages give its number only. Nothing that is said holds a cell.
"""

import contextlib
import itertools
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.records.cells import CHOICES, LISTS, MISSING_WORDS, absent_words, check_choices, is_word
from assocpriv.records.columns import is_list_type, is_text, separator_of
from assocpriv.records.sources import FirstRows, Progress, cut_said_separator, find_separator, is_total

_OF_TEXT = ("separator", "header", "encoding", "sheet")
_OF_ITEMS = ("within", "missing")
KINDS = {  # of each the keys that say more of it
    "lines": ("transaction", *_OF_ITEMS, *_OF_TEXT),
    "dat": ("header", "sheet"),
    "long": ("transaction", "item", "quantity", "rows", *_OF_ITEMS, *_OF_TEXT),
    "one-hot": ("transaction", "missing", "separator", "encoding", "sheet"),
    "list": ("item", *_OF_ITEMS, *_OF_TEXT),
}
_ENCODINGS = ("utf-8", "utf-16", "windows-1252")
KEEP = "keep"
TOGETHER, ANYWHERE = "together", "anywhere"  # where the rows of one transaction stand
_POSSIBLE = (
    f"first one of {', '.join(KINDS)}, then of transaction=COLUMN item=COLUMN quantity=COLUMN (a name, or #2 for the "
    f"second column; transaction=date+receipt for several) rows={TOGETHER}|{ANYWHERE} within=, (or none) "
    f"missing={KEEP} separator=, (or ; | tab blank) header=yes (no, or its line's number) "
    f"encoding={'|'.join(_ENCODINGS)} sheet=NAME (or #1, its number; of a workbook), as in "
    "'long transaction=#1 item=#2 separator=; header=no'"
)
TRUE_WORDS = frozenset({"1", "1.0", "true", "t", "yes", "y", "x", "ja", "oui", "si", "sí", "wahr", "vrai", "on"})
FALSE_WORDS = frozenset({"0", "0.0", "false", "f", "no", "n", "?", "", "-", "nein", "non", "falsch", "faux", "off"})
FLAGS = TRUE_WORDS | FALSE_WORDS
_PLAIN_COLUMN = re.compile(r"[\w#+.-]+")
_ARE_NUMBERS = re.compile(r" *#?[0-9]+( *\+ *#?[0-9]+)* *")  # of columns
_HEADER = re.compile(r"yes|no|[1-9][0-9]{0,2}")
_BACK = re.compile(r"[-−][0-9][0-9.,]*")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:/ \-]*([eE][-+]?[0-9]+)?([ T][0-9:.]+Z?)?")  # dates and times, too
_ITEM_NUMBERS = re.compile(r"\s*[0-9]+(\s+[0-9]+)*\s*")
_DIGIT = re.compile(r"[0-9]")
_DATE = re.compile(  # with a time behind it, where there are only digits; 20260503; 3 May 2026, May 3, 2026
    r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}([ T].*)?|(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])"
    r"|[0-9]{1,2}[ .-]+[A-Za-z]{3,9}\.?[ -]+[0-9]{2,4}|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4}"
)
_SLOT = re.compile(r"([^0-9]*)([0-9]{1,3})")
_RULE = re.compile(r"[|+ ]*[-=_*#~]{3,}[-=_*#~|+: ]*")  # between blocks of a text
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?( ?[AaPp][Mm])?")
_MONEY = re.compile(
    r"[-+]?[$€£¥] ?[0-9][0-9.,]*|[-+]?[0-9][0-9.,]* ?([$€£¥]|EUR|USD|GBP|CHF)|[-+]?[0-9]+[.,][0-9]{1,2}"
)
_SPMF = (  # signs of its other formats, and what stands in them
    (re.compile(r"[0-9 ]*( -1 ?[0-9 ]*)+ -2 *"), "sequences, with -1 and -2 between itemsets: write a line an itemset"),
    (
        re.compile(r"[0-9 ]+:[0-9.]+:[0-9. ]+|[0-9]+:[0-9.]+( +[0-9]+:[0-9.]+)* *"),
        "item numbers with utilities or weights behind colons: keep the item numbers alone",
    ),
)
LONG_ALONE = "whose a basket is can be said of a file or table with a line an item alone, and a column of persons"
_REMARKS = ("@", "#", "%")
_INDEX_NAMES = {"", "id", "index", "row", "unnamed: 0"}
_TITLE_LINES = 10  # above a header, at most
_LEAST_IDS = 10  # lines from which values that all differ show a column of ids
_LEAST_REPEATS = 4  # lines from which equal neighbours in a column show a transaction's lines
_LEAST_LINES = 20  # from which first cells that all differ are ids: baskets begin with the same items
_LEAST_NUMBERED = 8  # from which first cells that are numbers, above names alone, are ids
_MOST_COLUMNS = 4  # of a table of numbers with blanks between: more show lines of items, as records coded as items
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
        *(stem + key for stem in _SALES for key in _KEYS), "tid", *(
            stem + key for stem in ("session", "usersession", "visit") for key in ("", "id", "key")),
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
_SHOPS = (
    "store", "shop", "branch", "outlet", "market", "location", "site", "plant", "filiale", "filial", "werk",
    "magasin", "tienda", "negozio", "winkel",
)  # fmt: skip
_TILLS = ("till", "register", "terminal", "pos", "checkout", "lane", "workstation", "kasse", "kassa", "caisse", "caja")
_CONTEXT = {  # columns that have one value in all rows of a transaction
    "dates": ["date", "day", "datum", "tag", "fecha", "jour", "giorno", "datetime", "timestamp", *(
        stem + "date" for stem in (*_SALES, "sale", "sales", "business"))],
    "stores": [stem + key for stem in _SHOPS for key in _KEYS],
    "tills": [stem + key for stem in (*_TILLS, "cassa", "cashier", "shift") for key in _KEYS],
    "customers": [stem + key for stem in (*_PEOPLE, "kunde", "kunden", "loyaltycard", "card") for key in _KEYS
                  if key or stem != "person"],
}  # fmt: skip
DATES = "dates"
NONE = "none"  # in place of a column of quantities, or of what stands between items in a cell
_RANK = {
    role: {name: rank for rank, name in reversed(list(enumerate(names)))} for role, names in (_USUAL | _CONTEXT).items()
}


# ---- in words


@dataclass(frozen=True, slots=True)
class Layout:
    """What is said of a layout; None for what to find out. ``str`` gives the words back.

    Attributes:
        kind: "lines" (a line of names a basket), "dat" (a line of item numbers a basket), "long" (a row an item),
            "one-hot" (a row a basket, a column an item) or "list" (a column of lists).
        transaction: the column of transactions, by name or as #1 by number, or several joined by "+"; of lines and
            one-hot one that is no item.
        item, quantity: columns, too.
        rows: "together" where each run of rows with equal ids is a transaction, "anywhere" where all rows with equal
            ids are one; by default both must come to the same.
        within: what separates several items in one cell of a list; "none" where a cell is one item, whatever it holds.
        missing: "keep" where NaN, None, NA and the like are names of items, not missing values.
        separator: a character.
        header: whether line 1 names columns, or the number of the line that does; those above are passed over.
        encoding: of the text.
        sheet: of a workbook, by name, or by number from 1 as "#1"; several of one header as "#1+#2".
    """

    kind: str | None = None
    transaction: str | None = field(default=None, kw_only=True)
    item: str | None = field(default=None, kw_only=True)
    quantity: str | None = field(default=None, kw_only=True)
    rows: str | None = field(default=None, kw_only=True)
    within: str | None = field(default=None, kw_only=True)
    missing: str | None = field(default=None, kw_only=True)
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
        marks = {key: separator_of(said.pop(key)) for key in ("separator", "within") if said.get(key, NONE) != NONE}
        header = said.pop("header", None)
        if None in marks.values() or (header is not None and not _HEADER.fullmatch(header)):
            raise BasketError(f"the layout's separator or header is not to be understood; possible is {_POSSIBLE}")
        known = said.get("rows", ANYWHERE) in (TOGETHER, ANYWHERE) and said.get("missing", KEEP) == KEEP
        if not known or said.get("separator") == NONE:
            raise BasketError(f"the layout's words are not to be understood; possible is {_POSSIBLE}")
        has_header = {"yes": True, "no": False, None: None}[header] if header in ("yes", "no", None) else int(header)
        if said.get("encoding", "utf-8") not in _ENCODINGS:
            raise BasketError(f"the layout's encoding must be one of {', '.join(_ENCODINGS)}")
        return cls(kind, header=has_header, **said, **marks)

    def __str__(self) -> str:
        """Return the words."""
        words = [self.kind or ""]
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value is not None:
                text = {"True": "yes", "False": "no", "\t": "tab", " ": "blank"}.get(str(value), str(value))
                is_plain = each.name in ("separator", "within") or _PLAIN_COLUMN.fullmatch(text)
                quoted = shlex.quote(text) if set(text) & set('"\\$`') else f'"{text}"'  # within single ones
                words.append(f"{each.name}={text if is_plain else quoted}")
        return " ".join(words).strip()


@dataclass(frozen=True, slots=True)
class Found:
    """A layout as it is read.

    Attributes:
        layout: in words, all that was understood; its columns are usual names or numbers, so that no item is shown.
        names: of the columns, empty where there are none; they may be items.
        places: of the long layout those of transactions, of items and, if there is one, of quantities; of a list its
            column; of the others those that are no items.
        ids: how many of the places are of transactions, in the long layout.
        context: of the long layout the places of columns with one value in all rows of a transaction, by what it is.
        persons: of the long layout the places of columns that say whose a transaction is.
        skip: lines before the first one of data.
    """

    layout: Layout
    names: tuple[str, ...] = field(default=(), repr=False)
    places: tuple[int, ...] = ()
    skip: int = 0
    ids: int = 1
    context: tuple[tuple[str, int], ...] = ()
    persons: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of layout."""
        return self.layout.kind or ""

    @property
    def separator(self) -> str:
        """Of the cells of text."""
        return self.layout.separator or ","

    @property
    def quantity(self) -> int | None:
        """The place of quantities in the long layout."""
        return self.places[self.ids + 1] if self.kind == "long" and len(self.places) > self.ids + 1 else None

    @property
    def taken(self) -> list[int]:
        """The places of the columns to be read, each once; of a one-hot table all that are items."""
        if self.kind != "one-hot":
            return list(dict.fromkeys((*self.places, *(place for _, place in self.context), *self.persons)))
        return [place for place in range(len(self.names)) if place not in self.places]

    def with_persons(self, column: str | int) -> "Found":
        """Return a long layout with the columns of persons.

        Raises:
            BasketError: another layout, or no such column.
        """
        if self.kind != "long":
            raise BasketError(LONG_ALONE)
        return replace(self, persons=asked_places(self.names, "person", str(column)))


def _say(words: str | Layout) -> str:
    """Return how to say a layout."""
    return f"layout='{words}'"


class Doubt(Exception):  # noqa: N818 -- it becomes an error, once its advice was tried
    """What may mean several things: the layouts that decide, in words, and when each is right."""

    def __init__(self, problem: str, *choices: tuple[str | Layout, str], end: str = "") -> None:
        super().__init__()
        self.problem, self.choices, self.end = problem, choices, end

    def error(self, reads: Callable[[Layout], bool]) -> BasketError:
        """Return the error that names those of the layouts that read the source as what they say."""
        fit = [f"{_say(words)}{when and f' {when}'}" for words, when in self.choices if reads(Layout.parse(str(words)))]
        remedy = "say " + ", or ".join(fit) if fit else "correct the data" * (not self.end)
        return BasketError("; ".join(filter(None, (self.problem, ", ".join(filter(None, (remedy, self.end)))))))


def decided(read: Callable[[Layout], Found], said: Layout, fits: Callable[[Found], bool] = bool) -> Found:
    """Return a layout as it is read; a doubt becomes an error whose advice was tried, and ``fits``."""

    def reads(layout: Layout) -> bool:
        with contextlib.suppress(Doubt, BasketError):
            return (found := read(layout)).kind == layout.kind and fits(found)
        return False

    try:
        return read(said)
    except Doubt as met:
        doubt = met
    raise doubt.error(reads)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How baskets are read; the root's ``read_baskets`` says what the words mean, another is a BasketError.

    Reading batch by batch takes about ``memory_bytes``; ``progress`` is called with (bytes read, bytes of the file).
    """

    layout: str | Layout | None = None
    unknown: str = "error"
    repeats: str = "error"
    empty: str = "error"
    incomplete: str = "refuse"
    memory_bytes: int = 256 << 20
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_choices(**{each.name: getattr(self, each.name) for each in fields(self) if each.name in CHOICES})
        Layout.parse(self.layout)

    @property
    def said(self) -> Layout:
        """What is said of the layout."""
        return Layout.parse(self.layout)

    def absent(self, catalogue: Catalogue | None) -> frozenset[str]:
        """Return words that stand for a missing value, where a catalogue may have some of them as items."""
        return absent_words(self.said.missing == KEEP, catalogue)


STRICT = ReadOptions()


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
        Doubt: the rule is that of tables which may mean several things.
        BasketError: what can be no baskets.
    """
    if said.kind is not None:
        return said.kind
    return next(rule.kind for rule in RULES if rule.holds(rows, said))


def _is_dat(rows: FirstRows, said: Layout) -> bool:
    if replace(said, sheet=None) != Layout() or not rows.lines:
        return False
    numbers = [line for line in rows.lines if _ITEM_NUMBERS.fullmatch(line)]
    if any(line.lower().startswith(("@relation", "@attribute")) for line in rows.lines):
        raise BasketError("the file is Weka's ARFF, which is not read; save it as CSV")
    if rows.lines[0].startswith(_REMARKS) and any(each.startswith(_REMARKS) for each in rows.lines[1:]):
        raise BasketError(
            "lines that begin with @, # or % are remarks and names, as SPMF has them: take them out, the rest is items"
        )
    if rows.plain:
        holds = bool(numbers) and numbers[0] == rows.lines[0]
    else:
        holds = len(numbers) == len(rows.lines) and any(len(line.split()) > 1 for line in numbers)
    if holds:
        _refuse_table_of_numbers([line.split() for line in numbers])
        _refuse_beside_items([list(map(int, line.split())) for line in numbers if len(line) < 1 << 12])
    return holds


def _refuse_spmf(lines: Sequence[str]) -> None:
    """Refuse SPMF's formats of other things than baskets, by what most lines show."""
    filled = [line.strip() for line in lines if line.strip() and not line.startswith(_REMARKS)]
    for sign, what in _SPMF:
        if 2 * sum(sign.fullmatch(line) is not None for line in filled) > len(filled):
            raise BasketError(f"the lines are no baskets, but SPMF's {what}")


def _refuse_table_of_numbers(lines: Sequence[Sequence[str]]) -> None:
    """Refuse lines of as many numbers each, the first of which hardly ever fall: rows of transactions and items."""
    widths, cells = set(map(len, lines)), [list(map(int, line)) for line in lines if max(map(len, line)) < 19]
    if len(widths) > 1 or not 1 < max(widths) <= _MOST_COLUMNS or len(cells) < 3 or len(cells) < len(lines):
        return
    steps = [(later[0] > one[0]) - (later[0] < one[0]) for one, later in itertools.pairwise(cells)]
    firsts, others = {line[0] for line in cells}, {cell for line in cells for cell in line[1:]}
    repeat = all(line[0] == line[1] for line in cells)  # which no basket does
    shows = repeat or (len(firsts) > 2 and len(cells) >= _LEAST_IDS) or not firsts & others
    if shows and 0 in steps and 1 in steps and 20 * steps.count(-1) <= len(steps):
        pairs = [line[:2] for line in cells]
        several = len(cells[0]) > 2 and any(one == other for one, other in itertools.pairwise(pairs))
        columns = "transaction=#1+#2 item=#3" if several else "transaction=#1 item=#2"
        raise Doubt(
            f"all lines have {len(cells[0])} numbers and the first ones rise, as in a table of transactions and items",
            (f"long {columns} separator=blank header=no", "if it is one"),
            ("dat", "if each line is a basket"),
        )


def _refuse_beside_items(lines: Sequence[Sequence[int]]) -> None:
    """Refuse lines of item numbers with something beside them: numbers or dates of lines first, a mark of the end."""
    firsts, others = [line[0] for line in lines], {number for line in lines for number in line[1:]}
    if len(lines) < 3:
        return
    if len(lines[0]) < 3 and lines[0][0] == len(lines) - 1:
        raise Doubt(
            "line 1 has the number of the lines below",
            ("dat header=2", "to pass over it"),
            ("dat", "if it is a basket"),
        )
    if min(map(len, lines)) < 2:
        return
    counted = all(b == a + 1 for a, b in itertools.pairwise(firsts)) and not others & set(firsts)
    lasts, rest = [line[-1] for line in lines], [number for line in lines for number in line[:-1]]
    differ = len(lines) >= _LEAST_LINES and len({*lasts}) == len(lasts) and not {*lasts} & {*rest}
    if differ and 2 * len({*rest}) <= len(rest):
        raise Doubt(
            "the last numbers of all lines differ and stand nowhere else, as totals or ids do, not items",
            ("dat", "if they are items"),
            end="or take them out: sed 's/ *[0-9]* *$//'",
        )
    if counted or all(_DATE.fullmatch(str(number)) for number in firsts):
        raise Doubt(
            "the first numbers of all lines count them, or are dates, and stand nowhere else, as no items do",
            ("lines separator=blank transaction=#1 header=no", "to leave them out"),
            ("dat", "if they are items"),
        )
    if len({line[-1] for line in lines}) == 1 and all(line[-1] < line[-2] for line in lines):
        raise Doubt(
            "all lines end with the same number, which is below the one before it, as a mark of the end is",
            ("dat", "if it is an item"),
            end="or take it out: sed 's/ *[0-9]* *$//'",
        )


def _is_long(rows: FirstRows, said: Layout) -> bool:
    if said.item is not None or said.quantity is not None:
        return True
    if said.transaction is not None:
        return not _is_onehot(rows, said)
    if said.header is False or len(rows.first) < 2 or not _names_columns(rows.first):
        return False
    numbered = zip(rows.numbers, rows.cells, strict=True)
    odd = next((row for row in numbered if len(row[1]) != len(rows.first) and not is_total(row[1])), None)
    if odd is not None:
        has_names = all(len(row) == len(rows.first) + 1 for row in rows.body)
        why = "; R writes names of rows so: write.table(…, row.names=FALSE)" if has_names else ""
        raise Doubt(
            f"line {rows.numbers[0]} names columns of the long layout, but line {odd[0]} has not as many cells{why}",
            ("lines", "if every line is a basket"),
            end="or correct the file",
        )
    return True


def _names_columns(row: Sequence[str]) -> bool:
    """Tell whether a line has usual names of a column of transactions and of one of items."""
    return all(usual_places(row, role) for role in ("transaction", "item"))


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
    raise Doubt("the lines may be baskets or rows of a one-hot table", ("one-hot", ""), ("lines", ""))


def _is_doubtful(rows: FirstRows, said: Layout) -> bool:
    """Refuse what is more likely a table than baskets, a line each, and what may be a header above baskets."""
    mark = Layout(separator=None if said.separator is None and rows.separator == "," else rows.separator)
    if said.header is None and (above := title_lines(rows)):
        line = rows.numbers[above]
        raise Doubt(f"line {line} seems to name columns", (f"long header={line}", ""), ("lines", ""))
    for above in range(1, _TITLE_LINES) if said.header is None and len(rows.first) < 2 else ():
        below = rows.after(above)
        if below.is_table and len(below.body) >= _LEAST_REPEATS and _sign_of_table(below):
            named = replace(_likely_columns(below), header=below.numbers[0], separator=mark.separator)
            raise Doubt(
                f"below a title line {below.numbers[0]} seems to name columns",
                (named, "with the numbers of its columns"),
                ("lines", ""),
            )
    if said.header is None and (numbered := _slots(rows)) is not None:
        raise Doubt(
            "line 1 seems to number the cells of a basket",
            (replace(mark, kind="lines", transaction="#1" if numbered else None, header=True), "if it is a header"),
            (replace(mark, kind="lines", header=False), "if it is a basket"),
        )
    if (last := _last_cells(rows)) is not None:
        raise Doubt(
            "the last cells of all lines are numbers, amounts or dates, and stand nowhere else, as no items do",
            *((replace(mark, kind="lines", transaction=f"#{place + 1}"), "to leave them out") for place in last),
            (replace(mark, kind="lines"), "if they are items"),
            end="or leave them out of the file" if not last else "",
        )
    if rows.is_table and len(rows.body) > 1 and (sign := _sign_of_table(rows)):
        named = replace(_likely_columns(rows), header=shows_header(rows), separator=mark.separator)
        raise Doubt(
            f"all lines have {len(rows.first)} cells and {sign}, as in a table, not in baskets",
            (named, "with the numbers of its columns"),
            *((replace(mark, kind="one-hot", transaction=ids), "") for ids in _flags_beside(rows)),
            *(
                (replace(mark, kind="lines", transaction="#1", header=shows_header(rows)), "without the first column")
                for first in [rows.column(0)]
                if all(map(_is_number, first)) and not any(_is_number(cell) for row in rows.body for cell in row[1:])
            ),
            (replace(mark, kind="lines"), "if each line is a basket"),
        )
    if apart := _first_cells(rows):
        columns, header = apart
        ids = "+".join(f"#{place + 1}" for place in range(columns))
        raise Doubt(
            "the first cells of all lines are ids, numbers or dates, and stand nowhere else, as no items do",
            (replace(mark, kind="lines", transaction=ids, header=header), "to leave them out"),
            (replace(mark, kind="lines"), "if they are items"),
        )
    if said.header is None and rows.body and rows.first and all(map(is_usual, rows.first)):
        raise Doubt(
            "line 1 may be a header or a basket",
            (replace(mark, kind="lines", header=True), ""),
            (replace(mark, kind="lines", header=False), ""),
        )
    if rows.unparted and said.separator is None:
        raise Doubt(
            "no line has a comma, semicolon, tab or bar",
            ("lines separator=blank", "if blanks part the names, and no name has one in it"),
            ("lines separator=,", "if each line is one name"),
        )
    return False


def title_lines(rows: FirstRows) -> int:
    """Return how many lines stand above one that names columns of the long layout; 0 if none does below line 1."""
    return next((place for place, row in enumerate(rows.cells[:_TITLE_LINES]) if _names_columns(row)), 0)


def _slots(rows: FirstRows) -> bool | None:
    """Tell whether line 1 numbers the cells below, as Item 1,Item 2 or 0,1,2, all but its first one; else None."""
    for place in (0, 1) if len(rows.body) > 2 else ():
        found = [_SLOT.fullmatch(cell) for cell in rows.first[place:] if cell]
        names = {each[1].strip(" _.-").lower() for each in found if each}
        numbers = [int(each[2]) for each in found if each]
        others = {cell for row in rows.body for cell in row}
        alike = any(each and each[1].strip(" _.-").lower() in names for each in map(_SLOT.fullmatch, others))
        rising = (
            not alike
            and len(numbers) > 1
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            and numbers[0] < 2
        )
        if rising and len(numbers) == len(found) and len(names) == 1 and not others & set(rows.first[place:]):
            return place == 1
    filled = [cell for cell in rows.first if cell]
    columns = [rows.column(place) for place in range(len(rows.first))] if rows.is_table else []
    repeat = all({*column} <= {"", name} for name, column in zip(rows.first, columns, strict=False))
    if len(rows.body) > 2 and columns and repeat and any("" in column for column in columns):
        return False  # cells repeat the name of their column
    if len(rows.first) > 1 and len(filled) == 1 and is_usual(filled[0]):  # "Basket;;;"
        return False
    return None


def _last_cells(rows: FirstRows) -> list[int] | None:
    """Return the place of last cells that are no items, [] where it differs; None if they may be items."""
    lines = [row for row in ([cell for cell in row if cell] for row in rows.cells) if row]
    lasts, others = [row[-1] for row in lines], [cell for row in lines for cell in row[:-1]]
    if len(lines) < 3 or min(map(len, lines)) < 2 or any(map(_is_figure, others)):
        return None
    amounts = all(_MONEY.fullmatch(cell) or _DATE.fullmatch(cell) for cell in lasts)
    ids = len(lines) >= _LEAST_LINES and len({*lasts}) == len(lasts) and 2 * len({*others}) <= len(others)
    numbers = len(lines) >= _LEAST_NUMBERED and all(map(_is_number, lasts))
    if not (amounts or numbers or (ids and not {*lasts} & {*others})):
        return None
    places = {len(row) - 1 for row in rows.cells if row}
    return list(places) if len(places) == 1 and all(row[-1] for row in rows.cells if row) else []


def _first_cells(rows: FirstRows) -> tuple[int, bool | None] | None:
    """Return how many of the first cells are no items, and what ``header`` to say; None if all may be items."""
    lines = [row for row in rows.body if row]
    others = {cell for row in lines for cell in row[1:] if cell}
    firsts = [row[0] for row in lines if row[0]]
    if not others or len(firsts) < len(lines):
        return None
    repeated = 2 * len(others) <= sum(map(len, lines)) - len(lines)  # else all cells may well differ
    differ = len(lines) >= _LEAST_LINES and len(set(firsts)) == len(lines) and repeated and not set(firsts) & others
    header = True if _is_above_ids(rows, 0) and not _is_number(rows.first[0]) else None
    data = rows.cells if header is None else rows.body
    dates = 0
    while data and all(len(row) > dates + 1 and _DATE.fullmatch(row[dates]) for row in data):
        dates += 1
    if not dates and data and all(len(row) > 2 and _DATE.fullmatch(row[1]) for row in data):
        dates = 2  # as a store before it
    left = [row[dates:] for row in data]
    numbers = all(_is_number(row[0]) for row in left if row) and not any(_is_number(each) for each in others)
    counts = [int(row[0]) for row in left if row and row[0].isdecimal() and len(row[0]) < 19]
    in_turn = len(counts) == len(left) > 2 and counts[0] < 2 and all(b == a + 1 for a, b in itertools.pairwise(counts))
    if differ or dates or in_turn or (numbers and len(left) >= _LEAST_NUMBERED):
        return dates + (in_turn or not dates or (numbers and len(left) >= _LEAST_NUMBERED)), header
    return None


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _likely_columns(rows: FirstRows) -> Layout:
    """Return the long layout of the columns of a table that most likely hold transactions and items."""
    columns = [rows.column(place) for place in range(len(rows.first))]
    agree = [sum(one == other for one, other in itertools.pairwise(column)) for column in columns]
    texts = [sum(not _is_figure(cell) for cell in column) for column in columns]
    figures = [
        sum(any(sign.fullmatch(cell) for sign in (_MONEY, _DATE, _TIME)) for cell in column) for column in columns
    ]
    differ = [len(set(column)) for column in columns]

    def likely(place: int) -> tuple[bool, bool, bool, int, int]:
        recurs = 1 < differ[place] < len(rows.body)
        plain = 2 * figures[place] < len(rows.body)
        return plain, 2 * texts[place] > len(rows.body), recurs, -agree[place], place

    item = max(range(len(columns)), key=likely)
    runs = [len(column) - same == each > 1 for column, same, each in zip(columns, agree, differ, strict=True)]
    ids = [place for place in range(len(columns)) if place != item]
    transaction = max(ids, key=lambda place: (runs[place], differ[place] > 1 and agree[place] > 0, -place))
    return Layout("long", transaction=f"#{transaction + 1}", item=f"#{item + 1}")


def _sign_of_table(rows: FirstRows) -> str | None:
    """Say what speaks for a table."""
    if shows_header(rows):
        return "the first one looks like a header"
    columns = [rows.column(place) for place in range(len(rows.first))]
    numbers = [sum(map(_is_number, column)) for column in columns]
    whole = [number for number, column in zip(numbers, columns, strict=True) if all(column)]
    if len(rows.body) in numbers and any(2 * number <= len(rows.body) for number in whole):
        return "some columns hold only numbers, others hardly any"
    filled = [[cell for cell in row if cell and not is_word(cell, MISSING_WORDS)] for row in rows.body]
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

    def fits(found: Found) -> bool:
        if found.kind in ("lines", "dat"):
            return True
        rows = FirstRows(lines[found.skip :], found.separator).cells
        return all(len(row) == (len(found.names) or len(rows[0])) for row in rows if not is_total(row))

    return decided(lambda layout: _understood(lines, layout, plain), said, fits)


def _understood(lines: Sequence[str], said: Layout, plain: bool) -> Found:
    _refuse_spmf(lines)
    above, mark = cut_said_separator(lines)
    if mark is not None:
        said = replace(said, separator=said.separator or mark)
    if said.header not in (None, True, False):
        above = int(said.header) - 1
    if said.kind == "dat" or _is_dat(FirstRows(lines, " ", plain=plain), said):
        return Found(Layout("dat"), skip=above)
    mark, unparted = (said.separator, False) if said.separator else find_separator(lines[above:], said.kind)
    rows = FirstRows(lines, mark, above=above, unparted=unparted)
    title = title_lines(rows) if said.header is None and said.kind in (None, "long") else 0
    width = len(rows.cells[title]) if rows.cells else 0
    below = [row for row in rows.cells[title:] if not is_total(row)]
    if title and {len(row) for row in below} == {width} and width not in map(len, rows.cells[:title]):
        said = replace(said, header=rows.numbers[title])
        rows = FirstRows(lines, mark, above=rows.numbers[title] - 1, unparted=unparted)
    kind = guess(rows, said)
    made = {"lines": _lines_found, "long": _long_found, "one-hot": _onehot_found, "list": _list_found}[kind]
    return made(rows, replace(said, separator=mark))


def _skip(rows: FirstRows, has_header: bool) -> int:
    return rows.first_line + 1 if has_header else rows.above


def _lines_found(rows: FirstRows, said: Layout) -> Found:
    rule = next(
        (number for number, row in zip(rows.numbers, rows.cells, strict=True) if any(map(_RULE.fullmatch, row))), 0
    )
    if rule and said.kind is None:
        raise BasketError(
            f"line {rule} is a rule between blocks (---), no basket; write a basket a line, or a row an item"
        )
    single = max(map(len, rows.cells), default=0) == 1
    if said.kind is None and single and rows.blanks and 2 * rows.blanks < len(rows.cells):
        raise Doubt(
            "single names stand in blocks with blank lines between, as where each block is a basket",
            ("lines separator=,", "if each line is a basket"),
            end='or join the lines of a block: awk \'BEGIN{RS="";FS="\\n";OFS=","}{$1=$1}1\'',
        )
    lists = sum(LISTS.fullmatch(line.strip()) is not None for line in rows.lines)
    if said.within is None and 2 * lists > len(rows.lines):
        raise Doubt(
            "most lines are lists as a program prints them",
            ("list item=#1 within=, separator=tab header=no", "to take them apart"),
            (replace(said, kind="lines", within=NONE), "if these are names of items"),
        )
    header, places = bool(said.header), tuple[int, ...]()
    if said.transaction is not None:
        if said.header is None and rows.first:
            by_name = not _ARE_NUMBERS.fullmatch(said.transaction)
            header = by_name or _is_above_ids(rows, asked_places(rows.first, "transaction", said.transaction)[0])
        names = rows.first if header else [""] * len(rows.first)
        places = asked_places(names, "transaction", said.transaction)
        said = replace(said, transaction="+".join(f"#{place + 1}" for place in places))
    told = replace(said, kind="lines", header=header and (said.header or True))
    return Found(told, places=places, skip=_skip(rows, header))


def _long_found(rows: FirstRows, said: Layout) -> Found:
    if not rows.cells:
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    if not rows.first:
        raise BasketError(f"line {rows.numbers[0]} is not CSV: quotes are not closed on the line; correct the header")
    header = _has_header(rows, said)
    names = rows.first if header else [""] * len(rows.first)
    told = replace(said, header=header and (said.header or True))  # its line's number, if that was said
    cells = [row for row in (rows.body if header else rows.cells) if len(row) == len(names)]
    found = long_found(names, told, cells, _skip(rows, header))
    if found.quantity is None and said.quantity is None:
        _refuse_returned(rows, found)
    return found


def _list_found(rows: FirstRows, said: Layout) -> Found:
    if said.within in (None, NONE):
        raise BasketError("the layout list of a text needs what separates the items of a cell, as within=,")
    if not rows.first:
        raise BasketError("the file holds no baskets; check that it is the right one")
    header = bool(any(map(is_usual, rows.first)) or shows_header(rows)) if said.header is None else bool(said.header)
    names = rows.first if header else [""] * len(rows.first)
    found = list_found(names, range(len(names)), replace(said, header=header and (said.header or True)))
    return replace(found, skip=_skip(rows, header))


def _refuse_returned(rows: FirstRows, found: Found) -> None:
    """Refuse lines of returned goods, as numbers below zero show, where nobody says which column tells them."""
    others = [place for place in range(len(rows.first)) if place not in found.taken]
    columns = ((place, [row[place] for row in rows.body if len(row) == len(rows.first)]) for place in others)
    for place, cells in columns:
        if any(map(_BACK.fullmatch, cells)) and all(map(_NUMBER.fullmatch, filter(None, cells))):
            raise Doubt(
                f"column {place + 1} has numbers below zero, as returned goods have",
                (replace(found.layout, quantity=f"#{place + 1}"), "to leave out what was returned"),
                (replace(found.layout, quantity=NONE), "to count every line"),
            )


def _onehot_found(rows: FirstRows, said: Layout) -> Found:
    if len(rows.first) < 2:
        raise BasketError(f"a one-hot file needs a column for each item, got {len(rows.first)}; check the separator")
    places = tuple(columns_apart(rows, said))
    _refuse_dummies(rows, places)
    return Found(_without(said, rows.first, places), tuple(rows.first), places, _skip(rows, True))


def _refuse_dummies(rows: FirstRows, places: Sequence[int]) -> None:
    """Refuse a row an item, one-hot, whose ids come again: the rows of an id are one basket.

    Raises:
        BasketError: with what makes baskets of them.
    """
    body = [row for row in rows.body if len(row) == len(rows.first)]
    ids = [tuple(row[place] for place in places) for row in body]
    ones = [sum(cell.lower() in TRUE_WORDS for at, cell in enumerate(row) if at not in places) for row in body]
    if places and len(set(ids)) < len(ids) and set(ones) == {1}:
        raise BasketError(
            "each row of the one-hot table has one item, and ids come again: group its rows, as "
            "frame.groupby(id).max(), or give the rows themselves, a row an item"
        )


def long_found(names: Sequence[str], said: Layout, cells: Sequence[Sequence[str]], skip: int = 0) -> Found:
    """Return a long layout with its columns, shown by their names only where they are usual ones.

    Raises:
        Doubt: the first rows' ``cells`` show that the column of items holds none.
    """
    ids, item, quantity = long_columns(names, said)
    groups = dict[tuple[str, ...], list[Sequence[str]]]()
    for row in cells:
        groups.setdefault(tuple(row[place] for place in ids), []).append(row)
    if said.item is None:
        _refuse_no_items(names, said, list(groups.values()), (ids, item))
    places = (*ids, item, *([] if quantity is None else [quantity]))
    context = () if said.rows == ANYWHERE else _context(names, places, list(groups.values()), item)
    shown = replace(
        said,
        kind="long",
        transaction="+".join(shown_column(names, place) for place in ids),
        item=shown_column(names, item),
        quantity=shown_column(names, quantity) if quantity is not None else said.quantity,
    )
    return Found(shown, tuple(names), places, skip, len(ids), context)


def _refuse_no_items(
    names: Sequence[str], said: Layout, groups: Sequence[Sequence[Sequence[str]]], taken: tuple[tuple[int, ...], int]
) -> None:
    """Refuse a column of items, found by its name, that counts lines or items, or has another value in each row."""
    ids, item = taken
    values = [[row[item] for row in rows] for rows in groups]
    flat = [value for each in values for value in each]
    if not all(value.isascii() and value.isdecimal() and len(value) < 10 for value in flat) or not flat:
        return
    several = [list(map(int, each)) for each in values if len(each) > 1]
    numbers = [list(map(int, each)) for each in values]
    counting = [sum(each == [step * (place + 1) for place in range(len(each))] for each in numbers) for step in (1, 10)]
    if several and len(numbers) > 1 and 10 * max(counting) >= 9 * len(numbers):
        what = "counts the lines of each transaction"
    elif several and len(flat) >= _LEAST_LINES and len(set(flat)) == len(flat):
        what = "has another number in each row"
    elif not several and len(flat) > 2 and max(map(int, flat)) < 1000 and names[item].lower().endswith("s"):
        what = "has one small number for each transaction, as where items are counted"
    else:
        return
    others = [place for place in usual_places(names, "item") if place != item]
    likely = others or _texts_of(groups, {*ids, item})
    base = replace(said, kind="long", transaction="+".join(shown_column(names, place) for place in ids))
    raise Doubt(
        f"column {item + 1} has the name of a column of items, but {what}",
        *(
            (replace(base, item=shown_column(names, place)), "where the items are in that column")
            for place in likely[:1]
        ),
        (replace(base, item=shown_column(names, item)), "if the numbers are items"),
    )


def _texts_of(groups: Sequence[Sequence[Sequence[str]]], taken: Collection[int]) -> list[int]:
    """Return the places of columns of names that recur, which may be items."""
    rows = [row for group in groups for row in group]
    columns = {place: [row[place] for row in rows] for place in range(len(rows[0])) if place not in taken}
    return [place for place, cells in columns.items() if all(cells) and not any(map(_is_figure, cells))]


def _is_figure(cell: str) -> bool:
    return any(sign.fullmatch(cell) for sign in (_NUMBER, _MONEY, _DATE, _TIME))


def _context(
    names: Sequence[str], places: Sequence[int], groups: Sequence[Sequence[Sequence[str]]], item: int
) -> tuple[tuple[str, int], ...]:
    """Return columns with one value in all rows of a transaction, by usual names or by the values of first rows."""
    named = dict[int, str]()
    for role in _CONTEXT:
        named |= {place: role for place in usual_places(names, role)[:1] if place not in places and place not in named}
    for place in range(len(names)):
        if place not in places and place not in named and (role := _role_by_values(groups, item, place)):
            named[place] = role
    return tuple((role, place) for place, role in named.items())


def _role_by_values(groups: Sequence[Sequence[Sequence[str]]], item: int, place: int) -> str:
    """Tell what a column is whose values stand in blocks within transactions, and do not follow from the item.

    Dates do so in any number of rows; of other values ten transactions of three rows must, and most rows agree.
    """
    values = [[row[place].partition("T")[0].partition(" ")[0] for row in rows] for rows in groups]
    filled = [row[place] for rows in groups for row in rows if row[place]]
    if not filled or any(map(_TIME.fullmatch, filled)):
        return ""
    is_date = all(map(_DATE.fullmatch, filled))
    large = [each for each in values if len(each) > 2]
    pairs = [one == other for each in values for one, other in itertools.pairwise(each)]
    in_blocks = [len(set(each)) == 1 + sum(a != b for a, b in itertools.pairwise(each)) for each in large]
    of_items = dict[str, list[str]]()
    for rows, each in zip(groups, values, strict=True):
        for row, value in zip(rows, each, strict=True):
            of_items.setdefault(row[item], []).append(value)
    varies = [len(set(each)) > 1 for each in of_items.values() if len(each) > 1]
    follows = len(varies) >= _LEAST_REPEATS and 10 * sum(varies) < len(varies) and not all(pairs)
    if 20 * sum(in_blocks) < 19 * len(in_blocks) or follows:
        return ""
    if is_date:
        return f"{DATES} in column {place + 1}"
    enough = len(large) >= _LEAST_IDS and len(varies) >= _LEAST_REPEATS and 10 * sum(varies) >= len(varies)
    plain = not any(map(_MONEY.fullmatch, filled)) and len(set(filled)) > 1
    return f"values in column {place + 1}" if enough and plain and 5 * sum(pairs) >= 3 * len(pairs) else ""


def _without(said: Layout, names: Sequence[str], places: Sequence[int]) -> Layout:
    ids = "+".join(shown_column(names, place) for place in places)
    return replace(said, kind="one-hot", transaction=ids or None)


def _has_header(rows: FirstRows, said: Layout) -> bool:
    """Tell whether a long file has a header."""
    if said.header is not None:
        return bool(said.header)
    asked = [each for each in (said.transaction, said.item, said.quantity) if each not in (None, NONE)]
    if any(not _ARE_NUMBERS.fullmatch(each) for each in asked) or any(map(is_usual, rows.first)):
        return True
    if len(rows.first) < 2 or not rows.body:
        return True  # to be refused as what it is
    recurs = any(
        head and head in [row[place] for row in rows.body if len(row) > place] for place, head in enumerate(rows.first)
    )  # as the name of no column does
    shown = False if recurs else shows_header(rows)
    if shown is None:
        ways = [(replace(said, kind="long", header=way), "") for way in (True, False)]
        raise Doubt("line 1 may be a header or data", *ways)
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


def no_flag(cell: str) -> str:
    """Say what is wrong with a cell of a one-hot table, and what to do."""
    is_quantity = cell.replace(".", "", 1).isdigit()
    remedy = "quantities are not read, so write 1 for any above 0 (frame > 0)" if is_quantity else "correct it"
    return (
        f"is neither true nor false, as 1 and 0 or t and f; {remedy}, or leave the column out with "
        f"{_say('one-hot transaction=#1')}, by its number"
    )


# ---- tables: Parquet and frames


def understand_table(rows: FirstRows, kinds: Sequence[Any], said: Layout) -> Found:
    """Return how a table is read, from its first rows and its columns' Arrow types.

    Raises:
        BasketError: the table may mean several things, or does not fit what was said.
    """
    return decided(lambda layout: _understood_table(rows, kinds, layout), said)


def _understood_table(rows: FirstRows, kinds: Sequence[Any], said: Layout) -> Found:
    names, held = rows.first, [place for place, kind in enumerate(kinds) if is_list_type(kind)]
    texts = [is_text(getattr(kind, "value_type", kind)) and place not in held for place, kind in enumerate(kinds)]
    if any(each is not None for each in (said.separator, said.header, said.encoding, said.sheet)):
        raise BasketError("Parquet and tables in memory have no separator, header, encoding or sheet; leave them out")
    kind = said.kind or _kind_of_table(rows, texts, held, said)
    if kind == "list":
        return list_found(names, held if said.within in (None, NONE) else range(len(names)), said)
    if kind == "long":
        if said == Layout() and len(names) == 2 and sum(texts) == 1 and not any(map(is_usual, names)):
            said = Layout(transaction=f"#{texts.index(False) + 1}", item=f"#{texts.index(True) + 1}")
        return long_found(names, said, [row for row in rows.body if len(row) == len(names)])
    if kind != "one-hot":
        raise BasketError(f"tables have no layout {kind}, which is one of text; possible are long, one-hot and list")
    places = tuple(columns_apart(rows, said))
    _refuse_dummies(rows, places)
    return Found(_without(said, names, places), tuple(names), places)


def list_found(names: Sequence[str], held: Sequence[int], said: Layout) -> Found:
    """Return the layout of a column of lists, of those that are held."""
    if said.item is not None:
        [place] = asked_places(names, "item", said.item, several=False)
        held = [place] if place in held else []
    if len(held) != 1:
        raise BasketError(
            f"the layout list needs one column of lists, got {len(held)}; say {_say('list item=#1')}, by its number"
        )
    return Found(replace(said, kind="list", item=shown_column(names, held[0])), tuple(names), (held[0],))


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
    long = _likely_columns(rows) if len(names) > 1 and rows.body else "long transaction=#1 item=#2"
    raise Doubt(
        f"the {len(names)} columns, {len(held)} of them lists, may mean several things",
        (long, "with the numbers of its columns"),
        *((f"list item=#{place + 1}", "") for place in held[:1]),
        *((Layout("one-hot", transaction=ids), "") for ids in _flags_beside(rows)),
        end="or, if ids are in its index, give frame.reset_index()"
        if len(names) < 2
        else "or of quantities, a column an item, give frame > 0" * (not any(texts) and not held),
    )


def _flags_beside(rows: FirstRows) -> list[str | None]:
    """Return the few columns that hold no true and false beside many that do, in words; [None] if all do, [] if few."""
    body = [row for row in rows.body if len(row) == len(rows.first)]
    odd = [place for place in range(len(rows.first)) if not all(row[place].lower() in FLAGS for row in body)]
    if len(odd) > len(rows.first) - len(odd) or len(rows.first) - len(odd) < 2:
        return []
    return ["+".join(f"#{place + 1}" for place in odd) or None]


def _holds_flags(rows: FirstRows, said: Layout) -> bool:
    """Tell whether all columns but the one apart hold true and false."""
    apart = columns_apart(rows, said)
    items = [place for place in range(len(rows.first)) if place not in apart]
    return bool(items) and all(row[place].lower() in FLAGS for row in rows.body for place in items)


# ---- columns


def columns_apart(rows: FirstRows, said: Layout) -> list[int]:
    """Return the places of columns that are no items: those asked for, or the one of ids."""
    if said.transaction is not None:
        return list(asked_places(rows.first, "transaction", said.transaction))
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
    """Return the places of columns with a usual name of a role, as "transaction", "item" or "date", likeliest first.

    >>> usual_places(["InvoiceNo", "StockCode", "Description"], "item")
    [1, 2]
    """
    ranks = [_RANK[role].get(_ODD.sub("", str(name).lower())) for name in columns]
    found = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
    return [place for _, place in sorted(found)]


def is_usual(name: object) -> bool:
    """Return whether a column's name is a usual one of transactions, items or quantities.

    >>> is_usual("Order ID"), is_usual("whole milk")
    (True, False)
    """
    return any(usual_places([name], role) for role in _USUAL)


def asked_places(columns: Sequence[object], role: str, asked: str, *, several: bool = True) -> tuple[int, ...]:
    """Return the places of the columns that somebody asked for: a name, a number as #2, or several joined by "+".

    >>> asked_places(["day", "Item", "till"], "transaction", "#1+till")
    (0, 2)
    """
    names, text = [str(name).strip() for name in columns], asked.strip()
    if several and text not in names and "+" in text:
        places = tuple(_asked_place(names, role, part.strip()) for part in text.split("+"))
        if len(set(places)) < len(places):
            raise BasketError(f"{role}= names a column twice; name each once")
        return places
    return (_asked_place(names, role, text),)


def _asked_place(names: Sequence[str], role: str, text: str) -> int:
    if names.count(text) > 1:
        raise BasketError(f"{names.count(text)} columns have the name that {role}= gives; give the number, as #1")
    lowered = [name.lower() for name in names]
    named = names.index(text) if text in names else None
    if named is None and text and lowered.count(text.lower()) == 1:
        named = lowered.index(text.lower())
    digits = text.removeprefix("#")
    number = int(digits[:9]) - 1 if digits.isascii() and digits.isdigit() else -1
    if not 0 <= number < len(names):
        number = -1
    if named is not None and number not in (-1, named):
        raise BasketError(
            f"{role}= gives what is the name of column {named + 1} and the number of another; say #{named + 1} or "
            f"#{number + 1}"
        )
    if named is None and number < 0:
        raise BasketError(
            f"the column that {role}= names is not among the {len(names)} columns; check its name and the separator"
        )
    return number if named is None else named


def long_columns(columns: Sequence[object], said: Layout | None = None) -> tuple[tuple[int, ...], int, int | None]:
    """Return the places of the transaction columns, the item column and, if there is one, the quantity column.

    Without a name or number they are those with a usual name; else the first and the next, where that is no guess: if
    there are no others, or the layout is said to be long.

    >>> long_columns(["day", "Item", "Transaction", "Qty"])
    ((2,), 1, 3)
    """
    said = said or Layout()
    if len(columns) < 2:
        raise BasketError(f"the long layout needs a transaction and an item column, got {len(columns)} columns")
    places: dict[str, tuple[int, ...]] = {}
    for role in _USUAL:
        if (asked := getattr(said, role)) not in (None, NONE):
            places[role] = asked_places(columns, role, asked, several=role == "transaction")
    for role in _USUAL:
        taken = [place for each in places.values() for place in each]
        usual = [place for place in usual_places(columns, role) if place not in taken]
        if role not in places and usual and getattr(said, role) != NONE:
            places[role] = (usual[0],)
            if list(columns).count(columns[usual[0]]) > 1:
                raise BasketError(f"two columns have the name of the {role} column; give its number, as {role}=#1")
    for role, other in (("transaction", "item"), ("item", "transaction")):
        if role not in places:
            if said.kind is None and len(columns) > 2:
                raise BasketError(f"no column has a usual name for {role}s; name it with {role}= in the layout")
            places[role] = (int(places.get(other) == (0,)),)
    taken = [place for each in places.values() for place in each]
    if len(set(taken)) < len(taken):
        raise BasketError("transaction, item and quantity must be different columns")
    return places["transaction"], places["item"][0], places.get("quantity", (None,))[0]


def shown_column(columns: Sequence[object], place: int) -> str:
    """Return a column's name if it is a usual one, otherwise its number, as #1."""
    name = str(columns[place]).strip()
    return name if any(usual_places([name], role) for role in _RANK) else f"#{place + 1}"
