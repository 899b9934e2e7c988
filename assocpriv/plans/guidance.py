"""Perturbation guidance, k* with V*, as a miner publishes it: integers that give each bit a weight.

k* is the disclosure level, V* an orthonormal matrix. Entries are those of V* times 2^20, rounded to nearest. Everything
that follows from them is computed in integers, so two machines cannot differ (docs/formats/table-plan.md); both sides
compute with these alone.

With P = V Vᵀ (times 2^40) and the positions of a tuple's set bits:

    t̃      = the sum of those rows of P, exactly                            equation (7)
    a_j    = ⌊(|t̃_j| + 2^23) / 2^24⌋: |t̃_j| in units of 2^-16, rounded half up
    w_j    = min(a_j², 2^32), of 2^32                                       equation (8), probabilities above 1 clipped

Where a promise is kept by bits, w_j is mixed with a fair coin, λ = coin / 2^16, which takes a draw below 2^49:

    m_j    = coin·2^32 + (2^16 − coin)·2·w_j, of 2^49

``coin`` is the least with which Π_j max(hi_j/lo_j, (2^49 − lo_j)/(2^49 − hi_j)) is at most the plan's γ, where lo_j and
hi_j are bounds of m_j over all tuples. t̃_j is a sum over attributes, so the least and the largest of each add up; the
bits of a report are drawn independently, so the product of their ratios bounds that of any two tuples.

All numbers stay below 2^53: by |t̃_j| ≤ √n·‖P‖ and ‖P‖ < 2^41 for guidance that passed its check.

Source: ZWZ05, sections 4.1 (guidance) and 4.2 (weights).
"""

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guided import SERIAL_BYTES, TUPLE_BITS, BitMix, GuidedPlan, TupleMix
from assocpriv.promise.errors import GuidanceError
from assocpriv.promise.json_text import json_fields

FORMAT, VERSION = "assocpriv-guidance", 1
UNIT = 1 << 20  # an entry of 1
_FIELDS = {"format", "version", "plan", "serial", "level", "vectors"}
_PLAN_ID = re.compile("[0-9a-f]{64}")
_LARGEST_SERIAL = (1 << 8 * SERIAL_BYTES) - 1
WEIGHT_TOTAL = 1 << 32
COIN_TOTAL = 1 << 16
MIXED_TOTAL = 2 * WEIGHT_TOTAL * COIN_TOTAL
_HALF, _SHIFT = 1 << 23, 24


# ---- guidance


@dataclass(frozen=True, eq=False)
class Guidance:
    """One guidance of a collection.

    Attributes:
        plan_id: of the plan that it belongs to.
        serial: 1 for the first of a collection, and so on.
        vectors: V*, int64 (w, k*), entries times 2^20.

    Source: ZWZ05, section 4.1.

    >>> import assocpriv as ap
    >>> attributes, ill = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    >>> plan = ap.guided.plan_guided(attributes, ill, promise=ap.Breach("5%", "50%"))
    >>> guidance = ap.guided.Guidance.of_vectors(plan, 1, [[1.0], [0.0]])
    >>> guidance.level, guidance.vectors.ravel().tolist()
    (1, [1048576, 0])
    """

    plan_id: str
    serial: int
    vectors: NDArray[np.int64]

    def __post_init__(self) -> None:
        vectors = np.array(self.vectors)
        vectors.flags.writeable = False  # what was checked is what is used
        object.__setattr__(self, "vectors", vectors)

    @classmethod
    def of_vectors(cls, plan: GuidedPlan, serial: int, vectors: NDArray[np.float64]) -> "Guidance":
        """Return guidance of orthonormal columns, float64 (w, k*), rounded to its grid.

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
        """Refuse what is no guidance of a plan: another plan's, of another shape, or not orthonormal.

        Columns are orthonormal if no entry of VᵀV differs from those of 2^40·I by more than :func:`_tolerance`, which
        rounding cannot reach.

        Raises:
            GuidanceError: saying which.
        """
        if self.plan_id != plan.plan_id:
            raise GuidanceError(
                f"the guidance is of plan {self.plan_id[:12]}, not of plan {plan.plan_id[:12]}; ask for the plan's own"
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
            raise GuidanceError("the guidance has an entry above 1; its columns cannot be orthonormal, use none of it")
        # sums of at most 2^11 products below 2^40: exact in doubles
        columns = self.vectors.astype(np.float64)
        gram = columns.T @ columns - np.diag(np.full(level, float(UNIT**2)))
        if np.abs(gram).max() > _tolerance(rows):
            raise GuidanceError("the guidance's columns are not orthonormal (VᵀV is not I); use none of it")

    @cached_property
    def projection(self) -> NDArray[np.int64]:
        """P = V Vᵀ, int64 (w, w), entries times 2^40, exactly: of sums of at most 2^11 products below 2^40."""
        columns = self.vectors.astype(np.float64)
        return (columns @ columns.T).astype(np.int64)

    @cached_property
    def guidance_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    @property
    def canonical_json(self) -> str:
        """The guidance's text: sorted keys, no blanks, ASCII."""
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
        """Read JSON content that :meth:`to_json` wrote; :meth:`check` says whether a plan can use it.

        Raises:
            GuidanceError: no guidance, or of a version that is not known here.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise GuidanceError(f"not guidance: it does not say format {FORMAT!r}")
        if type(content.get("version")) is not int or content["version"] != VERSION or set(content) != _FIELDS:
            raise GuidanceError(f"guidance must be of version {VERSION} and hold exactly {', '.join(sorted(_FIELDS))}")
        plan_id, serial, columns = content["plan"], content["serial"], content["vectors"]
        if not isinstance(plan_id, str) or not _PLAN_ID.fullmatch(plan_id):
            raise GuidanceError("guidance must name its plan's id, 64 hexadecimal digits")
        if type(serial) is not int or not 1 <= serial <= _LARGEST_SERIAL or not _is_matrix(columns):
            raise GuidanceError(
                f"guidance must have a serial number in 1..{_LARGEST_SERIAL}, and vectors of whole numbers up to 2^20"
            )
        if content["level"] != len(columns) or type(content["level"]) is not int:
            raise GuidanceError("the guidance announces another level than it has vectors; use none of it")
        return cls(plan_id, serial, np.array(columns, dtype=np.int64).T)

    @classmethod
    def parse(cls, text: str) -> "Guidance":
        """Read guidance from JSON text; GuidanceError if it is none."""
        try:
            content = json_fields(text)
        except ValueError:
            raise GuidanceError("not guidance: the text is not valid JSON, each field once (cut off?)") from None
        return cls.from_json(content)

    def __repr__(self) -> str:
        return f"Guidance({self.serial} of plan {self.plan_id[:12]}, level {self.level})"


def _tolerance(width: int) -> int:
    """Return by how much an entry of VᵀV may differ from 2^40·I, of columns of so many entries.

    Rounding of columns v, w of norm 2^20 by at most 1/2 an entry adds no more than 2^20 √width + width/4 to v·w. The
    margin is for eigenvectors that are orthonormal to some 10^-15 only.

    >>> _tolerance(42) / 2**40 < 7e-6
    True
    """
    return UNIT * (isqrt(width) + 1) + width


def _is_matrix(columns: object) -> bool:
    """Tell whether JSON content is a list of lists of whole numbers, all as long, none beyond 2^20."""
    if not isinstance(columns, list) or not columns or not all(isinstance(column, list) for column in columns):
        return False
    same = len({len(column) for column in columns}) == 1 and bool(columns[0])
    return same and all(type(entry) is int and abs(entry) <= UNIT for column in columns for entry in column)


# ---- weights


def projected(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return t̃ of tuples, int64 (n, w), times 2^40, of the values' positions, (n, attributes)."""
    rows = guidance.projection
    total = np.zeros((len(positions), plan.width), dtype=np.int64)
    for offset, column in zip(plan.offsets.tolist(), positions.T, strict=True):
        total += rows[column + offset]
    return total


