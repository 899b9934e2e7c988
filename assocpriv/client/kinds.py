"""Who makes the reports of which kind of plan: a line each. A client's module is loaded for the first plan of its kind.

This module hands raw records on and keeps none.
"""

from typing import Any

from assocpriv.core.entropy import Entropy
from assocpriv.plans.published import PublishedPlan
from assocpriv.plans.registry import load_for

# kind -> a function of (record, plan, *, entropy), which checks the record and returns the report of it
KINDS = {
    "select-a-size": "assocpriv.client.baskets.randomizer:randomize_basket",
    "fixed-size": "assocpriv.client.baskets.randomizer:randomize_basket",
    "table": "assocpriv.client.numeric.randomizer:randomize_record",
}


def make_report(record: Any, plan: PublishedPlan, *, entropy: Entropy) -> bytes:
    """Return the report of one person's raw record, of the type that the plan's kind takes.

    Of baskets it is a collection of names; of tables a mapping from the columns' names to values, {"age": 34}.

    Raises:
        RecordError: the record does not fit the plan; no draw is made.
        TypeError: no plan, or a record of another type.
    """
    if not isinstance(plan, PublishedPlan):
        raise TypeError(f"plan must be a Plan (read_plan reads one from a file), got a {type(plan).__name__}")
    report: bytes = load_for(plan.kind, KINDS, "answered")(record, plan, entropy=entropy)
    return report
