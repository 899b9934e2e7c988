"""Tables of numbers or categories, as text for a person or as JSON content.

What a plan promises, column by column (figures of privacy err against us); what randomizing a table came to;
reconstructed distributions, with bars, mean and quantiles, in a simulation beside the truth; decision trees, and what
predicting by them came to.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.schema import AS_IS, GAUSSIAN, MEMBERSHIP, UNIFORM
from assocpriv.planning.tables import CONFIDENCES, AnswerCost, ColumnFacts, TableFacts
from assocpriv.plans.columns import CategoryColumn, NumberColumn
from assocpriv.plans.tables import TablePlan, shortened
from assocpriv.promise.breaches import epsilon, float_up, format_bound, format_fraction, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.promise.numbers import rounded
from assocpriv.show.figures import becomes, fields, figure, figure_up, percent_as_given, percent_within, written
from assocpriv.show.plans import Description, promise_record

if TYPE_CHECKING:
    from assocpriv.client.table_classes import PredictionCounts
    from assocpriv.plans.tree_model import TreeModel
    from assocpriv.records.tables import TableCounts
    from assocpriv.server.distributions import Distribution, Distributions, Figure, JointDistribution, Numbers
    from assocpriv.simulation.tables import ColumnTrial, TableSimulation

_INDENT = " " * 12
_MOST_COSTS = 4  # shown
_SCALES = {GAUSSIAN: "σ", UNIFORM: "noise up to ±", MEMBERSHIP: "classes of width"}
_ROWS, _BAR = 10, 30  # rows of a number's histogram, and characters of its longest bar
_PAIRS = 20  # of two columns shown as text
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BASES = {
    "least-squares": "Bands and quantiles assume nothing but even spread within intervals (unbiased least squares).",
    "smooth": "Behind Gaussian noise bands and quantiles assume an evenly rough log-density; not for narrow peaks.",
}
_LEGEND = [  # of a simulation; its intervals are those of 95%
    "distance: total variation between the shares that were found and the true ones",
    "held: true shares within their 95% intervals; of numbers the edges between",
    "      intervals at which the true distribution function lies within its band",
]
_MOST_LINES = 30  # of a tree shown as text
_UNDECIDABLE = [
    "undecidable: by reports that it was not grown on, a tree is hardly better than the commonest class, or worse;",
    "a single leaf is written. Gather more reports, or choose fewer columns or a weaker promise",
]


# ---- plans


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


# ---- randomizing


def outcome_record(done: "TableCounts", plan: "TablePlan") -> dict[str, Any]:
    """Return it as JSON content."""
    return {
        "plan_id": plan.plan_id,
        "reports": done.records,
        "report_bytes": plan.report_bytes,
        "clipped": done.clipped,
        "missing": done.missing,
    }


def outcome_lines(done: "TableCounts", plan: "TablePlan") -> list[str]:
    """Return what is to be said on standard error: what happened to values, and what the plan does not promise."""
    lines = [_by_column(done.clipped, "clipped to the range")] if done.clipped else []
    lines += [_by_column(done.missing, "missing")] if done.missing else []
    if plan.amplification is None:
        lines.append("the plan states no γ: its noise promises privacy on average, not for every record")
    elif plan.uncovered:
        lines.append(f"γ does not cover {plan.uncovered}")
    return lines


def _by_column(counts: Mapping[str, int], what: str) -> str:
    listed = ", ".join(f"{count:,} of {name}" for name, count in counts.items())
    return f"{counted(sum(counts.values()), 'value')} {what}: {listed}"


# ---- distributions


def distribution_lines(found: "Distributions") -> list[str]:
    """Return distributions as text."""
    if found.joint is not None:
        return _joint_lines(found.joint)
    lines = [f"reports     {found.reports:,}"]
    parts = (
        {"": found.columns}
        if found.by is None
        else {f"{found.by}={value}: ": of for value, of in found.classes.items()}
    )
    bases = set()
    for prefix, columns in parts.items():
        for each in columns.values():
            lines += ["", *_distribution_lines(prefix, each, found.confidence_level)]
            if each.numbers is not None:
                bases.add(each.numbers.basis)
    return [*lines, "", *(_BASES[basis] for basis in sorted(bases))] if bases else lines


def left_out_lines(found: "Distributions") -> list[str]:
    """Say of classes why they are left out."""
    return [f"{found.by}={value} is left out: {why}" for value, why in found.left_out.items()]


def _distribution_lines(prefix: str, each: "Distribution", level: float) -> list[str]:
    lines = [f"{prefix}{each.name}  {each.reports:,} reports, method {each.method}"]
    if each.missing is not None:
        lines.append(f"  missing   {each.missing.value:.2%} ± {each.missing.std_error:.2%}")
    numbers = each.numbers
    if numbers is None:
        width = max(map(len, each.values))
        rows = zip((value.ljust(width) for value in each.values), each.share, each.std_error, strict=True)
        return lines + _bars(list(rows))
    for name, value in (("mean", numbers.mean), ("variance", numbers.variance)):
        if value is not None:
            lines.append(f"  {name:<8}  {_with_error(value)}")
    if numbers.mean is None:
        lines.append("  mean      undecidable, and so is all below: nobody seems to hold a value")
    elif numbers.variance is None:
        lines.append("  variance  undecidable: what lies within a class cannot be seen")
    lines += [f"  {name:<8}  {said}" for name, said in _quantile_rows(numbers)]
    lines.append(f"  band      ±{_half_width(numbers):.1%} at most, {percent_as_given(level)} sure everywhere at once")
    return lines + _bars(_rows(each, numbers))


def _quantile_rows(numbers: "Numbers") -> list[tuple[str, str]]:
    found = numbers.quantiles
    rows = {
        "quantile": [f"{each.level:.0%}" for each in found],
        "is": [rounded(each.value, 4) for each in found],
        "from": [rounded(each.low, 4) for each in found],
        "to": [rounded(each.high, 4) for each in found],
    }
    width = max(10, 2 + max(len(text) for texts in rows.values() for text in texts))
    return [(name, "".join(f"{text:>{width}}" for text in texts)) for name, texts in rows.items()]


def _with_error(figure: "Figure") -> str:
    value, low, high = (rounded(each, 5) for each in (figure.value, figure.low, figure.high))
    return f"{value} ± {rounded(figure.std_error, 2)}  ({low}–{high})"


def _half_width(numbers: "Numbers") -> float:
    return float((numbers.cdf_high - numbers.cdf_low)[1:-1].max(initial=0.0)) / 2


def _rows(each: "Distribution", numbers: "Numbers") -> list[tuple[str, float, float | None]]:
    """Return some ten rows of neighbouring intervals; errors are those of single intervals, so they stand alone."""
    n = len(each.share)
    cuts = np.unique(np.linspace(0, n, min(n, _ROWS) + 1).round().astype(int))
    shares = np.add.reduceat(each.share, cuts[:-1])
    texts = _ranges(numbers.edges[cuts])
    errors: Sequence[float | None] = list(each.std_error) if len(cuts) == n + 1 else [None] * len(shares)
    return list(zip(texts, map(float, shares), errors, strict=True))


def _ranges(edges: NDArray[np.float64]) -> list[str]:
    texts = [rounded(edge, 6) for edge in edges]
    width = max(map(len, texts))
    return [f"{low:>{width}} – {high:>{width}}" for low, high in pairwise(texts)]


def _bars(rows: Sequence[tuple[str, float, float | None]]) -> list[str]:
    most = max(max((share for _, share, _ in rows), default=0.0), 1e-12)
    lines = []
    for text, share, error in rows:
        full, rest = divmod(round(max(share, 0.0) / most * _BAR * 8), 8)
        bar = "█" * full + (_EIGHTHS[rest] if rest else "")
        shown = f"{share:7.2%}" if error is None else f"{share:7.2%} ± {error:.2%}"
        lines.append(f"  {text}  {shown}  {bar}".rstrip())
    return lines


def _joint_lines(joint: "JointDistribution") -> list[str]:
    frame = joint.frame().sort_values("share", ascending=False, kind="stable")
    first, second = joint.names
    head = [f"{first} × {second}  {joint.reports:,} reports, method {joint.method}", ""]
    shown = frame.head(_PAIRS)
    columns = [[first, *shown["first"]], [second, *shown["second"]]]
    widths = [max(map(len, column)) for column in columns]
    shares = ["share", *(f"{s:.2%} ± {e:.2%}" for s, e in zip(shown["share"], shown["std_error"], strict=True))]
    lines = [
        f"{one:<{widths[0]}}  {two:<{widths[1]}}  {share}" for one, two, share in zip(*columns, shares, strict=True)
    ]
    rest = len(frame) - len(shown)
    return [*head, *lines, *([f"… and {rest:,} more pairs"] if rest else [])]


# ---- simulations


def describe_table(done: "TableSimulation", plan: TablePlan, _top: int) -> Description:
    """Return both ways to describe distributions beside the truth, and what happened to values."""
    notes = tuple(outcome_lines(done.read, plan))
    return Description(lambda: _simulation_record(done), lambda: _simulation_lines(done), notes)


def _simulation_record(done: "TableSimulation") -> dict[str, Any]:
    truth = "true_missing true_mean true_quantiles distance held tested"
    columns = {
        name: each.found.record() | {"true_share": each.true_share.tolist()} | fields(each, truth)
        for name, each in done.columns.items()
    }
    return done.found.record() | {"columns": columns, **fields(done.read, "clipped missing"), "seconds": done.seconds}


def _simulation_lines(done: "TableSimulation") -> list[str]:
    """Return a line a column, then mean and quantiles of numbers, found and true, and the times."""
    width = max(len("column"), *map(len, done.columns))
    lines = [f"{'column':<{width}}  {'reports':>9}  {'distance':>8}  {'held':>10}"]
    for name, each in done.columns.items():
        found, held = each.found, f"{each.held} of {each.tested}"
        lost = found.missing and f"  missing {found.missing.value:.2%}, truly {each.true_missing:.2%}"
        lines.append(f"{name:<{width}}  {found.reports:>9,}  {each.distance:>8.2%}  {held:>10}{lost or ''}")
    lines += ["", *_LEGEND]
    for name, each in done.columns.items():
        lines += _beside_lines(name, each, width)
    return [*lines, "", "time: " + ", ".join(f"{stage} {taken:.2f} s" for stage, taken in done.seconds.items())]


def _beside_lines(name: str, each: "ColumnTrial", width: int) -> list[str]:
    numbers = each.found.numbers
    if numbers is None or numbers.mean is None or each.true_mean is None:
        return []
    rows = {
        name: ["mean", *(f"{at.level:.0%}" for at in numbers.quantiles)],
        "  found": [rounded(value, 4) for value in (numbers.mean.value, *(at.value for at in numbers.quantiles))],
        "  true": [rounded(value, 4) for value in (each.true_mean, *each.true_quantiles)],
    }
    return ["", *(f"{head:<{width}}" + "".join(f"{text:>10}" for text in texts) for head, texts in rows.items())]


# ---- decision trees


def tree_record(model: "TreeModel") -> dict[str, Any]:
    """Return what a tree is as JSON content; the file has the tree itself."""
    return {
        "plan_id": model.plan_id,
        "method": model.method,
        "class": model.class_name,
        "classes": dict(zip(model.classes, model.nodes[0].shares, strict=True)),
        "columns": [column.name for column in model.columns],
        "records": model.nodes[0].records,
        "leaves": model.n_leaves,
        "depth": model.depth,
        "grown_leaves": model.grown_leaves,
        "undecidable": model.undecidable,
    }


def tree_text(model: "TreeModel", lines: list[str]) -> list[str]:
    """Return the tree, and what it was grown on."""
    root = model.nodes[0]
    shares = ", ".join(f"{name} {share:.1%}" for name, share in zip(model.classes, root.shares, strict=True))
    pruned = model.grown_leaves - model.n_leaves
    shown = lines[:_MOST_LINES]
    more = [f"… and {counted(len(lines) - _MOST_LINES, 'more line')}"] if len(lines) > _MOST_LINES else []
    return [
        *shown,
        *more,
        *(_UNDECIDABLE if model.undecidable else []),
        "",
        f"class     {model.class_name}: {shares}",
        f"records   {root.records:,}",
        f"size      {counted(model.n_leaves, 'leaf').replace('leafs', 'leaves')}, depth {model.depth}"
        + (f"; {pruned:,} of {model.grown_leaves:,} pruned" if pruned else ""),
    ]


# ---- predictions


def prediction_record(counts: "PredictionCounts", output: str) -> dict[str, Any]:
    """Return what predicting came to as JSON content."""
    return {
        "records": counts.records,
        "predicted": dict(sorted(counts.classes.items())),
        "missing": _some(counts.missing),
        "unseen": _some(counts.unseen),
        "outside": _some(counts.outside),
        "output": output,
    }


def prediction_lines(counts: "PredictionCounts", output: str) -> list[str]:
    """Return it as text."""
    found = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.classes.items()))
    return [f"{counted(counts.records, 'record')} with their predicted class written to {output}: {found}"]


def prediction_notes(counts: "PredictionCounts") -> list[str]:
    """Return what is to be said on standard error: values that the model has no interval or category for."""
    notes = [
        (counts.missing, "missing, sent where most such records went"),
        (counts.unseen, "not known to the model, taken as missing"),
        (counts.outside, "outside the range, taken as its nearest end"),
    ]
    return [
        f"{counted(sum(found.values()), 'value')} {what}: "
        + ", ".join(f"{count:,} of {name}" for name, count in _some(found).items())
        for found, what in notes
        if sum(found.values())
    ]


def _some(found: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in found.items() if count}
