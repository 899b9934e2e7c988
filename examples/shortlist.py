"""Two collections from disjoint samples of people: the second has a short catalogue of the first one's best items.

Both are mined together, and each person sends one report.

Run: python examples/shortlist.py
"""

import assocpriv as ap
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

GUARANTEE, PEOPLE = ap.Guarantee("5%", "50%"), 100_000


def main() -> None:
    """Collect reports of all items, then of the most frequent ones from other people; compare with the truth."""
    baskets = generate_quest(QuestSettings(n_baskets=2 * PEOPLE, n_items=1000, n_patterns=60))
    first_people, others = baskets[:PEOPLE], baskets[PEOPLE:]

    plan = ap.plan(baskets.catalogue, GUARANTEE, mean_size=5.3, itemset_size=2, reports=PEOPLE)
    first = ap.simulate(first_people, plan, seed=1)
    print(f"first: {plan}")

    refined = ap.refine(first.itemsets, plan, best=30, reports=PEOPLE)
    print(f"second: {refined.plan}")
    verdict = "is useful" if refined.short.pays else "is not useful"
    print(f"it {verdict}: the expected standard error of pairs is {refined.short.error:.2f} times as large")
    print(f"a person in both would disclose up to γ < {float(refined.amplification_limit):g}, so take other people")

    second = ap.simulate(others, refined.plan, seed=1)
    for name, reports in (("first", first.reports), ("both", [first.reports, second.reports])):
        found = ap.mine(reports, min_support="5%")
        pairs = found[found["selected"] & (found["length"] == 2)]
        pairs = pairs.assign(true=first.truth.supports(pairs["itemsets"]))
        print(f"{name}: {len(pairs)} pairs, mean absolute error {(pairs['support'] - pairs['true']).abs().mean():.1%}")
        print(pairs[["itemsets", "support", "ci_low", "ci_high", "true"]].head(6).to_string(index=False))


if __name__ == "__main__":
    main()
