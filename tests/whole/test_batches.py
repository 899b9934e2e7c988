"""Batches below the minimum size of a central guarantee are neither closed, read nor shown, in any way."""

import shutil
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import refused, run_json
from running_collector import Visitor
from shown import TOKEN, basic

import assocpriv as ap
from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.collect.folder import open_store
from assocpriv.collect.store import BatchSizes, BatchTooSmallError, close_all_batches, read_upload, store_uploads
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.errors import AssocprivError, FileError, PlanError, PrivacyLimitError, WireError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.pages.collector_page import AdminPage
from assocpriv.pages.demo_page import check_demonstration
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import ID_BYTES
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.manipulation import check_manipulation
from assocpriv.server.spark_counting import SparkBackend
from assocpriv.show import guarantee_views
from assocpriv.simulation.enumeration import SeededEntropy

LEAST = 1500
GUARANTEE = CentralGuarantee(Fraction(2), Fraction(1, 10**6), LEAST)
PLAN = replace(ap.plan(6, ap.Guarantee("5%", "50%"), reports=5000, mean_size=2), central=GUARANTEE)
# a plan of ε = 7 needs far more people for its central guarantee
UNPROVED = replace(
    ap.plan(6, ap.Guarantee.from_epsilon(7), reports=5000, mean_size=2),
    central=CentralGuarantee(Fraction(1), Fraction(1, 10**8), LEAST),
)
pytestmark = pytest.mark.filterwarnings("ignore:.*depend mostly on the prior")
TOO_FEW = "its central guarantee is proved for batches of 1,500 or more"


def reports(count: int, plan: Plan = PLAN) -> ap.Reports:
    """Return reports of baskets of two items."""
    baskets = ap.Baskets.from_sets([{"1", "2"}] * count, plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(count))
    return ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


@pytest.fixture(scope="module")
def enough() -> ap.Reports:
    """Return the minimum number of reports."""
    return reports(LEAST)


def test_few_reports_are_not_read(enough: ap.Reports, tmp_path: Path) -> None:
    """In memory, in files and together with other reports, 1,499 reports are refused and 1,500 are read."""
    assert len(ap.mine(enough, top=3)) >= 3
    few = ap.Reports(PLAN, enough.packed[1:])
    files = [str(tmp_path / name) for name in ("few.parquet", "one.parquet")]
    few.write(files[0])
    ap.Reports(PLAN, enough.packed[:1]).write(files[1])
    asked = (
        lambda some: ap.mine(some, top=3), lambda some: ap.ask(some, [["1"]]),
        lambda some: ap.mine(some, "5%", fdr="5%"), ap.substitutes,
    )  # fmt: skip
    other = ap.randomize([{"1"}] * 2000, replace(PLAN, central=None))
    for ask in (
        *(partial(ask, some) for ask in asked for some in (few, files[0], files[:1])),
        lambda: check_manipulation(few), lambda: ap.inspect(files[0], check_manipulation=True),
        lambda: ap.mine([few, other], top=3), lambda: SparkBackend(few),  # which runs no task
    ):  # fmt: skip
        with pytest.raises(PrivacyLimitError, match=TOO_FEW):
            ask()
    assert len(ap.mine(files, top=3)) >= 3
    shutil.copy(files[0], files[1])
    with pytest.raises(WireError, match="is a copy of"):
        ap.mine(files, top=3)


def test_a_simulation_refuses_few_baskets() -> None:
    """The simulation refuses them before it randomizes anything."""
    with pytest.raises(PrivacyLimitError, match="cannot be simulated"):
        ap.simulate([{"1", "2"}] * (LEAST - 1), PLAN)
    assert ap.simulate([{"1", "2"}] * LEAST, PLAN, "10%", seed=1).found_count >= 1


def collect(folder: Path, packed: np.ndarray) -> None:
    """Store reports like the gateway, and close a batch if there are enough."""
    folder.mkdir(exist_ok=True)
    with closing(open_store(folder, PLAN, None)) as store, suppress(BatchTooSmallError):
        ids = np.random.default_rng(len(packed)).bytes
        store_uploads([read_upload(ids(ID_BYTES) + row.tobytes(), PLAN, own_row=True) for row in packed], PLAN, store)
        close_all_batches(store)


@pytest.fixture(scope="module")
def open_collection(tmp_path_factory: pytest.TempPathFactory, enough: ap.Reports) -> Path:
    """Return a folder with a collection of 1,499 reports; 1,000 would be closed without a central guarantee."""
    home = tmp_path_factory.mktemp("open")
    write_plan(PLAN, home / "plan.json")
    collect(home / "collection", enough.packed[1:])
    assert run_json("collector", "status", home / "collection")["open"] == LEAST - 1
    return home


def test_few_reports_are_not_closed(open_collection: Path) -> None:
    """Neither arrival nor the command with --allow-small or --end closes them; the status has the minimum size."""
    collection = open_collection / "collection"
    assert not list(collection.glob("*.parquet"))
    for options in ([], ["--allow-small"], ["--allow-small", "--end"]):
        assert "the plan's central guarantee needs 1,500 in a batch" in refused(
            "collector", "close", collection, *options
        )
    assert run_json("collector", "status", collection)["minimum_batch_size"] == LEAST
    assert not list(collection.glob("*.parquet"))
    with pytest.raises(BatchTooSmallError):
        BatchSizes(1, 2).check(LEAST - 1, PLAN, allow_small=True)
    assert BatchSizes(1, 2).limit_for(PLAN) == LEAST


