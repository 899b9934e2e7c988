"""Options that several commands share."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from assocpriv.core.machine import LEAST_MEMORY

_F = TypeVar("_F", bound=Callable[..., Any])


def joined(*decorators: Callable[[_F], _F]) -> Callable[[_F], _F]:
    """Return one decorator that applies several, the first outermost."""

    def decorate(function: _F) -> _F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
force_option = click.option("--force", is_flag=True, help="Replace existing files.")
LEAST_SUPPORT = "Least support of a frequent itemset, as 2% or 0.02, within at most M sampled items."
ROWS = 50
top_option = click.option("--top", type=click.IntRange(0), default=ROWS, show_default=True, help="Rows shown as text.")
PATH = click.Path(path_type=Path)
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["dat", "basket", "long", "parquet"]),
    help="Of the baskets: FIMI .dat, CSV with a basket a line, CSV with transaction and item columns, "
    "Parquet. By extension if not given.",
)
basket_options = joined(
    format_option,
    click.option(
        "--unknown",
        type=click.Choice(["error", "drop"]),
        default="error",
        show_default=True,
        help="Items outside the catalogue.",
    ),
    click.option(
        "--repeats",
        type=click.Choice(["error", "merge"]),
        default="error",
        show_default=True,
        help="Items repeated in a basket.",
    ),
    click.option(
        "--empty",
        type=click.Choice(["error", "keep"]),
        default="error",
        show_default=True,
        help="Empty baskets.",
    ),
)


_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) *(?:([KMGT])(I?))?B?", re.IGNORECASE)


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


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_to_bytes,
    help="What of the data may be held at a time, as 500MB or 2GB.  [default: a quarter of the free memory]",
)
plan_option = click.option("--plan", "plan_path", type=PATH, required=True, help="The published plan.")
