"""Make tests/vectors/devices.json: ledgers of both versions and campaigns, good and bad, byte by byte.

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
CAMPAIGN = bytes([0xC3]) * 32
PROMISE = {"prior": "1/20", "posterior": "1/2"}


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
        framed(5, b"\5" + CAMPAIGN + struct.pack("<I", 3)),
        framed(6, b"\2" + told(PLANS[0], CAMPAIGN, IDS[1], b"six")),
    ]
    whole, mixed = HEADERS[2] + b"".join(later), HEADERS[1] + first + b"".join(later[1:])
    named = {"begun": HEADERS[2], "torn header": HEADERS[1][:17] + bytes(3), "first version": HEADERS[1] + first,
             "every kind": whole, "first version goes on": mixed, "no last mark": whole[:-8],
             "torn record": whole[:-60] + bytes(20), "other version": HEADERS[3], "text": b"a ledger"}  # fmt: skip
    bad = {
        "kind 6": framed(1, b"\6" + bytes(36)),
        "kind 4 too long": later[0] + framed(2, b"\4" + bytes(5)),
        "number": framed(2, b"\5" + CAMPAIGN + b"\1\0\0\0"),
        "round 0": framed(1, b"\5" + CAMPAIGN + bytes(4)),
        "round again": b"".join(framed(number, b"\5" + CAMPAIGN + struct.pack("<I", number)) for number in (1, 2)),
        "other id": later[0] + framed(2, b"\3" + struct.pack("<I", 1) + IDS[1]),
        "waits twice": later[0] + later[1] + framed(3, b"\3" + struct.pack("<I", 2) + IDS[1]),
        "of no report": later[0] + framed(2, b"\3" + struct.pack("<I", 2) + IDS[1]),
        "acknowledged, not for a collector": later[0] + framed(2, b"\4" + struct.pack("<I", 1)),
        "acknowledged twice": b"".join(later[:4]) + framed(5, b"\4" + struct.pack("<I", 2)),
        "gamma": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"one", b"1/2")),
        "no report": framed(1, b"\1" + told(PLANS[0], week, IDS[0], b"")),
        "first version inside": first,
        "damaged": later[0][:50] + b"?" + later[0][51:],
    }
    named |= {name: HEADERS[2] + content for name, content in bad.items()}
    return named | {"first version last": HEADERS[1] + later[0] + framed(2, told(PLANS[0], week, b"", b"one"), 1)}


def campaigns() -> dict[str, str]:
    """Return texts of campaigns by name."""
    good = {"format": "assocpriv-campaign", "version": 1, "name": "", "promise": PROMISE, "rounds": [3, 5, 2],
            "first_plan": "ab" * 32}  # fmt: skip
    changed: dict[str, dict[str, Any]] = {
        "three rounds": {},
        "one round": {"rounds": [1], "name": "Käse 🧀"},
        "power of two": {"rounds": [1, 2, 1]},
        "large": {"rounds": [2**31 - 1] * 64},
        "no rounds": {"rounds": []},
        "65 rounds": {"rounds": [1] * 65},
        "zero": {"rounds": [1, 0]},
        "true": {"rounds": [True]},
        "float": {"rounds": [1.0]},
        "too large": {"rounds": [2**31]},
        "rounds no list": {"rounds": 3},
        "version 2": {"version": 2},
        "version true": {"version": True},
        "format": {"format": "assocpriv-plan"},
        "name": {"name": "a\nb"},
        "name blank": {"name": " a"},
        "name long": {"name": "a" * 201},
        "name null": {"name": None},
        "id": {"first_plan": "AB" * 32},
        "id short": {"first_plan": "ab" * 31},
        "promise": {"promise": PROMISE | {"epsilon": "1/1"}},
        "promise null": {"promise": None},
        "promise order": {"promise": {"prior": "1/2", "posterior": "1/20"}},
        "promise terms": {"promise": PROMISE | {"prior": "2/40"}},
        "promise float": {"promise": PROMISE | {"prior": 0.05}},
        "a field more": {"plans": []},
    }
    texts = {name: json.dumps(good | change) for name, change in changed.items()}
    less = {name: value for name, value in good.items() if name != "name"}
    return texts | {
        "other layout": json.dumps(dict(reversed(good.items())), indent=2),
        "a field less": json.dumps(less),
        "twice": json.dumps(good)[:-1] + ', "name": ""}',
        "no object": "[]",
        "no JSON": "{",
    }


def make_all(reader: Any) -> dict[str, Any]:
    """Return the content of devices.json: what the second reader, device_decoder.py, makes of each case."""

    def outcome(read: Any, given: Any) -> Any:
        try:
            return read(given)
        except reader.RefusedError:
            return "refuse"

    words = [0, 1, 2**62, 2**63, 3 * 2**62 + 5, 2**64 - 1]
    return {
        "ledgers": {name: {"bytes": content.hex(), "found": outcome(reader.read_ledger, content)}
                    for name, content in ledgers().items()},
        "campaigns": {name: {"text": text, "id": outcome(reader.campaign_id, text)}
                      for name, text in campaigns().items()},
        "rounds": [{"weights": weights, "word": word, "round": reader.drawn_round(weights, word)}
                   for weights in ([3, 5, 2], [1, 2, 1], [7]) for word in words],
    }  # fmt: skip


if __name__ == "__main__":
    import device_decoder

    text = json.dumps(make_all(device_decoder), indent=1, sort_keys=True) + "\n"
    Path(__file__).with_name("devices.json").write_text(text, encoding="ascii")
