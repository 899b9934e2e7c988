"""Perturbation guidance, k* with V*, which a miner publishes: integers that determine a weight for each bit.

k* is the disclosure level, V* an orthonormal matrix. Entries are those of V* times 2^20, rounded to nearest. Client and
miner compute everything else from these integers, in integers, so their results are equal on all machines
(docs/formats/table-plan.md).

With P = V Vᵀ (times 2^40) and the positions of a tuple's set bits:

    t̃      = the sum of these rows of P, exactly                            equation (7)
    a_j    = ⌊(|t̃_j| + 2^23) / 2^24⌋: |t̃_j| in units of 2^-16, rounded half up
    w_j    = min(a_j², 2^32), of 2^32                                       equation (8), probabilities above 1 clipped

If the guarantee is kept by bits, w_j is mixed with a fair bit, with the mixing weight c, λ = c / 2^16. A draw is then
below 2^49:

    m_j    = c·2^32 + (2^16 − c)·2·w_j, of 2^49

c is the smallest number for which Π_j max(hi_j/lo_j, (2^49 − lo_j)/(2^49 − hi_j)) is at most the plan's γ, where lo_j
and hi_j are bounds of m_j over all tuples. t̃_j is a sum over attributes, so the extremes of the attributes add up. The
bits of a report are drawn independently, so the product of their ratios bounds the ratio of any two tuples.

All numbers stay below 2^53, since |t̃_j| ≤ √n·‖P‖ and ‖P‖ < 2^41 for guidance that passed its check.

Source: ZWZ05, sections 4.1 (guidance) and 4.2 (weights).
"""

import hashlib
import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import GuidanceError
from assocpriv.guarantees.json_text import json_fields
from assocpriv.plans.guided.guided_plan import SERIAL_BYTES, TUPLE_BITS, BitMix, GuidedPlan, TupleMix

FORMAT, VERSION = "assocpriv-guidance", 1
UNIT = 1 << 20  # an entry of 1
_FIELDS = {"format", "version", "plan", "serial", "level", "vectors"}
_PLAN_ID = re.compile("[0-9a-f]{64}")
_LARGEST_SERIAL = (1 << 8 * SERIAL_BYTES) - 1
WEIGHT_TOTAL = 1 << 32
MIXING_UNIT = 1 << 16
MIXED_TOTAL = 2 * WEIGHT_TOTAL * MIXING_UNIT
_HALF, _SHIFT = 1 << 23, 24


# ---- guidance


