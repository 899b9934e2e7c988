"""Numbers as the cells of a column of text write them, and words that stand among them.

What a whole column holds decides how its commas are read. A few words among numbers, such as ``unknown`` in a column of
ages, stand for missing values mostly: taken as categories, every number would be a category of its own.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import counted
from assocpriv.records.cells import MISSING_WORDS, is_word
from assocpriv.records.columns import EMPTY_NUMBERS

_EMPTY = frozenset((None, *EMPTY_NUMBERS))
_MOST_WORDS = 10  # one of so many values, or cells, of a column of numbers may be a word
_GROUPED = re.compile(r"(?<=\d)[ '\u2019\u00a0\u202f](?=\d{3}(?!\d))")  # between thousands, and nothing else
_HAS_COMMA = re.compile(r"[-+]?[0-9.]*[0-9],[0-9.,]*[0-9]")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]+)?")


def read_numbers(values: Iterable[str | None]) -> dict[str, Decimal]:
    """Return the numbers that a column's values write, by value; values that write none are left out.

    Blanks and apostrophes may stand between thousands. Commas do so too if each value with one has them between groups
    of three digits; otherwise they are decimal marks, and dots stand between thousands. Numbers with commas are left
    out if neither fits all values.

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
    """Return the numbers that a column's values write, as :func:`read_numbers`; none if a value is something else."""
    numbers = read_numbers(values)
    return numbers if len(numbers) == sum(each not in _EMPTY for each in values) else {}


def unread_numbers(values: Iterable[str | None], numbers: Collection[str]) -> list[str]:
    """Return the values that write numbers with commas, but are none of the ``numbers`` that could be read."""
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
    """Return what an error advises for words where numbers are wanted; they are shown if all mark missing values.

    >>> missing_remedy(["unknown"]), missing_remedy(["secret"])[:30]
    ("if it stands for a missing value, say missing='unknown'", 'if words stand for missing val')
    """
    if all(is_word(word, MISSING_WORDS) for word in words):
        said = " ".join(f"missing={word!r}" for word in sorted(words))
        return f"if {'it stands for a' if len(words) == 1 else 'they stand for a'} missing value, say {said}"
    return "if words stand for missing values, name each of them with missing=, otherwise correct them"


def words_among_numbers(
    values: Sequence[str | None], codes: NDArray[Any], marks: Collection[str] = (), *, is_asked: bool = False
) -> str:
    """Return how an error goes on that says that a column holds numbers, if it also holds a few words; else "".

    Args:
        values: of the column, each once; None is a missing one.
        codes: integers (n,), of each record the place of its value.
        marks: words that are none.
        is_asked: somebody asks for numbers, so that any number of words is too many.
    """
    numbers = read_numbers(values)
    words = [each for each in values if each and each not in _EMPTY and each not in marks and each not in numbers]
    counts = np.bincount(codes, minlength=len(values))
    records, others = (int(counts[[each in of for each in values]].sum()) for of in (words, numbers))
    has_commas = len(unread_numbers(words, numbers)) == len(words)
    is_few = len(words) * _MOST_WORDS <= len(words) + len(numbers) or records * _MOST_WORDS <= records + others
    if not words or len(set(numbers.values())) <= 2 or not (is_few or has_commas or is_asked):
        return ""
    remedy = "write a dot as the decimal mark, and nothing between thousands" if has_commas else missing_remedy(words)
    first = int(np.flatnonzero(np.isin(codes, [values.index(word) for word in words]))[0])
    return f"but something else in {counted(records, 'record')}, first in record {first + 1:,}; {remedy}"
