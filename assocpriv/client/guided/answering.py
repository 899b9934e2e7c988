"""A table, or records that wait → a file of answers to guidance, batch by batch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.guided.bulk import randomize_inputs
from assocpriv.client.guided.randomizer import accept
from assocpriv.client.guided.waiting import forget_waiting, is_waiting, waiting_inputs
from assocpriv.files.reports import ENDING, check_report_output, write_messages, write_reports
from assocpriv.kernels.parallel import default_memory, workers_within
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import FileError
from assocpriv.records.table_files import TableOptions, TableStream, stream_table


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What is answered, and how a table is read; as :func:`assocpriv.guidance.answer_file` says."""

    max_level: int | None = None
    announced: int | None = None
    separator: str | None = None
    missing: tuple[str, ...] = ()
    memory_bytes: int | None = None
    progress: Callable[[int, int], None] | None = None


@dataclass(slots=True)
class AnswerCounts:
    """What was answered: how many records, what was missing by column, and how many probabilities were above 1."""

    serial: int
    level: int
    records: int = 0
    clipped: int = 0
    waited: bool = False
    missing: dict[str, int] = field(default_factory=dict)

    def add_clipped(self, more: int) -> None:
        """Count probabilities above 1."""
        self.clipped += more


def answer_into(
    table: Any, plan: GuidedPlan, guidance: Guidance, output: Path, request: AnswerRequest, *, force: bool = False
) -> AnswerCounts:
    """Answer guidance, which is checked before anything is read; see :func:`assocpriv.guidance.answer_file`."""
    accept(guidance, plan, max_level=request.max_level, announced=request.announced)
    is_message = output.suffix.lower() == ENDING
    if not is_message:
        _check_output(output)
    memory = default_memory() if request.memory_bytes is None else request.memory_bytes
    folder = Path(table) if isinstance(table, str | Path) and is_waiting(Path(table)) else None
    counts = AnswerCounts(guidance.serial, guidance.level, waited=folder is not None)
    batches: Iterable[NDArray[np.int32]]
    if folder is not None:
        batches = [waiting_inputs(folder, plan)]
    else:
        batches = stream_table(
            table, plan, TableOptions(request.separator, request.missing, False, memory, request.progress)
        )
    made = randomize_inputs(
        batches, plan, guidance, entropy=SystemEntropy(), workers=workers_within(memory), clipped=counts.add_clipped
    )
    write = write_messages if is_message else write_reports
    counts.records = write(made, plan, output, force=force)
    if isinstance(batches, TableStream):
        counts.missing = batches.counts.missing
    if folder is not None:
        forget_waiting(folder)
    return counts


def _check_output(output: Path) -> None:
    try:
        check_report_output(output)
    except FileError:
        raise FileError(f"{output} must end in .parquet or .pq, a file of reports, or {ENDING}, messages") from None
