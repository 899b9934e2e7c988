"""The plan of guided perturbation: what a tuple is, how guidance is chosen, what a report looks like.

A tuple is a record's values without its class; as bits, one a value of every attribute, exactly one of each attribute's
is set. A report answers one guidance (plans/guidance.py): its serial number, the class in clear, and the
released bits. docs/formats/table-plan.md describes every field and byte.

Attributes are categories, or numbers cut into intervals. A number's value is the interval that it lies in: 0 below the
first cut point, and a cut point belongs to the interval above it. Cut points are exact fractions; a double is compared
with the double nearest to each, so every machine finds the same interval.

A promise is kept whatever guidance a miner publishes, by a share of chance in every report, exactly:

    tuple   with probability q the client answers for a uniformly random tuple instead of its own. With D possible
            tuples P[y|t] = (q/D) Σ_u P_V[y|u] + (1 − q) P_V[y|t], so two tuples' ratio is at most 1 + (1 − q)·D/q
            whatever V is; V = I, under which R(t) = t, meets it.
    bits    every bit is a fair coin with probability λ, else as guidance says. λ is the least of a grid with which the
            product of every bit's largest ratio stays within a stated γ (plans/guidance.py); it depends on V and
            the plan alone, so client and miner find the same.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005 (ZWZ05), section 4.
Randomized response: Warner 1965. γ: EGS03, section 4.
"""

import sys
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import CategoryColumn, Clear, Column, LabelColumn, NumericColumn, read_bound
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON, PublishedPlan, check_fields, check_integer
from assocpriv.plans.tables import shortened
from assocpriv.promise.breaches import Breach, check_promise, format_fraction, read_fraction
from assocpriv.promise.errors import PlanError, PrivacyLimitError, WireError, check_type, counted

MOST_VALUES = 1000  # of an attribute
MOST_LABELS = 1 << 16
_LARGEST = sys.float_info.max
MOST_ATTRIBUTES = 1000
MOST_WIDTH = 2048  # bits of a tuple: guidance of as many vectors is 40 MB of text
MOST_BATCH = 1 << 20
SERIAL_BYTES = 4
BATCH = 20  # by default; voting records of 290 people: accuracy .87, with 100 .83
TUPLE_BITS = 32  # of the draw that says whether a tuple is answered for
_RATIO_BITS = 16  # after the point of the γ that bits keep to


# ---- attributes


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

    Args:
        name: of the column.
        cuts: in the column's unit; a number at a cut point belongs to the interval above it.

    Raises:
        PlanError: cut points that do not rise, or are nearer to each other than doubles are.

    >>> import assocpriv as ap
    >>> ap.guided.number("age", [30, 45.5, 60]).cell_of(30.0)
    1
    """
    return _cut(name, tuple(Fraction(str(cut)) for cut in cuts))


def _cut(name: str, cuts: tuple[Fraction, ...]) -> CutColumn:
    return CutColumn(name, Clear(len(cuts) + 1), True, cuts)


def category(name: str, values: Sequence[str]) -> CategoryColumn:
    """Return an attribute of named values, which may be missing.

    Args:
        name: of the column.
        values: two or more that differ.

    Raises:
        PlanError: values that are the same, or are no text of 1 to 200 printable characters.

    >>> import assocpriv as ap
    >>> ap.guided.category("smokes", ["no", "yes"]).values
    ('no', 'yes')
    """
    return CategoryColumn(name, Clear(max(1, len(values))), True, tuple(values))


def class_label(name: str, labels: Sequence[str]) -> LabelColumn:
    """Return the class column, which every report shows in clear.

    Args:
        name: of the column.
        labels: the classes, two or more that differ.

    Raises:
        PlanError: as :func:`category`.

    >>> import assocpriv as ap
    >>> ap.guided.class_label("ill", ["no", "yes"]).optional
    False
    """
    return LabelColumn(name, Clear(max(1, len(labels))), False, tuple(labels))


def _attribute_to_json(column: Column) -> dict[str, Any]:
    """Return an attribute as JSON content."""
    return {"name": column.name, "kind": column.kind, **column.to_fields()}


def _attribute_from_json(content: object) -> Column:
    """Read what :func:`_attribute_to_json` wrote; anything else raises PlanError."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == CutColumn.kind:
        return CutColumn.from_fields(check_fields(content, "an attribute", {"name", "kind", "cuts"}))
    if kind != CategoryColumn.kind:
        raise PlanError("an attribute must be a category or a number; a newer release may read this plan")
    fields = check_fields(content, "an attribute", {"name", "kind", "values"})
    return category(fields["name"], tuple(_listed(fields["values"], "values", 2, MOST_VALUES)))


