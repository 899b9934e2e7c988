"""Baskets in, baskets out that no template forbids.

They are read, items to drop are chosen by progressive disclosure, and what is written is checked. Whole items are
dropped from all baskets, since a mark in place of an item would tell. All items of channels are dropped first. Then,
again and again, the valid one of highest

    Score = InfoGain / (PrivLoss + 1)

comes back: valid if every bound then holds, InfoGain the entropy of who holds the item, in bits, PrivLoss the average
rise of the confidences of the bounds that name it. Scores equal within 1e-12 go to the item that sorts first.

An item may be sensitive in one template and in a channel of another. While it is dropped, nothing is said of it, and
its bounds hold; when it comes back, they count. Either way confidences only rise as items come back (WFY05, corollary
3.1), so that an item found invalid stays so.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, algorithm 1.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pq
from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.plans.catalogue import sort_key
from assocpriv.promise.errors import TemplateError, options_of
from assocpriv.records.basket_files import BasketLayout, ReadOptions, layout_of, read_baskets
from assocpriv.records.baskets import Baskets, frame_layout, named_baskets
from assocpriv.suppress.checking import count_violations, of_rows, read_again
from assocpriv.suppress.templates import (
    ItemBound,
    ItemTemplate,
    check_spellings,
    irredundant,
    item_bounds,
    read_item_templates,
)
from assocpriv.suppress.write_baskets import (
    baskets_without,
    check_ending,
    check_regular,
    frame_without,
    lists_without,
    write_without,
)

_SAME = 1e-12  # scores that differ by less, relatively, are equal
_SHOWN = 5  # bounds that an error names
Templates = str | PathLike[str] | Iterable[ItemTemplate | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ItemInference:
    """What the holders of a pattern of a channel tell: ``hits`` of ``support`` baskets hold the sensitive itemset.

    ``pattern`` says of each item of the channel whether it is there, None where it was dropped.
    """

    bound: ItemBound
    pattern: tuple[bool | None, ...]
    support: int
    hits: int

    @property
    def confidence(self) -> Fraction:
        """Share of the pattern's baskets that hold the sensitive itemset."""
        return Fraction(self.hits, self.support)


@dataclass(frozen=True, slots=True)
class ItemStep:
    """An item that came back, with its entropy in bits, the average rise of confidences and the score."""

    item: str
    gain: float
    loss: float
    score: float


@dataclass(frozen=True, slots=True)
class ItemBoundOutcome:
    """A bound with its highest confidence in the baskets as they are, and as released; None where nothing is said."""

    bound: ItemBound
    before: Fraction
    after: Fraction | None


@dataclass(frozen=True, slots=True)
class ItemSuppression:
    """Which items are dropped from all baskets, which came back in which order, and what that does.

    Attributes:
        n_baskets: baskets, empty ones included.
        dropped: items that no released basket holds, sorted.
        steps: the items that came back, in order.
        bounds: every bound, also redundant ones, before and after.
        reasons: of each dropped item an inference that it would bring above its bound.
        held: in how many baskets each item of a channel is.
        entropy_bits: of each item of a channel, as it is; a dropped one keeps none of it.
    """

    n_baskets: int
    dropped: tuple[str, ...]
    steps: tuple[ItemStep, ...]
    bounds: tuple[ItemBoundOutcome, ...]
    reasons: tuple[ItemInference, ...]
    held: dict[str, int]
    entropy_bits: dict[str, float]

    @property
    def cells(self) -> int:
        """Items that are missing from the released baskets, each counted in every basket that held it."""
        return sum(self.held[item] for item in self.dropped)

    @property
    def kept_bits(self) -> float:
        """Entropy of the items of channels that came back, in bits, added up."""
        return math.fsum(bits for item, bits in self.entropy_bits.items() if item not in self.dropped)


