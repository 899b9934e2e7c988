"""Lists that people keep in a spreadsheet: prices, sales, parents of names; as spreadsheets save them.

That is UTF-8 or, from many a desk, Windows-1252, with commas, or with semicolons or tabs where commas part decimals.
"""

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator

_SEPARATORS = ";\t"  # in place of commas, where each line has one outside quotes
_NO_LETTER = re.compile(r"[\W_]")  # digits stay: "product 1" is an item
_HEADERS = frozenset(
    f"{word}{ending}"
    for word in (
        "item",
        "product",
        "article",
        "artikel",
        "produkt",
        "ware",
        "produit",
        "producto",
        "articulo",
        "category",
    )
    for ending in ("", "s", "e", "n", "name", "id", "no", "code", "description")
) | {"name", "description", "sku", "child", "parent", "grandparent", "categories", "kategorie", "group", "department"}


def decoded(content: bytes) -> str:
    """Return text of UTF-8, or of Windows-1252 where no part of it is UTF-8; line ends become one.

    Raises:
        ValueError: it is neither; what it is instead, and what to do.

    >>> decoded("Käse".encode("cp1252")) == decoded("Käse".encode()) == "Käse"
    True
    """
    if content.startswith(b"PAR1"):
        raise ValueError("a Parquet file, as of reports or itemsets")
    if content.startswith(b"PK\3\4"):
        raise ValueError("a spreadsheet; save it as “CSV UTF-8”")
    for codec in ("utf-8-sig", "windows-1252"):
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(codec)
            if "\0" not in text and (codec == "utf-8-sig" or content.decode(errors="ignore").isascii()):
                return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ValueError("not UTF-8 text; save it as “CSV UTF-8”")


def is_header(cells: Iterable[str]) -> bool:
    """Tell whether all cells are usual names of columns, of items or what items are below.

    >>> is_header(["Item", "Category"]), is_header(["item", "tea"])
    (True, False)
    """
    return _HEADERS.issuperset(_NO_LETTER.sub("", cell.lower()) for cell in cells)


def rows_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not blank, their numbers and cells without blanks around them.

    Raises:
        csv.Error: while iterating: a line is no CSV; its text quotes none.

    >>> list(rows_of("Käse;1,99"))
    [(1, ['Käse', '1,99'])]
    """
    mark = separator_of(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True, strict=True)
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield rows.line_num, cells
    except csv.Error:
        raise csv.Error(f"line {rows.line_num} is not CSV; check its quotes") from None


def separator_of(text: str) -> str:
    """Return what parts cells: semicolons or tabs if each line has one outside quotes, else commas."""
    lines = [line for line in text.split("\n") if line.strip()]
    bare = ["".join(line.split('"')[::2]) for line in lines]
    return next((mark for mark in _SEPARATORS if bare and all(mark in line for line in bare)), ",")
