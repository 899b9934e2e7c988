"""Mined itemsets as a table, in memory and in files.

The table has mlxtend's columns ``support`` and ``itemsets`` and is closed under taking subsets. Its
``attrs["assocpriv"]`` say which plan, operator and number of reports it came from: rules need them, together
with each itemset's ``count``, for the joint covariance of supports. Files carry the same facts: Parquet in its
metadata, JSON as fields, CSV in a first line that starts with ``# assocpriv-itemsets``.
"""

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from assocpriv.core.errors import EstimateError, FileError, PlanError
from assocpriv.core.operator import Operator
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import parse_probability
from assocpriv.core.transition import SupportModel
from assocpriv.files.atomic import atomic_output
from assocpriv.files.reports import ITEMSETS_KEY, Reports
from assocpriv.server.apriori import MOST_CANDIDATES, FoundItemsets, Level, candidates_within, mine_levels
from assocpriv.server.counting import CountingBackend, LocalCounter, Progress
from assocpriv.server.estimate import normal_quantile

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE = "assocpriv"
FORMAT = ITEMSETS_KEY.decode()
VERSION = 1
COLUMNS = ["support", "itemsets", "std_error", "ci_low", "ci_high", "length", "frequent", "count"]
FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
_CSV_MARK = f"# {FORMAT} "
_NUMBERS = dict.fromkeys(("support", "std_error", "ci_low", "ci_high"), np.float64)
_TYPES: dict[str, Any] = _NUMBERS | {"length": np.int64, "frequent": np.bool_, "count": np.int64}
_FACTS: dict[str, Any] = {
    "plan_id": str,
    "transaction_size": int,
    "itemset_size": int,
    "reports": int,
    "min_support": float,
    "confidence_level": float,
    "population": bool,
    "levels": list,
}


def mine(
    reports: Reports,
    min_support: "float | str",
    *,
    max_itemset: int | None = None,
    confidence_level: float = 0.95,
    population: bool = False,
    counter: CountingBackend | None = None,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports alone.

    Supports are shares of transactions *within at most M sampled items* (the plan's transaction size): a longer
    basket reported only M of its items. Estimates are unbiased and not clipped to [0, 1].

    Args:
        reports: the collection.
        min_support: s_min in (0, 1], as 0.02 or ``"2%"``.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default, which its generator supports.
        confidence_level: of the intervals ``ci_low`` … ``ci_high`` (normal approximation).
        population: standard errors for the population that the transactions were drawn from, instead of for
            the transactions that were collected.
        counter: where to count; on this machine by default.
        memory_bytes: what of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row an itemset, columns ``support``, ``itemsets`` (frozenset of names), ``std_error``, ``ci_low``,
        ``ci_high``, ``length``, ``frequent`` and ``count`` (reports showing the itemset). Subsets of frequent
        itemsets that noise pushes below s_min are there with ``frequent`` False.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
    """
    plan = reports.plan
    threshold = check_min_support(min_support)
    largest = check_max_itemset(plan, max_itemset)
    if not 0 < confidence_level < 1:
        raise EstimateError(f"confidence_level must lie between 0 and 1, got {confidence_level:g}")
    backend = counter or LocalCounter(reports, memory_bytes=memory_bytes, progress=progress)
    model = SupportModel.of(plan.operator)
    # what is free at the moment decides how fast, not whether
    most = MOST_CANDIDATES if memory_bytes is None else candidates_within(memory_bytes)
    found, levels = mine_levels(backend, plan.n_items, model, threshold, largest, most)
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "plan_id": plan.plan_id,
        "transaction_size": plan.transaction_size,
        "operator": plan.operator.to_json(),
        "itemset_size": plan.itemset_size,
        "reports": backend.n_reports,
        "min_support": threshold,
        "confidence_level": confidence_level,
        "population": population,
        "levels": [_level_record(level) for level in levels],
    }
    return to_frame(found, plan.catalogue, facts)


def _level_record(level: Level) -> dict[str, Any]:
    """Return a level as JSON content, which has no infinity: null where nothing can be learned."""
    fields = asdict(level).items()
    return {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in fields}


def check_min_support(min_support: "float | str") -> float:
    """Read a minimum support in (0, 1].

    Raises:
        EstimateError: anything else.
    """
    try:
        threshold = parse_probability(min_support, "the minimum support")
    except PlanError as error:
        raise EstimateError(str(error)) from None
    if threshold == 0:
        raise EstimateError("the minimum support must be above 0; every itemset has support 0 or more")
    return float(threshold)


def check_max_itemset(plan: Plan, max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default.

    Raises:
        EstimateError: the plan's reports cannot answer for that size.
    """
    if max_itemset is None:
        return plan.itemset_size
    m = plan.transaction_size
    if not 1 <= max_itemset <= m:
        raise EstimateError(
            f"the largest itemset must have 1..{m} items (the plan's transaction size), got {max_itemset}"
        )
    needed = min(m + max_itemset, plan.padded_items)
    independent = plan.generator.independent_items(plan.operator.insert_bits)
    if plan.generator.kind != "none" and independent < needed:
        raise EstimateError(
            f"itemsets of {max_itemset} items need any {needed} items of a report independent, but the plan's "
            f"generator gives {independent}; it was made for itemsets of up to {plan.itemset_size} "
            f"(plan --itemset-size {max_itemset} allows more, for new reports)"
        )
    return max_itemset


def to_frame(found: list[FoundItemsets], names: Any, facts: dict[str, Any]) -> "pd.DataFrame":
    """Put found itemsets into a table, larger supports first within a size; ``facts`` become its attrs."""
    import pandas as pd

    z = normal_quantile(facts["confidence_level"])
    parts = []
    for level in found:
        support = level.estimates.support.astype(np.float64)
        error = level.estimates.std_error(population=facts["population"])
        part = pd.DataFrame(
            {
                "support": support,
                "itemsets": [frozenset(names[item] for item in row) for row in level.itemsets.tolist()],
                "std_error": error,
                "ci_low": support - z * error,
                "ci_high": support + z * error,
                "length": level.itemsets.shape[1],
                "frequent": level.frequent,
                "count": level.counts,
            }
        )
        parts.append(part.sort_values("support", ascending=False, kind="stable"))
    frame = pd.concat(parts, ignore_index=True) if parts else _empty_frame()
    frame.attrs[ATTRIBUTE] = facts
    return frame


def _empty_frame() -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=object) for name in COLUMNS}).astype(_TYPES)


