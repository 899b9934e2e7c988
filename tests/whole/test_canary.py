"""Tests that no raw item is ever disclosed: marked items take every failing path of client and command line."""

import contextlib
import gzip
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from command_line import NAME, NUMBER, chain, marked_files, marks_in, shown_by
from fuzz.targets import parquet_bytes
from naive import small_plan

import assocpriv as ap
from assocpriv import numeric
from assocpriv.cli.main import main
from assocpriv.client.baskets import bulk_client
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.baskets.bulk_client import BulkRandomizer, randomize_chunks
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import AssocprivError, BasketError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import FixedSizeOperator
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.plans.numeric.table_plan import Clear
from assocpriv.records.baskets import Baskets, to_baskets

ENTROPY = SystemEntropy()
PLAN = small_plan("none", 5, 2, 2)
NAMED = replace(PLAN, catalogue=Catalogue(["milk", "bread", NAME, "eggs", "tea"]))
SMALL = Catalogue(["milk", "bread"])


LISTS = parquet_bytes({"items": [["milk", NAME], [NAME]]})
TEXT = f"milk,{NAME}\n{NAME},bread\n".encode()
# file name -> bytes; each must be refused, with the catalogue milk, bread and with a derived one: some of each format.
# records/test_basket_files.py has every kind, as the reader alone refuses it
BAD_FILES: dict[str, bytes] = {
    "unknown.csv": TEXT, "not-utf8.csv": f"{NAME},caf".encode() + b"\xe9\n",
    "open-quote.csv": f'"{NAME},milk\n{NAME}\n'.encode(), "huge-cell.csv": (NAME * 20_000 + "\n").encode(),
    "table.csv": "".join(f"{row},{NAME}\n" for row in range(5)).encode(),
    "opposites.csv": f"{NAME},milk\n1,0\n0,1\n1,0\n".encode(),
    "onehot.csv": f"{NAME},milk\n1,0\n1,1\n1,{NAME}x\n".encode() + b"1,0\n" * 20,
    "ragged-long.csv": f"order,item\n1,{NAME}\n{NAME}\n".encode(),
    "blanks.csv": f"milk {NAME}\n{NAME} bread\n".encode(),
    "separators.csv": f"milk;{NAME},bread\n{NAME};{NAME},x\n".encode(),
    "utf-16.csv": f"order,item\n1,{NAME}\n".encode("utf-16"),
    "names.dat": f"1 2\n{NAME}\n".encode(), "unknown.dat": f"1 2\n{NUMBER} 1\n".encode(),
    "truncated.dat.gz": gzip.compress(f"{NUMBER}\n".encode() * 99)[:-9],
    "truncated.csv.gz": gzip.compress(TEXT, 0)[:-9], "header-only.long": f"{NAME},{NAME}\n".encode(),
    "repeated.long": f"transaction,item\n{NAME},{NAME}\n{NAME},{NAME}\n".encode(),
    "unknown.long": f"transaction,item\n{NAME},{NAME}\n".encode(),
    "not-utf8.long": f"transaction,item\n1,{NAME}".encode() + b"\xe9\n",
    "unknown.parquet": LISTS, "truncated.parquet": LISTS[:-20], "text.parquet": TEXT,
    "repeated.parquet": parquet_bytes({"items": [[NAME, NAME]]}),
    "empty-basket.parquet": parquet_bytes({"items": [[NAME], []]}),
    "missing-item.parquet": parquet_bytes({"items": [[NAME, None], [None]]}),
    "nested.parquet": parquet_bytes({"transaction": [1], "item": [{NAME: NAME}]}),
    "no-transaction.parquet": parquet_bytes({"transaction": [None, NAME], "item": [NAME, NAME]}),
    "binary.parquet": parquet_bytes({"transaction": [1], "item": [NAME.encode() + b"\xff"]}), "unknown.ending": TEXT,
}  # fmt: skip


def refusal(call: Callable[[], Any]) -> str:
    """Return all that the refusal of a call shows, including chained exceptions."""
    with pytest.raises((AssocprivError, TypeError)) as caught:
        call()
    return shown_by(caught.value)


# ---- the search for marks


def test_marks_are_found_anywhere_in_an_exception() -> None:
    """Texts, arguments, attributes, notes and suppressed chained exceptions are all searched."""
    plain, noted, marked, argued, suppressed = (ValueError("fine") for _ in range(5))
    noted.add_note(NAME)
    marked.basket = [NUMBER]  # type: ignore[attr-defined]
    argued.args = ("fine", {NAME})
    suppressed.__context__, suppressed.__suppress_context__ = KeyError(NAME), True
    assert not marks_in(shown_by(plain))
    for each in (noted, marked, argued, suppressed, UnicodeDecodeError("utf-8", NAME.encode(), 0, 1, "fine")):
        assert marks_in(shown_by(each))
    assert len(list(chain(suppressed))) == 2
    assert marks_in(NAME.encode("utf-16-le"))
    assert marks_in(f"items {NUMBER}")


