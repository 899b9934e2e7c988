"""Reports of a fixed size: their law exactly, their numbers, the compiled paths, the planner, and the whole way."""

import math
import re
from fractions import Fraction
from itertools import combinations
from itertools import product as all_of
from math import comb

import fit
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned import planned
from quiet import mine

from assocpriv.client.baskets import Randomizer, SetDraws
from assocpriv.client.bulk import BulkAnswerer, BulkRandomizer, randomize_chunks
from assocpriv.files.reports import Reports, read_reports
from assocpriv.kernels.words import OUT_OF_WORDS, unrank_reports
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.designs import (
    FixedSizeFamily,
    WorstSupport,
    papers_family,
    runs,
)
from assocpriv.planning.discovery import foresee
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.operator import FixedSizeOperator, Operator
from assocpriv.plans.published import pack_reports
from assocpriv.plans.transition import SupportModel, estimator_row, transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import WireError
from assocpriv.promise.numbers import binomial_words, rank_of_set, set_of_rank
from assocpriv.records.baskets import Baskets
from assocpriv.server.bitmaps import ItemTables, form_of, planes_of, report_rows
from assocpriv.server.counting import Answers, LocalCounter
from assocpriv.server.supports import Respondents, estimate_supports, lowest_discoverable_support
from assocpriv.show.plans import plan as shown_plan
from assocpriv.show.text import lines
from assocpriv.simulation.enumeration import SeededEntropy, distribution
from tests.client.test_bulk import one_by_one, random_words, reports_of

N = 5_000_000
GAMMA = Breach("5%", "50%")  # γ = 19


@pytest.fixture(autouse=True)
def _wrap_around():
    """Without compilation numpy warns where unsigned integers wrap around, as they are meant to."""
    with np.errstate(over="ignore"):
        yield


# ---- sets as numbers


@pytest.mark.parametrize(("n_items", "size"), [(1, 1), (5, 0), (5, 1), (5, 5), (8, 3), (9, 6)])
def test_ranks_number_all_sets_in_order(n_items, size):
    """The ranks 0 … C(n,ℓ) − 1 are those of all sets in the order of Σ 2^c, and lead back to them."""
    sets = sorted(combinations(range(n_items), size), key=lambda members: sum(1 << c for c in members))
    assert [rank_of_set(members) for members in sets] == list(range(comb(n_items, size)))
    assert [tuple(set_of_rank(rank, n_items, size)) for rank in range(len(sets))] == sets


@given(st.sets(st.integers(0, 999), max_size=60))
def test_a_set_comes_back_from_its_rank(members):
    """Ranks of many words lead back to their sets, whatever larger numbers there are."""
    rank = rank_of_set(members)
    assert 0 <= rank < comb(1000, len(members))
    assert set_of_rank(rank, 1000, len(members)) == sorted(members)


@pytest.mark.parametrize(("n_items", "size"), [(1, 1), (5, 3), (40, 30), (70, 35), (140, 66)])
def test_binomial_words(n_items, size):
    """The table holds C(c, i), and all bits where it does not fit into the words of a rank."""
    table = binomial_words(n_items, size)
    most = (1 << 64 * table.shape[2]) - 1
    assert comb(n_items, size) - 1 <= most < (comb(n_items, size) - 1 or 1) << 64
    for c in range(n_items):
        for i in range(size + 1):
            assert sum(word << 64 * at for at, word in enumerate(table[c, i].tolist())) == min(comb(c, i), most)


# ---- the law, exactly

PLANS = {
    "m=2, 2 of 5": naive.fixed_plan(3, 2, 2, 2, shares=(3, 1, 4)),
    "m=2, 3 of 6": naive.fixed_plan(4, 2, 2, 3, shares=(1, 5, 2)),
    "m=3, 3 of 7": naive.fixed_plan(4, 3, 3, 3, shares=(1, 5, 2, 9)),
    "m=3, 2 of 6": naive.fixed_plan(3, 3, 2, 2, shares=(7, 1, 2, 1)),
    "m=3, 5 of 6, none or one kept never": naive.fixed_plan(3, 3, 1, 5, shares=(1, 1, 7, 2)),
    "m=1, subset selection": naive.fixed_plan(5, 1, 1, 2, shares=(1, 4)),
    "l=1, randomized response": naive.fixed_plan(4, 2, 1, 1, shares=(1, 6, 1)),
}


