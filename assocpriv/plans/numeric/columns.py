"""Columns of a table plan: what a value is, and which law releases it.

A number's range [low, high] is cut into equal *cells*, the grid on which it is randomized; its highest value belongs to
the last cell. Cells make up equal *intervals*, for which shares are estimated. Cell edges are floats: the double
nearest to the exact edge, so whoever compares a double with them finds the same cell on every machine.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, ulp
from numbers import Rational
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.numeric.laws import (
    LARGEST_TOTAL,
    MOST_OUTPUTS,
    Clear,
    Law,
    Noise,
    Window,
    law_from_json,
    law_to_json,
)
from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.breaches import format_fraction
from assocpriv.promise.errors import PlanError

MOST_NAME = 200  # characters of a column's name and of a category
_WRITTEN_BOUND = re.compile(r"-?(?:0|[1-9][0-9]{0,29})/[1-9][0-9]{0,29}", re.ASCII)


@dataclass(frozen=True)
class Column(ABC):
    """One column: its name, the law that releases it, and whether a person may withhold it (``optional``)."""

    name: str
    law: Law
    optional: bool

    kind: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        check_text(self.name, "a column's name")
        if type(self.optional) is not bool:
            raise PlanError("plan field optional must be true or false")
        if isinstance(self.law, Window):
            check_integer(self.law.total(optional=self.optional), "the sum of a window's weights", 1, LARGEST_TOTAL)

    @property
    def inputs(self) -> int:
        """Number of cells or values; the input of a missing value is this number."""
        return self.law.inputs

    @property
    def codes(self) -> int:
        """Number of released codes: the law's outputs, and one for a missing value where there may be one."""
        return self.law.outputs + self.optional

    @property
    def missing_code(self) -> int | None:
        """The released code of a missing value; None where none may be missing."""
        return self.law.outputs if self.optional else None

    @property
    def is_protected(self) -> bool:
        """Whether the column has a γ."""
        return self.law.amplification is not None

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Column":
        """Read the column's fields."""


@dataclass(frozen=True)
class NumericColumn(Column):
    """A column of numbers: each lies in a cell between two of its rising edges."""

    @property
    @abstractmethod
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells, float64 (cells + 1,)."""

    @abstractmethod
    def cell_of(self, number: float) -> int | None:
        """Return the cell that a number lies in, None beyond the ends."""

    @abstractmethod
    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the cell of each number, int32 (n,), and how many lie beyond the ends, which get the end's cell.

        NaN gets the number of cells; every other number the cell that :meth:`cell_of` finds.
        """


