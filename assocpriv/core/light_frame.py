"""A table in memory as numpy arrays, for commands, which need no data frame that nobody sees.

What it can do has pandas' names, and means the same, as far as this package uses it; but a column is an array, and rows
have no labels. Whoever calls from Python gets pandas' own, by :meth:`LightFrame.to_pandas`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

AnyFrame: TypeAlias = "LightFrame | pd.DataFrame"


@dataclass(frozen=True, slots=True)
class LightFrame:
    """Columns of one length by name: numbers, truths, or objects such as sets of names; and what a table is of."""

    columns: dict[str, NDArray[Any]]
    attrs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: "AnyFrame") -> "LightFrame":
        """Return a table as it is, or a data frame's columns and attributes."""
        if isinstance(frame, LightFrame):
            return frame
        return cls(
            {str(name): frame[name].to_numpy() for name in frame.columns},
            {str(name): each for name, each in frame.attrs.items()},
        )

    @classmethod
    def made(cls, columns: Mapping[str, Any]) -> "LightFrame":
        """Return a table of columns that are arrays, or lists: what is no number is kept as it is."""
        return cls({name: as_column(values) for name, values in columns.items()})

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as pandas' data frame."""
        import pandas as pd

        frame = pd.DataFrame({name: pd.Series(each, dtype=each.dtype) for name, each in self.columns.items()})
        frame.attrs.update(self.attrs)
        return frame

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""
        return self.columns[name]

    def take(self, rows: NDArray[Any] | Sequence[int]) -> "LightFrame":
        """Return some rows, by their numbers, in this order."""
        return LightFrame({name: each[rows] for name, each in self.columns.items()}, dict(self.attrs))

    def head(self, count: int) -> "LightFrame":
        """Return the first rows."""
        return LightFrame({name: each[:count] for name, each in self.columns.items()}, dict(self.attrs))

    def assign(self, **columns: Any) -> "LightFrame":
        """Return a table with these columns too, or with these in place of others."""
        return LightFrame(self.columns | LightFrame.made(columns).columns, dict(self.attrs))

    def to_dict(self, _orient: str = "records") -> list[dict[str, Any]]:
        """Return the rows as dictionaries of Python's own values."""
        names, columns = list(self.columns), [each.tolist() for each in self.columns.values()]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def as_column(values: Any) -> NDArray[Any]:
    """Return values as a column: numbers and truths as such, an array as it is, anything else as objects."""
    if isinstance(values, np.ndarray):
        return values
    listed = list(values)
    if listed and all(isinstance(each, bool | int | float | np.generic) for each in listed):
        return np.array(listed)
    column = np.empty(len(listed), dtype=object)
    column[:] = listed  # of lists of one length too: each is one object
    return column


def put_together(parts: Iterable[LightFrame]) -> LightFrame:
    """Return the rows of tables with the same columns, one after the other."""
    given = list(parts)
    return LightFrame({name: np.concatenate([part[name] for part in given]) for name in given[0].columns})
