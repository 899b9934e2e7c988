"""JSON as it is read here: no field twice, no number that is none. It needs the standard library alone."""

import json
from collections.abc import Callable
from typing import Any


class RepeatedFieldError(ValueError):
    """JSON in which a field is given twice: two readers might take different ones."""


def json_fields(text: str | bytes, read_decimal: Callable[[str], Any] = float) -> Any:
    """Return the content of JSON text in which no field is given twice, and no number is NaN or infinite.

    ``read_decimal`` makes a value of a number with a point.

    Raises:
        RepeatedFieldError: one is given twice.
        ValueError: it is no JSON, or is nested too deeply.
    """
    try:
        return json.loads(
            text, parse_float=read_decimal, object_pairs_hook=_without_doubles, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise RepeatedFieldError
    return fields


def _no_constant(_name: str) -> float:
    raise ValueError
