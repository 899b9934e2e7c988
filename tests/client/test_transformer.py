"""Baskets in scikit-learn's pipelines: what mining sees is what randomize_baskets makes; nobody is asked too often."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import assocpriv as ap
from assocpriv.files.reports import Reports
from assocpriv.pipelines import BasketRandomizer

NAMES = ["tea", "milk", "rye", "egg"]
PLAN = ap.plan(NAMES, 2, ap.Breach("5%", "90%"))


def test_reports_are_mined() -> None:
    """Columns in any order, by their names; supports are within 5 standard errors (false alarm below 1e-5)."""
    table = pd.DataFrame({"rye": [0, 1] * 20_000, "tea": [1, 0] * 20_000, "egg": 0, "milk": [1, 0] * 20_000})
    reports = make_pipeline(BasketRandomizer(PLAN)).fit_transform(table)
    mined = ap.mine(Reports(PLAN, reports), "20%")
    found = {tuple(sorted(row["itemsets"])): row for row in mined.to_dict("records")}
    for items in (("tea",), ("rye",), ("milk", "tea")):
        assert abs(found[items]["support"] - 0.5) < 5 * found[items]["std_error"]
    assert ("egg",) not in found


@pytest.mark.parametrize("kind", ["numbers", "polars", "pyarrow", "sparse", "array after a frame"])
def test_columns_mean_what_they_are_called(kind: str) -> None:
    """Items named by numbers stand in another order in a catalogue sorted as text; none is taken for another.

    The plan keeps a basket of one item whole nearly always, so that the item held stands out.
    """
    plan = ap.plan(["1", "10", "2"], 1, ap.Breach("1%", "99.99%"))
    held = np.tile([False, True, False], (3000, 1))  # of the columns 1, 2, 10: everybody holds 2
    frame = pd.DataFrame(held, columns=[1, 2, 10])
    given = {
        "numbers": frame,
        "polars": pl.DataFrame({str(name): frame[name].to_numpy() for name in frame}),
        "pyarrow": pa.table({str(name): frame[name].to_numpy() for name in frame}),
        "sparse": sp.csr_matrix(held[:, [0, 2, 1]]),
    }
    randomizer = BasketRandomizer(plan)
    if kind == "array after a frame":
        randomizer.fit(frame.set_axis(["1", "2", "10"], axis=1))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            reports = randomizer.transform(held)
    else:
        reports = randomizer.fit_transform(given[kind])
    mined = ap.mine(Reports(plan, reports), "50%")
    assert mined["itemsets"].tolist() == [frozenset({"2"})]


def test_reports_as_a_frame_and_people_without_names() -> None:
    """Bytes have names for set_output; an index that does not say who somebody is would let a person be asked again."""
    table = pd.DataFrame(np.eye(4, dtype=int), columns=NAMES)
    assert list(BasketRandomizer(PLAN).set_output(transform="pandas").fit_transform(table)) == ["byte0"]
    for labels in ([float("nan"), 1, 2, 3], [None, 1, 2, 3], [[1], [2], [3], [4]]):
        with pytest.raises(ap.AssocprivError, match="must say who each row is"):
            BasketRandomizer(PLAN).fit_transform(table.set_index(pd.Index(labels, dtype=object)))


def test_nobody_is_randomized_too_often() -> None:
    """By the frame's index, or the row's number; other people may come."""
    people = pd.DataFrame(np.eye(4, dtype=int), columns=NAMES, index=["a", "b", "c", "d"])
    randomizer = BasketRandomizer(PLAN).fit(people)
    randomizer.transform(people.iloc[:2])
    randomizer.transform(people.iloc[2:])
    with pytest.raises(ap.AssocprivError, match="keep the reports that were made"):
        randomizer.transform(people.iloc[1:3])
    assert randomizer.asked_ == dict.fromkeys("abcd", 1)
    by_row = BasketRandomizer(PLAN)
    by_row.fit_transform(people.to_numpy())
    with pytest.raises(ap.AssocprivError, match=r"further one would tell more.* else by their row"):
        by_row.transform(people.to_numpy())
    with pytest.raises(ap.AssocprivError, match="further one would tell more"):
        by_row.fit_transform(people.to_numpy())
    assert not hasattr(clone(by_row), "asked_")


def test_no_cell_is_quoted() -> None:
    """What is in a cell that is no number stays there."""
    for table in (pd.DataFrame([["secret"] * 4], columns=NAMES), [["secret"] * 4]):
        with pytest.raises(ap.AssocprivError, match="a number in each cell") as refused:
            BasketRandomizer(PLAN).fit(table)
        assert "secret" not in str(refused.value)
        assert refused.value.__suppress_context__


def test_what_does_not_fit_the_plan_is_refused() -> None:
    """No plan, other columns, other names."""
    with pytest.raises(ap.AssocprivError, match="needs plan="):
        BasketRandomizer().fit(np.eye(4))
    with pytest.raises(ap.AssocprivError, match="3 columns"):
        BasketRandomizer(PLAN).fit(np.eye(3))
    with pytest.raises(ap.AssocprivError, match="name them alike"):
        BasketRandomizer(PLAN).fit(pd.DataFrame(np.eye(4), columns=list("abcd")))
    with pytest.raises(ap.AssocprivError, match="name them alike"):
        BasketRandomizer(PLAN).fit(pd.DataFrame(np.eye(4), columns=[1, 2, 3, 4]))
    with pytest.raises(ap.AssocprivError, match="name them alike"):
        BasketRandomizer(PLAN).fit(pd.DataFrame(np.eye(5), columns=[*NAMES, "tea"]))
