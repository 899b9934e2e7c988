"""Tests of files: outputs that appear whole or not at all, plan files, catalogues and report files."""

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive import items_plan
from numpy.typing import NDArray

import assocpriv as ap
from assocpriv.files import atomic
from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.files.plan_files import read_catalogue, read_plan, write_plan
from assocpriv.files.report_files import CLOSED_KEY, PLAN_KEY, Reports, files_by_day, read_reports, write_reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import FileError, PlanError, PrivacyLimitError, WireError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import Operator

OPERATOR = Operator(2, 1, 1, 10, (204, 102, 616))
GUARANTEE = Guarantee("5%", "50%")
PLAN = items_plan(["milk", "bread", "é🍞"], OPERATOR, k=2, guarantee=GUARANTEE)  # 5 bits, 1 byte
OTHER, WIDE = (items_plan(n_items, OPERATOR, k=2, guarantee=GUARANTEE) for n_items in (3, 18))  # 20 bits, 3 bytes


def packed_reports(plan: Plan, count: int) -> NDArray[np.uint8]:
    """Return different reports of a plan, uint8 of shape (count, report_bytes)."""
    numbers = (np.arange(count, dtype=np.uint64) * 7919) % (1 << plan.items.report_bits)
    return np.ascontiguousarray(numbers.astype("<u8").view(np.uint8).reshape(count, 8)[:, : plan.report_bytes])


def all_rows(reports: Reports, size: int = 64) -> NDArray[np.uint8]:
    """Return every report as one array."""
    return np.concatenate([np.empty((0, reports.plan.report_bytes), np.uint8), *reports.batches(size)])


@pytest.fixture
def report_file(tmp_path: Path) -> Path:
    """Return a file of 50 reports."""
    path = tmp_path / "r.parquet"
    write_reports([packed_reports(WIDE, 50)], WIDE, path)
    return path


# ---- atomic outputs


