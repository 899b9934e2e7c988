"""What an audit found, one line a check."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from traceback import extract_tb
from typing import Any

from assocpriv.promise.errors import FileError, WireError

CONSISTENT, BROKEN, UNDECIDED = "consistent", "broken", "not decided"
LARGEST = Fraction(10**300)  # that is shown as a number

# what no report and no plan shows, said beside every verdict
CANNOT_SEE = (
    "random numbers that somebody else can guess, beyond the seeds of separate starts",
    "whether a device keeps its ledger, or loses it",
    "which plan devices use, and whether they run the client that is audited here",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of an audit."""

    depth: str  # exact, empirical or conformance
    name: str  # of the check, a few words
    verdict: str  # consistent, broken, or not decided where the check could not be made; ``said`` tells why
    said: str  # one sentence for a privacy officer; never an item of anybody
    figures: dict[str, Any] = field(default_factory=dict)  # the numbers behind it, JSON content
    client: str = ""  # which it is about, where several were audited


def verdict(findings: Iterable[Finding]) -> str:
    """Return ``broken`` if any finding is, else ``consistent``: a check that was not made speaks for nothing.

    >>> verdict([Finding("exact", "amplification", "consistent", "γ is 18.9")])
    'consistent'
    """
    return BROKEN if any(finding.verdict == BROKEN for finding in findings) else CONSISTENT


def count_undecided(findings: Iterable[Finding]) -> int:
    """Return how many checks were not made.

    >>> count_undecided([Finding("exact", "client, every draw", "not decided", "too many draws")])
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


def failure(depth: str, name: str, error: Exception, of_client: bool = False) -> Finding:
    """Return the finding that a check failed; of what was raised the kind and the place are said, never the text.

    A :class:`WireError` is the audit's own, of answers that are none; its text names no item. An audit that fails
    by itself vouches for nothing: that is broken too.

    >>> failure("empirical", "answers", WireError("the program ended with status 3; it must be 0")).said
    'The client does not answer as it must: the program ended with status 3; it must be 0.'
    """
    if isinstance(error, WireError):
        return Finding(depth, name, BROKEN, f"The client does not answer as it must: {error}.")
    if isinstance(error, ClientFailure):
        of_client, error = True, error.args[0]
    who = "The client" if of_client else "This audit itself, not the client,"
    said = f"{who} failed with {type(error).__name__}"
    frames = extract_tb(error.__traceback__)
    if frames:
        said += f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
    return Finding(depth, name, BROKEN, f"{said}.")


def checked(depth: str, name: str, check: Callable[[], tuple[str, str]]) -> Finding:
    """Return the finding of a check, which says its verdict and why, or raises a :class:`Fault`."""
    try:
        return Finding(depth, name, *check())
    except Fault as fault:
        return Finding(depth, name, BROKEN, str(fault))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return failure(depth, name, error)


def shown_ratio(number: Fraction) -> str:
    """Return a number that may be beyond the largest float."""
    return f"{float(number):.12g}" if number < LARGEST else "more than 10^300"
