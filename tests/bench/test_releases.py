"""The bench of releases: the threshold of its baseline, and one cell."""

import math

import pytest

from bench.accuracy import releases


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.5, 1e-2), (2.0, 1e-4)])
def test_the_threshold_is_the_least(epsilon: float, delta: float) -> None:
    """δ of the threshold is at most the one asked for, and that of one less is not; summed by a plain loop."""
    rate = (1 - math.exp(-epsilon)) / 2

    def law(count: int, others: int) -> float:
        return math.comb(others, count) * rate**count * (1 - rate) ** (others - count)

    def largest(threshold: int) -> float:
        return max(
            sum(max(law(y, n + 1) - math.exp(epsilon) * law(y, n), 0.0) for y in range(threshold, n + 2))
            for n in range(threshold - 1, 300)
        )

    least = releases.least_threshold(epsilon, rate, delta)
    assert largest(least) <= delta < largest(least - 1)


@pytest.mark.slow
def test_a_release_beats_the_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 20,000 generated baskets errors of a release are below .7 of those of the better baseline."""
    monkeypatch.setattr(releases, "EPSILONS", (1,))
    result = releases.run(1, (20_000,), ("quest-7",))
    rows = {row["method"]: row for row in result["rows"]}
    assert rows["release"]["rmse"] < 0.7 * min(
        rows[name]["rmse"] for name in ("gaussian top k", "sample and threshold")
    )
    assert rows["release"]["pairs"] >= 17
    assert "| quest-7 | 20,000 | 1 | release |" in releases.markdown(result)