def mining_facts(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return what a table of itemsets says of its plan, reports and operator.

    Raises:
        EstimateError: the table does not carry it.
    """
    facts = frame.attrs.get(ATTRIBUTE)
    missing = [name for name in COLUMNS if name not in frame.columns]
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("version") != VERSION or missing:
        raise EstimateError(
            "this table does not carry the plan, the number of reports and the counts that standard errors "
            "need; take it as assocpriv.mine returned it or read_itemsets read it"
        )
    return facts


def model_of(facts: dict[str, Any]) -> SupportModel:
    """Return the support model of the operator that a table of itemsets came from."""
    return SupportModel.of(Operator.from_json(facts["operator"]))


def output_format(path: str | Path) -> str:
    """Return ``parquet``, ``csv`` or ``json`` by a file's extension.

    Raises:
        FileError: another extension.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise FileError(f"{path} must end in .parquet, .csv or .json to say what to write")
    return FORMATS[suffix]


def write_itemsets(frame: "pd.DataFrame", path: str | Path, *, force: bool = False) -> None:
    """Write a table of itemsets with all that rules need; Parquet, CSV or JSON by extension.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
        EstimateError: the table does not carry its facts.
    """
    kind = output_format(path)
    facts = mining_facts(frame)
    with atomic_output(path, force=force) as stream:
        {"parquet": _write_parquet, "csv": _write_csv, "json": _write_json}[kind](frame, facts, stream)


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


def _write_json(frame: "pd.DataFrame", facts: dict[str, Any], stream: BinaryIO) -> None:
    stream.write(json.dumps(facts | {"itemsets": itemset_records(frame)}, indent=1).encode("utf-8"))


def read_itemsets(path: str | Path) -> "pd.DataFrame":
    """Read a table of itemsets that :func:`write_itemsets` wrote.

    Raises:
        EstimateError: the file is not such a table, or is damaged.
        FileError: it cannot be read, or has another extension.
    """
    source = Path(path)
    kind = output_format(source)
    reader = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json}[kind]
    try:
        frame, facts = reader(source)
        frame = frame[COLUMNS].astype(_TYPES)
        frame.attrs[ATTRIBUTE] = facts
        _check_table(frame, mining_facts(frame))
    except OSError as error:
        raise FileError(f"cannot read {source}: {error.strerror or 'it is damaged'}") from None
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if isinstance(error, EstimateError) else "it is damaged or not mined here"
        raise EstimateError(f"{source} is not a file of mined itemsets: {reason}") from None
    return frame


