"""How far progressive disclosure is from the best suppression, on tables small enough to go through them all.

Random tables with three columns in a channel, at most ten values together, a sensitive column of two values and a class
of two. Every set of suppressed values is tried: *least cells* is the fewest suppressed cells of those that meet the
bound, *most information* the largest sum, over the channel's columns, of the mutual information with the class.
Progressive disclosure looks for information, with a class, and takes one value at a time; without a class it discloses
whatever is valid. Only tables count where something must be suppressed and something may stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.suppress.paper import disclose
from assocpriv.suppress.table import code_cells
from assocpriv.suppress.templates import Bound

Row = dict[str, Any]
CHANNEL = ("a", "b", "c")
SHAPES = ("even", "skewed", "dependent")
PERCENTS = (30, 50, 70)
RECORDS = (30, 100, 300)
SENSITIVE, YES = "s", "yes"


@dataclass(frozen=True, slots=True)
class Best:
    """The fewest suppressed cells and the most information, over all suppressions that meet a bound."""

    cells: int
    information: float


def random_table(rng: np.random.Generator, shape: str, records: int) -> dict[str, NDArray[Any]]:
    """Return columns a, b, c, the sensitive one and the class; of shape *dependent* these follow from the columns."""
    sizes = rng.integers(2, 4, size=3) + (rng.permutation(3) == 0)
    columns: dict[str, NDArray[Any]] = {}
    for name, size in zip(CHANNEL, sizes, strict=True):
        weights = 1 / np.arange(1, size + 1) ** (2.0 if shape == "skewed" else 0.0)
        columns[name] = rng.choice(size, size=records, p=weights / weights.sum())
    chance = np.full(records, rng.uniform(0.05, 0.4))
    lean = np.full(records, 0.5)
    if shape == "dependent":
        chance = np.where(columns["a"] == 0, 0.8, 0.1)
        lean = np.where(columns["b"] == 0, 0.8, 0.3)
    columns[SENSITIVE] = np.where(rng.random(records) < chance, YES, "no")
    columns["class"] = np.where(rng.random(records) < lean, "good", "bad")
    return columns


def best_of_all(columns: Mapping[str, NDArray[Any]], bound: Bound) -> Best | None:
    """Return the best of all suppressions, None if there is none; by going through them."""
    hit, good = columns[SENSITIVE] == YES, columns["class"] == "good"
    shown: list[list[tuple[NDArray[np.int64], int, float]]] = []
    for name in CHANNEL:
        size = int(columns[name].max()) + 1
        shown.append([])
        for hidden in product((False, True), repeat=size):
            codes = np.where(np.array(hidden)[columns[name]], size, columns[name])
            shown[-1].append((codes, int((codes == size).sum()), information(codes, good)))
    best: Best | None = None
    for chosen in product(*shown):
        keys = np.ravel_multi_index([codes for codes, _, _ in chosen], (8, 8, 8))
        totals, hits = np.bincount(keys), np.bincount(keys[hit], minlength=int(keys.max()) + 1)
        if all(bound.allows(int(h), int(n)) for h, n in zip(hits, totals, strict=True) if h):
            cells, bits = sum(part[1] for part in chosen), sum(part[2] for part in chosen)
            best = Best(min(cells, best.cells), max(bits, best.information)) if best else Best(cells, bits)
    return best


def information(codes: NDArray[np.int64], good: NDArray[np.bool_]) -> float:
    """Return the mutual information of a column with the class, in bits."""
    joint = np.stack([np.bincount(codes[good], minlength=8), np.bincount(codes[~good], minlength=8)]) / len(codes)
    alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    present = joint > 0
    return float((joint[present] * np.log2(joint[present] / alone[present])).sum())


def one(rng: np.random.Generator, shape: str, records: int, percent: int) -> Row | None:
    """Return how one random table fares; None where nothing need be suppressed, or all must be."""
    columns = random_table(rng, shape, records)
    bound = Bound(CHANNEL, SENSITIVE, YES, Fraction(percent, 100))
    best = best_of_all(columns, bound)
    cells = records * len(CHANNEL)
    if best is None or best.cells in (0, cells):
        return None
    table = code_cells({name: [str(value) for value in cells] for name, cells in columns.items()})
    for_class, for_cells = (disclose(table, [bound], name) for name in ("class", None))
    hidden = [
        {name: values[table.column(name).codes] for name, values in found.items()} for found in (for_class, for_cells)
    ]
    good = columns["class"] == "good"
    kept = sum(information(np.where(hidden[0][name], columns[name].max() + 1, columns[name]), good) for name in CHANNEL)
    return {
        "shape": shape,
        "records": records,
        "threshold": percent,
        "cells": cells,
        "least_cells": best.cells,
        "cells_with_class": sum(int(each.sum()) for each in hidden[0].values()),
        "cells_without_class": sum(int(each.sum()) for each in hidden[1].values()),
        "most_information": best.information,
        "information_with_class": kept,
    }


def rows(tables: int, seed: int = 0) -> Iterator[Row]:
    """Yield so many tables of each shape, size and threshold."""
    for shape, records, percent in product(SHAPES, RECORDS, PERCENTS):
        rng = np.random.default_rng([seed, SHAPES.index(shape), records, percent])
        found = (one(rng, shape, records, percent) for _ in range(20 * tables))
        yield from islice((row for row in found if row is not None), tables)


def summary(found: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return how gaps are distributed, by shape: cells as a share of all cells, information as a share of the most."""
    lines = []
    for shape in (*SHAPES, "all"):
        chosen = [row for row in found if shape in (row["shape"], "all")]
        for against in ("cells_with_class", "cells_without_class", "information_with_class"):
            gaps = np.array([_gap(row, against) for row in chosen])
            lines.append(
                {
                    "shape": shape,
                    "measure": against,
                    "tables": len(gaps),
                    "best_percent": 100 * float((gaps < 1e-9).mean()),
                }
                | {f"gap_{q}_percent": 100 * float(np.quantile(gaps, q / 100)) for q in (50, 90, 100)}
                | {"gap_mean_percent": 100 * float(gaps.mean())}
            )
    return lines


def _gap(row: Mapping[str, Any], against: str) -> float:
    if against.startswith("cells"):
        return float((row[against] - row["least_cells"]) / row["cells"])
    return max(0.0, 1 - row[against] / row["most_information"]) if row["most_information"] > 1e-12 else 0.0
