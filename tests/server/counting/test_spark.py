"""Spark's tasks count what the local backend counts, to the last integer: every form of report, every question."""

import threading
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from guided_tables import random_people, small_plan
from shell_lines import blocks_of
from spark_session import local_session, told_of_slow_tasks

import assocpriv as ap
from assocpriv.client.guided.bulk import randomize_tuples
from assocpriv.core.errors import EstimateError, PlanError, WireError
from assocpriv.core.spark import sums
from assocpriv.core.spark.watching import Stage, tasks_of
from assocpriv.files import spark_reports
from assocpriv.files.reports import Reports
from assocpriv.files.spark_reports import SparkReports
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.planning.numeric.designs import design_window
from assocpriv.planning.planner import make_plan
from assocpriv.plans.numeric.columns import LabelColumn, NumberColumn
from assocpriv.plans.numeric.laws import Clear
from assocpriv.plans.numeric.plan import TablePlan
from assocpriv.server.counting.backend import LocalBackend
from assocpriv.server.counting.parts import Part
from assocpriv.server.counting.spark_backend import SparkBackend, pack_itemsets, unpack_itemsets
from assocpriv.server.guided.state import collect, publish, random_start

pytestmark = pytest.mark.filterwarnings("ignore:itemsets of")  # what few reports cannot decide

PROMISE = ap.Breach("5%", "99%")  # weak, so that few reports tell much
N_ITEMS = 24
PLANS: dict[str, dict[str, Any]] = {
    "seeds of a BCH code": {"code": "bch"},
    "seeds of a Reed-Solomon code": {"code": "reed-solomon"},
    "a bit an item": {"code": "none"},
    "a fixed size": {"kind": "fixed-size"},
    "blocks": {"blocks": 4},
}


@pytest.fixture(scope="module")
def spark() -> Any:
    """A session of two cores."""
    return local_session()


