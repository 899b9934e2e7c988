"""The command campaign new: the folder of a campaign, begun with the first round's plan."""

import re
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import OUTPUT, PATH, epsilon_option, json_option, take_promise, usual

_WEIGHTS = re.compile(r"[0-9]{1,10}(,[0-9]{1,10})*", re.ASCII)


@click.command()
@click.argument("plan", type=PATH)
@click.option("--rounds", required=True, metavar="LIST", help="Weights of people in each round, as 3,5,2.")
@usual("--name", default="", help="What people call it.")
@click.option("--prior", help="With --posterior: what every plan promises.  [default: as PLAN]")
@click.option("--posterior", help="See --prior.")
@epsilon_option
@click.option("-o", "--output", type=OUTPUT, required=True, help="New folder for the campaign.")
@json_option
def new(plan: Path, rounds: str, name: str, output: Path, **promise: Any) -> None:
    """Begin a campaign with PLAN, the first round's: a folder for a collector, and campaign.json, which is published.

    \b
    Example:
      assocpriv campaign new plan.json --rounds 3,5,2 --name Soup -o campaign
    """
    from assocpriv.apps.render.campaigns import campaign_lines, campaign_record
    from assocpriv.campaigns import begin, read_plan

    if not _WEIGHTS.fullmatch(rounds):
        raise click.BadParameter("give whole numbers with commas between, as 3,5,2", param_hint="'--rounds'")
    kept = take_promise(promise)
    begun = begin(read_plan(plan), [int(weight) for weight in rounds.split(",")], output, name=name, promise=kept)
    show_result(lambda: campaign_record(begun), lambda: campaign_lines(begun))