@dataclass(frozen=True, eq=False)
class Guidance:
    """Perturbation guidance, one of a collection's series.

    Attributes:
        plan_id: id of the plan that it belongs to.
        serial: serial number, 1 for the first guidance of a collection.
        vectors: V*, int64 (w, k*), entries times 2^20.

    Source: ZWZ05, section 4.1.

    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, guarantee=ap.Guarantee("5%", "50%"))
    >>> guidance = ap.guided.Guidance.from_vectors(plan, 1, [[1.0], [0.0]])
    >>> guidance.level, guidance.vectors.ravel().tolist()
    (1, [1048576, 0])
    """

    plan_id: str
    serial: int
    vectors: NDArray[np.int64]

    def __post_init__(self) -> None:
        vectors = np.array(self.vectors)
        vectors.flags.writeable = False  # checked vectors cannot change later
        object.__setattr__(self, "vectors", vectors)

    @classmethod
    def from_vectors(cls, plan: GuidedPlan, serial: int, vectors: NDArray[np.float64]) -> "Guidance":
        """Return guidance with orthonormal vectors, rounded to the grid.

        Args:
            plan: the plan that the guidance belongs to.
            serial: serial number, from 1.
            vectors: orthonormal columns, float64 (w, k*).

        Raises:
            GuidanceError: as :meth:`check`.
        """
        made = cls(plan.plan_id, serial, np.rint(np.asarray(vectors) * UNIT).astype(np.int64))
        made.check(plan)
        return made

    @property
    def level(self) -> int:
        """k*, the number of columns."""
        return int(self.vectors.shape[1])

    def check(self, plan: GuidedPlan) -> None:
        """Check that this is guidance of a plan: of its id, of its shape, and orthonormal.

        Columns are orthonormal if no entry of VᵀV differs from 2^40·I by more than :func:`_tolerance`, which exceeds
        any rounding error.

        Raises:
            GuidanceError: a check fails; the message says which.
        """
        if self.plan_id != plan.plan_id:
            raise GuidanceError(
                f"the guidance belongs to plan {self.plan_id[:12]}, not to {plan.plan_id[:12]}; fetch that of this plan"
            )
        if not 1 <= self.serial <= _LARGEST_SERIAL:
            raise GuidanceError(f"the guidance's serial number must be in 1..{_LARGEST_SERIAL}, got {self.serial}")
        rows, level = self.vectors.shape
        if rows != plan.width or not 1 <= level <= rows:
            raise GuidanceError(
                f"the guidance is a matrix of {rows} rows and {level} columns; tuples of {plan.width} bits need "
                f"{plan.width} rows and 1 to {plan.width} columns"
            )
        if (np.abs(self.vectors) > UNIT).any():
            raise GuidanceError("the guidance has an entry above 1, so its columns are not orthonormal; do not use it")
        # sums of at most 2^11 products below 2^40 are exact in doubles
        columns = self.vectors.astype(np.float64)
        gram = columns.T @ columns - np.diag(np.full(level, float(UNIT**2)))
        if np.abs(gram).max() > _tolerance(rows):
            raise GuidanceError("the guidance's columns are not orthonormal (VᵀV is not I); do not use it")

    @cached_property
    def projection(self) -> NDArray[np.int64]:
        """P = V Vᵀ, int64 (w, w), entries times 2^40: exact, as sums of at most 2^11 products below 2^40."""
        columns = self.vectors.astype(np.float64)
        return (columns @ columns.T).astype(np.int64)

    @cached_property
    def guidance_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    @property
    def canonical_json(self) -> str:
        """The guidance as JSON text: sorted keys, no blanks, ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def to_json(self) -> dict[str, Any]:
        """Return the guidance as JSON content; ``vectors`` is a list of columns."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "plan": self.plan_id,
            "serial": self.serial,
            "level": self.level,
            "vectors": self.vectors.T.tolist(),
        }

    @classmethod
    def from_json(cls, content: object) -> "Guidance":
        """Read JSON content that :meth:`to_json` wrote; use :meth:`check` to check it against a plan.

        Raises:
            GuidanceError: the content is no guidance, or has an unknown version.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise GuidanceError(f"not guidance: the format is not {FORMAT!r}")
        if type(content.get("version")) is not int or content["version"] != VERSION or set(content) != _FIELDS:
            fields = ", ".join(sorted(_FIELDS))
            raise GuidanceError(f"guidance must have version {VERSION} and exactly the fields {fields}")
        plan_id, serial, columns = content["plan"], content["serial"], content["vectors"]
        if not isinstance(plan_id, str) or not _PLAN_ID.fullmatch(plan_id):
            raise GuidanceError("guidance must state its plan's id, 64 hexadecimal digits")
        if type(serial) is not int or not 1 <= serial <= _LARGEST_SERIAL or not _is_matrix(columns):
            raise GuidanceError(
                f"guidance must have a serial number in 1..{_LARGEST_SERIAL}, and vectors of whole numbers up to 2^20"
            )
        if content["level"] != len(columns) or type(content["level"]) is not int:
            raise GuidanceError("the guidance's level is not its number of vectors; do not use it")
        return cls(plan_id, serial, np.array(columns, dtype=np.int64).T)

    @classmethod
    def parse(cls, text: str) -> "Guidance":
        """Read guidance from JSON text; raise GuidanceError if it is none."""
        try:
            content = json_fields(text)
        except ValueError:
            raise GuidanceError("not guidance: the text is not valid JSON, or repeats a field (cut off?)") from None
        return cls.from_json(content)

    def __repr__(self) -> str:
        return f"Guidance({self.serial} of plan {self.plan_id[:12]}, level {self.level})"


def _tolerance(width: int) -> int:
    """Return by how much an entry of VᵀV may differ from 2^40·I, for columns of ``width`` entries.

    Rounding columns v, w of norm 2^20 by at most 1/2 per entry adds no more than 2^20 √width + width/4 to v·w. The
    margin is for eigenvectors that are orthonormal only to about 10^-15.

    >>> _tolerance(42) / 2**40 < 7e-6
    True
    """
    return UNIT * (isqrt(width) + 1) + width


def _is_matrix(columns: object) -> bool:
    """Return whether JSON content is a list of equally long lists of whole numbers from −2^20 to 2^20."""
    if not isinstance(columns, list) or not columns or not all(isinstance(column, list) for column in columns):
        return False
    same = len({len(column) for column in columns}) == 1 and bool(columns[0])
    return same and all(type(entry) is int and abs(entry) <= UNIT for column in columns for entry in column)


# ---- weights


def project(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return t̃ times 2^40, int64 (n, w), of tuples given by their values' positions, (n, attributes)."""
    rows = guidance.projection
    total = np.zeros((len(positions), plan.width), dtype=np.int64)
    for offset, column in zip(plan.offsets.tolist(), positions.T, strict=True):
        total += rows[column + offset]
    return total


