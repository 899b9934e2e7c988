"""Two collections of other people each: the likeliest items of the first are the short catalogue of the second.

Both are mined together: rounds add evidence, and nobody answers twice.

Run: python examples/shortlist.py
"""

import assocpriv as ap
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

PROMISE, PEOPLE = ap.Breach("5%", "50%"), 100_000


def main() -> None:
    """Ask 100,000 people about all items, as many others about the likeliest; hold what is found against the truth."""
    baskets = generate_quest(QuestSettings(n_baskets=2 * PEOPLE, n_items=1000, n_patterns=60))
    first_people, others = baskets[:PEOPLE], baskets[PEOPLE:]

    plan = ap.plan(baskets.catalogue, PROMISE, mean_size=5.3, itemset_size=2, reports=PEOPLE)
    first = ap.simulate(first_people, plan, seed=1)
    print(f"first: {plan}")

    refined = ap.refine(first.itemsets, plan, best=30, reports=PEOPLE)
    print(f"second: {refined.plan}")
    verdict = "pays" if refined.short.pays else "does not pay"
    print(f"it {verdict}: noise of pairs {refined.short.error:.2f} times as large is expected")
    print(f"who answered both would have told at most γ < {float(refined.amplification_limit):g}, so ask other people")

    second = ap.simulate(others, refined.plan, seed=1)
    for name, reports in (("first", first.reports), ("both", [first.reports, second.reports])):
        found = ap.mine(reports, min_support="5%")
        pairs = found[found["listed"] & (found["length"] == 2)]
        pairs = pairs.assign(true=first.truth.supports(pairs["itemsets"]))
        print(f"{name}: {len(pairs)} pairs, wrong by {(pairs['support'] - pairs['true']).abs().mean():.1%} on average")
        print(pairs[["itemsets", "support", "ci_low", "ci_high", "true"]].head(6).to_string(index=False))


if __name__ == "__main__":
    main()
