"""The commands seal and close: all reports of a collection become report files."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, joined, json_option
from assocpriv.promise.errors import counted

store_option = click.option(
    "--store", metavar="URL", help="Of reports in PostgreSQL: postgresql://… or @FILE.  [default: the folder's note]"
)
_usual = joined(click.argument("data", type=PATH), store_option, json_option)


@click.command()
@_usual
def seal(data: Path, store: str | None) -> None:
    """Turn all reports of the collection DATA into report files, in random order and without ids.

    The collector must be stopped; while one runs, it seals by itself, and on its page /admin.

    \b
    Example:
      assocpriv collector seal collection
    """
    from assocpriv.collect import seal_collection as run

    sealed = run(data, store=store)
    show_result(lambda: {"sealed": sealed}, lambda: [f"{counted(sealed, 'report')} sealed in {data}"])


@click.command()
@_usual
def close(data: Path, store: str | None) -> None:
    """End the collection DATA: seal it, forget the submission ids, and take no more reports.

    This cannot be taken back: without the ids, a report that is sent again would count again.

    \b
    Example:
      assocpriv collector close collection
    """
    from assocpriv.collect import close_collection as run

    sealed = run(data, store=store)
    show_result(
        lambda: {"sealed": sealed},
        lambda: [f"{counted(sealed, 'report')} sealed; {data} is closed, and takes no more reports"],
    )
