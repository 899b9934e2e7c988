"""Counting gives the same counts as reading the reports one by one, however they are split or stored."""

from dataclasses import replace
from itertools import combinations, repeat

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.files.report_files import Reports, read_reports, write_reports
from assocpriv.kernels import itemset_counts
from assocpriv.kernels.itemset_counts import find_itemsets
from assocpriv.kernels.parallel import add_up
from assocpriv.plans.baskets.operator import FixedSizeOperator
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.server.baskets import bitmaps, counting
from assocpriv.server.baskets.counting import LocalBackend, LocalCounter, Part, Responses, part_size

LEAST = 64 * 64  # reports in the smallest batch
PLANS = {
    "none": naive.small_plan("none", 7, 3, 2, insert=(3, 2)),
    "none, 70 items": naive.small_plan("none", 66, 4, 2),
    "bch": naive.small_plan("bch", 7, 3, 2, insert=(5, 3)),
    "bch, r=8": naive.small_plan("bch", 7, 3, 3, insert=(101, 8)),
    "reed-solomon": naive.small_plan("reed-solomon", 7, 2, 2, insert=(3, 2)),
}


@pytest.fixture(params=PLANS)
def plan(request):
    """A plan with every kind of code."""
    return PLANS[request.param]


def random_reports(rng, plan, count):
    """Return packed reports, at most 60 distinct ones, so that the slow check reads each only once."""
    bits = [int.from_bytes(rng.bytes(plan.report_bytes), "little") for _ in range(60)]
    known = [(b & ((1 << plan.items.report_bits) - 1)).to_bytes(plan.report_bytes, "little") for b in bits]
    return np.frombuffer(b"".join(known), dtype=np.uint8).reshape(60, -1)[rng.integers(0, 60, count)]


def responses_of(plan, packed):
    """Return packed reports as responses of the plan's only report type."""
    return Responses(Reports(plan, packed), 0)


def some_itemsets(plan, k):
    """Return sets of k items, among them the first, the last and padding items, in lexicographic order."""
    items = sorted({0, 1, 3, plan.n_items - 1, plan.items.padded_items - 1})
    return np.array(list(combinations(items, k)), dtype=np.int64)


def count_one_by_one(packed, plan, itemsets):
    """Count by reading each report alone."""
    kinds, often = np.unique(packed, axis=0, return_counts=True)
    shown = [plan.items.form.items(row.tobytes()) for row in kinds]
    return [sum(n for s, n in zip(shown, often.tolist(), strict=True) if s >= set(i)) for i in itemsets.tolist()]


@pytest.mark.parametrize(
    ("count", "k"),
    [*((2 * LEAST + 70, k) for k in (1, 2, 3, 4)), *((n, 2) for n in (0, 1, 63, 64, 65, LEAST - 1, LEAST, LEAST + 1))],
)
def test_counts_equal_those_of_single_reports(rng, plan, count, k):
    """In batches of the least size and in one; also for no reports, one, and numbers around a word and a batch."""
    packed, itemsets = random_reports(rng, plan, count), some_itemsets(plan, k)
    wanted = count_one_by_one(packed, plan, itemsets)
    assert max(wanted) > 0 or count < LEAST
    for memory_bytes in (1, 1 << 28):
        counter = LocalCounter(responses_of(plan, packed), memory_bytes=memory_bytes)
        counts = counter.count(itemsets)
        assert (counter.n_reports, counts.dtype, counts.tolist()) == (count, np.int64, wanted)


@pytest.mark.parametrize("count", [0, 65, 140_001])
@pytest.mark.parametrize("form", ["none", "bch", "reed-solomon"])
def test_pairs_with_one_item_in_common(rng, form, count):
    """They are counted with the single items, without bitmaps; a second count is equal."""
    plan = naive.small_plan(form, 200, 3, 2, insert=(3, 2))
    packed, one = random_reports(rng, plan, count), 150
    pairs, counter = np.column_stack([np.arange(one), np.full(one, one)]), LocalCounter(responses_of(plan, packed))
    wanted = count_one_by_one(packed, plan, pairs)
    alone = count_one_by_one(packed, plan, pairs[:, :1])
    for _ in range(2):
        assert [each.tolist() for each in counter.count_with(pairs[:, 0], one)] == [alone, wanted]
    assert counter.count(pairs[:0]).tolist() == []


