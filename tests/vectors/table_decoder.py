"""A second implementation of docs/formats/table-plan.md, for tests: standard library only, nothing of the package."""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import gcd, prod
from typing import Any

LAWS = {"clear": ["width"], "uniform-noise": ["reach"], "gaussian-noise": ["half"], "window": ["near", "high", "low"]}


class RefusedError(ValueError):
    """What the format forbids."""


def demand(condition: bool) -> None:
    """Refuse where something does not hold."""
    if not condition:
        raise RefusedError


def whole(value: Any, low: int, high: int = 1 << 32) -> int:
    """Return a whole number in a range."""
    demand(type(value) is int and low <= value <= high)
    return int(value)


def fields(value: Any, names: list[str]) -> dict[str, Any]:
    """Return an object of exactly these fields."""
    demand(type(value) is dict and set(value) == set(names))
    return {**value}


def fraction(text: Any, digits: int) -> Fraction:
    """Return a fraction in lowest terms."""
    demand(type(text) is str and text.isascii() and text.count("/") == 1)
    above, below = text.split("/")
    for part in (above.removeprefix("-"), below):
        demand(part.isdigit() and len(part) <= digits and (part == "0" or part[0] != "0"))
    demand(below != "0" and gcd(int(above), int(below)) == 1 and above != "-0")
    return Fraction(int(above), int(below))


def label(text: Any) -> str:
    """Return a name."""
    demand(type(text) is str and 0 < len(text) <= 200 and text == text.strip() and text.isprintable())
    return str(text)


