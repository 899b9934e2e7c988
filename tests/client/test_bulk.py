"""The compiled bulk path: the one-report client's reports for equal words, and the operator's law on fresh ones."""

import itertools
import os
from dataclasses import replace

import naive
import numpy as np
import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import BulkRandomizer, randomize_chunks
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.operator import FixedSizeOperator
from assocpriv.plans.question import Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import BasketError
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

N_ITEMS = 12
GENERATORS = ("none", "bch", "reed-solomon")


def make_baskets(rows, n_items=N_ITEMS):
    """Return baskets of item ids over a numbered catalogue."""
    return Baskets.from_sets(rows, Catalogue.numbered(n_items))


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
    """Return what the one-report client makes of the words, and how many it used."""
    entropy, randomizer = naive.ReplayEntropy(words), Randomizer(plan)
    return [randomizer.randomize(basket, entropy=entropy) for basket in baskets], entropy.used


def reports_of(chunk):
    """Return a chunk's reports as bytes."""
    return [row.tobytes() for row in chunk.packed]


@pytest.mark.parametrize("weight_bits", [10, 64, 100, 128])
@pytest.mark.parametrize("insert", [(1, 1), (1, 3), (5, 3), (77, 8), (255, 8)])
@pytest.mark.parametrize("code", GENERATORS)
def test_randomize_equals_the_client(rng, code, insert, weight_bits):
    """For equal words the bulk reports are the one-report client's, one after the other, rejections included."""
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
    """When the words run out, wherever that is, more are taken and no transaction is drawn otherwise."""
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
    """The one-report client uses just as many words where, as is all but sure, none of them is rejected."""
    plan = naive.small_plan(code, N_ITEMS, 4, 2, insert=insert, weight_bits=100)
    baskets, words = random_baskets(rng, 50), random_words(rng, 4000)
    assert BulkRandomizer(plan).words_needed(baskets) == one_by_one(plan, baskets, words)[1]


@pytest.mark.parametrize("code", ["none", "reed-solomon"])
def test_raw_fitted(rng, code):
    """Short baskets are padded with dummies n, n + 1, …; of long ones M distinct items of their own are left."""
    plan = naive.small_plan(code, N_ITEMS, 5, 2)
    baskets = random_baskets(rng, 200)
    words = random_words(rng, BulkRandomizer(plan).words_needed(baskets))
    fitted = BulkRandomizer(plan).randomize(baskets, words, SeededEntropy(0)).raw_fitted[0].tolist()
    for basket, row in zip(baskets, fitted, strict=True):
        if len(basket) <= 5:
            assert row == sorted(basket) + list(range(N_ITEMS, N_ITEMS + 5 - len(basket)))
        else:
            assert len(set(row)) == 5
            assert set(row) <= basket


def all_chunks(baskets, plan, **options):
    """Run randomize_chunks on seed 5; return the chunks' lengths, reports and fitted items."""
    chunks = list(randomize_chunks(baskets, plan, entropy=SeededEntropy(5), **options))
    packed = np.concatenate([chunk.packed for chunk in chunks])
    return [len(chunk.packed) for chunk in chunks], packed, np.concatenate([chunk.raw_fitted[0] for chunk in chunks])


@pytest.mark.parametrize("code", ["none", "bch"])
def test_randomize_chunks_keeps_order_on_any_number_of_cores(rng, monkeypatch, code):
    """A seeded source gives the same reports, in the order of the baskets, on 1, 2 and 7 cores."""
    plan = naive.small_plan(code, N_ITEMS, N_ITEMS, 1)  # nothing is sampled: the fitted items tell the basket
    baskets = random_baskets(rng, 503)
    runs = []
    for cores in (1, 2, 7):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        lengths, packed, fitted = all_chunks(baskets, plan, chunk=50)
        assert lengths == [50] * 10 + [3]
        assert [frozenset(row) - {*range(N_ITEMS, 2 * N_ITEMS)} for row in fitted.tolist()] == list(baskets)
        runs.append(packed)
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("size", [3, 6, 40])
def test_batches_are_randomized_as_the_whole(rng, size):
    """Baskets that come batch by batch, cut where chunks end, give the reports that they give together."""
    plan = naive.small_plan("bch", N_ITEMS, 3, 2, insert=(3, 3))
    baskets = random_baskets(rng, 40)
    told = []
    batches = (baskets[start : start + size] for start in range(0, 40, size))
    wanted, got = (
        [
            report
            for chunk in randomize_chunks(each, plan, entropy=SeededEntropy(7), chunk=3, progress=progress)
            for report in reports_of(chunk)
        ]
        for each, progress in (
            (baskets[:39], None),
            (itertools.chain(batches, [baskets[:0]]), lambda *n: told.append(n)),
        )
    )
    assert got[:39] == wanted
    assert len(got) == 40
    assert told[-1] == (40, 40)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_another_catalogue_is_refused():
    """Baskets over another catalogue are refused before anything is drawn."""
    plan = naive.small_plan("none", N_ITEMS, 2, 1)
    other = make_baskets([[0]], N_ITEMS + 1)
    with pytest.raises(BasketError, match="do not use the plan's catalogue"):
        next(randomize_chunks(other, plan, entropy=naive.ReplayEntropy([])))


