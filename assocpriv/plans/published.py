"""What every kind of plan has: an identity, a promise, a report of some bytes.

It is all that files and ledgers know of a plan. A plan is one JSON object, its *envelope* the fields ``format``,
``version``, ``kind`` and ``reports_per_person``. Kinds derive from a class instead of meeting a protocol, because two
ways to compute an id would be two ids. A plan never sees raw data.
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

from assocpriv.plans.kind import shown_by
from assocpriv.promise.breaches import NO_AMPLIFICATION, Breach, format_fraction, read_fraction
from assocpriv.promise.errors import NotAPlanError, PlanError, PrivacyLimitError, WireError, counted
from assocpriv.promise.json_text import RepeatedFieldError, json_fields
from assocpriv.promise.shuffling import CentralPromise

FORMAT = "assocpriv-plan"
VERSION = 1
AnyPlan = TypeVar("AnyPlan", bound="PublishedPlan")
MOST_REPORTS_PER_PERSON = 1000
ID_BYTES = 16  # of a submission's id, before each report that is sent
MOST_BATCH_BYTES = 1 << 28  # of the reports that are in memory when they are sealed or read together
UNKNOWN = "this plan's version or kind is unknown here; a newer release of assocpriv may read it"
_ENVELOPE = {"format", "version", "kind", "reports_per_person"}
_MARKS = "{[:,"  # of these a text has one for each value, or more
_MOST_MARKS = (1 << 22) + (1 << 10)  # as a million items have with a pair of names each, or with two commas in a name


class PublishedPlan(ABC):
    """What a collection publishes, whatever kind of data it is of.

    ``kinds`` are those that a class reads, ``field_names`` the fields of its text beside the envelope's,
    ``optional_names`` those that it may have as well.
    """

    kinds: ClassVar[tuple[str, ...]]
    field_names: ClassVar[frozenset[str]]
    optional_names: ClassVar[frozenset[str]] = frozenset()

    _repr_html_ = shown_by("assocpriv.show.promises:promised")

    @property
    @abstractmethod
    def kind(self) -> str:
        """Which kind of plan this is, as its text says."""

    reports_per_person: int
    promise: Breach | None  # what γ of all reports of a person keeps; None where no γ is stated
    central: CentralPromise | None = None  # what readers of batches may learn that an anonymous channel hides

    @property
    @abstractmethod
    def amplification(self) -> Fraction | None:
        """γ of one report, exactly; None where the kind states none, as additive noise that promises an average."""

    @property
    def blanket(self) -> Fraction:
        """A λ that Σ_y min_x P[x → y] is never below (promise/shuffling.py)."""
        return Fraction(0)

    @property
    def record_bytes(self) -> int:
        """The length of a report with its submission's id before it."""
        return ID_BYTES + self.report_bytes

    @property
    def least_batch(self) -> int:
        """The least reports that are sealed or read together: those that the central promise is proved for, or 0."""
        return self.central.reports if self.central else 0

    def check_central(self) -> None:
        """Refuse a central promise that does not follow from γ and the blanket, or whose batches nobody can seal.

        Raises:
            PrivacyLimitError: it does not follow.
            PlanError: a batch takes too much memory.
        """
        most = MOST_BATCH_BYTES // self.record_bytes
        if self.least_batch > most:
            raise PlanError(
                f"{self.least_batch:,} reports of {counted(self.report_bytes, 'byte')} are more than a collector seals "
                f"together; promise it for {most:,} or fewer: more that come are sealed as several batches"
            )
        if not self._is_central_proved:
            raise PrivacyLimitError(
                "the plan's central promise does not follow from its amplification and blanket; do not use this plan"
            )

    @cached_property
    def _is_central_proved(self) -> bool:
        gamma, times = self.amplification, self.reports_per_person
        return self.central is None or (gamma is not None and self.central.holds(gamma, self.blanket, times))

    def check_batch(self, reports: int, done: str) -> None:
        """Refuse to do something, ``done`` in the past, with fewer reports than the central promise is proved for.

        Raises:
            PrivacyLimitError: as said, or as :meth:`check_central`.
        """
        self.check_central()
        if reports < self.least_batch:
            raise PrivacyLimitError(
                f"{counted(reports, 'report')} of this plan cannot be {done}: its central promise is proved for "
                f"{self.least_batch:,} or more together, and fewer would hide nobody; wait for more"
            )

    @property
    def asks(self) -> Sequence[tuple[Fraction, str]]:
        """What people are asked, in words, each with the share of the people who are."""
        return [(Fraction(1), "a record")]

    @property
    def uncovered(self) -> str:
        """What reports tell that lies outside γ, in words; empty where γ covers all of a report."""
        return ""

    @property
    def uncovered_secret(self) -> str:
        """What of ``uncovered`` a person may want to keep: with it a device's limit cannot hold."""
        return self.uncovered

    @property
    def unbounded(self) -> str:
        """What holds instead where no γ is stated, in words."""
        return NO_AMPLIFICATION

    @property
    def composed_amplification(self) -> Fraction | None:
        """γ^R of all that one person sends; None where none is stated.

        Each report is drawn with entropy of its own, so the likelihoods of several multiply, whatever their records
        have to do with each other; and where each ratio can be γ, the product can be γ^R.
        """
        return None if self.amplification is None else self.amplification**self.reports_per_person

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """Length of a report in bytes, of all reports of the plan."""

    @abstractmethod
    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Refuse reports, uint8 of shape (n, report_bytes), that no client of the plan can have sent.

        Raises:
            WireError: naming ``source`` and the first such report, counted from ``first``.
        """

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the fields of ``field_names``, and of ``optional_names`` where there are such, as JSON content."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Read a plan's fields, the envelope's among them: no other, and none missing but optional ones."""

    def _check_promise(self) -> None:
        """Refuse a plan whose reports of one person together break its promise."""
        together = self.composed_amplification
        if self.promise is not None and together is not None and together >= self.promise.amplification_limit:
            raise PrivacyLimitError(
                "the plan's amplification of all that a person sends breaks its promise, which needs less than "
                f"{float(self.promise.amplification_limit):.6g}; do not use this plan"
            )

    def _promise_to_json(self) -> dict[str, str] | None:
        if self.promise is None:
            return None
        return {name: format_fraction(getattr(self.promise, name)) for name in ("prior", "posterior")}

    @staticmethod
    def _promise_from_json(content: object) -> Breach | None:
        if content is None:
            return None
        promise = check_fields(content, "promise", {"prior", "posterior"})
        return Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior")))

    def check_shape(self, packed: NDArray[np.uint8]) -> None:
        """Refuse what is not uint8 of shape (n, report_bytes): compiled code would read beyond its tables."""
        if packed.dtype != "uint8" or packed.ndim != 2 or packed.shape[1] != self.report_bytes:
            got = f"{packed.dtype} of shape {packed.shape}"
            length = counted(self.report_bytes, "byte")
            raise WireError(f"reports of this plan are rows of {length} (uint8), got {got}")

    def as_a(self, wanted: type[AnyPlan]) -> AnyPlan:
        """Return this plan, or refuse it where it is not of the class that there is a use for."""
        if not isinstance(self, wanted):
            raise PlanError(
                f"a plan of the kind {self.kind} is of no use here; name one of {', '.join(wanted.kinds)} "
                "(what is said of tables alone is in the modules numeric and guided)"
            )
        return self

    @classmethod
    def of(cls, plan: object) -> Self:
        """Return a plan that is of this class, as :meth:`as_a`; a TypeError of what is no plan, as a file's name."""
        if not isinstance(plan, PublishedPlan):
            raise TypeError(
                f"plan must be a {cls.__name__} (read_plan reads one from a file), got a {type(plan).__name__}"
            )
        return plan.as_a(cls)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON content."""
        envelope = {"format": FORMAT, "version": VERSION, "kind": self.kind}
        return envelope | self.to_fields() | {"reports_per_person": self.reports_per_person}

    @cached_property
    def canonical_json(self) -> str:
        """The one text that the plan's id hashes: sorted keys, no blanks, ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @cached_property
    def plan_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read JSON content that :meth:`to_json` wrote.

        Raises:
            PlanError: not a plan, or of a format, version or kind that is not known here.
        """
        fields = check_envelope(content)
        if fields["kind"] not in cls.kinds:
            raise PlanError(UNKNOWN)
        names = _ENVELOPE | cls.field_names | cls.optional_names & set(fields)
        plan = cls.from_fields(check_fields(fields, "the top level", names))
        if plan.kind != fields["kind"]:
            raise PlanError("the plan's kind is not that of its operators")
        return plan

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a plan from JSON text.

        Raises:
            PlanError: not JSON, or as :meth:`from_json`.
        """
        return cls.from_json(parse_text(text))


