"""Repeatable randomness for tests and simulations; never for reports of real people."""

from typing import TYPE_CHECKING

import numpy as np

from assocpriv.promise.entropy import WordEntropy

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SeededEntropy(WordEntropy):
    """Words of a PCG-64 generator: whoever knows the seed can undo every report drawn from it."""

    __slots__ = ("_generator",)

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return the next ``count`` words, uint64 of shape (count,)."""
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)
