"""Fields of a plan's text, as the audit reads them: with no code of the plans' own readers."""

from typing import Any

from assocpriv.promise.errors import PlanError


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; refuse a field that is given twice."""
    if len(dict(pairs)) != len(pairs):
        raise PlanError("a field is given twice")
    return dict(pairs)


def field(content: object, name: str) -> Any:
    """Return a field of a JSON object; refuse what has none of this name."""
    if not isinstance(content, dict) or name not in content:
        raise PlanError(f"the field {name} is missing")
    return content[name]


def whole(content: object, name: str, low: int, high: int) -> int:
    """Return a field that must be a whole number in low..high."""
    number = field(content, name)
    if type(number) is not int or not low <= number <= high:
        raise PlanError(f"{name} must be a whole number in {low}..{high}")
    return number
