"""A plan type outside the package, to test the registry: one yes/no answer by randomized response."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.audit_subject import Observation, OwnClient, RecordBatch, Subject
from assocpriv.auditing.findings import BROKEN, CONSISTENT, GUARANTEE, Finding
from assocpriv.auditing.recompute_reports import Draws
from assocpriv.guarantees.amplification import Guarantee, format_fraction, read_fraction
from assocpriv.guarantees.entropy import Entropy, SystemEntropy
from assocpriv.guarantees.errors import BasketError, PrivacyLimitError, WireError
from assocpriv.plans.published_plan import PublishedPlan, check_fields, check_integer
from assocpriv.show.result_record import Record

YES, NO = b"\x01", b"\x00"


@dataclass(frozen=True)
class YesNoPlan(PublishedPlan):
    """One question; the report is the true answer with probability truth / (truth + lie), otherwise the other one.

    Source: Warner, Randomized response, JASA 1965.
    """

    question: str
    truth: int
    lie: int
    guarantee: Guarantee
    reports_per_person: int = 1

    kinds: ClassVar = ("yes-no",)
    field_names: ClassVar = frozenset(("question", "truth", "lie", "guarantee"))
    kind: ClassVar[str] = "yes-no"
    report_bytes: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_integer(self.lie, "lie", 1, 1 << 32)
        check_integer(self.truth, "truth", self.lie, 1 << 32)
        check_integer(self.reports_per_person, "reports_per_person", 1, 1000)
        composed = self.composed_amplification
        if composed is not None and composed >= self.guarantee.amplification_limit:
            raise PrivacyLimitError("the plan breaks its guarantee; do not use this plan")

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
        guarantee = {name: format_fraction(getattr(self.guarantee, name)) for name in ("prior", "posterior")}
        return {"question": self.question, "truth": self.truth, "lie": self.lie, "guarantee": guarantee}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "YesNoPlan":
        """Read a plan's fields."""
        guarantee = check_fields(fields["guarantee"], "guarantee", {"prior", "posterior"})
        kept = Guarantee(*(read_fraction(guarantee[name], name) for name in ("prior", "posterior")))
        return cls(fields["question"], fields["truth"], fields["lie"], kept, fields["reports_per_person"])


@dataclass(frozen=True)
class AveragePlan(YesNoPlan):
    """The same plan with a guarantee on average only and no γ, like additive noise."""

    kinds: ClassVar = ("yes-no-average",)
    kind: ClassVar[str] = "yes-no-average"

    @property
    def amplification(self) -> None:
        """Return None: the plan has no γ."""
        return


# ---- the device


def randomize_answer(record: Any, plan: YesNoPlan, *, entropy: Entropy) -> bytes:
    """Return the report of an answer, given as the one name ``yes`` or ``no``."""
    if list(record) not in (["yes"], ["no"]):
        raise BasketError("an answer must be the one word yes or no")
    answers = [YES, NO] if list(record) == ["yes"] else [NO, YES]
    return answers[entropy.pick([plan.truth, plan.truth + plan.lie])]


# ---- the command line: description of a plan


def forecast(plan: YesNoPlan, reports: int) -> tuple[YesNoPlan, int]:
    """Return the data to describe."""
    return plan, reports


def plan(expected: tuple[YesNoPlan, int]) -> Record:
    """Return the description as a record."""
    content = {"kind": expected[0].kind, "question": expected[0].question, "planned_reports": expected[1]}
    return Record(content, ["asks: {question}"])


# ---- the audit


class AnswerSubject(Subject):
    """A plan of this type under audit; a record is ``yes`` or ``no``."""

    @staticmethod
    def check_guarantee(_plan: Any, text: str) -> list[Finding]:
        """Recompute the amplification."""
        content = json.loads(text)
        prior, posterior = (read_fraction(content["guarantee"][name], name) for name in ("prior", "posterior"))
        together = Fraction(content["truth"], content["lie"]) ** content["reports_per_person"]
        kept = together < posterior * (1 - prior) / (prior * (1 - posterior))
        return [Finding(GUARANTEE, "amplification", CONSISTENT if kept else BROKEN, f"γ is {together}.")]

    @property
    def clients(self) -> Mapping[str, OwnClient]:
        """The client of one answer."""
        return {"single": super().clients["single"]}

    def randomize_bulk(self, given: list[list[str]]) -> Iterator[NDArray[np.uint8]]:
        """Refuse many answers: this type has no client for them."""
        raise NotImplementedError

    def randomize_one(self, record: str) -> bytes:
        """Return the report of one answer."""
        return randomize_answer([record], self.plan, entropy=SystemEntropy())

    def batch(self, records: Sequence[str]) -> RecordBatch:
        """Return answers as lists of words."""
        return RecordBatch([[record] for record in records], records)

    def program_input(self, batch: RecordBatch) -> bytes:
        """Return one answer per line."""
        return "".join(f"{record}\n" for record in batch.records).encode("ascii")

    def device_record(self, record: str) -> list[str]:
        """Return an answer in the form that the client takes."""
        return [record]

    def sample_records(self, count: int) -> list[list[str]]:
        """Return both answers alternately."""
        return [["yes", "no"] * -(-count // 2)]

    def recompute_report(self, record: str, words: Draws) -> bytes:
        """Return the answer, or with the probability of a lie the other one."""
        lies = words.pick([self.plan.truth, self.plan.truth + self.plan.lie])
        return bytes([(record == "yes") ^ lies])

    def worst_case_records(self) -> list[list[str]]:
        """Return both answers."""
        return [["yes", "no"]]

    def observations(self, packed: NDArray[np.uint8], record: str) -> Iterator[Observation]:
        """Yield the answers with the probability of yes."""
        lie = self.plan.lie / (self.plan.truth + self.plan.lie)
        yield Observation("answers", packed, np.array([1 - lie if record == "yes" else lie]))
