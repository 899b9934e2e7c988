"""Compiling the kernels: the command that does it ahead, and telling the person when another command has to."""

import threading
from collections.abc import Iterable
from time import perf_counter

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import json_option
from assocpriv.apps.progress import Progress

RANDOMIZING = ("parse_numbers", "randomize_transactions")
COUNTING = ("transpose_reports", "expand_items", "count_items", "count_supersets", "count_pairs")
_PATIENCE_SECONDS = 1.0  # loading from disk takes less, also on a busy computer


def _load_kernels() -> None:
    """Load every module that declares kernels for Python."""
    from assocpriv.core.kernels import bitmaps, counting, randomizing, ranks  # noqa: F401
    from assocpriv.records import text_kernel  # noqa: F401


def compile_told(names: Iterable[str] | None = None) -> None:
    """Compile the named kernels, or load them from disk; where that takes long, say so on standard error.

    Args:
        names: kernels that Python calls; all of them by default.
    """
    from assocpriv.core.compiling import compile_kernels

    _load_kernels()
    told = threading.Event()

    def tell() -> None:
        told.set()
        say(["making or loading code for this processor; the first time it takes some seconds …"])

    timer = threading.Timer(_PATIENCE_SECONDS, tell)
    timer.daemon = True
    timer.start()
    try:
        kept = compile_kernels(names, Progress().stage("compiling"))
    finally:
        timer.cancel()
        timer.join()
    if told.is_set() and any(each.folder is None for each in kept.values()):
        say(["warning: the compiled code cannot be kept; assocpriv warm-up tells why"])


@click.command("warm-up")
@json_option
def warm_up(as_json: bool) -> None:
    """Compile all kernels for this processor and keep the code, so that no later command has to.

    For the images of containers and for computers that start many short runs.

    \b
    Example:
      assocpriv warm-up
    """
    from assocpriv.core.compiling import compile_kernels

    _load_kernels()
    started = perf_counter()
    kept = compile_kernels(progress=Progress().stage("compiling"))
    seconds = perf_counter() - started
    if not kept:
        raise click.ClickException("nothing is compiled while the environment variable NUMBA_DISABLE_JIT is set")
    troubles = {each.trouble for each in kept.values() if each.folder is None}
    if troubles:
        raise click.ClickException(
            f"the compiled code cannot be kept ({'; '.join(sorted(troubles))}); "
            "set the environment variable NUMBA_CACHE_DIR to a folder that only you can write"
        )
    folders = sorted({str(each.folder) for each in kept.values()})
    passed_over = sorted({each.passed_over for each in kept.values() if each.passed_over})
    show_result(
        as_json,
        lambda: {"kernels": sorted(kept), "seconds": seconds, "folders": folders, "passed_over": passed_over},
        lambda: [
            f"{len(kept)} kernels ready after {seconds:.1f} s, kept in {' and '.join(folders)}",
            *(f"not used: {reason}" for reason in passed_over),
        ],
    )
