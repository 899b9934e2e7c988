"""Make tests/vectors/devices.json: ledgers, good and bad, byte by byte; what was told, what may be.

PYTHONPATH=. python tests/vectors/make_devices.py
"""

import hashlib
import json
import struct
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from assocpriv.client.ledger_book import LedgerBook, Told, check_further, left
from assocpriv.client.ledger_file import Entry, Moment, Waiting, parse_ledger
from assocpriv.promise.breaches import Breach, Epsilon
from assocpriv.promise.errors import FileError, PlanError
from assocpriv.show import collections, text

MARK = b"\xa7on disk"
HEADER, OTHER = (b"assocpriv-ledger" + struct.pack("<I", version) for version in (3, 4))
PLANS = [bytes([place]) * 32 for place in (0xA1, 0xB2)]
IDS = [bytes(range(place, place + 16)) for place in (0, 100)]


def framed(number: int, body: bytes) -> bytes:
    """Return a record and its mark."""
    record = struct.pack("<II", len(body) + 40, number) + body
    return record + hashlib.sha256(HEADER + record).digest() + MARK


def told(plan: bytes, occasion: bytes, submission_id: bytes, report: bytes, gamma: bytes = b"19/3") -> bytes:
    """Return what a report's record has."""
    return plan + occasion + submission_id + struct.pack("<H", len(gamma)) + gamma + report


def ledgers() -> dict[str, bytes]:
    """Return the bytes of ledgers by name."""
    week = hashlib.sha256(b"2026-W47").digest()
    later = [
        framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"one", b"19/3+")),
        framed(2, b"\2" + told(PLANS[1], week, IDS[1], b"two", b"none")),
        framed(3, b"\3" + struct.pack("<I", 1)),
        framed(4, b"\5" + struct.pack("<IQ", 2, 1_800_000_000)),
        framed(5, b"\5" + struct.pack("<IQ", 2, 2**53 - 1)),
        framed(6, b"\4" + struct.pack("<I", 2)),
    ]
    whole = HEADER + b"".join(later)
    named = {"begun": HEADER, "torn header": HEADER[:16] + bytes(4), "every kind": whole, "no last mark": whole[:-8],
             "torn record": whole[:-40] + bytes(20), "other version": OTHER, "text": b"a ledger"}  # fmt: skip
    bad = {
        "kind 5 too long": b"".join(later[:3]) + framed(4, b"\5" + struct.pack("<IQ", 2, 0) + bytes(1)),
        "a moment too late": b"".join(later[:3]) + framed(4, b"\5" + struct.pack("<IQ", 2, 2**53)),
        "a moment, not for a collector": later[0] + framed(2, b"\5" + struct.pack("<IQ", 1, 0)),
        "a moment after all": b"".join(later) + framed(7, b"\5" + struct.pack("<IQ", 2, 0)),
        "kind 6": framed(1, b"\6" + bytes(36)),
        "kind 4 too long": later[0] + framed(2, b"\4" + bytes(5)),
        "number": framed(2, b"\1" + told(PLANS[0], week, IDS[0], b"one")),
        "kind 3 too long": later[0] + framed(2, b"\3" + struct.pack("<I", 1) + IDS[0]),
        "waits twice": later[0] + later[1] + framed(3, b"\3" + struct.pack("<I", 2)),
        "of no report": later[0] + framed(2, b"\3" + struct.pack("<I", 2)),
        "acknowledged, not for a collector": later[0] + framed(2, b"\4" + struct.pack("<I", 1)),
        "acknowledged twice": b"".join(later) + framed(7, b"\4" + struct.pack("<I", 2)),
        "gamma": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"one", b"1/2")),
        "neither stated nor covered": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"one", b"none+")),
        "no report": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"")),
        "damaged": later[0][:50] + b"?" + later[0][51:],
    }
    return named | {name: HEADER + content for name, content in bad.items()}


