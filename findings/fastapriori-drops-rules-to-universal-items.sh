#!/usr/bin/env bash
# fastapriori 0.1.0.post1: pairs whose second item is in every basket are missing by default.
#
# Expected: find_associations without thresholds lists both directions of each pair of items that are bought together:
# the minimum confidence, lift and conviction are 0 by default, which no rule can fail.
# Seen: rye -> milk with milk in all three baskets has confidence 1 and a conviction of 0 / 0. The default
# min_conviction=0.0 is compared with NaN, which is false, so the rule is gone, and milk -> rye stays. With
# min_conviction=None both are listed.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install fastapriori==0.1.0.post1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import fastapriori
import pandas as pd

lines = pd.DataFrame({"basket": [1, 1, 2, 2, 3], "item": ["rye", "milk", "rye", "milk", "milk"]})


def listed(**options):
    rules = fastapriori.find_associations(lines, "basket", "item", **options)
    return sorted(zip(rules["item_A"], rules["item_B"], rules["confidence"].round(3)))


seen, all_rules = listed(), listed(min_conviction=None)
print("fastapriori 0.1.0.post1, milk in every basket, rye in two of three: expected milk -> rye and rye -> milk")
print("seen", seen)
print("with min_conviction=None", all_rules)
sys.exit(0 if [rule[:2] for rule in seen] == [("milk", "rye")] and len(all_rules) == 2 else 1)
PYTHON
