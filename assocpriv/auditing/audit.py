"""The audit of a plan file: an auditor of the plan's kind judges the plan, then its clients.

An auditor is a function (plan or None, text, request, progress or None) → findings. Which one judges which kind
stands in plans/kind.py, as ``auditing.audit``.

Two auditors stand here. Of a plan for baskets the integers and our client are walked through, then each client is
asked as a black box. Of a plan of a table γ is computed anew from its text, our clients are walked through, then each
client is asked as a black box. Plans under guidance have auditing/guided.py.
"""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.auditing.bounds import audit_client, audit_conformance
from assocpriv.auditing.clients import (
    TIMED,
    BlackBox,
    BulkClient,
    BulkTables,
    Inputs,
    Program,
    RecordBox,
    SingleClient,
    SingleTables,
    batch_of,
    chosen_records,
    lines_of,
    packed_reports,
    record_answers,
    trials_in_time,
)
from assocpriv.auditing.exact_tables import check_asked, check_column, check_inputs, check_words
from assocpriv.auditing.exact_walk import audit_exact, audit_plan
from assocpriv.auditing.findings import (
    BROKEN,
    CONFORMANCE,
    CONSISTENT,
    EMPIRICAL,
    EXACT,
    LARGEST,
    PROGRAM,
    UNDECIDED,
    AuditRequest,
    Finding,
    Progress,
    checked,
    client_findings,
    count_undecided,
    shown_ratio,
    verdict,
)
from assocpriv.auditing.goodness_of_fit import (
    Events,
    asked_events,
    column_events,
    equal_chance,
    pair_events,
    record_laws,
    repeat_events,
)
from assocpriv.auditing.recompute_tables import ColumnNumbers, TableNumbers, read_table
from assocpriv.files.plans import plan_of_text, read_plan_text
from assocpriv.files.reports import Reports, read_reports
from assocpriv.plans.kind import knows, load_for, shown_by
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import FileError, NotAPlanError, PlanError, WireError

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.tables import TablePlan

_SINGLE_TRIALS = 100_000  # of the one-report client, unless it alone is asked for
_BATCH, _KEPT_BYTES = 1 << 16, 1 << 28  # records asked about at once, and bytes of their reports
_LAWS = {
    "columns": "how often each column shows each value, for each record asked about",
    "pairs": "how often two columns show each two values: their noise is independent",
    "asked": "which columns reports leave out",
    "repeats": "how often a record's reports repeat, one after the other and from one run to the next",
}
_FEW_CHOICES = 64  # of a column whose weights are all looked at
_EVERY = ""  # client of a finding that is about the plan, or about our code as a whole
_WITHOUT_KIND = "baskets"  # whose auditor finds what is wrong with a text that names no kind


# ---- any kind of plan


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """What an audit found; ``plan`` is None where the file holds none that can be used."""

    request: AuditRequest
    plan: PublishedPlan | None
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        not_made = count_undecided(self.findings)
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
        findings: list[Finding] = load_for(plan.kind, "auditing.audit", "audited")(plan, text, request, progress)
        return findings + _not_made(plan.kind, request, findings)
    kind = _kind_of(text)
    auditor = load_for(kind if knows(kind, "auditing.audit") else _WITHOUT_KIND, "auditing.audit", "audited")
    return list(auditor(None, text, request, progress))


def _not_made(kind: str, request: AuditRequest, findings: list[Finding]) -> list[Finding]:
    """Return a finding for all that was asked for and of which an auditor says nothing: silence is no consent."""
    clients = {depth: (_EVERY,) if depth == EXACT else request.clients for depth in request.depths}
    asked = {(depth, client) for depth in clients for client in clients[depth]}
    found = {(finding.depth, _EVERY if finding.depth == EXACT else finding.client) for finding in findings}
    said = f"Nothing was looked at: plans of the kind {kind} have no check of this depth here."
    return [Finding(depth, "all checks", UNDECIDED, said, client=client) for depth, client in sorted(asked - found)]


def _kind_of(text: str) -> str:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) else ""


# ---- plans for baskets


def audit_baskets(
    plan: "Plan | None", text: str, request: AuditRequest, progress: Progress | None = None
) -> list[Finding]:
    """Audit a plan for baskets, and clients of it; see :func:`assocpriv.auditing.audit.audit`."""
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
            asked = _audit_client(plan, depth, client, box, request, progress)
            findings += [replace(finding, client=client) for finding in asked]
    return findings


def _boxes(plan: "Plan", request: AuditRequest) -> dict[str, BlackBox]:
    if request.program:
        return {PROGRAM: Program(request.program, request.plan_path, plan)}
    boxes: dict[str, BlackBox] = {"bulk": BulkClient(plan), "single": SingleClient(plan)}
    return {name: box for name, box in boxes.items() if name in request.clients}


