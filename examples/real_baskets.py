"""Simulate a guarantee on a real data set before any collection: groceries, 9,835 baskets, 169 products.

Run: python examples/real_baskets.py [FILE]    (a CSV file with one basket per line)
"""

import sys
from pathlib import Path

import assocpriv as ap


def main() -> None:
    """Simulate a collection and print the selected itemsets with their true supports."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "groceries.csv"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not path.exists():
        print(f"skipped: {path} does not exist; give a file with one basket per line")
        return
    baskets = ap.read_baskets(path, repeats="merge")
    plan = ap.plan(baskets.catalogue, transaction_size=3, guarantee=ap.Guarantee("5%", "80%"), reports=len(baskets))
    result = ap.simulate(baskets, plan, min_support="6%", seed=1)
    columns = ["itemsets", "support", "ci_low", "ci_high", "true_support"]
    found = result.itemsets[result.itemsets["selected"]]
    print(plan)
    print(found[columns].to_string(index=False))
    print(f"found {result.found_count}, missed {result.missed_count}, false {result.false_count}")


if __name__ == "__main__":
    main()
