"""Randomize tuples under guidance into reports, on the device, and queue records for guidance.

This module sees raw values. The steps, each an exact draw (see guarantees/entropy.py), use the same number of draws for
every tuple:

1. for every attribute a value is drawn uniformly; it replaces a missing one (ZWZ05, section 6);
2. with a guarantee by tuples, every attribute's value of another tuple, and whether to respond for that tuple;
3. each bit is 1 with its weight (plans/guided/guided_plan.py), by a draw below 2^32, or 2^49 where bits are mixed.

Many tuples are positions of the plan's values, as arrays, randomized with blocks of entropy. For the same random words
their reports equal those of one tuple after the other. numpy does this as fast as the words are drawn.

Before a device answers a guided plan it asks a collector for the level k*, then, if it takes part, for V*: a miner that
could choose V* after it has learned the device's maximum level could request as much as that allows (ZWZ05, section 3).
So the device gets the level, and decides on it, before the guidance.

Queued records are the client's cache of the paper (ZWZ05, section 7). A folder holds ``records``, encrypted and
authenticated by Fernet (AES-128-CBC and HMAC-SHA256), and ``key``, a new key that only its owner may read. A copy of
the records without the key, as in a backup or a synchronized folder, shows only their number. Once the records are
answered the key is deleted, and no copy can be decrypted. Everyone who can read the key, for example with the device's
account, can read the records.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.numeric.table_client import check_inputs
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.report_files import MESSAGE_ENDING, Reports, check_report_output, write_messages, write_reports
from assocpriv.guarantees.entropy import Entropy, SystemEntropy, WordEntropy
from assocpriv.guarantees.errors import (
    CollectorError,
    FileError,
    GuidanceError,
    PlanError,
    RecordError,
    check_argument_names,
    pluralize,
)
from assocpriv.kernels.parallel import default_memory, parallel_map, workers_within
from assocpriv.plans.guided.guided_plan import (
    MIXED_TOTAL,
    TUPLE_BITS,
    WEIGHT_TOTAL,
    BitMix,
    Guidance,
    GuidedPlan,
    TupleMix,
    mix_weights,
    mixing_weight,
    project,
    unclipped_weights,
)
from assocpriv.plans.numeric.table_plan import shortened
from assocpriv.records.table_files import TableOptions, TableStream, parse_record, read_value, stream_table

_CHUNK_BITS = 1 << 18  # of the tuples in a task: their words take 2 MiB
_U32, _LOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)
KEY, RECORDS = "key", "records"
_MOST_BYTES = 1 << 30
_ID_BYTES = 32


# ---- one tuple


class LevelError(GuidanceError):
    """Guidance of a higher level than the client answers: its record is queued for a lower level, or not disclosed."""


def check_guidance(
    guidance: Guidance, plan: GuidedPlan, *, max_level: int | None = None, announced_level: int | None = None
) -> None:
    """Refuse guidance of another plan, of another level than announced, or of too high a level.

    Args:
        guidance: the guidance of the miner.
        plan: the published plan.
        max_level: k_i, the highest level that this client answers; any by default.
        announced_level: the k* that the miner announced before it published the vectors. A miner that could choose V*
            after it has learned k_i could request as much as k_i allows (ZWZ05, section 3).

    Raises:
        GuidanceError: why it is refused.
        LevelError: k* is above k_i.
    """
    if not isinstance(guidance, Guidance):
        raise TypeError(f"guidance must be a Guidance (read_guidance reads one), got a {type(guidance).__name__}")
    if not isinstance(plan, GuidedPlan):
        raise TypeError(f"plan must be a GuidedPlan (read_plan reads one), got a {type(plan).__name__}")
    guidance.check(plan)
    if announced_level is not None and guidance.level != announced_level:
        raise GuidanceError(
            f"the guidance has level {guidance.level}, but level {announced_level} was announced; nothing is sent"
        )
    if max_level is not None and max_level < 1:
        raise GuidanceError(f"the highest level must be at least 1, got {max_level}")
    if max_level is not None and guidance.level > max_level:
        raise LevelError(
            f"the guidance has level {guidance.level}, above the maximum of {max_level}; nothing is sent. The records "
            "can be queued for a lower level"
        )


@dataclass(frozen=True, slots=True, repr=False)
class GuidedRecord:
    """The input of a report of a guided plan: a record, and the guidance that it answers.

    Attributes:
        values: values of the plan's columns, by name, including the class.
        guidance: the published guidance; it is checked before it is answered.
        max_level: the highest level to answer; any by default.
        announced_level: the level that the miner announced before the guidance, if known.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> record = ap.guided.GuidedRecord({"smokes": "no", "ill": "yes"}, state.guidance, max_level=2)
    >>> len(ap.randomize(record, state.plan)) == state.plan.report_bytes
    True
    """

    values: Mapping[str, Any]
    guidance: Guidance
    max_level: int | None = None
    announced_level: int | None = None


def randomize_guided(record: GuidedRecord, plan: GuidedPlan, *, entropy: Entropy) -> bytes:
    """Return the report of one record: a value for each of the plan's columns, by name, including the class.

    A missing value is None, NaN, or an absent column; the class may not be missing.

    Raises:
        RecordError: a value that the column does not have, no class, or a further column.
        GuidanceError: as :func:`check_guidance`.
        TypeError: no :class:`GuidedRecord`.
    """
    if not isinstance(record, GuidedRecord) or not isinstance(record.values, Mapping):
        raise TypeError("a record of a guided plan must be a GuidedRecord: a mapping of values, and the guidance")
    check_guidance(record.guidance, plan, max_level=record.max_level, announced_level=record.announced_level)
    others = len(set(record.values) - set(plan.names))
    if others:
        raise RecordError(
            f"the record has {pluralize(others, 'column')} that the plan does not have; give only "
            f"{shortened(plan.names)}"
        )
    raw = [read_value(record.values.get(column.name), column) for column in plan.columns]
    bits = Perturbation(plan, record.guidance).release(raw[:-1], entropy)
    return plan.pack(record.guidance.serial, np.array(raw[-1:]), np.array([bits], dtype=np.uint8)).tobytes()


def parse_guided(text: bytes) -> GuidedRecord:
    """Return the record in one JSON object: ``values`` and ``guidance``, optionally ``max_level`` and
    ``announced_level``.

    Raises:
        RecordError: text that is no such object; it is not shown.
        GuidanceError: it holds no guidance.
    """
    content = parse_record(text)
    values, levels = content.get("values"), [content.get(name) for name in ("max_level", "announced_level")]
    if (
        not {"values", "guidance"} <= set(content) <= {"values", "guidance", "max_level", "announced_level"}
        or not isinstance(values, dict)
        or not all(level is None or type(level) is int for level in levels)
    ):
        raise RecordError(
            "a record of a guided plan must be one JSON object with the object values, the published guidance, and "
            "optionally the whole numbers max_level and announced_level"
        )
    return GuidedRecord(values, Guidance.from_json(content["guidance"]), *levels)


class Perturbation:
    """The randomization of a plan's tuples under guidance that has been checked."""

    def __init__(self, plan: GuidedPlan, guidance: Guidance) -> None:
        self.plan, self.guidance = plan, guidance
        self.mixes_bits = isinstance(plan.safeguard, BitMix)
        self.mixes_tuples = isinstance(plan.safeguard, TupleMix)
        self.mixing_weight = mixing_weight(guidance, plan)
        self.total = MIXED_TOTAL if self.mixes_bits else WEIGHT_TOTAL

    def weights(self, raw_positions: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], int]:
        """Return the weights of each bit, out of ``total``, int64 (n, w), and how many were clipped.

        Args:
            raw_positions: of the attributes' values, (n, attributes), none of them missing.
        """
        weights = unclipped_weights(project(self.guidance, self.plan, raw_positions))
        clipped = int((weights > WEIGHT_TOTAL).sum())
        weights = np.minimum(weights, WEIGHT_TOTAL)
        return (mix_weights(weights, self.mixing_weight) if self.mixes_bits else weights), clipped

    def release(self, raw_positions: Sequence[int], entropy: Entropy) -> list[int]:
        """Return the released bits of one tuple; an attribute's number of values stands for a missing one."""
        sizes, safeguard = self.plan.sizes, self.plan.safeguard
        fills = [entropy.below(size) for size in sizes]
        values = zip(raw_positions, fills, sizes, strict=True)
        answered = [fill if value == size else value for value, fill, size in values]
        if isinstance(safeguard, TupleMix):
            other = [entropy.below(size) for size in sizes]
            answered = other if entropy.pick((safeguard.honest, 1 << TUPLE_BITS)) else answered
        weights = self.weights(np.array([answered], dtype=np.int64))[0][0].tolist()
        return [1 - entropy.pick((weight, self.total)) for weight in weights]


