"""The command line: a command parses its options, calls the public API and prints the result.

Results go to standard output (text, or one JSON object with ``--json``), notes to standard error. Exit status: 0
done, 1 bad input or failure (one line, no traceback), 2 wrong usage.
"""

import os
import signal
import sys
import threading
from collections import UserDict
from io import TextIOWrapper
from pkgutil import resolve_name
from time import perf_counter
from types import FrameType
from typing import Any, NoReturn

import click

from assocpriv import __version__
from assocpriv.cli import options as opt
from assocpriv.guarantees.errors import AssocprivError

# numpy would start a thread per core that waits in a loop; its products here are small, and counting has own threads
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_MODULES = {
    "privacy_commands": ("audit", "inspect", "privacy"),
    "client_commands": ("randomize", "report"),
    "release_commands": ("release",),
    "collector_commands": ("collector", "gather", "relay", "serve"),
    "mining_commands": ("guide", "ask", "compare", "mine", "rules"),
    "plan_commands": ("catalogue", "plan", "refine"),
    "simulation_commands": ("demo", "generate", "simulate"),
    "table_commands": ("suppress", "predict", "reconstruct", "tree"),
}
_SECTIONS = {  # in the order in which a new user needs them
    "First steps": ("demo", "plan", "randomize", "mine", "rules"),
    "Prepare a collection": ("catalogue", "privacy", "simulate", "refine"),
    "You hold the baskets": ("release",),
    "Collect reports": ("report", "serve", "relay", "gather", "collector"),
    "More results": ("ask", "compare", "reconstruct", "tree", "predict"),
    "Check": ("inspect", "audit", "generate"),
    "Other methods": ("guide", "suppress"),
}
_HOMES = {name: f"assocpriv.cli.{module}:{name}" for module, names in _MODULES.items() for name in names}

_interrupted = threading.Event()


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Remember that a signal ends the command, and end it."""
    _interrupted.set()
    raise KeyboardInterrupt


class _Homes(UserDict[str, Any]):
    """Commands by name, each loaded from its home, ``module:function``, when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return resolve_name(self.data[name])


class _Group(opt.Group):
    """Turns what is refused into one line and exit status 1."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; what the output's encoding lacks (γ in a Windows pipe) is shown as a question mark."""
        if sys.stdout is None:  # closed: the first file that a command opens would get what is printed
            _fail("standard output is closed; nothing was done")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        try:
            return self._main(*args, **options)
        except OSError as error:  # help that cannot be printed
            _fail(_problem(error))

    def _main(self, *args: Any, **options: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return super().main(*args, **options)
        # both as Ctrl-C: what is unfinished is taken away on the way out
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        heard = [number for number, handler in before.items() if handler != signal.SIG_IGN]  # ignored: nohup
        _interrupted.clear()
        try:
            for number in heard:
                signal.signal(number, _interrupt)
            return super().main(*args, **options)
        finally:
            for number in heard:
                signal.signal(number, before[number] or signal.SIG_DFL)  # None: set by another language

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the options of all commands from wherever they stand before ``--``, and read the other words."""
        end = args.index("--") if "--" in args else len(args)
        own = {word for each in self.params if each.name != "version" for word in each.opts}
        return super().parse_args(ctx, sorted(args[:end], key=lambda word: word not in own) + args[end:])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands with one sentence each, in the order in which a new user needs them."""
        for title, names in _SECTIONS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name, each.get_short_help_str(1000)) for name, each in commands if each], 11)

    def invoke(self, ctx: click.Context) -> Any:
        started = perf_counter()
        try:
            with opt.showing_talk():
                result = super().invoke(ctx)
            opt.print_usage_figures(perf_counter() - started)
            return result
        except BrokenPipeError:  # the reader has left; click ends in silence
            raise
        except (AssocprivError, OSError, MemoryError) as error:
            problem = _problem(error)
        except Exception as error:
            if _interrupted.is_set():  # in the middle of an import Python may say something else
                raise KeyboardInterrupt from error
            raise
        opt.text.Progress.make_room()
        raise opt.Refused(problem)


def _fail(problem: str) -> NoReturn:
    """End outside of any command with one line and exit status 1."""
    click.echo(f"Error: {problem}", err=True)
    sys.exit(1)


def _problem(error: AssocprivError | OSError | MemoryError) -> str:
    """Say on one line what was refused."""
    if isinstance(error, MemoryError):
        return "out of memory; take fewer baskets, a higher minimum support or less --memory"
    if isinstance(error, OSError):  # a name too long for the system, a full disk behind standard output
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or 'the system refused'}"
    return opt.in_options(" ".join(str(error).split()))


@click.group(
    cls=_Group,
    commands=_Homes(_HOMES),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, package_name="assocpriv")
@click.option("-q", "--quiet", is_flag=True, help="Print results, warnings and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Print more figures, the time and the memory used.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option(
    "--glossary",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=opt.print_glossary,
    help="Explain terms such as support, ε or posterior.",
)
def main(quiet: bool, verbose: bool, force: bool, as_json: bool) -> None:
    """Mine association rules from transactions that never leave the device unprotected.

    Each client randomizes its basket, so that a report discloses little about it: this is local differential privacy.
    The server estimates frequent itemsets and rules from the reports alone.

    \b
    Example, from a file of baskets to rules:
      assocpriv plan --items 1000 --prior 5% --posterior 50% -o plan.json
      assocpriv randomize baskets.dat --plan plan.json -o reports.parquet
      assocpriv mine reports.parquet -o itemsets.parquet
      assocpriv rules itemsets.parquet
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other")
    opt.set_verbosity(verbose - quiet)
    opt.set_global_flags(force=force, json=as_json)


if __name__ == "__main__":
    sys.exit(main())
