"""Make tests/vectors/devices.json: valid and invalid ledgers, byte by byte; budget spent; decisions on further reports.

PYTHONPATH=. python tests/vectors/make_devices.py
"""

import hashlib
import json
import struct
from collections.abc import Iterable
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from assocpriv.client.ledger import BudgetSpent, LedgerBook, check_further, remaining_reports
from assocpriv.client.ledger_file import Entry, KeyChecked, Queued, Record, Scheduled, parse_ledger
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import FileError, PlanError
from assocpriv.show import collection_views, text_renderer

HEADER, OTHER = (b"assocpriv-ledger" + struct.pack("<I", version) for version in (5, 6))
PLANS = [bytes([place]) * 32 for place in (0xA1, 0xB2)]
IDS = [bytes(range(place, place + 16)) for place in (0, 100)]


def chained(bodies: list[bytes], first: int = 1) -> list[bytes]:
    """Return records, numbered from the first one."""
    records, before = [], HEADER
    for number, body in enumerate(bodies, first):
        record = struct.pack("<II", len(body) + 40, number) + body
        before = hashlib.sha256(before + record).digest()
        records.append(record + before)
    return records


def state(count: int, record: bytes) -> bytes:
    """Return a header's state for a number of records, of which this is the last one."""
    stated = struct.pack("<I", count) + record[-32:]
    return stated + hashlib.sha256(HEADER + stated).digest()


def ledger_of(records: list[bytes]) -> bytes:
    """Return a ledger of records; the header states the last two, the one of even number first."""
    stated = list(enumerate(records, 1))[-2:]
    parts = [b"".join(state(*each) for each in stated if each[0] % 2 == odd) or bytes(68) for odd in (0, 1)]
    return b"".join([HEADER, *parts, *records])


def write_ledger(records: Iterable[Record]) -> bytes:
    """Return the ledger of the package's records."""
    made: list[bytes] = []
    for record in records:
        made.append(record.to_bytes(made[-1][-32:] if made else HEADER))
    return ledger_of(made)


def report_fields(plan: bytes, period: bytes, submission_id: bytes, report: bytes, gamma: bytes = b"19/3") -> bytes:
    """Return the fields of a report's record."""
    return plan + period + submission_id + struct.pack("<H", len(gamma)) + gamma + report


