"""What the door of assurance answers: what a file holds, one report of a device, and the findings of an audit."""

from fractions import Fraction
from pathlib import Path
from textwrap import wrap
from typing import Any

from assocpriv.apps.kinds import Description, describe_plan
from assocpriv.apps.render.figures import fields, figure_up, percent_as_given
from assocpriv.apps.render.itemsets import mined_lines, mined_record
from assocpriv.apps.render.trees import tree_record, tree_text
from assocpriv.apps.terminal import paragraph_width
from assocpriv.auditing.audit import Audit
from assocpriv.auditing.findings import ALL, CANNOT_SEE, count_undecided
from assocpriv.auditing.inspection import ITEMSETS, MODEL, PLAN, REPORTS, FileContent
from assocpriv.client.any_kind import takes_names
from assocpriv.client.ledger import DeviceReport
from assocpriv.plans.tree_model import tree_lines
from assocpriv.promise.breaches import epsilon, format_bound
from assocpriv.promise.errors import counted
from assocpriv.server.crafted import CraftedCheck
from assocpriv.server.itemsets import mining_facts

_ROWS, _WIDTH = 20, 100
_CLIENTS = {
    "both": "our clients for many {record}s and for one",
    "bulk": "our client for many {record}s",
    "single": "our client for one {record}",
    "program": "the program given",
}


def describe(content: FileContent, reports: int) -> Description:
    """Return how to describe what a file holds; a plan for so many reports."""
    return _DESCRIBE[content.kind](content, reports)


def _reports(content: FileContent, _reports_planned: int) -> Description:
    plan = describe_plan(content.plan, max(content.reports, 1))
    files, crafted = content.files, content.crafted
    where = f" in {counted(files, 'file')}" if files or not content.unsealed else ""
    unsealed = f", {content.unsealed:,} of them not sealed yet" if content.unsealed else ""
    title = f"{counted(content.reports, 'report')}{where}{unsealed}, each whole and as its plan says"
    return Description(
        lambda: (
            plan.record()
            | {"reports": content.reports, "files": files}
            | ({"crafted": crafted_record(crafted)} if crafted else {})
        ),
        lambda: [title, *plan.lines(), *(crafted_lines(crafted) if crafted else [])],
    )


def _itemsets(content: FileContent, _reports_planned: int) -> Description:
    frame = content.table
    assert frame is not None
    facts = mining_facts(frame)
    title = f"{len(frame):,} itemsets mined with plan {facts.plan_id[:16]}…, minimum support {facts.min_support:.4g}"
    return Description(lambda: mined_record(frame), lambda: [title, *mined_lines(frame, _ROWS)])


def _model(content: FileContent, _reports_planned: int) -> Description:
    model = content.model
    assert model is not None
    plan = f" on reports of plan {model.plan_id[:16]}…" if model.plan_id else ""
    title = f"a decision tree, grown {model.method}{plan}"
    return Description(lambda: tree_record(model), lambda: [title, "", *tree_text(model, list(tree_lines(model)))])


_DESCRIBE = {
    PLAN: lambda content, reports: describe_plan(content.plan, reports),
    REPORTS: _reports,
    ITEMSETS: _itemsets,
    MODEL: _model,
}


def crafted_record(check: CraftedCheck) -> dict[str, Any]:
    """Return what the tests for crafted reports say, for ``--json``."""
    return {
        "flagged": check.flagged,
        "false_alarm": check.level,
        "tests": [{"name": test.name, "seen": test.said, **fields(test, "p_value flagged")} for test in check.tests],
    }


def crafted_lines(check: CraftedCheck) -> list[str]:
    """Say what the tests for crafted reports say."""
    verdict = "nothing speaks against these reports, which proves nothing: false baskets cannot be told"
    if check.flagged:
        verdict = "some of these reports are hardly honest"
    return [
        f"crafted     {verdict}; a false alarm has a chance of at most {percent_as_given(check.level)}",
        *(
            f"            {'! ' if test.flagged else '  '}{test.name}: {test.said} (p ≤ {test.p_value:.2g})"
            for test in check.tests
        ),
    ]


def device_record(report: DeviceReport) -> dict[str, Any]:
    """Return a device's report for ``--json``; its bytes are in the file."""
    return {
        "plan_id": report.plan.plan_id,
        "new": report.new,
        "report_bytes": report.plan.report_bytes,
        **fields(report, "spent left"),
        "amplification": report.amplification and format_bound(report.amplification),
    }


def device_lines(report: DeviceReport, output: Path) -> list[str]:
    """Say what was written, and how many reports the device may still make."""
    plan = report.plan
    return [
        f"{'a new report' if report.new else 'the report made before'}, {counted(plan.report_bytes, 'byte')}, "
        f"written to {output}",
        f"of plan {plan.plan_id[:16]}… this device has made {report.spent} of "
        f"{counted(plan.reports_per_person, 'report')}; "
        f"left: {report.left}",
        *([plan.unbounded] if plan.amplification is None else []),
    ]


def audit_record(audit: Audit) -> dict[str, Any]:
    """Return an audit for ``--json``."""
    plan, findings = audit.plan, audit.findings
    return {
        "plan_id": plan.plan_id if plan else None,
        "verdict": audit.verdict,
        "not_decided": count_undecided(findings),
        "cannot_see": list(CANNOT_SEE),
        "epsilon": epsilon(plan.amplification) if plan and plan.amplification else None,
        **audit.request.to_json(),
        "findings": [
            {"depth": finding.depth, "client": finding.client or None, **fields(finding, "name verdict said figures")}
            for finding in findings
        ],
    }


def audit_lines(audit: Audit) -> list[str]:
    """Return an audit as text: the verdict and on what, then a finding after the other, depth by depth."""
    count = count_undecided(audit.findings)  # told, so that no check that was not made hides behind the verdict
    left_out = f", {count} check{'s' * (count != 1)} not made" * (count > 0)
    lines = [f"{audit.verdict}{left_out}: {_plan_of(audit)}", _request_line(audit)]
    width = paragraph_width(_WIDTH)
    lines += wrap("cannot see: " + "; ".join(CANNOT_SEE), width, subsequent_indent=" " * 12)
    heading = ""
    for finding in audit.findings:
        about = finding.depth + (f", {_client(audit, finding.client)}" if finding.client else "")
        if about != heading:
            heading = about
            lines += ["", heading]
        head = f"  {finding.verdict:<11} {finding.name}: "
        lines += wrap(finding.said, width, initial_indent=head, subsequent_indent=" " * 14)
    return lines


def _client(audit: Audit, client: str) -> str:
    """Name a client, by the records that it takes."""
    record = "basket" if audit.plan is None or takes_names(audit.plan) else "record"
    return _CLIENTS[client].format(record=record)


def _plan_of(audit: Audit) -> str:
    """Name the plan by its whole id: an officer compares it with another."""
    if audit.plan is None:
        return "no usable plan"
    if audit.plan.amplification is None:
        return f"plan {audit.plan.plan_id}, no γ stated"
    return f"plan {audit.plan.plan_id}, ε ≤ {figure_up(epsilon(audit.plan.amplification))} for one report"


def _request_line(audit: Audit) -> str:
    """Say what was audited, and how."""
    request = audit.request.to_json()
    line = f"depth {request['depth']}; {_client(audit, request['client'])}"
    if request["depth"] not in (ALL, "empirical"):
        return line
    alarm = percent_as_given(float(1 - Fraction(request["confidence"])))
    return f"{line}; {request['trials']:,} reports asked for, a false alarm with a chance of at most {alarm}"