def weights_of(shares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weights of t̃, int64 of any shape, before clipping: a², which may exceed 2^32."""
    rounded = (np.abs(shares) + _HALF) >> _SHIFT
    return rounded * rounded


def bit_weights(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the weights w_j of the bits of R(t), of 2^32, int64 (n, w), of the values' positions, (n, attributes)."""
    return np.minimum(weights_of(projected(guidance, plan, positions)), WEIGHT_TOTAL)


def weight_bounds(guidance: Guidance, plan: GuidedPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return bounds of each bit's weight over all tuples, int64 (w,) and (w,); the second is attained."""
    starts = plan.offsets
    low = np.minimum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    high = np.maximum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    ends = np.minimum(weights_of(np.stack([low, high])), WEIGHT_TOTAL)
    least = np.where((low <= 0) & (high >= 0), 0, ends.min(axis=0))
    return least, ends.max(axis=0)


def mixed(weights: NDArray[np.int64], coin: int) -> NDArray[np.int64]:
    """Return weights of 2^32 mixed with a fair coin, of 2^49."""
    return coin * WEIGHT_TOTAL + (COIN_TOTAL - coin) * 2 * weights


def ratio_of(low: NDArray[np.int64], high: NDArray[np.int64], coin: int) -> Fraction | None:
    """Return the product of every bit's largest ratio when mixed; None where 0 or all stands beside another."""
    worst = []
    for a, b in zip(mixed(low, coin).tolist(), mixed(high, coin).tolist(), strict=True):
        if a == b:
            continue
        if a == 0 or b == MIXED_TOTAL:
            return None
        up, down = (b, a), (MIXED_TOTAL - a, MIXED_TOTAL - b)
        worst.append(up if up[0] * down[1] >= down[0] * up[1] else down)
    return Fraction(prod(above for above, _ in worst), prod(below for _, below in worst))


def coin_of(guidance: Guidance, plan: GuidedPlan) -> int:
    """Return the least coin of 0 … 2^16 that keeps a plan's γ under guidance; 0 where it mixes no coins.

    The product falls as the coin grows, and is 1 at 2^16.
    """
    if not isinstance(plan.safeguard, BitMix):
        return 0
    low, high = weight_bounds(guidance, plan)
    limit = plan.safeguard.limit

    def keeps(coin: int) -> bool:
        ratio = ratio_of(low, high, coin)
        return ratio is not None and ratio <= limit

    if keeps(0):
        return 0
    broken, kept = 0, COIN_TOTAL
    while kept - broken > 1:
        middle = (broken + kept) // 2
        broken, kept = (broken, middle) if keeps(middle) else (middle, kept)
    return kept


def mixing(plan: GuidedPlan, guidance: Guidance) -> Fraction:
    """Return the share of chance in a report: λ where a promise is kept by bits, q where by tuples, 0 without one."""
    if isinstance(plan.safeguard, TupleMix):
        return 1 - Fraction(plan.safeguard.honest, 1 << TUPLE_BITS)
    return Fraction(coin_of(guidance, plan), COIN_TOTAL)
