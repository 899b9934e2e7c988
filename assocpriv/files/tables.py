"""How a table of itemsets with its facts lies in a file, Parquet, CSV or JSON; frames.py checks what it must hold."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from assocpriv.core.errors import EstimateError, FileError
from assocpriv.files.atomic import atomic_output
from assocpriv.files.parquet import column_chunks, is_inflated
from assocpriv.files.reports import ITEMSETS_KEY

if TYPE_CHECKING:
    import pandas as pd

FORMAT = ITEMSETS_KEY.decode()
COMBINED = "assocpriv-combined"
GROUP_COUNTS = "group_counts"  # a list for each itemset, where there are several groups
SUBSET_COUNTS = "subset_counts"  # a list for each itemset, of plans with blocks
FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
_LEAST_ALLOWED = 1 << 26  # bytes of memory that any Parquet table may take
_CSV_MARK = f"# {FORMAT} "


def output_format(path: str | Path) -> str:
    """Return ``parquet``, ``csv`` or ``json`` by a file's extension; refuse any other."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise FileError(f"{path} must end in .parquet, .csv or .json to say what to write")
    return FORMATS[suffix]


def itemset_records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows as plain objects, ``itemset`` being a sorted list of names."""
    plain = frame.drop(columns="itemsets")
    records: list[dict[str, Any]] = json.loads(plain.to_json(orient="records", double_precision=15))
    for record, itemset in zip(records, frame["itemsets"], strict=True):
        record["itemset"] = sorted(itemset)
    return records


def _write_parquet(frame: "pd.DataFrame", facts: dict[str, Any], stream: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = pa.Table.from_pandas(frame.drop(columns="itemsets"), preserve_index=False)
    lists = pa.array([sorted(itemset) for itemset in frame["itemsets"]], pa.list_(pa.string()))
    table = plain.add_column(1, "itemsets", lists)
    pq.write_table(table.replace_schema_metadata({ITEMSETS_KEY: json.dumps(facts)}), stream)


def _write_csv(frame: "pd.DataFrame", facts: dict[str, Any], stream: BinaryIO) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    text.write(_CSV_MARK + json.dumps(facts) + "\n")
    flat = frame.assign(itemsets=[join_names(sorted(itemset)) for itemset in frame["itemsets"]])
    flat.to_csv(text, index=False)
    text.detach()


def join_names(names: list[str]) -> str:
    """Write names as one CSV line, so that a name may hold a comma."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def write_plain(
    frame: "pd.DataFrame", columns: Sequence[str], as_json: Callable[[], str], path: str | Path, *, force: bool
) -> None:
    """Write a table that other programs read, without facts; these columns of it hold sets of names."""
    kind = output_format(path)
    plain = frame.copy()
    for name in columns:
        lists = [sorted(names) for names in frame[name]]
        plain[name] = [join_names(names) for names in lists] if kind == "csv" else lists
    with atomic_output(path, force=force) as stream:
        if kind == "json":
            stream.write(as_json().encode("utf-8"))
        elif kind == "csv":
            stream.write(plain.to_csv(index=False).encode("utf-8"))
        else:
            plain.to_parquet(stream, index=False)


def _write_json(frame: "pd.DataFrame", facts: dict[str, Any], stream: BinaryIO) -> None:
    stream.write(json.dumps(facts | {"itemsets": itemset_records(frame)}, indent=1).encode("utf-8"))


def _read_parquet(source: Path) -> "tuple[pd.DataFrame, dict[str, Any]]":
    import pyarrow.parquet as pq

    # a table repeats no itemset, so its memory is in proportion to its bytes
    with source.open("rb") as file:
        chunks = column_chunks(file)
    if is_inflated(chunks, source.stat().st_size, _LEAST_ALLOWED):
        raise EstimateError("its few bytes say that they hold more than a table can")
    # a name is kept once, however often it occurs
    table = pq.read_table(source, read_dictionary=[chunk.path for chunk in chunks])
    table.validate(full=True)  # what a damaged file may hold: codes outside a dictionary, text that is no UTF-8
    _refuse_combined("support_1" in table.column_names)
    facts = json.loads((table.schema.metadata or {})[ITEMSETS_KEY])
    frame = table.to_pandas()
    return _with_itemsets(frame, map(frozenset, frame["itemsets"])), facts


def _read_csv(source: Path) -> "tuple[pd.DataFrame, dict[str, Any]]":
    import pandas as pd

    with source.open(encoding="utf-8", newline="") as stream:
        first = stream.readline()
        _refuse_combined("support_1" in first.rstrip().split(","))
        if not first.startswith(_CSV_MARK):
            raise EstimateError(
                "its first line does not carry the plan, the number of reports and the counts that rules need"
            )
        facts = json.loads(first.removeprefix(_CSV_MARK))
        frame = pd.read_csv(stream, dtype={"itemsets": str}, keep_default_na=False)
    for name in (GROUP_COUNTS, SUBSET_COUNTS):
        if name in frame.columns:
            frame[name] = frame[name].map(json.loads)
    return _with_itemsets(frame, map(frozenset, csv.reader(frame["itemsets"]))), facts


def _read_json(source: Path) -> "tuple[pd.DataFrame, dict[str, Any]]":
    import pandas as pd

    content = json.loads(source.read_text(encoding="utf-8"))
    _refuse_combined(content.get("format") == COMBINED)
    rows = content.pop("itemsets")
    frame = pd.DataFrame(rows) if rows else pd.DataFrame({"itemset": []})
    return _with_itemsets(frame, map(frozenset, frame["itemset"])), content


def _refuse_combined(combined: bool) -> None:
    """Refuse what combine wrote: supports of several rounds carry no counts of one collection."""
    if combined:
        raise EstimateError(
            "it is a combined table of several rounds; rules need the counts of one collection, so take the table of "
            "one round"
        )


def _with_itemsets(frame: "pd.DataFrame", itemsets: Iterable[frozenset[str]]) -> "pd.DataFrame":
    import pandas as pd

    return frame.assign(itemsets=pd.Series(list(itemsets), index=frame.index, dtype=object))


Facts = dict[str, Any]
READERS: "dict[str, Callable[[Path], tuple[pd.DataFrame, Facts]]]"
READERS = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json}
WRITERS: "dict[str, Callable[[pd.DataFrame, Facts, BinaryIO], None]]"
WRITERS = {"parquet": _write_parquet, "csv": _write_csv, "json": _write_json}
