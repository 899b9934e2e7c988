"""The command catalogue: the names of items, made of baskets or checked."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import refuse_given, say, show_result
from assocpriv.apps.options import OUTPUT, PATH, WholeRange, layout_options, result_options, usual
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("baskets", type=PATH, nargs=-1)
@click.option("-o", "--output", type=OUTPUT, help="File of names to write, one a line.  [default: standard output]")
@usual("--min-count", default=1, help="Baskets that a name must be in.", type=WholeRange(1))
@click.option("--check", type=PATH, help="Check this catalogue instead, against BASKETS if there are any.")
@layout_options
@result_options
def catalogue(
    baskets: tuple[Path, ...], output: Path | None, min_count: int, check: Path | None, force: bool, **layout: Any
) -> None:
    """Make a catalogue, the names of all items, of BASKETS that may be looked at.

    It shows names of items, because a catalogue gets published with its plan: read it before you do.

    \b
    Example:
      assocpriv catalogue baskets.csv --min-count 10 -o names.txt
      assocpriv catalogue --check names.txt
    """
    from assocpriv.apps.render.catalogue import draft_record, draft_talk
    from assocpriv.basket_files import draft_catalogue, write_catalogue
    from assocpriv.baskets import check_writable

    if check is not None:
        refuse_given(("output", "min_count"), "does not go with --check, which makes no catalogue")
        _check(check, baskets, layout)
        return
    if not baskets:
        raise click.UsageError("give files of baskets, or --check a catalogue")
    if output is not None:
        check_writable(output, force=force, inputs=baskets)
    draft = draft_catalogue(baskets, min_count, layout, Progress().stage("reading"))
    say(draft_talk(draft))
    if output is not None:
        write_catalogue(draft.catalogue, output, force=force)
    written = f"{len(draft.catalogue):,} names written to {output}; they get published: read them first"
    show_result(lambda: draft_record(draft, output), lambda: [written] if output else list(draft.catalogue))


def _check(path: Path, baskets: tuple[Path, ...], layout: dict[str, Any]) -> None:
    from assocpriv.apps.render.catalogue import check_lines, check_record
    from assocpriv.basket_files import check_catalogue, read_catalogue, try_catalogue

    checked = check_catalogue(read_catalogue(path))
    use = try_catalogue(checked.catalogue, baskets, layout, Progress().stage("reading")) if baskets else None
    show_result(lambda: check_record(checked, use), lambda: check_lines(checked, use))
