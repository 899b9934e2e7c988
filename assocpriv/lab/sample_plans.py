"""A plan for baskets like those of a sample: M where none is given, and what sampling to M loses of the sample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assocpriv.client.transactions import read_transactions
from assocpriv.planning.baskets import KnownSizes, Proposal, make_plan, plan_for_sizes
from assocpriv.planning.request import PlanWishes
from assocpriv.planning.transaction_size import (
    SamplingLoss,
    SizeRow,
    default_itemset_size,
    propose_transaction_size,
    sampling_loss,
)
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.view import View
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.records.basket_files import ReadCounts, ReadOptions
from assocpriv.records.baskets import Baskets, count_sizes, top_holders
from assocpriv.server.itemsets import read_itemsets
from assocpriv.server.posterior import SizeShares
from assocpriv.server.rounds import sizes_of_table

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ReadSample:
    """Baskets of a file, as a plan's view makes transactions of them, and what reading them met."""

    baskets: Baskets
    counts: ReadCounts

    @property
    def empty(self) -> int:
        """Baskets that came out empty."""
        return int((self.baskets.sizes == 0).sum())


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """A plan, the sample that it was made for, what each M would mean where that was to be chosen, and its loss."""

    plan: Plan
    sample: ReadSample | None = None
    size_rows: tuple[SizeRow, ...] = ()
    loss: SamplingLoss | None = None


def plan_for_sample(
    names: int | Catalogue,
    promise: Breach,
    sample: tuple[Path, Mapping[str, Any]] | None,
    *,
    unknown: str = "error",
    transaction_size: int | None,
    blocks: str | int | None = None,
    histogram: Path | None = None,
    progress: Progress | None = None,
    **choices: Any,
) -> SamplePlan:
    """Return the plan with the least error for baskets like those of a sample.

    Args:
        names: of the items, or their number.
        promise: the breach that no report may cause.
        sample: a file of baskets and what is said of its layout, as for ``read_baskets``; None for no sample.
        unknown: "error", or "drop" to leave out the sample's items that the plan does not have.
        transaction_size: M; by default the one proposed for the sample.
        blocks: number of pieces that the catalogue is cut into; ``auto`` chooses it for the sample or the histogram.
        histogram: in place of a sample, the file of a sizes plan's mined table.
        progress: called with (stage, done, total).
        choices: ``view``, ``reports``, ``code`` and all else that :func:`assocpriv.plan` takes.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        BasketError: a sample that cannot be read, or that has an item which the plan neither has nor drops.
    """
    choices["progress"] = partial(progress, "planning") if progress else None

    def by_sizes(known: KnownSizes | SizeShares) -> tuple[Plan, Proposal]:
        return plan_for_sizes(names, promise, known, transaction_size=transaction_size, blocks=blocks, **choices)

    if histogram is not None:
        if sample is not None:
            raise PlanError("give a sample or a histogram of sizes, not both")
        plan, proposal = by_sizes(sizes_of_table(read_itemsets(histogram)))
        return SamplePlan(plan, size_rows=proposal.rows)
    if sample is None:
        if transaction_size is None or isinstance(blocks, str):
            raise PlanError("a sample or a histogram of sizes must say which transaction size and blocks to plan for")
        return SamplePlan(make_plan(names, transaction_size, promise, blocks=blocks, **choices))
    view: View = choices.get("view") or View()
    read = _read(sample, make_plan(names, 1, promise, code="none", view=view), unknown, progress)
    rows: Sequence[SizeRow] = ()
    if isinstance(blocks, str) or (blocks is not None and transaction_size is None):
        plan, proposal = by_sizes(_known_sizes(read.baskets, transaction_size, choices))
        rows = proposal.rows
    else:
        if transaction_size is None:
            rows = _size_rows(read.baskets, promise, choices, progress)
            transaction_size = next(row.transaction_size for row in rows if row.proposed)
        plan = make_plan(names, transaction_size, promise, blocks=blocks, **choices)
    return SamplePlan(plan, read, tuple(rows), sampling_loss(count_sizes(read.baskets), plan))


def _known_sizes(baskets: Baskets, transaction_size: int | None, choices: Mapping[str, Any]) -> KnownSizes:
    """Return what a sample's baskets tell of sizes."""
    sizes = count_sizes(baskets)
    largest = choices.get("itemset_size") or min(default_itemset_size(sizes), transaction_size or MAX_TRANSACTION_SIZE)
    return KnownSizes.of_sample(sizes, top_holders(baskets, largest), len(baskets.catalogue))


def _size_rows(baskets: Baskets, promise: Breach, choices: dict[str, Any], progress: Progress | None) -> list[SizeRow]:
    sizes, largest = count_sizes(baskets), choices.get("itemset_size")
    holders = top_holders(baskets, min(largest or default_itemset_size(sizes), MAX_TRANSACTION_SIZE))
    shared = ("itemset_size", "reports", "pattern", "target", "reports_per_person")
    wishes = PlanWishes(promise=promise, **{name: choices[name] for name in shared if name in choices})
    comparing = partial(progress, "comparing sizes") if progress else None
    return propose_transaction_size(sizes, wishes, holders=holders, progress=comparing)


def _read(sample: tuple[Path, Mapping[str, Any]], plan: Plan, unknown: str, progress: Progress | None) -> ReadSample:
    """Read baskets as a plan views them."""
    path, layout = sample
    reading = partial(progress, "reading") if progress else None
    options = ReadOptions(**layout, unknown=unknown, repeats="merge", empty="keep", progress=reading)
    return ReadSample(*read_transactions(path, plan, options))
