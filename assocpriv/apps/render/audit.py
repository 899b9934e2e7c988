"""The findings of an audit as text for a person and as JSON content for a program."""

from fractions import Fraction
from textwrap import wrap
from typing import Any

from assocpriv.apps.render.figures import figure_up, percent_as_given
from assocpriv.audit.findings import CANNOT_SEE, count_undecided
from assocpriv.audit.kinds import Audit
from assocpriv.audit.request import ALL
from assocpriv.core.privacy import epsilon

_WIDTH = 100
_CLIENTS = {
    "both": "our clients for many baskets and for one",
    "bulk": "our client for many baskets",
    "single": "our client for one basket",
    "program": "the program given",
}


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
            {
                "depth": finding.depth,
                "client": finding.client or None,
                "name": finding.name,
                "verdict": finding.verdict,
                "said": finding.said,
                "figures": finding.figures,
            }
            for finding in findings
        ],
    }


def audit_lines(audit: Audit) -> list[str]:
    """Return an audit as text: the verdict and on what, then a finding after the other, depth by depth."""
    lines = [f"{audit.verdict}{_left_out(count_undecided(audit.findings))}: {_plan_of(audit)}", _request_line(audit)]
    lines += wrap("cannot see: " + "; ".join(CANNOT_SEE), _WIDTH, subsequent_indent=" " * 12)
    heading = ""
    for finding in audit.findings:
        about = finding.depth + (f", {_CLIENTS[finding.client]}" if finding.client else "")
        if about != heading:
            heading = about
            lines += ["", heading]
        head = f"  {finding.verdict:<11} {finding.name}: "
        lines += wrap(finding.said, _WIDTH, initial_indent=head, subsequent_indent=" " * 14)
    return lines


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
    line = f"depth {request['depth']}; {_CLIENTS[request['client']]}"
    if request["depth"] not in (ALL, "empirical"):
        return line
    alarm = percent_as_given(float(1 - Fraction(request["confidence"])))
    return f"{line}; {request['trials']:,} reports asked for, a false alarm with a chance of at most {alarm}"


def _left_out(count: int) -> str:
    """Tell how many checks were not made, so that none hides behind the verdict."""
    return f", {count} {'check' if count == 1 else 'checks'} not made" if count else ""
