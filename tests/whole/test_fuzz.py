"""Untrusted bytes, also hostile ones, are refused with an error of this package, or read and written again the same.

The targets are those of tests/fuzz, which ``python dev.py fuzz`` runs longer, guided by coverage.
"""

import gzip
import io
import json
import os
import re
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command_line import NAME, marks_in, run_program, shown_by
from fuzz.targets import TARGETS, accepted, folder, parquet_bytes, plans
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import items_plan, small_plan

import assocpriv as ap
from assocpriv import read_baskets
from assocpriv.files.arrow import column_chunks
from assocpriv.files.plan_files import read_catalogue, read_plan, read_taxonomy
from assocpriv.files.report_files import PLAN_KEY
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import AssocprivError, BasketError, PlanError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.baskets.generator import Generator, primitive_polynomial
from assocpriv.plans.baskets.operator import Operator
from assocpriv.records.basket_files import stream_baskets
from assocpriv.records.baskets import list_cells
from assocpriv.records.cells import Origin
from assocpriv.records.columns import Rows
from assocpriv.records.layout import DetectedLayout, Layout, ReadOptions
from assocpriv.records.long_rows import long_part
from tests.files.test_arrow import patched

ROOT = Path(__file__).parents[2]
SLOW = {"table_parquet", "table_csv", "table_json", "baskets_parquet", "report_file"}


def quick(examples: int) -> settings:
    """Return settings for a number of examples."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=examples, suppress_health_check=checks)


# ---- any bytes


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """Return a seed with a few pieces changed, removed, inserted or doubled."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        piece = bytes(data[start:end])
        digits = st.integers(-(2**70), 2**70).map(lambda number: str(number).encode())
        data[start:end] = draw(st.one_of(st.just(b""), st.just(piece * 2), st.binary(max_size=9), digits))
    return bytes(data)


ODD = st.text(st.sampled_from("01289ab ,;\"'\r\n\t\0\ufeff\u2028\ud800é-+.#\x1a\x85"), max_size=40)


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_bytes_are_refused_or_round_trip(name: str) -> None:
    """Seeds are accepted; changed seeds, random bytes and odd text raise only errors of this package."""
    target = TARGETS[name]
    odd = ODD.map(lambda text: text.encode("utf-8", errors="surrogatepass"))
    assert all(target.run(seed) for seed in target.seeds())

    @quick(15 if name in SLOW else 80)
    @given(st.one_of(damaged(target.seeds()), odd, st.binary(max_size=60)))
    def run(data: bytes) -> None:
        target.run(data)

    run()


# ---- plans and tables whose fields are hostile


