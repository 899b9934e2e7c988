"""Samples of raw baskets: their sizes, catalogues of their items or of a list of sales, and tests of a catalogue.

The analyst may look at these baskets, in contrast to those of the collection.
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

from assocpriv.client.baskets.transactions import BasketCounts, read_transactions
from assocpriv.files.plan_files import check_catalogue, is_header, normalize_name, read_rows, read_text
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import BasketError, build_options, check_type, pluralize
from assocpriv.guarantees.exact_numbers import check_range
from assocpriv.planning.basket_planner import make_plan
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue, Names
from assocpriv.records.basket_files import stream_baskets
from assocpriv.records.baskets import Baskets, named_baskets
from assocpriv.records.cells import MISSING_WORDS
from assocpriv.records.layout import KEEP, ReadOptions

if TYPE_CHECKING:
    from assocpriv.records.basket_sources import Progress

_COUNT = re.compile("[0-9]{1,15}")
_SAMPLE = {"repeats": "merge", "empty": "keep"}  # both are valid where items are counted


# ---- sizes of baskets


def sample_sizes(
    source: Any,
    items: int | Iterable[str],
    names: Names | None = None,
    layout: str | None = None,
    progress: "Progress | None" = None,
    incomplete: str = "refuse",
) -> BasketCounts:
    """Return the basket sizes of a sample, and counts of items outside the catalogue.

    Args:
        source: A file of baskets, or data that ``to_baskets`` takes.
        items: The plan's items, or their number.
        names: The handling of a basket's names.
        layout: The layout of a file or table, as for ``read_baskets``.
        progress: Called with (bytes read, bytes of the file).
        incomplete: As for ``read_baskets``.

    Returns:
        The counts: ``sizes`` by number of items, and ``read``, what was read and dropped.

    Raises:
        BasketError: A sample that cannot be read, or without any item of the catalogue.
    """
    plan = make_plan(items, Guarantee("5%", "50%"), transaction_size=1, names=names or Names(), paper=True)
    options = replace(_sample_options(layout, progress, incomplete), unknown="drop")
    counts = read_transactions(source, plan, options)[1]
    if not any(counts.sizes):
        raise BasketError("no basket of the sample has an item of the catalogue; check that it is the right catalogue")
    return counts


# ---- a catalogue


@dataclass(frozen=True, slots=True)
class CatalogueDraft:
    """A catalogue made from baskets or sales.

    Attributes:
        catalogue: the catalogue.
        baskets: number of baskets.
        rare: number of names left out as too rare.
        rewritten: number of names changed by normalization.
        near_duplicates: groups of names that people may confuse.
        share: the catalogue's share of all counted items.
    """

    catalogue: Catalogue
    baskets: int
    rare: int
    rewritten: int
    near_duplicates: tuple[tuple[str, ...], ...] = field(repr=False)
    share: float


@dataclass(frozen=True, slots=True)
class CatalogueUse:
    """Baskets compared with a catalogue.

    Attributes:
        baskets: Number of baskets.
        unknown: Number of items in baskets that are not in the catalogue.
        unused: Number of names of the catalogue that are in no basket.
    """

    baskets: int
    unknown: int
    unused: int


def draft_catalogue(
    sources: Iterable[Any] = (),
    min_count: int = 1,
    layout: str | None = None,
    progress: "Progress | None" = None,
    *,
    best: int | None = None,
    sales: "Mapping[str, int] | str | Path | None" = None,
    incomplete: str = "refuse",
) -> CatalogueDraft:
    """Return a catalogue of the normalized and sorted item names of baskets, or of a list of sales.

    Args:
        sources: Files, or data that ``to_baskets`` takes.
        min_count: Minimum number of baskets with a name, counting all forms that become one name; or number sold.
        layout: The layout of the files and tables, as for ``read_baskets``.
        progress: Called with (bytes read, bytes of the file) for each file.
        best: Maximum number of names, those in most baskets or sold most; all by default.
        sales: Instead of baskets, a CSV file with a name and a number sold per line (a first line without a digit in
            its second cell is a header), or a mapping from names to numbers.
        incomplete: As for ``read_baskets``.

    Returns:
        The ``catalogue``, the number of ``baskets``, the numbers of names that were too ``rare`` or ``rewritten``,
        ``near_duplicates``, groups of names that people may confuse, and ``share``, the catalogue's share of all items.

    Raises:
        BasketError: As ``read_baskets``; no item is in ``min_count`` baskets, or more items than a catalogue can hold;
            or a line of a list of sales with another form, with its number.
        PlanError: A list of sales that cannot be read.

    >>> import assocpriv as ap
    >>> draft = ap.catalogues.draft_catalogue([[["tea", "milk"], ["tea"]]], min_count=2)
    >>> list(draft.catalogue), draft.baskets, draft.rare
    (['tea'], 2, 1)
    >>> draft = ap.catalogues.draft_catalogue(sales={"tea": 30, "milk": 60, "rye": 10}, best=2)
    >>> list(draft.catalogue), draft.share
    (['milk', 'tea'], 0.9)
    """
    if sales is not None:
        return _of_sales(sales, best, min_count)
    forms = dict[str, str]()
    options = _sample_options(layout, progress, incomplete)
    total, counts = _counted(sources, options, lambda name: forms.setdefault(name, normalize_name(name)))
    if not counts:
        raise BasketError("no basket has an item; check that the files are the right ones")
    return _draft(counts, min_count, best, total, sum(name != form for name, form in forms.items()))


def _draft(counts: Counter[str], min_count: int, best: int | None, baskets: int, rewritten: int) -> CatalogueDraft:
    """Return the catalogue of names with at least ``min_count`` counts."""
    min_count = check_range("min_count", min_count, 1, 1 << 62)
    names = [name for name, count in counts.items() if count >= min_count]
    if not names:
        raise BasketError(f"no item has a count of {min_count:,} or more; lower min_count")
    if best is not None:
        names = sorted(names, key=lambda name: (-counts[name], name))[: check_range("best", best, 1, MAX_ITEMS)]
    if len(names) > MAX_ITEMS:
        raise BasketError(f"{len(names):,} items are more than the {MAX_ITEMS:,} of a catalogue; raise min_count")
    numbers = all(name.isascii() and name.isdigit() for name in names)
    # some names would be read as a header on line 1 of a file
    key = (lambda name: (int(name), name)) if numbers else (lambda name: (is_header([name]), name))
    catalogue = Catalogue(sorted(names, key=key))
    share = sum(counts[name] for name in names) / counts.total()
    return CatalogueDraft(
        catalogue, baskets, len(counts) - len(names), rewritten, check_catalogue(catalogue).near_duplicates, share
    )


def _sample_options(layout: str | None, progress: "Progress | None", incomplete: str) -> ReadOptions:
    return build_options(ReadOptions, {"layout": layout, **_SAMPLE, "progress": progress, "incomplete": incomplete})


def _of_sales(sales: "Mapping[str, int] | str | Path", best: int | None, min_count: int) -> CatalogueDraft:
    rows = sales.items() if isinstance(sales, Mapping) else _sales_of(Path(sales))
    counts, rewritten = Counter[str](), 0
    for name, count in rows:
        counts[normalize_name(name)] += count
        rewritten += normalize_name(name) != name
    return _draft(counts, min_count, best, 0, rewritten)


def _sales_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the lines of a list of sales."""
    try:
        for place, (line, cells) in enumerate(read_rows(read_text(path, "list of sales"))):
            if len(cells) == 2 and cells[0] and _COUNT.fullmatch(cells[1]):
                yield cells[0], int(cells[1])
            elif place or len(cells) != 2 or re.search("[0-9]", cells[1]):  # not a header
                raise BasketError(f"{path}: line {line} must be a name and a whole number, as milk,1250")
    except csv.Error as error:
        raise BasketError(f"{path}: {error}") from None


