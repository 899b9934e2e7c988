"""The door of tables: numbers and categories, perturbed on the device, reconstructed as distributions at the server."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.reports import Reports
    from assocpriv.lab.privacy_left import PrivacyLeft
    from assocpriv.lab.privacy_left import attack_table as privacy_left
    from assocpriv.planning.numeric.planner import plan_table as plan
    from assocpriv.planning.numeric.table_facts import foresee_table as foresee
    from assocpriv.plans.numeric.columns import CategoryColumn, LabelColumn, NumberColumn
    from assocpriv.plans.numeric.plan import TablePlan
    from assocpriv.records.baskets import Baskets
    from assocpriv.records.table_files import TableCounts
    from assocpriv.server.numeric.released import released_frame

__all__ = [
    "CategoryColumn", "LabelColumn", "NumberColumn", "PrivacyLeft", "TableCounts", "TablePlan", "check_writable",
    "foresee", "items", "items_file", "plan", "privacy_left", "randomize_file", "randomize_table", "read_plan", "released_frame",
]  # fmt: skip
_HOMES = {
    "assocpriv.files.atomic": ("check_writable",),
    "assocpriv.lab.privacy_left": ("PrivacyLeft", "attack_table as privacy_left"),
    "assocpriv.planning.numeric.planner": ("plan_table as plan",),
    "assocpriv.planning.numeric.table_facts": ("foresee_table as foresee",),
    "assocpriv.plans.numeric.columns": ("CategoryColumn", "LabelColumn", "NumberColumn"),
    "assocpriv.plans.numeric.plan": ("TablePlan",),
    "assocpriv.records.table_files": ("TableCounts",),
    "assocpriv.server.numeric.released": ("released_frame",),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- plans


# ---- clients


def read_plan(path: str | PathLike[str]) -> "TablePlan":
    """Read a plan file, of a table.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its columns break; or the plan is of
            another kind of data.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.numeric.plan import TablePlan

    return read(Path(path), TablePlan)


def randomize_table(
    table: Any,
    plan: "TablePlan",
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    clip: bool = False,
    progress: Callable[[int], None] | None = None,
) -> "Reports":
    """Randomize many records with the operating system's entropy; ``assocpriv.randomize`` takes one, as a dictionary.

    Args:
        table: a pandas, polars or pyarrow table, an iterable of such tables, or the name of a CSV or Parquet file. Of
            its columns those with the names of the plan's are taken.
        plan: the published plan.
        separator: of the cells of a CSV file; found out from its header by default.
        missing: a word, or several, for missing values, as "?"; empty cells are such anyway, NaN and null of numbers.
        clip: move values outside a column's range to its ends.
        progress: called with the number of records done.

    Returns:
        The reports, one for each record.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not take; no value is shown.

    >>> import pandas as pd
    >>> from assocpriv.plans.numeric.laws import UniformNoise
    >>> plan = TablePlan((NumberColumn("age", UniformNoise(60, 9), False, 20, 80, 60),), 0)
    >>> released = released_frame(randomize_table(pd.DataFrame({"age": [34, 50.5]}), plan))
    >>> bool((abs(released["age"] - [34, 50.5]) <= 10).all())
    True
    """
    import numpy as np

    from assocpriv.client.numeric.bulk import randomize_inputs
    from assocpriv.core.entropy import SystemEntropy
    from assocpriv.files.reports import Reports
    from assocpriv.records.table_files import TableOptions, stream_table

    _check_plan(plan)
    stream = stream_table(table, plan, TableOptions(separator, _words(missing), clip))
    return Reports(
        plan, np.concatenate(list(randomize_inputs(stream, plan, entropy=SystemEntropy(), progress=progress)))
    )


