"""Reports of a fixed size: of a transaction of m of the n items, a random set of exactly ℓ items.

A set that shares j items with the transaction has a probability in proportion to the operator's weight of j. So draw j;
then which j of the m places are kept; then which ℓ − j of the n − m other items are added, all equally likely. Both are
drawn as ranks (promise/numbers.py), which takes the fewest random words. This module sees raw items.

Source: for m = 1 Ye and Barg 2018 (subset selection); the rest is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, lcm

from assocpriv.plans.operator import FixedSizeOperator
from assocpriv.promise.entropy import Entropy
from assocpriv.promise.numbers import rank_of_set, set_of_rank


@dataclass(frozen=True)
class SetDraws:
    """The draws of one operator, by the number j of items kept: ``fewest``, ``fewest`` + 1, ….

    ``cumulative`` are the weights of the j added up, ``kept_choices`` C(m, j), ``added_choices`` C(n − m, ℓ − j);
    ``added_bound`` is a common multiple of these, which draws are below: how much is drawn must not tell j.
    """

    operator: FixedSizeOperator
    fewest: int
    cumulative: tuple[int, ...]
    kept_choices: tuple[int, ...]
    added_choices: tuple[int, ...]
    added_bound: int

    @classmethod
    def of(cls, operator: FixedSizeOperator) -> "SetDraws":
        """Tabulate an operator's draws."""
        m, outside, size = operator.size, operator.items - operator.size, operator.report_size
        possible = range(max(0, size - outside), min(m, size) + 1)
        kept, added = tuple(comb(m, j) for j in possible), tuple(comb(outside, size - j) for j in possible)
        cumulative = operator.cumulative[possible[0] : possible[-1] + 1]
        return cls(operator, possible[0], cumulative, kept, added, common_multiple(added))

    def draw(self, items: Sequence[int], entropy: Entropy) -> int:
        """Return the rank of a random set of ℓ items, for the m items of a transaction, dummies included."""
        operator, choice = self.operator, entropy.pick(self.cumulative)
        j = self.fewest + choice
        x, y = entropy.below(2 * self.kept_choices[choice]), entropy.below(self.added_bound)  # twice: never below 1
        kept = set_of_rank(x // 2, operator.size, j)
        outside, size = operator.items - operator.size, operator.report_size
        added = set_of_rank(y * self.added_choices[choice] // self.added_bound, outside, size - j)
        others = sorted({*range(operator.items)}.difference(items))
        return rank_of_set([items[place] for place in kept] + [others[place] for place in added])


def common_multiple(numbers: Sequence[int]) -> int:
    """Return a number that all of some divide, no power of two but 1: the least, or three times it.

    Powers of two are drawn in another way than other bounds; the compiled client knows one way.

    >>> common_multiple([4, 6, 4]), common_multiple([1, 2, 1]), common_multiple([1, 1])
    (12, 6, 1)
    """
    least = lcm(*numbers)
    return 3 * least if least > 1 and least & (least - 1) == 0 else least
