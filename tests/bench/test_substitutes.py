"""The bench of substitutes: inserted substitutes, their true lifts, and the figures of one run."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest

from bench.accuracy import substitutes


def symmetric(odds: np.ndarray) -> np.ndarray:
    """Return the elementary symmetric polynomials of all degrees."""
    return reduce(np.convolve, [np.array([1.0, each]) for each in odds], np.ones(1))


def expected(held: np.ndarray, sizes: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Return the expected counts of pairs if items are independent given the size, with odds fitted at each size."""
    total = np.zeros(len(pairs))
    for size in np.unique(sizes[(sizes > 1) & (sizes < len(held))]):
        of_size = held[:, sizes == size]
        share = np.clip(of_size.mean(axis=1), 1e-6, 1 - 1e-6)
        odds = share / (1 - share)
        for _ in range(15):
            without = [symmetric(np.delete(odds, item))[size - 1] for item in range(len(odds))]
            single = np.clip(odds * without / symmetric(odds)[size], 1e-9, 1 - 1e-9)
            odds = odds * share / (1 - share) * (1 - single) / single
            odds /= odds.mean()
        both = [symmetric(np.delete(odds, pair))[size - 2] * odds[list(pair)].prod() for pair in pairs]
        total += of_size.shape[1] * np.array(both) / symmetric(odds)[size]
    return total + (sizes == len(held)).sum()


def test_lifts_are_those_of_a_count_by_size() -> None:
    """Lifts equal counts over expected counts by size; they are far below 1 for inserted substitutes, otherwise not."""
    for inserted in (True, False):
        baskets = substitutes.shop(20_000, 3, inserted=inserted)
        lifts, held = substitutes.lifts(baskets), baskets.matrix()
        pairs = list(combinations(range(6), 2))
        together = np.array([(held[i] & held[j]).sum() for i, j in pairs])
        assert lifts[tuple(zip(*pairs, strict=True))] == pytest.approx(
            together / expected(held, baskets.sizes, pairs), rel=0.02
        )
        own = [lifts[i, j] for i, j in combinations(range(3), 2)]
        assert max(own) < 0.6 if inserted else min(own) > 0.6
        others = [lifts[i, j] for i, j in combinations(range(3, 6), 2)]
        assert min(others) > 0.6


def test_a_run_has_a_row_per_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a row for all pairs and one for pairs of a category, with inserted substitutes and without."""
    monkeypatch.setattr(substitutes, "EPSILONS", (4.0,))
    found = substitutes.run(1, (20_000,))
    assert [(row["inserted"], row["pairs"]) for row in found["rows"]] == [
        (True, "all"), (True, "one category"), (False, "all"), (False, "one category"),
    ]  # fmt: skip
    assert all(row["estimated"] >= row["selected"] >= row["false"] for row in found["rows"])
    assert "| 20,000 | 4 | True | all |" in substitutes.markdown(found)
