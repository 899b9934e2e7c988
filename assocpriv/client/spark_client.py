"""Randomize baskets of a DataFrame by Spark's tasks into a folder of report files, each basket once.

Spark may repeat a task, or run it twice at once, and each attempt draws anew. Each basket must be disclosed once, so no
attempt writes into the folder of reports: it writes its own file, under a random name, into a staging folder, and
returns the name. Spark accepts the result of one attempt for each task. Only the files named in accepted results are
moved, and then their folder gets its final name in one step; everything else is removed. After an interruption nothing
has that name. A DataFrame of reports is never returned, as each action on it would draw anew.

Only tasks see raw baskets. Their refusals name no item; for errors that this package does not expect, and for Spark's
own errors on baskets, only the type is shown.
"""

import contextlib
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.client.baskets.transactions import NameReader
from assocpriv.files.arrow import pa
from assocpriv.files.atomic import sync_folder
from assocpriv.files.report_files import write_reports
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import BasketError, FileError, pluralize
from assocpriv.records.baskets import Baskets, count_sizes, named_baskets
from assocpriv.records.cells import check_choices
from assocpriv.records.layout import ReadOptions
from assocpriv.records.persons import choose_rows, person_key, refuse_spellings
from assocpriv.spark.spark_session import column_of, quiet_pandas, run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from assocpriv.plans.baskets.basket_plan import Plan


_BASKET = "basket"


def randomize_frame(
    frame: "DataFrame",
    plan: "Plan",
    output: Path,
    columns: tuple[str, str | None, str | None],
    unknown: str,
    repeats: str,
    person_as: str = "checked",
) -> Counter[int]:
    """Write the reports of all baskets into a new folder; return the number of transactions of each size.

    ``columns`` are those of items, transactions and persons. Without transactions each row is a basket, an array of
    items. With persons the reports of each are limited as the plan's guarantee says; ``person_as`` is as in
    :func:`~assocpriv.records.persons.limit_per_person`.

    Raises:
        BasketError: no such column, one of another type, no basket, or one that does not fit the plan; nothing is
            written.
        FileError: the folder exists, or cannot be written.
        SparkError: Spark failed; nothing is written.
    """
    if os.path.lexists(output):
        raise FileError(f"{output} exists already; name a new folder")
    check_choices(person_as=person_as)
    baskets = _baskets_of(frame, *columns)
    if columns[2] is not None and person_as == "checked":
        _check_persons(frame, columns[2])
    staging = output.with_name(f".{output.name}.{secrets.token_hex(8)}.part")
    try:
        staging.mkdir()
        most = None if columns[2] is None else plan.reports_per_person
        task = partial(_randomize_task, plan, unknown, repeats, staging.resolve(), most)
        answers = run(baskets, task, "name string, sizes string", quote=False)
        if not answers:
            raise BasketError("the DataFrame has no baskets; check the DataFrame")
        _publish(staging, sorted(name for name, _ in answers), output)
    except OSError as error:
        raise FileError(f"cannot write {output}: {error.strerror or error}; no partial output remains") from None
    finally:
        _discard(staging)
    sizes = Counter[int]()
    for _, sizes_json in answers:
        sizes.update({int(size): n for size, n in json.loads(sizes_json).items()})
    return sizes


