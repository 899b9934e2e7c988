"""What a device asks a collector before it answers a guided plan: first the level k*, then, if it takes part, V*.

A miner that may choose V* after it has learned what a device lets go could ask for as much as that allows (ZWZ05,
section 3): so the level is asked for, and decided on, before the guidance is.
"""

from collections.abc import Callable
from typing import Any

from assocpriv.client.guided.randomizer import GuidedRecord, LevelError, accept
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import CollectorError, GuidanceError
from assocpriv.records.table_cells import parse_record


def read_values(text: bytes) -> dict[str, Any]:
    """Return the values of one person's record, a JSON object; see :func:`parse_record`."""
    return parse_record(text)


def with_guidance(
    values: Any, plan: GuidedPlan, ask: Callable[[str], Any], *, max_level: int | None = None
) -> GuidedRecord:
    """Return a record with the guidance that it answers, accepted.

    Args:
        values: of the plan's columns, by name.
        plan: the published plan.
        ask: returns the JSON content of a path of the collector.
        max_level: the highest level that this device answers; any by default.

    Raises:
        LevelError: a higher level is asked for; the guidance was not asked for then.
        GuidanceError: guidance that is none of the plan's, or of another level than was announced.
        CollectorError: no level, or no answer.
    """
    announced = ask("/guidance/level")
    level = announced.get("level") if isinstance(announced, dict) else None
    if type(level) is not int or level < 1:
        raise CollectorError("the collector announces no level of guidance")
    if announced.get("plan") != plan.plan_id:
        raise GuidanceError("the level that the collector announces is of another plan; nothing is sent")
    if max_level is not None and level > max_level:
        raise LevelError(
            f"the collector asks for level {level}, above the highest of {max_level}; nothing is sent, and the record "
            "can wait for a lower one"
        )
    guidance = Guidance.from_json(ask("/guidance"))
    accept(guidance, plan, max_level=max_level, announced=level)
    return GuidedRecord(values, guidance, max_level, level)
