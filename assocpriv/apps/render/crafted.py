"""What liars can do to a plan's estimates, and what speaks for them in reports, as text and as JSON content."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.plans.baskets.plan import Plan
from assocpriv.server.crafted.influence import influence_of, most_targets

if TYPE_CHECKING:
    from assocpriv.server.crafted.checks import CraftedCheck

_PERCENT = Fraction(1, 100)


def influence_record(plan: Plan, reports: int) -> dict[str, Any]:
    """Return how far crafted reports among N move estimates, by itemset size (docs/cli.md tells the fields)."""
    return {
        "targets_at_once": most_targets(plan),
        "itemsets": {
            str(k): None
            if influence is None
            else {
                "one_report": float(influence.of_one(reports)),
                "one_person": float(influence.of_one(reports) * plan.reports_per_person),
                "one_percent": [float(change) for change in influence.of_share(_PERCENT)],
            }
            for k, influence in ((k, influence_of(plan, k)) for k in range(1, plan.itemset_size + 1))
        },
    }


def influence_lines(plan: Plan, reports: int) -> list[str]:
    """Say how far crafted reports among N move estimates."""
    record = influence_record(plan, reports)
    known = {k: moved for k, moved in record["itemsets"].items() if moved is not None}
    if not known:
        return []
    one = _alike([f"{100 * moved['one_report']:.2g}%" for moved in known.values()])
    moves = [[100 * change for change in moved["one_percent"]] for moved in known.values()]
    share = _alike([f"{_percent(down)} … {_percent(up)}" for down, up in moves])
    targets = record["targets_at_once"]
    several = f" (all {plan.reports_per_person} of one person that many times as far)"
    return [
        f"liars       one crafted report of {reports:,} moves the support of itemsets of {', '.join(known)} "
        f"item{'s' * (list(known) != ['1'])} by up to {one}{several * (plan.reports_per_person > 1)},",
        f"            1% of them move it by {share}; each can show {targets:,} item{'s' * (targets != 1)} at once",
    ]


def _percent(value: float) -> str:
    return f"{value:+.3g}%" if abs(value) < 1000 else f"{value:+,.0f}%"


def _alike(texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def crafted_record(check: "CraftedCheck") -> dict[str, Any]:
    """Return what the tests for crafted reports say, for ``--json``."""
    return {
        "flagged": check.flagged,
        "false_alarm": check.level,
        "tests": [
            {"name": test.name, "seen": test.said, "p_value": test.p_value, "flagged": test.flagged}
            for test in check.tests
        ],
    }


def crafted_lines(check: "CraftedCheck") -> list[str]:
    """Say what the tests for crafted reports say."""
    lines = [
        f"            {'! ' if test.flagged else '  '}{test.name}: {test.said} (p ≤ {test.p_value:.2g})"
        for test in check.tests
    ]
    if check.flagged:
        verdict = "some of these reports are hardly honest"
    else:
        verdict = "nothing speaks against these reports, which proves nothing: false baskets cannot be told"
    return [f"crafted     {verdict}; a false alarm has a chance of at most {100 * check.level:g}%", *lines]
