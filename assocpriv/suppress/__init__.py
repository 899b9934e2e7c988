"""Suppression: data leave their owner when no named inference can be drawn from them above a confidence.

Of tables: ``check`` lists what one tells, ``suppress`` returns one in memory that tells no more than templates allow,
and ``suppress_file`` writes one. Of baskets: ``check_items`` and ``suppress_items``. ``check_record``,
``publication_record`` and ``item_record`` give results as JSON has them. Templates are files, mappings, or
:class:`Template` and :class:`ItemTemplate`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.files.atomic import check_writable
    from assocpriv.suppress.baskets import BasketCheck, BasketRelease
    from assocpriv.suppress.inferences import Inference
    from assocpriv.suppress.release import Check, Publication, Request, check_record, item_record, publication_record
    from assocpriv.suppress.templates import Bound, ItemTemplate, Template, are_of_items, read_templates


__all__ = [
    "BasketCheck", "BasketRelease", "Bound", "Check", "Inference", "ItemTemplate", "Publication", "Template",
    "are_of_items", "check", "check_items", "check_record", "check_writable", "item_record", "publication_record",
    "read_templates", "suppress", "suppress_file", "suppress_items",
]  # fmt: skip
_HOMES = {
    "assocpriv.files.atomic": ("check_writable",),
    "assocpriv.suppress.inferences": ("Inference",),
    "assocpriv.suppress.baskets": ("BasketCheck", "BasketRelease"),
    "assocpriv.suppress.release": ("item_record", "Check", "Publication", "check_record", "publication_record"),
    "assocpriv.suppress.templates": ("ItemTemplate", "are_of_items", "Bound", "Template", "read_templates"),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def check(
    table: Any,
    templates: Any,
    class_column: str | None = None,
    *,
    bins: "int | str | Mapping[str, int | str] | Sequence[str] | None" = None,
    category: str | Collection[str] = (),
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    memory_bytes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "Check":
    """List the inferences that a table allows above their bounds; nothing is written.

    Args:
        table: a pandas, polars or pyarrow table, or the name of a CSV or Parquet file.
        templates: the name of a TOML or JSON file, or a list of mappings with ``channel`` (columns), ``sensitive``
            (values by column) and ``confidence`` (the highest allowed), or of :class:`Template`.
        class_column: whose entropy bins numbers, if ``bins`` says so.
        bins: of columns of numbers in a channel: a number of intervals with equally many records, ``"entropy"``
            (Fayyad and Irani 1993), or either by column.
        category: columns of numbers that are categories.
        separator: of the cells of a CSV file; found out from its header by default.
        missing: a word, or several, for missing values, as "?"; a missing cell is a value of its own.
        memory_bytes: what reading a file may hold of its text at a time; a quarter of the free memory by default.
        progress: called with (bytes read, bytes of the file).

    Raises:
        TemplateError: templates that break a rule, or do not fit the table.
        RecordError: a table that cannot be read; no value of it is shown.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> found = check(table, [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}])
    >>> [(each.values, each.support, float(each.confidence)) for each in found.violations]
    [(('clerk',), 1, 1.0)]
    """
    from assocpriv.suppress.release import check_table

    reading = (separator, missing, memory_bytes, progress)
    return check_table(table, _request(templates, class_column, bins, category, reading))


def suppress(
    table: Any,
    templates: Any,
    class_column: str | None = None,
    *,
    bins: "int | str | Mapping[str, int | str] | Sequence[str] | None" = None,
    category: str | Collection[str] = (),
    mark: str = "*",
    missing: str | Sequence[str] = (),
) -> "tuple[Any, Publication]":
    """Return a table of the same kind in which no inference is above its bound, and what was done to it.

    Values of the channels' columns are suppressed, each everywhere it occurs. Of what satisfies the templates as much
    is shown as helps to tell the class most (Wang, Fung, Yu, 2005, algorithm 1). Dtypes of other columns, the order of
    rows and an index stay. docs/privacy.md says what this does not promise.

    Args:
        table: a pandas, polars or pyarrow table.
        templates, class_column, bins, category, missing: as of :func:`check`.
        mark: stands for suppressed values.

    Raises:
        TemplateError: also where even the most suppressed table violates a bound.
        RecordError: as :func:`check`.
        FileError: the released table violates a bound.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
    >>> templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    >>> released, done = suppress(table, templates)
    >>> released["job"].tolist()
    ['*', '*', '*']
    """
    from assocpriv.suppress.release import publish_frame

    return publish_frame(table, _request(templates, class_column, bins, category, (None, missing), mark))


def suppress_file(
    table: str | PathLike[str],
    templates: Any,
    output: str | PathLike[str],
    class_column: str | None = None,
    *,
    bins: "int | str | Mapping[str, int | str] | Sequence[str] | None" = None,
    category: str | Collection[str] = (),
    mark: str = "*",
    report: str | PathLike[str] | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> "Publication":
    """Write what :func:`suppress` returns, from a file of any size to another one of its kind, CSV or Parquet.

    Cells that are not suppressed stay as they are written. The output is checked as it lies on disk before it takes its
    name, so that it appears whole and checked, or not at all.

    Args:
        table, templates, class_column, bins, category, separator, missing, memory_bytes, progress: as of :func:`check`.
        output: file to write.
        mark: as of :func:`suppress`.
        report: file for :func:`publication_record` as JSON; it names suppressed values, and stays with the owner.
        force: replace existing files.

    Raises:
        TemplateError, RecordError: as :func:`suppress`.
        FileError: an output exists and ``force`` is not set, is of another kind, or cannot be written.
    """
    from assocpriv.files.atomic import check_writable
    from assocpriv.promise.errors import FileError
    from assocpriv.suppress.release import publish_file, write_report

    reading = (separator, missing, memory_bytes, progress)
    request = _request(templates, class_column, bins, category, reading, mark)
    inputs = [Path(table), *([Path(templates)] if isinstance(templates, str | PathLike) else [])]
    check_writable(Path(output), force=force, inputs=inputs)
    if report is not None:
        check_writable(Path(report), force=force, inputs=inputs)
        if Path(report).resolve() == Path(output).resolve():
            raise FileError(f"{output} cannot be both the released table and the report; name two files")
    written = None if report is None else partial(write_report, path=Path(report), force=force)
    return publish_file(Path(table), Path(output), request, force=force, report=written)


def check_items(
    data: Any,
    templates: Any,
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    repeats: str = "error",
    empty: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> "BasketCheck":
    """Say what baskets tell above templates over items; nothing is written.

    Every pattern of a channel is counted: which of its items are there and which are not.

    Args:
        data: baskets, as a file, a table, lists or ``Baskets``.
        templates: the name of a TOML or JSON file, or a list of mappings with ``channel`` (items), ``sensitive`` (a
            list of items, or of lists of items that are sensitive together) and ``confidence``, or of
            :class:`ItemTemplate`.
        format, separator, header, transaction_column, item_column, repeats, empty, progress: of files and tables, as
            of ``read_baskets``.

    Raises:
        TemplateError: templates that break a rule, or an item that no basket has.
        BasketError: baskets that cannot be read.

    >>> baskets = [["beer", "test"], ["beer", "test"], ["beer"], ["milk"]]
    >>> found = check_items(baskets, [{"channel": ["beer"], "sensitive": ["test"], "confidence": "50%"}])
    >>> [(each.pattern, each.support, each.hits) for each in found.inferences]
    [((True,), 3, 2)]
    """
    from assocpriv.records.basket_files import ReadOptions
    from assocpriv.suppress.baskets import check_baskets

    options = ReadOptions(
        format, separator=separator, header=header, transaction_column=transaction_column, item_column=item_column,
        repeats=repeats, empty=empty, progress=progress,
    )  # fmt: skip
    return check_baskets(data, templates, options)


def suppress_items(
    data: Any,
    templates: Any,
    output: str | PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    repeats: str = "error",
    empty: str = "error",
    report: str | PathLike[str] | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> "BasketRelease":
    """Release baskets that tell nothing above templates over items.

    Whole items of the channels are dropped, everywhere. What goes out is checked as it lies on disk, by other code,
    before it takes its name.

    Args:
        data, templates, format, separator, header, transaction_column, item_column, repeats, empty, progress: as of
            :func:`check_items`.
        output: file to write, in the format that came in; without it a table or lists are returned as they came, a file
            of baskets as ``Baskets``.
        report: file for :func:`item_record` as JSON; it stays with the owner.
        force: replace existing files.

    Returns:
        What was done, with what is released as ``released`` unless it was written.

    Raises:
        TemplateError: as :func:`check_items`; also where the baskets violate a bound whatever is dropped.
        BasketError: baskets that cannot be read.
        FileError: a file exists and ``force`` is not set, is of another format, or cannot be written.

    >>> baskets = [["beer", "test"], ["beer", "test"], ["beer"], ["milk"]]
    >>> done = suppress_items(baskets, [{"channel": ["beer"], "sensitive": ["test"], "confidence": "50%"}])
    >>> done.released, done.suppression.dropped
    ([['test'], ['test'], [], ['milk']], ('beer',))
    """
    from assocpriv.files.atomic import check_writable
    from assocpriv.records.basket_files import ReadOptions
    from assocpriv.suppress.baskets import suppress_baskets
    from assocpriv.suppress.release import write_item_report

    if report is not None:
        inputs = [Path(each) for each in (data, templates, output) if isinstance(each, str | PathLike)]
        check_writable(Path(report), force=force, inputs=inputs)
    options = ReadOptions(
        format, separator=separator, header=header, transaction_column=transaction_column, item_column=item_column,
        repeats=repeats, empty=empty, progress=progress,
    )  # fmt: skip
    done = suppress_baskets(data, templates, output, options, force=force)
    if report is not None:
        write_item_report(done, Path(report), force=force)
    return done


def _request(
    templates: Any, class_column: str | None, bins: Any, category: Any, reading: tuple[Any, ...], mark: str = "*"
) -> "Request":
    from assocpriv.kernels.parallel import default_memory
    from assocpriv.records.tables import TableOptions
    from assocpriv.suppress.release import Request
    from assocpriv.suppress.table import read_binning
    from assocpriv.suppress.templates import read_templates

    separator, missing, memory, progress = (*reading, None, None)[:4]
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    options = TableOptions(separator, words, False, memory or default_memory(), progress)
    return Request(read_templates(templates), class_column, read_binning(bins, category), mark, options)
