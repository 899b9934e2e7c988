"""Map names to a plan's catalogue: raw baskets become transactions, before anything is randomized.

This module sees raw items. Its errors contain none: they name a basket, a position in it and a count.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import UNKNOWN, Catalogue
from assocpriv.records.basket_files import BasketStream, Paths, ReadCounts, read_baskets, stream_baskets
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, assemble_in_order, count_sizes, named_baskets
from assocpriv.records.cells import Cells, check_choices, drop_unknown_items
from assocpriv.records.layout import STRICT, ReadOptions

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan

_LOG = logging.getLogger("assocpriv")


class NameReader:
    """A plan's mapping of names to items, for any number of batches of baskets and for several threads.

    ``names`` is a catalogue of the names that baskets may hold. ``unknown`` is the treatment of others: ``error``, or
    ``drop`` if that is requested or the plan drops them.
    """

    def __init__(self, plan: "Plan", *, unknown: str = "error") -> None:
        check_choices(unknown=unknown)
        self._rules, self._catalogue = plan.names, plan.catalogue
        self.unknown = "drop" if plan.names.unlisted == "drop" else unknown
        self.names = self._catalogue
        if not plan.names.are_plain:
            known, roll_up = self._catalogue.index_of, plan.names.roll_up
            below = (name for name in plan.names.parent_of if name not in known and roll_up(name, known) != UNKNOWN)
            self.names = Catalogue(dict.fromkeys([*self._catalogue, *below, *plan.names.left_out]))
            self._number_of_name = self._numbers_of(self.names)

    def transactions(self, baskets: Baskets) -> tuple[Baskets, int]:
        """Return the transactions of raw baskets, over the plan's catalogue, and the number of dropped names."""
        if self._rules.are_plain:
            return baskets.aligned(self._catalogue, unknown=self.unknown)
        items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
        outside = len(items) and (items.min() < 0 or items.max() >= len(baskets.catalogue))
        if outside or (baskets.sizes < 0).any():  # numpy's own error would show the id
            raise BasketError("ids must lie in the baskets' catalogue and offsets must not fall; use Baskets.from_sets")
        if self._catalogue == baskets.catalogue and not self._rules.left_out:
            return baskets, 0
        if baskets.catalogue is self.names:
            numbers = self._number_of_name
        else:
            numbers = np.full(len(baskets.catalogue), UNKNOWN, dtype=np.int64)
            used = np.flatnonzero(np.bincount(items, minlength=len(numbers)))
            numbers[used] = self._numbers_of([baskets.catalogue[item] for item in used.tolist()])
        ids = numbers[items]
        if self.unknown == "error":
            drop_unknown_items(Cells(baskets.sizes, ids, None), np.where(ids == UNKNOWN, -1, 0), "error")
        kept = drop_unknown_items(Cells(baskets.sizes, ids, None), ids, "drop")
        return assemble_in_order(kept, self._catalogue, "merge"), len(ids) - len(kept.codes)

    def _numbers_of(self, names: Collection[str]) -> NDArray[np.int64]:
        """Return for each name its item, LEFT_OUT or UNKNOWN."""
        known = self._catalogue.index_of
        return np.fromiter((self._rules.roll_up(name, known) for name in names), np.int64, len(names))


def align_baskets(baskets: Baskets, plan: "Plan", *, unknown: str = "error") -> tuple[Baskets, int]:
    """Return a plan's transactions of raw baskets, over any catalogue (names are compared), and the number of dropped
    names.

    Raises:
        BasketError: a name that the plan neither has nor drops (``unknown`` as in :class:`NameReader`).
    """
    return NameReader(plan, unknown=unknown).transactions(baskets)


def transactions_of_many(baskets: Any, plan: "Plan", options: ReadOptions = STRICT) -> tuple[Baskets, int]:
    """Return the result of :func:`align_baskets` for :class:`Baskets`, sets or lists of names, or a table.

    A repeated name that is unknown and dropped is no error.

    Raises:
        BasketError: a name that the plan neither has nor drops, a repeated or an invalid one.
        TypeError: no baskets.
    """
    reader = NameReader(plan, unknown=options.unknown)
    named, unnamed = named_baskets(baskets, reader.names, replace(options, unknown=reader.unknown))
    transactions, dropped = reader.transactions(named)
    return transactions, unnamed + dropped


