"""The command set-aside: one source's reports out of the collection, or back."""

from pathlib import Path

import click

from assocpriv.apps.commands.collector_seal import store_option
from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, WholeRange, json_option


@click.command("set-aside")
@click.argument("data", type=PATH)
@click.option("--key", type=WholeRange(1), required=True, help="Number of the key that the reports came with.")
@click.option("--restore", is_flag=True, help="Put them back.")
@store_option
@json_option
def set_aside(data: Path, key: int, restore: bool, store: str | None) -> None:
    """Move the reports of one key out of the collection DATA, into DATA/set-aside: mine and the rest see them no more.

    The collector must be stopped. What is not sealed is sealed first.

    \b
    Example:
      assocpriv collector set-aside collection --key 7
      assocpriv collector set-aside collection --key 7 --restore
    """
    from assocpriv.apps.render.operating import set_aside_lines
    from assocpriv.collect import set_aside as run

    moved = run(data, key, restore=restore, store=store)
    show_result(
        lambda: {"key": key, "moved": moved, "restored": restore},
        lambda: set_aside_lines(moved, key, data, restore),
    )
