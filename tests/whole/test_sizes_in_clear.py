"""Sizes in clear: what each group promises, that estimates over mixed groups hold, and that both clients agree."""

import json
from fractions import Fraction
from itertools import combinations, product
from math import comb
from pathlib import Path

import fit
import naive
import numpy as np
import pytest
from click.testing import CliRunner
from quiet import mine

from assocpriv.apps.cli import main
from assocpriv.baskets import randomize_baskets
from assocpriv.client.baskets.bulk import GroupedRandomizer, randomize_chunks
from assocpriv.client.baskets.randomizer import Randomizer
from assocpriv.core.errors import PlanError, PrivacyLimitError, WireError
from assocpriv.core.privacy import Breach
from assocpriv.files.basket_reports import basket_groups
from assocpriv.files.plans import read_plan, write_plan
from assocpriv.files.reports import Reports, read_reports
from assocpriv.lab.enumeration import distribution
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.lab.simulate import PlainCounter, simulate
from assocpriv.lab.synthetic import QuestSettings, generate_quest
from assocpriv.mining import association_rules
from assocpriv.planning.designs import WorstSupport, search_designs
from assocpriv.planning.planner import make_plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.codes import bch_generator, reed_solomon_generator
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import Operator
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel, transition_matrix
from assocpriv.records.baskets import Baskets
from assocpriv.server.counting.backend import LocalCounter
from assocpriv.server.estimates.supports import (
    Group,
    SubsetCounts,
    covariance,
    estimate_supports,
    lowest_discoverable_support,
)
from assocpriv.server.itemsets.ask import count_subsets
from assocpriv.server.itemsets.frames import mining_facts, read_itemsets, write_itemsets

IN_CLEAR = "in clear"
PROMISE = Breach("5%", "50%")
GENERATORS = ("none", "bch", "reed-solomon")

# ---- exactly, by enumeration

M1, M2 = Operator(1, 1, 2, 4, (5, 11)), Operator(2, 1, 1, 5, (3, 5, 19))
M2_SAME_R = Operator(2, 3, 2, 6, (20, 14, 16))


def by_hand(kind: str, operators: tuple[Operator, ...], k: int, n_items: int = 4) -> Plan:
    """Make a plan with sizes in clear, with a promise just beyond its largest amplification."""
    m = len(operators)
    columns = max((n_items + operator.size) * operator.insert_bits for operator in operators)
    needed = max((operator.size + min(k, operator.size)) * operator.insert_bits for operator in operators)
    generator = {
        "none": Generator,
        "bch": lambda: bch_generator(columns, 1, needed),
        "reed-solomon": lambda: reed_solomon_generator(n_items + m, 2, m + k),
    }[kind]()
    limit = max(operator.amplification for operator in operators) * Fraction(1001, 1000)
    promise = Breach(1 / (1 + limit), Fraction(1, 2))
    return Plan(Catalogue.numbered(n_items), m, k, operators, generator, promise, IN_CLEAR)


