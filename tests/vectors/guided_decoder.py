"""A second implementation of docs/formats/guided-plan.md, for tests: nothing of the package."""

import json
from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import isqrt, prod
from typing import Any

from tests.vectors.table_decoder import below, demand, fields, fraction, label, whole

COIN, WORD = 1 << 16, 1 << 32


def load(text: str) -> dict[str, Any]:
    """Return a guided plan, checked, with what follows from it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        demand(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    names = ["format", "version", "kind", "attributes", "label", "mu", "batch", "safeguard", "promise"]
    plan = fields(json.loads(text, object_pairs_hook=once), [*names, "reports_per_person"])
    demand((plan["format"], plan["kind"]) == ("assocpriv-plan", "guided") and whole(plan["version"], 1) == 1)
    demand(type(plan["attributes"]) is list and 1 <= len(plan["attributes"]) <= 1000)
    plan["attributes"] = [attribute(each) for each in plan["attributes"]]
    plan["label"] = {**fields(plan["label"], ["name", "values"])}
    listed(plan["label"]["values"], 2, 1 << 16)
    every = [label(each["name"]) for each in (*plan["attributes"], plan["label"])]
    demand(len(set(every)) == len(every))
    plan["sizes"] = [each["size"] for each in plan["attributes"]]
    plan["width"] = sum(plan["sizes"])
    demand(plan["width"] <= 2048)
    demand(0 < fraction(plan["mu"], 25) < 1)
    whole(plan["batch"], 1, 1 << 20)
    repeats = whole(plan["reports_per_person"], 1, 1000)
    demand((plan["safeguard"] is None) == (plan["promise"] is None))
    if plan["safeguard"] is not None:
        gamma = ratio(plan["safeguard"], prod(plan["sizes"]))
        promise = fields(plan["promise"], ["prior", "posterior"])
        prior, posterior = fraction(promise["prior"], 25), fraction(promise["posterior"], 25)
        demand(0 < prior < posterior < 1)
        demand(gamma**repeats < posterior * (1 - prior) / (prior * (1 - posterior)))
    return plan


def ratio(safeguard: Any, tuples: int) -> Fraction:
    """Return γ of a report."""
    demand(type(safeguard) is dict and safeguard.get("kind") in ("tuple", "bits"))
    if safeguard["kind"] == "tuple":
        honest = whole(fields(safeguard, ["kind", "honest"])["honest"], 1, WORD - 1)
        return 1 + Fraction(honest * tuples, WORD - honest)
    stated = fraction(fields(safeguard, ["kind", "amplification"])["amplification"], 25)
    demand(stated > 1)
    return stated


def listed(values: Any, low: int, high: int) -> list[str]:
    """Return texts that differ."""
    demand(type(values) is list and low <= len(values) <= high)
    demand(len({label(each) for each in values}) == len(values))
    return list(values)


def attribute(content: Any) -> dict[str, Any]:
    """Return an attribute, checked, with its number of values."""
    demand(type(content) is dict and content.get("kind") in ("category", "number"))
    if content["kind"] == "category":
        made = fields(content, ["name", "kind", "values"])
        return made | {"size": len(listed(made["values"], 2, 1000))}
    made = fields(content, ["name", "kind", "cuts"])
    demand(type(made["cuts"]) is list and 1 <= len(made["cuts"]) <= 999)
    edges = [float(fraction(cut, 30)) for cut in made["cuts"]]
    demand(all(a < b for a, b in pairwise(edges)))
    return made | {"size": len(edges) + 1, "edges": edges}


def position(value: Any, made: dict[str, Any]) -> int:
    """Return the position of a value of a JSON record; the number of values where it is missing."""
    if value is None:
        return int(made["size"])
    if "edges" not in made:
        demand(value in made["values"])
        return int(made["values"].index(value))
    demand(type(value) in (int, float) and abs(value) < 1 << 1023)
    return bisect_right(made["edges"], float(value))


def check(guidance: Any, plan: dict[str, Any], plan_id: str) -> list[list[int]]:
    """Return the vectors of guidance, checked."""
    made = fields(guidance, ["format", "version", "plan", "serial", "level", "vectors"])
    demand((made["format"], made["version"], made["plan"]) == ("assocpriv-guidance", 1, plan_id))
    whole(made["serial"], 1, WORD - 1)
    vectors, w = made["vectors"], plan["width"]
    demand(type(vectors) is list and 1 <= len(vectors) <= w and made["level"] == len(vectors))
    for vector in vectors:
        demand(type(vector) is list and len(vector) == w)
        demand(all(type(entry) is int and abs(entry) <= 1 << 20 for entry in vector))
    most = (isqrt(w) + 1 << 20) + w
    for one, u in enumerate(vectors):
        for other, v in enumerate(vectors[: one + 1]):
            product = sum(a * b for a, b in zip(u, v, strict=True))
            demand(abs(product - (1 << 40) * (one == other)) <= most)
    return vectors


def weigh(shares: list[int]) -> list[int]:
    """Return the weights, of 2^32, of sums times 2^40."""
    return [min(((abs(share) + (1 << 23)) >> 24) ** 2, WORD) for share in shares]


def blocks(plan: dict[str, Any]) -> list[range]:
    """Return the places of each attribute's bits."""
    starts = [sum(plan["sizes"][:j]) for j in range(len(plan["sizes"]))]
    return [range(start, start + size) for start, size in zip(starts, plan["sizes"], strict=True)]


