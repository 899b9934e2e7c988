"""The plan: how often the answer is the true one, in integer weights."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from assocpriv.plans.published import PublishedPlan, check_fields, check_integer
from assocpriv.promise.breaches import Breach, format_fraction, read_fraction
from assocpriv.promise.errors import PrivacyLimitError, WireError

if TYPE_CHECKING:
    from numpy.typing import NDArray

YES, NO = b"\x01", b"\x00"


@dataclass(frozen=True)
class YesNoPlan(PublishedPlan):
    """One question; the report is the true answer with probability truth / (truth + lie), else the other one.

    Source: Warner, Randomized response, JASA 1965.
    """

    question: str
    truth: int
    lie: int
    promise: Breach
    reports_per_person: int = 1

    kinds: ClassVar = ("yes-no",)
    field_names: ClassVar = frozenset(("question", "truth", "lie", "promise"))
    kind: ClassVar[str] = "yes-no"
    report_bytes: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_integer(self.lie, "lie", 1, 1 << 32)
        check_integer(self.truth, "truth", self.lie, 1 << 32)
        check_integer(self.reports_per_person, "reports_per_person", 1, 1000)
        composed = self.composed_amplification
        if composed is not None and composed >= self.promise.amplification_limit:
            raise PrivacyLimitError("the plan breaks its promise; do not use this plan")

    @property
    def amplification(self) -> Fraction | None:
        """γ = truth / lie."""
        return Fraction(self.truth, self.lie)

    def check_form(self, packed: "NDArray[np.uint8]", source: str = "", first: int = 0) -> None:
        """Refuse a byte that is neither 0 nor 1."""
        wrong = np.flatnonzero(packed[:, 0] > 1)
        if len(wrong):
            raise WireError(f"{source}report {first + int(wrong[0])} is neither yes nor no")

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's own fields."""
        promise = {name: format_fraction(getattr(self.promise, name)) for name in ("prior", "posterior")}
        return {"question": self.question, "truth": self.truth, "lie": self.lie, "promise": promise}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "YesNoPlan":
        """Read a plan's fields."""
        promise = check_fields(fields["promise"], "promise", {"prior", "posterior"})
        breach = Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior")))
        return cls(fields["question"], fields["truth"], fields["lie"], breach, fields["reports_per_person"])


@dataclass(frozen=True)
class AveragePlan(YesNoPlan):
    """The same, but it promises an average alone and states no γ, as additive noise does."""

    kinds: ClassVar = ("yes-no-average",)
    kind: ClassVar[str] = "yes-no-average"

    @property
    def amplification(self) -> None:
        """None is stated."""
        return
