"""What the server does with a collection of a kind before anything is estimated: a line each.

A kind without a line has no test for crafted reports.
"""

from typing import Any

from assocpriv.files.reports import Reports
from assocpriv.plans.kind import load_for

# kind -> a function of (reports, *, progress): which reports honest people cannot have sent
CRAFTED = {
    "select-a-size": "assocpriv.server.crafted:check_reports",
    "fixed-size": "assocpriv.server.crafted:check_reports",
}


def check_crafted(reports: Reports, progress: Any = None) -> Any:
    """Test whether honest people could have sent these reports.

    Raises:
        PlanError: there is no such test of plans of this kind.
    """
    return load_for(reports.plan.kind, CRAFTED, "tested for crafted reports")(reports, progress=progress)