def test_reports_of_open_batches_are_not_read(
    open_collection: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A collection without a closed batch has no reports to mine, and says how many wait; else only closed are read."""
    caplog.set_level("INFO")
    collection = open_collection / "collection"
    assert len(ap.read_reports(collection)) == 0
    waiting = run_json("collector", "status", collection)["open"]
    assert f"{waiting:,} reports in the open batch wait for {LEAST:,}" in caplog.text
    with pytest.raises(PrivacyLimitError, match="0 reports of this plan cannot be read"):
        ap.mine(collection, top=3)
    assert "cannot be read" in refused("mine", collection)
    assert "no reports to check" in refused("inspect", collection, "--check-manipulation")
    made = reports(LEAST + 3)
    collect(tmp_path / "closed", made.packed[:LEAST])
    collect(tmp_path / "closed", made.packed[LEAST:])
    assert run_json("collector", "status", tmp_path / "closed")["open"] == 3
    assert len(ap.read_reports(tmp_path / "closed")) == LEAST
    assert len(ap.mine(tmp_path / "closed", top=3)) >= 3


def test_batches_that_are_too_small_for_the_guarantee_are_refused(tmp_path: Path) -> None:
    """A maximum of batches below the planned number of reports is refused with the reason."""
    with pytest.raises(FileError, match=f"batches of {LEAST:,}, for which the plan's central guarantee is proved"):
        ap.collect.make_service(PLAN, tmp_path / "c", batch_reports=(100, LEAST - 1), oblivious="only")
    assert not (tmp_path / "c").exists()


def test_the_page_shows_nothing_of_open_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 5,000 reports and no closed batch the page runs no command; its button shows the refusal."""
    commands = []

    async def command(arguments, _seconds):
        commands.append(arguments)
        raise AssocprivError("run")

    async def close_batches() -> int:
        BatchSizes().check(LEAST - 1, PLAN, allow_small=True)
        return 1

    monkeypatch.setattr("assocpriv.pages.collector_page.run_command", command)
    counts = {"reports": 5000, "closed": 0, "batches_closed": 0, "guidance": None}
    (tmp_path / "plan.json").write_text(PLAN.canonical_json)
    page = AdminPage(PLAN, tmp_path, lambda: counts, close_batches, TOKEN)
    assert page.check_manipulation(LEAST - 1) == (False, 0)
    with Visitor(page) as visitor:
        shown = visitor.get("/admin", authorization=basic()).text
        pressed = visitor.post("/admin/close", authorization=f"Bearer {TOKEN}").text
    assert not commands
    assert "with ε = 2 and δ = 0.000001 against all who read closed batches" in shown
    assert "the plan's central guarantee needs 1,500 in a batch" in pressed


def test_an_unproved_plan_is_refused(tmp_path: Path) -> None:
    """Guarantee pages, forecasts, the collector, mining, simulation and the audit refuse it; a device reads it."""
    path = tmp_path / "plan.json"
    write_plan(UNPROVED, path)
    assert ap.read_plan(path) == UNPROVED
    assert ap.randomize({"1"}, UNPROVED)
    made = reports(LEAST, UNPROVED)
    for use in (
        lambda: guarantee_views.to_sign(UNPROVED), lambda: guarantee_views.guaranteed(UNPROVED),
        lambda: ap.privacy(UNPROVED),
        lambda: ap.forecast(UNPROVED, 5000), lambda: LocalBackend.from_reports(made), lambda: ap.mine(made, top=3),
        lambda: ap.collect.make_service(UNPROVED, tmp_path / "served", oblivious="only"),
        lambda: ap.simulate([{"1"}] * LEAST, UNPROVED),
    ):  # fmt: skip
        with pytest.raises(PrivacyLimitError, match="does not follow from its amplification and blanket"):
            use()
    (broken,) = (each for each in ap.audit(path).findings if each.verdict == "broken")
    assert broken.name == "central guarantee"


def test_a_refined_plan_has_both_guarantees(enough: ap.Reports) -> None:
    """Its central guarantee is the first one's, for its own number of reports; its local guarantee is not weaker."""
    refined = ap.refine(enough, best=2, people=2000).plan
    assert refined.central == replace(GUARANTEE, reports=2000)
    assert refined.amplification < PLAN.guarantee.amplification_limit
    refined.check_central()


def test_identifying_options_are_refused(tmp_path: Path) -> None:
    """Keys of sources, files of single reports, and a demonstration, which shows small batches."""
    with pytest.raises(PlanError, match="keys identify senders, which a central guarantee hides"):
        ap.collect.make_service(PLAN, tmp_path / "served", keys=True, oblivious="only")
    (tmp_path / "1.bin").write_bytes(ap.randomize({"1"}, PLAN))
    with pytest.raises(PlanError, match="a file shows its owner, date and sender"):
        ap.gather(tmp_path, PLAN, tmp_path / "gathered")
    assert (tmp_path / "1.bin").exists()
    with pytest.raises(PlanError, match="shows small batches"):
        check_demonstration(PLAN)
