"""The compiled loops against their ceilings and peers, in one process."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import BulkRandomizer, randomize_chunks
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.server.bitmaps import count_row_supersets, empty_rows, report_rows
from assocpriv.simulation.synthetic import QuestSettings, generate_quest
from bench.plans import coded, fixed_size
from bench.speed.datasets import flat_rows
from bench.speed.timing import ROUNDS, medians

N_ROWS = 1_024
N_WORDS = 1 << 12  # of a row: 2^18 bits
BLAS_WORDS = 1 << 8  # of a row that is unpacked to float32, 2^14 bits
SPARSE_WORDS = 1 << 3
FIRST_ROWS = 16  # rows that numpy and bitarray pair with all others
TRIPLE_ROWS = 96
EXPAND_ITEMS = 1_000
COPY_BYTES = 1 << 28
REPEATED = 64  # baskets, where most transactions repeat

Words = NDArray[np.uint64]
Itemsets = NDArray[np.int64]


def random_rows(rng: np.random.Generator, n_rows: int = N_ROWS) -> Words:
    """Return bitmaps of coin flips."""
    rows = empty_rows(n_rows, N_WORDS * 64)
    rows[:] = rng.integers(0, 1 << 64, size=rows.shape, dtype=np.uint64)
    assert rows.size == n_rows * N_WORDS
    return rows


def all_pairs(n_rows: int) -> Itemsets:
    """Return the pairs 01, 02, …, 12, … of rows, as the second level of mining asks for them."""
    return np.column_stack(np.triu_indices(n_rows, 1)).astype(np.int64)


def on_all_cores(rows: Words, itemsets: Itemsets) -> None:
    """Count the same itemsets once on each core."""
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda _: count_row_supersets(rows, itemsets), range(cores)))


def pairs_on_all_cores() -> dict[str, float]:
    """Return the rate at which all cores together count pairs (a task)."""
    rows, pairs = random_rows(np.random.default_rng(0)), all_pairs(N_ROWS)
    (took,) = medians(lambda: on_all_cores(rows, pairs))
    return {"tbit_per_s": (os.cpu_count() or 1) * len(pairs) * N_WORDS * 64 / took / 1e12}


def pair_rates(rng: np.random.Generator) -> dict[str, float]:
    """Count all pairs of long rows on one core and on all, beside what else can count them.

    Peers count a part of the rows or of the words; a ratio is their time scaled to the whole over our time on one
    core. BLAS uses all cores, the others one.
    """
    rows, pairs = random_rows(rng), all_pairs(N_ROWS)
    flat = flat_rows(rows)
    dense, peers = unpacked(flat), pair_peers(flat)
    one, every, bare, unpacking, *theirs = medians(
        lambda: count_row_supersets(rows, pairs),
        lambda: on_all_cores(rows, pairs),
        lambda: dense @ dense.T,
        lambda: np.matmul(part := unpacked(flat), part.T),
        *(action for action, _ in peers.values()),
    )
    bits = len(pairs) * N_WORDS * 64
    ratios = {name: took / share / one for (name, (_, share)), took in zip(peers.items(), theirs, strict=True)}
    return {
        "pairs_tbit_per_s_one_core": bits / one / 1e12,
        "pairs_tbit_per_s_all_cores": (os.cpu_count() or 1) * bits / every / 1e12,
        "blas_ratio": bare * (N_WORDS // BLAS_WORDS) / one,
        "blas_with_unpacking_ratio": unpacking * (N_WORDS // BLAS_WORDS) / one,
    } | ratios


def unpacked(rows: Words, words: int = BLAS_WORDS) -> NDArray[np.float32]:
    """Return the first words of each row as float32 0s and 1s."""
    bits = np.unpackbits(np.ascontiguousarray(rows[:, :words]).view(np.uint8), axis=1, bitorder="little")
    return bits.astype(np.float32)


def pair_peers(rows: Words) -> dict[str, tuple[Any, float]]:
    """Return what else counts pairs on one core, and the share of all pairs' bits that its action goes over."""
    from bitarray import bitarray
    from bitarray.util import count_and
    from scipy.sparse import csc_array

    n_pairs = N_ROWS * (N_ROWS - 1) // 2
    arrays = [bitarray(buffer=row.tobytes(), endian="little") for row in rows]
    sparse = csc_array(unpacked(rows, SPARSE_WORDS).T.astype(np.int32))
    transposed = sparse.T.tocsr()

    def with_numpy() -> None:
        for i in range(FIRST_ROWS):
            np.bitwise_count(rows[i + 1 :] & rows[i]).sum(axis=1)

    def with_bitarray() -> None:
        for i in range(FIRST_ROWS):
            for j in range(i + 1, N_ROWS):
                count_and(arrays[i], arrays[j])

    some = sum(N_ROWS - 1 - i for i in range(FIRST_ROWS)) / n_pairs
    return {
        "numpy_ratio": (with_numpy, some),
        "bitarray_ratio": (with_bitarray, some),
        "scipy_sparse_ratio": (lambda: transposed @ sparse, SPARSE_WORDS / N_WORDS),
    }


