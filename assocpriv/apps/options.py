"""Options that several commands share."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assocpriv.kernels.parallel import LEAST_MEMORY

if TYPE_CHECKING:
    from assocpriv.baskets import Breach

_F = TypeVar("_F", bound=Callable[..., Any])


class _PlainDigits(click.ParamType):  # type: ignore[type-arg]  # generic in some releases of click alone
    """Takes no digits but 0 to 9, where Python's numbers take those of any script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or refuse it as click does."""
        if isinstance(value, str) and not value.isascii():
            self.fail(f"{value!r} is not a number in the digits 0 to 9.", param, ctx)
        return super().convert(value, param, ctx)


class _Whole(_PlainDigits, click.types.IntParamType):
    pass


class WholeRange(_PlainDigits, click.IntRange):
    """Whole numbers in a range."""


class _Number(_PlainDigits, click.types.FloatParamType):
    pass


WHOLE, NUMBER = _Whole(), _Number()


class _WholeOr(_Whole):
    """Takes a whole number, or one of several words, of which ``none`` is None."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, the word or None."""
        if value in self._words:
            return None if value == "none" else value
        if isinstance(value, str) and not value.lstrip("-").isdecimal():
            self.fail(f"{value!r} is neither {', '.join(self._words)} nor a whole number.", param, ctx)
        return super().convert(value, param, ctx)

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """Return how help shows it."""
        return "|".join([*self._words, "N"])


BLOCKS = _WholeOr("auto", "none")


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


def choice(name: str, words: Sequence[str], help: str, default: str | None = None) -> Callable[[_F], _F]:  # noqa: A002
    """Return an option that takes one of several words, the first by default."""
    return usual(name, default=default or words[0], help=help, type=click.Choice(words))


AS_JSON = "assocpriv.as_json"  # where show_result looks
json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({AS_JSON: value}),
    help="Print one JSON object instead of text.",
)
force_option = click.option("--force", is_flag=True, help="Replace existing files.")
result_options = joined(force_option, json_option)
LEAST_SUPPORT = "Least support of a frequent itemset, as 2% or 0.02, within at most M sampled items."
ROWS, WANTED = 50, 64  # shown as text; itemsets wanted of rounds


class _Output(click.Path):
    """Files to write: - would be a file of that name, where standard output is meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or refuse what names no file."""
        if value in ("", "-"):
            self.fail(f"name a file; {value!r} is no name of one.", param, ctx)
        return super().convert(value, param, ctx)


PATH, OUTPUT = click.Path(path_type=Path), _Output(path_type=Path)
_SEPARATORS = (",", ";", "|", "tab", "blank")


