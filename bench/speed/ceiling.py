"""How fast a core can AND and count bits at best: loops of our own over rows that stay in its L1 cache.

They share no code with the package, so that its kernels are held against what the processor can do.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from bench.speed.timing import medians

SHAPES = ((4, 1024), (8, 128), (8, 256), (8, 512), (16, 128), (16, 256), (32, 128))  # rows × words, 8 to 32 KiB
CALL_BITS = 1 << 34


@intrinsic
def _popcount(_typing_context: Any, _word: Any) -> Any:
    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


@numba.njit(nogil=True)
def _one_by_one(rows: NDArray[np.uint64], rounds: int) -> int:
    total = 0
    for _ in range(rounds):
        for i in range(rows.shape[0]):
            for j in range(rows.shape[0]):
                total += _one(rows[i], rows[j])
    return total


@numba.njit(nogil=True)
def _one(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> int:
    total = 0
    for w in range(left.shape[0]):
        total += _popcount(left[w] & right[w])
    return total


@numba.njit(nogil=True)
def _by_tiles(rows: NDArray[np.uint64], rounds: int) -> int:
    total = 0
    for _ in range(rounds):
        for i in range(0, rows.shape[0], 4):
            for j in range(0, rows.shape[0], 4):
                total += _tile(
                    rows[i], rows[i + 1], rows[i + 2], rows[i + 3], rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
                )
    return total


@numba.njit(nogil=True)
def _tile(a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, b2: Any, b3: Any) -> int:
    # a sum for each row of the tile: sixteen ANDs and counts for eight loads
    s0 = s1 = s2 = s3 = 0
    for w in range(a0.shape[0]):
        y0, y1, y2, y3 = b0[w], b1[w], b2[w], b3[w]
        x0, x1, x2, x3 = a0[w], a1[w], a2[w], a3[w]
        s0 += _popcount(x0 & y0) + _popcount(x0 & y1) + _popcount(x0 & y2) + _popcount(x0 & y3)
        s1 += _popcount(x1 & y0) + _popcount(x1 & y1) + _popcount(x1 & y2) + _popcount(x1 & y3)
        s2 += _popcount(x2 & y0) + _popcount(x2 & y1) + _popcount(x2 & y2) + _popcount(x2 & y3)
        s3 += _popcount(x3 & y0) + _popcount(x3 & y1) + _popcount(x3 & y2) + _popcount(x3 & y3)
    return s0 + s1 + s2 + s3


def ceilings(rng: np.random.Generator) -> dict[str, float]:
    """Return the best rate over several shapes and both loops, on one core, and of that loop on all cores at once."""
    best = (0.0, _by_tiles, aligned(rng, *SHAPES[0]), 1)
    for shape in SHAPES:
        rows = aligned(rng, *shape)
        rounds = CALL_BITS // (rows.shape[0] * rows.size * 64)
        for loop in (_one_by_one, _by_tiles):
            (took,) = medians(lambda f=loop, r=rows, n=rounds: f(r, n))
            best = max(best, (_bits(rows, rounds) / took, loop, rows, rounds), key=lambda each: each[0])
    rate, loop, rows, rounds = best
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        own = [aligned(rng, *rows.shape) for _ in range(cores)]
        (took,) = medians(lambda: list(pool.map(lambda each: loop(each, rounds), own)))
    return {
        "ceiling_tbit_per_s_one_core": rate / 1e12,
        "ceiling_tbit_per_s_all_cores": cores * _bits(rows, rounds) / took / 1e12,
    }


def aligned(rng: np.random.Generator, n_rows: int, n_words: int) -> NDArray[np.uint64]:
    """Return rows of random words that start at cache lines."""
    room = np.empty(n_rows * n_words + 8, dtype=np.uint64)
    start = -room.ctypes.data // 8 % 8
    rows = room[start : start + n_rows * n_words].reshape(n_rows, n_words)
    rows[:] = rng.integers(0, 1 << 64, size=rows.shape, dtype=np.uint64)
    return rows


def _bits(rows: NDArray[np.uint64], rounds: int) -> int:
    return rounds * rows.shape[0] * rows.size * 64
