"""The command line: what a plan says, as JSON content and as text."""

from typing import Any

from tests.second_kind.plan import YesNoPlan


def foresee(plan: YesNoPlan, reports: int) -> tuple[YesNoPlan, int]:
    """Return what is described."""
    return plan, reports


def plan_record(prospects: tuple[YesNoPlan, int]) -> dict[str, Any]:
    """Return it as JSON content."""
    return {"kind": prospects[0].kind, "question": prospects[0].question, "planned_reports": prospects[1]}


def plan_lines(prospects: tuple[YesNoPlan, int]) -> list[str]:
    """Return it as text."""
    return [f"asks: {prospects[0].question}"]
