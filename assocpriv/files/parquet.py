"""Parquet files of other people: what reading them may raise, and what they say they take in memory.

A few hundred bytes can say, by Parquet's rules and without a lie, that a billion equal values follow. Readers that take
a whole row group, or a whole file, ask here first. Arrow's objects for column chunks end the process where a footer is
damaged in certain ways (an error of C++ that nothing catches), so the footer is read here: it is one struct of Thrift's
compact protocol.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any, BinaryIO

_CELL_BYTES = 48  # memory that a value takes while it is read, at worst
_TEXT_BYTES = 6  # the same for a byte of a column before it was compressed
_LARGEST_RATIO = 4096  # memory to file; data that differ at all stay far below
_MAGIC, _TAIL_BYTES = b"PAR1", 8
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3  # fields of the footer, of a row group and of a column chunk
_PATH, _VALUES, _UNCOMPRESSED = 3, 5, 6  # fields of a column chunk's metadata


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """What a footer says of one column in one row group.

    Attributes:
        group: the row group, from 0.
        path: the column's name, with what is nested in it after dots.
        values: number of values, nulls and empty lists included.
        plain_bytes: size before compression.
    """

    group: int
    path: str
    values: int
    plain_bytes: int

    @property
    def memory_bytes(self) -> int:
        """About what reading it takes."""
        return _CELL_BYTES * self.values + _TEXT_BYTES * self.plain_bytes


def parquet_errors() -> tuple[type[BaseException], ...]:
    """Return what is raised where a file is damaged: Arrow's errors, those that stand for errors of C++, and ours."""
    import pyarrow as pa

    return (pa.ArrowException, ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)


def column_chunks(file: BinaryIO) -> list[ColumnChunk]:
    """Return what the footer of an open file says of its column chunks.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is no footer, or a damaged one.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length + _TAIL_BYTES > size:
        raise ValueError("it does not end as Parquet does")
    file.seek(size - _TAIL_BYTES - length)
    try:
        groups = _Compact(file.read(length)).struct()[_ROW_GROUPS]
        return [_chunk(number, chunk[_METADATA]) for number, group in enumerate(groups) for chunk in group[_COLUMNS]]
    except (LookupError, TypeError, RecursionError):
        raise ValueError("its footer is damaged") from None


def _chunk(group: int, fields: dict[int, Any]) -> ColumnChunk:
    path = b".".join(fields[_PATH]).decode("utf-8", errors="replace")
    return ColumnChunk(group, path, index(fields[_VALUES]), index(fields[_UNCOMPRESSED]))


def is_inflated(chunks: Iterable[ColumnChunk], file_bytes: int, allowed: int) -> bool:
    """Tell whether chunks say they take more memory than is allowed, and than so few bytes have honest use for.

    >>> billion = ColumnChunk(0, "items.list.element", 1 << 30, 100)
    >>> is_inflated([billion], 1000, 1 << 28), is_inflated([billion], 1 << 30, 1 << 28)
    (True, False)
    """
    claimed = sum(chunk.memory_bytes for chunk in chunks)
    return claimed > max(allowed, _LARGEST_RATIO * file_bytes)


class _Compact:
    """Reads Thrift's compact protocol: a struct as a dictionary by field number, text as bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            kind = header & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)  # a flag is all in its header
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):
            return self._bytes(8 if kind == 7 else self._varint())
        if kind in (9, 10):
            return self._list()
        if kind == 12:
            return self.struct()
        raise ValueError("its footer is damaged")

    def _list(self) -> list[Any]:
        header = self._byte()
        count = header >> 4 if header >> 4 < 15 else self._varint()
        return [self._value(header & 15) for _ in range(count)]  # every value takes a byte, so the data end this

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise IndexError
        return self._data[self._at - count : self._at]

    def _integer(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for place in range(10):
            byte = self._byte()
            number |= (byte & 127) << 7 * place
            if byte < 128:
                return number
        raise ValueError("its footer is damaged")
