"""What commands share: notes, errors, and the options that mean the same in all of them.

Results go to standard output, everything else to standard error.
"""

import contextlib
import json
import logging
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

import assocpriv as ap
from assocpriv.files.atomic import FORMATS, check_writable
from assocpriv.guarantees.errors import WireError as WireError
from assocpriv.kernels.parallel import LEAST_MEMORY
from assocpriv.lazy_exports import LazyModule

if TYPE_CHECKING:
    from assocpriv.show import text_renderer
    from assocpriv.show.result_record import Record

    text = text_renderer
else:
    text = LazyModule("assocpriv.show.text_renderer")  # --help prints without it

_VERBOSITY, _GIVEN, _RUN, _ALL = "assocpriv.verbosity", "assocpriv.given", "assocpriv.run", "assocpriv.all"
_ALL_COMMANDS = {  # options that mean the same in all commands, before or after the command's name
    "force": "replace existing files",
    "json": "print JSON",
}
ROWS = 50  # printed as text
NAMES_HELP = 'Names with commas, as "milk,bread"; one that holds a comma in double quotes.'
_TABLE_LAYOUT = re.compile(r"separator=(?:[,;|]|comma|semicolon|tab|bar|blank)|sheet=.+", re.DOTALL)
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) *(?:([KMGT])(I?))?B?", re.IGNORECASE | re.ASCII)
_F = TypeVar("_F", bound=Callable[..., Any])


# ---- commands


