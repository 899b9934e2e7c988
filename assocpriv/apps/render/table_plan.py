"""What a plan of a table promises, column by column, as JSON content and as text. Figures of privacy err against us."""

from fractions import Fraction
from typing import Any

from assocpriv.apps.render.figures import (
    becomes,
    fields,
    figure,
    figure_up,
    percent_as_given,
    percent_within,
    written,
)
from assocpriv.apps.render.plan import promise_record
from assocpriv.planning.schema import AS_IS, GAUSSIAN, MEMBERSHIP, UNIFORM
from assocpriv.planning.tables import CONFIDENCES, AnswerCost, ColumnFacts, TableFacts
from assocpriv.plans.columns import CategoryColumn, NumberColumn
from assocpriv.plans.tables import TablePlan, shortened
from assocpriv.promise.breaches import epsilon, float_up, format_bound, format_fraction, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.promise.numbers import rounded

_INDENT = " " * 12
_MOST_COSTS = 4  # shown
_SCALES = {GAUSSIAN: "σ", UNIFORM: "noise up to ±", MEMBERSHIP: "classes of width"}


def plan_record(facts: TableFacts) -> dict[str, Any]:
    """Return what a plan promises, for ``--json``."""
    plan, gamma, together = facts.plan, facts.plan.amplification, facts.plan.composed_amplification
    return {
        "plan_id": plan.plan_id,
        "plan_kind": plan.kind,
        "promise": plan.promise and promise_record(plan.promise),
        "amplification_limit": plan.promise and format_fraction(plan.promise.amplification_limit),
        "amplification": gamma and format_bound(gamma),
        "epsilon": None if gamma is None else epsilon(gamma),
        "composed_amplification": together and format_bound(together),
        **fields(plan, "reports_per_person uncovered answered report_bytes"),
        "answer_costs": [fields(each, "answered limit cost") for each in facts.costs],
        "reports": facts.reports,
        "columns": [_column_record(each) for each in facts.columns],
    }


def _column_record(facts: ColumnFacts) -> dict[str, Any]:
    column, gamma = facts.column, facts.column.law.amplification
    record = {
        **fields(column, "name kind optional"),
        "release": facts.release,
        "protected": column.is_protected,
        "amplification": gamma and format_bound(gamma),
        "epsilon": None if gamma is None else epsilon(gamma),
        "codes": column.codes,
    }
    if not isinstance(column, NumberColumn):
        assert isinstance(column, CategoryColumn)
        return record | {"values": list(column.values)}
    return record | {
        "low": float(column.low),
        "high": float(column.high),
        "intervals": column.intervals,
        "cells": column.inputs,
        "privacy": {
            format_fraction(level): -float_up(-width) for level, width in zip(CONFIDENCES, facts.widths, strict=False)
        },
        **fields(facts, "scale distance"),
    }


def plan_lines(facts: TableFacts) -> list[str]:
    """Say what a plan promises."""
    plan = facts.plan
    return [
        f"plan        {plan.plan_id}",
        f"{_INDENT}{counted(len(plan.columns), 'column')}; a report has {counted(plan.report_bytes, 'byte')}",
        *_promise_lines(plan),
        *_answer_lines(facts),
        *(line for column in facts.columns for line in _column_lines(column)),
    ]


def _promise_lines(plan: TablePlan) -> list[str]:
    """Say what is promised of all that a person sends, and what lies outside."""
    gamma, together, promise = plan.amplification, plan.composed_amplification, plan.promise
    if gamma is None or together is None or promise is None:
        return []
    who = "no report lifts" if plan.reports_per_person == 1 else f"{plan.reports_per_person:,} reports together lift no"
    lines = [
        f"promise     of the protected columns, all together: {who} {'a ' * (plan.reports_per_person == 1)}belief",
        f"{_INDENT}from {percent_within(promise.prior, up=False)} to {percent_within(promise.posterior, up=True)}, "
        f"whatever the data: {becomes(promise.prior, highest_posterior(promise.prior, together), promise.posterior)}",
        f"{_INDENT}γ < {figure_up(float(promise.amplification_limit))}, ε = ln γ ≤ {figure_up(epsilon(together))}",
    ]
    if plan.reports_per_person > 1:
        lines.append(f"{_INDENT}one report alone: γ ≤ {figure(gamma)}, ε ≤ {figure_up(epsilon(gamma))}")
    if plan.uncovered:
        names = [column.name for column in plan.columns if not column.is_protected]
        lines.append(f"outside γ   {shortened(names, 6)}: nothing bounds what a report tells of them")
    return lines


