"""A plan of a table, as JSON content and as text."""

from typing import Any

from assocpriv.plans.numeric.plan import TablePlan


def foresee(plan: TablePlan, reports: int, _group_reports: Any = None) -> tuple[TablePlan, int]:
    """Return what is described."""
    return plan, reports


def plan_record(prospects: tuple[TablePlan, int]) -> dict[str, Any]:
    """Return it as JSON content."""
    plan, reports = prospects
    return {"plan_id": plan.plan_id, "kind": plan.kind, "columns": list(plan.names), "planned_reports": reports}


def plan_lines(prospects: tuple[TablePlan, int]) -> list[str]:
    """Return it as text."""
    plan, _ = prospects
    return [f"plan        {plan.plan_id[:12]}", f"columns     {', '.join(plan.names)}"]
