"""Baskets of a DataFrame are reported once each by Spark's tasks, whatever fails, and nothing of them is told."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from canary import NAME as CANARY
from canary import marks_in
from spark_session import local_session

import assocpriv as ap
from assocpriv.client.baskets import on_spark
from assocpriv.core import machine
from assocpriv.core.errors import BasketError, FileError, RecordError, SparkError
from assocpriv.core.spark import sums
from assocpriv.core.spark.session import quiet_pandas
from assocpriv.planning.planner import make_plan
from assocpriv.spark import randomize

N_ITEMS = 200
# so weak that reports show their baskets, but for a chance below 10^-9: who was reported can be counted
NO_PRIVACY = make_plan(N_ITEMS, 1, ap.Breach("0.0000000001%", "99.9999999%"), itemset_size=1, reports=1000)
SINGLES = [([str(item)],) for item in range(N_ITEMS)]


@pytest.fixture(scope="module")
def spark() -> Any:
    """A session of two cores, in which a task is tried three times."""
    return local_session()


def reported(folder: Path) -> Counter[int]:
    """Which items reports show, and how many of them."""
    packed = next(ap.read_reports(folder).batches(10_000))
    assert packed.shape[1] == 1
    return Counter(packed[:, 0].tolist())


def test_plan_shows_items() -> None:
    """What these tests rest on: the report of an item is its number."""
    assert [ap.randomize({str(item)}, NO_PRIVACY)[0] for item in range(N_ITEMS)] == list(range(N_ITEMS))


def test_each_basket_is_reported_once(spark: Any, tmp_path: Path) -> None:
    """Rows of arrays, and rows of a transaction and an item; one file a task that has baskets, each with the plan."""
    frame = spark.createDataFrame(SINGLES, "items array<string>").repartition(3)
    assert randomize(frame, NO_PRIVACY, tmp_path / "arrays") == N_ITEMS
    assert len(list((tmp_path / "arrays").iterdir())) == 3
    assert reported(tmp_path / "arrays") == Counter(range(N_ITEMS))
    rows = [(f"person {item}", item) for item in range(N_ITEMS)]
    frame = spark.createDataFrame(rows, "`a.who` string, `what``s` int").repartition(3)  # names that Spark must quote
    options = {"item_column": "what`s", "transaction_column": "a.who"}
    assert randomize(frame, NO_PRIVACY, tmp_path / "rows", **options) == N_ITEMS
    assert reported(tmp_path / "rows") == Counter(range(N_ITEMS))
    assert {path.name for path in tmp_path.iterdir()} == {"arrays", "rows"}


def test_transactions_of_rows_are_whole(spark: Any, tmp_path: Path) -> None:
    """Rows of one transaction come together wherever they lie, as the sizes of transactions show."""
    rows = [(who, f"{item}") for item in range(3) for who in range(60)]
    frame = spark.createDataFrame(rows, "who int, what string").repartition(5)
    plan = make_plan(3, 3, ap.Breach("5%", "60%"), itemset_size=1, reports=1000)
    columns = on_spark.BasketColumns("what", "who")
    assert on_spark.randomize_frame(frame, plan, tmp_path / "reports", columns) == Counter({3: 60})


def test_tasks_that_fail_are_tried_again_and_report_once(spark: Any, tmp_path: Path) -> None:
    """Every first attempt fails when it has read all of its baskets: of none of them anything is left."""
    flags = tmp_path / "flags"
    flags.mkdir()
    folder = str(flags)

    def fail_once(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        flag = Path(folder, str(context.partitionId() if context else 0))
        if not flag.exists():
            flag.touch()
            raise OSError("the first attempt at every task fails")

    frame = spark.createDataFrame(SINGLES, "items array<string>").repartition(3)
    with quiet_pandas():
        frame = frame.mapInArrow(fail_once, "items array<string>")
    assert randomize(frame, NO_PRIVACY, tmp_path / "reports") == N_ITEMS
    assert len(list(flags.iterdir())) == 3
    assert reported(tmp_path / "reports") == Counter(range(N_ITEMS))
    assert {path.name for path in tmp_path.iterdir()} == {"flags", "reports"}


def test_files_of_other_attempts_are_left_out(tmp_path: Path) -> None:
    """Of two attempts that both ended the one is kept that Spark accepted; who is late writes nothing."""
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    for name in ("accepted", "other"):
        (drafts / name).write_bytes(name.encode())
    on_spark._publish(drafts, ["accepted"], tmp_path / "reports")
    assert [path.read_bytes() for path in (tmp_path / "reports").iterdir()] == [b"accepted"]
    with pytest.raises(FileError, match="appeared while"):
        on_spark._publish(tmp_path, [], tmp_path / "reports")


def test_who_comes_late_finds_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that is still at work when a job has ended writes nothing, even while what is left is removed."""
    drafts, late = tmp_path / ".reports.0.part", []
    drafts.mkdir()
    (drafts / "other.parquet").touch()
    remove = on_spark.shutil.rmtree

    def remove_late(folder: Path, **options: bool) -> None:
        late.append(attempt(NO_PRIVACY, drafts)["trouble"])
        remove(folder, **options)

    monkeypatch.setattr(machine, "_most_cores", None)
    monkeypatch.setattr(on_spark.shutil, "rmtree", remove_late)
    on_spark._discard(drafts)
    assert late
    assert all("the output's folder is not where" in (trouble or "") for trouble in late)
    assert not list(tmp_path.iterdir())


