"""Checks of a plan's fields that its parts share."""

from typing import Any

from assocpriv.core.errors import PlanError


def check_integer(value: object, name: str, low: int, high: int) -> int:
    """Return a field's value if it is a whole number in low..high.

    Raises:
        PlanError: it is not.
    """
    if type(value) is not int:
        raise PlanError(f"plan field {name} must be an integer, got a {type(value).__name__}")
    if not low <= value <= high:
        got = str(value) if abs(value) < 10**18 else "a number of more than 18 digits"
        raise PlanError(f"plan field {name} must be in {low}..{high}, got {got}")
    return value


def check_fields(content: object, where: str, names: set[str]) -> dict[str, Any]:
    """Return JSON content that must hold exactly the named fields.

    Raises:
        PlanError: it does not.
    """
    if not isinstance(content, dict) or set(content) != names:
        raise PlanError(f"{where} of a plan must hold exactly the fields {', '.join(sorted(names))}")
    return content
