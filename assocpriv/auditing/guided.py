"""The audit of a guided plan: γ anew from its text, our clients walked through, then each client as a black box.

γ is computed from the text, and, where tuples are few, from what the client sends under several guidances, one bit
itself and all of them among these. What answers show is held beside the plan's laws: every test is a count of reports
beside its exact chance, as of tables (auditing/goodness_of_fit.py).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import ClientReports, Program, RecordBox, packed_reports, record_answers, record_of
from assocpriv.auditing.exact_tables import check_draws, check_tuple_words, largest_ratio, law_of, tried
from assocpriv.auditing.findings import (
    BROKEN,
    CONFORMANCE,
    CONSISTENT,
    EMPIRICAL,
    EXACT,
    LARGEST,
    PROGRAM,
    UNDECIDED,
    AuditRequest,
    Finding,
    Progress,
    checked,
    client_findings,
    shown_ratio,
)
from assocpriv.auditing.goodness_of_fit import Events, record_laws, repeat_events
from assocpriv.auditing.recompute_tables import TUPLE, GuidedLaw, GuidedNumbers, bounds, product_of_ratios, read_guided
from assocpriv.client.guided import GuidedRecord, randomize_guided, randomize_inputs
from assocpriv.plans.guidance import Guidance, coin_of
from assocpriv.promise.entropy import Entropy, SystemEntropy, WordEntropy
from assocpriv.promise.errors import PlanError, WireError

if TYPE_CHECKING:
    from assocpriv.plans.guided import GuidedPlan

_MOST_ANSWERED = 5000  # tuples that may be answered for in place of one
_MOST_PAIRS = 300
_MOST_BYTES, _SINGLE_TRIALS, _COPIES = 1 << 26, 4000, 16
_LAWS = {
    "bits": "how often each bit is set, for each record and guidance asked about",
    "pairs": "how often two bits are both set: they are drawn apart",
    "repeats": "how often a record's reports repeat",
}


# ---- clients


@dataclass(frozen=True, slots=True)
class Question:
    """Records, int32 (n, columns), the class last, that are to answer one guidance."""

    guidance: Guidance
    rows: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)


class BulkTuples:
    """Our client for many records, with the operating system's entropy unless another is given."""

    def __init__(self, plan: "GuidedPlan", entropy: WordEntropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Question]) -> Iterator[ClientReports]:
        """Yield the reports of each batch."""
        for asked in batches:
            parts = list(randomize_inputs([asked.rows], self._plan, asked.guidance, entropy=self._entropy))
            yield ClientReports.of_packed(np.concatenate(parts))


class SingleTuples:
    """Our client for one record at a time."""

    def __init__(self, plan: "GuidedPlan", entropy: Entropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Question]) -> Iterator[ClientReports]:
        """Yield the reports of each batch."""
        for asked in batches:
            records = [GuidedRecord(record_of(row, self._plan), asked.guidance) for row in asked.rows.tolist()]
            made = [randomize_guided(record, self._plan, entropy=self._entropy) for record in records]
            yield ClientReports.of_reports(made, self._plan.report_bytes)


def lines_of(asked: Question, plan: "GuidedPlan") -> bytes:
    """Return records as a program gets them: a JSON object a line, in ASCII, with the guidance."""
    guidance = asked.guidance.to_json()
    records = (record_of(row, plan) for row in asked.rows.tolist())
    return "".join(json.dumps({"values": each, "guidance": guidance}) + "\n" for each in records).encode("ascii")


def chosen_records(plan: "GuidedPlan") -> NDArray[np.int32]:
    """Return the records that are asked about: two that differ everywhere, one between them, one with a missing value.

    Each class is among their classes, as far as there are not more.
    """
    low, high = [0 for _ in plan.sizes], [size - 1 for size in plan.sizes]
    mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
    absent = [plan.sizes[0], *mixed[1:]]
    classes = len(plan.labels)
    return np.array([[*row, n % classes] for n, row in enumerate((low, high, mixed, absent))], dtype=np.int32)


# ---- laws


