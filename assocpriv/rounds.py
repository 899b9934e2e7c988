"""The door of rounds: several collections of other people each, from a histogram of sizes to the itemsets wanted."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.basket_files import read_baskets
from assocpriv.baskets import check_plan
from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.planning.rounds import Refinement, plan_histogram
    from assocpriv.plans.baskets import Plan
    from assocpriv.promise.breaches import Breach
    from assocpriv.records.baskets import Baskets
    from assocpriv.server.posterior import SizeShares
    from assocpriv.server.rounds import combined_records, write_combined
    from assocpriv.simulation.rounds import RoundsTrial

__all__ = [
    "combine", "combined_records", "plan_for_sizes", "plan_histogram", "read_used_baskets", "refine", "simulate_rounds",
    "write_combined",
]  # fmt: skip
_HOMES = {
    "assocpriv.planning.rounds": ("plan_histogram",),
    "assocpriv.server.rounds": ("combined_records", "write_combined"),
}  # fmt: skip


__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def refine(
    itemsets: "pd.DataFrame | str | Path",
    plan: "Plan",
    *,
    top: int = 64,
    candidates: bool = False,
    histogram: "pd.DataFrame | str | Path | None" = None,
    reports: int | None = None,
    items: int | Iterable[str] | None = None,
) -> "Refinement":
    """Plan the next round, for other people, from what one round's reports showed.

    After a round of sizes the next one asks about all items, and ``people`` says how to split those still to be asked.

    Args:
        itemsets: a table as :func:`mine` returned it, or a file of it.
        plan: the plan it was mined with.
        top: itemsets wanted. The shortlist has somewhat more items, those of the largest supports, and yet more as far
            as noise leaves it open whether they belong there (docs/cli/server.md has the rule).
        candidates: make the table's itemsets the entries, somewhat more than wanted, instead of its single items.
        histogram: a mined table of a sizes plan (``assocpriv plan --histogram``), or a file of it, from which M and
            what sampling loses are reckoned; without it the number of entries held is taken for Poisson around the sum
            of their supports.
        reports: how many people will answer; as many as in the table by default. After a round of sizes all that are
            still to be asked, 49 times as many as in the table by default.
        items: after a round of sizes that counted all names: number of items or their names.

    Returns:
        ``plan``, with the promise of the first one, and what holds for whoever answers both: ``amplification_limit``
        (the product of both), ``highest_posterior``, ``lowest_posterior``.

    Raises:
        EstimateError: a table of another plan, of entries that are no items, or of fewer than two.
        PlanError: numbers out of range, or no operator fits.
    """
    from assocpriv.planning.request import catalogue_of
    from assocpriv.planning.rounds import RoundWishes
    from assocpriv.planning.rounds import refine as run

    check_plan(plan)
    catalogue = None if items is None else catalogue_of(items)
    sizes = _sizes(histogram)
    return run(_table(itemsets), plan, RoundWishes(top, candidates, sizes, reports, catalogue))


def combine(
    tables: "Iterable[pd.DataFrame | str | Path]", *, histogram: "pd.DataFrame | str | Path | None" = None
) -> "pd.DataFrame":
    """Put mined tables of several rounds side by side, and average what estimates the same.

    Args:
        tables: as :func:`mine` returned them, or files of them, of other people each.
        histogram: a mined table of a sizes plan, or a file of it: every table is corrected for what sampling to M lost,
            by a model, and all are averaged. Without it only tables of one plan are.

    Returns:
        One row an itemset, larger supports first: ``itemsets``, ``length``, ``support`` and ``std_error`` (for the
        population; NaN where nothing may be averaged), with a histogram ``model_error`` (what the correction may have
        left, which the standard error does not cover), and of table i ``support_i``, ``std_error_i`` and
        ``corrected_i``. ``attrs["assocpriv"]["notes"]`` say what was averaged and why not more. Rules cannot be derived
        from it.

    Raises:
        EstimateError: fewer than two tables, one of a sizes plan, or two of the same reports.
    """
    from assocpriv.server.rounds import combine_tables

    if isinstance(tables, str | Path) or hasattr(tables, "columns"):
        raise TypeError("tables must be a list of tables or files; combining takes two or more")
    sizes = _sizes(histogram)
    frames = [_table(table) for table in tables]
    return combine_tables(frames, sizes)


def plan_for_sizes(
    items: int | Iterable[str],
    promise: "Breach",
    histogram: "pd.DataFrame | str | Path",
    *,
    transaction_size: int | None = None,
    blocks: str | int | None = "auto",
    progress: Callable[[int, int], None] | None = None,
    **choices: Any,
) -> "Plan":
    """Plan one collection by a mined histogram of sizes, so that supports come near to those of whole baskets.

    Args:
        items: number of items or their names, those whose sizes the histogram tells.
        promise: the breach that no report may cause.
        histogram: mined table of a sizes plan, or its file.
        transaction_size: M; by default chosen by the histogram.
        blocks: ``auto`` chooses whether to cut the catalogue and into how many pieces; their number; or None.
        progress: called with (done, total) steps.
        choices: all else that :func:`assocpriv.plan` takes.

    Raises:
        EstimateError: not the table of a sizes plan.
        PlanError: arguments out of range, or no operator fits.
    """
    from assocpriv.planning.baskets import plan_for_sizes as plan
    from assocpriv.planning.request import catalogue_of
    from assocpriv.server.rounds import sizes_of_table

    sizes, catalogue = sizes_of_table(_table(histogram)), catalogue_of(items)
    wishes = {"transaction_size": transaction_size, "blocks": blocks, "progress": progress}
    made, _ = plan(catalogue, promise, sizes, **wishes, **choices)  # type: ignore[arg-type]
    return made


def _table(table: "pd.DataFrame | str | Path") -> "pd.DataFrame":
    from assocpriv.server.itemsets import read_itemsets

    return read_itemsets(table) if isinstance(table, str | Path) else table


def _sizes(histogram: "pd.DataFrame | str | Path | None") -> "SizeShares | None":
    from assocpriv.server.rounds import sizes_of_table

    return None if histogram is None else sizes_of_table(_table(histogram))


def simulate_rounds(
    baskets: Any,
    promise: "Breach",
    *,
    rounds: int | str = "auto",
    top: int = 64,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "RoundsTrial":
    """Run whole schedules of rounds on baskets: how many rounds find most, and what does each buy?

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        promise: the breach that no report may cause; each person answers once.
        rounds: 1, 2, 3, or ``auto`` to try all.
        top: how many itemsets are wanted.
        seed: makes the run repeatable; the operating system's entropy by default.
        progress: called with (stage, done, total).

    Returns:
        ``schedules``, each with its rounds and what was found after them beside the truth, and ``proposed``, the one
        that found the most of the truly most frequent itemsets (of up to four items, in whole baskets).

    Raises:
        EstimateError: too few baskets, or none that holds anything.
        PlanError: numbers out of range, or no operator fits.
    """
    from assocpriv.records.baskets import to_baskets
    from assocpriv.simulation.rounds import try_rounds

    return try_rounds(to_baskets(baskets), promise, rounds=rounds, top=top, seed=seed, progress=progress)


def read_used_baskets(baskets: str | Path, **reading: Any) -> "Baskets":
    """Read a file of baskets as :func:`read_baskets`, over a catalogue of the items that occur in it."""
    from assocpriv.simulation.rounds import of_used_items

    return of_used_items(read_baskets(baskets, **reading))
