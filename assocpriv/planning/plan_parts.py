"""What is planned with a plan of a type."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from assocpriv.plans.registry import Entry

FORECAST: Entry[Callable[[Any, int], Any]] = Entry("forecast", "described")
WARN: Entry[Callable[["Counter[int]", Any], None]] = Entry("warn", "described")