def ledgers() -> dict[str, bytes]:
    """Return the bytes of ledgers by name."""
    week = hashlib.sha256(b"2026-W47").digest()
    one, two = report_fields(PLANS[0], week, IDS[0], b"one"), report_fields(PLANS[1], week, IDS[1], b"two", b"none")
    bodies = [
        b"\1" + report_fields(PLANS[0], week, IDS[0], b"one", b"19/3+"),
        b"\2" + two,
        b"\3" + struct.pack("<I", 1),
        b"\5" + struct.pack("<IQ", 2, 1_800_000_000),
        b"\5" + struct.pack("<IQ", 2, 2**53 - 1),
        b"\4" + struct.pack("<I", 2),
        b"\6" + bytes(32) + struct.pack("<Q", 1_800_000_000),
    ]
    records, other = chained(bodies), chained([b"\2" + two, *bodies[1:]])
    whole, content = ledger_of(records), b"".join(records)
    named = {
        "empty": b"", "begun": HEADER + bytes(136), "torn header": HEADER[:16] + bytes(140),
        "one": ledger_of(records[:1]), "every kind": whole, "torn record": whole + records[0][:-40] + bytes(20),
        "other version": OTHER + whole[20:],
        "text": b"a ledger", "the last record is not stated": HEADER + ledger_of(records[:6])[20:156] + content,
        "the first record is not stated": HEADER + bytes(136) + records[0],
        "torn state": whole[:100] + bytes(56) + content, "torn older state": whole[:30] + bytes(58) + whole[88:],
        "cut in the header": whole[:100], "cut in the first record": whole[:160], "cut in the last record": whole[:-1],
        "cut behind a record": whole[: -len(records[6])], "cut behind the header": whole[:156],
        "only record cut off": ledger_of(records[:1])[:156], "zeros for the last record": whole[:-80] + bytes(80),
        "without states": HEADER + bytes(136) + content,
        "header of an older copy": ledger_of(records[:5])[:156] + content,
        "header of another ledger": ledger_of(other)[:156] + content,
        "a record of another ledger": whole[:156] + b"".join([*records[:2], other[2], *records[3:]]),
        "no record is stated": HEADER + state(0, HEADER + bytes(12)) + bytes(68) + records[0],
    }  # fmt: skip
    bad = {
        "kind 5 too long": [*bodies[:3], b"\5" + struct.pack("<IQ", 2, 0) + bytes(1)],
        "a time too late": [*bodies[:3], b"\5" + struct.pack("<IQ", 2, 2**53)],
        "a time, not for a collector": [bodies[0], b"\5" + struct.pack("<IQ", 1, 0)],
        "a time after all": [*bodies, b"\5" + struct.pack("<IQ", 2, 0)],
        "kind 6 too short": [b"\6" + bytes(36)],
        "a key's time too late": [b"\6" + bytes(32) + struct.pack("<Q", 2**53)],
        "kind 7": [b"\7" + bytes(36)],
        "kind 4 too long": [bodies[0], b"\4" + bytes(5)],
        "kind 3 too long": [bodies[0], b"\3" + struct.pack("<I", 1) + IDS[0]],
        "queued twice": [*bodies[:2], b"\3" + struct.pack("<I", 2)],
        "without report": [bodies[0], b"\3" + struct.pack("<I", 2)],
        "acknowledged, not for a collector": [bodies[0], b"\4" + struct.pack("<I", 1)],
        "acknowledged twice": [*bodies, b"\4" + struct.pack("<I", 2)],
        "gamma": [b"\1" + report_fields(PLANS[0], week, IDS[0], b"one", b"1/2")],
        "neither stated nor covered": [b"\1" + report_fields(PLANS[0], week, IDS[0], b"one", b"none+")],
        "no report": [b"\1" + report_fields(PLANS[0], week, IDS[0], b"")],
    }
    named["number"] = HEADER + bytes(136) + chained([b"\1" + one], 2)[0]
    return named | {name: ledger_of(chained(each)) for name, each in bad.items()}


def spent_cases() -> dict[str, tuple[list[tuple[str, str]], dict[str, str] | None]]:
    """Return reports by name, each as plan and γ, and a limit for the device, or none."""
    a, b, c = ("a1" * 32, "b2" * 32, "c3" * 32)
    default, wide = {"prior": "1/20", "posterior": "1/2"}, {"prior": "1/100", "posterior": "9/10"}
    many = [(f"{place:02x}" * 32, "3/2") for place in range(5) for _ in range(place + 1)]
    return {
        "nothing": ([], None), "nothing yet": ([], default), "one": ([(a, "7/1")], None),
        "one of some": ([(a, "7/1")], default),
        "the limit is reached": ([(a, "19/1")], default), "the limit is passed": ([(a, "19/1"), (b, "2/1")], default),
        "two plans": ([(a, "19/3"), (b, "7/1"), (a, "19/3")], wide), "many plans": (many, None),
        "no gamma": ([(a, "none")], None), "no gamma and others": ([(a, "none"), (b, "19/3"), (a, "none")], default),
        "outside": ([(a, "5/1+"), (b, "3/1")], wide),
        "all of it": ([(a, "none"), (b, "19/3+"), (c, "2/1")], default),
        "as good as certain": ([(a, "1000000/1")] * 5, wide), "beyond all bounds": ([(a, "1000000/1")] * 12, wide),
        "nearly": ([(a, "99999/1")], None), "nothing disclosed": ([(a, "1/1"), (a, "1/1")], wide),
        "hardly anything": ([(a, "1000001/1000000")], wide),
        "rounded": ([(a, f"{10**30 + 1}/{10**30}")] * 9, wide),
        "long": ([(a, f"{10**499 + 1}/{10**499 - 1}"), (b, "355/113")], {"prior": "1/1000", "posterior": "1/3"}),
        "a thousand": ([(a, "1001/1000")] * 1000, wide),
    }  # fmt: skip


