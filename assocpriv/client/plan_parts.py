"""What a client does with records of a plan type."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assocpriv.plans.registry import Entry

if TYPE_CHECKING:
    from assocpriv.files.report_files import Reports

REPORT: Entry[Callable[..., bytes]] = Entry("report", "answered")
RANDOMIZE: Entry[Callable[..., tuple["Reports | None", Any]]] = Entry("randomize", "randomized")
PARSE: Entry[Callable[[bytes], Any]] = Entry("parse", "read")
VALUES: Entry[Callable[[bytes], Any]] = Entry("values", "read")
ADD_GUIDANCE: Entry[Callable[..., Any]] = Entry("add_guidance", "answered")
