"""Read and write plans, guidance, catalogues of item names, and taxonomies; read prices.

A plan is JSON text, guidance one JSON object (docs/formats/table-plan.md). A plan's names come from a number of items
or a file of names. Names can be normalized and checked for near-duplicates, which people may take for one name.

Taxonomies, prices and sales are lists that people keep in spreadsheets, and are read as spreadsheets save them: in
UTF-8 or often Windows-1252; commas separate cells, or semicolons or tabs where commas are decimal marks.
"""

import contextlib
import csv
import io
import json
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, overload

from assocpriv.files.atomic import atomic_output, read_file
from assocpriv.guarantees.errors import EstimateError, FileError, GuidanceError, NotAPlanError, PlanError, check_type
from assocpriv.plans.baskets.catalogue import MAX_ANCESTORS, Catalogue, Names
from assocpriv.plans.published_plan import AnyPlan, PublishedPlan
from assocpriv.plans.registry import parse_plan

if TYPE_CHECKING:
    from assocpriv.plans.guided.guided_plan import Guidance

_MAX_FILE_BYTES = 64 << 20  # a million names fit
_BLANKS = re.compile(r"\s+")
_SEPARATORS = ";\t"  # of lists, instead of commas, if each line has one outside quotes
_NO_LETTER = re.compile(r"[\W_]")  # digits stay: "product 1" is an item
_HEADERS = frozenset({
    *(word + ending for ending in ("", "s", "e", "n", "name", "id", "no", "code", "description") for word in (
        "item", "product", "article", "artikel", "produkt", "ware", "produit", "producto", "articulo", "category")),
    *("name", "description", "sku", "child", "parent", "grandparent", "categories", "kategorie", "group", "department"),
})  # fmt: skip


# ---- plans


def write_plan(plan: PublishedPlan, path: str | Path, *, force: bool = False) -> None:
    """Write a plan as indented JSON; its id depends on its content, not on the layout.

    Args:
        plan: a plan of any type.
        path: the file; it is written atomically.
        force: replace an existing file.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
        TypeError: no plan.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(made, f"{mkdtemp()}/plan.json")
    """
    content = PublishedPlan.require(plan).to_json()
    with atomic_output(path, force=force) as stream:
        stream.write((json.dumps(content, indent=1) + "\n").encode("ascii"))


@overload
def read_plan(path: str | Path) -> PublishedPlan: ...


@overload
def read_plan(path: str | Path, wanted: type[AnyPlan]) -> AnyPlan: ...


def read_plan(path: str | Path, wanted: type[PublishedPlan] = PublishedPlan) -> PublishedPlan:
    """Read and verify a plan file.

    Args:
        path: the file.
        wanted: the required class of plan, such as :class:`assocpriv.Plan` for baskets; any by default.

    Returns:
        The verified plan.

    Raises:
        PlanError: the file cannot be read, is not a plan, states a guarantee that its operator does not satisfy, or
            holds a plan of another class than ``wanted``.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(made, file := f"{mkdtemp()}/plan.json")
    >>> ap.read_plan(file, ap.Plan).plan_id == made.plan_id
    True
    """
    return plan_of_text(read_plan_text(path), path, wanted)


def plan_of_text(text: str, path: str | Path, wanted: type[AnyPlan]) -> AnyPlan:
    """Return the plan in a file's text, as :func:`read_plan`; errors name ``path``."""
    try:
        return parse_plan(text).require_type(wanted)
    except PlanError as error:
        raise type(error)(f"{path}: {error}") from None


def read_plan_text(path: str | Path) -> str:
    """Read the text of a plan file: UTF-8 without a byte order mark, so that all readers accept the same bytes."""
    text = _read(path, "plan", lambda content: io.TextIOWrapper(io.BytesIO(content), "utf-8").read(), NotAPlanError)
    if text.startswith("\ufeff"):
        raise NotAPlanError(f"{path} is not a plan: it begins with a byte order mark; save it as UTF-8 without one")
    return text


# ---- guidance


def write_guidance(guidance: "Guidance", path: str | Path, *, force: bool = False) -> None:
    """Write guidance as JSON.

    Args:
        guidance: the guidance.
        path: the file; it is written atomically.
        force: replace an existing file.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, guarantee=ap.Guarantee("5%", "50%"))
    >>> guidance = ap.guided.Guidance.from_vectors(plan, 1, [[1.0], [0.0]])
    >>> path = f"{mkdtemp()}/guidance.json"
    >>> ap.guided.write_guidance(guidance, path)
    >>> ap.guided.read_guidance(path).guidance_id == guidance.guidance_id
    True
    """
    with atomic_output(path, force=force) as stream:
        stream.write((guidance.canonical_json + "\n").encode("ascii"))


