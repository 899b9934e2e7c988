"""Types of arguments that several verbs take."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = float | str | Fraction
Shown: TypeAlias = "Callable[[int, int], None] | None"
Stages: TypeAlias = "Callable[[str, int, int], None] | None"
