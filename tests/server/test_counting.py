"""Counting gives what looking at the reports one by one gives, however they are cut or stored.

Of reports of blocks, too, the integers are those of a count report by report, whatever cores and memory there are.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from time import monotonic, sleep

import naive
import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports, read_reports, write_reports
from assocpriv.kernels.parallel import add_up
from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.records.baskets import Baskets
from assocpriv.server import bitmaps, counting
from assocpriv.server.counting import BlockCounter, Candidates, LocalBackend, LocalCounter, Part, counter_of, part_size
from assocpriv.simulation.enumeration import SeededEntropy

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
    """Every kind of plan."""
    return PLANS[request.param]


def random_reports(rng, plan, count):
    """Return packed reports, 60 distinct ones at most, so that each need be read only once."""
    bits = [int.from_bytes(rng.bytes(plan.report_bytes), "little") for _ in range(60)]
    known = [(b & ((1 << plan.report_bits) - 1)).to_bytes(plan.report_bytes, "little") for b in bits]
    return np.frombuffer(b"".join(known), dtype=np.uint8).reshape(60, -1)[rng.integers(0, 60, count)]


def some_itemsets(plan, k):
    """Return sets of k of some items, the first, the last and dummies among them, in lexicographic order."""
    items = sorted({0, 1, 3, plan.n_items - 1, plan.padded_items - 1})
    return np.array(list(combinations(items, k)), dtype=np.int64)


def count_one_by_one(packed, plan, itemsets):
    """Count by reading each report alone."""
    kinds, often = np.unique(packed, axis=0, return_counts=True)
    shown = [plan.form.items(row.tobytes()) for row in kinds]
    return [sum(n for s, n in zip(shown, often.tolist(), strict=True) if s >= set(i)) for i in itemsets.tolist()]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_counts_equal_those_of_single_reports(rng, plan, k):
    """All itemsets are counted as by a form's items, in batches of the least size and in one."""
    packed, itemsets = random_reports(rng, plan, 2 * LEAST + 70), some_itemsets(plan, k)
    wanted = count_one_by_one(packed, plan, itemsets)
    assert max(wanted) > 0
    for memory_bytes in (1, 1 << 28):
        counter = LocalCounter(Reports(plan, packed), memory_bytes=memory_bytes)
        counts = counter.count(itemsets)
        assert counts.dtype == np.int64
        assert counts.tolist() == wanted
        assert counter.n_reports == len(packed)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, LEAST - 1, LEAST, LEAST + 1])
def test_any_number_of_reports(rng, plan, count):
    """No reports, one, and numbers around a word and a batch are counted whole."""
    packed, itemsets = random_reports(rng, plan, count), some_itemsets(plan, 2)
    counter = LocalCounter(Reports(plan, packed), memory_bytes=1)
    assert counter.count(itemsets).tolist() == count_one_by_one(packed, plan, itemsets)


def test_files_give_the_same_counts(rng, plan, tmp_path):
    """Reports in one file, in several, one of them empty, and in memory give equal integers."""
    packed, itemsets = random_reports(rng, plan, LEAST + 1000), some_itemsets(plan, 2)
    Reports(plan, packed).write(tmp_path / "all.parquet")
    paths = []
    for number, part in enumerate(np.split(packed, [10, 10, 3000])):
        paths.append(tmp_path / f"part{number}.parquet")
        write_reports([part[:5], part[5:]], plan, paths[-1])
    wanted = count_one_by_one(packed, plan, itemsets)
    for stored in (read_reports(tmp_path / "all.parquet"), read_reports(paths)):
        assert len(stored) == len(packed)
        for memory_bytes in (1, 1 << 28):
            assert LocalCounter(stored, memory_bytes=memory_bytes).count(itemsets).tolist() == wanted


def test_the_order_of_reports_does_not_matter(rng, plan):
    """Shuffled reports give the same counts."""
    packed, itemsets = random_reports(rng, plan, 1000), some_itemsets(plan, 3)
    one, other = (LocalCounter(Reports(plan, p)).count(itemsets) for p in (packed, rng.permutation(packed)))
    assert np.array_equal(one, other)