def load(text: str) -> dict[str, Any]:
    """Return a plan of a table, checked, with what follows from it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        demand(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    names = ["format", "version", "kind", "columns", "answered", "promise", "reports_per_person"]
    plan = fields(json.loads(text, object_pairs_hook=once), names)
    demand((plan["format"], plan["kind"]) == ("assocpriv-plan", "table") and whole(plan["version"], 1) == 1)
    demand(type(plan["columns"]) is list and 1 <= len(plan["columns"]) <= 1000)
    plan["columns"] = [column(each) for each in plan["columns"]]
    demand(len({each["name"] for each in plan["columns"]}) == len(plan["columns"]))
    repeats = whole(plan["reports_per_person"], 1, 1000)
    protected = [(p, c) for p, c in enumerate(plan["columns"]) if c["release"]["law"] == "window"]
    plan["asked"] = [place for place, each in protected if each["kind"] != "label"]
    k = whole(plan["answered"], min(1, len(plan["asked"])), len(plan["asked"]))
    demand((plan["promise"] is None) == (not protected))
    demand((k + len(protected) - len(plan["asked"])) * repeats <= 10_000)
    if protected:
        ratios = {p: Fraction(c["release"]["high"], c["release"]["low"]) for p, c in protected}
        others = sorted((ratios[p] for p in plan["asked"]), reverse=True)[:k]
        gamma = prod([r for p, r in ratios.items() if p not in plan["asked"]] + others, start=Fraction(1))
        promise = fields(plan["promise"], ["prior", "posterior"])
        prior, posterior = fraction(promise["prior"], 25), fraction(promise["posterior"], 25)
        demand(0 < prior < posterior < 1 and max(prior.denominator, posterior.denominator) <= 10**24)
        demand(gamma**repeats < posterior * (1 - prior) / (prior * (1 - posterior)))
    for place, each in enumerate(plan["columns"]):
        each["sampled"] = place in plan["asked"] and k < len(plan["asked"])
        each["bytes"] = 1 if each["outputs"] + each["optional"] + each["sampled"] <= 256 else 2
    return plan


def column(content: Any) -> dict[str, Any]:
    """Return a column, checked."""
    own = {"number": ["low", "high", "cells", "intervals"], "category": ["values"], "label": ["values"]}
    demand(type(content) is dict and type(content.get("kind")) is str and content["kind"] in own)
    made = fields(content, ["name", "kind", "optional", "release", *own[content["kind"]]])
    label(made["name"])
    demand(type(made["optional"]) is bool)
    if made["kind"] == "number":
        n = made["n"] = whole(made["cells"], 1, 65534)
        low, high = fraction(made["low"], 30), fraction(made["high"], 30)
        demand(low < high and n % whole(made["intervals"], 1, n) == 0)
        made["edges"] = [float(low + i * (high - low) / n) for i in range(n + 1)]
        demand(all(a < b for a, b in zip(made["edges"], made["edges"][1:], strict=False)))
    else:
        demand(type(made["values"]) is list and 1 <= len(made["values"]) <= 65534)
        n = made["n"] = len({label(each) for each in made["values"]})
        demand(n == len(made["values"]))
    law = made["release"]
    demand(type(law) is dict and type(law.get("law")) is str and law["law"] in LAWS)
    fields(law, ["law", *LAWS[law["law"]]])
    made["outputs"], made["total"] = measure(law, n, made["optional"])
    demand(made["outputs"] <= 65534 and made["total"] <= 1 << 32)
    if made["kind"] != "number":
        demand((law["law"], law.get("width"), law.get("near")) in (("clear", 1, None), ("window", None, 1)))
    return made


def measure(law: dict[str, Any], n: int, optional: bool) -> tuple[int, int]:
    """Return how many outputs a law has, and the sum of its weights."""
    if law["law"] == "clear":
        demand(n % whole(law["width"], 1, n) == 0)
        return n // law["width"], 1
    if law["law"] == "uniform-noise":
        return n + 2 * whole(law["reach"], 1, 65534), 2 * law["reach"] + 1
    if law["law"] == "gaussian-noise":
        half = law["half"]
        demand(type(half) is list and 2 <= len(half) <= 65534)
        demand(sorted((whole(each, 1) for each in half), reverse=True) == half)
        return n + 2 * len(half) - 2, half[0] + 2 * sum(half[1:])
    near, low = whole(law["near"], 1, 65534), whole(law["low"], 1)
    high = whole(law["high"], low + 1)
    demand(near % 2 == 1 and n >= 2)
    return n + near - 1, near * high + (n - 1 + near * optional) * low


def read_input(value: Any, made: dict[str, Any]) -> int:
    """Return the input of a value of a JSON record."""
    if value is None:
        demand(made["optional"])
        return int(made["n"])
    if made["kind"] == "number":
        demand(type(value) in (int, float) and abs(value) < 1 << 1023)
        number = float(value)
        demand(made["edges"][0] <= number <= made["edges"][-1])
        return max(place for place in range(made["n"]) if made["edges"][place] <= number)
    if type(value) is float:
        demand(value.is_integer())
        value = int(value)
    texts = [value.strip()] if type(value) is str else [json.dumps(value), str(value)]
    found = [text for text in texts if text in made["values"]]
    demand(bool(found))
    return int(made["values"].index(found[0]))


def below(n: int, words: Iterator[int]) -> int:
    """Return a number below n ≤ 2^32 of words."""
    if n == 1:
        return 0
    while True:
        word = next(words)
        if n & (n - 1) == 0:
            return word % n
        if word * n % (1 << 64) >= (1 << 64) % n:
            return word * n >> 64


def released(x: int, made: dict[str, Any], words: Iterator[int]) -> int:
    """Return the code of an input."""
    law, n, m = made["release"], made["n"], made["outputs"]
    if law["law"] == "clear":
        return m if x == n else x // law["width"]
    t = below(made["total"], words)
    if law["law"] != "window":
        half = law.get("half") or [1] * (law["reach"] + 1)
        weights = half[:0:-1] + half
        k = next(k for k in range(len(weights)) if t < sum(weights[: k + 1]))
        return m if x == n else x + k
    close = law["near"] * law["high"]
    if t < close:
        return m if x == n else x + t // law["high"]
    f = (t - close) // law["low"]
    if x == n or f < x:
        return f
    return f + law["near"] if f < n - 1 else m


def randomize(record: dict[str, Any], plan: dict[str, Any], words: Iterator[int]) -> list[int]:
    """Return the codes of a record."""
    demand(set(record) <= {each["name"] for each in plan["columns"]})
    inputs = [read_input(record.get(each["name"]), each) for each in plan["columns"]]
    order, k = list(plan["asked"]), plan["answered"]
    if k < len(order):
        for p in range(k):
            q = p + below(len(order) - p, words)
            order[p], order[q] = order[q], order[p]
    skipped = order[k:]
    return [
        each["outputs"] + each["optional"] if place in skipped else released(x, each, words)
        for place, (x, each) in enumerate(zip(inputs, plan["columns"], strict=True))
    ]


def encode(codes: list[int], plan: dict[str, Any]) -> bytes:
    """Return codes as a report."""
    pairs = zip(codes, plan["columns"], strict=True)
    return b"".join(code.to_bytes(each["bytes"], "little") for code, each in pairs)


def decode(report: bytes, plan: dict[str, Any]) -> list[int]:
    """Return the codes of a report, checked."""
    demand(len(report) == sum(each["bytes"] for each in plan["columns"]))
    codes, at = [], 0
    for each in plan["columns"]:
        code = int.from_bytes(report[at : at + each["bytes"]], "little")
        demand(code < each["outputs"] + each["optional"] + each["sampled"])
        codes.append(code)
        at += each["bytes"]
    return codes
