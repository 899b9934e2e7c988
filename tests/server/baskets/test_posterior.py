"""Posterior supports: consistent, covering, better than without priors; selected itemsets are true; several rounds."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from naive import reports_of

import assocpriv as ap
from assocpriv.files.mined_tables import mining_facts
from assocpriv.guarantees.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine, select_by_fdr
from assocpriv.server.baskets.posterior import _Evidence, _ItemPosteriors, _Prior
from assocpriv.simulation.basket_simulation import RawCounter
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

GUARANTEE, N, N_ITEMS = ap.Guarantee("5%", "50%"), 60_000, 300
RUNS = 6


@cache
def baskets() -> Baskets:
    """Return generated baskets, of which one in five holds more than M items."""
    return generate_quest(QuestSettings(n_baskets=N, n_items=N_ITEMS, mean_size=6, n_patterns=200, seed=5))


@cache
def plan() -> ap.Plan:
    """Return the plan chosen for them."""
    return ap.plan(baskets().catalogue, GUARANTEE, reports=N)


@cache
def mined(seed: int) -> pd.DataFrame:
    """Return the table of one collection, with true supports."""
    found = mine(LocalBackend.from_reports(reports_of(baskets(), plan(), seed)), MiningRequest()).to_pandas()
    return found.assign(truth=truths(found["itemsets"]))


def truths(itemsets: pd.Series) -> np.ndarray:
    """Return the true supports of whole baskets."""
    counter = RawCounter(baskets().offsets, baskets().items, N_ITEMS)
    index = baskets().catalogue.index_of
    rows = [np.array([sorted(index[name] for name in itemset)]) for itemset in itemsets]
    return np.array([counter.count(row)[0] for row in rows]) / N


def held(table: pd.DataFrame, middle: str, error: str) -> float:
    """Return the share of the 64 largest whose normal 95% interval around a column holds the truth."""
    own = table.nlargest(64, middle)
    return float((np.abs(own[middle] - own["truth"]) <= 1.96 * own[error]).mean())


def test_the_start_of_the_passes_does_not_matter() -> None:
    """Ten of 1,000 items, observed at 6% with F uncertain by half, get the same posterior from any starting mean."""
    rng, tau = np.random.default_rng(1), np.full(1000, 0.5)
    x, none = np.append(rng.normal(0, 0.01, 990), np.full(10, 0.06)), np.zeros(1000)
    means = []
    for start in (0.002, 0.06):
        variance = 0.01**2 + (tau * start) ** 2
        evidence = _Evidence(x, np.full(1000, start), variance, none, none + 1, tau, [], [])
        means.append(_ItemPosteriors.fit(evidence, 40).moments()[0][-1])
    assert means[0] == pytest.approx(means[1], rel=0.1)
    assert min(means) > 0.035  # with the error at the mean they were .059 and .003


def test_errors_grow_with_the_truncation_correction() -> None:
    """The error for whole baskets is at least F times that for truncated ones, as the estimate is F times theirs."""
    found = mined(0)
    factors = found["unbiased"] / found["sampled"]
    assert factors.min() > 1.1
    assert (found["unbiased_error"] >= 0.999999 * factors * found["sampled_error"]).all()


def test_the_common_error_widens_each_component() -> None:
    """A relative error common to all is added to each component of a posterior, at its mean."""
    supports, one = np.array([0.02, 0.05, 0.1]), np.ones(3)
    prior, known = _Prior(supports, 3 * supports, supports / 10, 0 * supports, 0 * supports, True), (supports / 5) ** 2
    alone, shared = (
        prior.posteriors(
            _Evidence(supports, supports, known, each * one, one, 0 * one, [one], [supports]), fitted=False
        )
        for each in (0.0, 0.3)
    )
    assert np.array_equal(shared.means, alone.means)
    np.testing.assert_allclose(shared.variances, alone.variances + (0.3 * alone.means) ** 2)


def test_the_prior_of_pairs_is_fitted() -> None:
    """Errors of pairs of independent items are below .006, and stated as below .01; unfitted, .009 to .011 and .015."""
    held = np.random.default_rng(1).random((20_000, 40)) < 0.15
    few = ap.plan(40, GUARANTEE, reports=len(held), mean_size=6)
    found = ap.mine(reports_of(held, few, 1), top=500)
    pairs = found[found["length"] == 2]
    truth = [held[:, [int(name) for name in itemset]].all(axis=1).mean() for itemset in pairs["itemsets"]]
    assert len(pairs) > 400
    assert pairs["std_error"].mean() < 0.01
    assert ((pairs["support"] - truth) ** 2).mean() < 0.006**2


def test_the_largest_supports_are_covered() -> None:
    """Intervals of the 64 largest supports of six collections cover at least 88%; two wrong models do not.

    The share of 384 is binomial except for errors that a collection's intervals share. With 95% each and effectively 20
    independent ones per collection, less than .88 has a probability of .001. Intervals within truncated baskets cover
    fewer. The largest estimates before any prior are too large, with more than twice the posterior's squared errors.
    """
    tables = [mined(seed) for seed in range(RUNS)]
    own = pd.concat([table.nlargest(64, "support") for table in tables])
    assert ((own["ci_low"] <= own["truth"]) & (own["truth"] <= own["ci_high"])).mean() >= 0.88
    assert np.mean([held(table, "sampled", "sampled_error") for table in tables]) < 0.85
    noisiest = [table.assign(most=table["unbiased"]).nlargest(64, "unbiased") for table in tables]
    assert np.mean([(table["unbiased"] - table["truth"]).mean() for table in noisiest]) > 0.01
    every = pd.concat(tables)
    posterior, unbiased = (((every[name] - every["truth"]) ** 2).mean() for name in ("support", "unbiased"))
    assert posterior < 0.5 * unbiased


def test_supports_are_consistent() -> None:
    """No itemset has a larger support or probability than a subset; every subset has a row."""
    for table in map(mined, range(2)):
        known = table.set_index("itemsets")[["support", "probability"]].T.to_dict("list")
        for names in table["itemsets"][table["length"] > 1]:
            for name in names:  # to the last bit: tables include all subsets
                assert (np.array(known[names]) <= known[names - {name}]).all()
        assert (table["ci_low"] <= table["support"]).all()
        assert (table["support"] <= table["ci_high"]).all()


def test_selected_itemsets_are_true() -> None:
    """About one in twenty itemsets selected in six collections is below the minimum support.

    Selections share errors within a collection; up to 12% have a probability of .001.
    """
    tables = [mined(seed) for seed in range(RUNS)]
    below = pd.concat([(each["truth"] < mining_facts(each).min_support)[each["selected"]] for each in tables])
    assert len(below) > 200
    assert below.mean() < 0.12
    rules = [ap.association_rules(table) for table in tables]
    assert sum(len(each) for each in rules) > 20
    assert all(each["confidence"].between(0, 1).all() for each in rules)


@pytest.mark.slow
def test_two_collections_are_more_precise_than_one() -> None:
    """With the reports of a second plan about the most frequent items, errors are smaller than with the first alone."""
    first, table = reports_of(baskets(), plan(), 1), mined(1)
    best = sorted({name for names in table.nlargest(300, "support")["itemsets"] for name in names})[:60]
    short = ap.plan(best, GUARANTEE, reports=N, mean_size=3, names=ap.Names(unlisted="drop"))
    index = baskets().catalogue.index_of
    kept = [[name for name in best if index[name] in basket] for basket in map(set, baskets())]
    collections = [first, reports_of(Baskets.from_sets(kept, short.catalogue, empty="keep"), short, 2)]
    both = mine([LocalBackend.from_reports(each) for each in collections], MiningRequest(top=200)).to_pandas()
    facts = mining_facts(both)
    assert facts.plan_ids == [plan().plan_id, short.plan_id]
    assert facts.reports == pytest.approx(2 * 0.95 * N, rel=0.05)
    alone = mine(LocalBackend.from_reports(first), MiningRequest(top=200)).to_pandas()
    one, two = (dict(zip(frame["itemsets"], frame["unbiased_error"], strict=True)) for frame in (alone, both))
    assert all(two[names] < one[names] for names in one.keys() & two.keys() if names <= set(best))
    errors = [((f["support"] - truths(f["itemsets"])) ** 2).mean() for f in (alone.head(150), both.head(150))]
    assert errors[1] < 1.1 * errors[0]


@pytest.mark.parametrize("held", [0, 1])
def test_empty_baskets_select_nothing(held: int) -> None:
    """With empty baskets, or one of 60 items that all hold, nothing else is selected."""
    few = ap.plan(60, GUARANTEE, reports=20_000)
    sets = Baskets(few.catalogue, np.arange(20_001) * held, np.zeros(20_000 * held, dtype=np.int64))
    found = mine(LocalBackend.from_reports(reports_of(sets, few, 4)), MiningRequest()).to_pandas()
    assert found["itemsets"][found["selected"]].tolist() == [frozenset(["0"])] * held
    assert (found["ci_low"][~found["selected"]] < 0.01).all()
    assert not ap.association_rules(found)["selected"].any()


def test_few_reports_give_a_warning() -> None:
    """Below 5,000 reports intervals hold those of the estimates before any prior, and a warning says why."""
    few = ap.Reports(plan(), reports_of(baskets(), plan(), 5).packed[:2_000])
    with pytest.warns(UserWarning, match="depend mostly on the prior"):
        found = ap.mine(few, top=64)
    assert ((found["ci_high"] - found["ci_low"]) > 1.9 * found["unbiased_error"]).mean() > 0.5
    truth = truths(found["itemsets"])
    assert ((found["ci_low"] <= truth) & (truth <= found["ci_high"])).mean() >= 0.88


def test_many_items_and_a_large_top() -> None:
    """20,000 items and 500 itemsets requested: there is no cap, and the table records the counts."""
    many = generate_quest(QuestSettings(n_baskets=20_000, n_items=20_000, mean_size=8, seed=3))
    wide = ap.plan(many.catalogue, GUARANTEE, reports=20_000)
    found = mine(LocalBackend.from_reports(reports_of(many, wide, 1)), MiningRequest(top=500)).to_pandas()
    assert len(found) >= 500
    counted = mining_facts(found).counted
    assert counted[0] == [20_000, 20_000]
    assert 10_000 <= counted[1][0] < counted[1][1]


def test_selection_fills_the_fdr() -> None:
    """Rows are selected by falling probability while it is at least .5 and the mean of 1 − P is within the FDR."""
    probabilities = np.array([0.5, 0.99, 0.7, 0.95, 0.49, 0.98])
    assert select_by_fdr(probabilities, 0.05).tolist() == [False, True, False, True, False, True]
    assert select_by_fdr(probabilities, 0.10).tolist() == [False, True, True, True, False, True]
    assert select_by_fdr(probabilities, 1.0).tolist() == [True, True, True, True, False, True]
    assert select_by_fdr(np.empty(0)).tolist() == []


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"min_support": 0}, "above 0"), ({"min_support": "some"}, "minimum support"),
        ({"min_support": "Auto"}, "minimum support"), ({"min_support": "2%", "top": 3}, "not go together"),
        *(({"top": top}, "top must be a whole number of at least 1") for top in (0, True, "many")),
        ({"top": 5, "fdr": "5%"}, "not go with top"), ({"max_itemset": 99}, "1 to"),
        ({"fdr": 0.05, "fdr_by": "all"}, "did not choose"), ({"fdr": 0.05, "fdr_by": "half"}, "'split' or 'all'"),
        *(({"min_support": 0.05, "fdr": level}, "fdr") for level in ("100%", 0, "120%", "very", 1.0)),
    ],
)  # fmt: skip
def test_contradictory_requests_are_refused(wanted: dict[str, object], message: str) -> None:
    """Unknown words, numbers out of range, contradictions and what the plan cannot estimate are refused."""
    with pytest.raises(EstimateError, match=message):
        ap.mine(ap.Reports(plan(), np.zeros((0, plan().report_bytes), dtype=np.uint8)), **wanted)


def test_pairs_that_no_report_covers_are_no_candidates() -> None:
    """With two plans that share one item, no pair of the other items is selected, as no report covers it."""
    left, right = (ap.plan(list(names), GUARANTEE, reports=20_000, mean_size=2) for names in ("abcd", "def"))
    collections = [ap.randomize([["a", "d"]] * 20_000, left), ap.randomize([["d", "f"]] * 20_000, right)]
    found = ap.mine(collections)
    assert frozenset("ad") in found["itemsets"].tolist()
    assert frozenset("af") not in found["itemsets"].tolist()
