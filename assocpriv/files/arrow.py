"""Memory bounds for untrusted Parquet files, and conversion between Arrow and numpy columns.

By the rules of Parquet, a few hundred bytes can claim that a billion equal values follow. Code that reads more than one
batch therefore checks the claimed size here first. Arrow allocates the number of values that the footer states and
reads the number that the page headers state; this module uses the larger. It must measure exactly what Arrow reads:

- Arrow parses the footer first; then this module does, and must end at the same byte. (Arrow's own objects for column
  chunks would serve, but some damaged footers make them end the process with a C++ error that cannot be caught.)
- Page headers are followed from the offset where Arrow begins to the one where it ends.
- Input that Arrow would interpret differently (a field given twice, a number out of range, a list of the wrong type) is
  refused.
- The column chunks of an honest file do not overlap, so no more bytes are followed than the file has.

Footer and headers are structs of Thrift's compact protocol, of which only the needed fields are parsed.

Other packages import Arrow's modules from here; they load on first use.

Arrow columns are built from buffers, because pa.array imports pandas wherever pandas is installed.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.lazy_exports import LazyModule

pa: Any = LazyModule("pyarrow")  # a tenth of a second to load
pc: Any = LazyModule("pyarrow.compute")
pq: Any = LazyModule("pyarrow.parquet")
arrow_csv: Any = LazyModule("pyarrow.csv")

_CELL_BYTES = 48  # memory per value while it is read, at worst
_TEXT_BYTES = 6  # memory per uncompressed byte of a column, at worst
_MAX_MEMORY_RATIO = 512  # bytes of memory per byte of file; data that vary at all stay far below
_TAIL_BYTES = 8
_HEADER_BYTES = (1 << 9, 1 << 16, 1 << 24)  # sizes tried for a page header; Arrow gives up at the last
_MAX_PAGE_FIELDS = 1 << 10  # a header has 30
_MAX_FOOTER_FIELDS = 1 << 22  # a column chunk has about 50
_DAMAGED, _PAGES_DAMAGED = "its footer is damaged", "its pages are damaged"

# Thrift's types, and the known fields of a struct: each with its type and the shape of the struct or list inside. All
# lists that Arrow knows are here, because Arrow trusts their expected type, whatever type the file states.
_I32, _I64, _TEXT, _LIST, _STRUCT = 5, 6, 8, 9, 12
_Field = tuple[int, Any]
_Shape = dict[int, _Field]
_TEXTS: _Field = (_LIST, (_TEXT, {}))
_STRUCTS: _Field = (_LIST, (_STRUCT, {}))
_INT32S: _Field = (_LIST, (_I32, {}))
_INT64S: _Field = (_LIST, (_I64, {}))
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3  # fields of the footer, of a row group and of a column chunk
_PATH, _VALUES, _UNCOMPRESSED, _DATA_AT, _DICTIONARY_AT = 3, 5, 6, 9, 11  # fields of a column chunk's metadata
_NUMBERS: _Shape = dict.fromkeys((_VALUES, _UNCOMPRESSED, _DATA_AT, _DICTIONARY_AT), (_I64, None))
_SIZES: _Shape = {16: (_STRUCT, {2: _INT64S, 3: _INT64S}), 17: (_STRUCT, {2: _INT32S})}
_CHUNK: _Shape = {2: _INT32S, _PATH: _TEXTS, 8: _STRUCTS, 13: _STRUCTS} | _NUMBERS | _SIZES
_COLUMN: _Shape = {_METADATA: (_STRUCT, _CHUNK), 8: (_STRUCT, {2: (_STRUCT, {1: _TEXTS})})}
_GROUP: _Shape = {_COLUMNS: (_LIST, (_STRUCT, _COLUMN)), 4: _STRUCTS}
_FOOTER: _Shape = {2: _STRUCTS, _ROW_GROUPS: (_LIST, (_STRUCT, _GROUP)), 5: _STRUCTS, 7: _STRUCTS}
_TYPE, _UNPACKED, _PACKED = 1, 2, 3  # fields of a page's header
_DICTIONARY = 2  # a type of page; 0 and 3 are data
_DETAILS = {0: (5, 2), _DICTIONARY: (7, 2), 3: (8, 4)}  # by page type: the field with its details, the encoding therein
_COUNT = 1  # the number of values, also in the details
_PAGE: _Shape = dict.fromkeys((_TYPE, _UNPACKED, _PACKED), (_I32, None)) | {
    place: (_STRUCT, dict.fromkeys((_COUNT, encoding), (_I32, None))) for place, encoding in _DETAILS.values()
}
_UNBOUNDED = (6, 7)  # delta encodings of text: the headers do not bound the number of lengths or shared prefixes


# ---- Parquet files


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The claimed size of one column in one row group: the larger of the footer's and the page headers' claims.

    ``path`` is the column's name, with the names nested in it after dots; ``values`` counts nulls and empty lists, too;
    ``plain_bytes`` is the size before compression.
    """

    group: int
    path: str
    values: int
    plain_bytes: int

    @property
    def memory_bytes(self) -> int:
        """The approximate memory needed to read it."""
        return _CELL_BYTES * self.values + _TEXT_BYTES * self.plain_bytes


