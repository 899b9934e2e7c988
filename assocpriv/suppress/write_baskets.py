"""Baskets written again without some items.

Files keep the layout they came in, tables and lists stay what they were. Lines, rows and cells that hold none of the
items stay as they are, and in their order.
"""

import csv
import gzip
import io
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from assocpriv.files.arrow import pa, pc, pq
from assocpriv.promise.errors import BasketError, FileError
from assocpriv.records.baskets import Baskets
from assocpriv.records.cells import kept_sizes
from assocpriv.records.sources import named_after, open_source
from assocpriv.suppress.table import released_frame

if TYPE_CHECKING:
    from assocpriv.records.basket_files import BasketLayout

_BOM = b"\xef\xbb\xbf"
_PARQUET = (".parquet", ".pq")
_COMPRESSION = 6


def check_ending(output: Path, layout: "BasketLayout") -> None:
    """Refuse an output whose name says another format than the baskets are in."""
    if output.name.lower().endswith(_PARQUET) != layout.is_parquet:
        kind = "Parquet" if layout.is_parquet else "text"
        ending = "in .parquet" if layout.is_parquet else "as a file of text does"
        raise FileError(f"{output}: baskets go out in the format they came in, which is {kind}; end the name {ending}")


def write_without(
    source: Path, layout: "BasketLayout", dropped: Collection[str], stream: BinaryIO, *, packed: bool
) -> None:
    """Write a file of baskets, regular and read before, without some items; text ``packed`` by gzip if so.

    Raises:
        BasketError: the file cannot be read a second time.
    """
    write = _write_parquet if layout.is_parquet else partial(_write_text, packed=packed)
    named_after(source, lambda: write(source, layout, frozenset(dropped), stream))


# ---- text


def _write_text(
    source: Path, layout: "BasketLayout", dropped: frozenset[str], stream: BinaryIO, *, packed: bool
) -> None:
    with open_source(source, None) as file, _output(stream, packed) as out:
        first = file.read(len(_BOM))
        if first == _BOM:
            out.write(first)
            first = b""
        lines = _lines(first, file)
        header = [next(lines, b"") for _ in range(layout.skip)]
        edit = _editor(layout, header, dropped)
        if layout.kind == "one-hot":
            header = [edit(line) for line in header]
        out.writelines(header)
        out.writelines(map(edit, lines))


def _lines(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield from io.BytesIO(first + file.readline())
    yield from file


@contextmanager
def _output(stream: BinaryIO, packed: bool) -> Iterator[BinaryIO]:
    if not packed:
        yield stream
        return
    # no time of the day and no name inside
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=stream, mtime=0) as out:
        yield cast(BinaryIO, out)


def _editor(layout: "BasketLayout", header: Sequence[bytes], dropped: frozenset[str]) -> Any:
    """Return what makes a line, bytes with its end, without the items."""
    if layout.kind == "dat":
        return partial(
            _numbers_without, dropped=frozenset(map(int, dropped)), signs=[name.encode() for name in dropped]
        )
    # a name that quotes write otherwise cannot be looked for in the bytes
    signs = None if any('"' in name for name in dropped) else [name.encode() for name in sorted(dropped)]
    if layout.kind == "long":
        return partial(_row_without, layout=layout, dropped=dropped, signs=signs)
    if layout.kind == "lines":
        return partial(_names_without, layout=layout, dropped=dropped, signs=signs)
    names = [cell.strip() for cell in _cells(_split(header[-1])[0], layout.separator)[0]]
    places = frozenset(place for place, name in enumerate(names) if place not in layout.places and name in dropped)
    return partial(_columns_without, layout=layout, places=places)


def _split(line: bytes) -> tuple[str, bytes]:
    body = line.rstrip(b"\r\n")
    return body.decode("utf-8"), line[len(body) :]


