"""Rules published for on-device matching, and a shop's price list.

Rules are JSON (docs/formats.md), the best first. The digest is that of the file's bytes, as browsers check it (W3C,
Subresource Integrity): ``sha256-`` and the SHA-256 in base64.
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

from assocpriv.files.atomic import MAX_TABLE_BYTES, read_bounded
from assocpriv.files.spreadsheet_lists import decode_text, detect_separator, read_rows
from assocpriv.guarantees.errors import EstimateError, FileError, json_fields

FORMAT, VERSION = "assocpriv-rules", 1
_FIELDS = (
    "antecedents", "consequents", "support", "confidence", "confidence_ci_low", "confidence_ci_high", "lift", "value",
    "value_ci_low", "value_ci_high",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """An association rule: ``confidence`` is the share of baskets with the antecedents that have the consequents."""

    antecedents: frozenset[str]
    consequents: tuple[str, ...]
    confidence: float


def rules_to_text(
    records: Iterable[Mapping[str, Any]], *, marked: bool = False, facts: Mapping[str, Any] | None = None
) -> str:
    """Return the JSON text of rules: facts of all, the fields that a device needs and, if ``marked``, ``selected``."""
    names = [*_FIELDS, *["selected"] * marked]
    rules = [{name: _short(each[name]) for name in names if name in each} for each in records]
    lines = ",\n".join(json.dumps(rule, ensure_ascii=False) for rule in rules)
    head = json.dumps({"format": FORMAT, "version": VERSION, **(facts or {})})
    return f'{head[:-1]}, "rules": [\n{lines}\n]}}\n'


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 digest of a file of rules, as ``sha256-`` and base64.

    Args:
        path: the file.

    Raises:
        FileError: it cannot be read.
    """
    return _digest(_content(path))


def read_device_rules(path: str | Path, integrity: str | None = None) -> tuple[Rule, ...]:
    """Read the selected rules of a JSON file that :func:`assocpriv.write_rules` wrote.

    Args:
        path: the file.
        integrity: the digest that the file must have, as ``sha256-…``; None for any.

    Returns:
        The rules, best first, without those marked as not selected.

    Raises:
        FileError: it cannot be read, has another digest, or is not a file of published rules.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "rules.json")
    >>> _ = file.write_text(rules_to_text([{"antecedents": ["tea"], "consequents": ["milk"], "confidence": 0.6}]))
    >>> read_device_rules(file, digest_of(file))[0].consequents
    ('milk',)
    """
    content = _content(path)
    if integrity is not None and _digest(content) != integrity:
        raise FileError(f"{path} does not have the digest {integrity}, so it is not the published file")
    try:
        fields = json_fields(content.decode("utf-8"))
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or (fields.get("format"), fields.get("version")) != (FORMAT, VERSION):
        raise FileError(f"{path} holds no published rules; assocpriv rules -o {Path(path).stem}.json writes them")
    rules = _require_list(fields.get("rules"), str(path))
    read = [_rule(rule, f"{path}, rule {number}") for number, rule in enumerate(rules, 1)]
    return tuple(rule for rule, each in zip(read, rules, strict=True) if each.get("selected") is not False)


def _content(path: str | Path) -> bytes:
    try:
        return read_bounded(path, MAX_TABLE_BYTES)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


def _digest(content: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}"


def _rule(rule: Any, where: str) -> Rule:
    fields = rule if isinstance(rule, dict) else {}
    left, right = (_require_list(fields.get(name), where) for name in _FIELDS[:2])
    confidence: Any = fields.get("confidence")
    is_share = type(confidence) in (int, float) and 0 <= confidence <= 1
    if not (left and right and is_share and all(isinstance(name, str) for name in [*left, *right])):
        raise FileError(f"{where}: a rule needs names on both sides, and a confidence from 0 to 1")
    return Rule(frozenset(left), tuple(right), float(confidence))


def _require_list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileError(f"{where}: a list is missing")
    return value


def read_prices(path: str | Path) -> dict[str, float]:
    """Read prices or margins: one item per line, its name and a number; line 1 may be a header.

    The file is CSV as spreadsheets save it. If semicolons or tabs separate cells, decimals may have a comma.

    Raises:
        FileError: it cannot be read.
        EstimateError: a line is not of this form, or repeats an item.
    """
    content = _content(path)
    try:
        text = decode_text(content)
    except ValueError as error:
        raise FileError(f"{path} is not a CSV file: it is {error}") from None
    mark, prices = detect_separator(text), dict[str, float]()
    try:
        for place, (line, cells) in enumerate(read_rows(text)):
            price = _number(cells[1], mark) if len(cells) == 2 else None
            if price is None and not place and len(cells) == 2:
                continue  # a header
            if price is None or cells[0] in prices:
                raise EstimateError(
                    f"{path}, row {line}: needs two cells, an item that no other row has and a number, as in bread,0.35"
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
