"""Baskets in, baskets out that no template forbids: read, choose items to drop, write, check what was written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.owner.suppression.items_checking import count_violations, of_rows, read_again
from assocpriv.owner.suppression.items_disclosure import (
    ItemInference,
    ItemSuppression,
    NamedItems,
    disclose_items,
    item_inferences,
    named_items,
    names_of,
)
from assocpriv.owner.suppression.items_templates import (
    ItemBound,
    ItemTemplate,
    check_spellings,
    item_bounds,
    read_item_templates,
)
from assocpriv.owner.suppression.items_written import (
    baskets_without,
    check_ending,
    check_regular,
    frame_without,
    lists_without,
    write_without,
)
from assocpriv.promise.errors import TemplateError
from assocpriv.records.basket_files import BasketLayout, ReadOptions, layout_of, read_baskets
from assocpriv.records.baskets import Baskets, frame_layout, named_baskets

Templates = str | PathLike[str] | Iterable[ItemTemplate | Mapping[str, Any]]


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


def check_baskets(data: Any, templates: Templates, options: ReadOptions) -> BasketCheck:
    """Return what baskets tell above the bounds of templates.

    Raises:
        TemplateError: templates that cannot be read, or an item of them that no basket holds.
        BasketError: as reading baskets.
    """
    bounds = item_bounds(read_item_templates(templates))
    named = _named(_source_of(data, options).baskets, bounds)
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
            import pyarrow.parquet as pq

            _refuse_mined(pq.read_schema(path).names)
        return _Source(path, baskets, layout)
    said = {
        "format": options.format,
        **{name: getattr(options, name) for name in ("transaction_column", "item_column")},
    }
    if not isinstance(data, Baskets) and not hasattr(data, "columns"):
        data = list(data) if isinstance(data, Iterable) else data
    baskets = named_baskets(data, None, unknown="error", repeats=options.repeats, table=said)
    if isinstance(data, Baskets) or not hasattr(data, "columns"):
        return _Source(data, baskets)
    _refuse_mined(getattr(data, "column_names", data.columns))
    kind, columns = frame_layout(data, options.format or "auto", options.transaction_column, options.item_column)
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