def spent_by(reports: list[tuple[str, str]], limit: dict[str, str] | None) -> BudgetSpent:
    """Return the budget spent by a ledger of these reports."""
    return book_of([(plan, 0, gamma) for plan, gamma in reports]).spent_budget(limit and Guarantee(**limit))


def book_of(reports: list[tuple[str, int, str]]) -> LedgerBook:
    """Return the book of a ledger of these reports, each given as plan, reporting period and γ."""
    book, bodies = LedgerBook(), []
    for plan, period, gamma in reports:
        fields = report_fields(bytes.fromhex(plan), bytes([period]) * 32, IDS[0], b"one", gamma.encode())
        bodies.append(b"\1" + fields)
    assert all(list(map(book.add, parse_ledger(ledger_of(chained(bodies)))[0])))
    return book


def request_cases() -> dict[str, tuple[list[tuple[str, int, str]], dict[str, Any], dict[str, str] | None]]:
    """Return requests for a report by name: the earlier reports, the requested report, and a limit or none.

    A limit is a prior and a posterior, or an ε; for 2% and 50% γ must stay below 49.
    """
    a, b, c = ("a1" * 32, "b2" * 32, "c3" * 32)

    def request(plan: str, period: int, gamma: str = "19/3", reports: int = 1) -> dict[str, Any]:
        return {"plan": plan, "period": period, "gamma": gamma, "reports_per_person": reports}

    one, wide = [(a, 1, "19/3")], {"prior": "1/100", "posterior": "9/10"}
    limit = {"prior": "1/50", "posterior": "1/2"}
    return {
        "first": ([], request(a, 1), None), "again": (one, request(a, 1), None), "spent": (one, request(a, 2), None),
        "first of three": ([], request(a, 1, reports=3), None),
        "second of three": (one, request(a, 2, reports=3), None),
        "republished, same reporting period": (one, request(b, 1), None),
        "republished, same reporting period, limit": (one, request(b, 1), wide),
        "republished, other reporting period": (one, request(b, 2), None),
        "republished, of more reports": (one, request(b, 2, "3/1", 9), None),
        "republished, limit": (one, request(b, 2), wide),
        "republished, limit reached": (one, request(b, 2, "147/19"), limit),
        "republished, below the limit": (one, request(b, 2, "146/19", 2), limit),
        "again after another": ([*one, (b, 2, "7/1")], request(b, 2), None),
        "first after another": ([*one, (b, 2, "7/1")], request(a, 3, reports=3), None),
        "first after another, limit": ([*one, (b, 2, "7/1")], request(a, 3, reports=3), wide),
        "one reporting period under two plans": ([*one, (b, 1, "7/1")], request(b, 1), None),
        "third plan of one reporting period": ([*one, (b, 1, "7/1")], request(c, 1), wide),
        "alone beyond the limit": ([], request(a, 1, "49/1"), limit),
        "no gamma": ([], request(a, 1, "none"), None), "no gamma, limit": ([], request(a, 1, "none"), wide),
        "no gamma again": ([(a, 1, "none")], request(a, 2, "none", 2), None),
        "after no gamma": ([(a, 1, "none")], request(b, 2), None),
        "after no gamma, limit": ([(a, 1, "none")], request(b, 2), wide),
        "outside": ([], request(a, 1, "5/1+"), None), "outside, limit": ([], request(a, 1, "5/1+"), wide),
        "outside second": (one, request(b, 2, "5/1+"), None), "after outside": ([(a, 1, "5/1+")], request(b, 2), None),
        "nothing disclosed": ([(a, 1, "1/1")], request(b, 2, "1/1"), None),
        "wide": ([(a, 1, f"{10**20}/1")], request(b, 2, "2000/1"), None),
        "too wide": ([(a, 1, f"{10**20}/1")], request(b, 2, f"{10**4}/1"), None),
        "an epsilon": (one, request(b, 2, "361/57"), {"epsilon": "3.7"}),
        "an epsilon of more digits": (one, request(b, 2), {"epsilon": "3.69165"}),
        "an epsilon reached": (one, request(b, 2), {"epsilon": "3.69"}),
    }  # fmt: skip