def parquet_errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions that damaged files raise: Arrow's own, those it maps C++ errors to, and this module's."""
    ours = (ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, SystemError, TypeError, ValueError)
    return (pa.ArrowException, *ours)


def column_chunks(file: BinaryIO, columns: Collection[str] | None = None) -> list[ColumnChunk]:
    """Return the claimed sizes of an open file's column chunks, optionally of some columns with their nested ones.

    It takes about 12 µs per page and 50 µs per column chunk.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is no footer, it or a page's header is damaged, or text is in a delta encoding.
    """
    try:
        groups = _footer(file)[_ROW_GROUPS]
        found = [(number, chunk[_METADATA]) for number, group in enumerate(groups) for chunk in group[_COLUMNS]]
        paths = [b".".join(fields[_PATH]).decode("utf-8", errors="replace") for _, fields in found]
    except (LookupError, RecursionError):
        raise ValueError(_DAMAGED) from None
    begins = None if columns is None else tuple(f"{name}." for name in columns)
    room = file.seek(0, os.SEEK_END)
    chunks = []
    for (group, fields), path in zip(found, paths, strict=True):
        if begins is None or f"{path}.".startswith(begins):
            values, plain_bytes, passed = _measured(file, fields, room)
            chunks.append(ColumnChunk(group, path, values, plain_bytes))
            room -= passed
    return chunks


def _footer(file: BinaryIO) -> dict[int, Any]:
    try:
        read_by_arrow = pq.ParquetFile(file).metadata.serialized_size
    except parquet_errors():
        raise ValueError(_DAMAGED) from None
    size = file.seek(0, os.SEEK_END)
    file.seek(size - _TAIL_BYTES)
    length = int.from_bytes(file.read(4), "little")
    file.seek(size - _TAIL_BYTES - length)
    reader = _Compact(file.read(length), _MAX_FOOTER_FIELDS)
    fields = reader.struct(_FOOTER)
    if reader.at != read_by_arrow:
        raise ValueError(_DAMAGED)
    return fields


def _measured(file: BinaryIO, fields: dict[int, Any], room: int) -> tuple[int, int, int]:
    """Follow a chunk's pages; return its number of values, its bytes before compression and its bytes in the file."""
    claimed, plain, start = fields[_VALUES], fields[_UNCOMPRESSED], fields[_DATA_AT]
    if 0 < fields.get(_DICTIONARY_AT, 0) < start:
        start = fields[_DICTIONARY_AT]
    if min(claimed, plain, start) < 0:
        raise ValueError(_DAMAGED)
    at, seen, most, unpacked = start, 0, claimed, 0
    while seen < claimed:
        header, header_bytes = _page_header(file, at)
        kind, sizes = header.get(_TYPE, -1), (header.get(_UNPACKED, -1), header.get(_PACKED, -1))
        place, encoding = _DETAILS.get(kind, (0, 0))
        details = header.get(place, {})
        values = details.get(_COUNT, 0)
        at += header_bytes + sizes[1]
        if min(kind, values, *sizes) < 0 or at - start > room:
            raise ValueError(_PAGES_DAMAGED)
        if details.get(encoding) in _UNBOUNDED:
            raise ValueError(
                "its text has a delta encoding, whose memory has no bound; write it in plain or dictionary encoding"
            )
        unpacked += max(sizes)  # uncompressed pages may state any size
        seen += values if kind != _DICTIONARY else 0
        most = max(most, seen, values)
    return most, max(plain, unpacked), at - start


