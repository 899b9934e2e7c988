"""The command group guide: guided perturbation, from the miner's first guidance to what can be learned."""

import click

from assocpriv.apps.console import LazyGroup

_HOMES = {
    "start": "assocpriv.apps.commands.guide_start:start",
    "publish": "assocpriv.apps.commands.guide_publish:publish",
    "collect": "assocpriv.apps.commands.guide_collect:collect",
    "simulate": "assocpriv.apps.commands.guide_simulate:simulate",
}


@click.group(cls=LazyGroup, homes=_HOMES)
def guide() -> None:
    """Guided perturbation: people release what tells classes apart, and little else.

    \b
    Example, the miner's side:
      assocpriv guide start sample.csv --class party -o plan.json --state state.json
      assocpriv guide publish state.json -o guidance.json
      assocpriv guide collect released.parquet --state state.json
    """
