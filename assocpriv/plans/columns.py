"""Columns of a table plan: what a value is, by which law of integer weights it is released.

A number's range [low, high] is cut into equal *cells*, the grid on which it is randomized; its highest value belongs to
the last cell. Cells make up equal *intervals*, for which shares are estimated. Cell edges are floats: the double
nearest to the exact edge, so whoever compares a double with them finds the same cell on every machine.

Whole numbers low … high are points. A cell holds one of them, or as many neighbours as ⌈values / cells⌉, and its edges
lie halfway between values; so its middle is the mean of its values, and no mean is off by a part of a cell. Cells
beyond the highest value, fewer than those below, make their number a multiple of that of intervals or classes.

A law leads from inputs 0 … n − 1 to outputs 0, 1, 2 …

    Clear       y = ⌊x / width⌋                          as it is (width 1), or the class that it is a member of
    UniformNoise, GaussianNoise
                y = x + k, k with probability w_k / Σ w  additive noise; −K ≤ k − K ≤ K, so that outputs begin at 0
    Window      y in x … x + near − 1 with weight P each, every other output with weight Q < P

A window of many inputs is the square wave on a grid; of width 1 it is randomized response. Its γ is P / Q. The other
laws have none: some output has probability 0 under one input and not under another.

Where a value may be missing, that is one more input, n, and one more output, the last. Under a window it is covered as
any value is: this output weighs near·Q for a value; for a missing one near·P, and every other output Q. Both rows have
the same sum, and the same ratio P / Q. Under the other laws a missing value is released as missing.

What a column's release does to a distribution is the transition matrix A, from the plan's integers,

    released = A · shares,      A[y, i] = P(released code y | value in interval i)

with values spread evenly over the cells of an interval. Where a value may be missing, it is one more input, the last,
and one more code. Who was not asked is in neither.

Square wave: Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li, Estimating Numerical Distributions under Local Differential
Privacy, SIGMOD 2020, section 5. Randomized response: Warner 1965. Noise: AS00, section 2.
"""

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

from assocpriv.kernels.compiling import randomizing_kernels
from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.breaches import format_fraction
from assocpriv.promise.errors import PlanError

MOST_OUTPUTS = (1 << 16) - 2  # so that two bytes hold them, one that is missing and one that was not asked
MOST_WHOLE = 1 << 53  # beyond it not every whole number is a double
LARGEST_TOTAL = 1 << 32  # a draw then takes one word
MOST_NAME = 200  # characters of a column's name and of a category
_WRITTEN_BOUND = re.compile(r"-?(?:0|[1-9][0-9]{0,29})/[1-9][0-9]{0,29}", re.ASCII)


# ---- laws


class Law(ABC):
    """A law of release: for each input the weights of all outputs, integers of the same sum."""

    kind: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]]
    inputs: int

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of outputs, but for one that says that the value is missing."""

    @property
    def amplification(self) -> Fraction | None:
        """γ of the column, None where it has none."""
        return None

    @abstractmethod
    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return the weight of every output for an input; ``optional`` where one may be missing (the last of each)."""

    @classmethod
    def from_fields(cls, inputs: int, fields: dict[str, Any]) -> "Law":
        """Read the fields of a law of ``inputs`` inputs."""
        return cls(inputs, **fields)  # type: ignore[call-arg]

    def to_fields(self) -> dict[str, Any]:
        """Return the law's own fields as JSON content."""
        return {name: getattr(self, name) for name in self.field_names}

    def _check_outputs(self) -> None:
        if self.outputs > MOST_OUTPUTS:
            raise PlanError(
                f"a column has {self.outputs:,} released values, but at most {MOST_OUTPUTS:,} are possible; take a "
                "coarser grid (fewer cells) or less noise"
            )

    def _with_missing(self, released: list[int], value: int, optional: bool) -> list[int]:
        """Return weights with those of a missing value, which is released as missing."""
        if not optional:
            return released
        total = sum(released)
        return [0] * self.outputs + [total] if value == self.inputs else [*released, 0]