def _audit_client(
    plan: "Plan", depth: str, client: str, box: BlackBox, request: AuditRequest, progress: Progress | None
) -> list[Finding]:
    """Audit one client; where there are two they share the false alarms, and the slower gets fewer trials."""
    if depth == EXACT:
        return []
    if depth == CONFORMANCE:
        return audit_conformance(plan, box, progress=progress)
    trials, confidence = request.trials, request.level
    if len(request.clients) > 1:
        confidence = (1 + confidence) / 2
        if client == "single":
            few = batch_of([range(min(plan.n_items, plan.items.transaction_size))] * TIMED, plan)
            trials = min(trials, _SINGLE_TRIALS, trials_in_time(partial(box.reports, [few])))
    return audit_client(plan, box, trials=trials, confidence=confidence, progress=progress)


# ---- plans of tables


def audit_table(
    plan: "TablePlan | None", text: str, request: AuditRequest, progress: Progress | None = None
) -> list[Finding]:
    """Audit a plan of a table, and clients of it; see :func:`assocpriv.auditing.audit.audit`."""
    try:
        table = read_table(text)
    except PlanError as error:
        return [Finding(EXACT, "amplification", BROKEN, f"The text is no plan of a table: {error}.")]
    findings: list[Finding] = []
    if EXACT in request.depths:
        findings.append(_promise(plan, table))
        if plan is not None and not request.program:  # what our client does says nothing of the program
            findings += _walks(plan, table, progress)
    if plan is not None:
        for client, box in _table_boxes(plan, request).items():
            found = _audit_table_client(plan, table, client, box, request, progress)
            findings += [replace(finding, client=client) for finding in found]
    return findings


# ---- plans of tables, exactly


def _promise(plan: "TablePlan | None", table: TableNumbers) -> Finding:
    """Compare γ, of the text's numbers, with the promise."""

    def finding(kept: bool, said: str) -> Finding:
        figures = (
            {} if ratio is None else {"amplification": float(min(ratio, LARGEST)), "limit": limit and float(limit)}
        )
        return Finding(EXACT, "amplification", CONSISTENT if kept else BROKEN, said, figures)

    ratio, limit = table.amplification, None if table.promise is None else table.limit
    if any(column.choices <= _FEW_CHOICES and _worst_ratio(column) != column.ratio for column in table.columns):
        return finding(False, "A column's weights have another ratio than its numbers say.")
    if plan is not None and plan.amplification != ratio:
        return finding(False, "The package reads another γ from this plan than its text has.")
    if ratio is None or limit is None:
        said = "No column has a γ, and none is promised: noise promises an average only."
        if ratio is not limit:
            said = "The plan states a promise and no column has a γ, or the other way round."
        return finding(ratio is limit and plan is not None, said)
    together = ratio**table.reports_per_person
    said = f"γ is {shown_ratio(ratio)} for one report, with {table.answered} of {len(table.asked)} protected columns"
    if table.reports_per_person > 1:
        said += f", and {shown_ratio(together)} for {table.reports_per_person} reports of a person"
    said += f"; the promise needs less than {float(limit):.12g}"
    if plan is None and together < limit:
        said += ", but the text breaks another rule of plans"
    elif plan is not None and plan.uncovered:
        said += f"; it does not cover {plan.uncovered}"
    return finding(plan is not None and together < limit, f"{said}.")


def _worst_ratio(column: ColumnNumbers) -> Fraction | None:
    """Return the largest ratio of two inputs' weights of one output, from all weights; None where one is 0."""
    rows = [dict(column.runs(value)) for value in range(column.choices)]
    columns = [[row.get(code, 0) for row in rows] for code in range(column.codes)]
    if any(min(weights) == 0 for weights in columns) or column.ratio is None:
        return None  # one input alone has no ratio, and none is claimed
    return max(Fraction(max(weights), min(weights)) for weights in columns)


def _walks(plan: "TablePlan", table: TableNumbers, progress: Progress | None) -> list[Finding]:
    chance = np.random.default_rng()

    def columns() -> tuple[str, str]:
        inputs = outcomes = 0
        for place, column in enumerate(table.columns):
            more = check_column(plan, place, column)
            inputs, outcomes = inputs + more[0], outcomes + more[1]
            if progress:
                progress(EXACT, place + 1, len(table.columns))
        every = sum(column.choices for column in table.columns)
        said = f"Every draw of {inputs:,} of {every:,} inputs was walked: all {outcomes:,} outcomes have the"
        return CONSISTENT, f"{said} chances that the plan says."

    def asked() -> tuple[str, str]:
        choices = check_asked(plan, table, [tuple(map(int, row)) for row in chosen_records(plan)])
        if choices is None:
            return UNDECIDED, "Too many choices of columns to be walked; the words of whole records are compared."
        return CONSISTENT, f"All {choices:,} choices of columns are equally likely, whatever the record."

    def words() -> tuple[str, str]:
        done = check_words(plan, table, chance)
        said = f"{done['records']:,} records of random words, and {done['ends']:,} with draws at the ends of outcomes, "
        return CONSISTENT, said + "become the reports that docs/formats/table-plan.md says, one by one and in bulk."

    def inputs() -> tuple[str, str]:
        reached, draws = check_inputs(plan, table, chance)
        every = sum(column.choices for column in table.columns)
        return CONSISTENT, f"{draws:,} draws of {reached:,} of {every:,} inputs have the codes that the plan says."

    checks = {
        "client, every draw": columns, "client, every input": inputs, "client, columns asked": asked,
        "client, whole records": words,
    }  # fmt: skip
    if not table.is_sampled:
        del checks["client, columns asked"]
    return [checked(EXACT, name, check) for name, check in checks.items()]


