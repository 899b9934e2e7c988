"""The command warm-up: compiling the kernels ahead."""

from time import perf_counter

import click

from assocpriv.apps.console import Refused, compile_kernels, show_result
from assocpriv.apps.options import json_option


@click.command("warm-up")
@json_option
def warm_up() -> None:
    """Compile all kernels for this processor and keep the code, so that no later command has to.

    For the images of containers and for computers that start many short runs.

    \b
    Example:
      assocpriv warm-up
    """
    started = perf_counter()
    compiled = compile_kernels()
    seconds = perf_counter() - started
    if not compiled:
        raise Refused("nothing is compiled while the environment variable NUMBA_DISABLE_JIT is set")
    troubles = {each.trouble for each in compiled.values() if each.folder is None}
    if troubles:
        raise Refused(
            f"the compiled code cannot be kept ({'; '.join(sorted(troubles))}); "
            "set the environment variable NUMBA_CACHE_DIR to a folder that only you can write"
        )
    folders = sorted({str(each.folder) for each in compiled.values()})
    passed_over = sorted({each.passed_over for each in compiled.values() if each.passed_over})
    show_result(
        lambda: {"kernels": sorted(compiled), "seconds": seconds, "folders": folders, "passed_over": passed_over},
        lambda: [
            f"{len(compiled)} kernels ready after {seconds:.1f} s, kept in {' and '.join(folders)}",
            *(f"not used: {reason}" for reason in passed_over),
        ],
    )
