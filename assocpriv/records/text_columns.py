"""Convert Arrow columns of names and ids to text, mostly dictionary-encoded."""

import contextlib
import re
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pc, to_arrow
from assocpriv.guarantees.errors import BasketError
from assocpriv.records.cells import MISSING_WORDS, ROUNDED, STORE_AS_TEXT
from assocpriv.records.columns import Rows, is_text

_LONGEST_WORD = max(map(len, MISSING_WORDS)) + 1
_NO_TEXT = "must be text in UTF-8, numbers or dates, not nested; choose another column"
_FRACTIONS = f"have fractions, which ids do not; name another column, or {STORE_AS_TEXT}"


def null_mask(values: Any) -> NDArray[np.bool_]:
    """Return which values of an Arrow array are null, bool of shape (n,)."""
    return array_to_numpy(values.is_null())


def refuse_rounded(ids: Any, places: NDArray[np.int64] | None, rows: Rows, what: str) -> None:
    """Refuse ids, plain or dictionary-encoded text, that are rounded numbers of a spreadsheet.

    ``places`` are their rows, None for all.
    """
    names = ids.dictionary if pa.types.is_dictionary(ids.type) else ids
    letters = np.frombuffer(names.buffers()[2] or b"", dtype=np.uint8)
    if not (((letters | 32) == ord("e")) | (letters == ord("."))).any():  # a fast path for many integers
        return
    rounded = match_mask(names, f"^{ROUNDED.pattern}$")
    if names is not ids and rounded.any():
        rounded = np.append(rounded, False)[array_to_numpy(ids.indices, -1)]
    if rounded.any():
        row = int(np.argmax(rounded))
        where = f"{rows.origin.row_word} {rows.line(row if places is None else int(places[row])):,}"
        raise BasketError(f"the {what} in {where} is a number that has lost digits; {STORE_AS_TEXT}")


def cast_string_views(values: Any) -> Any:
    """Convert string views, whose rows Arrow cannot take, to strings."""
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def normalize_ids(values: Any, what: str) -> Any:
    """Normalize an Arrow array of ids: UUIDs to text, whole floats and decimals to integers, times to seconds.

    Raises:
        BasketError: a float or decimal has a fraction, or a float is too large to be exact.
    """
    values = cast_string_views(values)
    kind, casts = values.type, []
    if pa.types.is_dictionary(kind):
        stored = values.dictionary
        names = normalize_ids(stored, what)
        return values if names is stored else pa.DictionaryArray.from_arrays(values.indices, names, safe=False)
    if pa.types.is_floating(kind):
        return _whole_floats(values, what)
    if isinstance(kind, pa.UuidType):
        coded = values.storage.dictionary_encode()
        texts = np.array([str(UUID(bytes=each)) for each in coded.dictionary.to_pylist()], dtype=object)
        return pa.DictionaryArray.from_arrays(coded.indices, to_arrow(texts))
    if pa.types.is_timestamp(kind):
        casts = [pa.timestamp("s", kind.tz)]
    elif pa.types.is_decimal(kind):
        casts = [pa.decimal256(76, 0), pa.string()]
    with contextlib.suppress(pa.ArrowException):  # raised for fractions; its text quotes a value
        for each in casts:
            values = values.cast(each)
    if pa.types.is_decimal(values.type):
        raise BasketError(f"{what} {_FRACTIONS}")
    return values


def _whole_floats(values: Any, what: str) -> Any:
    """Convert floats to integers, NaN to null."""
    exact = 1 << {16: 11, 32: 24, 64: 53}[values.type.bit_width]  # larger floats may represent several integers
    numbers = array_to_numpy(values.cast(pa.float64()))
    missing = np.isnan(numbers)
    whole = np.where(missing, 0, numbers)
    if (np.abs(whole) >= exact).any():
        raise BasketError(f"{what} are floats that have lost digits ({exact:,} or more); {STORE_AS_TEXT}")
    if (whole != np.floor(whole)).any():
        raise BasketError(f"{what} {_FRACTIONS}")
    return pc.if_else(to_arrow(missing), pa.scalar(None, pa.int64()), to_arrow(whole.astype(np.int64)))


