"""The plan of guided perturbation (tuples, the choice of guidance, the form of reports), and its guidance.

A tuple is a record's values without its class. As bits it has one bit for each value of every attribute, and exactly
one bit of each attribute is set. A report responds to one guidance. It holds the guidance's serial number, the
unrandomized class, and the released bits. docs/formats/table-plan.md describes every field and byte.

Attributes are categories, or numbers cut into intervals. A number's value is its interval: 0 below the first cut point;
a cut point belongs to the interval above it. Cut points are exact fractions. A double is compared with the double
nearest to each, so every machine finds the same interval.

A guarantee holds exactly, whatever guidance a miner publishes, because a share of every report is random:

    tuple   with probability q the client uses a uniformly random tuple instead of its own. With D possible tuples
            P[y|t] = (q/D) Σ_u P_V[y|u] + (1 − q) P_V[y|t], so two tuples' ratio is at most 1 + (1 − q)·D/q for every
            V; V = I, under which R(t) = t, attains it.
    bits    every bit is a fair random bit with probability λ, else it follows the guidance. λ is the smallest of a
            grid for which the product of all bits' largest ratios is at most a stated γ. It depends only on V and the
            plan, so client and miner compute the same value.

Perturbation guidance is k* with V*, which a miner publishes: integers that determine a weight for each bit. k*
is the disclosure level, V* an orthonormal matrix. Entries are those of V* times 2^20, rounded to nearest. Client and
miner compute everything else from these integers, in integers, so their results are equal on all machines.

With P = V Vᵀ (times 2^40) and the positions of a tuple's set bits:

    t̃      = the sum of these rows of P, exactly                            equation (7)
    a_j    = ⌊(|t̃_j| + 2^23) / 2^24⌋: |t̃_j| in units of 2^-16, rounded half up
    w_j    = min(a_j², 2^32), of 2^32                                       equation (8), probabilities above 1 clipped

If the guarantee is kept by bits, w_j is mixed with a fair bit, with the mixing weight c, λ = c / 2^16. A draw is then
below 2^49:

    m_j    = c·2^32 + (2^16 − c)·2·w_j, of 2^49

c is the smallest number for which Π_j max(hi_j/lo_j, (2^49 − lo_j)/(2^49 − hi_j)) is at most the plan's γ, where lo_j
and hi_j are bounds of m_j over all tuples. t̃_j is a sum over attributes, so the extremes of the attributes add up. The
bits of a report are drawn independently, so the product of their ratios bounds the ratio of any two tuples.

All numbers stay below 2^53, since |t̃_j| ≤ √n·‖P‖ and ‖P‖ < 2^41 for guidance that passed its check.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005 (ZWZ05), section 4 (4.1
guidance, 4.2 weights). Randomized response: Warner 1965. γ: EGS03, section 4.
"""

import hashlib
import json
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import isqrt, prod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import Guarantee, check_guarantee, format_fraction, read_fraction
from assocpriv.guarantees.errors import (
    GuidanceError,
    PlanError,
    PrivacyLimitError,
    WireError,
    check_type,
    json_fields,
    pluralize,
)
from assocpriv.plans.numeric.table_plan import (
    CategoryColumn,
    Clear,
    Column,
    LabelColumn,
    NumericColumn,
    read_bound,
    shortened,
)
from assocpriv.plans.published_plan import (
    MOST_REPORTS_PER_PERSON,
    PublishedPlan,
    check_fields,
    check_integer,
    guarantee_from_json,
)

MOST_VALUES = 1000  # of an attribute
MOST_LABELS = 1 << 16
_LARGEST = sys.float_info.max
MOST_ATTRIBUTES = 1000
MOST_WIDTH = 2048  # bits of a tuple: guidance of as many vectors is 40 MB of text
MOST_BATCH = 1 << 20
SERIAL_BYTES = 4
BATCH = 20  # default; voting records of 290 people: accuracy .87, with 100 .83
TUPLE_BITS = 32  # of the draw that decides between the own tuple and a random one
_RATIO_BITS = 16  # binary places of the γ that bits keep
FORMAT, VERSION = "assocpriv-guidance", 1
UNIT = 1 << 20  # an entry of 1
_FIELDS = {"format", "version", "plan", "serial", "level", "vectors"}
_PLAN_ID = re.compile("[0-9a-f]{64}")
_LARGEST_SERIAL = (1 << 8 * SERIAL_BYTES) - 1
WEIGHT_TOTAL = 1 << 32
MIXING_UNIT = 1 << 16
MIXED_TOTAL = 2 * WEIGHT_TOTAL * MIXING_UNIT
_HALF, _SHIFT = 1 << 23, 24


