"""One device and its collector: what is asked there, a report made and kept, sent until the collector has it.

This module sees raw records while a report is made, and hands them to nothing but the ledger. What it sends is a report
that is in the ledger already, on disk, with the id of its submission: the same bytes at every attempt. The
ledger is closed while anything is sent, so others can use it meanwhile.
"""

import contextlib
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

from assocpriv.client.collector_connection import Answer, Collector, read_json
from assocpriv.client.kinds import ask_for, parse_values, takes_names
from assocpriv.client.ledger import Ledger
from assocpriv.client.ledger_book import Submission
from assocpriv.core.errors import BasketError, CollectorError, PlanError
from assocpriv.core.privacy import Breach
from assocpriv.plans.campaign import MOST_TEXT, Campaign, is_id, parse_object
from assocpriv.plans.published import PublishedPlan
from assocpriv.plans.registry import parse_plan

_MOST_PLAN = 64 << 20
_MOST_GUIDANCE = 1 << 28
_MOST_UPLOAD = 4 << 20  # that a collector takes at a time
_MOST_RECEIPT = 1 << 12


@dataclass(frozen=True, slots=True)
class Offer:
    """What a collector asks: a plan, or a campaign and the ids of the plans that its rounds have so far."""

    plan: PublishedPlan | None = None
    campaign: Campaign | None = None
    plan_ids: tuple[str | None, ...] = ()

    def takes(self, plan_id: str) -> bool:
        """Tell whether reports of a plan are collected here."""
        return plan_id in (self.plan_ids if self.plan is None else (self.plan.plan_id,))


@dataclass(frozen=True, slots=True)
class Device:
    """A device's ledger and what it lets go.

    Attributes:
        ledger: its file; made if it is missing, and something was written down.
        limit: a promise that all its reports keep, under any plans.
        pinned_id: id of the plan or the campaign that the collector must have, where it is known from elsewhere.
        max_level: of a guided plan the highest level that is answered; any by default.
        empty: ``"error"``, or ``"keep"`` to report on an empty basket.
    """

    ledger: Path
    limit: Breach | None = None
    pinned_id: str | None = None
    max_level: int | None = None
    empty: str = "error"


@dataclass(frozen=True, slots=True)
class SentReport:
    """What became of one record.

    Attributes:
        state: ``"sent"``; ``"sent before"``, when nothing was sent now; or ``"no plan yet"``, when the round that
            this device drew has none, so nothing was made: come again later.
        campaign_id, round_number: of a campaign, and of the round that this device drew; else None.
        plan_id, report_bytes: of what was answered; None and 0 for no plan yet.
        new: whether the report was made now.
        spent, left: reports of the plan made by this device, and how many more it may make.
        amplification: γ of all that the device told, under any plans; None if one of these states none.
        unbounded: what holds instead where the plan states no γ, in words; else empty.
    """

    state: str
    campaign_id: str | None = None
    round_number: int | None = None
    plan_id: str | None = None
    report_bytes: int = 0
    new: bool = False
    spent: int = 0
    left: int = 0
    amplification: Fraction | None = None
    unbounded: str = ""


@dataclass(frozen=True, slots=True)
class SentWaiting:
    """Reports that waited: how many were sent, and how many wait on, being of plans that are not collected there."""

    sent: int
    other_plans: int


# ---- what a collector asks


def fetch_offer(collector: Collector, pinned_id: str | None = None) -> Offer:
    """Ask a collector for its campaign, or else for its plan.

    Raises:
        CollectorError: no answer, or neither of both.
        PlanError: what it publishes breaks a rule, or is not what was pinned.
    """
    if pinned_id is not None and not is_id(pinned_id):
        raise PlanError("a plan's or campaign's id has 64 lowercase hexadecimal digits; give it whole")
    with _saying("nothing was made or sent"):
        answer = collector.ask("/campaign", most_bytes=2 * MOST_TEXT)
        none = answer.status == 404
        offer = Offer(_fetch_plan(collector, "/plan")) if none else _campaign_of(_good(answer, "campaign"))
    found = offer.plan.plan_id if offer.plan else offer.campaign.campaign_id if offer.campaign else ""
    if pinned_id not in (None, found):
        raise PlanError(
            f"the collector publishes {found[:12]}…, not the plan or campaign {(pinned_id or '')[:12]}… that was asked "
            "for; nothing was made or sent"
        )
    return offer


def _fetch_plan(collector: Collector, path: str, wanted: str | None = None) -> PublishedPlan:
    answer = _good(collector.ask(path, most_bytes=_MOST_PLAN), "plan")
    try:
        plan = parse_plan(answer.body.decode("utf-8"))
    except UnicodeDecodeError:
        raise CollectorError("the collector's answer is no plan") from None
    if answer.headers.get("assocpriv-plan") != plan.plan_id or wanted not in (None, plan.plan_id):
        raise CollectorError(f"the collector answers with plan {plan.plan_id[:12]} where it says that it has another")
    return plan


def _campaign_of(answer: Answer) -> Offer:
    try:
        content = parse_object(answer.body.decode("utf-8"))
    except UnicodeDecodeError:
        content = None
    if not isinstance(content, dict) or set(content) != {"campaign", "plans"}:
        raise CollectorError("the collector's answer is no campaign")
    campaign, ids = Campaign.from_json(content["campaign"]), content["plans"]
    known = [each for each in ids if each is not None] if isinstance(ids, list) else []
    if (
        not isinstance(ids, list)
        or len(ids) != len(campaign.rounds)
        or not all(map(is_id, known))
        or len(set(known)) != len(known)
        or ids[0] not in (None, campaign.first_plan)
    ):
        raise CollectorError("the plans of the collector's campaign are not what its rounds can have")
    return Offer(campaign=campaign, plan_ids=tuple(ids))


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


