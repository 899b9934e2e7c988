"""Adult, expanded as in section 5.3 of WFY05: the table whose size the suppression is measured against.

All 45,222 complete records, their eight categorical columns and the class, go out as they are; then variations of them,
record by record in turn, until there are enough. A variation takes new values in ``CHANGED`` columns of the channel,
drawn evenly from the column's values, and keeps the rest. The paper does not say how many columns it changes.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, ICDM 2005, section 5.3.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from bench.accuracy.suppression_tables import CLASS, load
from bench.speed.datasets import SHARED

CHANGED = 3
SENSITIVE = "marital-status"  # the Top1 attribute; the channel is the other seven
BATCH = 1_000_000


def expanded(records: int, start: int = 0, *, changed: int = CHANGED, data: Path = SHARED) -> pa.Table:
    """Return records ``start`` to ``start + records`` of the expanded table; always the same ones."""
    adult = load("adult", data).both
    channel = [name for name in adult.columns if name not in (SENSITIVE, CLASS)]
    numbers = np.arange(start, start + records)
    rng = np.random.default_rng([start, changed])
    place = rng.random((records, len(channel))).argsort(axis=1).argsort(axis=1)
    varied = (place < changed) & (numbers >= len(adult))[:, None]
    columns: dict[str, Any] = {}
    for name in adult.columns:
        values, codes = np.unique(adult[name].to_numpy(dtype=str), return_inverse=True)
        taken: NDArray[np.int64] = codes[numbers % len(adult)]
        if name in channel:
            drawn = rng.integers(len(values), size=records)
            taken = np.where(varied[:, channel.index(name)], drawn, taken)
        columns[name] = pa.DictionaryArray.from_arrays(taken.astype(np.int8), values).cast(pa.string())
    return pa.table(columns)


def write_expanded(path: Path, records: int, *, changed: int = CHANGED) -> None:
    """Write the expanded table as CSV or Parquet, by the file's ending, in batches."""
    schema = expanded(1).schema
    opened = csv.CSVWriter(path, schema) if path.suffix == ".csv" else pq.ParquetWriter(path, schema)
    with opened as writer:
        for start in range(0, records, BATCH):
            writer.write_table(expanded(min(BATCH, records - start), start, changed=changed))
