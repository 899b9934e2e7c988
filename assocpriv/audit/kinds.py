"""Which auditor judges which kind of plan: a line each. Its module is loaded when a plan of its kind is audited.

An auditor is a function (plan or None, text, request, progress or None) → findings.
"""

import json

from assocpriv.audit.findings import Finding
from assocpriv.audit.request import AuditRequest, Progress
from assocpriv.core.loading import load
from assocpriv.plans.published import PublishedPlan

AUDITORS = {
    "select-a-size": "assocpriv.audit.baskets:audit_baskets",
    "fixed-size": "assocpriv.audit.baskets:audit_baskets",
}
_OF_NO_KIND = AUDITORS["select-a-size"]  # finds what is wrong with a text that names none


def audit(
    plan: PublishedPlan | None, text: str, request: AuditRequest, progress: Progress | None = None
) -> list[Finding]:
    """Audit a plan, or its text alone where none can be made of it, and clients of it.

    Raises:
        FileError: a program that cannot be started.
    """
    kind = _kind_of(text) if plan is None else plan.kind
    findings: list[Finding] = load(AUDITORS.get(kind, _OF_NO_KIND))(plan, text, request, progress)
    return findings


def _kind_of(text: str) -> str:
    """Return the kind that a text names, if it does."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) else ""
