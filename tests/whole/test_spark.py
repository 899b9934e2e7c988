"""Spark for clients and server: its tasks count as the local backend does, and report each basket once.

All tests are in one file, so that they share one session. Java compiles each new kind of job for seconds: in each run
counts, randomizing, the limit of reports and what shows no item are tested, the rest at night.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import NAME as CANARY
from command_line import blocks_of, marks_in, refused, shown_by
from naive import guided_plan as small_plan
from naive import planned, random_people, randomize_tuples
from running_collector import QUICK_JAVA

import assocpriv as ap
from assocpriv.client import spark_client as client
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import BasketError, EstimateError, FileError, PlanError, SparkError, WireError
from assocpriv.planning.table_planner import design_window
from assocpriv.plans.numeric.table_plan import Clear, LabelColumn, NumberColumn, TablePlan
from assocpriv.server import spark_counting as server
from assocpriv.server.baskets.counting import LocalBackend, Part
from assocpriv.server.guided.collection import collect, publish, start_empty
from assocpriv.server.spark_counting import SparkReports
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.spark import connect, mine, randomize, read_reports, reports_from_frame, spark_session

pytestmark = pytest.mark.filterwarnings("ignore:.*depend mostly on the prior")

GUARANTEE = ap.Guarantee("5%", "99%")  # weak, so that few reports suffice
N_ITEMS = 200
# so weak that reports show their baskets except with probability 10^-9: reported people can be counted
NO_PRIVACY = planned(N_ITEMS, 1, ap.Guarantee("0.0000000001%", "99.9999999%"), itemset_size=1, reports=1000)


@pytest.fixture(scope="module")
def spark() -> Any:
    """Return the session of all tests, as the command line starts it: two cores, two attempts per task."""
    if not shutil.which("java") and not os.environ.get("CI"):
        pytest.skip("Spark needs Java 17 or later")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", " ".join(QUICK_JAVA))
        session = connect("local[2,2]")
    options = {"shuffle.partitions": 2, "codegen.wholeStage": False, "codegen.factoryMode": "NO_CODEGEN"}
    for name, value in options.items():
        session.conf.set(f"spark.sql.{name}", value)
    return session


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use several tasks."""
    monkeypatch.setattr(server, "_TASK_REPORTS", 400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of report files of a plan."""
    rng, made = np.random.default_rng(7), tmp_path_factory.mktemp("reports")
    plan = planned(24, 3, GUARANTEE, itemset_size=3, reports=20_000, code="bch", sizes="20%")
    baskets = [set(map(str, (24 * rng.random(3) ** 3).astype(int))) for _ in range(1000)]
    for number, part in enumerate((baskets[:600], baskets[600:601], baskets[601:])):
        ap.randomize(part, plan).write(made / f"{number}.parquet")
    return made


def failing_once(task: Callable[..., Iterator[Any]], flags: Path) -> Callable[..., Iterator[Any]]:
    """Return a task whose first attempt in each partition fails at its end and leaves a flag."""

    def failing(*given: Any) -> Iterator[Any]:
        from pyspark import TaskContext

        yield from task(*given)
        context = TaskContext.get()
        flag = flags / str(context.partitionId())
        if not flag.exists():
            flag.touch()
            raise OSError("the first attempt at every task fails")

    flags.mkdir()
    return failing


# ---- counting


@pytest.mark.parametrize("backend", ["local", "Spark"])
def test_backends_count_alike(request: pytest.FixtureRequest, folder: Path, tmp_path: Path, backend: str) -> None:
    """Counts of subsets of three items, in all reports and both parts, are the same in memory, in files and in Spark.

    Some reports are in memory and come first, like a collector's open batch. One attempt of every Spark task fails.
    """
    files = ap.read_reports(folder)
    first = next(files.batches(300))
    reports = Reports(files.plan, first, files.paths, len(files))
    wanted = LocalBackend.from_reports(Reports(files.plan, np.concatenate([first, *files.batches(1000)])))
    tried: Any = LocalBackend.from_reports(reports, 1)
    with pytest.MonkeyPatch.context() as patch:
        if backend == "Spark":
            there = SparkReports.from_files(reports, request.getfixturevalue("spark"))
            assert len(there) == 1300
            tried = server.SparkBackend(there)
            patch.setattr(spark_session, "_count_task", failing_once(spark_session._count_task, tmp_path / "flags"))
        for part in Part:
            (one, _), (other, _) = wanted.open(part), tried.open(part)
            assert one.n_reports == other.n_reports
            itemsets = np.array(list(combinations(range(6), 3)), dtype=np.int64)
            assert (one.count_sums(itemsets) == other.count_sums(itemsets)).all()
        if backend == "Spark":
            assert len(list((tmp_path / "flags").iterdir())) == 3


def assert_same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Check that tables agree exactly, and in their attributes."""
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert one.attrs == other.attrs


@pytest.mark.slow
def test_tables_are_the_same(spark: Any, folder: Path, tmp_path: Path) -> None:
    """Mined itemsets of files of two plans, and of a DataFrame, agree with local ones."""
    plan, other, one = planned(["2", "1", "0"], 2, GUARANTEE), tmp_path / "other.parquet", {"max_itemset": 1}
    ap.randomize([{"0", "1"}, {"2"}] * 200, plan).write(other)
    assert_same(mine([folder, other], spark=spark, **one), ap.mine([folder, other], **one))
    frame = spark.read.parquet(str(other)).repartition(3).toDF("till.report")
    assert_same(mine(frame, plan, column="till.report", **one), ap.mine(other, **one))
    with pytest.raises(EstimateError, match="rows of a DataFrame have no position"):
        mine(frame, plan, 0.1, column="till.report", fdr="5%")


@pytest.mark.slow
def test_questions_are_answered_the_same(spark: Any, tmp_path: Path) -> None:
    """So do itemsets with tests, from one part of the reports, and those that are asked about."""
    ap.randomize([{"0", "1"}, {"2"}] * 200, planned(["2", "1", "0"], 2, GUARANTEE)).write(tmp_path / "r.parquet")
    there, asked = read_reports(tmp_path / "r.parquet", spark), [["2", "1"]]
    tested = ap.mine(tmp_path / "r.parquet", fdr="5%", max_itemset=1)
    assert len(tested)
    assert_same(ap.mine(there, fdr="5%", max_itemset=1), tested)
    assert_same(ap.ask(there, asked), ap.ask(tmp_path / "r.parquet", asked))


def test_numbers_are_counted_the_same(spark: Any, tmp_path: Path) -> None:
    """Distributions of a table's columns, by class."""
    age = NumberColumn("age", design_window(40, Fraction(19), optional=True), True, Fraction(20), Fraction(80), 20)
    plan = TablePlan((age, LabelColumn("class", Clear(2), False, ("A", "B"))), 1, ap.Guarantee("0.1%", "90%"))
    table = pd.DataFrame({"age": np.arange(3000) % 60 + 20.0, "class": np.where(np.arange(3000) % 3, "A", "B")})
    ap.randomize(table, plan).write(tmp_path / "released.parquet")
    there, here = read_reports(tmp_path / "released.parquet", spark), tmp_path / "released.parquet"
    assert_same(ap.reconstruct(there, by="class").to_frame(), ap.reconstruct(here, by="class").to_frame())


def test_tuples_are_summed_the_same(spark: Any, tmp_path: Path) -> None:
    """The miner's sums of guided tuples of two guidances are the same with and without Spark."""
    plan = small_plan(batch=50)
    rng, state = np.random.default_rng(3), publish(start_empty(plan, 1))
    for number in range(2):
        positions, classes = random_people(plan, 80, rng)
        packed = randomize_tuples(positions, classes, plan, state.guidance, entropy=SeededEntropy(number))
        Reports(plan, packed).write(tmp_path / f"{number}.parquet")
        before, state = state, publish(collect(state, Reports(plan, packed)))
    there, here = collect(before, read_reports(tmp_path, spark)), collect(before, ap.read_reports(tmp_path))
    assert (there.received == here.received).all()
    assert np.allclose(there.shares, here.shares)
    assert there.collected == here.collected


def test_tasks_are_as_few_as_the_driver_holds_counts_of(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many counts come from few tasks; memory limits the number of candidates."""
    monkeypatch.setattr(spark_session, "_DRIVER_BYTES", 24)
    assert spark_session.add_up(
        spark.range(0, 100, 1, 7), lambda batches: np.array([int(len(list(batches)) > 0)]), 1
    ) == [2]


def test_positions_go_on_from_piece_to_piece(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place in the whole collection determines the part of a report."""
    reports = ap.read_reports(folder)
    monkeypatch.setattr(server, "_PIECE_BYTES", 250 * reports.plan.report_bytes)
    runs = [[(reports.paths[0], 0, 40), (reports.paths[1], 0, 640)], [(reports.paths[2], 0, 700)]]
    pieces = server._read_files(reports.plan, runs, iter([pa.record_batch({"id": [1, 0]})]))
    found = [(first, len(piece)) for first, piece in pieces]
    assert found == [(700, 250), (950, 149), (40, 250), (290, 250), (540, 101)]


@pytest.mark.slow
def test_other_reports_are_refused(spark: Any, folder: Path, tmp_path: Path) -> None:
    """Other columns and rows, damaged files, and files that tasks cannot open: one clear line each."""
    plan = ap.read_reports(folder).plan
    for rows, message in (
        (spark.range(3), r"reports must be in a column 'report' of type binary; the DataFrame has id \(bigint\)"),
        (spark.createDataFrame([(None,)], "report binary"), "1 missing report"),
        (spark.createDataFrame([(bytes(99),)], "report binary"), f"not of {plan.report_bytes} byte"),
    ):
        with pytest.raises(WireError, match=message):
            reports_from_frame(rows, plan)
    with pytest.raises(PlanError, match="give the plan"):
        mine(spark.range(3), min_support=0.1)
    with pytest.raises(PlanError, match="report files contain their plan"):
        mine(folder, plan, min_support=0.1)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    content = bytearray((tmp_path / "2.parquet").read_bytes())
    content[60] ^= 1
    (tmp_path / "2.parquet").write_bytes(content)
    reports = read_reports(tmp_path, spark)
    with pytest.raises(WireError, match=r"2\.parquet is damaged"):
        ap.mine(reports, 0.1)
    (tmp_path / "2.parquet").unlink()
    with pytest.raises(SparkError, match=r"cannot open .*2\.parquet; all files must have the same paths"):
        ap.mine(reports, 0.1)


# ---- randomizing


def reported(folder: Path) -> Counter[int]:
    """Return the items that reports show, with their counts."""
    packed = next(ap.read_reports(folder).batches(10_000))
    assert packed.shape[1] == 1
    return Counter(packed[:, 0].tolist())


def test_each_basket_is_reported_once(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt of every task fails after its file is written; the reports of one attempt are published."""
    assert [ap.randomize({str(item)}, NO_PRIVACY)[0] for item in range(N_ITEMS)] == list(range(N_ITEMS))
    frame = spark.createDataFrame([([str(item)],) for item in range(N_ITEMS)], "items array<string>").repartition(3)
    monkeypatch.setattr(client, "_randomize_task", failing_once(client._randomize_task, tmp_path / "flags"))
    assert randomize(frame, NO_PRIVACY, tmp_path / "reports") == N_ITEMS
    assert len(list((tmp_path / "flags").iterdir())) == len(list((tmp_path / "reports").iterdir())) == 3
    assert reported(tmp_path / "reports") == Counter(range(N_ITEMS))
    assert {path.name for path in tmp_path.iterdir()} == {"flags", "reports"}
    with pytest.raises(FileError, match="exists already; name a new folder"):
        randomize(frame, NO_PRIVACY, tmp_path / "reports")


def test_the_limit_of_reports_per_person_holds(spark: Any, tmp_path: Path) -> None:
    """A person's transactions are joined wherever their rows are; each reported one is complete."""
    rows = [(bon, f"person {bon % 20}", item) for item in range(3) for bon in range(60)]
    frame = spark.createDataFrame(rows, "bon int, card string, items int").repartition(5)
    plan = ap.plan(3, ap.Guarantee("5%", "60%"), itemset_size=1, reports=1000, reports_per_person=2)
    sizes = client.randomize_frame(frame, plan, tmp_path / "reports", ("items", "bon", "card"), "error", "error")
    assert sizes == Counter({3: 20 * 2})


def attempt(plan: ap.Plan, staging: Path) -> bytes:
    """Return the output of one attempt of a task with 200 baskets."""
    batch = pa.record_batch({"basket": [["1"]] * 200})
    (row,) = next(client._randomize_task(plan, "error", "error", staging, None, iter([batch]))).to_pylist()
    return next(ap.read_reports(staging / row["name"]).batches(1000)).tobytes()


def test_attempts_draw_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts of one task agree only in the number of reports; a seeded source would repeat itself."""
    plan = planned(100, 3, ap.Guarantee("5%", "50%"), itemset_size=1, reports=1000)
    assert attempt(plan, tmp_path) != attempt(plan, tmp_path)  # equal with a probability below 2^-1000
    monkeypatch.setattr(client, "SystemEntropy", lambda: SeededEntropy(1))
    assert attempt(plan, tmp_path) == attempt(plan, tmp_path)  # what this test would notice


def test_files_of_other_attempts_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two finished attempts the one that Spark accepted is published; a late one writes nothing."""
    staging, late = tmp_path / ".reports.0.part", []
    staging.mkdir()
    for name in ("accepted", "other"):
        (staging / name).write_bytes(name.encode())
    client._publish(staging, ["accepted"], tmp_path / "reports")
    assert [path.read_bytes() for path in (tmp_path / "reports").iterdir()] == [b"accepted"]
    remove = shutil.rmtree

    def remove_late(folder: Path, **options: bool) -> None:
        with pytest.raises(FileError, match="cannot see the output's folder") as caught:
            attempt(NO_PRIVACY, staging)
        late.append(caught)
        remove(folder, **options)

    monkeypatch.setattr(client.shutil, "rmtree", remove_late)
    client._discard(staging)
    assert late
    assert [path.name for path in tmp_path.iterdir()] == ["reports"]


PERSONS = "bon int, card string, items string"
OF_PERSONS = {"transaction_column": "bon", "person": "card"}
BAD: dict[str, tuple[str, list[Any], dict[str, Any], str]] = {
    "no such column": ("names array<string>", [(["1"],)], {}, "cannot be read as baskets: .*items"),
    "another type": ("items string", [(CANARY,)], {}, "cannot be read as baskets: .*CAST"),
    "an unknown name": ("items array<string>", [(["1"],), ([CANARY],)], {}, "not in the catalogue"),
    "no item": ("who int, items int", [(1, None), (1, 2)], {"transaction_column": "who"}, "is missing"),
    "no transaction": ("who int, items string", [(None, CANARY)], {"transaction_column": "who"}, "without a trans"),
    "no baskets": ("items array<string>", [], {}, "has no baskets"),
    "several persons": (PERSONS, [(1, CANARY, "1"), (1, "b", "2")], OF_PERSONS, "without a person, or of several"),
    "a person in two spellings": (
        PERSONS,
        [(1, f"{CANARY} 07", "1"), (2, f"{CANARY}07".upper(), "2"), (3, "8", "1"), (4, "008", "1"), (5, "9", "1")],
        OF_PERSONS,
        "2 persons may have several ids",
    ),
    "a missing person": (PERSONS, [(1, "NaN", "1"), (2, "b", "2")], OF_PERSONS, "1 person id is a missing-value"),
    "persons of whole baskets": ("items array<string>", [(["1"],)], {"person": "items"}, "name transaction_column"),
}


AT_NIGHT = ("no item", "no baskets")


@pytest.mark.parametrize("case", [pytest.param(each, marks=[pytest.mark.slow] * (each in AT_NIGHT)) for each in BAD])
def test_bad_baskets_are_refused(spark: Any, tmp_path: Path, case: str) -> None:
    """One clear line that shows no item, and no file is left."""
    schema, rows, options, message = BAD[case]
    with pytest.raises(BasketError, match=message) as caught:
        randomize(spark.createDataFrame(rows, schema), NO_PRIVACY, tmp_path / "reports", **options)
    assert not marks_in(shown_by(caught.value))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_errors_of_spark_show_no_row(spark: Any, tmp_path: Path) -> None:
    """A failing computation of the DataFrame, for which Spark's own message contains the value."""
    from pyspark.sql import functions as sql

    frame = spark.createDataFrame([(CANARY,)], "items string")
    frame = frame.select(sql.array(sql.raise_error("items").cast("string")).alias("items"))
    with pytest.raises(SparkError, match="its text may contain data") as caught:
        randomize(frame, NO_PRIVACY, tmp_path / "reports")
    assert not marks_in(shown_by(caught.value))
    assert not list(tmp_path.iterdir())
    missing = RuntimeError("Traceback …\nModuleNotFoundError: No module named 'assocpriv'\n\tat org.apache.spark…")
    assert str(spark_session._convert_error(missing, quote=False)) == "ModuleNotFoundError: No module named 'assocpriv'"


# ---- starting


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PySpark's, of a pipe to no Java
def test_missing_requirements_are_one_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No PySpark, no Java or an old one, no answer, and an invalid master."""
    from pyspark import SparkContext

    def refusal(master: str = "local[1]") -> str:
        return refused("mine", folder, "--min-support", "10%", "--spark", master)

    master = "spark://127.0.0.1:1"
    assert f"nothing answers at 127.0.0.1:1, the address of the Spark master {master}" in refusal(master)
    assert "nothing answers at 127.0.0.1:1" in refusal("sc://127.0.0.1:1")
    assert "nothing answers at [::1]:15002" in refusal("sc://[::1]/;use_ssl=true")
    for without in ("sc://", "sc://:15002", "sc://host:port", "spark://host", "spark://"):
        assert f"{without} has no valid address; write {without.partition(':')[0]}://host" in refusal(without)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\nprintf '\\tjava.lang.UnsupportedClassVersionError: for 61, and this is 52\\n' >&2; exit 1\n"
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}, which has no java" in refusal()
    java.chmod(0o700)
    assert "could not be started on local[1]: UnsupportedClassVersionError: for 61, and this is 52" in refusal()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no java on the PATH; install it, or set JAVA_HOME" in refusal()
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    assert "pip install 'assocpriv[spark]'" in refusal()


@pytest.mark.slow
def test_the_examples_of_the_page_run(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of docs/scaling.md run in order, on frames and files of the names that they use."""
    page = Path(__file__).parents[2].joinpath("docs", "scaling.md").read_text(encoding="utf-8")
    mine_them, randomize_them = ("\n".join(lines) for lines in blocks_of(page, "python"))
    monkeypatch.chdir(tmp_path)
    plan = planned(["milk", "bread", "tea"], 2, GUARANTEE)
    ap.write_plan(plan, "plan.json")
    reports = ap.randomize([["milk", "bread"], ["tea"]] * 1500, plan)
    Path("collection").mkdir()
    reports.write("collection/1.parquet")
    message: dict[str, Any] = {"spark": spark, "frame": spark.read.parquet(str(tmp_path / "collection"))}
    exec(mine_them, message)
    assert frozenset({"milk"}) in set(message["itemsets"]["itemsets"])
    rows = [(1, "milk", ["milk", "bread"]), (1, "bread", ["milk", "bread"]), (2, "tea", ["tea"])]
    message["frame"] = spark.createDataFrame(rows, "bon int, article string, items array<string>")
    for number, line in enumerate(randomize_them.splitlines()):
        exec(line.replace('"reports"', f'"reports{number}"'), message)
    assert [ap.inspect(f"reports{number}").reports for number in range(2)] == [3, 2]
