"""The command inspect: what a file is, what it promises and what can be learned from it."""

from pathlib import Path

import click

from assocpriv.apps.console import refuse_given, show_result
from assocpriv.apps.options import PATH, json_option, usual
from assocpriv.apps.progress import Progress
from assocpriv.promise.errors import FileError


@click.command()
@click.argument("path", type=PATH)
@usual("--reports", default=1_000_000, help="Reports to plan for (of a plan).")
@click.option("--discover", metavar="S", help="Of a plan of baskets: how many reports discover this support, as 1%.")
@click.option("--check-crafted", is_flag=True, help="Of reports: test whether honest people could have sent them.")
@json_option
def inspect(path: Path, reports: int, discover: str | None, check_crafted: bool) -> None:
    """Say what PATH is (a plan, reports, itemsets or a tree), what it promises and what can be learned from it.

    \b
    Example:
      assocpriv inspect plan.json --reports 50000 --discover 1%
      assocpriv inspect reports.parquet
      assocpriv inspect reports.parquet --check-crafted
    """
    from assocpriv.apps.render.assurance import describe
    from assocpriv.apps.render.plan import needed_lines, needed_record
    from assocpriv.assurance import PLAN
    from assocpriv.assurance import inspect as look_into
    from assocpriv.baskets import Plan, reports_to_discover

    if reports < 1:
        raise FileError(f"--reports must be at least 1, got {reports}")
    content = look_into(path, check_crafted=check_crafted, progress=Progress())
    if content.kind != PLAN:
        refuse_given(("reports", "discover"), f"describes a plan; {path} holds {content.said}")
    needed = None if discover is None else reports_to_discover(Plan.of(content.plan), discover)
    described = describe(content, reports)
    show_result(
        lambda: {"kind": content.kind} | described.record() | needed_record(needed),
        lambda: [*described.lines(), *needed_lines(needed, discover)],
    )
