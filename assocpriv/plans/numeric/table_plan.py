"""The immutable plan of a table: its columns, each with the mechanism of integer weights that releases it.

A report consists of one code for each column, in order, of one or two bytes each, the lowest byte first.
docs/formats/table-plan.md describes every field, docs/formats/reports.md the bytes.

A number's range [low, high] is cut into equal *cells*, the grid on which it is randomized; its highest value belongs to
the last cell. Cells form equal *intervals*, for which shares are estimated. Cell edges are floats, each the double
nearest to the exact edge, so comparing a double with them gives the same cell on every machine.

Whole numbers low … high are points. A cell holds one of them, or ⌈values / cells⌉ neighbours, and its edges lie halfway
between values. So its middle is the mean of its values, and no mean is biased by a part of a cell. Empty cells beyond
the highest value, fewer than those below, make the number of cells a multiple of that of intervals or classes.

A mechanism maps inputs 0 … n − 1 to outputs 0, 1, 2 …

    Clear       y = ⌊x / width⌋                          the value itself (width 1), or its class
    UniformNoise, GaussianNoise
                y = x + k, k with probability w_k / Σ w  additive noise; −K ≤ k − K ≤ K, so that outputs begin at 0
    Window      y in x … x + near − 1 with weight P each, every other output with weight Q < P

A window with many inputs is the square wave on a grid; with width 1 it is randomized response. Its γ is P / Q. The
other mechanisms have no finite γ: some output has probability 0 under one input and not under another.

If a value may be missing, there is one more input, n, and one more output, the last. A window covers it like any value:
this output has weight near·Q for a value; for a missing value it has weight near·P, and every other output Q. Both rows
have the same sum, and the same ratio P / Q. Other mechanisms release a missing value as missing.

The transition matrix A describes the effect of a column's release on a distribution. It follows from the plan's
integers:

    released = A · shares,      A[y, i] = P(released code y | value in interval i)

with values spread evenly over the cells of an interval. If a value may be missing, it is one more input, the last, and
one more code. Reports that omit the column are in neither.

Square wave: Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li, Estimating Numerical Distributions under Local Differential
Privacy, SIGMOD 2020, section 5. Randomized response: Warner 1965. Noise: AS00, section 2.
"""

import heapq
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import lcm, ulp
from numbers import Rational
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import Guarantee, format_fraction
from assocpriv.guarantees.errors import PlanError, WireError, pluralize
from assocpriv.plans.published_plan import (
    MOST_REPORTS_PER_PERSON,
    PublishedPlan,
    check_fields,
    check_integer,
    guarantee_from_json,
)

Ints = NDArray[np.int64]
MOST_OUTPUTS = (1 << 16) - 2  # two bytes hold them, a missing value and an omitted one
MOST_WHOLE = 1 << 53  # beyond it not every whole number is a double
LARGEST_TOTAL = 1 << 32  # a draw then takes one word
MOST_COLUMNS = 1000
MOST_PROTECTED_VALUES = 10_000  # of a person; every reader of a plan multiplies their ratios
MOST_NAME = 200  # characters of a column's name and of a category
_WRITTEN_BOUND = re.compile(r"-?(?:0|[1-9][0-9]{0,29})/[1-9][0-9]{0,29}", re.ASCII)


# ---- mechanisms


class Mechanism(ABC):
    """A randomization mechanism: for each input the weights of all outputs, integers with the same sum."""

    kind: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]]
    inputs: int

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of outputs without that of a missing value."""

    @property
    def amplification(self) -> Fraction | None:
        """γ of the column; None if it is infinite."""
        return None

    @abstractmethod
    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return the weight of every output for an input; with ``optional`` the last input and output are missing."""

    @classmethod
    def from_fields(cls, inputs: int, fields: dict[str, Any]) -> "Mechanism":
        """Read the fields of a mechanism with ``inputs`` inputs."""
        return cls(inputs, **fields)  # type: ignore[call-arg]

    def to_fields(self) -> dict[str, Any]:
        """Return the mechanism's own fields as JSON content."""
        return {name: getattr(self, name) for name in self.field_names}

    def _check_outputs(self) -> None:
        if self.outputs > MOST_OUTPUTS:
            raise PlanError(
                f"a column has {self.outputs:,} released values, but at most {MOST_OUTPUTS:,} are possible; use a "
                "coarser grid (fewer cells) or less noise"
            )

    def _with_missing(self, released: list[int], value: int, optional: bool) -> list[int]:
        """Return weights extended by those of a missing value, which is released as missing."""
        if not optional:
            return released
        total = sum(released)
        return [0] * self.outputs + [total] if value == self.inputs else [*released, 0]


