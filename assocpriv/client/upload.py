"""A device and its collector: fetch the plan, make a report, and send it until the collector has it.

This module sees raw records while a report is made, and passes them only to the ledger. It sends a report only after it
is in the ledger, on disk, with the id of its submission: the same bytes at every attempt. The ledger is closed while
data is sent, so other processes can use it meanwhile. Reports of a plan with a central guarantee go through a relay.

Through a relay each report is sent in its own request at its own send time, which the ledger records. So are keys that
the collector, asked directly, confirmed: a call that asks it sends no report, or the collector could tell from the time
whose report arrives.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.client.connection import Collector, HttpResponse
from assocpriv.client.ledger import Ledger, Submission, parse_record, refuse_empty
from assocpriv.client.plan_parts import ADD_GUIDANCE
from assocpriv.guarantees.errors import CollectorError, PlanError
from assocpriv.plans.registry import parse_plan

if TYPE_CHECKING:
    from assocpriv.guarantees.amplification import Guarantee
    from assocpriv.plans.published_plan import PublishedPlan

_ID = re.compile("[0-9a-f]{64}")
_MOST_PLAN = 64 << 20
_MOST_GUIDANCE = 1 << 28
_MOST_UPLOAD = 4 << 20  # bytes in one request
_MOST_RECEIPT = 1 << 12
_RELAY_DELAY = 3600  # seconds within which a report is sent through a relay, if its plan does not say


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """A device's ledger, and what it may send.

    Attributes:
        ledger: the file; made if missing, once a report is made.
        limit: a guarantee for all its reports together, under any plans; without it only the first plan is answered.
        pinned_id: required id of the collector's plan, if known from elsewhere.
        max_level: highest level of guidance to answer, for a guided plan; any by default.
        empty: ``"error"``, or ``"keep"`` to report an empty basket.
    """

    ledger: Path
    limit: "Guarantee | None" = None
    pinned_id: str | None = None
    max_level: int | None = None
    empty: str = "error"


@dataclass(frozen=True, slots=True)
class SentReport:
    """The result of sending one record.

    Attributes:
        state: ``"sent"``; ``"already sent"``, if an earlier call sent it; or ``"scheduled"``.
        plan_id, report_bytes: id of the plan, and length of the report in bytes.
        new: whether the report was made now.
        spent, remaining: reports under the plan that this device has made, and may still make.
        amplification: γ of all reports of the device, under any plans; None if one of these has no γ.
        unbounded: for a plan without γ, what holds instead, in words; otherwise empty.
        send_time: for a scheduled report, the time from which :func:`assocpriv.collect.send_queued` sends it, in
            seconds since 1970.
    """

    state: str
    plan_id: str
    report_bytes: int
    new: bool
    spent: int
    remaining: int
    amplification: Fraction | None
    unbounded: str
    send_time: int | None = None


@dataclass(frozen=True, slots=True)
class QueueResult:
    """The result of sending queued reports.

    Attributes:
        sent: number of queued reports that were sent.
        other_plans: number of reports that stay queued because this collector collects another plan.
        later: send times of scheduled reports, in seconds since 1970, the earliest first.
    """

    sent: int
    other_plans: int
    later: tuple[int, ...] = ()


# ---- the plan of a collector


def _fetch_plan(collector: Collector, pinned_id: str | None = None) -> "PublishedPlan":
    """Fetch a collector's plan.

    Raises:
        CollectorError: no response, or no plan.
        PlanError: the plan breaks a rule, or has another id than the pinned one.
    """
    if pinned_id is not None and not _ID.fullmatch(pinned_id):
        raise PlanError("plan_id must have 64 lowercase hexadecimal digits")
    with _explain_outcome("nothing was made or sent"):
        answer = _require_success(collector.ask("/plan", most_bytes=_MOST_PLAN), "plan")
        try:
            plan = parse_plan(answer.body.decode("utf-8"))
        except UnicodeDecodeError:
            raise CollectorError("the collector's response is no plan") from None
        if answer.headers.get("assocpriv-plan") != plan.plan_id:
            raise CollectorError(f"the collector sends plan {plan.plan_id[:12]}, but its header names another")
    if pinned_id not in (None, plan.plan_id):
        raise PlanError(
            f"the collector publishes plan {plan.plan_id[:12]}…, not the required {(pinned_id or '')[:12]}…; nothing "
            "was made or sent"
        )
    if plan.central is not None and collector.relay is None:
        raise PlanError(
            "reports of this plan go through a relay only: give relay=, run by another party; nothing was made or sent"
        )
    return plan


@contextlib.contextmanager
def _explain_outcome(what: str) -> Iterator[None]:
    """Add what became of the report to an error of the collector."""
    try:
        yield
    except CollectorError as error:
        raise CollectorError(f"{error}; {what}") from None


def _require_success(answer: HttpResponse, what: str) -> HttpResponse:
    """Return a response of status 200; refuse any other."""
    if answer.status != 200:
        raise CollectorError(f"the collector sends no {what} (status {answer.status}): {answer.message()}")
    return answer


# ---- one record


def send_record(record: Any, collector: Collector, device: DeviceOptions, period: str) -> SentReport:
    """Send the report of one record to a collector; see :func:`assocpriv.collect.send_report`."""
    new_key = _check_key(collector, device)
    plan = _fetch_plan(collector, device.pinned_id)
    with _open_ledger(device) as ledger:
        known = ledger.has(plan, period)
    made = None if known else _prepared(record, plan, collector, device)
    with _open_ledger(device) as ledger:
        before = ledger.reports_made(plan)
        submission = ledger.submit(made, plan, period=period)
        new, remaining = ledger.reports_made(plan) > before, ledger.remaining(plan)
        budget = before + new, remaining, ledger.amplification
        _keep_key(ledger, new_key, collector)
    state, send_time = _deliver(submission, plan, collector, device, was_asked=new_key is not None)
    note = plan.unbounded if plan.amplification is None else ""
    return SentReport(state, plan.plan_id, plan.report_bytes, new, *budget, note, send_time)


@contextlib.contextmanager
def _open_ledger(device: DeviceOptions) -> Iterator[Ledger]:
    """Open the ledger; remove it if it is new and holds no report."""
    ledger = Ledger.open(device.ledger, limit=device.limit)
    try:
        yield ledger
    finally:
        ledger.abandon()


def _prepared(record: Any, plan: "PublishedPlan", collector: Collector, device: DeviceOptions) -> Any:
    """Return a record ready for its report: parsed, if it is text, and with what the plan type needs from the
    collector."""

    def ask(path: str) -> Any:
        return _require_success(collector.ask(path, most_bytes=_MOST_GUIDANCE), "guidance").read_json("guidance")

    if isinstance(record, bytes):
        record = parse_record(record, plan, device_part=True)
    if device.empty == "error":
        refuse_empty(record, plan)
    if not ADD_GUIDANCE.is_of(plan.kind):
        return record
    return ADD_GUIDANCE.of(plan.kind)(record, plan, ask, max_level=device.max_level)


# ---- sending


def _check_key(collector: Collector, device: DeviceOptions) -> str | None:
    """Choose the key for a relay; return its digest if the collector was asked directly, and saw the address."""
    if collector.relay is None:
        return None
    with _open_ledger(device) as ledger:
        known = ledger.known_keys(int(collector.clock.wall()))
    with _explain_outcome("nothing was made or sent"):
        return collector.check_key(known)


def _keep_key(ledger: Ledger, digest: str | None, collector: Collector) -> None:
    if digest is not None:
        ledger.keep_key(digest, int(collector.clock.wall()))


def _deliver(
    submission: Submission, plan: "PublishedPlan", collector: Collector, device: DeviceOptions, *, was_asked: bool
) -> tuple[str, int | None]:
    """Send a report from the ledger unless the collector has it or its time is later; return its state and time."""
    if submission.acknowledged:
        return "already sent", None
    ((send_time, due),) = _send_times([submission], plan, collector, device, was_asked=was_asked)
    if not due:
        return "scheduled", send_time
    _send([submission], collector, device)
    return "sent", None


def send_queue(collector: Collector, device: DeviceOptions) -> QueueResult:
    """Send the queued reports of a ledger; see :func:`assocpriv.collect.send_queued`."""
    new_key = _check_key(collector, device)
    plan = _fetch_plan(collector, device.pinned_id)
    with _open_ledger(device) as ledger:
        waiting = ledger.queued()
        _keep_key(ledger, new_key if waiting else None, collector)
    wanted = [each for each in waiting if each.plan_id == plan.plan_id]
    times = _send_times(wanted, plan, collector, device, was_asked=new_key is not None)
    due = [each for each, (_, is_due) in zip(wanted, times, strict=True) if is_due]
    at_a_time = max(1, _MOST_UPLOAD // plan.record_bytes)
    if collector.relay is not None:
        at_a_time = 1  # reports in one request have one sender
    for start in range(0, len(due), at_a_time):
        _send(due[start : start + at_a_time], collector, device)
    later = sorted(time for time, is_due in times if not is_due)
    return QueueResult(len(due), len(waiting) - len(wanted), tuple(later))


def _send_times(
    submissions: Sequence[Submission],
    plan: "PublishedPlan",
    collector: Collector,
    device: DeviceOptions,
    *,
    was_asked: bool,
) -> list[tuple[int, bool]]:
    """Return the send times of reports, in seconds since 1970, and whether each is now or in the past.

    Through a relay none is now if the collector ``was_asked`` directly. Of several overdue reports, as on a device that
    was off, one keeps its time: reports sent together would be known to come from one person.
    """
    now, central = int(collector.clock.wall()), plan.central
    if collector.relay is None:
        return [(now, True)] * len(submissions)
    delay = _RELAY_DELAY if central is None else central.delay
    times, is_taken = list[tuple[int, bool]](), was_asked
    with _open_ledger(device) as ledger:
        for each in submissions:
            time = ledger.send_time(each, delay, now, earliest=now + 1 if is_taken else 0)
            times.append((time, time <= now))
            is_taken |= time <= now
    return times


def _send(submissions: list[Submission], collector: Collector, device: DeviceOptions) -> None:
    """Send reports of one plan, and record in the ledger that the collector has them."""
    kept = "the report is queued in the ledger: to send it, run this again, or send_queued (--queued)"
    headers = {"Assocpriv-Plan": submissions[0].plan_id, "Content-Type": "application/octet-stream"}
    body = b"".join(each.submission_id + each.report for each in submissions)
    with _explain_outcome(kept):
        answer = collector.ask("/reports", most_bytes=_MOST_RECEIPT, body=body, headers=headers)
        if answer.status != 200:
            raise CollectorError(f"the collector refuses (status {answer.status}): {answer.message()}")
        receipt = answer.read_json("receipt")
        counts = [receipt.get(name) for name in ("accepted", "duplicates")] if isinstance(receipt, dict) else [None]
        numbers = [each for each in counts if type(each) is int and each >= 0]
        if numbers != counts or sum(numbers) != len(submissions):
            raise CollectorError("the collector's response does not confirm that it has the reports")
    with _open_ledger(device) as ledger:
        for submission in submissions:
            ledger.acknowledge(submission)
