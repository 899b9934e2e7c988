"""The exact law of a randomizer: the shipping code, run once for every way its draws can fall.

Beside it stands repeatable randomness for tests and simulations; never for reports of real people.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assocpriv.promise.entropy import Entropy, SystemEntropy, WordEntropy
from assocpriv.promise.numbers import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray


_Outcome = TypeVar("_Outcome", bound=Hashable)


class _ScriptedEntropy:
    """Answers draws from a script, and records the probability of all answers and the next answers to try.

    The probability is ``ways`` / ``total``, not in lowest terms: these take longer than all else.
    """

    def __init__(self, script: Sequence[int]) -> None:
        self._script = script
        self.answers: list[int] = []
        self.counts: list[int] = []
        self.ways = self.total = 1

    def _draw(self, count: int) -> int:
        place = len(self.answers)
        answer = self._script[place] if place < len(self._script) else 0
        self.answers.append(answer)
        self.counts.append(count)
        return answer

    def below(self, n: int) -> int:
        self.total *= n
        return self._draw(n)

    def pick(self, cumulative: Sequence[int]) -> int:
        answer = self._draw(len(cumulative))
        self.ways *= cumulative[answer] - (cumulative[answer - 1] if answer else 0)
        self.total *= cumulative[-1]
        return answer

    def coins(self, count: int, num: int, bits: int) -> int:
        answer = self._draw(1 << count)
        ones = answer.bit_count()
        self.ways *= num**ones * ((1 << bits) - num) ** (count - ones)
        self.total <<= bits * count
        return answer


def distribution(run: Callable[[Entropy], _Outcome]) -> dict[_Outcome, Fraction]:
    """Return the probability of every outcome of a randomizer applied to a fixed input, as fractions that add up to 1.

    ``run`` is called once for every sequence of draws.

    >>> distribution(lambda entropy: entropy.below(3) % 2)
    {0: Fraction(2, 3), 1: Fraction(1, 3)}
    """
    outcomes: dict[_Outcome, dict[int, int]] = {}  # of each the ways it comes about, by their total
    script: list[int] | None = []
    while script is not None:
        entropy = _ScriptedEntropy(script)
        ways = outcomes.setdefault(run(entropy), {})
        ways[entropy.total] = ways.get(entropy.total, 0) + entropy.ways
        # the last draw that has another answer is advanced; where none has, all sequences have been walked
        answers = entropy.answers
        open_places = [place for place, answer in enumerate(answers) if answer + 1 < entropy.counts[place]]
        script = [*answers[: open_places[-1]], answers[open_places[-1]] + 1] if open_places else None
    return {
        outcome: sum((Fraction(count, total) for total, count in ways.items()), Fraction(0))
        for outcome, ways in outcomes.items()
    }


class SeededEntropy(WordEntropy):
    """Words of a PCG-64 generator: whoever knows the seed can undo every report drawn from it."""

    __slots__ = ("_generator",)

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return the next ``count`` words, uint64 of shape (count,)."""
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)


def source_of(seed: int | None) -> WordEntropy:
    """Return a source that a seed repeats, or without one the operating system's."""
    return SystemEntropy() if seed is None else SeededEntropy(check_whole("seed", seed))
