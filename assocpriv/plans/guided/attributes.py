"""Attributes of a plan of guided perturbation: categories, and numbers cut into intervals; one bit a value of each.

A number's value is the interval that it lies in: 0 below the first cut point, and a cut point belongs to the interval
above it. Cut points are exact fractions; a double is compared with the double nearest to each, so every machine finds
the same interval.
"""

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.numeric.columns import CategoryColumn, Column, LabelColumn, NumericColumn, read_bound
from assocpriv.plans.numeric.laws import Clear
from assocpriv.plans.published import check_fields
from assocpriv.promise.breaches import format_fraction
from assocpriv.promise.errors import PlanError

MOST_VALUES = 1000  # of an attribute
MOST_LABELS = 1 << 16
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class CutColumn(NumericColumn):
    """Numbers by the interval between rising cut points that they lie in.

    Raises:
        PlanError: cut points that do not rise, or are nearer to each other than doubles are.
    """

    cuts: tuple[Fraction, ...]

    kind: ClassVar = "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        for cut in self.cuts:
            read_bound(format_fraction(cut), "cuts")
        if not all(low < high for low, high in pairwise(self.edges.tolist())):
            raise PlanError(f"attribute {self.name} needs finite cut points that rise, farther apart than doubles are")

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the intervals, float64 (values + 1,); the outer ones are the largest doubles."""
        return np.array([-_LARGEST, *map(float, self.cuts), _LARGEST])

    def cell_of(self, number: float) -> int | None:
        """Return the interval that a number lies in; None for one that is not finite."""
        if not abs(number) <= _LARGEST:
            return None
        return bisect_right(self.edges.tolist(), number, 1, len(self.cuts) + 1) - 1

    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the interval of each number, int32 (n,), as the base class says."""
        cells = np.searchsorted(self.edges[1:-1], numbers, side="right").astype(np.int32)
        cells[np.isnan(numbers)] = self.inputs
        return cells, int(np.isinf(numbers).sum())

    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content."""
        return {"cuts": [format_fraction(cut) for cut in self.cuts]}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "CutColumn":
        """Read the column's fields."""
        texts = _listed(fields["cuts"], "cuts", 1, MOST_VALUES - 1)
        return _cut(fields["name"], tuple(read_bound(text, "cuts") for text in texts))


def number(name: str, cuts: Sequence[float | Fraction]) -> CutColumn:
    """Return an attribute of numbers, cut at rising points; a float stands for its shortest decimal form.

    >>> number("age", [30, 45.5, 60]).cell_of(30.0)
    1
    """
    return _cut(name, tuple(Fraction(str(cut)) for cut in cuts))


def _cut(name: str, cuts: tuple[Fraction, ...]) -> CutColumn:
    return CutColumn(name, Clear(len(cuts) + 1), True, cuts)


def category(name: str, values: Sequence[str]) -> CategoryColumn:
    """Return an attribute of named values."""
    return CategoryColumn(name, Clear(max(1, len(values))), True, tuple(values))


def class_label(name: str, labels: Sequence[str]) -> LabelColumn:
    """Return the class column, which every report shows in clear."""
    return LabelColumn(name, Clear(max(1, len(labels))), False, tuple(labels))


def attribute_to_json(column: Column) -> dict[str, Any]:
    """Return an attribute as JSON content."""
    return {"name": column.name, "kind": column.kind, **column.to_fields()}


def attribute_from_json(content: object) -> Column:
    """Read what :func:`attribute_to_json` wrote; anything else raises PlanError."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == CutColumn.kind:
        return CutColumn.from_fields(check_fields(content, "an attribute", {"name", "kind", "cuts"}))
    if kind != CategoryColumn.kind:
        raise PlanError("an attribute must be a category or a number; a newer release may read this plan")
    fields = check_fields(content, "an attribute", {"name", "kind", "values"})
    return category(fields["name"], tuple(_listed(fields["values"], "values", 2, MOST_VALUES)))


def label_from_json(content: object) -> LabelColumn:
    """Read the class column, ``{"name": …, "values": […]}``; anything else raises PlanError."""
    fields = check_fields(content, "the label", {"name", "values"})
    return class_label(fields["name"], tuple(_listed(fields["values"], "values", 2, MOST_LABELS)))


def _listed(content: object, name: str, least: int, most: int) -> list[Any]:
    if not isinstance(content, list) or not least <= len(content) <= most:
        raise PlanError(f"plan field {name} must be a list of {least} to {most:,}")
    return content
