"""Facts of mined itemsets: which plan and reports they come from, what was asked for, and what each size could decide.

A table carries them as JSON content in ``attrs["assocpriv"]``, which pandas copies wherever the table goes, and its
files carry the same (frames.py). Code reads them as :class:`MiningFacts`; how they are written is known here alone.
"""

import math
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Protocol

from assocpriv.files.itemsets import FORMAT
from assocpriv.plans.operator import AnyOperator, operator_from_json
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import EstimateError, counted
from assocpriv.server.estimates.intervals import ErrorOptions
from assocpriv.server.estimates.supports import Respondents
from assocpriv.server.itemsets.apriori import STATUSES, Level
from assocpriv.server.itemsets.block_facts import BlockFacts

VERSION = 3
BLOCK_VERSION = 4  # of tables of plans with blocks, whose rows say how many reports tell of them
_PLAIN: dict[Any, Any] = {str: str, int: int, float: int | float, bool: bool}
_MAY_BE_UNKNOWN = ("std_error", "lowest_discoverable_support", "level_discoverable_support")


@dataclass(frozen=True, slots=True)
class Ranking:
    """How many itemsets of the largest estimates were wanted, of how many that were counted."""

    wanted: int
    ranked: int


@dataclass(frozen=True, slots=True)
class Certainty:
    """What is claimed of itemsets called certain, and what it rests on (sample_splitting.py).

    ``level`` is 1 less the share of false ones allowed, ``by`` is ``split`` or ``all``. Itemsets of up to ``largest``
    of ``items`` were chosen by ``selecting_reports``; ``hypotheses`` of them count as tested.
    """

    level: float
    by: str
    items: int
    largest: int
    selecting_reports: int
    hypotheses: int


@dataclass(frozen=True, slots=True)
class MiningFacts:
    """What a table of mined itemsets comes from.

    Attributes:
        reports: that were measured.
        operator: that made them.
        min_support: s_min, the least of all sizes.
        levels: what happened at each itemset size.
        view: what the plan's transactions are made of.
        buckets: of a sizes plan, each bucket's least number of items.
        others: what became of names that the plan does not know.
        auto: whether s_min is the lowest that can be believed.
        corrected: whether supports before sampling are there too (server/rounds/combine.py).
        blocks: what reports are about, where they are about a block each.
        largest_estimate: where nothing was found, the largest estimate of a single item (or entry); otherwise None.
    """

    plan_id: str
    transaction_size: int
    itemset_size: int
    reports: int
    operator: AnyOperator
    min_support: float
    errors: ErrorOptions
    levels: tuple[Level, ...]
    view: str = "items"
    buckets: dict[str, int] | None = None
    others: str = "error"
    auto: bool = False
    top: Ranking | None = None
    certain: Certainty | None = None
    largest_estimate: float | None = None
    corrected: bool = False
    blocks: BlockFacts | None = None

    @property
    def are_entries(self) -> bool:
        """Whether each itemset is an entry that the plan asked for by itself, so that its subsets are unknown."""
        return self.view == "itemsets"

    @property
    def respondents(self) -> Respondents:
        """Whose reports were measured."""
        return Respondents(
            self.reports, SupportModel.of(self.operator), None if self.blocks is None else self.blocks.asked
        )

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content; what does not apply is left out."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION if self.blocks is None else BLOCK_VERSION}
        content |= {name: getattr(self, name) for name in ("plan_id", "transaction_size", "itemset_size", "reports")}
        content |= {"operator": self.operator.to_json()}
        content |= {"min_support": self.min_support, "meaning": f"supports are {meaning(self)}"}
        levels = [[pair for pair in asdict(level).items() if pair != ("left_out", 0)] for level in self.levels]
        # JSON has no infinity: null where nothing can be learned
        finite = [{name: None if value == math.inf else value for name, value in level} for level in levels]
        content |= asdict(self.errors) | {"levels": finite}
        optional = {
            "view": None if self.view == "items" else self.view,
            "buckets": self.buckets,
            # a later round needs to know of names that were dropped from baskets, not from entries
            "others": self.others if self.view == "items" and self.others == "drop" else None,
            "auto": self.auto or None,
            "top": self.top and asdict(self.top),
            "certain": self.certain and asdict(self.certain),
            "largest_estimate": self.largest_estimate,
            "corrected": self.corrected or None,
            "blocks": self.blocks and self.blocks.to_json(),
        }
        return content | {name: value for name, value in optional.items() if value is not None}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "MiningFacts":
        """Read the facts.

        Raises:
            EstimateError: one is missing or of another kind.
        """
        if not isinstance(content.get("levels"), list):
            raise EstimateError("it lacks the fact levels, or has another kind of it")
        levels = tuple(Level(**_plain_fields(Level, level, " of an itemset size")) for level in content["levels"])
        if any(level.status not in STATUSES for level in levels):
            raise EstimateError("it decides about an itemset size in an unknown way")
        given = content.get("blocks")
        blocks = None if given is None else BlockFacts.from_json(given, content.get("transaction_size", 0))
        top, certain = content.get("top"), content.get("certain")
        largest = content.get("largest_estimate")
        if not (largest is None or (isinstance(largest, int | float) and math.isfinite(largest))):
            raise EstimateError("its largest estimate is no number")
        return cls(
            **_plain_fields(cls, content),
            operator=operator_from_json(content.get("operator")),
            errors=ErrorOptions(**_plain_fields(ErrorOptions, content, all_given=True)),
            levels=levels,
            buckets=content.get("buckets"),
            top=None if top is None else Ranking(**_plain_fields(Ranking, top, " of what is ranked")),
            certain=None if certain is None else Certainty(**_plain_fields(Certainty, certain, " of what is certain")),
            largest_estimate=largest,
            blocks=blocks,
        )


