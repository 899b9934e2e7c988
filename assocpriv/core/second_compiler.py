"""A second Python that compiles kernels while this one does: numba compiles one at a time in a process.

It looks for modules where this one does, and nowhere else: not in the folder that we are in. What it makes is on disk
under the same digest, or it is compiled here.
"""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator

_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
from importlib import import_module
from assocpriv.core import compiling
for line in sys.stdin:
    module, name = line.split()
    import_module(module)
    compiling.compile_kernels([name])
    print(flush=True)
"""


@contextlib.contextmanager
def second_compiler() -> Iterator[Callable[[str, str], bool]]:
    """Start a Python, and yield what has it compile an entry of a module and tells whether it could; end it."""
    options = ["-I", *(["-B"] if sys.dont_write_bytecode else [])]
    command, pipe = [sys.executable, *options, "-c", _PROGRAM, *sys.path], subprocess.PIPE
    try:
        process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    except OSError:  # no second Python to be had
        yield lambda _module, _name: False
        return

    def compile_there(module: str, name: str) -> bool:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{module} {name}\n")
            process.stdin.flush()
        except OSError:  # it has ended
            return False
        return bool(process.stdout.readline())

    with process:
        yield compile_there
        process.terminate()
