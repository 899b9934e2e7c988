"""The collector's side: the commands serve, relay or gather, with the command group collector.

serve: a collector that devices send their reports to. relay: what passes them on unread, for somebody else to run.
gather: single reports become a collection. collector: what an operator does on the machine where a collection's folder
is: status, what it holds; seal, all its reports become report files; set-aside, one source's reports out of it, or
back; remove, what was sealed too long ago; keys, who may send.
"""

import logging
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_data_argument = click.argument("data", type=opt.PATH)


def _address(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, int | None]:
    """Read where to listen, as 8360 or 0.0.0.0:8360."""
    host, _, port = (text or "").rpartition(":")
    if text is not None and not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise click.BadParameter(f"{text!r} is no port; write for example 8360, or 0.0.0.0:8360")
    return host.strip("[]") or "127.0.0.1", None if text is None else int(port)


@opt.command(takes=())
@click.argument("plan", type=opt.PATH)
@click.option("--data", type=opt.OUTPUT, required=True, help="Folder for the reports, made if missing.")
@opt.usual("--listen", metavar="[HOST:]PORT", default="8350", callback=_address, help="Where; port 0 for any free one.")
@click.option(
    "--epoch-reports", nargs=2, metavar="FEWEST MOST", type=opt.WHOLE,
    help="Reports sealed together: when asked, and unasked.  [default: what DATA has, or 1000 1048576]",
)  # fmt: skip
@click.option("--admin-port", metavar="[HOST:]PORT", callback=_address, help="A port for page and metrics alone.")
@click.option(
    "--oblivious", is_flag=False, flag_value="alone", type=click.Choice(["alone", "beside"]),
    help="Take reports through a relay alone (or beside others), and keep nothing of their order.",
)  # fmt: skip
@click.option("--store", metavar="URL", help="sqlite, postgresql://… or @FILE.  [default: what DATA has]")
@click.option("--allow-origin", "origins", metavar="ORIGIN", multiple=True, help="Site whose pages may send.")
@click.option("--demo", is_flag=True, help="Serve a demonstration at /demo; DATA takes made-up reports only.")
def serve(plan: Path, data: Path, demo: bool, **options: Any) -> None:
    """Collect reports of PLAN over HTTP until told to stop; mine, ask and the rest read the folder, also meanwhile.

    Reports wait for sealing in the folder (sqlite) or in PostgreSQL, whose URL may stand in a FILE. Where DATA has keys
    (collector keys), reports are taken with one of them only. With --allow-origin https://shop.example pages of that
    site may send reports from people's browsers.

    \b
    Example:
      assocpriv serve plan.json --data collection
    """

    def tell(url: str, admin_url: str) -> None:
        click.echo(f"listening on {url}")
        if demo:
            opt.say([f"the demonstration is {url}/demo"])
        opt.say([f"the operator's page is {admin_url}/admin, its token in {data}/admin-token"])

    (host, port), (admin_host, admin_port) = options.pop("listen"), options.pop("admin_port")
    options |= {"host": host, "port": port, "admin_host": admin_host, "admin_port": admin_port}
    level = logging.INFO if opt.verbosity() >= 0 else logging.WARNING
    ap.collect.serve(ap.read_plan(plan), data, demo=demo, ready=tell, log_level=level, **options)


@opt.command(takes=())
@click.option("--to", metavar="URL", required=True, help="The collector's address, or its gateway's.")
@click.option("--hold", metavar="SECONDS", type=opt.NUMBER, required=True, help="Longest delay.")
@opt.usual("--listen", metavar="[HOST:]PORT", default="8370", callback=_address, help="Where; port 0 for any free one.")
def relay(to: str, hold: float, listen: tuple[str, int]) -> None:
    """Pass sealed reports on to a collector's gateway, unread, so that it does not see who sends them.

    Whoever runs this must be somebody else than who runs the collector. Messages leave in batches, in random order,
    each up to SECONDS after it came; nothing of them is kept or logged.

    \b
    Example:
      assocpriv relay --to https://collector.example --hold 20
    """
    host, port = listen
    level = logging.INFO if opt.verbosity() >= 0 else logging.WARNING
    ap.collect.relay(
        to, hold=hold, host=host, port=port, ready=lambda url: click.echo(f"listening on {url}"), log_level=level
    )


