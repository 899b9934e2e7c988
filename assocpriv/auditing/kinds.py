"""An audit of a plan file and its clients, by the auditor of the plan's kind.

An auditor is a function (plan or None, text, request, progress or None) → findings. Which one judges which kind is a
line each; its module is loaded when a plan of its kind is audited.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from assocpriv.auditing.findings import BROKEN, UNDECIDED, Finding, count_undecided, verdict
from assocpriv.auditing.request import EXACT, AuditRequest, Progress
from assocpriv.files.plans import plan_of_text, read_plan_text
from assocpriv.plans.kind import load_for, shown_by
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import FileError, NotAPlanError

AUDITORS = {
    "select-a-size": "assocpriv.auditing.baskets:audit_baskets",
    "fixed-size": "assocpriv.auditing.baskets:audit_baskets",
    "table": "assocpriv.auditing.numeric:audit_table",
    "guided": "assocpriv.auditing.guided:audit_guided",
}
EVERY = ""  # client of a finding that is about the plan, or about our code as a whole
_WITHOUT_KIND = "select-a-size"  # whose auditor finds what is wrong with a text that names no kind


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """What an audit found; ``plan`` is None where the file holds none that can be used."""

    request: AuditRequest
    plan: PublishedPlan | None
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        not_made = count_undecided(self.findings)
        return f"Audit({self.verdict}, {len(self.findings)} findings, {not_made} of them checks not made)"

    _repr_html_ = shown_by("assocpriv.apps.render.notebook:audit_html")

    @property
    def verdict(self) -> str:
        """The worst of all findings."""
        return verdict(self.findings)

    @property
    def is_broken(self) -> bool:
        """Whether the promise is broken, or a client does not follow the plan."""
        return self.verdict == BROKEN


def audit_file(path: Path, request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit a plan file, and clients of it as black boxes.

    Args:
        path: the plan file.
        request: what to audit.
        progress: called with (stage, done, total).

    Raises:
        PlanError: text that does not even say that it is a plan; or a broken plan, where the exact depth, which
            judges it, is not asked for.
        FileError: the file cannot be read, or a program cannot be started.
    """
    text = read_plan_text(path)
    try:
        plan: PublishedPlan | None = plan_of_text(text, path, PublishedPlan)  # type: ignore[type-abstract]
    except (FileError, NotAPlanError):
        raise
    except Exception:
        if EXACT not in request.depths:
            raise
        plan = None  # what breaks its promise, or a rule of plans, is for the exact depth to judge
    findings = audit(plan, text, replace(request, plan_path=path), progress)
    return Audit(request, plan, tuple(findings))


def audit(
    plan: PublishedPlan | None, text: str, request: AuditRequest, progress: Progress | None = None
) -> list[Finding]:
    """Audit a plan, or its text alone where none can be made of it, and clients of it.

    Raises:
        FileError: a program that cannot be started.
    """
    if plan is not None:
        findings: list[Finding] = load_for(plan.kind, AUDITORS, "audited")(plan, text, request, progress)
        return findings + _not_made(plan.kind, request, findings)
    kind = _kind_of(text)
    auditor = load_for(kind if kind in AUDITORS else _WITHOUT_KIND, AUDITORS, "audited")
    return list(auditor(None, text, request, progress))


def _not_made(kind: str, request: AuditRequest, findings: list[Finding]) -> list[Finding]:
    """Return a finding for all that was asked for and of which an auditor says nothing: silence is no consent."""
    clients = {depth: (EVERY,) if depth == EXACT else request.clients for depth in request.depths}
    asked = {(depth, client) for depth in clients for client in clients[depth]}
    found = {(finding.depth, EVERY if finding.depth == EXACT else finding.client) for finding in findings}
    said = f"Nothing was looked at: plans of the kind {kind} have no check of this depth here."
    return [Finding(depth, "all checks", UNDECIDED, said, client=client) for depth, client in sorted(asked - found)]


def _kind_of(text: str) -> str:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) else ""