def test_files_give_the_same_counts(rng, tmp_path):
    """Reports in one file, in several, one of them empty, and in memory give equal integers."""
    plan = PLANS["bch"]
    packed, itemsets = random_reports(rng, plan, LEAST + 1000), some_itemsets(plan, 2)
    Reports(plan, packed).write(tmp_path / "all.parquet")
    paths = [tmp_path / f"part{number}.parquet" for number in range(4)]
    for path, part in zip(paths, np.split(packed, [10, 10, 3000]), strict=True):
        write_reports([part[:5], part[5:]], plan, path)
    wanted = count_one_by_one(packed, plan, itemsets)
    for stored in (read_reports(tmp_path / "all.parquet"), read_reports(paths)):
        assert len(stored) == len(packed)
        for memory_bytes in (1, 1 << 28):
            assert LocalCounter(Responses(stored, 0), memory_bytes=memory_bytes).count(itemsets).tolist() == wanted


def test_progress_is_reported_after_every_part(rng):
    """Progress rises to the number of reports, and is reported at least once for each part."""
    plan, calls, total = PLANS["bch"], [], 2 * LEAST + 7
    responses = responses_of(plan, random_reports(rng, plan, total))
    counter = LocalCounter(responses, memory_bytes=1, progress=lambda *what: calls.append(what))
    counter.count(some_itemsets(plan, 2))
    assert {(what, whole) for what, _, whole in calls} == {("counting itemsets of 2", total)}
    done = [done for _, done, _ in calls]
    assert len(done) >= 3
    assert LEAST <= done[0] <= done[-1] == total
    assert done == sorted(done)


class CountedReports(Reports):
    """Reports that count how often they are read."""

    passes = 0

    def batches(self, size):
        """Yield the reports, and count."""
        object.__setattr__(self, "passes", self.passes + 1)
        return super().batches(size)