@dataclass(frozen=True)
class Clear(Mechanism):
    """Release without randomness: the value itself, or its class of ``width`` neighbours (value-class membership).

    Source: AS00, section 2.1.

    >>> Clear(6, 2).weights(3)
    [0, 1, 0]
    """

    inputs: int
    width: int = 1

    kind: ClassVar = "clear"
    field_names: ClassVar = ("width",)

    def __post_init__(self) -> None:
        check_integer(self.width, "width", 1, self.inputs)
        if self.inputs % self.width:
            raise PlanError(f"plan field width must divide the column's {self.inputs} cells, got {self.width}")
        self._check_outputs()

    @property
    def outputs(self) -> int:
        """Number of classes."""
        return self.inputs // self.width

    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return a row of zeros and a one."""
        place = min(value, self.inputs - 1) // self.width
        return self._with_missing([int(output == place) for output in range(self.outputs)], value, optional)


class Noise(Mechanism):
    """Additive noise of k − K cells, k = 0 … 2K, each k with its own weight."""

    @property
    @abstractmethod
    def noise_weights(self) -> Sequence[int]:
        """The weights of k = 0 … 2K, symmetric."""

    @property
    def outputs(self) -> int:
        """Number of cells of released values; the first is K cells below the lowest input."""
        return self.inputs + 2 * self.largest

    @property
    def largest(self) -> int:
        """K, the largest noise in cells."""
        return len(self.noise_weights) // 2

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """Cumulative weights of k = 0 … 2K."""
        return tuple(accumulate(self.noise_weights))

    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return the noise's weights, shifted by the input."""
        row = [0] * self.outputs
        first = min(value, self.inputs - 1)
        row[first : first + len(self.noise_weights)] = self.noise_weights
        return self._with_missing(row, value, optional)

    def known_width(self, confidence: Fraction) -> Fraction:
        """Return the width of the narrowest interval that holds the noise with a probability, in cells, exactly.

        The noise counts as spread evenly over its cells, so a part of a cell counts in proportion. This is the privacy
        at a confidence of AS00, section 2.2.

        >>> UniformNoise(10, 2).known_width(Fraction(1, 2))
        Fraction(5, 2)
        """
        wanted, width = confidence * self.cumulative[-1], Fraction(0)
        for weight in sorted(self.noise_weights, reverse=True):
            if weight >= wanted:
                return width + wanted / weight
            wanted -= weight
            width += 1
        raise AssertionError("a confidence is below 1")


@dataclass(frozen=True)
class UniformNoise(Noise):
    """Noise of −reach … reach cells, all equally likely.

    >>> UniformNoise(2, 1).weights(1)
    [0, 1, 1, 1]
    """

    inputs: int
    reach: int

    kind: ClassVar = "uniform-noise"
    field_names: ClassVar = ("reach",)

    def __post_init__(self) -> None:
        check_integer(self.reach, "reach", 1, MOST_OUTPUTS)
        self._check_outputs()

    @cached_property
    def noise_weights(self) -> Sequence[int]:
        """Ones."""
        return (1,) * (2 * self.reach + 1)


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Noise with weights decreasing from 0 to ±reach; ``half`` holds those of 0, 1 … reach cells, with a total ≤ 2^32.

    >>> GaussianNoise(1, (2, 1)).weights(0)
    [1, 2, 1]
    """

    inputs: int
    half: tuple[int, ...]

    kind: ClassVar = "gaussian-noise"
    field_names: ClassVar = ("half",)

    def __post_init__(self) -> None:
        if len(self.half) < 2 or len(self.half) > MOST_OUTPUTS:
            raise PlanError("plan field half must hold the weights of noise of 0, 1 … cells, at least two")
        for weight in self.half:
            check_integer(weight, "half", 1, LARGEST_TOTAL)
        if any(later > earlier for earlier, later in zip(self.half, self.half[1:], strict=False)):
            raise PlanError("plan field half must not increase: larger noise is not likelier")
        check_integer(self.half[0] + 2 * sum(self.half[1:]), "the sum of half", 1, LARGEST_TOTAL)
        self._check_outputs()

    @classmethod
    def from_fields(cls, inputs: int, fields: dict[str, Any]) -> "GaussianNoise":
        """Read the fields; ``half`` is a list in JSON."""
        if not isinstance(fields["half"], list):
            raise PlanError("plan field half must be a list of integers")
        return cls(inputs, tuple(fields["half"]))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as JSON content."""
        return {"half": list(self.half)}

    @cached_property
    def noise_weights(self) -> Sequence[int]:
        """The half, mirrored."""
        return (*self.half[:0:-1], *self.half)


