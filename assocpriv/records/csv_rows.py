"""Whole lines of CSV -> columns as Arrow holds them, by pyarrow; what is wrong is named by its line, never quoted."""

import contextlib
from collections.abc import Collection
from typing import Any

from assocpriv.promise.errors import RecordError, counted

EMPTY_NUMBERS = ("", "NaN", "nan", "NAN", "null", "NULL", "Null")  # cells of text that stand for no number


class LineNumbers:
    """Says in which line a row of some lines stands; blank lines are no rows."""

    def __init__(self, text: bytes, before: int) -> None:
        self._text, self._before = text, before

    def __call__(self, row: int) -> int:
        """Return the number of a row's line."""
        filled = [number for number, line in enumerate(self._text.split(b"\n")) if line.rstrip(b"\r")]
        return self._before + filled[row] + 1

    def rows(self) -> int:
        """Return how many lines are not blank."""
        if b"\n\n" not in self._text and b"\n\r\n" not in self._text and self._text[:1] not in b"\r\n":
            return self._text.count(b"\n")
        return sum(bool(line.rstrip(b"\r")) for line in self._text.split(b"\n"))


def read_lines(
    text: bytes, lines: LineNumbers, width: int, places: list[int], separator: str, missing: Collection[str],
    numbers: list[bool],
) -> list[Any] | None:  # fmt: skip
    """Return the columns at some places, numbers as such where asked for; None where Arrow cannot read them so.

    Raises:
        RecordError: a line has another number of cells than ``width``, or a cell holds a line break.
    """
    import pyarrow as pa
    from pyarrow import csv

    wrong: list[tuple[int, int]] = []  # line, cells

    def skip_row(row: Any) -> str:
        wrong.append((row.number or 0, row.actual_columns))
        return "skip"

    texts = pa.dictionary(pa.int32(), pa.string())
    names = [str(place) for place in range(width)]
    table = None
    with contextlib.suppress(pa.ArrowException, OSError, ValueError):  # their texts quote cells
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            csv.ParseOptions(delimiter=separator, invalid_row_handler=skip_row),
            csv.ConvertOptions(
                column_types={
                    names[place]: pa.float64() if number else texts
                    for place, number in zip(places, numbers, strict=True)
                },
                include_columns=[names[place] for place in places],
                null_values=[*EMPTY_NUMBERS, *missing],
                strings_can_be_null=False,
            ),
        )
    if wrong:
        row, cells = wrong[0]
        raise RecordError(
            f"line {lines(row - 1):,} has {counted(cells, 'cell')}, but line 1 names {counted(width, 'column')}; "
            "correct it, or put cells that hold the separator in quotes"
        )
    if table is None:
        return None
    if table.num_rows != lines.rows():
        raise RecordError("a cell holds a line break; every record must stand on one line: take it out")
    return [whole_array(column) for column in table.columns]


def whole_array(values: Any) -> Any:
    """Return a column as one Arrow array."""
    import pyarrow as pa

    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.unify_dictionaries().combine_chunks()
