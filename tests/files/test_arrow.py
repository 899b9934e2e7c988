"""Tests of Arrow columns and Parquet files.

The claimed size of Parquet files: no less than Arrow reads, whatever the footer states.

Tests of columns between numpy and Arrow, without pandas: as Arrow itself makes them.
"""

import io
import tracemalloc
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv.files import arrow
from assocpriv.files.arrow import ColumnChunk, array_to_numpy, column_chunks, to_arrow, to_arrow_table, to_numpy
from assocpriv.files.mined_tables import as_column

N = 12_345
CHUNK_FIELDS = {"values": 0x16, "plain": 0x16, "data": 0x26}  # headers of fields as Arrow writes them


def written(column: Any, **options: Any) -> bytes:
    """Return a Parquet file of one column, its pages as long as they may be."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"c": column}), stream, **({"data_page_size": 1 << 30} | options))
    return stream.getvalue()


def varint(number: int) -> bytes:
    """Return a number as an unsigned integer of Thrift's compact protocol."""
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def zigzag(number: int) -> bytes:
    """Return a 64-bit number as Thrift's compact protocol writes it."""
    return varint(number << 1 ^ number >> 63)


def footer_of(data: bytes) -> bytes:
    """Return a file's footer."""
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def with_footer(data: bytes, footer: bytes) -> bytes:
    """Return a file with another footer."""
    return data[: -8 - len(footer_of(data))] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def patched(data: bytes, field: str, true: int, stated: int) -> bytes:
    """Return a file whose footer states another number in a field of its column chunks."""
    head = bytes([CHUNK_FIELDS[field]])
    footer = footer_of(data).replace(head + zigzag(true), head + zigzag(stated))
    assert footer != footer_of(data)
    return with_footer(data, footer)


def chunks_of(data: bytes) -> list[ColumnChunk]:
    """Return the claimed sizes of a file's column chunks."""
    return column_chunks(io.BytesIO(data))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_pages_count_if_the_footer_states_less(version: str, dictionary: bool, compression: str) -> None:
    """Values and sizes are those of the pages that Arrow reads: in both versions, with and without a dictionary."""
    options = {"data_page_version": version, "use_dictionary": dictionary, "compression": compression}
    column = pa.ListArray.from_arrays(pa.array([0, N], pa.int32()), pa.array(np.arange(N) % 4000))
    data = written(column, **options)
    (honest,) = chunks_of(data)
    metadata = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0)
    assert (honest.values, honest.plain_bytes) == (N, metadata.total_uncompressed_size)
    (fewer,) = chunks_of(patched(data, "values", N, 3))
    assert fewer == honest
    (smaller,) = chunks_of(patched(data, "plain", honest.plain_bytes, 3))
    assert smaller.values == N
    assert honest.plain_bytes - 100 < smaller.plain_bytes <= honest.plain_bytes  # the headers' own length is left out
    assert pq.read_table(io.BytesIO(patched(data, "values", N, 3))).num_rows == 1
    assert len(pq.read_table(io.BytesIO(patched(data, "values", N, 3)))["c"][0]) == N  # so Arrow follows the pages


def test_the_values_of_a_dictionary_count() -> None:
    """A dictionary is read whole, however few values of the first page use it."""
    data = written(np.arange(N), data_page_size=1, write_batch_size=10)
    (chunk,) = chunks_of(patched(data, "values", N, 3))
    assert chunk.values == N


