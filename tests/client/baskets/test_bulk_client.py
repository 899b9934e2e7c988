"""The compiled bulk path gives the one-report client's reports for equal words."""

import os
from dataclasses import replace

import naive
import numpy as np
import pytest

from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.baskets.bulk_client import BulkRandomizer, randomize_chunks
from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import FixedSizeOperator
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

N_ITEMS = 12
GENERATORS = ("none", "bch", "reed-solomon")


def make_baskets(rows, n_items=N_ITEMS):
    """Return baskets of item ids over a numbered catalogue."""
    return Baskets.from_sets(rows, Catalogue.numbered(n_items), empty="keep")


def random_baskets(rng, count):
    """Return baskets of all sizes, empty and full ones among them."""
    sizes = [0, N_ITEMS, *rng.integers(0, N_ITEMS + 1, count - 2)]
    return make_baskets([rng.choice(N_ITEMS, size, replace=False).tolist() for size in sizes])


def random_words(rng, count, zeros=0.0):
    """Return uniform words, some of them 0: every draw below an n that is no power of 2 rejects 0."""
    words = rng.integers(0, 1 << 64, size=count, dtype=np.uint64)
    words[rng.random(count) < zeros] = 0
    return words


def one_by_one(plan, baskets, words):
    """Return the one-report client's reports and the number of words that it used."""
    entropy, randomizer = naive.ReplayEntropy(words), Randomizer(plan)
    return [randomizer.randomize(basket, entropy=entropy) for basket in baskets], entropy.used


def reports_of(chunk):
    """Return a chunk's reports as bytes."""
    return [row.tobytes() for row in chunk.packed]


@pytest.mark.parametrize("weight_bits", [10, 64, 100, 128])
@pytest.mark.parametrize("insert", [(1, 1), (1, 3), (5, 3), (77, 8), (255, 8)])
@pytest.mark.parametrize("code", GENERATORS)
def test_randomize_equals_the_client(rng, code, insert, weight_bits):
    """For equal words the bulk reports equal the one-report client's in the same order, with rejected words."""
    for m, k in [(1, 1), (4, 2)]:
        plan = naive.small_plan(code, N_ITEMS, m, k, insert=insert, weight_bits=weight_bits)
        baskets, words = random_baskets(rng, 40), random_words(rng, 3000, zeros=0.2)
        wanted, used = one_by_one(plan, baskets, words)
        rest = naive.ReplayEntropy(words[used:])
        chunk = BulkRandomizer(plan).randomize(baskets, words[:used], rest)
        assert reports_of(chunk) == wanted
        assert chunk.packed.shape == (40, plan.report_bytes)
        assert rest.used == 0  # the client's words suffice: the kernel uses no more of them


