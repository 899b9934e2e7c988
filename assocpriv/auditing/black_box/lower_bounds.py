"""Lower bounds of a client's ε, from what it does alone.

A client promises P[report ∈ S | t1] ≤ γ·P[report ∈ S | t2] for every set S of reports. So any S shows a lower bound,

    ε ≥ ln(P1 / P2),   P1 at least the lower and P2 at most the upper Clopper–Pearson bound.

S is chosen on reports of its own, so that each bound on the others is wrong with no more than its stated chance, for
any client whose reports are independent. S is a set of values of one feature: how many items of either transaction a
report shows, one item, bit or byte, the length, whether it repeats the one before, and a score learned from all bits.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.neighbours import Neighbours
from assocpriv.auditing.black_box.tallies import SCORE_CELLS, Counts, Scorer, Table, Tallies

_ERRORS = 4.0  # standard errors by which a promising set may still disappoint
_LEAST_Z = 3.0  # of a bit that has a say in the score
_ROUNDING = 1e-9  # far more than the error of an inverse beta function


class Paired(Protocol):
    """Counts of reports of pairs of transactions."""

    chosen: Neighbours

    def tables(self, pair: int) -> Iterator[tuple[str, Table]]:
        """Yield the tables of a pair's features, each with its name."""


@dataclass(frozen=True, slots=True)
class Event:
    """A set of reports, chosen to tell the first of a pair's transactions from the second."""

    pair: int  # of the neighbours
    is_reversed: bool  # whether it is the second that is likelier to show it
    feature: str  # the kind of feature
    number: int  # which of its features
    values: NDArray[np.bool_]  # which of its values are in the set, (values,)


@dataclass(frozen=True, slots=True)
class LowerBound:
    """What an event shows."""

    event: Event
    likelier: float  # lower confidence bound of its chance under the transaction that makes it likelier
    rarer: float  # upper confidence bound of its chance under the other

    @property
    def epsilon(self) -> float:
        """The lower bound of ε; no less than 0, which is always one."""
        return math.log(self.likelier / self.rarer) if self.likelier > self.rarer else 0.0

    def exceeds(self, amplification: Fraction) -> bool:
        """Tell whether the client amplifies by more than γ, compared as exact fractions."""
        return Fraction(self.likelier) > amplification * Fraction(self.rarer)


def learn_scorers(tallies: Tallies) -> list[Scorer]:
    """Learn a score for each pair: the log of the ratio of chances, if bits were independent of each other."""
    return [_scorer(dict(tallies.tables(pair))["bits"]) for pair in range(len(tallies.chosen.pairs))]


def _scorer(table: Table) -> Scorer:
    first, second = ((counts[:, 1] + 0.5) / (counts.sum(axis=1) + 1) for counts in table)
    sizes = [counts.sum(axis=1) for counts in table]
    error = np.sqrt(first * (1 - first) / sizes[0] + second * (1 - second) / sizes[1])
    weights = np.log(first / (1 - first)) - np.log(second / (1 - second))
    weights[np.abs(first - second) < _LEAST_Z * error] = 0
    means = [weights @ first, weights @ second]
    spread = max(math.sqrt(weights**2 @ (chance * (1 - chance))) for chance in (first, second)) + 1e-3
    edges = np.linspace(min(means) - 4 * spread, max(means) + 4 * spread, SCORE_CELLS - 1)
    return Scorer(weights.astype(np.float32), edges.astype(np.float32))


def choose_events(training: Sequence[Paired]) -> list[Event]:
    """Choose for each pair, either way round, and each kind of feature the set that promises most."""
    events = []
    for pair in range(len(training[0].chosen.pairs)):
        summed: dict[str, Table] = {}
        for tallies in training:
            for feature, table in tallies.tables(pair):
                before = summed.get(feature)
                summed[feature] = (before[0] + table[0], before[1] + table[1]) if before else table
        for feature, (first, second) in summed.items():
            events.append(_best_event(pair, False, feature, first, second))
            events.append(_best_event(pair, True, feature, second, first))
    return events


def _best_event(pair: int, is_reversed: bool, feature: str, first: Counts, second: Counts) -> Event:
    """Take values in the order of their ratio of chances, and stop where the bound is likely to be best."""
    order = np.argsort(-(first + 0.5) / (second + 0.5), axis=1, kind="stable")
    likelier = np.take_along_axis(first, order, axis=1).cumsum(axis=1)
    rarer = np.take_along_axis(second, order, axis=1).cumsum(axis=1)
    low = np.maximum(likelier - _ERRORS * np.sqrt(likelier), 0.5) / first.sum(axis=1)[:, None]
    high = (rarer + _ERRORS * np.sqrt(rarer) + _ERRORS**2) / second.sum(axis=1)[:, None]
    number, last = np.unravel_index(np.argmax(low / high), low.shape)
    values = np.zeros(first.shape[1], dtype=np.bool_)
    values[order[number, : last + 1]] = True
    return Event(pair, is_reversed, feature, int(number), values)


def lower_bounds(events: list[Event], tested: Paired, false_alarm: float) -> list[LowerBound]:
    """Bound ε by each event, on reports that had no part in choosing it.

    All bounds hold together, with a chance of at least 1 − ``false_alarm``.
    """
    each, bounds = false_alarm / (2 * len(events)), []
    by_pair = [dict(tested.tables(pair)) for pair in range(len(tested.chosen.pairs))]
    for event in events:
        first, second = by_pair[event.pair][event.feature]
        if event.is_reversed:
            first, second = second, first
        hits = [int(counts[event.number, event.values].sum()) for counts in (first, second)]
        totals = [int(counts[event.number].sum()) for counts in (first, second)]
        likelier = smallest_chance(hits[0], totals[0], each) * (1 - _ROUNDING)
        bounds.append(LowerBound(event, likelier, min(1.0, largest_chance(hits[1], totals[1], each) * (1 + _ROUNDING))))
    return bounds


def smallest_chance(count: int, trials: int, alpha: float) -> float:
    """Return the lower Clopper–Pearson bound: no smaller chance makes at least ``count`` as likely as alpha."""
    from scipy.stats import beta

    return float(beta.ppf(alpha, count, trials - count + 1)) if count else 0.0


def largest_chance(count: int, trials: int, alpha: float) -> float:
    """Return the upper Clopper–Pearson bound.

    >>> round(largest_chance(0, 10, 0.05), 4), largest_chance(10, 10, 0.05)
    (0.2589, 1.0)
    """
    from scipy.stats import beta

    return float(beta.isf(alpha, count + 1, trials - count)) if count < trials else 1.0