# ---- attributes


@dataclass(frozen=True)
class CutColumn(NumericColumn):
    """Numbers as the intervals between increasing cut points.

    Attributes:
        name: name of the column.
        mechanism: how an interval is released.
        optional: whether a value may be missing.
        cuts: increasing cut points, in the column's unit.

    Raises:
        PlanError: cut points do not increase, or two are the same double.
    """

    cuts: tuple[Fraction, ...]

    kind: ClassVar = "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        for cut in self.cuts:
            read_bound(format_fraction(cut), "cuts")
        if not all(low < high for low, high in pairwise(self.edges.tolist())):
            raise PlanError(f"attribute {self.name} needs finite, increasing cut points that are different doubles")

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the intervals, float64 (values + 1,); the outer ones are the largest doubles."""
        return np.array([-_LARGEST, *map(float, self.cuts), _LARGEST])

    def cell_of(self, number: float) -> int | None:
        """Return the interval of a number.

        Args:
            number: a number in the column's unit.

        Returns:
            The interval, from 0; None if the number is not finite.
        """
        if not abs(number) <= _LARGEST:
            return None
        return bisect_right(self.edges.tolist(), number, 1, len(self.cuts) + 1) - 1

    def cells_of(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
        """Return the interval of each number, and how many are infinite.

        Args:
            numbers: numbers in the column's unit, float64 (n,); NaN is a missing value.

        Returns:
            Intervals, int32 (n,), the number of intervals for NaN; and the number of infinite values.
        """
        cells = np.searchsorted(self.edges[1:-1], numbers, side="right").astype(np.int32)
        cells[np.isnan(numbers)] = self.inputs
        return cells, int(np.isinf(numbers).sum())

    def to_fields(self) -> dict[str, Any]:
        """Return the column's own fields as JSON content.

        Returns:
            The field ``cuts``, a list of numbers as exact text.
        """
        return {"cuts": [format_fraction(cut) for cut in self.cuts]}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "CutColumn":
        """Read the column's fields.

        Args:
            fields: the column's fields with ``name``, as JSON content.

        Returns:
            The column, checked.

        Raises:
            PlanError: a field of another form, or cut points that do not increase.
        """
        texts = _checked_list(fields["cuts"], "cuts", 1, MOST_VALUES - 1)
        return _cut(fields["name"], tuple(read_bound(text, "cuts") for text in texts))


def number(name: str, cuts: Sequence[float | Fraction]) -> CutColumn:
    """Return a numeric attribute, cut into intervals.

    Args:
        name: name of the column.
        cuts: increasing cut points in the column's unit; a float means its shortest decimal form. A number at a cut
            point belongs to the interval above it.

    Returns:
        The column, for the ``attributes`` of a plan; it has one interval more than cut points.

    Raises:
        PlanError: cut points do not increase, or two are the same double.

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
        name: name of the column.
        values: two or more different values.

    Returns:
        The column, for the ``attributes`` of a plan.

    Raises:
        PlanError: values are equal, or are no text of 1 to 200 printable characters.

    >>> import assocpriv as ap
    >>> ap.guided.category("smokes", ["no", "yes"]).values
    ('no', 'yes')
    """
    return CategoryColumn(name, Clear(max(1, len(values))), True, tuple(values))


def class_label(name: str, labels: Sequence[str]) -> LabelColumn:
    """Return the class column, which every report shows unrandomized.

    Args:
        name: name of the column.
        labels: the classes, two or more different ones.

    Returns:
        The column, for the ``label`` of a plan.

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
    """Read what :func:`_attribute_to_json` wrote; raise PlanError for anything else."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == CutColumn.kind:
        return CutColumn.from_fields(check_fields(content, "an attribute", {"name", "kind", "cuts"}))
    if kind != CategoryColumn.kind:
        raise PlanError("an attribute must be a category or a number; a newer release may read this plan")
    fields = check_fields(content, "an attribute", {"name", "kind", "values"})
    return category(fields["name"], tuple(_checked_list(fields["values"], "values", 2, MOST_VALUES)))


def _label_from_json(content: object) -> LabelColumn:
    """Read the class column, ``{"name": …, "values": […]}``; raise PlanError for anything else."""
    fields = check_fields(content, "the label", {"name", "values"})
    return class_label(fields["name"], tuple(_checked_list(fields["values"], "values", 2, MOST_LABELS)))


def _checked_list(content: object, name: str, least: int, most: int) -> list[Any]:
    if not isinstance(content, list) or not least <= len(content) <= most:
        raise PlanError(f"plan field {name} must be a list of {least} to {most:,} entries")
    return content


# ---- safeguards


@dataclass(frozen=True)
class TupleMix:
    """The client uses its own tuple with probability honest / 2^32, else a uniformly random one.

    >>> TupleMix(1 << 31).amplification(8)
    Fraction(9, 1)
    """

    honest: int

    kind: ClassVar = "tuple"

    def __post_init__(self) -> None:
        check_integer(self.honest, "honest", 1, (1 << TUPLE_BITS) - 1)

    @property
    def random_share(self) -> Fraction:
        """q, the probability of a random tuple."""
        return 1 - Fraction(self.honest, 1 << TUPLE_BITS)

    def amplification(self, tuples: int) -> Fraction:
        """Return γ = 1 + (1 − q)·D/q."""
        return 1 + Fraction(self.honest * tuples, (1 << TUPLE_BITS) - self.honest)

    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""
        return {"honest": self.honest}


@dataclass(frozen=True)
class BitMix:
    """Every bit is mixed with a random bit, as much as needed under the guidance to keep one report's γ ≤ ``limit``."""

    limit: Fraction

    kind: ClassVar = "bits"

    def __post_init__(self) -> None:
        if not self.limit > 1:
            raise PlanError("the amplification of a safeguard of bits must be above 1")

    def amplification(self, tuples: int) -> Fraction:  # noqa: ARG002
        """Return the limit, which every guidance keeps."""
        return self.limit

    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""
        return {"amplification": format_fraction(self.limit)}


