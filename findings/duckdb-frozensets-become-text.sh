#!/usr/bin/env bash
# mlxtend 0.25.0 and DuckDB 2.0.1: itemsets become text, without an error.
#
# Expected: DuckDB reads a data frame of pandas in place. It makes lists of strings from a column of Python lists or
# tuples, and does so with frozensets, which mlxtend puts into its tables, or refuses them, as pyarrow does.
# Seen: the column is VARCHAR, and a cell is the text frozenset({'bread', 'milk'}). len() counts characters, and list
# functions fail. The order of items in such a text changes from one Python process to the next, so that texts of one
# itemset are not equal. Lists made of the frozensets in an order of their own (sorted) arrive as VARCHAR[].
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps \
    mlxtend==0.25.0 joblib==1.6.0 cloudpickle==3.1.3 pandas==3.1.1 numpy==2.4.6 python-dateutil==4.0.0 six==1.17.0 duckdb==2.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import duckdb
import pandas as pd
from mlxtend.frequent_patterns import fpgrowth

baskets = pd.DataFrame({"bread": [True, True, False], "milk": [True, True, True]})
itemsets = fpgrowth(baskets, min_support=0.5, use_colnames=True)
query = "select typeof(itemsets), itemsets, len(itemsets) from {} order by len(itemsets) desc limit 1"
seen = duckdb.sql(query.format("itemsets")).fetchall()[0]
lists = itemsets.assign(itemsets=itemsets["itemsets"].map(sorted))
mended = duckdb.sql(query.format("lists")).fetchall()[0]
print(f"duckdb {duckdb.__version__}, itemsets of mlxtend: expected VARCHAR[] or an error; seen {seen}")
print(f"sorted lists: {mended}")
sys.exit(0 if seen[0] == "VARCHAR" and seen[1].startswith("frozenset(") and mended == ("VARCHAR[]", ["bread", "milk"], 2) else 1)
PYTHON