def try_catalogue(
    catalogue: Catalogue,
    sources: Iterable[Any],
    layout: str | None = None,
    progress: "Progress | None" = None,
    incomplete: str = "refuse",
) -> CatalogueUse:
    """Compare baskets with a catalogue.

    Args:
        catalogue: The catalogue.
        sources: Files, or data that ``to_baskets`` takes.
        layout, progress, incomplete: As for :func:`draft_catalogue`.

    Returns:
        The numbers of ``baskets``, of ``unknown`` items in them, and of ``unused`` names of the catalogue.

    Raises:
        BasketError: As ``read_baskets``.
        TypeError: No catalogue.

    >>> import assocpriv as ap
    >>> use = ap.catalogues.try_catalogue(ap.Catalogue(["tea", "rye"]), [[["tea", "milk"], ["tea"]]])
    >>> use.baskets, use.unknown, use.unused
    (2, 1, 1)
    """
    options = _sample_options(layout, progress, incomplete)
    known = check_type("catalogue", catalogue, Catalogue).index_of
    total, counts = _counted(sources, options, catalogue=catalogue)
    unknown = sum(count for name, count in counts.items() if name not in known)
    return CatalogueUse(total, unknown, len(catalogue) - sum(name in known for name in counts))


def _counted(
    sources: Iterable[Any], options: ReadOptions, form: Callable[[str], str] = str, catalogue: Catalogue | None = None
) -> tuple[int, Counter[str]]:
    """Return the number of baskets, and the number with each name; several forms in one basket count once."""
    total, counts = 0, Counter[str]()
    if catalogue is not None and options.missing_words(catalogue) < MISSING_WORDS:  # some of these words are items
        options = replace(options, layout=replace(options.requested_layout, missing=KEEP))
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
    best: int | None = None,
    sales: "Mapping[str, int] | str | Path | None" = None,
    layout: str | None = None,
    incomplete: str = "refuse",
    progress: "Progress | None" = None,
) -> Catalogue:
    """Return a catalogue of the item names in raw baskets, or in a list of sales; it is published with the plan.

    Names are converted to Unicode form NFC with single blanks, so baskets that write them in another way do not match.

    Args:
        sources: Files of baskets, or baskets in memory (see ``to_baskets``).
        min_count, best, sales: As for :func:`assocpriv.catalogues.draft_catalogue`, which also returns counts.
        layout, incomplete: As for :func:`assocpriv.read_baskets`.
        progress: Called with (bytes read, bytes of the file) for each file.

    Returns:
        The sorted names; ``write_catalogue`` writes them, one per line.

    Raises:
        BasketError: As :func:`read_baskets`; no item is in ``min_count`` baskets.

    Warns:
        UserWarning: names that are equal but for case, Unicode form, blanks or leading zeros: how many groups,
            ``check_catalogue`` has the names.

    >>> import assocpriv as ap
    >>> list(ap.catalogue([["tea", "milk"], ["tea"]], min_count=2))
    ['tea']
    """

    draft = draft_catalogue(sources, min_count, layout, progress, best=best, sales=sales, incomplete=incomplete)
    if draft.near_duplicates:
        groups = pluralize(len(draft.near_duplicates), "group")
        warnings.warn(
            f"{groups} of names differ in case, Unicode form, blanks or leading zeros only; "
            "assocpriv.catalogues.check_catalogue(…).near_duplicates has them",
            stacklevel=2,
        )
    return draft.catalogue
