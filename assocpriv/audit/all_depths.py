"""An audit of a plan file and its clients at one depth or at all: which client is asked what, and how much of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from assocpriv.audit.black_box.clients import BlackBox, BulkClient, SingleClient, batch_of
from assocpriv.audit.black_box.conformance import audit_conformance
from assocpriv.audit.black_box.empirical import LEAST_TRIALS, audit_client, check_request
from assocpriv.audit.black_box.pipe import Program
from assocpriv.audit.enumerate.exact import audit_exact, audit_plan
from assocpriv.audit.findings import BROKEN, Finding, verdict
from assocpriv.core.errors import FileError, PlanError
from assocpriv.core.privacy import format_fraction
from assocpriv.files.plans import read_plan, read_plan_text
from assocpriv.plans.baskets.plan import Plan

Progress = Callable[[str, int, int], None]
DEPTHS = ("exact", "conformance", "empirical")
ALL = "all"
CLIENTS = ("both", "bulk", "single")
_SINGLE_SECONDS, _SINGLE_TRIALS = 8.0, 100_000  # of the one-report client, unless it alone is asked for
_TIMED = 64  # of its reports


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """What to audit of a plan, and how deep.

    Attributes:
        depth: ``exact``, ``conformance``, ``empirical`` or ``all``.
        trials: reports to ask for, at least 1,000, where the depth is empirical.
        confidence: chance, at least, that a client that follows the plan is not called broken.
        client: which of our clients, ``bulk`` (for many baskets), ``single`` (for one) or ``both``.
        program: another program and its arguments to audit instead.

    Raises:
        PlanError: a depth or client that there is not, or numbers that cannot be used.
    """

    depth: str = ALL
    trials: int = 1_000_000
    confidence: str = "99.9%"
    client: str = "both"
    program: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.depth not in (*DEPTHS, ALL) or self.client not in CLIENTS:
            raise PlanError(f"depth must be one of {', '.join((*DEPTHS, ALL))}, client one of {', '.join(CLIENTS)}")
        check_request(self.trials, self.confidence)

    @property
    def depths(self) -> tuple[str, ...]:
        """The depths to look at, the quickest first."""
        return DEPTHS if self.depth == ALL else (self.depth,)

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON content."""
        return {
            "depth": self.depth,
            "trials": self.trials,
            "confidence": format_fraction(check_request(self.trials, self.confidence)),
            "client": self.client if self.program is None else "program",
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found; ``plan`` is None where the file holds none that can be used."""

    request: AuditRequest
    plan: Plan | None
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """The worst of all findings."""
        return verdict(self.findings)

    @property
    def is_broken(self) -> bool:
        """Whether the promise is broken, or a client does not follow the plan."""
        return self.verdict == BROKEN


def audit(path: Path, request: AuditRequest, prepare: Callable[[], None], progress: Progress) -> Audit:
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
    boxes = _boxes(plan, path, request) if plan else {}
    prepare()
    findings: list[Finding] = []
    if "exact" in request.depths and request.program is not None:
        findings += audit_plan(plan, text)[2]  # what our client does says nothing of the program
    elif "exact" in request.depths:
        findings += audit_exact(plan, text=text, progress=partial(progress, "exact"))
    for depth in request.depths:
        for client, box in boxes.items():
            if plan is not None and depth != "exact":
                asked = _ASK[depth](plan, (client, box), request, progress)
                findings += [replace(finding, client=client) for finding in asked]
    return Audit(request, plan, tuple(findings))


def _usable_plan(path: Path, request: AuditRequest) -> Plan | None:
    """Read the plan; what is none, or breaks its promise, is for the exact depth to judge, if that is asked for."""
    try:
        return read_plan(path, Plan)
    except FileError:
        raise
    except Exception:
        if "exact" in request.depths:
            return None
        raise


def _boxes(plan: Plan, path: Path, request: AuditRequest) -> dict[str, BlackBox]:
    if request.program is not None:
        return {"program": Program(list(request.program), path, plan)}
    boxes: dict[str, BlackBox] = {"bulk": BulkClient(plan), "single": SingleClient(plan)}
    return {name: box for name, box in boxes.items() if request.client in (name, "both")}


def _conformance(plan: Plan, box: tuple[str, BlackBox], _: AuditRequest, progress: Progress) -> list[Finding]:
    return audit_conformance(plan, box[1], progress=progress)


def _empirical(plan: Plan, box: tuple[str, BlackBox], request: AuditRequest, progress: Progress) -> list[Finding]:
    """Audit one client; where there are two they share the false alarms, and the slower gets fewer trials."""
    trials, confidence = request.trials, check_request(request.trials, request.confidence)
    if request.client == "both" and request.program is None:
        confidence = (1 + confidence) / 2
        trials = min(trials, _trials_in_time(plan, box[1])) if box[0] == "single" else trials
    return audit_client(plan, box[1], trials=trials, confidence=confidence, progress=progress)


_ASK = {"conformance": _conformance, "empirical": _empirical}


def _trials_in_time(plan: Plan, box: BlackBox) -> int:
    """Return how many reports of the one-report client to ask for: some with a code take it a millisecond each."""
    batch = batch_of([range(min(plan.n_items, plan.transaction_size))] * _TIMED, plan)
    try:
        list(box.reports([batch]))  # the first makes tables
        start = perf_counter()
        list(box.reports([batch]))
        each = (perf_counter() - start) / _TIMED
    except Exception:  # noqa: BLE001 -- a client that fails is a finding of the audit itself
        return LEAST_TRIALS
    return max(LEAST_TRIALS, min(_SINGLE_TRIALS, int(_SINGLE_SECONDS / each)))
