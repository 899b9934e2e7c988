"""The layout of baskets in a file or a table, and its text form of ``--layout`` and ``layout=``.

The kind comes first, then ``key=value``. layout_detection.py detects what is not given.

Columns are found by common names, or by the requested name or number. Any other column name may be an item, as in a
file without a header, so messages show only its number. No message quotes a cell.
"""

import contextlib
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_sources import Progress
from assocpriv.records.cells import CHOICES, check_choices, missing_words
from assocpriv.records.columns import parse_separator

_OF_TEXT = ("separator", "header", "encoding", "sheet")
_OF_ITEMS = ("within", "missing")
KINDS = {  # kind -> its keys
    "lines": ("transaction", *_OF_ITEMS, *_OF_TEXT),
    "dat": ("header", "sheet"),
    "long": ("transaction", "item", "quantity", "rows", *_OF_ITEMS, *_OF_TEXT),
    "one-hot": ("transaction", "missing", *_OF_TEXT),
    "list": ("item", *_OF_ITEMS, *_OF_TEXT),
}
_ENCODINGS = ("utf-8", "utf-16", "windows-1252")
KEEP = "keep"
TOGETHER, ANYWHERE = "together", "anywhere"  # positions of the rows of one transaction
_SYNTAX = (
    f"give one of {', '.join(KINDS)}, then any of transaction=COLUMN item=COLUMN quantity=COLUMN (a name, or #2 for "
    "the second column; transaction=date+receipt for several, time/day+card for the day of a time) "
    f"rows={TOGETHER}|{ANYWHERE} within=, (or ; | tab / + none) missing={KEEP} separator=, (or ; | tab blank) "
    f"header=yes (no, or its line number) encoding={'|'.join(_ENCODINGS)} sheet=NAME (or #1, its number; of a "
    "workbook), as in 'long transaction=#1 item=#2 separator=; header=no'"
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
PERSONS_NEED_LONG = "a column of persons needs a file or table of the long layout (one row per item)"
_ODD = re.compile(r"[^a-z0-9]")
# before another name: N° ticket, not n_items
_NUMBER_OF = re.compile(r"^(numerod[eo]|numero|num|nro?|no|n)(?=[a-z]{3,}[^s]$)")
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
_COMMON_NAMES = {  # of each role, the likeliest first
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
CONTEXT = {  # columns with one value in all rows of a transaction
    "dates": ["date", "day", "datum", "tag", "fecha", "jour", "giorno", "datetime", "timestamp", *(
        stem + "date" for stem in (*_SALES, "sale", "sales", "business"))],
    "stores": [stem + key for stem in _SHOPS for key in _KEYS],
    "tills": [stem + key for stem in (*_TILLS, "cassa", "cashier", "shift") for key in _KEYS],
    "customers": [stem + key for stem in (*_PEOPLE, "kunde", "kunden", "loyaltycard", "card") for key in _KEYS
                  if key or stem != "person"],
}  # fmt: skip
DATES, DAY = "dates", "/day"
NONE = "none"  # for no column of quantities, or no separator of items within a cell
_WITHIN = (NONE, "/", "+")  # only within cells, not separators of cells
_ROLES = (_COMMON_NAMES | CONTEXT).items()
_RANK = {role: {name: rank for rank, name in reversed(list(enumerate(names)))} for role, names in _ROLES}


# ---- text form


@dataclass(frozen=True, slots=True)
class Layout:
    """A requested layout; None stands for what to detect. ``str`` returns the text form.

    Attributes:
        kind: "lines" (a basket per line, item names), "dat" (a basket per line, item numbers), "long" (a row per item),
            "one-hot" (a row per basket, a column per item) or "list" (a row per basket, a column of lists).
        transaction: the column of transaction ids, by name or number ("#1"); several are joined by "+", and "time/day"
            uses only the day of a time. For lines and one-hot, columns to leave out.
        item, quantity: the columns of items and quantities, by name or number.
        rows: "together" if each run of rows with equal ids is a transaction, "anywhere" if all rows with equal ids are
            one; by default both must give the same transactions.
        within: the separator of several items in one cell of a list; "none" if each cell is one item.
        missing: "keep" if NaN, None, NA and similar words are names of items, not missing values.
        separator: the character between cells.
        header: whether line 1 names columns, or the number of the line that does; lines above are skipped.
        encoding: the encoding of the text.
        sheet: the sheet of a workbook, by name or number ("#1"); several with the same header as "#1+#2".
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
        """Parse the text form of a layout.

        Raises:
            BasketError: unknown or incompatible words; the message gives the syntax.

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
        wanted = dict(word.partition("=")[::2] for word in words)
        if not (kind is None or kind in KINDS) or len(wanted) < len(words) or not all(wanted.values()):
            raise BasketError(f"the layout has unknown words; {_SYNTAX}")
        if odd := set(wanted) - set(KINDS[kind] if kind else [each.name for each in fields(cls)[1:]]):
            which = f"a layout {kind}" if kind else "a layout"
            shown = odd.pop() if odd <= set(KINDS["long"]) else "one of the keys"
            raise BasketError(f"{which} does not take {shown}; {_SYNTAX}")
        keys = [key for key in ("separator", "within") if wanted.get(key, NONE) not in _WITHIN]
        marks = {key: parse_separator(wanted.pop(key)) for key in keys}
        header = wanted.pop("header", None)
        if None in marks.values() or (header is not None and not _HEADER.fullmatch(header)):
            raise BasketError(f"the layout's separator or header is invalid; {_SYNTAX}")
        known = wanted.get("rows", ANYWHERE) in (TOGETHER, ANYWHERE) and wanted.get("missing", KEEP) == KEEP
        if not known or wanted.get("separator") in _WITHIN:
            raise BasketError(f"the layout has invalid values; {_SYNTAX}")
        has_header = {"yes": True, "no": False, None: None}[header] if header in ("yes", "no", None) else int(header)
        if wanted.get("encoding", "utf-8") not in _ENCODINGS:
            raise BasketError(f"the layout's encoding must be one of {', '.join(_ENCODINGS)}")
        return cls(kind, header=has_header, **wanted, **marks)

    def __str__(self) -> str:
        """Return the text form."""
        words = [self.kind or ""]
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value is not None:
                text = {"True": "yes", "False": "no", "\t": "tab", " ": "blank"}.get(str(value), str(value))
                is_plain = each.name in ("separator", "within") or _PLAIN_COLUMN.fullmatch(text)
                quoted = shlex.quote(text) if set(text) & set('"\\$`') else f'"{text}"'  # inside single quotes
                words.append(f"{each.name}={text if is_plain else quoted}")
        return " ".join(words).strip()


@dataclass(frozen=True, slots=True)
class DetectedLayout:
    """A complete layout, as a source is read. Places are column indices.

    Attributes:
        layout: the complete layout; its columns are common names or numbers, so that no item is shown.
        names: the column names, empty without a header; they may be items.
        places: in the long layout the columns of transactions, of items and, if there is one, of quantities; in a list
            its column; in other layouts the columns to leave out.
        ids: in the long layout, how many of the places are of transactions.
        context: in the long layout, columns with one value in all rows of a transaction, each with its role.
        persons: in the long layout, the columns that identify the person of a transaction.
        days: transaction columns of times of which only the day is used.
        watched: in the long layout without quantities, other columns of plain numbers.
        note: a warning about rows or cells that may not be sales.
        skip: number of lines before the data.
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
        """The separator of cells in text."""
        return self.layout.separator or ","

    @property
    def quantity(self) -> int | None:
        """The column of quantities in the long layout."""
        return self.places[self.ids + 1] if self.kind == "long" and len(self.places) > self.ids + 1 else None

    @property
    def taken(self) -> list[int]:
        """The columns to read, each once; in a one-hot table those of items."""
        if self.kind != "one-hot":
            context = [place for _, place in self.context]
            return list(dict.fromkeys((*self.places, *context, *self.watched, *self.persons)))
        return [place for place in range(len(self.names)) if place not in self.places]

    def with_persons(self, column: str | int) -> "DetectedLayout":
        """Return a long layout with columns of persons.

        Raises:
            BasketError: the layout is not long, or there is no such column.
        """
        if self.kind != "long":
            raise BasketError(PERSONS_NEED_LONG)
        return replace(self, persons=requested_places(self.names, "person", str(column)), watched=())


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading baskets, with the meaning of :func:`assocpriv.read_baskets`; BasketError for other words.

    Reading batch by batch needs about ``memory_bytes``; ``progress`` is called with (bytes read, bytes of the file).
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
    def requested_layout(self) -> Layout:
        """The requested layout, parsed."""
        return Layout.parse(self.layout)

    def missing_words(self, catalogue: Catalogue | None) -> frozenset[str]:
        """Return the words that mean a missing value, except items of the catalogue."""
        return missing_words(self.requested_layout.missing == KEEP, catalogue)


STRICT = ReadOptions()


# ---- ambiguous layouts


def layout_arg(words: str | Layout) -> str:
    """Return a layout as an argument, for the advice of errors."""
    return f"layout='{words}'"


class Ambiguity(Exception):  # noqa: N818 -- it becomes an error once its advice was tested
    """A source has several possible layouts; ``choices`` are layouts to request, each with its condition."""

    def __init__(self, problem: str, *choices: tuple[str | Layout, str], end: str = "") -> None:
        super().__init__()
        self.problem, self.choices, self.end = problem, choices, end

    def error(self, reads: Callable[[Layout], bool], wanted: Layout) -> BasketError:
        """Return the error with those choices, completed by what was requested, under which ``reads`` succeeds."""
        choices = [(_with_source(Layout.parse(str(words)), wanted), when) for words, when in self.choices]
        fit = [f"{layout_arg(words)}{when and f' {when}'}" for words, when in choices if reads(words)]
        remedy = "pass " + ", or ".join(fit) if fit else "correct the data" * (not self.end)
        end = self.end if remedy else self.end.removeprefix("or").lstrip(", ")
        return BasketError("; ".join(filter(None, (self.problem, ", ".join(filter(None, (remedy, end)))))))


def _with_source(layout: Layout, wanted: Layout) -> Layout:
    """Return a layout with the requested sheet, encoding and missing=, unless it has its own."""
    keys = [key for key in ("sheet", "encoding", "missing") if key in KINDS[layout.kind or "long"]]
    return replace(layout, **{key: getattr(wanted, key) for key in keys if getattr(layout, key) is None})


def resolve_layout(
    read: Callable[[Layout], DetectedLayout], wanted: Layout, fits: Callable[[DetectedLayout], bool] = bool
) -> DetectedLayout:
    """Return the detected layout; make Ambiguity an error whose advice was tested by ``read`` and ``fits``."""

    def reads(layout: Layout) -> bool:
        with contextlib.suppress(Ambiguity, BasketError):
            return (found := read(layout)).kind == layout.kind and fits(found)
        return False

    try:
        return read(wanted)
    except Ambiguity as error:
        ambiguity = error
    raise ambiguity.error(reads, wanted)


# ---- columns


def known_places(columns: Sequence[object], role: str) -> list[int]:
    """Return the indices of columns with a common name of a role ("transaction", "item", "date"), likeliest first.

    >>> known_places(["InvoiceNo", "StockCode", "Description"], "item")
    [1, 2]
    """
    plain = [_ODD.sub("", unicodedata.normalize("NFKD", str(name)).lower()) for name in columns]
    ranks = [_RANK[role].get(name, _RANK[role].get(_NUMBER_OF.sub("", name))) for name in plain]
    found = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
    return [place for _, place in sorted(found)]


def is_known(name: object) -> bool:
    """Return whether a column's name is a common one of transactions, items or quantities.

    >>> is_known("Order ID"), is_known("whole milk")
    (True, False)
    """
    return any(known_places([name], role) for role in _COMMON_NAMES)


def requested_places(columns: Sequence[object], role: str, wanted: str, *, several: bool = True) -> tuple[int, ...]:
    """Return the indices of requested columns: a name, a number such as #2, or several joined by "+".

    The suffix "/day" after a column of times is ignored here.

    >>> requested_places(["day", "Item", "till"], "transaction", "#1+till")
    (0, 2)
    """
    names, text = [str(name).strip() for name in columns], wanted.strip()
    if several and text not in names:
        parts = [part.strip() for part in text.split("+")]
        titles = [part if part in names else part.removesuffix(DAY) for part in parts]
        places = tuple(_requested_place(names, role, title) for title in titles)
        if len(set(places)) < len(places):
            raise BasketError(f"{role}= names a column twice; name each once")
        return places
    return (_requested_place(names, role, text),)


def _requested_place(names: Sequence[str], role: str, text: str) -> int:
    if names.count(text) > 1:
        raise BasketError(f"{names.count(text)} columns have the name given by {role}=; give the number instead, as #1")
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
            f"{role}= gives the name of column {named + 1}, which is also the number of another; give #{named + 1} or "
            f"#{number + 1}"
        )
    if named is None and number < 0:
        raise BasketError(
            f"the column {text[:60]!r} given by {role}= is not among the {len(names)} columns; check its name and the "
            "separator"
        )
    return number if named is None else named


def long_columns(columns: Sequence[object], wanted: Layout | None = None) -> tuple[tuple[int, ...], int, int | None]:
    """Return the indices of the transaction columns, the item column and, if there is one, the quantity column.

    Columns that are not requested are found by common names; else they are the first and the next, if there are no
    others or the layout long is requested.

    >>> long_columns(["day", "Item", "Transaction", "Qty"])
    ((2,), 1, 3)
    """
    wanted = wanted or Layout()
    if len(columns) < 2:
        raise BasketError(f"the long layout needs a transaction and an item column, got {len(columns)} columns")
    places: dict[str, tuple[int, ...]] = {}
    for role in _COMMON_NAMES:
        if (text := getattr(wanted, role)) not in (None, NONE):
            places[role] = requested_places(columns, role, text, several=role == "transaction")
    for role in _COMMON_NAMES:
        taken = [place for each in places.values() for place in each]
        common = [place for place in known_places(columns, role) if place not in taken]
        if role not in places and common and getattr(wanted, role) != NONE:
            places[role] = (common[0],)
            if (alike := [place for place, name in enumerate(columns) if name == columns[common[0]]])[1:]:
                first: dict[str, Any] = {role: f"#{alike[0] + 1}"}
                raise Ambiguity(
                    f"{len(alike)} columns have the name of the {role} column",
                    *[("lines transaction=#1 header=yes", "if each line is a basket")] * (alike[0] == 1),
                    (replace(wanted, kind="long", **first), "to read only the first"),
                )
    for role, other in (("transaction", "item"), ("item", "transaction")):
        if role not in places:
            if wanted.kind is None and len(columns) > 2:
                raise BasketError(f"no column has a common name for {role}s; name it with {role}= in the layout")
            places[role] = (int(places.get(other) == (0,)),)
    taken = [place for each in places.values() for place in each]
    if len(set(taken)) < len(taken):
        raise BasketError("transaction, item and quantity must be different columns")
    return places["transaction"], places["item"][0], places.get("quantity", (None,))[0]


def column_numbers(places: Iterable[int]) -> str:
    """Return columns by number, as in a layout.

    >>> column_numbers([0, 2])
    '#1+#3'
    """
    return "+".join(f"#{place + 1}" for place in places)


def show_column(columns: Sequence[object], place: int) -> str:
    """Return a column's name if it is a common one, otherwise its number, as #1."""
    name = str(columns[place]).strip()
    return name if any(known_places([name], role) for role in _RANK) else f"#{place + 1}"
