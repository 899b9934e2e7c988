"""Growing a tree by class from reports, beside scikit-learn's fit on the same intervals."""

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from assocpriv.plans.tables import TablePlan
from assocpriv.server.tree_positions import Released, channel_of
from assocpriv.server.trees import TreeRequest, grow_tree
from assocpriv.simulation.synthetic import CLASSES, LABEL, AgrawalSettings, generate_agrawal
from bench.figures.trees import generated_columns, noisy_plan, release
from bench.speed.timing import medians


def run(records: int = 100_000, function: int = 2) -> dict[str, Any]:
    """Return seconds of both, taken in turn, and their ratio; nine columns with Gaussian noise at 100% privacy."""
    plan = noisy_plan(generated_columns(), CLASSES, records, "gaussian", 100)
    reports = release(generate_agrawal(AgrawalSettings(function=function, n_records=records)), plan, 1)
    positions, labels = _intervals(reports.packed, plan)
    least = int(TreeRequest().bounds(records).least_leaf)
    plain = DecisionTreeClassifier(min_samples_leaf=least, random_state=0)
    whole = DecisionTreeClassifier(random_state=0)
    ours, theirs, unbounded = medians(
        lambda: grow_tree(reports, LABEL),
        lambda: plain.fit(positions, labels),
        lambda: whole.fit(positions, labels),
    )
    return {
        "records": records,
        "columns": positions.shape[1],
        "by_class_s": ours,
        "scikit_learn_same_limits_s": theirs,
        "scikit_learn_without_limits_s": unbounded,
        "by_class_ratio_same_limits": ours / theirs,
        "by_class_ratio_without_limits": ours / unbounded,
    }


def _intervals(packed: Any, plan: TablePlan) -> tuple[Any, Any]:
    """Return the corrected intervals that the tree is grown on, and the classes."""
    codes = [plan.codes(packed, place) for place in range(len(plan.columns))]
    channels = [channel_of(plan, place) for place in range(len(plan.columns) - 1)]
    released = Released(codes[:-1], codes[-1].astype(np.int64), channels, len(CLASSES))
    return released.corrected(released.shares, np.random.default_rng(0)), released.labels
