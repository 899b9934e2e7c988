"""Records of a table -> baskets of items, alone or together with baskets of the same people. Raw data on both sides."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import BasketError, counted
from assocpriv.files.arrow_columns import to_arrow
from assocpriv.files.atomic import atomic_output
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets


def table_baskets(
    batches: Iterable[NDArray[np.int32]], names: Sequence[Sequence[str]], beside: Baskets | None = None
) -> Baskets:
    """Return a basket for each record: an item for each column that is not missing, then those of a basket beside it.

    Args:
        batches: inputs of the records, int32 (n, columns); an input beyond a column's names is a missing value.
        names: of each column's items; they come first in the catalogue.
        beside: baskets of the same people in the same order.

    Raises:
        BasketError: not as many baskets as records, or an item with a column's name.

    >>> table_baskets([np.array([[1, 0], [0, 2]], np.int32)], [["a=0", "a=1"], ["b=x", "b=y"]])[0]
    frozenset({1, 2})
    """
    raw_inputs = np.concatenate(list(batches)).astype(np.int64)
    counts = np.array([len(column) for column in names])
    present = raw_inputs < counts
    items = (raw_inputs + np.cumsum(counts) - counts)[present]
    sizes = present.sum(axis=1)
    listed = [name for column in names for name in column]
    if beside is None:
        return Baskets(Catalogue(listed), _offsets(sizes), items)
    if len(beside) != len(sizes):
        raise BasketError(
            f"the table has {counted(len(sizes), 'record')}, the baskets are {len(beside):,}; give one basket for each "
            "record, in the same order"
        )
    common = len(set(listed) & set(beside.catalogue))
    if common:
        have = "has" if common == 1 else "have"
        raise BasketError(
            f"{counted(common, 'item')} of the baskets {have} the name of an item of the table; rename it"
        )
    theirs = beside.items[beside.offsets[0] : beside.offsets[-1]] + len(listed)
    rows = np.concatenate([np.repeat(np.arange(len(sizes)), each) for each in (sizes, beside.sizes)])
    order = np.argsort(rows, kind="stable")
    catalogue = Catalogue([*listed, *beside.catalogue])
    return Baskets(catalogue, _offsets(sizes + beside.sizes), np.concatenate([items, theirs])[order])


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def write_item_baskets(baskets: Baskets, path: Path, *, force: bool = False) -> None:
    """Write baskets of names as Parquet, a column of lists, which nobody takes for a table.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = to_arrow(np.array(list(baskets.catalogue), dtype=object)).take(to_arrow(baskets.items))
    lists = pa.ListArray.from_arrays(to_arrow(baskets.offsets.astype(np.int32)), names)
    with atomic_output(path, force=force) as stream:
        pq.write_table(pa.Table.from_arrays([lists], names=["items"]), stream)
