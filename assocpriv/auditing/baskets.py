"""The audit of a plan for baskets: its integers and our client walked through, then each client as a black box."""

from dataclasses import replace
from functools import partial

from assocpriv.auditing.black_box.clients import TIMED, BlackBox, BulkClient, SingleClient, batch_of, trials_in_time
from assocpriv.auditing.black_box.conformance import audit_conformance
from assocpriv.auditing.black_box.empirical import audit_client
from assocpriv.auditing.black_box.pipe import Program
from assocpriv.auditing.enumerate.exact import audit_exact, audit_plan
from assocpriv.auditing.findings import Finding
from assocpriv.auditing.request import EXACT, PROGRAM, AuditRequest, Progress
from assocpriv.plans.baskets import Plan

_SINGLE_TRIALS = 100_000  # of the one-report client, unless it alone is asked for


def audit_baskets(
    plan: Plan | None, text: str, request: AuditRequest, progress: Progress | None = None
) -> list[Finding]:
    """Audit a plan for baskets, and clients of it; see :func:`assocpriv.auditing.kinds.audit`."""
    findings: list[Finding] = []
    if EXACT in request.depths and request.program:
        findings += audit_plan(plan, text)[2]  # what our client does says nothing of the program
    elif EXACT in request.depths:
        findings += audit_exact(plan, text=text, progress=partial(progress, "exact") if progress else None)
    if plan is None:
        return findings
    boxes = _boxes(plan, request)
    for depth in request.depths:
        for client, box in boxes.items():
            asked = _black_box(plan, depth, client, box, request, progress)
            findings += [replace(finding, client=client) for finding in asked]
    return findings


def _boxes(plan: Plan, request: AuditRequest) -> dict[str, BlackBox]:
    if request.program:
        return {PROGRAM: Program(request.program, request.plan_path, plan)}
    boxes: dict[str, BlackBox] = {"bulk": BulkClient(plan), "single": SingleClient(plan)}
    return {name: box for name, box in boxes.items() if name in request.clients}


def _black_box(
    plan: Plan, depth: str, client: str, box: BlackBox, request: AuditRequest, progress: Progress | None
) -> list[Finding]:
    """Audit one client; where there are two they share the false alarms, and the slower gets fewer trials."""
    if depth == EXACT:
        return []
    if depth == "conformance":
        return audit_conformance(plan, box, progress=progress)
    trials, confidence = request.trials, request.level
    if len(request.clients) > 1:
        confidence = (1 + confidence) / 2
        if client == "single":
            few = batch_of([range(min(plan.n_items, plan.transaction_size))] * TIMED, plan)
            trials = min(trials, _SINGLE_TRIALS, trials_in_time(partial(box.reports, [few])))
    return audit_client(plan, box, trials=trials, confidence=confidence, progress=progress)