# ---- many tuples


class TupleRandomizer:
    """Randomizes tuples of one plan under one guidance, for any number of chunks."""

    def __init__(self, plan: GuidedPlan, guidance: Guidance) -> None:
        self._perturbation, self._plan = Perturbation(plan, guidance), plan
        drawn = 2 * len(plan.sizes) + 1 if isinstance(plan.safeguard, TupleMix) else len(plan.sizes)
        self.words = drawn + plan.width  # of a tuple, if no draw is rejected
        self.chunk = max(1, _CHUNK_BITS // self.words)
        self._sizes = np.array(plan.sizes, dtype=np.uint64)
        # 2^64 mod size: a product below it is drawn again; 0 where the size is a power of two
        self._rejected = (np.uint64(0) - self._sizes) % self._sizes

    def randomize(
        self, raw_positions: NDArray[np.int32], words: NDArray[np.uint64], entropy: WordEntropy
    ) -> tuple[NDArray[np.uint8], int]:
        """Return the bits of tuples, uint8 (n, w), and how many weights were clipped.

        Args:
            raw_positions: int32 (n, attributes); an attribute's number of values stands for a missing one.
            words: uint64 (n · words,), used first; further ones are drawn if a draw is rejected.
            entropy: source of further words.
        """
        rows = words.reshape(len(raw_positions), self.words)
        n = len(self._sizes)
        fills, accepted = self._below(rows[:, :n])
        answered = np.where(raw_positions == self._sizes.astype(np.int64), fills, raw_positions)
        if isinstance(self._plan.safeguard, TupleMix):
            other, also = self._below(rows[:, n : 2 * n])
            own = rows[:, 2 * n] & np.uint64((1 << TUPLE_BITS) - 1) < np.uint64(self._plan.safeguard.honest)
            answered, accepted = np.where(own[:, None], answered, other), accepted and also
        if not accepted:  # once in 2^50 tuples
            return self._one_by_one(raw_positions, words, entropy), 0
        weights, clipped = self._perturbation.weights(answered)
        drawn = rows[:, self.words - self._plan.width :] & np.uint64(self._perturbation.total - 1)
        return (drawn < weights.astype(np.uint64)).view(np.uint8), clipped

    def _below(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], bool]:
        """Return draws below each size, and whether all words were accepted; see guarantees/entropy.py."""
        scaled = (words >> _U32) * self._sizes + ((words & _LOW32) * self._sizes >> _U32) >> _U32
        drawn = np.where(self._rejected == 0, words & (self._sizes - np.uint64(1)), scaled)
        return drawn.astype(np.int64), not (words * self._sizes < self._rejected).any()

    def _one_by_one(
        self, raw_positions: NDArray[np.int32], words: NDArray[np.uint64], entropy: WordEntropy
    ) -> NDArray[np.uint8]:
        source = _PrefilledEntropy(words, entropy)
        return np.array([self._perturbation.release(row, source) for row in raw_positions.tolist()], dtype=np.uint8)


