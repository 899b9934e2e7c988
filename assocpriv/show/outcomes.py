"""What became of baskets that were randomized, as text for a person or as JSON content: what was lost on the way."""

from typing import TYPE_CHECKING, Any

from assocpriv.planning.sampling_loss import SamplingLoss, describe_loss, sampling_loss
from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.client.transactions import BasketCounts
    from assocpriv.plans.baskets import Plan
    from assocpriv.records.basket_files import ReadCounts


def outcome_lines(done: "BasketCounts", plan: "Plan") -> list[str]:
    """Say what was left out or merged of a file, and what sampling its baskets loses."""
    lines = [*count_lines(done.read, done.empty, plan), people_line(done, plan)]
    return [*lines, *loss_lines(sampling_loss(done.sizes, plan))]


def people_line(done: "BasketCounts", plan: "Plan") -> str:
    """Say whose baskets were reported: the promise is for so many of one person."""
    most = counted(plan.reports_per_person, "basket")
    if done.people is None:
        return f"every basket counts as another person's; the promise is for {most} of one: --person COLUMN says whose"
    left = done.read.baskets - done.reported
    return f"at most {most} of each person is reported, of {done.people:,} people; {left:,} left out"


def outcome_record(done: "BasketCounts", plan: "Plan") -> dict[str, Any]:
    """Return what became of baskets as JSON content."""
    loss = sampling_loss(done.sizes, plan)
    return {
        "plan_id": plan.plan_id,
        "reports": done.reported,
        "people": done.people,
        "report_bytes": plan.report_bytes,
        "sampled_baskets": loss.sampled,
        "expected_support_lost": {str(k): share for k, share in loss.shares.items()},
    }


def count_lines(counts: "ReadCounts", empty: int, plan: "Plan") -> list[str]:
    """Say what was left out or merged of a file; ``empty`` baskets came out empty."""
    parts = [
        (counts.unknown_dropped, "items outside the catalogue dropped"),
        (counts.repeats_merged, "repeated items merged"),
        (counts.empty_kept, "empty baskets kept"),
    ]
    lines = [f"{number:,} {what}" for number, what in parts if number]
    emptied = empty - counts.empty_kept
    if emptied > 0:
        line = f"{emptied:,} of {counts.baskets:,} baskets hold none of the catalogue's items"
        # where a plan leaves names out, as a short list does, that is no sign of a wrong format
        lines.append(line if plan.names.others == "drop" else f"warning: {line}; check the format")
    return lines


def loss_lines(loss: SamplingLoss) -> list[str]:
    """Say how many baskets are sampled and what share of support that loses."""
    lines, warning = describe_loss(loss)
    return [*lines, *(f"warning: {line}" for line in warning)]
