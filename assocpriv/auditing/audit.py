"""The audit of a plan, of any kind, and of clients of it: one driver, five checks.

    promise  recomputed from the plan's text and the documents alone
    source   what a client is made of: nothing that changes by itself but the system's entropy (sources.py)
    words    every report made again from the words that the operating system gave (replay.py)
    form     one report for each record, of one length, such that every server takes it and a file keeps it
    laws     a black box: reports beside the plan's law (laws.py)

The first is about the plan, the others about each client: ours, or another program in any language. Of a program that
node runs from a file, source and words are looked at as well; of others they are not decided. What a kind of plan
supplies is a :class:`~assocpriv.auditing.subject.Subject`, named in plans/kind.py as ``auditing.subject``.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assocpriv.auditing import findings as told
from assocpriv.auditing import sources
from assocpriv.auditing.clients import BlackBox, Ours, Program, answered
from assocpriv.auditing.findings import BROKEN, CONSISTENT, AuditRequest, Finding, Progress, checked, failure, verdict
from assocpriv.auditing.laws import audit_laws
from assocpriv.auditing.replay import compare
from assocpriv.auditing.subject import Subject
from assocpriv.files.plans import read_plan_text
from assocpriv.files.reports import Reports, read_reports
from assocpriv.plans.kind import knows, load_for, parse_plan, shown_by
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import NotAPlanError, PlanError, WireError

_WITHOUT_KIND = "baskets"  # whose subject finds what is wrong with a text that names no kind
_FORMED = 1100  # records whose reports' form is looked at


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """What an audit found; ``plan`` is None where the file holds none that can be used."""

    request: AuditRequest
    plan: PublishedPlan | None
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        not_made = told.count_undecided(self.findings)
        return f"Audit({self.verdict}, {len(self.findings)} findings, {not_made} of them checks not made)"

    _repr_html_ = shown_by("assocpriv.show.audits:audit")

    @property
    def verdict(self) -> str:
        """The worst of all findings."""
        return verdict(self.findings)

    @property
    def is_broken(self) -> bool:
        """Whether the promise is broken, or a client does not follow the plan."""
        return self.verdict == BROKEN


def audit_file(path: Path, request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit a plan file, and clients of it; ``progress`` is called with (stage, done, total).

    Raises:
        NotAPlanError: text that does not even say that it is a plan.
        FileError: the file cannot be read, or a program cannot be started.
    """
    text = read_plan_text(path)
    try:
        return audit(text, replace(request, plan_path=path), progress)
    except NotAPlanError as error:
        raise NotAPlanError(f"{path}: {error}") from None


def audit(text: str, request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit a plan's text, and clients of the plan.

    Raises:
        NotAPlanError, FileError: as :func:`audit_file`.
    """
    subject_of: type[Subject] = load_for(_kind_of(text), "auditing.subject", "audited")
    plan, accepted = _accepted(text)
    findings = checked(told.PROMISE, lambda: subject_of.promise(plan, text))
    if accepted.verdict == BROKEN and verdict(findings) == CONSISTENT:
        said = f"{accepted.said} The audit's own reading finds nothing wrong with it: the fault may be the clients'."
        accepted = replace(accepted, said=said)
    findings.append(accepted)
    if plan is not None and verdict(findings) != BROKEN:  # else there is no law to go on with
        subject = subject_of(plan, text, np.random.default_rng())
        boxes = _boxes(subject, request)
        for check, run in _CHECKS.items():
            for client, box in boxes.items():
                if check == told.SOURCE and client == "single" and len(boxes) > 1:
                    continue  # both are made of the same modules
                found = checked(check, partial(run, subject, client, box, request, progress or (lambda *_: None)))
                findings += [replace(finding, client=client) for finding in found]
    return Audit(request, plan, tuple(findings))


def _kind_of(text: str) -> str:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) and knows(kind, "auditing.subject") else _WITHOUT_KIND


def _accepted(text: str) -> tuple[PublishedPlan | None, Finding]:
    """Let clients' code read the plan."""
    try:
        plan = parse_plan(text)
    except NotAPlanError:
        raise
    except PlanError as error:
        return None, Finding(told.PROMISE, "clients accept it", BROKEN, f"Clients refuse this plan: {error}.")
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return None, failure(told.PROMISE, error, of_client=True)
    return plan, Finding(
        told.PROMISE, "clients accept it", CONSISTENT, "Clients accept this plan.", {"plan_id": plan.plan_id}
    )


def _boxes(subject: Subject, request: AuditRequest) -> Mapping[str, Ours | Program]:
    if request.program:
        return {told.PROGRAM: Program(request.program, request.plan_path, subject.plan, subject.lines)}
    return {name: box for name, box in subject.clients.items() if name in request.clients}


# ---- checks of a client


def _source(_subject: Subject, _client: str, box: BlackBox, *_: object) -> Iterable[Finding]:
    if isinstance(box, Ours):
        return sources.scan_package()
    if isinstance(box, Program) and box.script is not None:
        return sources.scan_script(box.script)
    return [Finding(told.SOURCE, "source", told.UNDECIDED, "The source of such a program is not read.")]


def _words(subject: Subject, client: str, box: Ours | Program, *_: object) -> Iterable[Finding]:
    if isinstance(box, Program) and box.script is None:
        said = "What such a program gets of the operating system is not seen."
        return [Finding(told.WORDS, "words", told.UNDECIDED, said)]
    return compare(subject, client, box)


def _form(subject: Subject, _client: str, box: BlackBox, *_: object) -> Iterable[Finding]:
    """Check that every record is answered with one report of the plan's length and form, which a file keeps."""
    plan, packed, reports = subject.plan, [], 0
    for records in subject.various(_FORMED):
        [answers] = answered(box, iter([subject.batch(records)]))
        lengths = np.unique(answers.lengths).tolist()
        if lengths != [plan.report_bytes]:
            said = f"Reports are {lengths[0]} to {lengths[-1]} bytes long; the plan says {plan.report_bytes}."
            said += " Everybody on the way sees the length." * (len(lengths) > 1)
            return [Finding(told.FORM, "length", BROKEN, said)]
        packed.append(np.ascontiguousarray(answers.octets[:, : plan.report_bytes]))
        reports += len(records)
    try:
        for part in packed:
            plan.check_form(part, "of the client, ")
    except WireError as error:
        return [Finding(told.FORM, "format", BROKEN, f"Some answers are no reports: {error}.")]
    with TemporaryDirectory() as folder:
        path, together = Path(folder) / "reports.parquet", np.concatenate(packed)
        Reports(plan, together).write(path)
        read = read_reports(path)
        if read.plan != plan or not np.array_equal(np.concatenate(list(read.batches(len(together)))), together):
            said = "A file does not give these reports back with their plan."
            return [Finding(told.FORM, "report file", BROKEN, said)]
    said = f"Each of {reports:,} records has one report, of the plan's {plan.report_bytes} bytes, which a file keeps."
    return [Finding(told.FORM, "form", CONSISTENT, said, {"reports": reports, "report_bytes": plan.report_bytes})]


def _laws(
    subject: Subject, _client: str, box: BlackBox, request: AuditRequest, progress: Progress
) -> Iterable[Finding]:
    alarm = float(1 - request.level) / len(request.clients)
    return audit_laws(subject, box, request.trials, alarm, progress)


_CHECKS: dict[str, Callable[..., Iterable[Finding]]] = {
    told.SOURCE: _source,
    told.WORDS: _words,
    told.FORM: _form,
    told.LAWS: _laws,
}
