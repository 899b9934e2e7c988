"""Tests of workbooks: which sheets are read, and which cells of them are refused."""

import re
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import assocpriv as ap
from assocpriv.guarantees.errors import BasketError, RecordError
from assocpriv.plans.numeric.table_plan import NumberColumn, TablePlan, UniformNoise
from assocpriv.records import sheets
from assocpriv.records.table_files import TableOptions, stream_table
from tests.records.conftest import named, refused

HEAD = ["receipt", "item"]
MAY = [HEAD, [1, "tea"], [1, "milk"], [2, "rye"]]
JUNE = [HEAD, [3, "tea"], [3, "jam"]]
NOTES = [["Zx9secret"], ["Zx9 more"]]
Sheets = list[tuple[str, str, list[list[Any]]]]
READ_MAY, READ_BOTH = [{"tea", "milk"}, {"rye"}], [{"tea", "milk"}, {"rye"}, {"tea", "jam"}]
LOST = "a number that has lost digits; store the column as text"


def workbook(path: Path, sheets: Sheets, change: Callable[[Any], None] | None = None) -> Path:
    """Write a workbook of sheets: name, state and rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    for title, state, rows in sheets:
        sheet = book.create_sheet(title)
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)
    if change:
        change(book)
    book.save(path)
    return path


def rewritten(path: Path, pattern: bytes, text: bytes) -> Path:
    """Replace text in the XML of a workbook's sheets."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, re.sub(pattern, text, content) if "worksheets/" in name else content)
    return path


def add_chart(book: Any) -> None:
    """Put a sheet of a chart before all others."""
    book.create_chartsheet("chart", 0).add_chart(openpyxl.chart.BarChart())


TITLED = [("a", "visible", [["May"], *MAY]), ("b", "visible", [["June"], *JUNE])]
CHOICES: dict[str, tuple[Sheets, str | None, Any, str]] = {  # sheets, layout -> what is read, or the error; the words
    "one": ([("Zx9", "visible", MAY)], None, READ_MAY, "sheet=#1"),
    "hidden first": ([("a", "hidden", JUNE), ("b", "visible", MAY)], None, READ_MAY, "sheet=#2"),
    "very hidden": ([("a", "veryHidden", JUNE), ("b", "visible", MAY)], None, READ_MAY, "sheet=#2"),
    "hidden, asked for": ([("a", "hidden", MAY), ("b", "visible", JUNE)], "sheet=#1", READ_MAY, "sheet=#1"),
    "empty first": ([("a", "visible", []), ("b", "visible", MAY)], None, READ_MAY, "sheet=#2"),
    "one shape": ([("a", "visible", MAY), ("b", "visible", [[], *JUNE])], None, READ_BOTH, "sheet=#1+#2"),
    "one shape, one asked": ([("a", "visible", MAY), ("b", "visible", JUNE)], "long sheet=a", READ_MAY, "sheet=#1"),
    "one-hot": (
        [(name, "visible", [["tea", "rye"], [1, 0], [1, 1]]) for name in "ab"], None,
        [{"tea"}, {"tea", "rye"}] * 2, "sheet=#1+#2",
    ),
    "titles": (TITLED, "header=2", READ_BOTH, "header=2 sheet=#1+#2"),
    "different": (
        [("Zx9", "visible", NOTES), ("b", "visible", MAY)], None,
        r"sheets with 2 different header rows, #2, #1; choose some with layout='sheet=#2'", "",
    ),
    "different, by number": ([("Zx9", "visible", NOTES), ("b", "visible", MAY)], "sheet=#2", READ_MAY, "sheet=#2"),
    "different, by name": ([("Zx9", "visible", NOTES), ("My May", "visible", MAY)], "sheet='my may'", READ_MAY, "#2"),
    "no such number": ([("Zx9", "visible", MAY)], "sheet=#3", "sheet= does not match any .*layout='sheet=#1'", ""),
    "no such name": ([("Zx9", "visible", MAY)], "sheet=2", "does not match any of the workbook's 1 sheets", ""),
    "no header": (
        [(name, "visible", [["tea", "rye"], ["rye", "jam"]]) for name in "ab"], "lines",
        "several sheets without a common header; read one at a time, with sheet=#1", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHOICES)
def test_sheets_are_chosen(tmp_path: Path, case: str, caplog: pytest.LogCaptureFixture) -> None:
    """Visible filled sheets with one header are read, others must be chosen; the logged layout reads the same."""
    sheets, layout, expected, words = CHOICES[case]
    path = workbook(tmp_path / "t.xlsx", sheets)
    if isinstance(expected, str):
        message = refused(expected, ap.read_baskets, path, layout=layout)
        assert "Zx9" not in message
        return
    assert named(ap.read_baskets(path, layout=layout)) == expected
    output = caplog.messages[0].removeprefix("t.xlsx: read as: ")
    assert words in output
    assert "Zx9" not in output
    assert named(ap.read_baskets(path, layout=output)) == expected


def test_one_title_of_several_sheets_is_left_out_of_each(tmp_path: Path) -> None:
    """If all sheets have the same title above the same header, both are skipped in the later sheets."""
    sheets: Sheets = [(name, "visible", [["Sales"], *rows]) for name, rows in (("a", MAY), ("b", JUNE))]
    path = workbook(tmp_path / "t.xlsx", sheets)
    assert named(ap.read_baskets(path)) == named(ap.read_baskets(path, layout="long header=2")) == READ_BOTH
    rewritten(path, rb'<dimension ref="[^"]*" ?/>', b"")
    assert named(ap.read_baskets(path)) == READ_BOTH


def test_charts_are_no_sheets(tmp_path: Path) -> None:
    """A chart sheet is skipped, but counts in the numbers of sheets."""
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", MAY)], add_chart)
    assert named(ap.read_baskets(path)) == named(ap.read_baskets(path, layout="sheet=#2")) == READ_MAY
    refused("layout='sheet=#2'", ap.read_baskets, path, layout="sheet=#1")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[], *JUNE, [None, "Zx9"]], "line 5 of sheet #3 has no transaction id"),
        ([*JUNE, [7, "#REF!"]], "row 4 of sheet #3 has a cell with an error"),
        ([*JUNE, ["1.5E+17", "Zx9"]], f"the transaction id in line 4 of sheet #3 is {LOST}"),
    ],
)
def test_errors_name_the_sheet(tmp_path: Path, rows: list[list[Any]], message: str) -> None:
    """With several sheets, an error gives the sheet's number and the row number within it."""
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", MAY), ("b", "hidden", MAY), ("c", "visible", rows)])
    message = refused(re.escape(message), ap.read_baskets, path)
    assert "Zx9" not in message