def _answer_lines(facts: TableFacts) -> list[str]:
    """Say how many protected columns a report answers, and what other numbers would cost."""
    plan, most = facts.plan, len(facts.plan.asked)
    if most < 2:
        return []
    labels = sum(column.is_protected for column in plan.columns) - most
    also = f", and {'the label' if labels == 1 else f'all {labels} labels'}" if labels else ""
    which = f"{plan.answered} of {most}, drawn by the device" if plan.is_sampled else f"all {most}"
    lines = [f"answers     protected columns in a report: {which}{also}", *_cost_lines(facts.costs, plan.answered)]
    if plan.answered == 1:
        lines.append(f"{_INDENT}joint questions about two of them need two answers: plan --answer 2")
    return lines


def _cost_lines(costs: tuple[AnswerCost, ...], answered: int) -> list[str]:
    best = sorted(costs, key=lambda each: each.cost)[:_MOST_COSTS]
    shown = {each.answered: each for each in (*best, costs[-1]) if each.answered != answered}
    other = ", ".join(f"{each.cost:.3g} with {each.answered}" for each in sorted(shown.values(), key=lambda c: c.cost))
    own = next(each for each in costs if each.answered == answered)
    return [f"{_INDENT}reports worth one direct answer, on average: {own.cost:.3g} ({other})"]


# ---- columns


def _column_lines(facts: ColumnFacts) -> list[str]:
    column = facts.column
    what = _number(column) if isinstance(column, NumberColumn) else _named(column)
    missing = ", may be missing" if column.optional else ""
    name = f"{column.name:<11}" if len(column.name) < 12 else f"{column.name}\n{_INDENT[1:]}"
    return [*f"{name} {what}{missing}; {facts.release}".split("\n"), *_law_lines(facts)]


def _number(column: NumberColumn) -> str:
    low, high = (rounded(float(end), 6) for end in (column.low, column.high))
    return f"number {low} … {high} in {counted(column.intervals, 'interval')}"


def _named(column: Any) -> str:
    return f"{column.kind} of {counted(len(column.values), 'value')}"


def _law_lines(facts: ColumnFacts) -> list[str]:
    """Say what a column's law promises, on which grid."""
    column, gamma = facts.column, facts.column.law.amplification
    if facts.release == AS_IS:
        cells = f" (its cell of {column.inputs:,})" if isinstance(column, NumberColumn) else ""
        return [f"{_INDENT}reports tell it{cells}: nothing is promised"]
    lines = []
    if gamma is not None:
        lines.append(f"{_INDENT}γ ≤ {figure(gamma)}, ε ≤ {figure_up(epsilon(gamma))}{_kept(facts)}")
    elif isinstance(column, NumberColumn):
        assert facts.scale is not None
        lines += [
            f"{_INDENT}{_scale(facts)} ({percent_as_given(facts.scale / float(column.high - column.low), 3)} of the "
            "range); promises an average, no γ",
            f"{_INDENT}a release leaves {_widths(facts)} of the range",
        ]
    if facts.distance is not None:
        most = written(100 * Fraction(facts.distance), 2, up=True)
        lines.append(f"{_INDENT}grid of {column.inputs:,} cells: within {most}% of the law without a grid")
    return lines


def _kept(facts: ColumnFacts) -> str:
    """Say how likely a value, or one near it, is what is reported."""
    law: Any = facts.column.law
    share = float(Fraction(law.near * law.high, law.total(optional=facts.column.optional)))
    if facts.scale is None:
        return f"; the value itself is reported with probability {share:.3g}"
    return f"; a value within ±{rounded(facts.scale, 4)} with probability {share:.3g}"


def _scale(facts: ColumnFacts) -> str:
    word = _SCALES[facts.release]
    assert facts.scale is not None
    return f"{word}{'' if word.endswith('±') else ' '}{rounded(facts.scale, 4)}"


def _widths(facts: ColumnFacts) -> str:
    """Write the widths that are left, rounded down."""
    return ", ".join(
        f"{written(100 * width, 4, up=False)}% at {percent_as_given(float(level))}"
        for level, width in zip(CONFIDENCES, facts.widths, strict=True)
    )
