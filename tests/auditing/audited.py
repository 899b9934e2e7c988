"""Plans of every type for audits, large enough to show seeded faults of a client."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import naive
import numpy as np

from assocpriv.auditing.audit import SUBJECT
from assocpriv.auditing.audit_subject import Subject
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.report_type import SizesView
from assocpriv.plans.guided.guided_plan import category, class_label, number, plan_guided
from assocpriv.plans.numeric.table_plan import (
    CategoryColumn,
    Clear,
    GaussianNoise,
    LabelColumn,
    NumberColumn,
    TablePlan,
    UniformNoise,
    Window,
)

GUARANTEE = Guarantee("5%", "50%")
SHARES = [1, 1, 1, 19]
LESS = {"_BULK": (3000, 2000, 2000), "_TIMES": 100, "_SINGLE": (300, 200, 300)}  # to replay than an audit does


def several(n_items: int, *report_types: tuple[Plan, int], bounds: tuple[int, ...]) -> Plan:
    """Return a plan of report types, given as plans with weights; the view of the last one is the basket size."""
    weighted = [replace(plan.items, weight=weight) for plan, weight in report_types]
    weighted[-1] = replace(weighted[-1], view=SizesView(bounds))
    return Plan(Catalogue.numbered(n_items), tuple(weighted), naive.NO_GUARANTEE)


def _cells(name: str, mechanism: Any, *, optional: bool = False) -> NumberColumn:
    return NumberColumn(name, mechanism, optional, Fraction(0), Fraction(10), 1)


_COLUMNS = (
    _cells("u", UniformNoise(10, 4)),
    _cells("g", GaussianNoise(10, (900, 700, 300, 80, 10)), optional=True),
    _cells("w", Window(10, 3, 9, 2), optional=True),
    CategoryColumn("c", Window(3, 1, 1 << 30, 1 << 27), False, ("x", "y", "z")),
    CategoryColumn("d", Window(4, 1, 5, 1), False, ("p", "q", "r", "s")),
    LabelColumn("class", Clear(2), False, ("A", "B")),
)
_ATTRIBUTES, _LABEL = (category("a", ["0", "1", "2"]), number("x", [0])), class_label("c", ["l", "r"])
PLANS: dict[str, Any] = {
    "bits": naive.small_plan("none", 40, 3, 2, shares=SHARES),
    "rare bits": naive.small_plan("none", 40, 3, 2, insert=(77, 8)),
    "many": naive.small_plan("none", 1300, 3, 2, shares=SHARES),
    "seeds": naive.small_plan("bch", 1000, 3, 2, shares=SHARES),
    "few items": naive.small_plan("bch", 2, 3, 1, shares=SHARES),
    "one item": naive.small_plan("none", 1, 1, 1),
    "reed-solomon": naive.small_plan("reed-solomon", 120, 3, 2, insert=(3, 3), shares=SHARES),
    "sets": naive.fixed_plan(20, 3, 2, 5, shares=[1, 1, 19, 1]),
    "report types": several(
        40, (naive.small_plan("none", 40, 3, 2, shares=SHARES), 4), (naive.small_plan("bch", 40, 2, 1), 3),
        (naive.small_plan("none", 3, 1, 1), 3), bounds=(2, 4, 9),
    ),
    "table": TablePlan(_COLUMNS, 2, Guarantee("1%", "60%")),
    "whole table": TablePlan(_COLUMNS, 3, Guarantee("0.1%", "60%")),
    "plain": plan_guided(_ATTRIBUTES, _LABEL),
    "mixed bits": plan_guided(_ATTRIBUTES, _LABEL, guarantee=GUARANTEE, reports_per_person=2),
    "mixed tuples": plan_guided(_ATTRIBUTES, _LABEL, guarantee=GUARANTEE, keep="tuple"),
}  # fmt: skip


def make_subject(plan: Any, seed: int | None = None) -> Subject:
    """Return a plan as the audit takes it; with a seed its random records are the same in every run."""
    made: Subject = SUBJECT.of(plan.kind)(plan, plan.canonical_json, np.random.default_rng(seed))
    return made
