"""The parsers of untrusted bytes as fuzz targets, with seed inputs.

A target returns whether it accepted the bytes, and must not raise. Invalid bytes must cause an AssocprivError with a
short, printable text. Accepted content must be the same when it is written and read again.
"""

import atexit
import gzip
import io
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from naive import fixed_plan, items_plan, small_plan

from assocpriv import mine, read_baskets
from assocpriv.auditing.recompute_tables import read_guided, read_table
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.guided.guided_client import GuidedRecord, randomize_guided
from assocpriv.client.ledger_file import RECORDS_AT, Acknowledged, Entry, Queued, Scheduled, parse_ledger
from assocpriv.client.numeric.table_client import randomize_record
from assocpriv.files.mined_tables import write_itemsets
from assocpriv.files.oblivious_http import (
    BinaryRequest,
    BinaryResponse,
    KeyConfig,
    decode_key_configs,
    encode_key_configs,
)
from assocpriv.files.plan_files import read_catalogue, read_guidance, read_plan, read_taxonomy, write_plan
from assocpriv.files.report_files import Reports, message_lines, read_messages, read_reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import AssocprivError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.plans.guided.guided_plan import Guidance, GuidedPlan
from assocpriv.plans.numeric.table_plan import NumberColumn, TablePlan
from assocpriv.plans.published_plan import pack_reports
from assocpriv.records import basket_sources
from assocpriv.records.basket_files import stream_baskets
from assocpriv.records.baskets import Baskets
from assocpriv.records.cells import MISSING_WORDS, is_word
from assocpriv.records.layout import ReadOptions
from assocpriv.server.baskets.result_frames import read_itemsets
from assocpriv.server.baskets.rules import derive_rules
from assocpriv.show.plan_views import described
from assocpriv.simulation.enumeration import SeededEntropy
from tests.vectors.make_devices import write_ledger

_Result = TypeVar("_Result")
Run = Callable[[bytes], bool]
_VECTORS = Path(__file__).parents[1] / "vectors"
_LONGEST_MESSAGE = 2000
_MOST_COLUMNS = 20
_MOST_ITEMS = 1 << 12  # largest plan that a report is made under, to keep runs short


@dataclass(frozen=True)
class Target:
    """A parser, and seed inputs that it accepts."""

    run: Run
    seeds: Callable[[], list[bytes]]


