"""A plan's view applied: raw baskets -> transactions over its catalogue, before anything is randomized.

This module sees raw items. Nothing it raises contains one: errors name a basket, a position in it and a count.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import LEFT_OUT, UNKNOWN, View
from assocpriv.promise.errors import BasketError
from assocpriv.records.basket_files import STRICT, BasketStream, ReadCounts, ReadOptions, read_baskets, stream_baskets
from assocpriv.records.baskets import Baskets, assemble_in_order, count_sizes, named_baskets
from assocpriv.records.cells import Cells, check_choices, ordinal, without_unknown
from assocpriv.records.sources import is_file

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

_HELD_BYTES = 1 << 22  # of the tables that tell who holds which itemset, to stay in a cache
_LEAST_BASKETS = 64
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # halves of pairs, as bytes become that are no UTF-8


class Viewer:
    """A plan's view, ready for any number of batches of baskets and for several threads.

    ``names`` are those that baskets may hold, as a catalogue to read them with; None where any name may stand.
    ``unknown`` is what becomes of others: ``error``, or ``drop`` where that is asked for or the view drops them.
    """

    def __init__(self, plan: "Plan", *, unknown: str = "error") -> None:
        check_choices(unknown=unknown)
        view = plan.view
        self._view, self._catalogue = view, plan.catalogue
        self._vocabulary = view.vocabulary(plan.catalogue)
        self.unknown = "drop" if view.others == "drop" else unknown
        self.names = self._vocabulary
        if self._vocabulary is not None and (view.parents or view.left_out):
            known = self._vocabulary.index_of
            below = (name for name in view.parent_of if name not in known and view.roll_up(name, known) != UNKNOWN)
            self.names = Catalogue(dict.fromkeys([*self._vocabulary, *below, *view.left_out]))
            self._number_of_name = self._numbers_of(self.names)

    def view(self, baskets: Baskets) -> tuple[Baskets, int]:
        """Return the transactions of raw baskets, over the plan's catalogue, and how many names were dropped."""
        if self._view.is_plain:
            return baskets.aligned(self._catalogue, unknown=self.unknown)
        rolled, dropped = self._rolled_up(baskets)
        return _ENTRIES_OF_MANY[self._view.kind](self, rolled), dropped

    def _bucket(self, rolled: Baskets) -> Baskets:
        buckets = np.searchsorted(self._view.bounds, rolled.sizes, side="right") - 1
        return Baskets(self._catalogue, np.arange(len(rolled) + 1, dtype=np.int64), buckets.astype(np.int64))

    def _numbers_of(self, names: Collection[str]) -> NDArray[np.int64]:
        """Return the number of the vocabulary's name that each name leads to, LEFT_OUT or UNKNOWN."""
        known = self._vocabulary.index_of if self._vocabulary is not None else {}
        return np.fromiter((self._view.roll_up(name, known) for name in names), np.int64, len(names))

    def _rolled_up(self, baskets: Baskets) -> tuple[Baskets, int]:
        """Return baskets of the vocabulary's names (of any, where any count), and how many names were dropped."""
        items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
        outside = len(items) and (items.min() < 0 or items.max() >= len(baskets.catalogue))
        if outside or (baskets.sizes < 0).any():  # numpy's own error would show the id
            raise BasketError("ids must lie in the baskets' catalogue and offsets must not fall; use Baskets.from_sets")
        catalogue = baskets.catalogue if self._vocabulary is None else self._vocabulary
        if catalogue == baskets.catalogue and not self._view.left_out:
            return baskets, 0
        if baskets.catalogue is self.names:
            numbers = self._number_of_name
        else:
            numbers = np.full(len(baskets.catalogue), UNKNOWN, dtype=np.int64)
            used = np.flatnonzero(np.bincount(items, minlength=len(numbers)))
            numbers[used] = self._numbers_of([baskets.catalogue[item] for item in used.tolist()])
        ids = numbers[items]
        if self._vocabulary is None:
            ids = np.where(ids == LEFT_OUT, LEFT_OUT, items)
        elif self.unknown == "error":
            without_unknown(Cells(baskets.sizes, ids, None), np.where(ids == UNKNOWN, -1, 0), "error")
        kept = without_unknown(Cells(baskets.sizes, ids, None), ids, "drop")
        return assemble_in_order(kept, catalogue, "merge"), len(ids) - len(kept.codes)

    def _whole_itemsets(self, baskets: Baskets) -> Baskets:
        """Return, of baskets of the vocabulary's names, which itemsets each holds whole."""
        assert self._vocabulary is not None
        index = self._vocabulary.index_of
        itemsets = [[index[name] for name in names] for names in self._view.itemsets]
        width = len(self._vocabulary) + len(itemsets)
        step = max(_LEAST_BASKETS, _HELD_BYTES // width)
        parts = [_held(baskets[start : start + step], itemsets) for start in range(0, len(baskets), step)]
        sizes, items = zip(*parts, strict=True) if parts else ((), ())
        none = np.empty(0, dtype=np.int64)
        offsets = np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int64)
        return Baskets(self._catalogue, offsets, np.concatenate([none, *items]))