LONG = 20260101000123456
CELLS: dict[str, tuple[list[list[Any]], str | None, Any]] = {  # rows, layout -> what is read, or the error
    "long receipts": ([HEAD, [LONG, "tea"], [LONG + 1, "rye"]], None, f"the transaction id in line 2 is {LOST}"),
    "rounded receipts": ([HEAD, [1, "tea"], [float(LONG), "rye"]], None, f"the transaction id in line 3 is {LOST}"),
    "items of 16 digits": ([HEAD, [1, 4012345678901234]], None, f"the item in line 2 is {LOST}"),
    "items of 13 digits": ([HEAD, [1, 4012345678901]], None, [{"4012345678901"}]),
    "receipts as text": ([HEAD, [str(LONG), "tea"], [str(LONG + 1), "rye"]], None, [{"tea"}, {"rye"}]),
    "long numbers elsewhere": ([[*HEAD, "revenue"], [1, "tea", LONG]], None, [{"tea"}]),
    "items in a header": ([[LONG, "tea"], [1, 0], [1, 1]], "one-hot", "column names are numbers that have lost"),
    "items in lines": ([["tea", LONG], ["rye"]], "lines", "the 2nd item of line 1 is a number that has lost digits"),
    "truths as items": ([HEAD, [1, True], [1, "tea"], [2, False]], None, [{"TRUE", "tea"}, {"FALSE"}]),
    "truths as flags": ([["tea", "rye"], [True, False], [True, True]], None, [{"tea"}, {"tea", "rye"}]),
    "blanks in names": ([HEAD, [1, "rye  bread"], [1, "oat\n bar"]], None, [{"rye  bread", "oat bar"}]),
    "formulas": ([HEAD, [1, '="tea"'], [2, '="rye"']], None, "column 2 holds formulas that were never computed"),
    "one formula": ([*MAY, [3, '="tea"']], None, "column 2 holds formulas that were never computed"),
    "formulas in lines": ([["tea", "rye"], ["=A1"]], "lines", "column 1 holds formulas that were never computed"),
    "formulas elsewhere": ([[*HEAD, "sum"], [1, "tea", "=1+1"]], None, [{"tea"}]),
}  # fmt: skip


@pytest.mark.parametrize("case", CELLS)
def test_cells_that_would_be_read_wrongly_are_refused(tmp_path: Path, case: str) -> None:
    """Ids that have lost digits and formulas without a value are refused in columns that are read, and only there."""
    rows, layout, expected = CELLS[case]
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", rows)])
    if isinstance(expected, str):
        message = refused(expected, ap.read_baskets, path, layout=layout)
        assert "2026" not in message
        return
    assert named(ap.read_baskets(path, layout=layout)) == expected


@pytest.mark.parametrize(
    ("rows", "value", "expected"),
    [
        ([HEAD, [1, "=2"], [2, "=3"]], b"<v>0</v>", "column 2 holds formulas that were never computed"),
        ([HEAD, [1, "=2"], [2, "=3"]], b"<v>7</v>", [{"7"}, {"7"}]),
        ([HEAD, [1, "=0"], [2, "x"]], b"<v>0</v>", [{"0"}, {"x"}]),
        ([["tea", "rye"], ["=1", "=0"], ["=1", "=1"]], b"<v>0</v>", "column 1 holds formulas"),
    ],
)
def test_formulas_that_are_all_zero_were_not_computed(
    tmp_path: Path, rows: list[list[Any]], value: bytes, expected: Any
) -> None:
    """Programs that do not compute write 0 for every formula; another value shows that formulas were computed."""
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", rows)])
    rewritten(path, rb"<v ?/>|<v></v>", value)
    if isinstance(expected, str):
        refused(expected, ap.read_baskets, path)
        return
    assert named(ap.read_baskets(path)) == expected