@pytest.fixture(scope="module", params=PLANS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report files of a plan of each form."""
    return written(tmp_path_factory.mktemp("reports"), PLANS[request.param])


@pytest.fixture(scope="module")
def of_bits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report files of one plan, for what does not depend on the form of its reports."""
    return written(tmp_path_factory.mktemp("reports"), PLANS["a bit an item"])


def written(path: Path, options: dict[str, Any]) -> Path:
    """Write report files of one plan, of sizes that make several tasks of them."""
    plan = make_plan(N_ITEMS, 3, PROMISE, itemset_size=3, reports=20_000, **options)
    rng = np.random.default_rng(7)
    common = np.arange(N_ITEMS) ** 2 // N_ITEMS  # small ids more often
    baskets = [set(map(str, rng.choice(common, size))) for size in rng.integers(1, 4, 3000)]
    for number, part in enumerate((baskets[:1700], baskets[1700:1701], baskets[1701:])):
        ap.randomize_baskets(part, plan).write(path / f"{number}.parquet")
    return path


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several tasks, each with several pieces."""
    monkeypatch.setattr(spark_reports, "_TASK_REPORTS", 1000)


def itemsets_of(size: int) -> Any:
    """All itemsets of a size."""
    return np.array(list(combinations(range(N_ITEMS), size)), dtype=np.int64)


def assert_same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Tables agree in every bit, and in what they say of themselves."""
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert one.attrs == other.attrs


def test_mining_is_the_same(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels and estimates, in one job a level."""
    reports = spark_reports.SparkReports.of_files(ap.read_reports(folder), spark)
    jobs = []
    add_up = spark_reports.add_up
    monkeypatch.setattr(spark_reports, "add_up", lambda *all_: jobs.append(all_) or add_up(*all_))
    found = ap.mine(reports, 0.1)
    assert_same(found, ap.mine(folder, 0.1))
    longest = int(found["length"].max())
    # of blocks also their sizes, the supports of dummies, and the subsets of what was found
    more = 2 + longest if reports.plan.view.blocks is not None else 0
    assert len(jobs) <= min(longest + 1, 3) + more


@pytest.mark.parametrize("options", [{"certain": "95%"}, {"certain": "95%", "certain_by": "all"}])
def test_what_is_asked_of_mining_is_the_same(spark: Any, of_bits: Path, options: dict[str, Any]) -> None:
    """Tests, and the split into reports that choose and that test."""
    there = ap.mine(spark_reports.SparkReports.of_files(ap.read_reports(of_bits), spark), 0.1, **options)
    here = ap.mine(of_bits, 0.1, **options)
    assert_same(there, here)
    assert_same(ap.association_rules(there, 0.2), ap.association_rules(here, 0.2))


def test_questions_are_answered_the_same(spark: Any, of_bits: Path) -> None:
    """All subsets of what is asked."""
    there = spark_reports.SparkReports.of_files(ap.read_reports(of_bits), spark)
    asked = [["0"], ["3", "1"], ["0", "1", "2"], ["23", "22"]]
    assert_same(ap.ask(there, asked), ap.ask(of_bits, asked))
    rules = [(["0"], ["1"]), (["0", "2"], ["1"])]
    assert_same(ap.ask_rules(there, rules), ap.ask_rules(of_bits, rules))


@pytest.mark.parametrize("part", Part)
def test_counts_are_the_same(spark: Any, folder: Path, part: Part) -> None:
    """The numbers themselves, of an item and of three, dummies among them where there are any."""
    reports = ap.read_reports(folder)
    there, _ = SparkBackend(spark_reports.SparkReports.of_files(reports, spark)).open(part)
    here, _ = LocalBackend.of(reports).open(part)
    assert there.n_reports == here.n_reports
    for size in (1, 3):
        few = itemsets_of(size)[:: size**3]
        for mine, theirs in zip(there.subsets(few), here.subsets(few), strict=True):
            assert (mine == theirs).all()


def test_a_frame_is_counted_the_same(spark: Any, of_bits: Path) -> None:
    """Rows of a DataFrame, however they are partitioned, and a plan given as a file."""
    plan = ap.read_reports(of_bits).plan
    frame = spark.read.parquet(str(of_bits)).repartition(5)
    from assocpriv.spark import mine

    assert_same(mine(frame, plan, min_support=0.1), ap.mine(of_bits, 0.1))
    named = frame.toDF("till.report")
    assert len(mine(named, plan, min_support=0.1, column="till.report"))
    with pytest.raises(EstimateError, match="rows of a DataFrame have none"):
        mine(frame, plan, min_support=0.1, certain="95%")


def test_sums_by_tasks_are_the_same(spark: Any, of_bits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that are too many for the driver to add up are added up by tasks, a row for each run of them."""
    reports = spark_reports.SparkReports.of_files(ap.read_reports(of_bits), spark)
    at_driver = ap.mine(reports, 0.1)
    monkeypatch.setattr(sums, "_AT_THE_DRIVER", 0)
    monkeypatch.setattr(sums, "_SUMMED_BY_TASK", 100)
    monkeypatch.setattr(sums, "_CUT", 16)
    assert_same(ap.mine(reports, 0.1), at_driver)


def test_candidates_travel_small() -> None:
    """What is packed comes back, and neighbours cost little: all pairs of 2,000 items a twentieth of a byte a pair."""
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 5):
        some = np.unique(np.sort(rng.permuted(np.tile(np.arange(40), (500, 1)), axis=1)[:, :size], axis=1), axis=0)
        assert (unpack_itemsets(pack_itemsets(some)) == some).all()
    pairs = np.stack(np.triu_indices(2000, 1), axis=1)
    assert len(pack_itemsets(pairs)) < len(pairs) / 20


def test_numbers_are_counted_the_same(spark: Any, tmp_path: Path) -> None:
    """Distributions of a table's columns, by class and of two together."""
    from assocpriv import numeric
    from assocpriv.spark import read_reports

    age = NumberColumn("age", design_window(40, Fraction(19), optional=True), True, Fraction(20), Fraction(80), 20)
    plan = TablePlan((age, LabelColumn("class", Clear(2), False, ("A", "B"))), 1, ap.Breach("0.1%", "90%"))
    table = pd.DataFrame({"age": np.arange(3000) % 60 + 20.0, "class": np.where(np.arange(3000) % 3, "A", "B")})
    numeric.randomize_table(table, plan).write(tmp_path / "released.parquet")
    there, here = read_reports(tmp_path / "released.parquet", spark), tmp_path / "released.parquet"
    for options in ({}, {"by": "class"}):
        assert_same(numeric.reconstruct(there, **options).frame(), numeric.reconstruct(here, **options).frame())


def test_tuples_are_summed_the_same(spark: Any, tmp_path: Path) -> None:
    """The miner's sums of guided tuples, of two guidances: the same state, whoever read the files."""
    plan = small_plan(batch=50)
    rng, state = np.random.default_rng(3), publish(random_start(plan, 1))
    for number in range(2):
        positions, classes = random_people(plan, 80, rng)
        packed = randomize_tuples(positions, classes, plan, state.guidance, entropy=SeededEntropy(number))
        Reports(plan, packed).write(tmp_path / f"{number}.parquet")
        before, state = state, publish(collect(state, Reports(plan, packed)))
    reports = ap.read_reports(tmp_path)
    there, here = collect(before, spark_reports.SparkReports.of_files(reports, spark)), collect(before, reports)
    assert (there.received == here.received).all()
    assert (there.sums == here.sums).all()
    assert there.collected == here.collected


def test_what_is_not_sealed_is_counted_here(spark: Any, of_bits: Path) -> None:
    """Reports in memory beside those in files, as a collector's folder has them: first in order, also for tests."""
    files = ap.read_reports(of_bits)
    both = Reports(files.plan, next(files.batches(700)), files.paths, len(files))
    there = spark_reports.SparkReports.of_files(both, spark)
    assert len(there) == len(both) == 3700
    assert_same(ap.mine(there, 0.1), ap.mine(both, 0.1))
    assert_same(ap.mine(there, 0.1, certain="95%"), ap.mine(both, 0.1, certain="95%"))


# ---- what is refused


def test_other_columns_are_refused(spark: Any, of_bits: Path) -> None:
    """A column of another type, no such column, missing rows, other lengths, no plan: one clear line each."""
    from assocpriv.spark import mine, reports_of

    plan = ap.read_reports(of_bits).plan
    with pytest.raises(WireError, match="'report' is of type string; reports are a column of type binary"):
        reports_of(spark.createDataFrame([("x",)], "report string"), plan)
    with pytest.raises(WireError, match="'report' is not among n"):
        reports_of(spark.range(3).withColumnRenamed("id", "n"), plan)
    with pytest.raises(WireError, match="1 missing report"):
        mine(spark.createDataFrame([(None,)], "report binary"), plan, min_support=0.1)
    with pytest.raises(WireError, match=f"not of {plan.report_bytes} byte"):
        mine(spark.createDataFrame([(bytes(99),)], "report binary"), plan, min_support=0.1)
    with pytest.raises(PlanError, match="give the plan"):
        mine(spark.createDataFrame([(bytes(9),)], "report binary"), min_support=0.1)
    with pytest.raises(PlanError, match="report files carry their plan"):
        mine(of_bits, plan, min_support=0.1)


def test_a_damaged_file_names_itself(spark: Any, of_bits: Path, tmp_path: Path) -> None:
    """A flipped bit is found by the task that reads it, and told with the name of the file."""
    for file in of_bits.glob("*.parquet"):
        content = bytearray(file.read_bytes())
        if file.name == "2.parquet":
            content[60] ^= 1
        (tmp_path / file.name).write_bytes(content)
    with pytest.raises(WireError, match=r"2\.parquet is damaged"):
        ap.mine(spark_reports.SparkReports.of_files(ap.read_reports(tmp_path), spark), 0.1)


# ---- how far it is


def test_tasks_are_told_of_while_they_run(spark: Any, of_bits: Path) -> None:
    """Those of this thread's job, and not of another's at the same time; reports by their share, up to all of them."""
    other = threading.Thread(target=lambda: told_of_slow_tasks(spark))
    other.start()
    told = told_of_slow_tasks(spark)
    other.join()
    assert told == sorted(told)
    assert {tasks for _, tasks in told} == {8}
    assert any(0 < done < 8 for done, _ in told)
    stages: list[tuple[str, int, int]] = []
    ap.mine(SparkReports.of_files(ap.read_reports(of_bits), spark), 0.2, progress=lambda *each: stages.append(each))
    assert {stage for stage, *_ in stages} == {"counting on Spark"}
    assert {(done, total) for _, done, total in stages} >= {(0, 3000), (3000, 3000)}
    counts: list[tuple[int, int]] = []
    frame = spark.read.parquet(str(of_bits))
    plan = ap.read_reports(of_bits).plan
    assert len(SparkReports.of_frame(frame, plan, progress=lambda *each: counts.append(each))) == 3000


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ([], (0, 0)),
        ([Stage(3, 8, 0)], (0, 8)),
        ([Stage(0, 8, 8), Stage(1, 8, 0), Stage(2, 2, 0, running=2)], (8, 10)),
        ([Stage(0, 8, 7, running=1), Stage(1, 4, 0)], (7, 12)),
    ],
)
def test_stages_that_spark_leaves_out_do_not_count(stages: list[Stage], told: tuple[int, int]) -> None:
    """Those before one that has begun."""
    assert tasks_of(stages) == told