HOSTILE: list[Any] = [
    None, True, -1, 0, 1, 2, 15, 16, 2**31, 2**63, 2**64, 10**9, 10**4000, -(10**30), 0.5, 1e308, float("nan"),
    float("inf"), "", "0", "1/0", "1e999999999", "9" * 5000, "-1", "½", "\ud800", "\0", "a" * 100_000, [], [[]], {},
    [1, "a"], {"count": 10**9}, {"names": ["a", "a"]}, {"names": [None]}, {"kind": "none"}, {"kind": []},
    [["a"]] * 3, {"a": "a"}, {"a": {"b": "c"}}, {"partitions": 2, "pieces": 2, "seed": 0}, "hidden",
    "fixed-size",
]  # fmt: skip


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of everything in JSON content."""
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in list(keys):
        yield content, key
        yield from places(content[key])


@st.composite
def hostile(draw: st.DrawFn, texts: list[str]) -> str:
    """Return JSON text with a few fields replaced, dropped, added or doubled."""
    content = json.loads(draw(st.sampled_from(texts)))
    for _ in range(draw(st.integers(1, 2))):
        container, key = draw(st.sampled_from(list(places(content)) or [({"a": 0}, "a")]))
        change = draw(st.sampled_from(["replace", "replace", "replace", "drop", "add"]))
        if change == "replace":
            container[key] = deepcopy(draw(st.sampled_from(HOSTILE)))  # a later change may be inside it
        elif change == "drop":
            del container[key]
        elif isinstance(container, dict):
            container[draw(st.sampled_from(["view", "x", "report_size", "ones_row", "blocks", "\ud800"]))] = 1
        else:
            container.append(deepcopy(draw(st.sampled_from(HOSTILE))))
    return json.dumps(content).replace('"\ud800"', '"\\ud800"')


@pytest.mark.parametrize("name", ["plan", "table_plan", "plan_guided", "guidance"])
def test_hostile_plans_are_refused_or_round_trip(name: str) -> None:
    """Plans and guidance have fields with wrong types, sizes and relations, huge numbers and NaN."""

    @quick(150)
    @given(hostile([seed.decode() for seed in TARGETS[name].seeds()]))
    def run(text: str) -> None:
        TARGETS[name].run(text.encode())

    run()


@pytest.mark.parametrize("depth", range(900, 1001, 20))
def test_nesting_as_deep_as_the_reader_goes_is_refused(depth: int) -> None:
    """A guarantee nested as deeply as JSON can be read is refused, and the error does not contain its text."""
    content = plans()[0].to_json()
    text = json.dumps(content | {"guarantee": {"prior": "DEEP", "posterior": "1/2"}})
    for hole in ('"DEEP"', '"hidden"', '"none"'):
        with pytest.raises(PlanError):
            Plan.parse(text.replace(hole, "[" * depth + "]" * depth))


# ---- Parquet of any types


ARRAYS = [
    pa.array([1, 2, 3]), pa.array([-1, 2, 2**62]), pa.array([2**63, 2**64 - 1, 0], pa.uint64()),
    pa.array(["a", "b", None]), pa.array(["", " ", "\0"]), pa.array([b"\xff", b"a", b""]),
    pa.array([[1], [2, 2], None]), pa.array([["a"], [], [None]]), pa.array([[["a"]], [[]], None]),
    pa.array([{"a": 1}, None, {"a": 2}]), pa.array([[{"a": 1}], [], []]), pa.array([1.5, float("nan"), None]),
    pa.array([True, False, None]), pa.nulls(3), pa.array(["x", "y", "x"]).dictionary_encode(),
    pa.array([[2**63], [], [5]], pa.list_(pa.uint64())), pa.array([[-1], [0], [7]], pa.large_list(pa.int8())),
    pa.array([[1, 2], [3, 4], [5, 5]], pa.list_(pa.int32(), 2)),
    pa.array([[b"\xff"], [b"a"], []], pa.list_(pa.binary())), pa.array([b"abc", b"\0\0\0", b"def"], pa.binary(3)),
    pa.array([0, 1, 2], pa.timestamp("us")), pa.array([1, 2, 3], pa.decimal128(38, 0)),
    pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
]  # fmt: skip
NAMES = ["items", "item", "transaction", "Transaction ", "report", "itemsets", "count", "", "\0", "a.b"]


@pytest.mark.parametrize("name", ["baskets_parquet", "report_file", "table_parquet"])
def test_parquet_of_any_types_is_refused_or_round_trips(name: str) -> None:
    """Columns of wrong types, ids of 2^63 and more or below 0, nested lists, nulls, doubled and odd names."""

    @quick(40)
    @given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(ARRAYS)), min_size=1, max_size=3))
    def run(columns: list[tuple[str, pa.Array]]) -> None:
        table = pa.Table.from_arrays([array for _, array in columns], names=[label for label, _ in columns])
        metadata = {PLAN_KEY: plans()[0].canonical_json, b"assocpriv-itemsets": b"{}"}
        TARGETS[name].run(parquet_bytes(table.replace_schema_metadata(metadata)))

    run()


def test_column_chunks_are_not_listed_by_arrow() -> None:
    """Arrow's objects for column chunks end the process at some damaged footers; the one in use is of a read table."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "assocpriv").rglob("*.py")]
    uses = re.compile(r"(?<!schema)(?<!batch)(?<!part)\.column\(")
    assert sum(len(uses.findall(text)) for text in sources if ".row_group(" in text) == 1


