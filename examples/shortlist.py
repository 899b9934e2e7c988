"""Two collections of other people each: the frequent items of the first are the short catalogue of the second.

Run: python examples/shortlist.py
"""

import assocpriv as ap
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

PROMISE = ap.Breach("5%", "50%")


def main() -> None:
    """Ask 60,000 people about all items and 60,000 others about the shortlist; show what the second adds."""
    baskets = generate_quest(QuestSettings(n_baskets=120_000, n_items=200, n_patterns=60))
    first_people, others = baskets[:60_000], baskets[60_000:]

    plan = ap.plan(baskets.catalogue, transaction_size=5, promise=PROMISE, target="singles", reports=60_000)
    first_reports = ap.randomize(first_people, plan)
    first = ap.mine(first_reports, min_support="5%", max_itemset=1)
    print(f"first: {len(first)} items of {plan.n_items} stand out, at most {plan.items.transaction_size} a basket")

    refined = ap.refine(first, plan, top=16, reports=60_000)
    print(f"second: {refined.plan}")
    print(f"who answered both would have told at most γ < {float(refined.amplification_limit):g}, so ask other people")
    second = ap.mine(ap.randomize(others, refined.plan), min_support="5%", max_itemset=2)

    pairs = second[second["frequent"] & (second["length"] == 2)].head(8)
    before = ap.ask(first_reports, list(pairs["itemsets"]))
    shown = pairs[["itemsets", "support", "std_error"]].assign(first_std_error=before["std_error"].to_numpy())
    print(shown.to_string(index=False))


if __name__ == "__main__":
    main()