def test_marked_files_are_found(tmp_path: Path) -> None:
    """A file that contains a mark, or has one in its name, is found unless it is an input."""
    (tmp_path / "in.csv").write_text(NAME)
    (tmp_path / "left.part").write_text(NAME)
    (tmp_path / NAME).write_text("")
    assert marked_files(tmp_path, {tmp_path / "in.csv"}) == [NAME, "left.part"]


# ---- files


COMMANDS = {  # and their options before the file
    "randomize": ["--plan", "plan.json", "-o", "out.parquet"],
    "simulate": ["--plan", "plan.json", "--min-support", "50%"],
    "plan": ["--items", "5", "--epsilon", "3", "-o", "out", "--sample"],
    "demo": ["-o", "out", "--baskets"],
}


def assert_refused(folder: Path, given: str, *arguments: str) -> None:
    """Run a command that must refuse, in a folder; it shows no mark, and leaves none except in the input."""
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1, result.output
    assert not marks_in(result.output)
    assert "Error: " in result.stderr
    assert not marks_in(shown_by(result.exception))
    assert marked_files(folder, {folder / given, folder / "plan.json"}) == []


@pytest.mark.parametrize("name", sorted(BAD_FILES))
def test_commands_show_and_leave_no_item(tmp_path: Path, name: str) -> None:
    """No command discloses an item of a bad basket file; each reads a text, a table and a gzip file."""
    (tmp_path / name).write_bytes(BAD_FILES[name])
    write_plan(PLAN, tmp_path / "plan.json")
    options = ["--layout", "long"] if name.endswith(".long") else []
    of_all = name in ("separators.csv", "truncated.dat.gz", "text.parquet")
    for command in COMMANDS if of_all else ["randomize"]:
        assert_refused(tmp_path, name, command, *COMMANDS[command], name, *options)


# ---- baskets in memory


BAD_SETS: list[Any] = [
    [[NAME, NAME]], [[NAME + "\x07"]], [[NAME, 2.5]], [[NAME, b"x"]], [[NAME, None], [None]], [{NAME: 1}, NAME], NAME,
    NAME.encode(), Path(NAME), [[(NAME,)]], [[True, NAME]], NUMBER, [NUMBER], [[]],
]  # fmt: skip
BAD_FRAMES: list[Callable[[], Any]] = [
    lambda: pd.DataFrame({"transaction": [1, 1], "item": [NAME, NAME]}),
    lambda: pd.DataFrame({"transaction": [1, 2], "item": [NAME, 2.5]}),
    lambda: pd.DataFrame({"transaction": [1, 2], "item": [NAME, None]}),
    lambda: pd.DataFrame({"transaction": [None, NAME], "item": [NAME, NAME]}), lambda: pd.DataFrame({NAME: [NAME]}),
    lambda: pd.DataFrame({"items": [[NAME, 1.5], [NAME]]}), lambda: pd.DataFrame({"items": [[NAME, NAME]]}),
    lambda: pd.DataFrame([[1, 0], [0, 1]], columns=[NAME, f"{NAME}\x07"]),
    lambda: pd.DataFrame({"transaction": [1], "item": [{NAME: NAME}]}),
    lambda: pd.DataFrame([[1, 0], [0, 1]], columns=[NAME, NAME]),
    lambda: pl.DataFrame({"transaction": [1, 1], "item": [NAME, NAME]}),
    lambda: pl.DataFrame({"transaction": [1], "item": [{NAME: NAME}]}), lambda: pl.DataFrame({"items": [[NAME, None]]}),
    lambda: pl.DataFrame({"transaction": [1], "item": pl.Series([NAME], dtype=pl.Object)}),
    lambda: pl.DataFrame({"items": [[NAME]]}).lazy(),
    lambda: pa.table({"transaction": [1], "item": [NAME.encode() + b"\xff"]}),
    lambda: pa.table({"transaction": [1, 1], "item": pa.array([NUMBER, NUMBER])}),
    lambda: pa.table({"items": [[NAME, NAME]]}),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(BAD_SETS)))
def test_lists_show_no_item(position: int) -> None:
    """No refusal of lists of items shows one."""
    assert not marks_in(refusal(lambda: to_baskets(BAD_SETS[position])))


@pytest.mark.parametrize("position", range(len(BAD_FRAMES)))
@pytest.mark.parametrize("layout", [None, "long", "list", "one-hot"])
def test_frames_show_no_item(position: int, layout: str) -> None:
    """No refusal of a data frame shows a cell, in any layout."""
    assert not marks_in(refusal(lambda: to_baskets(BAD_FRAMES[position](), layout=layout, catalogue=SMALL)))