def read_guidance(path: str | Path) -> "Guidance":
    """Read guidance; a client checks it against its plan before it responds.

    Args:
        path: the file.

    Returns:
        The guidance.

    Raises:
        GuidanceError: the file cannot be read, or holds no guidance.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, guarantee=ap.Guarantee("5%", "50%"))
    >>> guidance = ap.guided.Guidance.from_vectors(plan, 1, [[1.0], [0.0]])
    >>> path = f"{mkdtemp()}/guidance.json"
    >>> ap.guided.write_guidance(guidance, path)
    >>> ap.guided.read_guidance(path).serial
    1
    """
    from assocpriv.plans.guided.guided_plan import Guidance

    try:
        return Guidance.parse(read_text(path, "guidance"))
    except PlanError as error:
        raise GuidanceError(str(error)) from None
    except GuidanceError as error:
        raise GuidanceError(f"{path}: {error}") from None


# ---- names


def read_catalogue(path: str | Path) -> Catalogue:
    """Read a catalogue: UTF-8 text with one item name per line.

    Args:
        path: the file.

    Returns:
        The names in the order of the lines, without blanks around them.

    Raises:
        PlanError: the file cannot be read, a line is not a name or repeats one, or line 1 is a column name.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> ap.write_catalogue(ap.Catalogue(["tea", "milk"]), file := f"{mkdtemp()}/items.txt")
    >>> list(ap.read_catalogue(file))
    ['tea', 'milk']
    """
    return read_names(path, "catalogue")


def read_names(path: str | Path, what: str) -> Catalogue:
    """Read names as :func:`read_catalogue`; errors call the file a ``what``."""
    text = read_text(path, what)
    try:
        names = Catalogue(line.strip() for line in text.rstrip().split("\n"))
        check_first(names)
        return names
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def check_first(names: Catalogue) -> None:
    """Raise PlanError if the first name looks like a column header, which would be published as an item."""
    if is_header(names[:1]):
        raise PlanError("line 1 seems to be a header; remove it, or move it to another line if it is an item")


def read_text(path: str | Path, what: str) -> str:
    """Read the text of a file of names, in an encoding that spreadsheets save; errors call the file a ``what``."""
    return _read(path, what, decode_text)


def _read(path: str | Path, what: str, decode: Callable[[bytes], str], unfit: type[PlanError] = PlanError) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)  # a device or a pipe states no size
    except OSError as error:
        raise PlanError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    if len(content) > _MAX_FILE_BYTES:
        raise unfit(f"{path} is not a {what}: it is larger than {_MAX_FILE_BYTES >> 20} MiB")
    try:
        return decode(content)
    except UnicodeDecodeError:
        found = f"a Parquet file; if it holds reports, assocpriv inspect {quote(str(path))} states their guarantee"
        found = found if content.startswith(b"PAR1") else "not UTF-8 text"
        raise unfit(f"{path} is not a {what}: it is {found}") from None
    except ValueError as error:
        raise unfit(f"{path} is not a {what}: it is {error}") from None


def write_catalogue(catalogue: Catalogue, path: str | Path, *, force: bool = False) -> None:
    """Write a catalogue as UTF-8 text, one name per line, as ``read_catalogue`` reads it.

    Args:
        catalogue: the names.
        path: the file; it is written atomically.
        force: replace an existing file.

    Raises:
        PlanError: the first name would be read as a column header.
        FileError: the file exists and ``force`` is not set, or cannot be written.
        TypeError: not a :class:`assocpriv.Catalogue`.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> ap.write_catalogue(ap.Catalogue(["tea", "milk"]), file := Path(mkdtemp(), "items.txt"))
    >>> file.read_text().split()
    ['tea', 'milk']
    """
    check_first(check_type("catalogue", catalogue, Catalogue))
    with atomic_output(path, force=force) as stream:
        stream.write("".join(f"{name}\n" for name in catalogue).encode("utf-8"))


# ---- taxonomies


