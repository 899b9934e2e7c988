"""Samples of baskets at hand: a plan for baskets like them, or a catalogue made of their items.

M is proposed where none is given, and what sampling to M loses of the sample is told. The sample's baskets may be
looked at; a catalogue is made of them, or they are held against one.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.transactions import read_transactions
from assocpriv.files.plans import check_catalogue, normalized
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.request import PlanWishes
from assocpriv.planning.transaction_size import (
    SamplingLoss,
    SizeRow,
    default_itemset_size,
    propose_transaction_size,
    sampling_loss,
)
from assocpriv.plans.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.names import Names
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.promise.errors import BasketError, PlanError, counted
from assocpriv.promise.numbers import check_range
from assocpriv.records.basket_files import ReadCounts, ReadOptions, stream_baskets
from assocpriv.records.baskets import Baskets, count_sizes, to_baskets, top_holders

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.promise.breaches import Breach
    from assocpriv.records.sources import Progress

PlanProgress = Callable[[str, int, int], None]


# ---- a plan


@dataclass(frozen=True, slots=True)
class ReadSample:
    """Baskets of a file, as a plan makes transactions of them, and what reading them met."""

    baskets: Baskets
    counts: ReadCounts

    @property
    def empty(self) -> int:
        """Baskets that came out empty."""
        return int((self.baskets.sizes == 0).sum())


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """A plan, the sample that it was made for, what each M would mean where that was to be chosen, and its loss."""

    plan: "Plan"
    sample: ReadSample | None = None
    size_rows: tuple[SizeRow, ...] = ()
    loss: SamplingLoss | None = None


def plan_for_sample(
    items: int | Catalogue,
    promise: "Breach",
    sample: tuple[Path, Mapping[str, Any]] | None,
    *,
    unknown: str = "error",
    transaction_size: int | None,
    progress: PlanProgress | None = None,
    **choices: Any,
) -> SamplePlan:
    """Return the plan with the least error for baskets like those of a sample.

    Args:
        items: their names, or their number.
        promise: the breach that no report may cause.
        sample: a file of baskets and what is said of its layout, as for ``read_baskets``; None for no sample.
        unknown: "error", or "drop" to leave out the sample's items that the plan does not have.
        transaction_size: M; by default the one proposed for the sample.
        progress: called with (stage, done, total).
        choices: ``names``, ``sizes``, ``reports``, ``code`` and all else that :func:`assocpriv.plan` takes.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        BasketError: a sample that cannot be read, or that has an item which the plan neither has nor drops.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> file = Path(mkdtemp(), "sample.csv")
    >>> shop = ap.generate_file(ap.QuestSettings(n_baskets=100, n_items=20), file, force=False)
    >>> made = ap.plan_for_sample(shop.catalogue, ap.Breach("5%", "50%"), (file, {}), transaction_size=2)
    >>> made.plan.n_items, len(made.sample.baskets)
    (20, 100)
    """
    choices["progress"] = partial(progress, "planning") if progress else None

    if sample is None:
        if transaction_size is None:
            raise PlanError("a sample must say which transaction size to plan for")
        return SamplePlan(make_plan(items, transaction_size, promise, **choices))
    rules: Names = choices.get("names") or Names()
    read = _read(sample, make_plan(items, 1, promise, code="none", names=rules), unknown, progress)
    rows: Sequence[SizeRow] = ()
    if transaction_size is None:
        rows = _size_rows(read.baskets, promise, choices, progress)
        transaction_size = next(row.transaction_size for row in rows if row.proposed)
    plan = make_plan(items, transaction_size, promise, **choices)
    return SamplePlan(plan, read, tuple(rows), sampling_loss(count_sizes(read.baskets), plan))


def _size_rows(
    baskets: Baskets, promise: "Breach", choices: dict[str, Any], progress: PlanProgress | None
) -> list[SizeRow]:
    sizes, largest = count_sizes(baskets), choices.get("itemset_size")
    holders = top_holders(baskets, min(largest or default_itemset_size(sizes), MAX_TRANSACTION_SIZE))
    shared = ("itemset_size", "reports", "pattern", "target", "reports_per_person")
    wishes = PlanWishes(promise=promise, **{name: choices[name] for name in shared if name in choices})
    comparing = partial(progress, "comparing sizes") if progress else None
    return propose_transaction_size(sizes, wishes, holders=holders, progress=comparing)


def _read(
    sample: tuple[Path, Mapping[str, Any]], plan: "Plan", unknown: str, progress: PlanProgress | None
) -> ReadSample:
    """Read baskets as a plan's transactions."""
    path, layout = sample
    reading = partial(progress, "reading") if progress else None
    options = ReadOptions(**layout, unknown=unknown, repeats="merge", empty="keep", progress=reading)
    transactions, counts = read_transactions(path, plan, options)
    return ReadSample(transactions, counts.read)