def test_aligning_shows_no_item() -> None:
    """Baskets that do not fit a catalogue are refused, or lose items, without showing one."""
    baskets, numbers = Baskets.from_sets([["milk", NAME], [NAME]]), Baskets.from_sets([[3, NUMBER]])
    for refused in (
        lambda: baskets.aligned(SMALL), lambda: baskets.aligned(SMALL, unknown=NAME), lambda: baskets[:: len(baskets)],
        lambda: numbers.aligned(Catalogue.numbered(5)), lambda: numbers.aligned(SMALL),
    ):  # fmt: skip
        assert not marks_in(refusal(refused))
    aligned, dropped = baskets.aligned(SMALL, unknown="drop")
    assert (len(aligned), dropped) == (2, 2)
    assert not marks_in(repr([aligned, baskets, numbers]))


# ---- randomizing


def asking_sizes(plan: Plan) -> Plan:
    """Return a plan in which half of the people report sizes."""
    sizes = ReportType(2, FixedSizeOperator(1, 3, 1, (1, 5)), view=SizesView((2, 4)))
    return replace(plan, report_types=(plan.items, sizes))


@pytest.mark.parametrize("ids", [[NUMBER], [-NUMBER], [1, 1, NUMBER], [5], [-1], [3, 3]], ids=str)
@pytest.mark.parametrize("code", ["none", "bch", "reed-solomon"])
def test_ids_that_do_not_fit_are_not_shown(ids: list[int], code: str) -> None:
    """The first id beyond the catalogue, which belongs to a padding item, is refused, too."""
    outside = "the basket holds an item id outside the plan's catalogue, 0..4"
    message = "the basket repeats an item; a basket is a set" if ids == [3, 3] else outside
    plan = small_plan(code, 5, 2, 2)
    for randomizer in map(Randomizer, (plan, asking_sizes(plan))):
        with pytest.raises(BasketError) as caught:
            randomizer.randomize(ids, entropy=ENTROPY)
        assert str(caught.value) == message
        assert not marks_in(shown_by(caught.value) + repr(randomizer))


def test_no_repr_shows_an_item() -> None:
    """The repr of baskets, randomizers, chunks and reports shows only sizes."""
    baskets, _ = Baskets.from_sets([["milk", NAME], [NAME]]).aligned(NAMED.catalogue)
    chunks = list(randomize_chunks(baskets, NAMED, entropy=ENTROPY))
    reports = ap.randomize(baskets, NAMED)
    shown = repr([baskets, baskets[:1], Randomizer(NAMED), BulkRandomizer(NAMED), chunks, reports, NAMED])
    assert not marks_in(shown)
    assert "raw_fitted" not in shown


def test_a_failure_inside_randomizing_shows_no_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system error during randomization gives one line, and discloses no item in it or in a file."""

    def fails(self: Any, part: Baskets, *_: Any) -> None:
        raise OSError(5, "the disk is gone")

    monkeypatch.setattr(bulk_client.BulkRandomizer, "randomize", fails)
    (tmp_path / "in.csv").write_text(f"milk,{NAME}\n")
    write_plan(NAMED, tmp_path / "plan.json")
    assert_refused(tmp_path, "in.csv", "randomize", "in.csv", "--plan", "plan.json", "-o", "r.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.csv", "plan.json"]


# ---- trees


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "cut.parquet", "codes.parquet"])
def test_reconstructing_shows_and_leaves_no_value(tmp_path: Path, name: str) -> None:
    """A raw table in place of reports is refused without showing a cell, also as a truncated or faked file."""
    raw = parquet_bytes({"age": [NAME, NAME], "class": [NUMBER, NUMBER]})
    faked = pa.schema([pa.field("report", pa.binary(len(NAME)), nullable=False)], metadata={"assocpriv.plan": NAME})
    stream = BytesIO()
    pq.write_table(pa.table([pa.array([NAME.encode()] * 3, faked.field(0).type)], schema=faked), stream)
    bad = {"t.parquet": raw, "cut.parquet": raw[:-20], "codes.parquet": stream.getvalue()}
    (tmp_path / name).write_bytes(bad.get(name, f"age,class\n{NAME},{NUMBER}\n".encode()))
    assert_refused(tmp_path, name, "reconstruct", name, "-o", "o.csv")
    assert not (tmp_path / "o.csv").exists()


def test_the_estimator_shows_no_raw_value() -> None:
    """A tree's estimator that gets text for a number shows only the column's name."""
    columns = (
        numeric.NumberColumn("age", Clear(60), False, Fraction(20), Fraction(80), 60),
        numeric.LabelColumn("class", Clear(2), False, ("A", "B")),
    )
    released = pd.DataFrame({"age": [30.5, 60.5] * 20})
    tree = numeric.ReleasedTreeClassifier(numeric.TablePlan(columns, 0)).fit(released, ["A", "B"] * 20)
    assert not marks_in(refusal(lambda: tree.predict(pd.DataFrame({"age": [NAME]}))))
    assert not marks_in(refusal(lambda: tree.fit(pd.DataFrame({"age": [NAME]}), ["A"])))
