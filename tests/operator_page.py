"""What tests of the operator's page share: collections that are not there, commands that are not run."""

import json
from pathlib import Path
from typing import Any

from planned import planned

import assocpriv as ap
from assocpriv.pages.operator import AdminPage, Sessions, Sources
from assocpriv.plans.published import PublishedPlan
from assocpriv.server.itemsets import MiningFacts

TOKEN = "a-token-of-the-operator-of-this-collection"
PLAN = planned(items=12, transaction_size=3, promise=ap.Breach("5%", "50%"))
HOSTILE = [
    "<script>document.title='broken'</script>",
    "\"'><img src=//evil.example/x onerror=alert(1)>",
    "{{ 7 * 7 }}",
    "\u202egnp.exe\u2066",
    "x" * 10_000,
    "السلام",
    "</bdi></table></html>",
]


class Collection:
    """Stands in for a collector."""

    def __init__(self, folder: Path, plan: PublishedPlan = PLAN, reports: int = 5000) -> None:
        self.folder, self.plan, self.reports = folder, plan, reports
        self.sealed = 0
        (folder / "plan.json").write_text(plan.canonical_json)

    def status(self) -> dict[str, Any]:
        """Return counts as a collector does."""
        return {"reports": self.reports, "sealed": self.reports - 1, "epochs_sealed": 1, "guidance": None}

    async def seal(self) -> int:
        """Count how often it is sealed."""
        self.sealed += 1
        return 1

    def page(self, sessions: Sessions | None = None) -> AdminPage:
        """Return the operator's page of this collection."""
        sources = Sources(self.plan, self.folder, self.status, self.seal)
        return AdminPage(sources, sessions or Sessions(TOKEN))


class Commands:
    """Stands in for commands: what each says, by its name; of the names the first is listed, if any is to be."""

    def __init__(self, names: list[str], *, listed: bool = True) -> None:
        self.ran = list[list[str]]()
        self.names, self.listed = names, listed

    async def __call__(self, arguments: Any, seconds: float) -> dict[str, Any] | str:
        """Return what a command says with --json."""
        self.ran.append(list(arguments))
        answers = {"inspect": self.inspect, "mine": self.mine, "rules": self.rules, "refine": self.refine}
        answers |= {"reconstruct": self.numeric, "guide": self.guide}
        record: dict[str, Any] | str = answers[arguments[0]](list(arguments))
        return json.loads(json.dumps(record)) if isinstance(record, dict) else record

    def inspect(self, arguments: list[str]) -> dict[str, Any]:
        """Describe a plan, or test reports."""
        supports = {"1": 0.01, "2": 0.02, "3": None}
        record = {"lowest_discoverable_support": supports, "level_discoverable_support": supports}
        if "--discover" in arguments:
            return record | {"reports_needed": {"1": 4000, "2": 9000, "3": None}}
        seen = f"0.5% of the baskets would hold item {self.names[0]}"
        tests = [{"name": "shares", "seen": seen, "p_value": 1.0, "flagged": False}]
        return record | {"crafted": {"flagged": False, "false_alarm": 0.001, "tests": tests}}

    def mine(self, arguments: list[str]) -> dict[str, Any]:
        """Find what was said beforehand."""
        rows = [
            {"itemset": [name], "support": 0.25, "ci_low": 0.0, "ci_high": 0.27, "length": 1, "probability": 0.9,
             "listed": self.listed and (not place or len(self.names) > 2)}
            for place, name in enumerate(self.names)
        ]  # fmt: skip
        rows.append(rows[-1] | {"itemset": ["rare"], "support": 0.01, "listed": False})
        facts = MiningFacts([PLAN.plan_id], 3, 5000, 0.02, 0.95, [[12, 12]], True, [], auto="auto" in arguments)
        return facts.to_json() | {"itemsets": rows, "itemsets_count": len(rows)}

    def rules(self, arguments: list[str]) -> dict[str, Any]:
        """Derive what was said beforehand."""
        row = {
            "antecedents": self.names[:1], "consequents": self.names[1:2], "support": 0.1, "confidence": 0.8,
            "confidence_ci_low": 0.408, "confidence_ci_high": 1.0, "lift": 2.0, "listed": True, "sure": False,
        }  # fmt: skip
        rows = [row, row | {"confidence": 0.55, "listed": False}]
        return {"min_confidence": 0.5, "listed": 1, "expected_false": 0.1, "rules": rows, "rules_count": 2}

    def refine(self, arguments: list[str]) -> dict[str, Any]:
        """Propose a plan."""
        plan = planned(items=5, transaction_size=2, promise=ap.Breach("5%", "50%"))
        Path(arguments[arguments.index("-o") + 1]).write_text(plan.canonical_json)
        return {"items": 5, "reports": 800, "level_discoverable_support": {"1": 0.01, "2": 0.03}}

    def numeric(self, arguments: list[str]) -> dict[str, Any]:
        """Reconstruct columns."""
        mean = {"value": 40.5, "low": 39.0, "high": 42.0}
        number = {"mean": mean, "quantiles": [{"level": 0.5, "value": 40.0}], "share": [1.0]}
        return {"columns": {"age": number, self.names[0]: {"share": [0.25, 0.75], "values": self.names[:2]}}}

    def guide(self, arguments: list[str]) -> dict[str, Any] | str:
        """Collect, or publish."""
        return {"serial": 4, "level": 2, "new": True} if arguments[1] == "publish" else {"received": 9}