@dataclass(frozen=True)
class Clear(Law):
    """The value itself, or the class of ``width`` neighbours that it belongs to (value-class membership).

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


class Noise(Law):
    """Additive noise k − K in cells, k = 0 … 2K with weights of its own."""

    @property
    @abstractmethod
    def noise_weights(self) -> Sequence[int]:
        """The weights of k = 0 … 2K, symmetric."""

    @property
    def outputs(self) -> int:
        """Number of cells that a released value may lie in; the first is K cells below the lowest input."""
        return self.inputs + 2 * self.largest

    @property
    @abstractmethod
    def largest(self) -> int:
        """K, the largest noise in cells."""

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """Cumulative weights of k = 0 … 2K."""
        return tuple(accumulate(self.noise_weights))

    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return the noise's weights, moved by the input."""
        row = [0] * self.outputs
        first = min(value, self.inputs - 1)
        row[first : first + len(self.noise_weights)] = self.noise_weights
        return self._with_missing(row, value, optional)

    def known_width(self, confidence: Fraction) -> Fraction:
        """Return the width, in cells, of the narrowest interval that holds the noise with some probability, exactly.

        The noise is taken as spread evenly over its cells, so that a share of a cell counts as such. This is the
        privacy at a confidence of AS00, section 2.2.

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

    @property
    def largest(self) -> int:
        """K, the largest noise in cells."""
        return self.reach

    @cached_property
    def noise_weights(self) -> Sequence[int]:
        """Ones."""
        return (1,) * (2 * self.reach + 1)


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Noise with weights that fall from 0 to ±reach: those of 0, 1 … reach cells; their sum over ± is at most 2^32.

    >>> GaussianNoise(1, (2, 1)).weights(0)
    [1, 2, 1]
    """

    inputs: int
    half: tuple[int, ...]

    kind: ClassVar = "gaussian-noise"
    field_names: ClassVar = ("half",)

    def __post_init__(self) -> None:
        if len(self.half) < 2 or len(self.half) > MOST_OUTPUTS:
            raise PlanError("plan field half must hold the weights of noise of 0, 1 … cells, two at least")
        for weight in self.half:
            check_integer(weight, "half", 1, LARGEST_TOTAL)
        if any(later > earlier for earlier, later in zip(self.half, self.half[1:], strict=False)):
            raise PlanError("plan field half must not rise: larger noise is not likelier")
        check_integer(self.half[0] + 2 * sum(self.half[1:]), "the sum of half", 1, LARGEST_TOTAL)
        self._check_outputs()

    @classmethod
    def from_fields(cls, inputs: int, fields: dict[str, Any]) -> "GaussianNoise":
        """Read the fields; JSON has lists."""
        if not isinstance(fields["half"], list):
            raise PlanError("plan field half must be a list of integers")
        return cls(inputs, tuple(fields["half"]))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as JSON content."""
        return {"half": list(self.half)}

    @property
    def largest(self) -> int:
        """K, the largest noise in cells."""
        return len(self.half) - 1

    @cached_property
    def noise_weights(self) -> Sequence[int]:
        """The half, mirrored."""
        return (*self.half[:0:-1], *self.half)


@dataclass(frozen=True)
class Window(Law):
    """Outputs near the input have weight ``high`` each, all others ``low``; γ = high / low.

    Outputs are 0 … inputs + near − 2. ``near`` is odd, so that a released value has the input's as its middle.

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
        """Number of outputs but for a missing value."""
        return self.inputs + self.near - 1

    def total(self, *, optional: bool) -> int:
        """Return the sum of an input's weights."""
        return self.near * self.high + (self.inputs - 1 + (self.near if optional else 0)) * self.low

    @property
    def amplification(self) -> Fraction:
        """γ = high / low, of missing values too."""
        return Fraction(self.high, self.low)

    def weights(self, value: int, *, optional: bool = False) -> list[int]:
        """Return the input's weights."""
        row = [self.low] * self.outputs
        if value == self.inputs:
            return [*row, self.near * self.high]
        row[value : value + self.near] = [self.high] * self.near
        return [*row, self.near * self.low] if optional else row


LAWS: dict[str, type[Law]] = {law.kind: law for law in (Clear, UniformNoise, GaussianNoise, Window)}


def _law_from_json(inputs: int, content: object) -> Law:
    """Read a law that :func:`_law_to_json` wrote; anything else raises PlanError."""
    kind = content.get("law") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in LAWS:
        raise PlanError("a column's release must name a law that is known here; a newer release may read this plan")
    fields = check_fields(content, "a column's release", {"law", *LAWS[kind].field_names})
    return LAWS[kind].from_fields(inputs, {name: fields[name] for name in LAWS[kind].field_names})


def _law_to_json(law: Law) -> dict[str, Any]:
    """Return a law as JSON content."""
    return {"law": law.kind, **law.to_fields()}


