"""A plan's operators over a small catalogue, with the smallest generator of its kind, and transactions to try there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import combinations, count

from assocpriv.audit.recompute.arithmetic import order_of_x
from assocpriv.audit.recompute.codes import Seed
from assocpriv.audit.recompute.plan_text import Numbers
from assocpriv.audit.recompute.report_forms import Group, Sets
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import AnyOperator
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.view import View

_Parts = tuple[tuple[AnyOperator, ...], Generator]


def small_plan(plan: Plan, numbers: Numbers, size: int, n_items: int) -> Plan | None:
    """Return the plan's operators up to a size over a small catalogue.

    None where reports of a fixed size need more items to keep as many as on the plan itself.
    """
    shrunk = [group.shrunk(n_items) for group in numbers.groups if group.size <= size]
    groups = [group for group in shrunk if group is not None]
    if len(groups) < len(shrunk):
        return None
    operators, generator = _small_parts(groups[-1], plan, groups)
    return replace(
        plan,
        catalogue=Catalogue.numbered(n_items),
        transaction_size=size,
        itemset_size=1,
        operators=operators,
        generator=generator,
        view=View(),
    )


@singledispatch
def _small_parts(last: Group, plan: Plan, groups: Sequence[Group]) -> _Parts:  # noqa: ARG001
    """Return the operators and the generator of small groups of one form, ``last`` among them."""
    return plan.operators[: len(groups)], plan.generator


@_small_parts.register
def _(last: Sets, plan: Plan, groups: Sequence[Group]) -> _Parts:  # noqa: ARG001
    return (replace(plan.fixed, items=last.items, report_size=last.report_size),), plan.generator


@_small_parts.register
def _(last: Seed, plan: Plan, groups: Sequence[Seed]) -> _Parts:  # noqa: ARG001
    width = next(w for w in count(2) if all(group.fits_field(w) for group in groups))
    blocks, ones_row = max(group.blocks_for(group.size + 1) for group in groups)
    generator = Generator(plan.generator.kind, width, _primitive(width), blocks, bool(ones_row))
    return plan.operators[: len(groups)], generator


def _primitive(width: int) -> int:
    """Return the least primitive polynomial of a degree."""
    return next(poly for poly in range(1 << width, 2 << width) if order_of_x(width, poly) == (1 << width) - 1)


def small_transactions(numbers: Numbers, group: Group) -> Iterator[list[list[int]]]:
    """Yield lists of transactions to compare with each other, the longest list first."""
    n, m = numbers.n_items, group.size
    smallest = 0 if m == 1 or not numbers.in_clear else m
    if n <= 3:
        yield [list(raw) for size in range(smallest, n + 1) for raw in combinations(range(n), size)]
    some = [list(range(size)) for size in range(smallest, min(n, m + 1) + 1)] + [list(range(n - min(n, m), n))]
    yield some
    yield [raw for raw in some if len(raw) <= m]
    yield [some[0], some[-1]]
