"""Reports of a fixed size: of a transaction of m of the n items, a random set of exactly ℓ items.

A set that shares j items with the transaction has a probability in proportion to the operator's weight of j. So draw j;
then which j of the m places are kept; then which ℓ − j of the n − m other items are added: every choice is equally
likely. Both choices are drawn as ranks in the combinatorial number system (core/ranking.py), which takes the fewest
random words. This module sees raw items.

Source: for m = 1 Ye and Barg 2018 (subset selection); the rest is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from assocpriv.core.entropy import Entropy
from assocpriv.core.operator import FixedSizeOperator
from assocpriv.core.ranking import rank_of_set, set_of_rank


@dataclass(frozen=True)
class SetDraws:
    """The draws of one operator.

    Attributes:
        operator: the operator.
        fewest: the least number j of items that can be kept.
        cumulative: cumulative weights of keeping fewest, fewest + 1, … items; the last is the total.
        kept_choices: C(m, j) for each of these j.
        added_choices: C(n − m, ℓ − j) for each of them.
    """

    operator: FixedSizeOperator
    fewest: int
    cumulative: tuple[int, ...]
    kept_choices: tuple[int, ...]
    added_choices: tuple[int, ...]

    @classmethod
    def of(cls, operator: FixedSizeOperator) -> "SetDraws":
        """Tabulate an operator's draws."""
        m, outside, size = operator.size, operator.items - operator.size, operator.report_size
        possible = range(max(0, size - outside), min(m, size) + 1)
        return cls(
            operator,
            possible[0],
            operator.cumulative[possible[0] : possible[-1] + 1],
            tuple(comb(m, j) for j in possible),
            tuple(comb(outside, size - j) for j in possible),
        )

    def draw(self, items: Sequence[int], entropy: Entropy) -> int:
        """Return the rank of a random set of ℓ items.

        Args:
            items: the m items of the transaction, dummies included.
            entropy: draws how many are kept, which, and which others are added.
        """
        operator, choice = self.operator, entropy.pick(self.cumulative)
        j = self.fewest + choice
        kept = set_of_rank(entropy.below(self.kept_choices[choice]), operator.size, j)
        outside, size = operator.items - operator.size, operator.report_size
        added = set_of_rank(entropy.below(self.added_choices[choice]), outside, size - j)
        inside = set(items)
        others = [item for item in range(operator.items) if item not in inside]
        return rank_of_set([items[place] for place in kept] + [others[place] for place in added])
