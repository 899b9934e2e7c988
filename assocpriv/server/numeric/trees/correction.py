"""From released codes to positions whose counts are the reconstructed ones.

The shares of all positions are reconstructed from a histogram of codes. Records are then given positions so that each
gets its share of them, with as little change as possible:

* numbers: released values are sorted, and the lowest N·Pr(I₁) get the first interval, and so on (AS00, section 4.2);
  equal ones are taken in random order;
* categories: of those released as v as many stay there as v has, chosen at random; the others fill the values that
  have too few. No assignment with these counts moves fewer records;
* missing values: as many as the reconstruction says, of those released as missing if there are enough;
* who was not asked, or said "missing" although fewer are: spread by the shares, in random order. One column's spread
  has nothing to do with another's, so joint splits see these records as noise around the class, not as a pattern.

Random order is numpy's with a seed: the reports are what they are, nobody's privacy depends on it.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.likelihood import maximize, stopped_early
from assocpriv.server.numeric.trees.channels import Channel

Codes = NDArray[np.unsignedinteger]


def correct(
    codes: Codes, channel: Channel, rng: np.random.Generator, shares: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Return the positions of records of one class, or of all, float32 (n,), NaN where a value is missing.

    ``shares`` are those of the positions, float64 (inputs,), where they are known; else the codes tell them.
    """
    if channel.matrix is None:
        return as_released(codes, channel)
    positions = np.full(len(codes), np.nan, dtype=np.float32)
    asked = np.ones(len(codes), dtype=np.bool_) if channel.unasked_code is None else codes != channel.unasked_code
    if not asked.any():
        return positions
    if shares is None:
        shares = reconstruct(np.bincount(codes[asked], minlength=len(channel.matrix)), channel)
    n = channel.n_positions
    missing, shares = float(shares[n:].sum()), shares[:n]
    if shares.sum() <= 0:
        return positions
    shares = shares / shares.sum()
    valued, spread = _divide(codes, asked, missing, channel, rng)
    assign = _fewest_moves if channel.edges is None else _sorted
    positions[valued] = assign(codes[valued], shares, rng)
    positions[spread] = rng.permutation(_filled(len(spread), shares))
    if channel.ranks is not None:
        known = ~np.isnan(positions)
        positions[known] = channel.ranks[positions[known].astype(np.int64)]
    return positions


def _divide(
    codes: Codes, asked: NDArray[np.bool_], missing: float, channel: Channel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records whose codes say where their values lie, and those to be spread; the others' are missing."""
    unasked = rng.permutation(np.flatnonzero(~asked))
    spread = [unasked[round(missing * len(unasked)) :]]
    valued = np.flatnonzero(asked)
    if channel.missing_code is not None:
        said = codes[valued] == channel.missing_code
        wanted = round(missing * len(valued))
        silent, valued = rng.permutation(valued[said]), rng.permutation(valued[~said])
        spread.append(silent[wanted:])
        valued = valued[max(0, wanted - len(silent)) :]
    return valued, np.concatenate(spread)


def as_released(codes: Codes, channel: Channel) -> NDArray[np.float32]:
    """Return the positions that codes say, float32 (n,), NaN for missing values and for who was not asked."""
    known = np.append(channel.positions.astype(np.float32), np.float32(np.nan))
    for code in (channel.missing_code, channel.unasked_code):
        if code is not None:
            known[code] = np.nan
    return known[codes]


def reconstruct(counts: NDArray[np.int64], channel: Channel) -> NDArray[np.float64]:
    """Return the shares of all positions, and of missing values if there may be any, float64 (inputs,).

    Noise: EM with the stopping rule of AS00. A square wave: EM with smoothing. Categories: the likeliest shares, which
    invert the randomized response within 0 … 1.
    """
    assert channel.matrix is not None
    if channel.edges is None:
        return maximize(counts, channel.matrix)
    if channel.is_wave:
        return maximize(counts, channel.matrix, smooth=True, ordered=channel.n_positions)
    return stopped_early(counts, channel.matrix)


def quotas(n: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of n records each position gets, int64: cumulative shares of n, rounded.

    >>> quotas(10, np.array([0.25, 0.5, 0.25])).tolist()
    [2, 6, 2]
    """
    ends = np.rint(n * np.cumsum(shares)).astype(np.int64)
    ends[-1] = n
    return np.diff(ends, prepend=0)


def _filled(n: int, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.repeat(np.arange(len(shares), dtype=np.float32), quotas(n, shares))


def _sorted(codes: Codes, shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float32]:
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    positions = np.empty(len(codes), dtype=np.float32)
    positions[order] = _filled(len(codes), shares)
    return positions


def _fewest_moves(codes: Codes, shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float32]:
    n = len(shares)
    wanted, found = quotas(len(codes), shares), np.bincount(codes, minlength=n)
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(found) - found, found)
    moving = order[rank >= wanted[codes[order]]]
    positions = codes.astype(np.float32)
    positions[moving] = rng.permutation(np.repeat(np.arange(n), np.maximum(wanted - found, 0)))
    return positions