def parse_text(text: str) -> object:
    """Return the JSON content of a plan's text; refuse a field that stands twice, and too many values.

    JSON of little else than brackets takes 25 times the memory of its text, so the marks that stand between values
    are counted before it is read. A text may have 2^22 + 2^10 of them, which take half a GiB at most.
    """
    if sum(map(text.count, _MARKS)) > _MOST_MARKS:
        raise NotAPlanError(
            f"not a plan: it has more than {_MOST_MARKS:,} of the characters {' '.join(_MARKS)} which stand "
            "between values; a plan of a million items has room for four an item"
        )

    try:
        return json_fields(text)
    except RepeatedFieldError:
        raise PlanError("a field of the plan is given twice; two readers might take different ones") from None
    except ValueError:
        raise NotAPlanError("not a plan: the text is not valid JSON") from None


def check_envelope(content: object) -> dict[str, Any]:
    """Return JSON content that says it is a plan of this version, of a kind that may be known or not."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NotAPlanError(f"not a plan: it does not say format {FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version != VERSION or not isinstance(content.get("kind"), str):
        raise PlanError(UNKNOWN)
    return content


def check_integer(value: object, name: str, low: int, high: int) -> int:
    """Return a plan's field if it is a whole number in low..high."""
    if type(value) is not int:
        raise PlanError(f"plan field {name} must be an integer, got a {type(value).__name__}")
    if not low <= value <= high:
        got = str(value) if abs(value) < 10**18 else "a number of more than 18 digits"
        raise PlanError(f"plan field {name} must be in {low}..{high}, got {got}")
    return value


