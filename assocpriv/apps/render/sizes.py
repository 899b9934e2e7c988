"""Sizes of baskets: what sampling them to M items loses, what each M would mean, and what reading left out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import discoverable, finite, percent
from assocpriv.apps.render.plan import LOWEST
from assocpriv.planning.transaction_size import SamplingLoss, describe_loss
from assocpriv.plans.catalogue import itemsets_of

if TYPE_CHECKING:
    from assocpriv.baskets import ReadOutcome
    from assocpriv.planning.transaction_size import SizeRow
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.basket_files import ReadCounts
    from assocpriv.simulation.samples import SamplePlan


_FAR = 10  # times more reports than a sample has baskets, from which the number is likely no choice


def sample_lines(done: "SamplePlan", reports: int, *, by_default: bool = False) -> list[str]:
    """Say what was left out of a sample, what each transaction size would mean for it, and what sampling loses.

    Also what so few reports could show, where the sample is far below a number of reports that is a default.
    """
    sizes = size_lines(done.size_rows, reports) if done.size_rows else []
    if done.sample is None or done.loss is None:
        return sizes
    counts = _count_lines(done.sample.counts, done.sample.empty, done.plan)
    read = f"sample of {done.sample.counts.baskets:,} baskets, plan for {reports:,} reports (--reports)"
    few = _few_lines(done.plan, done.sample.counts.baskets, reports) if by_default else []
    return [read, *few, *counts, *sizes, *loss_lines(done.loss)]


def _few_lines(plan: "Plan", baskets: int, reports: int) -> list[str]:
    from assocpriv.baskets import foresee

    if not 0 < baskets * _FAR <= reports:
        return []
    limits = foresee(plan, baskets).discoverable.lowest
    shown = ", ".join(f"{itemsets_of(k)} {discoverable(limit)}" for k, limit in limits.items())
    return [
        f"warning: {reports:,} reports are the default; for as many as the sample has give --reports {baskets}",
        f"from {baskets:,} reports the lowest discoverable support would be: {shown}",
    ]


def outcome_lines(outcome: "ReadOutcome", plan: "Plan") -> list[str]:
    """Say what was left out or merged of a file, and what sampling its baskets loses."""
    return [*_count_lines(outcome.counts, outcome.empty, plan), *loss_lines(outcome.loss)]


def loss_lines(loss: SamplingLoss) -> list[str]:
    """Say how many baskets are sampled and what share of support that loses."""
    lines, warning = describe_loss(loss)
    return [*lines, *(f"warning: {line}" for line in warning)]


def size_records(rows: "Sequence[SizeRow]") -> list[dict[str, Any]]:
    """Return what each transaction size would mean for baskets like a sample's, for ``--json``."""
    return [
        {
            "transaction_size": row.transaction_size,
            "blocks": row.pieces,
            "longer_share": row.longer,
            "surviving_support": finite(row.surviving),
            LOWEST: finite(row.lowest_discoverable_support),
            "lowest_raw_support": finite(row.lowest_raw_support),
            "proposed": row.proposed,
        }
        for row in rows
    ]


def size_lines(rows: "Sequence[SizeRow]", reports: int) -> list[str]:
    """Show what each transaction size would mean for baskets like a sample's."""
    largest, in_blocks = max(rows[0].surviving), any(row.pieces > 1 for row in rows)
    names = ["singles", "pairs", "triples", *(f"k={k}" for k in range(4, largest + 1))][:largest]
    parts = ["surviving", "discoverable of M", "discoverable raw"]
    width = 9 * largest
    lines = [
        f"{'':>6} " * in_blocks + f"{'':>3} {'':>7}" + "".join(f" |{part:>{width}}" for part in parts),
        f"{'blocks':>6} " * in_blocks
        + f"{'M':>3} {'longer':>7}"
        + (" |" + "".join(f"{name:>9}" for name in names)) * 3,
    ]
    for row in rows:
        shown = [
            [percent(share, 1) for share in row.surviving.values()],
            [discoverable(limit) for limit in row.lowest_discoverable_support.values()],
            [discoverable(limit) for limit in row.lowest_raw_support.values()],
        ]
        cells = "".join(" |" + "".join(f"{text:>9}" for text in texts) for texts in shown)
        lines.append(
            f"{row.pieces if row.pieces > 1 else 'none':>6} " * in_blocks
            + f"{row.transaction_size:>3} {percent(row.longer, 1, 7)}{cells}"
            + ("  ← proposed" if row.proposed else "")
        )
    return [*lines, _SIZES_EXPLAINED[in_blocks].format(reports=f"{reports:,}")]


_SIZES_EXPLAINED = {
    False: "longer: baskets with more than M items; surviving: what sampling to M leaves of the support of the most "
    "frequent itemsets; discoverable: the lowest support from {reports} reports, within the M sampled items, and raw, "
    "in whole baskets (the former over what survives)",
    True: "blocks: parts of the catalogue, of which a report is about one; longer: baskets with more than M items of "
    "it; surviving: what sampling to M leaves of the support of the most frequent itemsets; discoverable: the lowest "
    "support from {reports} reports, within the M sampled items, and raw, in whole baskets (the former over what "
    "survives)",
}


def _count_lines(counts: "ReadCounts", empty: int, plan: "Plan") -> list[str]:
    """Say what was left out or merged of a file; ``empty`` baskets came out empty."""
    parts = [
        (counts.unknown_dropped, "items outside the catalogue dropped"),
        (counts.repeats_merged, "repeated items merged"),
        (counts.empty_kept, "empty baskets kept"),
    ]
    lines = [f"{number:,} {what}" for number, what in parts if number]
    emptied = empty - counts.empty_kept
    if emptied and plan.view.kind == "items":  # with other kinds it says nothing about the format
        line = f"{emptied:,} of {counts.baskets:,} baskets hold none of the catalogue's items"
        # where a plan leaves names out, as a short list does, that is no sign of a wrong format
        lines.append(line if plan.view.others == "drop" else f"warning: {line}; check the format")
    return lines
