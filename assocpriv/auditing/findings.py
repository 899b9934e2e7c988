"""Findings of an audit, one line a check, beside the request: what may be asked, whatever the kind of plan.

No finding shows an item of anybody: what a client raised is told by its kind and its place, never by its text.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from traceback import extract_tb
from typing import Any

from assocpriv.promise.breaches import format_fraction, parse_probability
from assocpriv.promise.errors import FileError, PlanError, WireError
from assocpriv.promise.numbers import check_whole

CONSISTENT, BROKEN, UNDECIDED = "consistent", "broken", "not decided"
LARGEST = Fraction(10**300)  # that is shown as a number

# what no report and no plan shows, said beside every verdict
CANNOT_SEE = (
    "whether somebody knows what the operating system gives as random numbers, or a program of which no words are seen",
    "whether a device keeps its ledger, or loses it",
    "which plan devices use, and whether they run the client that is audited here",
)
PROMISE, SOURCE, WORDS, FORM, LAWS = CHECKS = ("promise", "source", "words", "form", "laws")
BOTH, OURS, PROGRAM = "both", ("bulk", "single"), "program"
CLIENTS = (BOTH, *OURS)
LEAST_TRIALS = 1000
Progress = Callable[[str, int, int], None]


# ---- the request


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """What to audit; a PlanError if there is no such client, or as of the numbers."""

    trials: int = 1_000_000  # reports to ask each client for
    confidence: str | float | Fraction = "99.9%"  # that clients that follow the plan are not called broken
    client: str = "both"  # of ours, or bulk (for many baskets) or single (for one)
    program: tuple[str, ...] | None = None  # with its arguments, in place of our clients
    plan_path: Path = Path()  # for the program

    def __post_init__(self) -> None:
        if self.client not in CLIENTS:
            raise PlanError(f"client must be one of {', '.join(CLIENTS)}")
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

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON content."""
        return {
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


# ---- the findings


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of an audit."""

    check: str  # promise, source, words, form or laws
    name: str  # what of it, a few words
    verdict: str  # consistent, broken, or not decided where the check could not be made; ``said`` tells why
    said: str  # one sentence for a privacy officer; never an item of anybody
    figures: dict[str, Any] = field(default_factory=dict)  # the numbers behind it, JSON content
    client: str = ""  # which it is about, where several were audited


def verdict(findings: Iterable[Finding]) -> str:
    """Return ``broken`` if any finding is, else ``consistent``: a check that was not made speaks for nothing.

    >>> verdict([Finding("promise", "amplification", "consistent", "γ is 18.9")])
    'consistent'
    """
    return BROKEN if any(finding.verdict == BROKEN for finding in findings) else CONSISTENT


def count_undecided(findings: Iterable[Finding]) -> int:
    """Return how many checks were not made.

    >>> count_undecided([Finding("words", "words", "not decided", "of a program of another language")])
    1
    """
    return sum(finding.verdict == UNDECIDED for finding in findings)


class Fault(Exception):  # noqa: N818 - found, not raised by a user's mistake
    """What a check found broken, as a sentence without any item."""


class ClientFailure(Exception):  # noqa: N818 - likewise
    """What a client raised, its argument; whatever else is raised in an audit is the audit's own."""


@contextmanager
def client_at_work() -> Iterator[None]:
    """Turn what a client raises here into a :class:`ClientFailure`; what the audit raises through it stays itself."""
    try:
        yield
    except (Fault, ClientFailure, WireError, FileError, MemoryError):
        raise
    except Exception as error:
        raise ClientFailure(error) from error


def failure(check: str, error: Exception, of_client: bool = False) -> Finding:
    """Return the finding that a check failed; of what was raised the kind and the place are said, never the text.

    A :class:`WireError` is the audit's own, of answers that are none; its text names no item. An audit that fails
    by itself vouches for nothing: that is broken too.

    >>> failure("laws", WireError("the program ended with status 3; it must be 0")).said
    'The client does not answer as it must: the program ended with status 3; it must be 0.'
    """
    if isinstance(error, WireError):
        return Finding(check, "answers", BROKEN, f"The client does not answer as it must: {error}.")
    if isinstance(error, ClientFailure):
        of_client, error = True, error.args[0]
    who = "The client" if of_client else "This audit itself, not the client,"
    said = f"{who} failed with {type(error).__name__}"
    frames = extract_tb(error.__traceback__)
    if frames:
        said += f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
    return Finding(check, "answers", BROKEN, f"{said}.")


def checked(check: str, run: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return what a check finds, or the one finding of what it raised."""
    try:
        return list(run())
    except Fault as fault:
        return [Finding(check, check, BROKEN, str(fault))]
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return [failure(check, error)]


def shown_ratio(number: Fraction) -> str:
    """Return a number that may be beyond the largest float."""
    return f"{float(number):.12g}" if number < LARGEST else "more than 10^300"
