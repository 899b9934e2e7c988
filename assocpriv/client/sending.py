"""A device, facing its collector: what is asked there, a report made, sent until the collector has it.

This module sees raw records while a report is made, and hands them to nothing but the ledger. What it sends is a report
that is in the ledger already, on disk, with the id of its submission: the same bytes at every attempt. The
ledger is closed while anything is sent, so others can use it meanwhile. Reports of a plan with a central promise go
through a relay, each in a request of its own at a moment of its own, which the ledger remembers.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.client.connection import Answer, Collector
from assocpriv.client.ledger import Ledger, ask_for, parse_values, takes_names
from assocpriv.client.ledger_book import Submission
from assocpriv.plans.kind import parse_plan
from assocpriv.promise.errors import BasketError, CollectorError, PlanError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.promise.breaches import Breach

_ID = re.compile("[0-9a-f]{64}")
_MOST_PLAN = 64 << 20
_MOST_GUIDANCE = 1 << 28
_MOST_UPLOAD = 4 << 20  # that a collector takes at a time
_MOST_RECEIPT = 1 << 12


@dataclass(frozen=True, slots=True)
class Device:
    """A device's ledger and what it lets go.

    Attributes:
        ledger: its file; made if it is missing, and something was written down.
        limit: a promise that all its reports keep together, whatever their plans; without one the first is answered.
        pinned_id: id of the plan that the collector must have, where it is known from elsewhere.
        max_level: of a guided plan the highest level that is answered; any by default.
        empty: ``"error"``, or ``"keep"`` to report on an empty basket.
    """

    ledger: Path
    limit: "Breach | None" = None
    pinned_id: str | None = None
    max_level: int | None = None
    empty: str = "error"


@dataclass(frozen=True, slots=True)
class SentReport:
    """What became of one record.

    Attributes:
        state: ``"sent"``; or ``"sent before"``, when nothing was sent now; or ``"waits for its moment"``.
        plan_id, report_bytes: of what was answered.
        new: whether the report was made now.
        spent, left: reports of the plan made by this device, and how many more it may make.
        amplification: γ of all that the device told, under any plans; None if one of these states none.
        unbounded: what holds instead where the plan states no γ, in words; else empty.
        moment: from which on :func:`assocpriv.collect.send_unsent` sends it, in seconds since 1970, where it waits.
    """

    state: str
    plan_id: str
    report_bytes: int
    new: bool
    spent: int
    left: int
    amplification: Fraction | None
    unbounded: str
    moment: int | None = None


@dataclass(frozen=True, slots=True)
class SentWaiting:
    """Reports that waited: how many were sent, and how many wait on, being of plans that are not collected there.

    ``later`` has the moments of those that wait for theirs, in seconds since 1970, the first one first.
    """

    sent: int
    other_plans: int
    later: tuple[int, ...] = ()


# ---- what a collector asks


def _fetch_plan(collector: Collector, pinned_id: str | None = None) -> "PublishedPlan":
    """Ask a collector for its plan.

    Raises:
        CollectorError: no answer, or no plan.
        PlanError: the plan breaks a rule, or is not what was pinned.
    """
    if pinned_id is not None and not _ID.fullmatch(pinned_id):
        raise PlanError("a plan's id has 64 lowercase hexadecimal digits; give it whole")
    with _saying("nothing was made or sent"):
        answer = _good(collector.ask("/plan", most_bytes=_MOST_PLAN), "plan")
        try:
            plan = parse_plan(answer.body.decode("utf-8"))
        except UnicodeDecodeError:
            raise CollectorError("the collector's answer is no plan") from None
        if answer.headers.get("assocpriv-plan") != plan.plan_id:
            raise CollectorError(
                f"the collector answers with plan {plan.plan_id[:12]} where it says that it has another"
            )
    if pinned_id not in (None, plan.plan_id):
        raise PlanError(
            f"the collector publishes {plan.plan_id[:12]}…, not the plan {(pinned_id or '')[:12]}… that was asked for; "
            "nothing was made or sent"
        )
    if plan.central is not None and collector.relay is None:
        raise PlanError(
            "reports of this plan go through a relay only: give relay=, somebody else's; nothing was made or sent"
        )
    return plan


@contextlib.contextmanager
def _saying(what: str) -> Iterator[None]:
    """Say of a collector that fails what became of the report."""
    try:
        yield
    except CollectorError as error:
        raise CollectorError(f"{error}; {what}") from None


def _good(answer: Answer, what: str) -> Answer:
    if answer.status != 200:
        raise CollectorError(f"the collector gives no {what} (status {answer.status}): {answer.said()}")
    return answer


# ---- one record


def send_record(record: Any, collector: Collector, device: Device, occasion: str) -> SentReport:
    """Answer what a collector asks with one record; see :func:`assocpriv.collect.send_report`."""
    plan = _fetch_plan(collector, device.pinned_id)
    with _opened(device) as ledger:
        known = ledger.has(plan, occasion)
    made = None if known else _prepared(record, plan, collector, device)
    with _opened(device) as ledger:
        before = ledger.spent(plan)
        submission = ledger.submit(made, plan, occasion=occasion)
        new, left = ledger.spent(plan) > before, ledger.left(plan)
        told = before + new, left, ledger.amplification
    state, moment = _deliver(submission, plan, collector, device)
    note = plan.unbounded if plan.amplification is None else ""
    return SentReport(state, plan.plan_id, plan.report_bytes, new, *told, note, moment)


@contextlib.contextmanager
def _opened(device: Device) -> Iterator[Ledger]:
    """Open the ledger; one that is new and in which nothing was written is not left behind."""
    ledger = Ledger.open(device.ledger, limit=device.limit)
    try:
        yield ledger
    finally:
        ledger.abandon()


def _prepared(record: Any, plan: "PublishedPlan", collector: Collector, device: Device) -> Any:
    """Return the record that a plan's report is made of: read, if it came as text, and with what the kind asks for."""

    def ask(path: str) -> Any:
        answer = _good(collector.ask(path, most_bytes=_MOST_GUIDANCE), "guidance")
        return answer.read_json("guidance")

    if isinstance(record, bytes):
        record = parse_values(record, plan)
    if device.empty == "error" and takes_names(plan) and isinstance(record, Sized) and not len(record):
        raise BasketError(
            "the basket is empty, as after a pipe that failed; if nothing was bought, report that with empty='keep'"
        )
    return ask_for(record, plan, ask, max_level=device.max_level)


