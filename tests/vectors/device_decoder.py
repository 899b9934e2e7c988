"""A second reader of ledgers, of docs/formats/ledger.md alone; it imports no package."""

import hashlib
import re
from fractions import Fraction

HEADER = b"assocpriv-ledger" + bytes([3, 0, 0, 0])
MARK = bytes.fromhex("A76F6E206469736B")


class RefusedError(Exception):
    """What a reader must not use."""


def number(part):
    """Return a whole number, least significant byte first."""
    return int.from_bytes(part, "little")


def gamma_of(text):
    """Check a γ and return it as it stands."""
    if text != b"none":
        match = re.fullmatch(rb"([1-9][0-9]{0,499})/([1-9][0-9]{0,499})\+?", text)
        if not match or int(match[1]) < int(match[2]):
            raise RefusedError("a γ as it must not be")
    return text.decode("ascii")


def read_report(body):
    """Return the fields of a report's record behind its kind."""
    fixed = 64 + 16 + 2
    end = fixed + number(body[fixed - 2 : fixed])
    if len(body) <= max(end, fixed):
        raise RefusedError("no report")
    found = {"plan": body[:32].hex(), "occasion": body[32:64].hex(), "id": body[64:80].hex()}
    return found | {"gamma": gamma_of(body[fixed:end]), "report": body[end:].hex()}


def read_record(body):
    """Return a record behind its number."""
    kind, rest = body[0], body[1:]
    if kind in (1, 2):
        return {"kind": kind} | read_report(rest)
    if len(rest) != {3: 4, 4: 4, 5: 12}.get(kind):
        raise RefusedError("a kind or its length")
    if kind == 5 and number(rest[4:]) >= 2**53:
        raise RefusedError("too late")
    more = {"moment": number(rest[4:])} if kind == 5 else {}
    return {"kind": kind, "of": number(rest[:4])} | more


def check_history(records):
    """Refuse what no device writes in this order."""
    made, waits, sent = set(), set(), set()
    for place, record in enumerate(records, 1):
        kind, of = record["kind"], record.get("of")
        if kind <= 2:
            made.add(place)
            waits |= {place} if kind == 2 else set()
        elif kind == 3:
            if of not in made - waits:
                raise RefusedError("not to wait")
            waits.add(of)
        else:
            if of not in waits - sent:
                raise RefusedError("not to be acknowledged, or to be sent")
            sent |= {of} if kind == 4 else set()


def read_ledger(content):
    """Return the records of a file, and how many bytes count."""
    if len(content) <= 20 and HEADER.startswith(content.rstrip(b"\0")) and content != HEADER:
        return [], 0
    if content[:20] != HEADER:
        raise RefusedError("another header")
    at, records = 20, []
    while True:
        end = at + number(content[at : at + 4])
        record, whole = content[at : end - 32], 20 + 20 < end - at <= 1 << 18 and end <= len(content)
        checksum = content[end - 32 : end]
        if not whole or hashlib.sha256(HEADER + record).digest() != checksum:
            break
        if number(record[4:8]) != len(records) + 1:
            raise RefusedError("not the next record")
        records.append(read_record(record[8:]))
        at = end
        if content[end : end + 8] != MARK:
            break
        at += 8
    if MARK in content[at:] or len(content) - at > (1 << 18) + 8:
        raise RefusedError("damaged")
    check_history(records)
    return records, at


def product(gammas):
    """Return the product of those γ that are stated; from 2^192 on 2^192."""
    found = Fraction(1)
    for text in gammas:
        if text != "none":
            found *= Fraction(text.rstrip("+"))
            if found.denominator.bit_length() > 192:
                found = Fraction(-(-found.numerator * 2**192 // found.denominator), 2**192)
            found = min(found, Fraction(2**192))
    return found


def left(reports, asked, limit):
    """Return how many further reports a device can make under a plan, after reports given as plan, occasion and γ."""
    gammas, plans = [gamma for _, _, gamma in reports], [plan for plan, _, _ in reports]
    further = asked["reports_per_person"] - plans.count(asked["plan"])
    if limit is None:
        return max(further, 0) if set(plans) <= {asked["plan"]} else 0
    if any(text == "none" or text.endswith("+") for text in [*gammas, asked["gamma"]]):
        return 0
    low, high = Fraction(limit["prior"]), Fraction(limit["posterior"])
    most, found = high * (1 - low) / (low * (1 - high)), 0
    while found < further and product([*gammas, *[asked["gamma"]] * (found + 1)]) < most:
        found += 1
    return found


def answer(reports, asked, limit):
    """Return what a device that is asked for a report does: again the one it made, a new one, or none."""
    if any([plan, occasion] == [asked["plan"], asked["occasion"]] for plan, occasion, _ in reports):
        return "again"
    answered = any(occasion == asked["occasion"] for _, occasion, _ in reports)
    return "refuse" if answered or not left(reports, asked, limit) else "new"


def written(fraction):
    """Write a fraction as a/b."""
    return None if fraction is None else f"{fraction.numerator}/{fraction.denominator}"


def tell(reports, limit):
    """Return what reports, given as plan and γ, can have told together, and what a promise leaves."""
    plans = []
    for plan in dict.fromkeys(plan for plan, _ in reports):
        own = [gamma for name, gamma in reports if name == plan]
        gamma = None if "none" in own else written(product(own))
        plans.append({"plan_id": plan, "reports": len(own), "amplification": gamma, "outside": "+" in "".join(own)})
    unstated = sum(plan["reports"] for plan in plans if plan["amplification"] is None)
    outside = sum(plan["reports"] for plan in plans if plan["outside"])
    gamma, most, left = product(gamma for _, gamma in reports), None, None
    if limit is not None:
        low, high = Fraction(limit["prior"]), Fraction(limit["posterior"])
        most = high * (1 - low) / (low * (1 - high))
        left = None if unstated or outside else max(most / gamma, Fraction(1))
    gamma = gamma if gamma < 2**192 else None
    return {
        "reports": len(reports), "plans": plans, "stated": len(reports) - unstated, "unstated": unstated,
        "outside": outside, "stated_amplification": written(gamma), "prior": "1/100",
        "stated_posterior": written(gamma and gamma / (gamma + 99)), "amplification_limit": written(most),
        "left": written(left),
    }  # fmt: skip
