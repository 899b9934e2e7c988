"""The door of baskets: plans for them, and the clients' side; each step loads what it needs when it is taken."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.basket_files import read_baskets
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.names import NameSource
    from assocpriv.files.plans import read_catalogue, write_plan
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.planning.baskets import make_plan as plan
    from assocpriv.planning.discovery import Discovery, foresee, promise_needed, reports_needed, reports_to_discover
    from assocpriv.planning.transaction_size import SamplingLoss
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.catalogue import Catalogue
    from assocpriv.plans.view import View
    from assocpriv.promise.breaches import Breach, Epsilon
    from assocpriv.promise.errors import AssocprivError
    from assocpriv.records.basket_files import ReadCounts
    from assocpriv.records.baskets import Baskets, to_baskets

__all__ = [
    "AssocprivError", "Baskets", "Breach", "Catalogue", "Discovery", "Epsilon", "NameSource", "Plan", "ReadOutcome",
    "Reports", "View", "check_plan", "check_writable", "foresee", "plan", "promise_needed", "randomize",
    "randomize_baskets", "randomize_file", "read_baskets", "read_catalogue", "read_plan", "read_reports",
    "report_items", "reports_needed", "reports_to_discover", "to_baskets", "write_plan",
]  # fmt: skip
_HOMES = {
    "assocpriv.basket_files": ("read_baskets",),
    "assocpriv.promise.errors": ("AssocprivError",),
    "assocpriv.records.baskets": ("Baskets", "to_baskets"),
    "assocpriv.promise.breaches": ("Breach", "Epsilon"),
    "assocpriv.plans.catalogue": ("Catalogue",),
    "assocpriv.files.names": ("NameSource",),
    "assocpriv.planning.discovery": ("Discovery", "promise_needed", "reports_needed", "reports_to_discover", "foresee"),
    "assocpriv.plans.baskets": ("Plan",),
    "assocpriv.files.reports": ("Reports", "read_reports"),
    "assocpriv.plans.view": ("View",),
    "assocpriv.files.atomic": ("check_writable",),
    "assocpriv.planning.baskets": ("make_plan as plan",),
    "assocpriv.files.plans": ("read_catalogue", "write_plan"),
}  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def read_plan(path: str | PathLike[str]) -> "Plan":
    """Read a plan file, of baskets.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its operator breaks; or the plan is of
            another kind of data.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.baskets import Plan

    return read(Path(path), Plan)


def randomize(transaction: Collection[str | int], plan: "Plan") -> bytes:
    """Randomize one transaction with the operating system's entropy.

    Args:
        transaction: names of items of the plan's catalogue, or that its view leads there (an int 7 is the name "7"),
            none repeated but those that the view drops as unknown; any number of them, also none.
        plan: the published plan.

    Returns:
        The report: ``plan.report_bytes`` bytes, all that may leave the device.

    Raises:
        BasketError: an item outside the catalogue that the view does not drop, or one repeated.
        TypeError: not a collection of names.

    Source: EGS03, sections 5 and 6.
    """
    from assocpriv.client.any_kind import make_report
    from assocpriv.promise.entropy import SystemEntropy

    return make_report(transaction, plan, entropy=SystemEntropy())


def report_items(report: bytes, plan: "Plan") -> frozenset[str]:
    """Return the names that one report shows, of items its sender has and of others that chance added.

    Args:
        report: ``plan.report_bytes`` bytes.
        plan: the published plan.

    Returns:
        Names of the plan's catalogue; dummies, which fill short transactions, are left out.

    Raises:
        WireError: bytes that no client of the plan can have sent.
    """
    check_plan(plan)
    if not isinstance(report, bytes):
        raise TypeError(f"a report is bytes, got a {type(report).__name__}")
    return frozenset(plan.catalogue[item] for item in plan.form.items(report) if item < plan.n_items)


def check_plan(plan: object) -> None:
    """Refuse what is no plan, as a file's name, before it is taken for one."""
    from assocpriv.plans.baskets import Plan

    Plan.of(plan)


def randomize_baskets(
    baskets: Any,
    plan: "Plan",
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    unknown: str = "error",
    repeats: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> "Reports":
    """Randomize many baskets with the operating system's entropy.

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the published plan.
        format, transaction_column, item_column: of a data frame, as for :meth:`Baskets.from_frame`.
        unknown: as for :func:`read_baskets`; a plan whose view says so drops other names in any case.
        repeats: as for :func:`read_baskets`.
        progress: called with (baskets done, baskets).

    Raises:
        BasketError: baskets that do not fit the plan.

    Warns:
        UserWarning: where sampling baskets to the plan's transaction size loses more than 5% of support.
    """
    import numpy as np

    from assocpriv.client.bulk import randomize_chunks
    from assocpriv.client.transactions import view_baskets
    from assocpriv.files.reports import Reports
    from assocpriv.planning.transaction_size import sampling_loss, warn_of_loss
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.records.baskets import count_sizes

    check_plan(plan)
    table = {"format": format, "transaction_column": transaction_column, "item_column": item_column}
    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats, table=table)
    warn_of_loss(sampling_loss(count_sizes(transactions), plan))
    chunks = randomize_chunks(transactions, plan, entropy=SystemEntropy(), progress=progress)
    parts = [chunk.packed for chunk in chunks]
    packed = np.concatenate(parts) if parts else np.empty((0, plan.report_bytes), dtype=np.uint8)
    return Reports(plan, packed)


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a file of baskets comes to as a plan's transactions.

    How many baskets there are and what was dropped, merged and kept on the way, how many came out empty, and what
    sampling long ones loses of what the plan's view makes of them.
    """

    counts: "ReadCounts"
    empty: int
    loss: "SamplingLoss"


def randomize_file(
    baskets: str | Path,
    plan: "Plan",
    output: str | Path,
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ReadOutcome:
    """Randomize a file of baskets of any size into a file of reports, with the operating system's entropy.

    Args:
        baskets: the file, read batch by batch.
        plan: the published plan.
        output: Parquet file to write, .parquet or .pq; it appears whole or not at all.
        format, separator, header, transaction_column, item_column, repeats, empty: as for :func:`read_baskets`.
        unknown: as for :func:`randomize_baskets`.
        memory_bytes: what reading may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        BasketError: as :func:`read_baskets`, or a line or a file of the long layout that does not fit the memory.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.
    """
    from assocpriv.client.bulk import randomize_chunks
    from assocpriv.client.transactions import stream_transactions
    from assocpriv.files.reports import check_report_output, write_reports
    from assocpriv.kernels.parallel import default_memory, workers_within
    from assocpriv.planning.transaction_size import sampling_loss
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.records.basket_files import ReadOptions
    from assocpriv.records.baskets import count_sizes

    check_plan(plan)
    check_report_output(output)
    memory = default_memory() if memory_bytes is None else memory_bytes
    options = ReadOptions(
        format,
        unknown,
        repeats,
        empty,
        memory,
        progress,
        separator=separator,
        header=header,
        transaction_column=transaction_column,
        item_column=item_column,
    )
    stream = stream_transactions(baskets, plan, options)
    sizes: Counter[int] = Counter()

    def counted() -> Iterator["Baskets"]:
        for batch in stream:
            sizes.update(count_sizes(batch))
            yield batch

    chunks = randomize_chunks(counted(), plan, entropy=SystemEntropy(), workers=workers_within(memory))
    write_reports((chunk.packed for chunk in chunks), plan, output, force=force)
    return ReadOutcome(stream.counts, sizes[0], sampling_loss(sizes, plan))