def attempt(plan: ap.Plan, drafts: Path) -> dict[str, Any]:
    """What an attempt at a task answers that has 200 baskets."""
    import pyarrow as pa

    baskets = pa.record_batch({"basket": [["1"]] * 200, "named": [True] * 200})
    args = (plan.canonical_json, on_spark.BasketColumns("items"), str(drafts), on_spark.package_version())
    (row,) = next(on_spark._randomize_task(*args, iter([baskets]))).to_pylist()
    return dict(row)


def test_attempts_draw_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts at one task agree in nothing but the number of reports; a seeded source would repeat itself."""
    plan = make_plan(100, 3, ap.Breach("5%", "50%"), itemset_size=1, reports=1000)

    def drawn() -> bytes:
        row = attempt(plan, tmp_path)
        assert row["trouble"] is None
        return next(ap.read_reports(tmp_path / row["name"]).batches(1000)).tobytes()

    monkeypatch.setattr(machine, "_most_cores", None)
    assert drawn() != drawn()  # equal with a chance below 2^-1000
    monkeypatch.setattr("assocpriv.core.entropy.SystemEntropy", _seeded)
    assert drawn() == drawn()  # what this test would notice


def _seeded() -> Any:
    from assocpriv.lab.seeded_entropy import SeededEntropy

    return SeededEntropy(1)


BAD: dict[str, tuple[str, list[Any], dict[str, Any], str]] = {
    "no such column": ("names array<string>", [(["1"],)], {}, "no column 'items'; it has names"),
    "another type": ("items string", [("1",)], {}, "'items' is string; baskets are arrays"),
    "an unknown name": ("items array<string>", [(["1"],), ([CANARY],)], {}, "not in the catalogue"),
    "a repeated name": ("items array<string>", [(["1", "1"],)], {}, "repeats"),
    "no basket": ("items array<string>", [(None,)], {}, "rows without a basket"),
    "no item": ("items array<string>", [([None],)], {}, "is missing"),
    "no item in a row": ("who int, items int", [(1, None), (1, 2)], {"transaction_column": "who"}, "is missing"),
    "no baskets": ("items array<string>", [], {}, "holds no baskets"),
    "a column twice": ("items array<string>, items array<string>", [(["1"], ["2"])], {}, "ambiguous"),
    "one column for both": ("items string", [("1",)], {"transaction_column": "items"}, "two different columns"),
    "no transaction": (
        "who string, items string", [(None, CANARY)], {"transaction_column": "who"}, "without a transaction",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_baskets_are_refused(spark: Any, tmp_path: Path, case: str) -> None:
    """One clear line that shows no item, and nothing is left."""
    schema, rows, options, said = BAD[case]
    with pytest.raises(BasketError, match=said) as caught:
        randomize(spark.createDataFrame(rows, schema), NO_PRIVACY, tmp_path / "reports", **options)
    assert not marks_in(str(caught.value))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_spark_says_of_a_row_is_not_told(spark: Any, tmp_path: Path) -> None:
    """A DataFrame whose own computation fails: Spark quotes the value that it failed at."""
    from pyspark.sql import functions as sql

    frame = spark.createDataFrame([(CANARY,)], "items string").select(
        sql.array(sql.raise_error("items")).alias("items")
    )
    frame = frame.select(frame["items"].cast("array<string>").alias("items"))
    with pytest.raises(SparkError, match="Spark gave up with") as caught:
        randomize(frame, NO_PRIVACY, tmp_path / "reports")
    assert not marks_in(str(caught.value))
    assert not list(tmp_path.iterdir())


def test_what_tasks_lack_is_told_all_the_same() -> None:
    """A Python without this package's needs is named as that: there is nothing of a row in it."""
    for missing in ("assocpriv", "bitarray"):
        text = f"Traceback …\nModuleNotFoundError: No module named '{missing}'\n"
        assert "not installed where Spark's tasks run" in sums._why(text, RuntimeError(text), quote=False)


