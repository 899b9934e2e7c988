"""Histograms of released codes: one pass gives the same counts as a loop over the codes."""

from fractions import Fraction

import numpy as np
import pytest
from naive import small_plan

from assocpriv.files.report_files import Reports, read_reports, write_reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError, PlanError, WireError
from assocpriv.kernels import compiled, plain
from assocpriv.plans.numeric.table_plan import (
    CategoryColumn,
    Clear,
    LabelColumn,
    NumberColumn,
    TablePlan,
    UniformNoise,
    Window,
)
from assocpriv.server.numeric import histograms
from assocpriv.server.numeric.histograms import count_codes, table_plan

PLAN = TablePlan(
    (
        NumberColumn("wide", UniformNoise(300, 40), True, Fraction(0), Fraction(1), 30),  # two bytes
        CategoryColumn("region", Window(3, 1, 4, 1), False, ("a", "b", "c")),
        CategoryColumn("other", Window(2, 1, 3, 1), True, ("x", "y")),
        LabelColumn("class", Clear(2), False, ("y", "n")),
    ),
    1,
    Guarantee("5%", "50%"),
)


@pytest.fixture(autouse=True, params=[compiled, plain])
def _built(request, monkeypatch):
    """Run each test with the compiled kernels, and as without a C compiler."""
    monkeypatch.setattr(histograms, "kernels", request.param)


def packed_of(codes):
    """Return reports of codes, int (n, columns)."""
    records = np.zeros(len(codes), dtype=PLAN.record_type)
    for place in range(codes.shape[1]):
        records[f"c{place}"] = codes[:, place]
    return records.view(np.uint8).reshape(len(codes), PLAN.report_bytes)


def naive_histogram(codes, table):
    """Count with a loop."""
    full = np.zeros([PLAN.code_counts[place] for place in table], dtype=np.int64)
    for row in codes[:, list(table)].tolist():
        full[tuple(row)] += 1
    return full


@pytest.fixture
def codes(rng):
    """Return codes of 1,000 reports, int (n, columns)."""
    return np.stack([rng.integers(0, n, 1000) for n in PLAN.code_counts], axis=1)


@pytest.mark.parametrize("n_reports", [0, 1, 63, 1000])
def test_histograms_are_those_of_a_loop(codes, n_reports, monkeypatch) -> None:
    """Codes of one and two bytes, of single columns and pairs, are counted like a loop does, in parts of any size."""
    monkeypatch.setattr(histograms, "_STEP", 100)
    codes, tables = codes[:n_reports], [(0,), (1,), (3,), (0, 3), (1, 2), (2, 0)]
    for table, got in zip(tables, count_codes(Reports(PLAN, packed_of(codes)), tables), strict=True):
        assert np.array_equal(got, naive_histogram(codes, table))


def test_files_have_the_counts_of_memory(codes, tmp_path) -> None:
    """Reports in two files, one with several row groups, give the sums of both, whatever their order."""
    for name, parts in (("b", [codes[:100]]), ("a", [codes[100:350], codes[350:]])):
        write_reports(map(packed_of, parts), PLAN, tmp_path / f"{name}.parquet")
    tables = [(0,), (1,), (2,), (3,), (0, 3)]
    for table, got in zip(tables, count_codes(read_reports(tmp_path), tables), strict=True):
        assert np.array_equal(got, naive_histogram(codes, table))


@pytest.mark.parametrize("tables", [[(0,), (1,), (2,), (3,)], [(0, 1), (2, 3)], [(1, 3)]])
@pytest.mark.parametrize("place", range(4))
def test_codes_that_do_not_exist_are_refused(codes, tmp_path, place: int, tables) -> None:
    """The message names file, report and column of the first code out of range, in any column, counted or not."""
    write_reports([packed_of(codes)[:200]], PLAN, tmp_path / "a.parquet")
    codes[321, place] = PLAN.code_counts[place]
    write_reports([packed_of(codes)[200:]], PLAN, tmp_path / "b.parquet")
    with pytest.raises(WireError, match=rf"b\.parquet: report 121 .* column {PLAN.columns[place].name} that no client"):
        count_codes(read_reports(tmp_path), tables)


def test_bins_join_codes(codes) -> None:
    """A histogram of bins is the sum over their codes."""
    reports = Reports(PLAN, packed_of(codes))
    bins = np.minimum(np.arange(PLAN.code_counts[0]) // 100, 3)
    coarse = count_codes(reports, [(0, 1)], bins={0: bins})[0]
    fine = count_codes(reports, [(0, 1)])[0]
    assert np.array_equal(coarse, [fine[bins == bin_].sum(axis=0) for bin_ in range(4)])


def test_refusals(monkeypatch) -> None:
    """Reports of baskets, and histograms above the memory limit, are refused in one line."""
    baskets = small_plan("none", 4, 2, 1)
    with pytest.raises(PlanError, match="not of a table"):
        table_plan(Reports(baskets, np.zeros((0, baskets.report_bytes), np.uint8)))
    monkeypatch.setattr(histograms, "MOST_CELLS", 100)
    with pytest.raises(EstimateError, match="fewer columns"):
        count_codes(Reports(PLAN, packed_of(np.zeros((1, 4), int))), [(0,)])