def triple_rate(rng: np.random.Generator) -> float:
    """Count all triples of some rows on one core; each goes over one AND and one count a bit, as a pair does."""
    rows = random_rows(rng, TRIPLE_ROWS)
    triples = np.array(list(combinations(range(TRIPLE_ROWS), 3)), dtype=np.int64)
    (took,) = medians(lambda: count_row_supersets(rows, triples))
    return len(triples) * N_WORDS * 64 / took / 1e12


def expand_rates(rng: np.random.Generator) -> dict[str, float]:
    """Expand 40-bit seeds into bitmaps of items, beside copying an array that no cache holds."""
    plan = coded(EXPAND_ITEMS)
    packed = rng.integers(0, 256, size=(N_WORDS * 64, plan.report_bytes), dtype=np.uint8)
    items = np.arange(EXPAND_ITEMS, dtype=np.int64)
    source = np.ones(COPY_BYTES, dtype=np.uint8)
    target = np.zeros_like(source)
    ours, copying = medians(lambda: report_rows(packed, plan.items, items), lambda: np.copyto(target, source))
    expanded, copied = EXPAND_ITEMS * len(packed) / ours, COPY_BYTES * 8 / copying
    return {
        "expand_tbit_per_s_one_core": expanded / 1e12,
        "copy_tbit_per_s": copied / 1e12,
        "expand_share_of_copy": expanded / copied,
    }


def repeated(baskets: Baskets) -> Baskets:
    """Return as many baskets, of which most occur many times: a few of them again and again."""
    few = baskets[:REPEATED]
    held, turns = few.items[few.offsets[0] : few.offsets[-1]], len(baskets) // REPEATED
    return Baskets(baskets.catalogue, np.append(0, np.cumsum(np.tile(few.sizes, turns))), np.tile(held, turns))


def randomize_rates(n_reports: int) -> dict[str, dict[str, float]]:
    """Randomize on all cores, beside drawing the words that it consumes."""
    rates, ratios = {}, {}
    entropy = SystemEntropy()
    baskets = generate_quest(QuestSettings(n_baskets=n_reports, n_items=1_000))
    half = baskets[: n_reports // 2]  # longer seeds take longer
    short, long = coded(baskets.catalogue), coded(baskets.catalogue, insert_bits=4)
    small = generate_quest(QuestSettings(n_baskets=n_reports, n_items=64))
    cases = {
        "40-bit seeds": (short, baskets),
        "192-bit seeds": (long, half),
        "40-bit seeds, repeated": (short, repeated(baskets)),
        "192-bit seeds, repeated": (long, repeated(half)),
        "fixed size, 64 items": (fixed_size(small.catalogue), small),
    }
    for name, (plan, sample) in cases.items():
        words = BulkRandomizer(plan).words_needed(sample)
        ours, drawing = medians(
            lambda b=sample, p=plan: sum(len(c.packed) for c in randomize_chunks(b, p, entropy=entropy)),
            lambda w=words: entropy.words(w),
            rounds=3,
        )
        rates[name], ratios[name] = len(sample) / ours, ours / drawing
    return {"randomize_reports_per_s": rates, "randomize_times_the_entropy": ratios}


def run(n_reports: int) -> dict[str, Any]:
    """Return all figures (a task)."""
    from bench.speed.ceiling import ceilings

    rng = np.random.default_rng(0)
    result: dict[str, Any] = {"reports": n_reports, "rounds": ROUNDS} | pair_rates(rng)
    result |= ceilings(rng)
    ceiling = result["ceiling_tbit_per_s_one_core"]
    triples = triple_rate(rng)
    result |= {
        "pairs_share_of_ceiling": result["pairs_tbit_per_s_one_core"] / ceiling,
        # what no kernel of this processor could surpass
        "blas_ratio_at_the_ceiling": result["blas_ratio"] * ceiling / result["pairs_tbit_per_s_one_core"],
        "triples_tbit_per_s_one_core": triples,
        "triples_share_of_ceiling": triples / ceiling,
    }
    return result | expand_rates(rng) | randomize_rates(n_reports)
