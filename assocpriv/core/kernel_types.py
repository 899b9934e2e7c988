"""The types that kernels declare for their arguments, and how values of them are handed to machine code.

They are said as numba says them (``uint64[:, ::1]`` is an array of two axes in C order), but need no numba: whoever
calls a kernel that was compiled before needs no compiler. The kernel takes a number as it is, an array as numba's
structure of it, field by field: two owners, which do not count here, elements, bytes of one, address, shape, strides.
"""

import ctypes
import operator
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LOADED = sys._getframe().f_code  # for the digest of compiled code
_NUMBERS = {"int64": ctypes.c_int64, "float64": ctypes.c_double}  # that kernels take alone
_RANGE = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array of numbers, in C order or with any strides; a kernel only reads it if it is ``readonly``."""

    name: str
    ndim: int
    in_order: bool
    readonly: bool = False

    def fields(self) -> list[Any]:
        """Return the C types of what the kernel takes for it."""
        return [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p] + [ctypes.c_int64] * (2 * self.ndim)

    def hand_over(self, value: Any, handed: list[Any]) -> None:
        """Add an array's fields to what is handed to the kernel; TypeError if it is not of this type."""
        if not isinstance(value, np.ndarray) or value.dtype != self.name or value.ndim != self.ndim:
            raise TypeError(f"a kernel takes {self}, got {_described(value)}")
        flags = value.flags
        if not (flags.aligned and (self.readonly or flags.writeable) and (not self.in_order or flags.c_contiguous)):
            raise TypeError(f"a kernel takes {self}, got another order, or one that is only to be read")
        handed += (None, None, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)

    def for_numba(self, types: Any) -> Any:
        """Return numba's type."""
        return types.Array(getattr(types, self.name), self.ndim, "C" if self.in_order else "A", readonly=self.readonly)

    def __str__(self) -> str:
        """Return the type in words."""
        order = "in C order, " if self.in_order else ""
        return f"an array ({order}{'' if self.readonly else 'writable, '}{self.ndim} axes) of {self.name}"


@dataclass(frozen=True, slots=True)
class NumberType:
    """A number; with axes, an array of such numbers."""

    name: str

    def __getitem__(self, axes: slice | tuple[slice, ...]) -> ArrayType:
        """Return the type of an array; its last axis is ``::1`` where the order is C's."""
        given = axes if isinstance(axes, tuple) else (axes,)
        return ArrayType(self.name, len(given), given[-1].step == 1)

    def fields(self) -> list[Any]:
        """Return the C type of what the kernel takes for it."""
        return [_NUMBERS[self.name]]

    def hand_over(self, value: Any, handed: list[Any]) -> None:
        """Add a number to what is handed to the kernel; TypeError if it is not of this type."""
        if self.name == "int64":
            number = operator.index(value)
            if number not in _RANGE:
                raise OverflowError("a kernel takes integers of 64 bits")
            handed.append(number)
        elif isinstance(value, int | float | np.number):
            handed.append(float(value))
        else:
            raise TypeError(f"a kernel takes a number, got {_described(value)}")

    def for_numba(self, types: Any) -> Any:
        """Return numba's type."""
        return getattr(types, self.name)


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple of values of declared types."""

    members: tuple["ArrayType | NumberType", ...]

    def fields(self) -> list[Any]:
        """Return the C types of what the kernel takes for it."""
        return [field for each in self.members for field in each.fields()]

    def hand_over(self, value: Any, handed: list[Any]) -> None:
        """Add the members' fields to what is handed to the kernel; TypeError if they are not of their types."""
        if not isinstance(value, tuple) or len(value) != len(self.members):
            raise TypeError(f"a kernel takes a tuple of {len(self.members)}, got {_described(value)}")
        for each, member in zip(self.members, value, strict=True):
            each.hand_over(member, handed)

    def for_numba(self, types: Any) -> Any:
        """Return numba's type."""
        return types.Tuple(tuple(each.for_numba(types) for each in self.members))


KernelType = ArrayType | NumberType | TupleType


def const(argument: ArrayType) -> ArrayType:
    """Return an array type whose arrays the kernel only reads: it takes read-only arrays and others."""
    return replace(argument, readonly=True)


def tuple_of(members: Iterable[ArrayType | NumberType]) -> TupleType:
    """Return the type of a tuple."""
    return TupleType(tuple(members))


uint8, uint16, uint64 = NumberType("uint8"), NumberType("uint16"), NumberType("uint64")
int32, int64, float64 = NumberType("int32"), NumberType("int64"), NumberType("float64")


def _described(value: Any) -> str:
    """Return a value's type without the value."""
    if isinstance(value, np.ndarray):
        return f"{value.ndim} axes of {value.dtype}"
    return f"tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__