def test_formulas_of_empty_text_are_computed(tmp_path: Path) -> None:
    """A formula whose value is empty text has a value."""
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", [["tea", '=""'], ["rye", "jam"]])])
    rewritten(path, rb'<c r="B1">', b'<c r="B1" t="str">')
    assert named(ap.read_baskets(path, layout="lines")) == [{"tea"}, {"rye", "jam"}]


def test_formulas_are_found_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula far down in a large sheet is found, and a computed one at a block boundary is recognized."""
    monkeypatch.setattr(sheets, "_BLOCK_BYTES", 1 << 16)
    rows: list[list[Any]] = [HEAD, *([number, f"=A{number}"] for number in range(4_000))]
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", rows)])
    rewritten(path, rb"<v ?/>|<v></v>", b"<v>7</v>")
    assert len(ap.read_baskets(path)) == 4_000
    rewritten(path, rb'(<c r="B3900"[^>]*><f>[^<]*</f>)<v>7</v>', rb"\1<v/>")
    refused("never computed", ap.read_baskets, path)


@pytest.mark.parametrize(
    ("cells", "is_refused"), [("A2:A3", True), ("B3:B4", True), ("A1:B1", False), ("D2:D4", False), ("A2:B2", False)]
)
def test_merged_cells_are_refused(tmp_path: Path, cells: str, is_refused: bool) -> None:
    """Cells merged over several rows below the header are refused in columns that are read; titles may be merged."""
    rows = [[*HEAD, "till", "note"], *([*row, 4, "x"] for row in MAY[1:])]
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", rows)], lambda book: book.active.merge_cells(cells))
    problem = None
    try:
        ap.read_baskets(path)
    except BasketError as error:
        problem = str(error)
    assert (problem is not None and "merged over several rows, such as rows" in problem) == is_refused


def test_wrong_dimensions_are_ignored(tmp_path: Path) -> None:
    """Some programs state one cell as a sheet's size; all cells are still read."""
    path = rewritten(
        workbook(tmp_path / "t.xlsx", [("a", "visible", MAY)]), rb'<dimension ref="[^"]*"', b'<dimension ref="A1"'
    )
    assert named(ap.read_baskets(path)) == READ_MAY


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_other_files_have_no_sheets(tmp_path: Path, name: str) -> None:
    """``sheet=`` is refused for a file that is not a workbook."""
    import pandas as pd

    frame = pd.DataFrame({"receipt": [1, 1], "item": ["tea", "rye"]})
    getattr(frame, "to_csv" if name == "t.csv" else "to_parquet")(tmp_path / name, index=False)
    refused(r"sheet.*leave (it|them) out", ap.read_baskets, tmp_path / name, layout="sheet=#1")
    with pytest.raises(RecordError, match=r"sheet.*leave (it out|out these options)"):
        ap.guided.start(tmp_path / name, "item", known=True, sheet="#1")


def test_tables_of_records_take_a_sheet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A table is read from the requested sheet, or from all with the same header; also by suppression."""
    people = [["job", "ill"], ["cook", "no"], ["cook", "yes"], ["clerk", "yes"]]
    path = workbook(tmp_path / "t.xlsx", [("a", "visible", NOTES), ("b", "visible", people)])
    templates = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
    with pytest.raises(RecordError, match=r"choose some with sheet='#1' \(on the command line --layout sheet=#1\)"):
        ap.suppress.check(path, templates)
    assert ap.suppress.suppress_file(path, templates, tmp_path / "o.csv", sheet="b").records == 3
    assert sorted((tmp_path / "o.csv").read_text().split()) == ["*,no", "*,yes", "*,yes", "job,ill"]
    path = workbook(tmp_path / "u.xlsx", [("a", "visible", people), ("b", "visible", [*people, ["cook", "no"]])])
    assert ap.suppress.suppress_file(path, templates, tmp_path / "p.csv").records == 7
    assert caplog.messages == ["u.xlsx: read as: sheet=#1+#2"]


def test_errors_of_tables_name_the_sheet(tmp_path: Path) -> None:
    """For a table over several sheets, an error gives the sheet's number and the row number within it."""
    plan = TablePlan((NumberColumn("age", UniformNoise(10, 2), False, Fraction(0), Fraction(1), 10),), 0)
    sheets: Sheets = [(name, "visible", [["age"], [0.5], [0.5 if name == "a" else "Zx9"]]) for name in "ab"]
    stream = stream_table(workbook(tmp_path / "t.xlsx", sheets), plan, TableOptions())
    with pytest.raises(RecordError, match="column age has no number in 1 record, first in line 3 of sheet #2"):
        list(stream)


def test_archives_that_are_no_workbook_are_refused(tmp_path: Path) -> None:
    """Any other ZIP file is refused as not a spreadsheet."""
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("Zx9", b"tea")
    refused("is not a spreadsheet or is damaged", ap.read_baskets, tmp_path / "t.xlsx")
