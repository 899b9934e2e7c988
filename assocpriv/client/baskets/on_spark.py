"""Baskets of a DataFrame randomized by Spark's tasks, into a folder of report files: each basket reported once.

Spark may try a task again, or twice at once, and each attempt draws anew. So that nobody is told of twice, no attempt
writes where reports are kept: it writes a file of its own, of a random name, into a folder beside, and says its name.
Of each task Spark accepts the answer of one attempt. Only the files that were named in accepted answers are moved, and
then their folder gets its name, at once; all else is removed. Who is interrupted has nothing under that name. A
DataFrame of reports is never handed out, as each action on it would draw anew.

Raw baskets are seen in tasks alone. What is refused there comes back as text that names no item; of errors that this
package did not expect, and of what Spark says when it computes the baskets, only the kind is told.
"""

import contextlib
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.core.errors import AssocprivError, BasketError, FileError, SparkError, counted
from assocpriv.core.spark.session import column_of, first_line, import_spark, quiet_pandas
from assocpriv.core.spark.sums import begin_task, package_version, refused, run, trouble_of
from assocpriv.core.spark.watching import Progress
from assocpriv.files.atomic import sync_folder
from assocpriv.files.reports import write_reports
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.registry import parse_plan
from assocpriv.records.cells import check_choices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA = "name string, sizes string, trouble string"
_BASKET = "basket"


@dataclass(frozen=True, slots=True)
class BasketColumns:
    """Which columns hold the baskets, and what is done about names that are not known, or repeated.

    ``transaction`` is None where each row is a basket, ``item`` then being a column of arrays.
    """

    item: str
    transaction: str | None = None
    unknown: str = "error"
    repeats: str = "error"


def randomize_frame(
    frame: "DataFrame", plan: Plan, output: Path, columns: BasketColumns, progress: Progress | None = None
) -> Counter[int]:
    """Write the reports of all baskets into a new folder; return how many transactions there are of each size.

    ``progress`` is called with (tasks done, tasks), of all stages that have begun.

    Raises:
        BasketError: no such column, one of another type, no basket, or one that does not fit the plan; nothing is
            written.
        FileError: the folder exists, or cannot be written.
        SparkError: Spark gave up; nothing is written.
    """
    check_choices(unknown=columns.unknown, repeats=columns.repeats)
    _check_new(output)
    baskets = _baskets_of(frame, columns)
    drafts = output.with_name(f".{output.name}.{secrets.token_hex(8)}.part")
    try:
        drafts.mkdir()
        task = partial(_randomize_task, plan.canonical_json, columns, str(drafts.resolve()), package_version())
        with quiet_pandas():
            rows = baskets.mapInArrow(task, _SCHEMA)
        answers = run(rows, quote=False, progress=progress)
        for _, _, trouble in answers:
            if trouble is not None:
                raise refused(trouble)
        sizes = [(name, Counter({int(size): n for size, n in json.loads(text).items()})) for name, text, _ in answers]
        written = [name for name, counts in sizes if counts]
        if not written:
            raise BasketError("the DataFrame holds no baskets; check that it is the right one")
        _publish(drafts, written, output)
    except OSError as error:
        raise FileError(f"cannot write {output}: {error.strerror or error}; nothing was left there") from None
    finally:
        _discard(drafts)
    return sum((counts for _, counts in sizes), Counter())


def _check_new(output: Path) -> None:
    """Refuse a folder that cannot be made, before any work is done for it."""
    if os.path.lexists(output):
        raise FileError(f"{output} exists already; name a new folder")
    if not output.parent.is_dir():
        raise FileError(
            f"the folder {output.parent} does not exist; make it first (a path, as tasks see it, and no URL)"
        )


def _baskets_of(frame: "DataFrame", columns: BasketColumns) -> "DataFrame":
    """Return a DataFrame of a basket a row, with whether its transaction has a name."""
    if columns.item == columns.transaction:
        raise BasketError("transaction and item must be two different columns")
    import_spark()
    from pyspark.errors import PySparkException

    try:
        baskets = _chosen(frame, columns)
        _ = baskets.schema  # Spark Connect would look at its columns later
    except PySparkException as error:  # of columns and types; no row has been read yet
        raise BasketError(f"the DataFrame cannot be taken as baskets: {first_line(error)}") from None
    return baskets


