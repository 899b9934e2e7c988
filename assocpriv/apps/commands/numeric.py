"""The command group numeric: tables of numbers and categories, from a schema to distributions and decision trees."""

import click

from assocpriv.apps.console import LazyGroup

_HOMES = {
    "plan": "assocpriv.apps.commands.numeric_plan:plan",
    "randomize": "assocpriv.apps.commands.numeric_randomize:randomize",
    "reconstruct": "assocpriv.apps.commands.numeric_reconstruct:reconstruct",
    "tree": "assocpriv.apps.commands.numeric_tree:tree",
    "predict": "assocpriv.apps.commands.numeric_predict:predict",
}


@click.group(cls=LazyGroup, homes=_HOMES)
def numeric() -> None:
    """Tables of numbers and categories: perturb them, reconstruct their distributions, grow decision trees.

    \b
    Example, from a schema to the distribution of every column:
      assocpriv numeric plan schema.toml -o plan.json
      assocpriv numeric randomize table.csv --plan plan.json -o released.parquet
      assocpriv numeric reconstruct released.parquet
    """
