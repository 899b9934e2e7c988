"""What an audit found, one line a check."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Any

from assocpriv.core.errors import WireError

CONSISTENT, BROKEN, UNDECIDED = "consistent", "broken", "not decided"

# what no report and no plan shows, said beside every verdict
CANNOT_SEE = (
    "random numbers that somebody else can guess, beyond the seeds of separate starts",
    "whether a device keeps its ledger, or loses it",
    "which plan devices use, and whether they run the client that is audited here",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of an audit.

    Attributes:
        depth: ``exact``, ``empirical`` or ``conformance``.
        name: of the check, a few words.
        verdict: ``consistent``, ``broken``, or ``not decided`` where the check could not be made; ``said`` tells why.
        said: one sentence for a privacy officer; never an item of anybody.
        figures: the numbers behind it, JSON content.
        client: which client it is about, where several were audited.
    """

    depth: str
    name: str
    verdict: str
    said: str
    figures: dict[str, Any] = field(default_factory=dict)
    client: str = ""


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


def failure(depth: str, name: str, error: Exception) -> Finding:
    """Return the finding that a client failed; of what it raised the kind and the place are said, never the text.

    A :class:`WireError` is the audit's own, of answers that are none; its text names no item.

    >>> failure("empirical", "answers", WireError("the program ended with status 3; it must be 0")).said
    'The client does not answer as it must: the program ended with status 3; it must be 0.'
    """
    if isinstance(error, WireError):
        return Finding(depth, name, BROKEN, f"The client does not answer as it must: {error}.")
    said = f"The client, or code that it shares with this audit, failed with {type(error).__name__}"
    frames = extract_tb(error.__traceback__)
    if frames:
        said += f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
    return Finding(depth, name, BROKEN, f"{said}.")
