"""The immutable plan of a basket collection, which client, server, planner and audit read.

A plan holds integers only: the operators' weights, the generators' fields, the guarantee as fractions. The meaning of a
published plan never changes. docs/formats/plan.md describes every field.

A device draws one of the plan's report types, independently of the basket, and sends a response of this type
(plans/baskets/report_type.py). A report is the report type's number and the response:

    P[x → (q, y)] = w_q/W · P_q[x → y]

w_q of W being the report types' weights. So the ratio of two transactions' probabilities is that of the responses, and

    γ = max_q γ_q

exactly, as each report type has a positive probability. Reports of a plan with one report type hold no number.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.baskets.operator import check_length, refuse
from assocpriv.plans.baskets.report_type import MOST_WEIGHT, ItemsView, ReportType, SizesView
from assocpriv.plans.published_plan import (
    MOST_REPORTS_PER_PERSON,
    PublishedPlan,
    check_integer,
    guarantee_from_json,
)

MOST_REPORT_TYPES = 16
NUMBER_BYTES = 1  # of a report's type number, if there are several report types


@dataclass(frozen=True)
class Plan(PublishedPlan):
    """The plan of a basket collection: catalogue, report types, guarantee and handling of names.

    Every transaction is padded or sampled to exactly M entries of its report type, which hides its size. All reports
    have the same length, whatever their report type: shorter responses end in zero bytes.

    The guarantee covers everything in **all** reports of a person, who may send ``reports_per_person`` of them (the
    budget ledger, client/ledger.py, counts them). Together they have an amplification of at most γ^R, which stays below
    the guarantee's limit.

    Attributes:
        catalogue: the items.
        report_types: 1..16 distinct report types, at least one of them about items.
        guarantee: the privacy guarantee of all reports of one person.
        names: how clients turn a basket's names into a transaction.
        reports_per_person: R, 1..1000.
        central: the central (ε, δ) guarantee, if an anonymous channel hides who sent which report; None if reports are
            sent directly. :meth:`check_central` checks that it follows from the operators.

    Raises:
        PlanError: fields contradict each other.
        PrivacyLimitError: the amplification of all reports of a person is not strictly below the guarantee's limit.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> isinstance(made, ap.Plan), made.n_items, len(made.report_types), made.items.transaction_size
    (True, 2, 1, 2)
    """

    catalogue: Catalogue
    report_types: tuple[ReportType, ...]
    guarantee: Guarantee
    names: Names = field(default_factory=Names)
    reports_per_person: int = 1
    central: CentralGuarantee | None = None

    kind: ClassVar[str] = "baskets"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("catalogue", "report_types", "guarantee", "names"))
    optional_names: ClassVar = frozenset(("central",))

    def __post_init__(self) -> None:
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        if not 1 <= len(self.report_types) <= MOST_REPORT_TYPES or len(set(self.report_types)) < len(self.report_types):
            raise PlanError(f"a plan must have 1 to {MOST_REPORT_TYPES} distinct report types")
        check_integer(self.total_weight, "share (of all report types together)", 1, MOST_WEIGHT)
        self.names.check_catalogue(self.catalogue)
        for report_type in self.report_types:
            if report_type.n_items != report_type.view.n_entries(self.n_items):
                raise PlanError("a report type and the catalogue have different numbers of items")
        if not any(isinstance(report_type.view, ItemsView) for report_type in self.report_types):
            raise PlanError("a plan must have a report type about items; basket sizes alone give no itemsets")
        self._check_guarantee()

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.catalogue)

    # ---- report types

    @property
    def total_weight(self) -> int:
        """The weight of all report types together."""
        return sum(report_type.weight for report_type in self.report_types)

    @cached_property
    def cumulative_weights(self) -> tuple[int, ...]:
        """The cumulative weights of the report types, from which devices draw."""
        return tuple(accumulate(report_type.weight for report_type in self.report_types))

    @property
    def contents(self) -> list[tuple[Fraction, str]]:
        """Descriptions of what reports are about, each with the share of people whose reports are."""
        return [(self.share(each), each.view.describe(each.transaction_size)) for each in self.report_types]

    def share(self, report_type: ReportType) -> Fraction:
        """Return the probability that a device draws a report type.

        Args:
            report_type: one of ``report_types``.

        Returns:
            The probability, exactly.
        """
        return Fraction(report_type.weight, self.total_weight)

    def largest_report_type(self, view_kind: str) -> ReportType | None:
        """Return the report type with the largest weight among those with one kind of view; the first of equal ones.

        Args:
            view_kind: the kind of view, as ``"items"`` or ``"sizes"``.

        Returns:
            The report type; None if no report type has such a view.
        """
        found = [report_type for report_type in self.report_types if report_type.view.kind == view_kind]
        return max(found, key=lambda report_type: report_type.weight) if found else None

    @cached_property
    def items(self) -> ReportType:
        """The report type about items with the largest weight, from which itemsets are mined."""
        report_type = self.largest_report_type("items")
        assert report_type is not None
        return report_type

    @cached_property
    def sizes(self) -> ReportType | None:
        """The report type about basket sizes with the largest weight; None without one whose classes begin at M."""
        found = self.largest_report_type("sizes")
        return found if found and _bounds_of(found)[0] == self.items.transaction_size else None

    @property
    def size_bounds(self) -> tuple[int, ...]:
        """The smallest sizes of the classes of :attr:`sizes`; empty without such a report type."""
        return _bounds_of(self.sizes) if self.sizes else ()

    # ---- guarantee

    @property
    def amplification(self) -> Fraction:
        """γ of one report, exactly: no report is more than γ times as likely under one basket as under another."""
        return max(report_type.amplification for report_type in self.report_types)

    @property
    def composed_amplification(self) -> Fraction:
        """γ^R of all reports of one person, exactly."""
        return self.amplification**self.reports_per_person

    @property
    def blanket(self) -> Fraction:
        """A lower bound λ of Σ_y min_x P[x → y] over the plan's reports y: the mean over its report types.

        A report's type is drawn independently of the basket, so min_x P[x → (q, y)] = φ_q min_x P_q[x → y].
        """
        return sum((self.share(each) * each.operator.blanket for each in self.report_types), Fraction(0))

    # ---- reports

    @property
    def number_bytes(self) -> int:
        """Number of bytes for the report type's number in a report."""
        return NUMBER_BYTES if len(self.report_types) > 1 else 0

    @cached_property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return self.number_bytes + max(report_type.form.length for report_type in self.report_types)

    def pack_report(self, number: int, response: bytes) -> bytes:
        """Return the report with a report type's number and response.

        Args:
            number: position of the report type in ``report_types``.
            response: the response's bytes, at most as long as the longest response of the plan.

        Returns:
            The report, ``report_bytes`` bytes; short responses are filled with zeros.
        """
        length = self.report_bytes - self.number_bytes
        return number.to_bytes(self.number_bytes, "little") + response.ljust(length, b"\0")

    def unpack_report(self, report: bytes) -> tuple[ReportType, bytes]:
        """Return the report type and the response in a report.

        Args:
            report: the report's bytes.

        Returns:
            The report type, and the bytes of its response.

        Raises:
            WireError: no client of the plan can have sent the bytes.
        """
        check_length(report, self.report_bytes)
        packed = np.frombuffer(report, dtype=np.uint8)[None]
        self._check(packed, lambda _: "a report")
        number = int(self.type_numbers(packed)[0])
        return self.report_types[number], self.responses_in(packed, number)[0].tobytes()

    def type_numbers(self, packed: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the report type's number of each packed report.

        Args:
            packed: reports, uint8 (n, report_bytes).

        Returns:
            Positions in ``report_types``, int64 (n,).
        """
        if not self.number_bytes:
            return np.zeros(len(packed), dtype=np.int64)
        return packed[:, 0].astype(np.int64)

    def responses_in(self, packed: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
        """Return the responses of one report type among packed reports.

        Args:
            packed: reports, uint8 (n, report_bytes).
            number: position of the report type in ``report_types``.

        Returns:
            uint8 (responses, bytes), in the order of the reports; ``bytes`` is the length of the type's response.
        """
        start, length = self.number_bytes, self.report_types[number].form.length
        if not start:
            return packed
        return np.ascontiguousarray(packed[packed[:, 0] == number, start : start + length])

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Check that clients of the plan can have sent the reports: known report types and valid bits.

        Args:
            packed: reports, uint8 (n, report_bytes).
            source: text for the error message before the report's number, as a file's name.
            first: number of the first report for the error message.

        Raises:
            WireError: no client can have sent a report; the message names ``source`` and the first such report.
        """
        self._check(packed, lambda row: f"{source}report {first + row}")

    def _check(self, packed: NDArray[np.uint8], naming: Callable[[int], str]) -> None:
        numbers = self.type_numbers(packed)
        refuse(numbers >= len(self.report_types), naming, f"has a report type outside 0..{len(self.report_types) - 1}")
        for number, report_type in enumerate(self.report_types):
            rows = np.flatnonzero(numbers == number)
            names = _naming_rows(naming, rows)
            report_type.form.check(self.responses_in(packed, number), names)
            padding = packed[rows, self.number_bytes + report_type.form.length :]
            refuse(padding.any(axis=1), names, "has bits set beyond its response")

    # ---- text

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's fields as JSON content.

        Returns:
            The fields of ``field_names``, and ``central`` if the plan has a central guarantee.
        """
        return {
            "catalogue": self.catalogue.to_json(),
            "report_types": [report_type.to_json(self.total_weight) for report_type in self.report_types],
            "guarantee": self._guarantee_to_json(),
            "names": self.names.to_json(),
        } | ({"central": self.central.to_json()} if self.central else {})

    def __repr__(self) -> str:
        types = f"{len(self.report_types)} report types, " if len(self.report_types) > 1 else ""
        return (
            f"Plan({self.plan_id[:12]}, {self.n_items} items, at most {self.items.transaction_size} per transaction, "
            f"{types}{self._bound_text()}, {self.report_bytes}-byte reports)"
        )

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Plan":
        """Read what :meth:`to_fields` wrote.

        Args:
            fields: the plan's fields with those of the envelope, as JSON content; ``central`` may be missing.

        Returns:
            The plan, checked.

        Raises:
            PlanError: a field of another form, or fields that contradict each other.
            PrivacyLimitError: the amplification is not below the guarantee's limit.
        """
        catalogue = Catalogue.from_json(fields["catalogue"])
        if not isinstance(fields["report_types"], list) or len(fields["report_types"]) > MOST_REPORT_TYPES:
            raise PlanError(f"plan field report_types must be a list of at most {MOST_REPORT_TYPES}")
        read = [ReportType.from_json(content, len(catalogue)) for content in fields["report_types"]]
        plan = cls(
            catalogue=catalogue,
            report_types=tuple(report_type for report_type, _ in read),
            guarantee=guarantee_from_json(fields["guarantee"]),
            names=Names.from_json(fields["names"]),
            reports_per_person=fields["reports_per_person"],
            central=CentralGuarantee.from_json(fields["central"]) if "central" in fields else None,
        )
        if any(total != plan.total_weight for _, total in read):
            raise PlanError(f'plan field share must be "N of {plan.total_weight}": the weights N add up to this')
        return plan


def _bounds_of(report_type: ReportType) -> tuple[int, ...]:
    assert isinstance(report_type.view, SizesView)
    return report_type.view.bounds


def _naming_rows(naming: Callable[[int], str], rows: NDArray[np.int64]) -> Callable[[int], str]:
    """Return a function that names reports by their place among some rows."""
    return lambda place: naming(int(rows[place]))


def report_items(report: bytes, plan: Plan) -> frozenset[str]:
    """Return the items that one report shows: some of its sender's and some added at random.

    Args:
        report: ``plan.report_bytes`` bytes.
        plan: the published plan.

    Returns:
        Names of the plan's catalogue, without padding items. A response of a report type that is not about items shows
        none.

    Raises:
        WireError: no client of the plan can have sent the bytes.
        TypeError: the report is not bytes, or the plan is none.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.device.report_items(ap.randomize({"milk"}, made), made) <= {"milk", "tea"}
    True
    """
    Plan.require(plan)
    if not isinstance(report, bytes):
        raise TypeError(f"a report is bytes, got a {type(report).__name__}")
    report_type, response = plan.unpack_report(report)
    shown = report_type.form.items(response) if isinstance(report_type.view, ItemsView) else frozenset()
    return frozenset(plan.catalogue[item] for item in shown if item < plan.n_items)
