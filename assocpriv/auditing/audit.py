"""The audit of a plan of any type and of its clients: one driver, five checks.

    guarantee      γ, recomputed from the plan's text by the documented formats alone
    source         a client's code names no source of change but the operating system's entropy (source_checks.py)
    replay         every report, recomputed from the random words that the operating system gave (replay.py)
    form           one report for each record, of one length, that servers accept and files keep
    distributions  reports of the client as a black box, tested against the plan's output distribution
                   (report_distributions.py)

The first check is about the plan, the others about each client: ours, or another program in any language. Source and
replay need our client or a program that node runs from a file; for others they are not decided. A plan type supplies a
:class:`~assocpriv.auditing.audit_subject.Subject`, named ``subject`` in plan_types/.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.auditing import source_checks
from assocpriv.auditing.audit_subject import BlackBox, OwnClient, Program, Subject, collect_reports
from assocpriv.auditing.findings import (
    BROKEN,
    CONSISTENT,
    DISTRIBUTIONS,
    FORM,
    GUARANTEE,
    PROGRAM,
    REPLAY,
    SOURCE,
    UNDECIDED,
    AuditRequest,
    ClientFailure,
    Finding,
    Progress,
    count_undecided,
    failure_finding,
    run_check,
    verdict,
)  # fmt: skip
from assocpriv.auditing.release_audit import audit_release
from assocpriv.auditing.replay import compare
from assocpriv.auditing.report_distributions import audit_distributions
from assocpriv.files.plan_files import read_plan_text
from assocpriv.files.releases import Release, is_release, read_release
from assocpriv.files.report_files import Reports, read_reports
from assocpriv.guarantees.errors import NotAPlanError, PlanError, WireError, pluralize
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.registry import Entry, parse_plan
from assocpriv.plans.result_display import html_renderer, plan_bound, rows_frame, short_repr

if TYPE_CHECKING:
    import pandas as pd

SUBJECT: Entry[type[Subject]] = Entry("subject", "audited")
_DEFAULT_TYPE = "baskets"  # its subject reports the faults of a text that names no plan type
_FORM_RECORDS = 1100  # records whose reports' form is checked


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """The result of an audit.

    Attributes:
        request: the options of the audit.
        plan: the plan or release; None where the file holds no usable plan.
        findings: one entry a check: ``check``, ``name``, ``verdict``, ``message``, ``figures`` and ``client``.
    """

    request: AuditRequest
    plan: PublishedPlan | Release | None
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        not_made = count_undecided(self.findings)
        rows = ["no usable plan"]
        if self.plan:
            bound = repr(self.plan) if isinstance(self.plan, Release) else plan_bound(self.plan)
            rows = [f"plan {self.plan.plan_id[:12]}, {bound}"]
        rows += [f"{each.check}, {each.name}: {each.message}" for each in self.findings if each.verdict == BROKEN]
        answer = f"{self.verdict}, {pluralize(len(self.findings), 'finding')}, {not_made} of them checks not made"
        return short_repr(self, answer, rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a finding.

        Returns:
            A pandas frame with the columns ``verdict``, ``check``, ``name``, ``client`` and ``message``.
        """
        rows = ((each.verdict, each.check, each.name, each.client, each.message) for each in self.findings)
        return rows_frame("verdict check name client message", rows)

    _repr_html_ = html_renderer("assocpriv.show.audit_views:audit")

    @property
    def verdict(self) -> str:
        """``broken`` if any finding is, else ``consistent``."""
        return verdict(self.findings)

    @property
    def is_broken(self) -> bool:
        """Whether the guarantee is broken, or a client does not follow the plan."""
        return self.verdict == BROKEN


