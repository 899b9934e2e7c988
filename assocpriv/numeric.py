"""The door of tables: numbers and categories, perturbed on the device, reconstructed as distributions at the server."""

from typing import TYPE_CHECKING

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from assocpriv.planning.numeric.planner import plan_table as plan
    from assocpriv.plans.numeric.columns import CategoryColumn, LabelColumn, NumberColumn
    from assocpriv.plans.numeric.plan import TablePlan

__all__ = ["CategoryColumn", "LabelColumn", "NumberColumn", "TablePlan", "plan"]
_HOMES = {
    "assocpriv.planning.numeric.planner": ("plan_table as plan",),
    "assocpriv.plans.numeric.columns": ("CategoryColumn", "LabelColumn", "NumberColumn"),
    "assocpriv.plans.numeric.plan": ("TablePlan",),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- plans


# ---- clients


# ---- distributions


# ---- decision trees
