"""A collection in two rounds: half of the people report on items and sizes, the others on the likeliest items.

Both are mined together, and each person sends one report. Beside it: the same people in one round.

Run: python examples/two_rounds.py
"""

import assocpriv as ap
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

GUARANTEE, PEOPLE = ap.Guarantee("5%", "50%"), 100_000


def main() -> None:
    """Collect reports of all items, then of the likeliest ones from other people; compare with the truth."""
    baskets = generate_quest(QuestSettings(n_baskets=PEOPLE, n_items=1000))
    first_people, others = baskets[: PEOPLE // 2], baskets[PEOPLE // 2 :]  # generated in random order

    plan = ap.plan(baskets.catalogue, GUARANTEE, reports=PEOPLE, rounds=2)
    first = ap.randomize(first_people, plan)
    following = ap.refine(first, people=len(others))
    print(f"first: {plan}")
    print(f"second: {following}")
    print(f"a person in both would disclose up to γ < {float(following.amplification_limit):g}, so take other people")
    second = ap.randomize(others, following.plan)

    alone = ap.simulate(baskets, ap.plan(baskets.catalogue, GUARANTEE, reports=PEOPLE), seed=1)
    for name, reports in (("one round", alone.reports), ("two rounds", [first, second])):
        found = ap.mine(reports)
        pairs = found[found["selected"] & (found["length"] == 2)]
        pairs = pairs.assign(true=alone.truth.supports(pairs["itemsets"]))
        print(f"{name}: {len(pairs)} pairs, mean absolute error {(pairs['support'] - pairs['true']).abs().mean():.2%}")
        print(pairs[["itemsets", "support", "ci_low", "ci_high", "true"]].head(6).to_string(index=False))


if __name__ == "__main__":
    main()