@dataclass(frozen=True)
class Window(Mechanism):
    """Outputs near the input have weight ``high`` each, all others ``low``; γ = high / low.

    Outputs are 0 … inputs + near − 2. ``near`` is odd, so that the window is centred on the input.

    >>> Window(3, 1, 5, 2).weights(1), Window(2, 3, 5, 1).weights(0)
    ([2, 5, 2], [5, 5, 5, 1])
    >>> Window(2, 3, 5, 1).weights(0, optional=True), Window(2, 3, 5, 1).weights(2, optional=True)
    ([5, 5, 5, 1, 3], [1, 1, 1, 1, 15])
    """

    inputs: int
    near: int
    high: int
    low: int

    kind: ClassVar = "window"
    field_names: ClassVar = ("near", "high", "low")

    def __post_init__(self) -> None:
        check_integer(self.inputs, "the number of cells or values of a column released by a window", 2, MOST_OUTPUTS)
        check_integer(self.near, "near", 1, MOST_OUTPUTS)
        check_integer(self.low, "low", 1, LARGEST_TOTAL)
        check_integer(self.high, "high", self.low + 1, LARGEST_TOTAL)
        if self.near % 2 == 0:
            raise PlanError(f"plan field near must be odd, got {self.near}")
        check_integer(self.total(optional=False), "the sum of a window's weights", 1, LARGEST_TOTAL)
        self._check_outputs()

    @property
    def outputs(self) -> int:
        """Number of outputs without that of a missing value."""
        return self.inputs + self.near - 1

    def total(self, *, optional: bool) -> int:
        """Return the sum of an input's weights."""
        return self.near * self.high + (self.inputs - 1 + (self.near if optional else 0)) * self.low

    @property
    def amplification(self) -> Fraction:
        """γ = high / low, also for missing values."""
        return Fraction(self.high, self.low)

    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return the input's weights."""
        row = [self.low] * self.outputs
        if value == self.inputs:
            return [*row, self.near * self.high]
        row[value : value + self.near] = [self.high] * self.near
        return [*row, self.near * self.low] if optional else row


MECHANISMS: dict[str, type[Mechanism]] = {each.kind: each for each in (Clear, UniformNoise, GaussianNoise, Window)}


def _mechanism_from_json(inputs: int, content: object) -> Mechanism:
    """Read a mechanism that :func:`_mechanism_to_json` wrote; raise PlanError for anything else."""
    kind = content.get("mechanism") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in MECHANISMS:
        raise PlanError("a column's release has an unknown mechanism; a newer release may read this plan")
    fields = check_fields(content, "a column's release", {"mechanism", *MECHANISMS[kind].field_names})
    return MECHANISMS[kind].from_fields(inputs, {name: fields[name] for name in MECHANISMS[kind].field_names})


def _mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as JSON content."""
    return {"mechanism": mechanism.kind, **mechanism.to_fields()}


# ---- columns


@dataclass(frozen=True)
class Column(ABC):
    """One column: its name, the mechanism that releases it, and whether a value may be missing (``optional``)."""

    name: str
    mechanism: Mechanism
    optional: bool

    kind: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        check_text(self.name, "a column's name")
        if type(self.optional) is not bool:
            raise PlanError("plan field optional must be true or false")
        if isinstance(self.mechanism, Window):
            total = self.mechanism.total(optional=self.optional)
            check_integer(total, "the sum of a window's weights", 1, LARGEST_TOTAL)

    @property
    def inputs(self) -> int:
        """Number of cells or values, which is also the input of a missing value."""
        return self.mechanism.inputs

    @property
    def codes(self) -> int:
        """Number of released codes: the mechanism's outputs, and one for a missing value if it may be missing."""
        return self.mechanism.outputs + self.optional

    @property
    def missing_code(self) -> int | None:
        """The released code of a missing value; None if no value may be missing."""
        return self.mechanism.outputs if self.optional else None

    @property
    def is_protected(self) -> bool:
        """Whether the column has a finite γ."""
        return self.mechanism.amplification is not None

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Column":
        """Read the column's fields."""


