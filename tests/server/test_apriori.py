"""Level-wise mining: candidates, decisions and closure, against trying every itemset."""

from fractions import Fraction
from itertools import combinations
from math import inf, sqrt

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned import planned
from quiet import mine

from assocpriv import association_rules
from assocpriv.files.reports import Reports
from assocpriv.planning.designs import InsertionDesign
from assocpriv.plans.operator import Operator
from assocpriv.plans.transition import SupportModel, estimator_row, transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server import apriori
from assocpriv.server.apriori import find_itemsets, join_candidates, mine_levels
from assocpriv.server.counting import ItemsetCounter, LocalCounter
from assocpriv.server.supports import Respondents, foreseen_error, lowest_discoverable_support
from assocpriv.simulation.simulate import PlainCounter, simulate

THRESHOLD = Operator(3, 1, 1, 6, (2, 4, 5, 35))
LIMIT = Fraction(19)

N_ITEMS = 6
some_transactions = st.lists(st.frozensets(st.integers(0, N_ITEMS - 1)), min_size=1, max_size=25)


class ExpectedCounter(ItemsetCounter):
    """Counts what N randomized reports show on average: the estimates are then the true supports, but for rounding.

    ``shares`` maps transactions, all of the operator's size, to their shares.
    """

    n_reports = 10**12

    def __init__(self, operator, shares, n_reports=None):
        self.operator, self.shares, self.asked = operator, shares, []
        self.n_reports = n_reports or self.n_reports

    def count(self, itemsets):
        """Return N Σ_t share(t) P[all shown | |A ∩ t| held] for every itemset A, rounded."""
        k = itemsets.shape[1]
        self.asked.append(k)
        all_shown = transition_matrix(self.operator, k)[k]
        means = [
            sum(share * all_shown[len(set(itemset) & t)] for t, share in self.shares.items())
            for itemset in itemsets.tolist()
        ]
        return np.array([round(mean * self.n_reports) for mean in means], dtype=np.int64)


def plain_counter(transactions):
    """Return a counter over plain transactions."""
    offsets = np.cumsum([0, *map(len, transactions)], dtype=np.int64)
    items = np.array([item for t in transactions for item in sorted(t)], dtype=np.int64)
    return PlainCounter(offsets, items, N_ITEMS)


def as_dict(found, name):
    """Return one value of each itemset found."""
    values = {}
    for level in found:
        numbers = getattr(level, name) if hasattr(level, name) else getattr(level.estimates, name)
        values |= dict(zip(map(tuple, level.itemsets.tolist()), numbers.tolist(), strict=True))
    return values


def sorted_rows(itemsets, k):
    """Return itemsets as an array in lexicographic order."""
    return np.array(sorted(itemsets), dtype=np.int64).reshape(-1, k)


@given(some_transactions, st.integers(1, 20), st.integers(1, 4))
def test_plain_mining_finds_what_trying_every_itemset_finds(transactions, twentieths, largest):
    """Without randomization the frequent itemsets, their counts and supports are the true ones."""
    min_support = twentieths / 20
    found, levels = mine_levels((plain_counter(transactions), SupportModel.plain()), N_ITEMS, min_support, largest)
    wanted = naive.frequent_itemsets(transactions, N_ITEMS, min_support, largest)
    assert as_dict(found, "counts") == wanted
    assert all(as_dict(found, "frequent").values())
    supports = as_dict(found, "support")
    assert supports == {itemset: count / len(transactions) for itemset, count in wanted.items()}
    assert [level.size for level in levels] == list(range(1, largest + 1))
    assert {(level.status, level.std_error, level.lowest_discoverable_support) for level in levels} == {
        ("decided", 0.0, 0.0)
    }
    for level in levels:
        assert level.frequent == sum(len(itemset) == level.size for itemset in wanted)
        assert level.frequent <= level.kept <= level.candidates


itemsets_of_two = st.sets(st.sampled_from(list(combinations(range(6), 2))))
itemsets_of_three = st.sets(st.sampled_from(list(combinations(range(6), 3))))