PLANS = {
    "none": ("none", (M1, M2), 2),
    "bch": ("bch", (M1, M2), 2),
    "reed-solomon": ("reed-solomon", (M1, M2), 1),
    "none, other rho": ("none", (M1, M2_SAME_R), 2),
}
TRANSACTIONS = [frozenset(t) for t in [(), (0,), (1,), (2,), (0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (0, 1, 2)]]
Law = dict[bytes, Fraction]


@pytest.fixture(scope="module", params=PLANS)
def plan(request: pytest.FixtureRequest) -> Plan:
    """One plan of each kind."""
    return by_hand(*PLANS[request.param])


@pytest.fixture(scope="module")
def laws(plan: Plan) -> dict[frozenset[int], Law]:
    """Return the exact laws of transactions of all sizes over four items, from the shipping client."""
    randomizer = Randomizer(plan)
    # Reed–Solomon's seeds are long: it does without the one that is sampled
    tried = TRANSACTIONS[:-1] if plan.generator.kind == "reed-solomon" else TRANSACTIONS
    return {t: distribution(lambda e, t=t: randomizer.randomize(t, entropy=e)) for t in tried}


def group_of(transaction: frozenset[int]) -> int:
    """Return the size that a transaction's report says, M being 2."""
    return min(max(len(transaction), 1), 2)


def fitted(transaction: frozenset[int]) -> list[frozenset[int]]:
    """Return the equally likely sets of items that are randomized, without dummies."""
    return [transaction] if len(transaction) <= 2 else [frozenset(t) for t in combinations(sorted(transaction), 2)]


def test_a_report_is_its_size_and_the_groups_report(plan: Plan, laws: dict[frozenset[int], Law]) -> None:
    """The law of what follows the size is the law of the group's plan with hidden size, filled up with zeros."""
    for transaction in [frozenset(), frozenset({0}), frozenset({0, 1})]:
        law, size = laws[transaction], group_of(transaction)
        group = plan.groups[size - 1]
        alone = Randomizer(group)
        hidden = distribution(lambda e, t=transaction, r=alone: r.randomize(t, entropy=e))
        assert law == {bytes([size]) + report.ljust(plan.report_bytes - 1, b"\0"): p for report, p in hidden.items()}
        for report in law:
            assert plan.form.items(report) == group.form.items(report[1 : 1 + group.report_bytes])
            assert plan.form.decode(report) & 0xFF == size


def test_the_largest_ratio_within_a_size_is_its_groups_amplification(
    plan: Plan, laws: dict[frozenset[int], Law]
) -> None:
    """Over all pairs of transactions of one group and all reports the ratio reaches the group's γ, and no more."""
    for size, group in enumerate(plan.groups, 1):
        own = [law for transaction, law in laws.items() if group_of(transaction) == size]
        assert {report for law in own for report in law} == set(own[0])
        assert max(max(law[r] for law in own) / min(law[r] for law in own) for r in own[0]) == group.amplification
        same = [law for transaction, law in laws.items() if len(transaction) == size]
        assert max(max(law[r] for law in same) / min(law[r] for law in same) for r in own[0]) == group.amplification
        assert group.amplification < plan.promise.amplification_limit
    assert plan.amplification == max(group.amplification for group in plan.groups)


def test_nothing_is_promised_between_sizes(laws: dict[frozenset[int], Law]) -> None:
    """No report is possible under transactions of two groups: the size is told outright."""
    for one, other in combinations(laws, 2):
        if group_of(one) != group_of(other):
            assert not set(laws[one]) & set(laws[other])


def hits_of(plan: Plan, law: Law, itemset: frozenset[int]) -> dict[int, Fraction]:
    """Return the distribution of how many of an itemset's items a report shows."""
    hits: dict[int, Fraction] = {}
    for report, p in law.items():
        shown = len(itemset & plan.form.items(report))
        hits[shown] = hits.get(shown, Fraction(0)) + p
    return hits


def sums_of(sizes: tuple[int, ...], hits: tuple[int, ...], k: int) -> np.ndarray:
    """Return C_0 … C_k of each of two groups over reports of the sizes given that show so many of k items."""
    sums = [
        [sum(comb(hit, j) for size, hit in zip(sizes, hits, strict=True) if size == group) for j in range(k + 1)]
        for group in (1, 2)
    ]
    return np.array([sums], dtype=np.int64)


def groups_of(plan: Plan, sizes: tuple[int, ...]) -> list[Group]:
    """Return the groups of reports of the sizes given."""
    return [Group(sizes.count(g.transaction_size), SupportModel.of(g.operator)) for g in plan.groups]


COLLECTIONS = [
    [frozenset({0}), frozenset({0, 1}), frozenset({2})],
    [frozenset(), frozenset({0, 1, 2}), frozenset({0, 3})],
    [frozenset({0, 1}), frozenset({1, 2})],
    [frozenset({1}), frozenset()],
]


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_estimates_over_mixed_sizes_are_unbiased(
    plan: Plan, laws: dict[frozenset[int], Law], collection: list[frozenset[int]]
) -> None:
    """E ŝ is the support within the fitted items, E of the estimated variance the variance that randomization adds."""
    collection = [t if t in laws else frozenset({0, 1}) for t in collection]
    sizes, n = tuple(map(group_of, collection)), len(collection)
    for k in range(1, plan.itemset_size + 1):
        itemset = frozenset(range(k))
        truths = [Fraction(sum(itemset <= s for s in fitted(t)), len(fitted(t))) for t in collection]
        mean = square = estimated = Fraction(0)
        for outcome in product(*(hits_of(plan, laws[t], itemset).items() for t in collection)):
            hits, chances = zip(*outcome, strict=True)
            p = np.prod(chances)
            result = estimate_supports(sums_of(sizes, hits, k), groups_of(plan, sizes), exact=True)
            mean += p * result.support[0]
            square += p * result.support[0] ** 2
            estimated += p * result.variance[0]
        assert mean == sum(truths) / n
        # sampling of a long transaction is a part of what is estimated
        assert estimated == square - mean**2 - sum(t * (1 - t) for t in truths) / n**2
        # Σ (N_m/N)² Var_m by the second moments of the transition matrices
        moments = Fraction(0)
        for t in collection:
            model = SupportModel.of(plan.groups[group_of(t) - 1].operator)
            sets = fitted(t)
            moments += sum(model.second_moment(k, len(itemset & s)) - (itemset <= s) for s in sets) / Fraction(
                len(sets)
            )
        assert estimated == moments / n**2


def test_the_largest_groups_operator_would_be_wrong(laws: dict[frozenset[int], Law], plan: Plan) -> None:
    """With the largest group's operator for everybody the same reports give a biased support."""
    if plan.groups[0].operator.default_probability == plan.groups[1].operator.default_probability:
        return
    itemset = frozenset({0})
    wrong = [Group(1, SupportModel.of(plan.groups[1].operator))]
    means = {}
    for t in (frozenset({0}), frozenset({2})):
        means[t] = sum(
            p * estimate_supports(np.array([[[1, hit]]]), wrong, exact=True).support[0]
            for hit, p in hits_of(plan, laws[t], itemset).items()
        )
    assert means != {frozenset({0}): 1, frozenset({2}): 0}


def test_population_variance_over_mixed_sizes(plan: Plan, laws: dict[frozenset[int], Law]) -> None:
    """For two transactions drawn from a population of all sizes the variance estimate's mean is the variance."""
    population = [frozenset(), frozenset({0}), frozenset({0, 1}), frozenset({1, 3})]
    k = plan.itemset_size
    itemset = frozenset(range(k))
    outcomes: dict[tuple[int, int], Fraction] = {}
    for t in population:
        for hit, p in hits_of(plan, laws[t], itemset).items():
            key = group_of(t), hit
            outcomes[key] = outcomes.get(key, Fraction(0)) + p / len(population)
    mean = square = estimated = Fraction(0)
    for ((size, hit), p), ((other_size, other_hit), q) in product(outcomes.items(), repeat=2):
        sizes, hits = (size, other_size), (hit, other_hit)
        result = estimate_supports(sums_of(sizes, hits, k), groups_of(plan, sizes), exact=True)
        mean += p * q * result.support[0]
        square += p * q * result.support[0] ** 2
        estimated += p * q * result.population_variance[0]
    assert mean == Fraction(sum(itemset <= t for t in population), len(population))
    assert estimated == square - mean**2


def test_covariances_over_mixed_sizes() -> None:
    """E of the covariance estimate is the covariance of ŝ(A) and ŝ(A ∪ C) over two reports of two sizes."""
    plan = by_hand(*PLANS["bch"])
    randomizer = Randomizer(plan)
    outcomes = []
    for t in ({0}, {0, 1}):
        law = distribution(lambda e, t=t: randomizer.randomize(t, entropy=e))
        shown: dict[frozenset[int], Fraction] = {}
        for report, p in law.items():
            items = plan.form.items(report) & {0, 1}
            shown[items] = shown.get(items, Fraction(0)) + p
        outcomes.append(shown)
    groups, left, right = groups_of(plan, (1, 2)), [1, 0], [1, 1]
    joint = one = other = estimated = 0.0
    for (first, p), (second, q) in product(*(outcome.items() for outcome in outcomes)):
        counts = np.array([[[1, 0 in s, 1 in s, {0, 1} <= s] for s in (first, second)]], dtype=np.int64)
        values = [
            sum(
                float(counts[0, g] @ np.array([float(w) for w in group.model.moment_weights(member)]))
                for g, group in enumerate(groups)
            )
            / 2
            for member in (left, right)
        ]
        chance = float(p * q)
        joint, one, other = joint + chance * values[0] * values[1], one + chance * values[0], other + chance * values[1]
        estimated += chance * float(covariance(SubsetCounts.of_all(counts), groups, left, right, population=False)[0])
    assert estimated == pytest.approx(joint - one * other, abs=1e-9)


def test_a_group_that_breaks_the_promise_is_refused() -> None:
    """One unit of weight too many in one group's operator, and the plan is no plan."""
    limit = M1.amplification
    with pytest.raises(PrivacyLimitError, match="breaks its promise"):
        Plan(
            Catalogue.numbered(4), 2, 1, (M1, Operator(2, 1, 1, 5, (5, 5, 17))), Generator(),
            Breach(1 / (1 + limit), Fraction(1, 2)), IN_CLEAR,
        )  # fmt: skip


# ---- the compiled client

N_ITEMS = 12


def small_sized_plan(code: str, m: int, k: int, inserts: list[tuple[int, int]]) -> Plan:
    """Make a plan over 12 items without searching, with ρ = a/2^r of each size."""
    groups = [
        naive.small_plan("none", N_ITEMS, size, min(k, size), insert=inserts[size - 1]) for size in range(1, m + 1)
    ]
    bits = [r for _, r in inserts]
    if code == "bch":
        columns = max((N_ITEMS + size) * r for size, r in enumerate(bits, 1))
        generator = naive.small_generator(
            "bch", columns, 1, max((size + min(k, size)) * r for size, r in enumerate(bits, 1))
        )
    else:
        generator = naive.small_generator(code, N_ITEMS + m, max(bits), m + k)
    operators = tuple(group.operator for group in groups)
    return Plan(Catalogue.numbered(N_ITEMS), m, k, operators, generator, naive.NO_PROMISE, IN_CLEAR)


def random_baskets(rng: np.random.Generator, count: int) -> Baskets:
    """Return baskets of all sizes, empty and full ones among them."""
    sizes = [0, N_ITEMS, *rng.integers(0, N_ITEMS + 1, count - 2)]
    rows = [rng.choice(N_ITEMS, size, replace=False).tolist() for size in sizes]
    return Baskets.from_sets(rows, Catalogue.numbered(N_ITEMS))


def in_group_order(plan: Plan, baskets: Baskets, words: np.ndarray) -> tuple[list[bytes], int]:
    """Return what the one-report client makes of the words, group by group, in the order of the baskets."""
    entropy, randomizer = naive.ReplayEntropy(words), Randomizer(plan)
    reports: dict[int, bytes] = {}
    for row in sorted(range(len(baskets)), key=lambda row: min(max(len(baskets[row]), 1), plan.transaction_size)):
        reports[row] = randomizer.randomize(baskets[row], entropy=entropy)
    return [reports[row] for row in range(len(baskets))], entropy.used


def some_words(rng: np.random.Generator, count: int, zeros: float = 0.2) -> np.ndarray:
    """Return uniform words, some of them 0, which every draw below no power of 2 rejects."""
    words = rng.integers(0, 1 << 64, size=count, dtype=np.uint64)
    words[rng.random(count) < zeros] = 0
    return words


INSERTS = [(77, 8), (5, 3), (3, 3), (1, 1)]


@pytest.mark.parametrize("code", GENERATORS)
def test_bulk_equals_the_client_group_by_group(rng: np.random.Generator, code: str) -> None:
    """For equal words, wherever they run out, the reports are the one-report client's, first those of size 1."""
    plan = small_sized_plan(code, 4, 2, INSERTS)
    baskets, words = random_baskets(rng, 60), some_words(rng, 6000)
    wanted, used = in_group_order(plan, baskets, words)
    for given in [0, 1, 17, used // 2, used - 1, used]:
        chunk = GroupedRandomizer(plan).randomize(baskets, words[:given], naive.ReplayEntropy(words[given:]))
        assert [row.tobytes() for row in chunk.packed] == wanted
        assert [row[0] for row in chunk.packed] == [min(max(len(basket), 1), 4) for basket in baskets]
    Reports(plan, chunk.packed)  # reports as the wire wants them


@pytest.mark.parametrize("code", GENERATORS)
def test_words_needed_is_exact_when_nothing_is_rejected(rng: np.random.Generator, code: str) -> None:
    """The one-report client uses just as many words."""
    plan = small_sized_plan(code, 4, 2, INSERTS)
    baskets, words = random_baskets(rng, 50), some_words(rng, 6000, zeros=0.0)
    assert GroupedRandomizer(plan).words_needed(baskets) == in_group_order(plan, baskets, words)[1]


@pytest.mark.parametrize("code", ["none", "bch"])
def test_rows_keep_their_order(rng: np.random.Generator, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row says its basket's size and holds its items or M of them, on any number of cores; slices alike."""
    plan = small_sized_plan(code, 4, 2, INSERTS)
    baskets = random_baskets(rng, 300)[20:290]
    runs = []
    for cores in (1, 3):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        chunks = list(randomize_chunks(baskets, plan, entropy=SeededEntropy(3), chunk=40))
        runs.append(np.concatenate([chunk.packed for chunk in chunks]))
    assert np.array_equal(*runs)
    rows = np.concatenate([chunk.raw_fitted for chunk in chunks]).tolist()
    for basket, row, report in zip(baskets, rows, runs[0], strict=True):
        assert report[0] == min(max(len(basket), 1), 4)
        assert len(set(row)) == 4
        real = {item for item in row if item < N_ITEMS}
        assert real == basket if len(basket) <= 4 else real < basket


def test_no_baskets_draw_nothing() -> None:
    """No baskets give no reports and take no words."""
    plan = small_sized_plan("none", 3, 1, INSERTS[:3])
    empty = random_baskets(np.random.default_rng(0), 3)[:0]
    chunk = GroupedRandomizer(plan).randomize(empty, np.zeros(0, np.uint64), naive.ReplayEntropy([]))
    assert (chunk.packed.shape, chunk.raw_fitted.shape) == ((0, plan.report_bytes), (0, 3))


def supports_z(
    plan: Plan, baskets: Baskets, groups: list[tuple[LocalCounter, SupportModel]], pooled: bool
) -> np.ndarray:
    """Return (ŝ − truth)/σ of singles and pairs of five items; σ is exact, by what the baskets hold."""
    n, z = len(baskets), []
    sets = [(i,) for i in range(5)] + list(combinations(range(5), 2))
    sizes = np.clip(baskets.sizes, 1, plan.transaction_size)
    for itemset in sets:
        k = len(itemset)
        subsets = [list(combinations(itemset, j)) for j in range(1, k + 1)]
        sums = np.array(
            [
                [
                    [c.n_reports] + [sum(int(c.count(np.array([s]))[0]) for s in level) for level in subsets]
                    for c, _ in groups
                ]
            ],
            dtype=np.int64,
        )
        counted = [Group(counter.n_reports, model) for counter, model in groups]
        if pooled:
            sums, counted = sums.sum(axis=1, keepdims=True), [Group(n, groups[-1][1])]
        estimate = float(estimate_supports(sums, counted).support[0])
        held = np.array([len(basket & set(itemset)) for basket in baskets])
        variance = sum(
            ((held == hit) & (sizes == size)).sum() * float(model.second_moment(k, hit) - (hit == k))
            for size, (_, model) in enumerate(groups, 1)
            for hit in range(k + 1)
            if k <= size
        )
        z.append((estimate - (held == k).mean()) / (np.sqrt(variance) / n))
    return np.array(z)


def test_estimates_hold_in_bulk(rng: np.random.Generator) -> None:
    """Over 30,000 baskets of 0 … 4 items supports are right; with the largest group's operator for all they are not.

    Each support is compared at a false-alarm rate of 1e-6 with its exact standard error.
    """
    catalogue = Catalogue.numbered(N_ITEMS)
    shown = rng.random((30_000, N_ITEMS)) < np.linspace(0.4, 0.02, N_ITEMS)
    rows = [np.flatnonzero(row)[:4] for row in shown]
    offsets = np.append(0, np.cumsum([len(row) for row in rows]))
    baskets = Baskets(catalogue, offsets, np.concatenate(rows).astype(np.int64))
    plan = make_plan(catalogue, 4, Breach("5%", "80%"), reports=30_000, sizes=IN_CLEAR)
    seed = int(rng.integers(1 << 60))
    packed = np.concatenate([c.packed for c in randomize_chunks(baskets, plan, entropy=SeededEntropy(seed))])
    groups = [(LocalCounter(g), SupportModel.of(g.plan.operator)) for g in basket_groups(Reports(plan, packed))]
    assert np.abs(supports_z(plan, baskets, groups, pooled=False)).max() < fit.Z_LIMIT
    assert np.abs(supports_z(plan, baskets, groups, pooled=True)).max() > fit.Z_LIMIT


# ---- reports at rest and on the wire


@pytest.fixture(scope="module")
def collection() -> tuple[Plan, Baskets, Reports]:
    """A plan, 20,000 baskets and their reports."""
    baskets = generate_quest(QuestSettings(n_baskets=20_000, n_items=30, n_patterns=8, mean_size=3, seed=3))
    plan = make_plan(baskets.catalogue, 4, Breach("1%", "90%"), reports=20_000, sizes=IN_CLEAR)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(1))
    return plan, baskets, Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


def test_groups_of_files_are_those_in_memory(tmp_path: Path, collection: tuple[Plan, Baskets, Reports]) -> None:
    """From files, in batches of any size, come the reports of each size in their order, and their numbers."""
    plan, baskets, reports = collection
    halves = [Reports(plan, reports.packed[:9_000]), Reports(plan, reports.packed[9_000:])]
    for name, half in zip(("a.parquet", "b.parquet"), halves, strict=True):
        half.write(tmp_path / name)
    sizes = np.clip(baskets.sizes, 1, 4)
    for size, memory, files in zip(
        range(1, 5), basket_groups(reports), basket_groups(read_reports(tmp_path)), strict=True
    ):
        assert len(memory) == len(files) == int((sizes == size).sum())
        assert memory.plan == files.plan == plan.groups[size - 1]
        wanted = reports.packed[sizes == size, 1 : 1 + memory.plan.report_bytes]
        for batch in (100, 4096, 10**6):
            for each in (memory, files):
                parts = list(each.batches(batch))
                assert max(map(len, parts)) <= batch
                assert np.array_equal(np.concatenate(parts), wanted)
        assert basket_groups(files) == [files]


def test_a_size_that_nobody_has_is_an_empty_group(tmp_path: Path) -> None:
    """A group without reports is counted as such, in memory and from files, and mining goes on."""
    plan = small_sized_plan("none", 3, 2, INSERTS[:3])
    baskets = Baskets.from_sets([[0, 1], [0, 1], [1]] * 50, plan.catalogue)
    [chunk] = randomize_chunks(baskets, plan, entropy=SeededEntropy(0))
    reports = Reports(plan, chunk.packed)
    reports.write(tmp_path / "r.parquet")
    for each in (reports, read_reports(tmp_path / "r.parquet")):
        assert [len(group) for group in basket_groups(each)] == [50, 100, 0]
        assert mining_facts(mine(each, 0.9)).reports == 150


def test_damaged_reports_are_refused(collection: tuple[Plan, Baskets, Reports]) -> None:
    """A size outside 1..M, and a bit beyond those of the size, are refused with the report's position."""
    for plan in (collection[0], small_sized_plan("none", 4, 2, INSERTS), by_hand(*PLANS["bch"])):
        m, good = plan.transaction_size, np.zeros((5, plan.report_bytes), dtype=np.uint8)
        good[:, 0] = np.arange(5) % m + 1
        Reports(plan, good)
        for size in (0, m + 1, 255):
            bad = good.copy()
            bad[3, 0] = size
            with pytest.raises(WireError, match=rf"report 3 states a size outside 1\.\.{m}"):
                Reports(plan, bad)
            with pytest.raises(WireError, match="states a size outside"):
                plan.form.items(bad[3].tobytes())
        for row in range(5):
            group = plan.groups[int(good[row, 0]) - 1]
            for bit in range(8 + group.report_bits - 1, 8 * plan.report_bytes):
                bad = good.copy()
                bad[row, bit // 8] |= 1 << bit % 8
                if bit == 8 + group.report_bits - 1:
                    Reports(plan, bad)  # the last bit that is used
                    continue
                with pytest.raises(WireError, match="a bit"):
                    Reports(plan, bad)
                with pytest.raises(WireError, match="a bit"):
                    plan.form.decode(bad[row].tobytes())


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """A wrong size in a file is found while its groups are counted; the file and the row are named."""
    plan = small_sized_plan("none", 3, 1, INSERTS[:3])
    packed = np.zeros((7, plan.report_bytes), dtype=np.uint8)
    packed[:, 0] = 1
    reports = Reports(plan, packed)
    packed[5, 0] = 9
    reports.write(tmp_path / "r.parquet")
    with pytest.raises(WireError, match=r"r\.parquet: report 5 states a size"):
        basket_groups(read_reports(tmp_path / "r.parquet"))


# ---- the whole way


def test_mining_finds_what_is_there(collection: tuple[Plan, Baskets, Reports], tmp_path: Path) -> None:
    """Files, memory and every format of itemsets give the same supports, errors and rules."""
    reports = collection[2]
    itemsets = mine(reports, 0.05)
    assert [group.n_reports for group in mining_facts(itemsets).groups] == [len(g) for g in basket_groups(reports)]
    reports.write(tmp_path / "r.parquet")
    again = mine(read_reports(tmp_path / "r.parquet"), 0.05, memory_bytes=1 << 26)
    assert again.equals(itemsets)
    rules = association_rules(itemsets, 0.3)
    assert len(rules)
    for suffix in (".parquet", ".csv", ".json"):
        write_itemsets(itemsets, tmp_path / f"i{suffix}")
        read = read_itemsets(tmp_path / f"i{suffix}")
        assert read["group_counts"].map(list).tolist() == itemsets["group_counts"].tolist()
        found = association_rules(read, 0.3)
        for name in ("support", "support_std_error", "confidence_std_error", "lift_std_error"):
            assert found[name].tolist() == pytest.approx(rules[name].tolist(), rel=1e-9)


def test_simulation_knows_the_truth(collection: tuple[Plan, Baskets, Reports]) -> None:
    """True supports are those within min(size, M) items, and estimates lie within 4.9 standard errors of them."""
    plan, baskets, _ = collection
    result = simulate(baskets, plan, 0.05, seed=4)
    frame = result.itemsets
    assert np.abs((frame["support"] - frame["true_support"]) / frame["std_error"]).max() < 4.9
    assert result.found_count > 10
    whole = baskets.sizes <= 4
    assert result.sampled_baskets == int((~whole).sum())
    assert (frame["raw_support"] >= frame["true_support"] - 1e-12).all()
    short = Baskets(
        baskets.catalogue,
        np.append(0, np.cumsum(baskets.sizes[whole])),
        np.concatenate([baskets.items[baskets.offsets[i] : baskets.offsets[i + 1]] for i in np.flatnonzero(whole)]),
    )
    exact = simulate(short, plan, 0.05, seed=4).itemsets
    assert exact["true_support"].tolist() == exact["raw_support"].tolist()
    counter = PlainCounter(short.offsets, short.items, 30)
    singles = counter.count(np.arange(30)[:, None]) / len(short)
    for itemset, truth in zip(exact["itemsets"], exact["true_support"], strict=True):
        if len(itemset) == 1:
            assert truth == singles[baskets.catalogue.index_of[min(itemset)]]


# ---- the planner


@pytest.mark.parametrize("code", ["auto", *GENERATORS])
@pytest.mark.parametrize(("n_items", "m"), [(3, 1), (10, 4), (1000, 5)])
def test_every_size_keeps_the_promise_and_is_near_its_best(n_items: int, m: int, code: str) -> None:
    """Each size's operator stays strictly below γ and within 2% of the least error there is for it."""
    plan = make_plan(n_items, m, PROMISE, sizes=IN_CLEAR, code=code)
    assert (plan.sizes, len(plan.groups)) == (IN_CLEAR, m)
    assert code in ("auto", plan.generator.kind)
    for group in plan.groups:
        size, model = group.transaction_size, SupportModel.of(group.operator)
        assert group.amplification < PROMISE.amplification_limit
        sizes = range(1, min(3, size) + 1)
        worst = max(lowest_discoverable_support([Group(1_000_000, model)], k) for k in sizes)
        least = min(d.error for d in search_designs(size, Fraction(19), WorstSupport(sizes, 1_000_000)))
        assert least * (1 - 1e-6) <= worst <= 1.02 * least * (1 + 1e-5)


def test_without_a_code_each_size_has_its_best() -> None:
    """Where no generator is shared each size takes the very least error, which rises with the size."""
    plan = make_plan(50, 6, PROMISE, sizes=IN_CLEAR, code="none")
    worst = []
    for group in plan.groups:
        model, sizes = SupportModel.of(group.operator), range(1, group.itemset_size + 1)
        worst.append(max(lowest_discoverable_support([Group(1_000_000, model)], k) for k in sizes))
        best = min(
            d.error for d in search_designs(group.transaction_size, Fraction(19), WorstSupport(sizes, 1_000_000))
        )
        assert worst[-1] == pytest.approx(best, rel=1e-5)
    assert worst == sorted(worst)
    hidden = SupportModel.of(make_plan(50, 6, PROMISE, code="none", kind="independent").operator)
    assert worst[-1] == pytest.approx(
        max(lowest_discoverable_support([Group(1_000_000, hidden)], k) for k in (1, 2, 3)), rel=0.02
    )


def test_auto_takes_the_shortest_code() -> None:
    """Of all codes under which every size is near its best, the shortest is taken."""
    bits = {code: make_plan(200, 5, PROMISE, sizes=IN_CLEAR, code=code).report_bits for code in ("auto", *GENERATORS)}
    assert bits["auto"] == min(bits[code] for code in GENERATORS)


def test_targets_beyond_a_size_plan_for_the_largest_it_holds() -> None:
    """Planned for pairs, size 1 is planned for singles; progress counts all sizes."""
    told: list[tuple[int, int]] = []
    plan = make_plan(30, 3, PROMISE, sizes=IN_CLEAR, target="pairs", code="none", progress=lambda *n: told.append(n))
    assert [group.itemset_size for group in plan.groups] == [1, 2, 3]
    assert told[-1][0] == told[-1][1] == len(told)
    assert [done for done, _ in told] == list(range(1, len(told) + 1))


def test_bad_modes_are_refused() -> None:
    """Sizes are hidden or in clear, and nothing else."""
    with pytest.raises(PlanError, match="sizes must be 'hidden' or 'in clear'"):
        make_plan(10, 2, PROMISE, sizes="in-clear")


def test_matrices_differ_by_size() -> None:
    """There is one transition matrix a size: those of two sizes differ."""
    plan = make_plan(30, 3, PROMISE, sizes=IN_CLEAR)
    matrices = [transition_matrix(group.operator, 1) for group in plan.groups]
    assert matrices[0] != matrices[1] != matrices[2]


# ---- the command line


def run(*arguments: object) -> str:
    """Run a command, which must succeed, and return its standard output."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_goes_the_whole_way(tmp_path: Path) -> None:
    """Plan, randomize, mine, rules, inspect and simulate take sizes in clear, and say what is not promised."""
    rng = np.random.default_rng(5)
    lines = [" ".join(map(str, sorted(rng.choice(8, rng.integers(1, 6), replace=False)))) for _ in range(2_000)]
    (tmp_path / "b.dat").write_text("\n".join(lines) + "\n")
    plan, reports, itemsets = (tmp_path / name for name in ("plan.json", "r.parquet", "i.csv"))
    question = ["plan", "--items", 8, "--transaction-size", 3, "--prior", "1%", "--posterior", "90%"]
    told = run(*question, "--sizes", "in-clear", "-o", plan)
    assert "NOTHING is promised about it" in told
    assert "among baskets of one size no report lifts" in told
    assert "hidden" not in told
    record = json.loads(run(*question, "--sizes", "in-clear", "-o", plan, "--force", "--json"))
    assert record["sizes"] == IN_CLEAR
    assert [group["size"] for group in record["groups"]] == [1, 2, 3]
    assert record["lowest_discoverable_support"] == record["groups"][-1]["lowest_discoverable_support"]
    run("randomize", tmp_path / "b.dat", "--plan", plan, "-o", reports)
    run("mine", reports, "--min-support", "20%", "-o", itemsets)
    run("rules", itemsets, "--min-confidence", "10%")
    seen = json.loads(run("inspect", reports, "--json"))
    counts = [group["reports"] for group in seen["groups"]]
    assert counts == [sum(min(len(line.split()), 3) == size for line in lines) for size in (1, 2, 3)]
    assert "of these reports together" in run("inspect", reports)
    together = seen["lowest_discoverable_support"]["1"]
    alone = [group["lowest_discoverable_support"]["1"] for group in seen["groups"]]
    assert min(alone) < together < max(alone)
    run("simulate", tmp_path / "b.dat", "--plan", plan, "--min-support", "20%", "--seed", 1)


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    """Written and read, a plan with sizes in clear keeps its id."""
    plan = make_plan(30, 3, PROMISE, sizes=IN_CLEAR)
    write_plan(plan, tmp_path / "p.json")
    assert read_plan(tmp_path / "p.json").plan_id == plan.plan_id


def test_pairs_of_single_item_baskets_still_have_counts() -> None:
    """What small baskets' reports show together is counted: the covariance of two items needs it, exactly."""
    small, large = Operator(1, 1, 2, 4, (5, 11)), Operator(2, 1, 2, 5, (4, 5, 18))
    groups = [Group(2, SupportModel.of(small)), Group(2, SupportModel.of(large))]
    plan = Plan(
        Catalogue.numbered(3), 2, 2, (small, large), Generator(), Breach(Fraction(1, 1000), Fraction(1, 2)),
        sizes="in clear",
    )  # fmt: skip
    reports = Reports.from_bytes([bytes([1, 0b011]), bytes([1, 0b001]), bytes([2, 0b011]), bytes([2, 0b011])], plan)
    collections = [(LocalCounter(part), SupportModel.of(part.plan.operator)) for part in basket_groups(reports)]
    counted = count_subsets(collections, np.array([[0, 1]]))
    assert counted.counted.counts.tolist() == [[[2, 2, 1, 1], [2, 2, 2, 2]]]
    values = [covariance(counted.counted, groups, [1, 0], [0, 1], population=False)[0]]
    # by hand: mean of Z_0 Z_1 over the reports, less the pair's support, over N
    rows = [SupportModel.of(operator).row(1) for operator in (small, large)]
    pair = SupportModel.of(large).row(2)
    products = [rows[0][1] ** 2, rows[0][1] * rows[0][0], rows[1][1] ** 2, rows[1][1] ** 2]
    expected = (sum(products) / 4 - 2 * pair[2] / 4) / 4
    assert values[0] == pytest.approx(float(expected), rel=1e-12)


def test_an_empty_table_in_clear_is_a_table(tmp_path: Path) -> None:
    """Mining that finds nothing gives a table that can be written and read."""
    plan = make_plan(4, 2, Breach("5%", "50%"), sizes="in clear")
    reports = randomize_baskets([{0}, {1, 2}] * 50, plan)
    frame = mine(reports, "100%")
    assert not frame["frequent"].any()
    empty = frame.iloc[:0]
    for name in ("e.csv", "e.json", "e.parquet"):
        write_itemsets(empty, tmp_path / name)
        assert len(read_itemsets(tmp_path / name)) == 0
