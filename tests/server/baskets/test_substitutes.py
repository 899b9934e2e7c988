"""Substitutes: found where simulated, none under independence, measured against the null model, not the product."""

import naive
import numpy as np
import pytest
from shown import check

import assocpriv as ap
from assocpriv.files.mined_tables import ATTRIBUTE
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.catalogue import Names
from assocpriv.show.itemset_views import substitutes as shown

NAMES = ["butter", "margarine", "beer", "wine", "tea", "rare", "rarer"]
KINDS = {"butter": "fats", "margarine": "fats", "beer": "drinks", "wine": "drinks", "rare": "fats"}
PEOPLE = 100_000


def reports_of(*, planted: bool, names: Names | None = None) -> Reports:
    """Return reports of people, half with small and half with large baskets; ``planted``: butter or margarine."""
    rng = np.random.default_rng(4)
    chance = np.where(rng.random(PEOPLE) < 0.5, 0.1, 0.7)[:, None] * np.array([1.0] * 5 + [0.05, 0.02])
    held = rng.random((PEOPLE, len(NAMES))) < chance
    if planted:
        both = held[:, 0] & held[:, 1]
        held[np.flatnonzero(both), rng.integers(2, size=both.sum())] = False
    return naive.reports_of(
        held, ap.plan(NAMES, ap.Guarantee.from_epsilon(4), reports=PEOPLE, mean_size=2.5, names=names)
    )


@pytest.fixture(scope="module")
def planted() -> Reports:
    """Butter and margarine are substitutes."""
    return reports_of(planted=True)


def test_only_the_simulated_substitutes_are_selected(planted: Reports) -> None:
    """One pair of substitutes is selected; pairs with too small an expected support have no row, but are counted."""
    found = ap.substitutes(planted)
    assert [set(each) for each in found["itemsets"][found["selected"]]] == [{"butter", "margarine"}]
    first = found.iloc[0]
    assert first["lift_ci_low"] < 0.2
    assert first["lift_ci_high"] < 0.8
    facts = found.attrs[ATTRIBUTE]
    assert frozenset({"rare", "rarer"}) not in set(found["itemsets"])
    assert facts["detectable"] == len(found)
    assert facts["detectable"] + facts["undetectable"] == 21 > len(found)


def test_the_null_model_is_independence_given_the_basket_size() -> None:
    """Independent items have a lift of 1.6 by the product of their supports; by size their intervals include 1.

    None of them is selected, though at least ten pairs are detectable.
    """
    found = ap.substitutes(reports_of(planted=False))
    frequent = found[[set(each) <= set(NAMES[:5]) for each in found["itemsets"]]]
    assert (frequent["lift"] > 1.3).all()  # the wrong measure
    assert ((frequent["lift_ci_low"] < 1) & (frequent["lift_ci_high"] > 1)).all()
    assert not found["selected"].any()
    assert len(found) >= 10


def test_with_categories_pairs_are_of_one_category(planted: Reports) -> None:
    """Categories are given or are the plan's taxonomy; items without a category are in no pair."""
    by_name = ap.substitutes(planted, categories=KINDS)
    assert {frozenset(each) for each in by_name["itemsets"]} >= {frozenset({"beer", "wine"})}
    assert all(len({KINDS[name] for name in each}) == 1 for each in by_name["itemsets"])
    facts = by_name.attrs[ATTRIBUTE]
    assert (facts["by_category"], facts["detectable"] + facts["undetectable"]) == (True, 4)
    by_plan = ap.substitutes(reports_of(planted=True, names=Names(parents=tuple(sorted(KINDS.items())))))
    assert set(by_plan["itemsets"]) == set(by_name["itemsets"])
    with pytest.raises(TypeError, match="a mapping from items to categories, got a list"):
        ap.substitutes(planted, categories=list(KINDS))
    with pytest.raises(EstimateError, match="none of the plan's items"):  # not all pairs, as without categories
        ap.substitutes(planted, categories={"Butter": "fats"})


def test_the_bound_moves_the_probability(planted: Reports) -> None:
    """It is that of a lift below the bound, so it rises with the bound; 0 and other wrong shares are refused."""
    found = [ap.substitutes(planted, below, categories=KINDS).set_index("itemsets") for below in ("80%", 1.0)]
    low, high = (each["probability"][frozenset({"beer", "wine"})] for each in found)
    assert low < 0.01
    assert low + 0.1 < high
    for wrong in (0, 1.5, "x"):
        with pytest.raises(EstimateError, match="bound on lift"):
            ap.substitutes(planted, wrong)


def test_the_expected_support_is_the_same_everywhere(planted: Reports) -> None:
    """Substitutes, mined tables, `ask` and comparisons use one null model, and their lifts are close."""
    pairs = ap.substitutes(planted).set_index("itemsets")
    mined = ap.mine(planted, top=200).set_index("itemsets")
    asked = ap.ask(planted, list(pairs.index)).set_index("itemsets")
    both = pairs.index.intersection(mined.index)
    assert len(both) > 5
    for found in (mined.loc[both], asked.loc[both]):
        np.testing.assert_allclose(found["expected_support"], pairs.loc[both, "expected_support"], rtol=1e-9)
        np.testing.assert_allclose(found["support"], pairs.loc[both, "support"], atol=0.02)


def test_substitutes_are_shown_and_written(planted: Reports, tmp_path) -> None:
    """Text, JSON and HTML show the same; other programs read the table."""
    found = ap.substitutes(planted)
    output = check(shown(found, everything=True))
    assert "1 pair selected: bought together less than 80% as often as expected under independence" in output
    assert "butter, margarine" in output
    assert "of one category" in check(shown(ap.substitutes(planted, categories={"tea": "drinks"})))
    for suffix in ("csv", "json", "parquet"):
        ap.write_substitutes(found, tmp_path / f"s.{suffix}")
    assert '"butter",' in (tmp_path / "s.json").read_text()
    assert (tmp_path / "s.csv").read_text().splitlines()[1].startswith('"butter,margarine",')
    assert "lift" in found.head(1)._repr_html_()