def test_only_the_requested_columns_are_followed() -> None:
    """Others may be damaged; a name that only begins with a requested one is another."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"c": [[1]], "c.d": [1], "cd": [2]}), stream)
    assert [chunk.path for chunk in column_chunks(stream, ["cd"])] == ["cd"]
    assert len(column_chunks(stream)) == 3
    broken = stream.getvalue()
    place = pq.read_metadata(stream).row_group(0).column(1).dictionary_page_offset
    broken = broken[:place] + b"\xff" * 8 + broken[place + 8 :]
    assert column_chunks(io.BytesIO(broken), ["cd"])
    with pytest.raises(ValueError, match="pages are damaged"):
        column_chunks(io.BytesIO(broken))


@pytest.mark.parametrize("stated", [-1, 0, 7, 1 << 20, 2**63 - 1])
def test_wrong_offsets_are_refused(stated: int) -> None:
    """Pages that begin before the file, at a wrong offset in it, beyond it, and beyond any number."""
    data = written(pa.array(["x" * 99] * N), use_dictionary=False, compression="none")
    with pytest.raises(ValueError, match=r"(pages are|footer is) damaged"):
        chunks_of(patched(data, "data", 4, stated))


@pytest.mark.parametrize("field", ["values", "plain"])
def test_numbers_below_zero_are_refused(field: str) -> None:
    """One chunk must not compensate for another."""
    data = written(np.arange(N), use_dictionary=False)
    (honest,) = chunks_of(data)
    with pytest.raises(ValueError, match="footer is damaged"):
        chunks_of(patched(data, field, N if field == "values" else honest.plain_bytes, -(2**50)))


def test_chunks_that_share_their_pages_are_refused() -> None:
    """No more bytes are followed than the file has; otherwise a small file could be followed for hours."""
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, pa.schema({"c": pa.int64()}), use_dictionary=False, compression="none") as writer:
        for rows in (N, 7, 7, 7):
            writer.write_table(pa.table({"c": np.arange(rows)}))
    data = stream.getvalue()
    assert [chunk.values for chunk in chunks_of(data)] == [N, 7, 7, 7]
    metadata = pq.read_metadata(stream)
    for group in (1, 2, 3):
        data = patched(data, "data", metadata.row_group(group).column(0).data_page_offset, 4)
    with pytest.raises(ValueError, match="pages are damaged"):
        chunks_of(data)


def test_delta_encodings_of_text_are_refused() -> None:
    """Each text may repeat the one before, so headers do not bound the memory; numbers are all in the data."""
    for encoding, refused in {"DELTA_BYTE_ARRAY": True, "DELTA_LENGTH_BYTE_ARRAY": True, "PLAIN": False}.items():
        for version in ("1.0", "2.0"):
            options = {"use_dictionary": False, "column_encoding": encoding, "data_page_version": version}
            with pytest.raises(ValueError, match="delta encoding") if refused else nullcontext():
                assert chunks_of(written(["ab", "ac"], **options))[0].values == 2
    assert chunks_of(written([1, 2], use_dictionary=False, column_encoding="DELTA_BINARY_PACKED"))[0].values == 2


# ---- where another reader of the same bytes could read something else


@pytest.mark.parametrize(
    "data",
    [
        b"\x15\x02\x05\x02\x04\x00",  # field 1 twice
        b"\x05\x82\x80\x08\x02\x00",  # field 65537, which Arrow takes for field 1
        b"\x15\x82\x80\x80\x80\x10\x00",  # 2^32 + 2 in 32 bits
        b"\x10\x00",  # an end that is no zero
        b"\x2b\x00\x00",  # a map
    ],
    ids=["twice", "far field", "long number", "odd end", "map"],
)
def test_input_that_arrow_reads_differently_is_refused(data: bytes) -> None:
    """Bytes that Thrift's C++ readers truncate, merge or interpret differently."""
    with pytest.raises(ValueError, match="damaged"):
        arrow._Compact(data, 100).struct({1: (5, None)})


def test_a_field_of_another_type_is_skipped() -> None:
    """Arrow skips it, so it must not be read as the number."""
    reader = arrow._Compact(b"\x16\x02\x05\x02\x04\x00", 100)
    with pytest.raises(ValueError, match="damaged"):
        reader.struct({1: (6, None)})
    assert arrow._Compact(b"\x16\x02\x15\x04\x00", 100).struct({1: (5, None), 2: (5, None)}) == {2: 2}


def test_lists_that_misname_their_values_are_refused() -> None:
    """Arrow trusts the expected type of a list; a footer could mean one file to Arrow and another to this module."""
    data = written([1, 2, 3])
    footer = footer_of(data)
    at = footer.index(b"\x19\x2c") + 1  # the schema, a list of two structs
    lying = with_footer(data, footer[:at] + b"\x23" + footer[at + 1 :])
    assert pq.read_table(io.BytesIO(lying)) == pq.read_table(io.BytesIO(data))
    with pytest.raises(ValueError, match="footer is damaged"):
        chunks_of(lying)


@pytest.mark.parametrize("kind", [0, 3, 5, 6, 8, 9, 11, 12])
@pytest.mark.parametrize("known", [arrow._TEXTS, arrow._STRUCTS, arrow._INT32S, arrow._INT64S])
def test_lists_of_another_type_are_refused(kind: int, known: Any) -> None:
    """Also if the list is not needed and its values would end at the same byte."""
    data, true = bytes([0x19, 0x10 | kind, 0, 0, 0]), known[1][0]
    with nullcontext() if kind == true else pytest.raises(ValueError, match="damaged"):
        arrow._Compact(data, 100).struct({1: known})