def audited_release(release: Release, request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit a release, and the program on this machine that makes releases."""
    return Audit(request, release, audit_release(release, request, progress or (lambda *_: None)))


def audit_file(path: Path, request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit a file of a plan and its clients, or a release; ``progress`` is called with (stage, done, total).

    Raises:
        NotAPlanError: the text does not claim to be a plan.
        FileError: the file cannot be read, or a program cannot be started.
    """
    if is_release(path):
        return audited_release(read_release(path), request, progress)
    text = read_plan_text(path)
    try:
        return audit(text, replace(request, plan_path=path), progress)
    except NotAPlanError as error:
        raise NotAPlanError(f"{path}: {error}") from None


def audit(text: str, request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit a plan's text and the plan's clients.

    Raises:
        NotAPlanError, FileError: as :func:`audit_file`.
    """
    subject_class = SUBJECT.of(_plan_type(text))
    plan, accepted = _parse_as_client(text)
    findings = run_check(GUARANTEE, lambda: subject_class.check_guarantee(plan, text))
    if accepted.verdict == BROKEN and verdict(findings) == CONSISTENT:
        message = f"{accepted.message} The audit's own parser finds no fault in it: the clients may be at fault."
        accepted = replace(accepted, message=message)
    findings.append(accepted)
    if plan is not None and verdict(findings) != BROKEN:  # else no output distribution is defined
        subject = subject_class(plan, text, np.random.default_rng())
        boxes = _select_clients(subject, request)
        for check, run in _CHECKS.items():
            for client, box in boxes.items():
                if check == SOURCE and client == "single" and len(boxes) > 1:
                    continue  # both are made of the same modules
                found = run_check(check, partial(run, subject, client, box, request, progress or (lambda *_: None)))
                findings += [replace(finding, client=client) for finding in found]
    return Audit(request, plan, tuple(findings))


def _plan_type(text: str) -> str:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) and SUBJECT.is_of(kind) else _DEFAULT_TYPE


def _parse_as_client(text: str) -> tuple[PublishedPlan | None, Finding]:
    """Parse the plan by the code that clients use."""
    try:
        plan = parse_plan(text)
    except NotAPlanError:
        raise
    except PlanError as error:
        return None, Finding(GUARANTEE, "accepted by clients", BROKEN, f"Clients refuse this plan: {error}.")
    except Exception as error:  # noqa: BLE001 -- any exception of a client under audit is a finding
        return None, failure_finding(GUARANTEE, ClientFailure(error))
    message = "Clients accept this plan."
    return plan, Finding(GUARANTEE, "accepted by clients", CONSISTENT, message, {"plan_id": plan.plan_id})


def _select_clients(subject: Subject, request: AuditRequest) -> Mapping[str, OwnClient | Program]:
    if request.program:
        return {PROGRAM: Program(request.program, request.plan_path, subject.plan, subject.program_input)}
    return {name: box for name, box in subject.clients.items() if name in request.clients}


# ---- checks of a client


def _check_source(_subject: Subject, _client: str, box: BlackBox, *_: object) -> Iterable[Finding]:
    if isinstance(box, OwnClient):
        return source_checks.scan_package()
    if isinstance(box, Program) and box.script is not None:
        return source_checks.scan_script(box.script)
    message = "The audit reads the source only of programs that node runs from a file."
    return [Finding(SOURCE, "source", UNDECIDED, message)]


def _check_replay(subject: Subject, client: str, box: OwnClient | Program, *_: object) -> Iterable[Finding]:
    if isinstance(box, Program) and box.script is None:
        message = "The audit records random words only of programs that node runs from a file."
        return [Finding(REPLAY, "replay", UNDECIDED, message)]
    return compare(subject, client, box)


def _check_form(subject: Subject, _client: str, box: BlackBox, *_: object) -> Iterable[Finding]:
    """Check that each record has one report of the plan's length and form, and that a file keeps it."""
    plan, packed, reports = subject.plan, [], 0
    for records in subject.sample_records(_FORM_RECORDS):
        [made] = collect_reports(box, iter([subject.batch(records)]))
        lengths = np.unique(made.lengths).tolist()
        if lengths != [plan.report_bytes]:
            message = f"Reports are {lengths[0]} to {lengths[-1]} bytes long; the plan says {plan.report_bytes}."
            message += " Every network node on the way sees the length." * (len(lengths) > 1)
            return [Finding(FORM, "length", BROKEN, message)]
        packed.append(np.ascontiguousarray(made.octets[:, : plan.report_bytes]))
        reports += len(records)
    try:
        for part in packed:
            plan.check_form(part, "of the client, ")
    except WireError as error:
        return [Finding(FORM, "format", BROKEN, f"Some outputs are not reports of the plan: {error}.")]
    with TemporaryDirectory() as folder:
        path, joined = Path(folder) / "reports.parquet", np.concatenate(packed)
        Reports(plan, joined).write(path)
        read = read_reports(path)
        if read.plan != plan or not np.array_equal(np.concatenate(list(read.batches(len(joined)))), joined):
            message = "A report file changes these reports or their plan."
            return [Finding(FORM, "report file", BROKEN, message)]
    message = f"Each of {reports:,} records has one report of the plan's {plan.report_bytes} bytes; a file keeps them."
    return [Finding(FORM, "form", CONSISTENT, message, {"reports": reports, "report_bytes": plan.report_bytes})]


def _check_distributions(
    subject: Subject, _client: str, box: BlackBox, request: AuditRequest, progress: Progress
) -> Iterable[Finding]:
    alarm = float(1 - request.level) / len(request.clients)
    return audit_distributions(subject, box, request.trials, alarm, progress)


_CHECKS: dict[str, Callable[..., Iterable[Finding]]] = {
    SOURCE: _check_source,
    REPLAY: _check_replay,
    FORM: _check_form,
    DISTRIBUTIONS: _check_distributions,
}