@pytest.fixture(scope="module", params=PLANS)
def plan(request):
    """One plan of a small universe."""
    return PLANS[request.param]


def law_of(plan, transaction):
    """Return the exact distribution of one transaction's report, from the shipping client."""
    randomizer = Randomizer(plan)
    return distribution(lambda entropy: randomizer.randomize(sorted(transaction), entropy=entropy))


@pytest.fixture(scope="module")
def laws(plan):
    """Return the law of every basket there is."""
    items = range(plan.n_items)
    baskets = [frozenset(t) for size in range(plan.n_items + 1) for t in combinations(items, size)]
    return {basket: law_of(plan, basket) for basket in baskets}


def fitted(plan, transaction):
    """Return the equally likely sets of M items that a transaction may be cut or padded to."""
    m, n = plan.items.transaction_size, plan.n_items
    if len(transaction) <= m:
        return [transaction | frozenset(range(n, n + m - len(transaction)))]
    return [frozenset(t) for t in combinations(sorted(transaction), m)]


def test_reports_follow_the_weights(plan, laws):
    """A set that shares j items with the transaction has the probability v_j / total, fraction for fraction."""
    operator = plan.items.fixed
    total = sum(
        comb(operator.size, j) * comb(plan.n_items, operator.report_size - j) * v
        for j, v in enumerate(operator.keep_weights)
        if v
    )
    for transaction, law in laws.items():
        assert sum(law.values()) == 1
        assert len(law) == comb(plan.items.padded_items, operator.report_size)
        sets = fitted(plan, transaction)
        for report, probability in law.items():
            shown = plan.items.form.items(report)
            assert len(shown) == operator.report_size
            chances = [Fraction(operator.keep_weights[len(items & shown)], total) for items in sets]
            assert probability == sum(chances) / len(sets)


def test_largest_ratio_is_the_stated_amplification(plan, laws):
    """Over all pairs of baskets and all reports the ratio reaches γ exactly; no report rules a basket out."""
    ratios = [
        max(law[report] for law in laws.values()) / min(law[report] for law in laws.values())
        for report in next(iter(laws.values()))
    ]
    assert max(ratios) == plan.amplification > 1


def itemsets_of(plan):
    """Return the itemsets of up to K real items."""
    items = range(plan.n_items)
    return [frozenset(a) for k in range(1, plan.items.itemset_size + 1) for a in combinations(items, k)]


def test_partial_supports_follow_the_transition_matrix(plan, laws):
    """Given that a transaction holds l items of A, the report shows l' of them with probability P[l', l]."""
    for transaction, law in laws.items():
        sets = fitted(plan, transaction)
        for itemset in itemsets_of(plan):
            matrix = transition_matrix(plan.items.operator, len(itemset))
            for to in range(len(itemset) + 1):
                happens = sum(p for report, p in law.items() if len(plan.items.form.items(report) & itemset) == to)
                assert happens == sum(matrix[to][len(itemset & items)] for items in sets) / len(sets)


def test_estimates_are_unbiased(plan, laws):
    """E ŝ is the support after sampling, and E of the variance estimate is the variance, as fractions."""
    respondents = Respondents(1, SupportModel.of(plan.items.operator))
    for transaction, law in laws.items():
        sets = fitted(plan, transaction)
        for itemset in itemsets_of(plan):
            k, mean, square, variance = len(itemset), Fraction(0), Fraction(0), Fraction(0)
            for report, p in law.items():
                hits = len(plan.items.form.items(report) & itemset)
                sums = np.array([[comb(hits, j) for j in range(k + 1)]], dtype=np.int64)
                estimate = estimate_supports(sums, respondents, exact=True)
                mean += p * estimate.support[0]
                square += p * estimate.support[0] ** 2
                variance += p * estimate.variance[0]
            truth = Fraction(sum(itemset <= items for items in sets), len(sets))
            assert mean == truth
            assert variance == square - truth  # what randomization adds on top of which items were sampled


