"""What commands share when they talk, results to standard output and the rest to standard error, or refuse options."""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import click

from assocpriv.apps.options import AS_JSON
from assocpriv.apps.progress import Progress
from assocpriv.plans.kind import load

_VERBOSITY = "assocpriv.verbosity"


class LazyGroup(click.Group):
    """A group of commands, each loaded when it is asked for; ``homes`` says where: ``module:function`` by name."""

    def __init__(self, *args: Any, homes: dict[str, str] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._homes = homes or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(self._homes)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; say which one was likely meant where there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            meant = get_close_matches(args[0], self._homes, n=1)
            if not meant:
                raise
            raise click.UsageError(f"{error.message} Did you mean {meant[0]}?", ctx) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command."""
        if cmd_name not in self._homes:
            return None
        command: click.Command = load(self._homes[cmd_name])
        return command


def talk_as(verbosity: int) -> None:
    """Say less than usual from now on (-1: neither notes nor progress), or more (1: also what it took)."""
    click.get_current_context().meta[_VERBOSITY] = verbosity
    if verbosity < 0:
        Progress.is_silent = True
        click.get_current_context().call_on_close(lambda: setattr(Progress, "is_silent", False))


def verbosity() -> int:
    """Return how much is to be said: -1, 0 or 1."""
    context = click.get_current_context(silent=True)
    return 0 if context is None else int(context.meta.get(_VERBOSITY, 0))


def say(lines: Iterable[str]) -> None:
    """Talk to the person, on standard error, unless quiet is wanted."""
    if verbosity() >= 0:
        _tell(lines)


def _tell(lines: Iterable[str], word: str = "", **style: Any) -> None:
    from assocpriv.apps.terminal import has_colours, talk

    if sys.stderr is None:  # closed
        return
    Progress.make_room()
    for line in lines:
        for part in talk(line, word, sys.stderr, **style):
            click.echo(part, err=True, color=has_colours(sys.stderr))


@contextlib.contextmanager
def showing_log() -> Iterator[None]:
    """Show on standard error what the package's log tells: how files are understood."""
    import logging

    class Talk(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say([record.getMessage()])

    log, talk = logging.getLogger("assocpriv"), Talk()
    before = log.level
    log.addHandler(talk)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(talk)
        log.setLevel(before)


def warn(lines: Iterable[str]) -> None:
    """Warn the person, on standard error."""
    _tell(lines, "warning:", fg="yellow")


def say_written(output: Path, what: str = "table") -> None:
    """Say that a table was written beside what is shown."""
    say([f"{what} written to {output}"])


class Refused(click.ClickException):
    """What ends a command, in one line."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on standard error."""
        from assocpriv.apps.terminal import has_colours, talk

        stream = sys.stderr if file is None else file
        for part in talk(self.format_message(), "Error:", stream, fg="red", bold=True):
            click.echo(part, file=stream, color=has_colours(stream))


def say_compiling() -> None:
    """Say that a command waits for the compiler, and whether the next one will; in any thread."""
    from assocpriv.kernels.compiling import find_folder

    more = ", which takes some seconds the first time …"
    if not find_folder():
        more = "; the code cannot be kept: set NUMBA_CACHE_DIR to a folder of your own"
    with contextlib.suppress(OSError):  # nobody reads it
        _tell([f"compiling for this processor{more}"])


def say_what_it_took(seconds: float) -> None:
    """Say how long a command took, and how much memory, where more than usual is to be said."""
    if verbosity() <= 0:
        return
    with contextlib.suppress(ImportError):  # Windows does not say
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        _tell([f"took {seconds:.2f} s, at most {most / 1e6:,.0f} MB"])
        return
    _tell([f"took {seconds:.2f} s"])


def wants_json() -> bool:
    """Return whether the result is wanted as JSON instead of text."""
    return bool(click.get_current_context().meta[AS_JSON])


def show_result(record: Callable[[], Any], lines: Callable[[], list[str]]) -> None:
    """Print a result: one JSON object, or text."""
    if wants_json():
        click.echo(json.dumps(record(), allow_nan=False))
    else:
        show_lines(lines())


def show_lines(lines: list[str]) -> None:
    """Print text as it is, or as a terminal shows it."""
    from assocpriv.apps.terminal import can_draw, decorated, fitted, harmless, has_colours, is_terminal

    if not is_terminal(sys.stdout):
        click.echo("\n".join(lines))
        return
    width, coloured = shutil.get_terminal_size().columns, has_colours()
    safe = [harmless(line) for line in lines]
    for line in decorated(safe, width, bars=can_draw(sys.stdout)):
        for part in fitted(line.text, width, line.hang):
            click.echo(line.shown(part, coloured=coloured), color=coloured)


def given(name: str) -> bool:
    """Return whether an option was given, and is not its default."""
    context = click.get_current_context()
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options that do not go together with another one."""
    context = click.get_current_context()
    for name in names:
        parameter = next(each for each in context.command.params if each.name == name)
        if given(name):
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


def require(names: Iterable[str]) -> None:
    """Refuse to go on without options that are required here."""
    context = click.get_current_context()
    for name in names:
        if context.params.get(name) is None:
            parameter = next(each for each in context.command.params if each.name == name)
            raise click.MissingParameter(ctx=context, param=parameter)
