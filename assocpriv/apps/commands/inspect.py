"""The command inspect: what a file is, what it promises and what can be learned from it."""

from pathlib import Path

import click

from assocpriv.apps.console import compile_ahead, refuse_given, show_result
from assocpriv.apps.options import PATH, json_option, usual
from assocpriv.apps.progress import Progress
from assocpriv.core.errors import FileError


@click.command()
@click.argument("path", type=PATH)
@usual("--reports", default=1_000_000, help="Reports to plan for (of a plan).")
@click.option("--check-crafted", is_flag=True, help="Of reports: test whether honest people could have sent them.")
@json_option
def inspect(path: Path, reports: int, check_crafted: bool) -> None:
    """Say what PATH is (a plan, reports, itemsets or a tree), what it promises and what can be learned from it.

    \b
    Example:
      assocpriv inspect reports.parquet
      assocpriv inspect reports.parquet --check-crafted
    """
    from assocpriv.apps.render.assurance import describe
    from assocpriv.assurance import PLAN
    from assocpriv.assurance import inspect as look_into

    if reports < 1:
        raise FileError(f"--reports must be at least 1, got {reports}")
    if check_crafted:
        compile_ahead("counting")
    content = look_into(path, check_crafted=check_crafted, progress=Progress())
    if content.kind != PLAN:
        refuse_given(("reports",), f"describes a plan; {path} holds {content.said}")
    described = describe(content, reports)
    show_result(lambda: {"kind": content.kind} | described.record(), described.lines)
