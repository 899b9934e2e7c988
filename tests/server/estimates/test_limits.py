"""From which support on a whole size's finds can be believed: exact tails, brute force and many empty collections."""

from math import comb, inf

import numpy as np
import pytest
from fit import FALSE_ALARM
from scipy.stats import binom, norm, poisson

from assocpriv.planning.baskets import make_plan
from assocpriv.plans.operator import Operator
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets
from assocpriv.server.apriori import mine_levels
from assocpriv.server.counting import CountsOfAll
from assocpriv.server.intervals import FALSE_ITEMSETS, errors_for, errors_of, level_discoverable_support
from assocpriv.server.itemsets import describe_undecided, mining_facts
from assocpriv.server.supports import Respondents, foreseen_error, lowest_discoverable_support
from assocpriv.simulation.simulate import simulate

# items, M, promise, reports: ρ near 1/2 with σ_k(s) falling, ρ = .09, .02 (skewed estimates), and few candidates
PLANS = [
    (1_000, 5, ("5%", "50%"), 100_000),
    (330_000, 3, ("1%", "50%"), 77_512),
    (10_000, 2, ("1%", "99%"), 20_000),
    (100_000, 2, ("1%", "99%"), 3_000),
    (20, 3, ("1%", "99%"), 3_000),
]


def respondents_to(plan):
    """Return those who answer a plan of PLANS."""
    items, m, promise, n_reports = plan
    made = make_plan(items, m, Breach(*promise), reports=n_reports, itemset_size=min(3, m), kind="independent")
    return Respondents(n_reports, SupportModel.of(made.operator))


def exact_tail(respondents, k, support):
    """Return P(ŝ ≥ support) of an itemset of whose items nobody has any, k = 1 or 2, by sums of binomial laws."""
    n, q = respondents.n_reports, [float(x) for x in respondents.model.row(k)]
    law = [float(row[0]) for row in respondents.model.transition(k)]
    both = np.arange(n + 1) if k == 2 else np.zeros(1, dtype=np.int64)
    chance = binom.pmf(both, n, law[2]) if k == 2 else np.ones(1)
    both, chance = both[chance > 1e-40], chance[chance > 1e-40]
    rest, step = n - both, q[1] - q[0]
    # of the others x show one item: ŝ ≥ support where x ≥ least (step > 0) or x ≤ least (step < 0)
    least = (support * n - (q[2] * both if k == 2 else 0.0) - q[0] * rest) / step
    one = law[1] / (law[0] + law[1])
    tails = binom.sf(np.ceil(least - 1e-9) - 1, rest, one) if step > 0 else binom.cdf(np.floor(least + 1e-9), rest, one)
    return float(chance @ tails)


def test_how_many_errors_many_candidates_ask_for() -> None:
    """z is 4.3 at 1,000 candidates and 5.4 at 330,000, never below four, and c·Φ(−z) is 0.01 above that."""
    assert round(errors_for(1_000), 1) == 4.3
    assert round(errors_for(330_000), 1) == 5.4
    assert errors_for(0) == errors_for(1) == errors_for(300) == 4.0
    for candidates in (400, 10**6, comb(330_000, 3), comb(100_000, 15)):
        assert candidates * norm.sf(errors_for(candidates)) == pytest.approx(FALSE_ITEMSETS, rel=1e-6)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("k", [1, 2])
def test_the_figure_of_a_level_against_exact_tails(plan, k) -> None:
    """At the figure less than 0.01 empty itemsets are expected by the exact law; z normal errors alone allow more.

    The figure is the larger of s = zσ_k(s), found here by bisection, and what the tail asks for, to 1% or a step.
    """
    respondents = respondents_to(plan)
    candidates = comb(plan[0], k)
    figure, z = level_discoverable_support(respondents, k, candidates), errors_for(candidates)
    assert candidates * exact_tail(respondents, k, figure) <= FALSE_ITEMSETS
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < z * foreseen_error(respondents, k, middle) else (low, middle)
    assert lowest_discoverable_support(respondents, k, z) == pytest.approx(high, rel=1e-9)
    assert figure >= high * (1 - 1e-12)
    if figure > high * (1 + 1e-9):
        values = sorted(abs(float(x)) for x in respondents.model.row(k))
        step = values[-1] + values[-2] if k == 1 else 0.0
        lower = figure * 0.99 - step / respondents.n_reports
        assert exact_tail(respondents, k, lower) > norm.sf(z)
    assert errors_of(respondents, k, figure, candidates) >= z
    assert errors_of(respondents, k, figure, candidates) * foreseen_error(respondents, k, figure) == pytest.approx(
        max(figure, z * foreseen_error(respondents, k, figure))
    )


def test_normal_tails_would_not_do() -> None:
    """The wrong model, z·σ_k(s) alone, lets more than one false itemset in a hundred collections pass."""
    worst = 0.0
    for plan in PLANS:
        respondents = respondents_to(plan)
        for k in (1, 2):
            candidates = comb(plan[0], k)
            normal = lowest_discoverable_support(respondents, k, errors_for(candidates))
            worst = max(worst, candidates * exact_tail(respondents, k, normal))
    assert worst > 3 * FALSE_ITEMSETS


