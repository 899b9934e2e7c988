"""Kernels against naive implementations, compiled (also with bounds checks, by dev.py) and in numpy."""

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest
from command_line import GUARANTEE, run
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.client.baskets import bulk_client
from assocpriv.client.baskets.bulk_client import BulkResponder
from assocpriv.client.numeric import table_client
from assocpriv.client.numeric.table_client import TableRandomizer
from assocpriv.kernels import compiled, plain
from assocpriv.kernels.loops import DEPENDENT_COLUMNS, OUT_OF_WORDS
from assocpriv.plans.numeric.table_plan import GaussianNoise, NumberColumn, TablePlan


@pytest.fixture(autouse=True, params=["compiled", "plain"])
def _built(request, monkeypatch):
    """Run each test with the compiled kernels, and as without a C compiler."""
    for module in (bulk_client, table_client):
        monkeypatch.setattr(module, "IS_COMPILED", request.param == "compiled")
        monkeypatch.setattr(module, "kernels", compiled if request.param == "compiled" else plain)


def random_words(rng, *shape):
    """Return uniform words."""
    return rng.integers(0, 1 << 64, size=shape, dtype=np.uint64)


def run_kernel(plan, transactions, words):
    """Call the kernel with a plan's tables; return the same as the naive implementation, and the status."""
    n = len(transactions)
    offsets = np.cumsum([0, *map(len, transactions)], dtype=np.int64)
    items = np.array([item for transaction in transactions for item in sorted(transaction)], dtype=np.int64)
    fitted = np.zeros((n, plan.items.transaction_size), dtype=np.int64)
    reports = np.zeros((n, -(-plan.items.report_bits // 64)), dtype=np.uint64)
    done, used, status = BulkResponder(plan.items).run(offsets, items, words, fitted, reports)
    octets = reports.astype("<u8").view(np.uint8)[:done, : plan.report_bytes]
    return ([row.tobytes() for row in octets], fitted[:done].tolist(), used), status


def check_kernel(plan, transactions, words):
    """Check that the kernel makes the one-report client's reports of all transactions, from the same words."""
    wanted = naive.randomize_transactions(transactions, plan, words)
    assert len(wanted[0]) == len(transactions)
    assert run_kernel(plan, transactions, words) == (wanted, 0)


@pytest.mark.parametrize("code", ["none", "bch", "reed-solomon"])
@pytest.mark.parametrize("r", [1, 2, 4, 5, 6, 7, 8])
def test_randomize_transactions_for_every_insert_bits(rng, code, r):
    """Seeds of one word and of several, and random bits of every r, equal the one-report client's."""
    plan = naive.small_plan(code, 7, 2, 2, insert=((1 << r) - 1, r), weight_bits=(10, 64, 100, 128)[r % 4])
    transactions = [set(range(size)) for size in (0, 1, 2, 3, 7)]
    check_kernel(plan, transactions, random_words(rng, 200))


def test_randomize_transactions_with_more_equations_than_a_word_has_bits(rng):
    """The record of which equations were added takes two words for more than 64 equations."""
    plan = naive.small_plan("reed-solomon", 20, 9, 1, insert=(77, 8))
    transactions = [set(rng.choice(20, size, replace=False).tolist()) for size in (9, 3, 9, 12, 0)]
    check_kernel(plan, transactions, random_words(rng, 300))


def test_randomize_transactions_that_draw_again(rng):
    """Rejected draws, here words of 0, take further words, in samples and in values, of first, middle and last."""
    plan = naive.small_plan("bch", 9, 3, 1, insert=(3, 3))
    transactions = [set(range(size)) for size in (7, 2, 0, 8, 6, 3, 5, 9, 1, 7)]
    for _ in range(20):
        check_kernel(plan, transactions, random_words(rng, 200) * (rng.random(200) < 0.8))


@pytest.mark.parametrize("slots", [1, 2, 1024])
def test_randomize_transactions_that_repeat(rng, monkeypatch, slots):
    """Solved equations are reused for the same items only."""
    monkeypatch.setattr(bulk_client, "SOLVED_WORDS", slots * 12)
    plan = naive.small_plan("bch", 5, 2, 1, insert=(1, 2))
    transactions = [set(rng.choice(5, rng.integers(4), replace=False).tolist()) for _ in range(120)]
    check_kernel(plan, transactions, random_words(rng, 1000))


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
    responder = BulkResponder(naive.small_plan("bch", 6, 2, 1).items)
    tables = responder._tables
    tables._columns[1] = tables._columns[0]
    offsets, items = np.array([0, 2], dtype=np.int64), np.array([0, 1], dtype=np.int64)
    written = np.zeros((1, 2), dtype=np.int64), np.zeros((1, 1), dtype=np.uint64), np.empty(2, dtype=np.int64)
    tables.run(offsets, items, random_words(rng, 9), *written)
    assert written[2][1] == DEPENDENT_COLUMNS


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


# ---- text

NUMBERS = st.integers(0, 99_999).map(str) | st.sampled_from(["7", "00007", "00000", "100000"])
PIECES = st.sampled_from(["\n", "\r\n", " ", "\t", "\n", " "]) | NUMBERS
WRONG = st.sampled_from(["\r", "\r\r\n", "-", "-3", "x", "\0", ",", "\x0b", "é"])


@given(st.lists(PIECES, max_size=30), st.lists(WRONG | PIECES, max_size=4), st.sampled_from([compiled, plain]))
def test_parse_numbers(good, rest, kernels):
    """Numbers, sizes and the position of the first invalid byte equal those of splitting lines."""
    text = ("".join([*good, *rest]) + "\n").encode()
    ids = np.full((len(text) + 1) // 2, -1, dtype=np.int32)
    sizes = np.full(text.count(b"\n"), -1, dtype=np.int32)
    result = np.empty(2, dtype=np.int64)
    kernels.parse_numbers(np.frombuffer(text, dtype=np.uint8), ids, sizes, result, 5)
    count, wrong = result.tolist()
    lines, wanted = naive.parse_numbers(text, 5)
    assert wrong == wanted
    flat = [number for line in lines for number in line]
    assert sizes[: len(lines)].tolist() == [len(line) for line in lines]
    assert ids[: len(flat)].tolist() == flat
    assert (sizes[len(lines) :] == -1).all()
    assert wrong >= 0 or count == len(flat)


# ---- checks of arguments


def test_arrays_are_checked():
    """A kernel refuses another type, another number of dimensions, a view with gaps, and read-only memory to write."""
    good = [np.zeros(4, np.uint8), np.zeros(2, np.int32), np.zeros(1, np.int32), np.zeros(2, np.int64)]
    fixed, gaps = good[3].copy(), np.zeros(8, np.uint8)[::2]
    fixed.setflags(write=False)
    for place, array in [(0, good[0].astype(np.int8)), (0, good[0][None]), (0, gaps), (1, good[3]), (3, fixed)]:
        with pytest.raises((TypeError, ValueError, BufferError)):
            compiled.parse_numbers(*good[:place], array, *good[place + 1 :], 5)
    with pytest.raises(TypeError, match="takes 5 arguments"):
        compiled.parse_numbers(*good)


# ---- without a C compiler

SCRIPT = """
import sys
sys.modules["assocpriv.kernels.compiled"] = None
from assocpriv.cli.main import main
for line in sys.argv[1:]:
    main(line.split(), standalone_mode=False)
"""


def test_without_a_compiler_commands_do_the_same_and_say_so_once(tmp_path, monkeypatch):
    """Reports are randomized, the mined table is equal, and one note says what it costs and how to mend it."""
    monkeypatch.chdir(tmp_path)
    run("generate", "quest", "--people", 3000, "--items", 40, "--seed", 1, "-o", "b.dat")
    run("plan", "--items", 40, "--transaction-size", 3, *GUARANTEE, "-o", "plan.json")
    lines = "randomize b.dat --plan plan.json -o r.parquet", "mine r.parquet --min-support 5% -o plain.csv"
    done = subprocess.run([sys.executable, "-c", SCRIPT, *lines], capture_output=True, text=True, check=True)
    run("mine", "r.parquet", "--min-support", "5%", "-o", "compiled.csv")
    plain_table, compiled_table = (ap.read_itemsets(f"{name}.csv") for name in ("plain", "compiled"))
    pd.testing.assert_frame_equal(plain_table, compiled_table, rtol=1e-9)  # posteriors are floats
    assert done.stderr.count("assocpriv was built without a C compiler") == 1


def test_sources_use_nothing_but_whole_numbers():
    """What decides a report is C without floats, libraries and memory of its own."""
    for path in (Path(compiled.__file__).parent).glob("*.[ch]"):
        if path.name not in ("module.c", "normal.c"):
            text = path.read_text(encoding="utf-8")
            assert set(re.findall(r"#include (\S+)", text)) <= {'"kernels.h"', "<stdint.h>", "<stddef.h>"}
            assert not re.search(r"\b(float|double|malloc|calloc|static [^i]\w+ \w+( =|;))\b", text), path.name
