"""Spark's front: reports in files or DataFrames, counted by tasks for all that is asked of reports elsewhere.

:func:`read_reports` and :func:`reports_of` return a collection that :func:`assocpriv.mine`, ``ask``,
``ap.reconstruct`` and ``guided.collect`` take as they take any other; results are the same to the last integer.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.server.spark import SparkReports


def connect(master: str = "local[*]") -> "SparkSession":
    """Return a Spark session.

    Args:
        master: ``local[2]`` (cores of this machine), ``spark://host:7077``, ``yarn``, ``k8s://host:port``, or
            ``sc://host:15002`` for a server of Spark Connect.

    Raises:
        SparkError: PySpark or Java is missing or too old, or the master is none, or does not answer.

    >>> import assocpriv as ap
    >>> spark = ap.spark.connect("local[2]")  # doctest: +SKIP
    >>> len(ap.spark.read_reports("collection", spark))  # doctest: +SKIP
    2317000
    """
    from assocpriv.spark.session import start_session

    return start_session(master)


def read_reports(
    paths: str | Path | Iterable[str | Path], spark: "SparkSession | None" = None, *, master: str = "local[*]"
) -> "SparkReports":
    """Open report files, or folders of them, as a collection that Spark's tasks read.

    Args:
        paths: as for :func:`assocpriv.read_reports`; every task must find the files by the same paths.
        spark: a session; without one, one is started on ``master``.
        master: as for :func:`connect`.

    Raises:
        SparkError: as :func:`connect`.
        WireError, PlanError: as :func:`assocpriv.read_reports`.

    >>> import assocpriv as ap
    >>> reports = ap.spark.read_reports("collection", master="spark://host:7077")  # doctest: +SKIP
    >>> itemsets = ap.mine(reports, "2%")  # doctest: +SKIP
    """
    from assocpriv.files.reports import read_reports as read
    from assocpriv.server.spark import SparkReports

    reports = read(paths)
    return SparkReports.of_files(reports, connect(master) if spark is None else spark)


def reports_of(
    frame: "DataFrame",
    plan: "PublishedPlan | str | Path",
    column: str = "report",
) -> "SparkReports":
    """Return reports in a column of a DataFrame as a collection.

    Args:
        frame: of Spark, classic or Connect; a row is a report.
        plan: the plan they were made with, or a file of it.
        column: which holds them, as bytes.

    Raises:
        WireError: no such column, or of another type; rows that are missing, or are no reports of the plan.
        PlanError: a file that is no plan.
        SparkError: Spark gave up.

    >>> import assocpriv as ap
    >>> frame = ap.spark.connect().read.parquet("s3a://shop/reports")  # doctest: +SKIP
    >>> itemsets = ap.mine(ap.spark.reports_of(frame, "plan.json"), "2%")  # doctest: +SKIP
    """
    from assocpriv.files.plans import read_plan
    from assocpriv.server.spark import SparkReports

    chosen = read_plan(plan) if isinstance(plan, str | Path) else plan
    return SparkReports.of_frame(frame, chosen, column)


def mine(
    reports: "DataFrame | str | Path | Iterable[str | Path]",
    plan: "PublishedPlan | str | Path | None" = None,
    min_support: float | str | None = None,
    *,
    column: str = "report",
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    **options: Any,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports that Spark's tasks read; what comes back is :func:`assocpriv.mine`'s table.

    Args:
        reports: a DataFrame, or files and folders, which carry their plan, and may be of several.
        plan: of a DataFrame's reports, or a file of it.
        min_support, options: as for :func:`assocpriv.mine`.
        column, spark, master: as for :func:`reports_of` and :func:`read_reports`.

    Raises:
        EstimateError: as :func:`assocpriv.mine`; ``certain`` by ``split`` of a DataFrame, whose rows have no order.
        PlanError: a DataFrame without a plan, or files with one.
        WireError, SparkError: as :func:`reports_of` and :func:`read_reports`.

    >>> import assocpriv as ap
    >>> itemsets = ap.spark.mine("collection", min_support="2%", master="yarn")  # doctest: +SKIP
    >>> rules = ap.association_rules(itemsets, min_confidence="60%")  # doctest: +SKIP
    """
    from assocpriv.api import mine as run
    from assocpriv.files.reports import by_plan
    from assocpriv.promise.errors import PlanError

    chosen: Any
    if hasattr(reports, "mapInArrow"):
        if plan is None:
            raise PlanError("a DataFrame does not say which plan its reports are of; give the plan, or a file of it")
        chosen = reports_of(cast("DataFrame", reports), plan, column)
    elif plan is not None:
        raise PlanError("report files carry their plan; give none")
    else:
        chosen = [read_reports(paths, spark, master=master) for paths in by_plan(cast("str | Path", reports))]
    found: pd.DataFrame = run(chosen, min_support, **options)
    return found


# ---- the clients' side: whoever holds baskets, and shares reports


def randomize(
    baskets: "DataFrame",
    plan: "Plan | str | Path",
    output: str | Path,
    *,
    item_column: str = "items",
    transaction_column: str | None = None,
    person: str | None = None,
    person_as: str = "checked",
    unknown: str = "error",
    repeats: str = "error",
) -> int:
    """Randomize the baskets of a DataFrame into a new folder of report files, a report a basket.

    Every task draws from the operating system's entropy where it runs. Of a task that is tried again, or twice at
    once, the reports of one attempt are kept and nothing of the others; the folder appears whole or not at all.

    Args:
        baskets: a row is a basket, or with ``transaction_column`` an item of one.
        plan: the published plan, or a file of it.
        output: the folder, which every task must be able to write by this path.
        item_column: a column of arrays of names, or with ``transaction_column`` of names: strings or whole numbers.
        transaction_column: which basket a row's item belongs to.
        person: with ``transaction_column``, whose a transaction is: as many of each person are reported as the plan
            promises, drawn by the operating system's entropy. Without it every basket counts as another person's.
        person_as: ``checked`` to refuse ids that may be one person's (case, blanks, Unicode form, 7 and 007), or
            ``written`` to take each as a person.
        unknown: ``error``, or ``drop`` to leave out names that the plan does not know.
        repeats: ``error``, or ``merge`` to count a name once that a basket repeats.

    Returns:
        How many reports were written.

    Raises:
        BasketError: no such column, one of another type, no basket, or one that does not fit the plan; nothing is
            written.
        FileError: the folder exists, or cannot be written.
        SparkError: Spark gave up; nothing is written.

    Warns:
        UserWarning: of what sampling long baskets loses.

    >>> import assocpriv as ap
    >>> receipts = ap.spark.connect().read.parquet("receipts")  # doctest: +SKIP
    >>> ap.spark.randomize(receipts, "plan.json", "reports", transaction_column="receipt")  # doctest: +SKIP
    2317000
    """
    from assocpriv.client.spark import randomize_frame
    from assocpriv.files.plans import read_plan
    from assocpriv.planning.sampling_loss import warn_of_sampling
    from assocpriv.plans.baskets import Plan

    chosen = read_plan(plan, Plan) if isinstance(plan, str | Path) else Plan.of(plan)
    columns = item_column, transaction_column, person
    sizes = randomize_frame(baskets, chosen, Path(output), columns, unknown, repeats, person_as)
    warn_of_sampling(sizes, chosen)
    return sizes.total()