def _cells(text: str, separator: str) -> tuple[list[str], bool]:
    """Return the cells of a line, and whether quotes stood around some."""
    if separator == " ":
        text = text.replace("\t", " ")
    if '"' not in text:
        return text.split(separator), False
    return next(csv.reader([text], delimiter=separator, strict=True, skipinitialspace=separator != " ")), True


def _line_of(cells: Sequence[str], separator: str, quoted: bool, end: bytes) -> bytes:
    """Return cells as a line; an empty one ends, since the end of a file is no basket."""
    if not any(cell.strip() for cell in cells) and len(cells) <= 1:
        return end or b"\n"
    if not quoted:
        return separator.join(cells).encode() + end
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="").writerow(cells)
    return line.getvalue().encode() + end


def _numbers_without(line: bytes, dropped: frozenset[int], signs: Sequence[bytes]) -> bytes:
    if not any(sign in line for sign in signs):  # whatever zeros stand before a number
        return line
    numbers = line.split()
    kept = [number for number in numbers if int(number) not in dropped]
    if len(kept) == len(numbers):
        return line
    end = line[len(line.rstrip(b"\r\n")) :]
    return b" ".join(kept) + (end or b"\n" * (not kept))


def _names_without(
    line: bytes, layout: "BasketLayout", dropped: frozenset[str], signs: Sequence[bytes] | None
) -> bytes:
    if signs is not None and not any(sign in line for sign in signs):
        return line
    text, end = _split(line)
    cells, quoted = _cells(text, layout.separator)
    kept = [cell for place, cell in enumerate(cells) if place in layout.places or cell.strip() not in dropped]
    return line if len(kept) == len(cells) else _line_of(kept, layout.separator, quoted, end)


def _row_without(line: bytes, layout: "BasketLayout", dropped: frozenset[str], signs: Sequence[bytes] | None) -> bytes:
    if not line.strip(b"\r\n") or (signs is not None and not any(sign in line for sign in signs)):
        return line
    # as Arrow reads it: quotes count at the beginning of a cell only
    cells = next(csv.reader([_split(line)[0]], delimiter=layout.separator))
    return b"" if cells[layout.places[1]].strip() in dropped else line


def _columns_without(line: bytes, layout: "BasketLayout", places: frozenset[int]) -> bytes:
    text, end = _split(line)
    if not text.strip():
        return line
    cells, quoted = _cells(text, layout.separator)
    kept = [cell for place, cell in enumerate(cells) if place not in places]
    return _line_of(kept, layout.separator, quoted, end)


# ---- Parquet


def _write_parquet(source: Path, layout: "BasketLayout", dropped: frozenset[str], stream: BinaryIO) -> None:
    with source.open("rb") as file:
        table = pq.ParquetFile(file).read()
    pq.write_table(released_frame(table_without(table, layout.kind, layout.columns, dropped)), stream)


def table_without(table: Any, kind: str, columns: Sequence[str], dropped: Collection[str]) -> Any:
    """Return an Arrow table of baskets without some items; ``columns`` as of ``BasketLayout``."""
    if kind == "one-hot":
        gone = [name for name in columns if name.strip() in dropped]
        return _without_columns(table.drop_columns(gone), frozenset(gone))
    name = columns[-1]
    place = table.schema.names.index(name)
    if kind == "list":
        values = _lists_without(table.column(name), dropped)
        return table.set_column(place, pa.field(name, values.type, metadata=table.schema.field(name).metadata), values)
    kept = table.filter(pc.invert(_is_dropped(table.column(name), dropped)))
    # a dictionary would still hold the names
    for place, field in enumerate(kept.schema):
        if pa.types.is_dictionary(field.type):
            kept = kept.set_column(place, field, _coded_anew(kept.column(place), field.type))
    return kept


def _is_dropped(items: Any, dropped: Collection[str]) -> Any:
    names = pc.utf8_trim_whitespace(_plain(items).cast(pa.large_string()))
    return pc.fill_null(pc.is_in(names, value_set=pa.array(sorted(dropped), pa.large_string())), False)