@given(st.one_of(itemsets_of_two, itemsets_of_three, st.sets(st.tuples(st.integers(0, 5)))), st.integers(1, 3))
def test_candidates_are_all_itemsets_whose_subsets_are_given(given_sets, fallback):
    """The join and prune leave exactly the itemsets all of whose subsets one smaller are there, in order."""
    k = len(next(iter(given_sets))) if given_sets else fallback
    wanted = [c for c in combinations(range(6), k + 1) if all(s in given_sets for s in combinations(c, k))]
    candidates = join_candidates(sorted_rows(given_sets, k), 6)
    assert candidates.shape == (len(wanted), k + 1)
    assert list(map(tuple, candidates.tolist())) == wanted


def test_the_first_candidates_are_the_single_items():
    """The empty itemset is joined to every item."""
    assert join_candidates(np.empty((1, 0), dtype=np.int64), 3).tolist() == [[0], [1], [2]]


# with ids near 2^20 a row of four is a number above 2^63, so numbers without a limit are used
@given(st.data(), st.integers(1, 5), st.sampled_from([5, 2**20 - 1, 2**40]))
def test_find_itemsets_is_a_search_from_start_to_end(data, k, largest_id):
    """Every wanted itemset is found where it stands, others give -1, also where rows outgrow 63 bits."""
    some_id = st.sampled_from([0, 1, 2, largest_id - 1, largest_id])
    row = st.tuples(*[some_id] * k)
    known = sorted(data.draw(st.sets(row, max_size=12)))
    wanted = data.draw(st.lists(st.one_of(row, st.sampled_from(known)) if known else row, max_size=12))
    places = find_itemsets(sorted_rows(known, k), np.array(wanted, dtype=np.int64).reshape(-1, k))
    assert places.dtype == np.int64
    assert places.tolist() == [known.index(row) if row in known else -1 for row in wanted]


def test_find_itemsets_around_63_bits():
    """The largest base whose numbers fit 63 bits and the next ones give the same places."""
    for base in (2**21 - 1, 2**21, 2**21 + 1, 2**22):  # base³ is below 2^63, equal to it, above
        known = sorted_rows([(0, 0, base - 1), (0, 1, 0), (base - 1,) * 3], 3)
        wanted = np.array([[base - 1] * 3, [0, 1, 0], [0, 0, base - 2]], dtype=np.int64)
        assert find_itemsets(known, wanted).tolist() == [2, 1, -1]


def variance_at(operator, k, support):
    """Return N times the variance of ŝ where s_k = support, s_0 = 1 − support (ESAG02, section 4)."""
    matrix, row = transition_matrix(operator, k), estimator_row(operator, k)
    squares = [sum(matrix[to][held] * row[to] ** 2 for to in range(k + 1)) for held in (0, k)]
    return (1 - support) * squares[0] + support * (squares[1] - 1)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_statuses_say_what_can_be_decided(k):
    """A level of few candidates is decided from 4σ(s_min) up, undecidable below 2σ(0), else uncertain: σ from P."""
    counter = ExpectedCounter(THRESHOLD, {frozenset({6, 7, 8}): 1}, 20_000)
    null = sqrt(variance_at(THRESHOLD, k, 0) / counter.n_reports)
    met = set()
    for support in (Fraction(i, 4000) for i in range(1, 1200, 7)):
        sigma = sqrt(variance_at(THRESHOLD, k, support) / counter.n_reports)
        _, levels = mine_levels((counter, SupportModel.of(THRESHOLD)), 6, float(support), k)
        status = levels[k - 1].status
        if support < 2 * null:
            assert status == "undecidable"
        elif support >= 4.1 * max(null, sigma):  # the exact tail may ask for a little more than four
            assert status == "decided"
        elif support < 4 * sigma:
            assert status == "uncertain"
        met.add(status)
    assert met == {"decided", "uncertain", "undecidable"}


def test_levels_carry_the_errors_of_their_sizes():
    """Each level states σ_k(s_min) and LDS_k, the support that is four of its own standard errors."""
    counter = ExpectedCounter(THRESHOLD, {frozenset({0, 1, 2}): 1}, 100_000)
    _, levels = mine_levels((counter, SupportModel.of(THRESHOLD)), 4, 0.25, 3)
    for level in levels:
        assert level.std_error == pytest.approx(sqrt(variance_at(THRESHOLD, level.size, Fraction(1, 4)) / 100_000))
        lowest = level.lowest_discoverable_support
        assert lowest == pytest.approx(4 * sqrt(variance_at(THRESHOLD, level.size, Fraction(lowest)) / 100_000))