def _known_chances(law: GuidedLaw, row: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the tuples' shares, float64 (m,), that answer for a record, and each one's chances of bits, (m, w)."""
    answered = law.answered(row)
    chances = np.array([law.weights(each) for each, _ in answered], dtype=np.float64) / law.numbers.total
    return np.array([float(share) for _, share in answered]), chances


def _bit_events(bits: NDArray[np.uint8], shares: NDArray[np.float64], chances: NDArray[np.float64]) -> Events:
    """Return how often each bit is set."""
    return Events.of(bits.sum(axis=0, dtype=np.int64), len(bits), _within(shares @ chances))


def pair_events(bits: NDArray[np.uint8], shares: NDArray[np.float64], chances: NDArray[np.float64]) -> Events:
    """Return how often two bits are both set: given the tuple that is answered for they are independent."""
    pairs = list(combinations(range(bits.shape[1]), 2))[:_MOST_PAIRS]
    seen = [int((bits[:, i] & bits[:, j]).sum()) for i, j in pairs]
    wanted = np.array([shares @ (chances[:, i] * chances[:, j]) for i, j in pairs])
    return Events.of(seen, len(bits), _within(wanted))


def equal_chance(shares: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """Return the chance that two reports of a record are equal."""
    together = 0.0
    for share, row in zip(shares, chances, strict=True):
        equal = (row * chances + (1 - row) * (1 - chances)).prod(axis=1)
        together += float(share * (shares @ equal))
    return float(_within(np.array(together)))


def _within(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return chances in [0, 1]: what is 0 or 1 but for rounding is so, as integers make it."""
    return np.where(chances > 1 - 1e-12, 1.0, np.where(chances < 1e-15, 0.0, chances))


# ---- the audit


def audit_guided(
    plan: "GuidedPlan | None", text: str, request: AuditRequest, progress: Progress | None = None
) -> list[Finding]:
    """Audit a guided plan, and clients of it; see :func:`assocpriv.auditing.audit.audit`."""
    try:
        numbers = read_guided(text)
    except PlanError as error:
        return [Finding(EXACT, "amplification", BROKEN, f"The text is no guided plan: {error}.")]
    findings: list[Finding] = []
    if EXACT in request.depths:
        findings.append(_promise(plan, numbers))
    if plan is None:
        return findings
    guidances = tried(plan, np.random.default_rng())
    if EXACT in request.depths:
        findings += _coins(plan, numbers, guidances)
        if not request.program:  # what our client does says nothing of the program
            findings += _walks(plan, numbers, guidances)
    for client, box in _boxes(plan, request).items():
        found = _black_box(plan, numbers, guidances, box, client, request, progress)
        findings += [replace(finding, client=client) for finding in found]
    return findings


# ---- exact


def _promise(plan: "GuidedPlan | None", numbers: GuidedNumbers) -> Finding:
    """Compare γ, of the text's numbers, with the promise."""
    ratio, limit = numbers.amplification, numbers.limit
    if plan is not None and plan.amplification != ratio:
        return Finding(EXACT, "amplification", BROKEN, "The package reads another γ from this plan than its text has.")
    if ratio is None or limit is None:
        said = "The plan states no γ: whoever publishes guidance can ask for any value as it is."
        if ratio is not limit:
            said = "The plan states a promise and nothing that keeps it, or the other way round."
        right = ratio is limit and plan is not None
        return Finding(EXACT, "amplification", CONSISTENT if right else BROKEN, said)
    together = ratio**numbers.reports_per_person
    kept = plan is not None and together < limit
    said = f"γ is {shown_ratio(ratio)} for one report, whatever the guidance"
    if numbers.reports_per_person > 1:
        said += f", and {shown_ratio(together)} for {numbers.reports_per_person} reports of a person"
    said += f"; the promise needs less than {shown_ratio(limit)}"
    said += "; it does not cover the class" if kept else ", but the text breaks a rule of plans" * (together < limit)
    figures = {"amplification": float(min(ratio, LARGEST)), "limit": float(min(limit, LARGEST))}
    return Finding(EXACT, "amplification", CONSISTENT if kept else BROKEN, f"{said}.", figures)


def _coins(plan: "GuidedPlan", numbers: GuidedNumbers, guidances: list[Guidance]) -> list[Finding]:
    """Check, where a promise is kept by bits, that the package mixes as much as the guidances need."""
    if numbers.stated is None:
        return []
    for guidance in guidances:
        law = law_of(numbers, guidance)
        coin = coin_of(guidance, plan)
        ratio = product_of_ratios(bounds(numbers, law.shares), coin)
        if coin != law.coin or ratio is None or ratio > numbers.stated:
            said = "Under some guidance the package mixes bits with another coin than keeps the promise."
            return [Finding(EXACT, "coins", BROKEN, said)]
    said = f"Under {len(guidances)} guidances, one bit itself and all of them among these, as many coins as γ needs."
    return [Finding(EXACT, "coins", CONSISTENT, said)]


def _walks(plan: "GuidedPlan", numbers: GuidedNumbers, guidances: list[Guidance]) -> list[Finding]:
    def draws() -> tuple[str, str]:
        laws = check_draws(plan, numbers, guidances)
        if laws is None:
            return UNDECIDED, "There are too many tuples to walk every draw; words of some are compared."
        ratios = [largest_ratio(each) for each in laws]
        said = f"Every draw of all {len(laws[0]) - 1} tuples was walked under {len(guidances)} guidances: each outcome"
        said += " has the chance that the plan says"
        stated = numbers.amplification
        if stated is None:
            return CONSISTENT, f"{said}. Some tell a value for certain: no γ is stated."
        if None in ratios:
            return BROKEN, "What the client sends has no γ under some guidance."
        worst = max(ratio for ratio in ratios if ratio is not None)
        if worst > stated:
            return BROKEN, f"What the client sends has the γ {shown_ratio(worst)}, more than is stated."
        return CONSISTENT, f"{said}; γ is {shown_ratio(worst)} at most, {shown_ratio(stated)} is stated."

    def words() -> tuple[str, str]:
        done = check_tuple_words(plan, numbers, guidances, np.random.default_rng())
        said = f"{done:,} tuples, of random words and of draws at the ends of weights, become the bits that"
        return CONSISTENT, f"{said} docs/formats/guided-plan.md says, one by one and in bulk."

    return [checked(EXACT, "client, every draw", draws), checked(EXACT, "client, whole tuples", words)]


# ---- black boxes


def _boxes(plan: "GuidedPlan", request: AuditRequest) -> dict[str, RecordBox[Question]]:
    if request.program:
        return {PROGRAM: Program(request.program, request.plan_path, plan, lines_of=partial(lines_of, plan=plan))}
    boxes: dict[str, RecordBox[Question]] = {"bulk": BulkTuples(plan), "single": SingleTuples(plan)}
    return {name: box for name, box in boxes.items() if name in request.clients}


def _black_box(
    plan: "GuidedPlan", numbers: GuidedNumbers, guidances: list[Guidance], box: RecordBox[Question], client: str,
    request: AuditRequest, progress: Progress | None,
) -> list[Finding]:  # fmt: skip
    """Audit one client at the depths asked for."""

    def laws() -> list[Finding]:
        most = _MOST_BYTES // plan.width
        trials = min(request.trials, most, most if client == "bulk" else _SINGLE_TRIALS)
        alarm = float(1 - request.level) / len(request.clients)
        return audit_laws(plan, numbers, guidances, box, trials=trials, false_alarm=alarm, progress=progress)

    form = partial(audit_form, plan, guidances, box)
    return client_findings(request.depths, {CONFORMANCE: form, EMPIRICAL: laws})


def _asked(box: RecordBox[Question], questions: list[Question], plan: "GuidedPlan") -> list[NDArray[np.uint8]]:
    """Return packed reports, checked: one for each record, that names its guidance and the record's class."""
    packed = []
    for answers, question in zip(record_answers(box, questions), questions, strict=True):
        packed.append(packed_reports(answers, plan))
        serials, classes, _ = plan.unpack(packed[-1])
        if (serials != question.guidance.serial).any() or (classes != question.rows[:, -1]).any():
            raise WireError("some answers name another guidance, or another class, than they were asked for")
    return packed


def audit_form(plan: "GuidedPlan", guidances: list[Guidance], box: RecordBox[Question]) -> list[Finding]:
    """Check that every record is answered with one report of the plan's form, its guidance and its class."""
    rows = np.repeat(chosen_records(plan), _COPIES, axis=0)
    _asked(box, [Question(guidance, rows) for guidance in guidances], plan)
    said = f"Every record is answered with one report of {plan.report_bytes} bytes, of its guidance and its class."
    return [Finding(CONFORMANCE, "answers", CONSISTENT, said)]


def audit_laws(
    plan: "GuidedPlan", numbers: GuidedNumbers, guidances: list[Guidance], box: RecordBox[Question], *, trials: int,
    false_alarm: float, progress: Progress | None = None,
) -> list[Finding]:  # fmt: skip
    """Compare what a client's reports of known records show with the plan's laws.

    A client that follows the plan is called broken with a chance of at most ``false_alarm``, which the laws share.
    """
    if numbers.keep == TUPLE and prod(numbers.sizes) > _MOST_ANSWERED:
        said = "There are too many tuples that may be answered for in place of a record's."
        return [Finding(EMPIRICAL, "bits", UNDECIDED, said)]
    records = chosen_records(plan)
    copies = max(2, trials // (len(records) * len(guidances)))
    seen: dict[str, list[Events]] = {name: [] for name in _LAWS}
    for done, guidance in enumerate(guidances):
        if progress:
            progress(EMPIRICAL, done, len(guidances))
        law = law_of(numbers, guidance)
        [packed] = _asked(box, [Question(guidance, np.tile(records, (copies, 1)))], plan)
        for place, row in enumerate(records.tolist()):
            mine = packed[place :: len(records)]
            known = _known_chances(law, tuple(row[:-1]))
            bits = plan.unpack(mine)[2]
            seen["bits"].append(_bit_events(bits, *known))
            seen["pairs"].append(pair_events(bits, *known))
            if len(known[0]) <= numbers.width + 2 or numbers.keep == TUPLE:
                half = len(mine) // 2
                seen["repeats"].append(repeat_events(mine[:half], mine[half:], equal_chance(*known)))
    if progress:
        progress(EMPIRICAL, len(guidances), len(guidances))
    return [law.judged(false_alarm / len(seen)) for law in record_laws(seen, _LAWS, len(packed))]
