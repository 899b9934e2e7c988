"""The door of campaigns: several rounds that ask different people, begun with one plan, joined by others."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assocpriv.collector.campaign_folder import CampaignFolder
    from assocpriv.core.privacy import Breach
    from assocpriv.files.plans import read_plan
    from assocpriv.plans.campaign import Campaign
    from assocpriv.plans.published import PublishedPlan

__all__ = ["Campaign", "CampaignFolder", "begin", "join", "read_plan"]
_HOMES = {
    "assocpriv.collector.campaign_folder": ("CampaignFolder",),
    "assocpriv.files.plans": ("read_plan",),
    "assocpriv.plans.campaign": ("Campaign",),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def begin(
    plan: "PublishedPlan",
    rounds: "Sequence[int]",
    folder: str | PathLike[str],
    *,
    name: str = "",
    promise: "Breach | None" = None,
) -> "CampaignFolder":
    """Begin a campaign of several rounds in a new folder, which a collector serves; each person is asked in one round.

    Args:
        plan: of the first round; everybody answers it once.
        rounds: weights of people, whole numbers: a device draws round i with probability rounds[i − 1] / sum(rounds).
        folder: a new folder. It gets ``campaign.json``, the document that is published.
        name: for people.
        promise: kept by every plan of the campaign, that of the first one by default.

    Raises:
        PlanError: a plan that may not be a campaign's, or rounds that cannot be.
        FileError: the folder holds something, or cannot be written.
    """
    from assocpriv.collector.campaign_folder import begin_campaign
    from assocpriv.core.errors import PlanError
    from assocpriv.plans.campaign import Campaign

    kept = promise or plan.promise
    if kept is None:
        raise PlanError(f"plan {plan.plan_id[:12]} states no promise; give the one that the campaign keeps")
    return begin_campaign(Path(folder), Campaign(name, kept, tuple(rounds), plan.plan_id), plan)


def join(folder: str | PathLike[str], plan: "PublishedPlan", *, round_number: int | None = None) -> "CampaignFolder":
    """Give a round of a campaign its plan; a collector that serves the folder takes it up, and people answer it.

    Args:
        folder: of the campaign.
        plan: of the round, as ``refine`` makes it of what earlier rounds found.
        round_number: from 1; by default the next round that has no plan.

    Raises:
        PlanError: a plan that does not keep the campaign's promise, lets people answer more than once or is that of
            another round; or a round that has a plan, or is none.
        FileError: no folder of a campaign, or it cannot be written.
    """
    from assocpriv.collector.campaign_folder import join_campaign, open_campaign

    join_campaign(Path(folder), plan, round_number)
    return open_campaign(Path(folder))
