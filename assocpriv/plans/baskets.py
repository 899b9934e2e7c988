"""The plan of baskets, frozen: the one description of a collection that client, server, planner, audit read.

A plan holds integers only: the operators' weights, the generators' fields, the promise as fractions. The meaning of a
published plan never changes. docs/formats/plan.md describes every field.

A device draws one of the plan's questions with a public coin and answers it (plans/question.py). A report is the
question's number and the answer to it:

    P[x → (q, y)] = w_q/W · P_q[x → y]

w_q of W being the questions' weights. So the ratio of two transactions' probabilities is that of the answers, and

    γ = max_q γ_q

exactly, as each question is drawn with a probability above 0. A plan of one question has no number in its reports.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.names import Names
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON, PublishedPlan, check_fields, check_integer
from assocpriv.plans.question import MOST_WEIGHT, Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.plans.view import ItemsView
from assocpriv.promise.breaches import Breach, read_fraction
from assocpriv.promise.errors import PlanError, PrivacyLimitError, WireError, counted
from assocpriv.promise.shuffling import CentralPromise

MOST_QUESTIONS = 16
NUMBER_BYTES = 1  # of a report, which say its question, where there are several


@dataclass(frozen=True)
class Plan(PublishedPlan):
    """What a collection publishes: catalogue, questions, promise and what becomes of names.

    Every transaction counts as exactly M entries of its question, so that its size is hidden. All reports are equally
    long, whatever their question: shorter answers end in zero bytes.

    The promise covers all that is sent, in **all** reports of a person, who may send ``reports_per_person`` of them
    (client/ledger.py counts them): together they are amplified by at most γ^R, which stays below the promise's limit.

    Attributes:
        catalogue: the items.
        questions: 1..16 of them, one about items at least, no two equal.
        promise: the breach that may not occur.
        names: how clients make a transaction of a basket.
        reports_per_person: R, 1..1000.
        central: what readers of whole batches may learn, where an anonymous channel hides who sent which report; None
            where reports come directly. That it follows from the operators :meth:`check_central` tells.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: the amplification of all reports of a person is not strictly below the promise's limit.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> isinstance(made, ap.Plan), made.n_items, len(made.questions), made.items.transaction_size
    (True, 2, 1, 2)
    """

    catalogue: Catalogue
    questions: tuple[Question, ...]
    promise: Breach
    names: Names = field(default_factory=Names)
    reports_per_person: int = 1
    central: CentralPromise | None = None

    kind: ClassVar[str] = "baskets"
    kinds: ClassVar = (kind,)
    field_names: ClassVar = frozenset(("catalogue", "questions", "promise", "names"))
    optional_names: ClassVar = frozenset(("central",))

    def __post_init__(self) -> None:
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        if not 1 <= len(self.questions) <= MOST_QUESTIONS or len(set(self.questions)) < len(self.questions):
            raise PlanError(f"a plan must have 1 to {MOST_QUESTIONS} questions, no two of them equal")
        check_integer(self.total_weight, "share (of all questions together)", 1, MOST_WEIGHT)
        self.names.check_catalogue(self.catalogue)
        for question in self.questions:
            if question.n_items != question.view.n_entries(self.n_items):
                raise PlanError("a question is for another number of items than the catalogue has")
        if not any(isinstance(question.view, ItemsView) for question in self.questions):
            raise PlanError("a plan must ask about items; a collection of sizes alone finds nothing")
        self._check_promise()

    def _check_promise(self) -> None:
        together = self.composed_amplification
        if together >= self.promise.amplification_limit:
            of_all = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
            raise PrivacyLimitError(
                f"the plan's amplification{of_all} {_about(together)} breaks its promise, "
                f"which needs less than {_about(self.promise.amplification_limit)}; do not use this plan"
            )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.catalogue)

    # ---- questions

    @property
    def total_weight(self) -> int:
        """The weight of all questions together."""
        return sum(question.weight for question in self.questions)

    @cached_property
    def cumulative_weights(self) -> tuple[int, ...]:
        """The weights of the questions added up, from which devices draw."""
        return tuple(accumulate(question.weight for question in self.questions))

    @property
    def asks(self) -> list[tuple[Fraction, str]]:
        """What people are asked, in words, each with the share of the people who are."""
        return [(self.share(each), each.view.asks(each.transaction_size)) for each in self.questions]

    def share(self, question: Question) -> Fraction:
        """Return the probability that a device draws a question."""
        return Fraction(question.weight, self.total_weight)

    def asked_most(self, kind: str) -> Question | None:
        """Return of the questions with a kind of view the one with the largest weight, the first of equals."""
        asked = [question for question in self.questions if question.view.kind == kind]
        return max(asked, key=lambda question: question.weight) if asked else None

    @cached_property
    def items(self) -> Question:
        """The question about items that most are asked: what itemsets are mined from."""
        question = self.asked_most("items")
        assert question is not None
        return question

    @cached_property
    def sizes(self) -> Question | None:
        """The question about sizes that most are asked, if there is one and its classes begin at the items' M."""
        asked = self.asked_most("sizes")
        return asked if asked and _bounds_of(asked)[0] == self.items.transaction_size else None

    @property
    def size_bounds(self) -> tuple[int, ...]:
        """The least sizes of the classes of :attr:`sizes`; none where there is no such question."""
        return _bounds_of(self.sizes) if self.sizes else ()

    def alone(self, question: Question) -> "Plan":
        """Return the plan that asks one question of the entries that its view makes, as if these were the items."""
        asked = Question(question.n_items, question.operator, question.generator, question.itemset_size)
        return Plan(Catalogue.numbered(question.n_items), (asked,), self.promise, Names(), self.reports_per_person)

    # ---- promise

    @property
    def amplification(self) -> Fraction:
        """γ of one report, exactly: no report is more than γ times likelier under one basket than another."""
        return max(question.amplification for question in self.questions)

    @property
    def composed_amplification(self) -> Fraction:
        """γ^R of all that one person sends, exactly."""
        return self.amplification**self.reports_per_person

    @property
    def blanket(self) -> Fraction:
        """A λ that Σ_y min_x P[x → y] is never below, y being reports of the plan: the mean over its questions.

        Which question is answered is drawn whatever the basket, so that min_x P[x → (q, y)] = φ_q min_x P_q[x → y].
        """
        return sum((self.share(each) * each.operator.blanket for each in self.questions), Fraction(0))

    # ---- reports

    @property
    def number_bytes(self) -> int:
        """How many bytes of a report say its question."""
        return NUMBER_BYTES if len(self.questions) > 1 else 0

    @cached_property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return self.number_bytes + max(question.form.length for question in self.questions)

    def report_of(self, number: int, answer: bytes) -> bytes:
        """Return the report that is an answer to a question, by its number."""
        return number.to_bytes(self.number_bytes, "little") + answer.ljust(self.report_bytes - self.number_bytes, b"\0")

    def answer_in(self, report: bytes) -> tuple[Question, bytes]:
        """Return the question and the answer of a report.

        Raises:
            WireError: bytes that no client of the plan can have sent.
        """
        if len(report) != self.report_bytes:
            raise WireError(
                f"a report of this plan has {counted(self.report_bytes, 'byte')}, got {len(report):,}; was it made "
                "with another plan?"
            )
        packed = np.frombuffer(report, dtype=np.uint8)[None]
        self._check(packed, lambda _: "a report")
        number = int(self.numbers_in(packed)[0])
        return self.questions[number], self.answers_in(packed, number)[0].tobytes()

    def numbers_in(self, packed: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the numbers of the questions that packed reports answer, int64 (n,)."""
        if not self.number_bytes:
            return np.zeros(len(packed), dtype=np.int64)
        return packed[:, 0].astype(np.int64)

    def answers_in(self, packed: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
        """Return the answers to one question, uint8 (answers, bytes), among packed reports of any."""
        start, length = self.number_bytes, self.questions[number].form.length
        if not start:
            return packed
        return np.ascontiguousarray(packed[packed[:, 0] == number, start : start + length])

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Refuse reports that no client can have sent: an unknown question, or bits that its form does not have."""
        self._check(packed, lambda row: f"{source}report {first + row}")

    def _check(self, packed: NDArray[np.uint8], naming: Callable[[int], str]) -> None:
        numbers = self.numbers_in(packed)
        if len(wrong := np.flatnonzero(numbers >= len(self.questions))):
            raise WireError(
                f"{naming(int(wrong[0]))} answers a question outside 0..{len(self.questions) - 1}; no client of this "
                "plan can have sent it: was it made with another plan?"
            )
        for number, question in enumerate(self.questions):
            rows = np.flatnonzero(numbers == number)
            question.form.check(self.answers_in(packed, number), _naming_rows(naming, rows))
            padding = packed[rows, self.number_bytes + question.form.length :]
            if len(wrong := np.flatnonzero(padding.any(axis=1))):
                raise WireError(
                    f"{naming(int(rows[wrong[0]]))} has bits set beyond its answer; no client of this plan can have "
                    "sent it: was it made with another plan?"
                )

    # ---- text

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's fields as JSON content."""
        return {
            "catalogue": self.catalogue.to_json(),
            "questions": [question.to_json(self.total_weight) for question in self.questions],
            "promise": self._promise_to_json(),
            "names": self.names.to_json(),
        } | ({"central": self.central.to_json()} if self.central else {})

    def __repr__(self) -> str:
        several = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
        asked = f"{len(self.questions)} questions, " if len(self.questions) > 1 else ""
        return (
            f"Plan({self.plan_id[:12]}, {self.n_items} items, at most {self.items.transaction_size} a transaction, "
            f"{asked}γ{several} < {float(self.promise.amplification_limit):g}, {self.report_bytes}-byte reports)"
        )

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Plan":
        """Read what :meth:`to_fields` wrote."""
        promise, catalogue = fields["promise"], Catalogue.from_json(fields["catalogue"])
        promise = check_fields(promise, "promise", {"prior", "posterior"})
        if not isinstance(fields["questions"], list) or len(fields["questions"]) > MOST_QUESTIONS:
            raise PlanError(f"plan field questions must be a list of at most {MOST_QUESTIONS}")
        read = [Question.from_json(content, len(catalogue)) for content in fields["questions"]]
        plan = cls(
            catalogue=catalogue,
            questions=tuple(question for question, _ in read),
            promise=Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior"))),
            names=Names.from_json(fields["names"]),
            reports_per_person=fields["reports_per_person"],
            central=CentralPromise.from_json(fields["central"]) if "central" in fields else None,
        )
        if any(total != plan.total_weight for _, total in read):
            raise PlanError(f"the shares of a plan's questions must add up to all: {plan.total_weight} of as many")
        return plan


def _bounds_of(question: Question) -> tuple[int, ...]:
    assert isinstance(question.view, SizesView)
    return question.view.bounds


def _naming_rows(naming: Callable[[int], str], rows: NDArray[np.int64]) -> Callable[[int], str]:
    """Return what names the reports of some rows, by their places among these."""
    return lambda place: naming(int(rows[place]))


def _about(ratio: Fraction) -> str:
    try:
        return f"{float(ratio):.6g}"
    except OverflowError:
        return "beyond 1e308"


def report_items(report: bytes, plan: Plan) -> frozenset[str]:
    """Return the names that one report shows, of items its sender has and of others that chance added.

    Args:
        report: ``plan.report_bytes`` bytes.
        plan: the published plan.

    Returns:
        Names of the plan's catalogue; dummies, which fill short transactions, are left out. An answer to another
        question than about items shows none.

    Raises:
        WireError: bytes that no client of the plan can have sent.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.report_items(ap.randomize({"milk"}, made), made) <= {"milk", "tea"}
    True
    """
    Plan.of(plan)
    if not isinstance(report, bytes):
        raise TypeError(f"a report is bytes, got a {type(report).__name__}")
    question, answer = plan.answer_in(report)
    shown = question.form.items(answer) if isinstance(question.view, ItemsView) else frozenset()
    return frozenset(plan.catalogue[item] for item in shown if item < plan.n_items)
