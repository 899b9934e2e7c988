"""Simulate many devices: send a report for each basket of a file to a collector, to test an installation.

Run: python examples/collector/many_devices.py http://127.0.0.1:8350 baskets.dat [FILE OF A KEY]

A real device runs `assocpriv report --collector`, which keeps a ledger and repeats unacknowledged reports. This script
keeps no ledger, so the reports of a failed request are lost.
"""

import json
import secrets
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import assocpriv as ap

AT_ONCE = 1000


def main(url: str, path: str, key_file: str = "") -> None:
    """Get a collector's plan, randomize the baskets of a file, and send a thousand reports per request."""
    baskets = ap.read_baskets(path)
    with urlopen(f"{url}/plan") as answer:
        plan = ap.Plan.parse(answer.read().decode("ascii"))
    headers = {"Assocpriv-Plan": plan.plan_id, "Content-Type": "application/octet-stream"}
    if key_file:
        headers["Authorization"] = f"Bearer {Path(key_file).read_text().strip()}"
    reports = ap.randomize(baskets, plan).packed
    accepted = 0
    for first in range(0, len(reports), AT_ONCE):
        body = b"".join(secrets.token_bytes(16) + report.tobytes() for report in reports[first : first + AT_ONCE])
        with urlopen(Request(f"{url}/reports", body, headers)) as answer:
            accepted += json.load(answer)["accepted"]
    print(f"{accepted:,} reports of plan {plan.plan_id[:12]} accepted")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HTTPError as refused:
        sys.exit(f"{refused.url} refuses ({refused.code}): {refused.read().decode()}")
    except (OSError, ap.AssocprivError) as error:
        sys.exit(f"Error: {error}")