@opt.command(takes=["json"])
@click.argument("sources", type=opt.PATH, nargs=-1, required=True)
@click.option("--plan", "plans", type=opt.PATH, multiple=True, required=True, help="The published plan; repeatable.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Folder of the collection, made if missing.")
def gather(sources: tuple[Path, ...], plans: tuple[Path, ...], output: Path) -> None:
    """Gather single reports from SOURCES into a collection that mine, ask, inspect and reconstruct
    read.

    SOURCES are folders or files: each file is one report, as assocpriv report writes it. Files that are gathered are
    removed, for the collection has their bytes; others are named and stay. A file that comes again under its name
    counts once. A thousand reports or more are sealed together; fewer wait, and are mined meanwhile.

    \b
    Example:
      assocpriv gather inbox --plan plan.json -o collection
      assocpriv mine collection
    """
    read = [opt.read_plan(path, sources) for path in plans]
    done = ap.gather(sources, read, output, progress=opt.Progress())
    failed = ap.show.collections.failure(done)
    if failed:
        raise opt.WireError(failed)
    opt.show(ap.show.collections.gathered(done))


@click.group(cls=opt.Group)
def collector() -> None:
    """Operate a collection: its keys, what it holds, sealing, one source's reports set aside.

    \b
    Example, of a key for a till whose reports turn out to be made up:
      assocpriv collector keys collection --add till-7 --quota 5000
      assocpriv collector status collection
      assocpriv collector keys collection --revoke 1
      assocpriv collector set-aside collection --key 1
    """


@collector.command(takes=["json"])
@_data_argument
def status(data: Path) -> None:
    """Say what the collection DATA holds, also while it is served: reports, by the number of their key.

    \b
    Example:
      assocpriv collector status collection
    """
    opt.show(ap.show.collections.status(ap.collect.collection_status(data)))


@collector.command(takes=["json"])
@_data_argument
@click.option("--close", is_flag=True, help="Also end it: forget the submission ids, and take no more reports.")
@click.option("--few", is_flag=True, help="Also if fewer than 1,000 wait, or than serve was told: they stand out then.")
def seal(data: Path, close: bool, few: bool) -> None:
    """Turn all reports of the collection DATA into report files, in random order and without ids.

    The collector must be stopped; while one runs, it seals by itself, and on its page /admin. --close cannot be taken
    back: without the ids, a report that is sent again would count again.

    \b
    Example:
      assocpriv collector seal collection
      assocpriv collector seal collection --close
    """
    fewest = ap.collect.collection_status(data).fewest
    sealed = (ap.collect.close_collection if close else ap.collect.seal_collection)(data, few=few)
    opt.show(ap.show.collections.sealed(sealed, fewest, data, closed=close))


@collector.command("set-aside", takes=["json"])
@_data_argument
@click.option("--key", type=opt.WholeRange(1), required=True, help="Number of the key that the reports came with.")
@click.option("--restore", is_flag=True, help="Put them back.")
def set_aside(data: Path, key: int, restore: bool) -> None:
    """Move the reports of one key out of the collection DATA, into DATA/set-aside: mine and the rest see them no more.

    The collector must be stopped. What is not sealed is sealed first.

    \b
    Example:
      assocpriv collector set-aside collection --key 7
      assocpriv collector set-aside collection --key 7 --restore
    """
    moved = ap.collect.set_aside(data, key, restore=restore)
    opt.show(ap.show.collections.set_aside(moved, key, data, restore=restore))


@collector.command(takes=["json"])
@_data_argument
@click.argument("days", metavar="DAYS", type=opt.WholeRange(1))
def remove(data: Path, days: int) -> None:
    """Remove the reports of the collection DATA that were sealed more than DAYS days ago, also those set aside.

    The collector must be stopped. What is not sealed stays, and so do the submission ids: what is sent again does not
    count.

    \b
    Example:
      assocpriv collector remove collection 365
    """
    opt.show(ap.show.collections.removed(*ap.collect.remove_sealed(data, days), days))


@collector.command(takes=["json"])
@_data_argument
@click.option("--add", metavar="NAME", help="Make a key for a source of this name, and print it; its hash is kept.")
@click.option("--quota", metavar="N", type=opt.WholeRange(1, 1 << 40), help="Of --add: most reports with the key.")
@click.option("--revoke", metavar="NUMBER", type=opt.WHOLE, help="Take no more reports with this key.")
def keys(data: Path, add: str | None, quota: int | None, revoke: int | None) -> None:
    """List the keys of the collection DATA's sources, as tills, or add or revoke one: only who has one may send.

    Each report is stored with the number of its key, which its plan tells everybody. A collector that runs
    takes up a change at once, also the first key.

    \b
    Example:
      assocpriv collector keys collection --add till-7 --quota 5000
      assocpriv collector keys collection
      assocpriv collector keys collection --revoke 1
    """
    if add is not None and revoke is not None:
        raise click.UsageError("give --add or --revoke")
    if add is not None:
        opt.show(ap.show.collections.new_key(*ap.collect.add_key(data, add, quota=quota)))
        return
    opt.refuse_given(("quota",), "goes with --add")
    if revoke is None:
        opt.show(ap.show.collections.keys(ap.collect.list_keys(data)))
    else:
        opt.show(ap.show.collections.revoked_key(ap.collect.revoke_key(data, revoke)))
