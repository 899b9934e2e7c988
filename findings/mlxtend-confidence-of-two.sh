#!/usr/bin/env bash
# mlxtend 0.25.0: with missing values, a rule can have a confidence of 2.
#
# Expected: the confidence of a rule is a share of the baskets with its antecedent; it is at most 1. An itemset's
# support is at most that of its subsets, with missing values, too.
# Seen: with null_values=True the support of an itemset is its count over the rows where all of its own items are known.
# Supports then have different bases: bread in 1 of 2 known rows is 50%, bread with milk in 1 of 1 is 100%, and the rule
# bread -> milk has confidence 2. Drop or fill rows with missing values before mining to have one base.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps \
    mlxtend==0.25.0 joblib==1.6.0 cloudpickle==3.1.3 pandas==3.1.1 numpy==2.4.6 python-dateutil==4.0.0 six==1.17.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import warnings

import mlxtend
import pandas as pd
from mlxtend.frequent_patterns import fpgrowth

warnings.simplefilter("ignore", DeprecationWarning)  # of frames that are not of flags, which cannot hold missing values
baskets = pd.DataFrame({"bread": [1.0, 0.0], "milk": [1.0, float("nan")]})
table = fpgrowth(baskets, min_support=0.1, use_colnames=True, null_values=True)
support = {tuple(sorted(items)): share for share, items in zip(table["support"], table["itemsets"])}
print(f"mlxtend {mlxtend.__version__}, bread in 1 of 2 rows, milk known in 1 of them: supports {support}")
print(f"confidence of bread -> milk: expected at most 1; seen {support['bread', 'milk'] / support['bread',]}")
sys.exit(0 if support["bread", "milk"] == 2 * support["bread",] else 1)
PYTHON
