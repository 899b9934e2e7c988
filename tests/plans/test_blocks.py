"""Public random blocks: the cuts by their rule, read word by word, and that they fall evenly."""

from itertools import combinations

import numpy as np
import pytest

from assocpriv.plans.view import Blocks
from assocpriv.promise.errors import PlanError


def fmix32(word: int) -> int:
    """Return the finalizer of MurmurHash3, in plain integers."""
    word = (word ^ word >> 16) * 0x85EBCA6B % 2**32
    word = (word ^ word >> 13) * 0xC2B2AE35 % 2**32
    return word ^ word >> 16


def naive_members(blocks: Blocks, block: int, n: int) -> list[int]:
    """Return the entries of a block by the rule of the documents."""
    partition, piece = divmod(block, blocks.pieces)
    start = fmix32((fmix32(blocks.seed) + partition) % 2**32)
    by_key = sorted(range(n), key=lambda entry: fmix32(fmix32(entry) ^ start))
    return sorted(entry for rank, entry in enumerate(by_key) if rank * blocks.pieces // n == piece)


@pytest.mark.parametrize(("n", "partitions", "pieces", "seed"), [(10, 3, 4, 0), (64, 2, 8, 7), (101, 4, 9, 2**32 - 1)])
def test_blocks_follow_the_rule(n: int, partitions: int, pieces: int, seed: int) -> None:
    """Members, tables and places are those of the rule; each partition holds every entry once."""
    blocks = Blocks(partitions, pieces, seed)
    table = blocks.table(n)
    for block in range(blocks.count):
        partition, piece = divmod(block, pieces)
        wanted = naive_members(blocks, block, n)
        assert blocks.members(block, n).tolist() == wanted
        assert table.entries[partition, table.starts[piece] : table.starts[piece + 1]].tolist() == wanted
        assert table.places[partition, wanted].tolist() == list(range(len(wanted)))
        assert (table.pieces[partition, wanted] == piece).all()
        assert n // pieces <= len(wanted) <= blocks.longest(n)
        assert blocks.places(block, [0, n // 2, n - 1], n) == [
            wanted.index(i) for i in (0, n // 2, n - 1) if i in wanted
        ]
    assert np.array_equal(np.sort(table.entries, axis=1), np.tile(np.arange(n), (partitions, 1)))


def test_pairs_and_triples_meet_as_often_as_at_random() -> None:
    """Of 512 partitions into eight pieces a pair meets in a share of .12 ± .014, as coins would have it.

    The seed is fixed, so that the test cannot fail by chance. A partition that repeated another would give twice the
    variance: of pairs it stays within 10% of the binomial's.
    """
    n, blocks = 60, Blocks(512, 8)
    pieces = blocks.table(n).pieces
    together = np.array([(pieces[:, i] == pieces[:, j]).sum() for i, j in combinations(range(n), 2)])
    sizes = np.diff(blocks.table(n).starts)
    share = (sizes * (sizes - 1)).sum() / (n * (n - 1))
    assert together.mean() == pytest.approx(512 * share)
    assert together.var() == pytest.approx(512 * share * (1 - share), rel=0.1)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 2), "partitions"),
        ((1, 1), "pieces"),
        ((40_000, 2), "partitions"),
        ((1, 2, -1), "seed"),
        ((1.0, 2), "integer"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers: tuple[int, ...], message: str) -> None:
    """What a plan's text may say of blocks is bounded."""
    with pytest.raises(PlanError, match=message):
        Blocks(*numbers)


def test_too_small_blocks_are_refused() -> None:
    """A block holds at least as many entries as the largest itemset has."""
    Blocks(2, 4).check_catalogue(12, 3)
    with pytest.raises(PlanError, match="fewer pieces"):
        Blocks(2, 4).check_catalogue(11, 3)
    with pytest.raises(PlanError, match="at most 16 for so many"):
        Blocks(17, 4).check_catalogue(1 << 20, 3)