def printed(script: str, folder: Path, *arguments: str) -> list[str]:
    """Run a script in a process of its own, with the tests and the package on Python's path; return its lines."""
    tests = Path(__file__).resolve().parents[1]
    paths = os.environ | {"PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    return run_program(sys.executable, "-c", script, *arguments, folder=folder, env=paths).stdout.splitlines()


@pytest.mark.parametrize("code", [1, 2, 2**31 - 1, -1])
def test_codes_outside_a_dictionary_are_refused(code: int) -> None:
    """A damaged column may have codes outside its dictionary; nothing beyond the dictionary is read."""
    codes = pa.array([0, code], pa.int32())
    bad = pa.DictionaryArray.from_arrays(codes, pa.array([NAME]), safe=False)
    ids = pa.array(range(len(bad)))
    for columns in ([ids, bad], [bad, ids]):
        with pytest.raises(BasketError, match=r"codes outside its dictionary|has no") as caught:
            long_part(Rows(columns, lambda row: row + 1, Origin()), DetectedLayout(Layout("long"), ("t", "i"), (0, 1)))
        assert not marks_in(shown_by(caught.value))
    if code > 0:
        with pytest.raises(BasketError, match="codes outside its dictionary"):
            list_cells(pa.ListArray.from_arrays([0, 2], bad))


# ---- files that claim more than they hold


def report_file(plan: Plan, rows: int, **options: Any) -> bytes:
    """Return a Parquet file with a number of reports, all zeros."""
    kind = pa.binary(plan.report_bytes)
    array = pa.FixedSizeBinaryArray.from_buffers(kind, rows, [None, pa.py_buffer(bytes(rows * plan.report_bytes))])
    schema = pa.schema([pa.field("report", kind, nullable=False)], metadata={PLAN_KEY: plan.canonical_json})
    return parquet_bytes(pa.Table.from_arrays([array], schema=schema), **options)


BOMB_ROWS = 8_000_000
_MAX_MIB = 100  # more than before the first bomb; read whole, tables need 180, baskets 400 and more


def bombs(where: Path) -> dict[str, tuple[str, str]]:
    """Write files of kilobytes that hold, or claim, gigabytes; return each one's reader and expected words."""
    zeros = pa.array(np.zeros(BOMB_ROWS, dtype=np.int64))
    once = {"row_group_size": BOMB_ROWS, "use_dictionary": True}
    text = pa.array(["x" * (1 << 26)])
    plan = small_plan("bch", 6, 2, 2)
    ids = np.arange(20_000)
    long_names = pa.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), pa.array(["x" * 60_000]))
    zipped = {"compression": "zstd", "store_schema": False}
    delta = zipped | {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    cell = parquet_bytes({"itemsets": text}, compression="zstd", use_dictionary=False)
    content = {
        "reports.parquet": ("reports", report_file(plan, BOMB_ROWS, **once), "bytes cannot hold"),
        "zipped.parquet": ("reports", report_file(plan, BOMB_ROWS, compression="zstd"), "bytes cannot hold"),
        "long.parquet": ("baskets", parquet_bytes({"transaction": zeros, "item": zeros}, **once), "read as a whole"),
        "table.parquet": ("table", parquet_bytes({"count": zeros, "itemsets": zeros}, **once), "few bytes"),
        "wide.parquet": ("table", parquet_bytes({"itemsets": text}, compression="zstd"), "few bytes"),
        "false-cell.parquet": (
            "table", patched(cell, "plain", column_chunks(io.BytesIO(cell))[0].plain_bytes, 3), "few bytes",
        ),
        "name.parquet": ("baskets", parquet_bytes({"transaction": ids, "item": long_names}, **zipped), "read 20000"),
        "names.parquet": ("table", parquet_bytes({"itemsets": long_names}, **zipped), "not a file of mined"),
        "delta.parquet": (
            "table", parquet_bytes({"itemsets": ["x" * 60_000] * 4000}, **delta), "not a file of mined",
        ),
        "line.dat.gz": ("baskets", gzip.compress(b"1 " * (1 << 25), 1), "MiB to read"),
        "long.csv.gz": ("long", gzip.compress(b"transaction,item\n" + b"1,1\n" * (1 << 22), 1), "read as a whole"),
    }  # fmt: skip
    for name, (_, data, _) in content.items():
        assert len(data) < 1 << 21, name
        (where / name).write_bytes(data)
    return {name: (reader, words) for name, (reader, _, words) in content.items()}


READ_BOMBS = """
import sys
import tracemalloc
from pathlib import Path
import numpy, pandas, pyarrow.parquet, pyarrow.compute
from assocpriv.records.basket_files import stream_baskets
from assocpriv.records.layout import ReadOptions
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.guarantees.errors import AssocprivError
from assocpriv.files.report_files import read_reports
from assocpriv.server.baskets.result_frames import read_itemsets

def stream(path, chosen=None):
    options = {"unknown": "drop", "repeats": "merge", "memory_bytes": 64 << 20, "layout": chosen}
    return sum(map(len, stream_baskets(path, Catalogue.numbered(5), ReadOptions(**options))))

READERS = {
    "reports": lambda path: sum(map(len, read_reports(path).batches(1 << 20))),
    "baskets": stream,
    "long": lambda path: stream(path, "long"),
    "table": read_itemsets,
}
def most():
    # of this process only; getrusage starts with the parent's value
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
Path("warm.dat").write_text("1 2\\n")
stream(Path("warm.dat"))
before = most()
for line in sys.argv[1:]:
    reader, name = line.split(" ")
    try:
        output = "read %s" % READERS[reader](Path(name))
    except AssocprivError as error:
        output = str(error)
    print(name, most() - before, output)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as Linux counts it")
def test_files_of_kilobytes_do_not_take_gigabytes(tmp_path: Path) -> None:
    """Reports, baskets and tables that claim more than their bytes can hold are refused before they are read."""
    made = bombs(tmp_path)
    lines = printed(READ_BOMBS, tmp_path, *(f"{reader} {name}" for name, (reader, _) in made.items()))
    for line, (name, (_, words)) in zip(lines, made.items(), strict=True):
        shown, mib, output = line.split(" ", 2)
        assert shown == name
        assert words in output, line
        assert int(mib) < _MAX_MIB, line


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 2**63 - 1, 2**63, 2**64, 10**30])
def test_huge_ids_are_refused_or_unknown(tmp_path: Path, number: int) -> None:
    """Ids beyond a catalogue, up to 2^63 and beyond, are not items in any format, and never wrap around to one."""
    path = tmp_path / "ids"
    contents = {"dat": f"{number} 1\n", "lines": f"{number},1\n", "long": f"transaction,item\n1,{number}\n1,1\n"}
    catalogue, options = Catalogue.numbered(5), {"unknown": "drop", "repeats": "merge"}
    for kind, text in contents.items():
        path.write_text(text)
        found = accepted(lambda kind=kind: read_baskets(path, layout=kind, catalogue=catalogue, **options))
        assert found is None or found.items.tolist() == [1]
    for kind in (pa.int64(), pa.uint64()):
        if number < 2**63 or (kind == pa.uint64() and number < 2**64):
            path.write_bytes(parquet_bytes({"items": pa.array([[number, 1]], pa.list_(kind))}))
            assert read_baskets(path, catalogue=catalogue, unknown="drop").items.tolist() == [1]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.parametrize("reader", [read_plan, read_catalogue, read_taxonomy])
def test_files_without_end_are_refused(reader: Any) -> None:
    """A device that never ends, and claims to have no bytes, is not read to its end."""
    with pytest.raises(PlanError, match="larger than 64 MiB"):
        reader("/dev/zero")


@pytest.mark.parametrize(
    ("kind", "insert_bits", "blocks", "left_out"),
    [("bch", 15, 170, []), ("bch", 1, 195, []), ("reed-solomon", 16, 195, []), ("none", 16, 0, ["bags"])],
)
def test_a_plan_of_few_bytes_costs_a_device_little(
    kind: str, insert_bits: int, blocks: int, left_out: list[str]
) -> None:
    """With the largest fields and catalogues that a short plan can state, a report needs few megabytes on a device."""
    n_items, operator = (1 << 20) - 1, Operator(1, 1, insert_bits, 3, (1, 7))
    w = {"bch": ((1 << 20) * insert_bits).bit_length(), "reed-solomon": 20}.get(kind, 0)
    generator = Generator(kind, w, primitive_polynomial(w), blocks) if w else Generator()
    guarantee = Guarantee(Fraction(1, 10**24), 1 - Fraction(1, 10**24))
    made = items_plan(n_items, operator, generator, guarantee=guarantee)
    text = replace(made, names=Names(left_out=tuple(left_out))).canonical_json
    assert len(text) < 1024
    tracemalloc.start()
    try:
        assert ap.randomize(["1"], Plan.parse(text))
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


# ---- no item in any refusal


@contextmanager
def no_marks() -> Iterator[None]:
    """Suppress errors of this package that contain no mark, also in chained exceptions; let others fail."""
    try:
        yield
    except AssocprivError as error:
        shown = shown_by(error)
        assert not marks_in(shown)


PIECES = st.sampled_from([NAME, NAME, ",", "\n", "\r", '"', " ", "1", "milk", "\0", "\x07", "\ud800", "\t", "9" * 12])


@quick(60)
@given(st.lists(PIECES, max_size=12), st.sampled_from(["dat", "lines", "long"]), st.binary(max_size=2))
def test_malformed_text_shows_no_mark(pieces: list[str], kind: str, tail: bytes) -> None:
    """No refusal shows marked items among separators, quotes and broken characters, whole or as a stream."""
    path = folder() / "marked"
    start = b"transaction,item\n" if kind == "long" and len(pieces) % 2 else b""
    path.write_bytes(start + "".join(pieces).encode("utf-8", errors="surrogatepass") + tail)
    for catalogue in (None, Catalogue(["milk", "1"])):
        with no_marks():
            read_baskets(path, layout=kind, catalogue=catalogue)
        with no_marks():
            list(stream_baskets(path, catalogue, ReadOptions(kind, memory_bytes=1 << 24)))


@pytest.mark.parametrize(
    ("ending", "seeds"),
    [
        (".parquet", [parquet_bytes({"items": [[NAME, "milk"], [NAME]]}),
                      parquet_bytes({"transaction": [NAME, NAME], "item": [NAME, "milk"]}),
                      parquet_bytes({NAME: pa.array([NAME, "b"]).dictionary_encode(), "item": [[NAME], None]})]),
        (".csv.gz", [gzip.compress(f"milk,{NAME}\n".encode() * 9, 0), zlib.compress(NAME.encode())]),
    ],
    ids=["parquet", "gzip"],
)  # fmt: skip
def test_malformed_parquet_shows_no_mark(ending: str, seeds: list[bytes]) -> None:
    """Damaged Parquet files of marked items, and archives that store them, are refused without a mark, or read."""

    @quick(60)
    @given(damaged(seeds))
    def run(data: bytes) -> None:
        path = (folder() / "marked").with_suffix(ending)
        path.write_bytes(data)
        with no_marks():
            read_baskets(path, catalogue=Catalogue(["milk"]))

    run()
