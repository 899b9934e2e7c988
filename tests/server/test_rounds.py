"""Sizes of baskets as a mined histogram tells them, and of what tables of a shortlist hold."""

import numpy as np
import pandas as pd
import pytest

from assocpriv.plans.operator import Operator
from assocpriv.promise.errors import EstimateError
from assocpriv.server.rounds import (
    sizes_held,
    sizes_of_table,
)
from assocpriv.server.undo_sampling import SizeShares


def table(rows, plan="a", *, reports=1000, population=True, m=3, **more):
    """Return a mined table of {names: (support, standard error)} with made-up counts."""
    frame = pd.DataFrame(
        {
            "support": [support for support, _ in rows.values()],
            "itemsets": pd.Series([frozenset(names) for names in rows], dtype=object),
            "std_error": [error for _, error in rows.values()],
            "ci_low": 0.0,
            "ci_high": 1.0,
            "length": [len(names) for names in rows],
            "frequent": True,
            "count": [
                int(np.nan_to_num(support) * reports) + place for place, (support, _) in enumerate(rows.values())
            ],
        }
    )
    frame.attrs["assocpriv"] = {
        "format": "assocpriv-itemsets", "version": 3, "plan_id": plan * 64, "reports": reports, "transaction_size": m,
        "population": population, "min_support": 0.01, "confidence_level": 0.95, "itemset_size": 2, "levels": [],
        "operator": Operator(1, 1, 1, 3, (1, 7)).to_json(), **more,
    }  # fmt: skip
    return frame


# ---- averages


# ---- corrections

SIZES = SizeShares(np.array([1, 4, 8]), np.array([0.3, 0.4, 0.3]))


# ---- sizes

BOUNDS = [0, 1, 2, 4, 8]


def histogram(shares, error=1e-4, least=0.01):
    """Return the table of a sizes plan; buckets without a share are not in it."""
    names = [f"{low}.." for low in BOUNDS]
    rows = {(name,): (share, error) for name, share in zip(names, shares, strict=True) if share}
    buckets = dict(zip(names, BOUNDS, strict=True))
    return table(rows, "s", m=1, view="sizes", buckets=buckets) if rows else None


def test_sizes_follow_a_histogram() -> None:
    """A sharp histogram is met bucket by bucket; a bucket that is missing gets what the others leave of 1."""
    for shares in ([0.1, 0.2, 0.4, 0.25, 0.05], [0.1, 0.2, 0.4, 0.3, 0]):
        sizes = sizes_of_table(histogram(shares))
        ends = [*BOUNDS[1:], 10**9]
        met = [
            float(sizes.shares[(sizes.sizes >= low) & (sizes.sizes < high)].sum())
            for low, high in zip(BOUNDS, ends, strict=True)
        ]
        assert met == pytest.approx(shares, abs=0.012)
        assert sizes.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "buckets", [None, {}, {"a": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 2, "c": 1}, {"a": "0"}, {"x": 0}, []], ids=str
)
def test_what_is_no_histogram_is_refused(buckets) -> None:
    """A table without buckets that rise from 0, or with rows that are none of them, tells no sizes."""
    with pytest.raises(EstimateError, match="histogram"):
        sizes_of_table(table({"q": (0.5, 0.1)}, buckets=buckets))


def test_shortlists_are_thinned_to_what_they_hold() -> None:
    """Where a plan drops names, sizes are thinned until the items sampled are as many as the table shows."""
    m, mean = 2, 1.5
    left = SIZES.thinned(mean)
    shown = float(np.minimum(left.sizes, m) @ left.shares)
    frame = table({"x": (shown - 0.5, 0.01), "y": (0.5, 0.01), "xy": (0.3, 0.01)}, m=m, others="drop")
    assert sizes_held(frame, SIZES).mean == pytest.approx(mean, abs=1e-4)
    assert sizes_held(table({"x": (0.5, 0.01)}), SIZES) is SIZES
    full = table({(str(i),): (0.9, 0.01) for i in range(3)}, m=m, others="drop")
    assert sizes_held(full, SIZES).mean == SIZES.mean  # more than sizes allow


# ---- refusals


# ---- files
