"""Every compiled kernel against its naive twin; passes compiled, with bounds checks and without compilation."""

import naive
import numpy as np
import pytest

from assocpriv.client.bulk import BulkRandomizer
from assocpriv.core.kernels import (
    BLOCK,
    OUT_OF_WORDS,
    PAIR_BLOCK,
    count_pairs,
    count_supersets,
    expand_items,
    fill_rows,
    randomize_transactions,
    transpose_reports,
)

LENGTHS = (0, 1, 63, 64, 65, 130)


@pytest.fixture(autouse=True)
def _wrap_around():
    """Without compilation numpy warns where unsigned integers wrap around, as they are meant to."""
    with np.errstate(over="ignore"):
        yield


def random_words(rng, *shape):
    """Return uniform words."""
    return rng.integers(0, 1 << 64, size=shape, dtype=np.uint64)


@pytest.mark.parametrize("n_words", [1, 2, 3])
@pytest.mark.parametrize("n_reports", LENGTHS)
def test_transpose_reports(rng, n_reports, n_words):
    """Plane b of reports holds bit b of every report, and zeros beyond the last."""
    reports = random_words(rng, n_reports, n_words)
    planes = random_words(rng, 64 * n_words, -(-n_reports // 64))
    transpose_reports(reports, planes)
    assert np.array_equal(planes, naive.transpose_reports(reports))


@pytest.mark.parametrize("r", range(1, 9))
@pytest.mark.parametrize("n_reports", LENGTHS)
def test_expand_items(rng, n_reports, r):
    """An item shows where the r inner products are below a, for the least, greatest and some other a; tails are 0."""
    n_words = 1 + r % 3
    columns = random_words(rng, 3, r, n_words)
    columns[1, 0] = 0
    planes = random_words(rng, 64 * n_words, -(-n_reports // 64))
    for num in {1, int(rng.integers(1, 1 << r)), (1 << r) - 1}:
        for group_bits in (4, 8):
            rows = random_words(rng, 3, planes.shape[1])
            expand_items(planes, columns, num, n_reports, group_bits, rows)
            assert np.array_equal(rows, naive.expand_items(planes, columns, num, n_reports))


@pytest.mark.parametrize("blocks_and", [0, 1])
def test_expand_items_over_several_blocks(rng, blocks_and):
    """Rows longer than the kernel's block are expanded alike, where the block ends too."""
    planes = random_words(rng, 64, BLOCK + blocks_and)
    columns = random_words(rng, 1, 2, 1)
    n_reports = 64 * planes.shape[1] - 5
    rows = random_words(rng, 1, planes.shape[1])
    expand_items(planes, columns, 3, n_reports, 4, rows)
    assert np.array_equal(rows, naive.expand_items(planes, columns, 3, n_reports))


@pytest.mark.parametrize("n_transactions", LENGTHS)
def test_fill_rows(rng, n_transactions):
    """Rows show who holds which item; items without a row are left out, offsets need not start at 0."""
    row_of_item = np.array([2, -1, 0, 1, -1], dtype=np.int64)
    chosen = rng.random((n_transactions + 1, 5)) < 0.5
    flat = np.concatenate([np.flatnonzero(row) for row in chosen]).astype(np.int64)
    offsets = np.cumsum([0, *chosen.sum(axis=1)], dtype=np.int64)[1:]  # a slice without the first basket
    rows = np.zeros((3, -(-n_transactions // 64)), dtype=np.uint64)
    fill_rows(offsets, flat, row_of_item, rows)
    transactions = [np.flatnonzero(row) for row in chosen[1:]]
    assert np.array_equal(rows, naive.fill_rows(transactions, row_of_item, 3))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("n_words", [0, 1, 2, 3, BLOCK, BLOCK + 1])
def test_count_supersets(rng, n_words, k):
    """Counts are added to what is there, in lexicographic and in any other order of itemsets."""
    rows = random_words(rng, 6, n_words)
    rows[:, ::2] |= random_words(rng, 6, n_words)[:, ::2]
    itemsets = np.array([sorted(rng.choice(6, k, replace=False)) for _ in range(5)], dtype=np.int64)
    for ordered in (itemsets, itemsets[np.lexsort(itemsets.T[::-1])]):
        counts = np.arange(5, dtype=np.int64)
        count_supersets(rows, ordered, counts)
        assert np.array_equal(counts, np.arange(5) + naive.count_supersets(rows, ordered))


@pytest.mark.parametrize("n_rows", [4, 8, 64, 68, 132])
@pytest.mark.parametrize("n_words", [0, 1, 3])
def test_count_pairs(rng, n_rows, n_words):
    """The triangle on and below the diagonal holds the count of every pair, within and across panels of rows."""
    rows = random_words(rng, n_rows, n_words)
    counts = np.zeros((n_rows, n_rows), dtype=np.int64)
    count_pairs(rows, counts)
    pairs = np.column_stack(np.tril_indices(n_rows))
    assert np.array_equal(counts[pairs[:, 0], pairs[:, 1]], naive.count_supersets(rows, pairs))


@pytest.mark.parametrize("n_words", [PAIR_BLOCK, PAIR_BLOCK + 1])
def test_count_pairs_over_several_blocks(rng, n_words):
    """Rows longer than the kernel's block are counted alike."""
    rows = random_words(rng, 4, n_words)
    counts = np.zeros((4, 4), dtype=np.int64)
    count_pairs(rows, counts)
    pairs = np.column_stack(np.tril_indices(4))
    assert np.array_equal(counts[pairs[:, 0], pairs[:, 1]], naive.count_supersets(rows, pairs))


def test_count_supersets_of_no_itemsets():
    """No itemsets, no counts."""
    counts = np.zeros(0, dtype=np.int64)
    count_supersets(np.ones((2, 1), dtype=np.uint64), np.zeros((0, 2), dtype=np.int64), counts)
    assert not counts.size


def run_kernel(plan, transactions, words):
    """Call the kernel with a plan's tables; return what the twin returns, and the status."""
    bulk, n = BulkRandomizer(plan), len(transactions)
    offsets = np.cumsum([0, *map(len, transactions)], dtype=np.int64)
    items = np.array([item for transaction in transactions for item in sorted(transaction)], dtype=np.int64)
    fitted = np.zeros((n, plan.transaction_size), dtype=np.int64)
    reports = np.zeros((n, -(-plan.report_bits // 64)), dtype=np.uint64)
    done, used, status = randomize_transactions(
        offsets, items, words, bulk._subsets, bulk._columns, bulk._shape, fitted, reports
    )
    octets = reports.astype("<u8").view(np.uint8)[:done, : plan.report_bytes]
    return ([row.tobytes() for row in octets], fitted[:done].tolist(), used), status


@pytest.mark.parametrize("n_transactions", LENGTHS)
@pytest.mark.parametrize(("code", "m", "k"), [("none", 4, 2), ("bch", 3, 2), ("reed-solomon", 2, 1)])
def test_randomize_transactions(rng, code, m, k, n_transactions):
    """Reports, fitted items and words used are the one-report client's, rejected words included."""
    plan = naive.small_plan(code, 9, m, k, insert=(3, 3))
    words = random_words(rng, 14 * n_transactions)
    words[rng.random(len(words)) < 0.2] = 0  # every draw below an n that is no power of 2 rejects 0
    transactions = [set(np.flatnonzero(rng.random(9) < 0.4).tolist()) for _ in range(n_transactions)]
    wanted = naive.randomize_transactions(transactions, plan, words)
    got, status = run_kernel(plan, transactions, words)
    assert got == wanted
    assert (status == OUT_OF_WORDS) == (len(wanted[0]) < n_transactions)


@pytest.mark.parametrize("code", ["none", "bch", "reed-solomon"])
@pytest.mark.parametrize("r", [1, 2, 4, 5, 6, 7, 8])
def test_randomize_transactions_for_every_insert_bits(rng, code, r):
    """Seeds of one word and of several, and coins of every r, are the one-report client's."""
    plan = naive.small_plan(code, 7, 2, 2, insert=((1 << r) - 1, r), weight_bits=(10, 64, 100, 128)[r % 4])
    transactions = [set(range(size)) for size in (0, 1, 2, 3, 7)]
    words = random_words(rng, 200)
    wanted = naive.randomize_transactions(transactions, plan, words)
    assert len(wanted[0]) == 5
    assert run_kernel(plan, transactions, words) == (wanted, 0)


@pytest.mark.parametrize("weight_bits", [8, 64, 100, 128])
def test_randomize_transactions_at_the_boundaries_of_weights(rng, weight_bits):
    """Draws just below and at every cumulative weight pick the one-report client's subset."""
    plan = naive.small_plan("none", 6, 3, 1, weight_bits=weight_bits)
    cumulative, picked = BulkRandomizer(plan)._subsets[0].tolist(), []
    for total in [sum(word << 64 * i for i, word in enumerate(row)) for row in cumulative[:-1]]:
        for drawn in (total - 1, total):
            words = [drawn >> 64 * i & (1 << 64) - 1 for i in range(len(cumulative[0]))] + [0]
            wanted = naive.randomize_transactions([{0, 1, 2}], plan, words)
            assert run_kernel(plan, [{0, 1, 2}], np.array(words, dtype=np.uint64)) == (wanted, 0)
            picked += wanted[0]
    assert len(set(picked)) == 8


def test_randomize_transactions_stops_before_what_words_do_not_suffice_for(rng):
    """With any number of words the kernel does exactly the transactions that the one-report client could do."""
    plan = naive.small_plan("bch", 6, 3, 1, insert=(3, 2))
    transactions = [{0, 1, 2, 4}, {3}, {0, 1, 2, 3, 4, 5}]
    words = random_words(rng, 30)
    for count in range(31):
        wanted = naive.randomize_transactions(transactions, plan, words[:count])
        got, status = run_kernel(plan, transactions, words[:count])
        assert got == wanted
        assert status == (0 if len(wanted[0]) == 3 else OUT_OF_WORDS)


def test_randomize_transactions_tells_dependent_columns(rng):
    """Columns that are not independent end in a status, not in a report."""
    plan = naive.small_plan("bch", 6, 2, 1)
    bulk = BulkRandomizer(plan)
    columns = bulk._columns.copy()
    columns[1] = columns[0]
    _, _, status = randomize_transactions(
        np.array([0, 2], dtype=np.int64),
        np.array([0, 1], dtype=np.int64),
        random_words(rng, 9),
        bulk._subsets,
        columns,
        bulk._shape,
        np.zeros((1, 2), dtype=np.int64),
        np.zeros((1, 1), dtype=np.uint64),
    )
    assert status == 2