def test_what_the_page_shows_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/scaling.md: its Python blocks in their order, on frames and files of the names that they use."""
    page = Path(__file__).parents[3].joinpath("docs", "scaling.md").read_text(encoding="utf-8")
    mine_them, randomize_them = ("\n".join(lines) for lines in blocks_of(page, "python"))
    monkeypatch.chdir(tmp_path)
    plan = make_plan(["milk", "bread", "tea"], 2, PROMISE)
    ap.write_plan(plan, "plan.json")
    reports = ap.randomize_baskets([["milk", "bread"], ["tea"]] * 1500, plan)
    Path("collection").mkdir()
    reports.write("collection/1.parquet")
    frame = spark.createDataFrame([(bytes(row),) for row in reports.packed], "report binary")
    said: dict[str, Any] = {"spark": spark, "frame": frame}
    exec(mine_them, said)
    assert frozenset({"milk"}) in set(said["itemsets"]["itemsets"])
    rows = [(1, "milk", ["milk", "bread"]), (1, "bread", ["milk", "bread"]), (2, "tea", ["tea"])]
    said["frame"] = spark.createDataFrame(rows, "bon int, article string, items array<string>")
    for number, line in enumerate(randomize_them.splitlines()):
        exec(line.replace('"reports"', f'"reports{number}"'), said)
    assert [ap.inspect(f"reports{number}").reports for number in range(2)] == [3, 2]
