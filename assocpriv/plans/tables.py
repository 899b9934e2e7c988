"""The plan of a table, frozen: the one description that everybody reads of its columns, each with its law.

A record's report is a code for each column, one after the other, of one or two bytes each, the lowest byte first.
docs/formats/plan.md describes every field, docs/formats/reports.md the bytes.
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

from assocpriv.plans.columns import Column, LabelColumn, column_from_json, column_to_json
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON, PublishedPlan, check_integer
from assocpriv.promise.errors import PlanError, WireError, counted

if TYPE_CHECKING:
    from assocpriv.promise.breaches import Breach

MOST_COLUMNS = 1000
MOST_ANSWERS = 10_000  # of a person that γ covers: so many ratios are multiplied by everybody who reads a plan


@dataclass(frozen=True)
class TablePlan(PublishedPlan):
    """What a collection of records publishes.

    Columns with a γ are *protected*. Where ``answered`` is less than there are protected columns other than labels,
    each report answers that many of these, drawn uniformly by the device, whatever the record holds; the others are
    released as *not asked*. The γ of a report is the product of those of its labels and of the largest ``answered``
    others, and covers protected columns alone, missing values included.

    Without a protected column there is neither ``promise`` nor γ: noise that is added promises an average.

    Attributes:
        columns: each with the law that releases it.
        answered: how many of the protected columns a report answers, labels apart.
        promise: of all protected columns of all reports of a person; None without a protected column.
        reports_per_person: R.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: the amplification of all reports of a person is not strictly below the promise's limit.

    Source: EGS03, section 4, for γ.

    >>> import assocpriv as ap
    >>> smokes = {"kind": "category", "values": ["no", "yes"], "release": "response"}
    >>> plan = ap.numeric.plan_table({"columns": {"smokes": smokes}}, ap.Breach("5%", "50%"))
    >>> plan.names, plan.report_bytes, plan.amplification < plan.promise.amplification_limit
    (('smokes',), 1, True)
    """

    columns: tuple[Column, ...]
    answered: int
    promise: "Breach | None" = None
    reports_per_person: int = 1

    kind: ClassVar = "table"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("columns", "answered", "promise"))

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MOST_COLUMNS:
            raise PlanError(f"a table plan needs 1 to {MOST_COLUMNS:,} columns, got {len(self.columns):,}")
        if len({column.name for column in self.columns}) != len(self.columns):
            raise PlanError("two columns have the same name; names must differ")
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        check_integer(self.answered, "answered", min(1, len(self.asked)), len(self.asked))
        check_answers(self.answered + self._protected_labels, self.reports_per_person)
        if (self.promise is None) != (self.amplification is None):
            raise PlanError("a table plan states a promise if and only if a column has a γ")
        self._check_promise()

    @cached_property
    def asked(self) -> tuple[int, ...]:
        """Positions of the protected columns of which each report answers some: all but labels."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if column.is_protected and not isinstance(column, LabelColumn)
        )

    @property
    def asks(self) -> list[tuple[Fraction, str]]:
        """What all people are asked: some of the columns that the device draws, and all others."""
        drawn = [self.columns[place].name for place in self.asked] if self.is_sampled else []
        rest = [column.name for column in self.columns if column.name not in drawn]
        said = [f"{self.answered} of these, which the device draws: {shortened(drawn)}"] if drawn else []
        return [(Fraction(1), each) for each in [*said, *([shortened(rest)] if rest else [])]]

    @property
    def _protected_labels(self) -> int:
        """How many labels are protected."""
        return sum(column.is_protected for column in self.columns) - len(self.asked)

    @property
    def is_sampled(self) -> bool:
        """Whether a report answers some of the protected columns only."""
        return self.answered < len(self.asked)

    @cached_property
    def amplification(self) -> Fraction | None:
        """γ of one report's protected columns, exactly; None where there are none."""
        found = [column.law.amplification for column in self.columns]
        every = [found[place] for place in self.asked]
        labels = [ratio for place, ratio in enumerate(found) if ratio is not None and place not in self.asked]
        largest = heapq.nlargest(self.answered, [ratio for ratio in every if ratio is not None])
        return math.prod([*labels, *largest], start=Fraction(1)) if labels or largest else None

    @property
    def uncovered(self) -> str:
        """The columns that γ does not cover; empty where it covers all, or where there is none."""
        if self.amplification is None:
            return ""
        names = [column.name for column in self.columns if not column.is_protected]
        return f"column{'s' * (len(names) > 1)} {', '.join(names)}" if names else ""

    def unasked_code(self, place: int) -> int | None:
        """Return the released code of a column that a report does not answer; None where each report does."""
        return self.columns[place].codes if self.is_sampled and place in self.asked else None

    @cached_property
    def code_counts(self) -> tuple[int, ...]:
        """How many codes each column has, that of not being asked included."""
        return tuple(column.codes + (self.unasked_code(place) is not None) for place, column in enumerate(self.columns))

    @cached_property
    def record_type(self) -> np.dtype[Any]:
        """A report as a numpy record: a field ``c0``, ``c1``, … for each column, of one byte or two, little-endian."""
        return np.dtype([(f"c{place}", "<u1" if n <= 256 else "<u2") for place, n in enumerate(self.code_counts)])

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return self.record_type.itemsize

    def codes(self, packed: NDArray[np.uint8], place: int) -> NDArray[np.unsignedinteger[Any]]:
        """Return the released codes of one column, (n,), of packed reports, uint8 (n, report_bytes): a view."""
        view: NDArray[np.unsignedinteger[Any]] = np.ascontiguousarray(packed).view(self.record_type)[f"c{place}"][:, 0]
        return view

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Refuse codes that a column does not have."""
        for place, n_codes in enumerate(self.code_counts):
            wrong = np.flatnonzero(self.codes(packed, place) >= n_codes)
            if len(wrong):
                where = f"{source}report {first + int(wrong[0])}"
                raise WireError(f"{where} has a code in column {self.columns[place].name} that no client sends")

    def place_of(self, name: str) -> int:
        """Return the position of a column; PlanError if there is none of this name."""
        for place, column in enumerate(self.columns):
            if column.name == name:
                return place
        raise PlanError(f"there is no column {name[:80]!r} in the plan; it has {shortened(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's own fields as JSON content."""
        return {
            "columns": [column_to_json(column) for column in self.columns],
            "answered": self.answered,
            "promise": self._promise_to_json(),
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "TablePlan":
        """Read what :meth:`to_fields` wrote."""
        if not isinstance(fields["columns"], list):
            raise PlanError("plan field columns must be a list")
        breach = cls._promise_from_json(fields["promise"])
        columns = tuple(map(column_from_json, fields["columns"]))
        return cls(columns, fields["answered"], breach, fields["reports_per_person"])

    def __repr__(self) -> str:
        bound = "" if self.promise is None else f", γ < {float(self.promise.amplification_limit):g}"
        columns = counted(len(self.columns), "column")
        return f"TablePlan({self.plan_id[:12]}, {columns}{bound}, {self.report_bytes}-byte reports)"


def check_answers(columns: int, reports_per_person: int) -> None:
    """Refuse more protected answers of a person than a plan may ask for; ``columns`` are those of a report."""
    if columns * reports_per_person > MOST_ANSWERS:
        raise PlanError(
            f"a person gives {columns * reports_per_person:,} protected answers, {columns:,} in each of "
            f"{reports_per_person:,} reports, but at most {MOST_ANSWERS:,} are possible; answer fewer columns"
        )


def shortened(names: Sequence[str], most: int = 8) -> str:
    """Return names in a row, some of them where there are many.

    >>> shortened(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
