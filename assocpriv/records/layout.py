"""The layout of baskets in a file or a table, in words: those of ``--layout`` and ``layout=``.

The kind comes first, then ``key=value``. What is not given, records/detection.py detects.

Columns are found by their usual names, or by the name or number asked for. Any other name of a column may be an item,
as in a file without a header: messages give its number only. Nothing that is said holds a cell.
"""

import contextlib
import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.records.cells import CHOICES, absent_words, check_choices
from assocpriv.records.columns import separator_of
from assocpriv.records.sources import Progress

_OF_TEXT = ("separator", "header", "encoding", "sheet")
_OF_ITEMS = ("within", "missing")
KINDS = {  # of each the keys that say more of it
    "lines": ("transaction", *_OF_ITEMS, *_OF_TEXT),
    "dat": ("header", "sheet"),
    "long": ("transaction", "item", "quantity", "rows", *_OF_ITEMS, *_OF_TEXT),
    "one-hot": ("transaction", "missing", *_OF_TEXT),
    "list": ("item", *_OF_ITEMS, *_OF_TEXT),
}
_ENCODINGS = ("utf-8", "utf-16", "windows-1252")
KEEP = "keep"
TOGETHER, ANYWHERE = "together", "anywhere"  # where the rows of one transaction stand
_POSSIBLE = (
    f"first one of {', '.join(KINDS)}, then of transaction=COLUMN item=COLUMN quantity=COLUMN (a name, or #2 for the "
    "second column; transaction=date+receipt for several, time/day+card for the day of a time) "
    f"rows={TOGETHER}|{ANYWHERE} within=, (or ; | tab / + none) missing={KEEP} separator=, (or ; | tab blank) "
    f"header=yes (no, or its line's number) encoding={'|'.join(_ENCODINGS)} sheet=NAME (or #1, its number; of a "
    "workbook), as in "
    "'long transaction=#1 item=#2 separator=; header=no'"
)
TRUE_WORDS = frozenset({
    *("1", "1.0", "true", "t", "yes", "y", "x", "ja", "j", "oui", "si", "sí", "wahr", "vrai", "on", "checked"),
    "selected",
})  # fmt: skip
FALSE_WORDS = frozenset({
    *("0", "0.0", "false", "f", "no", "n", "?", "", "-", "nein", "non", "falsch", "faux", "off", "unchecked"),
    "not selected",
})  # fmt: skip
FLAGS = TRUE_WORDS | FALSE_WORDS
_PLAIN_COLUMN = re.compile(r"[\w#+./-]+")
COLUMN_NUMBERS = re.compile(r" *#?[0-9]+( *\+ *#?[0-9]+)* *")  # of columns
_HEADER = re.compile(r"yes|no|[1-9][0-9]{0,2}")
LONG_ALONE = "whose a basket is can be said of a file or table with a line an item alone, and a column of persons"
_ODD = re.compile(r"[^a-z0-9]")
_NUMBER_OF = re.compile(
    r"^(numerod[eo]|numero|num|nro?|no|n)(?=[a-z]{3,}[^s]$)"
)  # before another name: N° ticket, not n_items
_KEYS = ("", "id", "ids", "no", "nr", "num", "number", "nummer", "key", "code", "uuid", "ref", "reference")
_TEXTS = ("name", "description", "desc", "title")
_SALES = (
    "transaction", "trans", "tx", "trx", "invoice", "order", "receipt", "ticket", "bill", "basket", "cart",
    "purchase", "sale", "salesorder", "check", "trip", "voucher", "document",
    "salesdoc", "salesdocument",
)  # fmt: skip
_PEOPLE = ("member", "customer", "client", "user", "household", "shopper", "person")
_ABROAD = (
    "bon", "kassenbon", "beleg", "rechnung", "rechnungs", "auftrags", "bestell", "warenkorb", "ticketdecaisse",
    "facture", "commande", "factura", "pedido", "scontrino", "ordine", "paragon", "faktura", "zamowienie", "kvitto",
    "kvittering", "kuitti", "uctenka", "objednavka", "nota", "notafiscal", "cupom", "fis", "fatura", "siparis",
)  # fmt: skip
_GOODS_ABROAD = (
    "artikel", "produkt", "ware", "waren", "produit", "libelle", "libellearticle", "producto", "articulo",
    "articolo", "prodotto", "produto", "towar", "vara", "vare", "varen", "tuote", "zbozi", "urun", "movie",
)  # fmt: skip
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
        "description", "lineitemname", *(stem + key for stem in _GOODS_ABROAD for key in (
            *_KEYS, "name", "bezeichnung", "omschrijving")),
        "designation", "bezeichnung", "omschrijving", "descripcion", "nombredelproducto", "nomduproduit", "codearticle",
        "menuitem", "lineitem", "productservice", "asin", "isbn", "plu", "material", "title",
    ],
    "quantity": [
        "quantity", "qty", "units", "pieces", "quantitysold", "itemquantity", "orderquantity", "lineitemquantity",
        "qtyordered", "quantityordered", "orderedqty", "orderedquantity", "orderqty",
        "menge", "anzahl", "stuck", "stueck", "qt", "qte", "quantite", "cantidad", "aantal", "quantita",
        "quantidade", "ilosc", "antal", "maara", "mnozstvi", "pocet", "adet", "miktar",
    ],
}  # fmt: skip
_SHOPS = (
    "store", "shop", "branch", "outlet", "market", "location", "site", "plant", "filiale", "filial", "werk",
    "magasin", "tienda", "negozio", "winkel",
)  # fmt: skip
_TILLS = ("till", "register", "terminal", "pos", "checkout", "lane", "workstation", "kasse", "kassa", "caisse", "caja")
CONTEXT = {  # columns that have one value in all rows of a transaction
    "dates": ["date", "day", "datum", "tag", "fecha", "jour", "giorno", "datetime", "timestamp", *(
        stem + "date" for stem in (*_SALES, "sale", "sales", "business"))],
    "stores": [stem + key for stem in _SHOPS for key in _KEYS],
    "tills": [stem + key for stem in (*_TILLS, "cassa", "cashier", "shift") for key in _KEYS],
    "customers": [stem + key for stem in (*_PEOPLE, "kunde", "kunden", "loyaltycard", "card") for key in _KEYS
                  if key or stem != "person"],
}  # fmt: skip
DATES, DAY = "dates", "/day"
NONE = "none"  # in place of a column of quantities, or of what stands between items in a cell
_WITHIN = (NONE, "/", "+")  # alone, not as a separator of cells
_RANK = {
    role: {name: rank for rank, name in reversed(list(enumerate(names)))} for role, names in (_USUAL | CONTEXT).items()
}


