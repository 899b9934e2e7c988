"""Rules such as age=17–31 => class=<=50K from a protected table: columns become items, mined from reports alone.

Run: python examples/quantitative_rules.py [FILE]    (adult.data of UCI, 32,561 people)
"""

import sys
from pathlib import Path

import pandas as pd

import assocpriv as ap
from assocpriv.numeric import items

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "class",
]
SCHEMA = {
    "columns": {
        "age": {"kind": "number", "low": 17, "high": 92, "intervals": 5, "release": "as-is"},
        "hours-per-week": {"kind": "number", "low": 0, "high": 100, "intervals": 4, "release": "as-is"},
        "sex": {"kind": "category", "values": ["Male", "Female"], "release": "as-is"},
        "class": {"kind": "label", "values": ["<=50K", ">50K"], "release": "as-is"},
    }
}


def main() -> None:
    """Plan, randomize, mine, and show the rules beside the truth that only this example knows."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.data"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not path.exists():
        print(f"skipped: there is no {path.name} beside the clone; name the file (UCI Adult)")
        return
    table = pd.read_csv(path, names=COLUMNS, skipinitialspace=True)
    baskets = items(table, SCHEMA)
    print(f"{len(baskets):,} people, {len(baskets.catalogue)} items: {', '.join(baskets.catalogue[:5])} …")
    plan = ap.plan(baskets.catalogue, 4, ap.Breach("5%", "50%"), reports=len(baskets), itemset_size=2)
    reports = ap.randomize_baskets(baskets, plan)  # what leaves the devices
    rules = ap.association_rules(ap.mine(reports, min_support="10%"), min_confidence="70%")
    print(f"{'rule':<36}{'confidence':>12}{'true':>8}")
    single = rules[(rules["antecedents"].map(len) == 1) & (rules["consequents"].map(len) == 1)]
    for rule in single.head(8).itertuples():
        (body,), (head,) = rule.antecedents, rule.consequents
        has = [baskets.catalogue.index_of[name] for name in (body, head)]
        of_body = [basket for basket in baskets if has[0] in basket]
        true = sum(has[1] in basket for basket in of_body) / len(of_body)
        print(f"{f'{body} => {head}':<36}{rule.confidence:>7.1%} ±{rule.confidence_std_error:.1%}{true:>8.1%}")


if __name__ == "__main__":
    main()