@pytest.mark.parametrize(
    ("memory_bits", "passes"),
    [
        (1, [1, 2, 3, 4]),  # nothing fits: every call reads all reports
        (8, [1, 2, 2, 2]),  # the bitmaps of four items fit, but not the planes
        (200, [1, 1, 1, 1]),  # the planes fit, of 168 bits
    ],
)
def test_reports_are_read_again_only_if_memory_is_short(rng, memory_bits, passes):
    """Planes are kept, or else bitmaps of the counted items, and give the same counts; memory in bits a report."""
    plan = PLANS["bch, r=8"]
    assert 8 * plan.report_bytes > 8
    packed = random_reports(rng, plan, 3 * LEAST + 5)
    reports = CountedReports(plan, packed)
    counter = LocalCounter(Responses(reports, 0), memory_bytes=2 * memory_bits * len(packed) // 8)
    asked = [np.arange(7)[:, None], *(np.array(list(combinations([1, 3, 4, 6], k))) for k in (2, 3))]
    asked.append(np.array([[1, 4], [3, 4]]))
    for itemsets, wanted in zip(asked, passes, strict=True):
        assert counter.count(itemsets).tolist() == count_one_by_one(packed, plan, itemsets)
        assert reports.passes == wanted


def test_other_items_than_the_kept_ones_are_counted(rng):
    """Where bitmaps of other items are kept, the reports are read again."""
    plan = PLANS["bch, r=8"]
    packed = random_reports(rng, plan, LEAST + 5)
    counter = LocalCounter(responses_of(plan, packed), memory_bytes=2 * 3 * len(packed) // 8)
    for items in ([0, 1], [1, 2, 5], [5], [0, 1]):
        itemsets = np.array([items])
        assert counter.count(itemsets).tolist() == count_one_by_one(packed, plan, itemsets)


def test_an_interrupted_pass_leaves_nothing_half_kept(rng):
    """After an interrupt in the middle of a pass the counter counts everything anew."""
    plan = PLANS["bch"]
    packed, itemsets = random_reports(rng, plan, 9 * LEAST), some_itemsets(plan, 2)

    def interrupt(_what, done, _total):
        if interrupt.armed and done > LEAST:
            interrupt.armed = False
            raise KeyboardInterrupt

    interrupt.armed = True
    counter = LocalCounter(responses_of(plan, packed), memory_bytes=4 * len(packed), progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        counter.count(itemsets)
    assert not interrupt.armed
    assert counter.count(itemsets).tolist() == count_one_by_one(packed, plan, itemsets)


def test_parts_keep_to_the_memory(monkeypatch):
    """Bitmaps of all parts in flight stay within a quarter of the memory, from the least part up."""
    for cores in (1, 3, 64):
        monkeypatch.setattr(counting, "cores", lambda cores=cores: cores)
        for n_total, n_rows, memory_bytes in [(10**9, 1, 1 << 20), (10**6, 1000, 1 << 28), (10**4, 70, 1 << 24)]:
            size = part_size(n_total, n_rows, memory_bytes)
            assert size % 64 == 0
            assert size == LEAST or 2 * cores * n_rows * size // 8 <= memory_bytes // 4
            assert size == LEAST or n_total // size >= cores
    assert part_size(10**9, 10**6, 1) == LEAST
    assert part_size(0, 0, 1 << 20) == LEAST


def test_sums_over_no_and_many_inputs():
    """Counts add up, also when there is no input, or many more than cores."""

    def add(given, counts):
        counts += given
        return [1]

    assert add_up(add, [], 3).tolist() == [0, 0, 0]
    assert add_up(add, (np.array([i, 1]) for i in range(100)), 2).tolist() == [4950, 100]


def test_progress_is_reported_after_the_work():
    """No work is reported before it is done; work that has not begun ends with the caller."""
    begun, calls = [], []

    def work(given, _counts):
        begun.append(given)
        yield 0.25
        yield 0.75

    def progress(done):
        assert done <= len(begun)
        calls.append(done)
        if len(calls) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_up(work, range(10**6), 1, progress)
    assert calls == sorted(calls)
    assert calls[-1] >= 5
    assert len(begun) < 1000


def test_long_work_reports_its_steps_and_stops_between_two():
    """An input of many steps reports them, and stops within a step of an interrupt."""
    calls = [0]

    def progress(done):
        if done > calls[-1]:
            calls.append(done)
        if len(calls) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_up(lambda *_given: repeat(1, 10**8), [None], 1, progress)
    assert calls[-1] < 10**8


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("form", ["bch", "none, 70 items", "bch, r=8"])
def test_steps_of_any_size_count_the_same(rng, monkeypatch, form, k):
    """Items and itemsets counted a few at a time give the counts of all at once."""
    plan = PLANS[form]
    packed, itemsets = random_reports(rng, plan, 700), some_itemsets(plan, k)
    whole = LocalCounter(responses_of(plan, packed)).count(itemsets).tolist()
    monkeypatch.setattr(itemset_counts, "_STEP_WORDS", 1)
    monkeypatch.setattr(bitmaps, "_STEP_EXPANDED", 1)
    monkeypatch.setattr(bitmaps, "_STEP_ITEMS", 2)
    calls = []
    small = LocalCounter(responses_of(plan, packed), progress=lambda *what: calls.append(what[1])).count(itemsets)
    assert small.tolist() == whole == count_one_by_one(packed, plan, itemsets)
    assert calls[-1] == len(packed)


def test_an_error_in_a_part_is_not_swallowed():
    """An error while counting one part is raised by the sum."""

    def count(given, _counts):
        raise OverflowError(f"part {given}")

    with pytest.raises(OverflowError, match="part 0"):
        add_up(count, range(5), 1)


# ---- itemsets and their subsets


def sorted_rows(itemsets, k):
    """Return itemsets as an array in lexicographic order."""
    return np.array(sorted(itemsets), dtype=np.int64).reshape(-1, k)


# with ids near 2^20 a row of four is a number above 2^63, so numbers without a limit are used
@given(st.data(), st.integers(1, 5), st.sampled_from([5, 2**20 - 1, 2**40]))
def test_find_itemsets_is_a_search_from_start_to_end(data, k, largest_id):
    """Every wanted itemset is found at its position, others give -1, also if rows need more than 63 bits."""
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


def test_sums_over_subsets_follow_from_those_of_smaller_itemsets(rng):
    """One count of each itemset and the sums of its subsets give the same sums as counting each subset alone."""
    plan = PLANS["bch"]
    (counter, _), known = LocalBackend.from_reports(Reports(plan, random_reports(rng, plan, 500))).open(), None
    for k in (1, 2, 3):
        itemsets = some_itemsets(plan, k)
        known = counter.count_candidates(itemsets, known)
        subsets = [[list(members) for members in combinations(range(k), j)] for j in range(1, k + 1)]
        wanted = [sum(counter.count(itemsets[:, members]) for members in each) for each in subsets]
        assert known.sums.T.tolist() == [[500] * len(itemsets), *map(list, wanted)]
        shuffled = rng.integers(0, len(itemsets), 2 * len(itemsets))
        assert counter.count_sums(itemsets[shuffled]).tolist() == known.sums[shuffled].tolist()


# ---- several report types


@pytest.mark.parametrize("stored", ["memory", "file"])
def test_responses_of_a_report_type_are_counted_alone(rng, tmp_path, stored):
    """Counts of a report type, in all reports and in parts, equal those of a plan with this type only."""
    items, other = naive.small_plan("bch", 9, 3, 2), naive.small_plan("none", 9, 2, 1)
    sizes = ReportType(2, FixedSizeOperator(1, 3, 1, (1, 5)), view=SizesView((3, 6)), weight=3)
    plan = replace(items, report_types=(replace(items.items, weight=5), sizes, replace(other.items, weight=2)))
    reports = naive.reports_of([rng.permutation(9)[: rng.integers(10)].tolist() for _ in range(3000)], plan)
    every, numbers = reports.packed, plan.type_numbers(reports.packed)
    if stored == "file":
        write_reports([every], plan, tmp_path / "r.parquet")
        reports = read_reports(tmp_path / "r.parquet")
    chosen = {Part.SELECTING: counting.is_selecting(0, 3000), Part.TESTING: ~counting.is_selecting(0, 3000)}
    for number, report_type in enumerate(plan.report_types):
        alone = naive.plan_of_type(plan, report_type)
        for part in Part:
            rows = (numbers == number) & chosen.get(part, True)
            counter, model = LocalBackend.from_reports(reports).open(part, report_type)
            wanted = LocalCounter(responses_of(alone, plan.responses_in(every[rows], number)))
            assert counter.n_reports == wanted.n_reports == rows.sum()
            assert model.operator == report_type.operator
            for k in (1, 2):
                itemsets = np.array(list(combinations(range(report_type.padded_items), k)), dtype=np.int64)
                assert (counter.count(itemsets) == wanted.count(itemsets)).all()
    assert LocalBackend.from_reports(reports).open()[0].n_reports == (numbers == 0).sum()


def test_a_last_batch_without_a_response_of_the_report_type_is_skipped():
    """With two report types, the last few reports may all be of the other type: counting skips them."""
    plan = ap.plan([f"item {n}" for n in range(12)], ap.Guarantee("5%", "50%"), reports=20_000, mean_size=3)
    packed = ap.randomize([{"item 1", "item 3"}] * (2 * LEAST), plan).packed
    numbers = plan.type_numbers(packed)
    ordered = np.concatenate([packed[numbers == 0], packed[numbers == 1][:3]])
    first = len(ordered) - 3
    ordered = ordered[first % LEAST :]
    responses = Responses(Reports(plan, ordered), 0)
    assert [len(batch) for batch in responses.batches(LEAST)] == [LEAST] * (first // LEAST)
    counter, pair = LocalCounter(responses), np.array([[1, 3]])
    assert counter.count(pair).tolist() == counter.count(pair).tolist()
