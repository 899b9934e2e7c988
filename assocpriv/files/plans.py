"""Plans at rest, with what they are made of: item names, taxonomies, guidance.

A plan is JSON text, guidance one JSON object (docs/formats/table-plan.md). A plan's names come from a number of items
or a file of names. Files of names are written in one form, and checked for names that people take for one.
"""

import csv
import io
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, overload

from assocpriv.files.atomic import atomic_output
from assocpriv.files.lists import decoded, is_header, rows_of
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.names import MAX_ANCESTORS, Names
from assocpriv.plans.published import AnyPlan, PublishedPlan
from assocpriv.promise.errors import GuidanceError, NotAPlanError, PlanError, check_type

if TYPE_CHECKING:
    from assocpriv.plans.guidance import Guidance

_LARGEST_FILE = 64 << 20  # a million names fit; anything longer is neither a plan nor names
_BLANKS = re.compile(r"\s+")


# ---- plans


def write_plan(plan: PublishedPlan, path: str | Path, *, force: bool = False) -> None:
    """Write a plan as indented JSON; its id depends on its content, not on the layout.

    Args:
        plan: a plan of any kind.
        path: the file; it appears whole or not at all.
        force: replace an existing file.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(made, f"{mkdtemp()}/plan.json")
    """
    content = PublishedPlan.of(plan).to_json()
    with atomic_output(path, force=force) as stream:
        stream.write((json.dumps(content, indent=1) + "\n").encode("ascii"))


@overload
def read_plan(path: str | Path) -> PublishedPlan: ...


@overload
def read_plan(path: str | Path, wanted: type[AnyPlan]) -> AnyPlan: ...


def read_plan(path: str | Path, wanted: type[PublishedPlan] = PublishedPlan) -> PublishedPlan:
    """Read a plan file, of the class of plans that there is a use for.

    Args:
        path: the file.
        wanted: a class of plans, as :class:`assocpriv.Plan` for those of baskets; any by default.

    Returns:
        The plan, checked.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its operator breaks; or the plan is of
            another kind than wanted.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(made, file := f"{mkdtemp()}/plan.json")
    >>> ap.read_plan(file, ap.Plan).plan_id == made.plan_id
    True
    """
    return plan_of_text(read_plan_text(path), path, wanted)


def plan_of_text(text: str, path: str | Path, wanted: type[AnyPlan]) -> AnyPlan:
    """Return the plan that a file's text holds, as :func:`read_plan`; ``path`` is named in errors."""
    try:
        return parse_plan(text).as_a(wanted)
    except PlanError as error:
        raise type(error)(f"{path}: {error}") from None


def read_plan_text(path: str | Path) -> str:
    """Read the text of a plan file, UTF-8 without a mark before it; every reader takes the same bytes for a plan."""
    text = _read(path, "plan", lambda content: io.TextIOWrapper(io.BytesIO(content), "utf-8").read(), NotAPlanError)
    if text.startswith("\ufeff"):
        raise NotAPlanError(f"{path} is not a plan: it begins with a byte order mark; save it as UTF-8 without one")
    return text


# ---- guidance


def write_guidance(guidance: "Guidance", path: str | Path, *, force: bool = False) -> None:
    """Write guidance; the file appears whole or not at all.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, promise=ap.Breach("5%", "50%"))
    >>> guidance = ap.guided.Guidance.of_vectors(plan, 1, [[1.0], [0.0]])
    >>> path = f"{mkdtemp()}/guidance.json"
    >>> ap.guided.write_guidance(guidance, path)
    >>> ap.guided.read_guidance(path).guidance_id == guidance.guidance_id
    True
    """
    with atomic_output(path, force=force) as stream:
        stream.write((guidance.canonical_json + "\n").encode("ascii"))


def read_guidance(path: str | Path) -> "Guidance":
    """Read guidance; a client checks it against its plan before it answers.

    Raises:
        GuidanceError: the file cannot be read, or holds no guidance.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, promise=ap.Breach("5%", "50%"))
    >>> guidance = ap.guided.Guidance.of_vectors(plan, 1, [[1.0], [0.0]])
    >>> path = f"{mkdtemp()}/guidance.json"
    >>> ap.guided.write_guidance(guidance, path)
    >>> ap.guided.read_guidance(path).serial
    1
    """
    from assocpriv.plans.guidance import Guidance

    try:
        return Guidance.parse(read_text(path, "guidance"))
    except PlanError as error:
        raise GuidanceError(str(error)) from None
    except GuidanceError as error:
        raise GuidanceError(f"{path}: {error}") from None


