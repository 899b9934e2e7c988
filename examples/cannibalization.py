"""Cannibalization across categories: which products take each other's place, from reports alone.

Two products of which a basket holds one *or* the other have a lift well below 1. That is the question here, with the
interval of each lift, so that a small one is not taken for a sign when it is noise.

Run: python examples/cannibalization.py
"""

import numpy as np

import assocpriv as ap

# what people pick: one drink, one snack, one bread; beside a drink more often a snack
DRINKS = ["cola", "cola zero", "orange juice"]
SNACKS = ["crisps", "salted nuts"]
BREADS = ["wheat bread", "rye bread"]
PEOPLE = 400_000


def make_baskets(rng: np.random.Generator) -> list[set[str]]:
    """Return baskets that hold at most one product of each category."""
    drink = rng.choice(4, PEOPLE, p=[0.3, 0.25, 0.2, 0.25])  # 3: none
    snack = np.where(rng.random(PEOPLE) < np.where(drink < 2, 0.6, 0.3), rng.choice(2, PEOPLE), 2)
    bread = rng.choice(3, PEOPLE, p=[0.4, 0.3, 0.3])
    shelves = ((DRINKS, drink), (SNACKS, snack), (BREADS, bread))
    return [
        {names[picks[person]] for names, picks in shelves if picks[person] < len(names)} for person in range(PEOPLE)
    ]


def main() -> None:
    """Ask for the rules between chosen products; say of each pair what its interval allows to say."""
    baskets = make_baskets(np.random.default_rng(5))
    plan = ap.plan([*DRINKS, *SNACKS, *BREADS], transaction_size=3, promise=ap.Breach("5%", "50%"), reports=PEOPLE)
    reports = ap.randomize(baskets, plan)

    pairs = [("cola", "cola zero"), ("cola", "orange juice"), ("wheat bread", "rye bread"), ("cola", "crisps"),
             ("cola", "wheat bread")]  # fmt: skip
    # five questions at once: intervals of 99% are all right in 95% of cases (Bonferroni)
    asked = ap.ask_rules(reports, [([one], [other]) for one, other in pairs], confidence_level="99%")
    for (one, other), row in zip(pairs, asked.itertuples(), strict=True):
        low, high = row.lift_ci_low, row.lift_ci_high
        verdict = "take each other's place" if high < 1 else "go together" if low > 1 else "not told apart from chance"
        print(f"{one:12} {other:13} lift {row.lift:5.2f}, {low:.2f} to {high:.2f}  {verdict}")


if __name__ == "__main__":
    main()