@pytest.mark.parametrize("code", GENERATORS)
def test_words_in_pieces_give_the_same_reports(rng, code):
    """When the words run out, at any place, more are drawn and no report changes."""
    plan = naive.small_plan(code, N_ITEMS, 3, 2, insert=(3, 3))
    baskets, words = random_baskets(rng, 60), random_words(rng, 4000, zeros=0.2)
    wanted, used = one_by_one(plan, baskets, words)
    fitted = BulkRandomizer(plan).randomize(baskets, words, naive.ReplayEntropy([])).raw_fitted
    for given in [*range(20), used // 2, used - 1, used]:
        chunk = BulkRandomizer(plan).randomize(baskets, words[:given], naive.ReplayEntropy(words[given:]))
        assert reports_of(chunk) == wanted
        assert np.array_equal(chunk.raw_fitted, fitted)


@pytest.mark.parametrize("insert", [(1, 1), (3, 3), (77, 8)])
@pytest.mark.parametrize("code", GENERATORS)
def test_words_needed_is_exact_when_nothing_is_rejected(rng, code, insert):
    """The one-report client uses the same number of words where none is rejected (almost certain here)."""
    plan = naive.small_plan(code, N_ITEMS, 4, 2, insert=insert, weight_bits=100)
    baskets, words = random_baskets(rng, 50), random_words(rng, 4000)
    assert BulkRandomizer(plan).words_needed(baskets) == one_by_one(plan, baskets, words)[1]


def all_chunks(baskets, plan, **options):
    """Run randomize_chunks on seed 5; return the chunks' lengths, reports and fitted items."""
    chunks = list(randomize_chunks(baskets, plan, entropy=SeededEntropy(5), **options))
    packed = np.concatenate([chunk.packed for chunk in chunks])
    return [len(chunk.packed) for chunk in chunks], packed, np.concatenate([chunk.raw_fitted[0] for chunk in chunks])


@pytest.mark.parametrize("code", ["none", "bch"])
def test_randomize_chunks_keeps_order_on_any_number_of_cores(rng, monkeypatch, code):
    """A seeded source gives the same reports, in the order of the baskets, on 1, 2 and 7 cores."""
    plan = naive.small_plan(code, N_ITEMS, N_ITEMS, 1)  # no truncation: the fitted items identify the basket
    baskets = random_baskets(rng, 503)
    runs = []
    for cores in (1, 2, 7):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        lengths, packed, fitted = all_chunks(baskets, plan, chunk=50)
        assert lengths == [50] * 10 + [3]
        assert [frozenset(row) - {*range(N_ITEMS, 2 * N_ITEMS)} for row in fitted.tolist()] == list(baskets)
        runs.append(packed)
    assert all(np.array_equal(runs[0], run) for run in runs)


@pytest.mark.parametrize("size", [3, 6, 40])
def test_batches_give_the_reports_of_the_whole(rng, size):
    """Baskets that arrive in batches, cut where chunks end, give the same reports as all at once."""
    plan = naive.small_plan("bch", N_ITEMS, 3, 2, insert=(3, 3))
    baskets = random_baskets(rng, 40)
    progress_seen = []

    def made(given, progress=None):
        chunks = randomize_chunks(given, plan, entropy=SeededEntropy(7), chunk=3, progress=progress)
        return [report for chunk in chunks for report in reports_of(chunk)]

    batches = [*(baskets[start : start + size] for start in range(0, 40, size)), baskets[:0]]
    got = made(iter(batches), lambda *counts: progress_seen.append(counts))
    assert got[:39] == made(baskets[:39])
    assert len(got) == 40
    assert progress_seen[-1] == (40, 40)
    assert progress_seen == sorted(progress_seen)


def test_another_catalogue_is_refused():
    """Baskets over another catalogue are refused before anything is drawn."""
    plan = naive.small_plan("none", N_ITEMS, 2, 1)
    other = make_baskets([[0]], N_ITEMS + 1)
    with pytest.raises(BasketError, match="do not use the plan's catalogue"):
        next(randomize_chunks(other, plan, entropy=naive.ReplayEntropy([])))


@pytest.mark.parametrize(
    ("offsets", "items"),
    [([0, 1], [11]), ([0, 1], [-1]), ([0, 2], [3, 3]), ([0, 2], [4, 3]), ([0, 2, 1, 3], [1, 2, 3])],
    ids=["beyond the catalogue", "negative", "repeated", "falling", "offsets falling"],
)
def test_malformed_arrays_are_refused(offsets, items):
    """Ids that would index beyond the tables of compiled code never reach it."""
    plan = naive.small_plan("none", 11, 3, 1)
    arrays = (np.array(offsets, dtype=np.int64), np.array(items, dtype=np.int64))
    with pytest.raises(BasketError, match="must lie in the catalogue and rise"):
        list(randomize_chunks(Baskets(plan.catalogue, *arrays), plan, entropy=SeededEntropy(1)))


# ---- several report types


def several(code):
    """Return a plan of three report types; the one about sizes has the shortest responses."""
    first, other = (naive.small_plan(code, N_ITEMS, m, 2).items for m in (4, 2))
    sizes = ReportType(3, FixedSizeOperator(1, 4, 1, (1, 9)), view=SizesView((2, 4, 7)), weight=9)
    report_types = (replace(first, weight=4), sizes, replace(other, weight=7))
    return replace(naive.small_plan(code, N_ITEMS, 4, 2), report_types=report_types)


@pytest.mark.parametrize("code", GENERATORS)
def test_report_types_are_drawn_first_and_responses_equal_the_one_report_client(rng, code):
    """The draws of report types use the first words; then each type's responses equal those of a plan of it alone."""
    plan = several(code)
    baskets, words = random_baskets(rng, 150), random_words(rng, 15_000)
    words[:150] = random_words(rng, 150, zeros=0.2)  # 0 is rejected, since the weights' sum is no power of 2
    packed = BulkRandomizer(plan).randomize(baskets, words, SeededEntropy(0)).packed
    source = naive.ReplayEntropy(words)
    numbers = [source.pick(plan.cumulative_weights) for _ in baskets]
    assert plan.type_numbers(packed).tolist() == numbers
    assert set(numbers) == {0, 1, 2}
    used = source.used
    for number, report_type in enumerate(plan.report_types):
        entries = [report_type.view.entries(sorted(b)) for b, n in zip(baskets, numbers, strict=True) if n == number]
        responses, _, more = naive.randomize_transactions(entries, naive.plan_of_type(plan, report_type), words[used:])
        used += more
        assert [row.tobytes() for row in plan.responses_in(packed, number)] == responses
    plan.check_form(packed)


def test_shares_of_report_types_follow_their_weights(rng):
    """Of 60,000 reports, 4, 9 and 7 of 20 are of each type for any baskets; shares a tenth higher are rejected."""
    plan = several("none")
    baskets = random_baskets(rng, 1000)
    for part in (baskets, make_baskets([range(N_ITEMS)] * 1000), make_baskets([[]] * 1000)):
        entropy = SeededEntropy(int(rng.integers(1 << 60)))
        chunks = [next(randomize_chunks(part, plan, entropy=entropy)).packed for _ in range(60)]
        observed = np.bincount(plan.type_numbers(np.concatenate(chunks)), minlength=3)
        assert not naive.rejects(observed, np.array([4, 9, 7]) / 20)
        assert naive.rejects(observed, np.array([4.4, 8.6, 7]) / 20)