def check_fields(content: object, where: str, names: set[str]) -> dict[str, Any]:
    """Return JSON content that must hold exactly the named fields."""
    if not isinstance(content, dict) or set(content) != names:
        raise PlanError(f"{where} of a plan must hold exactly the fields {', '.join(sorted(names))}")
    return content


def pack_reports(reports: Iterable[bytes], plan: PublishedPlan) -> NDArray[np.uint8]:
    """Return reports as one array, uint8 of shape (reports, report_bytes).

    Raises:
        WireError: one of another length, or that :meth:`PublishedPlan.check_form` refuses; its position is named.
    """
    listed = list(reports)
    for position, report in enumerate(listed):
        if len(report) != plan.report_bytes:
            raise WireError(
                f"report {position} has {counted(len(report), 'byte')}, the plan's reports have {plan.report_bytes}; "
                "was it made with another plan?"
            )
    packed = np.frombuffer(b"".join(listed), dtype=np.uint8).reshape(-1, plan.report_bytes)
    plan.check_form(packed)
    return packed


def well_formed(packed: NDArray[np.uint8], plan: PublishedPlan) -> NDArray[np.bool_]:
    """Tell which packed reports, uint8 of shape (n, report_bytes), the plan's clients can have sent, bool (n,).

    Halves are asked apart while there is something wrong, so few such reports are found in many quickly.
    """
    try:
        plan.check_form(packed)
    except WireError:
        if len(packed) == 1:
            return np.zeros(1, dtype=np.bool_)
        half = len(packed) // 2
        return np.concatenate([well_formed(packed[:half], plan), well_formed(packed[half:], plan)])
    return np.ones(len(packed), dtype=np.bool_)