def test_sizes_nothing_is_known_of() -> None:
    """Where the operator says nothing of a size there is no figure; of few reports it is not below one of them."""
    operator = Operator(3, 1, 1, 6, (2, 4, 5, 35))
    model = SupportModel.of(operator)
    whole = Respondents(20_000, model)
    assert level_discoverable_support(whole, 4, 5_000) == inf
    assert level_discoverable_support(Respondents(500, SupportModel.plain()), 2, 5_000) == 0.0
    assert errors_of(whole, 4, inf, 1_000) == errors_for(1_000)
    few = level_discoverable_support(Respondents(30, model), 2, 10**9)
    assert few >= 1 / 30


class EmptyCollection(CountsOfAll):
    """Counts what reports of empty baskets show of single items and pairs of a plan that shows each with chance ρ."""

    n_reports = 0

    def __init__(self, n_reports, default_probability, rng):
        self.n_reports, self.shown, self.rng = n_reports, float(default_probability), rng
        self.singles = np.empty(0, dtype=np.int64)

    def count(self, itemsets):
        """Draw the counts: of pairs, given those of their items."""
        if itemsets.shape[1] == 1:
            self.singles = self.rng.binomial(self.n_reports, self.shown, len(itemsets))
            return self.singles
        left, right = self.singles[itemsets.T]
        return self.rng.hypergeometric(left, self.n_reports - left, right)


def false_finds(respondents, operator, n_items, at, rng, runs, largest=1):
    """Mine empty collections: false finds of each size, and how often a size with false finds was called decided."""
    found, trusted, support = np.zeros(largest, dtype=np.int64), 0, at
    for _ in range(runs):
        counter = EmptyCollection(respondents.n_reports, operator.default_probability, rng)
        _, levels = mine_levels((counter, respondents.model), n_items, support, largest)
        for level in levels:
            found[level.size - 1] += level.frequent
            trusted += level.frequent > 0 and level.status == "decided"
    return found, trusted


def test_many_items_that_nobody_has(rng) -> None:
    """Of 20,000 empty items some reach the paper's figure in most collections, and it is said; nearly none the level's.

    The wrong model is the paper's figure for the whole level: rejected by the count that holds the level's figure.
    """
    n_items, runs = 20_000, 400
    respondents = respondents_to((n_items, 2, ("1%", "99%"), 20_000))
    operator = respondents.model.operator
    most = poisson.isf(FALSE_ALARM, runs * FALSE_ITEMSETS)
    figure = level_discoverable_support(respondents, 1, n_items)
    assert most < 20
    found, _ = false_finds(respondents, operator, n_items, figure, rng, runs)
    assert found[0] <= most
    found, trusted = false_finds(respondents, operator, n_items, lowest_discoverable_support(respondents, 1), rng, 100)
    assert found[0] > most
    assert trusted == 0


def test_empty_pairs_of_items_that_noise_let_through(rng) -> None:
    """Pairs are counted where their items' estimates were large by chance; their own are no larger for that.

    All items go on (a size of nothing but noise, cut low); per pair counted fewer pass than the figure allows.
    """
    respondents = respondents_to((300, 2, ("5%", "50%"), 5_000))
    model, operator = respondents.model, respondents.model.operator
    low = 2.05 * max(foreseen_error(respondents, k, 0.0) for k in (1, 2))
    counted, passed = 0, 0
    at = 3 * foreseen_error(respondents, 2, 0.0)  # fewer errors than the level's, so that there is something to count
    for _ in range(60):
        counter = EmptyCollection(5_000, operator.default_probability, rng)
        found, levels = mine_levels((counter, model), 300, low, 2)
        counted += levels[1].candidates
        passed += sum(int((level.estimates.support >= at).sum()) for level in found if level.itemsets.shape[1] == 2)
    expected = counted * exact_tail(respondents, 2, at)
    assert counted > 1_000
    assert passed <= poisson.isf(FALSE_ALARM, 1.1 * expected)


def test_the_listing_of_the_issue_is_warned_of() -> None:
    """Empty baskets over 60,000 items, mined at the paper's figure: what is found is called uncertain, and why.

    At the level's figure nothing is found: a false alarm of at most 1 in 100 on a fresh seed.
    """
    n_items, n_reports = 60_000, 20_000
    plan = make_plan(n_items, 2, Breach("1%", "99%"), itemset_size=1, reports=n_reports, code="reed-solomon")
    respondents = Respondents(n_reports, SupportModel.of(plan.operator))
    baskets = Baskets.from_sets([[]] * n_reports, plan.catalogue)
    paper = lowest_discoverable_support(respondents, 1)
    facts = mining_facts(mined := simulate(baskets, plan, paper, seed=1).itemsets)
    assert mined["frequent"].sum() >= 1
    assert not mined["true_support"].any()
    (level,) = facts.levels
    assert level.status == "uncertain"
    assert level.lowest_discoverable_support == pytest.approx(paper)
    (line,) = describe_undecided(facts)
    assert f"{paper:.2%} is the lowest discoverable of one itemset" in line
    assert f"all 60,000 counted can be believed from {level.level_discoverable_support:.2%}" in line
    quiet = simulate(baskets, plan, level.level_discoverable_support, seed=1).itemsets
    assert not quiet["frequent"].any()
    assert mining_facts(quiet).levels[0].status == "decided"
