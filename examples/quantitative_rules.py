"""Rules such as age=17–31 => class=<=50K from a protected table: columns become items, mined from reports alone.

Run: python examples/quantitative_rules.py [FILE]    (adult.data of UCI, 32,561 people)
"""

import sys
from pathlib import Path

import pandas as pd

import assocpriv as ap
from assocpriv.numeric import items

NUMBER, NAMED = {"kind": "number", "release": "as-is"}, {"kind": "category", "release": "as-is"}
SCHEMA = {
    "columns": {
        "age": NUMBER | {"low": 17, "high": 92, "intervals": 5},
        "hours-per-week": NUMBER | {"low": 0, "high": 100, "intervals": 4},
        "sex": NAMED | {"values": ["Male", "Female"]},
        "class": NAMED | {"values": ["<=50K", ">50K"]},
    }
}
PLACES = {0: "age", 9: "sex", 12: "hours-per-week", 14: "class"}  # the file has no header


def main() -> None:
    """Plan, randomize, mine, and show the rules beside the truth that only this example knows."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.data"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not path.is_file():
        print(f"skipped: there is no {path.name} beside the clone; name the file (UCI Adult)")
        return
    table = pd.read_csv(path, header=None, usecols=list(PLACES), skipinitialspace=True).rename(columns=PLACES)
    baskets = items(table, SCHEMA)
    plan = ap.plan(baskets.catalogue, 4, ap.Breach("5%", "50%"), reports=len(baskets), itemset_size=2)
    reports = ap.randomize_baskets(baskets, plan)  # what leaves the devices
    rules = ap.association_rules(ap.mine(reports, min_support="10%"), min_confidence="70%")
    print(f"{len(baskets):,} people, {len(baskets.catalogue)} items, {plan.report_bytes}-byte reports")
    print(f"{'rule':<36}{'confidence':>12}{'true':>8}")
    for rule in rules.head(8).itertuples():
        (body,), (head,) = rule.antecedents, rule.consequents
        given, then = (baskets.catalogue.index_of[name] for name in (body, head))
        found = [then in basket for basket in baskets if given in basket]
        true = sum(found) / len(found)
        print(f"{f'{body} => {head}':<36}{rule.confidence:>7.1%} ±{rule.confidence_std_error:.1%}{true:>8.1%}")


if __name__ == "__main__":
    main()
