"""Which class reads which kind of plan: a line each. A plan's module is loaded when one of its kind is read."""

from collections.abc import Mapping
from typing import Any

from assocpriv.core.loading import load
from assocpriv.plans.published import UNKNOWN, PublishedPlan, check_envelope, parse_text
from assocpriv.promise.errors import PlanError

KINDS = {
    "select-a-size": "assocpriv.plans.baskets.plan:Plan",
    "fixed-size": "assocpriv.plans.baskets.plan:Plan",
    "table": "assocpriv.plans.numeric.plan:TablePlan",
    "guided": "assocpriv.plans.guided.plan:GuidedPlan",
}


def load_for(kind: str, registry: Mapping[str, str], done: str) -> Any:
    """Return what a registry names for a kind of plan; ``done`` says what is done with it, in the past.

    Raises:
        PlanError: it has no line for the kind.
    """
    if kind not in registry:
        raise PlanError(f"plans of the kind {kind} cannot be {done} here; a newer release may know how")
    return load(registry[kind])


def parse_plan(text: str) -> PublishedPlan:
    """Read a plan of any kind from JSON text.

    Raises:
        PlanError: not a plan, one of a kind that is not known here, or one whose fields contradict each other.
    """
    content = check_envelope(parse_text(text))
    if content["kind"] not in KINDS:
        raise PlanError(UNKNOWN)
    plan: PublishedPlan = load(KINDS[content["kind"]]).from_json(content)
    return plan
