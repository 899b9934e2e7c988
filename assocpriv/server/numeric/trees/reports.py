"""A decision tree from the reports of a table."""

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports
from assocpriv.plans.tables import TablePlan
from assocpriv.plans.tree_model import TreeModel
from assocpriv.server.numeric.trees.building import ClassColumn, TreeRequest, build
from assocpriv.server.numeric.trees.channels import channel_of
from assocpriv.server.numeric.trees.estimator import class_column, class_place

_BATCH = 1 << 18


def grow_tree(reports: Reports, class_column_name: str | None, request: TreeRequest) -> TreeModel:
    """Grow a tree on reports; those without a class, or that did not answer it, are left out.

    Raises:
        PlanError: reports of another kind, or no column of this name.
        EstimateError: a column that can be no class, or what :func:`build` refuses.
    """
    plan = reports.plan.as_a(TablePlan)
    at = class_place(plan, class_column_name)
    places = [place for place in range(len(plan.columns)) if place != at]
    every = released_codes(reports, plan)
    labels = every[at]
    known = labels < plan.columns[at].law.outputs
    codes = [every[place] if known.all() else every[place][known] for place in places]
    channels = [channel_of(plan, place, corrected=request.method != "randomized") for place in places]
    target = ClassColumn.of(class_column(plan, at))
    return build(codes, labels[known].astype(np.int64), channels, target, request, plan.plan_id)


def released_codes(reports: Reports, plan: TablePlan) -> list[NDArray[np.unsignedinteger]]:
    """Return the codes of every column, (n,) each: two bytes a record and column at most."""
    parts = [
        [plan.codes(packed, place).copy() for place in range(len(plan.columns))] for packed in reports.batches(_BATCH)
    ]
    empty = [np.empty(0, dtype=np.uint16) for _ in plan.columns]
    return [np.concatenate([part[place] for part in parts] or [empty[place]]) for place in range(len(plan.columns))]
