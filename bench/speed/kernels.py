"""The compiled loops against numpy and the operating system, in one process."""

from typing import Any

import numpy as np

from assocpriv.client.baskets.bulk_client import BulkRandomizer, randomize_chunks
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.kernels.itemset_counts import SupersetCounter, empty_rows
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.bitmaps import ItemTables, planes_of
from assocpriv.simulation.synthetic import QuestSettings, generate_quest
from bench.plans import coded, fixed_size
from bench.speed.measuring import medians

N_ROWS, FIRST_ROWS = 1_024, 16  # rows whose pairs are counted; rows that numpy combines with all others
N_WORDS = 1 << 12  # words per row: 2^18 bits
EXPAND_ITEMS = 1_000
COPY_BYTES = 1 << 28
REPEATED = 64  # distinct baskets in the repeated case


def pair_rates(rng: np.random.Generator) -> dict[str, float]:
    """Count all pairs of long rows on one core; numpy counts a part, and its time is scaled to all pairs."""
    rows = empty_rows(N_ROWS, N_WORDS * 64)
    rows[:] = rng.integers(0, 1 << 64, size=rows.shape, dtype=np.uint64)
    pairs, flat = np.column_stack(np.triu_indices(N_ROWS, 1)).astype(np.int64), rows.transpose(1, 0, 2)
    flat = np.ascontiguousarray(flat).reshape(N_ROWS, -1)

    def with_kernels() -> None:
        counts = np.zeros(len(pairs), dtype=np.int64)
        for _ in SupersetCounter(pairs, N_ROWS).count_in_steps(rows, counts):
            pass

    def with_numpy() -> None:
        for i in range(FIRST_ROWS):
            np.bitwise_count(flat[i + 1 :] & flat[i]).sum(axis=1)

    ours, theirs = medians(with_kernels, with_numpy)
    some = sum(N_ROWS - 1 - i for i in range(FIRST_ROWS)) / len(pairs)
    return {
        "pairs_tbit_per_s_one_core": len(pairs) * N_WORDS * 64 / ours / 1e12, "numpy_ratio": theirs / some / ours
    }  # fmt: skip


def expand_rates(rng: np.random.Generator) -> dict[str, float]:
    """Expand 40-bit seeds into bitmaps of items, against copying an array larger than any cache."""
    plan = coded(EXPAND_ITEMS)
    packed = rng.integers(0, 256, size=(N_WORDS * 64, plan.report_bytes), dtype=np.uint8)
    items = np.arange(EXPAND_ITEMS, dtype=np.int64)
    source = np.ones(COPY_BYTES, dtype=np.uint8)
    target = np.zeros_like(source)

    def expand() -> None:
        ItemTables(plan.items, items).rows(planes_of(packed, plan.items), len(packed))

    ours, copying = medians(expand, lambda: np.copyto(target, source))
    expanded, copied = EXPAND_ITEMS * len(packed) / ours, COPY_BYTES * 8 / copying
    return {
        "expand_tbit_per_s_one_core": expanded / 1e12,
        "copy_tbit_per_s": copied / 1e12,
        "expand_share_of_copy": expanded / copied,
    }


def repeated(baskets: Baskets) -> Baskets:
    """Return the same number of baskets, made by repeating a few of them."""
    few = baskets[:REPEATED]
    held, turns = few.items[few.offsets[0] : few.offsets[-1]], len(baskets) // REPEATED
    return Baskets(baskets.catalogue, np.append(0, np.cumsum(np.tile(few.sizes, turns))), np.tile(held, turns))


def randomize_rates(n_reports: int) -> dict[str, dict[str, float]]:
    """Randomize on all cores, against drawing the random words that it consumes."""
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
    rng = np.random.default_rng(0)
    return {"reports": n_reports} | pair_rates(rng) | expand_rates(rng) | randomize_rates(n_reports)
