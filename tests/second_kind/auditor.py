"""The audit: γ from the text, and the client walked through, draw by draw."""

import json
from fractions import Fraction
from typing import Any

from assocpriv.auditing.findings import BROKEN, CONSISTENT, Finding
from assocpriv.promise.breaches import read_fraction
from assocpriv.simulation.enumeration import distribution
from tests.second_kind import client


def audit_answers(plan: Any, text: str, _request: Any = None, _progress: Any = None) -> list[Finding]:
    """Recompute the amplification, and compare the client's law with the weights."""
    content = json.loads(text)
    truth, lie = content["truth"], content["lie"]
    prior, posterior = (read_fraction(content["promise"][name], name) for name in ("prior", "posterior"))
    together = Fraction(truth, lie) ** content["reports_per_person"]
    kept = together < posterior * (1 - prior) / (prior * (1 - posterior))
    findings = [Finding("exact", "amplification", CONSISTENT if kept else BROKEN, f"γ is {together}.")]
    if plan is not None:
        law = distribution(lambda entropy: client.randomize_answer(["yes"], plan, entropy=entropy))
        right = law[b"\x01"] == Fraction(truth, truth + lie)
        findings.append(Finding("exact", "client, every draw", CONSISTENT if right else BROKEN, "The law is compared."))
    return findings