@cache
def folder() -> Path:
    """Return a temporary folder of this process, in memory if possible; it is removed at exit."""
    memory = Path("/dev/shm")
    made = tempfile.mkdtemp(prefix="assocpriv-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def accepted(call: Callable[[], _Result]) -> _Result | None:
    """Return the result of a call, or None if it refuses with a printable error."""
    try:
        return call()
    except AssocprivError as error:
        text = str(error)
        assert text.strip()
        assert len(text) < _LONGEST_MESSAGE
        text.encode("utf-8")
        return None


def written(data: bytes, name: str) -> Path:
    """Write bytes to a file with this name."""
    path = folder() / name
    path.write_bytes(data)
    return path


# ---- plans


@cache
def plans() -> tuple[Plan, ...]:
    """Return plans with every kind of report."""
    none, bch, rs = small_plan("none", 5, 2, 2), small_plan("bch", 6, 2, 2), small_plan("reed-solomon", 5, 2, 2)
    rules = Names(unlisted="drop", parents=(("beer", "drink"), ("tea", "drink")), left_out=("bag",))
    rolled = replace(small_plan("none", 3, 2, 2), catalogue=Catalogue(["drink", "milk", "bröd"]), names=rules)
    guarantee = Guarantee(Fraction(1, 1000), Fraction(1, 2))
    twice = items_plan(4, Operator(1, 1, 2, 4, (5, 11)), guarantee=guarantee, reports_per_person=2)
    sizes = ReportType(2, FixedSizeOperator(1, 3, 1, (1, 5)), view=SizesView((2, 5)))
    several = replace(bch, report_types=(replace(bch.items, weight=7), sizes, small_plan("none", 6, 1, 1).items))
    return none, bch, rs, fixed_plan(5, 2, 2, 3), rolled, twice, several


def _run_plan(kind: type[Any], audited: Callable[[str], Any] | None, good_for: Callable[[Any], None]) -> Run:
    def run(data: bytes) -> bool:
        """Parse a plan's text: refused, or read again under the same id, also by the audit, and usable for a report."""
        text = data.decode("utf-8", errors="surrogateescape")
        plan = accepted(lambda: kind.parse(text))
        read = accepted(lambda: read_plan(written(data, "plan.json"), kind))
        numbers = accepted(lambda: audited(text)) if audited else None
        if plan is None:
            assert read is None
            return False
        repr(plan)
        assert read is not None
        assert kind.parse(plan.canonical_json).plan_id == read.plan_id == plan.plan_id
        if audited:
            assert numbers is not None
            assert numbers.amplification == plan.amplification
        good_for(plan)
        return True

    return run


def _basket_report(plan: Plan) -> None:
    write_plan(plan, folder() / "again.json", force=True)
    assert read_plan(folder() / "again.json").canonical_json == plan.canonical_json
    if all(each.padded_items <= _MOST_ITEMS and each.transaction_size <= 6 for each in plan.report_types):
        report_type, answer = plan.unpack_report(Randomizer(plan).randomize([0], entropy=SystemEntropy()))
        assert max(report_type.form.items(answer), default=0) < report_type.padded_items


def _table_report(plan: TablePlan) -> None:
    if len(plan.columns) <= _MOST_COLUMNS:
        json.dumps(described(plan, 1000).to_json(), allow_nan=False)
        record = {
            each.name: each.low if isinstance(each, NumberColumn) else getattr(each, "values", ("",))[0]
            for each in plan.columns
        }
        pack_reports([randomize_record(record, plan, entropy=SystemEntropy())], plan)


def _guided_report(plan: GuidedPlan) -> None:
    assert read_guided(plan.canonical_json).sizes == plan.sizes
    json.dumps(described(plan, 1000).to_json(), allow_nan=False)
    if plan.width <= _MOST_COLUMNS:
        guidance = Guidance.from_vectors(plan, 1, np.eye(plan.width)[:, :2])
        record = GuidedRecord({plan.label.name: plan.labels[0]}, guidance)
        pack_reports([randomize_guided(record, plan, entropy=SystemEntropy())], plan)


def plan_seeds() -> list[bytes]:
    """Return the plans' texts, also indented."""
    texts = [plan.canonical_json for plan in plans()]
    return [text.encode() for text in texts + [json.dumps(json.loads(text), indent=1) for text in texts]]


@cache
def vectors(name: str) -> dict[str, Any]:
    """Return the vectors of tables or of guidance, whose plans have every kind of column, mechanism and keep option."""
    content: dict[str, Any] = json.loads((_VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def _seeds_of(name: str, kind: type[Any]) -> Callable[[], list[bytes]]:
    return lambda: [kind.from_json(each["plan"]).canonical_json.encode() for each in vectors(name)["plans"]]


@cache
def guided_plan() -> GuidedPlan:
    """Return a guided plan without a guarantee."""
    return GuidedPlan.from_json(vectors("guided")["plans"][0]["plan"])


def run_guidance(data: bytes) -> bool:
    """Read guidance: refused, or read again under the same id; checked against a plan, then usable for a report."""
    guidance = accepted(lambda: read_guidance(written(data, "guidance.json")))
    if guidance is None:
        return False
    assert Guidance.parse(guidance.canonical_json).guidance_id == guidance.guidance_id
    plan = guided_plan()
    record = GuidedRecord({"party": "left"}, guidance)
    made = accepted(lambda: pack_reports([randomize_guided(record, plan, entropy=SystemEntropy())], plan))
    return made is not None


def guidance_seeds() -> list[bytes]:
    """Return the vectors' guidance of one plan."""
    plan = guided_plan().plan_id
    found = [each["guidance"] for each in vectors("guided")["guidance"]]
    return [json.dumps(each).encode() for each in found if each["plan"] == plan]


def run_messages(data: bytes) -> bool:
    """Read a file of messages: refused, or written and read again as the same reports."""
    plan = guided_plan()
    reports = accepted(lambda: read_messages(written(data, "messages.jsonl"), plan))
    if reports is None:
        return False
    again = "".join(message_lines(reports.packed, plan)).encode()
    assert np.array_equal(read_messages(written(again, "again.jsonl"), plan).packed, reports.packed)
    return True


def run_oblivious(data: bytes) -> bool:
    """Read messages of a relay or a device, keys and binary HTTP, and write them again."""
    configs = accepted(lambda: decode_key_configs(data))
    if configs is not None:
        assert decode_key_configs(encode_key_configs(configs)) == configs
    request, response = accepted(lambda: BinaryRequest.decode(data)), accepted(lambda: BinaryResponse.decode(data))
    assert request is None or BinaryRequest.decode(request.encode()) == request
    assert response is None or BinaryResponse.decode(response.encode(2 * len(data))) == response
    return any(each is not None for each in (configs, request, response))


def oblivious_seeds() -> list[bytes]:
    """Return a list of keys, a request in each framing, and a response."""
    request = BinaryRequest(b"POST", b"/reports", ((b"content-type", b"text/plain"),), b"body", authority=b"a.example")
    indeterminate = b"\2\3GET\5https\0\1/\1x\1y\0\4body\0\0\0"
    keys = encode_key_configs([KeyConfig(1, bytes(32))])
    return [keys, request.encode(), indeterminate, BinaryResponse(200, request.headers, b"{}").encode(64)]


# ---- reports


def run_report(data: bytes) -> bool:
    """Read a report of the plan that the first byte selects."""
    if not data:
        return False
    plan = plans()[data[0] % len(plans())]
    report = data[1:]
    opened = accepted(lambda: plan.unpack_report(report))
    packed = accepted(lambda: pack_reports([report, report], plan))
    assert (opened is None) == (packed is None)
    if opened is None or packed is None:
        return False
    report_type, answer = opened
    assert plan.pack_report(plan.report_types.index(report_type), answer) == report == packed[1].tobytes()
    assert report_type.form.encode(report_type.form.decode(answer)) == answer
    assert all(0 <= item < report_type.padded_items for item in report_type.form.items(answer))
    return True


def report_seeds() -> list[bytes]:
    """Return a report of each plan."""
    entropy = SeededEntropy(1)
    return [bytes([place]) + Randomizer(plan).randomize([0, 1], entropy=entropy) for place, plan in enumerate(plans())]


def run_report_file(data: bytes) -> bool:
    """Read a Parquet file of reports: refused when opened or read, or written again with the same reports."""
    path = written(data, "reports.parquet")

    def read() -> tuple[Reports, Any]:
        reports = read_reports(path)
        return reports, [batch.copy() for batch in reports.batches(1 << 12)]

    found = accepted(read)
    if found is None:
        return False
    reports, batches = found
    packed = np.concatenate(batches) if batches else np.empty((0, reports.plan.report_bytes), np.uint8)
    assert len(packed) == len(reports)
    Reports(reports.plan, packed).write(folder() / "again.parquet", force=True)
    again = read_reports(folder() / "again.parquet")
    assert again.plan.plan_id == reports.plan.plan_id
    assert b"".join(batch.tobytes() for batch in again.batches(7)) == packed.tobytes()
    return True


def report_file_seeds() -> list[bytes]:
    """Return a report file per plan, and one by another writer."""
    entropy, seeds = SeededEntropy(1), []
    for plan in plans():
        client = Randomizer(plan)
        reports = Reports.from_bytes([client.randomize([0], entropy=entropy) for _ in range(5)], plan)
        reports.write(folder() / "seed.parquet", force=True)
        seeds.append((folder() / "seed.parquet").read_bytes())
    stream = io.BytesIO()
    pq.write_table(pq.read_table(folder() / "seed.parquet"), stream, compression="gzip")
    return [*seeds, stream.getvalue()]


# ---- mined tables


def _run_table(ending: str) -> Run:
    def run(data: bytes) -> bool:
        """Read a file of mined itemsets: refused, or written and read again as the same table; rules or none."""
        path = written(data, f"table{ending}")
        frame = accepted(lambda: read_itemsets(path))
        if frame is None:
            return False
        write_itemsets(frame, folder() / f"again{ending}", force=True)
        again = read_itemsets(folder() / f"again{ending}")
        assert len(again) == len(frame)
        assert again["itemsets"].tolist() == frame["itemsets"].tolist()
        assert again.attrs == frame.attrs
        accepted(lambda: derive_rules(frame))
        return True

    return run


def _table_seeds(ending: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        """Return mined tables, one from reports of a fixed size, one empty."""
        entropy, found = SeededEntropy(1), []
        for plan, support in [(plans()[0], "30%"), (plans()[3], "30%"), (plans()[0], "100%")]:
            client = Randomizer(plan)
            reports = [client.randomize([0, 1], entropy=entropy) for _ in range(1000)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings about the small number of reports
                frame = mine(Reports.from_bytes(reports, plan), support)
            assert bool(len(frame)) == (support == "30%")
            write_itemsets(frame, folder() / f"seed{ending}", force=True)
            found.append((folder() / f"seed{ending}").read_bytes())
        return found

    return seeds


# ---- files of names


def run_taxonomy(data: bytes) -> bool:
    """Read a taxonomy: refused, or its rules round-trip."""
    parents = accepted(lambda: read_taxonomy(written(data, "taxonomy.csv")))
    if parents is None:
        return False
    rules = accepted(lambda: Names(parents=parents))
    if rules is not None:
        assert Names.from_json(json.loads(json.dumps(rules.to_json()))) == rules
    return True


def run_catalogue(data: bytes) -> bool:
    """Read a file of names: refused, or written and read again as the same names."""
    catalogue = accepted(lambda: read_catalogue(written(data, "names.txt")))
    if catalogue is not None:
        again = read_catalogue(written("\n".join(catalogue).encode("utf-8-sig"), "names.txt"))
        assert again == catalogue
        assert Catalogue.from_json(json.loads(json.dumps(catalogue.to_json()))) == catalogue
    return catalogue is not None


# ---- baskets


def _named(baskets: Baskets) -> list[set[str]]:
    return [{baskets.catalogue[item] for item in row} for row in _rows(baskets)]


def _run_baskets(ending: str, chosen: str | None = None) -> Run:
    choices = {"repeats": "merge", "empty": "keep"}

    def run(data: bytes) -> bool:
        """Read a file of baskets: refused, or the same as a whole, as a stream, and again when written as lists."""
        path = written(data, f"baskets{ending}")
        accepted(lambda: read_baskets(path, layout=chosen))
        baskets = accepted(lambda: read_baskets(path, layout=chosen, **choices))
        known = baskets.catalogue if baskets is not None else Catalogue(["milk", "1"])
        with mock.patch.object(basket_sources, "CHUNK_BYTES", 13):  # lines and baskets span chunks
            options = ReadOptions(chosen, unknown="drop", memory_bytes=1 << 24, **choices)
            streamed = accepted(lambda: list(stream_baskets(path, known, options)))
        if baskets is None:
            return False
        assert streamed is not None
        sizes = [size for batch in streamed for size in batch.sizes.tolist()]
        items = [item for batch in streamed for item in batch.items.tolist()]
        whole = read_baskets(path, layout=chosen, catalogue=known, unknown="drop", **choices)
        assert sizes == whole.sizes.tolist()
        assert items == whole.items.tolist()
        if not any(is_word(name, MISSING_WORDS) for name in known):  # such a word is an item of a catalogue only
            assert (sizes, items) == (baskets.sizes.tolist(), baskets.items.tolist())
        lists = [[known[item] for item in row] for row in _rows(baskets)]
        pq.write_table(pa.table({"items": pa.array(lists, pa.list_(pa.string()))}), folder() / "again.parquet")
        again = accepted(lambda: read_baskets(folder() / "again.parquet", **choices))
        assert again is None or _named(again) == _named(baskets)
        return True

    return run


def _rows(baskets: Baskets) -> Iterator[list[int]]:
    flat, offsets = baskets.items.tolist(), baskets.offsets.tolist()
    return (flat[start:stop] for start, stop in pairwise(offsets))


def parquet_bytes(columns: dict[str, Any] | pa.Table, **options: Any) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    stream = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), stream, **options)
    return stream.getvalue()


def parquet_basket_seeds() -> list[bytes]:
    """Return Parquet files of baskets in both layouts, with text, dictionaries and numbers."""
    lists = [["milk", "bread"], ["milk"], [], None]
    coded = pa.array(["milk", "bread", "milk"]).dictionary_encode()
    return [
        parquet_bytes({"items": lists}),
        parquet_bytes({"items": [[1, 2], [3]]}, compression="gzip"),
        parquet_bytes({"transaction": [1, 1, 2], "item": coded}),
        parquet_bytes({"transaction": ["a", "a", "b"], "item": [5, 6, 7], "day": [0, 0, 0]}),
        parquet_bytes({"transaction": [1, 1, 2], "item": coded}, row_group_size=1),
        parquet_bytes({"items": [["a", "b"], ["c"], ["b", "c"]]}, row_group_size=1),
    ]


# ---- a device's ledger


def run_ledger(data: bytes) -> bool:
    """Read a ledger: refused, or complete records that give the same records when written again."""
    found = accepted(lambda: parse_ledger(data))
    if found is None:
        return False
    entries, end, _ = found
    assert RECORDS_AT <= end <= max(len(data), RECORDS_AT)
    # fractions are accepted without being in lowest terms, so compare records
    assert parse_ledger(write_ledger(entries))[0] == entries
    return True


def ledger_seeds() -> list[bytes]:
    """Return ledgers with no, one and several records."""
    made = Entry(1, "ab" * 32, bytes(32), Fraction(19, 3), bytes(range(10)), bytes(16))
    later = [Queued(2, 1), Scheduled(3, 1, 1 << 31), Acknowledged(4, 1)]
    return [write_ledger(records) for records in ([], [made], [made, *later])]


TARGETS: dict[str, Target] = {
    "plan": Target(_run_plan(Plan, None, _basket_report), plan_seeds),
    "table_plan": Target(_run_plan(TablePlan, read_table, _table_report), _seeds_of("tables", TablePlan)),
    "plan_guided": Target(_run_plan(GuidedPlan, read_guided, _guided_report), _seeds_of("guided", GuidedPlan)),
    "guidance": Target(run_guidance, guidance_seeds),
    "oblivious": Target(run_oblivious, oblivious_seeds),
    "messages": Target(run_messages, lambda: [b'{"guidance": 1, "class": "left", "ones": [0, 3]}\n' * 2]),
    "report": Target(run_report, report_seeds),
    "report_file": Target(run_report_file, report_file_seeds),
    "table_parquet": Target(_run_table(".parquet"), _table_seeds(".parquet")),
    "table_csv": Target(_run_table(".csv"), _table_seeds(".csv")),
    "table_json": Target(_run_table(".json"), _table_seeds(".json")),
    "taxonomy": Target(
        run_taxonomy,
        lambda: [b"milk,dairy,food\ntea,drinks,food\n\ndairy,food\n", b'"a,b",c\r\n b , c\r\n', b"\xef\xbb\xbfa,b\n"],
    ),
    "catalogue": Target(
        run_catalogue,
        lambda: [b"milk\nbread\n", "bröd\r\n milk \r\n".encode(), b"0\n1\n2", b"\xef\xbb\xbfa\nb\n\n"],
    ),
    "baskets_dat": Target(_run_baskets(".dat"), lambda: [b"1 2 3\n4\n\n0 1\r\n", b"\xef\xbb\xbf7 7\n"]),
    "baskets_dat_gz": Target(_run_baskets(".dat.gz"), lambda: [gzip.compress(b"1 2 3\n4\n", mtime=0)]),
    "baskets_csv": Target(_run_baskets(".csv"), lambda: [b'milk,bread\n"a,b",c\n\n', "bröd, tea\r\nmilk\r\n".encode()]),
    "baskets_long": Target(
        _run_baskets(".csv", "long"),
        lambda: [b"transaction,item\n1,milk\n1,bread\n2,milk\n", b'item,day,transaction\r\n"a,b",x,7\r\n'],
    ),
    "baskets_onehot": Target(
        _run_baskets(".csv", "one-hot"),
        lambda: [b"milk,bread\n1,0\n1,1\n", b"id;milk;tea\r\na;t;?\r\nb;?;t\n", b"id;milk;tea\r\na;t;f\r\nb;f;t\n"],
    ),
    "baskets_parquet": Target(_run_baskets(".parquet"), parquet_basket_seeds),
    "ledger": Target(run_ledger, ledger_seeds),
}