# ---- in words


@dataclass(frozen=True, slots=True)
class Layout:
    """What is said of a layout; None for what to find out. ``str`` gives the words back.

    Attributes:
        kind: "lines" (a line of names a basket), "dat" (a line of item numbers a basket), "long" (a row an item),
            "one-hot" (a row a basket, a column an item) or "list" (a column of lists).
        transaction: the column of transactions, by name or as #1 by number, or several joined by "+", of a time the day
            alone as "time/day"; of lines and one-hot one that is no item.
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
        keys = [key for key in ("separator", "within") if said.get(key, NONE) not in _WITHIN]
        marks = {key: separator_of(said.pop(key)) for key in keys}
        header = said.pop("header", None)
        if None in marks.values() or (header is not None and not _HEADER.fullmatch(header)):
            raise BasketError(f"the layout's separator or header is not to be understood; possible is {_POSSIBLE}")
        known = said.get("rows", ANYWHERE) in (TOGETHER, ANYWHERE) and said.get("missing", KEEP) == KEEP
        if not known or said.get("separator") in _WITHIN:
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
        days: of the places of transactions those of times of which the days alone count.
        watched: of the long layout, without quantities, the places of other columns of plain numbers.
        note: what to look at before the rows are taken for sales.
        skip: lines before the first one of data.
    """

    layout: Layout
    names: tuple[str, ...] = field(default=(), repr=False)
    places: tuple[int, ...] = ()
    skip: int = 0
    ids: int = 1
    context: tuple[tuple[str, int], ...] = ()
    persons: tuple[int, ...] = ()
    days: frozenset[int] = frozenset()
    watched: tuple[int, ...] = ()
    note: str = ""

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
            context = [place for _, place in self.context]
            return list(dict.fromkeys((*self.places, *context, *self.watched, *self.persons)))
        return [place for place in range(len(self.names)) if place not in self.places]

    def with_persons(self, column: str | int) -> "Found":
        """Return a long layout with the columns of persons.

        Raises:
            BasketError: another layout, or no such column.
        """
        if self.kind != "long":
            raise BasketError(LONG_ALONE)
        return replace(self, persons=asked_places(self.names, "person", str(column)), watched=())


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


