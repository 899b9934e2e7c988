"""The command serve: a collector that devices send their reports to."""

from pathlib import Path

import click

from assocpriv.apps.console import say
from assocpriv.apps.options import OUTPUT, PATH, WholeRange, usual


@click.command()
@click.argument("plan", type=PATH)
@click.option("--data", type=OUTPUT, required=True, help="Folder for the reports, made if missing.")
@usual("--host", default="127.0.0.1", help="Address to listen at.")
@usual("--port", default=8350, type=WholeRange(0, 65535), help="Port to listen at; 0 for any that is free.")
@usual("--epoch-reports", default=1 << 20, type=WholeRange(1, 1 << 24), help="Reports after which an epoch is sealed.")
@click.option("--keys", is_flag=True, help="Take reports with a key only (collector keys); also where DATA has keys.")
@click.option(
    "--store",
    metavar="URL",
    help="Where reports are before they are sealed: sqlite, postgresql://… or @FILE with it.  [default: what DATA has]",
)
@click.option("--no-admin", is_flag=True, help="Serve no operator's page at /admin.")
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="A site whose pages may send reports from people's browsers, as https://shop.example; may be given again.",
)
@click.option("--demo", is_flag=True, help="Serve a demonstration at /demo; DATA takes made-up reports only.")
def serve(
    plan: Path,
    data: Path,
    host: str,
    port: int,
    epoch_reports: int,
    keys: bool,
    store: str | None,
    no_admin: bool,
    origins: tuple[str, ...],
    demo: bool,
) -> None:
    """Collect reports of PLAN over HTTP until told to stop; mine, ask and the rest read the folder, also meanwhile.

    \b
    Example:
      assocpriv serve plan.json --data collection
    """
    from assocpriv.collect import TOKEN_FILE, read_plan
    from assocpriv.collect import serve as run

    def tell(url: str) -> None:
        click.echo(f"listening on {url}")
        if demo:
            say([f"the demonstration is {url}/demo"])
        if not no_admin:
            say([f"the operator's page is {url}/admin, its token in {data / TOKEN_FILE}"])

    run(
        read_plan(plan),
        data,
        host=host,
        port=port,
        epoch_reports=epoch_reports,
        keys=keys,
        store=store,
        admin=not no_admin,
        origins=origins,
        demo=demo,
        ready=tell,
    )
