"""The door of guided perturbation: the miner says where classes differ, people release what of them lies there."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from assocpriv.client.guided.answering import AnswerCounts
    from assocpriv.client.guided.randomizer import GuidedRecord, LevelError
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.guidance import read_guidance, write_guidance
    from assocpriv.files.guided_messages import read_messages
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.planning.guided.plan_facts import foresee_guided as foresee
    from assocpriv.plans.guided.attributes import category, class_label, number
    from assocpriv.plans.guided.guidance import Guidance
    from assocpriv.plans.guided.plan import GuidedPlan
    from assocpriv.plans.guided.plan import guided_plan as plan

__all__ = [
    "AnswerCounts", "Guidance", "GuidedPlan", "GuidedRecord", "LevelError", "answer_file", "answer_table", "category",
    "check_writable", "class_label", "foresee", "number", "plan", "read_guidance", "read_messages", "read_plan",
    "read_reports", "wait", "write_guidance",
]  # fmt: skip
_HOMES = {
    "assocpriv.client.guided.answering": ("AnswerCounts",),
    "assocpriv.client.guided.randomizer": ("GuidedRecord", "LevelError"),
    "assocpriv.files.atomic": ("check_writable",),
    "assocpriv.files.guidance": ("read_guidance", "write_guidance"),
    "assocpriv.files.guided_messages": ("read_messages",),
    "assocpriv.files.reports": ("read_reports",),
    "assocpriv.planning.guided.plan_facts": ("foresee_guided as foresee",),
    "assocpriv.plans.guided.attributes": ("category", "class_label", "number"),
    "assocpriv.plans.guided.guidance": ("Guidance",),
    "assocpriv.plans.guided.plan": ("GuidedPlan", "guided_plan as plan"),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def _words(missing: str | Sequence[str]) -> tuple[str, ...]:
    return (missing,) if isinstance(missing, str) else tuple(missing)


# ---- clients


def read_plan(path: str | PathLike[str]) -> "GuidedPlan":
    """Read a plan file, of guided perturbation.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise it breaks; or it is of another kind.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.guided.plan import GuidedPlan

    return read(Path(path), GuidedPlan)


def answer_table(
    table: Any,
    plan: "GuidedPlan",
    guidance: "Guidance",
    *,
    max_level: int | None = None,
    announced: int | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
) -> "Reports":
    """Answer guidance for many records, with the operating system's entropy.

    ``assocpriv.randomize`` answers for one: it takes a :class:`GuidedRecord`.

    Args:
        table: a pandas, polars or pyarrow table, an iterable of such tables, or the name of a CSV or Parquet file. Of
            its columns those with the names of the plan's are taken, the class among them.
        plan: the published plan.
        guidance: what the miner published; it is checked before anything is read.
        max_level: the highest level that is answered; any by default.
        announced: the level that was announced before the guidance was asked for.
        separator: of the cells of a CSV file; found out from its header by default.
        missing: a word, or several, for missing values, as "?"; each becomes a value drawn uniformly.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not take; no value is shown.
        GuidanceError: guidance that is none of the plan's, or not what was announced.
        LevelError: guidance of a higher level than is answered.
    """
    import numpy as np

    from assocpriv.client.guided.bulk import randomize_inputs
    from assocpriv.client.guided.randomizer import accept
    from assocpriv.core.entropy import SystemEntropy
    from assocpriv.files.reports import Reports
    from assocpriv.records.table_files import TableOptions, stream_table

    accept(guidance, plan, max_level=max_level, announced=announced)
    stream = stream_table(table, plan, TableOptions(separator, _words(missing)))
    return Reports(plan, np.concatenate(list(randomize_inputs(stream, plan, guidance, entropy=SystemEntropy()))))


def answer_file(
    table: Any,
    plan: "GuidedPlan",
    guidance: "Guidance",
    output: str | PathLike[str],
    *,
    max_level: int | None = None,
    announced: int | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> "AnswerCounts":
    """Answer guidance for a table of any size, or for records that wait, into a file of reports or of messages.

    Records that waited are taken away once the file is written.

    Args:
        table, plan, guidance, max_level, announced, separator, missing: as for :func:`answer_table`; ``table`` can
            also be a folder that :func:`wait` made.
        output: .parquet or .pq for reports; .jsonl for messages, a line each with the bits that are set.
        memory_bytes: what reading a file may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        FileError: the output exists and ``force`` is not set, or cannot be written.
        GuidanceError, LevelError, RecordError: as of :func:`answer_table`.
    """
    from assocpriv.client.guided.answering import AnswerRequest, answer_into

    reading = AnswerRequest(max_level, announced, separator, _words(missing), memory_bytes, progress)
    return answer_into(table, plan, guidance, Path(output), reading, force=force)


def wait(
    table: Any,
    plan: "GuidedPlan",
    folder: str | PathLike[str],
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
) -> int:
    """Let a table's records wait for guidance, encrypted, in a new folder; returns how many. Needs the extra ``wait``.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not take.
        FileError: the folder exists, or cannot be written.
    """
    import numpy as np

    from assocpriv.client.guided.waiting import check_waiting, keep_waiting
    from assocpriv.records.table_files import TableOptions, stream_table

    check_waiting(Path(folder))
    raw = np.concatenate(list(stream_table(table, plan, TableOptions(separator, _words(missing)))))
    keep_waiting(raw, plan, Path(folder))
    return len(raw)
