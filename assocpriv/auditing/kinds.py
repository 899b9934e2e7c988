"""An audit of a plan file and its clients, by the auditor of the plan's kind.

An auditor is a function (plan or None, text, request, progress or None) → findings. Which one judges which kind is a
line each; its module is loaded when a plan of its kind is audited.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from assocpriv.auditing.findings import BROKEN, Finding, count_undecided, verdict
from assocpriv.auditing.request import AuditRequest, Progress
from assocpriv.core.errors import FileError
from assocpriv.core.loading import load
from assocpriv.files.plans import read_plan, read_plan_text
from assocpriv.plans.published import PublishedPlan

AUDITORS = {
    "select-a-size": "assocpriv.auditing.baskets:audit_baskets",
    "fixed-size": "assocpriv.auditing.baskets:audit_baskets",
}
_OF_NO_KIND = AUDITORS["select-a-size"]  # finds what is wrong with a text that names none


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """What an audit found; ``plan`` is None where the file holds none that can be used."""

    request: AuditRequest
    plan: PublishedPlan | None
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        not_made = count_undecided(self.findings)
        return f"Audit({self.verdict}, {len(self.findings)} findings, {not_made} of them checks not made)"

    @property
    def verdict(self) -> str:
        """The worst of all findings."""
        return verdict(self.findings)

    @property
    def is_broken(self) -> bool:
        """Whether the promise is broken, or a client does not follow the plan."""
        return self.verdict == BROKEN


def audit_file(
    path: Path, request: AuditRequest, prepare: Callable[[], None], progress: Progress | None = None
) -> Audit:
    """Audit a plan file, and clients of it as black boxes.

    Args:
        path: the plan file.
        request: what to audit.
        prepare: called once the request and the file are found to be usable, before the work.
        progress: called with (stage, done, total).

    Raises:
        PlanError: no plan, where the exact depth is not asked for; it judges what is none, too.
        FileError: the file cannot be read, or a program cannot be started.
    """
    text = read_plan_text(path)
    try:
        plan = read_plan(path)
    except FileError:
        raise
    except Exception:
        if "exact" not in request.depths:
            raise
        plan = None  # what is no plan, or breaks its promise, is for the exact depth to judge
    prepare()
    findings = audit(plan, text, replace(request, plan_path=path), progress)
    return Audit(request, plan, tuple(findings))


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
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) else ""
