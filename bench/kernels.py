"""The compiled loops against their ceilings and peers, in one process."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from assocpriv.client.bulk import BulkRandomizer, randomize_chunks
from assocpriv.core.catalogue import Catalogue
from assocpriv.core.entropy import SystemEntropy
from assocpriv.core.kernels import count_pairs, count_supersets
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import Breach
from assocpriv.lab.planner import choose_generator, round_design, search_designs
from assocpriv.lab.synthetic import QuestSettings, generate_quest
from bench.timing import medians

N_ROWS = 512
N_WORDS = 1 << 13
IN_CACHE = (2, 8, 16, 32)  # rows of 128 words, 1 KiB each, that are counted within an L1 cache
REPEATS = 2_000


def pair_bits(n_rows: int, n_words: int) -> int:
    """Return the bits that counting all pairs, and each row with itself, goes over."""
    return n_rows * (n_rows + 1) // 2 * n_words * 64


def ceiling_tbit_per_s(rng: np.random.Generator) -> float:
    """Return the rate of AND + population count on rows that stay in an L1 cache: the best of several shapes."""
    rates = []
    for n_rows in IN_CACHE:
        rows = rng.integers(0, 1 << 64, size=(n_rows, 128), dtype=np.uint64)
        counts = np.zeros((n_rows, n_rows), dtype=np.int64)
        pairs = np.tile(np.column_stack(np.tril_indices(n_rows)), (REPEATS // n_rows, 1)).astype(np.int64)
        sums = np.zeros(len(pairs), dtype=np.int64)
        (simple,) = medians(lambda r=rows, p=pairs, s=sums: count_supersets(r, p, s))
        rates.append(len(pairs) * 128 * 64 / simple)
        if n_rows % 4 == 0:
            tiles = n_rows // 4 * (n_rows // 4 + 1) // 2 * 16  # counted pairs, the corners of diagonal tiles included
            (tiled,) = medians(lambda r=rows, c=counts: [count_pairs(r, c) for _ in range(REPEATS)])
            rates.append(tiles * 128 * 64 * REPEATS / tiled)
    return max(rates) / 1e12


def pair_rates(rng: np.random.Generator) -> dict[str, float]:
    """Count all pairs of long rows on one core and on all, beside float32 BLAS and numpy's population count."""
    rows = rng.integers(0, 1 << 64, size=(N_ROWS, N_WORDS), dtype=np.uint64)
    cores = os.cpu_count() or 1
    copies = [np.zeros((N_ROWS, N_ROWS), dtype=np.int64) for _ in range(cores)]
    dense = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, : 1 << 16].astype(np.float32)

    def on_all_cores() -> None:
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda counts: count_pairs(rows, counts), copies))

    def with_numpy() -> None:
        for i in range(64):
            np.bitwise_count(rows[i:] & rows[i]).sum(axis=1)

    one, every, blas, plain = medians(
        lambda: count_pairs(rows, copies[0]), on_all_cores, lambda: dense @ dense.T, with_numpy
    )
    bits = pair_bits(N_ROWS, N_WORDS)
    numpy_bits = sum(N_ROWS - i for i in range(64)) * N_WORDS * 64
    return {
        "pairs_tbit_per_s_one_core": bits / one / 1e12,
        "pairs_tbit_per_s_all_cores": cores * bits / every / 1e12,
        # the Gram matrix of one 2^16-th of what one core counted, on all cores
        "blas_ratio": blas * (bits / pair_bits(N_ROWS, (1 << 16) // 64)) / one,
        "numpy_ratio": plain * bits / numpy_bits / one,
    }


def plan_with(catalogue: Catalogue, insert_bits: int) -> Plan:
    """Return the best BCH plan for baskets of 5 with r bits an item: 40-bit seeds for r = 1, 192-bit ones for r = 4."""
    promise = Breach("5%", "50%")
    designs = search_designs(5, promise.amplification_limit, (1, 2, 3), 1_000_000)
    design = min((d for d in designs if d.insert_bits == insert_bits), key=lambda d: d.worst_support)
    operator = round_design(design, 5, promise.amplification_limit)
    generator = choose_generator("bch", len(catalogue) + 5, insert_bits, 8)
    return Plan(catalogue, 5, 3, (operator,), generator, promise)


def randomize_rates(n_reports: int) -> dict[str, dict[str, float]]:
    """Randomize on all cores, beside drawing the words that it consumes."""
    rates, ratios = {}, {}
    entropy = SystemEntropy()
    baskets = generate_quest(QuestSettings(n_baskets=n_reports, n_items=1_000))
    for insert_bits in (1, 4):
        plan = plan_with(baskets.catalogue, insert_bits)
        words = BulkRandomizer(plan).words_needed(baskets)
        ours, drawing = medians(
            lambda b=baskets, p=plan: sum(len(c.packed) for c in randomize_chunks(b, p, entropy=entropy)),
            lambda w=words: entropy.words(w),
        )
        rates[str(plan.report_bits)], ratios[str(plan.report_bits)] = n_reports / ours, ours / drawing
    return {"randomize_reports_per_s": rates, "randomize_times_the_entropy": ratios}


def run(n_reports: int) -> dict[str, object]:
    """Return all figures."""
    rng = np.random.default_rng(0)
    result: dict[str, object] = dict(pair_rates(rng))
    ceiling = ceiling_tbit_per_s(rng)
    result["ceiling_tbit_per_s_one_core"] = ceiling
    result["pairs_share_of_ceiling"] = float(str(result["pairs_tbit_per_s_one_core"])) / ceiling
    return result | randomize_rates(n_reports)
