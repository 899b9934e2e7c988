"""What a campaign of several rounds publishes: how many people each round asks, and what every plan of it promises.

Whoever takes part draws a round by these weights, from entropy of his own, and answers the plan of that round alone.
Plans of later rounds are made from what earlier ones found, so they join later and the document does not hold them.
A campaign never sees raw data.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

from assocpriv.core.entropy import Entropy
from assocpriv.core.errors import PlanError
from assocpriv.core.privacy import Breach, format_fraction, read_fraction
from assocpriv.plans.published import PublishedPlan, load_object

FORMAT, VERSION = "assocpriv-campaign", 1
MOST_TEXT = 1 << 16  # characters of a document
_MOST_ROUNDS = 64
_LARGEST_WEIGHT = (1 << 31) - 1
_LONGEST_NAME = 200
_FIELDS = {"format", "version", "name", "promise", "rounds", "first_plan"}
_HEX = frozenset("0123456789abcdef")


def is_id(text: object) -> bool:
    """Tell whether something is an id as plans and campaigns have them: 64 lowercase hexadecimal digits."""
    return isinstance(text, str) and len(text) == 64 and set(text) <= _HEX


@dataclass(frozen=True)
class Campaign:
    """A published campaign; nothing of it changes once it runs.

    Attributes:
        name: for people, at most 200 printable characters; may be empty.
        promise: kept by every plan of the campaign, so by all that one person tells it.
        rounds: weights of people, whole numbers: round i is drawn with probability rounds[i − 1] / sum(rounds).
        first_plan: id of the first round's plan.

    Raises:
        PlanError: a field that breaks these rules.
    """

    name: str
    promise: Breach
    rounds: tuple[int, ...]
    first_plan: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.promise, Breach):
            raise TypeError("a campaign has a name, which is text, and a promise, a Breach")
        if len(self.name) > _LONGEST_NAME or not self.name.isprintable() or self.name != self.name.strip():
            raise PlanError(
                f"a campaign's name must be at most {_LONGEST_NAME} printable characters without blanks at its ends"
            )
        if not 1 <= len(self.rounds) <= _MOST_ROUNDS or not all(
            type(weight) is int and 1 <= weight <= _LARGEST_WEIGHT for weight in self.rounds
        ):
            raise PlanError(
                f"rounds must be 1 to {_MOST_ROUNDS} whole numbers from 1 to {_LARGEST_WEIGHT}, the weights of people "
                "in each round, as 3,5,2"
            )
        if not is_id(self.first_plan):
            raise PlanError("first_plan must be the id of the first round's plan, 64 lowercase hexadecimal digits")

    @cached_property
    def canonical_json(self) -> str:
        """The one text that the campaign's id hashes: sorted keys, no blanks, ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @cached_property
    def campaign_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the campaign as JSON content."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "promise": {name: format_fraction(getattr(self.promise, name)) for name in ("prior", "posterior")},
            "rounds": list(self.rounds),
            "first_plan": self.first_plan,
        }

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read JSON content that :meth:`to_json` wrote; no other field and none missing.

        Raises:
            PlanError: no campaign, or one of another version.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise PlanError(f"not a campaign: it does not say that its format is {FORMAT}")
        if type(content.get("version")) is not int or content["version"] != VERSION:
            raise PlanError("this campaign's version is unknown here; a newer release of assocpriv may read it")
        promise, rounds = content.get("promise"), content.get("rounds")
        if set(content) != _FIELDS or not isinstance(promise, dict) or set(promise) != {"prior", "posterior"}:
            raise PlanError(
                f"a campaign must hold exactly the fields {', '.join(sorted(_FIELDS))}, its promise prior and posterior"
            )
        if not isinstance(content["name"], str) or not isinstance(rounds, list):
            raise PlanError("a campaign's name must be text and its rounds a list")
        breach = Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior")))
        return cls(content["name"], breach, tuple(rounds), content["first_plan"])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a campaign from JSON text of at most 65,536 characters.

        Raises:
            PlanError: not JSON, a field that stands twice, or as :meth:`from_json`.
        """
        return cls.from_json(parse_object(text))

    def draw_round(self, entropy: Entropy) -> int:
        """Draw a round, counted from 1, with the probability that its weight has: one ``pick``, so one ``below``."""
        return entropy.pick(tuple(accumulate(self.rounds))) + 1

    def check_plan(self, plan: PublishedPlan) -> None:
        """Refuse a plan that no round of the campaign may have.

        Raises:
            PlanError: it lets a person report more than once, or does not keep the campaign's promise.
        """
        of = f"plan {plan.plan_id[:12]}"
        if plan.reports_per_person != 1:
            raise PlanError(
                f"{of} lets a person report {plan.reports_per_person} times; in a campaign everybody answers once, so "
                "its plans have reports_per_person 1"
            )
        if plan.amplification is None or plan.uncovered_secret:
            why = f"sends {plan.uncovered_secret}, which γ does not cover" if plan.amplification else "states no γ"
            raise PlanError(f"{of} {why}, so it does not keep the campaign's promise")
        if plan.amplification >= self.promise.amplification_limit:
            raise PlanError(
                f"{of} has γ {float(plan.amplification):.6g}; the campaign's promise, which all its plans keep, needs "
                f"less than {float(self.promise.amplification_limit):.6g}"
            )


def parse_object(text: str) -> object:
    """Return the JSON content of a short text; refuse a field that stands twice.

    Raises:
        PlanError: not JSON, or longer than 65,536 characters.
    """
    if len(text) > MOST_TEXT:
        raise PlanError(f"not a campaign: the text has more than {MOST_TEXT:,} characters")
    return load_object(text, "campaign")
