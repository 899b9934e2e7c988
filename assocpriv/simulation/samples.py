"""Samples of baskets at hand: how large they are, or a catalogue made of their items or of a list of sales.

The sample's baskets may be looked at; a catalogue is made of them, or they are held against one.
"""

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.transactions import BasketCounts, read_transactions
from assocpriv.files.lists import is_header, rows_of
from assocpriv.files.plans import check_catalogue, normalized, read_text
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.names import Names
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import BasketError, check_type, counted, options_of
from assocpriv.promise.numbers import check_range
from assocpriv.records.basket_files import stream_baskets
from assocpriv.records.baskets import Baskets, named_baskets
from assocpriv.records.cells import MISSING_WORDS
from assocpriv.records.layout import KEEP, ReadOptions
from assocpriv.records.sources import is_file

if TYPE_CHECKING:
    from assocpriv.records.sources import Progress

_COUNT = re.compile("[0-9]{1,15}")
_SAMPLE = {"repeats": "merge", "empty": "keep"}  # neither is wrong where items are counted


# ---- sizes of baskets


def sample_sizes(
    source: Any,
    items: int | Iterable[str],
    names: Names | None = None,
    layout: str | None = None,
    progress: "Progress | None" = None,
    **reading: str,
) -> BasketCounts:
    """Return how large baskets like those to come are, and what was left out: items outside the catalogue.

    Args:
        source: a file of baskets, or what ``to_baskets`` takes.
        items: the plan's items, or their number.
        names: what becomes of a basket's names.
        layout: what is said of the layout of a file or table, as for ``read_baskets``.
        progress: called with (bytes read, bytes of the file).
        reading: ``incomplete``, as for ``read_baskets``.

    Raises:
        BasketError: a sample that cannot be read, or none of whose items is in the catalogue.
    """
    plan = make_plan(items, Breach("5%", "50%"), transaction_size=1, names=names or Names(), paper=True)
    options = options_of(ReadOptions, {"layout": layout, **_SAMPLE, "unknown": "drop", "progress": progress} | reading)
    if not is_file(source):
        options = replace(options, empty="error")
    counts = read_transactions(source, plan, options)[1]
    if not any(counts.sizes):
        raise BasketError("no basket of the sample holds an item of the catalogue; check that it is the right one")
    return counts


# ---- a catalogue


@dataclass(frozen=True, slots=True)
class CatalogueDraft:
    """A catalogue made of baskets.

    How many baskets there were, how many names were left out as too rare, how many changed when they were normalized,
    groups of names that people may take for one, and what share of all items counted are the catalogue's.
    """

    catalogue: Catalogue
    baskets: int
    rare: int
    rewritten: int
    twins: tuple[tuple[str, ...], ...] = field(repr=False)  # names of baskets
    share: float


@dataclass(frozen=True, slots=True)
class CatalogueUse:
    """Baskets held against a catalogue: how many there are, items not in it, and names of it in none of them."""

    baskets: int
    unknown: int
    unused: int


def draft_catalogue(
    sources: Iterable[Any],
    min_count: int = 1,
    layout: str | None = None,
    progress: "Progress | None" = None,
    *,
    best: int | None = None,
    **reading: str,
) -> CatalogueDraft:
    """Return the names of items in baskets, files or data in memory, in one form and sorted.

    Args:
        sources: files, or what ``to_baskets`` takes.
        min_count: baskets that a name must be in, in any of the forms that become one name.
        layout: what is said of the layout of the files and tables, as for ``read_baskets``.
        progress: called with (bytes read, bytes of the file), file by file.
        best: names that are in most baskets, at most so many; all by default.
        reading: ``incomplete``, as for ``read_baskets``.

    Returns:
        The ``catalogue``, how many ``baskets`` there were, how many names were too ``rare`` and how many
        ``rewritten``, and ``twins``, groups of names that people may take for one.

    Raises:
        BasketError: as ``read_baskets``; no item is in so many baskets, or more items are than a catalogue holds.

    >>> import assocpriv as ap
    >>> draft = ap.draft_catalogue([[["tea", "milk"], ["tea"]]], min_count=2)
    >>> list(draft.catalogue), draft.baskets, draft.rare
    (['tea'], 2, 1)
    """
    forms = dict[str, str]()
    options = options_of(ReadOptions, {"layout": layout, **_SAMPLE, "progress": progress} | reading)
    total, counts = _counted(sources, options, lambda name: forms.setdefault(name, normalized(name)))
    if not counts:
        raise BasketError("no basket holds an item; check that the files are the right ones")
    rewritten = sum(name != form for name, form in forms.items())
    return _draft(counts, min_count, best, total, rewritten)


