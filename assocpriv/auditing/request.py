"""What may be asked of an audit, whatever the kind of plan."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from assocpriv.promise.breaches import format_fraction, parse_probability
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_whole

EXACT = "exact"  # the promise, and our client walked through
DEPTHS = (EXACT, "conformance", "empirical")  # the others take each client for a black box
ALL = "all"
BOTH, OURS, PROGRAM = "both", ("bulk", "single"), "program"
CLIENTS = (BOTH, *OURS)
LEAST_TRIALS = 1000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """What to audit of a plan, and how deep; a PlanError if there is no such depth or client, or as of the numbers."""

    depth: str = ALL
    trials: int = 1_000_000  # reports to ask each client for
    confidence: str | float | Fraction = "99.9%"  # that clients that follow the plan are not called broken
    client: str = "both"  # of ours, or bulk (for many baskets) or single (for one)
    program: tuple[str, ...] | None = None  # with its arguments, in place of our clients
    plan_path: Path = Path()  # for the program

    def __post_init__(self) -> None:
        if self.depth not in (*DEPTHS, ALL) or self.client not in CLIENTS:
            raise PlanError(f"depth must be one of {', '.join((*DEPTHS, ALL))}, client one of {', '.join(CLIENTS)}")
        object.__setattr__(self, "trials", check_whole("trials", self.trials))
        check_request(self.trials, self.confidence)

    @property
    def level(self) -> Fraction:
        """The confidence as a fraction."""
        return check_request(self.trials, self.confidence)

    @property
    def clients(self) -> tuple[str, ...]:
        """The black boxes to look at."""
        if self.program is not None:
            return (PROGRAM,)
        return OURS if self.client == BOTH else (self.client,)

    @property
    def depths(self) -> tuple[str, ...]:
        """The depths to look at."""
        return DEPTHS if self.depth == ALL else (self.depth,)

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON content."""
        return {
            "depth": self.depth,
            "trials": self.trials,
            "confidence": format_fraction(self.level),
            "client": self.client if self.program is None else PROGRAM,
        }


def check_request(trials: int, confidence: str | float | Fraction) -> Fraction:
    """Return the confidence as a fraction; refuse, before any work is done, what an audit cannot use.

    Raises:
        PlanError: fewer than 1,000 trials, or a confidence outside [1/2, 1).
    """
    if trials < LEAST_TRIALS:
        raise PlanError(f"an audit needs at least {LEAST_TRIALS:,} trials, got {trials:,}")
    level = parse_probability(confidence, "confidence")
    if not Fraction(1, 2) <= level < 1:
        raise PlanError("the confidence of an audit must be at least 50% and below 100%, such as 99.9%")
    return level
