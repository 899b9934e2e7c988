"""Types of arguments that several verbs take."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

Number: TypeAlias = float | str | Fraction
Shown: TypeAlias = "Callable[[int, int], None] | None"
Stages: TypeAlias = "Callable[[str, int, int], None] | None"


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a caller gave; each plan type refuses those of others."""
    return {
        name: each
        for name, each in arguments.items()
        if name not in ("records", "plan", "output")
        and each is not None
        and each is not False
        and not (isinstance(each, tuple) and not each)
    }
