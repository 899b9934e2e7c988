"""Commands of the collector: serve, relay, gather, and the group collector.

serve runs a collector; relay forwards messages unread, run by another party; gather turns single reports into a
collection. The group operates a collection's folder on its machine: status, close, set-aside, remove, keys.
"""

import logging
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_data_argument = click.argument("data", type=opt.PATH)


def _address(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, int | None]:
    """Parse a listen address, as 8360 or 0.0.0.0:8360."""
    host, _, port = (text or "").rpartition(":")
    if text is not None and not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise click.BadParameter(f"{text!r} is no port; give for example 8360, or 0.0.0.0:8360")
    return host.strip("[]") or "127.0.0.1", None if text is None else int(port)


@opt.command(takes=())
@click.argument("plan", type=opt.PATH)
@click.option("--data", type=opt.OUTPUT, required=True, help="Folder for the reports; made if missing.")
@opt.usual("--listen", metavar="[HOST:]PORT", default="8350", callback=_address, help="Listen address; 0: any port.")
@click.option(
    "--batch-reports", nargs=2, metavar="MIN MAX", type=opt.WHOLE,
    help="Minimum batch size; size to close at.  [default: that of DATA, or 1000 1048576]",
)  # fmt: skip
@click.option(
    "--admin-port", metavar="[HOST:]PORT", callback=_address, help="Separate port for the admin page and metrics."
)
@click.option(
    "--oblivious", is_flag=False, flag_value="only", type=click.Choice(["only", "also"]),
    help="Take reports only, or also, through a relay; keep no order of arrival.",
)  # fmt: skip
@click.option("--store", metavar="URL", help="sqlite, postgresql://… or @FILE.  [default: that of DATA]")
@click.option("--allow-origin", "origins", metavar="ORIGIN", multiple=True, help="Site whose pages may send reports.")
@click.option("--demo", is_flag=True, help="Serve a demonstration at /demo; DATA then holds made-up reports.")
def serve(plan: Path, data: Path, demo: bool, **options: Any) -> None:
    """Run a collector that receives the reports of a plan over HTTP.

    It runs until stopped by Ctrl-C or SIGTERM; mine, ask and other readers can read the folder meanwhile. Reports in
    open batches are kept in the folder (sqlite) or in PostgreSQL, whose URL may be in a FILE. If DATA has keys
    (collector keys), every report needs one. With --allow-origin https://shop.example, pages of that site may send
    reports from people's browsers. Standard output gives the address.

    \b
    Example:
      assocpriv serve plan.json --data collection

    Next: assocpriv mine collection
    """

    def show_addresses(url: str, admin_url: str) -> None:
        click.echo(f"listening on {url}")
        if demo:
            opt.say([f"demonstration: {url}/demo"])
        opt.say([f"operator's page: {admin_url}/admin, token in {data}/admin-token"])

    (host, port), (admin_host, admin_port) = options.pop("listen"), options.pop("admin_port")
    options |= {"host": host, "port": port, "admin_host": admin_host, "admin_port": admin_port}
    level = logging.INFO if opt.verbosity() >= 0 else logging.WARNING
    ap.collect.serve(ap.read_plan(plan), data, demo=demo, ready=show_addresses, log_level=level, **options)


@opt.command(takes=())
@click.option("--to", metavar="URL", required=True, help="Address of the collector or its gateway.")
@click.option("--hold", metavar="SECONDS", type=opt.NUMBER, required=True, help="Longest delay of a message.")
@opt.usual("--listen", metavar="[HOST:]PORT", default="8370", callback=_address, help="Listen address; 0: any port.")
def relay(to: str, hold: float, listen: tuple[str, int]) -> None:
    """Forward encrypted reports, so that the collector does not see the senders.

    Another party than the collector's operator must run this. Messages leave in batches, in random order, each at most
    SECONDS after it arrived; nothing of them is kept or logged.

    \b
    Example:
      assocpriv relay --to https://collector.example --hold 20

    Next: assocpriv report --relay https://relay.example --collector https://collector.example
    """
    host, port = listen
    level = logging.INFO if opt.verbosity() >= 0 else logging.WARNING
    ap.collect.relay(
        to, hold=hold, host=host, port=port, ready=lambda url: click.echo(f"listening on {url}"), log_level=level
    )


@opt.command(takes=["json"])
@click.argument("sources", type=opt.PATH, nargs=-1, required=True)
@click.option("--plan", "plans", type=opt.PATH, multiple=True, required=True, help="Published plan; repeatable.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Folder of the collection; made if missing.")
def gather(sources: tuple[Path, ...], plans: tuple[Path, ...], output: Path) -> None:
    """Gather files of single reports into a collection.

    SOURCES are folders or files: each file is one report, as assocpriv report writes it. Gathered files are removed,
    because the collection has their bytes; other files are listed and stay. A file of a name that was gathered before
    counts once. A batch of a thousand reports or more is closed; a smaller one stays open, and is mined meanwhile.

    \b
    Example:
      assocpriv gather inbox --plan plan.json -o collection

    Next: assocpriv mine collection
    """
    read = [opt.read_plan(path, sources) for path in plans]
    done = ap.gather(sources, read, output, progress=opt.text.Progress())
    failed = ap.show.collection_views.failure(done)
    if failed:
        raise opt.WireError(failed)
    opt.show(ap.show.collection_views.gathered(done))


