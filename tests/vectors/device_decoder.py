"""A second reader of ledgers and campaigns, of docs/formats/ledger.md and campaign.md alone; it imports no package."""

import hashlib
import json
import re

HEADERS = [b"assocpriv-ledger" + bytes([version, 0, 0, 0]) for version in (1, 2)]
MARK = bytes.fromhex("A76F6E206469736B")


class RefusedError(Exception):
    """What a reader must not use."""


def number(part):
    """Return a whole number, least significant byte first."""
    return int.from_bytes(part, "little")


def gamma_of(text):
    """Check a γ and return it as it stands."""
    if text != b"none":
        match = re.fullmatch(rb"([1-9][0-9]{0,499})/([1-9][0-9]{0,499})", text)
        if not match or int(match[1]) < int(match[2]):
            raise RefusedError("a γ as it must not be")
    return text.decode("ascii")


def read_report(body, has_id):
    """Return the fields of a report's record behind its kind."""
    fixed = 64 + 16 * has_id + 2
    end = fixed + number(body[fixed - 2 : fixed])
    if len(body) <= max(end, fixed):
        raise RefusedError("no report")
    found = {"plan": body[:32].hex(), "occasion": body[32:64].hex(), "id": body[64:80].hex() if has_id else None}
    return found | {"gamma": gamma_of(body[fixed:end]), "report": body[end:].hex()}


def read_record(body):
    """Return a record of version 2 behind its number."""
    kind, rest = body[0], body[1:]
    if kind in (1, 2):
        return {"kind": kind} | read_report(rest, True)
    if len(rest) != {3: 20, 4: 4, 5: 36}.get(kind):
        raise RefusedError("a kind or its length")
    if kind == 5:
        return {"kind": 5, "campaign": rest[:32].hex(), "round": number(rest[32:])}
    return {"kind": kind, "of": number(rest[:4])} | ({"id": rest[4:].hex()} if kind == 3 else {})


def check_history(records):
    """Refuse what no device writes in this order."""
    made, waits, sent, rounds = {}, set(), set(), set()
    for place, record in enumerate(records, 1):
        kind, of = record["kind"], record.get("of")
        if kind <= 2:
            made[place] = record["id"]
            waits |= {place} if kind == 2 else set()
        elif kind == 3:
            if of not in made or of in waits or made[of] not in (None, record["id"]):
                raise RefusedError("not to wait")
            waits.add(of)
        elif kind == 4:
            if of not in waits - sent:
                raise RefusedError("not to be acknowledged")
            sent.add(of)
        else:
            if record["campaign"] in rounds or not record["round"]:
                raise RefusedError("a round")
            rounds.add(record["campaign"])


def read_ledger(content):
    """Return the records of a file, and how many bytes count."""
    begun = len(content) <= 20 and any(header.startswith(content.rstrip(b"\0")) for header in HEADERS)
    if begun and content not in HEADERS:
        return [], 0
    if content[:20] not in HEADERS:
        raise RefusedError("another header")
    first, at, records = content[:20] == HEADERS[0], 20, []
    while True:
        end = at + number(content[at : at + 4])
        record, whole = content[at : end - 32], 20 + 20 < end - at <= 1 << 18 and end <= len(content)
        checksum = content[end - 32 : end]
        if whole and hashlib.sha256(HEADERS[1] + record).digest() == checksum:
            first, found = False, read_record(record[8:])
        elif whole and first and hashlib.sha256(record).digest() == checksum:
            found = {"kind": 1} | read_report(record[8:], False)
        else:
            break
        if number(record[4:8]) != len(records) + 1:
            raise RefusedError("not the next record")
        records.append(found)
        at = end
        if content[end : end + 8] != MARK:
            break
        at += 8
    if MARK in content[at:] or len(content) - at > (1 << 18) + 8:
        raise RefusedError("damaged")
    check_history(records)
    return records, at


def canonical(document):
    """Return a document's canonical text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def campaign_id(text):
    """Check a campaign's document and return its id."""
    if len(text) > 65536:
        raise RefusedError("too long")
    try:
        document = json.loads(text, object_pairs_hook=without_doubles)
    except ValueError:
        raise RefusedError("no JSON") from None
    names = {"format", "version", "name", "promise", "rounds", "first_plan"}
    if not isinstance(document, dict) or set(document) != names:
        raise RefusedError("other fields")
    weights, name, promise = document["rounds"], document["name"], document["promise"]
    listed = weights if isinstance(weights, list) else []
    good = (
        document["format"] == "assocpriv-campaign" and type(document["version"]) is int and document["version"] == 1,
        isinstance(name, str) and len(name) <= 200 and name.isprintable() and name == name.strip(),
        1 <= len(listed) <= 64 and all(type(weight) is int and 1 <= weight < 1 << 31 for weight in listed),
        re.fullmatch("[0-9a-f]{64}", str(document["first_plan"])),
        isinstance(promise, dict) and set(promise) == {"prior", "posterior"},
    )
    if not all(good) or not 0 < fraction(promise["prior"]) < fraction(promise["posterior"]) < 1:
        raise RefusedError("a field")
    return hashlib.sha256(canonical(document).encode("ascii")).hexdigest()


def without_doubles(pairs):
    """Refuse a field that stands twice."""
    if len(dict(pairs)) != len(pairs):
        raise RefusedError("a field twice")
    return dict(pairs)


def fraction(text):
    """Read a fraction in lowest terms, its denominator at most 10^24."""
    from fractions import Fraction

    match = re.fullmatch("(0|[1-9][0-9]{0,30})/([1-9][0-9]{0,24})", text) if isinstance(text, str) else None
    value = match and Fraction(int(match[1]), int(match[2]))
    if value is None or f"{value.numerator}/{value.denominator}" != text or value.denominator > 10**24:
        raise RefusedError("a fraction")
    return value


def drawn_round(weights, word):
    """Return the round that the first 64-bit word draws, or None where it is rejected."""
    total = sum(weights)
    if total == 1:
        return 1
    product = word * total
    if total & (total - 1) == 0:
        x = word & (total - 1)
    elif product % 2**64 < 2**64 % total:
        return None
    else:
        x = product >> 64
    return next(i for i in range(1, len(weights) + 1) if x < sum(weights[:i]))
