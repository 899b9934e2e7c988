"""Progressive disclosure as algorithm 1 of Wang, Fung, Yu (2005) reads: obviously correct, and slow.

A row is a mapping of columns to texts. Every confidence is counted anew from the rows, every candidate tried in turn.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Row = Mapping[str, str | None]
Hidden = set[tuple[str, str | None]]


class NaiveStep(NamedTuple):
    """One disclosure."""

    column: str
    value: str | None
    gain: float
    loss: float
    score: float


def highest_confidence(rows: Sequence[Row], bound: Any, hidden: Hidden) -> Fraction:
    """Return Conf(IC → π) of the table in which hidden values are one and the same mark."""
    groups: dict[Any, list[bool]] = {}
    for row in rows:
        pattern = tuple("the mark" if (name, row[name]) in hidden else (row[name],) for name in bound.channel)
        groups.setdefault(pattern, []).append(row[bound.column] == bound.value)
    return max(Fraction(sum(group), len(group)) for group in groups.values())


def satisfies(rows: Sequence[Row], bounds: Iterable[Any], hidden: Hidden) -> bool:
    """Say whether all bounds hold in the table in which hidden values are suppressed."""
    return all(highest_confidence(rows, bound, hidden) <= bound.confidence for bound in bounds)


def entropy(labels: Iterable[Any]) -> float:
    """Return the entropy of labels in bits."""
    counts = Counter(labels).values()
    return -sum(count / sum(counts) * math.log2(count / sum(counts)) for count in counts)


def candidate(rows: Sequence[Row], bounds: Sequence[Any], hidden: Hidden, value: Any, klass: str | None) -> Any:
    """Return the step that discloses a value; None if it is not valid or not beneficial."""
    column, text = value
    suppressed = [row for row in rows if (column, row[column]) in hidden]
    labels = [row[klass] if klass is not None else row[column] == text for row in suppressed]
    inside = [label for label, row in zip(labels, suppressed, strict=True) if row[column] == text]
    outside = [label for label, row in zip(labels, suppressed, strict=True) if row[column] != text]
    if not satisfies(rows, bounds, hidden - {value}) or (klass is not None and len(set(labels)) < 2):
        return None
    gain = entropy(labels) - (len(inside) * entropy(inside) + len(outside) * entropy(outside)) / len(labels)
    affected = [bound for bound in bounds if column in bound.channel]
    losses = [
        highest_confidence(rows, bound, hidden - {value}) - highest_confidence(rows, bound, hidden)
        for bound in affected
    ]
    loss = float(sum(losses) / len(losses))
    return NaiveStep(column, text, gain, loss, gain / (loss + 1))


def masking_values(rows: Sequence[Row], bounds: Sequence[Any]) -> list[tuple[str, str | None]]:
    """Return the values that may be suppressed: columns as in the table, values in order of text, missing last."""
    sensitive = {bound.column for bound in bounds}
    masking = {name for bound in bounds for name in bound.channel} - sensitive
    return [
        (name, text)
        for name in rows[0]
        if name in masking
        for text in sorted({row[name] for row in rows}, key=lambda text: (text is None, text or ""))
    ]


def disclose(rows: Sequence[Row], bounds: Sequence[Any], klass: str | None) -> tuple[Hidden, list[NaiveStep]] | None:
    """Return what stays suppressed, and the steps; None if the most suppressed table violates a bound."""
    order = masking_values(rows, bounds)
    hidden, steps = set(order), []
    if not satisfies(rows, bounds, hidden):
        return None
    while True:
        found = [candidate(rows, bounds, hidden, value, klass) for value in order if value in hidden]
        steps_left = [step for step in found if step is not None]
        if not steps_left:
            return hidden, steps
        highest = max(step.score for step in steps_left)
        best = next(step for step in steps_left if step.score >= highest - 1e-12)
        hidden.remove((best.column, best.value))
        steps.append(best)
