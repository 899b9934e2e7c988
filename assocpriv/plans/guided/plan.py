"""The frozen plan of guided perturbation: what a tuple is, how guidance is chosen, and what a report looks like.

A tuple is a record's values without its class; as bits, one a value of every attribute, exactly one of each attribute's
is set. A report answers one guidance (plans/guided/guidance.py): its serial number, the class in clear, and the
released bits. docs/formats/guided-plan.md describes every field and byte.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005 (ZWZ05), section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guided.attributes import CutColumn, attribute_from_json, attribute_to_json, label_from_json
from assocpriv.plans.guided.safeguards import Safeguard, safeguard_for, safeguard_from_json
from assocpriv.plans.numeric.columns import Column, LabelColumn
from assocpriv.plans.published import PublishedPlan, check_fields, check_integer
from assocpriv.promise.breaches import Breach, format_fraction, read_fraction
from assocpriv.promise.errors import PlanError, PrivacyLimitError, WireError, counted

MOST_ATTRIBUTES = 1000
MOST_WIDTH = 2048  # bits of a tuple: guidance of as many vectors is 40 MB of text
MOST_BATCH = 1 << 20
SERIAL_BYTES = 4
MAGNITUDE, VALUE = ORDERS = ("magnitude", "value")
_MOST_REPORTS_PER_PERSON = 1000


@dataclass(frozen=True)
class GuidedPlan(PublishedPlan):
    """What a collection under guidance publishes.

    Without a safeguard there is neither promise nor γ: a miner that publishes a column of the identity as guidance
    learns that bit of everybody.

    Attributes:
        attributes: each with two values or more.
        label: the class column; every report shows it in clear.
        mu: μ of equation (6), the share of the largest eigenvalue from which on eigenvectors are left out.
        batch: how many tuples come in before guidance is published anew.
        order: of eigenvalues, by magnitude or, of two classes, by value as in the paper.
        safeguard: how the promise is kept; None together with it.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: γ of all reports of a person is not strictly below the promise's limit.
    """

    attributes: tuple[Column, ...]
    label: LabelColumn
    mu: Fraction = Fraction(3, 20)
    batch: int = 100
    order: str = MAGNITUDE
    safeguard: Safeguard | None = None
    promise: Breach | None = None
    reports_per_person: int = 1

    kind: ClassVar = "guided"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("attributes", "label", "mu", "batch", "order", "safeguard", "promise"))

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MOST_ATTRIBUTES:
            raise PlanError(f"a guided plan needs 1 to {MOST_ATTRIBUTES:,} attributes, got {len(self.attributes):,}")
        for column in (*self.attributes, self.label):
            if column.inputs < 2:
                raise PlanError(f"column {column.name} has one value only, which tells nothing; leave it out")
        if len(set(self.names)) != len(self.names):
            raise PlanError("two columns have the same name; names must differ")
        if self.width > MOST_WIDTH:
            raise PlanError(
                f"the attributes have {self.width:,} values together, but at most {MOST_WIDTH:,} are possible; cut "
                "numbers into fewer intervals, or leave attributes out"
            )
        if not 0 < self.mu < 1:
            raise PlanError("plan field mu must lie between 0 and 1")
        check_integer(self.batch, "batch", 1, MOST_BATCH)
        if self.order not in ORDERS or (self.order == VALUE and len(self.labels) > 2):
            raise PlanError("plan field order must be magnitude, or, where there are two classes, value")
        check_integer(self.reports_per_person, "reports_per_person", 1, _MOST_REPORTS_PER_PERSON)
        if (self.promise is None) != (self.safeguard is None):
            raise PlanError("a guided plan states a promise if and only if it says how that is kept")
        together = self.composed_amplification
        if self.promise is not None and together is not None and together >= self.promise.amplification_limit:
            raise PrivacyLimitError(
                "the plan's amplification of all that a person sends breaks its promise, which needs less than "
                f"{float(self.promise.amplification_limit):.6g}; do not use this plan"
            )

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
        breach, safeguard = self.promise, self.safeguard
        return {
            "attributes": [attribute_to_json(column) for column in self.attributes],
            "label": {"name": self.label.name, "values": list(self.labels)},
            "mu": format_fraction(self.mu),
            "batch": self.batch,
            "order": self.order,
            "safeguard": safeguard and {"kind": safeguard.kind, **safeguard.to_fields()},
            "promise": breach and {name: format_fraction(getattr(breach, name)) for name in ("prior", "posterior")},
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "GuidedPlan":
        """Read what :meth:`to_fields` wrote."""
        if not isinstance(fields["attributes"], list):
            raise PlanError("plan field attributes must be a list")
        breach = None
        if fields["promise"] is not None:
            promise = check_fields(fields["promise"], "promise", {"prior", "posterior"})
            breach = Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior")))
        return cls(
            tuple(map(attribute_from_json, fields["attributes"])),
            label_from_json(fields["label"]),
            read_fraction(fields["mu"], "mu"),
            fields["batch"],
            fields["order"],
            safeguard_from_json(fields["safeguard"]),
            breach,
            fields["reports_per_person"],
        )

    def __repr__(self) -> str:
        bound = "" if self.promise is None else f", γ < {float(self.promise.amplification_limit):g}"
        return (
            f"GuidedPlan({self.plan_id[:12]}, {counted(len(self.attributes), 'attribute')}, {self.width} bits{bound})"
        )


def guided_plan(
    attributes: Sequence[Column],
    label: LabelColumn,
    *,
    promise: Breach | None = None,
    keep: str = "bits",
    mu: Fraction = Fraction(3, 20),
    batch: int = 100,
    order: str = MAGNITUDE,
    reports_per_person: int = 1,
) -> GuidedPlan:
    """Return a plan, with the safeguard that keeps its promise, if it makes one.

    Args:
        attributes: as :func:`~assocpriv.plans.guided.attributes.category` and ``number`` make them.
        label: as :func:`~assocpriv.plans.guided.attributes.class_label` makes it.
        promise: what all reports of a person are to keep; without one none does, whoever publishes the guidance.
        keep: how: ``"bits"`` or ``"tuple"``; see plans/guided/safeguards.py.
        mu, batch, order, reports_per_person: of :class:`GuidedPlan`.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: nothing would be left of a person's tuple.
    """
    listed = tuple(attributes)
    safeguard = None
    if promise is not None:
        safeguard = safeguard_for(keep, promise, prod(column.inputs for column in listed), reports_per_person)
    return GuidedPlan(listed, label, mu, batch, order, safeguard, promise, reports_per_person)


def _value_names(column: Column) -> Sequence[str]:
    """Return how each value of an attribute is called; intervals by their lower cut points."""
    if not isinstance(column, CutColumn):
        names: list[str] = column.to_fields()["values"]
        return names
    edges = [f"{edge:.6g}" for edge in column.edges[1:-1].tolist()]
    inner = [f"{low}–{high}" for low, high in pairwise(edges)]
    return [f"<{edges[0]}", *inner, f"≥{edges[-1]}"]
