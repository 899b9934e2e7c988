"""The base class of all plan types: an id, a guarantee, and reports of fixed length.

Files and ledgers use nothing else of a plan. A plan is one JSON object; its *envelope* consists of the fields
``format``, ``version``, ``kind`` and ``reports_per_person``. Plan types derive from a class instead of following a
protocol, so that there is one way to compute an id. A plan never sees raw data.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import (
    LARGEST_DENOMINATOR,
    NO_AMPLIFICATION,
    VERY_WEAK_EPSILON,
    Guarantee,
    format_fraction,
    read_fraction,
    round_amplification_up,
    round_epsilon_up,
)
from assocpriv.guarantees.errors import (
    NotAPlanError,
    PlanError,
    PrivacyLimitError,
    RepeatedFieldError,
    WireError,
    json_fields,
    pluralize,
)
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.plans.result_display import html_renderer

FORMAT = "assocpriv-plan"
VERSION = 1
AnyPlan = TypeVar("AnyPlan", bound="PublishedPlan")
MOST_REPORTS_PER_PERSON = 1000
ID_BYTES = 16  # of a submission's id, before each report that is sent
MOST_BATCH_BYTES = 1 << 28  # of the reports that are in memory when a batch is closed or read
UNKNOWN = "this plan's version or type is unknown here; a newer release of assocpriv may read it"
_ENVELOPE = {"format", "version", "kind", "reports_per_person"}
_MARKS = "{[:,"  # a text has at least one of these for each value
_MOST_MARKS = (1 << 22) + (1 << 10)  # enough for a million items with a pair of names each, or two commas in a name


class PublishedPlan(ABC):
    """The plan that a collection publishes, of any type.

    ``kinds`` are the plan types that a class reads, ``field_names`` the required fields of its JSON besides the
    envelope's, ``optional_names`` the optional ones.
    """

    kinds: ClassVar[tuple[str, ...]]
    field_names: ClassVar[frozenset[str]]
    optional_names: ClassVar[frozenset[str]] = frozenset()

    _repr_html_ = html_renderer("assocpriv.show.guarantee_views:guaranteed")

    @property
    @abstractmethod
    def kind(self) -> str:
        """The plan type, as in the plan's JSON."""

    reports_per_person: int
    guarantee: Guarantee | None  # of all reports of a person; None if the plan has no γ
    central: CentralGuarantee | None = None  # of batches from an anonymous channel

    @property
    @abstractmethod
    def amplification(self) -> Fraction | None:
        """γ of one report, exactly; None if it is unbounded, as with additive noise, which guarantees an average."""

    @property
    def blanket(self) -> Fraction:
        """A lower bound λ of Σ_y min_x P[x → y] (guarantees/shuffle_model.py)."""
        return Fraction(0)

    @property
    def record_bytes(self) -> int:
        """Length in bytes of a report preceded by its submission's id."""
        return ID_BYTES + self.report_bytes

    @property
    def minimum_batch_size(self) -> int:
        """The minimum batch size in reports: what the central guarantee is proved for, or 0 without one."""
        return self.central.reports if self.central else 0

    def check_central(self) -> None:
        """Check that the central guarantee follows from γ and the blanket, and that its batches fit into memory.

        Raises:
            PrivacyLimitError: it does not follow.
            PlanError: a batch takes too much memory.
        """
        most = MOST_BATCH_BYTES // self.record_bytes
        if self.minimum_batch_size > most:
            raise PlanError(
                f"{self.minimum_batch_size:,} reports of {pluralize(self.report_bytes, 'byte')} are more than a "
                f"collector closes together; state the central guarantee for {most:,} or fewer: more reports then make "
                "several batches"
            )
        if not self._is_central_proved:
            raise PrivacyLimitError(
                "the plan's central guarantee does not follow from its amplification and blanket; do not use this plan"
            )

    @cached_property
    def _is_central_proved(self) -> bool:
        gamma, times = self.amplification, self.reports_per_person
        return self.central is None or (gamma is not None and self.central.holds(gamma, self.blanket, times))

    def _bound_text(self) -> str:
        """Return ε and γ of the guarantee for a repr; a very weak one is called so."""
        if self.guarantee is None:
            return "no guarantee"
        of_all = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
        weak = ", very weak" if self.central is None and self.guarantee.epsilon > VERY_WEAK_EPSILON else ""
        limit = float(self.guarantee.amplification_limit)
        return f"ε ≤ {self.guarantee.epsilon}{of_all} (γ < {limit:g}{weak})"

    def check_batch(self, reports: int, done: str) -> None:
        """Check that a batch has at least the minimum size.

        Args:
            reports: number of reports of the batch.
            done: a past participle for the error message, as ``"closed"``.

        Raises:
            PrivacyLimitError: there are fewer reports, or as :meth:`check_central`.
        """
        self.check_central()
        if reports < self.minimum_batch_size:
            raise PrivacyLimitError(
                f"{pluralize(reports, 'report')} of this plan cannot be {done}: its central guarantee is proved for "
                f"batches of {self.minimum_batch_size:,} or more; wait for more reports, or plan for fewer people"
            )

    @property
    def contents(self) -> Sequence[tuple[Fraction, str]]:
        """Descriptions of what reports are about, each with the share of people whose reports are."""
        return [(Fraction(1), "a record")]

    @property
    def uncovered(self) -> str:
        """Description of the parts of a report that γ does not cover; empty if γ covers all of it."""
        return ""

    @property
    def uncovered_secret(self) -> str:
        """The private part of ``uncovered``, for which a device cannot keep its budget's limit."""
        return self.uncovered

    @property
    def unbounded(self) -> str:
        """Description of a plan without γ."""
        return NO_AMPLIFICATION

    @property
    def composed_amplification(self) -> Fraction | None:
        """γ^R of all reports of one person; None if there is no γ.

        Reports are randomized independently, so the likelihoods of several multiply, whatever the dependence between
        their records; if each ratio can be γ, the product can be γ^R.
        """
        return None if self.amplification is None else self.amplification**self.reports_per_person

    @property
    def epsilon(self) -> float | None:
        """ε of all reports of a person together, rounded up to six decimals; None if there is no γ."""
        together = self.composed_amplification
        return None if together is None else round_epsilon_up(round_amplification_up(together, LARGEST_DENOMINATOR))

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """Length of every report of the plan in bytes."""

    @abstractmethod
    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Check that clients of the plan can have sent the reports.

        Args:
            packed: reports, uint8 (n, report_bytes).
            source: text for the error message before the report's number, as a file's name.
            first: number of the first report for the error message.

        Raises:
            WireError: the message names ``source`` and the first invalid report, counted from ``first``.
        """

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the fields of ``field_names``, and any of ``optional_names`` that are set, as JSON content.

        Returns:
            The fields by name.
        """

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Read a plan from its fields with the envelope's; only optional ones may be missing.

        Args:
            fields: the plan's fields with those of the envelope, as JSON content.

        Returns:
            The plan, checked.
        """

    def _check_guarantee(self) -> None:
        """Check that all reports of one person together keep the guarantee."""
        composed = self.composed_amplification
        if self.guarantee is not None and composed is not None and composed >= self.guarantee.amplification_limit:
            of_all = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
            raise PrivacyLimitError(
                f"the plan's amplification{of_all}, {_approximate(composed)}, breaks its guarantee, which requires "
                f"less than {_approximate(self.guarantee.amplification_limit)}; do not use this plan"
            )

    def _guarantee_to_json(self) -> dict[str, str] | None:
        if self.guarantee is None:
            return None
        return {name: format_fraction(getattr(self.guarantee, name)) for name in ("prior", "posterior")}

    def check_shape(self, packed: NDArray[np.uint8]) -> None:
        """Check the type and shape of reports; with others compiled code would read beyond its tables.

        Args:
            packed: reports, to be uint8 of shape (n, report_bytes).

        Raises:
            WireError: another type or shape.
        """
        if packed.dtype != "uint8" or packed.ndim != 2 or packed.shape[1] != self.report_bytes:
            got = f"{packed.dtype} of shape {packed.shape}"
            length = pluralize(self.report_bytes, "byte")
            raise WireError(f"reports of this plan are rows of {length} (uint8), got {got}")

    def require_type(self, wanted: type[AnyPlan]) -> AnyPlan:
        """Return this plan if it is of the wanted class.

        Args:
            wanted: the class, as :class:`assocpriv.Plan`.

        Returns:
            The same plan.

        Raises:
            PlanError: a plan of another type.
        """
        if not isinstance(self, wanted):
            raise PlanError(
                f"a plan of the type {self.kind} cannot be used here; give one of the type {' or '.join(wanted.kinds)} "
                "(the modules numeric and guided have the functions for tables)"
            )
        return self

    @classmethod
    def require(cls, plan: object) -> Self:
        """Return a plan if it is of this class.

        Args:
            plan: what a caller gave as the plan.

        Returns:
            The same plan.

        Raises:
            PlanError: a plan of another type.
            TypeError: no plan.
        """
        if not isinstance(plan, PublishedPlan):
            hint = "its attribute plan is one" if hasattr(plan, "plan") else "read_plan reads one from a file"
            raise TypeError(f"plan must be a {cls.__name__} ({hint}), got a {type(plan).__name__}")
        return plan.require_type(cls)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON content.

        Returns:
            The fields with ``format``, ``version``, ``kind`` and ``reports_per_person``.
        """
        envelope = {"format": FORMAT, "version": VERSION, "kind": self.kind}
        return envelope | self.to_fields() | {"reports_per_person": self.reports_per_person}

    @cached_property
    def canonical_json(self) -> str:
        """The JSON text from which the plan's id is computed: sorted keys, no blanks, ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @cached_property
    def plan_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read JSON content that :meth:`to_json` wrote.

        Args:
            content: JSON content, an object.

        Returns:
            The plan, checked.

        Raises:
            PlanError: the content is no plan, or its format, version or type is unknown.
        """
        fields = check_envelope(content)
        if fields["kind"] not in cls.kinds:
            raise PlanError(UNKNOWN)
        names = _ENVELOPE | cls.field_names | cls.optional_names & set(fields)
        plan = cls.from_fields(check_fields(fields, "the top level", names))
        if plan.kind != fields["kind"]:
            raise PlanError("the plan's type is not that of its operators")
        return plan

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a plan from JSON text.

        Args:
            text: JSON, as :attr:`canonical_json`; blanks and the order of fields do not matter.

        Returns:
            The plan, checked.

        Raises:
            PlanError: the text is no JSON, or as :meth:`from_json`.
        """
        return cls.from_json(parse_text(text))


def parse_text(text: str) -> object:
    """Return the JSON content of a plan's text; raise PlanError for repeated fields or too many values.

    JSON that is mostly brackets takes 25 times the memory of its text, so the characters between values are counted
    before parsing. A text may have 2^22 + 2^10 of them, which take half a GiB at most.
    """
    if sum(map(text.count, _MARKS)) > _MOST_MARKS:
        raise NotAPlanError(
            f"not a plan: it has more than {_MOST_MARKS:,} of the characters {' '.join(_MARKS)} between values; that "
            "is enough for four per item of a plan with a million items"
        )

    try:
        return json_fields(text)
    except RepeatedFieldError:
        raise PlanError("a field of the plan is repeated; two readers might take different values") from None
    except ValueError:
        raise NotAPlanError("not a plan: the text is not valid JSON") from None


def check_envelope(content: object) -> dict[str, Any]:
    """Return JSON content if it is a plan of this version; its type need not be known."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NotAPlanError(f"not a plan: the format is not {FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version != VERSION or not isinstance(content.get("kind"), str):
        raise PlanError(UNKNOWN)
    return content


def guarantee_from_json(content: object) -> Guarantee:
    """Read a plan's guarantee; raise PlanError for anything else."""
    guarantee = check_fields(content, "guarantee", {"prior", "posterior"})
    return Guarantee(*(read_fraction(guarantee[name], name) for name in ("prior", "posterior")))


def _approximate(ratio: Fraction) -> str:
    try:
        return f"{float(ratio):.6g}"
    except OverflowError:
        return "beyond 1e308"


def check_integer(value: object, name: str, low: int, high: int) -> int:
    """Return a plan's field; raise PlanError unless it is a whole number in low..high."""
    if type(value) is not int:
        raise PlanError(f"plan field {name} must be an integer, got a {type(value).__name__}")
    if not low <= value <= high:
        got = str(value) if abs(value) < 10**18 else "a number of more than 18 digits"
        raise PlanError(f"plan field {name} must be in {low}..{high}, got {got}")
    return value


def check_fields(content: object, where: str, names: set[str]) -> dict[str, Any]:
    """Return JSON content; raise PlanError unless it has exactly the named fields."""
    if not isinstance(content, dict) or set(content) != names:
        raise PlanError(f"{where} of a plan must have exactly the fields {', '.join(sorted(names))}")
    return content


def pack_reports(reports: Iterable[bytes], plan: PublishedPlan) -> NDArray[np.uint8]:
    """Return reports as one array, uint8 of shape (reports, report_bytes).

    Raises:
        WireError: a report has another length, or :meth:`PublishedPlan.check_form` refuses it; the message has its
            position.
    """
    reports = list(reports)
    for position, report in enumerate(reports):
        if len(report) != plan.report_bytes:
            raise WireError(
                f"report {position} has {pluralize(len(report), 'byte')}, the plan's reports have {plan.report_bytes}; "
                "was it made with another plan?"
            )
    packed = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, plan.report_bytes)
    plan.check_form(packed)
    return packed


def well_formed(packed: NDArray[np.uint8], plan: PublishedPlan) -> NDArray[np.bool_]:
    """Return which packed reports, uint8 of shape (n, report_bytes), the plan's clients can have sent, bool (n,).

    Arrays with an invalid report are halved and checked again, which finds a few such reports among many quickly.
    """
    try:
        plan.check_form(packed)
    except WireError:
        if len(packed) == 1:
            return np.zeros(1, dtype=np.bool_)
        half = len(packed) // 2
        return np.concatenate([well_formed(packed[:half], plan), well_formed(packed[half:], plan)])
    return np.ones(len(packed), dtype=np.bool_)
