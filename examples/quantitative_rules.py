"""Rules such as age=17-31 => class=<=50K from a protected table: columns become items, mined from reports only.

Run: python examples/quantitative_rules.py [FILE]    (adult.data of UCI, 32,561 people)
"""

import sys
from pathlib import Path

import pandas as pd

import assocpriv as ap

PLACES = {0: "age", 9: "sex", 12: "hours-per-week", 14: "class"}  # the file has no header
AGES = [17, 32, 47, 62, 77, 93], ["17-31", "32-46", "47-61", "62-76", "77-92"]
HOURS = [0, 25, 50, 75, 101], ["0-24", "25-49", "50-74", "75-100"]


def main() -> None:
    """Plan, randomize, mine, and print the rules with their true confidences."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.data"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not path.is_file():
        print(f"skipped: {path} does not exist; give the file (UCI Adult)")
        return
    table = pd.read_csv(path, header=None, usecols=list(PLACES), skipinitialspace=True).rename(columns=PLACES)
    for name, (edges, labels) in {"age": AGES, "hours-per-week": HOURS}.items():
        table[name] = pd.cut(table[name], edges, right=False, labels=labels)
    for name, values in {"sex": ["Male", "Female"], "class": ["<=50K", ">50K"]}.items():
        table[name] = pd.Categorical(table[name], values)
    baskets = pd.get_dummies(table, prefix_sep="=")
    plan = ap.plan(list(baskets), ap.Guarantee("5%", "50%"), transaction_size=4, itemset_size=2, reports=len(baskets))
    reports = ap.randomize(baskets, plan)  # only these leave the devices
    rules = ap.association_rules(ap.mine(reports, min_support="10%"), min_confidence="70%")
    print(f"{len(baskets):,} people, {len(plan.catalogue)} items, {plan.report_bytes}-byte reports")
    print(f"{'rule':<36}{'confidence':>10}{'95% interval':>16}{'true':>8}")
    for rule in rules[rules["selected"]].head(8).itertuples():
        (body,), (head,) = rule.antecedents, rule.consequents
        true = baskets.loc[baskets[body], head].mean()
        interval = f"{rule.confidence_ci_low:.1%} to {rule.confidence_ci_high:.1%}"
        print(f"{f'{body} => {head}':<36}{rule.confidence:>10.1%}{interval:>16}{true:>8.1%}")


if __name__ == "__main__":
    main()
