"""Perturbation guidance: the disclosure level k* and the orthonormal matrix V* that a miner publishes, as integers.

Entries are those of V* times 2^20, rounded to nearest. Everything that follows from them is computed in integers, so
two machines cannot differ (plans/guided/weights.py, docs/formats/guided-plan.md).

Source: ZWZ05, section 4.1.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guided.plan import SERIAL_BYTES, GuidedPlan
from assocpriv.promise.errors import GuidanceError

FORMAT, VERSION = "assocpriv-guidance", 1
UNIT = 1 << 20  # an entry of 1
_FIELDS = {"format", "version", "plan", "serial", "level", "vectors"}
_PLAN_ID = re.compile("[0-9a-f]{64}")
_LARGEST_SERIAL = (1 << 8 * SERIAL_BYTES) - 1


@dataclass(frozen=True, eq=False)
class Guidance:
    """One guidance of a collection.

    Attributes:
        plan_id: of the plan that it belongs to.
        serial: 1 for the first of a collection, and so on.
        vectors: V*, int64 (w, k*), entries times 2^20.
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

        Columns are orthonormal if no entry of VᵀV differs from those of 2^40·I by more than :func:`tolerance`, which
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
        if np.abs(gram).max() > tolerance(rows):
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
            content = json.loads(text, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            raise GuidanceError("not guidance: the text is not valid JSON, each field once (cut off?)") from None
        return cls.from_json(content)

    def __repr__(self) -> str:
        return f"Guidance({self.serial} of plan {self.plan_id[:12]}, level {self.level})"


def tolerance(width: int) -> int:
    """Return by how much an entry of VᵀV may differ from 2^40·I, of columns of so many entries.

    Rounding of columns v, w of norm 2^20 by at most 1/2 an entry adds no more than 2^20 √width + width/4 to v·w. The
    margin is for eigenvectors that are orthonormal to some 10^-15 only.

    >>> tolerance(42) / 2**40 < 7e-6
    True
    """
    return UNIT * (isqrt(width) + 1) + width


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _is_matrix(columns: object) -> bool:
    """Tell whether JSON content is a list of lists of whole numbers, all as long, none beyond 2^20."""
    if not isinstance(columns, list) or not columns or not all(isinstance(column, list) for column in columns):
        return False
    same = len({len(column) for column in columns}) == 1 and bool(columns[0])
    return same and all(type(entry) is int and abs(entry) <= UNIT for column in columns for entry in column)