@pytest.mark.parametrize(("n", "size", "gamma"), [(5, 2, 4), (9, 1, 3), (30, 4, 19)])
def test_single_item_baskets_are_subset_selection(n, size, gamma):
    """With m = 1 an item of one's own is shown with γℓ/(γℓ + n − ℓ), another one as Ye and Barg say."""
    operator = FixedSizeOperator(1, n, size, (1, gamma))
    scale = gamma * size + n - size
    other = Fraction(size * (gamma * (size - 1) + n - size), (n - 1) * scale)
    own = Fraction(gamma * size, scale)
    assert transition_matrix(operator, 1) == [[1 - other, 1 - own], [other, own]]


@pytest.mark.parametrize(("n", "m", "gamma"), [(5, 1, 4), (9, 3, 3), (64, 5, 19)])
def test_reports_of_one_item_are_randomized_response(n, m, gamma):
    """With ℓ = 1 each of one's own items is shown with γ/(γm + n − m), any other one with 1/(γm + n − m)."""
    operator = FixedSizeOperator(m, n, 1, (1, gamma, *[0] * (m - 1)))
    own, other = Fraction(gamma, gamma * m + n - m), Fraction(1, gamma * m + n - m)
    assert transition_matrix(operator, 1) == [[1 - other, 1 - own], [other, own]]
    with pytest.raises(Exception, match="says nothing about itemsets of 2" if m > 1 else "itemset size must be"):
        estimator_row(operator, 2)


# ---- the wire

WIDE = {
    "1 bit": naive.fixed_plan(1, 1, 1, 1),
    "4 bits": PLANS["m=2, 2 of 5"],
    "8 bits, all used": naive.fixed_plan(255, 1, 1, 1),  # 256 sets: every byte is a report
    "59 bits": naive.fixed_plan(59, 5, 2, 25),
    "65 bits": naive.fixed_plan(64, 5, 2, 30),
    "132 bits": naive.fixed_plan(131, 5, 2, 66),
}
wide_plan = st.sampled_from(list(WIDE.values()))


@given(wide_plan, st.data())
def test_reports_come_back(plan, data):
    """Any set of ℓ items comes back from its report; so do the first and the last."""
    size, n = plan.items.fixed.report_size, plan.items.padded_items
    drawn = data.draw(st.integers(0, comb(n, size) - 1))
    for rank, shown in [(drawn, None), (0, range(size)), (comb(n, size) - 1, range(n - size, n))]:
        report = plan.items.form.encode(rank)
        assert plan.items.form.decode(report) == rank
        assert rank_of_set(plan.items.form.items(report)) == rank
        assert shown is None or plan.items.form.items(report) == frozenset(shown)


@given(wide_plan, st.lists(st.integers(-3, 3), max_size=6), st.data())
def test_numbers_that_no_set_has_are_refused(plan, near, data):
    """Every number from C(n, ℓ) on is refused, alone and among others, and the first of them is named."""
    sets, bits = comb(plan.items.padded_items, plan.items.fixed.report_size), plan.items.report_bits
    drawn = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=4))
    ranks = [min(max(sets + d, 0), (1 << bits) - 1) for d in near] + drawn
    packed = np.array([[*plan.items.form.encode(rank)] for rank in ranks], dtype=np.uint8).reshape(
        -1, plan.report_bytes
    )
    wrong = [place for place, rank in enumerate(ranks) if rank >= sets]
    for place in wrong:
        for read in (plan.items.form.decode, plan.items.form.items):
            with pytest.raises(WireError, match="a report is no number of a set"):
                read(plan.items.form.encode(ranks[place]))
    if not wrong:
        plan.check_form(packed)
        assert np.array_equal(pack_reports([row.tobytes() for row in packed], plan), packed)
        return
    with pytest.raises(WireError, match=f"here: report {10 + wrong[0]} is no number of a set"):
        plan.check_form(packed, "here: ", 10)
    with pytest.raises(WireError, match=f"report {wrong[0]} is no number of a set"):
        pack_reports([row.tobytes() for row in packed], plan)
    with pytest.raises(WireError, match="no number of a set"):
        Reports(plan, packed)


