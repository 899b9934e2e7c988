"""Lists that people keep in spreadsheets (prices, sales, taxonomies), as spreadsheets save them.

The encoding is UTF-8 or often Windows-1252. Commas separate cells, or semicolons or tabs where commas are decimal
marks.
"""

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator

_SEPARATORS = ";\t"  # instead of commas, if each line has one outside quotes
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


def decode_text(content: bytes) -> str:
    """Decode UTF-8, or Windows-1252 if no part is UTF-8, and convert line ends to newlines.

    Raises:
        ValueError: it is neither; the message says what it is instead, and what to do.

    >>> decode_text("Käse".encode("cp1252")) == decode_text("Käse".encode()) == "Käse"
    True
    """
    if content.startswith(b"PAR1"):
        raise ValueError("a Parquet file (reports or itemsets?)")
    if content.startswith(b"PK\3\4"):
        raise ValueError("a spreadsheet; save it as “CSV UTF-8”")
    for codec in ("utf-8-sig", "windows-1252"):
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(codec)
            if "\0" not in text and (codec == "utf-8-sig" or content.decode(errors="ignore").isascii()):
                return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ValueError("not UTF-8 text; save it as “CSV UTF-8”")


def is_header(cells: Iterable[str]) -> bool:
    """Return whether all cells are common column names of items or their categories.

    >>> is_header(["Item", "Category"]), is_header(["item", "tea"])
    (True, False)
    """
    return _HEADERS.issuperset(_NO_LETTER.sub("", cell.lower()) for cell in cells)


def read_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and stripped cells of the lines that are not blank.

    Raises:
        csv.Error: while iterating: a line is not CSV; the message quotes nothing of it.

    >>> list(read_rows("Käse;1,99"))
    [(1, ['Käse', '1,99'])]
    """
    mark = detect_separator(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True, strict=True)
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield rows.line_num, cells
    except csv.Error:
        raise csv.Error(f"line {rows.line_num} is not CSV; check its quotes") from None


def detect_separator(text: str) -> str:
    """Return the separator of cells: a semicolon or tab if each line has one outside quotes, else a comma."""
    lines = [line for line in text.split("\n") if line.strip()]
    bare = ["".join(line.split('"')[::2]) for line in lines]
    return next((mark for mark in _SEPARATORS if bare and all(mark in line for line in bare)), ",")
