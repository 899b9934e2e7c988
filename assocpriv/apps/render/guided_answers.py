"""What came of answering guidance, as JSON content and as text."""

from pathlib import Path
from typing import Any

from assocpriv.apps.render.figures import fields
from assocpriv.client.waiting import AnswerCounts
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import counted


def answer_record(done: AnswerCounts, plan: GuidedPlan) -> dict[str, Any]:
    """Return what was answered, for ``--json``."""
    sent = {"plan_id": plan.plan_id, "sent": done.records, "waiting": 0, "report_bytes": plan.report_bytes}
    return sent | fields(done, "serial level clipped missing waited")


def answer_lines(done: AnswerCounts, plan: GuidedPlan, output: Path) -> list[str]:
    """Say what was answered."""
    lines = [
        f"{counted(done.records, 'report')} of {counted(plan.report_bytes, 'byte')} written to {output}: answers to "
        f"guidance {done.serial}, level {done.level}"
    ]
    if done.missing:
        lines.append(f"{counted(sum(done.missing.values()), 'missing value')} drawn uniformly")
    if done.clipped:
        lines.append(f"{counted(done.clipped, 'bit')} had a probability above 1, taken for 1")
    if done.waited:
        lines.append("no record waits any more; their key is gone")
    if plan.amplification is None:
        lines.append(f"no γ: {plan.unbounded}")
    return lines


def waiting_record(waiting: int, plan: GuidedPlan) -> dict[str, Any]:
    """Return how many records wait, for ``--json``."""
    return {"plan_id": plan.plan_id, "sent": 0, "waiting": waiting}


def waiting_lines(waiting: int, folder: Path, reason: str) -> list[str]:
    """Say why records wait, and where."""
    return [f"{counted(waiting, 'record')} waiting in {folder}, encrypted; nothing was sent", reason]