def _page_header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    """Return the header of the page that begins at an offset of a file, and the header's length."""
    for length in _HEADER_BYTES:
        file.seek(at)
        reader = _Compact(file.read(length), _MAX_PAGE_FIELDS)
        try:
            return reader.struct(_PAGE), reader.at
        except IndexError:
            continue  # it is longer
        except (ValueError, RecursionError):
            break
    raise ValueError(_PAGES_DAMAGED)


def is_inflated(chunks: Iterable[ColumnChunk], file_bytes: int, allowed: int) -> bool:
    """Return whether chunks claim more memory than allowed and more than an honest file of that size could need.

    >>> billion = ColumnChunk(0, "items.list.element", 1 << 30, 100)
    >>> is_inflated([billion], 1000, 1 << 28), is_inflated([billion], 1 << 30, 1 << 28)
    (True, False)
    """
    return sum(chunk.memory_bytes for chunk in chunks) > max(allowed, _MAX_MEMORY_RATIO * file_bytes)


class _Compact:
    """Parser of Thrift's compact protocol as Arrow reads it; ``at`` is the offset. IndexError beyond the end."""

    def __init__(self, data: bytes, most_fields: int) -> None:
        self._data, self._left, self.at = data, most_fields, 0

    def struct(self, known: _Shape) -> dict[int, Any]:
        """Return the known fields by number, text as bytes; skip unknown fields and fields of another type."""
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer(_I32)
            kind = header & 15
            if number in fields or not 0 < number < 1 << 15:
                raise ValueError(_DAMAGED)
            of_kind, inner = known.get(number, (0, None))
            if kind == of_kind:
                fields[number] = self._value(kind, inner)
            elif kind not in (1, 2):  # the header holds the whole boolean
                self._skip(kind)
        return fields

    def _value(self, kind: int, inner: Any) -> Any:
        self._spend()
        if kind in (_I32, _I64):
            return self._integer(kind)
        if kind == _TEXT:
            return self._bytes(self._varint())
        return self.struct(inner) if kind == _STRUCT else self._list(*inner)

    def _list(self, known: int, inner: _Shape) -> list[Any]:
        count, kind = self._list_header()
        if kind != known:
            raise ValueError(_DAMAGED)
        if inner or kind == _TEXT:
            return [self._value(kind, inner) for _ in range(count)]
        for _ in range(count):
            self._skip(kind)
        return []

    def _skip(self, kind: int) -> None:
        self._spend()
        if kind in (1, 2, 3, 7):
            self._bytes(8 if kind == 7 else 1)
        elif kind == _TEXT:
            self._bytes(self._varint())
        elif kind in (4, _I32, _I64):
            self._varint()
        elif kind == _STRUCT:
            self.struct({})
        elif kind in (_LIST, 10):
            count, kind = self._list_header()
            for _ in range(count):  # each value takes a byte, so the loop ends with the data
                self._skip(kind)
        else:
            raise ValueError(_DAMAGED)

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError(_DAMAGED)

    def _list_header(self) -> tuple[int, int]:
        header = self._byte()
        return header >> 4 if header >> 4 < 15 else self._varint(), header & 15

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self._data):
            raise IndexError
        return self._data[self.at - count : self.at]

    def _integer(self, kind: int) -> int:
        number = self._varint()
        if number >> (32 if kind == _I32 else 64):
            raise ValueError(_DAMAGED)  # Arrow would truncate it
        return number >> 1 ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for place in range(10):
            byte = self._byte()
            number |= (byte & 127) << 7 * place
            if byte < 128:
                return number
        raise ValueError(_DAMAGED)


