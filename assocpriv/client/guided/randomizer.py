"""One tuple → one report under guidance, on the device.

This module sees raw values. The steps, each an exact draw (see promise/entropy.py), as many whatever the tuple holds:

1. for every attribute a value is drawn uniformly; it takes the place of a missing one (ZWZ05, section 6);
2. where a promise is kept by tuples, every attribute's value of another tuple, and whether to answer for that one;
3. each bit is 1 with its weight (plans/guidance.py), by a draw below 2^32, or 2^49 where bits are mixed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guidance import MIXED_TOTAL, WEIGHT_TOTAL, Guidance, coin_of, mixed, projected, weights_of
from assocpriv.plans.guided import TUPLE_BITS, BitMix, GuidedPlan, TupleMix
from assocpriv.plans.tables import shortened
from assocpriv.promise.entropy import Entropy
from assocpriv.promise.errors import GuidanceError, RecordError, counted
from assocpriv.records.table_cells import parse_record, read_value


class LevelError(GuidanceError):
    """Guidance that asks for more than a client lets go; it waits, or declines."""


def accept(guidance: Guidance, plan: GuidedPlan, *, max_level: int | None = None, announced: int | None = None) -> None:
    """Refuse guidance that is none of the plan's, is not what was announced, or asks for too much.

    Args:
        guidance: what the miner sent.
        plan: the published plan.
        max_level: k_i, the highest level that this client answers; any by default.
        announced: the k* that the miner named before it sent the vectors. A miner that may choose V* after it has
            learned k_i could ask for as much as that allows (ZWZ05, section 3).

    Raises:
        GuidanceError: what is wrong with it.
        LevelError: k* is above k_i.
    """
    if not isinstance(guidance, Guidance):
        raise TypeError(f"guidance must be a Guidance (read_guidance reads one), got a {type(guidance).__name__}")
    if not isinstance(plan, GuidedPlan):
        raise TypeError(f"plan must be a GuidedPlan (read_plan reads one), got a {type(plan).__name__}")
    guidance.check(plan)
    if announced is not None and guidance.level != announced:
        raise GuidanceError(
            f"the guidance has level {guidance.level}, but level {announced} was announced; nothing is sent"
        )
    if max_level is not None and max_level < 1:
        raise GuidanceError(f"the highest level must be at least 1, got {max_level}")
    if max_level is not None and guidance.level > max_level:
        raise LevelError(
            f"the guidance asks for level {guidance.level}, above the highest of {max_level}; nothing is sent, and the "
            "records can wait for a lower one"
        )


@dataclass(frozen=True, slots=True, repr=False)
class GuidedRecord:
    """What a report of a guided plan is made of: a record, and the guidance that it answers."""

    values: Mapping[str, Any]
    guidance: Guidance
    max_level: int | None = None
    announced: int | None = None


def randomize_guided(record: GuidedRecord, plan: GuidedPlan, *, entropy: Entropy) -> bytes:
    """Return the report of one record: a value for each of the plan's columns, by name, the class among them.

    A missing value is None, NaN, or a column that is left out; the class may not be missing.

    Raises:
        RecordError: a value that the column does not have, no class, or a further column.
        GuidanceError: as :func:`accept`.
        TypeError: no :class:`GuidedRecord`.
    """
    if not isinstance(record, GuidedRecord) or not isinstance(record.values, Mapping):
        raise TypeError("a record of a guided plan must be a GuidedRecord: a mapping of values, and the guidance")
    accept(record.guidance, plan, max_level=record.max_level, announced=record.announced)
    others = len(set(record.values) - set(plan.names))
    if others:
        raise RecordError(
            f"the record has {counted(others, 'column')} beside the plan's, which are {shortened(plan.names)}; leave "
            "such values out"
        )
    raw = [read_value(record.values.get(column.name), column) for column in plan.columns]
    bits = Perturbation(plan, record.guidance).release(raw[:-1], entropy)
    packed = plan.pack(record.guidance.serial, np.array(raw[-1:]), np.array([bits], dtype=np.uint8))
    return packed.tobytes()


def parse_guided(text: bytes) -> GuidedRecord:
    """Return what one JSON object writes: ``values`` and ``guidance``, and if given ``max_level`` and ``announced``.

    Raises:
        RecordError: text that is no such object; it is not shown.
        GuidanceError: no guidance in it.
    """
    content = parse_record(text)
    values, levels = content.get("values"), [content.get(name) for name in ("max_level", "announced")]
    if (
        not {"values", "guidance"} <= set(content) <= {"values", "guidance", "max_level", "announced"}
        or not isinstance(values, dict)
        or not all(level is None or type(level) is int for level in levels)
    ):
        raise RecordError(
            "a record of a guided plan must be one JSON object with values, an object of its own, guidance, as the "
            "miner publishes it, and if wanted the whole numbers max_level and announced"
        )
    return GuidedRecord(values, Guidance.from_json(content["guidance"]), *levels)


class Perturbation:
    """How tuples of a plan answer one guidance, which has been accepted."""

    def __init__(self, plan: GuidedPlan, guidance: Guidance) -> None:
        self.plan, self.guidance = plan, guidance
        self.mixes_bits = isinstance(plan.safeguard, BitMix)
        self.mixes_tuples = isinstance(plan.safeguard, TupleMix)
        self.coin = coin_of(guidance, plan)
        self.total = MIXED_TOTAL if self.mixes_bits else WEIGHT_TOTAL

    def weights(self, raw_positions: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], int]:
        """Return the weights of each bit, of ``total``, int64 (n, w), and how many were clipped.

        Args:
            raw_positions: of the attributes' values, (n, attributes), none of them missing.
        """
        weights = weights_of(projected(self.guidance, self.plan, raw_positions))
        clipped = int((weights > WEIGHT_TOTAL).sum())
        weights = np.minimum(weights, WEIGHT_TOTAL)
        return (mixed(weights, self.coin) if self.mixes_bits else weights), clipped

    def release(self, raw_positions: Sequence[int], entropy: Entropy) -> list[int]:
        """Return the released bits of one tuple; an attribute's number of values is a missing one."""
        sizes, safeguard = self.plan.sizes, self.plan.safeguard
        fills = [entropy.below(size) for size in sizes]
        answered = [
            fill if value == size else value for value, fill, size in zip(raw_positions, fills, sizes, strict=True)
        ]
        if isinstance(safeguard, TupleMix):
            other = [entropy.below(size) for size in sizes]
            answered = other if entropy.pick((safeguard.honest, 1 << TUPLE_BITS)) else answered
        weights = self.weights(np.array([answered], dtype=np.int64))[0][0].tolist()
        return [1 - entropy.pick((weight, self.total)) for weight in weights]
