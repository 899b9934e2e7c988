"""Samples from the posterior: the table's means, errors and subsets, and the common error."""

import numpy as np
import pandas as pd
import pytest
from naive import planned

import assocpriv as ap
from assocpriv.estimation.truncation import shared_errors
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.errors import EstimateError


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return a mined table of baskets half of which are truncated."""
    plan = planned(list("abcdefgh"), 2, ap.Guarantee("1%", "90%"), reports=20_000, sizes="10%")
    rng = np.random.default_rng(1)
    baskets = [["a", "b", "c", "d"][: 2 + 2 * int(rng.random() < 0.5)] for _ in range(20_000)]
    return ap.mine(ap.simulate(baskets, plan, seed=2).reports, top=12)


def test_samples_agree_with_the_table(table: pd.DataFrame) -> None:
    """Means and deviations are the table's; no itemset exceeds its subsets; a seed repeats the samples."""
    drawn = ap.draws(table, 4_000, seed=3)
    assert list(drawn.columns) == table["itemsets"].tolist()
    assert drawn.to_numpy().mean(axis=0) == pytest.approx(table["support"].to_numpy(), abs=0.03)
    wide = table["support"].between(0.3, 0.9).to_numpy()
    assert drawn.to_numpy().std(axis=0)[wide] == pytest.approx(table["std_error"].to_numpy()[wide], rel=0.35)
    for names in table["itemsets"]:
        for name in names if len(names) > 1 else ():
            assert (drawn[names] <= drawn[names - {name}]).all()
    assert drawn.equals(ap.draws(table, 4_000, seed=3))
    assert not drawn.equals(ap.draws(table, 4_000, seed=4))


def test_the_common_error_shifts_all_supports(table: pd.DataFrame) -> None:
    """Supports of items without shared report noise are still correlated, by the truncation correction."""
    drawn = ap.draws(table, 4_000, seed=5)
    c, d = drawn[frozenset("c")], drawn[frozenset("d")]
    all_columns = pd.DataFrame({name: [*each] for name, each in LightFrame.from_frame(table).columns.items()})
    rows = all_columns.set_index("itemsets").loc[[frozenset("c"), frozenset("d")]]
    common = shared_errors(rows["common_error"] * rows["support"], rows["truncation_error"])
    shares = (common / rows["std_error"]).to_numpy()
    assert shares.min() > 0.2
    assert np.corrcoef(c, d)[0, 1] == pytest.approx(shares.prod(), abs=0.06)  # 4 deviations of 4,000 draws


@pytest.mark.parametrize(("count", "seed"), [(0, 1), (1.5, 1), (3, -1), (3, "x")])
def test_invalid_arguments_are_refused(table: pd.DataFrame, count: object, seed: object) -> None:
    """At least one sample, and a seed of at least 0."""
    with pytest.raises(EstimateError, match="samples"):
        ap.draws(table, count, seed=seed)
