"""Substitutes: products of a category that replace each other, estimated from reports only.

Run: python examples/substitutes.py
"""

import numpy as np

import assocpriv as ap

# people buy at most one of the colas and one bread; juice and snacks are independent
SHELVES = {
    "drinks": ["cola", "cola zero", "orange juice"],
    "snacks": ["crisps", "salted nuts"],
    "breads": ["wheat bread", "rye bread"],
}
PEOPLE = 400_000


def make_baskets(rng: np.random.Generator) -> list[set[str]]:
    """Return baskets in which the colas are substitutes, and the breads; crisps go with cola."""
    cola, bread = rng.choice(3, PEOPLE, p=[0.3, 0.25, 0.45]), rng.choice(3, PEOPLE, p=[0.4, 0.3, 0.3])  # 2: none
    likes = {"orange juice": 0.3, "salted nuts": 0.3, "crisps": np.where(cola < 2, 0.6, 0.3)}
    others = {name: rng.random(PEOPLE) < share for name, share in likes.items()}
    return [
        {
            *SHELVES["drinks"][:2][cola[person] : cola[person] + 1],
            *SHELVES["breads"][bread[person] : bread[person] + 1],
            *(name for name, bought in others.items() if bought[person]),
        }
        for person in range(PEOPLE)
    ]


def main() -> None:
    """Find pairs of one category that are bought together less than expected under independence."""
    categories = {name: shelf for shelf, names in SHELVES.items() for name in names}
    plan = ap.plan(categories, ap.Guarantee("5%", "50%"), transaction_size=5, reports=PEOPLE)
    reports = ap.randomize(make_baskets(np.random.default_rng(5)), plan, empty="keep")
    found = ap.substitutes(reports, categories=categories)
    for row in found.itertuples():
        verdict = "substitutes" if row.selected else "not significant"
        print(f"{', '.join(sorted(row.itemsets)):24} lift {row.lift_ci_low:.2f} to {row.lift_ci_high:.2f}  {verdict}")
    print(f"{found.attrs['assocpriv']['undetectable']} pairs are too rare to detect")


if __name__ == "__main__":
    main()