@dataclass(frozen=True)
class NumberColumn(NumericColumn):
    """Numbers in [low, high], released on a grid of cells, estimated by intervals.

    Raises:
        PlanError: fields that contradict each other.
        TypeError: a bound that is a float, which is no exact number.
    """

    low: Fraction
    high: Fraction
    intervals: int

    kind: ClassVar = "number"
    field_names: ClassVar = ("low", "high", "cells", "intervals")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.inputs, "cells", 1, MOST_OUTPUTS)
        check_integer(self.intervals, "intervals", 1, self.inputs)
        if self.inputs % self.intervals:
            raise PlanError(
                f"plan field cells must be a multiple of intervals: {self.inputs} is none of {self.intervals}"
            )
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, Rational):
                raise TypeError(
                    f"{name} of column {self.name} must be a Fraction or an int, got a {type(bound).__name__}"
                )
            object.__setattr__(self, name, Fraction(bound))  # of ints, steps would be floats
            read_bound(format_fraction(Fraction(bound)), name)
        if not self.low < self.high:
            raise PlanError(f"column {self.name} needs low < high, got {float(self.low):g} and {float(self.high):g}")
        if self.cell_width <= _spacing(self.low, self.high) and not (np.diff(self.edges) > 0).all():
            raise PlanError(f"column {self.name} has a range too narrow for its cells; take fewer cells")

    @cached_property
    def cell_width(self) -> Fraction:
        """Width of a cell, in the column's unit."""
        return (self.high - self.low) / self.inputs

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells, float64 (cells + 1,): each the double nearest to the exact one."""
        return np.array([self.edge(place) for place in range(self.inputs + 1)])

    def edge(self, place: int) -> float:
        """Return one edge: a device needs a few of them, whatever a plan says of their number."""
        low, step, unit = self._lattice
        return (low + place * step) / unit  # true division of integers gives the nearest double

    def cell_of(self, number: float) -> int | None:
        """Return the cell that a number lies in, None beyond the range: as a search among ``edges`` finds it."""
        if not self.edge(0) <= number <= self.edge(self.inputs):
            return None
        low, step, unit = self._lattice
        above, below = number.as_integer_ratio()
        cell = min(max((above * unit - low * below) // (step * below), 0), self.inputs - 1)
        while cell and number < self.edge(cell):
            cell -= 1
        while cell < self.inputs - 1 and number >= self.edge(cell + 1):
            cell += 1
        return cell

    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the cell of each number, int32 (n,), as the base class says."""
        from assocpriv.kernels.randomizing import find_cells

        edges = self.edges
        cells = np.empty(len(numbers), dtype=np.int32)
        return cells, find_cells(np.ascontiguousarray(numbers), edges, self.inputs / (edges[-1] - edges[0]), cells)

    @cached_property
    def _lattice(self) -> tuple[int, int, int]:
        """The exact edges as integers: edge i is (first + i · second) / third."""
        unit = lcm(self.low.denominator, self.cell_width.denominator)
        return int(self.low * unit), int(self.cell_width * unit), unit

    @property
    def interval_edges(self) -> NDArray[np.float64]:
        """Edges of the intervals, float64 (intervals + 1,)."""
        return self.edges[:: self.inputs // self.intervals]

    def known_width(self, confidence: Fraction) -> Fraction:
        """Return the width of the interval that one released value leaves its value in, as a share of the range.

        This is the privacy at a confidence of AS00, section 2.2: for noise the narrowest interval that holds it with
        this probability, for a class that share of its width. It looks at no other column, and at no knowledge of how
        values are spread. Raises PlanError for a column released by a window, whose promise is γ.
        """
        if isinstance(self.law, Noise):
            return self.law.known_width(confidence) / self.inputs
        if isinstance(self.law, Clear):
            return confidence * self.law.width / self.inputs if self.law.width > 1 else Fraction(0)
        raise PlanError(f"column {self.name} promises γ, which is stated at every confidence at once")

    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content."""
        bounds = {"low": format_fraction(self.low), "high": format_fraction(self.high)}
        return bounds | {"cells": self.inputs, "intervals": self.intervals}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "NumberColumn":
        """Read the column's fields."""
        cells = check_integer(fields["cells"], "cells", 1, MOST_OUTPUTS)
        law = law_from_json(cells, fields["release"])
        low, high = (read_bound(fields[name], name) for name in ("low", "high"))
        return cls(fields["name"], law, fields["optional"], low, high, fields["intervals"])


@dataclass(frozen=True)
class CategoryColumn(Column):
    """One of several named values, as it is or by randomized response.

    Raises:
        PlanError: fields that contradict each other.
    """

    values: tuple[str, ...]

    kind: ClassVar = "category"
    field_names: ClassVar = ("values",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in self.values:
            check_text(value, f"a value of column {self.name}")
        if len(set(self.values)) != len(self.values) or len(self.values) != self.inputs:
            raise PlanError(f"column {self.name} needs values that differ")
        law = self.law
        if not (law == Clear(self.inputs) or (isinstance(law, Window) and law.near == 1)):
            raise PlanError(f"column {self.name} has named values: it is released as it is or by a window of width 1")

    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content."""
        return {"values": list(self.values)}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "CategoryColumn":
        """Read the column's fields."""
        values = fields["values"]
        if not isinstance(values, list) or not 1 <= len(values) <= MOST_OUTPUTS:
            raise PlanError(f"plan field values must be a list of 1 to {MOST_OUTPUTS:,} texts")
        law = law_from_json(len(values), fields["release"])
        return cls(fields["name"], law, fields["optional"], tuple(values))


@dataclass(frozen=True)
class LabelColumn(CategoryColumn):
    """The class label of a record: a category that is always asked for."""

    kind: ClassVar = "label"


class TableColumns(Protocol):
    """What a table is read for: the columns of a plan, whatever its kind."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""


COLUMNS: dict[str, type[Column]] = {column.kind: column for column in (NumberColumn, CategoryColumn, LabelColumn)}


def _spacing(low: Fraction, high: Fraction) -> Fraction:
    """Return how far doubles lie apart at most between two numbers; points farther apart round to different ones."""
    return Fraction(ulp(float(max(abs(low), abs(high)))))


def default_intervals(reports: int) -> int:
    """Return how many intervals a column is cut into: one for each 100 points, 10 at least and 100 at most.

    Source: AS00, section 3.2.

    >>> default_intervals(5_000), default_intervals(1_000_000), default_intervals(50)
    (50, 100, 10)
    """
    return min(100, max(10, reports // 100))


def column_to_json(column: Column) -> dict[str, Any]:
    """Return a column as JSON content."""
    shared = {"name": column.name, "kind": column.kind, "optional": column.optional}
    return shared | column.to_fields() | {"release": law_to_json(column.law)}


def column_from_json(content: object) -> Column:
    """Read a column that :func:`column_to_json` wrote; anything else raises PlanError."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise PlanError("a column must be of a kind that is known here; a newer release may read this plan")
    made = COLUMNS[kind]
    return made.from_fields(
        check_fields(content, "a column", {"name", "kind", "optional", "release", *made.field_names})
    )


def check_text(text: object, what: str) -> str:
    """Return a name if it is text of 1 to 200 printable characters, without blanks around it."""
    if not isinstance(text, str) or not 0 < len(text) <= MOST_NAME or text != text.strip() or not text.isprintable():
        raise PlanError(f"{what} must be text of 1 to {MOST_NAME} printable characters, without blanks around it")
    return text


def read_bound(text: object, name: str) -> Fraction:
    """Read a number of a plan, as ``"-5/2"``; PlanError for anything else."""
    number = Fraction(text) if isinstance(text, str) and _WRITTEN_BOUND.fullmatch(text) else None
    if number is None or format_fraction(number) != text:
        raise PlanError(
            f'plan field {name} must be text such as "-5/2": a fraction in lowest terms of at most 30 digits'
        )
    return number
