"""What liars can do to a plan's estimates, and what speaks for them in reports, as text and as JSON content."""

from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import percent_as_given

if TYPE_CHECKING:
    from assocpriv.planning.plan_facts import Prospects
    from assocpriv.server.crafted.checks import CraftedCheck


def influence_record(prospects: "Prospects") -> dict[str, Any]:
    """Return how far crafted reports among N move estimates, by itemset size (docs/cli tells the fields)."""
    return {
        "targets_at_once": prospects.most_targets,
        "itemsets": {
            str(k): liars
            and {
                "one_report": liars.one_report,
                "one_person": liars.one_person,
                "one_percent": list(liars.one_percent),
            }
            for k, liars in prospects.liars.items()
        },
    }


def influence_lines(prospects: "Prospects") -> list[str]:
    """Say how far crafted reports among N move estimates."""
    known = {str(k): liars for k, liars in prospects.liars.items() if liars is not None}
    if not known:
        return []
    one = _alike([percent_as_given(liars.one_report, 2) for liars in known.values()])
    share = _alike([" … ".join(_change(100 * change) for change in liars.one_percent) for liars in known.values()])
    targets, per_person = prospects.most_targets, prospects.plan.reports_per_person
    several = f" (all {per_person} of one person that many times as far)"
    return [
        f"liars       one crafted report of {prospects.reports:,} moves the support of itemsets of {', '.join(known)} "
        f"item{'s' * (list(known) != ['1'])} by up to {one}{several * (per_person > 1)},",
        f"            1% of them move it by {share}; each can show {targets:,} item{'s' * (targets != 1)} at once",
    ]


def _change(points: float) -> str:
    return f"{points:+.3g}%" if abs(points) < 1000 else f"{points:+,.0f}%"


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
    verdict = "nothing speaks against these reports, which proves nothing: false baskets cannot be told"
    if check.flagged:
        verdict = "some of these reports are hardly honest"
    return [
        f"crafted     {verdict}; a false alarm has a chance of at most {percent_as_given(check.level)}",
        *(
            f"            {'! ' if test.flagged else '  '}{test.name}: {test.said} (p ≤ {test.p_value:.2g})"
            for test in check.tests
        ),
    ]
