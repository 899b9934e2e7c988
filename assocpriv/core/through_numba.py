"""From a Python function to machine code, by numba and LLVM; nothing else in the package needs numba for its kernels.

The code must stand alone, as it is linked later into processes without numba. What numba's arrays want of numba's
own library while a kernel runs, to take memory and to give it back, is therefore written into each kernel's code.
References to arrays are counted there without locks: no other thread sees a kernel's own arrays.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assocpriv.core.kernel_types import KernelType
from assocpriv.core.machine_code import MachineCode
from assocpriv.core.numba_settings import load_numba

LOADED = sys._getframe().f_code  # for the digest of compiled code
_HEAD_BYTES = 64  # in front of an array's memory: references, destructor and what this takes, address, size, allocator
_REFERENCES = {"NRT_incref", "NRT_decref"}
_C_LIBRARY = {"malloc", "free", "memcpy", "memmove", "memset"}


class CannotKeepError(Exception):
    """This numba makes code that does not stand alone, or hands it out in another way."""


def compile_alone(function: Callable[..., Any], arguments: Sequence[KernelType]) -> MachineCode:
    """Return a function's code for arguments of these types; CannotKeepError where numba's insides are others."""
    numba = load_numba()
    try:
        compiled = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
        with _without_running_it():
            compiled.compile(_numba_types(numba, arguments))
            (result,) = compiled.overloads.values()
            result.library.finalize()  # links and optimizes the text
        returned = result.signature.return_type
        symbol, content = result.fndesc.llvm_func_name, _stand_alone(result.library)
    except (ImportError, AttributeError, KeyError) as error:
        raise CannotKeepError(f"numba {numba.__version__} keeps code in another way") from error
    return MachineCode(symbol, _count_results(numba, returned), content)


def compile_here(function: Callable[..., Any], arguments: Sequence[KernelType]) -> Any:
    """Return a function compiled for this process alone, which numba calls."""
    numba = load_numba()
    compiled = numba.njit(nogil=True)(function)
    compiled.compile(_numba_types(numba, arguments))
    compiled.disable_compile()
    return compiled


def kernel_for_numba(function: Callable[..., Any]) -> tuple[Any, Any]:
    """Return what numba compiles into others for a function, and the type it is known by, which does not hold it."""
    made = load_numba().njit(nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return made, made._numba_type_


def intrinsic_for_numba(function: Callable[..., Any]) -> tuple[Any, Any]:
    """Return what numba takes for a function that writes LLVM's instructions, and the type it is known by."""
    load_numba()
    from numba.core.registry import cpu_target
    from numba.extending import intrinsic

    made = intrinsic(function)
    cpu_target.typing_context.refresh()
    return made, cpu_target.typing_context.resolve_value_type(made)


@contextlib.contextmanager
def _without_running_it() -> Iterator[None]:
    """Let numba make LLVM's text of what it compiles meanwhile, but no machine code to be called in this process."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    context = cpu_target.target_context
    rtsys.initialize(context)  # which is for the whole process
    codegen = context.codegen()

    class Text(codegen._library_class):  # type: ignore[misc, name-defined]
        def _finalize_final_module(self) -> None:
            """Leave the library's text as it is; the process's own code does not wait for it to be translated."""
            self._finalized = True

    with global_compiler_lock:
        codegen._library_class = Text
        context.get_executable = lambda *_: [].append  # any function of C's, but each time another: it is a key
        try:
            yield
        finally:
            del codegen._library_class, context.get_executable


def _numba_types(numba: Any, arguments: Sequence[KernelType]) -> tuple[Any, ...]:
    return tuple(each.for_numba(numba.types) for each in arguments)


def _count_results(numba: Any, returned: Any) -> int:
    """Return how many integers a kernel returns; TypeError for anything else."""
    if returned == numba.types.none:
        return 0
    kinds = list(returned) if isinstance(returned, numba.types.BaseTuple) else [returned]
    if any(numba.types.unliteral(kind) != numba.types.int64 for kind in kinds):
        raise TypeError(f"a kernel returns nothing, or integers of 64 bits, not {returned}")
    return len(kinds)


def _stand_alone(library: Any) -> bytes:
    """Return an object file of a library of numba's, with all that it needs but the C library's memory functions."""
    from llvmlite import binding  # type: ignore[import-untyped]
    from numba.core.registry import cpu_target

    module = binding.parse_bitcode(library._final_module.as_bitcode())
    for each in module.functions:
        if each.name in _REFERENCES:
            each.linkage = "weak_any"  # ours take their place
    module.link_in(binding.parse_assembly(_memory_functions()))
    if _missing(module):
        raise CannotKeepError(f"a kernel needs {min(_missing(module))} of numba's library")
    content: bytes = cpu_target.target_context.codegen()._tm.emit_object(module)
    return content


def _missing(module: Any) -> set[str]:
    """Return what a module needs of others, LLVM's own functions and the C library's aside."""
    declared = {
        each.name for kind in (module.functions, module.global_variables) for each in kind if each.is_declaration
    }
    return {name for name in declared - _C_LIBRARY if not name.startswith("llvm.")}


def _memory_functions() -> str:
    """Return LLVM's text of what numba's arrays want: memory, aligned, its end, and a count of who uses it.

    Numba's own count is atomic, as its arrays may be handed from thread to thread. A kernel's are its own: it returns
    integers alone, and arrays handed to it are not counted.
    """
    from llvmlite import ir

    word, place = ir.IntType(64), ir.IntType(8).as_pointer()
    module = ir.Module()
    malloc = ir.Function(module, ir.FunctionType(place, [word]), "malloc")
    free = ir.Function(module, ir.FunctionType(ir.VoidType(), [place]), "free")

    take = ir.Function(module, ir.FunctionType(place, [word, ir.IntType(32)]), "NRT_MemInfo_alloc_aligned")
    builder = ir.IRBuilder(take.append_basic_block())
    size, alignment = take.args[0], builder.zext(take.args[1], word)
    taken = builder.call(malloc, [builder.add(size, builder.add(alignment, word(_HEAD_BYTES)))])
    with builder.if_then(builder.icmp_unsigned("==", taken, place(None))):
        builder.ret(place(None))
    past = builder.add(builder.ptrtoint(taken, word), builder.add(alignment, word(_HEAD_BYTES - 1)))
    start = builder.and_(past, builder.neg(alignment))
    head = builder.bitcast(taken, word.as_pointer())
    for field, value in enumerate((word(1), word(0), word(0), start, size, word(0))):
        builder.store(value, builder.gep(head, [word(field)]))
    builder.ret(taken)

    end, add, drop = (
        ir.Function(module, ir.FunctionType(ir.VoidType(), [place]), name)
        for name in ("NRT_MemInfo_call_dtor", "NRT_incref", "NRT_decref")
    )
    builder = ir.IRBuilder(end.append_basic_block())
    builder.call(free, [end.args[0]])
    builder.ret_void()
    for function, change in ((add, 1), (drop, -1)):
        builder = ir.IRBuilder(function.append_basic_block())
        with builder.if_then(builder.icmp_unsigned("!=", function.args[0], place(None))):
            head = builder.bitcast(function.args[0], word.as_pointer())
            users = builder.add(builder.load(head), word(change))
            builder.store(users, head)
            if function is drop:
                with builder.if_then(builder.icmp_unsigned("==", users, word(0))):
                    builder.call(free, [function.args[0]])
        builder.ret_void()
    return str(module)
