"""What may be asked of reports: checked when it is stated, and against the plan before anything is counted."""

from dataclasses import dataclass, field
from fractions import Fraction

from assocpriv.plans.baskets import Plan
from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import as_whole
from assocpriv.server.estimates.intervals import ErrorOptions, read_share
from assocpriv.server.itemsets.sample_splitting import SPLIT, parse_certainty
from assocpriv.server.itemsets.thresholds import Aim

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class MiningRequest:
    """What to mine, in the words of :func:`assocpriv.mine`.

    Raises:
        EstimateError: words that contradict each other, or a number out of range.
    """

    min_support: "float | str | None" = None
    top: int | None = None
    max_itemset: int | None = None
    certain: "float | str | None" = None
    certain_by: str = SPLIT
    errors: ErrorOptions = field(default_factory=ErrorOptions)

    def __post_init__(self) -> None:
        certainty, aim = self.certainty, self.aim  # these refuse what is out of range
        if certainty is not None and aim.top is not None:
            raise EstimateError("certain goes with a minimum support, not with top")
        if certainty is not None and aim.min_support is None and not self.is_split:
            raise EstimateError(
                "what is certain needs a minimum support that the testing reports did not choose; give it as a "
                "number, or let others choose (certain_by 'split')"
            )

    @property
    def aim(self) -> Aim:
        """Which itemsets are wanted."""
        return check_aim(self.min_support, self.top)

    @property
    def certainty(self) -> Fraction | None:
        """1 less the share of false ones allowed among what is called certain."""
        return parse_certainty(self.certain, self.certain_by)

    @property
    def is_split(self) -> bool:
        """Whether some reports choose the itemsets and others test them."""
        return self.certainty is not None and self.certain_by == SPLIT

    def largest(self, plan: Plan) -> int:
        """Return the largest itemset size to mine; EstimateError if the plan cannot answer for what is asked."""
        return check_max_itemset(plan, self.max_itemset)


def check_min_support(min_support: "float | str") -> float:
    """Read a minimum support in (0, 1]; anything else raises EstimateError."""
    threshold = read_share(min_support, "the minimum support")
    if threshold == 0:
        raise EstimateError("the minimum support must be above 0; every itemset has support 0 or more")
    return float(threshold)


def check_aim(min_support: "float | str | None", top: int | None) -> Aim:
    """Read what is to be mined: a minimum support, ``"auto"``, or how many of the largest estimates."""
    if (min_support is None) == (top is None):
        raise EstimateError(
            "give either a minimum support, as 2% or auto (the lowest at which what is found can be believed), or top, "
            "how many itemsets of the largest estimates are wanted"
        )
    wanted = as_whole(top)
    if top is not None and (wanted is None or wanted < 1):
        raise EstimateError(f"top must be a whole number from 1, got {top!r}")
    if min_support is None or (isinstance(min_support, str) and min_support.strip() == AUTO):
        return Aim(None, wanted)
    return Aim(check_min_support(min_support), None)


def check_max_itemset(plan: Plan, max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default; EstimateError if it cannot answer for that."""
    if max_itemset is None:
        return 1 if plan.view.itemsets else plan.itemset_size
    if plan.view.itemsets and max_itemset != 1:
        raise EstimateError(
            f"each entry of this plan's catalogue is an itemset by itself, so the largest must be 1 entry, got "
            f"{max_itemset}; ask for a union as an entry of its own, in a new plan"
        )
    largest_size, m = as_whole(max_itemset), plan.transaction_size
    if largest_size is None or not 1 <= largest_size <= m:
        raise EstimateError(
            f"the largest itemset must have 1..{m} items (the plan's transaction size), got {max_itemset}"
        )
    if plan.generator.kind == "none":
        return largest_size
    needed = min(m + largest_size, plan.block_plan.padded_items)
    independent = plan.generator.independent_items(plan.independent.insert_bits)
    if independent < needed:
        raise EstimateError(
            f"itemsets of {largest_size} items need any {needed} items of a report independent, but the plan's "
            f"generator gives {independent}; it was made for itemsets of up to {plan.itemset_size} "
            f"(plan --itemset-size {largest_size} allows more, for new reports)"
        )
    return largest_size