def products(vectors: list[list[int]]) -> list[list[int]]:
    """Return P = V·Vᵀ."""
    rows = list(zip(*vectors, strict=True))
    return [[sum(a * b for a, b in zip(one, other, strict=True)) for other in rows] for one in rows]


def mix(weight: int, coin: int) -> int:
    """Return a weight of 2^49."""
    return coin * WORD + (COIN - coin) * 2 * weight


def coin_of(vectors: list[list[int]], plan: dict[str, Any]) -> int:
    """Return the coin of guidance, by halving."""
    P, limit, total = products(vectors), ratio(plan["safeguard"], 1), 2 * WORD * COIN
    bounds = []
    for i in range(plan["width"]):
        low = sum(min(P[row][i] for row in block) for block in blocks(plan))
        high = sum(max(P[row][i] for row in block) for block in blocks(plan))
        ends = sorted(weigh([low, high]))
        bounds.append((0 if low <= 0 <= high else ends[0], ends[1]))

    def kept(coin: int) -> bool:
        gamma = Fraction(1)
        for ends in bounds:
            low, high = (mix(weight, coin) for weight in ends)
            if low != high:
                if low == 0 or high == total:
                    return False
                gamma *= max(Fraction(high, low), Fraction(total - low, total - high))
        return gamma <= limit

    first, last = 0, COIN
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if kept(middle) else (middle + 1, last)
    return first


def randomize(
    record: dict[str, Any], guidance: dict[str, Any], plan: dict[str, Any], words: Iterator[int]
) -> tuple[list[int], list[int]]:
    """Return the weights and the released bits of a record's attributes."""
    sizes, safeguard, vectors = plan["sizes"], plan["safeguard"] or {"kind": None}, guidance["vectors"]
    own = [position(record.get(each["name"]), each) for each in plan["attributes"]]
    fills = [below(size, words) for size in sizes]
    own = [fill if v == size else v for v, fill, size in zip(own, fills, sizes, strict=True)]
    if safeguard["kind"] == "tuple":
        other = [below(size, words) for size in sizes]
        own = own if next(words) % WORD < safeguard["honest"] else other
    P, ones = products(vectors), [block[v] for block, v in zip(blocks(plan), own, strict=True)]
    weights, total = weigh([sum(P[row][i] for row in ones) for i in range(plan["width"])]), WORD
    if safeguard["kind"] == "bits":
        coin, total = coin_of(vectors, plan), 2 * WORD * COIN
        weights = [mix(weight, coin) for weight in weights]
    return weights, [int(next(words) % total < weight) for weight in weights]


def encode(serial: int, place: int, bits: list[int], plan: dict[str, Any]) -> bytes:
    """Return a report."""
    head = serial.to_bytes(4, "little") + place.to_bytes(1 if len(plan["label"]["values"]) <= 256 else 2, "little")
    return head + sum(bit << i for i, bit in enumerate(bits)).to_bytes(-(-len(bits) // 8), "little")


def decode(report: bytes, plan: dict[str, Any]) -> tuple[int, int, list[int]]:
    """Return the serial number, class and bits of a report, checked."""
    head = 5 if len(plan["label"]["values"]) <= 256 else 6
    demand(len(report) == head + -(-plan["width"] // 8))
    serial, place = int.from_bytes(report[:4], "little"), int.from_bytes(report[4:head], "little")
    bits = int.from_bytes(report[head:], "little")
    demand(serial > 0 and place < len(plan["label"]["values"]) and bits < 1 << plan["width"])
    return serial, place, [bits >> i & 1 for i in range(plan["width"])]