def _label_from_json(content: object) -> LabelColumn:
    """Read the class column, ``{"name": …, "values": […]}``; anything else raises PlanError."""
    fields = check_fields(content, "the label", {"name", "values"})
    return class_label(fields["name"], tuple(_listed(fields["values"], "values", 2, MOST_LABELS)))


def _listed(content: object, name: str, least: int, most: int) -> list[Any]:
    if not isinstance(content, list) or not least <= len(content) <= most:
        raise PlanError(f"plan field {name} must be a list of {least} to {most:,}")
    return content


# ---- safeguards


class Safeguard(ABC):
    """How a promise is kept."""

    kind: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def amplification(self, tuples: int) -> Fraction:
        """Return the largest γ of one report, whatever the guidance, where there are so many possible tuples."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""


@dataclass(frozen=True)
class TupleMix(Safeguard):
    """The own tuple is answered for with probability honest / 2^32, else a uniformly random one.

    >>> TupleMix(1 << 31).amplification(8)
    Fraction(9, 1)
    """

    honest: int

    kind: ClassVar = "tuple"
    field_names: ClassVar = ("honest",)

    def __post_init__(self) -> None:
        check_integer(self.honest, "honest", 1, (1 << TUPLE_BITS) - 1)

    def amplification(self, tuples: int) -> Fraction:
        """Return γ = 1 + (1 − q)·D/q."""
        return 1 + Fraction(self.honest * tuples, (1 << TUPLE_BITS) - self.honest)

    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""
        return {"honest": self.honest}


@dataclass(frozen=True)
class BitMix(Safeguard):
    """Every bit is mixed with a coin, as much as the guidance at hand needs for one report to keep to ``limit``."""

    limit: Fraction

    kind: ClassVar = "bits"
    field_names: ClassVar = ("amplification",)

    def __post_init__(self) -> None:
        if not self.limit > 1:
            raise PlanError("the amplification that bits keep to must be above 1")

    def amplification(self, tuples: int) -> Fraction:  # noqa: ARG002
        """Return what is kept to."""
        return self.limit

    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""
        return {"amplification": format_fraction(self.limit)}


SAFEGUARDS: tuple[str, ...] = (BitMix.kind, TupleMix.kind)


def _safeguard_from_json(content: object) -> Safeguard | None:
    """Read ``null``, ``{"kind": "tuple", "honest": …}`` or ``{"kind": "bits", "amplification": …}``."""
    if content is None:
        return None
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == TupleMix.kind:
        return TupleMix(check_fields(content, "safeguard", {"kind", "honest"})["honest"])
    if kind != BitMix.kind:
        raise PlanError("plan field safeguard must be null, or of the kind tuple or bits")
    fields = check_fields(content, "safeguard", {"kind", "amplification"})
    return BitMix(read_fraction(fields["amplification"], "amplification"))


def safeguard_for(kind: str, promise: Breach, tuples: int, reports_per_person: int = 1) -> Safeguard:
    """Return the safeguard that mixes in least and keeps a promise, all reports of a person together.

    Args:
        kind: ``"bits"`` or ``"tuple"``.
        promise: what is to be kept; γ stays strictly below its limit.
        tuples: D, how many tuples there can be.
        reports_per_person: R; the γ of one report is the R-th root.

    Raises:
        PrivacyLimitError: with so many tuples nothing would be left of one's own.
        PlanError: no such kind.

    >>> safeguard_for("bits", Breach("5%", "50%"), 4)
    BitMix(limit=Fraction(1245183, 65536))
    """
    if kind not in SAFEGUARDS:
        raise PlanError(f"a promise is kept by one of {' and '.join(SAFEGUARDS)}, got {str(kind)[:40]!r}")
    top = check_promise(promise).amplification_limit

    def made(step: int) -> Safeguard:
        return TupleMix(step) if kind == TupleMix.kind else BitMix(Fraction(step, 1 << _RATIO_BITS))

    # kept at the low end, broken at the high one
    low, high = 0, 1 << TUPLE_BITS
    if kind == BitMix.kind:
        low, high = 1 << _RATIO_BITS, -(-top.numerator << _RATIO_BITS) // top.denominator + 1
    least = low
    while high - low > 1:
        middle = (low + high) // 2
        kept = made(middle).amplification(tuples) ** reports_per_person < top
        low, high = (middle, high) if kept else (low, middle)
    if low == least:
        raise PrivacyLimitError(
            f"under this promise nothing is left of one tuple among so many ({float(min(tuples, 10**300)):.3g}); keep "
            "it by bits, or take fewer attributes or a weaker promise"
        )
    return made(low)


# ---- the plan


@dataclass(frozen=True)
class GuidedPlan(PublishedPlan):
    """What a collection under guidance publishes.

    Without a safeguard there is neither promise nor γ: a miner that publishes a column of the identity as guidance
    learns that bit of everybody.

    Attributes:
        attributes: each with two values or more.
        label: the class column; every report shows it in clear.
        mu: μ of equation (6), the share of the largest difference of classes from which on directions are left out.
        batch: how many tuples come in before guidance is published anew.
        safeguard: how the promise is kept; None together with it.
        promise: of all reports of a person, the class apart; None without a safeguard.
        reports_per_person: R.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: γ of all reports of a person is not strictly below the promise's limit.

    Source: ZWZ05, section 4; EGS03, section 4, for γ.

    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, promise=ap.Breach("5%", "50%"))
    >>> plan.bit_names, plan.report_bytes, plan.keep
    (('smokes=no', 'smokes=yes'), 6, 'bits')
    """

    attributes: tuple[Column, ...]
    label: LabelColumn
    mu: Fraction = Fraction(3, 20)
    batch: int = BATCH
    safeguard: Safeguard | None = None
    promise: Breach | None = None
    reports_per_person: int = 1

    kind: ClassVar = "guided"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("attributes", "label", "mu", "batch", "safeguard", "promise"))

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MOST_ATTRIBUTES:
            raise PlanError(f"a guided plan needs 1 to {MOST_ATTRIBUTES:,} attributes, got {len(self.attributes):,}")
        for column in (*self.attributes, self.label):
            if check_type("a guided plan's column", column, Column).inputs < 2:  # type: ignore[type-abstract]  # of any class
                raise PlanError(f"column {column.name} has one value only, which tells nothing; leave it out")
        if len(set(self.names)) != len(self.names):
            raise PlanError("two columns have the same name; names must differ")
        if self.width > MOST_WIDTH:
            raise PlanError(
                f"the attributes have {self.width:,} values together, but at most {MOST_WIDTH:,} are possible; cut "
                "numbers into fewer intervals, or leave attributes out"
            )
        if not isinstance(self.mu, Real) or not 0 < self.mu < 1:
            raise PlanError("plan field mu must lie between 0 and 1")
        check_integer(self.batch, "batch", 1, MOST_BATCH)
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        if (self.promise is None) != (self.safeguard is None):
            raise PlanError("a guided plan states a promise if and only if it says how that is kept")
        self._check_promise()

    # ---- what a tuple is

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is read of a record: the attributes, then the class."""
        return *self.attributes, self.label

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, the class's last."""
        return tuple(column.name for column in self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes."""
        return self.label.values

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(column.inputs for column in self.attributes)

    @cached_property
    def width(self) -> int:
        """How many bits a tuple has: w = Σ sizes, the paper's 2n."""
        return sum(self.sizes)

    @cached_property
    def tuples(self) -> int:
        """How many tuples there can be: D = Π sizes."""
        return prod(self.sizes)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each attribute's bits begin, int64 (attributes,)."""
        return np.cumsum((0, *self.sizes[:-1]))

    @cached_property
    def attribute_of(self) -> NDArray[np.int64]:
        """Which attribute each bit belongs to, int64 (w,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def bit_names(self) -> tuple[str, ...]:
        """A name for every bit: the attribute's and the value's, or the interval that it stands for."""
        return tuple(f"{column.name}={value}" for column in self.attributes for value in _value_names(column))

    def to_bits(self, positions: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
        """Return tuples as bits, uint8 (n, w), of the values' positions, (n, attributes)."""
        bits = np.zeros((len(positions), self.width), dtype=np.uint8)
        np.put_along_axis(bits, positions + self.offsets, 1, axis=1)
        return bits

    # ---- the promise

    @property
    def keep(self) -> str | None:
        """How the promise is kept, ``"bits"`` or ``"tuple"``; None without one."""
        return None if self.safeguard is None else self.safeguard.kind

    @cached_property
    def amplification(self) -> Fraction | None:
        """γ of one report's bits, whatever the guidance; None without a safeguard."""
        return None if self.safeguard is None else self.safeguard.amplification(self.tuples)

    @property
    def asks(self) -> list[tuple[Fraction, str]]:
        """What all people are asked: what the guidance asks of the attributes, and the class."""
        names = shortened([column.name for column in self.attributes])
        return [(Fraction(1), f"what the guidance asks of {names}"), (Fraction(1), f"the class {self.label.name}")]

    @property
    def unbounded(self) -> str:
        """What holds without a safeguard."""
        return "whoever publishes the guidance can ask for any value as it is"

    @property
    def uncovered(self) -> str:
        """The class, which γ does not cover; empty where there is no γ."""
        return "" if self.safeguard is None else f"the class {self.label.name}"

    @property
    def uncovered_secret(self) -> str:
        """Nothing: the class is what everybody may know of a person (Zhang, Wang and Zhao, 2005, section 1)."""
        return ""

    # ---- reports

    @property
    def label_bytes(self) -> int:
        """Bytes of a class in a report."""
        return 1 if len(self.labels) <= 256 else 2

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes: serial number, class, bits."""
        return SERIAL_BYTES + self.label_bytes + -(-self.width // 8)

    def pack(self, serial: int, classes: NDArray[np.integer[Any]], bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return reports, uint8 (n, report_bytes), of classes, (n,), and released bits, uint8 (n, w)."""
        packed = np.empty((len(bits), self.report_bytes), dtype=np.uint8)
        packed[:, :SERIAL_BYTES] = np.frombuffer(serial.to_bytes(SERIAL_BYTES, "little"), dtype=np.uint8)
        for byte in range(self.label_bytes):
            packed[:, SERIAL_BYTES + byte] = classes >> 8 * byte & 255
        packed[:, SERIAL_BYTES + self.label_bytes :] = np.packbits(bits, axis=1, bitorder="little")
        return packed

    def unpack(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Return serial numbers and classes, int64 (n,), and bits, uint8 (n, w), of reports."""
        released = packed[:, SERIAL_BYTES + self.label_bytes :]
        return *self._heads(packed), np.unpackbits(released, axis=1, count=self.width, bitorder="little")

    def _heads(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return serial numbers and classes, int64 (n,)."""
        octets = packed[:, : SERIAL_BYTES + self.label_bytes].astype(np.int64)
        serials = octets[:, :SERIAL_BYTES] @ (1 << 8 * np.arange(SERIAL_BYTES))
        return serials, octets[:, SERIAL_BYTES:] @ (1 << 8 * np.arange(self.label_bytes))

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Refuse the serial number 0, classes that there are not, and bits set beyond the last."""
        serials, classes = self._heads(packed)
        spare = packed[:, -1].astype(np.int64) >> (self.width - 1) % 8 + 1
        wrong = np.flatnonzero((serials == 0) | (classes >= len(self.labels)) | (spare != 0))
        if len(wrong):
            raise WireError(
                f"{source}report {first + int(wrong[0])} names no guidance, or has a class or bits that no client sends"
            )

    # ---- the text

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's own fields as JSON content."""
        safeguard = self.safeguard
        return {
            "attributes": [_attribute_to_json(column) for column in self.attributes],
            "label": {"name": self.label.name, "values": list(self.labels)},
            "mu": format_fraction(self.mu),
            "batch": self.batch,
            "safeguard": safeguard and {"kind": safeguard.kind, **safeguard.to_fields()},
            "promise": self._promise_to_json(),
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "GuidedPlan":
        """Read what :meth:`to_fields` wrote."""
        if not isinstance(fields["attributes"], list):
            raise PlanError("plan field attributes must be a list")
        breach = cls._promise_from_json(fields["promise"])
        return cls(
            tuple(map(_attribute_from_json, fields["attributes"])),
            _label_from_json(fields["label"]),
            read_fraction(fields["mu"], "mu"),
            fields["batch"],
            _safeguard_from_json(fields["safeguard"]),
            breach,
            fields["reports_per_person"],
        )

    def __repr__(self) -> str:
        bound = "" if self.promise is None else f", γ < {float(self.promise.amplification_limit):g}"
        return (
            f"GuidedPlan({self.plan_id[:12]}, {counted(len(self.attributes), 'attribute')}, {self.width} bits{bound})"
        )


def plan_guided(
    attributes: Sequence[Column],
    label: LabelColumn,
    *,
    promise: Breach | None = None,
    keep: str = "bits",
    mu: Fraction = Fraction(3, 20),
    batch: int = BATCH,
    reports_per_person: int = 1,
) -> GuidedPlan:
    """Return a plan, with the safeguard that keeps its promise, if it makes one.

    Args:
        attributes: as :func:`~assocpriv.plans.guided.category` and ``number`` make them.
        label: as :func:`~assocpriv.plans.guided.class_label` makes it.
        promise: what all reports of a person are to keep; without one none does, whoever publishes the guidance.
        keep: how: ``"bits"`` or ``"tuple"``; see the module's text.
        mu, batch, reports_per_person: of :class:`GuidedPlan`.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: nothing would be left of a person's tuple.

    Source: ZWZ05, section 4.

    >>> import assocpriv as ap
    >>> attributes = [ap.guided.number("age", [30, 60]), ap.guided.category("smokes", ["no", "yes"])]
    >>> ill = ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, promise=ap.Breach("5%", "50%"))
    >>> plan.names, plan.width, plan.amplification < 19
    (('age', 'smokes', 'ill'), 5, True)
    """
    listed = tuple(attributes)
    safeguard = None
    if promise is not None:
        safeguard = safeguard_for(keep, promise, prod(column.inputs for column in listed), reports_per_person)
    return GuidedPlan(listed, label, mu, batch, safeguard, promise, reports_per_person)


def _value_names(column: Column) -> Sequence[str]:
    """Return how each value of an attribute is called; intervals by their lower cut points."""
    if not isinstance(column, CutColumn):
        names: list[str] = column.to_fields()["values"]
        return names
    edges = [f"{edge:.6g}" for edge in column.edges[1:-1].tolist()]
    inner = [f"{low}–{high}" for low, high in pairwise(edges)]
    return [f"<{edges[0]}", *inner, f"≥{edges[-1]}"]
