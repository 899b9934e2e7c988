"""The immutable plan of a table: its columns, each with the mechanism that releases it.

A report consists of one code for each column, in order, of one or two bytes each, the lowest byte first.
docs/formats/table-plan.md describes every field, docs/formats/reports.md the bytes.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import PlanError, WireError, pluralize
from assocpriv.plans.numeric.table_columns import Column, LabelColumn, column_from_json, column_to_json
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON, PublishedPlan, check_integer

if TYPE_CHECKING:
    from assocpriv.guarantees.amplification import Guarantee

MOST_COLUMNS = 1000
MOST_PROTECTED_VALUES = 10_000  # of a person; every reader of a plan multiplies their ratios


@dataclass(frozen=True)
class TablePlan(PublishedPlan):
    """The plan of a collection of table records.

    Columns with a finite γ are *protected*. If ``columns_per_report`` is less than the number of protected columns
    other than labels, a device draws that many of them uniformly, independently of the record, and releases the others
    as
    *omitted*. A report's γ is the product of those of its labels and of the largest ``columns_per_report`` others. It
    covers only protected columns, including missing values.

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
    guarantee: "Guarantee | None" = None
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
        """Return the released code of a column that a report omits; None if every report covers the column."""
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
        """Return a view of one column's released codes, (n,), in packed reports, uint8 (n, report_bytes)."""
        view: NDArray[np.unsignedinteger[Any]] = np.ascontiguousarray(packed).view(self.record_type)[f"c{place}"][:, 0]
        return view

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Raise WireError for a code that its column does not have."""
        for place, n_codes in enumerate(self.code_counts):
            wrong = np.flatnonzero(self.codes(packed, place) >= n_codes)
            if len(wrong):
                where = f"{source}report {first + int(wrong[0])}"
                raise WireError(f"{where} has a code in column {self.columns[place].name} that no client sends")

    def place_of(self, name: str) -> int:
        """Return the position of a column; raise PlanError if no column has this name."""
        if name not in self.names:
            raise PlanError(f"the plan has no column {name[:80]!r}; its columns are {shortened(self.names)}")
        return self.names.index(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's own fields as JSON content."""
        return {
            "columns": [column_to_json(column) for column in self.columns],
            "columns_per_report": self.columns_per_report,
            "guarantee": self._guarantee_to_json(),
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "TablePlan":
        """Read what :meth:`to_fields` wrote."""
        if not isinstance(fields["columns"], list):
            raise PlanError("plan field columns must be a list")
        guarantee = cls._guarantee_from_json(fields["guarantee"])
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
