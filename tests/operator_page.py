"""What tests of the operator's page share: collections that are not there, commands that are not run."""

import base64
import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from command_line import make_baskets
from planned import planned

import assocpriv as ap
from assocpriv.client.bulk import randomize_chunks
from assocpriv.collect.store import EpochSizes
from assocpriv.files.itemsets import LightFrame, as_column
from assocpriv.pages.operator import AdminPage
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import AssocprivError
from assocpriv.show import comparisons
from assocpriv.simulation.enumeration import SeededEntropy

TOKEN = "a-token-of-the-operator-of-this-collection"
PLAN = planned(items=12, transaction_size=3, promise=ap.Breach("5%", "50%"))
HOSTILE = [
    "<script>document.title='broken'</script>", "\"'><img src=//evil.example/x onerror=alert(1)>", "{{ 7 * 7 }}",
    "\u202egnp.exe\u2066", "x" * 10_000, "السلام", "</bdi></table></html>",
]  # fmt: skip


class Collection:
    """Stands in for a collector."""

    def __init__(self, folder: Path, plan: PublishedPlan = PLAN, reports: int = 5000) -> None:
        self.folder, self.plan, self.reports = folder, plan, reports
        self.sealed, self.too_few = 0, False
        (folder / "plan.json").write_text(plan.canonical_json)

    def status(self) -> dict[str, Any]:
        """Return counts as a collector does."""
        return {"reports": self.reports, "sealed": self.reports - 1, "epochs_sealed": 1, "guidance": None}

    async def seal(self) -> int:
        """Count how often it is sealed; with ``too_few`` it is not."""
        if self.too_few:
            EpochSizes().check(412, self.plan, few=False)
        self.sealed += 1
        return 1

    def page(self) -> AdminPage:
        """Return the operator's page of this collection."""
        return AdminPage(self.plan, self.folder, self.status, self.seal, TOKEN)


def basic(token: str = TOKEN) -> str:
    """Return what a browser sends of somebody who logs in."""
    return f"Basic {base64.b64encode(f'operator:{token}'.encode()).decode()}"


@cache
def reports() -> ap.Reports:
    """Return 3,000 reports of baskets: 60% hold items 1 and 2."""
    baskets = ap.Baskets.from_sets(make_baskets(), PLAN.catalogue)
    chunks = randomize_chunks(baskets, PLAN, entropy=SeededEntropy(1))
    return ap.Reports(PLAN, np.concatenate([chunk.packed for chunk in chunks]))


@cache
def mined(support: str) -> LightFrame:
    """Return what is found in them."""
    with warnings.catch_warnings(action="ignore"):  # so few reports tell little
        frame = ap.mine(reports(), None if support == "auto" else support, light=True)
    assert isinstance(frame, LightFrame)
    return frame


class Commands:
    """Stands in for commands: what each prints. ``names`` are those of the first items."""

    def __init__(self, names: list[str]) -> None:
        self.ran = list[list[str]]()
        self.names, self.failing = names, ""

    async def __call__(self, arguments: Any, seconds: float) -> bytes:
        """Return what a command prints."""
        self.ran.append(list(arguments))
        if arguments[0] == self.failing:
            raise AssocprivError("no <b>reports</b> to read")
        answers = {"inspect": self.inspect, "mine": self.mine, "guide": self.guide, "compare": self.compare}
        return json.dumps(answers[arguments[0]](list(arguments))).encode()

    def inspect(self, arguments: list[str]) -> dict[str, Any]:
        """Test reports."""
        seen = f"0.5% of the baskets would hold item {self.names[0]}"
        tests = [{"name": "shares", "seen": seen, "p_value": 1.0, "flagged": False}]
        return {"crafted": {"flagged": False, "false_alarm": 0.001, "tests": tests}}

    def mine(self, arguments: list[str]) -> dict[str, Any]:
        """Find what 3,000 reports tell, under other names."""
        frame = mined(arguments[arguments.index("--min-support") + 1])
        others = dict(zip(PLAN.catalogue, self.names, strict=False))
        renamed = [frozenset(others.get(name, name) for name in each) for each in frame["itemsets"]]
        columns = frame.columns | {"itemsets": as_column(renamed)}
        ap.write_itemsets(LightFrame(columns, frame.attrs), arguments[arguments.index("-o") + 1])
        return {}

    def compare(self, arguments: list[str]) -> dict[str, Any]:
        """Compare two days: the first item is in fewer baskets on the second."""
        days = [reports(), ap.Reports(PLAN, reports().packed[::2])]
        told = ap.compare(*days, names=["monday", "tuesday"])
        told.itemsets.columns["itemsets"][0] = frozenset(self.names[:1])
        told.itemsets.columns["listed"][0] = True
        return comparisons.compared(told).to_json()

    def guide(self, arguments: list[str]) -> dict[str, Any]:
        """Collect, or publish."""
        return {"serial": 4, "level": 2, "new": True} if arguments[1] == "publish" else {"received": 9}