# ---- plans of tables, clients as black boxes


def _table_boxes(plan: "TablePlan", request: AuditRequest) -> dict[str, RecordBox[Inputs]]:
    if request.program:
        return {PROGRAM: Program(request.program, request.plan_path, plan, lines_of=partial(lines_of, plan=plan))}
    boxes: dict[str, RecordBox[Inputs]] = {"bulk": BulkTables(plan), "single": SingleTables(plan)}
    return {name: box for name, box in boxes.items() if name in request.clients}


def _audit_table_client(
    plan: "TablePlan",
    table: TableNumbers,
    client: str,
    box: RecordBox[Inputs],
    request: AuditRequest,
    progress: Progress | None,
) -> list[Finding]:
    """Audit one client at the depths asked for; where there are two they share the false alarms."""

    def laws() -> list[Finding]:
        trials = request.trials
        if client == "single":
            few = chosen_records(plan)[[0] * TIMED]
            trials = min(trials, trials_in_time(partial(box.reports, [few])))
        alarm = float(1 - request.level) / len(request.clients)
        return audit_laws(plan, table, box, trials=trials, false_alarm=alarm, progress=progress)

    return client_findings(request.depths, {CONFORMANCE: partial(audit_form, plan, box), EMPIRICAL: laws})


def audit_form(plan: "TablePlan", box: RecordBox[Inputs]) -> list[Finding]:
    """Check that every record is answered with one report of the plan's length and form, which a file keeps."""
    batch = np.repeat(chosen_records(plan), 16, axis=0)
    [answers] = record_answers(box, [batch])
    found = [Finding(CONFORMANCE, "answers", CONSISTENT, "Every record is answered with one report.")]
    lengths = np.unique(answers.lengths).tolist()
    if lengths != [plan.report_bytes]:
        said = f"Reports are {lengths[0]} to {lengths[-1]} bytes long; the plan says {plan.report_bytes}."
        return [*found, Finding(CONFORMANCE, "length", BROKEN, said)]
    found.append(Finding(CONFORMANCE, "length", CONSISTENT, f"All reports have the plan's {plan.report_bytes} bytes."))
    try:
        plan.check_form(answers.octets)
    except WireError as error:
        return [*found, Finding(CONFORMANCE, "format", BROKEN, f"Some answers are no reports: {error}.")]
    found.append(Finding(CONFORMANCE, "format", CONSISTENT, "Every report has codes that the plan's columns have."))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        Reports(plan, answers.octets).write(path)
        read = read_reports(path)
        same = np.array_equal(np.concatenate(list(read.batches(_BATCH))), answers.octets) and read.plan == plan
    said = "A file keeps these reports and their plan." if same else "A file does not give these reports back."
    return [*found, Finding(CONFORMANCE, "report file", CONSISTENT if same else BROKEN, said)]


def audit_laws(
    plan: "TablePlan", table: TableNumbers, box: RecordBox[Inputs], *, trials: int, false_alarm: float,
    progress: Progress | None = None,
) -> list[Finding]:  # fmt: skip
    """Compare what a client's reports of known records show with the plan's laws.

    A client that follows the plan is called broken with a chance of at most ``false_alarm``, which the laws share.
    """
    records = chosen_records(plan)
    trials = min(trials, _KEPT_BYTES // plan.report_bytes)
    turns = max(1, min(_BATCH, trials // 4) // len(records))
    batch = np.tile(records, (turns, 1))
    runs = max(2, trials // len(batch) - 1)
    if progress:
        progress(EMPIRICAL, 0, runs + 1)
    first = [packed_reports(answers, plan) for answers in record_answers(box, [batch] * runs)]
    again = [packed_reports(answers, plan) for answers in record_answers(box, [batch])]
    if progress:
        progress(EMPIRICAL, runs + 1, runs + 1)
    seen: dict[str, list[Events]] = {"columns": [], "pairs": [], "asked": [], "repeats": []}
    for number, row in enumerate(records):
        mine = [packed[number :: len(records)] for packed in (*first, *again)]
        together = np.concatenate(mine)
        codes = np.stack([plan.codes(together, place).astype(np.int64) for place in range(len(plan.columns))], axis=1)
        chance = equal_chance(row, table)
        seen["columns"].append(column_events(codes, row, table))
        seen["pairs"].append(pair_events(codes, row, table))
        seen["asked"].append(asked_events(codes, table))
        seen["repeats"] += [
            repeat_events(together[:-1:2], together[1::2], chance),
            repeat_events(np.concatenate(mine[:-2:2]), np.concatenate(mine[1:-1:2]), chance),
            repeat_events(mine[0], mine[-1], chance),
        ]
    tested = [law for law in record_laws(seen, _LAWS, len(batch) * (runs + 1)) if law.tests]
    return [law.judged(false_alarm / len(tested)) for law in tested]
