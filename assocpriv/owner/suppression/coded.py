"""Tables as integer codes: what suppression computes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import TemplateError


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of categories.

    ``values`` are the texts of the cells, each once, without blanks around them, in any order; None is a missing cell,
    which is a value of its own. ``codes``, shape (n,), of the smallest unsigned type that holds them, has for each
    record the place of its cell among the values.
    """

    name: str
    values: tuple[str | None, ...]
    codes: NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """The columns of a table that templates or the class name, in the table's order, and the number of its records."""

    columns: tuple[CodedColumn, ...]
    n_records: int

    def column(self, name: str) -> CodedColumn:
        """Return a column by its name; TemplateError if there is none of it."""
        for column in self.columns:
            if column.name == name:
                return column
        raise TemplateError(f"the table has no column {name}; it has {', '.join(self.names[:20])}")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)


def smallest_unsigned(count: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes 0..count − 1."""
    return np.dtype(np.min_scalar_type(max(count - 1, 0)))


def code_cells(columns: Mapping[str, Sequence[str | None]]) -> CodedTable:
    """Return a table of the cells at hand, column by column; None is a missing cell.

    >>> table = code_cells({"Job": ["Cook", "Clerk", "Cook"]})
    >>> table.column("Job").values, table.column("Job").codes.tolist()
    (('Cook', 'Clerk'), [0, 1, 0])
    """
    coded = []
    for name, cells in columns.items():
        texts = [None if cell is None else str(cell).strip() for cell in cells]
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.array([places[text] for text in texts], dtype=smallest_unsigned(len(places)))
        coded.append(CodedColumn(name, tuple(places), codes))
    return CodedTable(tuple(coded), max((len(column.codes) for column in coded), default=0))


def suppress(table: CodedTable, suppressed: Mapping[str, Sequence[str | None]], mark: str) -> CodedTable:
    """Return the table with all cells that hold a suppressed value of their column replaced by the mark.

    >>> table = suppress(code_cells({"Job": ["Cook", "Clerk", "Cook"]}), {"Job": ["Cook"]}, "*")
    >>> [table.column("Job").values[code] for code in table.column("Job").codes]
    ['*', 'Clerk', '*']
    """
    columns = []
    for column in table.columns:
        hidden = set(suppressed.get(column.name, ()))
        if hidden:
            values = (*column.values, mark)  # a code of its own, also beside a value of the same text
            places = [len(column.values) if value in hidden else code for code, value in enumerate(column.values)]
            codes = np.array(places, dtype=smallest_unsigned(len(values)))[column.codes]
            columns.append(CodedColumn(column.name, values, codes))
        else:
            columns.append(column)
    return CodedTable(tuple(columns), table.n_records)