def _draft(counts: Counter[str], min_count: int, best: int | None, baskets: int, rewritten: int) -> CatalogueDraft:
    """Return the catalogue of what is counted so often."""
    min_count = check_range("min_count", min_count, 1, 1 << 62)
    names = [name for name, count in counts.items() if count >= min_count]
    if not names:
        raise BasketError(f"no item is counted {min_count:,} times or more; lower min_count")
    if best is not None:
        names = sorted(names, key=lambda name: (-counts[name], name))[: check_range("best", best, 1, MAX_ITEMS)]
    if len(names) > MAX_ITEMS:
        raise BasketError(f"{len(names):,} items, a catalogue holds at most {MAX_ITEMS:,}; raise min_count")
    numbers = all(name.isascii() and name.isdigit() for name in names)
    # on line 1 of a file some names would be a header
    key = (lambda name: (int(name), name)) if numbers else (lambda name: (is_header([name]), name))
    catalogue = Catalogue(sorted(names, key=key))
    share = sum(counts[name] for name in names) / counts.total()
    return CatalogueDraft(
        catalogue, baskets, len(counts) - len(names), rewritten, check_catalogue(catalogue).twins, share
    )


def best_sold(sales: Any, best: int | None = None, min_count: int = 1) -> CatalogueDraft:
    """Return the names of a list of sales, or of the best sold items in it; no basket is needed for it.

    Args:
        sales: a CSV file, in each line a name and how many were sold (a first line without a digit in its second cell
            names columns), or a mapping from names to numbers.
        best: so many names at most, those sold most.
        min_count: how many of an item must have been sold.

    Returns:
        As :func:`draft_catalogue`, with no baskets; ``share`` is what share of all that was sold is theirs.

    Raises:
        PlanError: a file that cannot be read.
        BasketError: a line that is not of that form: it says which.

    >>> import assocpriv as ap
    >>> draft = ap.best_sold({"tea": 30, "milk": 60, "rye": 10}, best=2)
    >>> list(draft.catalogue), draft.share
    (['milk', 'tea'], 0.9)
    """
    rows = sales.items() if isinstance(sales, Mapping) else _sales_of(Path(sales))
    counts, rewritten = Counter[str](), 0
    for name, count in rows:
        counts[normalized(name)] += count
        rewritten += normalized(name) != name
    return _draft(counts, min_count, best, 0, rewritten)