class Sampled(Protocol):
    """What says of what supports are shares."""

    @property
    def transaction_size(self) -> int:
        """M."""

    @property
    def view(self) -> str:
        """What transactions are made of."""

    @property
    def blocks(self) -> BlockFacts | None:
        """What reports are about, where they are about a block each."""


def meaning(facts: Sampled) -> str:
    """Say what supports are shares of."""
    if facts.view == "sizes":
        return "shares of baskets by their size"
    if facts.blocks is not None and facts.blocks.whole:
        return "those of whole baskets"
    where = "a basket" if facts.blocks is None else "a block"
    return f"those within at most {counted(facts.transaction_size, 'sampled item')} {where}"


def _plain_fields(kind: type, content: Any, of: str = "", *, all_given: bool = False) -> dict[str, Any]:
    """Return what JSON content says of a dataclass's strings, numbers (from 0) and truth values, or its defaults."""
    values = {}
    for field in fields(kind):
        if field.type not in _PLAIN:
            continue
        default = MISSING if all_given else field.default
        value = content.get(field.name, default) if isinstance(content, dict) else MISSING
        if value is None and field.name in _MAY_BE_UNKNOWN:
            value = math.inf
        elif (
            not isinstance(value, _PLAIN[field.type])
            or isinstance(value, bool) is not (field.type is bool)
            or (field.type is float and not 0 <= value < math.inf)
        ):
            raise EstimateError(f"it lacks the fact {field.name}{of}, or has another kind of it")
        values[field.name] = value
    return values


def describe_undecided(facts: MiningFacts) -> list[str]:
    """Say, a line each, what these reports cannot decide at this minimum support."""
    false_ones = "expect false ones among " + ("them" if facts.certain is None else "those not certain")
    consequence = {"undecidable": "none are reported", "uncertain": false_ones}
    n_reports = facts.reports if facts.certain is None else facts.certain.selecting_reports
    return (
        [
            f"itemsets of {level.size}: {level.status} at {level.min_support:.4g} from {n_reports:,} reports "
            f"({_reach(level)}); {consequence[level.status]}"
            for level in facts.levels
            if level.status == "undecidable" or (level.status == "uncertain" and level.candidates)
        ]
        + _left_out(facts)
        + nothing_found(facts)
    )


def _left_out(facts: MiningFacts) -> list[str]:
    """Say how many itemsets lie in too few blocks."""
    return [
        f"{counted(level.left_out, 'itemset')} of {level.size} left out, in too few blocks: fewer than "
        f"{facts.respondents.fewest_reports(level.size):,} reports tell of {'it' if level.left_out == 1 else 'each'}"
        for level in facts.levels
        if level.left_out
    ]


def nothing_found(facts: MiningFacts) -> list[str]:
    """Say, where nothing was found, which support shows something, or that none does; the estimate is no find."""
    largest, first = facts.largest_estimate, facts.levels[0]
    if largest is None:
        return []
    said = f"nothing was found; the largest estimate of a single item is {_percent(largest, math.floor)}"
    more = "collect more reports, or make a plan with fewer items, a smaller transaction size or a weaker promise"
    if first.needed_support >= 1:
        return [f"{said}, and these reports show no support below 100%: {more}"]
    reach = _percent(first.needed_support, math.ceil)
    if largest < first.needed_support:
        return [f"{said}, and estimates can be believed from {reach} on: to find more, {more}"]
    if first.min_support <= largest:  # there, but not decidable at this support
        return [f"{said}, and estimates can be believed from {reach} on: try {reach}, or auto"]
    return [f"{said}: try at most that; estimates can be believed from {reach} on"]


def _percent(share: float, rounded: Callable[[float], int]) -> str:
    """Write a support as a percentage of three digits, rounded down or up, so that it can be asked for as it stands."""
    scale = 10 ** (2 - math.floor(math.log10(max(abs(share), 1e-9) * 100)))
    return f"{rounded(share * 100 * scale) / scale:g}%"


def _reach(level: Level) -> str:
    """Say what the reports can tell of one itemset of a size, and of all of them."""
    lowest, whole = level.lowest_discoverable_support, level.level_discoverable_support
    spread = "" if math.isinf(level.std_error) else f"standard error {level.std_error:.2%}; "
    if lowest >= 1:
        return f"{spread}nothing below 100% is discoverable"
    asked = f"all {level.candidates:,} counted" if level.candidates else "all that there are"
    believed = "cannot be believed below 100%" if whole >= 1 else f"can be believed from {whole:.2%}"
    return f"{spread}{lowest:.2%} is the lowest discoverable of one itemset, {asked} {believed}"