# ---- names


def read_catalogue(path: str | Path) -> Catalogue:
    """Read a catalogue: UTF-8 text, an item's name a line.

    Returns:
        The names in the order of the lines, without blanks around them.

    Raises:
        PlanError: the file cannot be read, a line is no name or repeats one, or the first one is the name of a column.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> ap.write_catalogue(ap.Catalogue(["tea", "milk"]), file := f"{mkdtemp()}/items.txt")
    >>> list(ap.read_catalogue(file))
    ['tea', 'milk']
    """
    return read_names(path, "catalogue")


def read_names(path: str | Path, what: str) -> Catalogue:
    """Read names as :func:`read_catalogue` does; ``what`` they are stands in errors."""
    text = read_text(path, what)
    try:
        names = Catalogue(line.strip() for line in text.rstrip().split("\n"))
        check_first(names)
        return names
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def check_first(names: Catalogue) -> None:
    """Refuse names whose first one would be the header of a list: it would be published as an item."""
    if is_header(names[:1]):
        raise PlanError(
            "line 1 seems to name the column; remove it, or write it on another line than the first if it is an item"
        )


def read_text(path: str | Path, what: str) -> str:
    """Read a file of names that a plan is made of, as spreadsheets save it; ``what`` it is stands in errors."""
    return _read(path, what, decoded)