def coded_items(items: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return :func:`coded_texts` of items, or of another ``what``; raise BasketError for floats and nested values."""
    kind = items.type.value_type if pa.types.is_dictionary(items.type) else items.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        # fields of a nested type may be named after items
        shown = "nested values" if pa.types.is_nested(kind) else str(kind)
        raise BasketError(f"{what}s must be text or integers, got {shown}; convert them")
    return coded_texts(items, f"{what}s", absent)


def coded_texts(values: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return an Arrow array as text with int32 codes; null where it is null, blank or an ``absent`` word."""
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):  # whose text may quote cells
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        codes = array_to_numpy(values.indices.cast(pa.int32()), -1)
        # for codes out of range, as in a damaged file, Arrow would read arbitrary memory
        outside = codes.max(initial=-1) >= len(values.dictionary) or codes.min(initial=0) < -1
        if outside or int((codes < 0).sum()) != values.indices.null_count:
            raise BasketError("a column has codes outside its dictionary; the data are damaged, write them again")
        names = pc.utf8_trim_whitespace(values.dictionary.cast(pa.string()))
        if names.null_count:
            names = pc.fill_null(names, "")
        names.validate(full=True)
        blank = np.append(_is_nothing(names, absent), False)
        if blank.any():
            codes = np.where(blank[codes], -1, codes)
        return pa.DictionaryArray.from_arrays(codes_to_arrow(codes), names, safe=False)
    raise BasketError(f"{what} {_NO_TEXT}")


def _is_nothing(texts: Any, absent: Collection[str]) -> NDArray[np.bool_]:
    """Return which Arrow texts are empty, or in lower case one of the ``absent`` words."""
    nothing: NDArray[np.bool_] = array_to_numpy(pc.binary_length(texts), 1) == 0
    if absent:
        lengths = array_to_numpy(pc.binary_length(texts), _LONGEST_WORD)
        short = np.flatnonzero((lengths < _LONGEST_WORD) & ~_begin_with_digits(texts))
        if len(short):
            lowered = pc.utf8_lower(texts.take(to_arrow(short)))
            nothing[short] |= match_mask(lowered, words_pattern(absent))
    return nothing


def _begin_with_digits(texts: Any) -> NDArray[np.bool_]:
    """Return which Arrow texts begin with a digit, as most ids and none of the words do."""
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)) or not texts.buffers()[2]:
        return np.zeros(len(texts), dtype=np.bool_)
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    starts = np.frombuffer(texts.buffers()[1], dtype=width)[texts.offset : texts.offset + len(texts)]
    letters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)
    return np.asarray(letters[np.minimum(starts, len(letters) - 1)] - np.uint8(ord("0")) < 10)


def match_mask(texts: Any, expression: str) -> NDArray[np.bool_]:
    """Return which Arrow texts match a regular expression; nulls do not."""
    fits = pc.match_substring_regex(texts, expression)
    return np.asarray(array_to_numpy(fits, 0) & ~null_mask(fits))


def words_pattern(words: Collection[str]) -> str:
    """Return a regular expression for whole words and rules (---); an Arrow array of the words would load pandas."""
    return f"^({'|'.join(map(re.escape, sorted(words)))}|[-=_*~]+)$"


def texts_of(values: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return an Arrow array as text; null where it is null, blank or an ``absent`` word."""
    if pa.types.is_dictionary(values.type) or pa.types.is_null(values.type):
        return coded_texts(values, what, absent).dictionary_decode()
    with contextlib.suppress(pa.ArrowException):  # whose text may quote cells
        texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
        texts.validate(full=True)
        blank = _is_nothing(texts, absent)
        return pc.if_else(to_arrow(blank), pa.nulls(len(texts), pa.string()), texts) if blank.any() else texts
    raise BasketError(f"{what} {_NO_TEXT}")


def distinct_texts(parts: Sequence[Any]) -> tuple[NDArray[np.int32], list[str]]:
    """Return the codes of a column given in parts, −1 for nulls, and its distinct values."""
    if len(parts) > 1:  # they need one dictionary
        parts = pa.chunked_array(parts).unify_dictionaries().chunks
    names = parts[0].dictionary.dictionary_encode()  # a dictionary may repeat values, and hold some that never appear
    numbers = np.append(array_to_numpy(names.indices), np.int32(-1))
    codes = numbers[np.concatenate([array_to_numpy(part.indices, -1) for part in parts])]
    used = np.zeros(len(names.dictionary) + 1, dtype=np.bool_)
    used[codes] = True
    used = used[:-1]
    if not used.all():
        codes = np.append(np.cumsum(used) - 1, -1).astype(np.int32)[codes]
    return codes, names.dictionary.filter(to_arrow(used)).to_pylist()


def codes_to_arrow(codes: NDArray[Any]) -> Any:
    """Convert codes to an Arrow array, −1 to null; pa.array would load pandas."""
    valid = pa.py_buffer(np.packbits(codes >= 0, bitorder="little")) if codes.min(initial=0) < 0 else None
    return pa.Array.from_buffers(pa.int32(), len(codes), [valid, pa.py_buffer(codes.astype(np.int32, copy=False))])