# ---- what is sent


def _deliver(
    submission: Submission, plan: "PublishedPlan", collector: Collector, device: Device
) -> tuple[str, int | None]:
    """Send a report that is in the ledger, unless the collector has it or its moment is to come; return its state."""
    if submission.acknowledged:
        return "sent before", None
    ((moment, due),) = _moments([submission], plan, collector, device)
    if not due:
        return "waits for its moment", moment
    _send([submission], collector, device)
    return "sent", None


def send_waiting(collector: Collector, device: Device) -> SentWaiting:
    """Send what waits in a ledger; see :func:`assocpriv.collect.send_unsent`."""
    plan = _fetch_plan(collector, device.pinned_id)
    with _opened(device) as ledger:
        waiting = ledger.unsent()
    wanted = [each for each in waiting if each.plan_id == plan.plan_id]
    moments = _moments(wanted, plan, collector, device)
    due = [each for each, (_, is_due) in zip(wanted, moments, strict=True) if is_due]
    at_a_time = max(1, _MOST_UPLOAD // plan.record_bytes)
    if collector.relay is not None:
        at_a_time = 1  # what comes together is one sender's
    for start in range(0, len(due), at_a_time):
        _send(due[start : start + at_a_time], collector, device)
    later = sorted(moment for moment, is_due in moments if not is_due)
    return SentWaiting(len(due), len(waiting) - len(wanted), tuple(later))


def _moments(
    submissions: Sequence[Submission], plan: "PublishedPlan", collector: Collector, device: Device
) -> list[tuple[int, bool]]:
    """Return when reports may be sent, in seconds since 1970, and whether that is now or was before.

    Of several whose moment has come, as on a device that was off, one keeps it: others that were sent with it would be
    known as the same person's.
    """
    now, central = int(collector.clock.wall()), plan.central
    if central is None:
        return [(now, True)] * len(submissions)
    moments, is_taken = list[tuple[int, bool]](), False
    with _opened(device) as ledger:
        for each in submissions:
            moment = ledger.moment(each, central.delay, now, earliest=now + 1 if is_taken else 0)
            moments.append((moment, moment <= now))
            is_taken |= moment <= now
    return moments


def _send(submissions: list[Submission], collector: Collector, device: Device) -> None:
    """Send reports of one plan, and note in the ledger that the collector has them."""
    kept = "the report waits in the ledger: run this again, or send_unsent (on the command line --unsent), to send it"
    headers = {"Assocpriv-Plan": submissions[0].plan_id, "Content-Type": "application/octet-stream"}
    body = b"".join(each.submission_id + each.report for each in submissions)
    with _saying(kept):
        answer = collector.ask("/reports", most_bytes=_MOST_RECEIPT, body=body, headers=headers)
        if answer.status != 200:
            raise CollectorError(f"the collector refuses (status {answer.status}): {answer.said()}")
        receipt = answer.read_json("receipt")
        counts = [receipt.get(name) for name in ("accepted", "duplicates")] if isinstance(receipt, dict) else [None]
        numbers = [each for each in counts if type(each) is int and each >= 0]
        if numbers != counts or sum(numbers) != len(submissions):
            raise CollectorError("the collector's answer does not say that it has what was sent")
    with _opened(device) as ledger:
        for submission in submissions:
            ledger.acknowledge(submission)
