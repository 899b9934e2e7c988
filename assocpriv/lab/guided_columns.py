"""The attributes of a plan of guided perturbation, from a table of people who do not mind, or of records at hand.

A column of numbers of more than ten values is cut at its quartiles, every other one has its values as categories: of
the 1992 generator's records that gives the paper's columns of bits.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 6.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guided import GuidedPlan, category, class_label, guided_plan, number
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records.sources import SEPARATORS, cut_line, first_lines, open_source, read_sample
from assocpriv.records.tables import TableOptions, stream_table

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 10  # numbers of more different values than this are cut at their quartiles
_LOG = logging.getLogger("assocpriv")
_QUARTILES = (0.25, 0.5, 0.75)
_MISSING = ("", "nan", "None", "<NA>")


@dataclass(frozen=True, eq=False, slots=True)
class People:
    """Raw tuples: positions of values, int32 (n, attributes), none missing any more, and classes, int64 (n,)."""

    raw_positions: NDArray[np.int32]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, places: Any) -> "People":
        return People(self.raw_positions[places], self.classes[places])


def read_cells(table: Any, options: TableOptions) -> "pd.DataFrame":
    """Return a table's cells as text, None where a value is missing: of a CSV or Parquet file, or a frame.

    Raises:
        RecordError: a file that cannot be read, without records, or with two columns of one name.
    """
    import narwhals as nw
    import pandas as pd

    if isinstance(table, str | Path):
        frame = _read_file(Path(table), options.mark)
    else:
        frame = nw.from_native(table, eager_only=True).to_pandas()
    names = [str(name).strip() for name in frame.columns]
    if len(set(names)) < len(names):
        raise RecordError("two columns of the table have the same name; names must differ")
    if not len(frame):
        raise RecordError("the table has no records; check that it is the right one")
    words = {*_MISSING, *options.missing}
    cells = {
        name: [None if text in words else text for text in map(_text, frame.iloc[:, place].tolist())]
        for place, name in enumerate(names)
    }
    return pd.DataFrame(cells, dtype=object)


def _text(value: Any) -> str:
    """Return a cell as text; a whole number as a float, as a column with missing values has it, is a whole number."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _read_file(path: Path, separator: str | None) -> "pd.DataFrame":
    import pandas as pd

    if not path.is_file():
        raise RecordError(f"there is no table {path}")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pd.read_parquet(path)
        mark = separator or _separator(path)
        lines = pd.read_csv(path, header=None, dtype=str, keep_default_na=False, sep=mark, skipinitialspace=mark != " ")
    except (OSError, ValueError):  # their texts may quote cells
        raise RecordError(f"{path} cannot be read as a table; it must be CSV with a header line, or Parquet") from None
    return lines.iloc[1:].set_axis(lines.iloc[0], axis=1)  # pandas itself would rename columns of one name


def _separator(path: Path) -> str:
    """Return the separator, but for blanks, that cuts the first line into most cells."""
    with open_source(path, None) as file:
        filled = [line for line in first_lines(read_sample(file)) if line.strip()]
    marks = [mark for mark in SEPARATORS if mark != " "]
    return max(marks, key=lambda mark: len(cut_line(filled[0], mark) or [])) if filled else ","


def attribute_values(cells: "pd.Series") -> tuple[str, ...] | tuple[float, ...]:
    """Return what a column's attribute is made of: cut points in rising order, as floats, or sorted categories.

    A cut point is a value of the column, the first of the interval above it.

    Raises:
        RecordError: nothing but missing values.
    """
    known = cells.dropna()
    if not len(known):
        raise RecordError(f"column {cells.name} holds nothing but missing values; leave it out")
    numbers = _numbers(known)
    if numbers is None or len(np.unique(numbers)) <= MOST_CATEGORIES:
        return tuple(sorted(known.unique(), key=lambda text: (numbers is not None and float(text), text)))
    distinct = np.unique(numbers)
    cuts = np.quantile(numbers, _QUARTILES, method="higher")
    cuts = np.maximum(cuts, distinct[1])  # no interval below the least value
    return tuple(np.unique(cuts).tolist())


def _numbers(known: "pd.Series") -> NDArray[np.float64] | None:
    """Return numbers, float64 (n,), None where a cell is none."""
    try:
        numbers: NDArray[np.float64] = np.array(known.astype(np.float64), dtype=np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def plan_of(cells: "pd.DataFrame", class_column: str, **settings: Any) -> GuidedPlan:
    """Return a plan of all columns of a table but constant ones, which tell nothing of anybody.

    ``settings`` are those of :func:`assocpriv.plans.guided.guided_plan`.

    Raises:
        RecordError: no such column, fewer than two classes, or numbers that are none.
        PlanError: what a plan cannot hold.
    """
    if class_column not in cells.columns:
        raise RecordError(
            f"the table has no column {class_column[:80]!r} to be the class; line 1 must name the columns"
        )
    labels = sorted(cells[class_column].dropna().unique())
    if len(labels) < 2:
        raise RecordError(
            f"column {class_column} has {counted(len(labels), 'class')}, but guidance says where two or more differ"
        )
    if len(labels) > MOST_CATEGORIES and _numbers(cells[class_column].dropna()) is not None:
        raise RecordError(
            f"column {class_column} has {len(labels):,} different numbers, and a plan would publish each of them as a "
            f"class; put them into {MOST_CATEGORIES} intervals at most, as low and high, first"
        )
    made = {name: attribute_values(cells[name]) for name in cells.columns if name != class_column}
    constant = [name for name, values in made.items() if len(values) < 2 and isinstance(values[0], str)]
    if constant:
        _LOG.info("%s left out, with one value alone", counted(len(constant), "column"))
    attributes = [
        category(name, values) if isinstance(values[0], str) else number(name, values)
        for name, values in made.items()
        if name not in constant
    ]
    return guided_plan(attributes, class_label(class_column, labels), **settings)


def read_people(table: Any, plan: GuidedPlan, options: TableOptions, seed: int | None = None) -> People:
    """Return a table's records as raw tuples, each missing value drawn uniformly.

    Raises:
        RecordError: cells that the plan's columns do not take; no value is shown.
    """
    inputs = np.concatenate(list(stream_table(table, plan, options)))
    sizes = np.array(plan.sizes, dtype=np.int32)
    drawn = np.random.default_rng(seed).integers(0, sizes, (len(inputs), len(sizes)), dtype=np.int32)
    positions = inputs[:, :-1]
    return People(np.where(positions == sizes, drawn, positions), inputs[:, -1].astype(np.int64))