def randomize_file(
    table: Any,
    plan: "TablePlan",
    output: str | PathLike[str],
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    clip: bool = False,
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> "TableCounts":
    """Randomize a table of any size into a file of reports, with the operating system's entropy.

    Args:
        table, plan, separator, missing, clip: as for :func:`randomize_table`; a file is read batch by batch.
        output: Parquet file to write, .parquet or .pq; it appears whole or not at all.
        memory_bytes: what reading a file may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Returns:
        How many records there are, and by column how many values were clipped and how many are missing.

    Raises:
        RecordError: as :func:`randomize_table`.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.
    """
    from assocpriv.client.numeric.bulk import randomize_inputs
    from assocpriv.core.entropy import SystemEntropy
    from assocpriv.core.machine import default_memory, workers_within
    from assocpriv.files.reports import check_report_output, write_reports
    from assocpriv.records.table_files import TableOptions, stream_table

    _check_plan(plan)
    check_report_output(Path(output))
    memory = default_memory() if memory_bytes is None else memory_bytes
    stream = stream_table(table, plan, TableOptions(separator, _words(missing), clip, memory, progress))
    reports = randomize_inputs(stream, plan, entropy=SystemEntropy(), workers=workers_within(memory))
    write_reports(reports, plan, Path(output), force=force)
    return stream.counts


def _words(missing: str | Sequence[str]) -> tuple[str, ...]:
    return (missing,) if isinstance(missing, str) else tuple(missing)


def _check_plan(plan: object) -> None:
    """Refuse what is no plan of a table, as a file's name, before it is taken for one."""
    from assocpriv.plans.numeric.plan import TablePlan
    from assocpriv.plans.published import PublishedPlan

    if isinstance(plan, PublishedPlan):
        plan.as_a(TablePlan)
    elif not isinstance(plan, TablePlan):
        raise TypeError(f"plan must be a TablePlan (read_plan reads one from a file), got a {type(plan).__name__}")


# ---- columns as items


def items(
    table: Any,
    schema: Any,
    *,
    baskets: "Baskets | str | PathLike[str] | None" = None,
    bins: int | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    clip: bool = False,
) -> "Baskets":
    """Turn records of a table into baskets: an item for each column, as ``age=30–39`` or ``region=north``.

    The baskets are raw data, for the clients' side: to plan for, randomize and mine as any others. A missing value gives
    no item.

    Args:
        table: as of :func:`randomize_table`.
        schema: path of a TOML file, or what one holds; how it says that columns are released is not looked at.
        baskets: of the same people in the same order, in memory or a file's name: their items come beside.
        bins: equal intervals of every column of numbers; by default the schema's, or five.
        separator, missing, clip: as of :func:`randomize_table`.

    Raises:
        PlanError: what is wrong in the schema.
        RecordError: another table than the schema's, values outside their columns, or not one basket a record.

    >>> import pandas as pd
    >>> schema = {"columns": {"age": {"kind": "number", "low": 20, "high": 80, "release": "as-is"}}}
    >>> items(pd.DataFrame({"age": [34, 80]}), schema, bins=6).catalogue[1]
    'age=30–39'
    """
    return _items(table, schema, baskets, bins, (separator, _words(missing), clip))[0]


def items_file(
    table: Any,
    schema: Any,
    output: str | PathLike[str],
    *,
    names: str | PathLike[str] | None = None,
    baskets: "Baskets | str | PathLike[str] | None" = None,
    bins: int | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    clip: bool = False,
    force: bool = False,
) -> "tuple[Baskets, TableCounts]":
    """Write what :func:`items` returns to a Parquet file, and the names of all items, a line each, to ``names``.

    Returns the baskets, and how many values were clipped and how many are missing. FileError: a file exists and
    ``force`` is not set, or cannot be written.
    """
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.catalogues import write_catalogue
    from assocpriv.files.reports import check_report_output
    from assocpriv.records.table_items import write_item_baskets

    check_report_output(Path(output))
    for path in (output, names):
        if path is not None:
            check_writable(path, force=force)
    made, counts = _items(table, schema, baskets, bins, (separator, _words(missing), clip))
    write_item_baskets(made, Path(output), force=force)
    if names is not None:
        write_catalogue(made.catalogue, Path(names), force=force)
    return made, counts


def _items(
    table: Any, schema: Any, baskets: Any, bins: int | None, reading: tuple[str | None, tuple[str, ...], bool]
) -> "tuple[Baskets, TableCounts]":
    from assocpriv.basket_files import read_baskets
    from assocpriv.planning.numeric.item_columns import item_columns, item_names
    from assocpriv.records.table_files import TableOptions, stream_table
    from assocpriv.records.table_items import table_baskets

    columns = item_columns(schema, bins)
    names = item_names(columns)
    beside = read_baskets(baskets, empty="keep") if isinstance(baskets, str | PathLike) else baskets
    stream = stream_table(table, columns, TableOptions(*reading))
    return table_baskets(stream, names, beside), stream.counts


# ---- distributions


# ---- decision trees
