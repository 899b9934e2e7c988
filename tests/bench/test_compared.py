"""The bench of comparisons: inserted changes, and the figures of a comparison."""

import numpy as np
import pytest

from bench.accuracy import compared
from bench.accuracy.data import load, sized


def test_inserted_changes_have_the_given_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Supports of changed items differ by the given amounts, up to half a basket, and those of all others do not."""
    monkeypatch.setattr(compared, "POPULATION", 20_000)
    before = load(sized("flat-200", 20_000))
    after, changes = compared.inserted("flat-200", 1)
    moved = (after.item_counts() - before.item_counts()) / len(before)
    assert len(changes) >= 8
    assert {abs(points) for points in changes.values()} >= {0.01, 0.02, 0.1}
    assert moved[list(changes)] == pytest.approx(list(changes.values()), abs=0.5 / 20_000)
    assert not np.delete(moved, list(changes)).any()


@pytest.mark.slow
def test_figures_of_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many reports the largest change is found, also in the table; without a change only claims are counted."""
    monkeypatch.setattr(compared, "POPULATION", 20_000)
    row = compared.judged("flat-200", 60_000, 4.0, 0, changed=True)
    assert row["found"] >= 1
    assert 0.8 <= row["coverage"] <= 1
    assert compared.judged("flat-200", 5_000, 1.0, 0, changed=False) == {"certain": 0}
    line = {"set": "flat-200", "people": 60_000, "epsilon": 4.0} | row
    counted = {"reliability": row["reliability"], "unchanged": 1, "claimed": 0}
    assert sum(count for count, _, _ in row["reliability"][0]) >= row["selected"]
    assert "flat-200" in compared.markdown({"half": "fresh", "rows": [line], **counted})