def _chosen(frame: "DataFrame", columns: BasketColumns) -> "DataFrame":
    from pyspark.sql import functions as sql

    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for name in filter(None, (columns.item, columns.transaction)):
        if name not in kinds:
            raise BasketError(f"the DataFrame has no column {name!r}; it has {', '.join(kinds) or 'none'}")
    kind = kinds[columns.item]
    item = column_of(frame, columns.item)
    if columns.transaction is None:
        if kind not in {f"array<{each}>" for each in _ITEM_KINDS}:
            raise BasketError(f"column {columns.item!r} is {kind}; baskets are arrays of strings or of whole numbers")
        return frame.select(item.alias(_BASKET), sql.lit(True).alias("named"))
    if kind not in _ITEM_KINDS:
        raise BasketError(f"column {columns.item!r} is {kind}; items are strings or whole numbers")
    rows = frame.select(column_of(frame, columns.transaction).alias("transaction"), item.alias("item"))
    items = sql.collect_list(sql.struct("item"))["item"]  # nulls as well, which it would leave out of plain values
    baskets = rows.groupBy("transaction").agg(items.alias(_BASKET))
    return baskets.select(_BASKET, sql.isnotnull("transaction").alias("named"))


_ITEM_KINDS = ("string", "tinyint", "smallint", "int", "bigint")


def _publish(drafts: Path, names: list[str], output: Path) -> None:
    """Move the files of accepted attempts to their folder, and give it its name."""
    chosen = drafts / "chosen"
    chosen.mkdir()
    for number, name in enumerate(sorted(names)):
        os.rename(drafts / name, chosen / f"part-{number:05}.parquet")
    sync_folder(chosen)
    if output.exists():
        raise FileError(f"{output} appeared while reports were made; nothing was replaced")
    os.rename(chosen, output)
    with contextlib.suppress(OSError):  # the folder is there: nobody may be told that it is not
        sync_folder(output.parent)


def _discard(drafts: Path) -> None:
    """Remove what was not kept. An attempt that is still at work finds no folder of its name to write into."""
    removed = drafts.with_suffix(".removed")
    with contextlib.suppress(OSError):
        os.rename(drafts, removed)
    for folder in (removed, removed, drafts):  # twice: a file may have been made while the folder got its new name
        shutil.rmtree(folder, ignore_errors=True)


# ---- in tasks


def _randomize_task(
    plan_text: str, columns: BasketColumns, drafts: str, version: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """Write the reports of a task's baskets to a file of its own, and yield its name and the transactions' sizes."""
    import pyarrow as pa

    sizes: Counter[int] = Counter()
    name = f"{secrets.token_hex(16)}.parquet"
    trouble = None
    try:
        begin_task(version)
        if not Path(drafts).is_dir():
            raise FileError("the output's folder is not where Spark's tasks run; name one that they and this share")
        plan = parse_plan(plan_text).as_a(Plan)
        packed = _randomized(plan, columns, batches, sizes)
        first = next(packed, None)
        if first is not None:
            write_reports(chain((first,), packed), plan, Path(drafts, name))
    except AssocprivError as error:
        trouble = trouble_of(error)
    except (OSError, MemoryError):
        raise  # Spark tries again, perhaps elsewhere
    except Exception as error:  # noqa: BLE001 - its text may quote a basket
        trouble = trouble_of(SparkError(f"a task failed with {type(error).__name__}; nothing was written"))
    row = {"name": name, "sizes": json.dumps(sizes), "trouble": trouble}
    kinds = pa.schema([(each, pa.string()) for each in row])
    yield pa.RecordBatch.from_pylist([row], schema=kinds)


def _randomized(plan: Plan, columns: BasketColumns, batches: Iterator[Any], sizes: Counter[int]) -> Iterator[Any]:
    """Yield packed reports, and count the transactions' sizes."""
    import pyarrow as pa

    from assocpriv.client.baskets.bulk import randomize_chunks
    from assocpriv.client.baskets.transactions import Viewer
    from assocpriv.core.entropy import SystemEntropy
    from assocpriv.records.baskets import Baskets, count_sizes, named_baskets

    viewer, said = Viewer(plan, unknown=columns.unknown), {"format": "list", "item_column": _BASKET}

    def transactions() -> Iterator[Baskets]:
        for batch in batches:
            if not batch.num_rows:
                continue
            if batch.column(0).null_count or not all(batch.column(1).to_pylist()):
                raise BasketError("the DataFrame has rows without a basket or without a transaction; leave them out")
            table = pa.table({_BASKET: batch.column(0)})
            try:
                named = named_baskets(table, viewer.names, unknown=viewer.unknown, repeats=columns.repeats, table=said)
                found, _ = viewer.view(named)
            except BasketError as error:
                raise BasketError(
                    f"among {counted(batch.num_rows, 'basket')} that a task got at once: {error}"
                ) from None
            sizes.update(count_sizes(found))
            yield found

    return (chunk.packed for chunk in randomize_chunks(transactions(), plan, entropy=SystemEntropy()))
