"""The bench of substitutes: what is planted, the truth that it is judged by, and the figures of one run."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from bench.accuracy import substitutes


def counted(held: np.ndarray, sizes: np.ndarray, i: int, j: int) -> Iterator[float]:
    """Yield how many baskets hold two items, and how many would by chance, one size after the other."""
    yield float((held[i] & held[j]).sum())
    yield sum(held[i][sizes == size].mean() * held[j][sizes == size].sum() for size in set(sizes.tolist()))


def test_lifts_are_those_of_a_count_by_size() -> None:
    """Over chance in baskets of a size; where nothing is planted they are near 1, planted ones far below."""
    for planted in (True, False):
        baskets = substitutes.shop(20_000, 3, planted=planted)
        lifts, held = substitutes.lifts(baskets), baskets.matrix()
        for i, j in combinations(range(6), 2):
            together, chance = counted(held, baskets.sizes, i, j)
            assert lifts[i, j] == pytest.approx(together / chance)
        own = [lifts[i, j] for i, j in combinations(range(3), 2)]
        assert max(own) < 0.6 if planted else min(own) > 0.6
        others = [lifts[i, j] for i, j in combinations(range(3, 6), 2)]
        assert min(others) > 0.6


def test_a_run_has_a_row_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all pairs and of those of one category, with planted substitutes and without."""
    monkeypatch.setattr(substitutes, "EPSILONS", (4.0,))
    found = substitutes.run(1, (20_000,))
    assert [(row["planted"], row["pairs"]) for row in found["rows"]] == [
        (True, "all"), (True, "one category"), (False, "all"), (False, "one category"),
    ]  # fmt: skip
    assert all(row["told"] >= row["listed"] >= row["false"] for row in found["rows"])
    assert "| 20,000 | 4 | True | all |" in substitutes.markdown(found)
