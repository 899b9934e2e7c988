"""The commands keys add, keys list and keys revoke: who may send reports."""

from pathlib import Path

import click

from assocpriv.apps.console import LazyGroup, say, show_result
from assocpriv.apps.options import PATH, WHOLE, WholeRange, json_option

_HOMES = {name: f"assocpriv.apps.commands.collector_keys:{name}_key" for name in ("add", "list", "revoke")}
data_argument = click.argument("data", type=PATH)


@click.group(cls=LazyGroup, homes=_HOMES)
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
@data_argument
@click.option("--name", required=True, help="What people call the source; reports are stored with the key's number.")
@click.option("--quota", metavar="N", type=WholeRange(1, 1 << 40), help="Most reports that may come with the key.")
@json_option
def add_key(data: Path, name: str, quota: int | None) -> None:
    """Make a key for a source of the collection DATA, and print it: only its hash is kept.

    A collector that runs with keys takes it at once.

    \b
    Example:
      assocpriv collector keys add collection --name till-7 --quota 5000
    """
    from assocpriv.apps.render.operating import key_record
    from assocpriv.collect import add_key as run

    key, secret = run(data, name, quota=quota)
    show_result(lambda: key_record(key) | {"key": secret}, lambda: [secret])
    say([f"key {key.number}; it is shown this once. Devices send it as Authorization: Bearer KEY"])


@click.command("list")
@data_argument
@json_option
def list_key(data: Path) -> None:
    """List the keys of the collection DATA: numbers, names and quotas.

    \b
    Example:
      assocpriv collector keys list collection
    """
    from assocpriv.apps.render.operating import key_lines, key_record
    from assocpriv.collect import list_keys as run

    found = run(data)
    show_result(lambda: {"keys": [key_record(key) for key in found]}, lambda: key_lines(found))


@click.command("revoke")
@data_argument
@click.argument("number", type=WHOLE)
@json_option
def revoke_key(data: Path, number: int) -> None:
    """Take no more reports with the key NUMBER of the collection DATA; what came with it stays.

    \b
    Example:
      assocpriv collector keys revoke collection 1
    """
    from assocpriv.apps.render.operating import key_record
    from assocpriv.collect import revoke_key as run

    key = run(data, number)
    show_result(lambda: key_record(key), lambda: [f"key {key.number} ({key.name}) is revoked; its reports stay"])