# ---- a catalogue


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
    progress: "Progress | None" = None,
) -> CatalogueDraft:
    """Return the names of items in baskets, files or data in memory, in one form and sorted.

    Args:
        sources: files, or what ``to_baskets`` takes.
        min_count: baskets that a name must be in, in any of the forms that become one name.
        layout: what is said of the layout of the files, as for ``read_baskets``.
        progress: called with (bytes read, bytes of the file), file by file.

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
    progress: "Progress | None" = None,
) -> CatalogueUse:
    """Hold baskets against a catalogue; arguments and errors are those of :func:`draft_catalogue`.

    Returns:
        How many ``baskets`` there are, items of them that are ``unknown``, and names that are ``unused``.

    >>> import assocpriv as ap
    >>> use = ap.try_catalogue(ap.Catalogue(["tea", "rye"]), [[["tea", "milk"], ["tea"]]])
    >>> use.baskets, use.unknown, use.unused
    (2, 1, 1)
    """
    total, counts = _counted(sources, layout, progress)
    known = catalogue.index_of
    unknown = sum(count for name, count in counts.items() if name not in known)
    return CatalogueUse(total, unknown, len(catalogue) - sum(name in known for name in counts))


def _counted(
    sources: Iterable[Any],
    layout: Mapping[str, Any] | None,
    progress: "Progress | None",
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


def _batches(source: Any, layout: Mapping[str, Any], progress: "Progress | None") -> Iterator[Baskets]:
    if not isinstance(source, str | PathLike):
        return iter([to_baskets(source, repeats="merge")])
    return stream_baskets(source, None, ReadOptions(**layout, repeats="merge", empty="keep", progress=progress))


def catalogue(*sources: Any, min_count: int = 1, progress: "Progress | None" = None, **layout: Any) -> Catalogue:
    """Make a catalogue of the names of items in baskets that may be looked at: it gets published with the plan.

    Names are put into Unicode form NFC with single blanks, so baskets that write them otherwise do not match it.

    Args:
        sources: files of baskets, or baskets in memory (see ``to_baskets``).
        min_count: baskets that a name must be in.
        progress: called with (bytes read, bytes of the file), file by file.
        layout: of the files, ``format``, ``separator``, ``header``, ``transaction_column`` and ``item_column``, as for
            :func:`assocpriv.read_baskets`.

    Returns:
        The names, sorted; ``write_catalogue`` writes them, a line each.

    Raises:
        BasketError: as :func:`read_baskets`; no item is in so many baskets.

    Warns:
        UserWarning: names that are equal but for case, Unicode form or blanks: how many groups, ``check_catalogue`` has
            the names.

    >>> import assocpriv as ap
    >>> list(ap.catalogue([["tea", "milk"], ["tea"]], min_count=2))
    ['tea']
    """

    draft = draft_catalogue(sources, min_count, layout, progress)
    if draft.twins:
        groups = counted(len(draft.twins), "group")
        warnings.warn(
            f"{groups} of names differ in case, Unicode form or blanks only; "
            "assocpriv.check_catalogue(…).twins has them",
            stacklevel=2,
        )
    return draft.catalogue
