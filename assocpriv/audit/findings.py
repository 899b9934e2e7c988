"""What an audit found, one line a check."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

CONSISTENT, BROKEN, UNDECIDED = "consistent", "broken", "not decided"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of an audit.

    Attributes:
        depth: ``exact``, ``empirical`` or ``conformance``.
        name: of the check, a few words.
        verdict: ``consistent``, ``broken``, or ``not decided`` where the check could not be made; ``said`` tells why.
        said: one sentence for a privacy officer; never an item of anybody.
        figures: the numbers behind it, JSON content.
    """

    depth: str
    name: str
    verdict: str
    said: str
    figures: dict[str, Any] = field(default_factory=dict)


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