def stream_transactions(paths: Paths, plan: "Plan", options: ReadOptions = STRICT) -> BasketStream:
    """Read files of baskets batch by batch as a plan's transactions, over its catalogue, on all cores."""
    reader = NameReader(plan, unknown=options.unknown)
    then = None if plan.names.are_plain else reader.transactions
    return stream_baskets(paths, reader.names, replace(options, unknown=reader.unknown), then)


@dataclass(frozen=True, slots=True)
class BasketCounts:
    """Counts of baskets that became a plan's transactions: what was dropped, and how many have each size.

    Attributes:
        read: what was read, and what was dropped while reading.
        sizes: number of reported baskets by number of items, after the plan's mapping; they determine the truncation
            loss (planning/expected_error.py).
        people: number of persons; None if each basket counts as another person's.
    """

    read: ReadCounts
    sizes: Counter[int]
    people: int | None = None

    @property
    def reported(self) -> int:
        """Number of reported baskets."""
        return self.sizes.total()

    @property
    def empty(self) -> int:
        """Number of baskets that became empty."""
        return self.sizes[0]


def transactions_of(
    baskets: Any, plan: "Plan", options: ReadOptions = STRICT
) -> tuple[Iterable[Baskets], Callable[[], ReadCounts]]:
    """Return a plan's transactions of baskets in a file or in memory, in batches, and a function that counts what was
    read.

    Raises:
        BasketError: baskets that do not fit the plan; after the last batch, if none of the items is in the catalogue
            (the log warns if most are not).
    """
    if is_file(baskets):
        stream = stream_transactions(baskets, plan, options)
        return _checked(stream, lambda: stream.counts, plan, options), lambda: stream.counts
    made, dropped = transactions_of_many(baskets, plan, options)
    counts = ReadCounts(len(made), dropped, 0, 0)
    return _checked([made], lambda: counts, plan, options), lambda: counts


def _checked(
    batches: Iterable[Baskets], read: Callable[[], ReadCounts], plan: "Plan", options: ReadOptions
) -> Iterator[Baskets]:
    """Yield batches, and check after the last one whether their items are in the catalogue."""
    known = 0
    for batch in batches:
        known += int(batch.offsets[-1] - batch.offsets[0])
        yield batch
    _check_known(known, read().unknown_dropped, plan, options)


def _check_known(known: int, dropped: int, plan: "Plan", options: ReadOptions) -> None:
    """Refuse if ``unknown="drop"`` leaves no item, and warn if it leaves few; a plan's own rules may drop any."""
    if options.unknown == "error" or plan.names.unlisted == "drop":
        return
    check = "compare the spelling of names with the catalogue, and check the layout"
    if dropped and not known:
        raise BasketError(f"none of the {dropped:,} items is in the catalogue of {len(plan.catalogue):,}; {check}")
    if dropped > known and plan.names.are_plain:  # with a roll-up, several names become one item
        _LOG.warning("%s of %s items are not in the catalogue and were dropped; %s", dropped, dropped + known, check)


def read_transactions(baskets: Any, plan: "Plan", options: ReadOptions = STRICT) -> tuple[Baskets, BasketCounts]:
    """Return all of a plan's transactions at once, as :func:`transactions_of`, and their counts.

    Names that the plan drops count as unknown.
    """
    if not is_file(baskets):
        [transactions], counts = transactions_of(baskets, plan, options)
        read = counts()
    else:
        reader = NameReader(plan, unknown=options.unknown)
        raw, read = read_baskets(baskets, reader.names, replace(options, unknown=reader.unknown))
        transactions, dropped = reader.transactions(raw)
        read = replace(read, unknown_dropped=read.unknown_dropped + dropped)
        _check_known(len(transactions.items), read.unknown_dropped, plan, options)
    return transactions, BasketCounts(read, count_sizes(transactions))
