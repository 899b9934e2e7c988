#!/usr/bin/env bash
# pyfim 6.28: apriori, eclat and fpgrowth leave out itemsets made only of items that are in every transaction.
#
# Expected: three programs of one library that search the same itemsets at the same minimum support give the same ones;
# an item in all transactions has support 100% and is frequent at any minimum support.
# Seen: of three baskets that all hold bread and milk, apriori, eclat and fpgrowth report neither bread, milk nor both,
# as soon as another item is frequent, too; sam and relim report all. Whoever takes one of them as an oracle misses the
# best sellers.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyfim==6.28 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import fim

baskets = [["bread", "milk", "tea"], ["bread", "milk", "tea"], ["bread", "milk", "rye"]]
found = {}
for name in ("apriori", "eclat", "fpgrowth", "sam", "relim"):
    rows = getattr(fim, name)(baskets, target="s", supp=-2, zmin=1, report="a")
    found[name] = {tuple(sorted(items)) for items, _ in rows}
    print(f"{name}: {len(found[name])} itemsets of 2 baskets or more: {sorted(found[name])}")
everywhere = {("bread",), ("milk",), ("bread", "milk")}
missing = [name for name, itemsets in found.items() if not everywhere & itemsets]
print(f"expected 7 itemsets each; bread, milk and both are missing in {', '.join(missing) or 'none'}")
sys.exit(0 if missing == ["apriori", "eclat", "fpgrowth"] else 1)
PYTHON