def send_record(record: Any, collector: Collector, device: Device, occasion: str | None) -> SentReport:
    """Answer what a collector asks with one record; see :func:`assocpriv.sending.send_report`."""
    offer = fetch_offer(collector, device.pinned_id)
    if offer.campaign is not None:
        return _send_round(record, collector, device, offer)
    assert offer.plan is not None
    plan = offer.plan
    if occasion is None:
        raise PlanError("the collector has a plan, and each occasion gets one report: name it, as --occasion 2026-W47")
    with _opened(device) as ledger:
        known = ledger.has(plan, occasion)
    made = None if known else _prepared(record, plan, collector, device)
    with _opened(device) as ledger:
        before = ledger.spent(plan)
        submission = ledger.submit(made, plan, occasion=occasion)
        new, left = ledger.spent(plan) > before, ledger.left(plan)
        told = before + new, left, ledger.amplification
    sent = _deliver(submission, collector, device)
    note = plan.unbounded if plan.amplification is None else ""
    return SentReport(sent, None, None, plan.plan_id, plan.report_bytes, new, *told, note)


def _send_round(record: Any, collector: Collector, device: Device, offer: Offer) -> SentReport:
    campaign = offer.campaign
    assert campaign is not None
    with _opened(device) as ledger:
        drawn, gamma = ledger.draw_round(campaign), ledger.amplification
        submission = ledger.answered(campaign)
    if new := submission is None:
        plan_id = offer.plan_ids[drawn - 1]
        if plan_id is None:
            return SentReport("no plan yet", campaign.campaign_id, drawn, amplification=gamma)
        plan = _fetch_plan(collector, f"/plans/{plan_id}", plan_id)
        campaign.check_plan(plan)
        made = _prepared(record, plan, collector, device)
        with _opened(device) as ledger:
            submission = ledger.submit_round(made, plan, campaign)
            gamma = ledger.amplification
    assert submission is not None
    sent = _deliver(submission, collector, device)
    length = len(submission.report)
    return SentReport(sent, campaign.campaign_id, drawn, submission.plan_id, length, new, 1, 0, gamma)


@contextlib.contextmanager
def _opened(device: Device) -> Iterator[Ledger]:
    """Open the ledger; one that is new and in which nothing was written is not left behind."""
    ledger = Ledger.open(device.ledger, limit=device.limit)
    try:
        yield ledger
    finally:
        ledger.abandon()


def _prepared(record: Any, plan: PublishedPlan, collector: Collector, device: Device) -> Any:
    """Return the record that a plan's report is made of: read, if it came as text, and with what the kind asks for."""

    def ask(path: str) -> Any:
        answer = _good(collector.ask(path, most_bytes=_MOST_GUIDANCE), "guidance")
        return read_json(answer, "guidance")

    if isinstance(record, bytes):
        record = parse_values(record, plan)
    if device.empty == "error" and takes_names(plan) and isinstance(record, Sized) and not len(record):
        raise BasketError(
            "the basket is empty, as after a pipe that failed; if nothing was bought, report that with "
            "--empty keep (empty='keep')"
        )
    return ask_for(record, plan, ask, max_level=device.max_level)


# ---- what is sent


def _deliver(submission: Submission, collector: Collector, device: Device) -> str:
    """Send a report that is in the ledger, unless the collector has it; return the state that it is in then."""
    if submission.acknowledged:
        return "sent before"
    _send([submission], collector, device)
    return "sent"


def send_waiting(collector: Collector, device: Device) -> SentWaiting:
    """Send what waits in a ledger; see :func:`assocpriv.sending.send_unsent`."""
    offer = fetch_offer(collector, device.pinned_id)
    with _opened(device) as ledger:
        waiting = ledger.unsent()
    wanted = sorted((each for each in waiting if offer.takes(each.plan_id)), key=lambda each: each.plan_id)
    for _, group in groupby(wanted, key=lambda each: each.plan_id):
        submissions = list(group)
        at_a_time = max(1, _MOST_UPLOAD // (len(submissions[0].submission_id) + len(submissions[0].report)))
        for start in range(0, len(submissions), at_a_time):
            _send(submissions[start : start + at_a_time], collector, device)
    return SentWaiting(len(wanted), len(waiting) - len(wanted))


def _send(submissions: list[Submission], collector: Collector, device: Device) -> None:
    """Send reports of one plan, and note in the ledger that the collector has them."""
    kept = "the report waits in the ledger: run this again, or with --unsent (send_unsent), to send it"
    headers = {"Assocpriv-Plan": submissions[0].plan_id, "Content-Type": "application/octet-stream"}
    body = b"".join(each.submission_id + each.report for each in submissions)
    with _saying(kept):
        answer = collector.ask("/reports", most_bytes=_MOST_RECEIPT, body=body, headers=headers)
        if answer.status != 200:
            raise CollectorError(f"the collector refuses (status {answer.status}): {answer.said()}")
        receipt = read_json(answer, "receipt")
        counts = [receipt.get(name) for name in ("accepted", "duplicates")] if isinstance(receipt, dict) else [None]
        numbers = [each for each in counts if type(each) is int and each >= 0]
        if numbers != counts or sum(numbers) != len(submissions):
            raise CollectorError("the collector's answer does not say that it has what was sent")
    with _opened(device) as ledger:
        for submission in submissions:
            ledger.acknowledge(submission)
