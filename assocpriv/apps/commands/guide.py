"""The command group guide: guided perturbation, from the miner's first guidance to what can be learned."""

import click

from assocpriv.apps.console import LazyGroup

_HOMES = {
    "start": "assocpriv.apps.commands.guide_start:start",
    "publish": "assocpriv.apps.commands.guide_publish:publish",
    "answer": "assocpriv.apps.commands.guide_answer:answer",
    "collect": "assocpriv.apps.commands.guide_collect:collect",
    "simulate": "assocpriv.apps.commands.guide_simulate:simulate",
}


@click.group(cls=LazyGroup, homes=_HOMES)
def guide() -> None:
    """Guided perturbation: people release what tells classes apart, and little else.

    \b
    Example, from a miner's first guidance to answers in its state:
      assocpriv guide start sample.csv --class party -o plan.json --state state.json
      assocpriv guide publish state.json -o guidance.json
      assocpriv guide answer table.csv --plan plan.json --guidance guidance.json -o released.parquet
      assocpriv guide collect released.parquet --state state.json
    """
