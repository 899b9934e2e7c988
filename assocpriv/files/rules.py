"""Rules that are published for devices, which match them at home, and the prices that a shop knows.

Rules are JSON (docs/formats.md), the best first. Their digest is that of the file's bytes, as browsers check it
(W3C, Subresource Integrity): ``sha256-`` and the SHA-256 in base64.
"""

import base64
import csv
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import LARGEST_TABLE, read_bounded
from assocpriv.files.lists import decoded, rows_of, separator_of
from assocpriv.promise.errors import EstimateError, FileError
from assocpriv.promise.json_text import json_fields

FORMAT, VERSION = "assocpriv-rules", 1
_FIELDS = (
    "antecedents", "consequents", "support", "confidence", "confidence_ci_low", "confidence_ci_high", "lift", "value",
    "value_ci_low", "value_ci_high",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """Who has the antecedents has the consequents, too, in this share of cases."""

    antecedents: frozenset[str]
    consequents: tuple[str, ...]
    confidence: float


def published(records: Iterable[Mapping[str, Any]], *, marked: bool = False) -> str:
    """Return rules as their file's text: the fields that a device needs and, ``marked``, whether each is listed."""
    names = [*_FIELDS, *["listed"] * marked]
    rules = [{name: _short(each[name]) for name in names if name in each} for each in records]
    lines = ",\n".join(json.dumps(rule, ensure_ascii=False) for rule in rules)
    return f'{{"format": "{FORMAT}", "version": {VERSION}, "rules": [\n{lines}\n]}}\n'


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def digest_of(path: str | Path) -> str:
    """Return the digest of a file of rules.

    Raises:
        FileError: it cannot be read.
    """
    return _digest(_content(path))


def read_rules(path: str | Path, integrity: str | None = None) -> tuple[Rule, ...]:
    """Read the listed rules of a file .json, as :func:`assocpriv.write_rules` writes it.

    Args:
        path: the file.
        integrity: the digest it must have, as ``sha256-…``: that of the rules that the device was told of.

    Raises:
        FileError: it cannot be read, has another digest, or is none of these files.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "rules.json")
    >>> _ = file.write_text(published([{"antecedents": ["tea"], "consequents": ["milk"], "confidence": 0.6}]))
    >>> read_rules(file, digest_of(file))[0].consequents
    ('milk',)
    """
    content = _content(path)
    if integrity is not None and _digest(content) != integrity:
        raise FileError(f"{path} has another digest than {integrity}; it is not the file that was published")
    try:
        told = json_fields(content.decode("utf-8"))
    except ValueError:
        told = None
    if not isinstance(told, dict) or (told.get("format"), told.get("version")) != (FORMAT, VERSION):
        raise FileError(f"{path} holds no published rules; rules -o {Path(path).stem}.json writes them")
    rules = _listed(told.get("rules"), str(path))
    read = [_rule(rule, f"{path}, rule {number}") for number, rule in enumerate(rules, 1)]
    return tuple(rule for rule, fields in zip(read, rules, strict=True) if fields.get("listed") is not False)


def _content(path: str | Path) -> bytes:
    try:
        return read_bounded(path, LARGEST_TABLE)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


def _digest(content: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}"


def _rule(rule: Any, where: str) -> Rule:
    fields = rule if isinstance(rule, dict) else {}
    left, right = (_listed(fields.get(name), where) for name in _FIELDS[:2])
    confidence: Any = fields.get("confidence")
    is_share = type(confidence) in (int, float) and 0 <= confidence <= 1
    if not (left and right and is_share and all(isinstance(name, str) for name in [*left, *right])):
        raise FileError(f"{where}: a rule has names on both sides, and a confidence of 0 to 1")
    return Rule(frozenset(left), tuple(right), float(confidence))


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileError(f"{where}: a list is missing")
    return value


def read_prices(path: str | Path) -> dict[str, float]:
    """Read what items earn: a line an item, its name and its price or margin; a header may come first.

    The file is CSV as spreadsheets save it; where semicolons or tabs part cells, decimals may have a comma.

    Raises:
        FileError: it cannot be read.
        EstimateError: a line that is none of these, or an item twice.
    """
    content = _content(path)
    try:
        text = decoded(content)
    except ValueError as error:
        raise FileError(f"{path} is no CSV file: it is {error}") from None
    mark, prices = separator_of(text), dict[str, float]()
    try:
        for place, (line, cells) in enumerate(rows_of(text)):
            price = _number(cells[1], mark) if len(cells) == 2 else None
            if price is None and not place and len(cells) == 2:
                continue  # a header
            if price is None or cells[0] in prices:
                raise EstimateError(
                    f"{path}, row {line}: two cells must be an item that no other row has, and a number, as bread,0.35"
                )
            prices[cells[0]] = price
    except csv.Error as error:
        raise FileError(f"{path}: {error}") from None
    return prices


def _number(text: str, separator: str) -> float | None:
    if separator != "," and "." not in text:
        text = text.replace(",", ".")
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None