@dataclass(frozen=True, slots=True, eq=False)
class NamedItems:
    """Which of the items that templates name each basket holds, equal baskets counted together.

    Attributes:
        items: their names, sorted.
        holds: bool, shape (n_distinct, n_items).
        counts: int64, shape (n_distinct,): baskets of each kind.
        others: bool, shape (n_distinct,): whether they also hold items that no template names.
    """

    items: tuple[str, ...]
    holds: NDArray[np.bool_]
    counts: NDArray[np.int64]
    others: NDArray[np.bool_]

    @property
    def n_baskets(self) -> int:
        """Baskets, empty ones included."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class BasketCheck:
    """What baskets tell as they are: inferences above their bounds, bound by bound, highest confidence first."""

    n_baskets: int
    bounds: tuple[ItemBound, ...]
    inferences: tuple[ItemInference, ...]

    @property
    def passed(self) -> bool:
        """Whether every bound holds."""
        return not self.inferences


@dataclass(frozen=True, slots=True)
class BasketRelease:
    """Released baskets of the kind that came in, None if they were written to a file; and what was dropped and why."""

    released: Any
    suppression: ItemSuppression


# ---- from baskets to baskets


@dataclass(frozen=True, slots=True)
class _Source:
    """Baskets as they were given, and read."""

    given: Any
    baskets: Baskets
    layout: BasketLayout | None = None  # of a file
    kind: str = ""  # of a table, and its columns of baskets
    columns: Sequence[Any] = ()

    @property
    def shows_empty(self) -> bool:
        """Whether baskets that lose all items can still be seen, as where a line is an item they cannot."""
        return "long" not in (self.kind, self.layout.kind if self.layout else "")


def check_items(data: Any, templates: Any, **reading: Any) -> BasketCheck:
    """Say what baskets tell above templates over items; nothing is written.

    Every pattern of a channel is counted: which of its items are there and which are not.

    Args:
        data: baskets, as a file, a table, lists or ``Baskets``.
        templates: the name of a TOML or JSON file, or a list of mappings with ``channel`` (items), ``sensitive`` (a
            list of items, or of lists of items that are sensitive together) and ``confidence``, or of
            :class:`ItemTemplate`.
        reading: of files and tables, as of ``read_baskets``: ``layout``, ``repeats``, ``empty``,
            ``progress``.

    Raises:
        TemplateError: templates that break a rule, or an item that no basket has.
        BasketError: baskets that cannot be read.

    Source: WFY05, definition 3.1.

    >>> import assocpriv as ap
    >>> baskets = [["beer", "test"], ["beer", "test"], ["beer"], ["milk"]]
    >>> found = ap.suppress.check_items(baskets, [{"channel": ["beer"], "sensitive": ["test"], "confidence": "50%"}])
    >>> [(each.pattern, each.support, each.hits) for each in found.inferences]
    [((True,), 3, 2)]
    """
    bounds = item_bounds(read_item_templates(templates))
    named = _named(_source_of(data, options_of(ReadOptions, reading)).baskets, bounds)
    found = (each for bound in bounds for each in item_inferences(named, bound, above=bound.confidence))
    return BasketCheck(named.n_baskets, bounds, tuple(found))


def suppress_baskets(
    data: Any, templates: Templates, output: str | PathLike[str] | None, options: ReadOptions,
    *, force: bool = False,
) -> BasketRelease:  # fmt: skip
    """Drop as few and as dull items from all baskets as progressive disclosure finds, so that every template holds.

    Args:
        data: a file of baskets, a table, lists or sets of items, or ``Baskets``.
        templates: a file of templates over items, or a list of them.
        output: file to write, of the format that came in; None to return the baskets instead.
        options: how a file or a table is read.
        force: whether to replace a file.

    Raises:
        TemplateError: templates that cannot be read or satisfied, or an item of them that no basket holds; or the
            written baskets fail the check, which is a defect of this package.
        BasketError, FileError: as reading baskets and writing files.
    """
    bounds = item_bounds(read_item_templates(templates))
    if output is not None:
        check_writable(fspath(output), force=force, inputs=_paths(data, templates))
    source = _source_of(data, options)
    if output is not None and source.layout is None:
        raise TemplateError("baskets in memory are returned, not written; leave the output out, or give a file")
    if output is not None and source.layout is not None:
        check_ending(Path(fspath(output)), source.layout)
    chosen = disclose_items(_named(source.baskets, bounds), bounds, shows_empty=source.shows_empty)
    if source.layout is not None and output is not None:
        _write(source, Path(fspath(output)), chosen, bounds, force)
        return BasketRelease(None, chosen)
    released, again = _in_memory(source, chosen.dropped)
    _check(again, bounds, source)
    return BasketRelease(released, chosen)


def _paths(*given: Any) -> list[Path]:
    return [Path(fspath(each)) for each in given if isinstance(each, str | PathLike)]


def _source_of(data: Any, options: ReadOptions) -> _Source:
    if isinstance(data, str | PathLike):
        path = Path(fspath(data))
        check_regular(path)
        baskets, layout = read_baskets(path, None, options)[0], layout_of(path, options)
        if layout.is_parquet:
            _refuse_mined(pq.read_schema(path).names)
        return _Source(path, baskets, layout)
    if not isinstance(data, Baskets) and not hasattr(data, "columns"):
        data = list(data) if isinstance(data, Iterable) else data
    baskets = named_baskets(data, None, unknown="error", repeats=options.repeats, layout=options.layout)
    if isinstance(data, Baskets) or not hasattr(data, "columns"):
        return _Source(data, baskets)
    _refuse_mined(getattr(data, "column_names", data.columns))
    kind, columns = frame_layout(data, options.layout)
    return _Source(data, baskets, None, kind, columns)


def _refuse_mined(names: Iterable[Any]) -> None:
    """Refuse a mined table, whose lists of items look like baskets: its supports would go out beside them."""
    found = set(names)
    if "antecedents" in found or ("support" in found and found & {"itemset", "itemsets"}):
        raise TemplateError("these are mined itemsets or rules, not baskets; release the baskets, and mine those")


def _named(baskets: Baskets, bounds: Sequence[ItemBound]) -> NamedItems:
    held = np.unique(baskets.items)
    check_spellings(bounds, (baskets.catalogue[item] for item in held.tolist()))
    return named_items(names_of(bounds), baskets.offsets, baskets.items, baskets.catalogue.index_of)


def _write(source: _Source, output: Path, chosen: ItemSuppression, bounds: Sequence[ItemBound], force: bool) -> None:
    layout = source.layout
    assert layout is not None
    packed = output.name.lower().endswith(".gz")
    with atomic_output(output, force=force) as stream:
        write_without(source.given, layout, chosen.dropped, stream, packed=packed)
        stream.flush()
        said = {each.name: getattr(layout, each.name) for each in fields(layout)}
        _check(lambda: read_again(Path(stream.name), packed=packed, **said), bounds, source)


def _in_memory(source: _Source, dropped: Sequence[str]) -> tuple[Any, Callable[[], Iterator[frozenset[str]]]]:
    """Return released baskets, and what reads them again."""
    if isinstance(source.given, Baskets) or source.layout is not None:
        made = baskets_without(source.baskets, dropped)
        return made, lambda: (frozenset(made.catalogue[item] for item in basket) for basket in made)
    if not source.kind:
        lists = lists_without(source.given, dropped)
        return lists, lambda: (frozenset(str(item).strip() for item in basket) for basket in lists)
    frame = frame_without(source.given, source.kind, source.columns, dropped)
    return frame, lambda: _frame_again(frame, source)


def _frame_again(frame: Any, source: _Source) -> Iterator[frozenset[str]]:
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    names = [column.name for column in source.columns if column.name in table.columns]
    rows = zip(*(table.get_column(name).to_list() for name in names), strict=True)
    yield from of_rows(rows, source.kind, [str(name) for name in names])


def _check(read: Callable[[], Iterator[frozenset[str]]], bounds: Sequence[ItemBound], source: _Source) -> None:
    """Refuse to release baskets that exceed a bound, or are not as many as came in."""
    plain = [(b.channel, b.sensitive, b.confidence.numerator, b.confidence.denominator) for b in bounds]
    n, wrong = count_violations(read(), plain)
    if sum(wrong) or (source.shows_empty and n != len(source.baskets)):
        raise TemplateError(
            f"the check of the released baskets failed: {n:,} of {len(source.baskets):,} baskets, {sum(wrong):,} "
            "patterns above their limit; nothing was released; this is a defect of assocpriv, please report it"
        )


# ---- which items stay


def named_items(
    items: Sequence[str], offsets: NDArray[np.int64], flat: NDArray[np.int64], ids: Mapping[str, int]
) -> NamedItems:
    """Count baskets by which of some items they hold.

    Args:
        items: names, sorted.
        offsets, flat: the baskets, as of ``Baskets``: int64 (n + 1,) and item ids, int64.
        ids: the id of each item.

    Raises:
        TemplateError: an item is in no basket.
    """
    n, start = len(offsets) - 1, offsets[0]
    flat = flat[start : offsets[-1]]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(offsets))
    holds = np.zeros((n, len(items)), dtype=np.bool_)
    for place, name in enumerate(items):
        where = rows[flat == ids[name]] if name in ids else rows[:0]
        if not len(where):
            raise TemplateError(f"item {name} of a template is in no basket; check its spelling, or take it out")
        holds[where, place] = True
    more = np.diff(offsets) > holds.sum(axis=1)
    packed = np.packbits(np.column_stack([holds, more]), axis=1)
    _, where, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
    return NamedItems(tuple(items), holds[where], counts.astype(np.int64), more[where])


def names_of(bounds: Iterable[ItemBound]) -> tuple[str, ...]:
    """Return all items that bounds name, as people sort them."""
    return tuple(sorted({item for bound in bounds for item in (*bound.channel, *bound.sensitive)}, key=sort_key))


def _candidates(bounds: Iterable[ItemBound]) -> tuple[str, ...]:
    """Return the items of channels, which may be dropped, as people sort them."""
    return tuple(sorted({item for bound in bounds for item in bound.channel}, key=sort_key))


class _Patterns:
    """The baskets of one bound by what they hold of its channel, and how many of them hold its sensitive itemset.

    ``shows_empty`` says whether what is released shows baskets without items. Where it does not, baskets count only
    if they are surely shown: they hold an item that no channel names, or the sensitive itemset. Confidences are then
    bounds from above, of a fixed set of baskets, so that they still only rise.
    """

    def __init__(self, bound: ItemBound, named: NamedItems, droppable: Sequence[str], shows_empty: bool) -> None:
        self.bound = bound
        place = {item: at for at, item in enumerate(named.items)}
        hit = named.holds[:, [place[item] for item in bound.sensitive]].all(axis=1)
        counts = named.counts
        if not shows_empty:
            lasting = [at for at, item in enumerate(named.items) if item not in droppable]
            surely = hit | named.holds[:, lasting].any(axis=1) | named.others
            counts = np.where(surely, counts, 0)
        codes = named.holds[:, [place[item] for item in bound.channel]] @ (1 << np.arange(len(bound.channel)))
        kinds, where = np.unique(codes, return_inverse=True)
        totals, hits = np.zeros((2, len(kinds)), dtype=np.int64)
        np.add.at(totals, where, counts)
        np.add.at(hits, where, np.where(hit, counts, 0))
        self._cells = [cell for cell in zip(kinds.tolist(), totals.tolist(), hits.tolist(), strict=True) if cell[1]]
        self._known: dict[int, Fraction] = {}

    def _mask(self, shown: "set[str]") -> int:
        return sum(1 << at for at, item in enumerate(self.bound.channel) if item in shown)

    def is_silent(self, shown: "set[str]", droppable: Sequence[str]) -> bool:
        """Tell whether a sensitive item is dropped, so that nothing is said of it."""
        return any(item in droppable and item not in shown for item in self.bound.sensitive)

    def inferences(self, shown: "set[str]") -> list[ItemInference]:
        """Return what each pattern of the items shown tells, highest confidence first, then support."""
        mask, merged = self._mask(shown), dict[int, list[int]]()
        for code, total, hits in self._cells:
            cell = merged.setdefault(code & mask, [0, 0])
            cell[0] += total
            cell[1] += hits
        found = [
            ItemInference(
                self.bound,
                tuple(bool(code >> at & 1) if mask >> at & 1 else None for at in range(len(self.bound.channel))),
                *cell,
            )
            for code, cell in sorted(merged.items())
        ]
        return sorted(found, key=lambda each: (-each.confidence, -each.support))

    def confidence(self, shown: "set[str]") -> Fraction:
        """Return the highest confidence of any pattern of the items shown, 0 of no baskets."""
        mask = self._mask(shown)
        if mask not in self._known:
            self._known[mask] = max((each.confidence for each in self.inferences(shown)), default=Fraction(0))
        return self._known[mask]


def item_inferences(named: NamedItems, bound: ItemBound, *, above: Fraction | None = None) -> list[ItemInference]:
    """Return what each pattern of a bound's channel tells of the baskets as they are, highest confidence first.

    ``above`` leaves out confidences that are not higher.
    """
    found = _Patterns(bound, named, (), True).inferences(set(bound.channel))
    return [each for each in found if above is None or each.confidence > above]


@dataclass(eq=False)
class _State:
    """Which items came back, and the highest confidence of each bound that says something."""

    patterns: Sequence[_Patterns]
    droppable: Sequence[str]
    shown: set[str] = field(default_factory=set)

    def confidence(self, one: _Patterns, more: Iterable[str] = ()) -> Fraction:
        shown = self.shown.union(more)
        return Fraction(0) if one.is_silent(shown, self.droppable) else one.confidence(shown)

    def touched(self, item: str) -> list[_Patterns]:
        """Return the bounds whose confidence an item may change."""
        return [one for one in self.patterns if item in one.bound.channel or item in one.bound.sensitive]

    def allows(self, item: str) -> bool:
        return all(self.confidence(one, [item]) <= one.bound.confidence for one in self.touched(item))

    def loss(self, item: str) -> float:
        rises = [self.confidence(one, [item]) - self.confidence(one) for one in self.touched(item)]
        return float(sum(rises, Fraction(0)) / len(rises))


def disclose_items(named: NamedItems, bounds: Sequence[ItemBound], *, shows_empty: bool = True) -> ItemSuppression:
    """Choose the items that may stay in released baskets, by progressive disclosure.

    Args:
        named: the baskets, over the items that the bounds name.
        bounds: all bounds; redundant ones do not take part in the choice.
        shows_empty: whether what is released shows baskets that lose all their items, as files of the long layout do
            not.

    Raises:
        TemplateError: a bound does not hold even if all items of channels are dropped.
    """
    droppable = _candidates(bounds)
    every = [_Patterns(bound, named, droppable, shows_empty) for bound in bounds]
    own = irredundant(bounds)
    state = _State([next(one for one in every if one.bound == bound) for bound in own], droppable)
    _refuse_impossible(state, named)
    held = {item: int(named.counts[named.holds[:, named.items.index(item)]].sum()) for item in droppable}
    bits = {item: _entropy(held[item], named.n_baskets) for item in droppable}
    steps, open_items = [], list(droppable)
    while open_items := [item for item in open_items if state.allows(item)]:
        scored = [ItemStep(item, bits[item], loss := state.loss(item), bits[item] / (loss + 1)) for item in open_items]
        best = max(step.score for step in scored)
        winner = next(step for step in scored if step.score >= best * (1 - _SAME))
        steps.append(winner)
        state.shown.add(winner.item)
        open_items.remove(winner.item)
    dropped = tuple(item for item in droppable if item not in state.shown)
    return ItemSuppression(
        named.n_baskets,
        dropped,
        tuple(steps),
        tuple(_outcome(one, state, named) for one in every),
        tuple(_reason(item, state) for item in dropped),
        held,
        bits,
    )


def _entropy(held: int, n: int) -> float:
    return math.fsum(-part / n * math.log2(part / n) for part in (held, n - held) if part)


def _refuse_impossible(state: _State, named: NamedItems) -> None:
    """Refuse bounds that fail with all items of channels dropped (WFY05, lemma 3.3)."""
    wrong = [one for one in state.patterns if state.confidence(one) > one.bound.confidence]
    if not wrong:
        return
    shown = "; ".join(
        f"{', '.join(one.bound.sensitive)}: {float(state.confidence(one)):.4g} above {float(one.bound.confidence):.4g}"
        for one in wrong[:_SHOWN]
    )
    more = f" and {len(wrong) - _SHOWN} more" * (len(wrong) > _SHOWN)
    raise TemplateError(
        f"no suppression can satisfy the templates: of the {named.n_baskets:,} baskets too large a share holds what is "
        f"sensitive, whatever is dropped of the channels ({shown}{more}); raise the confidence, or leave the item out "
        "of the baskets"
    )


def _outcome(one: _Patterns, state: _State, named: NamedItems) -> ItemBoundOutcome:
    before = item_inferences(named, one.bound)[0].confidence
    silent = one.is_silent(state.shown, state.droppable)
    return ItemBoundOutcome(one.bound, before, None if silent else one.confidence(state.shown))


def _reason(item: str, state: _State) -> ItemInference:
    """Return the inference that the item would bring furthest above its bound."""
    worst = max(state.touched(item), key=lambda one: state.confidence(one, [item]) - one.bound.confidence)
    return worst.inferences(state.shown | {item})[0]
