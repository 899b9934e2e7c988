"""The exact outcome distribution of a randomizer: the shipping code, run once for every way its draws can fall."""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from assocpriv.core.entropy import Entropy

_Outcome = TypeVar("_Outcome", bound=Hashable)


class _ScriptedEntropy:
    """Answers draws from a script, and records each draw's probability and the next answer to try."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = script
        self.answers: list[int] = []
        self.counts: list[int] = []
        self.probability = Fraction(1)

    def _draw(self, count: int, chance: Callable[[int], Fraction]) -> int:
        place = len(self.answers)
        answer = self._script[place] if place < len(self._script) else 0
        self.answers.append(answer)
        self.counts.append(count)
        self.probability *= chance(answer)
        return answer

    def below(self, n: int) -> int:
        return self._draw(n, lambda _: Fraction(1, n))

    def pick(self, cumulative: Sequence[int]) -> int:
        total = cumulative[-1]

        def chance(answer: int) -> Fraction:
            return Fraction(cumulative[answer] - (cumulative[answer - 1] if answer else 0), total)

        return self._draw(len(cumulative), chance)

    def coins(self, count: int, num: int, bits: int) -> int:
        rho = Fraction(num, 1 << bits)

        def chance(answer: int) -> Fraction:
            ones = answer.bit_count()
            return rho**ones * (1 - rho) ** (count - ones)

        return self._draw(1 << count, chance)


def distribution(run: Callable[[Entropy], _Outcome]) -> dict[_Outcome, Fraction]:
    """Return the probability of every outcome of a randomizer applied to a fixed input, as fractions that add up to 1.

    ``run`` is called once for every sequence of draws.

    >>> distribution(lambda entropy: entropy.below(3) % 2)
    {0: Fraction(2, 3), 1: Fraction(1, 3)}
    """
    outcomes: dict[_Outcome, Fraction] = {}
    script: list[int] | None = []
    while script is not None:
        entropy = _ScriptedEntropy(script)
        outcome = run(entropy)
        outcomes[outcome] = outcomes.get(outcome, Fraction(0)) + entropy.probability
        script = _next_script(entropy)
    return outcomes


def _next_script(entropy: _ScriptedEntropy) -> list[int] | None:
    """Advance the last draw that has another answer; None when all sequences have been walked."""
    answers = entropy.answers
    for place in range(len(answers) - 1, -1, -1):
        if answers[place] + 1 < entropy.counts[place]:
            return [*answers[:place], answers[place] + 1]
    return None
