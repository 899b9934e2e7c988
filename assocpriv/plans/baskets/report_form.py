"""The forms of responses, a class for each: the meaning of a response's bytes.

A response is B bits in ⌈B/8⌉ bytes; bit b is bit b mod 8 (least significant first) of byte b div 8, the unused high
bits of the last byte are 0. The bits are one of these:

    bits     bit i says whether item i is shown
    seed     a generator's seed, which determines every item's bits
    rank     the rank of a set of fixed size (guarantees/exact_numbers.py), which is below the number of sets
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any, ClassVar

import numpy as np
from bitarray import bitarray
from bitarray.util import ba2int, int2ba
from numpy.typing import NDArray

from assocpriv.guarantees.errors import WireError, pluralize
from assocpriv.guarantees.exact_numbers import set_of_rank
from assocpriv.plans.baskets.generator import Generator, item_columns

_Naming = Callable[[int], str]  # a report's name in errors, by its row
_ANOTHER = "was it made with another plan?"
_NO_CLIENT = f"no client of this plan can have sent it: {_ANOTHER}"


def refuse(wrong: Any, naming: _Naming, what: str) -> None:
    """Raise WireError naming the first row at which ``wrong`` holds."""
    if wrong.any():
        raise WireError(f"{naming(int(np.flatnonzero(wrong)[0]))} {what}; {_NO_CLIENT}")


def check_length(report: bytes, length: int) -> None:
    """Raise WireError for a report of another length in bytes."""
    if len(report) != length:
        raise WireError(f"a report of this plan has {pluralize(length, 'byte')}, got {len(report):,}; {_ANOTHER}")


@dataclass(frozen=True)
class ReportForm(ABC):
    """The form of a response of ``bits`` bits."""

    bits: int
    name: ClassVar[str]

    @property
    def length(self) -> int:
        """Length of a response in bytes."""
        return -(-self.bits // 8)

    def encode(self, bits: int) -> bytes:
        """Return the response whose bit b is bit b of an integer."""
        return int2ba(bits, length=self.bits, endian="little").tobytes()

    def decode(self, report: bytes) -> int:
        """Return a response's bits as an integer.

        Raises:
            WireError: the length is wrong, the rank is too large, or an unused bit is not 0.
        """
        check_length(report, self.length)
        self.check(np.frombuffer(report, dtype=np.uint8)[None], lambda _: "a report")
        return ba2int(bitarray(buffer=report, endian="little"))

    def check(self, packed: NDArray[np.uint8], naming: _Naming) -> None:
        """Raise WireError if :meth:`decode` would refuse one of the packed responses, uint8 of shape (n, length)."""
        if used := self.bits % 8:
            refuse(packed[:, -1] >> used, naming, f"has a bit set beyond the plan's {self.bits}")

    @abstractmethod
    def items(self, report: bytes) -> frozenset[int]:
        """Return the items in a response, padding items included: the transaction t'; raise as :meth:`decode`."""


@dataclass(frozen=True)
class BitForm(ReportForm):
    """One bit for each item, padding items included."""

    name = "bits"

    def items(self, report: bytes) -> frozenset[int]:
        """Return the items whose bits are 1."""
        bits = self.decode(report)
        return frozenset(item for item in range(self.bits) if bits >> item & 1)


@dataclass(frozen=True)
class SeedForm(ReportForm):
    """A generator's seed: each of ``n_items`` items has ``insert_bits`` bits, and is shown below ``insert_num``."""

    n_items: int
    generator: Generator
    insert_num: int
    insert_bits: int
    name = "seed"

    def items(self, report: bytes) -> frozenset[int]:
        """Return the items whose values are below ``insert_num``."""
        r, bits = self.insert_bits, self.decode(report)
        columns = item_columns(self.generator, r, np.arange(self.n_items, dtype=np.int64))
        seed = np.frombuffer(bits.to_bytes(columns.shape[2] * 8, "little"), dtype="<u8")
        products = np.bitwise_count(columns & seed).sum(axis=2) & 1
        return frozenset(np.flatnonzero(products @ (1 << np.arange(r - 1, -1, -1)) < self.insert_num).tolist())


@dataclass(frozen=True)
class RankForm(ReportForm):
    """The rank of a set of ``report_size`` of ``n_items`` items."""

    n_items: int
    report_size: int
    name = "rank"

    @cached_property
    def largest(self) -> int:
        """The rank of the last set."""
        return comb(self.n_items, self.report_size) - 1

    def check(self, packed: NDArray[np.uint8], naming: _Naming) -> None:
        """Raise WireError also for ranks that are too large. Most are decided by their highest byte."""
        super().check(packed, naming)
        largest = self.largest.to_bytes(self.length, "little")
        rows = np.flatnonzero(packed[:, -1] >= largest[-1])  # equal to the largest in all higher bytes
        wrong = []
        for byte in range(self.length - 1, -1, -1):
            values = packed[rows, byte]
            wrong += rows[values > largest[byte]][:1].tolist()
            rows = rows[values == largest[byte]]
        if wrong:
            raise WireError(f"{naming(min(wrong))} is no rank of a set of the plan's size; {_NO_CLIENT}")

    def items(self, report: bytes) -> frozenset[int]:
        """Return the set."""
        return frozenset(set_of_rank(self.decode(report), self.n_items, self.report_size))