class Command(click.Command):
    """A command with its own options and those of ``takes`` that all commands share; ``force`` becomes an argument."""

    def __init__(self, *arguments: Any, takes: Collection[str] = tuple(_ALL_COMMANDS), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.taken = takes

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after the command's name; --help-all also shows advanced options."""
        ctx.meta[_ALL] = "--help-all" in args
        try:
            return super().parse_args(ctx, ["--help"] if ctx.meta[_ALL] else args)
        except click.NoSuchOption as error:
            # a user who types --port means the option that takes a PORT
            word = re.compile(rf"\b{re.escape(error.option_name.strip('-').upper())}\b")
            named = [flag(each) for each in self.params if each.metavar and word.search(each.metavar)]
            if not named:
                raise
            raise click.UsageError(f"No such option {error.option_name}; give {' or '.join(named)}", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's options, then one line about those that all commands share."""
        advanced = [option for option in self.params if isinstance(option, click.Option) and option.hidden]
        for option in advanced:
            option.hidden = not ctx.meta[_ALL]
        super().format_options(ctx, formatter)
        for option in advanced:
            option.hidden = True
        shared = [f"--{name} ({_ALL_COMMANDS[name]})" for name in self.taken]
        shared += ["--help-all (show advanced options)"] * bool(advanced and not ctx.meta[_ALL])
        formatter.write_paragraph()
        formatter.write_text(", ".join(["Also: -q (quiet), -v (verbose)", *shared]) + ".")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; refuse a shared option that it does not take."""
        ctx.meta[_RUN] = self
        asked = ctx.meta.get(_GIVEN, set())
        for name in asked - set(self.taken):
            what = "prints no result" if name == "json" else "writes no file"
            raise click.UsageError(f"{self.name} {what}; leave --{name} out", ctx)
        if "force" in self.taken:
            ctx.params["force"] = "force" in asked
        return super().invoke(ctx)


def command(**settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Return the decorator that makes a command of a function."""
    return click.command(cls=Command, **settings)


class Group(click.Group):
    """Commands in the order in which they are made."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(self.commands)


# ---- notes and warnings


def set_global_flags(**flags: bool) -> None:
    """Keep which shared options were given."""
    click.get_current_context().meta[_GIVEN] = {name for name, is_given in flags.items() if is_given}


def set_verbosity(verbosity: int) -> None:
    """Set how much is printed: -1 without notes and progress, 0 the default, 1 with time and memory."""
    click.get_current_context().meta[_VERBOSITY] = verbosity
    if verbosity < 0:
        text.Progress.is_silent = True
        click.get_current_context().call_on_close(lambda: setattr(text.Progress, "is_silent", False))


def verbosity() -> int:
    """Return how much is printed: -1, 0 or 1."""
    context = click.get_current_context(silent=True)
    return 0 if context is None else int(context.meta.get(_VERBOSITY, 0))


def say(lines: Iterable[str]) -> None:
    """Print notes on standard error, unless --quiet was given."""
    if verbosity() >= 0:
        _print(lines)


def warn(lines: Iterable[str]) -> None:
    """Print warnings on standard error."""
    _print(lines, "warning:", "yellow")


def _print(lines: Iterable[str], word: str = "", style: str = "") -> None:
    if sys.stderr is None:  # closed
        return
    text.Progress.make_room()
    for line in map(in_options, lines):
        text.talk(line, word, sys.stderr, style)


class _Talk(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say([record.getMessage()])


@contextlib.contextmanager
def showing_talk() -> Iterator[None]:
    """Print the package's log (how files were read) and its warnings on standard error."""
    log, talk = logging.getLogger("assocpriv"), _Talk()
    before = log.level
    log.addHandler(talk)
    log.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_where: warn([str(message)])
            yield
    finally:
        log.removeHandler(talk)
        log.setLevel(before)


def in_options(text: str) -> str:
    """Write Python arguments in a message as options of this command: ``empty='keep'`` becomes ``--empty keep``."""
    context = click.get_current_context(silent=True)
    command = None if context is None else context.meta.get(_RUN)
    own = [each for each in command.params if isinstance(each, click.Option)] if command is not None else []
    names = {str(each.name): flag(each) for each in own} | {"force": "--force"}
    names |= {"itemset_size": "--itemset-size", "reports_per_person": "--reports-per-person"}  # of plan, for a next one

    def written(found: re.Match[str]) -> str:
        if found[2] is None and "_" not in found[1]:
            return found[0]  # a word like any other
        value = (found[2] or "=")[1:]
        value = "" if value in ("", "True") else shlex.quote(value.strip("'"))
        return f"{names[found[1]]} {value}".strip()

    return re.sub(rf"\b({'|'.join(names)})\b(=(?:'[^']*'|[\w.]+|))?", written, text)


def write(output: Path | None, function: Callable[[Path], None], what: str = "table") -> None:
    """Write a result also to a file, if one is named, and say so."""
    if output is not None:
        function(output)
        say([f"{what} written to {output}"])


def print_usage_figures(seconds: float) -> None:
    """Print the time and memory of a command, with --verbose."""
    if verbosity() > 0:
        memory = ""
        with contextlib.suppress(ImportError):  # Windows does not say
            import resource

            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            memory = f", at most {most / 1e6:,.0f} MB"
        _print([f"took {seconds:.2f} s{memory}"])


class Refused(click.ClickException):
    """An error that ends a command, in one line."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on standard error."""
        text.talk(self.format_message(), "Error:", sys.stderr if file is None else file, "bold red")


# ---- results


def print_glossary(context: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
    """Print the terms of docs/glossary.md, and end."""
    if is_wanted:
        click.echo(text.read_glossary())
        context.exit()


def wants_json() -> bool:
    """Return whether --json was given."""
    return "json" in click.get_current_context().meta[_GIVEN]


def show(record: "Record") -> None:
    """Print a result's notes and warnings, then the result: one JSON object, or text."""
    for note in record.notes:
        emit = warn if isinstance(note, ap.show.result_record.Say) and note.kind == "wrong" else say
        emit(text.lines(ap.show.result_record.Record(record.content, [note])))
    if wants_json():
        click.echo(json.dumps(record.to_json(), allow_nan=False))
    else:
        text.show(record)


# ---- options that were given


def given(name: str) -> bool:
    """Return whether an option was given, and is not its default."""
    context = click.get_current_context()
    if name in _ALL_COMMANDS:
        return name in context.meta[_GIVEN]
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def flag(parameter: click.Parameter) -> str:
    """Return the long form of an option."""
    return max(parameter.opts, key=len)


def refuse_given(names: Iterable[str], why: str) -> None:
    """Raise a UsageError for options that cannot be combined with another one."""
    parameters = {each.name: each for each in click.get_current_context().command.params}
    for name in names:
        if given(name):
            raise click.UsageError(f"{flag(parameters[name]) if name in parameters else f'--{name}'} {why}")


def of_kind(options: Mapping[str, Any], kind: str, own: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Return the options of a kind of plan: without those of other kinds, by ``own``, which are refused if given."""
    foreign = {name for names in own.values() for name in names if name not in own.get(kind, ())}
    for name in filter(foreign.__contains__, options):
        kinds = " or ".join(each for each, names in own.items() if name in names)
        refuse_given([name], f"goes with {kinds}, not with {kind}")
    return {name: value for name, value in options.items() if name not in foreign}


def require(names: Iterable[str]) -> None:
    """Raise an error for options that are required here and missing."""
    context = click.get_current_context()
    for name in names:
        if context.params.get(name) is None:
            parameter = next(each for each in context.command.params if each.name == name)
            raise click.MissingParameter(ctx=context, param=parameter)


# ---- types of options


class _PlainDigits(click.ParamType):  # type: ignore[type-arg]  # generic in some releases of click alone
    """A number in digits 0 to 9; Python's own numbers take digits of any script."""

    def get_metavar(self, *_where: Any, **_more: Any) -> str:
        """Return what stands for a number in help."""
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or refuse it as click does."""
        if isinstance(value, str) and not value.isascii():
            self.fail(f"{value!r} is not a number in the digits 0 to 9.", param, ctx)
        if isinstance(value, str) and re.fullmatch(r"[0-9]+,[0-9]+", value):
            self.fail(f"{value!r} has a comma; a point stands before decimals, and none between thousands.", param, ctx)
        return super().convert(value, param, ctx)


class _Whole(_PlainDigits, click.types.IntParamType):
    pass


class WholeRange(_PlainDigits, click.IntRange):
    """Whole numbers in a range."""


class _Number(_PlainDigits, click.types.FloatParamType):
    pass


WHOLE, NUMBER = _Whole(), _Number()


class _Output(click.Path):
    """A file to write, with one of some endings, or any; ``-`` is refused, as users mean standard output by it."""

    def __init__(self, *endings: str) -> None:
        super().__init__(path_type=Path)
        self._endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or refuse what names no file."""
        if value in ("", "-"):
            self.fail(f"name a file; {value!r} is no name of one.", param, ctx)
        if self._endings and Path(value).suffix.lower() not in self._endings:
            self.fail(f"{value} must end in {', '.join(self._endings[:-1])} or {self._endings[-1]}.", param, ctx)
        return super().convert(value, param, ctx)


PATH, OUTPUT, TABLE, PAGE = click.Path(path_type=Path), _Output(), _Output(*FORMATS), _Output(".html", ".htm")
PARQUET = _Output(".parquet", ".pq")


def _to_bytes(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Read a size such as 500MB, 2GB or 1.5GiB."""
    if text is None:
        return None
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size; write for example 500MB, 2GB or 1.5GiB")
    power = " KMGT".index((match[2] or " ").upper())
    size = int(float(match[1]) * (1024 if match[3] else 1000) ** power)
    if size < LEAST_MEMORY:
        raise click.BadParameter(f"{text} is too little; give at least {LEAST_MEMORY >> 20}MiB")
    return size


def pair(message: str) -> Callable[..., tuple[str, ...] | None]:
    """Return a callback that reads two values separated by a comma; otherwise the message is shown."""

    def read(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        parts = None if text is None else tuple(part.strip() for part in text.split(","))
        if parts is not None and len(parts) != 2:
            raise click.BadParameter(message)
        return parts

    return read


# ---- options


def joined(*decorators: Callable[[_F], _F]) -> Callable[[_F], _F]:
    """Return one decorator that applies several, the first outermost."""

    def decorate(function: _F) -> _F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def usual(*names: str, default: Any, help: str, **settings: Any) -> Callable[[_F], _F]:  # noqa: A002
    """Return an option whose help shows its default."""
    if type(default) is int:
        settings = {"type": WHOLE} | settings
    return click.option(*names, default=default, show_default=True, help=help, **settings)


def sort_option(orders: str, default: str) -> Callable[[_F], _F]:
    """Return the option that orders rows."""
    return click.option("--sort", show_default=default, help=f"Order of rows: {orders}.")


def choice(name: str, words: Sequence[str], help: str, default: str | None = None) -> Callable[[_F], _F]:  # noqa: A002
    """Return an option that takes one of several words, the first by default."""
    return usual(name, default=default or words[0], help=help, type=click.Choice(words))


def advanced_options(*decorators: Callable[[_F], _F]) -> Callable[[_F], _F]:
    """Return one decorator of options that only --help-all shows."""

    def decorate(function: _F) -> _F:
        known = len(getattr(function, "__click_params__", []))
        function = joined(*decorators)(function)
        for option in function.__click_params__[known:]:  # type: ignore[attr-defined]
            option.hidden = True
        return function

    return decorate


plan_option = click.option("--plan", "plan_path", type=PATH, required=True, help="Published plan (JSON).")
guarantee_options = joined(
    click.option("--prior", help="Prior probability, as 5% or 0.05."),
    click.option("--posterior", help="Upper bound on the posterior, as 50%."),
    click.option("--epsilon", help="Privacy parameter ε, as 2.5 or ln19."),
)
memory_option = click.option(
    "--memory", "memory_bytes", metavar="SIZE", callback=_to_bytes,
    help="Memory for data, as 500MB or 2GB.  [default: a quarter of the free memory]",
)  # fmt: skip
layout_option = click.option(
    "--layout", metavar="WORDS",
    help="File layout, as 'long transaction=receipt item=#2 separator=; header=no', one-hot, lines, dat or list; of a "
    "table 'separator=;'; of a workbook sheet=#1.  [default: by the first lines]",
)  # fmt: skip
reading_options = joined(  # of baskets
    layout_option,
    usual(
        "--incomplete", default="refuse", type=click.Choice(["refuse", "drop", "keep"]), metavar="WORD",  # a short one
        help="Missing cells: refuse, drop their rows, or keep as not bought.",
    ),
)  # fmt: skip
READING = ("layout", "incomplete")
repeats_option = choice("--repeats", ["error", "merge"], "Repeated items in a basket.")
rules_options = joined(
    choice("--unknown", ["error", "drop"], "Items outside the catalogue."),
    repeats_option,
    choice("--empty", ["error", "keep", "drop"], "Empty baskets."),
)
reports_argument = click.argument("reports", type=PATH, nargs=-1, required=True)
missing_option = click.option(
    "--missing", metavar="WORD", multiple=True, help="Missing-value marker of a table, as ?; repeatable."
)
clip_option = click.option("--clip", is_flag=True, help="Clip table values to their column's range.")
class_option = click.option(
    "--class", "class_column", metavar="COLUMN", required=True, help="Class column: a category."
)
seed_option = click.option("--seed", type=WholeRange(0), help="Random seed.")
spark_option = click.option(
    "--spark", metavar="URL", help="Count on this Spark master: local[*], spark://host:7077, yarn, sc://host:15002."
)
level_option = usual("--confidence-level", default="95%", help="Level of the intervals, as 95% or 0.95.")
min_support_option = click.option("--min-support", metavar="S", help="Minimum support, as 2%.  [default: automatic]")
max_itemset_option = click.option("--max-itemset", type=WHOLE, help="Maximum itemset size.  [default: the plan's]")
top_option = usual("--top", default=ROWS, help="Rows printed as text.", type=WholeRange(0))
all_option = click.option(
    "--all", "everything", is_flag=True, help="Also print results below the selection threshold, marked ?."
)
table_output_option = click.option("-o", "--output", type=TABLE, help="File to write: .parquet, .csv or .json.")
row_options = joined(
    click.option("--contains", multiple=True, metavar="ITEM", help="Only rows that contain this item; repeatable."),
    click.option("--size", metavar="K", help="Only rows of this many items, as 2, 2..3, 2.. or ..3."),
)


# ---- guarantees


def take_guarantee(options: dict[str, Any]) -> "ap.Guarantee | None":
    """Take prior, posterior and ε out of the options and return their guarantee, or None without any.

    With ε the prior only sets which posterior is printed.

    Raises:
        UsageError: ε and a posterior, or a prior without a posterior.
    """
    prior, posterior, epsilon = (options.pop(name) for name in ("prior", "posterior", "epsilon"))
    if epsilon is not None and posterior is not None:
        raise click.UsageError("--epsilon and --posterior both state the guarantee; give one of them")
    if epsilon is None and (prior is None) != (posterior is None):
        raise click.UsageError("--prior and --posterior go together; or give --epsilon alone")
    from assocpriv.guarantees.amplification import read_guarantee

    return read_guarantee(None, epsilon, prior, posterior)


# ---- files


def read_plan(path: Path, others: Iterable[Path], kind: Any = None) -> Any:
    """Read a plan; the error names another given file that is a plan, if the two were swapped."""
    try:
        return ap.read_plan(path) if kind is None else ap.read_plan(path, kind)
    except ap.AssocprivError:
        for other in others:
            with contextlib.suppress(ap.AssocprivError, OSError):
                ap.read_plan(other)
                raise click.UsageError(f"{path} is no plan, but {other} is one: give --plan {other}") from None
        raise


def open_reports(paths: Sequence[Path], spark: str | None) -> Any:
    """Open files of reports, to be counted on this machine or on Spark."""
    return ap.read_reports(paths) if spark is None else ap.spark.read_reports(paths, master=spark)


def open_collections(paths: Sequence[Path], spark: str | None) -> list[Any]:
    """Open files of reports of one or several plans, and releases."""
    from assocpriv.files.collections import open_collections
    from assocpriv.files.report_files import group_by_plan

    if spark is None:
        return open_collections(paths)
    return [open_reports(each, spark) for each in group_by_plan(paths)]


def table_reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take the layout out of the options and return the separator and the sheet of a table.

    Raises:
        UsageError: the layout holds something else.
    """
    words = ["?"]
    with contextlib.suppress(ValueError):  # quotes that are not closed
        words = shlex.split(options.pop("layout") or "")
    if not all(map(_TABLE_LAYOUT.fullmatch, words)):
        raise click.UsageError("for a table, --layout takes only separator= and sheet=, as 'separator=; sheet=#1'")
    return {"separator": None, "sheet": None} | dict(word.split("=", 1) for word in words)


def check_output(output: Path | None, force: bool, inputs: Iterable[Path | None]) -> None:
    """Raise an error for an output file that cannot be written, before any work is done for it."""
    if output is not None:
        check_writable(output, force=force, inputs=[each for each in inputs if each is not None])
