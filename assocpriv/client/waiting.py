"""Records that wait on the device for guidance, encrypted: the paper's cache of a client (ZWZ05, section 7).

A folder holds ``records``, encrypted and authenticated by Fernet (AES-128-CBC and HMAC-SHA256), and ``key``, made
for them alone, which only its owner may read. So a copy of the records without the key, as a backup or a synchronized
folder may hold, shows nothing but how many there are; and once the key is gone, after they were answered, nothing is
left to read in any copy. Who can read the key, as whoever has the device's account, can read the records.

Before a device answers a guided plan it asks a collector for the level k*, then, if it takes part, for V*: a miner that
may choose V* after it has learned what a device lets go could ask for as much as that allows (ZWZ05, section 3). So the
level is asked for, and decided on, before the guidance is.

A table, or records that wait, become a file of answers to guidance, batch by batch.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.guided import GuidedRecord, LevelError, accept, randomize_inputs
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.reports import MESSAGE_ENDING, Reports, check_report_output, write_messages, write_reports
from assocpriv.kernels.parallel import default_memory, workers_within
from assocpriv.plans.guidance import Guidance
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import CollectorError, FileError, GuidanceError, PlanError, RecordError, check_names
from assocpriv.records.tables import TableOptions, TableStream, stream_table

if TYPE_CHECKING:
    from assocpriv.plans.guided import GuidedPlan

KEY, RECORDS = "key", "records"
_MOST_BYTES = 1 << 30
_ID_BYTES = 32


# ---- records that wait


def _is_waiting(folder: Path) -> bool:
    """Tell whether a path is a folder of waiting records."""
    return (folder / RECORDS).is_file()


def check_waiting(folder: Path) -> None:
    """Refuse a folder in which records cannot wait, before any work is done for it.

    Raises:
        FileError: it exists already.
    """
    if folder.exists() or folder.is_symlink():
        raise FileError(f"{folder} exists; records wait in a folder of their own, name another")
    _fernet()


def keep_waiting(raw_inputs: NDArray[np.int32], plan: "GuidedPlan", folder: Path) -> None:
    """Put records into a new folder, encrypted with a new key.

    Args:
        raw_inputs: positions of values, int32 (n, columns), the class last; as many as there are values: missing.
        plan: the plan that they are of.
        folder: made here.

    Raises:
        FileError: it exists or cannot be written; nothing of the records is left there.
        PlanError: the package ``cryptography`` is missing.
    """
    check_waiting(folder)
    fernet = _fernet()
    key = fernet.generate_key()
    content = bytes.fromhex(plan.plan_id) + raw_inputs.astype("<u4").tobytes()
    if len(content) > _MOST_BYTES:
        raise RecordError("so many records cannot wait in one folder; split the table")
    try:
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(key)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}; nothing waits there") from None
    try:
        with atomic_output(folder / RECORDS) as sealed:
            sealed.write(fernet(key).encrypt(content))
        sync_folder(folder)
    except BaseException:
        _forget_waiting(folder)
        raise


def waiting_inputs(folder: Path, plan: "GuidedPlan") -> NDArray[np.int32]:
    """Return the records that wait in a folder, int32 (n, columns); they go on waiting.

    Raises:
        FileError: no such folder, or what it holds was cut, changed or encrypted with another key.
        PlanError: they are of another plan, or the package ``cryptography`` is missing.
    """
    fernet = _fernet()
    from cryptography.fernet import InvalidToken

    try:
        key, sealed = (folder / KEY).read_bytes(), (folder / RECORDS).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read what waits in {folder}: {error.strerror or error}") from None
    try:
        content = fernet(key).decrypt(sealed)
    except (InvalidToken, ValueError):
        content = b""
    columns = len(plan.columns)
    if len(content) < _ID_BYTES:
        raise FileError(f"what waits in {folder} was cut, changed or encrypted with another key; nothing is sent")
    if content[:_ID_BYTES].hex() != plan.plan_id:
        raise PlanError(f"the records in {folder} wait for plan {content[:_ID_BYTES].hex()[:12]}, not for this one")
    return np.frombuffer(content[_ID_BYTES:], dtype="<u4").astype(np.int32).reshape(-1, columns)


def _forget_waiting(folder: Path) -> None:
    """Take away a folder of waiting records, the key first: after that no copy of the records can be read."""
    try:
        (folder / KEY).unlink(missing_ok=True)
        sync_folder(folder)
        (folder / RECORDS).unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        raise FileError(f"cannot remove {folder}: {error.strerror or error}; delete it by hand") from None


def _fernet() -> Any:
    try:
        from cryptography.fernet import Fernet
    except ImportError:
        raise PlanError("records wait encrypted, by the package cryptography: pip install 'assocpriv[wait]'") from None
    return Fernet


def wait(
    table: Any,
    plan: "GuidedPlan",
    folder: str | PathLike[str],
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
) -> int:
    """Let a table's records wait for guidance, encrypted, in a new folder; returns how many. Needs the extra ``wait``.

    Args:
        table: a pandas, polars or pyarrow table, or the name of a CSV or Parquet file.
        plan: the published plan.
        folder: made here; :func:`assocpriv.randomize` takes it, as a ``Path``, for a table.
        separator, missing, sheet: as of :func:`assocpriv.randomize`.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not take.
        FileError: the folder exists, or cannot be written.
        PlanError: the package ``cryptography`` is missing.

    Source: ZWZ05, section 7.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> waiting = Path(mkdtemp(), "waiting")
    >>> ap.guided.wait(table, state.plan, waiting)
    20
    >>> len(ap.randomize(waiting, state.plan, guidance=state.guidance))
    20
    """

    check_waiting(Path(folder))
    raw = np.concatenate(list(stream_table(table, plan, TableOptions(separator, missing, sheet))))
    keep_waiting(raw, plan, Path(folder))
    return len(raw)


# ---- guidance


def with_guidance(
    values: Any, plan: "GuidedPlan", ask: Callable[[str], Any], *, max_level: int | None = None
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


# ---- answers


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


def randomize_records(
    table: Any,
    plan: "GuidedPlan",
    output: str | PathLike[str] | None = None,
    *,
    guidance: Guidance | None = None,
    max_level: int | None = None,
    announced: int | None = None,
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **reading: Any,
) -> tuple[Reports | None, AnswerCounts]:
    """Answer guidance, checked before anything is read, for a table's records, or those that wait in a folder.

    The operating system's entropy is drawn, into memory or a file; assocpriv.randomize says the rest. ``reading`` are
    :class:`TableOptions` by name. Records that waited are taken away once the file is written.
    """
    check_names(reading, ("separator", "missing", "sheet"))
    if guidance is None:
        raise PlanError("a guided plan is answered under guidance: give guidance=assocpriv.guided.read_guidance(file)")
    accept(guidance, plan, max_level=max_level, announced=announced)
    is_message = output is not None and Path(output).suffix.lower() == MESSAGE_ENDING
    if output is not None and not is_message:
        _check_output(Path(output))
    memory = default_memory() if memory_bytes is None else memory_bytes
    folder = Path(table) if isinstance(table, str | PathLike) and _is_waiting(Path(table)) else None
    counts = AnswerCounts(guidance.serial, guidance.level, waited=folder is not None)
    batches: Iterable[NDArray[np.int32]]
    if folder is not None:
        batches = [waiting_inputs(folder, plan)]
    else:
        batches = stream_table(table, plan, TableOptions(memory_bytes=memory, progress=progress, **reading))
    made = randomize_inputs(
        batches, plan, guidance, entropy=SystemEntropy(), workers=workers_within(memory), clipped=counts.add_clipped
    )
    reports = None
    if output is None:
        reports = Reports(plan, np.concatenate(list(made)))
        counts.records = len(reports)
    else:
        counts.records = (write_messages if is_message else write_reports)(made, plan, Path(output), force=force)
    if isinstance(batches, TableStream):
        counts.missing = batches.counts.missing
    if folder is not None and output is not None:
        _forget_waiting(folder)
    return reports, counts


def _check_output(output: Path) -> None:
    try:
        check_report_output(output)
    except FileError:
        raise FileError(
            f"{output} must end in .parquet or .pq, a file of reports, or {MESSAGE_ENDING}, messages"
        ) from None
