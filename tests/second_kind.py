"""A second kind of plan, to test the seam: one yes or no by randomized response. Nothing here is of the package."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, ClientReports, Ours
from assocpriv.auditing.findings import BROKEN, CONSISTENT, PROMISE, Finding
from assocpriv.auditing.recompute_reports import Draws
from assocpriv.auditing.subject import Look, Subject
from assocpriv.plans.published import PublishedPlan, check_fields, check_integer
from assocpriv.promise.breaches import Breach, format_fraction, read_fraction
from assocpriv.promise.entropy import Entropy, SystemEntropy
from assocpriv.promise.errors import BasketError, PrivacyLimitError, WireError
from assocpriv.show.record import Record

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

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
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


# ---- the device


def randomize_answer(record: Any, plan: YesNoPlan, *, entropy: Entropy) -> bytes:
    """Return the report of an answer, given as the one name ``yes`` or ``no``."""
    if list(record) not in (["yes"], ["no"]):
        raise BasketError("an answer must be the one word yes or no")
    answers = [YES, NO] if list(record) == ["yes"] else [NO, YES]
    return answers[entropy.pick([plan.truth, plan.truth + plan.lie])]


# ---- the command line: what a plan says


def foresee(plan: YesNoPlan, reports: int) -> tuple[YesNoPlan, int]:
    """Return what is described."""
    return plan, reports


def plan(prospects: tuple[YesNoPlan, int]) -> Record:
    """Return it as a record."""
    content = {"kind": prospects[0].kind, "question": prospects[0].question, "planned_reports": prospects[1]}
    return Record(content, ["asks: {question}"])


# ---- the audit


class AnswerSubject(Subject):
    """A plan of the kind under audit; a record is ``yes`` or ``no``."""

    @staticmethod
    def promise(_plan: Any, text: str) -> list[Finding]:
        """Recompute the amplification."""
        content = json.loads(text)
        prior, posterior = (read_fraction(content["promise"][name], name) for name in ("prior", "posterior"))
        together = Fraction(content["truth"], content["lie"]) ** content["reports_per_person"]
        kept = together < posterior * (1 - prior) / (prior * (1 - posterior))
        return [Finding(PROMISE, "amplification", CONSISTENT if kept else BROKEN, f"γ is {together}.")]

    @property
    def clients(self) -> Mapping[str, Ours]:
        """The client of one answer."""

        def single(batch: Batch) -> Iterator[ClientReports]:
            made = [randomize_answer(each, self.plan, entropy=SystemEntropy()) for each in batch.given]
            yield ClientReports.of_reports(made, 1)

        return {"single": Ours(single)}

    def batch(self, records: Sequence[str]) -> Batch:
        """Return answers as lists of words."""
        return Batch([[record] for record in records], records)

    def lines(self, batch: Batch) -> bytes:
        """Return an answer a line."""
        return "".join(f"{record}\n" for record in batch.records).encode("ascii")

    def device_record(self, record: str) -> list[str]:
        """Return an answer as a device takes it."""
        return [record]

    def various(self, count: int) -> list[list[str]]:
        """Return both answers in turn."""
        return [["yes", "no"] * -(-count // 2)]

    def remake(self, record: str, words: Draws) -> bytes:
        """Return the answer, or with the chance of a lie the other one."""
        lies = words.pick([self.plan.truth, self.plan.truth + self.plan.lie])
        return bytes([(record == "yes") ^ lies])

    def chosen(self) -> list[list[str]]:
        """Return both answers."""
        return [["yes", "no"]]

    def looks(self, packed: NDArray[np.uint8], record: str) -> Iterator[Look]:
        """Yield how often yes is said."""
        lie = self.plan.lie / (self.plan.truth + self.plan.lie)
        yield Look("answers", packed, np.array([1 - lie if record == "yes" else lie]))
