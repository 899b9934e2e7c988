"""Crafted reports of plans with blocks: what one is worth where liars choose the block, and which are found."""

from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.records.baskets import Baskets
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.crafted import among_asked, check_reports, influence_of, liars_among
from assocpriv.simulation.enumeration import SeededEntropy

N_ITEMS, BLOCKS = 9, Blocks(6, 3, 1)
FORMS = {
    "bch": naive.small_plan("bch", BLOCKS.longest(N_ITEMS), 2, 2, shares=(3, 1, 9)),
    "fixed": naive.fixed_plan(BLOCKS.longest(N_ITEMS), 2, 2, 2, shares=(3, 1, 4)),
}


@pytest.fixture(params=FORMS)
def plan(request: pytest.FixtureRequest) -> Plan:
    """One plan of each kind of operator."""
    return replace(FORMS[request.param], catalogue=Catalogue.numbered(N_ITEMS), view=View(blocks=BLOCKS))


def honest(plan: Plan, count: int, rng: np.random.Generator) -> Reports:
    """Return reports of random baskets."""
    rows = [rng.choice(N_ITEMS, rng.integers(0, 5), replace=False).tolist() for _ in range(count)]
    chunks = randomize_chunks(Baskets.from_sets(rows, plan.catalogue), plan, entropy=SeededEntropy(7))
    return Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


def pair_support(reports: Reports, pair: list[int]) -> tuple[float, int]:
    """Return the estimate of a pair, and how many reports tell of it."""
    estimates = count_subsets(LocalBackend.of(reports).open(), np.array([pair])).estimates()
    return float(estimates.support[0]), int(estimates.asked[0])


def test_honest_people_are_not_accused(plan: Plan, rng: np.random.Generator) -> None:
    """Reports of honest clients pass all tests, that of the blocks among them, which other plans do not have."""
    check = check_reports(honest(plan, 3000, rng))
    assert not check.flagged
    assert "reports about one block" in {test.name for test in check.tests}
    assert "reports about one block" not in {test.name for test in check_reports(plain_reports(rng)).tests}


def plain_reports(rng: np.random.Generator) -> Reports:
    """Return reports of a plan without blocks."""
    inside = FORMS["bch"]
    rows = [rng.choice(3, rng.integers(0, 3), replace=False).tolist() for _ in range(200)]
    chunks = randomize_chunks(Baskets.from_sets(rows, inside.catalogue), inside, entropy=SeededEntropy(7))
    return Reports(inside, np.concatenate([chunk.packed for chunk in chunks]))


def test_reports_about_one_block_are_found(plan: Plan, rng: np.random.Generator) -> None:
    """Who sends honest reports all about one block is found, and nothing else is held against these."""
    reports = honest(plan, 4000, rng)
    packed = reports.packed.copy()
    packed[:700, :2] = [4, 0]
    # what they say stays that of an empty basket
    packed[:700, 2:] = honest(replace(plan), 4000, np.random.default_rng(3)).packed[:700, 2:]
    check = check_reports(Reports(plan, packed))
    assert "reports about one block" in {test.name for test in check.tests if test.flagged}


def test_one_report_moves_an_estimate_as_far_as_stated(plan: Plan, rng: np.random.Generator) -> None:
    """Replacing a report of the pair's block moves its support by (max q − min q)/N_A, more than by the same over N."""
    reports, pair = honest(plan, 600, rng), BLOCKS.members(0, N_ITEMS)[:2].tolist()
    influence = influence_of(plan, 2)
    assert influence is not None
    inside = np.flatnonzero((reports.packed[:, :2] == 0).all(axis=1))
    ends = []
    for report in {row[2:].tobytes() for row in honest(plan, 4000, rng).packed}:
        packed = reports.packed.copy()
        packed[inside[0], 2:] = np.frombuffer(report, dtype=np.uint8)
        support, asked = pair_support(Reports(plan, packed), pair)
        ends.append(support)
    assert max(ends) - min(ends) == pytest.approx(float(influence.of_one(asked)), rel=1e-9)
    assert influence.of_one(asked) > 2 * influence.of_one(600)


def test_liars_choose_their_blocks(plan: Plan) -> None:
    """Stated influences count the reports that tell of 99 of 100 itemsets, and liars all among them."""
    plan = replace(plan, view=View(blocks=Blocks(40, 3, 1)))
    asked = AskedReports(Blocks(40, 3, 1), N_ITEMS)
    told, share = among_asked(plan, 2, 100_000, Fraction(1, 100))
    assert told == asked.least(2, 100_000)
    assert share == Fraction(1000) / (Fraction(99, 100) * told + 1000)
    liars, influence = liars_among(plan, 100_000)[2], influence_of(plan, 2)
    assert liars is not None
    assert influence is not None
    assert liars.one_report == float(influence.of_one(told))
    assert liars.one_percent == tuple(map(float, influence.of_share(share)))
    assert liars_among(replace(plan, view=View(blocks=Blocks(1, 3, 1))), 100_000)[2] is None
    assert among_asked(FORMS["bch"], 2, 100, Fraction(1, 100)) == (100, Fraction(1, 100))
