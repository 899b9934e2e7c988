"""Try a promise on a real data set before collecting anything: groceries, 9,835 baskets, 169 products.

Run: python examples/real_baskets.py [FILE]    (a CSV with a basket a line)
"""

import sys
from pathlib import Path

import assocpriv as ap


def main() -> None:
    """Simulate a collection and show what was found beside the truth."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "groceries.csv"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not path.exists():
        print(f"skipped: there is no {path.name} beside the clone; name a file of baskets (a basket a line)")
        return
    baskets = ap.read_baskets(path, repeats="merge")
    plan = ap.plan(baskets.catalogue, transaction_size=3, promise=ap.Breach("5%", "80%"), reports=len(baskets))
    result = ap.simulate(baskets, plan, min_support="6%", seed=1)
    columns = ["itemsets", "support", "ci_low", "ci_high", "true_support"]
    found = result.itemsets[result.itemsets["listed"]]
    print(plan)
    print(found[columns].to_string(index=False))
    print(f"found {result.found_count}, missed {result.missed_count}, false {result.false_count}")


if __name__ == "__main__":
    main()
