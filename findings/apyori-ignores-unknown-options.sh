#!/usr/bin/env bash
# apyori 1.1.2: apriori takes any keyword, and uses four.
#
# Expected: apriori(baskets, min_length=2), as many tutorials call it, lists itemsets of two items or more, or is an
# error, since the function has no such option.
# Seen: keywords other than min_support, min_confidence, min_lift and max_length are ignored without notice, misspelled
# ones included: with min_length=2 single items are listed, and with min_suport=0.9 the minimum support is 0.1. Compare
# the number of results with and without an option.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install apyori==1.1.2 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from apyori import apriori

baskets = [["bread", "milk"], ["bread", "milk", "tea"], ["tea"], ["rye"]]
options = {"no option": {}, "min_length=2": {"min_length": 2}, "min_suport=0.9": {"min_suport": 0.9}}
options["min_support=0.9"] = {"min_support": 0.9}
seen = {}
for name, given in options.items():
    found = [sorted(each.items) for each in apriori(baskets, **given)]
    seen[name] = (len(found), min(map(len, found), default=0))
    print(f"{name}: {seen[name][0]} itemsets, the smallest of {seen[name][1]} items")
sys.exit(0 if seen == {**dict.fromkeys(list(options)[:3], (8, 1)), "min_support=0.9": (0, 0)} else 1)
PYTHON
