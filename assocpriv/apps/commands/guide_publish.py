"""The command guide publish: what people are to answer now."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import OUTPUT, PATH, result_options
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("state", type=PATH)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Guidance file to write (JSON).")
@result_options
def publish(state: Path, output: Path, force: bool) -> None:
    """Write the guidance that people are to answer now, and note it in STATE.

    It changes once a batch of tuples has come in since the last; before that the last is written again.

    \b
    Example:
      assocpriv guide publish state.json -o guidance.json
    """
    from assocpriv.apps.render.guidance import publish_lines, publish_record
    from assocpriv.guidance import publish_file

    with Progress.while_busy("finding what tells classes apart"):
        done, new = publish_file(state, output, force=force)
    show_result(lambda: publish_record(done, new), lambda: publish_lines(done, new, str(output)))