def test_a_footer_that_arrow_reads_to_another_byte_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason, Arrow then reads something else."""
    data = written([1, 2, 3])

    class Another(pq.ParquetFile):  # type: ignore[misc]
        @property
        def metadata(self) -> Any:
            return SimpleNamespace(serialized_size=len(footer_of(data)) - 1)

    monkeypatch.setattr(arrow.pq, "ParquetFile", Another)
    with pytest.raises(ValueError, match="footer is damaged"):
        chunks_of(data)


# ---- what reading a footer takes


def with_unknown_list(data: bytes, count: int) -> bytes:
    """Return a file whose footer has an unknown field, a list of empty structs."""
    return with_footer(data, footer_of(data)[:-1] + b"\xf9\xfc" + varint(count) + bytes(count) + b"\x00")


def peak_of(data: bytes) -> tuple[str, int]:
    """Return a file's error, if any, and Python's peak memory in bytes."""
    file, output = io.BytesIO(data), ""
    tracemalloc.start()
    try:
        column_chunks(file)
    except ValueError as error:
        output = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return output, peak


def test_the_memory_for_a_footer_is_bounded_by_its_size() -> None:
    """Unneeded fields are skipped, and lists that Arrow refuses are not read."""
    data = written([1, 2, 3])
    count = 100_000
    hostile = with_unknown_list(data, count)
    refused = with_footer(data, b"\x49\xfc" + varint(count) + bytes(count + 1))
    assert chunks_of(hostile) == chunks_of(data)
    # its bytes, read by Arrow and here; built, the values take 64 times as much
    for content, error in ((hostile, ""), (refused, "its footer is damaged")):
        output, peak = peak_of(content)
        assert output == error
        assert peak < 4 * count


def test_a_footer_of_too_many_fields_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops at the limit of fields, since each takes time."""
    hostile = with_unknown_list(written([1, 2, 3]), 5000)
    assert chunks_of(hostile)
    monkeypatch.setattr(arrow, "_MAX_FOOTER_FIELDS", 5000)
    with pytest.raises(ValueError, match="footer is damaged"):
        chunks_of(hostile)


COLUMNS: dict[str, list[Any]] = {
    "numbers": [1, -2, 1 << 62],
    "floats": [0.1, float("inf"), -3.0],
    "truths": [True, False, True] * 7,
    "texts": ["", "crème", "🍞"],
    "lists of texts": [["a"], [], ["", "é"]],
    "lists of numbers": [[1, 2], [], [3]],
    "nothing": [],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_of_arrow(name: str) -> None:
    """Types and values are what pa.array makes of the same list; an empty column of objects has no type of its own."""
    made = to_arrow(as_column(COLUMNS[name]))
    made.validate(full=True)
    assert made.to_pylist() == COLUMNS[name]
    if COLUMNS[name]:
        assert made.type == pa.array(COLUMNS[name]).type


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.float32, np.bool_])
def test_numbers_come_back(rng: np.random.Generator, dtype: Any) -> None:
    """Also from several chunks, parts of them, and none."""
    values = rng.integers(0, 2, size=100).astype(dtype)
    whole = to_arrow(values)
    for chunks in ([whole], [whole[3:50], whole[50:]], [whole[:0]], [whole[9:9], whole[1:2]]):
        wanted = np.concatenate([np.array(chunk.to_pylist(), dtype=dtype) for chunk in chunks])
        found = to_numpy(pa.chunked_array(chunks))
        assert (found.dtype, found.tolist()) == (np.dtype(dtype), wanted.tolist())


def test_missing_values() -> None:
    """A missing float is NaN, another missing value an error; texts are not numbers."""
    found = to_numpy(pa.chunked_array([pa.array([0.5, None, 2.0])[1:]]))
    assert np.isnan(found[0])
    assert found[1] == 2
    places = pa.array([7, None, 1, None], pa.int32())[1:]
    assert array_to_numpy(places, missing=9).tolist() == [9, 1, 9]
    assert array_to_numpy(places, missing=9).dtype == np.int32
    for wrong in ([1, None], [True, None], ["1"]):
        with pytest.raises(TypeError):
            to_numpy(pa.chunked_array([pa.array(wrong)]))


def test_a_table_has_its_columns_in_order() -> None:
    """The order of names is kept, also in an empty table."""
    assert to_arrow_table({"b": np.zeros(2), "a": np.ones(2)}).column_names == ["b", "a"]
    assert to_arrow_table({"x": np.empty(0, dtype=object)}).num_rows == 0