@dataclass(frozen=True)
class NumericColumn(Column):
    """A column of numbers: each lies in a cell between two of the increasing edges."""

    grain: ClassVar[int] = 0  # distance of neighbouring values: 1 for whole numbers

    @property
    @abstractmethod
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells, float64 (cells + 1,)."""

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest number of the column's range, in its unit."""
        return float(self.edges[0]), float(self.edges[-1])

    @abstractmethod
    def cell_of(self, number: float) -> int | None:
        """Return the cell of a number; None beyond the ends, and for fractions in a column of whole numbers."""

    @abstractmethod
    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the cell of each number, int32 (n,), and how many lie beyond the ends and get the end's cell.

        NaN gets the number of cells; every other number gets the cell from :meth:`cell_of`.
        """


@dataclass(frozen=True)
class NumberColumn(NumericColumn):
    """Numbers in [low, high], released on a grid of cells, and estimated by intervals.

    :func:`assocpriv.numeric.plan_table` makes such columns from a schema.

    Attributes:
        name: name of the column.
        mechanism: how a cell is released.
        optional: whether a value may be missing.
        low, high: ends of the range, in the column's unit.
        intervals: number of intervals for which shares are estimated; it divides the number of cells.

    Raises:
        PlanError: fields contradict each other.
        TypeError: a bound is a float, which is not exact.

    Source: Li and others, SIGMOD 2020, section 5, for the square wave; AS00, section 2, for noise.

    >>> import assocpriv as ap
    >>> age = {"kind": "number", "low": 0, "high": 100, "release": "square-wave"}
    >>> column = ap.numeric.plan_table({"columns": {"age": age}}).columns[0]
    >>> column.intervals, float(column.cell_width), column.cell_of(34.05)
    (100, 0.1, 340)
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
            raise PlanError(f"plan field cells must be a multiple of intervals, got {self.inputs} and {self.intervals}")
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, Rational):
                raise TypeError(
                    f"{name} of column {self.name} must be a Fraction or an int, got a {type(bound).__name__}"
                )
            object.__setattr__(self, name, Fraction(bound))  # with ints, steps would be floats
            read_bound(format_fraction(Fraction(bound)), name)
        if not self.low < self.high:
            raise PlanError(f"column {self.name} needs low < high, got {float(self.low):g} and {float(self.high):g}")
        spacing = ulp(float(max(abs(self.low), abs(self.high))))  # the largest distance of neighbouring doubles
        if self.cell_width <= spacing and not (np.diff(self.edges) > 0).all():
            raise PlanError(f"column {self.name} has a range too narrow for its cells; use fewer cells")

    @cached_property
    def cell_width(self) -> Fraction:
        """Width of a cell, in the column's unit."""
        return (self.high - self.low) / self.inputs

    @property
    def origin(self) -> Fraction:
        """The lowest edge, in the column's unit."""
        return self.low

    @property
    def used(self) -> int:
        """Number of cells that hold values; they come first."""
        return self.inputs

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest number of the column's range, in its unit."""
        return float(self.low), float(self.high)

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells, float64 (cells + 1,), in the column's unit: each the double nearest to the exact one."""
        return np.array([self.edge(place) for place in range(self.inputs + 1)])

    def edge(self, place: int) -> float:
        """Return one edge; a device needs only a few, however many a plan has.

        Args:
            place: number of the edge, 0..cells.

        Returns:
            The edge in the column's unit, the double nearest to the exact one.
        """
        low, step, unit = self._lattice
        return (low + place * step) / unit  # true division of integers gives the nearest double

    def cell_of(self, number: float) -> int | None:
        """Return the cell of a number; equal to the result of a search among ``edges``.

        Args:
            number: a number in the column's unit.

        Returns:
            The cell, from 0; None beyond the range.
        """
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
        """Return the cell of each number, and how many lie beyond the ends and get the end's cell.

        Args:
            numbers: numbers in the column's unit, float64 (n,); NaN is a missing value.

        Returns:
            Cells, int32 (n,), the number of cells for NaN; and the number of values beyond the ends.
        """
        edges = self.edges
        cells = np.searchsorted(edges[1:-1], numbers, side="right").astype(np.int32)
        cells[np.isnan(numbers)] = self.inputs
        return cells, int(((numbers < edges[0]) | (numbers > edges[-1])).sum())

    @cached_property
    def _lattice(self) -> tuple[int, int, int]:
        """The exact edges as integers: edge i is (first + i · second) / third."""
        unit = lcm(self.origin.denominator, self.cell_width.denominator)
        return int(self.origin * unit), int(self.cell_width * unit), unit

    @property
    def interval_edges(self) -> NDArray[np.float64]:
        """Edges of the intervals, float64 (intervals + 1,)."""
        return self.edges[:: self.inputs // self.intervals]

    def known_width(self, confidence: Fraction) -> Fraction:
        """Return the width of the interval that contains a value given its released one, as a share of the range.

        This is the privacy at a confidence of AS00, section 2.2: for noise the narrowest interval that holds it with
        this probability, for a class that share of its width. It ignores other columns and the distribution of values.

        Args:
            confidence: probability that the interval contains the value, 0..1.

        Returns:
            The width as a share of the range; 0 for cells released one by one as they are.

        Raises:
            PlanError: the column is released by a window, whose guarantee is γ.
        """
        if isinstance(self.mechanism, Noise):
            return self.mechanism.known_width(confidence) / self.inputs
        if isinstance(self.mechanism, Clear):
            return confidence * self.mechanism.width / self.inputs if self.mechanism.width > 1 else Fraction(0)
        raise PlanError(f"column {self.name} has the guarantee γ, which does not depend on a confidence")

    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content.

        Returns:
            The fields ``low`` and ``high`` as exact text, ``cells`` and ``intervals`` as whole numbers.
        """
        bounds = {"low": format_fraction(self.low), "high": format_fraction(self.high)}
        return bounds | {"cells": self.inputs, "intervals": self.intervals}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "NumberColumn":
        """Read the column's fields.

        Args:
            fields: the column's fields with ``name``, ``optional`` and ``release``, as JSON content.

        Returns:
            The column, checked.

        Raises:
            PlanError: a field of another form, or fields that contradict each other.
        """
        cells = check_integer(fields["cells"], "cells", 1, MOST_OUTPUTS)
        mechanism = _mechanism_from_json(cells, fields["release"])
        low, high = (read_bound(fields[name], name) for name in ("low", "high"))
        return cls(fields["name"], mechanism, fields["optional"], low, high, fields["intervals"])


@dataclass(frozen=True)
class WholeColumn(NumberColumn):
    """Whole numbers low … high: ratings, ages, counts.

    Cells are centred on the values.

    Attributes:
        name: name of the column.
        mechanism: how a cell is released.
        optional: whether a value may be missing.
        low, high: the smallest and the largest value, whole numbers from −2^53 to 2^53.
        intervals: number of intervals for which shares are estimated; it divides the number of cells.

    Raises:
        PlanError: fields contradict each other.
        TypeError: a bound is a float, which is not exact.

    >>> import assocpriv as ap
    >>> stars = {"kind": "number", "whole": True, "low": 1, "high": 5, "release": "as-is"}
    >>> column = ap.numeric.plan_table({"columns": {"stars": stars}}).columns[0]
    >>> column.edges.tolist(), column.cell_of(4.0)
    ([0.5, 1.5, 2.5, 3.5, 4.5, 5.5], 3)
    """

    kind: ClassVar = "whole-number"
    grain: ClassVar = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.low.denominator, self.high.denominator) != (1, 1) or max(-self.low, self.high) > MOST_WHOLE:
            raise PlanError(f"column {self.name} needs whole numbers from -2^53 to 2^53 as low and high")
        if self.inputs >= 2 * self.used:
            raise PlanError(f"column {self.name} has {self.inputs:,} cells for {self.values:,} values; use fewer cells")

    @property
    def values(self) -> int:
        """Number of values."""
        return int(self.high - self.low) + 1

    @cached_property
    def cell_width(self) -> Fraction:
        """Number of values in a cell, except for the last one."""
        return Fraction(-(-self.values // self.inputs))

    @property
    def origin(self) -> Fraction:
        """The lowest edge, 1/2 below the smallest value."""
        return self.low - Fraction(1, 2)

    @property
    def used(self) -> int:
        """Number of cells that hold values; they come first."""
        return -(-self.values // int(self.cell_width))

    @property
    def interval_edges(self) -> NDArray[np.float64]:
        """Edges of the intervals, float64 (intervals + 1,); the last is 1/2 above the largest value."""
        return np.minimum(super().interval_edges, float(self.high) + 0.5)

    def cell_of(self, number: float) -> int | None:
        """Return the cell of a whole number.

        Args:
            number: a number in the column's unit.

        Returns:
            The cell, from 0; None beyond the range, and for a fraction.
        """
        if not self.low <= number <= self.high or not float(number).is_integer():
            return None
        return int((int(number) - self.low) // self.cell_width)

    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the cell of each number, and how many lie beyond the ends and get the end's cell.

        Args:
            numbers: numbers in the column's unit, float64 (n,); fractions are rounded down, NaN is a missing value.

        Returns:
            Cells, int32 (n,), the number of cells for NaN; and the number of values beyond the ends.
        """
        low, high = self.ends
        known = ~np.isnan(numbers)
        cells = np.full(len(numbers), self.inputs, dtype=np.int32)
        cells[known] = (np.clip(numbers[known], low, high).astype(np.int64) - int(self.low)) // int(self.cell_width)
        return cells, int(np.count_nonzero((numbers < low) | (numbers > high)))


@dataclass(frozen=True)
class CategoryColumn(Column):
    """Named values, released unrandomized or by randomized response.

    :func:`assocpriv.numeric.plan_table` and :func:`assocpriv.guided.category` make such columns.

    Attributes:
        name: name of the column.
        mechanism: how a value is released.
        optional: whether a value may be missing.
        values: the values' names, in the order of their codes.

    Raises:
        PlanError: fields contradict each other.

    Source: Warner 1965, for randomized response.

    >>> import assocpriv as ap
    >>> smokes = {"kind": "category", "values": ["no", "yes"], "release": "response"}
    >>> column = ap.numeric.plan_table({"columns": {"smokes": smokes}}).columns[0]
    >>> column.values, column.is_protected, float(column.mechanism.amplification) < 19
    (('no', 'yes'), True, True)
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
        mechanism = self.mechanism
        if not (mechanism == Clear(self.inputs) or (isinstance(mechanism, Window) and mechanism.near == 1)):
            raise PlanError(f"column {self.name} has named values: its mechanism must be clear or a window of width 1")

    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content.

        Returns:
            The field ``values``, a list of names.
        """
        return {"values": list(self.values)}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "CategoryColumn":
        """Read the column's fields.

        Args:
            fields: the column's fields with ``name``, ``optional`` and ``release``, as JSON content.

        Returns:
            The column, checked.

        Raises:
            PlanError: a field of another form, or fields that contradict each other.
        """
        values = fields["values"]
        if not isinstance(values, list) or not 1 <= len(values) <= MOST_OUTPUTS:
            raise PlanError(f"plan field values must be a list of 1 to {MOST_OUTPUTS:,} texts")
        mechanism = _mechanism_from_json(len(values), fields["release"])
        return cls(fields["name"], mechanism, fields["optional"], tuple(values))


@dataclass(frozen=True)
class LabelColumn(CategoryColumn):
    """The class label of a record: a category that every report covers.

    Attributes:
        name: name of the column.
        mechanism: how a class is released.
        optional: whether a class may be missing.
        values: the names of the classes, in the order of their codes.

    Raises:
        PlanError: fields contradict each other.

    >>> import assocpriv as ap
    >>> ill = {"kind": "label", "values": ["no", "yes"], "release": "as-is"}
    >>> column = ap.numeric.plan_table({"columns": {"ill": ill}}).columns[0]
    >>> isinstance(column, ap.numeric.LabelColumn), column.values
    (True, ('no', 'yes'))
    """

    kind: ClassVar = "label"


class TableColumns(Protocol):
    """The columns to read from a table, for a plan of any type."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""


COLUMNS: dict[str, type[Column]] = {one.kind: one for one in (NumberColumn, WholeColumn, CategoryColumn, LabelColumn)}


def column_to_json(column: Column) -> dict[str, Any]:
    """Return a column as JSON content."""
    shared = {"name": column.name, "kind": column.kind, "optional": column.optional}
    return shared | column.to_fields() | {"release": _mechanism_to_json(column.mechanism)}


def column_from_json(content: object) -> Column:
    """Read a column that :func:`column_to_json` wrote; raise PlanError for anything else."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise PlanError("a column has an unknown kind; a newer release may read this plan")
    names = {"name", "kind", "optional", "release", *COLUMNS[kind].field_names}
    return COLUMNS[kind].from_fields(check_fields(content, "a column", names))


def default_intervals(reports: int) -> int:
    """Return the default number of intervals of a column: one per 100 reports, at least 10 and at most 100.

    Source: AS00, section 3.2.

    >>> default_intervals(5_000), default_intervals(1_000_000), default_intervals(50)
    (50, 100, 10)
    """
    return min(100, max(10, reports // 100))


def check_text(text: object, what: str) -> str:
    """Return a name; raise PlanError unless it is text of 1 to 200 printable characters without blanks around it."""
    if not isinstance(text, str) or not 0 < len(text) <= MOST_NAME or text != text.strip() or not text.isprintable():
        raise PlanError(f"{what} must be text of 1 to {MOST_NAME} printable characters, without blanks around it")
    return text


def read_bound(text: object, name: str) -> Fraction:
    """Read a number of a plan, such as ``"-5/2"``; raise PlanError for anything else."""
    number = Fraction(text) if isinstance(text, str) and _WRITTEN_BOUND.fullmatch(text) else None
    if number is None or format_fraction(number) != text:
        raise PlanError(
            f'plan field {name} must be text such as "-5/2": a fraction in lowest terms of at most 30 digits'
        )
    return number


# ---- transition matrices


def transition(column: Column) -> NDArray[np.float64]:
    """Return P(code | interval or value), float64 (codes, intervals + 1 if optional); its columns add up to 1."""
    mechanism = column.mechanism
    n_groups, used = column.inputs, column.inputs
    if isinstance(column, NumberColumn):
        n_groups, used = column.intervals, column.used
    group = column.inputs // n_groups
    starts = group * np.arange(n_groups)
    ends = np.maximum(np.minimum(starts + group, used), starts + 1)
    full = np.zeros((column.codes, n_groups + column.optional))
    outputs, values = mechanism.outputs, full[: mechanism.outputs, :n_groups]
    if isinstance(mechanism, Clear):
        values[:] = _overlap(outputs, mechanism.width, starts, ends) / (ends - starts)
    elif isinstance(mechanism, Noise):
        values[:] = _spread([0, *mechanism.cumulative], starts, ends, outputs) / mechanism.cumulative[-1]
    elif isinstance(mechanism, Window):
        near, high, low = mechanism.near, mechanism.high, mechanism.low
        values[:] = (high - low) * _spread(range(near + 1), starts, ends, outputs) + low
        if column.optional:
            full[-1, :n_groups] = near * low
            full[:outputs, -1], full[-1, -1] = low, near * high
        return full / mechanism.total(optional=column.optional)
    if column.optional:
        full[-1, -1] = 1
    return full


def _spread(cumulative: Sequence[int], starts: Ints, ends: Ints, n_outputs: int) -> NDArray[np.float64]:
    """Return the mean of the weight w[y − x] over each group's inputs start ≤ x < end, (outputs, groups).

    ``cumulative`` holds 0, w[0], w[0] + w[1] …; a group's sum is the difference of two entries.
    """
    sums = np.asarray(cumulative, dtype=np.float64)
    outputs = np.arange(n_outputs)[:, None] + 1
    above, below = (sums[np.clip(outputs - side, 0, len(sums) - 1)] for side in (starts, ends))
    return np.asarray((above - below) / (ends - starts))


def _overlap(n_classes: int, width: int, starts: Ints, ends: Ints) -> NDArray[np.float64]:
    """Return how many cells each class has in common with each group, start ≤ x < end, (classes, groups)."""
    classes = width * np.arange(n_classes)[:, None]
    shared = np.minimum(classes + width, ends) - np.maximum(classes, starts)
    return np.asarray(np.maximum(shared, 0).astype(np.float64))


# ---- the plan


@dataclass(frozen=True)
class TablePlan(PublishedPlan):
    """The plan of a collection of table records.

    Columns with a finite γ are *protected*. If ``columns_per_report`` is less than the number of protected columns
    other than labels, a device draws that many of them uniformly, independently of the record, and releases the others
    as *omitted*. A report's γ is the product of those of its labels and of the largest ``columns_per_report`` others.
    It covers only protected columns, including missing values.

    Without a protected column there is neither ``guarantee`` nor γ: additive noise guarantees an average only.

    Attributes:
        columns: the columns, each with the mechanism that releases it.
        columns_per_report: number of protected columns in a report, without labels.
        guarantee: of all protected columns of all reports of a person; None without a protected column.
        reports_per_person: R, 1..1000.

    Raises:
        PlanError: fields contradict each other.
        PrivacyLimitError: the amplification of all reports of a person is not strictly below the guarantee's limit.

    Source: EGS03, section 4, for γ.

    >>> import assocpriv as ap
    >>> smokes = {"kind": "category", "values": ["no", "yes"], "release": "response"}
    >>> plan = ap.numeric.plan_table({"columns": {"smokes": smokes}}, ap.Guarantee("5%", "50%"))
    >>> plan.names, plan.report_bytes, plan.amplification < plan.guarantee.amplification_limit
    (('smokes',), 1, True)
    """

    columns: tuple[Column, ...]
    columns_per_report: int
    guarantee: Guarantee | None = None
    reports_per_person: int = 1

    kind: ClassVar = "table"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("columns", "columns_per_report", "guarantee"))

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MOST_COLUMNS:
            raise PlanError(f"a table plan needs 1 to {MOST_COLUMNS:,} columns, got {len(self.columns):,}")
        if len({column.name for column in self.columns}) != len(self.columns):
            raise PlanError("two columns have the same name; names must differ")
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        most = len(self.protected_positions)
        check_integer(self.columns_per_report, "columns_per_report", min(1, most), most)
        labels = sum(column.is_protected for column in self.columns) - most
        check_protected_values(self.columns_per_report + labels, self.reports_per_person)
        if (self.guarantee is None) != (self.amplification is None):
            raise PlanError("a table plan states a guarantee if and only if a column has a finite γ")
        self._check_guarantee()

    @cached_property
    def protected_positions(self) -> tuple[int, ...]:
        """Positions of the protected columns other than labels; a report covers some or all of them."""
        free = [column.is_protected and not isinstance(column, LabelColumn) for column in self.columns]
        return tuple(np.flatnonzero(free).tolist())

    @property
    def contents(self) -> list[tuple[Fraction, str]]:
        """Descriptions of what all reports are about: a sample of the protected columns, and all other columns."""
        drawn = [self.columns[place].name for place in self.protected_positions] if self.is_sampled else []
        rest = [column.name for column in self.columns if column.name not in drawn]
        sampled = [f"{self.columns_per_report} of these, drawn by the device: {shortened(drawn)}"] if drawn else []
        return [(Fraction(1), each) for each in [*sampled, *([shortened(rest)] if rest else [])]]

    @property
    def is_sampled(self) -> bool:
        """Whether a report covers only a sample of the protected columns."""
        return self.columns_per_report < len(self.protected_positions)

    @cached_property
    def amplification(self) -> Fraction | None:
        """γ of one report's protected columns, exactly; None if there are none."""
        found = [(isinstance(each, LabelColumn), each.mechanism.amplification) for each in self.columns]
        labels = [gamma for is_label, gamma in found if is_label and gamma is not None]
        others = [gamma for is_label, gamma in found if not is_label and gamma is not None]
        factors = labels + heapq.nlargest(self.columns_per_report, others)
        return math.prod(factors, start=Fraction(1)) if factors else None

    @property
    def uncovered(self) -> str:
        """The columns that γ does not cover; empty if it covers all, or if there is no γ."""
        if self.amplification is None:
            return ""
        names = [column.name for column in self.columns if not column.is_protected]
        return f"column{'s' * (len(names) > 1)} {', '.join(names)}" if names else ""

    def omitted_code(self, place: int) -> int | None:
        """Return the released code that marks a column as omitted from a report.

        Args:
            place: position of the column.

        Returns:
            The code; None if every report covers the column.
        """
        return self.columns[place].codes if self.is_sampled and place in self.protected_positions else None

    @cached_property
    def code_counts(self) -> tuple[int, ...]:
        """Number of codes of each column, including that of an omitted value."""
        return tuple(column.codes + (self.omitted_code(place) is not None) for place, column in enumerate(self.columns))

    @cached_property
    def record_type(self) -> np.dtype[Any]:
        """A report as a numpy record type: fields ``c0``, ``c1``, … of one or two bytes, little-endian."""
        return np.dtype([(f"c{place}", "<u1" if n <= 256 else "<u2") for place, n in enumerate(self.code_counts)])

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return self.record_type.itemsize

    def codes(self, packed: NDArray[np.uint8], place: int) -> NDArray[np.unsignedinteger[Any]]:
        """Return a view of one column's released codes in packed reports.

        Args:
            packed: reports, uint8 (n, report_bytes).
            place: position of the column.

        Returns:
            Codes, unsigned integers (n,).
        """
        view: NDArray[np.unsignedinteger[Any]] = np.ascontiguousarray(packed).view(self.record_type)[f"c{place}"][:, 0]
        return view

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Check that clients of the plan can have sent the reports: every code is one of its column.

        Args:
            packed: reports, uint8 (n, report_bytes).
            source: text for the error message before the report's number, as a file's name.
            first: number of the first report for the error message.

        Raises:
            WireError: no client can have sent a report; the message names ``source`` and the first such report of a
                column.
        """
        for place, n_codes in enumerate(self.code_counts):
            wrong = np.flatnonzero(self.codes(packed, place) >= n_codes)
            if len(wrong):
                where = f"{source}report {first + int(wrong[0])}"
                raise WireError(f"{where} has a code in column {self.columns[place].name} that no client sends")

    def place_of(self, name: str) -> int:
        """Return the position of a column.

        Args:
            name: name of the column.

        Returns:
            The position, from 0.

        Raises:
            PlanError: no column has this name.
        """
        if name not in self.names:
            raise PlanError(f"the plan has no column {name[:80]!r}; its columns are {shortened(self.names)}")
        return self.names.index(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's own fields as JSON content.

        Returns:
            The fields of ``field_names``.
        """
        return {
            "columns": [column_to_json(column) for column in self.columns],
            "columns_per_report": self.columns_per_report,
            "guarantee": self._guarantee_to_json(),
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "TablePlan":
        """Read what :meth:`to_fields` wrote.

        Args:
            fields: the plan's fields with those of the envelope, as JSON content.

        Returns:
            The plan, checked.

        Raises:
            PlanError: a field of another form, or fields that contradict each other.
            PrivacyLimitError: the amplification is not below the guarantee's limit.
        """
        if not isinstance(fields["columns"], list):
            raise PlanError("plan field columns must be a list")
        guarantee = None if fields["guarantee"] is None else guarantee_from_json(fields["guarantee"])
        columns = tuple(map(column_from_json, fields["columns"]))
        return cls(columns, fields["columns_per_report"], guarantee, fields["reports_per_person"])

    def __repr__(self) -> str:
        columns = pluralize(len(self.columns), "column")
        return f"TablePlan({self.plan_id[:12]}, {columns}, {self._bound_text()}, {self.report_bytes}-byte reports)"


def check_protected_values(columns: int, reports_per_person: int) -> None:
    """Raise PlanError for too many protected values of a person; ``columns`` is the number in one report."""
    if columns * reports_per_person > MOST_PROTECTED_VALUES:
        raise PlanError(
            f"a person would report {columns * reports_per_person:,} protected values, {columns:,} in each of "
            f"{reports_per_person:,} reports, but at most {MOST_PROTECTED_VALUES:,} are possible; lower "
            "columns_per_report"
        )


def shortened(names: Sequence[str], most: int = 8) -> str:
    """Return a list of names as text, shortened if there are many.

    >>> shortened(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