MARKET = {
    frozenset({0, 1, 2}): Fraction(3, 10),
    frozenset({0, 1, 3}): Fraction(2, 10),
    frozenset({2, 4, 5}): Fraction(1, 10),
    frozenset({6, 7, 8}): Fraction(4, 10),
}


def true_supports(n_items, largest):
    """Return the true support of every itemset in MARKET."""
    itemsets = (i for k in range(1, largest + 1) for i in combinations(range(n_items), k))
    return {i: sum(share for t, share in MARKET.items() if set(i) <= t) for i in itemsets}


def test_mining_finds_true_supports_of_expected_counts():
    """From counts at their means mining gives every itemset at or above s_min, with its true support."""
    counter = ExpectedCounter(THRESHOLD, MARKET)
    found, levels = mine_levels((counter, SupportModel.of(THRESHOLD)), 6, 0.25, 3)
    wanted = {i: float(s) for i, s in true_supports(6, 3).items() if s >= 0.25}
    assert as_dict(found, "support") == pytest.approx(wanted, abs=1e-6)
    assert {level.status for level in levels} == {"decided"}
    assert counter.asked == [1, 2, 3]


@given(st.integers(0, 2**32), st.integers(2, 30))
def test_found_itemsets_are_closed_under_subsets(seed, twentieths):
    """Under any noise, what is found has all its subsets, frequent or not, and ends in frequent itemsets alone."""
    rng = np.random.default_rng(seed)

    class NoisyCounter(ExpectedCounter):
        def count(self, itemsets):
            return super().count(itemsets) + rng.integers(-400, 400, len(itemsets))

    counter = NoisyCounter(THRESHOLD, MARKET, 20_000)
    found, levels = mine_levels((counter, SupportModel.of(THRESHOLD)), 9, twentieths / 40, 3)
    frequent = as_dict(found, "frequent")
    for itemset in frequent:
        for k in range(1, len(itemset)):
            assert set(combinations(itemset, k)) <= set(frequent)
    for itemset, is_frequent in frequent.items():
        assert is_frequent or any(frequent[other] and set(itemset) < set(other) for other in frequent)
    assert sum(frequent.values()) == sum(level.frequent for level in levels)
    for level in found:
        assert list(map(tuple, level.itemsets.tolist())) == sorted(map(tuple, level.itemsets.tolist()))
        estimates_pass = level.estimates.support >= twentieths / 40
        assert np.array_equal(level.frequent, estimates_pass)


# likelier to keep none or all of 5 items, at ρ just below 1/2: for pairs alone
PAIR_OPERATOR = InsertionDesign("100001", insert_num=15, insert_bits=5).operator(LIMIT)
PAIRS = {frozenset({0, 1, 5, 6, 7}): Fraction(3, 10), frozenset(range(10, 15)): Fraction(7, 10)}


def test_an_undecidable_level_before_a_decidable_one_passes_uncut():
    """Nothing is frequent at an undecidable size, all of it goes on, and the next size is decided as ever."""
    model, n_reports = SupportModel.of(PAIR_OPERATOR), 5_000
    counter = ExpectedCounter(PAIR_OPERATOR, PAIRS, n_reports)
    found, levels = mine_levels((counter, model), 8, 0.2, 2)
    assert [level.status for level in levels] == ["undecidable", "decided"]
    assert (levels[0].candidates, levels[0].kept, levels[0].frequent) == (8, 8, 0)
    assert levels[1].candidates == 28
    frequent = as_dict(found, "frequent")
    expected_pairs = set(combinations((0, 1, 5, 6, 7), 2))
    assert {itemset for itemset, is_frequent in frequent.items() if is_frequent} == expected_pairs
    assert {itemset for itemset in frequent if len(itemset) == 1} == {(0,), (1,), (5,), (6,), (7,)}


def test_undecidable_levels_at_the_end_are_not_counted():
    """Sizes from which nothing can be decided any more cost no counting, and are accounted for."""
    model, n_reports = SupportModel.of(THRESHOLD), 250
    counter = ExpectedCounter(THRESHOLD, MARKET, n_reports)
    assert all(apriori.least_decidable(Respondents(n_reports, model), k) > 0.25 for k in (2, 3))
    found, levels = mine_levels((counter, model), 6, 0.25, 3)
    assert counter.asked == [1]
    assert {len(itemset) for itemset in as_dict(found, "counts")} == {1}
    assert [(level.size, level.candidates, level.kept, level.frequent) for level in levels[1:]] == [
        (2, 0, 0, 0),
        (3, 0, 0, 0),
    ]
    counter = ExpectedCounter(THRESHOLD, MARKET, 10)
    found, levels = mine_levels((counter, model), 6, 0.25, 3)
    assert (found, counter.asked, len(levels)) == ([], [], 3)


