"""Strict JSON: no repeated field, no NaN or infinity. Only the standard library is imported."""

import json
from collections.abc import Callable
from typing import Any


class RepeatedFieldError(ValueError):
    """A field of a JSON object is repeated; two readers might take different ones."""


def json_fields(text: str | bytes, read_decimal: Callable[[str], Any] = float) -> Any:
    """Return the content of a JSON text in which no field is repeated and no number is NaN or infinite.

    ``read_decimal`` converts a number with a decimal point.

    Raises:
        RepeatedFieldError: a field is repeated.
        ValueError: the text is no JSON, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_float=read_decimal, object_pairs_hook=_without_doubles, parse_constant=_refuse)
    except RecursionError:
        raise ValueError from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise RepeatedFieldError
    return fields


def _refuse(_name: str) -> float:
    raise ValueError