def _plain(values: Any) -> Any:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _coded_anew(values: Any, kind: Any) -> Any:
    used = [chunk.cast(kind.value_type).dictionary_encode().cast(kind) for chunk in values.chunks]
    return pa.chunked_array(used, kind)


def _lists_without(column: Any, dropped: Collection[str]) -> Any:
    """Return a column of lists, null ones too, without some items; lists of a fixed size become lists of any."""
    chunks = []
    for chunk in column.chunks:
        items = chunk.flatten()
        kept = np.asarray(pc.invert(_is_dropped(items, dropped)))
        sizes = kept_sizes(np.asarray(pc.fill_null(pc.list_value_length(chunk), 0)), kept)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        left = _plain(items).filter(pa.array(kept))
        if pa.types.is_dictionary(items.type):
            left = left.dictionary_encode().cast(items.type)
        large = pa.types.is_large_list(chunk.type)
        kind = pa.LargeListArray if large else pa.ListArray
        starts = pa.array(offsets, pa.int64() if large else pa.int32())
        chunks.append(kind.from_arrays(starts, left, mask=chunk.is_null()))
    return pa.chunked_array(chunks) if chunks else column


def _without_columns(table: Any, gone: frozenset[str]) -> Any:
    """Take columns out of what pandas wrote about its own, too."""
    metadata = dict(table.schema.metadata or {})
    if b"pandas" in metadata:
        said = json.loads(metadata[b"pandas"])
        said["columns"] = [one for one in said.get("columns", []) if one.get("field_name") not in gone]
        metadata[b"pandas"] = json.dumps(said).encode()
    return table.replace_schema_metadata(metadata)


# ---- in memory


def lists_without(baskets: Sequence[Any], dropped: Collection[str]) -> list[Any]:
    """Return lists or sets of items, each of its own kind, without some."""
    gone = frozenset(dropped)
    return [_kind_of(basket)(item for item in basket if str(item).strip() not in gone) for basket in baskets]


def _kind_of(basket: Any) -> Any:
    return type(basket) if isinstance(basket, list | tuple | set | frozenset) and type(basket).__name__ in (
        "list", "tuple", "set", "frozenset",
    ) else list  # fmt: skip


def baskets_without(baskets: Baskets, dropped: Collection[str]) -> Baskets:
    """Return baskets over the same catalogue without some items."""
    index = baskets.catalogue.index_of
    gone = np.array(sorted(index[name] for name in dropped), dtype=np.int64)
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    kept = ~np.isin(items, gone)
    return Baskets(baskets.catalogue, np.concatenate([[0], np.cumsum(kept_sizes(baskets.sizes, kept))]), items[kept])


def frame_without(frame: Any, kind: str, columns: Sequence[Any], dropped: Collection[str]) -> Any:
    """Return a pandas, polars or pyarrow table without some items; ``columns`` are its narwhals series of baskets."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    gone = frozenset(dropped)
    if kind == "one-hot":
        left = table.drop([column.name for column in columns if str(column.name).strip() in gone])
        return released_frame(left.to_native())
    column = columns[-1]
    if kind == "long":
        return released_frame(table.filter([str(item).strip() not in gone for item in column.to_list()]).to_native())
    left = [None if items is None else lists_without([items], gone)[0] for items in _listed(column)]
    if column.dtype == nw.Object:  # lists in pandas
        native = table.to_native()
        values = column.to_native().copy()
        values[:] = _objects(left)
        return released_frame(native.assign(**{column.name: values}))
    made = nw.new_series(column.name, left, column.dtype, backend=table.implementation)
    return released_frame(table.with_columns(made).to_native())


def _listed(column: Any) -> list[Any]:
    values = column.to_list()
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def _objects(values: Sequence[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def check_regular(path: Path) -> None:
    """Refuse what cannot be read twice."""
    if path.exists() and not path.is_file():
        raise BasketError(f"{path.name or path}: baskets to be released are read twice; give a regular file")