def _check_table(frame: "pd.DataFrame", facts: dict[str, Any]) -> None:
    """Refuse a table that no mining could have written."""
    for name, kind in _FACTS.items():
        if not isinstance(facts.get(name), kind) or (kind is int and isinstance(facts[name], bool)):
            raise EstimateError(f"it lacks the fact {name}, or has another kind of it")
    if not (facts["reports"] >= 1 and 0 < facts["min_support"] <= 1 and 0 < facts["confidence_level"] < 1):
        raise EstimateError("a number of reports, a minimum support or a confidence level is out of range")
    model_of(facts)
    itemsets = frame["itemsets"].tolist()
    named = all(itemset and all(isinstance(name, str) for name in itemset) for itemset in itemsets)
    sizes = [len(itemset) for itemset in itemsets]
    if not named or sizes != frame["length"].tolist() or len(set(itemsets)) != len(itemsets):
        raise EstimateError("an itemset is empty, repeated, not made of names or of another length than it says")
    if not frame["count"].between(0, facts["reports"]).all() or (frame["std_error"] < 0).any():
        raise EstimateError("a count or a standard error is out of range")


def _read_parquet(source: Path) -> "tuple[pd.DataFrame, dict[str, Any]]":
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    facts = json.loads((table.schema.metadata or {})[ITEMSETS_KEY])
    frame = table.to_pandas()
    return _with_itemsets(frame, map(frozenset, frame["itemsets"])), facts


def _read_csv(source: Path) -> "tuple[pd.DataFrame, dict[str, Any]]":
    import pandas as pd

    with source.open(encoding="utf-8", newline="") as stream:
        first = stream.readline()
        if not first.startswith(_CSV_MARK):
            raise EstimateError(
                "its first line does not carry the plan, the number of reports and the counts that rules need"
            )
        facts = json.loads(first.removeprefix(_CSV_MARK))
        frame = pd.read_csv(stream, dtype={"itemsets": str}, keep_default_na=False)
    return _with_itemsets(frame, map(frozenset, csv.reader(frame["itemsets"]))), facts


def _read_json(source: Path) -> "tuple[pd.DataFrame, dict[str, Any]]":
    import pandas as pd

    content = json.loads(source.read_text(encoding="utf-8"))
    rows = content.pop("itemsets")
    frame = pd.DataFrame(rows) if rows else _empty_frame().rename(columns={"itemsets": "itemset"})
    return _with_itemsets(frame, map(frozenset, frame["itemset"])), content


def _with_itemsets(frame: "pd.DataFrame", itemsets: Iterable[frozenset[str]]) -> "pd.DataFrame":
    import pandas as pd

    return frame.assign(itemsets=pd.Series(list(itemsets), index=frame.index, dtype=object))


def describe_undecided(facts: dict[str, Any]) -> list[str]:
    """Say, a line each, what these reports cannot decide at this minimum support."""
    consequence = {"undecidable": "none are reported", "uncertain": "expect false ones among them"}
    lines = []
    for level in facts["levels"]:
        if level["status"] in consequence:
            error, lds = level["std_error"], level["lowest_discoverable_support"]
            reach = "nothing below 100% is" if lds is None or lds >= 1 else f"{lds:.2%} is the lowest"
            spread = "" if error is None else f"standard error {error:.2%}; "
            lines.append(
                f"itemsets of {level['size']}: {level['status']} at {facts['min_support']:.4g} from "
                f"{facts['reports']:,} reports ({spread}{reach} discoverable); {consequence[level['status']]}"
            )
    return lines
