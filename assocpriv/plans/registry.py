"""The registry of plan types: the functions and classes for plans of each type, imported on use.

A new plan type is new modules, and a module like those of ``plan_types/``, named in ``KINDS``: it has the type's parts
by the names of entries. The package that a part belongs to defines its :class:`Entry`, with the part's type. So a
caller only gets code of its own or a lower layer, and type checkers follow. The entries:

    plan                class that reads a plan of the type
    report              (record, plan, *, entropy) -> report: one record, checked (client/plan_parts.py)
    randomize           (records, plan, output, **options) -> (Reports or None, counts): many, into memory or a file
    parse               (text) -> record for report; without this entry a record is a list of names
    values              (text) -> a device's part of a record, if the collector supplies the rest
    add_guidance        (values, plan, ask, *, max_level) -> record with the guidance fetched from a collector
    mine                (backends, request) -> table of itemsets (server/plan_parts.py)
    reconstruct         (reports, request, progress) -> distributions
    collect             (files, state file) -> the miner's state with the reports of the files
    check_manipulation  (reports, *, progress) -> tests for reports that honest people cannot have sent
    forecast            (plan, reports) -> expected results of a number of reports (planning/plan_parts.py)
    warn                (sizes, plan) warns of support lost by truncation, for many records in memory
    simulate            (records, plan, **options) -> both sides, compared with the truth (api/trials.py)
    subject             class with the audit's knowledge of the type (auditing/audit_subject.py)
    show_plan           (forecast) -> record (show/plan_views.py)
    show_simulation     (simulation) -> record (show/audit_views.py)
    analysis            the analysis on the operator's page (pages/collector_page.py)
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from assocpriv.guarantees.errors import PlanError

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

KINDS = {kind: f"assocpriv.plan_types.{kind}" for kind in ("baskets", "table", "guided")}
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Entry(Generic[Part]):
    """A part that plan types may have; ``done`` is a past participle for the error message."""

    name: str
    done: str

    def is_of(self, kind: str) -> bool:
        """Return whether a plan type has this part.

        >>> Entry("mine", "mined").is_of("baskets"), Entry("mine", "mined").is_of("unheard-of")
        (True, False)
        """
        return kind in KINDS and self.name in dir(import_module(KINDS[kind]))

    def of(self, kind: str) -> Part:
        """Return the part of a plan type.

        Raises:
            PlanError: the plan type has no such part.

        >>> Entry("plan", "read").of("table").__name__
        'TablePlan'
        """
        if not self.is_of(kind):
            raise PlanError(f"plans of the type {kind} cannot be {self.done} here; a newer release may support this")
        return cast("Part", getattr(import_module(KINDS[kind]), self.name))


_PLAN: Entry["type[PublishedPlan]"] = Entry("plan", "read")


def parse_plan(text: str) -> "PublishedPlan":
    """Read a plan of any type from JSON text.

    Raises:
        PlanError: the text is no plan, its type is unknown, or its fields contradict each other.
    """
    from assocpriv.plans.published_plan import UNKNOWN, check_envelope, parse_text

    content = check_envelope(parse_text(text))
    if content["kind"] not in KINDS:
        raise PlanError(UNKNOWN)
    return _PLAN.of(content["kind"]).from_json(content)
