"""Counting in reports of blocks: the same integers as a count report by report, whatever cores and memory there are."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import naive
import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.records.baskets import Baskets
from assocpriv.server import counting
from assocpriv.server.counting import BlockCounter, Candidates, LocalBackend, LocalCounter, Part, counter_of
from assocpriv.simulation.enumeration import SeededEntropy

N_ITEMS, BLOCKS = 11, Blocks(4, 3, 7)
NOTHING = Candidates(np.empty((1, 0), dtype=np.int64), np.zeros((1, 1), dtype=np.int64))
PLANS = ("none", "bch", "reed-solomon", "fixed-size")


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


def some_itemsets(plan: Plan, k: int, rng: np.random.Generator, share: float = 1.0) -> NDArray[np.int64]:
    """Return itemsets with dummies among them, in lexicographic order."""
    sets = np.array(list(combinations(range(plan.padded_items), k)), dtype=np.int64)
    return sets[rng.random(len(sets)) < share]


@pytest.mark.parametrize("code", PLANS)
def test_counts_are_those_of_single_reports(rng: np.random.Generator, code: str) -> None:
    """Sums and counts of all subsets, in any order of the items, are what the reports of their blocks show."""
    plan = plan_of(code)
    reports = reports_of(plan, 300, rng)
    counter = BlockCounter(reports)
    assert counter.blocks == AskedReports(BLOCKS, N_ITEMS)
    shown, told = naive_shown(reports)
    for k, share in [(1, 1.0), (2, 1.0), (2, 0.3), (3, 0.1)]:
        itemsets = some_itemsets(plan, k, rng, share)
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
    itemsets = [some_itemsets(plan, 1, rng), some_itemsets(plan, 2, rng), some_itemsets(plan, 3, rng, 0.2)]

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
    pairs = some_itemsets(plan, 2, rng)
    backend = LocalBackend.of(reports, progress=lambda *what: told.append(what[1:]))
    whole, selecting, testing = (backend.open(part)[0].sums(pairs, NOTHING) for part in Part)
    assert (selecting + testing == whole).all()
    assert told[-1] == (700, 700)
    assert (1000, 1000) in told


def test_what_no_report_tells_of(rng: np.random.Generator) -> None:
    """Itemsets that no block holds whole, and reports that there are none of, count 0; so do no itemsets at all."""
    plan = plan_of("bch")
    triples = some_itemsets(plan, 3, rng)
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
