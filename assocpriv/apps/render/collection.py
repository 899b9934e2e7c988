"""What a run of gather came to."""

from typing import Any

from assocpriv.apps.render.figures import fields
from assocpriv.collection import Gathered, Refusal
from assocpriv.promise.errors import counted

_SHOWN = 20  # of what was refused
_STREAM = "-"


def gathered_record(done: Gathered) -> dict[str, Any]:
    """Return what was gathered and refused, for ``--json``; the plan's id stands at the top if there is one plan."""
    ids = [each.plan.plan_id for each in done.collections]
    return {
        "plan_id": ids[0] if len(ids) == 1 else None,
        "gathered": done.gathered,
        "reports": sum(each.reports for each in done.collections),
        "refused_count": done.refused_count,
        "refused": [fields(each, "file reason") for each in done.refused],
        "collections": [
            {"plan_id": each.plan.plan_id, "path": str(each.path), **fields(each, "gathered reports")}
            for each in done.collections
        ],
    }


def gathered_lines(done: Gathered, *, removed: bool) -> list[str]:
    """Say what was gathered, what the collections hold now, and where the files are."""
    lines = [
        f"{counted(each.gathered, 'report')} gathered into {each.path}, which holds {each.reports:,} now; "
        f"plan {each.plan.plan_id[:16]}…"
        for each in done.collections
        if each.reports
    ]
    if not done.gathered and not done.refused_count:
        return [*lines, "nothing to do: there was no file to gather" * removed or "there was no report"]
    if done.gathered and removed:
        lines.append("the files gathered are removed: the collection has their bytes, and nothing else of them")
    return lines


def refused_lines(done: Gathered) -> list[str]:
    """Name what was refused, one a line, and say where it is."""
    shown = [_refused(each) for each in done.refused[:_SHOWN]]
    rest = done.refused_count - len(shown)
    return shown + [f"and {rest:,} more"] * (rest > 0)


def failure(done: Gathered) -> str:
    """Say that something was there and none of it could be gathered; empty where that is not so."""
    if done.gathered or not done.refused_count:
        return ""
    if done.refused_count == 1:
        return f"nothing was gathered; {_refused(done.refused[0])}"
    return f"nothing was gathered: none of {done.refused_count:,} is a report of the plan"


def _refused(refusal: Refusal) -> str:
    if refusal.file == _STREAM:
        return f"passed over: {refusal.reason}"
    # whoever may put files into an inbox chooses their names: nothing of them may pass for our own lines
    name = "".join(character if character.isprintable() else "?" for character in refusal.file)
    return f"left where it is: {name} {refusal.reason}"
