"""Frequent itemsets with counts, as miners of plain baskets give them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.files.atomic import atomic_output
from assocpriv.files.itemsets import LightFrame
from assocpriv.promise.errors import EstimateError
from assocpriv.server.itemsets.frames import mining_facts

if TYPE_CHECKING:
    import pandas as pd


def frequent_counts(itemsets: "pd.DataFrame") -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the names of each frequent itemset, sorted, and about how many baskets hold it."""
    reports, frame = mining_facts(itemsets).reports, LightFrame.of(itemsets)
    for row in frame.to_dict():
        if row["frequent"]:
            yield tuple(sorted(row["itemsets"])), max(round(row["support"] * reports), 0)


def write_counts(itemsets: "pd.DataFrame", path: str | Path, line: str, *, force: bool) -> None:
    """Write a line for each frequent itemset; a name with a blank in it cannot stand there."""
    found = list(frequent_counts(itemsets))
    if any(len(name.split()) != 1 for items, _ in found for name in items):
        raise EstimateError("a name has a blank in it, which such a file takes for two names; write Parquet or JSON")
    with atomic_output(path, force=force) as stream:
        for items, count in found:
            stream.write((line.format(items=" ".join(items), count=count) + "\n").encode("utf-8"))
