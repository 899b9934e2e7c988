"""Machine code of kernels: kept in files, linked into the process by LLVM's loader, called without the interpreter.

A function of numba's returns a status and takes an address for its results, one for what went wrong, and its arguments
field by field (core/kernel_types.py), so Python can call it by itself. A file is a checksum, a line about the code, and
an object file of the system's format as LLVM wrote it.
"""

import ctypes
import functools
import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assocpriv.core.code_places import open_for_write
from assocpriv.core.kernel_types import KernelType

LOADED = sys._getframe().f_code  # for the digest of compiled code
_CHECKSUM_BYTES = 32
_FINE = (0, -2)  # statuses: a value; None
_engines: list[Any] = []  # whose memory holds the code, as long as the process lasts


class _Problem(ctypes.Structure):
    """What a kernel that raises an exception leaves: this, pickled, is a class, its arguments, and a place."""

    _fields_ = (("pickled", ctypes.c_void_p), ("length", ctypes.c_int32))


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The code of one kernel: the name of its function, how many integers this returns, an object file."""

    symbol: str
    results: int
    content: bytes

    def write(self, path: Path) -> None:
        """Write the code to a file, whole or not at all; OSError where that cannot be."""
        body = json.dumps({"symbol": self.symbol, "results": self.results}).encode() + b"\n" + self.content
        with open_for_write(str(path)) as file:
            file.write(_checksum(path, body) + body)

    @classmethod
    def read(cls, path: Path) -> "MachineCode | None":
        """Return the code that a file holds, None of no file, a damaged or a renamed one; OSError if unreadable."""
        try:
            file = path.read_bytes()
        except FileNotFoundError:
            return None
        body = file[_CHECKSUM_BYTES:]
        if _checksum(path, body) != file[:_CHECKSUM_BYTES]:
            return None
        line, _, content = body.partition(b"\n")
        return cls(**json.loads(line), content=content)

    def link(self, arguments: Sequence[KernelType]) -> Callable[..., Any]:
        """Make the code part of this process, and return a function that calls it with arguments of these types."""
        llvm = load_llvm()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(llvm))
        engine.add_object_file(llvm.ObjectFileRef.from_data(self.content))
        engine.finalize_object()
        _engines.append(engine)
        return _caller(engine.get_function_address(self.symbol), arguments, self.results)


def _checksum(path: Path, body: bytes) -> bytes:
    """Return what a file begins with; its name is part of it, as a kernel called as another would end the process."""
    return hashlib.sha256(path.name.encode() + b"\n" + body).digest()


@functools.cache
def load_llvm() -> Any:
    """Return LLVM, which knows this processor."""
    from llvmlite import binding  # type: ignore[import-untyped]

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def processor() -> tuple[str, str, str]:
    """Return the system, the processor and its features, by LLVM's names."""
    llvm = load_llvm()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # it does not know
        features = ""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def _target_machine(llvm: Any) -> Any:
    return llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name())


def _caller(address: int, arguments: Sequence[KernelType], results: int) -> Callable[..., Any]:
    """Return a function that hands arguments over, and returns a kernel's integers: none, one, or a tuple."""
    fields = [field for each in arguments for field in each.fields()]
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *fields)(address)
    room = ctypes.c_int64 * max(results, 1)

    def call(*given: Any) -> Any:
        if len(given) != len(arguments):
            raise TypeError(f"a kernel takes {len(arguments)} arguments, got {len(given)}")
        handed: list[Any] = []
        for declared, value in zip(arguments, given, strict=True):
            declared.hand_over(value, handed)
        returned, problem = room(), ctypes.c_void_p()
        status = run(returned, ctypes.byref(problem), *handed)  # without the interpreter's lock
        if status not in _FINE:
            raise _exception(problem)
        return (None, returned[0])[results] if results <= 1 else tuple(returned)

    return call


def _exception(problem: ctypes.c_void_p) -> BaseException:
    """Return the exception that a kernel raised: no memory, a division by zero, with checks an index out of bounds."""
    if not problem.value:
        return SystemError("a kernel failed without saying why")
    told = _Problem.from_address(problem.value)
    kind, arguments, _ = pickle.loads(ctypes.string_at(told.pickled, told.length))  # a part of the code itself
    raised: BaseException = kind(*arguments)
    return raised
