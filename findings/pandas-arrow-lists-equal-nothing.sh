#!/usr/bin/env bash
# rusket 0.1.101 and pandas 3.1.1: a column of itemsets is not equal to itself.
#
# Expected: a column compared with itself gives True in each row without a missing value, or raises an error where its
# type has no comparison. Columns of Python lists and lists of polars do the first.
# Seen: rusket's itemsets are a column of pandas' type list<string>[pyarrow]. column == column is False in each row,
# while column.equals(column) is True. groupby, merge, duplicated, isin and sort_values of it raise
# ArrowNotImplementedError. A filter of a table of itemsets by == finds nothing. With .map(frozenset) all of these work.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install rusket==0.1.101 pandas==3.1.1 pyarrow==26.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import pandas as pd
import rusket

baskets = pd.DataFrame({"bread": [True, True, False], "milk": [True, True, True]})
itemsets = rusket.fpgrowth(baskets, min_support=0.5, use_colnames=True)["itemsets"]
seen = (itemsets == itemsets).tolist()
sets = itemsets.map(frozenset)
print(f"pandas {pd.__version__}, dtype {itemsets.dtype}: expected True in {len(itemsets)} rows; seen {seen}")
print(f"equals(): {itemsets.equals(itemsets)}; after map(frozenset): {(sets == sets).tolist()}")
sys.exit(0 if not any(seen) and itemsets.equals(itemsets) and (sets == sets).all() else 1)
PYTHON
