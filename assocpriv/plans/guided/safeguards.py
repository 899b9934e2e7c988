"""How a promise is kept whatever guidance a miner publishes: a share of chance in every report, exactly.

    tuple   with probability q the client answers for a uniformly random tuple instead of its own. With D possible
            tuples P[y|t] = (q/D) Σ_u P_V[y|u] + (1 − q) P_V[y|t], so two tuples' ratio is at most 1 + (1 − q)·D/q
            whatever V is; V = I, under which R(t) = t, meets it.
    bits    every bit is a fair coin with probability λ, else as guidance says. λ is the least of a grid with which the
            product of every bit's largest ratio stays within a stated γ (plans/guided/weights.py); it depends on V and
            the plan alone, so client and miner find the same.

Randomized response: Warner 1965. γ: EGS03, section 4.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.breaches import Breach, format_fraction, read_fraction
from assocpriv.promise.errors import PlanError, PrivacyLimitError

TUPLE_BITS = 32  # of the draw that says whether a tuple is answered for
_RATIO_BITS = 16  # after the point of the γ that bits keep to


class Safeguard(ABC):
    """How a promise is kept."""

    kind: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def amplification(self, tuples: int) -> Fraction:
        """Return the largest γ of one report, whatever the guidance, where there are so many possible tuples."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""


@dataclass(frozen=True)
class TupleMix(Safeguard):
    """The own tuple is answered for with probability honest / 2^32, else a uniformly random one.

    >>> TupleMix(1 << 31).amplification(8)
    Fraction(9, 1)
    """

    honest: int

    kind: ClassVar = "tuple"
    field_names: ClassVar = ("honest",)

    def __post_init__(self) -> None:
        check_integer(self.honest, "honest", 1, (1 << TUPLE_BITS) - 1)

    def amplification(self, tuples: int) -> Fraction:
        """Return γ = 1 + (1 − q)·D/q."""
        return 1 + Fraction(self.honest * tuples, (1 << TUPLE_BITS) - self.honest)

    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""
        return {"honest": self.honest}


@dataclass(frozen=True)
class BitMix(Safeguard):
    """Every bit is mixed with a coin, as much as the guidance at hand needs for one report to keep to ``limit``."""

    limit: Fraction

    kind: ClassVar = "bits"
    field_names: ClassVar = ("amplification",)

    def __post_init__(self) -> None:
        if not self.limit > 1:
            raise PlanError("the amplification that bits keep to must be above 1")

    def amplification(self, tuples: int) -> Fraction:  # noqa: ARG002
        """Return what is kept to."""
        return self.limit

    def to_fields(self) -> dict[str, Any]:
        """Return its own fields as JSON content."""
        return {"amplification": format_fraction(self.limit)}


SAFEGUARDS: tuple[str, ...] = (BitMix.kind, TupleMix.kind)


def safeguard_from_json(content: object) -> Safeguard | None:
    """Read ``null``, ``{"kind": "tuple", "honest": …}`` or ``{"kind": "bits", "amplification": …}``."""
    if content is None:
        return None
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == TupleMix.kind:
        return TupleMix(check_fields(content, "safeguard", {"kind", "honest"})["honest"])
    if kind != BitMix.kind:
        raise PlanError("plan field safeguard must be null, or of the kind tuple or bits")
    fields = check_fields(content, "safeguard", {"kind", "amplification"})
    return BitMix(read_fraction(fields["amplification"], "amplification"))


def safeguard_for(kind: str, promise: Breach, tuples: int, reports_per_person: int = 1) -> Safeguard:
    """Return the safeguard that mixes in least and keeps a promise, all reports of a person together.

    Args:
        kind: ``"bits"`` or ``"tuple"``.
        promise: what is to be kept; γ stays strictly below its limit.
        tuples: D, how many tuples there can be.
        reports_per_person: R; the γ of one report is the R-th root.

    Raises:
        PrivacyLimitError: with so many tuples nothing would be left of one's own.
        PlanError: no such kind.

    >>> safeguard_for("bits", Breach("5%", "50%"), 4)
    BitMix(limit=Fraction(1245183, 65536))
    """
    if kind not in SAFEGUARDS:
        raise PlanError(f"a promise is kept by one of {' and '.join(SAFEGUARDS)}, got {kind[:40]!r}")
    top = promise.amplification_limit

    def made(step: int) -> Safeguard:
        return TupleMix(step) if kind == TupleMix.kind else BitMix(Fraction(step, 1 << _RATIO_BITS))

    # kept at the low end, broken at the high one
    low, high = 0, 1 << TUPLE_BITS
    if kind == BitMix.kind:
        low, high = 1 << _RATIO_BITS, -(-top.numerator << _RATIO_BITS) // top.denominator + 1
    least = low
    while high - low > 1:
        middle = (low + high) // 2
        kept = made(middle).amplification(tuples) ** reports_per_person < top
        low, high = (middle, high) if kept else (low, middle)
    if low == least:
        raise PrivacyLimitError(
            f"under this promise nothing is left of one tuple among so many ({float(min(tuples, 10**300)):.3g}); keep "
            "it by bits, or take fewer attributes or a weaker promise"
        )
    return made(low)