# ---- columns


def to_arrow(column: NDArray[Any]) -> Any:
    """Convert a column of numbers, booleans or texts, or of lists of numbers or texts, to an Arrow array.

    >>> to_arrow(np.array([1, 2])).to_pylist(), to_arrow(np.array([True, False])).to_pylist()
    ([1, 2], [True, False])
    """
    if column.dtype.kind == "b":
        bits = np.packbits(column, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(column), [None, pa.py_buffer(bits)])
    if column.dtype.kind in "iuf":
        kind, numbers = pa.from_numpy_dtype(column.dtype), np.ascontiguousarray(column)
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(numbers)])
    values = column.tolist()
    if values and all(isinstance(each, str) for each in values):
        return _texts(values)
    if not all(isinstance(each, list) for each in values):
        return pa.array(column)  # other objects of a data frame
    flat = [part for each in values for part in each]
    of_numbers = flat and all(isinstance(part, int) for part in flat)
    return _lists(values, to_arrow(np.array(flat, dtype=np.int64)) if of_numbers else _texts(flat))


def to_arrow_table(columns: dict[str, NDArray[Any]]) -> Any:
    """Convert columns to an Arrow table."""
    return pa.Table.from_arrays([to_arrow(each) for each in columns.values()], names=list(columns))


def _texts(texts: Sequence[str]) -> Any:
    encoded = [text.encode("utf-8") for text in texts]
    return pa.StringArray.from_buffers(len(texts), _ends(encoded), pa.py_buffer(b"".join(encoded)))


def _lists(lists: Sequence[list[Any]], values: Any) -> Any:
    return pa.Array.from_buffers(pa.list_(values.type), len(lists), [None, _ends(lists)], children=[values])


def _ends(parts: Sequence[Any]) -> Any:
    """Return Arrow offsets: the start of each part and the end of the last, as an int32 buffer."""
    ends = np.cumsum([0, *map(len, parts)])
    if ends[-1] >= 1 << 31:
        raise ValueError("a column of Parquet holds less than 2 GiB")
    return pa.py_buffer(ends.astype(np.int32))


def to_numpy(column: Any) -> NDArray[Any]:
    """Convert an Arrow column of numbers or booleans to numpy, possibly read-only; a null float is NaN.

    Raises:
        TypeError: it holds another type, or nulls that are not floats.
    """
    return np.concatenate([np.empty(0, dtype=_dtype_of(column)), *map(array_to_numpy, column.chunks)])


def _dtype_of(column: Any, may_miss: bool = False) -> Any:
    kind = column.type
    if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise TypeError(f"a column holds {kind}, not numbers")
    if column.null_count and not (may_miss or pa.types.is_floating(kind)):
        raise TypeError("a number is missing")
    return kind.to_pandas_dtype()  # numpy's type, despite the name


def array_to_numpy(chunk: Any, missing: int | None = None) -> NDArray[Any]:
    """Convert an Arrow array as :func:`to_numpy`, without a copy where possible; ``missing`` replaces null integers."""
    dtype = np.dtype(_dtype_of(chunk, missing is not None))
    valid, data = chunk.buffers()
    rows = slice(chunk.offset, chunk.offset + len(chunk))
    if dtype == np.bool_:
        return _bits(data, rows)
    values = np.frombuffer(data, dtype=dtype)[rows] if len(chunk) else np.empty(0, dtype=dtype)
    if not chunk.null_count:
        return values
    return np.where(_bits(valid, rows), values, np.nan if missing is None else missing).astype(dtype)


def _bits(data: Any, rows: slice) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")[rows].astype(np.bool_)
