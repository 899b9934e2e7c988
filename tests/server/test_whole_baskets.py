"""Supports of whole baskets from one collection: the model inverted, covariances, and a table beside the truth."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from planned import planned
from quiet import mine

import assocpriv as ap
from assocpriv.client.bulk import randomize_chunks
from assocpriv.plans.catalogue import Catalogue
from assocpriv.records.baskets import Baskets
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.itemsets import CORRECTED, mining_facts
from assocpriv.server.size_law import SizeLaw, holding_ways, kept_shares
from assocpriv.server.whole_baskets import _singles, law_of_sizes, undo_sampling
from assocpriv.simulation.enumeration import SeededEntropy

WEAK = ap.Breach("0.1%", "90%")
LAW = SizeLaw(np.array([1, 4, 8, 20]), np.array([[0.3, 0.4, 0.2, 0.1]]))
N_ITEMS, M = 200, 4


def sampled(thetas: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return supports in whole baskets and within M items by the model, size by size."""
    holding = 1 - (1 - thetas[:, None]) ** holding_ways(LAW.sizes, k)
    return holding @ LAW.shares, holding @ (LAW.shares * kept_shares(LAW.sizes, M, k))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_model_is_inverted(k: int) -> None:
    """Supports that follow the model are found again, and factors are how much a small error of theirs grows."""
    thetas = np.geomspace(1e-6, 0.7, 30)
    before, after = sampled(thetas, k)
    found, factors = undo_sampling(after, LAW, M, k)
    assert found == pytest.approx(before, rel=2e-3)
    more, fewer = sampled(thetas * 1.01, k), sampled(thetas / 1.01, k)
    assert factors == pytest.approx(np.maximum((more[0] - fewer[0]) / (more[1] - fewer[1]), 1), rel=0.05)
    assert undo_sampling(np.array([-1e-4]), LAW, M, k)[0] == pytest.approx(-1e-4 * factors[0], rel=0.01)
    assert LAW.undoing(M, k)[0] == pytest.approx(factors[0], rel=0.01)


def test_small_baskets_lose_nothing() -> None:
    """Where nobody holds more than M items supports stay as they are."""
    small = SizeLaw(np.array([0, 2, 4]), np.array([[0.2, 0.5, 0.3]]))
    found, factors = undo_sampling(np.array([0.1, 0.4]), small, M, 2)
    assert found == pytest.approx([0.1, 0.4], rel=1e-3)
    assert factors == pytest.approx([1, 1], rel=0.02)


# ---- a collection


def collection(count: int, sizes: str | None = "5%", share: float = 0.3, seed: int = 1) -> tuple[ap.Reports, Baskets]:
    """Return reports of baskets of two items, and of a share of them of twelve, all drawn from 200 alike."""
    rng = np.random.default_rng(seed)
    held = np.where(rng.random(count) < share, 12, 2)
    chosen = rng.random((count, N_ITEMS)).argpartition(12, axis=1)[:, :12]
    items = np.concatenate([np.sort(row[:size]) for row, size in zip(chosen, held, strict=True)])
    baskets = Baskets(Catalogue.numbered(N_ITEMS), np.append(0, np.cumsum(held)), items)
    plan = planned(N_ITEMS, M, WEAK, reports=count, itemset_size=2, sizes=sizes)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(seed + 1))
    return ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks])), baskets


def test_one_collection_tells_supports_of_whole_baskets(tmp_path: Path) -> None:
    """All items' mean lies within three of the law's errors of the truth, the sampled one far below; files keep it."""
    reports, baskets = collection(40_000)
    table = mine(reports, 0.01, max_itemset=1)
    sizes = mining_facts(table).sizes
    assert sizes is not None
    truth, (factor, error) = baskets.sizes.mean() / N_ITEMS, sizes.undoing["1"]
    assert abs(sizes.mean / baskets.sizes.mean() - 1) < 0.1
    everything = law_of_sizes(LocalBackend.of(reports))
    assert everything is not None
    supports = count_subsets(LocalBackend.of(reports).open(), np.arange(N_ITEMS)[:, None]).estimates().support
    whole, _ = undo_sampling(supports.astype(np.float64), everything, M, 1)
    assert abs(whole.mean() / truth - 1) < 3 * error + 0.02
    assert supports.mean() < 0.6 * truth
    assert factor == pytest.approx(truth / supports.mean(), rel=3 * error + 0.05)
    assert (table["whole_support"] > table["support"]).all()
    assert (table["whole_std_error"] > table["std_error"]).all()
    assert (table["model_error"] == (table["whole_support"] - table["support"]) / 2).all()
    for name in ("t.parquet", "t.csv", "t.json"):
        ap.write_itemsets(table, tmp_path / name)
        again = ap.read_itemsets(tmp_path / name)
        assert mining_facts(again) == mining_facts(table)
        assert (again[CORRECTED] == table[CORRECTED]).all(axis=None)


def test_who_asks_nobody_about_sizes_tells_none() -> None:
    """Neither a plan without the question, nor one whose classes begin beyond M, nor no answers give such columns."""
    for reports in (collection(500, None)[0], collection(500)[0]):
        plan = reports.plan.as_a(ap.Plan)
        asked = plan.sizes is not None
        assert (CORRECTED[0] in mine(reports, 0.5).columns) == asked
        if asked:
            view = ap.SizesView(tuple(bound + 1 for bound in plan.size_bounds))
            questions = (plan.items, replace(plan.questions[1], view=view))
            assert replace(plan, questions=questions).sizes is None
    nobody = ap.Reports(reports.plan, reports.packed[reports.packed[:, 0] == 0])
    assert CORRECTED[0] not in mine(nobody, 0.5).columns


def test_covariances_are_those_of_what_is_shown() -> None:
    """Variances are those that supports have, for the population; dummies, which are nested, go together."""
    reports, _ = collection(4000, share=0.6)
    source, dummies = LocalBackend.of(reports).open(), np.arange(N_ITEMS, N_ITEMS + M)
    supports, covariances = _singles(source, dummies)
    estimates, n = count_subsets(source, dummies[:, None]).estimates(), source[0].n_reports
    assert supports == pytest.approx(estimates.support.astype(np.float64))
    assert np.diag(covariances) * n / (n - 1) == pytest.approx(estimates.population_variance.astype(np.float64))
    assert covariances == pytest.approx(covariances.T)
    assert np.linalg.eigvalsh(covariances).min() > 0
    true = np.array([0.4, 0.4, 0, 0])  # two items are fewer than four and than three, not than two
    assert (np.abs(supports - true) < 5 * np.sqrt(np.diag(covariances))).all()