def guaranteed(limit: dict[str, str] | None) -> Guarantee | None:
    """Return the guarantee of a limit, given as prior and posterior or as ε."""
    return limit and (Guarantee.from_epsilon(**limit) if "epsilon" in limit else Guarantee(**limit))


def decision_on(book: LedgerBook, request: dict[str, Any], limit: dict[str, str] | None) -> dict[str, Any]:
    """Return the package's decision, the remaining reports of the plan, and the message of a refusal."""
    gamma = None if request["gamma"] == "none" else Fraction(request["gamma"].rstrip("+"))
    uncovered = "column class, as it is" if "+" in request["gamma"] else ""
    plan: Any = SimpleNamespace(plan_id=request["plan"], amplification=gamma, uncovered_secret=uncovered,
                                reports_per_person=request["reports_per_person"])  # fmt: skip
    guarantee = guaranteed(limit)
    period, message = bytes([request["period"]]) * 32, None
    decision = "again" if book.find(request["plan"], period) else "new"
    try:
        if decision == "new":
            check_further(book, plan, period, guarantee)
    except PlanError as refusal:
        decision, message = "refuse", str(refusal)
    return {"decision": decision, "remaining": remaining_reports(book, plan, guarantee), "message": message}


def request_case(reports: list[Any], request: dict[str, Any], limit: dict[str, str] | None) -> dict[str, Any]:
    """Return one case of a requested report: the decision, and the remaining reports."""
    found = decision_on(book_of(reports), request, limit)
    return {"reports": reports, "request": request, "limit": limit, "found": found}


def as_content(record: Any) -> dict[str, Any]:
    """Return a record as JSON content."""
    if isinstance(record, Entry):
        gamma = "none" if record.amplification is None else str(record.amplification) + "+" * record.uncovered
        return {"kind": 1 + record.queued, "plan": record.plan_id, "period": record.period.hex(),
                "id": record.submission_id.hex(), "gamma": gamma, "report": record.report.hex()}  # fmt: skip
    if isinstance(record, KeyChecked):
        return {"kind": 6, "digest": record.digest, "time": record.moment}
    if isinstance(record, Scheduled):
        return {"kind": 5, "of": record.entry, "time": record.send_time}
    return {"kind": 3 if isinstance(record, Queued) else 4, "of": record.entry}


def read(content: bytes) -> Any:
    """Return the records of a ledger and how many bytes count, or that it is to refuse."""
    try:
        records, end, _ = parse_ledger(content)
        book = LedgerBook()
        return [list(map(as_content, records)), end] if all(list(map(book.add, records))) else "refuse"
    except FileError:
        return "refuse"


def make_all() -> dict[str, Any]:
    """Return the content of devices.json, which the JavaScript client is tested with, too."""
    return {
        "ledgers": {name: {"bytes": content.hex(), "found": read(content)} for name, content in ledgers().items()},
        "spent": {name: spent_case(*case) for name, case in spent_cases().items()},
        "requests": {name: request_case(*case) for name, case in request_cases().items()},
    }


def spent_case(reports: list[tuple[str, str]], limit: dict[str, str] | None) -> dict[str, Any]:
    """Return one case of budget spent; consecutive equal reports are given once, with their number."""
    shown = collection_views.spent(spent_by(reports, limit))
    rows = [[*case, len(list(equal))] for case, equal in groupby(reports)]
    return {"reports": rows, "limit": limit, "spent": shown.to_json(), "lines": text_renderer.lines(shown)}


if __name__ == "__main__":
    made = json.dumps(make_all(), indent=1, sort_keys=True) + "\n"
    Path(__file__).with_name("devices.json").write_text(made, encoding="ascii")
