"""The audit of a plan of a table: γ anew from its text, and the client walked through, column by column."""

import json
import math
from fractions import Fraction
from typing import Any

from assocpriv.auditing.findings import BROKEN, CONSISTENT, Finding
from assocpriv.auditing.noise_on_data import audit_on_data
from assocpriv.auditing.request import AuditRequest, Progress
from assocpriv.client.numeric.randomizer import release_value
from assocpriv.core.privacy import read_fraction
from assocpriv.lab.enumeration import distribution
from assocpriv.plans.numeric.columns import Column
from assocpriv.plans.numeric.plan import TablePlan


def audit_table(
    plan: TablePlan | None, text: str, request: AuditRequest, _progress: Progress | None = None
) -> list[Finding]:
    """Audit a plan of a table, and clients of it; see :func:`assocpriv.auditing.kinds.audit`."""
    findings = [_audit_promise(json.loads(text))]
    if plan is not None:
        findings += [_audit_law(column) for column in plan.columns]
        findings += audit_on_data(plan, request)
    return findings


def _audit_promise(content: dict[str, Any]) -> Finding:
    protected = [column for column in content["columns"] if column["release"]["law"] == "window"]
    ratios = {kind: sorted(_ratios(protected, labels=kind == "label")) for kind in ("label", "other")}
    chosen = ratios["label"] + ratios["other"][len(ratios["other"]) - content["answered"] :]
    together = math.prod(chosen, start=Fraction(1)) ** content["reports_per_person"]
    if content["promise"] is None:
        kept = not protected
    else:
        prior, posterior = (read_fraction(content["promise"][name], name) for name in ("prior", "posterior"))
        kept = together < posterior * (1 - prior) / (prior * (1 - posterior))
    return Finding("exact", "amplification", CONSISTENT if kept else BROKEN, f"γ is {float(together):.9g}.")


def _ratios(columns: list[dict[str, Any]], *, labels: bool) -> list[Fraction]:
    return [
        Fraction(column["release"]["high"], column["release"]["low"])
        for column in columns
        if (column["kind"] == "label") == labels
    ]


def _audit_law(column: Column) -> Finding:
    same = True
    for value in {0, column.inputs // 2, column.inputs - 1 + column.optional}:
        law = column.law.weights(value, optional=column.optional)
        wanted = {code: Fraction(weight, sum(law)) for code, weight in enumerate(law) if weight}
        same &= distribution(lambda entropy, value=value: release_value(value, column, entropy)) == wanted  # type: ignore[misc]
    said = "Every draw was walked." if same else "The client's law is not that of the plan."
    return Finding("exact", f"column {column.name}", CONSISTENT if same else BROKEN, said)
