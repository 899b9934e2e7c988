"""What the server does with a collection of a kind before anything is estimated: a line each.

A kind without a line has reports of one part, and no test for crafted ones.
"""

from typing import Any

from assocpriv.core.loading import load
from assocpriv.files.reports import Reports
from assocpriv.plans.registry import load_for

# kind -> a function of reports: how many there are of each part that descriptions tell apart, None where of one part
PARTS = {"select-a-size": "assocpriv.files.basket_reports:count_groups"}
# kind -> a function of (reports, *, progress): which reports honest people cannot have sent
CRAFTED = {
    "select-a-size": "assocpriv.server.crafted.checks:check_reports",
    "fixed-size": "assocpriv.server.crafted.checks:check_reports",
}
_AT_ONCE = 1 << 20


def read_whole(reports: Reports) -> tuple[int, ...] | None:
    """Read all reports, which checks them; return how many there are of each part, or None where of one.

    Raises:
        WireError: a file that is damaged or whose reports do not fit the plan.
    """
    kind = reports.plan.kind
    parts: tuple[int, ...] | None = load(PARTS[kind])(reports) if kind in PARTS else None
    if parts is None:  # nothing was read so far
        for _ in reports.batches(_AT_ONCE):
            pass
    return parts


def check_crafted(reports: Reports, progress: Any = None) -> Any:
    """Test whether honest people could have sent these reports.

    Raises:
        PlanError: there is no such test of plans of this kind.
    """
    return load_for(reports.plan.kind, CRAFTED, "tested for crafted reports")(reports, progress=progress)
