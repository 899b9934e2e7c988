"""What randomizing a table came to, as text and as JSON content."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.plans.tables import TablePlan
    from assocpriv.records.tables import TableCounts


def outcome_record(done: "TableCounts", plan: "TablePlan") -> dict[str, Any]:
    """Return it as JSON content."""
    return {
        "plan_id": plan.plan_id,
        "reports": done.records,
        "report_bytes": plan.report_bytes,
        "clipped": done.clipped,
        "missing": done.missing,
    }


def outcome_lines(done: "TableCounts", plan: "TablePlan") -> list[str]:
    """Return what is to be said on standard error: what happened to values, and what the plan does not promise."""
    lines = [_by_column(done.clipped, "clipped to the range")] if done.clipped else []
    lines += [_by_column(done.missing, "missing")] if done.missing else []
    if plan.amplification is None:
        lines.append("the plan states no γ: its noise promises privacy on average, not for every record")
    elif plan.uncovered:
        lines.append(f"γ does not cover {plan.uncovered}")
    return lines


def _by_column(counts: Mapping[str, int], what: str) -> str:
    listed = ", ".join(f"{count:,} of {name}" for name, count in counts.items())
    return f"{counted(sum(counts.values()), 'value')} {what}: {listed}"
