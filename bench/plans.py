"""Plans of a certain form for baskets of five items, which the planner need not choose, and of one question."""

from collections.abc import Iterable
from dataclasses import replace

from assocpriv.planning.designs import WorstSupport, choose_generator, fixed_size_family, insertion_family, runs
from assocpriv.planning.request import catalogue_of
from assocpriv.plans.baskets import Plan
from assocpriv.plans.question import Question
from assocpriv.promise.breaches import Breach

PROMISE = Breach("5%", "50%")
_M, _OBJECTIVE = 5, WorstSupport(3, 1_000_000)


def coded(items: int | Iterable[str], code: str = "bch", insert_bits: int = 1) -> Plan:
    """Return the best plan with r bits an item: 40-bit BCH seeds for r = 1, 192-bit ones for r = 4."""
    catalogue, limit = catalogue_of(items), PROMISE.amplification_limit
    designs = insertion_family(_M).search(limit, _OBJECTIVE, runs(_M))
    design = min((d for d in designs if d.insert_bits == insert_bits), key=lambda d: d.error)
    generator = choose_generator(len(catalogue) + _M, insert_bits, _M + 3, code)
    return Plan(catalogue, (Question(len(catalogue), design.operator(limit), generator, 3),), PROMISE)


def fixed_size(items: int | Iterable[str]) -> Plan:
    """Return the best plan whose reports hold a fixed number of items."""
    catalogue, limit = catalogue_of(items), PROMISE.amplification_limit
    designs = fixed_size_family(_M, len(catalogue) + _M).search(limit, _OBJECTIVE, runs(_M))
    operator = min(designs, key=lambda d: d.error).operator(limit)
    return Plan(catalogue, (Question(len(catalogue), operator, itemset_size=3),), PROMISE)


def about_items(plan: Plan) -> Plan:
    """Return a plan without the question about sizes."""
    return replace(plan, questions=(replace(plan.items, weight=1),))
