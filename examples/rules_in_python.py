"""From a data frame of baskets to rules.

Run: python examples/rules_in_python.py
"""

import numpy as np
import pandas as pd

import assocpriv as ap


def main() -> None:
    """Randomize 60,000 one-hot baskets, mine the reports, derive rules."""
    rng = np.random.default_rng(1)
    items = ["bread", "butter", "milk", "eggs", "tea", "coffee", "sugar", "jam"]
    frame = pd.DataFrame(rng.random((60_000, len(items))) < 0.15, columns=items)
    breakfast = rng.random(len(frame)) < 0.35
    frame.loc[breakfast, ["bread", "butter", "jam"]] = True

    baskets = ap.to_baskets(frame, empty="keep")
    plan = ap.plan(baskets.catalogue, transaction_size=4, guarantee=ap.Guarantee("5%", "50%"), reports=len(frame))
    print(plan)

    reports = ap.randomize(baskets, plan)
    itemsets = ap.mine(reports, min_support="15%")
    columns = ["itemsets", "support", "ci_low", "ci_high", "probability"]
    print(itemsets.loc[itemsets["selected"], columns].to_string(index=False))

    rules = ap.association_rules(itemsets, min_confidence="50%")
    columns = ["antecedents", "consequents", "confidence", "confidence_ci_low", "confidence_ci_high", "lift"]
    print(rules.loc[rules["selected"], columns].head(10).to_string(index=False))


if __name__ == "__main__":
    main()