def test_progress_is_told_after_every_part(rng):
    """Progress goes up to the number of reports, and is told at least as often as there are parts."""
    plan, told = PLANS["bch"], []
    reports = Reports(plan, random_reports(rng, plan, 2 * LEAST + 7))
    LocalCounter(reports, memory_bytes=1, progress=lambda *what: told.append(what)).count(some_itemsets(plan, 2))
    total = len(reports)
    assert len(told) >= 3
    assert {(what, whole) for what, _, whole in told} == {("counting itemsets of 2", total)}
    dones = [done for _, done, _ in told]
    assert dones == sorted(dones)
    assert dones[0] >= LEAST
    assert dones[-1] == total


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
        (1, [1, 2, 3, 4]),  # nothing fits: a pass a call
        (8, [1, 2, 2, 2]),  # the bitmaps of four items fit, but not the planes
        (200, [1, 1, 1, 1]),  # the planes fit, of 168 bits
    ],
)
def test_reports_are_read_as_seldom_as_the_memory_allows(rng, memory_bits, passes):
    """Planes are kept, or else bitmaps of the items asked for, and give the same counts; memory in bits a report."""
    plan = PLANS["bch, r=8"]
    assert 8 * plan.report_bytes > 8
    packed = random_reports(rng, plan, 3 * LEAST + 5)
    reports = CountedReports(plan, packed)
    counter = LocalCounter(reports, memory_bytes=2 * memory_bits * len(packed) // 8)
    asked = [np.arange(7)[:, None], *(np.array(list(combinations([1, 3, 4, 6], k))) for k in (2, 3))]
    asked.append(np.array([[1, 4], [3, 4]]))
    for itemsets, wanted in zip(asked, passes, strict=True):
        assert counter.count(itemsets).tolist() == count_one_by_one(packed, plan, itemsets)
        assert reports.passes == wanted


def test_other_items_than_the_kept_ones_are_counted(rng):
    """Where bitmaps of other items are kept, the reports are read again."""
    plan = PLANS["bch, r=8"]
    packed = random_reports(rng, plan, LEAST + 5)
    counter = LocalCounter(Reports(plan, packed), memory_bytes=2 * 3 * len(packed) // 8)
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
    counter = LocalCounter(Reports(plan, packed), memory_bytes=4 * len(packed), progress=interrupt)
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


def test_done_is_told_when_it_is_done():
    """Nothing is told before it is done; work that has not begun is given up with the caller."""
    begun, told = [], []

    def work(given, _counts):
        begun.append(given)
        yield 0.25
        yield 0.75

    def tell(done):
        assert done <= len(begun)
        told.append(done)
        if len(told) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_up(work, range(10**6), 1, tell)
    assert told == sorted(told)
    assert told[-1] >= 5
    assert len(begun) < 1000


def test_work_in_progress_is_told_of_and_stopped_between_two_steps():
    """An input that takes hours tells of its steps, and ends within a step of whoever interrupts."""
    told = []

    def work(_given, _counts):
        for _ in range(10**6):
            sleep(0.01)
            yield 1

    def tell(done):
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    started = monotonic()
    with pytest.raises(KeyboardInterrupt):
        add_up(work, [None], 1, tell)
    assert 0 < told[0] < told[1] < told[2]
    assert monotonic() - started < 60  # a thousand times less than the work takes


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("form", ["bch", "none, 70 items", "bch, r=8"])
def test_steps_of_any_size_count_the_same(rng, monkeypatch, form, k):
    """Items and itemsets counted a few at a time give the counts of all at once."""
    plan = PLANS[form]
    packed, itemsets = random_reports(rng, plan, 700), some_itemsets(plan, k)
    whole = LocalCounter(Reports(plan, packed)).count(itemsets).tolist()
    monkeypatch.setattr(bitmaps, "_STEP_WORDS", 1)
    monkeypatch.setattr(bitmaps, "_STEP_EXPANDED", 1)
    monkeypatch.setattr(bitmaps, "_STEP_ITEMS", 2)
    told = []
    small = LocalCounter(Reports(plan, packed), progress=lambda *what: told.append(what[1])).count(itemsets)
    assert small.tolist() == whole == count_one_by_one(packed, plan, itemsets)
    assert told[-1] == len(packed)


def test_an_error_in_a_part_is_not_swallowed():
    """What goes wrong while counting one part is raised by the sum."""

    def count(given, _counts):
        raise OverflowError(f"part {given}")

    with pytest.raises(OverflowError, match="part 0"):
        add_up(count, range(5), 1)


N_ITEMS, BLOCKS = 11, Blocks(4, 3, 7)
NOTHING = Candidates(np.empty((1, 0), dtype=np.int64), np.zeros((1, 1), dtype=np.int64))
BLOCK_PLANS = ("none", "bch", "reed-solomon", "fixed-size")


def plan_of(code: str) -> Plan:
    """Return a plan of each form of a block's reports."""
    longest = BLOCKS.longest(N_ITEMS)
    inside = naive.fixed_plan(longest, 3, 3, 3) if code == "fixed-size" else naive.small_plan(
        code, longest, 3, 3, insert=(3, 3), weight_bits=8
    )  # fmt: skip
    return replace(inside, catalogue=Catalogue.numbered(N_ITEMS), view=View(blocks=BLOCKS))


def reports_of(plan: Plan, count: int, rng: np.random.Generator) -> Reports:
    """Return reports of random baskets."""
    rows = [rng.choice(N_ITEMS, rng.integers(0, 8), replace=False).tolist() for _ in range(count)]
    baskets = Baskets.from_sets(rows, plan.catalogue)
    entropy = SeededEntropy(int(rng.integers(1 << 60)))
    chunks = [chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)]
    return Reports(plan, np.concatenate([np.empty((0, plan.report_bytes), dtype=np.uint8), *chunks]))


def naive_shown(reports: Reports) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what each report shows, and of which items it tells, report by report: bool (reports, items)."""
    plan = reports.plan
    assert isinstance(plan, Plan)
    shown, told = (np.zeros((len(reports), plan.padded_items), dtype=np.bool_) for _ in range(2))
    told[:, N_ITEMS:] = True
    for row, packed in enumerate(reports.packed):
        shown[row, list(plan.form.items(packed.tobytes()))] = True
        told[row, BLOCKS.members(int.from_bytes(packed[:2].tobytes(), "little"), N_ITEMS)] = True
    return shown, told


def naive_counts(
    shown: NDArray[np.bool_], told: NDArray[np.bool_], itemset: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Count c_D and N_D of every subset D of an itemset."""
    subsets = [[item for i, item in enumerate(itemset) if mask >> i & 1] for mask in range(1 << len(itemset))]
    within = shown[told[:, itemset].all(axis=1)]
    counts = [int(within[:, subset].all(axis=1).sum()) for subset in subsets]
    return counts, [int(told[:, subset].all(axis=1).sum()) for subset in subsets]


def some_itemsets_of_blocks(plan: Plan, k: int, rng: np.random.Generator, share: float = 1.0) -> NDArray[np.int64]:
    """Return itemsets with dummies among them, in lexicographic order."""
    sets = np.array(list(combinations(range(plan.padded_items), k)), dtype=np.int64)
    return sets[rng.random(len(sets)) < share]


@pytest.mark.parametrize("code", BLOCK_PLANS)
def test_counts_are_those_of_single_reports(rng: np.random.Generator, code: str) -> None:
    """Sums and counts of all subsets, in any order of the items, are what the reports of their blocks show."""
    plan = plan_of(code)
    reports = reports_of(plan, 300, rng)
    counter = BlockCounter(reports)
    assert counter.blocks == AskedReports(BLOCKS, N_ITEMS)
    shown, told = naive_shown(reports)
    for k, share in [(1, 1.0), (2, 1.0), (2, 0.3), (3, 0.1)]:
        itemsets = some_itemsets_of_blocks(plan, k, rng, share)
        sums, order = counter.sums(itemsets, NOTHING), rng.permutation(k)
        subsets, asked = counter.subsets(itemsets[:, order])
        for row, itemset in enumerate(itemsets.tolist()):
            counts, asked_of = naive_counts(shown, told, [itemset[i] for i in order])
            assert (subsets[row].tolist(), asked[row].tolist()) == (counts, asked_of)
            by_size = [0] * (k + 1)
            for mask, count in enumerate(counts):
                by_size[mask.bit_count()] += count
            assert sums[row].tolist() == by_size


@pytest.mark.parametrize("code", ["bch", "fixed-size"])
def test_memory_and_cores_change_no_count(rng: np.random.Generator, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in parts, in small tasks, in other panels of bitmaps, or in another order, reports show the same."""
    plan = plan_of(code)
    reports = reports_of(plan, 13_000, rng)
    itemsets = [
        some_itemsets_of_blocks(plan, 1, rng),
        some_itemsets_of_blocks(plan, 2, rng),
        some_itemsets_of_blocks(plan, 3, rng, 0.2),
    ]

    def all_sums(some: Reports, memory_bytes: int | None = None) -> list[list[list[int]]]:
        counter = BlockCounter(some, memory_bytes=memory_bytes)
        return [counter.sums(sets, NOTHING).tolist() for sets in itemsets]

    wanted = all_sums(reports)
    for memory_bytes in (1, 1 << 20):
        assert all_sums(reports, memory_bytes) == wanted
    assert all_sums(Reports(plan, rng.permutation(reports.packed))) == wanted
    monkeypatch.setattr(counting, "part_size", lambda *_: 997)
    monkeypatch.setattr(counting, "_SEGMENTS_AT_ONCE", 2)
    assert all_sums(reports) == wanted
    monkeypatch.setattr(counting, "part_size", lambda *_: 1 << 20)
    monkeypatch.setattr("assocpriv.server.bitmaps.block_words", lambda: 32)
    assert all_sums(reports) == wanted


def test_parts_of_reports_add_up(rng: np.random.Generator) -> None:
    """Reports that choose and reports that test are all reports, in every sum; progress ends at all of them."""
    plan, told = plan_of("bch"), []
    reports = reports_of(plan, 1000, rng)
    pairs = some_itemsets_of_blocks(plan, 2, rng)
    backend = LocalBackend.of(reports, progress=lambda *what: told.append(what[1:]))
    whole, selecting, testing = (backend.open(part)[0].sums(pairs, NOTHING) for part in Part)
    assert (selecting + testing == whole).all()
    assert told[-1] == (700, 700)
    assert (1000, 1000) in told


def test_what_no_report_tells_of(rng: np.random.Generator) -> None:
    """Itemsets that no block holds whole, and reports that there are none of, count 0; so do no itemsets at all."""
    plan = plan_of("bch")
    triples = some_itemsets_of_blocks(plan, 3, rng)
    triples = triples[triples[:, 2] < N_ITEMS]
    counter, none = BlockCounter(reports_of(plan, 500, rng)), BlockCounter(reports_of(plan, 0, rng))
    sums = counter.sums(triples, NOTHING)
    blocks = [set(BLOCKS.members(block, N_ITEMS).tolist()) for block in range(BLOCKS.count)]
    nowhere = [not any(set(row) <= block for block in blocks) for row in triples.tolist()]
    assert any(nowhere)
    assert not sums[nowhere].any()
    assert not none.sums(triples, NOTHING).any()
    assert counter.sums(triples[:0], NOTHING).shape == (0, 4)


def test_a_plan_has_its_counter(rng: np.random.Generator) -> None:
    """Reports of a plan with blocks are counted block by block, others as ever."""
    assert type(counter_of(reports_of(plan_of("bch"), 10, rng))) is BlockCounter
    plain = naive.small_plan("bch", 5, 2, 2)
    assert type(counter_of(Reports(plain, np.empty((0, plain.report_bytes), dtype=np.uint8)))) is LocalCounter