def test_a_file_with_a_wrong_number_is_refused(tmp_path, monkeypatch):
    """A report in a file that no set has is refused by its place when the file is read."""
    plan = WIDE["59 bits"]
    packed = np.zeros((5, plan.report_bytes), dtype=np.uint8)
    reports = Reports(plan, packed)
    packed[3] = [*plan.items.form.encode(comb(64, 25))]
    reports.write(tmp_path / "reports.parquet")
    collection = read_reports(tmp_path / "reports.parquet")
    with pytest.raises(WireError, match=re.escape("reports.parquet: report 3 is no number of a set")):
        list(collection.batches(2))


# ---- compiled code

SHAPES = [
    # real items, M, ℓ: one word and several, all others or few of them added, powers of two as bounds
    (1, 1, 1), (3, 2, 2), (7, 5, 9), (11, 5, 8), (59, 5, 25), (64, 5, 5), (64, 5, 33), (128, 5, 60), (25, 15, 7),
    (256, 1, 1), (37, 3, 38), (131, 4, 66),
]  # fmt: skip


def random_baskets(rng, n_items, count):
    """Return baskets of all sizes over a numbered catalogue, empty and full ones among them."""
    sizes = [0, n_items, *rng.integers(0, n_items + 1, count - 2)]
    return Baskets.from_sets(
        [rng.choice(n_items, size, replace=False).tolist() for size in sizes], Catalogue.numbered(n_items)
    )


@pytest.mark.parametrize("shares", [None, (1 << 20, 19 << 20), (1 << 200, 3 << 200)], ids=["small", "planned", "huge"])
@pytest.mark.parametrize(("n_items", "m", "size"), SHAPES)
def test_bulk_equals_the_client(rng, n_items, m, size, shares):
    """For equal words the bulk reports are the one-report client's, one after the other, rejections included."""
    plan = naive.fixed_plan(n_items, m, 1, size, shares=shares and [shares[j % 2] for j in range(m + 1)])
    baskets, words = random_baskets(rng, n_items, 70), random_words(rng, 70 * 60, zeros=0.3)
    wanted, used = one_by_one(plan, baskets, words)
    rest = naive.ReplayEntropy(words[used:])
    chunk = BulkRandomizer(plan).randomize(baskets, words[:used], rest)
    assert reports_of(chunk) == wanted
    assert chunk.packed.shape == (70, plan.report_bytes)
    assert rest.used == 0
    plan.check_form(chunk.packed)


