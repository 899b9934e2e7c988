"""The collector's side: the commands serve or gather, with the command group collector.

serve: a collector that devices send their reports to. gather: single reports become a collection. collector: what an
operator does on the machine where a collection's folder is: status, what it holds; seal and close, all its reports
become report files; set-aside, one source's reports out of it, or back; keys, who may send reports.
"""

from pathlib import Path

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_HOMES = {
    name: f"assocpriv.cli.collect:{name.replace('-', '_')}" for name in ("status", "seal", "close", "set-aside", "keys")
}
_KEY_HOMES = {name: f"assocpriv.cli.collect:{name}_key" for name in ("add", "list", "revoke")}
_data_argument = click.argument("data", type=opt.PATH)
_store_option = click.option(
    "--store", metavar="URL", help="Of reports in PostgreSQL: postgresql://… or @FILE.  [default: the folder's note]"
)
_sealing_options = opt.joined(_data_argument, _store_option, opt.json_option)


@click.command()
@click.argument("plan", type=opt.PATH)
@click.option("--data", type=opt.OUTPUT, required=True, help="Folder for the reports, made if missing.")
@opt.usual("--host", default="127.0.0.1", help="Address to listen at.")
@opt.usual("--port", default=8350, type=opt.WholeRange(0, 65535), help="Port to listen at; 0 for any that is free.")
@opt.usual(
    "--epoch-reports", default=1 << 20, type=opt.WholeRange(1, 1 << 24), help="Reports after which an epoch is sealed."
)
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

    def tell(url: str) -> None:
        click.echo(f"listening on {url}")
        if demo:
            opt.say([f"the demonstration is {url}/demo"])
        if not no_admin:
            opt.say([f"the operator's page is {url}/admin, its token in {data}/admin-token"])

    ap.collect.serve(
        ap.read_plan(plan),
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


@click.command()
@click.argument("sources", type=opt.PATH, nargs=-1, required=True)
@click.option(
    "--plan", "plan_paths", type=opt.PATH, multiple=True, required=True, help="The published plan; repeatable."
)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Folder of the collection, made if missing.")
@_store_option
@opt.json_option
def gather(sources: tuple[Path, ...], plan_paths: tuple[Path, ...], output: Path, store: str | None) -> None:
    """Gather single reports from SOURCES into a collection that mine, ask, inspect and numeric
    reconstruct read.

    SOURCES are folders or files: each file is one report, as assocpriv report writes it. Files that are gathered are
    removed, for the collection has their bytes; others are named and stay. A file that comes again under its name
    counts once.

    \b
    Example:
      assocpriv gather inbox --plan plan.json -o collection
      assocpriv mine collection
    """
    plans = [ap.read_plan(path) for path in plan_paths]
    done = ap.gather(sources, plans, output, store=store, progress=opt.Progress())
    failed = ap.show.collections.failure(done)
    if not failed or done.refused_count > 1:
        opt.warn(ap.show.collections.refused_lines(done))
    if failed:
        raise opt.WireError(failed)
    opt.show_result(lambda: ap.show.collections.gathered_record(done), lambda: ap.show.collections.gathered_lines(done))


@click.group(cls=opt.LazyGroup, homes=_HOMES)
def collector() -> None:
    """Operate a collection: its keys, what it holds, sealing, one source's reports set aside.

    \b
    Example, of a key for a till whose reports turn out to be made up:
      assocpriv collector keys add collection --name till-7 --quota 5000
      assocpriv collector status collection
      assocpriv collector keys revoke collection 1
      assocpriv collector set-aside collection --key 1
    """


@click.command()
@_data_argument
@opt.json_option
def status(data: Path) -> None:
    """Say what the collection DATA holds, also while it is served: reports, by the number of their key.

    \b
    Example:
      assocpriv collector status collection
    """
    found = ap.collect.collection_status(data)
    opt.show_result(lambda: ap.show.collections.status_record(found), lambda: ap.show.collections.status_lines(found))


@click.command()
@_sealing_options
def seal(data: Path, store: str | None) -> None:
    """Turn all reports of the collection DATA into report files, in random order and without ids.

    The collector must be stopped; while one runs, it seals by itself, and on its page /admin.

    \b
    Example:
      assocpriv collector seal collection
    """
    sealed = ap.collect.seal_collection(data, store=store)
    opt.show_result(lambda: {"sealed": sealed}, lambda: [f"{opt.counted(sealed, 'report')} sealed in {data}"])


@click.command()
@_sealing_options
def close(data: Path, store: str | None) -> None:
    """End the collection DATA: seal it, forget the submission ids, and take no more reports.

    This cannot be taken back: without the ids, a report that is sent again would count again.

    \b
    Example:
      assocpriv collector close collection
    """
    sealed = ap.collect.close_collection(data, store=store)
    opt.show_result(
        lambda: {"sealed": sealed},
        lambda: [f"{opt.counted(sealed, 'report')} sealed; {data} is closed, and takes no more reports"],
    )


@click.command("set-aside")
@_data_argument
@click.option("--key", type=opt.WholeRange(1), required=True, help="Number of the key that the reports came with.")
@click.option("--restore", is_flag=True, help="Put them back.")
@_store_option
@opt.json_option
def set_aside(data: Path, key: int, restore: bool, store: str | None) -> None:
    """Move the reports of one key out of the collection DATA, into DATA/set-aside: mine and the rest see them no more.

    The collector must be stopped. What is not sealed is sealed first.

    \b
    Example:
      assocpriv collector set-aside collection --key 7
      assocpriv collector set-aside collection --key 7 --restore
    """
    moved = ap.collect.set_aside(data, key, restore=restore, store=store)
    opt.show_result(
        lambda: {"key": key, "moved": moved, "restored": restore},
        lambda: ap.show.collections.set_aside_lines(moved, key, data, restore),
    )


@click.group(cls=opt.LazyGroup, homes=_KEY_HOMES)
def keys() -> None:
    """Keys of the sources of a collection, as tills: only who has one may send.

    Each report is then stored with the number of its key, which GET /status tells everybody.

    \b
    Example:
      assocpriv collector keys add collection --name till-7 --quota 5000
      assocpriv collector keys list collection
      assocpriv collector keys revoke collection 1
    """


@click.command("add")
@_data_argument
@click.option("--name", required=True, help="What people call the source; reports are stored with the key's number.")
@click.option("--quota", metavar="N", type=opt.WholeRange(1, 1 << 40), help="Most reports that may come with the key.")
@opt.json_option
def add_key(data: Path, name: str, quota: int | None) -> None:
    """Make a key for a source of the collection DATA, and print it: only its hash is kept.

    A collector that runs with keys takes it at once.

    \b
    Example:
      assocpriv collector keys add collection --name till-7 --quota 5000
    """
    key, secret = ap.collect.add_key(data, name, quota=quota)
    opt.show_result(lambda: ap.show.collections.key_record(key) | {"key": secret}, lambda: [secret])
    opt.say([f"key {key.number}; it is shown this once. Devices send it as Authorization: Bearer KEY"])


@click.command("list")
@_data_argument
@opt.json_option
def list_key(data: Path) -> None:
    """List the keys of the collection DATA: numbers, names and quotas.

    \b
    Example:
      assocpriv collector keys list collection
    """
    found = ap.collect.list_keys(data)
    opt.show_result(
        lambda: {"keys": [ap.show.collections.key_record(key) for key in found]},
        lambda: ap.show.collections.key_lines(found),
    )


@click.command("revoke")
@_data_argument
@click.argument("number", type=opt.WHOLE)
@opt.json_option
def revoke_key(data: Path, number: int) -> None:
    """Take no more reports with the key NUMBER of the collection DATA; what came with it stays.

    \b
    Example:
      assocpriv collector keys revoke collection 1
    """
    key = ap.collect.revoke_key(data, number)
    opt.show_result(
        lambda: ap.show.collections.key_record(key),
        lambda: [f"key {key.number} ({key.name}) is revoked; its reports stay"],
    )
