"""An audit of a plan file and its clients at one depth or at all, by the auditor of the plan's kind."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from assocpriv.audit import kinds
from assocpriv.audit.findings import BROKEN, Finding, verdict
from assocpriv.audit.request import AuditRequest, Progress
from assocpriv.core.errors import FileError
from assocpriv.files.plans import read_plan, read_plan_text
from assocpriv.plans.published import PublishedPlan

__all__ = ["Audit", "AuditRequest", "audit"]


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found; ``plan`` is None where the file holds none that can be used."""

    request: AuditRequest
    plan: PublishedPlan | None
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """The worst of all findings."""
        return verdict(self.findings)

    @property
    def is_broken(self) -> bool:
        """Whether the promise is broken, or a client does not follow the plan."""
        return self.verdict == BROKEN


def audit(path: Path, request: AuditRequest, prepare: Callable[[], None], progress: Progress | None = None) -> Audit:
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
    plan = _usable_plan(path, request)
    prepare()
    findings = kinds.audit(plan, text, replace(request, plan_path=path), progress)
    return Audit(request, plan, tuple(findings))


def _usable_plan(path: Path, request: AuditRequest) -> PublishedPlan | None:
    """Read the plan; what is none, or breaks its promise, is for the exact depth to judge, if that is asked for."""
    try:
        return read_plan(path)
    except FileError:
        raise
    except Exception:
        if "exact" in request.depths:
            return None
        raise