# ---- doubts


def say_layout(words: str | Layout) -> str:
    """Return how to say a layout."""
    return f"layout='{words}'"


class Doubt(Exception):  # noqa: N818 -- it becomes an error, once its advice was tried
    """What may mean several things: the layouts that decide, in words, and when each is right."""

    def __init__(self, problem: str, *choices: tuple[str | Layout, str], end: str = "") -> None:
        super().__init__()
        self.problem, self.choices, self.end = problem, choices, end

    def error(self, reads: Callable[[Layout], bool], said: Layout) -> BasketError:
        """Return the error that names those of the layouts, with the rest of what is said, that read the source so."""
        choices = [(_with_source(Layout.parse(str(words)), said), when) for words, when in self.choices]
        fit = [f"{say_layout(words)}{when and f' {when}'}" for words, when in choices if reads(words)]
        remedy = "say " + ", or ".join(fit) if fit else "correct the data" * (not self.end)
        end = self.end if remedy else self.end.removeprefix("or").lstrip(", ")
        return BasketError("; ".join(filter(None, (self.problem, ", ".join(filter(None, (remedy, end)))))))


def _with_source(layout: Layout, said: Layout) -> Layout:
    """Return a layout with the sheet, the encoding and words for missing values of another, where it has none."""
    keys = [key for key in ("sheet", "encoding", "missing") if key in KINDS[layout.kind or "long"]]
    return replace(layout, **{key: getattr(said, key) for key in keys if getattr(layout, key) is None})


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
    raise doubt.error(reads, said)


# ---- columns


def usual_places(columns: Sequence[object], role: str) -> list[int]:
    """Return the places of columns with a usual name of a role, as "transaction", "item" or "date", likeliest first.

    >>> usual_places(["InvoiceNo", "StockCode", "Description"], "item")
    [1, 2]
    """
    plain = [_ODD.sub("", unicodedata.normalize("NFKD", str(name)).lower()) for name in columns]
    ranks = [_RANK[role].get(name, _RANK[role].get(_NUMBER_OF.sub("", name))) for name in plain]
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

    Of a time the day alone counts where "/day" stands behind its column.

    >>> asked_places(["day", "Item", "till"], "transaction", "#1+till")
    (0, 2)
    """
    names, text = [str(name).strip() for name in columns], asked.strip()
    if several and text not in names:
        parts = [part.strip() for part in text.split("+")]
        places = tuple(_asked_place(names, role, part if part in names else part.removesuffix(DAY)) for part in parts)
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
            f"the column {text[:60]!r} that {role}= names is not among the {len(names)} columns; check its name and "
            "the separator"
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
            if (alike := [place for place, name in enumerate(columns) if name == columns[usual[0]]])[1:]:
                first: dict[str, Any] = {role: f"#{alike[0] + 1}"}
                raise Doubt(
                    f"{len(alike)} columns have the name of the {role} column",
                    *[("lines transaction=#1 header=yes", "if each line is a basket")] * (alike[0] == 1),
                    (replace(said, kind="long", **first), "to read the first of them alone"),
                )
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
