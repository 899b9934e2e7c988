"""The number-reading kernel against a naive implementation; passes compiled, with bounds checks, and uncompiled."""

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.kernels.text_kernels import parse_numbers

NUMBERS = st.integers(0, 99_999).map(str) | st.sampled_from(["7", "00007", "00000", "100000"])
PIECES = st.sampled_from(["\n", "\r\n", " ", "\t", "\n", " "]) | NUMBERS
WRONG = st.sampled_from(["\r", "\r\r\n", "-", "-3", "x", "\0", ",", "\x0b", "é"])


@given(st.lists(PIECES, max_size=30), st.lists(WRONG | PIECES, max_size=4))
def test_parse_numbers(good, rest):
    """Numbers, sizes and the position of the first invalid byte equal those of splitting lines."""
    text = ("".join([*good, *rest]) + "\n").encode()
    ids = np.full((len(text) + 1) // 2, -1, dtype=np.int32)
    sizes = np.full(text.count(b"\n"), -1, dtype=np.int32)
    count, wrong = parse_numbers(np.frombuffer(text, dtype=np.uint8), 5, ids, sizes)
    lines, wanted = naive.parse_numbers(text, 5)
    assert wrong == wanted
    flat = [number for line in lines for number in line]
    assert sizes[: len(lines)].tolist() == [len(line) for line in lines]
    assert ids[: len(flat)].tolist() == flat
    assert (sizes[len(lines) :] == -1).all()
    assert wrong >= 0 or count == len(flat)