def unclipped_weights(projection: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weights a² of t̃, int64 of any shape, before clipping; they may exceed 2^32."""
    rounded = (np.abs(projection) + _HALF) >> _SHIFT
    return rounded * rounded


def bit_weights(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the weights w_j of the bits of R(t), of 2^32, int64 (n, w), from values' positions, (n, attributes)."""
    return np.minimum(unclipped_weights(project(guidance, plan, positions)), WEIGHT_TOTAL)


def weight_bounds(guidance: Guidance, plan: GuidedPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return lower and upper bounds of each bit's weight over all tuples, int64 (w,); the upper one is attained."""
    starts = plan.offsets
    low = np.minimum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    high = np.maximum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    ends = np.minimum(unclipped_weights(np.stack([low, high])), WEIGHT_TOTAL)
    least = np.where((low <= 0) & (high >= 0), 0, ends.min(axis=0))
    return least, ends.max(axis=0)


def mix_weights(weights: NDArray[np.int64], mixing: int) -> NDArray[np.int64]:
    """Return weights of 2^32 mixed with a fair bit by a mixing weight, of 2^49."""
    return mixing * WEIGHT_TOTAL + (MIXING_UNIT - mixing) * 2 * weights


def largest_ratio(low: NDArray[np.int64], high: NDArray[np.int64], mixing: int) -> Fraction | None:
    """Return the product of all bits' largest ratios after mixing; None if a bit may be certain and may be not."""
    worst = []
    for a, b in zip(mix_weights(low, mixing).tolist(), mix_weights(high, mixing).tolist(), strict=True):
        if a == b:
            continue
        if a == 0 or b == MIXED_TOTAL:
            return None
        up, down = (b, a), (MIXED_TOTAL - a, MIXED_TOTAL - b)
        worst.append(up if up[0] * down[1] >= down[0] * up[1] else down)
    return Fraction(prod(above for above, _ in worst), prod(below for _, below in worst))


def mixing_weight(guidance: Guidance, plan: GuidedPlan) -> int:
    """Return the smallest mixing weight of 0 … 2^16 that keeps a plan's γ under guidance; 0 if the plan mixes no bits.

    The product of ratios decreases with the mixing weight, and is 1 at 2^16.
    """
    if not isinstance(plan.safeguard, BitMix):
        return 0
    low, high = weight_bounds(guidance, plan)
    limit = plan.safeguard.limit

    def keeps(mixing: int) -> bool:
        ratio = largest_ratio(low, high, mixing)
        return ratio is not None and ratio <= limit

    return bisect_left(range(MIXING_UNIT), True, key=keeps)


def random_share(plan: GuidedPlan, guidance: Guidance) -> Fraction:
    """Return the random share of a report: λ if a guarantee is kept by bits, q if by tuples, 0 without a guarantee."""
    if isinstance(plan.safeguard, TupleMix):
        return 1 - Fraction(plan.safeguard.honest, 1 << TUPLE_BITS)
    return Fraction(mixing_weight(guidance, plan), MIXING_UNIT)
