"""Parse the numbers in a column of text, and explain words among them.

The whole column determines how its commas are read. A few words among numbers, such as ``unknown`` in a column of ages,
mostly mean missing values: if they made the column one of categories, every number would be a category.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import pluralize
from assocpriv.records.cells import MISSING_WORDS, is_word
from assocpriv.records.columns import EMPTY_NUMBERS

_EMPTY = frozenset((None, *EMPTY_NUMBERS))
_MAX_WORDS = 10  # a column of numbers may have one word in this many values or cells
_GROUPED = re.compile(r"(?<=\d)[ '\u2019\u00a0\u202f](?=\d{3}(?!\d))")  # between thousands, and nothing else
_HAS_COMMA = re.compile(r"[-+]?[0-9.]*[0-9],[0-9.,]*[0-9]")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]+)?")


def read_numbers(values: Iterable[str | None]) -> dict[str, Decimal]:
    """Return the numbers in a column's values, by value; values that are not numbers are left out.

    Blanks and apostrophes may separate thousands. So do commas if each value with a comma has them between groups of
    three digits; otherwise they are decimal marks, and dots separate thousands. Numbers with commas are left out if
    neither fits all values.

    >>> sorted(read_numbers(["1000", "1e3", "1,000", "x"])), read_numbers(["2,5", "x"])
    (['1,000', '1000', '1e3'], {'2,5': Decimal('2.5')})
    """
    plain = {text: _GROUPED.sub("", text) for text in values if text not in _EMPTY and text is not None}
    commas = [text for text in plain.values() if "," in text and _HAS_COMMA.fullmatch(text)]
    if commas and all(map(_THOUSANDS.fullmatch, commas)):
        plain = {text: each.replace(",", "") for text, each in plain.items()}
    elif commas:
        pointed = [text for text in plain.values() if "." in text and _number(text) is not None]
        if all(map(_DECIMAL_COMMA.fullmatch, [*commas, *pointed])):
            plain = {text: each.replace(".", "").replace(",", ".") for text, each in plain.items()}
    found = {text: _number(each) for text, each in plain.items()}
    return {text: number for text, number in found.items() if number is not None}


def all_numbers(values: Collection[str | None]) -> dict[str, Decimal]:
    """Return the numbers in a column's values, as :func:`read_numbers`; none if a value is not a number."""
    numbers = read_numbers(values)
    return numbers if len(numbers) == sum(each not in _EMPTY for each in values) else {}


def unread_numbers(values: Iterable[str | None], numbers: Collection[str]) -> list[str]:
    """Return the values that look like numbers with commas, but are not among the ``numbers`` that could be read."""
    return [each for each in values if each and each not in numbers and _HAS_COMMA.fullmatch(each)]


def _number(text: str) -> Decimal | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return None if number.is_nan() else number


def missing_remedy(words: Collection[str]) -> str:
    """Return an error's advice on words in place of numbers; they are shown if all are words for missing values.

    >>> missing_remedy(["unknown"]), missing_remedy(["secret"])[:30]
    ("if it means a missing value, pass missing='unknown'", 'if words mean missing values, ')
    """
    if all(is_word(word, MISSING_WORDS) for word in words):
        options = " ".join(f"missing={word!r}" for word in sorted(words))
        return f"if {'it means' if len(words) == 1 else 'they mean'} a missing value, pass {options}"
    return "if words mean missing values, name each of them with missing=, otherwise correct them"


def explain_words_among_numbers(
    values: Sequence[str | None], codes: NDArray[Any], marks: Collection[str] = (), *, is_required: bool = False
) -> str:
    """Return the explanation of a few words in a column of numbers, for an error; "" if there are none.

    Args:
        values: the column's distinct values; None is a missing one.
        codes: the index into ``values`` of each record, integers of shape (n,).
        marks: words that are not errors.
        is_required: whether numbers are required, so that any number of words is an error.
    """
    numbers = read_numbers(values)
    words = [each for each in values if each and each not in _EMPTY and each not in marks and each not in numbers]
    counts = np.bincount(codes, minlength=len(values))
    records, others = (int(counts[[each in of for each in values]].sum()) for of in (words, numbers))
    has_commas = len(unread_numbers(words, numbers)) == len(words)
    is_few = len(words) * _MAX_WORDS <= len(words) + len(numbers) or records * _MAX_WORDS <= records + others
    if not words or len(set(numbers.values())) <= 2 or not (is_few or has_commas or is_required):
        return ""
    remedy = "use a dot as the decimal mark, and no separator of thousands" if has_commas else missing_remedy(words)
    first = int(np.flatnonzero(np.isin(codes, [values.index(word) for word in words]))[0])
    return f"but something else in {pluralize(records, 'record')}, first in record {first + 1:,}; {remedy}"
