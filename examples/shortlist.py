"""Two collections of other people each: the likeliest items of the first are the short catalogue of the second.

Run: python examples/shortlist.py
"""

import assocpriv as ap
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

PROMISE, PEOPLE = ap.Breach("5%", "50%"), 100_000


def main() -> None:
    """Ask 100,000 people about all items and 100,000 others about the likeliest; hold both against the truth."""
    baskets = generate_quest(QuestSettings(n_baskets=2 * PEOPLE, n_items=1000, n_patterns=60))
    first_people, others = baskets[:PEOPLE], baskets[PEOPLE:]

    plan = ap.plan(baskets.catalogue, PROMISE, mean_size=5.3, itemset_size=2, reports=PEOPLE)
    first = ap.simulate(first_people, plan, min_support="5%", seed=1).itemsets
    print(f"first: {plan}")

    refined = ap.refine(first, plan, best=30, reports=PEOPLE)
    print(f"second: {refined.plan}")
    verdict = "pays" if refined.short.pays else "does not pay"
    print(f"it {verdict}: noise of pairs {refined.short.error:.2f} times as large is expected")
    print(f"who answered both would have told at most γ < {float(refined.amplification_limit):g}, so ask other people")

    second = ap.simulate(others, refined.plan, min_support="5%", seed=1).itemsets
    columns = ["itemsets", "whole_support", "whole_std_error", "raw_support"]
    for name, found in (("first", first), ("second", second)):
        pairs = found[found["frequent"] & (found["length"] == 2)]
        wrong = (pairs["whole_support"] - pairs["raw_support"]).abs().mean()
        print(f"{name}: {len(pairs)} pairs, wrong by {wrong:.1%} on average; raw: support in whole baskets")
        print(pairs[columns].head(6).to_string(index=False))


if __name__ == "__main__":
    main()