def _baskets_of(
    frame: "DataFrame", item_column: str, transaction_column: str | None, person_column: str | None
) -> "DataFrame":
    """Return a DataFrame with one basket in each row, null where a transaction has no name.

    With persons a row has all baskets of one person, and is null for transactions without a person or of several.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sql

    if item_column == transaction_column:
        raise BasketError("transaction and item must be two different columns")
    if person_column is not None and transaction_column is None:
        raise BasketError("person_column needs rows of one item each; name transaction_column, too")
    try:
        item = column_of(frame, item_column)
        if transaction_column is None:
            baskets = frame.select(item.cast("array<string>").alias(_BASKET))
        else:
            owner = sql.lit(0) if person_column is None else column_of(frame, person_column)
            transaction = column_of(frame, transaction_column).alias("transaction")
            item = item.cast("string").alias("item")
            items = sql.collect_list(sql.struct("item"))["item"]  # in a struct, as collect_list would drop nulls
            is_one = (sql.min("owner") == sql.max("owner")) & (sql.count("owner") == sql.count(sql.lit(1)))
            baskets = (
                frame.select(transaction, owner.alias("owner"), item)
                .groupBy("transaction")
                .agg(items.alias(_BASKET), sql.when(is_one, sql.min("owner")).alias("owner"))
                .select(sql.when(sql.isnotnull("transaction"), sql.col(_BASKET)).alias(_BASKET), "owner")
            )
            if person_column is not None:
                of_each = sql.collect_list(sql.struct(_BASKET))[_BASKET]
                baskets = baskets.groupBy("owner").agg(of_each.alias(_BASKET))
            baskets = baskets.select(sql.when(sql.isnotnull("owner"), sql.col(_BASKET)).alias(_BASKET))
        _ = baskets.schema  # otherwise Spark Connect would check the columns later
    except PySparkException as error:  # about columns and types; no row has been read yet
        raise BasketError(f"the DataFrame cannot be read as baskets: {str(error).partition(chr(10))[0]}") from None
    return baskets


def _check_persons(frame: "DataFrame", column: str) -> None:
    """Refuse persons with several ids, as :func:`~assocpriv.records.persons.check_spellings` does."""
    ids = frame.select(column_of(frame, column).cast("string").alias("id")).where("id is not null").distinct()
    with quiet_pandas():
        keys = ids.mapInArrow(_keys, "key string").groupBy("key").count().where("key is null or count > 1")
    answers = run(keys, _count_keys, "missing long, several long", quote=False)
    refuse_spellings(*(sum(row[place] for row in answers) for place in (0, 1)))


def _publish(staging: Path, names: list[str], output: Path) -> None:
    """Move the files of accepted attempts into their folder, and give it its final name."""
    kept = staging / "kept"
    kept.mkdir()
    for number, name in enumerate(names):
        os.rename(staging / name, kept / f"part-{number:05}.parquet")
    sync_folder(kept)
    os.rename(kept, output)


def _discard(staging: Path) -> None:
    """Remove everything else. An attempt that is still running finds no folder to write into."""
    removed = staging.with_suffix(".removed")
    with contextlib.suppress(OSError):
        os.rename(staging, removed)
    shutil.rmtree(removed, ignore_errors=True)


# ---- in tasks


def _randomize_task(
    plan: "Plan", unknown: str, repeats: str, staging: Path, most: int | None, batches: Iterator[Any]
) -> Iterator[Any]:
    """Write the reports of a task's baskets to a new file, and yield its name and the transactions' sizes.

    With ``most`` a row of the batches has all baskets of a person, of which at most ``most`` are reported.
    """
    if not staging.is_dir():
        raise FileError("Spark's tasks cannot see the output's folder; name a folder on a shared disk")
    sizes: Counter[int] = Counter()
    name = f"{secrets.token_hex(16)}.parquet"
    columns = (batch.column(0) for batch in batches)
    if most is not None:
        columns = (_of_each_person(column, most) for column in columns)
    chunks = randomize_chunks(_transactions(plan, unknown, repeats, columns, sizes), plan, entropy=SystemEntropy())
    if write_reports((chunk.packed for chunk in chunks), plan, staging / name):
        yield pa.RecordBatch.from_pylist([{"name": name, "sizes": json.dumps(sizes)}])


def _keys(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the keys of ids."""
    for batch in batches:
        keys = [person_key(person) for person in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(keys, pa.string())], ["key"])


def _count_keys(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield how many ids have no key, and how many keys have several ids."""
    for batch in batches:
        missing = sum(row["count"] for row in batch.to_pylist() if row["key"] is None)
        several = len(batch) - batch.column(0).null_count
        yield pa.RecordBatch.from_pylist([{"missing": missing, "several": several}])


def _of_each_person(people: Any, most: int) -> Any:
    """Return an Arrow array of at most ``most`` baskets of each person, from an array of lists of baskets."""
    if people.null_count:
        raise BasketError("the DataFrame has transactions without a person, or of several; remove them")
    owner = np.repeat(np.arange(len(people)), np.diff(people.offsets.to_numpy()))
    return people.flatten().take(pa.array(choose_rows(owner, most, SystemEntropy())))


def _transactions(
    plan: "Plan", unknown: str, repeats: str, columns: Iterator[Any], sizes: Counter[int]
) -> Iterator[Baskets]:
    """Yield the transactions of Arrow arrays of baskets, and count their sizes."""
    reader = NameReader(plan, unknown=unknown)
    options = ReadOptions(f"list item={_BASKET}", reader.unknown, repeats, empty="keep")
    for column in columns:
        if column.null_count:
            raise BasketError("the DataFrame has rows without a basket or without a transaction; remove them")
        if column.flatten().null_count:
            raise BasketError("the DataFrame has baskets of which an item is missing; remove such items")
        table = pa.table({_BASKET: column})
        try:
            named, _ = named_baskets(table, reader.names, options)
            found, _ = reader.transactions(named)
        except BasketError as error:
            raise BasketError(f"among {pluralize(len(column), 'basket')} of one task: {error}") from None
        sizes.update(count_sizes(found))
        yield found
