"""Records queued on the device for guidance, encrypted: the client's cache of the paper (ZWZ05, section 7).

A folder holds ``records``, encrypted and authenticated by Fernet (AES-128-CBC and HMAC-SHA256), and ``key``, a new key
that only its owner may read. A copy of the records without the key, as in a backup or a synchronized folder, shows only
their number. Once the records are answered the key is deleted, and no copy can be decrypted. Everyone who can read the
key, for example with the device's account, can read the records.

Before a device answers a guided plan it asks a collector for the level k*, then, if it takes part, for V*: a miner that
could choose V* after it has learned the device's maximum level could request as much as that allows (ZWZ05, section 3).
So the device gets the level, and decides on it, before the guidance.

A table, or queued records, become a file of responses to guidance, batch by batch.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.guided.guided_client import GuidedRecord, LevelError, check_guidance, randomize_inputs
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.report_files import MESSAGE_ENDING, Reports, check_report_output, write_messages, write_reports
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import (
    CollectorError,
    FileError,
    GuidanceError,
    PlanError,
    RecordError,
    check_argument_names,
)
from assocpriv.kernels.parallel import default_memory, workers_within
from assocpriv.plans.guided.guided_plan import Guidance
from assocpriv.records.table_files import TableOptions, TableStream, stream_table

if TYPE_CHECKING:
    from assocpriv.plans.guided.guided_plan import GuidedPlan

KEY, RECORDS = "key", "records"
_MOST_BYTES = 1 << 30
_ID_BYTES = 32


# ---- queued records


def _is_queue(folder: Path) -> bool:
    """Return whether a path is a folder of queued records."""
    return (folder / RECORDS).is_file()


def check_queue(folder: Path) -> None:
    """Refuse an existing folder for queued records, before any work is done for it.

    Raises:
        FileError: it exists.
    """
    if folder.exists() or folder.is_symlink():
        raise FileError(f"{folder} exists; name a new folder for the queued records")
    _fernet()


def queue_inputs(raw_inputs: NDArray[np.int32], plan: "GuidedPlan", folder: Path) -> None:
    """Write records into a new folder, encrypted with a new key.

    Args:
        raw_inputs: positions of values, int32 (n, columns), the class last; the number of values stands for a missing
            one.
        plan: the plan of the records.
        folder: made here.

    Raises:
        FileError: it exists or cannot be written; then it holds no records.
        PlanError: the package ``cryptography`` is missing.
    """
    check_queue(folder)
    fernet = _fernet()
    key = fernet.generate_key()
    content = bytes.fromhex(plan.plan_id) + raw_inputs.astype("<u4").tobytes()
    if len(content) > _MOST_BYTES:
        raise RecordError(f"queued records have at most {_MOST_BYTES >> 30} GiB; split the table")
    try:
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(key)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}; no record is queued") from None
    try:
        with atomic_output(folder / RECORDS) as stream:
            stream.write(fernet(key).encrypt(content))
        sync_folder(folder)
    except BaseException:
        _delete_queue(folder)
        raise


def queued_inputs(folder: Path, plan: "GuidedPlan") -> NDArray[np.int32]:
    """Return the queued records of a folder, int32 (n, columns); they stay queued.

    Raises:
        FileError: no such folder, or its content was cut, changed or encrypted with another key.
        PlanError: they are of another plan, or the package ``cryptography`` is missing.
    """
    fernet = _fernet()
    from cryptography.fernet import InvalidToken

    try:
        key, encrypted = (folder / KEY).read_bytes(), (folder / RECORDS).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read the queued records in {folder}: {error.strerror or error}") from None
    try:
        content = fernet(key).decrypt(encrypted)
    except (InvalidToken, ValueError):
        content = b""
    columns = len(plan.columns)
    if len(content) < _ID_BYTES:
        raise FileError(f"the records in {folder} are cut, changed or encrypted with another key; nothing is sent")
    if content[:_ID_BYTES].hex() != plan.plan_id:
        raise PlanError(
            f"the records in {folder} are queued for plan {content[:_ID_BYTES].hex()[:12]}, not for this one"
        )
    return np.frombuffer(content[_ID_BYTES:], dtype="<u4").astype(np.int32).reshape(-1, columns)


def _delete_queue(folder: Path) -> None:
    """Delete a folder of queued records, the key first: after that no copy of the records can be read."""
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
        raise PlanError("queued records need the package cryptography: pip install 'assocpriv[queue]'") from None
    return Fernet


def queue_records(
    table: Any,
    plan: "GuidedPlan",
    folder: str | PathLike[str],
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
) -> int:
    """Queue a table's records for guidance, encrypted, in a new folder. Needs the extra ``queue``.

    Args:
        table: a pandas, polars or pyarrow table, or the name of a CSV or Parquet file.
        plan: the published plan.
        folder: made here; :func:`assocpriv.randomize` accepts it, as a ``Path``, in place of a table.
        separator, missing, sheet: as in :func:`assocpriv.randomize`.

    Returns:
        How many records were queued.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not accept.
        FileError: the folder exists, or cannot be written.
        PlanError: the package ``cryptography`` is missing.

    Source: ZWZ05, section 7.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> waiting = Path(mkdtemp(), "waiting")
    >>> ap.guided.queue_records(table, state.plan, waiting)
    20
    >>> len(ap.randomize(waiting, state.plan, guidance=state.guidance))
    20
    """

    check_queue(Path(folder))
    raw = np.concatenate(list(stream_table(table, plan, TableOptions(separator, missing, sheet))))
    queue_inputs(raw, plan, Path(folder))
    return len(raw)


# ---- guidance


def fetch_guided_record(
    values: Any, plan: "GuidedPlan", ask: Callable[[str], Any], *, max_level: int | None = None
) -> GuidedRecord:
    """Return a record with the collector's guidance, checked.

    Args:
        values: of the plan's columns, by name.
        plan: the published plan.
        ask: returns the JSON content at a path of the collector.
        max_level: the highest level that this device answers; any by default.

    Raises:
        LevelError: the level is higher; the guidance was not requested then.
        GuidanceError: guidance of another plan, or of another level than announced.
        CollectorError: no level, or no response.
    """
    announced = ask("/guidance/level")
    level = announced.get("level") if isinstance(announced, dict) else None
    if type(level) is not int or level < 1:
        raise CollectorError("the collector announces no level of guidance")
    if announced.get("plan") != plan.plan_id:
        raise GuidanceError("the level that the collector announces is of another plan; nothing is sent")
    if max_level is not None and level > max_level:
        raise LevelError(
            f"the collector asks for level {level}, above the maximum of {max_level}; nothing is sent. The record can "
            "be queued for a lower level"
        )
    guidance = Guidance.from_json(ask("/guidance"))
    check_guidance(guidance, plan, max_level=max_level, announced_level=level)
    return GuidedRecord(values, guidance, max_level, level)


# ---- responses


@dataclass(slots=True)
class ResponseCounts:
    """Counts of responses to guidance: records, missing values by column, and probabilities above 1."""

    serial: int
    level: int
    records: int = 0
    clipped: int = 0
    from_queue: bool = False
    missing: dict[str, int] = field(default_factory=dict)

    def add_clipped(self, more: int) -> None:
        """Count further probabilities above 1."""
        self.clipped += more


def randomize_records(
    table: Any,
    plan: "GuidedPlan",
    output: str | PathLike[str] | None = None,
    *,
    guidance: Guidance | None = None,
    max_level: int | None = None,
    announced_level: int | None = None,
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **reading: Any,
) -> tuple[Reports | None, ResponseCounts]:
    """Answer guidance, checked before anything is read, for a table's records or for those queued in a folder.

    The operating system's entropy is used, and the result is in memory or a file; see assocpriv.randomize. ``reading``
    are the fields of :class:`TableOptions`. Queued records are deleted once the file is written.
    """
    check_argument_names(reading, ("separator", "missing", "sheet"))
    if guidance is None:
        raise PlanError("a guided plan needs guidance: give guidance=assocpriv.guided.read_guidance(file)")
    check_guidance(guidance, plan, max_level=max_level, announced_level=announced_level)
    is_message = output is not None and Path(output).suffix.lower() == MESSAGE_ENDING
    if output is not None and not is_message:
        _check_output(Path(output))
    memory = default_memory() if memory_bytes is None else memory_bytes
    folder = Path(table) if isinstance(table, str | PathLike) and _is_queue(Path(table)) else None
    counts = ResponseCounts(guidance.serial, guidance.level, from_queue=folder is not None)
    batches: Iterable[NDArray[np.int32]]
    if folder is not None:
        batches = [queued_inputs(folder, plan)]
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
        _delete_queue(folder)
    return reports, counts


def _check_output(output: Path) -> None:
    try:
        check_report_output(output)
    except FileError:
        raise FileError(
            f"{output} must end in .parquet or .pq, for a report file, or {MESSAGE_ENDING}, for messages"
        ) from None
