"""The exact output distribution of a randomizer: the shipped code, run once for every sequence of draws.

The module also has seeded randomness for tests and simulations, never for reports of real people.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assocpriv.guarantees.entropy import Entropy, SystemEntropy, WordEntropy
from assocpriv.guarantees.exact_numbers import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray


_Outcome = TypeVar("_Outcome", bound=Hashable)


class _ScriptedEntropy:
    """Returns draws from a script, and records the draws, their numbers of outcomes and their joint probability.

    The probability is ``ways`` / ``total``, not in lowest terms, since reducing fractions would dominate the run time.
    """

    def __init__(self, script: Sequence[int]) -> None:
        self._script = script
        self.drawn: list[int] = []
        self.counts: list[int] = []
        self.ways = self.total = 1

    def _draw(self, count: int) -> int:
        place = len(self.drawn)
        outcome = self._script[place] if place < len(self._script) else 0
        self.drawn.append(outcome)
        self.counts.append(count)
        return outcome

    def below(self, n: int) -> int:
        self.total *= n
        return self._draw(n)

    def pick(self, cumulative: Sequence[int]) -> int:
        outcome = self._draw(len(cumulative))
        self.ways *= cumulative[outcome] - (cumulative[outcome - 1] if outcome else 0)
        self.total *= cumulative[-1]
        return outcome

    def random_bits(self, count: int, num: int, bits: int) -> int:
        outcome = self._draw(1 << count)
        ones = outcome.bit_count()
        self.ways *= num**ones * ((1 << bits) - num) ** (count - ones)
        self.total <<= bits * count
        return outcome


def distribution(run: Callable[[Entropy], _Outcome]) -> dict[_Outcome, Fraction]:
    """Return the exact probability of each outcome of a randomizer for a fixed input.

    ``run`` is called once for every sequence of draws.

    >>> distribution(lambda entropy: entropy.below(3) % 2)
    {0: Fraction(2, 3), 1: Fraction(1, 3)}
    """
    outcomes: dict[_Outcome, dict[int, int]] = {}  # the ways of each outcome, by their total
    script: list[int] | None = []
    while script is not None:
        entropy = _ScriptedEntropy(script)
        ways = outcomes.setdefault(run(entropy), {})
        ways[entropy.total] = ways.get(entropy.total, 0) + entropy.ways
        # advance the last draw that has another outcome; if none has, all sequences are done
        drawn = entropy.drawn
        open_places = [place for place, outcome in enumerate(drawn) if outcome + 1 < entropy.counts[place]]
        script = [*drawn[: open_places[-1]], drawn[open_places[-1]] + 1] if open_places else None
    shares = {each: [Fraction(count, total) for total, count in ways.items()] for each, ways in outcomes.items()}
    return {outcome: sum(parts, Fraction(0)) for outcome, parts in shares.items()}


class SeededEntropy(WordEntropy):
    """Random words of a PCG-64 generator; knowing the seed reveals the raw data of every report drawn from it."""

    __slots__ = ("_generator",)

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return the next ``count`` words, uint64 of shape (count,)."""
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)


def entropy_source(seed: int | None) -> WordEntropy:
    """Return a seeded entropy source, or without a seed the operating system's."""
    return SystemEntropy() if seed is None else SeededEntropy(check_whole("seed", seed))
