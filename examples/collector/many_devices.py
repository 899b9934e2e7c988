"""Play many devices: a report of each basket of a file goes to a collector, so that a set-up can be tried whole.

Run: python examples/collector/many_devices.py http://127.0.0.1:8350 baskets.dat [FILE OF A KEY]

A real device runs `assocpriv report --collector`: it keeps a ledger, and sends again what was not acknowledged. This
one forgets what it sent, so a request that fails is lost. Of a campaign each device draws its round, which is kept in
baskets.dat.rounds: run it again when a plan has joined, and those who wait for it answer.
"""

import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import assocpriv as ap
from assocpriv.campaigns import Campaign
from assocpriv.core.entropy import SystemEntropy

AT_ONCE = 1000
ANSWERED = 0  # in place of a device's round


def main(url: str, path: str, key_file: str = "") -> None:
    """Answer what a collector asks with the baskets of a file."""
    key = {"Authorization": f"Bearer {Path(key_file).read_text().strip()}"} if key_file else {}
    baskets = list(ap.read_baskets(path))
    try:
        with urlopen(f"{url}/campaign") as answer:
            offer = json.load(answer)
    except HTTPError as error:
        if error.code != 404:
            raise
        send(baskets, url, "/plan", key)
    else:
        answer_campaign(baskets, offer, url, Path(f"{path}.rounds"), key)


def answer_campaign(
    baskets: Sequence[frozenset[str]], offer: Mapping[str, object], url: str, kept: Path, key: Mapping[str, str]
) -> None:
    """Let each device draw its round, once, and those answer whose round has a plan by now."""
    campaign, plan_ids = Campaign.from_json(offer["campaign"]), offer["plans"]
    if not kept.exists():
        kept.write_text("\n".join(str(campaign.draw_round(SystemEntropy())) for _ in baskets))
    rounds = [int(line) for line in kept.read_text().splitlines()]
    for number, plan_id in enumerate(plan_ids, 1):
        asked = [place for place, drawn in enumerate(rounds) if drawn == number]
        if plan_id is not None and asked:
            send([baskets[place] for place in asked], url, f"/plans/{plan_id}", key)
            rounds = [ANSWERED if drawn == number else drawn for drawn in rounds]
    kept.write_text("\n".join(map(str, rounds)))


def send(baskets: Sequence[frozenset[str]], url: str, plan_path: str, key: Mapping[str, str]) -> None:
    """Take a plan, randomize the baskets, and send a thousand reports a request."""
    with urlopen(f"{url}{plan_path}") as answer:
        plan = ap.Plan.parse(answer.read().decode("ascii"))
    headers = {"Assocpriv-Plan": plan.plan_id, "Content-Type": "application/octet-stream", **key}
    reports = ap.randomize_baskets(baskets, plan).packed
    accepted = 0
    for first in range(0, len(reports), AT_ONCE):
        body = b"".join(secrets.token_bytes(16) + report.tobytes() for report in reports[first : first + AT_ONCE])
        with urlopen(Request(f"{url}/reports", body, headers)) as answer:
            accepted += json.load(answer)["accepted"]
    print(f"{accepted:,} reports of plan {plan.plan_id[:12]} accepted")


if __name__ == "__main__":
    main(*sys.argv[1:])
