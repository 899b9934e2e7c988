"""A catalogue made of baskets that may be looked at, or held against them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from assocpriv.files.names import check_catalogue, normalized
from assocpriv.plans.catalogue import MAX_ITEMS, Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.promise.numbers import check_range
from assocpriv.records.basket_files import ReadOptions, stream_baskets
from assocpriv.records.baskets import Baskets, to_baskets
from assocpriv.records.sources import Progress


@dataclass(frozen=True, slots=True)
class CatalogueDraft:
    """A catalogue made of baskets.

    How many baskets there were, how many names were too rare, how many changed when they were normalized, and groups of
    names that people may take for one.
    """

    catalogue: Catalogue
    baskets: int
    rare: int
    rewritten: int
    twins: tuple[tuple[str, ...], ...] = field(repr=False)  # names of baskets


@dataclass(frozen=True, slots=True)
class CatalogueUse:
    """Baskets held against a catalogue: how many there are, items not in it, and names of it in none of them."""

    baskets: int
    unknown: int
    unused: int


def draft_catalogue(
    sources: Iterable[Any],
    min_count: int = 1,
    layout: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> CatalogueDraft:
    """Return the names of items in baskets, files or data in memory, in one form and sorted.

    Args:
        sources: files, or what ``to_baskets`` takes.
        min_count: baskets that a name must be in, in any of the forms that become one name.
        layout: what is said of the layout of the files, as for ``read_baskets``.
        progress: called with (bytes read, bytes of the file), file by file.

    Raises:
        BasketError: as ``read_baskets``; no item is in so many baskets.
    """
    min_count = check_range("min_count", min_count, 1, 1 << 62)
    forms = dict[str, str]()
    total, counts = _counted(sources, layout, progress, lambda name: forms.setdefault(name, normalized(name)))
    if not counts:
        raise BasketError("no basket holds an item; check that the files are the right ones")
    names = [name for name, count in counts.items() if count >= min_count]
    if not names:
        raise BasketError(f"no item is in {min_count:,} baskets or more; lower min_count (--min-count)")
    if len(names) > MAX_ITEMS:
        raise BasketError(
            f"{len(names):,} items, a catalogue holds at most {MAX_ITEMS:,}; raise min_count (--min-count)"
        )
    numbers = all(name.isascii() and name.isdigit() for name in names)
    catalogue = Catalogue(sorted(names, key=(lambda name: (int(name), name)) if numbers else None))
    rewritten = sum(name != form for name, form in forms.items())
    return CatalogueDraft(catalogue, total, len(counts) - len(names), rewritten, check_catalogue(catalogue).twins)


def try_catalogue(
    catalogue: Catalogue,
    sources: Iterable[Any],
    layout: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> CatalogueUse:
    """Hold baskets against a catalogue; arguments and errors are those of :func:`draft_catalogue`."""
    total, counts = _counted(sources, layout, progress)
    known = catalogue.index_of
    unknown = sum(count for name, count in counts.items() if name not in known)
    return CatalogueUse(total, unknown, len(catalogue) - sum(name in known for name in counts))


def _counted(
    sources: Iterable[Any],
    layout: Mapping[str, Any] | None,
    progress: Progress | None,
    form: Callable[[str], str] = str,
) -> tuple[int, Counter[str]]:
    """Return how many baskets there are, and how many hold each name in a form; several of one basket count once."""
    total, counts = 0, Counter[str]()
    for source in sources:
        for baskets in _batches(source, layout or {}, progress):
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


def _batches(source: Any, layout: Mapping[str, Any], progress: Progress | None) -> Iterator[Baskets]:
    if not isinstance(source, str | PathLike):
        return iter([to_baskets(source, repeats="merge")])
    return stream_baskets(source, None, ReadOptions(**layout, repeats="merge", empty="keep", progress=progress))