@click.group(cls=opt.Group)
def collector() -> None:
    """Operate a collection: status, keys, batches, removal.

    \b
    Example, for a till whose reports turn out to be manipulated:
      assocpriv collector keys collection --add till-7 --quota 5000
      assocpriv collector status collection
      assocpriv collector keys collection --revoke 1
      assocpriv collector set-aside collection --key 1

    Next: assocpriv collector status collection
    """


@collector.command(takes=["json"])
@_data_argument
def status(data: Path) -> None:
    """Show the status of a collection, also while it is served.

    DATA is the collection's folder. The output has the numbers of reports, also by the number of their key.

    \b
    Example:
      assocpriv collector status collection

    Next: assocpriv collector close collection
    """
    opt.show(ap.show.collection_views.status(ap.collect.collection_status(data)))


@collector.command(takes=["json"])
@_data_argument
@click.option("--end", is_flag=True, help="Also end the collection: delete its ids, take no more reports.")
@click.option("--allow-small", is_flag=True, help="Also below the minimum size; small batches weaken anonymity.")
def close(data: Path, end: bool, allow_small: bool) -> None:
    """Close the open batches: write them as report files.

    DATA is the collection's folder. The files are in random order and without ids. The collector must be stopped; while
    it runs, it closes full batches itself, and its page /admin closes one on request. --end is final: without
    the ids a report that is sent again would count again.

    \b
    Example:
      assocpriv collector close collection
      assocpriv collector close collection --end

    Next: assocpriv mine collection
    """
    minimum = ap.collect.collection_status(data).minimum_batch_size
    closed = (ap.collect.end_collection if end else ap.collect.close_batches)(data, allow_small=allow_small)
    opt.show(ap.show.collection_views.closed(closed, minimum, data, ended=end))


@collector.command("set-aside", takes=["json"])
@_data_argument
@click.option("--key", type=opt.WholeRange(1), required=True, help="Number of the key.")
@click.option("--restore", is_flag=True, help="Move them back.")
def set_aside(data: Path, key: int, restore: bool) -> None:
    """Move the reports of one key out of a collection, or back.

    DATA is the collection's folder, and the reports go to DATA/set-aside, where mining does not read them. The
    collector must be stopped. Open batches are closed first.

    \b
    Example:
      assocpriv collector set-aside collection --key 7
      assocpriv collector set-aside collection --key 7 --restore

    Next: assocpriv collector keys collection --revoke 7
    """
    moved = ap.collect.set_aside(data, key, restore=restore)
    opt.show(ap.show.collection_views.set_aside(moved, key, data, restore=restore))


@collector.command(takes=["json"])
@_data_argument
@click.argument("days", metavar="DAYS", type=opt.WholeRange(1))
def remove(data: Path, days: int) -> None:
    """Remove reports whose batch was closed over DAYS days ago.

    DATA is the collection's folder; reports that are set aside are removed, too. The collector must be stopped. Open
    batches stay, and so do the submission ids: a removed report that is sent again does not count.

    \b
    Example:
      assocpriv collector remove collection 365

    Next: assocpriv collector status collection
    """
    opt.show(ap.show.collection_views.removed(*ap.collect.remove_reports(data, days), days))


@collector.command(takes=["json"])
@_data_argument
@click.option("--add", metavar="NAME", help="Make and print a key for a source of this name.")
@click.option("--quota", metavar="N", type=opt.WholeRange(1, 1 << 40), help="With --add: largest number of reports.")
@click.option("--revoke", metavar="NUMBER", type=opt.WHOLE, help="Refuse further reports with this key.")
def keys(data: Path, add: str | None, quota: int | None, revoke: int | None) -> None:
    """List, add or revoke the keys of a collection's sources.

    DATA is the collection's folder. Once it has a key, only sources with a key, such as tills, may send. Each report is
    stored with the number of its key, and the plan's response says so. A running collector applies changes at once.

    \b
    Example:
      assocpriv collector keys collection --add till-7 --quota 5000
      assocpriv collector keys collection
      assocpriv collector keys collection --revoke 1

    Next: assocpriv collector status collection
    """
    if add is not None and revoke is not None:
        raise click.UsageError("give --add or --revoke")
    if add is not None:
        opt.show(ap.show.collection_views.new_key(*ap.collect.add_key(data, add, quota=quota)))
        return
    opt.refuse_given(("quota",), "goes with --add")
    if revoke is None:
        opt.show(ap.show.collection_views.keys(ap.collect.list_keys(data)))
    else:
        opt.show(ap.show.collection_views.revoked_key(ap.collect.revoke_key(data, revoke)))
