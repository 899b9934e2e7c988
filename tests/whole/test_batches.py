"""Below the reports that a central promise is proved for nothing is sealed, read or shown, by whichever way."""

import shutil
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import refused, run_json
from running_collector import Visitor
from shown import TOKEN, basic

import assocpriv as ap
from assocpriv.client.bulk import randomize_chunks
from assocpriv.collect.folder import open_store
from assocpriv.collect.store import EpochSizes, TooFewError, seal_all, take_in
from assocpriv.collect.wire import read_upload
from assocpriv.files.plans import write_plan
from assocpriv.pages.demo import check_demonstration
from assocpriv.pages.operator import AdminPage
from assocpriv.plans.baskets import Plan
from assocpriv.plans.published import ID_BYTES
from assocpriv.promise.errors import AssocprivError, PlanError, PrivacyLimitError, WireError
from assocpriv.promise.shuffling import CentralPromise
from assocpriv.server.counting import LocalBackend
from assocpriv.server.crafted import check_reports
from assocpriv.server.spark import SparkBackend
from assocpriv.show import promises
from assocpriv.simulation.enumeration import SeededEntropy

LEAST = 1500
PROMISE = CentralPromise(Fraction(2), Fraction(1, 10**6), LEAST)
PLAN = replace(ap.plan(6, ap.Breach("5%", "50%"), reports=5000, mean_size=2), central=PROMISE)
# of as many people as this a plan of ε = 7 hides far too few
UNPROVED = replace(
    ap.plan(6, ap.Epsilon(7), reports=5000, mean_size=2),
    central=CentralPromise(Fraction(1), Fraction(1, 10**8), LEAST),
)
pytestmark = pytest.mark.filterwarnings("ignore:.*reports tell little")
TOO_FEW = "its central promise is proved for 1,500 or more together"


def reports(count: int, plan: Plan = PLAN) -> ap.Reports:
    """Return reports of baskets of two items."""
    baskets = ap.Baskets.from_sets([{"1", "2"}] * count, plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(count))
    return ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


@pytest.fixture(scope="module")
def enough() -> ap.Reports:
    """Return just enough of them."""
    return reports(LEAST)


def test_few_reports_are_not_read(enough: ap.Reports, tmp_path: Path) -> None:
    """In memory, as a slice, in files, named together with others: 1,499 are refused, 1,500 are read."""
    assert len(ap.mine(enough, top=3)) >= 3
    few = ap.Reports(PLAN, enough.packed[1:])
    files = [str(tmp_path / name) for name in ("few.parquet", "one.parquet")]
    few.write(files[0])
    ap.Reports(PLAN, enough.packed[:1]).write(files[1])
    for some in (few, files[0], files[:1]):
        for ask in (lambda some: ap.mine(some, top=3), lambda some: ap.ask(some, [["1"]]),
                    lambda some: ap.mine(some, "5%", certain="95%"), ap.substitutes):  # fmt: skip
            with pytest.raises(PrivacyLimitError, match=TOO_FEW):
                ask(some)
    with pytest.raises(PrivacyLimitError, match=TOO_FEW):
        check_reports(few)
    with pytest.raises(PrivacyLimitError, match=TOO_FEW):
        ap.inspect(files[0], check_crafted=True)
    with pytest.raises(PrivacyLimitError, match=TOO_FEW):
        ap.mine([few, ap.randomize([{"1"}] * 2000, replace(PLAN, central=None))], top=3)
    assert len(ap.mine(files, top=3)) >= 3
    shutil.copy(files[0], files[1])
    with pytest.raises(WireError, match="is a copy of"):
        ap.mine(files, top=3)


def test_spark_reads_no_fewer() -> None:
    """Its backend asks the plan before a task does anything."""

    class Few:
        plan = PLAN

        def __len__(self) -> int:
            return LEAST - 1

    with pytest.raises(PrivacyLimitError, match=TOO_FEW):
        SparkBackend(Few())  # type: ignore[arg-type]


def test_a_simulation_obeys() -> None:
    """It says so before it randomizes anything."""
    with pytest.raises(PrivacyLimitError, match="cannot be simulated"):
        ap.simulate([{"1", "2"}] * (LEAST - 1), PLAN)
    assert ap.simulate([{"1", "2"}] * LEAST, PLAN, "10%", seed=1).found_count >= 1


def collect(folder: Path, packed: np.ndarray) -> None:
    """Take reports in as the gateway does, and seal them if they are enough."""
    folder.mkdir(exist_ok=True)
    with closing(open_store(folder, PLAN, None)) as store, suppress(TooFewError):
        ids = np.random.default_rng(len(packed)).bytes
        take_in([read_upload(ids(ID_BYTES) + row.tobytes(), PLAN, apart=True) for row in packed], PLAN, store)
        seal_all(store)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory, enough: ap.Reports) -> Path:
    """Return a folder with a collection of 1,499 reports; 1,000 would be sealed without a central promise."""
    home = tmp_path_factory.mktemp("waiting")
    write_plan(PLAN, home / "plan.json")
    collect(home / "collection", enough.packed[1:])
    assert run_json("collector", "status", home / "collection")["unsealed"] == LEAST - 1
    return home


