"""Make tests/vectors/devices.json: ledgers of both versions, good and bad, byte by byte.

PYTHONPATH=. python tests/vectors/make_devices.py
"""

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

MARK = b"\xa7on disk"
HEADERS = {version: b"assocpriv-ledger" + struct.pack("<I", version) for version in (1, 2, 3)}
PLANS = [bytes([place]) * 32 for place in (0xA1, 0xB2)]
IDS = [bytes(range(place, place + 16)) for place in (0, 100)]


def framed(number: int, body: bytes, version: int = 2) -> bytes:
    """Return a record and its mark."""
    record = struct.pack("<II", len(body) + 40, number) + body
    return record + hashlib.sha256((HEADERS[2] if version == 2 else b"") + record).digest() + MARK


def told(plan: bytes, occasion: bytes, submission_id: bytes, report: bytes, gamma: bytes = b"19/3") -> bytes:
    """Return what a report's record has; of version 1 without an id."""
    return plan + occasion + submission_id + struct.pack("<H", len(gamma)) + gamma + report


def ledgers() -> dict[str, bytes]:
    """Return the bytes of ledgers by name."""
    week = hashlib.sha256(b"2026-W47").digest()
    first = framed(1, told(PLANS[0], week, b"", b"one"), 1)
    later = [
        framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"one")),
        framed(2, b"\2" + told(PLANS[1], week, IDS[1], b"two", b"none")),
        framed(3, b"\3" + struct.pack("<I", 1) + IDS[0]),
        framed(4, b"\4" + struct.pack("<I", 2)),
    ]
    whole, mixed = HEADERS[2] + b"".join(later), HEADERS[1] + first + b"".join(later[1:])
    named = {"begun": HEADERS[2], "torn header": HEADERS[1][:17] + bytes(3), "first version": HEADERS[1] + first,
             "every kind": whole, "first version goes on": mixed, "no last mark": whole[:-8],
             "torn record": whole[:-40] + bytes(20), "other version": HEADERS[3], "text": b"a ledger"}  # fmt: skip
    bad = {
        "kind 5": framed(1, b"\5" + bytes(36)),
        "kind 6": framed(1, b"\6" + bytes(36)),
        "kind 4 too long": later[0] + framed(2, b"\4" + bytes(5)),
        "number": framed(2, b"\1" + told(PLANS[0], week, IDS[0], b"one")),
        "other id": later[0] + framed(2, b"\3" + struct.pack("<I", 1) + IDS[1]),
        "waits twice": later[0] + later[1] + framed(3, b"\3" + struct.pack("<I", 2) + IDS[1]),
        "of no report": later[0] + framed(2, b"\3" + struct.pack("<I", 2) + IDS[1]),
        "acknowledged, not for a collector": later[0] + framed(2, b"\4" + struct.pack("<I", 1)),
        "acknowledged twice": b"".join(later) + framed(5, b"\4" + struct.pack("<I", 2)),
        "gamma": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"one", b"1/2")),
        "no report": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"")),
        "first version inside": first,
        "damaged": later[0][:50] + b"?" + later[0][51:],
    }
    named |= {name: HEADERS[2] + content for name, content in bad.items()}
    return named | {"first version last": HEADERS[1] + later[0] + framed(2, told(PLANS[0], week, b"", b"one"), 1)}


def make_all(reader: Any) -> dict[str, Any]:
    """Return the content of devices.json: what the second reader, device_decoder.py, makes of each case."""

    def outcome(read: Any, given: Any) -> Any:
        try:
            return read(given)
        except reader.RefusedError:
            return "refuse"

    return {
        "ledgers": {name: {"bytes": content.hex(), "found": outcome(reader.read_ledger, content)}
                    for name, content in ledgers().items()},
    }  # fmt: skip


if __name__ == "__main__":
    import device_decoder

    text = json.dumps(make_all(device_decoder), indent=1, sort_keys=True) + "\n"
    Path(__file__).with_name("devices.json").write_text(text, encoding="ascii")