def test_choices_are_checked_first(tmp_path: Path) -> None:
    """No task begins for a choice that there is none of."""
    with pytest.raises(RecordError, match="unknown"):
        randomize(None, NO_PRIVACY, tmp_path / "reports", unknown="ignore")  # type: ignore[arg-type]


def test_what_was_not_expected_is_told_by_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error whose text quotes a basket does not leave the task."""
    monkeypatch.setattr(machine, "_most_cores", None)

    class Batch:
        num_rows = 1

        def column(self, place: int) -> Any:
            raise RuntimeError(CANARY)

    args = (NO_PRIVACY.canonical_json, on_spark.BasketColumns("items"), str(tmp_path), on_spark.package_version())
    (row,) = next(on_spark._randomize_task(*args, iter([Batch()]))).to_pylist()
    assert row["trouble"] == "SparkError a task failed with RuntimeError; nothing was written"


def test_a_folder_that_is_there_is_left_alone(spark: Any, tmp_path: Path) -> None:
    """It is refused before any task begins; so is a place that cannot be written."""
    (tmp_path / "reports").mkdir()
    frame = spark.createDataFrame(SINGLES, "items array<string>")
    with pytest.raises(FileError, match="exists already; name a new folder"):
        randomize(frame, NO_PRIVACY, tmp_path / "reports")
    with pytest.raises(FileError, match="does not exist"):
        randomize(frame, NO_PRIVACY, tmp_path / "nowhere" / "reports")
    assert not list((tmp_path / "reports").iterdir())


def test_reports_of_tasks_are_as_good_as_others(spark: Any, tmp_path: Path) -> None:
    """Supports from reports made by tasks lie within 5 standard errors: a false alarm in 10^6 a support, of which there
    are 4. Reports of another plan, a dropped bit or a basket told twice would show."""
    rng = np.random.default_rng(3)
    shares = np.array([0.5, 0.3, 0.1, 0.05])
    held = rng.random((20_000, 4)) < shares
    rows = [([str(item) for item in np.flatnonzero(row)],) for row in held]
    plan = make_plan(4, 4, ap.Breach("5%", "80%"), itemset_size=1, reports=20_000)
    randomize(spark.createDataFrame(rows, "items array<string>").repartition(4), plan, tmp_path / "reports")
    found = ap.ask(tmp_path / "reports", [[str(item)] for item in range(4)])
    assert (abs(found["support"] - held.mean(axis=0)) < 5 * found["std_error"]).all()
