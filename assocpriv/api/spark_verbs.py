"""Verbs of Spark: connect, read_reports, reports_from_frame, mine, randomize."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.published_plan import PublishedPlan
    from assocpriv.server.baskets.tables import ItemsetFilter
    from assocpriv.server.spark_counting import SparkReports


def connect(master: str = "local[*]") -> "SparkSession":
    """Return a Spark session.

    Args:
        master: ``local[2]`` (cores of this machine), ``spark://host:7077``, ``yarn``, ``k8s://host:port``, or
            ``sc://host:15002`` for a Spark Connect server.

    Returns:
        The session.

    Raises:
        SparkError: PySpark or Java is missing or too old, or the master is invalid or does not answer.

    >>> import assocpriv as ap
    >>> spark = ap.spark.connect("local[2]")  # doctest: +SKIP
    >>> len(ap.spark.read_reports("collection", spark))  # doctest: +SKIP
    2317000
    """
    from assocpriv.spark.spark_session import start_session

    return start_session(master)


def read_reports(
    paths: str | Path | Iterable[str | Path], spark: "SparkSession | None" = None, *, master: str = "local[*]"
) -> "SparkReports":
    """Open report files, or folders of them, as a collection that Spark's tasks read.

    Args:
        paths: As for :func:`assocpriv.read_reports`; every task must find the files under the same paths.
        spark: A session; by default one is started on ``master``.
        master: As for :func:`connect`.

    Returns:
        The collection.

    Raises:
        SparkError: As :func:`connect`.
        WireError, PlanError: As :func:`assocpriv.read_reports`.

    >>> import assocpriv as ap
    >>> reports = ap.spark.read_reports("collection", master="spark://host:7077")  # doctest: +SKIP
    >>> itemsets = ap.mine(reports, "2%")  # doctest: +SKIP
    """
    from assocpriv.files.report_files import read_reports as read
    from assocpriv.server.spark_counting import SparkReports

    reports = read(paths)
    return SparkReports.from_files(reports, connect(master) if spark is None else spark)


def reports_from_frame(
    frame: "DataFrame", plan: "PublishedPlan | str | Path", column: str = "report"
) -> "SparkReports":
    """Return the reports in a column of a DataFrame as a collection.

    Args:
        frame: A Spark DataFrame, classic or Connect, with one report per row.
        plan: The plan of the reports, or its file.
        column: The column of reports, as bytes.

    Returns:
        The collection.

    Raises:
        WireError: No such column, or of another type; missing rows, or rows that are not reports of the plan.
        PlanError: A file that is not a plan.
        SparkError: Spark failed.

    >>> import assocpriv as ap
    >>> frame = ap.spark.connect().read.parquet("s3a://shop/reports")  # doctest: +SKIP
    >>> itemsets = ap.mine(ap.spark.reports_from_frame(frame, "plan.json"), "2%")  # doctest: +SKIP
    """
    from assocpriv.files.plan_files import read_plan
    from assocpriv.server.spark_counting import SparkReports

    chosen = read_plan(plan) if isinstance(plan, str | Path) else plan
    return SparkReports.from_frame(frame, chosen, column)


def mine(
    reports: "DataFrame | str | Path | Iterable[str | Path]",
    plan: "PublishedPlan | str | Path | None" = None,
    min_support: float | str | None = None,
    *,
    column: str = "report",
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    top: int | None = None,
    among: "ItemsetFilter | None" = None,
    max_itemset: int | None = None,
    fdr: float | str | None = None,
    fdr_by: str = "split",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
) -> "pd.DataFrame":
    """Estimate frequent itemsets from reports that Spark tasks read.

    Args:
        reports: A DataFrame, or files and folders, which contain their plans, and may be of several plans.
        plan: The plan of a DataFrame's reports, or its file.
        min_support, top, among, max_itemset, fdr, fdr_by, confidence_level, memory_bytes: As for
            :func:`assocpriv.mine`.
        column, spark, master: As for :func:`reports_from_frame` and :func:`read_reports`.

    Returns:
        The table of :func:`assocpriv.mine`.

    Raises:
        EstimateError: As :func:`assocpriv.mine`; ``fdr`` with ``fdr_by="split"`` of a DataFrame, whose rows have no
            order.
        PlanError: A DataFrame without a plan, or files with one.
        WireError, SparkError: As :func:`reports_from_frame` and :func:`read_reports`.

    >>> import assocpriv as ap
    >>> itemsets = ap.spark.mine("collection", min_support="2%", master="yarn")  # doctest: +SKIP
    >>> rules = ap.association_rules(itemsets, min_confidence="60%")  # doctest: +SKIP
    """
    from assocpriv.api.mining import mine as run
    from assocpriv.files.report_files import group_by_plan
    from assocpriv.guarantees.errors import PlanError

    chosen: Any
    if hasattr(reports, "mapInArrow"):
        if plan is None:
            raise PlanError("a DataFrame does not contain its plan; give the plan or its file")
        chosen = reports_from_frame(cast("DataFrame", reports), plan, column)
    elif plan is not None:
        raise PlanError("report files contain their plan; leave plan out")
    else:
        chosen = [read_reports(paths, spark, master=master) for paths in group_by_plan(cast("str | Path", reports))]
    return run(
        chosen, min_support, top=top, among=among, max_itemset=max_itemset, fdr=fdr, fdr_by=fdr_by,
        confidence_level=confidence_level, memory_bytes=memory_bytes,
    )  # fmt: skip


# ---- clients: owners of baskets who share reports


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
    """Randomize the baskets of a DataFrame into a new folder of report files, one report per basket.

    Every task draws from the operating system's entropy where it runs. If a task is repeated, or runs twice at once,
    the reports of one attempt are kept. The folder appears complete or not at all.

    Args:
        baskets: One basket per row, or with ``transaction_column`` one item of a basket per row.
        plan: The published plan, or its file.
        output: The folder; every task must be able to write to this path.
        item_column: A column of arrays of names, or with ``transaction_column`` of names: strings or whole numbers.
        transaction_column: The column that identifies a row's basket.
        person: With ``transaction_column``, the column that identifies a basket's person. At most the plan's number of
            reports per person is made, from baskets drawn by the operating system's entropy. By default every basket
            counts as one person.
        person_as: ``checked`` refuses ids that may be one person (case, blanks, Unicode form, 7 and 007), ``written``
            takes each id as a person.
        unknown: ``error``, or ``drop`` to skip names outside the plan's catalogue.
        repeats: ``error``, or ``merge`` to count a repeated name of a basket once.

    Returns:
        The number of reports written.

    Raises:
        BasketError: No such column, one of another type, no basket, or one that does not fit the plan; nothing is
            written.
        FileError: The folder exists, or cannot be written.
        SparkError: Spark failed; nothing is written.
        TypeError: no plan.

    Warns:
        UserWarning: The loss by truncation of long baskets.

    >>> import assocpriv as ap
    >>> receipts = ap.spark.connect().read.parquet("receipts")  # doctest: +SKIP
    >>> ap.spark.randomize(receipts, "plan.json", "reports", transaction_column="receipt")  # doctest: +SKIP
    2317000
    """
    from assocpriv.client.spark_client import randomize_frame
    from assocpriv.files.plan_files import read_plan
    from assocpriv.planning.truncation_loss import warn_of_truncation
    from assocpriv.plans.baskets.basket_plan import Plan

    chosen = read_plan(plan, Plan) if isinstance(plan, str | Path) else Plan.require(plan)
    columns = item_column, transaction_column, person
    sizes = randomize_frame(baskets, chosen, Path(output), columns, unknown, repeats, person_as)
    warn_of_truncation(sizes, chosen)
    return sizes.total()
