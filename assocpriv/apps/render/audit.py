"""The findings of an audit as text for a person and as JSON content for a program."""

from collections.abc import Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Any

from assocpriv.apps.render.results import figure_up
from assocpriv.audit.findings import CANNOT_SEE, Finding, count_undecided, verdict
from assocpriv.core.privacy import epsilon
from assocpriv.plans.published import PublishedPlan

_WIDTH = 100
_CLIENTS = {
    "both": "our clients for many baskets and for one",
    "bulk": "our client for many baskets",
    "single": "our client for one basket",
    "program": "the program given",
}


def audit_record(plan: PublishedPlan | None, findings: Sequence[Finding], asked: dict[str, Any]) -> dict[str, Any]:
    """Return an audit for ``--json``; ``asked`` is what the person asked for, ``plan`` None if the file holds none."""
    return {
        "plan_id": plan.plan_id if plan else None,
        "verdict": verdict(findings),
        "not_decided": count_undecided(findings),
        "cannot_see": list(CANNOT_SEE),
        "epsilon": epsilon(plan.amplification) if plan and plan.amplification else None,
        **asked,
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


def audit_lines(plan: PublishedPlan | None, findings: Sequence[Finding], asked: dict[str, Any]) -> list[str]:
    """Return an audit as text: the verdict and on what, then a finding after the other, depth by depth."""
    # the id whole: an officer compares it with another
    told = f"plan {plan.plan_id}, no γ stated" if plan else "no usable plan"
    if plan and plan.amplification:
        told = f"plan {plan.plan_id}, ε ≤ {figure_up(epsilon(plan.amplification))} for one report"
    lines = [f"{verdict(findings)}{_left_out(count_undecided(findings))}: {told}", _asked_line(asked)]
    lines += wrap("cannot see: " + "; ".join(CANNOT_SEE), _WIDTH, subsequent_indent=" " * 12)
    heading = ""
    for finding in findings:
        about = finding.depth + (f", {_CLIENTS[finding.client]}" if finding.client else "")
        if about != heading:
            heading = about
            lines += ["", heading]
        head = f"  {finding.verdict:<11} {finding.name}: "
        lines += wrap(finding.said, _WIDTH, initial_indent=head, subsequent_indent=" " * 14)
    return lines


def _asked_line(asked: dict[str, Any]) -> str:
    """Say what was audited, and how."""
    told = f"depth {asked['depth']}; {_CLIENTS[asked['client']]}"
    if asked["depth"] not in ("all", "empirical"):
        return told
    alarm = float(100 * (1 - Fraction(asked["confidence"])))
    return f"{told}; {asked['trials']:,} reports asked for, a false alarm with a chance of at most {alarm:g}%"


def _left_out(count: int) -> str:
    """Tell how many checks were not made, so that none hides behind the verdict."""
    return f", {count} {'check' if count == 1 else 'checks'} not made" if count else ""
