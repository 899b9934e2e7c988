"""Randomization kernels against naive implementations; passes compiled, with bounds checks, and uncompiled."""

from fractions import Fraction

import naive
import numpy as np
import pytest

from assocpriv.client.baskets import bulk_client
from assocpriv.client.baskets.bulk_client import BulkResponder
from assocpriv.client.numeric.table_client import TableRandomizer
from assocpriv.kernels.entropy_words import OUT_OF_WORDS
from assocpriv.kernels.randomization_kernels import find_cells
from assocpriv.plans.numeric.table_columns import GaussianNoise, NumberColumn
from assocpriv.plans.numeric.table_plan import TablePlan


@pytest.fixture(autouse=True)
def _wrap_around():
    """Ignore numpy's warnings of intended wrap-around of unsigned integers, which occur without compilation."""
    with np.errstate(over="ignore"):
        yield


def random_words(rng, *shape):
    """Return uniform words."""
    return rng.integers(0, 1 << 64, size=shape, dtype=np.uint64)


def run_kernel(plan, transactions, words):
    """Call the kernel with a plan's tables; return the same as the naive implementation, and the status."""
    tables, n = BulkResponder(plan.items)._tables, len(transactions)
    offsets = np.cumsum([0, *map(len, transactions)], dtype=np.int64)
    items = np.array([item for transaction in transactions for item in sorted(transaction)], dtype=np.int64)
    fitted = np.zeros((n, plan.items.transaction_size), dtype=np.int64)
    reports = np.zeros((n, -(-plan.items.report_bits // 64)), dtype=np.uint64)
    done, used, status = tables.randomize(offsets, items, words, fitted, reports)
    octets = reports.astype("<u8").view(np.uint8)[:done, : plan.report_bytes]
    return ([row.tobytes() for row in octets], fitted[:done].tolist(), used), status


@pytest.mark.parametrize("code", ["none", "bch", "reed-solomon"])
@pytest.mark.parametrize("r", [1, 2, 4, 5, 6, 7, 8])
def test_randomize_transactions_for_every_insert_bits(rng, code, r):
    """Seeds of one word and of several, and random bits of every r, equal the one-report client's."""
    plan = naive.small_plan(code, 7, 2, 2, insert=((1 << r) - 1, r), weight_bits=(10, 64, 100, 128)[r % 4])
    transactions = [set(range(size)) for size in (0, 1, 2, 3, 7)]
    words = random_words(rng, 200)
    wanted = naive.randomize_transactions(transactions, plan, words)
    assert len(wanted[0]) == 5
    assert run_kernel(plan, transactions, words) == (wanted, 0)


def test_randomize_transactions_with_more_equations_than_a_word_has_bits(rng):
    """The record of which equations were added takes two words for more than 64 equations."""
    plan = naive.small_plan("reed-solomon", 20, 9, 1, insert=(77, 8))
    transactions = [set(rng.choice(20, size, replace=False).tolist()) for size in (9, 3, 9, 12, 0)]
    words = random_words(rng, 300)
    wanted = naive.randomize_transactions(transactions, plan, words)
    assert len(wanted[0]) == 5
    assert run_kernel(plan, transactions, words) == (wanted, 0)


@pytest.mark.parametrize("slots", [1, 2, 1024])
def test_randomize_transactions_that_repeat(rng, monkeypatch, slots):
    """Solved equations are reused for the same items only."""
    monkeypatch.setattr(bulk_client, "SOLVED_WORDS", slots * 12)
    plan = naive.small_plan("bch", 5, 2, 1, insert=(1, 2))
    transactions = [set(rng.choice(5, rng.integers(4), replace=False).tolist()) for _ in range(120)]
    words = random_words(rng, 1000)
    wanted = naive.randomize_transactions(transactions, plan, words)
    assert len(wanted[0]) == 120
    assert run_kernel(plan, transactions, words) == (wanted, 0)


@pytest.mark.parametrize("weight_bits", [8, 64, 100, 128])
def test_randomize_transactions_at_the_boundaries_of_weights(rng, weight_bits):
    """Draws just below and at every cumulative weight select the one-report client's subset."""
    plan = naive.small_plan("none", 6, 3, 1, weight_bits=weight_bits)
    cumulative, picked = BulkResponder(plan.items)._tables._subsets[0].tolist(), []
    for total in [sum(word << 64 * i for i, word in enumerate(row)) for row in cumulative[:-1]]:
        for drawn in (total - 1, total):
            words = [drawn >> 64 * i & (1 << 64) - 1 for i in range(len(cumulative[0]))] + [0]
            wanted = naive.randomize_transactions([{0, 1, 2}], plan, words)
            assert run_kernel(plan, [{0, 1, 2}], np.array(words, dtype=np.uint64)) == (wanted, 0)
            picked += wanted[0]
    assert len(set(picked)) == 8


def test_randomize_transactions_stops_when_words_run_out(rng):
    """With any number of words the kernel randomizes exactly the transactions that the one-report client can."""
    plan = naive.small_plan("bch", 6, 3, 1, insert=(3, 2))
    transactions = [{0, 1, 2, 4}, {3}, {0, 1, 2, 3, 4, 5}]
    words = random_words(rng, 30)
    for count in range(31):
        wanted = naive.randomize_transactions(transactions, plan, words[:count])
        got, status = run_kernel(plan, transactions, words[:count])
        assert got == wanted
        assert status == (0 if len(wanted[0]) == 3 else OUT_OF_WORDS)


def test_randomize_transactions_detects_dependent_columns(rng):
    """Dependent columns lead to a status, not to a report."""
    plan = naive.small_plan("bch", 6, 2, 1)
    tables = BulkResponder(plan.items)._tables
    tables._columns[1] = tables._columns[0]
    offsets, items = np.array([0, 2], dtype=np.int64), np.array([0, 1], dtype=np.int64)
    written = np.zeros((1, 2), dtype=np.int64), np.zeros((1, 1), dtype=np.uint64)
    _, _, status = tables.randomize(offsets, items, random_words(rng, 9), *written)
    assert status == 2


@pytest.mark.parametrize("n_cells", [1, 2, 7, 500])
def test_find_cells(rng, n_cells):
    """Cells equal those of a search among the edges: at every edge and next to it, beyond the ends, and for NaN."""
    edges = np.sort(rng.choice(np.linspace(-3, 5, 1000), n_cells + 1, replace=False))
    near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    numbers = np.concatenate([near, rng.uniform(-4, 6, 100), [np.nan, np.inf, -np.inf]])
    wanted = np.searchsorted(edges[1:-1], numbers, side="right")
    wanted[np.isnan(numbers)] = n_cells
    for per_unit in (0.0, n_cells / (edges[-1] - edges[0]), 1e300):  # the start of the search does not matter
        cells = np.full(len(numbers), -1, dtype=np.int32)
        outside = find_cells(numbers, edges, per_unit, cells)
        assert cells.tolist() == wanted.tolist()
        assert outside == ((numbers < edges[0]) | (numbers > edges[-1])).sum()


def run_tables(plan, inputs, words):
    """Return (reports, words used), as the naive implementation does, and the status."""
    reports = np.zeros((len(inputs), plan.report_bytes), dtype=np.uint8)
    done, used, status = TableRandomizer(plan).run(inputs, words, reports)
    return ([bytes(row) for row in reports[:done]], used), status


def test_randomize_records_at_the_boundaries_of_weights():
    """Draws at and next to every cumulative weight of noise, fine and coarse, give the one-report client's codes."""
    for half in ((5, 3, 1), tuple(4 ** (12 - k) for k in range(13)), (1 << 31, 1), (1 << 20, *[1] * 1200)):
        noise = GaussianNoise(4, half)
        plan = TablePlan((NumberColumn("x", noise, False, Fraction(0), Fraction(1), 1),), 0)
        total = noise.cumulative[-1]
        drawn = sorted({d for c in noise.cumulative for d in (c - 1, c) if d < total})
        # the last word of each draw: the first ones may be rejected
        words = np.array([((d + 1 << 64) - 1) // total if total & (total - 1) else d for d in drawn], dtype=np.uint64)
        inputs = np.ones((len(drawn), 1), dtype=np.int32)
        wanted = naive.randomize_records(inputs.tolist(), plan, words)
        assert len(wanted[0]) == len(drawn)
        assert len(set(wanted[0])) == len(noise.cumulative)
        assert run_tables(plan, inputs, words) == (wanted, 0)