def _sales_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the lines of a list of sales."""
    try:
        for place, (line, cells) in enumerate(rows_of(read_text(path, "list of sales"))):
            if len(cells) == 2 and cells[0] and _COUNT.fullmatch(cells[1]):
                yield cells[0], int(cells[1])
            elif place or len(cells) != 2 or re.search("[0-9]", cells[1]):  # no names of columns
                raise BasketError(f"{path}: line {line} must be a name and a whole number, as milk,1250")
    except csv.Error as error:
        raise BasketError(f"{path}: {error}") from None


def try_catalogue(
    catalogue: Catalogue,
    sources: Iterable[Any],
    layout: str | None = None,
    progress: "Progress | None" = None,
    **reading: str,
) -> CatalogueUse:
    """Hold baskets against a catalogue; arguments and errors are those of :func:`draft_catalogue`.

    Returns:
        How many ``baskets`` there are, items of them that are ``unknown``, and names that are ``unused``.

    >>> import assocpriv as ap
    >>> use = ap.try_catalogue(ap.Catalogue(["tea", "rye"]), [[["tea", "milk"], ["tea"]]])
    >>> use.baskets, use.unknown, use.unused
    (2, 1, 1)
    """
    options = options_of(ReadOptions, {"layout": layout, **_SAMPLE, "progress": progress} | reading)
    known = check_type("catalogue", catalogue, Catalogue).index_of
    total, counts = _counted(sources, options, catalogue=catalogue)
    unknown = sum(count for name, count in counts.items() if name not in known)
    return CatalogueUse(total, unknown, len(catalogue) - sum(name in known for name in counts))


def _counted(
    sources: Iterable[Any],
    options: ReadOptions,
    form: Callable[[str], str] = str,
    catalogue: Catalogue | None = None,
) -> tuple[int, Counter[str]]:
    """Return how many baskets there are, and how many hold each name in a form; several of one basket count once."""
    total, counts = 0, Counter[str]()
    if catalogue is not None and options.absent(catalogue) < MISSING_WORDS:  # some of these words are items
        options = replace(options, layout=replace(options.said, missing=KEEP))
    for baskets in _batches(list(sources), options):
        total += len(baskets)
        counts.update(_held(baskets, form))
    return total, counts


def _held(baskets: Baskets, form: Callable[[str], str]) -> dict[str, int]:
    items, place = np.unique(baskets.items[baskets.offsets[0] : baskets.offsets[-1]], return_inverse=True)
    names = [form(baskets.catalogue[item]) for item in items.tolist()]
    number = {name: count for count, name in enumerate(dict.fromkeys(names))}
    if len(number) < len(names):
        basket = np.repeat(np.arange(len(baskets)), np.diff(baskets.offsets))
        once = np.unique(basket * len(number) + np.array([number[name] for name in names])[place])
        place = once % len(number)
    return dict(zip(number, np.bincount(place, minlength=len(number)).tolist(), strict=True))


def _batches(sources: list[Any], options: ReadOptions) -> Iterator[Baskets]:
    paths = [each for each in sources if isinstance(each, str | PathLike)]
    held = [each for each in sources if not isinstance(each, str | PathLike)]
    yield from (named_baskets(each, None, options)[0] for each in held)
    if paths:
        yield from stream_baskets(paths, None, options)


def catalogue(
    *sources: Any,
    min_count: int = 1,
    layout: str | None = None,
    incomplete: str = "refuse",
    progress: "Progress | None" = None,
) -> Catalogue:
    """Make a catalogue of the names of items in baskets that may be looked at: it gets published with the plan.

    Names are put into Unicode form NFC with single blanks, so baskets that write them otherwise do not match it.

    Args:
        sources: files of baskets, or baskets in memory (see ``to_baskets``).
        min_count: baskets that a name must be in.
        layout, incomplete: as for :func:`assocpriv.read_baskets`.
        progress: called with (bytes read, bytes of the file), file by file.

    Returns:
        The names, sorted; ``write_catalogue`` writes them, a line each.

    Raises:
        BasketError: as :func:`read_baskets`; no item is in so many baskets.

    Warns:
        UserWarning: names that are equal but for case, Unicode form, blanks or leading zeros: how many groups,
            ``check_catalogue`` has the names.

    >>> import assocpriv as ap
    >>> list(ap.catalogue([["tea", "milk"], ["tea"]], min_count=2))
    ['tea']
    """

    draft = draft_catalogue(sources, min_count, layout, progress, incomplete=incomplete)
    if draft.twins:
        groups = counted(len(draft.twins), "group")
        warnings.warn(
            f"{groups} of names differ in case, Unicode form, blanks or leading zeros only; "
            "assocpriv.check_catalogue(…).twins has them",
            stacklevel=2,
        )
    return draft.catalogue