def _read(path: str | Path, what: str, decode: Callable[[bytes], str], unfit: type[PlanError] = PlanError) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)  # whatever size a device or a pipe may claim
    except OSError as error:
        raise PlanError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    if len(content) > _LARGEST_FILE:
        raise unfit(f"{path} is not a {what}: it is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        return decode(content)
    except UnicodeDecodeError:
        found = "a Parquet file, as of reports or itemsets" if content.startswith(b"PAR1") else "not UTF-8 text"
        raise unfit(f"{path} is not a {what}: it is {found}") from None
    except ValueError as error:
        raise unfit(f"{path} is not a {what}: it is {error}") from None


def write_catalogue(catalogue: Catalogue, path: str | Path, *, force: bool = False) -> None:
    """Write a catalogue as UTF-8 text, a name a line, as ``read_catalogue`` reads it.

    Raises:
        PlanError: the first name would be read as the name of a column.
        FileError: the file exists and ``force`` is not set, or cannot be written.

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
    """Return a taxonomy's sorted (child, parent): CSV without a header, each parent in the next column.

    ``milk,dairy,food`` says that milk is dairy and dairy is food; lines may repeat what others say, end early, and
    be blank. Names lose the blanks around them.

    Raises:
        PlanError: the file cannot be read, is no CSV, has a header, holds what is no name, gives a name two parents,
            or goes in circles.
    """
    text = read_text(path, "taxonomy")
    try:
        return _parsed(text)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


@dataclass
class _Lines:
    """What the lines so far say."""

    parents: dict[str, str] = field(default_factory=dict)
    said: dict[str, int] = field(default_factory=dict)  # the line that first gave a name its parent
    names: set[tuple[int, str]] = field(default_factory=set)  # that were checked, with their column

    def add(self, names: list[str], line: int) -> None:
        while names and not names[-1]:
            names.pop()
        if len(names) > MAX_ANCESTORS + 1:
            raise PlanError(f"line {line} has more than {MAX_ANCESTORS + 1} names; a name has at most 64 above it")
        for column, name in enumerate(names):
            if (column, name) not in self.names:
                _check_name(name, column, line)
                self.names.add((column, name))
        for child, parent in pairwise(names):
            if self.parents.setdefault(child, parent) != parent:
                raise PlanError(
                    f"line {line} gives a name another parent than line {self.said[child]}; a name has one parent"
                )
            self.said.setdefault(child, line)


def _parsed(text: str) -> tuple[tuple[str, str], ...]:
    lines = _Lines()
    try:
        rows = list(rows_of(text))
    except csv.Error as error:
        raise PlanError(str(error)) from None
    _check_header(rows)
    for line, names in rows:
        lines.add(names, line)
    if not lines.parents:
        raise PlanError("the taxonomy is empty; write a line child,parent for each name that has a parent")
    _check_circles(lines)
    return tuple(sorted(lines.parents.items()))


def _check_header(rows: list[tuple[int, list[str]]]) -> None:
    """Refuse a first line with parents that is a header by its words, or by its first where no other has the rest."""
    for place, (line, names) in enumerate(rows):
        above = set(filter(None, names[1:]))
        if len(names) > 1 and is_header(names[:1]):
            recurs = any(above.intersection(others) for _, others in rows[place + 1 :])
            if is_header(above) or not recurs:
                raise PlanError(f"line {line} seems to name the columns; remove it, or write it below others")
        if above:
            return


def _check_name(name: str, column: int, line: int) -> None:
    try:
        Catalogue([name])
    except PlanError:
        what = "must be a name, neither empty nor with control characters"
        raise PlanError(f"line {line}, column {column + 1} {what}") from None


def _check_circles(lines: _Lines) -> None:
    ended: set[str] = set()
    for start in lines.parents:
        path, name = set[str](), start
        while name in lines.parents and name not in ended:
            if name in path:
                raise PlanError(f"line {lines.said[name]} closes a circle; every name must lead to a top")
            path.add(name)
            name = lines.parents[name]
        ended |= path


# ---- the names of a plan


@dataclass(frozen=True, slots=True)
class NameSource:
    """Names of items: ``items`` numbers, or the file ``catalogue``.

    Clients roll names up to their parents of the file ``taxonomy``, and drop those of the file ``leave_out`` and all
    below them.

    >>> import assocpriv as ap
    >>> items, names = ap.NameSource(items=1000).read(others="drop")
    >>> items, names.others
    (1000, 'drop')
    """

    items: int | None = None
    catalogue: Path | None = None
    taxonomy: Path | None = None
    leave_out: Path | None = None

    @property
    def paths(self) -> list[Path]:
        """The files to read."""
        return [path for path in (self.catalogue, self.taxonomy, self.leave_out) if path is not None]

    def read(self, others: str) -> tuple[int | Catalogue, Names]:
        """Return the names, or their number, and how clients make a transaction; ``others`` as of :class:`Names`.

        Raises:
            PlanError: no names are given, or a file cannot be read.
        """
        names = read_catalogue(self.catalogue) if self.catalogue is not None else self.items
        if names is None:
            raise PlanError("a plan needs names: a number of items or a catalogue")
        parents = read_taxonomy(self.taxonomy) if self.taxonomy is not None else ()
        dropped = () if self.leave_out is None else read_names(self.leave_out, "file of names to leave out")
        return names, Names(others=others, parents=parents, left_out=tuple(sorted(dropped)))


# ---- odd names


def normalized(name: str) -> str:
    """Return a name in Unicode form NFC, with single blanks inside and none around.

    >>> normalized(" Cafe\u0301  au lait")
    'Café au lait'
    """
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", name)).strip()


def folded(name: str) -> str:
    """Return a name without case, differences of Unicode form (NFKC) and blanks.

    >>> folded(" Gele\u0301e royale") == folded("GEL\u00c9E ROYALE")
    True
    """
    if name.isascii():  # most names: ten times as fast
        return "".join(name.lower().split())
    return _BLANKS.sub("", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()))


def twins(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return groups of names that are equal but for case, Unicode form (NFKC), blanks or zeros before digits.

    >>> twins(["Milk", "bread", "milk ", "007", "7"])
    (('007', '7'), ('Milk', 'milk '))
    """
    groups = defaultdict[str, set[str]](set)
    for name in names:
        groups[folded(name.lstrip("0") if name.isdecimal() else name)].add(name)
    return tuple(tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1)


@dataclass(frozen=True, slots=True)
class CatalogueCheck:
    """What is odd about a catalogue: names of another form than :func:`normalized`, and groups of :func:`twins`."""

    catalogue: Catalogue
    odd: tuple[str, ...]
    twins: tuple[tuple[str, ...], ...]


def check_catalogue(catalogue: Catalogue) -> CatalogueCheck:
    """Look for names in another form than NFC with single blanks, and for twins.

    >>> check_catalogue(Catalogue(["milk", "Milk"])).twins
    (('Milk', 'milk'),)
    """
    if check_type("catalogue", catalogue, Catalogue).is_numbered:
        return CatalogueCheck(catalogue, (), ())
    odd = tuple(name for name in catalogue if name != normalized(name))
    return CatalogueCheck(catalogue, odd, twins(catalogue))