_ENTRIES_OF_MANY: dict[str, Callable[[Viewer, Baskets], Baskets]] = {
    "items": lambda _viewer, rolled: rolled,
    "itemsets": Viewer._whole_itemsets,
    "sizes": Viewer._bucket,
}


def _held(baskets: Baskets, itemsets: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many itemsets each basket holds whole, int64 (n,), and which, one basket after the other."""
    present = np.zeros((len(baskets.catalogue), len(baskets)), dtype=np.bool_)
    rows = np.repeat(np.arange(len(baskets)), baskets.sizes)
    present[baskets.items[baskets.offsets[0] : baskets.offsets[-1]], rows] = True
    held = np.empty((len(itemsets), len(baskets)), dtype=np.bool_)
    for number, names in enumerate(itemsets):
        np.logical_and.reduce(present[names], axis=0, out=held[number])
    by_basket = np.ascontiguousarray(held.T)
    places = np.flatnonzero(by_basket)
    sizes = np.count_nonzero(by_basket, axis=1)
    places -= np.repeat(np.arange(len(baskets)) * len(itemsets), sizes)
    return sizes, places


def apply_view(baskets: Baskets, plan: "Plan", *, unknown: str = "error") -> tuple[Baskets, int]:
    """Return a plan's transactions of raw baskets, over any catalogue (names decide), and how many names were dropped.

    Raises:
        BasketError: a name that the plan neither knows nor lets be dropped (``unknown`` as of :class:`Viewer`).
    """
    return Viewer(plan, unknown=unknown).view(baskets)


def view_baskets(
    baskets: Any,
    plan: "Plan",
    *,
    unknown: str = "error",
    repeats: str = "error",
    table: Mapping[str, Any] | None = None,
) -> tuple[Baskets, int]:
    """Return what :func:`apply_view` does, of :class:`Baskets`, sets or lists of names, or a table.

    ``repeats`` is ``error``, or ``merge`` to count a name once that a basket repeats; repeats of a name that is dropped
    as not known do no harm. ``table`` is what is said of a table: ``format``, ``transaction_column``, ``item_column``.

    Raises:
        BasketError: a name that the plan neither knows nor lets be dropped, a repeated or an unusable one.
        TypeError: no baskets.
    """
    viewer = Viewer(plan, unknown=unknown)
    return viewer.view(named_baskets(baskets, viewer.names, unknown=viewer.unknown, repeats=repeats, table=table))


def view_transaction(names: Collection[str | int], plan: "Plan") -> list[int]:
    """Return the items of a plan's catalogue that one basket comes to, by increasing id.

    Its names (an int 7 is the name "7") are distinct; only one that is not known and dropped may be repeated.

    Raises:
        BasketError: a name that the plan neither knows nor lets be dropped, a repeated or an unusable one.
        TypeError: an item that is no name.
    """
    view = plan.view
    vocabulary = view.vocabulary(plan.catalogue)
    listed = [_name_of(name, position) for position, name in enumerate(names, 1)]
    known = vocabulary.index_of if vocabulary is not None else {}
    numbers = [view.roll_up(name, known) for name in listed]
    if view.any_name:
        numbers = [place if number == UNKNOWN else number for place, number in enumerate(numbers)]
    known_names = [name for name, number in zip(listed, numbers, strict=True) if number != UNKNOWN]
    if len(set(known_names)) != len(known_names):
        raise BasketError("the basket repeats an item; a basket is a set; name it once")
    if UNKNOWN in numbers and view.others == "error":
        raise BasketError(
            f"{ordinal(numbers.index(UNKNOWN) + 1)} item of the basket is not in the plan's catalogue; leave it out"
        )
    return _ENTRIES_OF_ONE[view.kind](view, {number for number in numbers if number >= 0}, known)


def _whole_itemsets(view: View, names: set[int], known: Mapping[str, int]) -> list[int]:
    return [entry for entry, whole in enumerate(view.itemsets) if names.issuperset(known[name] for name in whole)]


# of the names of one basket, by number in the vocabulary, rolled up
_ENTRIES_OF_ONE: dict[str, Callable[[View, set[int], Mapping[str, int]], list[int]]] = {
    "items": lambda _view, names, _known: sorted(names),
    "itemsets": _whole_itemsets,
    "sizes": lambda view, names, _known: [sum(bound <= len(names) for bound in view.bounds) - 1],
}


def _name_of(item: object, position: int) -> str:
    if isinstance(item, bool) or not isinstance(item, str | int | np.integer):
        raise TypeError(f"{ordinal(position)} item must be a name (text or int), got a {type(item).__name__}")
    name = str(item).strip()
    if not name or _CONTROL.search(name):
        where = f"{ordinal(position)} item of the basket"
        why = "is not UTF-8 text" if _SURROGATE.search(name) else "is empty or has control characters"
        raise BasketError(f"{where} {why}; names must be plain text")
    return name


def stream_transactions(path: str | PathLike[str], plan: "Plan", options: ReadOptions = STRICT) -> BasketStream:
    """Read a file of baskets batch by batch as a plan's transactions, over its catalogue; on all cores."""
    viewer = Viewer(plan, unknown=options.unknown)
    then = None if plan.view.is_plain else viewer.view
    return stream_baskets(path, viewer.names, replace(options, unknown=viewer.unknown), then)


@dataclass(frozen=True, slots=True)
class BasketCounts:
    """What baskets come to as a plan's transactions: what was left out of them, and how many hold how many items.

    ``sizes`` are of what the plan's view makes of baskets; they tell what sampling loses (planning/transaction_size).
    """

    read: ReadCounts
    sizes: Counter[int]

    @property
    def empty(self) -> int:
        """Baskets that came out empty."""
        return self.sizes[0]


def transactions_of(
    baskets: Any, plan: "Plan", options: ReadOptions = STRICT
) -> tuple[Iterable[Baskets], Callable[[], ReadCounts]]:
    """Return a plan's transactions of baskets in a file or in memory, batch by batch, and who counts what was read.

    Raises:
        BasketError: baskets that do not fit the plan; options that say nothing of baskets in memory.
    """
    if is_file(baskets):
        stream = stream_transactions(baskets, plan, options)
        return stream, lambda: stream.counts
    if (options.separator, options.header, options.empty) != (None, None, "error"):
        raise BasketError("separator, header and empty are said of files; leave them out for baskets in memory")
    table = {name: getattr(options, name) for name in ("format", "transaction_column", "item_column")}
    made, dropped = view_baskets(baskets, plan, unknown=options.unknown, repeats=options.repeats, table=table)
    return [made], lambda: ReadCounts(len(made), dropped, 0, 0)


def read_transactions(baskets: Any, plan: "Plan", options: ReadOptions = STRICT) -> tuple[Baskets, BasketCounts]:
    """Return all of a plan's transactions at once, as :func:`transactions_of`, and what they came to.

    What the plan's view drops counts as unknown.
    """
    if not is_file(baskets):
        [transactions], counts = transactions_of(baskets, plan, options)
        read = counts()
    else:
        viewer = Viewer(plan, unknown=options.unknown)
        raw, read = read_baskets(baskets, viewer.names, replace(options, unknown=viewer.unknown))
        transactions, dropped = viewer.view(raw)
        read = replace(read, unknown_dropped=read.unknown_dropped + dropped)
    return transactions, BasketCounts(read, count_sizes(transactions))
