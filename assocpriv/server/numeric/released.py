"""Released values as people read them: what reports of a table say, undisturbed by any estimate.

This module sees reports only.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import CategoryColumn, Clear, Column, Noise, NumberColumn, Window
from assocpriv.plans.tables import TablePlan

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.files.reports import Reports

_BATCH = 1 << 17


def released_frame(reports: "Reports") -> "pd.DataFrame":
    """Return what reports of a table say, a row a report and a column a column.

    A number is the middle of the released cell, or class, in the column's unit; noise can lead outside its range. A
    category is its text. A missing value is NaN or None. Where a report may leave a column out, which its device drew,
    a further column of its name and " asked" says whether it was asked; if not, its value is NaN or None, too.

    Raises:
        PlanError: reports of another kind of plan.
    """
    import pandas as pd

    plan = reports.plan.as_a(TablePlan)
    parts = [
        [plan.codes(packed, place).copy() for place in range(len(plan.columns))] for packed in reports.batches(_BATCH)
    ]
    columns: dict[str, Any] = {}
    for place, column in enumerate(plan.columns):
        codes = np.concatenate([part[place] for part in parts]) if parts else np.empty(0, dtype=np.uint8)
        columns[column.name] = released_values(column)[np.minimum(codes, column.law.outputs)]
        unasked = plan.unasked_code(place)
        if unasked is not None:
            columns[f"{column.name} asked"] = codes != unasked
    return pd.DataFrame(columns)


def released_values(column: Column) -> NDArray[Any]:
    """Return what each released code says, (outputs + 1,): the last is NaN or None, for missing or not asked."""
    if isinstance(column, NumberColumn):
        width, first = release_grid(column)
        middles = [float(column.low + (first + (2 * code + 1) * width / 2)) for code in range(column.law.outputs)]
        return np.array([*middles, np.nan])
    assert isinstance(column, CategoryColumn)
    return np.array([*column.values, None], dtype=object)


def release_grid(column: NumberColumn) -> tuple[Fraction, Fraction]:
    """Return the width of a released cell and where the first begins, counted from the range's low end."""
    law, width = column.law, column.cell_width
    if isinstance(law, Clear):
        return width * law.width, 0 * width
    if isinstance(law, Noise):
        return width, -law.largest * width
    assert isinstance(law, Window)
    return width, -(law.near // 2) * width
