"""What the door of sending answers: what became of a device's report, and of those that waited."""

from typing import Any

from assocpriv.apps.render.figures import fields
from assocpriv.collect import SentReport, SentWaiting
from assocpriv.promise.breaches import format_bound
from assocpriv.promise.errors import counted


def sent_record(sent: SentReport) -> dict[str, Any]:
    """Return what became of a report, for ``--json``."""
    return {
        **fields(sent, "state plan_id new report_bytes spent left"),
        "amplification": sent.amplification and format_bound(sent.amplification),
    }


def sent_lines(sent: SentReport, url: str) -> list[str]:
    """Say what became of a report."""
    made = "a new report" if sent.new else "the report made before"
    state = f"sent to {url}" if sent.state == "sent" else f"which {url} has already"
    return [
        f"{made}, {counted(sent.report_bytes, 'byte')}, {state}",
        f"of plan {sent.plan_id[:16]}… this device has made {counted(sent.spent, 'report')}; left: {sent.left}",
        *([sent.unbounded] if sent.unbounded else []),
    ]


def waiting_record(sent: SentWaiting) -> dict[str, Any]:
    """Return what became of the reports that waited, for ``--json``."""
    return fields(sent, "sent other_plans")


def waiting_lines(sent: SentWaiting, url: str) -> list[str]:
    """Say what became of the reports that waited."""
    others = f"{counted(sent.other_plans, 'report')} of other plans, which are not collected there: kept"
    return [f"{counted(sent.sent, 'report')} sent to {url}", *([others] if sent.other_plans else [])]