# ---- columns


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

    grain: ClassVar[int] = 0  # how far neighbouring values are apart: 1 where they are whole numbers

    @property
    @abstractmethod
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells, float64 (cells + 1,)."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number that the column takes."""
        return float(self.edges[0]), float(self.edges[-1])

    @abstractmethod
    def cell_of(self, number: float) -> int | None:
        """Return the cell that a number lies in, None beyond the ends; of whole numbers it takes no other ones."""

    @abstractmethod
    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the cell of each number, int32 (n,), and how many lie beyond the ends, which get the end's cell.

        NaN gets the number of cells; every other number the cell that :meth:`cell_of` finds.
        """


@dataclass(frozen=True)
class NumberColumn(NumericColumn):
    """Numbers in [low, high], released on a grid of cells, estimated by intervals.

    It is a column of a plan, which :func:`assocpriv.numeric.plan_table` makes of a schema.

    Attributes:
        name: of the column.
        law: how a cell is released.
        optional: whether a person may withhold the value.
        low, high: ends of the range, in the column's unit.
        intervals: for which shares are estimated; they divide the cells.

    Raises:
        PlanError: fields that contradict each other.
        TypeError: a bound that is a float, which is no exact number.

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

    @property
    def origin(self) -> Fraction:
        """The lowest edge."""
        return self.low

    @property
    def used(self) -> int:
        """Number of cells that hold values, the first ones."""
        return self.inputs

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number that the column takes."""
        return float(self.low), float(self.high)

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
        edges = self.edges
        cells = np.empty(len(numbers), dtype=np.int32)
        return cells, randomizing_kernels.find_cells(
            np.ascontiguousarray(numbers), edges, self.inputs / (edges[-1] - edges[0]), cells
        )

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
        law = _law_from_json(cells, fields["release"])
        low, high = (read_bound(fields[name], name) for name in ("low", "high"))
        return cls(fields["name"], law, fields["optional"], low, high, fields["intervals"])


@dataclass(frozen=True)
class WholeColumn(NumberColumn):
    """Whole numbers low … high: ratings, ages, counts.

    Attributes and errors are those of :class:`NumberColumn`; the cells lie around the values.

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
            raise PlanError(
                f"column {self.name} has {self.inputs:,} cells for {self.values:,} values; take fewer cells"
            )

    @property
    def values(self) -> int:
        """Number of values."""
        return int(self.high - self.low) + 1

    @cached_property
    def cell_width(self) -> Fraction:
        """Number of values in a cell, but for the last."""
        return Fraction(-(-self.values // self.inputs))

    @property
    def origin(self) -> Fraction:
        """The lowest edge, half below the least value."""
        return self.low - Fraction(1, 2)

    @property
    def used(self) -> int:
        """Number of cells that hold values, the first ones."""
        return -(-self.values // int(self.cell_width))

    @property
    def interval_edges(self) -> NDArray[np.float64]:
        """Edges of the intervals, float64 (intervals + 1,); that of the last is half above the greatest value."""
        return np.minimum(super().interval_edges, float(self.high) + 0.5)

    def cell_of(self, number: float) -> int | None:
        """Return the cell of a whole number in the range; None for any other."""
        if not self.low <= number <= self.high or not float(number).is_integer():
            return None
        return int((int(number) - self.low) // self.cell_width)

    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the cell of each number, int32 (n,), as the base class says; that of the whole number below others."""
        low, high = self.ends
        there = ~np.isnan(numbers)
        cells = np.full(len(numbers), self.inputs, dtype=np.int32)
        cells[there] = (np.clip(numbers[there], low, high).astype(np.int64) - int(self.low)) // int(self.cell_width)
        return cells, int(np.count_nonzero((numbers < low) | (numbers > high)))


def _spacing(low: Fraction, high: Fraction) -> Fraction:
    """Return how far doubles lie apart at most between two numbers; points farther apart round to different ones."""
    return Fraction(ulp(float(max(abs(low), abs(high)))))


@dataclass(frozen=True)
class CategoryColumn(Column):
    """One of several named values, as it is or by randomized response.

    :func:`assocpriv.numeric.plan_table` and :func:`assocpriv.guided.category` make it.

    Attributes:
        name: of the column.
        law: how a value is released.
        optional: whether a person may withhold the value.
        values: their names, in the order of their codes.

    Raises:
        PlanError: fields that contradict each other.

    Source: Warner 1965, for randomized response.

    >>> import assocpriv as ap
    >>> smokes = {"kind": "category", "values": ["no", "yes"], "release": "response"}
    >>> column = ap.numeric.plan_table({"columns": {"smokes": smokes}}).columns[0]
    >>> column.values, column.is_protected, float(column.law.amplification) < 19
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
        law = _law_from_json(len(values), fields["release"])
        return cls(fields["name"], law, fields["optional"], tuple(values))


@dataclass(frozen=True)
class LabelColumn(CategoryColumn):
    """The class label of a record: a category that is always asked for.

    Attributes and errors are those of :class:`CategoryColumn`.

    >>> import assocpriv as ap
    >>> ill = {"kind": "label", "values": ["no", "yes"], "release": "as-is"}
    >>> column = ap.numeric.plan_table({"columns": {"ill": ill}}).columns[0]
    >>> isinstance(column, ap.numeric.LabelColumn), column.values
    (True, ('no', 'yes'))
    """

    kind: ClassVar = "label"


class TableColumns(Protocol):
    """What a table is read for: the columns of a plan, whatever its kind."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""


COLUMNS: dict[str, type[Column]] = {
    column.kind: column for column in (NumberColumn, WholeColumn, CategoryColumn, LabelColumn)
}


def column_to_json(column: Column) -> dict[str, Any]:
    """Return a column as JSON content."""
    shared = {"name": column.name, "kind": column.kind, "optional": column.optional}
    return shared | column.to_fields() | {"release": _law_to_json(column.law)}


def column_from_json(content: object) -> Column:
    """Read a column that :func:`column_to_json` wrote; anything else raises PlanError."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise PlanError("a column must be of a kind that is known here; a newer release may read this plan")
    made = COLUMNS[kind]
    return made.from_fields(
        check_fields(content, "a column", {"name", "kind", "optional", "release", *made.field_names})
    )


def default_intervals(reports: int) -> int:
    """Return how many intervals a column is cut into: one for each 100 points, 10 at least and 100 at most.

    Source: AS00, section 3.2.

    >>> default_intervals(5_000), default_intervals(1_000_000), default_intervals(50)
    (50, 100, 10)
    """
    return min(100, max(10, reports // 100))


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


# ---- transition matrices


def transition(column: Column) -> NDArray[np.float64]:
    """Return P(code | interval or value), float64 (codes, intervals + 1 if optional); its columns add up to 1."""
    law = column.law
    n_groups, used = column.inputs, column.inputs
    if isinstance(column, NumberColumn):
        n_groups, used = column.intervals, column.used
    group = column.inputs // n_groups
    starts = group * np.arange(n_groups)
    ends = np.maximum(np.minimum(starts + group, used), starts + 1)
    full = np.zeros((column.codes, n_groups + column.optional))
    if isinstance(law, Clear):
        full[: law.outputs, :n_groups] = _overlap(law.outputs, law.width, starts, ends) / (ends - starts)
    elif isinstance(law, Noise):
        full[: law.outputs, :n_groups] = _spread([0, *law.cumulative], starts, ends, law.outputs) / law.cumulative[-1]
    elif isinstance(law, Window):
        high_above_low = (law.high - law.low) * _spread(range(law.near + 1), starts, ends, law.outputs)
        full[: law.outputs, :n_groups] = high_above_low + law.low
        if column.optional:
            full[-1, :n_groups] = law.near * law.low
            full[: law.outputs, -1], full[-1, -1] = law.low, law.near * law.high
        return full / law.total(optional=column.optional)
    if column.optional:
        full[-1, -1] = 1
    return full


def _spread(
    cumulative: Sequence[int], starts: NDArray[np.int64], ends: NDArray[np.int64], n_outputs: int
) -> NDArray[np.float64]:
    """Return the mean over the inputs x of each group, start ≤ x < end, of the weight w[y − x], (outputs, groups).

    ``cumulative`` are 0, w[0], w[0] + w[1] … and so on: a group's sum is the difference of two of them.
    """
    sums = np.asarray(cumulative, dtype=np.float64)
    outputs = np.arange(n_outputs)[:, None] + 1
    most = len(sums) - 1
    above, below = (sums[np.clip(outputs - side, 0, most)] for side in (starts, ends))
    spread: NDArray[np.float64] = (above - below) / (ends - starts)
    return spread


def _overlap(n_classes: int, width: int, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many cells each class of so many shares with each group, start ≤ x < end, (classes, groups)."""
    classes = width * np.arange(n_classes)[:, None]
    shared = np.minimum(classes + width, ends) - np.maximum(classes, starts)
    overlap: NDArray[np.float64] = np.maximum(shared, 0).astype(np.float64)
    return overlap


def exact_transition(column: Column) -> list[list[Fraction]]:
    """Return P(code | cell or value), exactly: a row for each input (a missing value last), a place for each code."""
    rows = (column.law.weights(value, optional=column.optional) for value in range(column.inputs + column.optional))
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]