def read_taxonomy(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Read a taxonomy: CSV without a header, each parent in the column after its child.

    The line ``milk,dairy,food`` means that milk is dairy and dairy is food. Lines may repeat pairs of other lines, have
    different lengths, or be blank. Blanks around names are removed.

    Args:
        path: the file.

    Returns:
        The sorted (child, parent) pairs.

    Raises:
        PlanError: the file cannot be read or is not CSV, has a header or an invalid name, gives a name two parents, or
            has a cycle.
    """
    text = read_text(path, "taxonomy")
    try:
        return _parse_taxonomy(text)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


@dataclass
class _TaxonomyLines:
    """The (child, parent) pairs of the lines read so far."""

    parents: dict[str, str] = field(default_factory=dict)
    line_of: dict[str, int] = field(default_factory=dict)  # the line that first gave a name its parent
    checked: set[tuple[int, str]] = field(default_factory=set)  # column and name

    def add(self, names: list[str], line: int) -> None:
        while names and not names[-1]:
            names.pop()
        if len(names) > MAX_ANCESTORS + 1:
            raise PlanError(f"line {line} has more than {MAX_ANCESTORS + 1} names; a name has at most 64 ancestors")
        for column, name in enumerate(names):
            if (column, name) not in self.checked:
                _check_name(name, column, line)
                self.checked.add((column, name))
        for child, parent in pairwise(names):
            if self.parents.setdefault(child, parent) != parent:
                raise PlanError(
                    f"line {line} gives a name another parent than line {self.line_of[child]}; a name has one parent"
                )
            self.line_of.setdefault(child, line)


def _parse_taxonomy(text: str) -> tuple[tuple[str, str], ...]:
    lines = _TaxonomyLines()
    try:
        rows = list(read_rows(text))
    except csv.Error as error:
        raise PlanError(str(error)) from None
    _check_header(rows)
    for line, names in rows:
        lines.add(names, line)
    if not lines.parents:
        raise PlanError("the taxonomy is empty; write a line child,parent for each name that has a parent")
    _check_cycles(lines)
    return tuple(sorted(lines.parents.items()))


def _check_header(rows: list[tuple[int, list[str]]]) -> None:
    """Raise PlanError for a header: all words, or the first alone where no other line has the others."""
    for place, (line, names) in enumerate(rows):
        above = set(filter(None, names[1:]))
        if len(names) > 1 and is_header(names[:1]):
            recurs = any(above.intersection(others) for _, others in rows[place + 1 :])
            if is_header(above) or not recurs:
                raise PlanError(f"line {line} seems to be a header; remove it, or move it below other lines")
        if above:
            return


def _check_name(name: str, column: int, line: int) -> None:
    try:
        Catalogue([name])
    except PlanError:
        what = "must be a name, neither empty nor with control characters"
        raise PlanError(f"line {line}, column {column + 1} {what}") from None


def _check_cycles(lines: _TaxonomyLines) -> None:
    ended: set[str] = set()
    for start in lines.parents:
        path, name = set[str](), start
        while name in lines.parents and name not in ended:
            if name in path:
                raise PlanError(f"line {lines.line_of[name]} closes a cycle; every name must lead to a top-level name")
            path.add(name)
            name = lines.parents[name]
        ended |= path


# ---- the names of a plan


@dataclass(frozen=True, slots=True)
class NameSource:
    """Where a plan's item names come from: ``items`` numbers, or the file ``catalogue``.

    Clients replace names by their parents in the file ``taxonomy``, and drop the names in the file ``leave_out`` with
    all their descendants.

    Attributes:
        items: number of items, named 0, 1, …; None for a catalogue.
        catalogue: file with one name per line; None for numbers.
        taxonomy: CSV file of children and parents; None for no roll-up.
        leave_out: file with one name per line; None to keep all names.

    >>> import assocpriv as ap
    >>> items, names = ap.catalogues.NameSource(items=1000).read(unlisted="drop")
    >>> items, names.unlisted
    (1000, 'drop')
    """

    items: int | None = None
    catalogue: Path | None = None
    taxonomy: Path | None = None
    leave_out: Path | None = None

    @property
    def paths(self) -> list[Path]:
        """The files that are read."""
        return [path for path in (self.catalogue, self.taxonomy, self.leave_out) if path is not None]

    def read(self, unlisted: str) -> tuple[int | Catalogue, Names]:
        """Return the names, or their number, and the rules by which clients map items to names.

        Args:
            unlisted: what clients do with items outside the catalogue, as of :class:`Names`.

        Returns:
            The number of items or their catalogue, and the rules for names.

        Raises:
            PlanError: neither ``items`` nor ``catalogue`` is given, or a file cannot be read.
        """
        names = read_catalogue(self.catalogue) if self.catalogue is not None else self.items
        if names is None:
            raise PlanError("a plan needs item names: give a number of items or a catalogue")
        parents = read_taxonomy(self.taxonomy) if self.taxonomy is not None else ()
        dropped = () if self.leave_out is None else read_names(self.leave_out, "file of names to leave out")
        return names, Names(unlisted=unlisted, parents=parents, left_out=tuple(sorted(dropped)))


# ---- normalization and near-duplicates


def normalize_name(name: str) -> str:
    """Return a name in Unicode form NFC, with single blanks inside and none at its ends.

    >>> normalize_name(" Cafe\u0301  au lait")
    'Café au lait'
    """
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", name)).strip()


def fold_name(name: str) -> str:
    """Return a name without case, blanks and differences of Unicode form (NFKC).

    >>> fold_name(" Gele\u0301e royale") == fold_name("GEL\u00c9E ROYALE")
    True
    """
    if name.isascii():  # most names: ten times as fast
        return "".join(name.lower().split())
    return _BLANKS.sub("", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()))


def near_duplicate_names(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return groups of names that differ only in case, Unicode form (NFKC), blanks or leading zeros.

    >>> near_duplicate_names(["Milk", "bread", "milk ", "007", "7"])
    (('007', '7'), ('Milk', 'milk '))
    """
    groups = defaultdict[str, set[str]](set)
    for name in names:
        groups[fold_name(name.lstrip("0") if name.isdecimal() else name)].add(name)
    return tuple(tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1)


@dataclass(frozen=True, slots=True)
class CatalogueCheck:
    """Suspicious names of a catalogue.

    Attributes:
        catalogue: the names.
        odd: names that are not in Unicode form NFC with single blanks.
        near_duplicates: groups of names that differ only in case, Unicode form (NFKC), blanks or leading zeros.
    """

    catalogue: Catalogue
    odd: tuple[str, ...]
    near_duplicates: tuple[tuple[str, ...], ...]


def check_catalogue(catalogue: Catalogue) -> CatalogueCheck:
    """Find names that are not in Unicode form NFC with single blanks, and near-duplicates.

    Args:
        catalogue: the names.

    Returns:
        The suspicious names; none for a catalogue of numbers.

    Raises:
        TypeError: not a :class:`assocpriv.Catalogue`.

    >>> check_catalogue(Catalogue(["milk", "Milk"])).near_duplicates
    (('Milk', 'milk'),)
    """
    if check_type("catalogue", catalogue, Catalogue).is_numbered:
        return CatalogueCheck(catalogue, (), ())
    odd = tuple(name for name in catalogue if name != normalize_name(name))
    return CatalogueCheck(catalogue, odd, near_duplicate_names(catalogue))


# ---- lists in spreadsheets


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


def read_prices(path: str | Path) -> dict[str, float]:
    """Read prices or margins: one item per line, its name and a number; line 1 may be a header.

    The file is CSV as spreadsheets save it. If semicolons or tabs separate cells, decimals may have a comma.

    Args:
        path: the file, as ``bread,0.35`` in each line.

    Returns:
        The price or margin of each item by name, in the file's currency.

    Raises:
        FileError: it cannot be read.
        EstimateError: a line is not of this form, or repeats an item.
    """
    content = read_file(path)
    try:
        text = decode_text(content)
    except ValueError as error:
        raise FileError(f"{path} is not a CSV file: it is {error}") from None
    mark, prices = detect_separator(text), dict[str, float]()
    try:
        for place, (line, cells) in enumerate(read_rows(text)):
            price = _number(cells[1], mark) if len(cells) == 2 else None
            if price is None and not place and len(cells) == 2:
                continue  # a header
            if price is None or cells[0] in prices:
                raise EstimateError(
                    f"{path}, row {line}: needs two cells, an item that no other row has and a number, as in bread,0.35"
                )
            prices[cells[0]] = price
    except csv.Error as error:
        raise FileError(f"{path}: {error}") from None
    return prices


def _number(text: str, separator: str) -> float | None:
    if separator != "," and "." not in text:
        text = text.replace(",", ".")
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None
