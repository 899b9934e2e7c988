"""What the door of campaigns answers: which rounds there are, and which have a plan."""

from typing import Any

from assocpriv.campaigns import CampaignFolder
from assocpriv.core.privacy import format_fraction


def campaign_record(there: CampaignFolder) -> dict[str, Any]:
    """Return a campaign in its folder, for ``--json``."""
    campaign = there.campaign
    promise = {name: format_fraction(getattr(campaign.promise, name)) for name in ("prior", "posterior")}
    return {
        "campaign_id": campaign.campaign_id,
        "name": campaign.name,
        "promise": promise,
        "rounds": list(campaign.rounds),
        "plans": list(there.plan_ids),
    }


def campaign_lines(there: CampaignFolder) -> list[str]:
    """Say of each round whom it asks, and what."""
    campaign = there.campaign
    total, named = sum(campaign.rounds), f" {campaign.name}" if campaign.name else ""
    return [
        f"campaign{named} {campaign.campaign_id[:16]}… in {there.folder}",
        *(
            f"round {number}: {weight} of {total} people, "
            + ("no plan yet" if plan_id is None else f"plan {plan_id[:16]}…, reports in {there.folder_of(plan_id)}")
            for number, (weight, plan_id) in enumerate(zip(campaign.rounds, there.plan_ids, strict=True), 1)
        ),
    ]
