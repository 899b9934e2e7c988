"""Reports of a fixed size: ranks of sets, the report form, compiled code, and the planner."""

from fractions import Fraction
from itertools import combinations
from itertools import product as all_of
from math import comb

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.client.baskets.basket_client import SetDraws
from assocpriv.client.baskets.bulk_client import BulkRandomizer
from assocpriv.estimation.supports import Respondents, detectable_support
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import WireError
from assocpriv.guarantees.exact_numbers import rank_of_set, set_of_rank
from assocpriv.planning.operator_designs import FixedSizeFamily, WorstSupport, runs
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.plans.published_plan import pack_reports
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.counting import LocalCounter, Responses
from tests.client.baskets.test_bulk_client import one_by_one, random_words, reports_of
from tests.server.baskets.test_counting import count_one_by_one

N = 5_000_000


# ---- ranks of sets


@pytest.mark.parametrize(("n_items", "size"), [(1, 1), (5, 0), (5, 1), (5, 5), (8, 3), (9, 6)])
def test_ranks_number_all_sets_in_order(n_items, size):
    """The ranks 0 … C(n,ℓ) − 1 are those of all sets in the order of Σ 2^c, and the sets follow from their ranks."""
    sets = sorted(combinations(range(n_items), size), key=lambda members: sum(1 << c for c in members))
    assert [rank_of_set(members) for members in sets] == list(range(comb(n_items, size)))
    assert [tuple(set_of_rank(rank, n_items, size)) for rank in range(len(sets))] == sets


# ---- the report form

WIDE = {
    "1 bit": naive.fixed_plan(1, 1, 1, 1),
    "4 bits": naive.fixed_plan(3, 2, 2, 2, shares=(3, 1, 4)),
    "8 bits, all used": naive.fixed_plan(255, 1, 1, 1),  # 256 sets: every byte is a report
    "59 bits": naive.fixed_plan(59, 5, 2, 25),
    "65 bits": naive.fixed_plan(64, 5, 2, 30),
    "132 bits": naive.fixed_plan(131, 5, 2, 66),
}
wide_plan = st.sampled_from(list(WIDE.values()))


@given(wide_plan, st.data())
def test_reports_decode_to_their_sets(plan, data):
    """A report decodes to its set of ℓ items, also for the first and the last set."""
    size, n = plan.items.fixed.report_size, plan.items.padded_items
    drawn = data.draw(st.integers(0, comb(n, size) - 1))
    for rank, shown in [(drawn, None), (0, range(size)), (comb(n, size) - 1, range(n - size, n))]:
        report = plan.items.form.encode(rank)
        assert plan.items.form.decode(report) == rank
        assert rank_of_set(plan.items.form.items(report)) == rank
        assert shown is None or plan.items.form.items(report) == frozenset(shown)


@given(wide_plan, st.lists(st.integers(-3, 3), max_size=6), st.data())
def test_invalid_ranks_are_refused(plan, near, data):
    """Every number from C(n, ℓ) on is refused, alone and among others; the message names the first of them."""
    sets, bits = comb(plan.items.padded_items, plan.items.fixed.report_size), plan.items.report_bits
    drawn = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=4))
    ranks = [min(max(sets + d, 0), (1 << bits) - 1) for d in near] + drawn
    rows = [[*plan.items.form.encode(rank)] for rank in ranks]
    packed = np.array(rows, dtype=np.uint8).reshape(-1, plan.report_bytes)
    wrong = [place for place, rank in enumerate(ranks) if rank >= sets]
    for place in wrong:
        for read in (plan.items.form.decode, plan.items.form.items):
            with pytest.raises(WireError, match="a report is no rank of a set"):
                read(plan.items.form.encode(ranks[place]))
    if not wrong:
        plan.check_form(packed)
        assert np.array_equal(pack_reports([row.tobytes() for row in packed], plan), packed)
        return
    with pytest.raises(WireError, match=f"here: report {10 + wrong[0]} is no rank of a set"):
        plan.check_form(packed, "here: ", 10)
    with pytest.raises(WireError, match=f"report {wrong[0]} is no rank of a set"):
        pack_reports([row.tobytes() for row in packed], plan)
    with pytest.raises(WireError, match="no rank of a set"):
        Reports(plan, packed)


# ---- compiled code

SHAPES = [
    # real items, M, ℓ: one word and several, all or few of the other items inserted, powers of two as bounds
    (1, 1, 1), (3, 2, 2), (7, 5, 9), (11, 5, 8), (59, 5, 25), (64, 5, 5), (64, 5, 33), (128, 5, 60), (25, 15, 7),
    (256, 1, 1), (37, 3, 38), (131, 4, 66),
]  # fmt: skip


