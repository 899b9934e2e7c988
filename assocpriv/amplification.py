"""What a report of any randomizer tells at most: breaches, amplification and information.

    from assocpriv import amplification

A randomizer and a prior are a :class:`Channel`, which answers exactly. Three ways to randomize a number from 0 to 50
(after Evfimievski, Gehrke, Srikant 2003, section 2): keep it with probability 1/5, else show any number; add noise from
−5 to 5, around the circle; with probability 1/2 that, else show any number.

>>> from fractions import Fraction
>>> from assocpriv.amplification import Channel
>>> numbers, prior = range(51), [Fraction(1, 50), *[Fraction(49, 2500)] * 50]
>>> kept = [[Fraction(1, 5) * (x == y) + Fraction(4, 255) for y in numbers] for x in numbers]
>>> moved = [[Fraction((y - x + 5) % 51 <= 10, 11) for y in numbers] for x in numbers]
>>> mixed = [[p / 2 + Fraction(1, 102) for p in row] for row in moved]
>>> channels = [Channel(prior, rows) for rows in (kept, moved, mixed)]
>>> [round(float(channel.posterior_range({0})[1]), 3) for channel in channels]  # from a prior of 0.02
[0.219, 0.093, 0.056]
>>> [round(float(channel.posterior_range(range(25))[1]), 3) for channel in channels]  # from a prior of 0.490
[0.594, 1.0, 0.745]
>>> [round(float(channel.amplification), 1) for channel in channels]  # only the second one promises nothing
[13.8, inf, 5.6]
"""

from typing import TYPE_CHECKING

from assocpriv.plans.kind import on_first_use

# isort: off
# fmt: off
if TYPE_CHECKING:
    from assocpriv.promise.information import (
        downward_threshold, excluded_fall, excluded_posterior, information_limit, inverse_worst_information,
        mutual_information, upward_threshold, worst_information,
    )
    from assocpriv.promise.breaches import (
        BeliefRange, Breach, Channel, Epsilon, amplification_of, breach_curve, compose, epsilon, highest_posterior,
        largest_rise, lowest_posterior,
    )
# fmt: on
# isort: on

__all__ = [
    "BeliefRange", "Breach", "Channel", "Epsilon", "amplification_of", "breach_curve", "compose", "downward_threshold",
    "epsilon", "excluded_fall", "excluded_posterior", "highest_posterior", "information_limit",
    "inverse_worst_information", "largest_rise", "lowest_posterior", "mutual_information", "upward_threshold",
    "worst_information",
]  # fmt: skip
_HOMES = {
    "assocpriv.promise.information": (
        "downward_threshold", "excluded_fall", "excluded_posterior", "information_limit", "inverse_worst_information",
        "mutual_information", "upward_threshold", "worst_information",
    ),
    "assocpriv.promise.breaches": (
        "BeliefRange", "Breach", "Channel", "Epsilon", "amplification_of", "breach_curve", "compose", "epsilon",
        "highest_posterior", "largest_rise", "lowest_posterior",
    ),
}  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)
