"""Randomize tuples under guidance into reports, on the device, one tuple or many.

This module sees raw values. The steps, each an exact draw (see guarantees/entropy.py), use the same number of draws for
every tuple:

1. for every attribute a value is drawn uniformly; it replaces a missing one (ZWZ05, section 6);
2. with a guarantee by tuples, every attribute's value of another tuple, and whether to respond for that tuple;
3. each bit is 1 with its weight (plans/guided/guided_plan.py), by a draw below 2^32, or 2^49 where bits are mixed.

Many tuples are positions of the plan's values, as arrays, randomized with blocks of entropy. For the same random words
their reports equal those of one tuple after the other. numpy does this as fast as the words are drawn.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.entropy import Entropy, WordEntropy
from assocpriv.guarantees.errors import GuidanceError, RecordError, pluralize
from assocpriv.kernels.parallel import parallel_map
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
from assocpriv.records.table_files import parse_record, read_value

_CHUNK_BITS = 1 << 18  # of the tuples in a task: their words take 2 MiB
_U32, _LOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)


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
            check_inputs(batch, plan)
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


def check_inputs(inputs: NDArray[np.int32], plan: GuidedPlan) -> None:
    """Refuse inputs that are not the plan's."""
    most = np.array([*plan.sizes, len(plan.labels) - 1])
    if inputs.ndim != 2 or inputs.shape[1] != len(most):
        raise TypeError(f"inputs must have shape (records, {len(most)}), got {inputs.shape}")
    if len(inputs) and not ((inputs >= 0).all() and (inputs <= most).all()):
        raise ValueError("inputs must lie within the plan's columns")