def random_baskets(rng, n_items, count):
    """Return baskets of all sizes over a numbered catalogue, including empty and full ones."""
    sizes = [0, n_items, *rng.integers(0, n_items + 1, count - 2)]
    rows = [rng.choice(n_items, size, replace=False).tolist() for size in sizes]
    return Baskets.from_sets(rows, Catalogue.numbered(n_items), empty="keep")


@pytest.mark.parametrize("shares", [None, (1 << 20, 19 << 20), (1 << 200, 3 << 200)], ids=["small", "planned", "huge"])
@pytest.mark.parametrize(("n_items", "m", "size"), SHAPES)
def test_bulk_equals_the_client(rng, n_items, m, size, shares):
    """For equal words, bulk reports are those of the client for one report, in order and with rejections."""
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
    """If the words end at any point, more words are read and no report changes."""
    plan = naive.fixed_plan(n_items, m, 1, size)
    baskets, words = random_baskets(rng, n_items, 70), random_words(rng, 4000, zeros=0.2)
    wanted, used = one_by_one(plan, baskets, words)
    fitted = BulkRandomizer(plan).randomize(baskets, words, naive.ReplayEntropy([])).raw_fitted[0]
    for first in [*range(12), used // 2, used - 1, used]:
        chunk = BulkRandomizer(plan).randomize(baskets, words[:first], naive.ReplayEntropy(words[first:]))
        assert reports_of(chunk) == wanted
        assert np.array_equal(chunk.raw_fitted[0], fitted)


def words_for_draw(value, bound):
    """Return the smallest number that below(bound) maps to a value, and its length in words."""
    n_words = -(-(bound - 1).bit_length() // 64)
    return -((-value << 64 * n_words) // bound), n_words


@pytest.mark.parametrize(("n_items", "m", "size"), [(11, 5, 8), (64, 5, 33), (131, 4, 66)])
@pytest.mark.parametrize("base", [1, 1 << 20, (1 << 90) + 1])
def test_bulk_at_the_boundaries_of_draws(rng, n_items, m, size, base):
    """Reports are the client's for draws at every cumulative weight, one below and one above."""
    plan = naive.fixed_plan(n_items, m, 1, size, shares=[base * (19 if j % 2 else 1) for j in range(m + 1)])
    draws = SetDraws.from_operator(plan.items.fixed)
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
    """Words whose product with the bound is just below the limit are rejected; words at the limit are accepted."""
    plan = naive.fixed_plan(11, 4, 1, 5, shares=[(1 << 70 * (n_words - 1)) + 4 * j for j in range(5)])
    total, span = SetDraws.from_operator(plan.items.fixed).cumulative[-1], 1 << 64 * n_words
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


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("n_reports", [0, 1, 70, 5000])
def test_counts_are_those_of_the_reports(rng, name, n_reports):
    """Counts of items, pairs and triples, also of padding items, are those of the shown sets, in parts and as one."""
    plan, n = WIDE[name], WIDE[name].items.padded_items
    sets = comb(n, plan.items.fixed.report_size)
    known = [plan.items.form.encode(int.from_bytes(rng.bytes(40), "little") % sets) for _ in range(70)]
    packed = pack_reports(known, plan)[rng.permutation(n_reports) % 70]
    items = sorted({0, n - 1, *rng.choice(n, min(n, 6), replace=False).tolist()})
    for k in range(1, min(n, 3) + 1):
        itemsets = np.array(list(combinations(items, k)), dtype=np.int64)
        wanted = count_one_by_one(packed, plan, itemsets)
        for memory_bytes in (None, 1):
            counter = LocalCounter(Responses(Reports(plan, packed), 0), memory_bytes=memory_bytes)
            assert counter.count(itemsets).tolist() == wanted


# ---- the planner


def search(m, n, gamma, largest, patterns=None):
    """Return the best design for every report size up to half of the items; by default patterns are runs."""
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
    """The smallest LDS of all patterns agrees with an independent computation; runs lose at most 1%."""
    every = np.array(list(all_of((0.0, 1.0), repeat=m + 1)))
    least = min(d.error for d in search(m, n, gamma, largest, every))
    assert f"{100 * least:.3f}" == f"{expected:.3f}"
    design = min(search(m, n, gamma, largest), key=lambda d: d.error)
    assert least <= design.error < 1.01 * least
    respondents = Respondents(N, SupportModel(design.operator(Fraction(gamma))))
    lds = max(detectable_support(respondents, k) for k in range(1, largest + 1))
    assert lds == pytest.approx(design.error, rel=1e-5)
