"""Entropies that an audit hands to a client: steered, answered from a list, replayed and recorded."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from assocpriv.audit.findings import Fault
from assocpriv.core.entropy import Entropy, WordEntropy


class KeptOnly:
    """Passes on the draws that decide what is kept, the first ``ranks`` numbers among them; others draws the rest."""

    def __init__(self, walked: Entropy, others: Entropy, ranks: int) -> None:
        self._walked, self._others, self._ranks = walked, others, ranks
        self.pick, self.coins = walked.pick, others.coins

    def below(self, n: int) -> int:
        """Return a number below n, of the walk while it decides what is kept."""
        self._ranks -= 1
        return (self._walked if self._ranks >= 0 else self._others).below(n)


class Picked:
    """Answers the pick with a given index, and passes all other draws on."""

    def __init__(self, entropy: Entropy, index: int) -> None:
        self._index = index
        self.below, self.coins = entropy.below, entropy.coins

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the index given."""
        return min(self._index, len(cumulative) - 1)


class Listed:
    """Answers one pick with a given index, and other draws from a list; notes what was asked.

    Attributes:
        asked: of each draw but the pick its n, or (count, num, bits); ``below(1)`` is none.
    """

    def __init__(self, index: int, answers: Sequence[int]) -> None:
        self._index, self._answers = index, list(answers)
        self.asked: list[object] = []

    def _next(self, draw: object) -> int:
        self.asked.append(draw)
        if not self._answers:
            raise Fault("The client draws more than docs/formats.md says.")
        return self._answers.pop(0)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the index given."""
        return min(self._index, len(cumulative) - 1)

    def below(self, n: int) -> int:
        """Return the next answer, reduced below n."""
        return self._next(n) % n if n > 1 else 0

    def coins(self, count: int, num: int, bits: int) -> int:
        """Return the next answer, cut to its coins."""
        return self._next((count, num, bits)) & ((1 << count) - 1)


class Replayed(WordEntropy):
    """Hands out given words, and no more."""

    __slots__ = ("_left",)

    def __init__(self, given: Iterable[int]) -> None:
        self._left = list(given)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        if count > len(self._left):
            raise Fault("A client or a draw takes more random words than docs/formats.md says.")
        handed, self._left = self._left[:count], self._left[count:]
        return np.array(handed, dtype=np.uint64)


class Recorded(WordEntropy):
    """Hands out the first words of a case, then a source's, and keeps them all."""

    __slots__ = ("_first", "_source", "given")

    def __init__(self, source: WordEntropy) -> None:
        self._source, self._first = source, np.empty(0, dtype=np.uint64)
        self.given: list[NDArray[np.uint64]] = []

    def lead(self, first: list[int]) -> None:
        """Hand out these words next."""
        self._first = np.array(first, dtype=np.uint64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        led, self._first = self._first[:count], self._first[count:]
        self.given.append(np.concatenate([led, self._source.words(count - len(led))]))
        return self.given[-1]
