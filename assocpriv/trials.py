"""The door of trials: both sides on data at hand, with the truth that only a trial knows.

Nothing of it belongs on a server or a device: it sees raw baskets and their reports.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.baskets import ReadOutcome
from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.baskets import Baskets
    from assocpriv.server.mining import check_max_itemset
    from assocpriv.simulation.demo import DemoSettings, start_demo
    from assocpriv.simulation.samples import plan_for_sample
    from assocpriv.simulation.simulate import Simulation
    from assocpriv.simulation.simulate import simulate as simulate_transactions
    from assocpriv.simulation.synthetic import (
        FILE_FORMATS,
        AgrawalSettings,
        QuestSettings,
        agrawal_schema,
        check_record_output,
        generate_agrawal,
        generate_agrawal_file,
        generate_file,
    )

__all__ = [
    "FILE_FORMATS", "AgrawalSettings", "DemoSettings", "QuestSettings", "agrawal_schema", "check_max_itemset",
    "check_record_output", "generate_agrawal", "generate_agrawal_file", "generate_file", "plan_for_sample",
    "read_transactions", "simulate", "simulate_transactions", "start_demo",
]  # fmt: skip
_HOMES = {
    "assocpriv.simulation.synthetic": (
        "AgrawalSettings", "agrawal_schema", "check_record_output", "generate_agrawal",
        "generate_agrawal_file", "FILE_FORMATS", "QuestSettings", "generate_file",
    ),
    "assocpriv.simulation.demo": ("DemoSettings", "start_demo"),
    "assocpriv.server.mining": ("check_max_itemset",),
    "assocpriv.simulation.samples": ("plan_for_sample",),
    "assocpriv.simulation.simulate": ("simulate as simulate_transactions",),
}  # fmt: skip


__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def simulate(
    baskets: Any,
    plan: "Plan",
    min_support: float | str,
    *,
    max_itemset: int | None = None,
    seed: int | None = None,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    unknown: str = "error",
    repeats: str = "error",
    progress: Callable[[str, int, int], None] | None = None,
) -> "Simulation":
    """Randomize baskets, mine the reports and compare with the truth: what would this plan find on data like mine?

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the plan to try.
        min_support: in (0, 1], as 0.02 or ``"2%"``; or ``"auto"``, as for :func:`mine`.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default.
        seed: makes the run repeatable; the operating system's entropy by default.
        format, transaction_column, item_column, unknown, repeats: as for :func:`randomize_baskets`.
        progress: called with (stage, done, total).

    Returns:
        ``itemsets`` with their ``true_support`` (within at most M sampled items) and ``raw_support``, ``missed``
        ones, counts of found, missed and false ones, and the time of each stage. The truth is that of what the plan's
        view makes of the baskets.

    Raises:
        BasketError: an item outside the plan's catalogue that its view does not drop.
        EstimateError: no baskets, or sizes that the plan cannot answer.

    Warns:
        UserWarning: as :func:`randomize_baskets`.
    """
    from assocpriv.client.transactions import view_baskets
    from assocpriv.planning.transaction_size import sampling_loss, warn_of_loss
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.baskets import count_sizes
    from assocpriv.simulation.simulate import simulate as run

    plan = Plan.of(plan)
    table = {"format": format, "transaction_column": transaction_column, "item_column": item_column}
    transactions, _ = view_baskets(baskets, plan, unknown=unknown, repeats=repeats, table=table)
    warn_of_loss(sampling_loss(count_sizes(transactions), plan))
    return run(transactions, plan, min_support, max_itemset=max_itemset, seed=seed, progress=progress)


def read_transactions(baskets: str | Path, plan: "Plan", **reading: Any) -> tuple["Baskets", ReadOutcome]:
    """Read a file of baskets whole as a plan's transactions, and what is lost of them; as :func:`randomize_file`."""
    from assocpriv.client.transactions import read_transactions as read
    from assocpriv.planning.transaction_size import sampling_loss
    from assocpriv.records.basket_files import ReadOptions
    from assocpriv.records.baskets import count_sizes

    transactions, counts = read(baskets, plan, ReadOptions(**reading))
    sizes = count_sizes(transactions)
    return transactions, ReadOutcome(counts, sizes[0], sampling_loss(sizes, plan))
