"""The command guide collect: released tuples added to the miner's state."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, json_option, reports_argument
from assocpriv.apps.progress import Progress


@click.command()
@reports_argument
@click.option("--state", type=PATH, required=True, help="The miner's state; replaced whole, or left as it is.")
@json_option
def collect(reports: tuple[Path, ...], state: Path) -> None:
    """Add released tuples to the miner's state: REPORTS are files of reports, folders of them, or messages (.jsonl).

    Of a folder, a running collection's too, files that were collected before are passed over.

    \b
    Example:
      assocpriv guide collect released.parquet --state state.json
    """
    from assocpriv.apps.render.guidance import collect_lines, collect_record
    from assocpriv.guidance import collect_files

    with Progress.while_busy("adding up"):
        done = collect_files(reports, state)
    show_result(lambda: collect_record(done), lambda: collect_lines(done))