def tellings() -> dict[str, tuple[list[tuple[str, str]], dict[str, str] | None]]:
    """Return reports by name, each as plan and γ, and a limit for the device, or none."""
    a, b, c = ("a1" * 32, "b2" * 32, "c3" * 32)
    usual, wide = {"prior": "1/20", "posterior": "1/2"}, {"prior": "1/100", "posterior": "9/10"}
    many = [(f"{place:02x}" * 32, "3/2") for place in range(5) for _ in range(place + 1)]
    return {
        "nothing": ([], None), "nothing yet": ([], usual), "one": ([(a, "7/1")], None),
        "one of some": ([(a, "7/1")], usual),
        "the limit is reached": ([(a, "19/1")], usual), "the limit is passed": ([(a, "19/1"), (b, "2/1")], usual),
        "two plans": ([(a, "19/3"), (b, "7/1"), (a, "19/3")], wide), "many plans": (many, None),
        "no gamma": ([(a, "none")], None), "no gamma and others": ([(a, "none"), (b, "19/3"), (a, "none")], usual),
        "outside": ([(a, "5/1+"), (b, "3/1")], wide),
        "all of it": ([(a, "none"), (b, "19/3+"), (c, "2/1")], usual),
        "as good as certain": ([(a, "1000000/1")] * 5, wide), "beyond all bounds": ([(a, "1000000/1")] * 12, wide),
        "nearly": ([(a, "99999/1")], None), "nothing told": ([(a, "1/1"), (a, "1/1")], wide),
        "hardly anything": ([(a, "1000001/1000000")], wide),
        "rounded": ([(a, f"{10**30 + 1}/{10**30}")] * 9, wide),
        "long": ([(a, f"{10**499 + 1}/{10**499 - 1}"), (b, "355/113")], {"prior": "1/1000", "posterior": "1/3"}),
        "a thousand": ([(a, "1001/1000")] * 1000, wide),
    }  # fmt: skip


def told_by(reports: list[tuple[str, str]], limit: dict[str, str] | None) -> Told:
    """Return what the package makes of a ledger of these reports."""
    return book_of([(plan, 0, gamma) for plan, gamma in reports]).told(limit and Breach(**limit))


def book_of(reports: list[tuple[str, int, str]]) -> LedgerBook:
    """Return what a ledger of these reports holds, each given as plan, occasion and γ."""
    book, content = LedgerBook(), HEADER
    for place, (plan, occasion, gamma) in enumerate(reports, 1):
        made = told(bytes.fromhex(plan), bytes([occasion]) * 32, IDS[0], b"one", gamma.encode())
        content += framed(place, b"\1" + made)
    assert all(list(map(book.add, parse_ledger(content)[0])))
    return book


def askings() -> dict[str, tuple[list[tuple[str, int, str]], dict[str, Any], dict[str, str] | None]]:
    """Return what a device is asked by name: the reports that it made, a report under a plan, a limit or none.

    A limit is that of 5% and 50% or an ε; 49 is what γ stays below where 2% becomes 50%.
    """
    a, b, c = ("a1" * 32, "b2" * 32, "c3" * 32)

    def asked(plan: str, occasion: int, gamma: str = "19/3", reports: int = 1) -> dict[str, Any]:
        return {"plan": plan, "occasion": occasion, "gamma": gamma, "reports_per_person": reports}

    one, wide = [(a, 1, "19/3")], {"prior": "1/100", "posterior": "9/10"}
    limit = {"prior": "1/50", "posterior": "1/2"}
    return {
        "first": ([], asked(a, 1), None), "again": (one, asked(a, 1), None), "spent": (one, asked(a, 2), None),
        "first of three": ([], asked(a, 1, reports=3), None), "second of three": (one, asked(a, 2, reports=3), None),
        "republished, same occasion": (one, asked(b, 1), None),
        "republished, same occasion, limit": (one, asked(b, 1), wide),
        "republished, other occasion": (one, asked(b, 2), None),
        "republished, of more reports": (one, asked(b, 2, "3/1", 9), None),
        "republished, limit": (one, asked(b, 2), wide),
        "republished, limit reached": (one, asked(b, 2, "147/19"), limit),
        "republished, below the limit": (one, asked(b, 2, "146/19", 2), limit),
        "again after another": ([*one, (b, 2, "7/1")], asked(b, 2), None),
        "first after another": ([*one, (b, 2, "7/1")], asked(a, 3, reports=3), None),
        "first after another, limit": ([*one, (b, 2, "7/1")], asked(a, 3, reports=3), wide),
        "one occasion under two plans": ([*one, (b, 1, "7/1")], asked(b, 1), None),
        "third plan of one occasion": ([*one, (b, 1, "7/1")], asked(c, 1), wide),
        "alone beyond the limit": ([], asked(a, 1, "49/1"), limit),
        "no gamma": ([], asked(a, 1, "none"), None), "no gamma, limit": ([], asked(a, 1, "none"), wide),
        "no gamma again": ([(a, 1, "none")], asked(a, 2, "none", 2), None),
        "after no gamma": ([(a, 1, "none")], asked(b, 2), None),
        "after no gamma, limit": ([(a, 1, "none")], asked(b, 2), wide),
        "outside": ([], asked(a, 1, "5/1+"), None), "outside, limit": ([], asked(a, 1, "5/1+"), wide),
        "outside second": (one, asked(b, 2, "5/1+"), None), "after outside": ([(a, 1, "5/1+")], asked(b, 2), None),
        "nothing told": ([(a, 1, "1/1")], asked(b, 2, "1/1"), None),
        "wide": ([(a, 1, f"{10**20}/1")], asked(b, 2, "2000/1"), None),
        "too wide": ([(a, 1, f"{10**20}/1")], asked(b, 2, f"{10**4}/1"), None),
        "an epsilon": (one, asked(b, 2, "361/57"), {"epsilon": "3.7"}),
        "an epsilon of more digits": (one, asked(b, 2), {"epsilon": "3.69165"}),
        "an epsilon reached": (one, asked(b, 2), {"epsilon": "3.69"}),
    }  # fmt: skip


