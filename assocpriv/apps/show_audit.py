"""The findings of an audit as text for a person and as JSON content for a program."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from assocpriv.audit.findings import Finding, verdict
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import epsilon

_WIDTH = 100


def audit_record(plan: Plan | None, findings: Sequence[Finding], asked: dict[str, Any]) -> dict[str, Any]:
    """Return an audit for ``--json``; ``asked`` is what the person asked for, ``plan`` None if the file holds none."""
    return {
        "plan_id": plan.plan_id if plan else None,
        "verdict": verdict(findings),
        "epsilon": epsilon(plan.amplification) if plan else None,
        **asked,
        "findings": [
            {
                "depth": finding.depth,
                "name": finding.name,
                "verdict": finding.verdict,
                "said": finding.said,
                "figures": finding.figures,
            }
            for finding in findings
        ],
    }


def audit_lines(plan: Plan | None, findings: Sequence[Finding]) -> list[str]:
    """Return an audit as text: the verdict, then a finding after the other, depth by depth."""
    told = (
        f"plan {plan.plan_id[:12]}, ε = {epsilon(plan.amplification):.4f} for one report" if plan else "no usable plan"
    )
    lines = [f"{verdict(findings)}: {told}"]
    depth = ""
    for finding in findings:
        if finding.depth != depth:
            depth = finding.depth
            lines += ["", depth]
        head = f"  {finding.verdict:<11} {finding.name}: "
        lines += wrap(finding.said, _WIDTH, initial_indent=head, subsequent_indent=" " * 14)
    return lines
