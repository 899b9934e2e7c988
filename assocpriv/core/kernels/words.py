"""Words of 64 bits, for the other kernels: constants, and how many bits are set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.compiling import kernel

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

U0, U1 = np.uint64(0), np.uint64(1)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_OCTETS, _EACH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_U2, _U4, _U56 = np.uint64(2), np.uint64(4), np.uint64(56)


@kernel
def popcount(word: Any) -> Any:
    """Return how many bits of a word are set: of these steps LLVM makes the processor's own instruction."""
    word -= word >> U1 & _PAIRS
    word = (word & _FOURS) + (word >> _U2 & _FOURS)
    word = (word + (word >> _U4)) & _OCTETS
    return np.int64(word * _EACH >> _U56)