def test_a_chunk_does_not_show_raw_items():
    """The repr of a chunk, which may end in a log, leaves out the fitted items."""
    plan = naive.small_plan("none", N_ITEMS, 2, 1)
    [chunk] = randomize_chunks(make_baskets([[3, 7]]), plan, entropy=SeededEntropy(0))
    assert "fitted" not in repr(chunk)


@pytest.mark.parametrize(
    ("offsets", "items"),
    [([0, 1], [11]), ([0, 1], [-1]), ([0, 2], [3, 3]), ([0, 2], [4, 3]), ([0, 2, 1, 3], [1, 2, 3])],
    ids=["beyond the catalogue", "negative", "repeated", "falling", "offsets falling"],
)
def test_arrays_that_are_no_baskets_are_refused(offsets, items):
    """Ids that compiled code would use as places beyond its tables never reach it, whoever made the arrays."""
    plan = naive.small_plan("none", 11, 3, 1)
    arrays = (np.array(offsets, dtype=np.int64), np.array(items, dtype=np.int64))
    with pytest.raises(BasketError, match="must lie in the catalogue and rise"):
        list(randomize_chunks(Baskets(plan.catalogue, *arrays), plan, entropy=SeededEntropy(1)))


def test_kernels_take_words_of_every_source_alike(rng, monkeypatch):
    """Not compiled again, for words that may be written, where others had to be drawn in the middle of a command."""
    plan = naive.small_plan("bch", N_ITEMS, 2, 1)
    randomizer, kinds = BulkRandomizer(plan), set()
    tables = randomizer._answerers[0]._tables
    run = tables.randomize

    def look(offsets, items, words, *written):
        kinds.add(words.flags.writeable)
        return run(offsets, items, words, *written)

    monkeypatch.setattr(tables, "randomize", look)
    for entropy in (SystemEntropy(), SeededEntropy(1)):
        for count in (0, 300):
            randomizer.randomize(random_baskets(rng, 20), entropy.words(count), entropy)
    assert kinds == {False}


# ---- several questions


def several(code):
    """Return a plan of three questions, of which that about sizes has the shortest answers."""
    first, other = (naive.small_plan(code, N_ITEMS, m, 2).items for m in (4, 2))
    sizes = Question(3, FixedSizeOperator(1, 4, 1, (1, 9)), view=SizesView((2, 4, 7)), weight=9)
    questions = (replace(first, weight=4), sizes, replace(other, weight=7))
    return replace(naive.small_plan(code, N_ITEMS, 4, 2), questions=questions)


@pytest.mark.parametrize("code", GENERATORS)
def test_questions_are_drawn_first_and_answered_by_the_one_report_client(rng, code):
    """The coins of a chunk take the first words; then each question's answers are those of a plan of it alone."""
    plan = several(code)
    baskets, words = random_baskets(rng, 300), random_words(rng, 30_000)
    packed = BulkRandomizer(plan).randomize(baskets, words, SeededEntropy(0)).packed
    coins = naive.ReplayEntropy(words)
    numbers = [coins.pick(plan.cumulative_weights) for _ in baskets]
    assert plan.numbers_in(packed).tolist() == numbers
    assert set(numbers) == {0, 1, 2}
    used = coins.used
    for number, question in enumerate(plan.questions):
        entries = [question.view.entries(sorted(b)) for b, n in zip(baskets, numbers, strict=True) if n == number]
        answers, _, more = naive.randomize_transactions(entries, plan.alone(question), words[used:])
        used += more
        assert [row.tobytes() for row in plan.answers_in(packed, number)] == answers
    plan.check_form(packed)


def test_shares_of_questions_follow_the_coin(rng):
    """Of 60,000 reports 4, 9 and 7 of 20 answer each question, whatever baskets hold; a tenth more is rejected."""
    plan = several("none")
    baskets = random_baskets(rng, 1000)
    for part in (baskets, make_baskets([range(N_ITEMS)] * 1000), make_baskets([[]] * 1000)):
        entropy = SeededEntropy(int(rng.integers(1 << 60)))
        chunks = [next(randomize_chunks(part, plan, entropy=entropy)).packed for _ in range(60)]
        observed = np.bincount(plan.numbers_in(np.concatenate(chunks)), minlength=3)
        assert not naive.rejects(observed, np.array([4, 9, 7]) / 20)
        assert naive.rejects(observed, np.array([4.4, 8.6, 7]) / 20)
