"""Many tuples at once, as arrays fed with blocks of entropy.

This module sees raw values, as positions of the plan's values. For equal words the reports equal those of
client/guided/randomizer.py, one tuple after the other. numpy does this at the speed of the words themselves.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.guided.randomizer import Perturbation, accept
from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import TUPLE_BITS, GuidedPlan, TupleMix
from assocpriv.promise.entropy import WordEntropy

CHUNK_BITS = 1 << 18  # of the tuples that a task perturbs: their words take 2 MiB
_U32, _LOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)


class TupleRandomizer:
    """Tuples of one plan under one guidance, for any number of chunks."""

    def __init__(self, plan: GuidedPlan, guidance: Guidance) -> None:
        self._perturbation, self._plan = Perturbation(plan, guidance), plan
        drawn = 2 * len(plan.sizes) + 1 if isinstance(plan.safeguard, TupleMix) else len(plan.sizes)
        self.words = drawn + plan.width  # of a tuple, when no draw is rejected
        self.chunk = max(1, CHUNK_BITS // self.words)
        self._sizes = np.array(plan.sizes, dtype=np.uint64)
        # 2^64 mod size: a product below it is drawn again; 0 where the size is a power of two
        self._rejected = (np.uint64(0) - self._sizes) % self._sizes

    def randomize(
        self, raw_positions: NDArray[np.int32], words: NDArray[np.uint64], entropy: WordEntropy
    ) -> tuple[NDArray[np.uint8], int]:
        """Return the bits of tuples, uint8 (n, w), and how many weights were clipped.

        Args:
            raw_positions: int32 (n, attributes); an attribute's number of values is a missing one.
            words: uint64 (n · words,), used first; further ones are drawn if a draw is rejected.
            entropy: of further words.
        """
        rows = words.reshape(len(raw_positions), self.words)
        n = len(self._sizes)
        fills, accepted = self._below(rows[:, :n])
        answered = np.where(raw_positions == self._sizes.astype(np.int64), fills, raw_positions)
        if isinstance(self._plan.safeguard, TupleMix):
            other, also = self._below(rows[:, n : 2 * n])
            own = rows[:, 2 * n] & np.uint64((1 << TUPLE_BITS) - 1) < np.uint64(self._plan.safeguard.honest)
            answered, accepted = np.where(own[:, None], answered, other), accepted and also
        if not accepted:  # once in 2^50 tuples
            return self._one_by_one(raw_positions, words, entropy), 0
        weights, clipped = self._perturbation.weights(answered)
        drawn = rows[:, self.words - self._plan.width :] & np.uint64(self._perturbation.total - 1)
        return (drawn < weights.astype(np.uint64)).view(np.uint8), clipped

    def _below(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], bool]:
        """Return draws below each size, and whether all words were accepted; see promise/entropy.py."""
        scaled = (words >> _U32) * self._sizes + ((words & _LOW32) * self._sizes >> _U32) >> _U32
        drawn = np.where(self._rejected == 0, words & (self._sizes - np.uint64(1)), scaled)
        return drawn.astype(np.int64), not (words * self._sizes < self._rejected).any()

    def _one_by_one(
        self, raw_positions: NDArray[np.int32], words: NDArray[np.uint64], entropy: WordEntropy
    ) -> NDArray[np.uint8]:
        source = _Given(words, entropy)
        rows = [self._perturbation.release(row, source) for row in raw_positions.tolist()]
        return np.array(rows, dtype=np.uint8)


class _Given(WordEntropy):
    """Hands out given words, then a source's."""

    __slots__ = ("_source", "_used", "_words")

    def __init__(self, words: NDArray[np.uint64], source: WordEntropy) -> None:
        self._words, self._source, self._used = words, source, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        given = self._words[self._used : self._used + count]
        self._used += len(given)
        return given if len(given) == count else np.concatenate([given, self._source.words(count - len(given))])


def randomize_tuples(
    raw_positions: NDArray[np.int32],
    classes: NDArray[np.integer],
    plan: GuidedPlan,
    guidance: Guidance,
    *,
    entropy: WordEntropy,
) -> NDArray[np.uint8]:
    """Return the reports, uint8 (n, report_bytes), of tuples that answer guidance.

    Args:
        raw_positions: of the attributes' values, (n, attributes); an attribute's number of values is a missing one.
        classes: positions of the labels, (n,).
        plan, guidance: as published; the guidance is checked.
        entropy: source of every draw.
    """
    inputs = np.column_stack([raw_positions, classes]).astype(np.int32)
    return np.concatenate(list(randomize_inputs([inputs], plan, guidance, entropy=entropy)))


def randomize_inputs(
    batches: Iterable[NDArray[np.int32]],
    plan: GuidedPlan,
    guidance: Guidance,
    *,
    entropy: WordEntropy,
    workers: int | None = None,
    clipped: Callable[[int], None] | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports, uint8 (n, report_bytes), of batches of inputs, int32 (n, attributes + 1), the class last.

    Words are drawn here, chunk by chunk, so that a seeded source gives the same reports on any number of cores.
    ``clipped`` is called with how many probabilities were above 1, and taken for 1.
    """
    accept(guidance, plan)
    randomizer = TupleRandomizer(plan, guidance)

    def parts() -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
        for batch in batches:
            check_inputs(batch, plan)
            for start in range(0, len(batch), randomizer.chunk):
                part = batch[start : start + randomizer.chunk]
                yield part, entropy.words(len(part) * randomizer.words)

    def work(given: tuple[NDArray[np.int32], NDArray[np.uint64]]) -> tuple[NDArray[np.uint8], int]:
        bits, over = randomizer.randomize(given[0][:, :-1], given[1], entropy)
        return plan.pack(guidance.serial, given[0][:, -1], bits), over

    for packed, over in map_ahead(work, parts(), workers):
        yield packed
        if clipped:
            clipped(over)


def check_inputs(inputs: NDArray[np.int32], plan: GuidedPlan) -> None:
    """Refuse inputs that are not the plan's."""
    most = np.array([*plan.sizes, len(plan.labels) - 1])
    if inputs.ndim != 2 or inputs.shape[1] != len(most):
        raise TypeError(f"inputs must have shape (records, {len(most)}), got {inputs.shape}")
    if len(inputs) and not ((inputs >= 0).all() and (inputs <= most).all()):
        raise ValueError("inputs must lie within the plan's columns")
