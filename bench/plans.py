"""Plans with a given design and one report type for baskets of five items; the planner might choose another design."""

from collections.abc import Iterable
from dataclasses import replace

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.basket_planner import as_catalogue
from assocpriv.planning.operator_designs import (
    WorstSupport,
    fixed_size_family,
    insertion_family,
    runs,
)
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import BUILDERS
from assocpriv.plans.baskets.report_type import ReportType

GUARANTEE = Guarantee("5%", "50%")
_M, _OBJECTIVE = 5, WorstSupport(3, 1_000_000)


def coded(items: int | Iterable[str], code: str = "bch", insert_bits: int = 1) -> Plan:
    """Return the best plan with r bits an item: 40-bit BCH seeds for r = 1, 192-bit ones for r = 4."""
    catalogue, limit = as_catalogue(items), GUARANTEE.amplification_limit
    designs = insertion_family(_M).search(limit, _OBJECTIVE, runs(_M))
    design = min((d for d in designs if d.insert_bits == insert_bits), key=lambda d: d.error)
    generator = BUILDERS[code](len(catalogue) + _M, insert_bits, _M + 3)
    return Plan(catalogue, (ReportType(len(catalogue), design.operator(limit), generator, 3),), GUARANTEE)


def fixed_size(items: int | Iterable[str]) -> Plan:
    """Return the best plan whose reports hold a fixed number of items."""
    catalogue, limit = as_catalogue(items), GUARANTEE.amplification_limit
    designs = fixed_size_family(_M, len(catalogue) + _M).search(limit, _OBJECTIVE, runs(_M))
    operator = min(designs, key=lambda d: d.error).operator(limit)
    return Plan(catalogue, (ReportType(len(catalogue), operator, itemset_size=3),), GUARANTEE)


def about_items(plan: Plan) -> Plan:
    """Return a plan without the report type about sizes."""
    return replace(plan, report_types=(replace(plan.items, weight=1),))
