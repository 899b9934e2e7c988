"""The command group campaign: several rounds that ask different people."""

import click

from assocpriv.apps.console import LazyGroup

_HOMES = {
    "new": "assocpriv.apps.commands.campaign_new:new",
    "join": "assocpriv.apps.commands.campaign_join:join",
}


@click.group(cls=LazyGroup, homes=_HOMES)
def campaign() -> None:
    """Campaigns of several rounds: each device draws its round itself, and answers once.

    \b
    Example:
      assocpriv campaign new plan.json --rounds 3,5,2 -o campaign
      assocpriv serve campaign/campaign.json --data campaign
      assocpriv campaign join campaign plan2.json
    """
