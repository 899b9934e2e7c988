"""How one column of a table is released: laws of integer weights, from inputs 0 … n − 1 to outputs 0, 1, 2 …

    Clear       y = ⌊x / width⌋                          as it is (width 1), or the class that it is a member of
    UniformNoise, GaussianNoise
                y = x + k, k with probability w_k / Σ w  additive noise; −K ≤ k − K ≤ K, so that outputs begin at 0
    Window      y in x … x + near − 1 with weight P each, every other output with weight Q < P

A window of many inputs is the square wave on a grid; of width 1 it is randomized response. Its γ is P / Q. The other
laws have none: some output has probability 0 under one input and not under another.

Where a value may be missing, that is one more input, n, and one more output, the last. Under a window it is covered as
any value is: this output weighs near·Q for a value; for a missing one near·P, and every other output Q. Both rows have
the same sum, and the same ratio P / Q. Under the other laws a missing value is released as missing.

Square wave: Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li, Estimating Numerical Distributions under Local Differential
Privacy, SIGMOD 2020, section 5. Randomized response: Warner 1965. Noise: AS00, section 2.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.errors import PlanError

MOST_OUTPUTS = (1 << 16) - 2  # so that two bytes hold them, one that is missing and one that was not asked
LARGEST_TOTAL = 1 << 32  # a draw then takes one word


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


def law_from_json(inputs: int, content: object) -> Law:
    """Read a law that :func:`law_to_json` wrote; anything else raises PlanError."""
    kind = content.get("law") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in LAWS:
        raise PlanError("a column's release must name a law that is known here; a newer release may read this plan")
    fields = check_fields(content, "a column's release", {"law", *LAWS[kind].field_names})
    return LAWS[kind].from_fields(inputs, {name: fields[name] for name in LAWS[kind].field_names})


def law_to_json(law: Law) -> dict[str, Any]:
    """Return a law as JSON content."""
    return {"law": law.kind, **law.to_fields()}
