"""The command status: what a collector's folder holds."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, json_option


@click.command()
@click.argument("data", type=PATH)
@json_option
def status(data: Path) -> None:
    """Say what the collection DATA holds, also while it is served: reports, by the number of their key.

    \b
    Example:
      assocpriv collector status collection
    """
    from assocpriv.apps.render.operating import status_lines, status_record
    from assocpriv.collect import collection_status as run

    found = run(data)
    show_result(lambda: status_record(found), lambda: status_lines(found))
