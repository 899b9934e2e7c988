"""The front of tables: records perturbed on the device, reconstructed as distributions at the server.

Columns are numbers and categories; decision trees grow on the same reports.
"""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.client.predict import PredictionCounts
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.files.tree_models import read_tree as read_model
    from assocpriv.files.tree_models import write_tree as write_model
    from assocpriv.planning.tables import foresee_table as foresee
    from assocpriv.planning.tables import plan_table as plan
    from assocpriv.plans.columns import CategoryColumn, LabelColumn, NumberColumn
    from assocpriv.plans.tables import TablePlan
    from assocpriv.plans.tree_model import TreeModel, tree_dot, tree_lines
    from assocpriv.records.tables import TableCounts
    from assocpriv.server.distributions import Distribution, Distributions
    from assocpriv.server.histograms import released_frame
    from assocpriv.server.spark import SparkReports
    from assocpriv.server.trees import ReleasedTreeClassifier


__all__ = [
    "CategoryColumn", "Distribution", "Distributions", "LabelColumn", "NumberColumn", "PredictionCounts",
    "ReleasedTreeClassifier", "TableCounts", "TablePlan", "TreeModel", "check_writable", "foresee",
    "grow_tree", "plan", "predict", "predict_file", "randomize_file",
    "randomize_table", "read_model", "read_plan", "read_reports", "reconstruct", "released_frame", "tree_dot",
    "tree_lines", "write_model",
]  # fmt: skip
_HOMES = {
    "assocpriv.client.predict": ("PredictionCounts",),
    "assocpriv.files.atomic": ("check_writable",),
    "assocpriv.files.reports": ("read_reports",),
    "assocpriv.files.tree_models": ("read_tree as read_model", "write_tree as write_model"),
    "assocpriv.planning.tables": ("plan_table as plan", "foresee_table as foresee"),
    "assocpriv.plans.columns": ("CategoryColumn", "LabelColumn", "NumberColumn"),
    "assocpriv.plans.tables": ("TablePlan",),
    "assocpriv.plans.tree_model": ("TreeModel", "tree_dot", "tree_lines"),
    "assocpriv.records.tables": ("TableCounts",),
    "assocpriv.server.distributions": ("Distribution", "Distributions"),
    "assocpriv.server.histograms": ("released_frame",),
    "assocpriv.server.trees": ("ReleasedTreeClassifier",),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- plans


def read_plan(path: str | PathLike[str]) -> "TablePlan":
    """Read a plan file, of a table.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its columns break; or the plan is of
            another kind of data.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.tables import TablePlan

    return read(Path(path), TablePlan)


# ---- clients


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
    >>> from assocpriv.plans.columns import UniformNoise
    >>> plan = TablePlan((NumberColumn("age", UniformNoise(60, 9), False, 20, 80, 60),), 0)
    >>> released = released_frame(randomize_table(pd.DataFrame({"age": [34, 50.5]}), plan))
    >>> bool((abs(released["age"] - [34, 50.5]) <= 10).all())
    True
    """
    import numpy as np

    from assocpriv.client.tables import randomize_inputs
    from assocpriv.files.reports import Reports
    from assocpriv.plans.tables import TablePlan
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.records.tables import TableOptions, stream_table

    TablePlan.of(plan)
    stream = stream_table(table, plan, TableOptions(separator, missing, clip))
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
    from assocpriv.client.tables import randomize_inputs
    from assocpriv.files.reports import check_report_output, write_reports
    from assocpriv.kernels.parallel import default_memory, workers_within
    from assocpriv.plans.tables import TablePlan
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.records.tables import TableOptions, stream_table

    TablePlan.of(plan)
    check_report_output(Path(output))
    memory = default_memory() if memory_bytes is None else memory_bytes
    stream = stream_table(table, plan, TableOptions(separator, missing, clip, memory, progress))
    reports = randomize_inputs(stream, plan, entropy=SystemEntropy(), workers=workers_within(memory))
    write_reports(reports, plan, Path(output), force=force)
    return stream.counts


# ---- distributions


def reconstruct(
    reports: "Reports | SparkReports | str | Path | Iterable[str | Path]",
    by: str | None = None,
    joint: tuple[str, str] | None = None,
    method: str = "auto",
    *,
    confidence_level: float | str = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> "Distributions":
    """Reconstruct how the values of each column are spread, from released records alone.

    Args:
        reports: released records, a file of them, a folder, or a list of files; or what Spark's tasks read
            (``assocpriv.spark.read_reports``).
        by: a label or category: also the distributions within each of its classes, protected or not.
        joint: two columns: instead, how their values are spread together.
        method: ``auto`` (``smooth`` behind noise, else ``em``), ``smooth`` (penalized likelihood, its smoothness chosen
            by the data), ``em`` (maximum likelihood), ``ems`` (EM with smoothing: Li et al. 2020), ``bayes`` (iterated
            Bayes with the χ² stopping rule of AS00) or ``least-squares`` (unbiased, shares may be negative). Where one
            is of no use to a column another is taken; ``Distribution.method`` says which.
        confidence_level: of intervals and bands, as 0.95 or ``"95%"``.
        progress: called with (reports done, all) while they are counted.

    Returns:
        ``columns`` by name, and with ``by`` ``classes`` by value; ``frame()`` gives all of them as a table.

    Raises:
        EstimateError: no reports, a class or a column without enough of them, or a question that makes no sense.
        PlanError: reports of another kind of plan, or a column that it does not have.
        WireError: files that are damaged or of different plans.
    """
    from assocpriv.files.reports import as_reports
    from assocpriv.server.distributions import Question
    from assocpriv.server.distributions import reconstruct as run

    return run(as_reports(reports), Question(by, joint, method, confidence_level), progress)


# ---- decision trees


def grow_tree(
    reports: "Reports | str | Path | Iterable[str | Path]",
    class_column: str | None = None,
    method: str = "by-class",
    **growth: Any,
) -> "TreeModel":
    """Grow a decision tree on reports of a table; needs scikit-learn (the extra ``trees``).

    Args:
        reports: of a table plan: released records, a file of them, a folder, or a list of files.
        class_column: a label or a category; the plan's only label by default. A protected one is learned from, too: the
            shares of the tree's nodes are inverted.
        method: ``"by-class"``, ``"global"`` or ``"local"``: over which records columns are reconstructed (AS00, section
            4.2); ``"randomized"`` corrects nothing, for comparison.
        growth: by name, as :class:`ReleasedTreeClassifier` takes them: ``max_depth``, ``min_samples_split``,
            ``min_samples_leaf``, ``pruning``, ``ccp_alpha``; and ``seed``, there ``random_state``.

    Raises:
        PlanError: reports of another kind than tables, or no such column.
        EstimateError: no reports, one class only, a class that is a number, more intervals than reports, or
            scikit-learn is not installed.
    """
    from assocpriv.files.reports import as_reports
    from assocpriv.promise.errors import EstimateError

    try:
        from assocpriv.server.trees import TreeRequest
        from assocpriv.server.trees import grow_tree as grow
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "sklearn":
            raise
        raise EstimateError("trees need scikit-learn; install it: pip install assocpriv[trees]") from None
    return grow(as_reports(reports), class_column, TreeRequest(method, **growth))


def predict(data: Any, model: "TreeModel", *, missing: str | Sequence[str] = ()) -> Any:
    """Return the likeliest class of one raw record, a dictionary, or of each in a pandas, polars or pyarrow table.

    A number outside its range goes where the nearest one inside goes; a missing value, or a category that the model
    does not know, where most such records went. ``missing`` are words for missing values in a table.

    Raises:
        RecordError: no number where one is needed, or a table that lacks a column; no value is shown.
        TypeError: neither a record nor a table.

    >>> from assocpriv.plans.tree_model import Node, NumberInput, Split
    >>> nodes = (Node(9, (0.4, 0.6), Split(0, 40.0, None, False, 2)), Node(4, (1, 0)), Node(5, (0, 1)))
    >>> model = TreeModel("class", ("A", "B"), (NumberInput("age", 20, 80),), nodes, "by-class", 2)
    >>> predict({"age": 39}, model), predict({"age": None}, model)
    ('A', 'B')
    """
    from collections.abc import Mapping

    if isinstance(data, Mapping):
        from assocpriv.client.predict import predict_record

        return predict_record(data, model)
    from assocpriv.client.predict import predict_table
    from assocpriv.records.tables import TableOptions

    return predict_table(data, model, TableOptions(missing=missing))[0]


def predict_file(
    model: "TreeModel",
    table: str | PathLike[str],
    output: str | PathLike[str],
    *,
    column: str = "predicted",
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> "PredictionCounts":
    """Write a table of raw records with a further column, their class; batch by batch, in bounded memory.

    Args:
        model: the tree.
        table: CSV or Parquet file.
        output: .csv or .parquet file to write; it appears whole or not at all.
        column: name of the further column, which the table must not have.
        separator, missing: as for :func:`randomize_table`.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Returns:
        How many records and classes there are, and by column how many values are missing, unseen or out of range.

    Raises:
        RecordError: as :func:`predict`, or a file that cannot be read.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.
    """
    from assocpriv.client.predict import predict_file as run
    from assocpriv.records.tables import TableOptions

    options = TableOptions(separator, missing, progress=progress)
    return run(Path(table), model, Path(output), options, column=column, force=force)
