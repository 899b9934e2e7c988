"""Response forms: round trips, invalid bytes, and agreement of client, server and kernels."""

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.plans.published_plan import pack_reports

PLANS = {
    "none, 5 bits": naive.small_plan("none", 3, 2, 1), "none, 8 bits": naive.small_plan("none", 5, 3, 1),
    "none, 64 bits": naive.small_plan("none", 60, 4, 2), "none, 131 bits": naive.small_plan("none", 128, 3, 2),
    "bch, r=1": naive.small_plan("bch", 9, 2, 1), "bch, r=3": naive.small_plan("bch", 20, 3, 2, insert=(3, 3)),
    "bch, r=8": naive.small_plan("bch", 11, 4, 2, insert=(77, 8)),
    "reed-solomon, r=1": naive.small_plan("reed-solomon", 9, 2, 2),
    "reed-solomon, r=3": naive.small_plan("reed-solomon", 70, 5, 2, insert=(5, 3)),
    "reed-solomon, r=8": naive.small_plan("reed-solomon", 30, 3, 2, insert=(255, 8)),
}  # fmt: skip
some_plan = st.sampled_from(list(PLANS.values()))


def some_bits(plan):
    """Return a strategy for the bits of any report."""
    return st.integers(0, (1 << plan.items.report_bits) - 1)


@given(some_plan, st.data())
def test_round_trip(plan, data):
    """Any bits are read back from their report, which has the plan's length and bit b at its place."""
    bits = data.draw(some_bits(plan))
    report = plan.items.form.encode(bits)
    assert plan.items.form.decode(report) == bits
    assert report == bits.to_bytes(plan.report_bytes, "little")


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("n_reports", [0, 1, 70])
def test_report_items_agrees_with_the_bitmaps(rng, name, n_reports):
    """A report shows the same items as the server's bitmaps, including padding items and order."""
    plan = PLANS[name]
    reports = []
    for _ in range(n_reports):
        bits = int.from_bytes(rng.bytes(plan.report_bytes), "little")
        reports.append(plan.items.form.encode(bits & ((1 << plan.items.report_bits) - 1)))
    items = rng.permutation(plan.items.padded_items)
    rows = naive.report_rows(pack_reports(reports, plan), plan.items, items)
    shown = naive.bits_of(naive.lines_of(rows))
    assert rows.shape[1] == len(items)
    assert not shown[:, n_reports:].any()
    for t, report in enumerate(reports):
        assert plan.items.form.items(report) == frozenset(items[shown[:, t] == 1].tolist())


def test_report_items_of_a_reed_solomon_seed_worked_by_hand():
    """A constant seed f(x) = c over GF(2^w) shows every item if the low r bits of c are below a, else none."""
    plan = PLANS["reed-solomon, r=3"]
    all_items = frozenset(range(plan.items.padded_items))
    for constant in range(16):
        shown = plan.items.form.items(plan.items.form.encode(constant))
        assert shown == (all_items if constant % 8 < 5 else frozenset())
