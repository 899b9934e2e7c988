"""The bench of substitutes: inserted substitutes, their true lifts, and the figures of one run."""

from itertools import combinations

import numpy as np
import pytest

from bench.accuracy import substitutes


def test_lifts_are_those_of_independence_given_the_size() -> None:
    """Lifts are 1 up to sampling error without substitutes; inserted ones have less than half, and no other pair."""
    pairs = np.array(list(combinations(range(24), 2)))
    is_substitute = (pairs[:, 0] // 3 == pairs[:, 1] // 3) & (pairs[:, 0] // 3 % 2 == 0)
    even, inserted = (substitutes.lifts(substitutes.shop(20_000, 3, inserted=each))[*pairs.T] for each in (False, True))
    assert even == pytest.approx(1, abs=0.08)
    assert inserted[is_substitute].max() < 0.5
    assert inserted[~is_substitute].min() > 0.9


def test_a_run_has_a_row_per_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a row for all pairs and one for pairs of a category, with inserted substitutes and without."""
    monkeypatch.setattr(substitutes, "EPSILONS", (4.0,))
    found = substitutes.run(1, (5_000,))
    assert [(row["inserted"], row["pairs"]) for row in found["rows"]] == [
        (True, "all"), (True, "one category"), (False, "all"), (False, "one category"),
    ]  # fmt: skip
    assert all(row["estimated"] >= row["selected"] >= row["false"] for row in found["rows"])
    assert "| 5,000 | 4 | True | all |" in substitutes.markdown(found)