def _to_separator(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Take a separator as a word or as the character itself."""
    word = {"\t": "tab", "\\t": "tab", " ": "blank"}.get(text or "", text)
    if word is not None and word not in _SEPARATORS:
        raise click.BadParameter(f"give one of {' '.join(_SEPARATORS)}")
    return word


separator_option = click.option(
    "--separator", metavar="CHAR", callback=_to_separator, help="Of cells: , ; | tab or blank."
)
LAYOUT = ("format", "separator", "header", "transaction_column", "item_column")
layout_options = joined(
    click.option(
        "--format",
        type=click.Choice(["dat", "basket", "long", "onehot", "parquet"]),
        help="Of the baskets: lines of item numbers, CSV with a basket a line, with transaction and item columns, or "
        "with a column an item, Parquet.  [default: by extension and first lines]",
    ),
    separator_option,
    click.option(
        "--header",
        type=click.Choice(["yes", "no"]),
        callback=lambda _context, _option, word: None if word is None else word == "yes",
        help="Whether line 1 names columns.",
    ),
    click.option("--transaction-column", metavar="NAME", help="Column of transactions, by name or number from 1."),
    click.option("--item-column", metavar="NAME", help="Column of items, by name or number from 1."),
)
basket_options = joined(
    layout_options,
    choice("--unknown", ["error", "drop"], "Items outside the catalogue."),
    choice("--repeats", ["error", "merge"], "Items repeated in a basket."),
    choice("--empty", ["error", "keep"], "Empty baskets."),
)


_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) *(?:([KMGT])(I?))?B?", re.IGNORECASE | re.ASCII)


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


epsilon_option = click.option(
    "--epsilon", help="The promise as ε of local differential privacy, 2.5 or ln19; instead of --posterior."
)


def take_promise(options: dict[str, Any]) -> "Breach | None":
    """Take prior, posterior and ε out of options and return the promise that they state; None if they state none.

    With ε the prior only says what is shown.

    Raises:
        UsageError: two promises, or half of one.
    """
    from assocpriv.baskets import Breach, Epsilon

    prior, posterior, epsilon = (options.pop(name) for name in ("prior", "posterior", "epsilon"))
    if epsilon is not None:
        if posterior is not None:
            raise click.UsageError("--epsilon and --posterior both say how far a belief may move; give one of them")
        return Epsilon(epsilon) if prior is None else Epsilon(epsilon, prior)
    if (prior is None) != (posterior is None):
        raise click.UsageError("--prior and --posterior go together; or give --epsilon alone")
    return None if prior is None else Breach(prior, posterior)


def require_promise(options: dict[str, Any]) -> "Breach":
    """Return the promise as :func:`take_promise`; refuse to go on without one."""
    promise = take_promise(options)
    if promise is None:
        raise click.UsageError("Missing promise: give --prior and --posterior, or --epsilon.")
    return promise


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_to_bytes,
    help="What of the data may be held at a time, as 500MB or 2GB.  [default: a quarter of the free memory]",
)
plan_option = click.option("--plan", "plan_path", type=PATH, required=True, help="The published plan.")
plan_output_options = joined(
    click.option("-o", "--output", type=OUTPUT, required=True, help="Plan file to write (JSON)."), result_options
)
table_output_option = click.option("-o", "--output", type=OUTPUT, help="File to write: .parquet, .csv or .json.")
_top_option = usual("--top", default=ROWS, help="Rows shown as text.", type=WholeRange(0))
table_options = joined(table_output_option, _top_option, result_options)
row_options = joined(
    click.option("--contains", multiple=True, metavar="ITEM", help="Show rows that hold this item; may be repeated."),
    click.option("--size", metavar="K", help="Show rows of so many items, as 2, 2..3, 2.. or ..3."),
)
histogram_table_option = click.option("--histogram", type=PATH, help="Mined table of a sizes plan (plan --histogram).")
reports_argument = click.argument("reports", type=PATH, nargs=-1, required=True)
backend_options = joined(
    choice("--backend", ["local", "spark"], "Who counts: this machine, or Spark's tasks (extra assocpriv[spark])."),
    click.option(
        "--master",
        metavar="URL",
        help="Of Spark: local[2], spark://host:7077, yarn, sc://host:15002.  [default: local[*]]",
    ),
)
error_options = joined(
    usual("--confidence-level", default="95%", help="Of the intervals, as 95% or 0.95."),
    click.option("--population", is_flag=True, help="Errors for the population the baskets were drawn from."),
)


def check_page_output(output: Path | None, force: bool, inputs: Iterable[Path]) -> None:
    """Refuse a file for a page, if one is to be written, before any work is done for it."""
    from assocpriv.showing import check_page

    if output is not None:
        check_page(output, force=force, inputs=inputs)


def open_reports(paths: Sequence[Path], backend: str, master: str | None) -> Any:
    """Open files of reports for whoever counts them.

    Raises:
        UsageError: a master, and nobody who has one.
    """
    if backend == "spark":
        from assocpriv.spark import read_reports as read

        return read(paths, master=master or "local[*]")
    if master is not None:
        raise click.UsageError("--master goes with --backend spark")
    from assocpriv.baskets import read_reports

    return read_reports(paths)


def check_table_output(output: Path | None, force: bool, inputs: Iterable[Path]) -> None:
    """Refuse a file for a table, if one is to be written, before any work is done for it."""
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.itemsets import output_format

    if output is not None:
        output_format(output)
        check_writable(output, force=force, inputs=inputs)