def promised(limit: dict[str, str] | None) -> Breach | None:
    """Return the promise of a limit, which is given as beliefs or as ε."""
    return limit and (Epsilon(**limit) if "epsilon" in limit else Breach(**limit))


def decided(book: LedgerBook, asked: dict[str, Any], limit: dict[str, str] | None) -> dict[str, Any]:
    """Return what the package decides: ``answer``, how many further reports of the plan are ``left``, what is said."""
    gamma = None if asked["gamma"] == "none" else Fraction(asked["gamma"].rstrip("+"))
    outside = "column class, as it is" if "+" in asked["gamma"] else ""
    plan: Any = SimpleNamespace(plan_id=asked["plan"], amplification=gamma, uncovered_secret=outside,
                                reports_per_person=asked["reports_per_person"])  # fmt: skip
    promise = promised(limit)
    occasion, said = bytes([asked["occasion"]]) * 32, None
    found = "again" if book.find(asked["plan"], occasion) else "new"
    try:
        if found == "new":
            check_further(book, plan, occasion, promise)
    except PlanError as refusal:
        found, said = "refuse", str(refusal)
    return {"answer": found, "left": left(book, plan, promise), "said": said}


def asking(reports: list[Any], asked: dict[str, Any], limit: dict[str, str] | None) -> dict[str, Any]:
    """Return one case of what was asked: the decision, and how many are left."""
    return {"reports": reports, "asked": asked, "limit": limit, "found": decided(book_of(reports), asked, limit)}


def as_content(record: Any) -> dict[str, Any]:
    """Return a record as JSON content."""
    if isinstance(record, Entry):
        gamma = "none" if record.amplification is None else str(record.amplification) + "+" * record.outside
        return {"kind": 1 + record.waits, "plan": record.plan_id, "occasion": record.occasion.hex(),
                "id": record.submission_id.hex(), "gamma": gamma, "report": record.report.hex()}  # fmt: skip
    if isinstance(record, Moment):
        return {"kind": 5, "of": record.entry, "moment": record.moment}
    return {"kind": 3 if isinstance(record, Waiting) else 4, "of": record.entry}


def read(content: bytes) -> Any:
    """Return the records of a ledger and how many bytes count, or that it is to refuse."""
    try:
        records, end, _ = parse_ledger(content)
        book = LedgerBook()
        return [list(map(as_content, records)), end] if all(list(map(book.add, records))) else "refuse"
    except FileError:
        return "refuse"


def make_all() -> dict[str, Any]:
    """Return the content of devices.json, to which the client in JavaScript is held, too."""
    return {
        "ledgers": {name: {"bytes": content.hex(), "found": read(content)} for name, content in ledgers().items()},
        "told": {name: telling(*case) for name, case in tellings().items()},
        "asked": {name: asking(*case) for name, case in askings().items()},
    }


def telling(reports: list[tuple[str, str]], limit: dict[str, str] | None) -> dict[str, Any]:
    """Return one case of what was told; equal reports in a row stand once, with their number."""
    shown = collections.told(told_by(reports, limit))
    rows = [[*case, len(list(equal))] for case, equal in groupby(reports)]
    return {"reports": rows, "limit": limit, "told": shown.to_json(), "lines": text.lines(shown)}


if __name__ == "__main__":
    made = json.dumps(make_all(), indent=1, sort_keys=True) + "\n"
    Path(__file__).with_name("devices.json").write_text(made, encoding="ascii")
