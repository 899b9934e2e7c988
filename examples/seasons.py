"""Seasonal change between two collections, with its error: summer's people and winter's, from reports alone.

The two collections ask different people, so the variance of a difference is the sum of both variances.

Run: python examples/seasons.py
"""

import numpy as np

import assocpriv as ap

SHARES = {  # of baskets in summer and in winter
    "ice cream": (0.32, 0.08), "soup": (0.06, 0.24), "bread": (0.45, 0.45), "tea": (0.12, 0.22), "eggs": (0.26, 0.26),
}  # fmt: skip
PEOPLE = 200_000


def collect(season: int, plan: ap.Plan, rng: np.random.Generator) -> ap.Reports:
    """Return one season's reports; in winter half of those with soup take bread for it, too."""
    taken = {name: rng.random(PEOPLE) < shares[season] for name, shares in SHARES.items()}
    if season:
        taken["bread"] |= taken["soup"] & (rng.random(PEOPLE) < 0.5)
    return ap.randomize([{name for name in taken if taken[name][person]} for person in range(PEOPLE)], plan)


def main() -> None:
    """Ask both collections the same questions; print each change and its interval."""
    rng = np.random.default_rng(9)
    plan = ap.plan(list(SHARES), transaction_size=4, promise=ap.Breach("5%", "50%"), reports=PEOPLE)
    questions = [*([name] for name in SHARES), ["soup", "bread"], ["ice cream", "bread"]]
    summer, winter = (ap.ask(collect(season, plan, rng), questions) for season in (0, 1))

    change = (winter["support"] - summer["support"]).to_numpy()
    error = np.hypot(winter["std_error"], summer["std_error"]).to_numpy()
    # seven questions at once: 2.7 standard errors each keep all seven intervals right in 95% of cases (Bonferroni)
    for asked, more, noise in zip(questions, change, error, strict=True):
        verdict = "changed" if abs(more) > 2.7 * noise else "not told apart from chance"
        print(f"{', '.join(asked):17} {more:+6.1%} ± {noise:.1%}  {verdict}")


if __name__ == "__main__":
    main()
