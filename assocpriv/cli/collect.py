"""The collector's side: the commands serve or gather, with the command group collector.

serve: a collector that devices send their reports to. gather: single reports become a collection. collector: what an
operator does on the machine where a collection's folder is: status, what it holds; seal, all its reports become report
files; set-aside, one source's reports out of it, or back; keys, who may send reports.
"""

from pathlib import Path

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_HOMES = {name: f"assocpriv.cli.collect:{name.replace('-', '_')}" for name in ("status", "seal", "set-aside", "keys")}
_data_argument = click.argument("data", type=opt.PATH)
_store_option = click.option(
    "--store", metavar="URL", help="Of reports in PostgreSQL: postgresql://… or @FILE.  [default: the folder's note]"
)


@opt.command()
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
        opt.say([f"the operator's page is {url}/admin, its token in {data}/admin-token"])

    ap.collect.serve(
        ap.read_plan(plan),
        data,
        host=host,
        port=port,
        epoch_reports=epoch_reports,
        keys=keys,
        store=store,
        origins=origins,
        demo=demo,
        ready=tell,
    )


@opt.command()
@click.argument("sources", type=opt.PATH, nargs=-1, required=True)
@click.option(
    "--plan", "plan_paths", type=opt.PATH, multiple=True, required=True, help="The published plan; repeatable."
)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Folder of the collection, made if missing.")
@_store_option
@opt.takes("json")
def gather(sources: tuple[Path, ...], plan_paths: tuple[Path, ...], output: Path, store: str | None) -> None:
    """Gather single reports from SOURCES into a collection that mine, ask, inspect and reconstruct
    read.

    SOURCES are folders or files: each file is one report, as assocpriv report writes it. Files that are gathered are
    removed, for the collection has their bytes; others are named and stay. A file that comes again under its name
    counts once.

    \b
    Example:
      assocpriv gather inbox --plan plan.json -o collection
      assocpriv mine collection
    """
    plans = [opt.read_plan(path, sources) for path in plan_paths]
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
      assocpriv collector keys collection --add till-7 --quota 5000
      assocpriv collector status collection
      assocpriv collector keys collection --revoke 1
      assocpriv collector set-aside collection --key 1
    """


@opt.command()
@_data_argument
@opt.takes("json")
def status(data: Path) -> None:
    """Say what the collection DATA holds, also while it is served: reports, by the number of their key.

    \b
    Example:
      assocpriv collector status collection
    """
    found = ap.collect.collection_status(data)
    opt.show_result(lambda: ap.show.collections.status_record(found), lambda: ap.show.collections.status_lines(found))


@opt.command()
@_data_argument
@click.option("--close", is_flag=True, help="Also end it: forget the submission ids, and take no more reports.")
@_store_option
@opt.takes("json")
def seal(data: Path, close: bool, store: str | None) -> None:
    """Turn all reports of the collection DATA into report files, in random order and without ids.

    The collector must be stopped; while one runs, it seals by itself, and on its page /admin. --close cannot be taken
    back: without the ids, a report that is sent again would count again.

    \b
    Example:
      assocpriv collector seal collection
      assocpriv collector seal collection --close
    """
    sealed = (ap.collect.close_collection if close else ap.collect.seal_collection)(data, store=store)
    what = f"{opt.counted(sealed, 'report')} sealed"
    said = f"{what}; {data} is closed, and takes no more reports" if close else f"{what} in {data}"
    opt.show_result(lambda: {"sealed": sealed, "closed": close}, lambda: [said])


@opt.command("set-aside")
@_data_argument
@click.option("--key", type=opt.WholeRange(1), required=True, help="Number of the key that the reports came with.")
@click.option("--restore", is_flag=True, help="Put them back.")
@_store_option
@opt.takes("json")
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


@opt.command()
@_data_argument
@click.option("--add", metavar="NAME", help="Make a key for a source of this name, and print it; its hash is kept.")
@click.option("--quota", metavar="N", type=opt.WholeRange(1, 1 << 40), help="Of --add: most reports with the key.")
@click.option("--revoke", metavar="NUMBER", type=opt.WHOLE, help="Take no more reports with this key.")
@opt.takes("json")
def keys(data: Path, add: str | None, quota: int | None, revoke: int | None) -> None:
    """List the keys of the collection DATA's sources, as tills, or add or revoke one: only who has one may send.

    Each report is stored with the number of its key, which GET /status tells everybody. A collector that runs with
    keys takes a new one at once.

    \b
    Example:
      assocpriv collector keys collection --add till-7 --quota 5000
      assocpriv collector keys collection
      assocpriv collector keys collection --revoke 1
    """
    if add is not None and revoke is not None:
        raise click.UsageError("give --add or --revoke")
    record = ap.show.collections.key_record
    if add is None:
        opt.refuse_given(("quota",), "goes with --add")
    else:
        key, secret = ap.collect.add_key(data, add, quota=quota)
        opt.show_result(lambda: record(key) | {"key": secret}, lambda: [secret])
        opt.say([f"key {key.number}; it is shown this once. Devices send it as Authorization: Bearer KEY"])
        return
    if revoke is None:
        found = ap.collect.list_keys(data)
        opt.show_result(lambda: {"keys": [record(key) for key in found]}, lambda: ap.show.collections.key_lines(found))
        return
    revoked = ap.collect.revoke_key(data, revoke)
    said = f"key {revoked.number} ({revoked.name}) is revoked; its reports stay"
    opt.show_result(lambda: record(revoked), lambda: [said])
