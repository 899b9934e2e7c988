"""Randomize many transactions at once, in compiled code fed with blocks of entropy.

This module sees raw items. For equal words the reports equal those of client/itemset.py, one transaction
after the other.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets import Baskets
from assocpriv.client.itemset import kept_subsets
from assocpriv.core.codes import WORD_BITS, item_columns
from assocpriv.core.entropy import WordEntropy
from assocpriv.core.errors import BasketError, PlanError
from assocpriv.core.parallel import map_ahead
from assocpriv.core.plan import Plan

CHUNK = 1 << 15  # transactions a task randomizes at most
_CHUNK_WORDS = 1 << 20  # of their reports: 8 MiB
_SPARE_WORDS = 64
_MOST_SOLVED = 1024  # transactions
SOLVED_WORDS = 1 << 15  # of their equations: 256 KiB, to stay in a second cache


@dataclass(frozen=True)
class RandomizedChunk:
    """Reports of consecutive transactions, and what only the device may know of them.

    Attributes:
        packed: the reports, uint8 of shape (n, report_bytes).
        raw_fitted: the M items (dummies included) that each transaction was cut or padded to, int64 (n, M).
    """

    packed: NDArray[np.uint8]
    raw_fitted: NDArray[np.int64] = field(repr=False)


class BulkRandomizer:
    """Tables of one plan in the kernel's form; built once for any number of chunks."""

    def __init__(self, plan: Plan) -> None:
        operator = plan.operator
        subsets = kept_subsets(operator)
        n_words = -(-operator.weight_bits // WORD_BITS)
        cumulative = np.array(
            [
                [total >> (WORD_BITS * i) & 0xFFFFFFFFFFFFFFFF for i in range(n_words)]
                # the last total is 2^weight_bits, which may not fit; no draw reaches it, so any value does
                for total in subsets.cumulative
            ],
            dtype=np.uint64,
        )
        self.plan = plan
        self._subsets = (cumulative, np.array(subsets.masks, dtype=np.int64))
        items = np.arange(plan.padded_items, dtype=np.int64)
        self._columns = (
            np.empty((0, 1, 1), dtype=np.uint64)
            if plan.generator.kind == "none"
            else item_columns(plan.generator, operator.insert_bits, items)
        )
        self._shape = np.array(
            [
                plan.n_items,
                plan.transaction_size,
                operator.insert_num,
                operator.insert_bits,
                operator.weight_bits,
                plan.report_bits,
                _solved_slots(plan),
            ],
            dtype=np.int64,
        )

    def words_needed(self, baskets: Baskets) -> int:
        """Return how many words these transactions use at most when no draw is rejected."""
        plan, operator = self.plan, self.plan.operator
        report_words = -(-plan.report_bits // WORD_BITS)
        each = -(-operator.weight_bits // WORD_BITS)
        if plan.generator.kind == "none":
            each += report_words * operator.insert_bits
        else:
            each += report_words + plan.transaction_size * int(operator.insert_bits > 1)
        sampled = int((baskets.sizes > plan.transaction_size).sum())
        return len(baskets) * each + sampled * plan.transaction_size

    def randomize(self, baskets: Baskets, words: NDArray[np.uint64], entropy: WordEntropy) -> RandomizedChunk:
        """Randomize transactions with the words given first, then with further words of ``entropy``."""
        from assocpriv.core.kernels import OUT_OF_WORDS, randomize_transactions

        n_words = -(-self.plan.report_bits // WORD_BITS)
        reports = np.zeros((len(baskets), n_words), dtype=np.uint64)
        fitted = np.zeros((len(baskets), self.plan.transaction_size), dtype=np.int64)
        done = 0
        while True:
            more, used, status = randomize_transactions(
                baskets.offsets[done:],
                baskets.items,
                words,
                self._subsets,
                self._columns,
                self._shape,
                fitted[done:],
                reports[done:],
            )
            done += more
            if status == 0:
                break
            if status != OUT_OF_WORDS:
                raise PlanError("the plan's generator does not have the independence it states")
            words = np.concatenate([words[used:], entropy.words(_SPARE_WORDS + len(words) // 16)])
        packed = reports.astype("<u8", copy=False).view(np.uint8)[:, : self.plan.report_bytes]
        return RandomizedChunk(np.ascontiguousarray(packed), fitted)


def _solved_slots(plan: Plan) -> int:
    """Return how many transactions' equations to keep solved, a power of two."""
    equations = plan.transaction_size * plan.operator.insert_bits
    each = equations * (-(-plan.report_bits // WORD_BITS) + -(-equations // WORD_BITS) + 1)
    return 1 << max(1, min(_MOST_SOLVED, SOLVED_WORDS // each)).bit_length() - 1


def _check_batch(baskets: Baskets, plan: Plan) -> None:
    """Refuse another catalogue, and arrays that no constructor makes: compiled code would read beyond its tables."""
    if baskets.catalogue != plan.catalogue:
        raise BasketError("the baskets do not use the plan's catalogue; align them with Baskets.aligned first")
    offsets = baskets.offsets - baskets.offsets[0]
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    rising = np.diff(items) > 0
    starts = offsets[1:-1]
    rising[starts[(starts > 0) & (starts < len(items))] - 1] = True
    in_range = not len(items) or (items.min() >= 0 and items.max() < len(baskets.catalogue))
    if (np.diff(offsets) < 0).any() or not in_range or not rising.all():
        raise BasketError("ids must lie in the catalogue and rise within each basket; use Baskets.from_sets")


def randomize_chunks(
    baskets: Baskets | Iterable[Baskets],
    plan: Plan,
    *,
    entropy: WordEntropy,
    chunk: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[RandomizedChunk]:
    """Randomize all transactions, at hand or batch by batch, in order, on all cores (or ``workers`` threads).

    Words are drawn here, chunk by chunk, so that a seeded source gives the same reports on any number of cores (for
    one chunk size; only if more draws were rejected than the spare words serve, which has a chance below 2^-1000,
    would threads draw for themselves).

    ``progress`` is called with (baskets done, baskets so far) when the next chunk is asked for.

    Raises:
        BasketError: the baskets do not use the plan's catalogue, or hold ids outside it.
    """
    randomizer = BulkRandomizer(plan)
    chunk = chunk or min(CHUNK, max(1, _CHUNK_WORDS * WORD_BITS // plan.report_bits))

    done = total = 0

    def parts() -> Iterator[tuple[Baskets, NDArray[np.uint64]]]:
        nonlocal total
        for batch in [baskets] if isinstance(baskets, Baskets) else baskets:
            _check_batch(batch, plan)
            total += len(batch)
            for start in range(0, len(batch), chunk):
                part = batch[start : start + chunk]
                yield part, entropy.words(randomizer.words_needed(part) + _SPARE_WORDS)

    for randomized in map_ahead(lambda given: randomizer.randomize(*given, entropy), parts(), workers):
        yield randomized
        done += len(randomized.packed)
        if progress:
            progress(done, total)
