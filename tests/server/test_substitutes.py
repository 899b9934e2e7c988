"""Substitutes: found where they are planted, none where chance rules, told against chance and not the product."""

import naive
import numpy as np
import pytest
from shown import check

import assocpriv as ap
from assocpriv.files.reports import Reports
from assocpriv.plans.names import Names
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.itemsets import ATTRIBUTE
from assocpriv.show.itemsets import substitutes as shown

NAMES = ["butter", "margarine", "beer", "wine", "tea", "rare", "rarer"]
KINDS = {"butter": "fats", "margarine": "fats", "beer": "drinks", "wine": "drinks", "rare": "fats"}
PEOPLE = 100_000


def reports_of(*, planted: bool, names: Names | None = None) -> Reports:
    """Return reports of one in two who buy little and as many who buy much, butter or margarine where ``planted``."""
    rng = np.random.default_rng(4)
    chance = np.where(rng.random(PEOPLE) < 0.5, 0.1, 0.7)[:, None] * np.array([1.0] * 5 + [0.05, 0.02])
    held = rng.random((PEOPLE, len(NAMES))) < chance
    if planted:
        both = held[:, 0] & held[:, 1]
        held[np.flatnonzero(both), rng.integers(2, size=both.sum())] = False
    plan = ap.plan(NAMES, ap.Epsilon(4), reports=PEOPLE, mean_size=2.5, names=names)
    rows, items = np.nonzero(held)
    baskets = Baskets(plan.catalogue, np.searchsorted(rows, np.arange(PEOPLE + 1)), items.astype(np.int64))
    return naive.reports_of(baskets, plan)


@pytest.fixture(scope="module")
def planted() -> Reports:
    """Butter and margarine take each other's place."""
    return reports_of(planted=True)


def test_what_is_planted_is_found_and_nothing_else(planted: Reports) -> None:
    """One pair takes each other's place; without it none, though five pairs of items are told."""
    found = ap.substitutes(planted)
    assert [set(each) for each in found["itemsets"][found["listed"]]] == [{"butter", "margarine"}]
    first = found.iloc[0]
    assert first["lift_ci_low"] < 0.2
    assert first["lift_ci_high"] < 0.8
    none = ap.substitutes(reports_of(planted=False))
    assert not none["listed"].any()
    assert len(none) >= 10


def test_chance_is_that_of_baskets_of_a_size() -> None:
    """Items apart have a lift of 1.6 by the product of their supports, which would hide what chance shows."""
    found = ap.substitutes(reports_of(planted=False))
    frequent = found[[set(each) <= set(NAMES[:5]) for each in found["itemsets"]]]
    assert (frequent["lift"] > 1.3).all()  # the wrong measure
    assert ((frequent["lift_ci_low"] < 1) & (frequent["lift_ci_high"] > 1)).all()


def test_rare_pairs_are_counted_and_not_told(planted: Reports) -> None:
    """What chance alone would show too rarely is no row, and the head says how many pairs are none."""
    found = ap.substitutes(planted)
    said = found.attrs[ATTRIBUTE]
    assert frozenset({"rare", "rarer"}) not in set(found["itemsets"])
    assert said["told"] == len(found)
    assert said["told"] + said["untold"] == 21
    assert said["untold"] >= 1


def test_categories_leave_pairs_of_one(planted: Reports) -> None:
    """Of named categories, or of the plan's taxonomy; what has none is in no pair."""
    by_name = ap.substitutes(planted, categories=KINDS)
    assert {frozenset(each) for each in by_name["itemsets"]} >= {frozenset({"beer", "wine"})}
    assert all(len({KINDS[name] for name in each}) == 1 for each in by_name["itemsets"])
    said = by_name.attrs[ATTRIBUTE]
    assert (said["by_category"], said["told"] + said["untold"]) == (True, 4)
    by_plan = ap.substitutes(reports_of(planted=True, names=Names(parents=tuple(sorted(KINDS.items())))))
    assert set(by_plan["itemsets"]) == set(by_name["itemsets"])
    with pytest.raises(TypeError, match="a mapping from items to their categories, got a list"):
        ap.substitutes(planted, categories=list(KINDS))
    with pytest.raises(EstimateError, match="none of the plan's items"):  # not all pairs, as without categories
        ap.substitutes(planted, categories={"Butter": "fats"})


def test_the_bound_moves_the_probability(planted: Reports) -> None:
    """It is that of a lift below the bound, so it rises with it; 0 and what is no share are refused."""
    told = [ap.substitutes(planted, below, categories=KINDS).set_index("itemsets") for below in ("80%", 1.0)]
    low, high = (each["probability"][frozenset({"beer", "wine"})] for each in told)
    assert low < 0.01
    assert low + 0.1 < high
    for wrong in (0, 1.5, "x"):
        with pytest.raises(EstimateError, match="bound on lift"):
            ap.substitutes(planted, wrong)


def test_the_expected_support_is_the_same_everywhere(planted: Reports) -> None:
    """Substitutes, mined tables, and what `ask` and a comparison read have one null model; lifts are near as well."""
    pairs = ap.substitutes(planted).set_index("itemsets")
    mined = ap.mine(planted, top=200).set_index("itemsets")
    asked = ap.ask(planted, list(pairs.index)).set_index("itemsets")
    both = pairs.index.intersection(mined.index)
    assert len(both) > 5
    for found in (mined.loc[both], asked.loc[both]):
        np.testing.assert_allclose(found["expected_support"], pairs.loc[both, "expected_support"], rtol=1e-9)
        np.testing.assert_allclose(found["support"], pairs.loc[both, "support"], atol=0.02)


def test_a_record_and_files_say_them(planted: Reports, tmp_path) -> None:
    """Text, JSON and HTML say the same; other programs read the table."""
    found = ap.substitutes(planted)
    said = check(shown(found, everything=True))
    assert "1 pair bought together less than 80% as often as expected if independent" in said
    assert "butter, margarine" in said
    assert "of one category" in check(shown(ap.substitutes(planted, categories={"tea": "drinks"})))
    for suffix in ("csv", "json", "parquet"):
        ap.write_substitutes(found, tmp_path / f"s.{suffix}")
    assert '"butter",' in (tmp_path / "s.json").read_text()
    assert (tmp_path / "s.csv").read_text().splitlines()[1].startswith('"butter,margarine",')
    assert "lift" in found.head(1)._repr_html_()
