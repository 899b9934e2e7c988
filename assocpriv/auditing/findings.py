"""The request of an audit and its findings, one sentence per check, the same for all plan types.

No finding shows an item of a record. An exception of a client is reported by its type and its place, never by its text.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from traceback import extract_tb
from typing import Any

from assocpriv.guarantees.amplification import format_fraction, parse_probability
from assocpriv.guarantees.errors import FileError, PlanError, WireError
from assocpriv.guarantees.exact_numbers import check_whole

CONSISTENT, BROKEN, UNDECIDED = "consistent", "broken", "not decided"
LARGEST_SHOWN = Fraction(10**300)  # as a number; beyond it "more than 10^300"

# printed with every verdict
CANNOT_SEE = (
    "whether an adversary knows the random numbers of the operating system, or of a program that draws its own",
    "whether devices keep their ledgers",
    "which plan devices use, and whether they run the client audited here",
)
CANNOT_SEE_OF_RELEASES = (
    "whether the file was made by the program on this machine, from baskets that count once and persons as stated",
    "whether several releases were made, and one chosen",
)
GUARANTEE, SOURCE, REPLAY, FORM, DISTRIBUTIONS = CHECKS = (
    "guarantee", "source", "replay", "form", "distributions",
)  # fmt: skip
BOTH, OURS, PROGRAM = "both", ("bulk", "single"), "program"
MIN_TRIALS = 1000
Progress = Callable[[str, int, int], None]


# ---- the request


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """What to audit.

    Raises:
        PlanError: no such client, fewer than 1,000 trials, or a confidence outside [1/2, 1).
    """

    trials: int = 1_000_000  # reports to request from each client
    confidence: str | float | Fraction = "99.9%"  # probability that a client that follows the plan passes
    client: str = "both"  # of our clients: both, bulk (for many baskets) or single (for one)
    program: tuple[str, ...] | None = None  # with its arguments, in place of our clients
    plan_path: Path = Path()  # for the program
    level: Fraction = field(init=False)  # the confidence as a fraction

    def __post_init__(self) -> None:
        if self.client not in (BOTH, *OURS):
            raise PlanError(f"client must be one of {', '.join((BOTH, *OURS))}")
        object.__setattr__(self, "trials", check_whole("trials", self.trials))
        if self.trials < MIN_TRIALS:
            raise PlanError(f"an audit needs at least {MIN_TRIALS:,} trials, got {self.trials:,}")
        object.__setattr__(self, "level", parse_probability(self.confidence, "confidence"))
        if not Fraction(1, 2) <= self.level < 1:
            raise PlanError("the confidence of an audit must be at least 50% and below 100%, such as 99.9%")

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients to audit."""
        if self.program is not None:
            return (PROGRAM,)
        return OURS if self.client == BOTH else (self.client,)

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON content."""
        return {
            "trials": self.trials,
            "confidence": format_fraction(self.level),
            "client": self.client if self.program is None else PROGRAM,
        }


# ---- the findings


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of an audit."""

    check: str  # one of CHECKS
    name: str  # the part of the check, a few words
    verdict: str  # consistent, broken, or not decided where the check could not be made; the message says why
    message: str  # one sentence for a privacy officer, without any item of a record
    figures: dict[str, Any] = field(default_factory=dict)  # the numbers behind it, JSON content
    client: str = ""  # the client that it is about, where several were audited


def verdict(findings: Iterable[Finding]) -> str:
    """Return ``broken`` if any finding is, else ``consistent``. A check that was not made does not count.

    >>> verdict([Finding("guarantee", "amplification", "consistent", "γ is 18.9")])
    'consistent'
    """
    return BROKEN if any(finding.verdict == BROKEN for finding in findings) else CONSISTENT


def count_undecided(findings: Iterable[Finding]) -> int:
    """Return how many checks were not made.

    >>> count_undecided([Finding("replay", "replay", "not decided", "cannot be recorded")])
    1
    """
    return sum(finding.verdict == UNDECIDED for finding in findings)


class Fault(Exception):  # noqa: N818 - a result, not a user's mistake
    """A fault that a check found, as a sentence without any item."""


class ClientFailure(Exception):  # noqa: N818 - likewise
    """An exception that a client raised, its argument; all others are the audit's own."""


@contextmanager
def catch_client_errors() -> Iterator[None]:
    """Turn exceptions of a client into :class:`ClientFailure`; those of the audit pass through."""
    try:
        yield
    except (Fault, ClientFailure, WireError, FileError, MemoryError):
        raise
    except Exception as error:
        raise ClientFailure(error) from error


def failure_finding(check: str, error: Exception) -> Finding:
    """Return the finding that a check failed, with the type and the place of the exception, never its text.

    A :class:`WireError` comes from the audit and is about invalid output; its text names no item. A failure of the
    audit itself counts as broken, too, since the check then proves nothing.

    >>> failure_finding("distributions", WireError("the program ended with status 3; it must be 0")).message
    'The client breaks the protocol: the program ended with status 3; it must be 0.'
    """
    if isinstance(error, WireError):
        return Finding(check, "protocol", BROKEN, f"The client breaks the protocol: {error}.")
    who = "The audit itself, not the client,"
    if isinstance(error, ClientFailure):
        who, error = "The client", error.args[0]
    message = f"{who} failed with {type(error).__name__}"
    frames = extract_tb(error.__traceback__)
    if frames:
        message += f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
    return Finding(check, "exception", BROKEN, f"{message}.")


def run_check(check: str, run: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return the findings of a check, or one finding for the exception that it raised."""
    try:
        return list(run())
    except Fault as fault:
        return [Finding(check, check, BROKEN, str(fault))]
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- any exception of a client under audit is a finding
        return [failure_finding(check, error)]


def format_ratio(number: Fraction) -> str:
    """Return a number as text; it may exceed the largest float."""
    return f"{float(number):.12g}" if number < LARGEST_SHOWN else "more than 10^300"