def test_sizes_the_operator_says_nothing_about_end_the_mining():
    """Above the transaction size the error is infinite, the level undecidable, and nothing of it is counted."""
    counter = ExpectedCounter(THRESHOLD, MARKET)
    _, levels = mine_levels((counter, SupportModel.of(THRESHOLD)), 6, 0.25, 4)
    assert counter.asked == [1, 2, 3]
    assert (levels[3].status, levels[3].std_error, levels[3].lowest_discoverable_support) == ("undecidable", inf, inf)


def test_no_reports_are_refused():
    """Without reports there is nothing to divide by, and an error says so."""
    plan = naive.small_plan("bch", 5, 3, 2)
    counter = LocalCounter(Reports.from_bytes([], plan))
    assert counter.n_reports == 0
    with pytest.raises(EstimateError, match="no reports"):
        mine_levels((counter, SupportModel.of(plan.items.operator)), 5, 0.1, 2)


def test_more_candidates_than_can_be_counted_are_refused():
    """The limit itself is allowed, one candidate more is not; the message says how many there would be."""
    singles = np.arange(5, dtype=np.int64)[:, None]
    assert len(join_candidates(singles, 5, 10)) == 10
    with pytest.raises(EstimateError, match=r"10 candidates of 2 items .* \(at most 9\).*--memory"):
        join_candidates(singles, 5, 9)


def test_the_memory_limits_the_candidates():
    """A memory that cannot hold all pairs is told, with the option that allows more."""
    plan = planned(12, 2, Breach("1%", "99%"), itemset_size=2)
    baskets = Baskets.from_sets([range(12)] * 200_000, plan.catalogue)
    reports = simulate(baskets, plan, 0.9, seed=1).reports
    assert len(mine(reports, 0.1, max_itemset=1, memory_bytes=3000)) == 12
    with pytest.raises(EstimateError, match=r"66 candidates of 2 items .*\(at most [1-9]\).*--memory"):
        mine(reports, 0.1, max_itemset=2, memory_bytes=3000)


def test_a_size_nothing_is_known_of_does_not_stop_a_larger_one() -> None:
    """With μ_1 = 0 pairs are still found; their items stand in the table without a support, not as frequent."""
    operator = InsertionDesign("100001", insert_num=1, insert_bits=1).operator(LIMIT)
    plan = naive.items_plan(8, operator, k=2, promise=Breach("5%", "50%"))
    baskets = Baskets.from_sets([[0, 1, 5, 6, 7]] * 30_000 + [[2, 3, 4]] * 70_000, plan.catalogue)
    frame = simulate(baskets, plan, 0.2, seed=1).itemsets
    singles, pairs = (frame[frame["length"] == k] for k in (1, 2))
    assert {frozenset("01"), frozenset("23")} <= set(pairs.loc[pairs["frequent"], "itemsets"])
    assert singles["support"].isna().all()
    assert not singles["frequent"].any()
    rules = association_rules(frame)
    assert len(rules) == 0


def test_errors_that_no_plan_foresees_make_a_level_uncertain() -> None:
    """Where many hold two items of a triple that nobody holds, its error is far above the plan's, and it is said."""
    plan = planned(20, 3, Breach("1%", "50%"), reports=200_000)
    pairs = [[0, 1]] * 60_000 + [[0, 2]] * 60_000 + [[1, 2]] * 60_000 + [[]] * 20_000
    baskets = Baskets.from_sets(pairs, plan.catalogue)
    model = SupportModel.of(plan.items.operator)
    least = 1.001 * lowest_discoverable_support(Respondents(200_000, model), 3)
    for seed in range(12):
        itemsets = simulate(baskets, plan, least, seed=seed).itemsets
        level = itemsets.attrs["assocpriv"]["levels"][2]
        false = itemsets[(itemsets["length"] == 3) & itemsets["frequent"]]
        if len(false):
            assert level["status"] == "uncertain"
            assert (
                level["std_error"]
                >= false["std_error"].max()
                > 2 * foreseen_error(Respondents(200_000, model), 3, least)
            )
            return
    pytest.fail("in 12 collections the triple never passed: the case does not show what it should")