@pytest.mark.parametrize(("n_items", "m", "size"), [(3, 2, 2), (64, 5, 33), (131, 4, 66)])
def test_words_in_pieces_give_the_same_reports(rng, n_items, m, size):
    """When the words run out, wherever that is, more are taken and no transaction is drawn otherwise."""
    plan = naive.fixed_plan(n_items, m, 1, size)
    baskets, words = random_baskets(rng, n_items, 70), random_words(rng, 4000, zeros=0.2)
    wanted, used = one_by_one(plan, baskets, words)
    fitted = BulkRandomizer(plan).randomize(baskets, words, naive.ReplayEntropy([])).raw_fitted[0]
    for first in [*range(12), used // 2, used - 1, used]:
        chunk = BulkRandomizer(plan).randomize(baskets, words[:first], naive.ReplayEntropy(words[first:]))
        assert reports_of(chunk) == wanted
        assert np.array_equal(chunk.raw_fitted[0], fitted)


@pytest.mark.parametrize(("n_items", "m", "size"), [(3, 2, 2), (59, 5, 25), (131, 4, 66)])
@pytest.mark.parametrize("n_transactions", [0, 1, 63, 64, 65])
def test_randomize_sets(rng, n_items, m, size, n_transactions):
    """The kernel does exactly the transactions that the words suffice for, and tells how many words they took."""
    plan = naive.fixed_plan(n_items, m, 1, size)
    tables, transactions = BulkAnswerer(plan.items)._tables, list(random_baskets(rng, n_items, 65))[:n_transactions]
    offsets = np.cumsum([0, *map(len, transactions)], dtype=np.int64)
    items = np.array([item for transaction in transactions for item in sorted(transaction)], dtype=np.int64)
    for n_words in (7 * n_transactions, 60 * n_transactions):
        words = random_words(rng, n_words, zeros=0.1)
        fitted = np.zeros((n_transactions, m), dtype=np.int64)
        reports = np.zeros((n_transactions, -(-plan.items.report_bits // 64)), dtype=np.uint64)
        done, used, status = tables.randomize(offsets, items, words, fitted, reports)
        octets = reports.astype("<u8").view(np.uint8)[:done, : plan.report_bytes]
        wanted = naive.randomize_transactions(transactions, plan, words)
        assert ([row.tobytes() for row in octets], fitted[:done].tolist(), used) == wanted
        assert status == (OUT_OF_WORDS if done < n_transactions else 0)


def words_for_draw(value, bound):
    """Return the least number of words from which below(bound) draws a value, and how many words it has."""
    n_words = -(-(bound - 1).bit_length() // 64)
    return -((-value << 64 * n_words) // bound), n_words


@pytest.mark.parametrize(("n_items", "m", "size"), [(11, 5, 8), (64, 5, 33), (131, 4, 66)])
@pytest.mark.parametrize("base", [1, 1 << 20, (1 << 90) + 1])
def test_bulk_at_the_boundaries_of_draws(rng, n_items, m, size, base):
    """Draws just below and at every cumulative weight, and words at the limit of rejection, are the client's."""
    plan = naive.fixed_plan(n_items, m, 1, size, shares=[base * (19 if j % 2 else 1) for j in range(m + 1)])
    draws = SetDraws.of(plan.items.fixed)
    total, kept = draws.cumulative[-1], set()
    for cumulative in draws.cumulative[:-1]:
        at, n_words = words_for_draw(cumulative, total)
        for number in (at - 1, at, at + 1):
            words = [number >> 64 * i & (1 << 64) - 1 for i in range(n_words)]
            words += random_words(rng, 60).tolist()
            basket = Baskets.from_sets([range(min(m, n_items))], plan.catalogue)
            wanted, used = one_by_one(plan, basket, words)
            chunk = BulkRandomizer(plan).randomize(basket, np.array(words[:used], np.uint64), naive.ReplayEntropy([]))
            assert reports_of(chunk) == wanted
            kept.add(len(plan.items.form.items(wanted[0]) & set(chunk.raw_fitted[0][0].tolist())))
    assert len(kept) == len(draws.cumulative)


@pytest.mark.parametrize("n_words", [1, 2])
def test_bulk_at_the_limit_of_rejection(rng, n_words):
    """Words whose product with the bound falls just below the limit are drawn again, those at it are taken."""
    plan = naive.fixed_plan(11, 4, 1, 5, shares=[(1 << 70 * (n_words - 1)) + 4 * j for j in range(5)])
    total, span = SetDraws.of(plan.items.fixed).cumulative[-1], 1 << 64 * n_words
    assert n_words == -(-total.bit_length() // 64)
    odd, shift = total, 0
    while not odd % 2:
        odd, shift = odd // 2, shift + 1
    limit, used = span % total, []
    for product in ((limit >> shift) - 1 << shift, -(-limit >> shift) << shift):
        number = (product >> shift) * pow(odd, -1, span >> shift) % (span >> shift)
        assert number * total % span == product
        words = [number >> 64 * i & (1 << 64) - 1 for i in range(n_words)] + random_words(rng, 20).tolist()
        basket = Baskets.from_sets([[1, 2]], plan.catalogue)
        wanted, count = one_by_one(plan, basket, words)
        chunk = BulkRandomizer(plan).randomize(basket, np.array(words[:count], np.uint64), naive.ReplayEntropy([]))
        assert reports_of(chunk) == wanted
        used.append(count)
    assert used[0] > used[1]


@pytest.mark.parametrize(("n_items", "m", "size"), SHAPES)
def test_words_drawn_ahead_suffice(rng, n_items, m, size):
    """The words that a chunk is given are enough for rejections too."""
    plan = naive.fixed_plan(n_items, m, 1, size, shares=[(19 << 20) - 1 if j % 2 else 1 << 20 for j in range(m + 1)])
    baskets, randomizer = random_baskets(rng, n_items, 300), BulkRandomizer(plan)
    words = random_words(rng, randomizer.words_needed(baskets) + randomizer.spare_words(baskets))
    assert len(randomizer.randomize(baskets, words, naive.ReplayEntropy([])).packed) == 300


@pytest.mark.parametrize("n_reports", [0, 1, 63, 64, 65, 130])
@pytest.mark.parametrize(("n_items", "size"), [(2, 1), (9, 5), (64, 25), (70, 60), (140, 66)])
def test_unrank_reports(rng, n_items, size, n_reports):
    """Every item's bitmap shows whose set it belongs to, the first and last set included, and zeros beyond."""
    table, sets = binomial_words(n_items, size), comb(n_items, size)
    ranks = [int.from_bytes(rng.bytes(40), "little") % sets for _ in range(n_reports)]
    ranks[:2] = [0, sets - 1][: len(ranks)]
    words = [[rank >> 64 * i & (1 << 64) - 1 for i in range(table.shape[2])] for rank in ranks]
    planes = random_words(rng, (1 + n_reports // 128) * n_items * 2).reshape(-1, n_items, 2)
    scratch = random_words(rng, (2 * table.shape[2] + 3) * 64).reshape(-1, 64), np.zeros(n_items, dtype=np.int64)
    unrank_reports(np.array(words, dtype=np.uint64).reshape(-1, table.shape[2]), table, *scratch, planes)
    assert np.array_equal(planes, naive.unrank_reports(ranks, size, planes.shape))


@pytest.mark.parametrize("name", [*PLANS, *WIDE])
@pytest.mark.parametrize("n_reports", [0, 1, 70])
def test_report_items_agrees_with_the_bitmaps(rng, name, n_reports):
    """What one report shows and what the server's bitmaps and counts say of it are the same."""
    plan = (PLANS | WIDE)[name]
    sets = comb(plan.items.padded_items, plan.items.fixed.report_size)
    reports = [plan.items.form.encode(int.from_bytes(rng.bytes(40), "little") % sets) for _ in range(n_reports)]
    packed, items = pack_reports(reports, plan), rng.permutation(plan.items.padded_items)
    shown = naive.bits_of(naive.lines_of(report_rows(packed, plan.items, items)))
    assert not shown[:, n_reports:].any()
    for t, report in enumerate(reports):
        assert plan.items.form.items(report) == frozenset(items[shown[:, t] == 1].tolist())
    planes, counts = planes_of(packed, plan.items), np.zeros(len(items), dtype=np.int64)
    assert planes.shape[1] == form_of(plan.items).n_planes == plan.items.padded_items
    ItemTables(plan.items, items).count(planes, n_reports, counts)
    assert np.array_equal(counts, shown.sum(axis=1))


@pytest.mark.parametrize("memory_bytes", [None, 1])
def test_counts_are_those_of_the_reports(rng, memory_bytes):
    """Counts of items, pairs and triples, dummies among them, are those of the sets that reports show."""
    plan = naive.fixed_plan(9, 3, 3, 5)
    packed = np.concatenate(
        [c.packed for c in randomize_chunks(random_baskets(rng, 9, 5000), plan, entropy=SeededEntropy(3))]
    )
    shown = [plan.items.form.items(row.tobytes()) for row in packed]
    counter = LocalCounter(Answers(Reports(plan, packed), 0), memory_bytes=memory_bytes)
    for k in (1, 2, 3):
        itemsets = np.array(list(combinations(range(12), k)), dtype=np.int64)
        wanted = [naive.count_itemset(shown, itemset) for itemset in itemsets.tolist()]
        assert counter.count(itemsets).tolist() == wanted


def test_bulk_follows_the_law(rng):
    """On fresh words the bulk path's reports have the exact law; that of independent insertion is rejected."""
    plan, basket = PLANS["m=2, 3 of 6"], frozenset({0, 2})
    baskets = Baskets.from_sets([basket] * 30_000, plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(int(rng.integers(1 << 60))))
    ranks = np.concatenate([chunk.packed for chunk in chunks])[:, 0]
    observed = np.bincount(ranks, minlength=20)
    law = law_of(plan, basket)
    assert not fit.rejects(observed, [float(law[bytes([rank])]) for rank in range(20)])
    # sets of three when each item outside is added with probability 1/2, given the same law of kept items
    p = plan.items.fixed.size_distribution
    kept = [len(basket & set(set_of_rank(rank, 6, 3))) for rank in range(20)]
    independent = np.array([float(p[j]) / comb(2, j) for j in kept])
    assert fit.rejects(observed, independent / independent.sum())


# ---- the whole way


def test_the_whole_way(rng, tmp_path):
    """Planned, randomized, filed and mined supports lie around the true ones; independent insertion's inverse fails.

    |z| < 4.9 has a false-alarm rate of 1e-6 for each itemset. The wrong model has the same shares of kept items and as
    many items added on average, but each of them independently.
    """
    n_items, m, n_reports = 27, 5, 60_000
    plan = planned(n_items, m, GAMMA, reports=n_reports, kind="fixed-size")
    likely = rng.choice(n_items, size=(3, 3), replace=False)
    baskets = [
        {*likely[rng.integers(3)].tolist(), *rng.choice(n_items, rng.integers(3), replace=False).tolist()}
        for _ in range(n_reports)
    ]
    made = Baskets.from_sets(baskets, plan.catalogue)
    chunks = randomize_chunks(made, plan, entropy=SeededEntropy(int(rng.integers(1 << 60))))
    Reports(plan, np.concatenate([chunk.packed for chunk in chunks])).write(tmp_path / "r.parquet")
    reports = read_reports(tmp_path / "r.parquet")
    assert len(reports) == n_reports
    found = mine(reports, "15%")
    names = {frozenset(str(item) for item in chosen) for chosen in likely.tolist()}
    assert names <= set(found.loc[found["listed"], "itemsets"])
    itemsets = [sorted(map(int, itemset)) for itemset in found["itemsets"]]
    truth = np.array([naive.count_itemset(baskets, itemset) / n_reports for itemset in itemsets])
    assert (np.abs(found["unbiased"] - truth) < fit.Z_LIMIT * found["unbiased_error"]).all()

    rho = Fraction(plan.items.fixed.report_size, plan.items.padded_items)
    bits = 8
    a = round(rho * (1 << bits)) | 1
    shares = [p / comb(m, j) for j, p in enumerate(plan.items.fixed.size_distribution)]
    weights = [max(1, math.floor(share * (1 << 64))) for share in shares]
    weights[0] += (1 << 64) - sum(comb(m, j) * w for j, w in enumerate(weights))
    wrong = Respondents(n_reports, SupportModel.of(Operator(m, a, bits, 64, tuple(weights))))
    counter = LocalCounter(Answers(reports, 0))
    worst = 0.0
    for itemset, true in zip(itemsets, truth, strict=True):
        k = len(itemset)
        sums = [n_reports] + [
            int(counter.count(np.array(list(combinations(itemset, j)), dtype=np.int64)).sum()) for j in range(1, k + 1)
        ]
        estimate = estimate_supports(np.array([sums], dtype=np.int64), wrong)
        worst = max(worst, float(abs(estimate.support[0] - true) / estimate.std_error()[0]))
    assert worst > 2 * fit.Z_LIMIT


# ---- the planner


def search(m, n, gamma, largest, patterns=None):
    """Return the best design of every report size up to half of the items, by default of patterns that are runs."""
    family = FixedSizeFamily(m, n, tuple(range(1, n // 2 + 1)))
    return family.search(Fraction(gamma), WorstSupport(largest, N), runs(m) if patterns is None else patterns)


@pytest.mark.parametrize(
    ("m", "gamma", "n", "largest", "expected"),
    [
        (5, 19, 16, 3, 0.326), (5, 19, 32, 3, 0.318), (5, 19, 64, 3, 0.386), (5, 19, 128, 3, 0.447),
        (3, 19, 32, 3, 0.199), (5, 9, 32, 3, 0.607), (5, 19, 64, 1, 0.124),
    ],
)  # fmt: skip
def test_known_optima(m, gamma, n, largest, expected):
    """Of all patterns the least LDS is that of an independent computation, all digits; that of runs is within 1%."""
    every = np.array(list(all_of((0.0, 1.0), repeat=m + 1)))
    least = min(d.error for d in search(m, n, gamma, largest, every))
    assert f"{100 * least:.3f}" == f"{expected:.3f}"
    design = min(search(m, n, gamma, largest), key=lambda d: d.error)
    assert least <= design.error < 1.01 * least
    respondents = Respondents(N, SupportModel.of(design.operator(Fraction(gamma))))
    lds = max(lowest_discoverable_support(respondents, k) for k in range(1, largest + 1))
    assert lds == pytest.approx(design.error, rel=1e-5)


def test_a_long_catalogue_gains_nothing():
    """With 1,000 items reports of a fixed size are hardly better than independent insertion, and far longer."""
    best = min(search(5, 1000, 19, 3), key=lambda d: d.error)
    assert f"{100 * best.error:.3f}" == "0.493"
    assert best.report_bits() == 995
    independent = min(d.error for d in papers_family(5).search(Fraction(19), WorstSupport(3, N), runs(5)))
    assert 0.98 < best.error / independent < 1


@pytest.mark.parametrize(("n", "m", "size"), [(7, 3, 2), (12, 4, 5), (9, 5, 3)])
def test_half_of_the_sizes_suffice(n, m, size):
    """ℓ items with a pattern and n − ℓ with the reversed one, the complement of each set, have the same errors."""
    weights = [1 + 3 * (j % 2) if 0 <= size - j <= n - m else 0 for j in range(m + 1)]
    models = [
        SupportModel.of(FixedSizeOperator(m, n, size, tuple(weights))),
        SupportModel.of(FixedSizeOperator(m, n, n - size, tuple(weights[::-1]))),
    ]
    for k in (1, 2):
        for held in range(k + 1):
            assert models[0].second_moment(k, held) == models[1].second_moment(k, held)


@pytest.mark.parametrize(
    ("n_items", "wishes", "kind"),
    [
        (27, {}, "fixed-size"), (59, {"itemset_size": 2}, "fixed-size"),
        (1000, {}, "select-a-size"), (59, {"transaction_size": 5, "paper": True}, "select-a-size"),
        (2, {}, "fixed-size"),
    ],
    ids=["short catalogue", "pairs", "long catalogue", "the paper's choice", "no item but the dummies outside"],
)  # fmt: skip
def test_short_catalogues_get_reports_of_a_fixed_size(n_items, wishes, kind):
    """Where they tell more, reports have a fixed size, and keep the promise; where they cannot win, they have not."""
    plan = make_plan(n_items, GAMMA, reports=N, **wishes)
    assert plan.items.operator.kind == kind
    assert plan.amplification < GAMMA.amplification_limit
    assert Plan.parse(plan.canonical_json) == plan


def test_what_a_plan_of_fixed_size_shows():
    """The plan's text and record tell of the size of reports instead of a default probability."""
    plan = planned(27, 5, GAMMA, reports=N, kind="fixed-size")
    size = plan.items.fixed.report_size
    text = "\n".join(lines(shown_plan(foresee(plan, N))))
    assert f"each report shows {size} items" in text
    assert "the number of a set" in text
    assert "default probability" not in text
    [record] = shown_plan(foresee(plan, N)).content["questions"]
    assert (record["operator"], record["report_size"], record["default_probability"]) == ("fixed-size", size, None)
    [other] = shown_plan(foresee(planned(27, 5, GAMMA, kind="independent"), N)).content["questions"]
    assert (other["operator"], other["report_size"]) == ("select-a-size", None)
