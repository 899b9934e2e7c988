"""The folder of a campaign: its document, which plan each round has, and a folder for each plan's reports.

    campaign.json       the published document, never changed
    rounds.json         {"plans": [id or null, …]}, replaced whole when a plan joins
    <12 digits>/        of a plan's id: plan.json and the plan's collection

A plan's folder is on disk before a round names it, so whatever breaks off a join, the next one finishes it.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from assocpriv.core.errors import FileError, PlanError
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.open_epochs import PLAN_FILE
from assocpriv.files.plans import read_plan
from assocpriv.plans.campaign import MOST_TEXT, Campaign, is_id, parse_object
from assocpriv.plans.guided.plan import GuidedPlan
from assocpriv.plans.published import PublishedPlan

CAMPAIGN_FILE, ROUNDS_FILE = "campaign.json", "rounds.json"
_FOLDER_DIGITS = 12


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """A campaign in its folder, and the id of each round's plan, None for a round that has none yet."""

    folder: Path
    campaign: Campaign
    plan_ids: tuple[str | None, ...]

    def folder_of(self, plan_id: str) -> Path:
        """Return the folder of a plan's reports."""
        return self.folder / plan_id[:_FOLDER_DIGITS]


def campaign_above(folder: Path) -> Path | None:
    """Return the folder of the campaign that a folder of reports is part of; None where it is part of none."""
    above = folder.resolve().parent
    return above if (above / CAMPAIGN_FILE).exists() else None


def begin_campaign(folder: Path, campaign: Campaign, plan: PublishedPlan) -> CampaignFolder:
    """Make the folder of a campaign, whose first round has this plan.

    Raises:
        FileError: the folder exists and holds something, or cannot be written.
        PlanError: the plan is not that of the first round, or may not be.
    """
    _check_plan(campaign, plan)
    if plan.plan_id != campaign.first_plan:
        raise PlanError(f"the campaign's first plan is {campaign.first_plan[:12]}, not {plan.plan_id[:12]}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if any(folder.iterdir()):
            raise FileError(f"{folder} holds something already; name a new folder for the campaign")
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror or error}") from None
    begun = CampaignFolder(folder, campaign, (plan.plan_id, *[None] * (len(campaign.rounds) - 1)))
    _write_plan(begun, plan)
    _write_rounds(begun)
    with atomic_output(folder / CAMPAIGN_FILE) as stream:
        stream.write(campaign.canonical_json.encode("ascii"))
    sync_folder(folder)
    return begun


def read_campaign(path: Path) -> Campaign:
    """Read a campaign's document.

    Raises:
        PlanError: it cannot be read, or is none.
    """
    try:
        return Campaign.parse(_read_text(path))
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def open_campaign(folder: Path) -> CampaignFolder:
    """Read the folder of a campaign.

    Raises:
        FileError: it is none, or was changed by hand.
        PlanError: its document is none.
    """
    if not (folder / CAMPAIGN_FILE).is_file():
        raise FileError(
            f"{folder} is no folder of a campaign: it has no {CAMPAIGN_FILE}; assocpriv campaign new makes one"
        )
    campaign = read_campaign(folder / CAMPAIGN_FILE)
    try:
        content = parse_object(_read_text(folder / ROUNDS_FILE))
    except PlanError:
        content = None
    ids = content.get("plans") if isinstance(content, dict) else None
    known = [each for each in ids if each is not None] if isinstance(ids, list) else []
    if (
        not isinstance(ids, list)
        or (len(ids), ids[0]) != (len(campaign.rounds), campaign.first_plan)
        or not all(map(is_id, known))
        or len(set(known)) != len(known)
    ):
        raise FileError(f"{folder / ROUNDS_FILE} does not say which plan each round has; restore it")
    return CampaignFolder(folder, campaign, tuple(ids))


def join_campaign(folder: Path, plan: PublishedPlan, round_number: int | None = None) -> int:
    """Give a round its plan, by default the next round that has none, and return which round that is.

    A collector that serves the folder takes it up.

    Raises:
        FileError: the folder is no campaign's, or cannot be written.
        PlanError: the plan may not join, is that of a round already, or the round has one.
    """
    with _one_at_a_time(folder):
        there = open_campaign(folder)
        _check_plan(there.campaign, plan)
        ids = list(there.plan_ids)
        if plan.plan_id in ids:
            raise PlanError(
                f"plan {plan.plan_id[:12]} is that of round {ids.index(plan.plan_id) + 1}; a plan serves one round"
            )
        free = [number for number, each in enumerate(ids, 1) if each is None]
        if not free:
            raise PlanError("every round of the campaign has its plan")
        number = free[0] if round_number is None else round_number
        if not 1 <= number <= len(ids):
            raise PlanError(f"the campaign has rounds 1 to {len(ids)}, and none {number}")
        if number not in free:
            raise PlanError(f"round {number} has a plan, which people answer already; it keeps it")
        ids[number - 1] = plan.plan_id
        _write_plan(there, plan)
        _write_rounds(replace(there, plan_ids=tuple(ids)))
    return number


def _check_plan(campaign: Campaign, plan: PublishedPlan) -> None:
    campaign.check_plan(plan)
    if isinstance(plan, GuidedPlan):
        raise PlanError("guided plans are served alone: in a campaign nobody could ask which guidance is meant")


def _write_plan(there: CampaignFolder, plan: PublishedPlan) -> None:
    """Put a plan into its folder; what an unfinished join left there is the same plan."""
    target = there.folder_of(plan.plan_id)
    try:
        target.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {target}: {error.strerror or error}") from None
    if (target / PLAN_FILE).exists():
        if read_plan(target / PLAN_FILE).plan_id != plan.plan_id:
            raise FileError(f"{target} is of another plan whose id begins alike; make this plan again")
    else:
        with atomic_output(target / PLAN_FILE) as stream:
            stream.write(plan.canonical_json.encode("ascii"))
    sync_folder(target)
    sync_folder(there.folder)


def _write_rounds(there: CampaignFolder) -> None:
    with atomic_output(there.folder / ROUNDS_FILE, force=True) as stream:
        stream.write(json.dumps({"plans": list(there.plan_ids)}).encode("ascii"))
    sync_folder(there.folder)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_TEXT + 1).decode("utf-8")
    except OSError as error:
        raise PlanError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise PlanError("not UTF-8 text") from None


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let plans join one after another, whoever calls."""
    try:
        file = (folder / CAMPAIGN_FILE).open("rb")
    except OSError:
        open_campaign(folder)  # says what is missing
        raise FileError(f"cannot read {folder / CAMPAIGN_FILE}") from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
