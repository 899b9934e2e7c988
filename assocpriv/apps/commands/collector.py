"""The command group collector: what an operator does on the machine where a collection's folder is."""

import click

from assocpriv.apps.console import LazyGroup

_HOMES = {
    "status": "assocpriv.apps.commands.collector_status:status",
    "seal": "assocpriv.apps.commands.collector_seal:seal",
    "close": "assocpriv.apps.commands.collector_seal:close",
    "set-aside": "assocpriv.apps.commands.collector_set_aside:set_aside",
    "keys": "assocpriv.apps.commands.collector_keys:keys",
}


@click.group(cls=LazyGroup, homes=_HOMES)
def collector() -> None:
    """Operate a collection: its keys, what it holds, sealing, one source's reports set aside.

    \b
    Example, of a key for a till whose reports turn out to be made up:
      assocpriv collector keys add collection --name till-7 --quota 5000
      assocpriv collector status collection
      assocpriv collector keys revoke collection 1
      assocpriv collector set-aside collection --key 1
    """
