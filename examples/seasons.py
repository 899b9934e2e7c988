"""Significant changes between two collections from disjoint samples of people, in summer and in winter.

Run: python examples/seasons.py
"""

import numpy as np

import assocpriv as ap
from assocpriv.show import comparison_views, text_renderer

SHARES = {  # shares of baskets in summer and in winter
    "ice cream": (0.32, 0.08), "soup": (0.06, 0.24), "bread": (0.45, 0.45), "tea": (0.12, 0.22), "eggs": (0.26, 0.26),
}  # fmt: skip
PEOPLE = 200_000


def collect(season: int, plan: ap.Plan, rng: np.random.Generator) -> ap.Reports:
    """Return one season's reports; in winter half of the people with soup also buy bread."""
    taken = {name: rng.random(PEOPLE) < shares[season] for name, shares in SHARES.items()}
    if season:
        taken["bread"] |= taken["soup"] & (rng.random(PEOPLE) < 0.5)
    baskets = [{name for name in taken if taken[name][person]} for person in range(PEOPLE)]
    return ap.randomize(baskets, plan, empty="keep")  # some people bought none of these


def main() -> None:
    """Compare both collections and print the changes."""
    rng = np.random.default_rng(9)
    plan = ap.plan(list(SHARES), transaction_size=4, guarantee=ap.Guarantee("5%", "50%"), reports=PEOPLE)
    summer, winter = (collect(season, plan, rng) for season in (0, 1))
    text_renderer.show(
        comparison_views.compared(ap.compare(summer, winter, names=["summer", "winter"], fdr="5%"), top=10)
    )


if __name__ == "__main__":
    main()