class _PrefilledEntropy(WordEntropy):
    """Returns given words first, then those of a source."""

    __slots__ = ("_source", "_used", "_words")

    def __init__(self, words: NDArray[np.uint64], source: WordEntropy) -> None:
        self._words, self._source, self._used = words, source, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        given = self._words[self._used : self._used + count]
        self._used += len(given)
        return given if len(given) == count else np.concatenate([given, self._source.words(count - len(given))])


def randomize_inputs(
    batches: Iterable[NDArray[np.int32]],
    plan: GuidedPlan,
    guidance: Guidance,
    *,
    entropy: WordEntropy,
    workers: int | None = None,
    clipped: Callable[[int], None] | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports, uint8 (n, report_bytes), of batches of inputs, int32 (n, attributes + 1), the class last.

    Words are drawn here, chunk by chunk, so that a seeded source gives the same reports on any number of cores.
    ``clipped`` is called with the number of probabilities that were above 1, and counted as 1.
    """
    check_guidance(guidance, plan)
    randomizer = TupleRandomizer(plan, guidance)

    def parts() -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
        for batch in batches:
            check_inputs(batch, [*plan.sizes, len(plan.labels) - 1])
            for start in range(0, len(batch), randomizer.chunk):
                part = batch[start : start + randomizer.chunk]
                yield part, entropy.words(len(part) * randomizer.words)

    def work(given: tuple[NDArray[np.int32], NDArray[np.uint64]]) -> tuple[NDArray[np.uint8], int]:
        bits, over = randomizer.randomize(given[0][:, :-1], given[1], entropy)
        return plan.pack(guidance.serial, given[0][:, -1], bits), over

    for packed, over in parallel_map(work, parts(), workers):
        yield packed
        if clipped:
            clipped(over)


# ---- queued records


def queued_inputs(folder: Path, plan: GuidedPlan) -> NDArray[np.int32]:
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
    plan: GuidedPlan,
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
    folder = Path(folder)
    if folder.exists() or folder.is_symlink():
        raise FileError(f"{folder} exists; name a new folder for the queued records")
    fernet = _fernet()
    raw = np.concatenate(list(stream_table(table, plan, TableOptions(separator, missing, sheet))))
    content, key = bytes.fromhex(plan.plan_id) + raw.astype("<u4").tobytes(), fernet.generate_key()
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
    return len(raw)


# ---- guidance


def fetch_guided_record(
    values: Any, plan: GuidedPlan, ask: Callable[[str], Any], *, max_level: int | None = None
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
    plan: GuidedPlan,
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
    folder = Path(table) if isinstance(table, str | PathLike) and (Path(table) / RECORDS).is_file() else None
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
