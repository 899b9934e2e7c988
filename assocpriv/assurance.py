"""The door of assurance: what a plan proves, whether clients keep to it, what files hold, and one device's reports."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from assocpriv.plans.kind import on_first_use
from assocpriv.promise.errors import FileError

if TYPE_CHECKING:
    from assocpriv.auditing.audit import Audit, audit_file
    from assocpriv.auditing.findings import AuditRequest
    from assocpriv.auditing.inspection import ITEMSETS, MODEL, PLAN, REPORTS, FileContent, inspect
    from assocpriv.client.any_kind import parse_record, takes_names
    from assocpriv.client.ledger import DeviceReport, Ledger, report
    from assocpriv.files.plans import read_plan
    from assocpriv.planning.baskets import explain_promises
    from assocpriv.planning.discovery import DEFAULT_DELTA, Answers, Budget, Privacy, describe_budget, describe_privacy
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.promise.entropy import SystemEntropy

__all__ = [
    "DEFAULT_DELTA",
    "ITEMSETS",
    "MODEL",
    "PLAN",
    "REPORTS",
    "AuditRequest",
    "Budget",
    "DeviceReport",
    "FileContent",
    "Ledger",
    "Privacy",
    "SystemEntropy",
    "audit",
    "audit_file",
    "describe_budget",
    "describe_privacy",
    "explain_promises",
    "inspect",
    "parse_record",
    "privacy",
    "read_plan",
    "report",
    "takes_names",
]  # fmt: skip
_HOMES = {
    "assocpriv.auditing.inspection": ("ITEMSETS", "MODEL", "PLAN", "REPORTS", "FileContent", "inspect"),
    "assocpriv.client.ledger": ("DeviceReport", "Ledger", "report"),
    "assocpriv.auditing.audit": ("audit_file",),
    "assocpriv.auditing.findings": ("AuditRequest",),
    "assocpriv.client.any_kind": ("parse_record", "takes_names"),
    "assocpriv.promise.entropy": ("SystemEntropy",),
    "assocpriv.files.plans": ("read_plan",),
    "assocpriv.planning.discovery": ("DEFAULT_DELTA", "Budget", "Privacy", "describe_budget", "describe_privacy"),
    "assocpriv.planning.baskets": ("explain_promises",),
}  # fmt: skip


__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- promises


@overload
def privacy(  # type: ignore[overload-overlap]  # of a plan of baskets more is known than of any plan
    plans: "Plan", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy": ...


@overload
def privacy(
    plans: "PublishedPlan | Iterable[Answers]", priors: Iterable["str | float | Fraction"] = ()
) -> "Budget": ...


def privacy(
    plans: "PublishedPlan | Iterable[Answers]", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy | Budget":
    """Return what a plan proves about privacy, or what all answers of one person to several plans tell together.

    Args:
        plans: a plan; or a list of plans, each alone (as many reports as it allows a person) or with a number of
            reports: ``[survey, (weekly, 52)]`` is one survey and a year of weekly reports.
        priors: probabilities of a property beforehand, for the table; by default usual ones and the promises'.
        options: of one plan of baskets ``reports_per_person``, ``shuffled`` and ``delta``, as :func:`describe_privacy`
            has them.

    Returns:
        Of one plan of baskets its ``one`` report, several ``together``, and information in bits; of others all
        ``answers`` and what they prove ``together``: ``amplification`` (the product of all γ, rounded up),
        ``epsilon``, ``beliefs``.

    Raises:
        PlanError: a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.
    """
    from assocpriv.planning.discovery import describe_budget, describe_privacy
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan

    if isinstance(plans, PublishedPlan):
        if isinstance(plans, Plan):
            return describe_privacy(plans, priors, **options)
        plans = [plans]
    if options:
        raise TypeError(
            f"{next(iter(options))} goes with one plan of baskets; of others give pairs of a plan and its reports"
        )
    if not isinstance(plans, Iterable):
        raise TypeError(f"give a plan (read_plan reads one from a file) or a list, got a {type(plans).__name__}")
    return describe_budget(plans, priors)


# ---- audit


def audit(
    plan: "PublishedPlan | str | Path",
    *,
    depth: str = "all",
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    client: str = "both",
    program: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Audit":
    """Audit a plan and clients of it: is the promise kept, and do the clients follow the plan?

    The clients run on records made here, never on anybody's.

    Args:
        plan: a plan, or a plan file.
        depth: "exact" (the promise recomputed, our clients walked through draw by draw), "conformance" or "empirical"
            (clients as black boxes), or "all".
        trials: reports to ask each client for, 1,000 at least.
        confidence: chance, at least, that clients that follow the plan are not called broken; from 50% to below 100%.
        client: of ours, "bulk" (for many baskets), "single" (for one) or "both".
        program: a program of any language and its arguments, in place of our clients; it needs a plan file.
        progress: called with (stage, done, total).

    Returns:
        ``verdict`` ("consistent" or "broken"), ``is_broken``, and ``findings``, each with a ``verdict`` of its own,
        which can also be "not decided", and what was ``said``.

    Raises:
        PlanError: no plan, where the exact depth is not asked for, or a number out of range.
        FileError: the file cannot be read, or a program cannot be started.
    """
    from assocpriv.auditing.audit import Audit, audit_file
    from assocpriv.auditing.audit import audit as run
    from assocpriv.auditing.findings import AuditRequest
    from assocpriv.plans.published import PublishedPlan

    words = None if program is None else tuple(program)
    request = AuditRequest(depth, trials, confidence, client, words)
    if isinstance(plan, str | Path):
        return audit_file(Path(plan), request, progress)
    plan = PublishedPlan.of(plan)
    if words is not None:
        raise FileError("a program reads its plan from a file; write the plan with write_plan and name the file")
    return Audit(request, plan, tuple(run(plan, plan.canonical_json, request, progress)))