Safeguard = TupleMix | BitMix
SAFEGUARDS: tuple[str, ...] = (BitMix.kind, TupleMix.kind)


def _safeguard_from_json(content: object) -> Safeguard | None:
    """Read ``null``, ``{"kind": "tuple", "honest": …}`` or ``{"kind": "bits", "amplification": …}``."""
    if content is None:
        return None
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == TupleMix.kind:
        return TupleMix(check_fields(content, "safeguard", {"kind", "honest"})["honest"])
    if kind != BitMix.kind:
        raise PlanError("plan field safeguard must be null, or have the kind tuple or bits")
    fields = check_fields(content, "safeguard", {"kind", "amplification"})
    return BitMix(read_fraction(fields["amplification"], "amplification"))


def safeguard_for(kind: str, guarantee: Guarantee, tuples: int, reports_per_person: int = 1) -> Safeguard:
    """Return the safeguard with the least randomness that keeps a guarantee for all reports of a person together.

    Args:
        kind: ``"bits"`` or ``"tuple"``.
        guarantee: the guarantee; γ stays strictly below its limit.
        tuples: D, the number of possible tuples.
        reports_per_person: R; one report gets the R-th root of the limit.

    Raises:
        PrivacyLimitError: too many possible tuples: the own tuple would practically never be used.
        PlanError: ``kind`` is unknown.

    >>> safeguard_for("bits", Guarantee("5%", "50%"), 4)
    BitMix(limit=Fraction(1245183, 65536))
    """
    if kind not in SAFEGUARDS:
        raise PlanError(f"a guarantee is kept by {' or '.join(SAFEGUARDS)}, got {str(kind)[:40]!r}")
    top = check_guarantee(guarantee).amplification_limit

    def made(step: int) -> Safeguard:
        return TupleMix(step) if kind == TupleMix.kind else BitMix(Fraction(step, 1 << _RATIO_BITS))

    steps = range(1, 1 << TUPLE_BITS)
    if kind == BitMix.kind:
        steps = range((1 << _RATIO_BITS) + 1, -(-top.numerator << _RATIO_BITS) // top.denominator + 1)
    # the guarantee holds for the first steps, perhaps none, and fails beyond the last
    kept = bisect_left(steps, True, key=lambda step: made(step).amplification(tuples) ** reports_per_person >= top)
    if not kept:
        raise PrivacyLimitError(
            f"under this guarantee reports of {float(min(tuples, 10**300)):.3g} possible tuples would be entirely "
            "random; keep the guarantee by bits, or use fewer attributes or a weaker guarantee"
        )
    return made(steps[kept - 1])


# ---- the plan


@dataclass(frozen=True)
class GuidedPlan(PublishedPlan):
    """The plan of a collection under guidance (guided perturbation).

    Without a safeguard there is neither guarantee nor γ: a miner that publishes a column of the identity as guidance
    learns that bit of every person.

    Attributes:
        attributes: the attributes, each with two values or more.
        label: the class column; every report shows it unrandomized.
        mu: μ of equation (6): directions are left out whose class difference is below this share of the largest.
        batch: number of tuples received before new guidance is published.
        safeguard: how the guarantee is kept; None without a guarantee.
        guarantee: of all reports of a person, except for the class; None without a safeguard.
        reports_per_person: R, 1..1000.

    Raises:
        PlanError: fields contradict each other.
        PrivacyLimitError: γ of all reports of a person is not strictly below the guarantee's limit.
        TypeError: an attribute is no column.

    Source: ZWZ05, section 4; EGS03, section 4, for γ.

    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, guarantee=ap.Guarantee("5%", "50%"))
    >>> plan.bit_names, plan.report_bytes, plan.keep
    (('smokes=no', 'smokes=yes'), 6, 'bits')
    """

    attributes: tuple[Column, ...]
    label: LabelColumn
    mu: Fraction = Fraction(3, 20)
    batch: int = BATCH
    safeguard: Safeguard | None = None
    guarantee: Guarantee | None = None
    reports_per_person: int = 1

    kind: ClassVar = "guided"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("attributes", "label", "mu", "batch", "safeguard", "guarantee"))

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MOST_ATTRIBUTES:
            raise PlanError(f"a guided plan needs 1 to {MOST_ATTRIBUTES:,} attributes, got {len(self.attributes):,}")
        for column in (*self.attributes, self.label):
            if check_type("a guided plan's column", column, Column).inputs < 2:  # type: ignore[type-abstract]  # of any class
                raise PlanError(f"column {column.name} has only one value, which carries no information; leave it out")
        if len(set(self.names)) != len(self.names):
            raise PlanError("two columns have the same name; names must differ")
        if self.width > MOST_WIDTH:
            raise PlanError(
                f"the attributes have {self.width:,} values together, but at most {MOST_WIDTH:,} are possible; use "
                "fewer intervals for numbers, or leave attributes out"
            )
        if not isinstance(self.mu, Real) or not 0 < self.mu < 1:
            raise PlanError("plan field mu must lie between 0 and 1")
        check_integer(self.batch, "batch", 1, MOST_BATCH)
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        if (self.guarantee is None) != (self.safeguard is None):
            raise PlanError("a guided plan states a guarantee if and only if it has a safeguard")
        self._check_guarantee()

    # ---- tuples

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns read from a record: the attributes, then the class."""
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
        """Number of values of each attribute."""
        return tuple(column.inputs for column in self.attributes)

    @cached_property
    def width(self) -> int:
        """Number of bits of a tuple: w = Σ sizes, the paper's 2n."""
        return sum(self.sizes)

    @cached_property
    def tuples(self) -> int:
        """Number of possible tuples: D = Π sizes."""
        return prod(self.sizes)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Start of each attribute's bits, int64 (attributes,)."""
        return np.cumsum((0, *self.sizes[:-1]))

    @cached_property
    def attribute_of(self) -> NDArray[np.int64]:
        """The attribute of each bit, int64 (w,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def bit_names(self) -> tuple[str, ...]:
        """A name for every bit: the attribute with its value or interval."""
        return tuple(f"{column.name}={value}" for column in self.attributes for value in _value_names(column))

    def to_bits(self, positions: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
        """Return tuples as bits: 1 for the value that each attribute has, 0 for its others.

        Args:
            positions: position of each attribute's value, integers (n, attributes).

        Returns:
            Bits, uint8 (n, w).
        """
        bits = np.zeros((len(positions), self.width), dtype=np.uint8)
        np.put_along_axis(bits, positions + self.offsets, 1, axis=1)
        return bits

    # ---- the guarantee

    @property
    def keep(self) -> str | None:
        """How the guarantee is kept: ``"bits"`` or ``"tuple"``; None without a guarantee."""
        return None if self.safeguard is None else self.safeguard.kind

    @cached_property
    def amplification(self) -> Fraction | None:
        """γ of one report's bits under any guidance; None without a safeguard."""
        return None if self.safeguard is None else self.safeguard.amplification(self.tuples)

    @property
    def contents(self) -> list[tuple[Fraction, str]]:
        """Descriptions of what all reports are about: what the guidance releases of the attributes, and the class."""
        names = shortened([column.name for column in self.attributes])
        return [(Fraction(1), f"what the guidance releases of {names}"), (Fraction(1), f"the class {self.label.name}")]

    @property
    def unbounded(self) -> str:
        """The consequence of having no safeguard."""
        return "the publisher of the guidance can obtain any value unrandomized"

    @property
    def uncovered(self) -> str:
        """The class, which γ does not cover; empty if there is no γ."""
        return "" if self.safeguard is None else f"the class {self.label.name}"

    @property
    def uncovered_secret(self) -> str:
        """Nothing: the class is public information on a person (Zhang, Wang and Zhao, 2005, section 1)."""
        return ""

    # ---- reports

    @property
    def label_bytes(self) -> int:
        """Number of bytes of the class in a report."""
        return 1 if len(self.labels) <= 256 else 2

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes: serial number, class, bits."""
        return SERIAL_BYTES + self.label_bytes + -(-self.width // 8)

    def pack(self, serial: int, classes: NDArray[np.integer[Any]], bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return reports with released classes and bits.

        Args:
            serial: serial number of the answered guidance, from 1.
            classes: positions of the classes, integers (n,).
            bits: released bits, uint8 (n, w), each 0 or 1.

        Returns:
            Reports, uint8 (n, report_bytes).
        """
        packed = np.empty((len(bits), self.report_bytes), dtype=np.uint8)
        packed[:, :SERIAL_BYTES] = np.frombuffer(serial.to_bytes(SERIAL_BYTES, "little"), dtype=np.uint8)
        for byte in range(self.label_bytes):
            packed[:, SERIAL_BYTES + byte] = classes >> 8 * byte & 255
        packed[:, SERIAL_BYTES + self.label_bytes :] = np.packbits(bits, axis=1, bitorder="little")
        return packed

    def unpack(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Return the parts of reports.

        Args:
            packed: reports, uint8 (n, report_bytes).

        Returns:
            Serial numbers and positions of classes, int64 (n,) each, and released bits, uint8 (n, w).
        """
        released = packed[:, SERIAL_BYTES + self.label_bytes :]
        return *self._heads(packed), np.unpackbits(released, axis=1, count=self.width, bitorder="little")

    def _heads(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return serial numbers and classes, int64 (n,)."""
        octets = packed[:, : SERIAL_BYTES + self.label_bytes].astype(np.int64)
        serials = octets[:, :SERIAL_BYTES] @ (1 << 8 * np.arange(SERIAL_BYTES))
        return serials, octets[:, SERIAL_BYTES:] @ (1 << 8 * np.arange(self.label_bytes))

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Check that clients of the plan can have sent the reports: serial number from 1, known class, no spare bits.

        Args:
            packed: reports, uint8 (n, report_bytes).
            source: text for the error message before the report's number, as a file's name.
            first: number of the first report for the error message.

        Raises:
            WireError: no client can have sent a report; the message names ``source`` and the first such report.
        """
        serials, classes = self._heads(packed)
        spare = packed[:, -1].astype(np.int64) >> (self.width - 1) % 8 + 1
        wrong = np.flatnonzero((serials == 0) | (classes >= len(self.labels)) | (spare != 0))
        if len(wrong):
            raise WireError(
                f"{source}report {first + int(wrong[0])} has no guidance's serial number, or a class or bits that no "
                "client sends"
            )

    # ---- JSON

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's own fields as JSON content.

        Returns:
            The fields of ``field_names``.
        """
        safeguard = self.safeguard
        return {
            "attributes": [_attribute_to_json(column) for column in self.attributes],
            "label": {"name": self.label.name, "values": list(self.labels)},
            "mu": format_fraction(self.mu),
            "batch": self.batch,
            "safeguard": safeguard and {"kind": safeguard.kind, **safeguard.to_fields()},
            "guarantee": self._guarantee_to_json(),
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "GuidedPlan":
        """Read what :meth:`to_fields` wrote.

        Args:
            fields: the plan's fields with those of the envelope, as JSON content.

        Returns:
            The plan, checked.

        Raises:
            PlanError: a field of another form, or fields that contradict each other.
            PrivacyLimitError: the amplification is not below the guarantee's limit.
        """
        if not isinstance(fields["attributes"], list):
            raise PlanError("plan field attributes must be a list")
        return cls(
            tuple(map(_attribute_from_json, fields["attributes"])),
            _label_from_json(fields["label"]),
            read_fraction(fields["mu"], "mu"),
            fields["batch"],
            _safeguard_from_json(fields["safeguard"]),
            None if fields["guarantee"] is None else guarantee_from_json(fields["guarantee"]),
            fields["reports_per_person"],
        )

    def __repr__(self) -> str:
        attributes = pluralize(len(self.attributes), "attribute")
        return f"GuidedPlan({self.plan_id[:12]}, {attributes}, {self.width} bits, {self._bound_text()})"


def plan_guided(
    attributes: Sequence[Column],
    label: LabelColumn,
    *,
    guarantee: Guarantee | None = None,
    keep: str = "bits",
    mu: Fraction = Fraction(3, 20),
    batch: int = BATCH,
    reports_per_person: int = 1,
) -> GuidedPlan:
    """Return a guided plan, with the safeguard that keeps its guarantee.

    Args:
        attributes: from :func:`~assocpriv.plans.guided.guided_plan.category` and ``number``.
        label: from :func:`~assocpriv.plans.guided.guided_plan.class_label`.
        guarantee: the guarantee of all reports of a person together; without one the publisher of the guidance can
            obtain any value unrandomized.
        keep: how the guarantee is kept: ``"bits"`` or ``"tuple"``; see the module's docstring.
        mu, batch, reports_per_person: see :class:`GuidedPlan`.

    Returns:
        The plan.

    Raises:
        PlanError: fields contradict each other.
        PrivacyLimitError: under the guarantee, reports would be entirely random.

    Source: ZWZ05, section 4.

    >>> import assocpriv as ap
    >>> attributes = [ap.guided.number("age", [30, 60]), ap.guided.category("smokes", ["no", "yes"])]
    >>> ill = ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, guarantee=ap.Guarantee("5%", "50%"))
    >>> plan.names, plan.width, plan.amplification < 19
    (('age', 'smokes', 'ill'), 5, True)
    """
    attributes, safeguard = tuple(attributes), None
    if guarantee is not None:
        safeguard = safeguard_for(keep, guarantee, prod(column.inputs for column in attributes), reports_per_person)
    return GuidedPlan(attributes, label, mu, batch, safeguard, guarantee, reports_per_person)


def _value_names(column: Column) -> Sequence[str]:
    """Return the names of an attribute's values or intervals."""
    if not isinstance(column, CutColumn):
        names: list[str] = column.to_fields()["values"]
        return names
    edges = [f"{edge:.6g}" for edge in column.edges[1:-1].tolist()]
    inner = [f"{low}–{high}" for low, high in pairwise(edges)]
    return [f"<{edges[0]}", *inner, f"≥{edges[-1]}"]


# ---- guidance


@dataclass(frozen=True, eq=False)
class Guidance:
    """Perturbation guidance, one of a collection's series.

    Attributes:
        plan_id: id of the plan that it belongs to.
        serial: serial number, 1 for the first guidance of a collection.
        vectors: V*, int64 (w, k*), entries times 2^20.

    Source: ZWZ05, section 4.1.

    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, guarantee=ap.Guarantee("5%", "50%"))
    >>> guidance = ap.guided.Guidance.from_vectors(plan, 1, [[1.0], [0.0]])
    >>> guidance.level, guidance.vectors.ravel().tolist()
    (1, [1048576, 0])
    """

    plan_id: str
    serial: int
    vectors: NDArray[np.int64]

    def __post_init__(self) -> None:
        vectors = np.array(self.vectors)
        vectors.flags.writeable = False  # checked vectors cannot change later
        object.__setattr__(self, "vectors", vectors)

    @classmethod
    def from_vectors(cls, plan: GuidedPlan, serial: int, vectors: NDArray[np.float64]) -> "Guidance":
        """Return guidance with orthonormal vectors, rounded to the grid.

        Args:
            plan: the plan that the guidance belongs to.
            serial: serial number, from 1.
            vectors: orthonormal columns, float64 (w, k*).

        Returns:
            The guidance, checked against the plan.

        Raises:
            GuidanceError: as :meth:`check`.
        """
        made = cls(plan.plan_id, serial, np.rint(np.asarray(vectors) * UNIT).astype(np.int64))
        made.check(plan)
        return made

    @property
    def level(self) -> int:
        """k*, the number of columns."""
        return int(self.vectors.shape[1])

    def check(self, plan: GuidedPlan) -> None:
        """Check that this is guidance of a plan: of its id, of its shape, and orthonormal.

        Columns are orthonormal if no entry of VᵀV differs from 2^40·I by more than :func:`_tolerance`, which exceeds
        any rounding error.

        Args:
            plan: the plan that the guidance should belong to.

        Raises:
            GuidanceError: a check fails; the message says which.
        """
        if self.plan_id != plan.plan_id:
            raise GuidanceError(
                f"the guidance belongs to plan {self.plan_id[:12]}, not to {plan.plan_id[:12]}; fetch that of this plan"
            )
        if not 1 <= self.serial <= _LARGEST_SERIAL:
            raise GuidanceError(f"the guidance's serial number must be in 1..{_LARGEST_SERIAL}, got {self.serial}")
        rows, level = self.vectors.shape
        if rows != plan.width or not 1 <= level <= rows:
            raise GuidanceError(
                f"the guidance is a matrix of {rows} rows and {level} columns; tuples of {plan.width} bits need "
                f"{plan.width} rows and 1 to {plan.width} columns"
            )
        if (np.abs(self.vectors) > UNIT).any():
            raise GuidanceError("the guidance has an entry above 1, so its columns are not orthonormal; do not use it")
        # sums of at most 2^11 products below 2^40 are exact in doubles
        columns = self.vectors.astype(np.float64)
        gram = columns.T @ columns - np.diag(np.full(level, float(UNIT**2)))
        if np.abs(gram).max() > _tolerance(rows):
            raise GuidanceError("the guidance's columns are not orthonormal (VᵀV is not I); do not use it")

    @cached_property
    def projection(self) -> NDArray[np.int64]:
        """P = V Vᵀ, int64 (w, w), entries times 2^40: exact, as sums of at most 2^11 products below 2^40."""
        columns = self.vectors.astype(np.float64)
        return (columns @ columns.T).astype(np.int64)

    @cached_property
    def guidance_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    @property
    def canonical_json(self) -> str:
        """The guidance as JSON text: sorted keys, no blanks, ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def to_json(self) -> dict[str, Any]:
        """Return the guidance as JSON content; ``vectors`` is a list of columns.

        Returns:
            The fields ``format``, ``version``, ``plan``, ``serial``, ``level`` and ``vectors``. Entries of vectors are
            whole numbers, in units of 2^−20.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "plan": self.plan_id,
            "serial": self.serial,
            "level": self.level,
            "vectors": self.vectors.T.tolist(),
        }

    @classmethod
    def from_json(cls, content: object) -> "Guidance":
        """Read JSON content that :meth:`to_json` wrote; use :meth:`check` to check it against a plan.

        Args:
            content: JSON content, an object.

        Returns:
            The guidance, not yet checked against a plan.

        Raises:
            GuidanceError: the content is no guidance, or has an unknown version.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise GuidanceError(f"not guidance: the format is not {FORMAT!r}")
        if type(content.get("version")) is not int or content["version"] != VERSION or set(content) != _FIELDS:
            fields = ", ".join(sorted(_FIELDS))
            raise GuidanceError(f"guidance must have version {VERSION} and exactly the fields {fields}")
        plan_id, serial, columns = content["plan"], content["serial"], content["vectors"]
        if not isinstance(plan_id, str) or not _PLAN_ID.fullmatch(plan_id):
            raise GuidanceError("guidance must state its plan's id, 64 hexadecimal digits")
        if type(serial) is not int or not 1 <= serial <= _LARGEST_SERIAL or not _is_matrix(columns):
            raise GuidanceError(
                f"guidance must have a serial number in 1..{_LARGEST_SERIAL}, and vectors of whole numbers up to 2^20"
            )
        if content["level"] != len(columns) or type(content["level"]) is not int:
            raise GuidanceError("the guidance's level is not its number of vectors; do not use it")
        return cls(plan_id, serial, np.array(columns, dtype=np.int64).T)

    @classmethod
    def parse(cls, text: str) -> "Guidance":
        """Read guidance from JSON text; use :meth:`check` to check it against a plan.

        Args:
            text: JSON, as :attr:`canonical_json`.

        Returns:
            The guidance, not yet checked against a plan.

        Raises:
            GuidanceError: the text is no JSON, or as :meth:`from_json`.
        """
        try:
            content = json_fields(text)
        except ValueError:
            raise GuidanceError("not guidance: the text is not valid JSON, or repeats a field (cut off?)") from None
        return cls.from_json(content)

    def __repr__(self) -> str:
        return f"Guidance({self.serial} of plan {self.plan_id[:12]}, level {self.level})"


def _tolerance(width: int) -> int:
    """Return by how much an entry of VᵀV may differ from 2^40·I, for columns of ``width`` entries.

    Rounding columns v, w of norm 2^20 by at most 1/2 per entry adds no more than 2^20 √width + width/4 to v·w. The
    margin is for eigenvectors that are orthonormal only to about 10^-15.

    >>> _tolerance(42) / 2**40 < 7e-6
    True
    """
    return UNIT * (isqrt(width) + 1) + width


def _is_matrix(columns: object) -> bool:
    """Return whether JSON content is a list of equally long lists of whole numbers from −2^20 to 2^20."""
    if not isinstance(columns, list) or not columns or not all(isinstance(column, list) for column in columns):
        return False
    same = len({len(column) for column in columns}) == 1 and bool(columns[0])
    return same and all(type(entry) is int and abs(entry) <= UNIT for column in columns for entry in column)


# ---- weights


def project(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return t̃ times 2^40, int64 (n, w), of tuples given by their values' positions, (n, attributes)."""
    rows = guidance.projection
    total = np.zeros((len(positions), plan.width), dtype=np.int64)
    for offset, column in zip(plan.offsets.tolist(), positions.T, strict=True):
        total += rows[column + offset]
    return total


def unclipped_weights(projection: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weights a² of t̃, int64 of any shape, before clipping; they may exceed 2^32."""
    rounded = (np.abs(projection) + _HALF) >> _SHIFT
    return rounded * rounded


def bit_weights(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the weights w_j of the bits of R(t), of 2^32, int64 (n, w), from values' positions, (n, attributes)."""
    return np.minimum(unclipped_weights(project(guidance, plan, positions)), WEIGHT_TOTAL)


def weight_bounds(guidance: Guidance, plan: GuidedPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return lower and upper bounds of each bit's weight over all tuples, int64 (w,); the upper one is attained."""
    starts = plan.offsets
    low = np.minimum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    high = np.maximum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    ends = np.minimum(unclipped_weights(np.stack([low, high])), WEIGHT_TOTAL)
    least = np.where((low <= 0) & (high >= 0), 0, ends.min(axis=0))
    return least, ends.max(axis=0)


def mix_weights(weights: NDArray[np.int64], mixing: int) -> NDArray[np.int64]:
    """Return weights of 2^32 mixed with a fair bit by a mixing weight, of 2^49."""
    return mixing * WEIGHT_TOTAL + (MIXING_UNIT - mixing) * 2 * weights


def largest_ratio(low: NDArray[np.int64], high: NDArray[np.int64], mixing: int) -> Fraction | None:
    """Return the product of all bits' largest ratios after mixing; None if a bit may be certain and may be not."""
    worst = []
    for a, b in zip(mix_weights(low, mixing).tolist(), mix_weights(high, mixing).tolist(), strict=True):
        if a == b:
            continue
        if a == 0 or b == MIXED_TOTAL:
            return None
        up, down = (b, a), (MIXED_TOTAL - a, MIXED_TOTAL - b)
        worst.append(up if up[0] * down[1] >= down[0] * up[1] else down)
    return Fraction(prod(above for above, _ in worst), prod(below for _, below in worst))


def mixing_weight(guidance: Guidance, plan: GuidedPlan) -> int:
    """Return the smallest mixing weight of 0 … 2^16 that keeps a plan's γ under guidance; 0 if the plan mixes no bits.

    The product of ratios decreases with the mixing weight, and is 1 at 2^16.
    """
    if not isinstance(plan.safeguard, BitMix):
        return 0
    low, high = weight_bounds(guidance, plan)
    limit = plan.safeguard.limit

    def keeps(mixing: int) -> bool:
        ratio = largest_ratio(low, high, mixing)
        return ratio is not None and ratio <= limit

    return bisect_left(range(MIXING_UNIT), True, key=keeps)


def random_share(plan: GuidedPlan, guidance: Guidance) -> Fraction:
    """Return the random share of a report: λ if a guarantee is kept by bits, q if by tuples, 0 without a guarantee."""
    if isinstance(plan.safeguard, TupleMix):
        return plan.safeguard.random_share
    return Fraction(mixing_weight(guidance, plan), MIXING_UNIT)
