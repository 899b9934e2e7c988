"""The command gather: single reports become a collection."""

import sys
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result, warn
from assocpriv.apps.options import OUTPUT, PATH, json_option
from assocpriv.apps.progress import Progress
from assocpriv.promise.errors import WireError


@click.command()
@click.argument("sources", type=PATH, nargs=-1, required=True)
@click.option("--plan", "plan_paths", type=PATH, multiple=True, required=True, help="The published plan; repeatable.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Folder to add to, made if missing; or new .parquet.")
@click.option("--keep", is_flag=True, help="Leave the files where they are; the output must be new.")
@json_option
def gather(sources: tuple[Path, ...], plan_paths: tuple[Path, ...], output: Path, keep: bool) -> None:
    """Gather single reports from SOURCES into a collection that mine, ask, inspect and numeric
    reconstruct read.

    SOURCES are folders or files: each file is one report, as assocpriv report writes it. Files that are gathered are
    removed, for the collection has their bytes; others are named and stay. Or - for standard input: reports one after
    another.

    \b
    Example:
      assocpriv gather inbox --plan plan.json -o collection
      assocpriv mine collection --min-support auto
    """
    from assocpriv.apps.render.collection import failure, gathered_lines, gathered_record, refused_lines
    from assocpriv.assurance import read_plan
    from assocpriv.collection import gather as run

    stream = Path("-") in sources
    if stream and (len(sources) > 1 or keep):
        raise click.UsageError("- is standard input, which stands alone, without --keep")
    given: Any = _standard_input() if stream else sources
    done = run(given, [read_plan(path) for path in plan_paths], output, keep=keep, progress=Progress())
    failed = failure(done)
    if not failed or done.refused_count > 1:
        warn(refused_lines(done))
    if failed:
        raise WireError(failed)
    show_result(lambda: gathered_record(done), lambda: gathered_lines(done, removed=not keep and not stream))


def _standard_input() -> Any:
    if sys.stdin is None:  # closed by whoever started this
        raise click.UsageError("standard input is closed; give the reports there, one after another")
    return sys.stdin.buffer