def test_few_are_not_sealed(waiting: Path) -> None:
    """Not as they come, nor by the command with --few or --close; the status tells how many it takes."""
    collection = waiting / "collection"
    assert not list(collection.glob("*.parquet"))
    for options in ([], ["--few"], ["--few", "--close"]):
        assert "proved for 1,500 together" in refused("collector", "seal", collection, *options)
    assert run_json("collector", "status", collection)["fewest"] == LEAST
    assert not list(collection.glob("*.parquet"))
    with pytest.raises(TooFewError):
        EpochSizes(1, 2).check(LEAST - 1, PLAN, few=True)
    assert EpochSizes(1, 2).most_of(PLAN) == LEAST


def test_unsealed_reports_are_not_read(waiting: Path, tmp_path: Path) -> None:
    """A folder in which all wait has none to mine; of one with a sealed epoch that alone is read."""
    collection = waiting / "collection"
    assert len(ap.read_reports(collection)) == 0
    with pytest.raises(PrivacyLimitError, match="0 reports of this plan cannot be read"):
        ap.mine(collection, top=3)
    assert "cannot be read" in refused("mine", collection)
    assert "no reports to check" in refused("inspect", collection, "--check-crafted")
    made = reports(LEAST + 3)
    collect(tmp_path / "sealed", made.packed[:LEAST])
    collect(tmp_path / "sealed", made.packed[LEAST:])
    assert run_json("collector", "status", tmp_path / "sealed")["unsealed"] == 3
    assert len(ap.read_reports(tmp_path / "sealed")) == LEAST
    assert len(ap.mine(tmp_path / "sealed", top=3)) >= 3


def test_the_page_shows_nothing_of_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 5,000 reports there and none sealed no command is run; the button passes the refusal on."""
    asked = []

    async def command(arguments, _seconds):
        asked.append(arguments)
        raise AssocprivError("asked")

    async def seal() -> int:
        EpochSizes().check(LEAST - 1, PLAN, few=True)
        return 1

    monkeypatch.setattr("assocpriv.pages.operator.run_command", command)
    counts = {"reports": 5000, "sealed": 0, "epochs_sealed": 0, "guidance": None}
    (tmp_path / "plan.json").write_text(PLAN.canonical_json)

    page = AdminPage(PLAN, tmp_path, lambda: counts, seal, TOKEN)
    assert page.crafted(LEAST - 1) == (False, 0)
    with Visitor(page) as visitor:
        shown = visitor.get("/admin", authorization=basic()).text
        pressed = visitor.post("/admin/seal", authorization=f"Bearer {TOKEN}").text
    assert not asked
    assert "Whoever reads the sealed reports: ε = 2 and δ = 0.000001" in shown
    assert "proved for 1,500 together" in pressed


def test_a_plan_that_is_not_proved_is_refused(tmp_path: Path) -> None:
    """By whoever signs, tells, foresees, serves, mines, simulates or audits; a device reads it."""
    path = tmp_path / "plan.json"
    write_plan(UNPROVED, path)
    assert ap.read_plan(path) == UNPROVED
    assert ap.randomize({"1"}, UNPROVED)
    made = reports(LEAST, UNPROVED)
    for use in (
        lambda: promises.to_sign(UNPROVED), lambda: promises.promised(UNPROVED), lambda: ap.privacy(UNPROVED),
        lambda: ap.foresee(UNPROVED, 5000), lambda: LocalBackend.of(made), lambda: ap.mine(made, top=3),
        lambda: ap.collect.make_service(UNPROVED, tmp_path / "served", oblivious="alone"),
        lambda: ap.simulate([{"1"}] * LEAST, UNPROVED),
    ):  # fmt: skip
        with pytest.raises(PrivacyLimitError, match="does not follow from its amplification and blanket"):
            use()
    (broken,) = (each for each in ap.audit(path).findings if each.verdict == "broken")
    assert broken.name == "central promise"


def test_a_refined_plan_makes_both_promises(enough: ap.Reports) -> None:
    """Its central promise is the first one's, for the reports that it is made for; its local one is no weaker."""
    refined = ap.refine(ap.mine(enough, top=6), PLAN, best=2, reports=2000).plan
    assert refined.central == replace(PROMISE, reports=2000)
    assert refined.amplification < PLAN.promise.amplification_limit
    refined.check_central()


def test_what_would_name_people_is_refused(tmp_path: Path) -> None:
    """Keys of sources, files of single reports, and a demonstration, which shows few reports."""
    with pytest.raises(PlanError, match="keys name who sent"):
        ap.collect.make_service(PLAN, tmp_path / "served", keys=True, oblivious="alone")
    (tmp_path / "1.bin").write_bytes(ap.randomize({"1"}, PLAN))
    with pytest.raises(PlanError, match="a file has an owner, a date"):
        ap.gather(tmp_path, PLAN, tmp_path / "gathered")
    assert (tmp_path / "1.bin").exists()
    with pytest.raises(PlanError, match="shows few reports"):
        check_demonstration(PLAN)