def test_output_appears_when_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a block runs the final name is free; afterwards it holds everything and nothing else is left.

    Where hard links do not exist the file is renamed.
    """
    for name in ("linked", "renamed"):
        target = tmp_path / name / "out.pq"
        target.parent.mkdir()
        with atomic_output(target) as stream:
            stream.write(b"one")
            assert not target.exists()
        assert target.read_bytes() == b"one"
        assert os.listdir(target.parent) == ["out.pq"]
        monkeypatch.setattr(atomic.os, "link", full_disk)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("existing", [[], ["out.pq"]])
def test_error_in_the_block_leaves_nothing(tmp_path: Path, error: type[BaseException], existing: list[str]) -> None:
    """Whatever the block raises goes through; the final name keeps what it had and no unfinished file stays."""
    for name in existing:
        (tmp_path / name).write_bytes(b"before")
    with pytest.raises(error), atomic_output(tmp_path / "out.pq", force=True) as stream:  # noqa: PT012
        stream.write(b"half")
        raise error("stop")
    assert os.listdir(tmp_path) == existing
    assert all((tmp_path / name).read_bytes() == b"before" for name in existing)


def full_disk(*_args: Any) -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


class NearlyFull(io.FileIO):
    """A file on a disk with room for 300 bytes."""

    def write(self, data: Any) -> int:
        """Write until the disk is full."""
        if self.tell() + len(data) > 300:
            full_disk()
        return super().write(data)


MANY = packed_reports(WIDE, 5000)
WRITERS: dict[str, Callable[..., Any]] = {  # everything here that writes a file
    "plan": lambda path, **how: write_plan(PLAN, path, **how),
    "reports": lambda path, **how: write_reports([MANY, MANY], WIDE, path, **how),
    "collection": lambda path, **how: Reports(WIDE, MANY).write(path, **how),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", ["write", "fsync"])
def test_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, place: str) -> None:
    """A full disk gives FileError and leaves the earlier file, whichever write or sync meets it."""
    (target := tmp_path / "out.pq").write_bytes(b"before")
    if place == "fsync":
        monkeypatch.setattr(atomic.os, "fsync", full_disk)
    else:
        monkeypatch.setattr(atomic, "open", NearlyFull, raising=False)
    with pytest.raises(FileError, match=r"cannot write .*out.pq: No space left on device; no partial output remains"):
        WRITERS[writer](target, force=True)
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.pq"]


def test_failing_rename_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the final rename fails the unfinished file is removed too."""
    monkeypatch.setattr(atomic.os, "replace", full_disk)
    with pytest.raises(FileError, match="No space left"), atomic_output(tmp_path / "out.pq", force=True) as stream:
        stream.write(b"x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("writer", WRITERS)
def test_existing_output_needs_force(tmp_path: Path, writer: str) -> None:
    """An existing file is kept unless force is given."""
    (target := tmp_path / "out.pq").write_bytes(b"before")
    with pytest.raises(FileError, match="exists already; choose another name or pass force=True"):
        WRITERS[writer](target)
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.pq"]


@pytest.mark.parametrize("force", [False, True])
def test_output_must_be_a_file_in_a_folder(tmp_path: Path, force: bool) -> None:
    """A folder as output and a missing folder around it are refused before any work."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileError, match="is a folder; name a file to write"):
        check_writable(tmp_path, force=force)
    for folder in ("no", "file"):
        with pytest.raises(FileError, match="does not exist; make it first"):
            check_writable(tmp_path / folder / "out", force=force)
    assert os.listdir(tmp_path) == ["file"]


def test_force_does_not_replace_a_device(tmp_path: Path) -> None:
    """A pipe (or /dev/null) named as output with force is written to or refused, not replaced by a file."""
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(FileError), atomic_output(pipe, force=True) as stream:
        stream.write(b"x")
    assert pipe.is_fifo()


# ---- plan files and catalogues


@pytest.mark.parametrize("plan", [PLAN, OTHER], ids=["names", "numbered"])
def test_plan_file_round_trip(tmp_path: Path, plan: Plan) -> None:
    """A plan file gives the same plan back and is ASCII, one field per line."""
    write_plan(plan, path := tmp_path / "p.json")
    assert read_plan(path) == read_plan(str(path)) == plan
    assert path.read_bytes().isascii()
    assert path.read_bytes().endswith(b"\n}\n")


def test_bad_plan_file_is_refused_by_name(tmp_path: Path) -> None:
    """A missing, binary, truncated, oversized or guarantee-breaking plan file raises PlanError with its name."""
    path = tmp_path / "p.json"
    for missing, message in ((path, r".*p\.json: No such file"), (tmp_path, "")):
        with pytest.raises(PlanError, match=f"cannot read the plan {message}"):
            read_plan(missing)
    write_plan(PLAN, path)
    whole = path.read_text(encoding="ascii")
    for content, message in ((b"\xff\xfe", "it is not UTF-8 text"), (b"PAR1\xff\xfe", "it is a Parquet file")):
        path.write_bytes(content)
        with pytest.raises(PlanError, match=rf"p\.json is not a plan: {message}"):
            read_plan(path)
    for cut in range(0, len(whole) - 3, 11):
        path.write_text(whole[:cut], encoding="ascii")
        with pytest.raises(PlanError, match=r"p\.json: not a plan: the text is not valid JSON"):
            read_plan(path)
    path.write_text(whole.replace('"1/20"', '"2/5"'), encoding="ascii")
    with pytest.raises(PrivacyLimitError, match=r"p\.json: the plan's amplification.* breaks its guarantee"):
        read_plan(path)
    with path.open("wb") as stream:
        stream.truncate((64 << 20) + 1)
    with pytest.raises(PlanError, match="larger than 64 MiB"):
        read_plan(path)


@pytest.mark.parametrize("text", ["a\né🍞\n", "a\r\né🍞\r\n", "\ufeffa\né🍞", " a \né🍞\n\n\n"])
def test_catalogue_file_round_trip(tmp_path: Path, text: str) -> None:
    """A catalogue is read with any line ends, blanks around names, a byte order mark and blank lines at the end."""
    (path := tmp_path / "c.txt").write_bytes(text.encode("utf-8"))
    assert list(read_catalogue(path)) == ["a", "é🍞"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "entry 1 must be a name"),
        (b"a\n\nb", "entry 2 must be a name"),
        (b"a\nb\na", "entry 3 repeats an earlier name"),
        (b"a\x00b", "is not UTF-8 text"),
        (b"item\nmilk\ntea\n", "line 1 seems to be a header; remove it"),
        (b"\xef\xbb\xbfProduct Name\r\nmilk\r\n", "line 1 seems to be a header"),
        (b"\xc3\xa9\n\xff", "is not UTF-8 text"),
    ],
)
def test_bad_catalogue_file_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    """A catalogue file with an empty line, a repeated name or bytes that are no text is refused."""
    (path := tmp_path / "c.txt").write_bytes(data)
    with pytest.raises(PlanError, match=message):
        read_catalogue(path)
    with pytest.raises(PlanError, match="cannot read the catalogue"):
        read_catalogue(tmp_path / "none")


def test_an_item_may_have_the_name_of_a_column(tmp_path: Path) -> None:
    """Below line 1 such a name is an item, and a catalogue made from baskets puts it there; on line 1 it is refused."""
    made = ap.catalogue([["item", "tea"], ["milk"]])
    assert list(made) == ["milk", "tea", "item"]
    ap.write_catalogue(made, tmp_path / "c.txt")
    assert read_catalogue(tmp_path / "c.txt") == made
    with pytest.raises(PlanError, match="move it to another line"):
        ap.write_catalogue(ap.Catalogue(["item", "tea"]), tmp_path / "d.txt")
    assert not (tmp_path / "d.txt").exists()


# ---- report files


@pytest.mark.parametrize("plan", [PLAN, WIDE], ids=["one byte", "three bytes"])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_report_file_round_trip(tmp_path: Path, plan: Plan, count: int) -> None:
    """Reports written to a file come back in order, with their plan."""
    path, rows = tmp_path / "r.parquet", packed_reports(plan, count)
    assert write_reports([rows[:7], rows[7:]], plan, path) == count
    read = read_reports(path)
    assert (read.plan, len(read)) == (plan, count)
    assert np.array_equal(all_rows(read), rows)
    read.write(tmp_path / "again.parquet")
    assert np.array_equal(all_rows(read_reports(tmp_path / "again.parquet")), rows)


def test_report_file_is_as_documented(report_file: Path) -> None:
    """The file has one required column of fixed width, plain, and the canonical plan in its metadata."""
    with pq.ParquetFile(report_file) as file:
        column = file.schema.column(0)
        assert file.schema.names == ["report"]
        assert (column.physical_type, column.length, column.max_definition_level) == ("FIXED_LEN_BYTE_ARRAY", 3, 0)
        assert file.metadata.metadata[PLAN_KEY] == WIDE.canonical_json.encode("ascii")
        assert file.metadata.row_group(0).column(0).compression == "UNCOMPRESSED"


def test_folder_is_one_collection(tmp_path: Path) -> None:
    """A folder is read as its *.parquet files in order of name; hidden and other files are ignored."""
    rows = packed_reports(PLAN, 9)
    for name, part in (("b.parquet", rows[4:]), ("a.parquet", rows[:4])):
        write_reports([part], PLAN, tmp_path / name)
    for name in (".a.parquet.0.part", ".x.parquet", "notes.txt"):
        (tmp_path / name).write_bytes(b"no")
    assert np.array_equal(all_rows(read_reports(tmp_path)), rows)


def test_copies_do_not_count_twice(tmp_path: Path) -> None:
    """A file and its copy are refused; a few reports may be equal by chance."""
    for count, name in product((999, 1000), "ab"):
        (tmp_path / f"{count}{name}").mkdir()
        write_reports([packed_reports(WIDE, count)], WIDE, tmp_path / f"{count}{name}" / "r.parquet")
    assert len(read_reports([tmp_path / "999a", tmp_path / "999b"])) == 1998
    with pytest.raises(WireError, match=r"b/r.parquet is named twice, or is a copy of .*1000a"):
        read_reports([tmp_path / "1000a", tmp_path / "1000b"])


def test_reports_of_different_plans_do_not_mix(tmp_path: Path) -> None:
    """Files of two plans are refused with both ids."""
    for name, plan in (("a.parquet", PLAN), ("b.parquet", OTHER)):
        write_reports([packed_reports(plan, 3)], plan, tmp_path / name)
    with pytest.raises(WireError, match=rf"plan {OTHER.plan_id[:12]}, .*plan {PLAN.plan_id[:12]}; .*cannot be mixed"):
        read_reports(tmp_path)


def test_no_reports_are_refused(tmp_path: Path) -> None:
    """An empty folder, no path at all and a missing file are refused."""
    no, none = "there are no report files", "there is no report file"
    for nothing, message in ((tmp_path, no), ([], no), (tmp_path / "none.parquet", none)):
        with pytest.raises(WireError, match=message):
            read_reports(nothing)


def test_single_reports_are_checked() -> None:
    """A report of another length or with an unused bit is refused with its position, also in an array."""
    good = packed_reports(WIDE, 1)[0].tobytes()
    assert len(Reports.from_bytes([good, good], WIDE)) == 2
    assert len(Reports.from_bytes([], WIDE)) == 0
    with pytest.raises(WireError, match="report 1 has 2 bytes, the plan's reports have 3"):
        Reports.from_bytes([good, good[:2]], WIDE)
    with pytest.raises(WireError, match="report 2 has a bit set beyond the plan's 20"):
        Reports.from_bytes([good, good, b"\x00\x00\x10"], WIDE)
    with pytest.raises(WireError, match="report 0 has a bit set beyond"):
        Reports(PLAN, np.full((1, PLAN.report_bytes), 255, np.uint8))


def test_unused_bits_in_files_are_found(tmp_path: Path) -> None:
    """A report with an unused bit is named by its file and its number there, at any batch size."""
    rows = packed_reports(WIDE, 30)
    write_reports([rows], WIDE, tmp_path / "a.parquet")
    rows[17, 2] |= 0x80
    write_reports([rows], WIDE, tmp_path / "b.parquet")
    for size in (1, 7, 100):
        with pytest.raises(WireError, match=r"b\.parquet: report 17 has a bit set beyond"):
            all_rows(read_reports(tmp_path), size)


def table(columns: dict[str, Any], plan_text: Any = WIDE.canonical_json) -> pa.Table:
    """Return an Arrow table with a plan in its metadata."""
    return pa.table(columns).replace_schema_metadata(None if plan_text is None else {PLAN_KEY: plan_text})


def of_width(width: int, values: Iterable[bytes | None]) -> pa.Array:
    """Return a fixed-width column."""
    return pa.array(list(values), pa.binary(width))


GOOD = of_width(3, [b"\x00\x01\x02", b"abc"[:2] + b"\x00"])
WRONG_FILES = {
    "no plan": (table({"report": GOOD}, None), WireError, "contains no plan"),
    "a bad plan": (table({"report": GOOD}, "{}"), PlanError, "not a plan"),
    "a plan that is no text": (table({"report": GOOD}, b"\xff\xfe"), PlanError, "its plan is not UTF-8 text"),
    "another width": (table({"report": of_width(2, [b"ab"])}), WireError, r"column 'report' of fixed_size_binary\[3\]"),
    "variable width": (table({"report": [b"abc"]}), WireError, "one column 'report'"),
    "another name": (table({"reports": GOOD}), WireError, "one column 'report'"),
    "one column more": (table({"report": GOOD, "user": ["a", "b"]}), WireError, "one column 'report'"),
    "a null": (table({"report": of_width(3, [b"\0\0\0", None])}), WireError, "1 missing reports"),
}


@pytest.mark.parametrize(("wrong", "error", "message"), WRONG_FILES.values(), ids=list(WRONG_FILES))
def test_parquet_of_another_shape_is_refused(
    tmp_path: Path, wrong: pa.Table, error: type[ValueError], message: str
) -> None:
    """A Parquet file whose plan, column, width or nulls are not those of a report file is refused."""
    pq.write_table(wrong, path := tmp_path / "r.parquet")
    with pytest.raises(error, match=message):
        all_rows(read_reports(path))


@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
def test_parquet_of_other_writers_is_read(tmp_path: Path, compression: str) -> None:
    """A nullable column without nulls, dictionaries, compression and small row groups are all read."""
    rows = packed_reports(WIDE, 100)
    made = table({"report": of_width(3, [row.tobytes() for row in rows])})
    pq.write_table(made, tmp_path / "r.parquet", compression=compression, row_group_size=7, use_dictionary=True)
    assert np.array_equal(all_rows(read_reports(tmp_path / "r.parquet"), 11), rows)


def test_damage_never_loses_reports_silently(report_file: Path) -> None:
    """A damaged file never yields another number of reports than its collection states."""
    whole, copy = report_file.read_bytes(), report_file.with_name("damaged.parquet")
    for position in range(0, len(whole), 5):
        copy.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        with contextlib.suppress(WireError, PlanError):
            read = read_reports(copy)
            assert len(all_rows(read)) == len(read)


def test_rows_of_another_width_are_not_written(tmp_path: Path) -> None:
    """Arrays whose rows do not have the plan's width are refused, not truncated."""
    with pytest.raises(WireError):
        write_reports([np.zeros((4, 5), np.uint8)], WIDE, tmp_path / "r.parquet")


# ---- collections


@pytest.mark.parametrize("shape", [(3, 2), (3, 40), (3,), (3, 1, 1), (3, 1, "int64")])
def test_arrays_that_are_no_reports_are_refused(shape: tuple[Any, ...]) -> None:
    """Rows of another length, type or shape would lead compiled code beyond its tables."""
    *shape, dtype = shape if isinstance(shape[-1], str) else (*shape, "uint8")
    assert PLAN.report_bytes == 1
    with pytest.raises(WireError, match="rows of 1 byte"):
        Reports(PLAN, np.zeros(shape, dtype))


@pytest.mark.parametrize("sizes", [[3] * 40, [0, 1, 64, 1, 0, 63, 64, 2], [64], [], [200, 1, 1]])
def test_small_files_come_in_large_batches(tmp_path: Path, sizes: list[int]) -> None:
    """All reports come in order, in batches of at most the requested size, few of them small."""
    packed, start = packed_reports(PLAN, 300), 0
    (tmp_path / "empty").mkdir()
    for number, size in enumerate([*sizes, 1]):
        write_reports([packed[start : start + size]], PLAN, tmp_path / f"{number:03}.parquet")
        start += size
    batches = list(read_reports(tmp_path).batches(64))
    assert np.array_equal(np.concatenate(batches), packed[:start])
    assert max(map(len, batches)) <= 64
    assert len(batches) <= 2 + 2 * start // 64


def test_reading_holds_no_more_than_a_batch(tmp_path: Path) -> None:
    """Reading batch by batch needs little memory, whatever the file's size."""
    some = packed_reports(PLAN, 100_000)
    path = tmp_path / "large.parquet"
    write_reports((some for _ in range(150)), PLAN, path)
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in read_reports(path).batches(10_000))
    assert path.stat().st_size > 15_000_000
    assert 0 < most < 5_000_000


def test_days_are_those_of_closing(tmp_path: Path) -> None:
    """A file's day is the one on which its batch was closed, or its modification date if it states no valid day."""

    for place, message in enumerate((b"2026-05-02", b"2026-05-01", b"soon", None)):
        path = tmp_path / f"{place}.parquet"
        write_reports([packed_reports(PLAN, 3)], PLAN, path, metadata={CLOSED_KEY: message} if message else {})
        os.utime(path, (86_400, 86_400))
    days = {day: [path.name[0] for path in paths] for day, paths in files_by_day(tmp_path).items()}
    assert days == {"1970-01-02": ["2", "3"], "2026-05-01": ["1"], "2026-05-02": ["0"]}
